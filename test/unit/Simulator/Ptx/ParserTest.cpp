//===- ParserTest.cpp - what the PTX parser makes of well-formed text -----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Ptx/Parser.h"
#include "gtest/gtest.h"

using namespace fa4::sim::ptx;
using Kind = Operand::Kind;

static std::shared_ptr<Module> parseText(const std::string &text) {
  std::vector<Diagnostic> diagnostics;
  auto module =
      parse(llvm::MemoryBuffer::getMemBufferCopy(text, "t.ptx"), diagnostics);
  for (const Diagnostic &d : diagnostics)
    ADD_FAILURE() << d.loc.line << ":" << d.loc.column << ": " << d.message;
  return module;
}

static const std::string header =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// A module with one entry `k` around `body`.
static std::shared_ptr<Module> parseBody(const std::string &body) {
  return parseText(header + ".visible .entry k() {\n" + body + "\n}\n");
}

static const Function &kernel(const std::shared_ptr<Module> &module) {
  return *module->findFunction("k");
}

TEST(PtxParser, Header) {
  auto m = parseText(".version 9.4\n.target sm_103a, debug\n"
                     ".address_size 64\n.file 1 \"a.cu\"\n");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->versionMajor, 9u);
  EXPECT_EQ(m->versionMinor, 4u);
  ASSERT_EQ(m->targets.size(), 2u);
  EXPECT_EQ(m->targets[0], "sm_103a");
}

TEST(PtxParser, EntryParametersAndDirectives) {
  auto m = parseText(header + R"(
.visible .entry k(
  .param .align 64 .b8 map[128],
  .param .u64 .ptr .global .align 32 c,
  .param .u8 flag,
  .param .align 8 .b8 tail[12])
.reqntid 192, 2
.minnctapersm 1
.maxnreg 128
.reqnctapercluster 2, 1, 1
.explicitcluster
.pragma "nounroll";
{ ret; })");
  ASSERT_TRUE(m);
  const Function &f = kernel(m);
  EXPECT_TRUE(f.isEntry);
  EXPECT_EQ(f.linkage, Linkage::Visible);
  ASSERT_EQ(f.params.size(), 4u);
  EXPECT_EQ(f.params[0]->align, 64u);
  EXPECT_EQ(f.params[0]->bytes, 128u);
  EXPECT_EQ(f.params[1]->paramOffset, 128u);
  EXPECT_TRUE(f.params[1]->isPointer);
  EXPECT_EQ(f.params[1]->pointerAlign, 32u);
  EXPECT_EQ(f.params[1]->align, 8u);
  EXPECT_EQ(f.params[2]->paramOffset, 136u);
  EXPECT_EQ(f.params[3]->paramOffset, 144u);
  EXPECT_EQ(f.paramBytes, 156u);
  EXPECT_EQ(f.directives.reqntid[0], 192u);
  EXPECT_EQ(f.directives.reqntid[1], 2u);
  EXPECT_EQ(f.directives.reqntid[2], 1u);
  EXPECT_EQ(f.directives.maxntid[0], 0u);
  EXPECT_EQ(f.directives.maxnreg, 128u);
  EXPECT_EQ(f.directives.reqnctapercluster[0], 2u);
  EXPECT_TRUE(f.directives.explicitcluster);
  ASSERT_EQ(f.directives.pragmas.size(), 1u);
  EXPECT_EQ(f.directives.pragmas[0], "nounroll");
}

TEST(PtxParser, RegistersAreDensePerClass) {
  auto m = parseBody(".reg .b32 %r<100>; .reg .f32 %f<4>; .reg .pred %p<3>;\n"
                     "add.s32 %r7, %r99, %r7;\n"
                     "@!%p2 mov.f32 %f1, 0f3F800000;");
  ASSERT_TRUE(m);
  const Function &f = kernel(m);
  // %r7, %r99 and %f1 share a class; what is not mentioned takes no id.
  EXPECT_EQ(f.registerCount[unsigned(RegisterClass::B32)], 3u);
  EXPECT_EQ(f.registerCount[unsigned(RegisterClass::Pred)], 1u);
  ASSERT_EQ(f.instructions.size(), 2u);
  const Instruction &add = f.instructions[0];
  EXPECT_EQ(add.operands[0].reg, add.operands[2].reg);
  EXPECT_NE(add.operands[0].reg->id, add.operands[1].reg->id);
  const Instruction &mov = f.instructions[1];
  EXPECT_TRUE(mov.guardNegated);
  EXPECT_EQ(mov.guard->name, "%p2");
  EXPECT_EQ(mov.operands[1].kind, Kind::Float);
  EXPECT_EQ(mov.operands[1].floatBits, 32u);
  EXPECT_EQ(mov.operands[1].floating, 1.0);
}

TEST(PtxParser, RangePrefixesMayEndInDigits) {
  auto m = parseBody(".reg .b32 %r<3>; .reg .b64 %r1<5>;\n"
                     "mov.b64 %r14, %r10; mov.b32 %r1, %r2;");
  ASSERT_TRUE(m);
  const auto &is = kernel(m).instructions;
  EXPECT_EQ(is[0].operands[0].reg->cls, RegisterClass::B64);
  EXPECT_EQ(is[1].operands[0].reg->cls, RegisterClass::B32);
}

TEST(PtxParser, ScopesShadow) {
  auto m = parseBody(".reg .b32 x; mov.b32 x, 1;\n"
                     "{ .reg .b64 x; mov.b64 x, 2; }\n"
                     "mov.b32 x, 3;");
  ASSERT_TRUE(m);
  const auto &is = kernel(m).instructions;
  EXPECT_EQ(is[0].operands[0].reg, is[2].operands[0].reg);
  EXPECT_EQ(is[1].operands[0].reg->cls, RegisterClass::B64);
}

TEST(PtxParser, LabelsOfScopes) {
  auto m = parseBody(".reg .pred p;\n"
                     "{ W: @p bra D; bra.uni W; D: }\n"
                     "{ W: @p bra D; bra W; D: }\n"
                     "bra END; END:");
  ASSERT_TRUE(m);
  const auto &is = kernel(m).instructions;
  ASSERT_EQ(is.size(), 5u);
  EXPECT_EQ(is[0].operands[0].kind, Kind::Label);
  EXPECT_EQ(is[0].operands[0].target, 2u);
  EXPECT_EQ(is[1].operands[0].target, 0u);
  EXPECT_EQ(is[2].operands[0].target, 4u);
  EXPECT_EQ(is[3].operands[0].target, 2u);
  EXPECT_EQ(is[4].operands[0].target, 5u); // One past the end.
}

TEST(PtxParser, BranchTargets) {
  auto m = parseBody(".reg .b32 i;\n"
                     "ts: .branchtargets A, B;\n"
                     "brx.idx i, ts;\n A: ret;\n B: exit;");
  ASSERT_TRUE(m);
  const Function &f = kernel(m);
  ASSERT_EQ(f.labelLists.size(), 1u);
  EXPECT_EQ(f.labelLists[0].targets, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(f.instructions[0].operands[1].kind, Kind::LabelList);
  EXPECT_EQ(f.instructions[0].operands[1].target, 0u);
}

TEST(PtxParser, OpcodeWords) {
  auto m = parseBody(".reg .b32 a; .reg .b64 d;\n"
                     "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes [a], [d, {a, a}], [a];\n"
                     "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {a}, [a], 8;");
  ASSERT_TRUE(m);
  const Instruction &copy = kernel(m).instructions[0];
  ASSERT_EQ(copy.words.size(), 9u);
  EXPECT_EQ(copy.words[4], "2d");
  EXPECT_EQ(copy.words[5], "shared::cluster");
  EXPECT_EQ(copy.words[8], "mbarrier::complete_tx::bytes");
  EXPECT_EQ(copy.root(), "cp");
  const Operand &source = copy.operands[1];
  EXPECT_EQ(source.kind, Kind::Address);
  ASSERT_EQ(source.elements.size(), 2u);
  EXPECT_EQ(source.base().reg->name, "d");
  EXPECT_EQ(source.elements[1].kind, Kind::Vector);
  EXPECT_EQ(kernel(m).instructions[1].words[4], "16x32bx2");
}

TEST(PtxParser, Operands) {
  auto m = parseText(header + R"(
.extern .shared .align 16 .b8 smem[];
.global .align 4 .b8 table[64];
.visible .entry k(.param .u32 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
  ld.param.u32 %r1, [n];
  ld.shared.u32 %r1, [smem+131072];
  ld.global.u32 %r1, [%rd1+-16];
  mov.b64 %rd2, table+8;
  mov.b64 {%r1, _}, %rd2;
  elect.sync %r1|%p1, -1;
  setp.eq.and.s32 %p1|%p2, %r1, 0x10, !%p3;
  mov.u32 %r1, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  ld.global.u32 %r1, [4096];
  mov.u32 %r1, WARP_SZ;
  mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF;
  mov.f64 %rd1, 0d3FF0000000000000;
  mov.f32 %r1, -1.5e1;
  add.s32 %r1, %r1, (1 << 4) + 3*2 - ~0;
  mbarrier.arrive.shared.b64 _, [%r1];
  ld.global.u32 %r1, table[4];
  vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1;
})");
  ASSERT_TRUE(m);
  const auto &is = kernel(m).instructions;
  EXPECT_EQ(is[0].operands[1].base().variable->paramIndex, 0);
  EXPECT_EQ(is[1].operands[1].base().variable->name, "smem");
  EXPECT_TRUE(is[1].operands[1].base().variable->unsizedArray);
  EXPECT_EQ(is[1].operands[1].offset, 131072);
  EXPECT_EQ(is[2].operands[1].offset, -16);
  EXPECT_EQ(is[3].operands[1].kind, Kind::Symbol);
  EXPECT_EQ(is[3].operands[1].offset, 8);
  EXPECT_EQ(is[4].operands[0].elements[1].kind, Kind::Sink);
  EXPECT_EQ(is[5].operands[0].kind, Kind::Pair);
  EXPECT_TRUE(is[5].operands[0].elements[1].isPredicate());
  EXPECT_EQ(is[5].operands[1].integer, -1);
  EXPECT_TRUE(is[6].operands[3].negated);
  EXPECT_EQ(is[6].operands[2].integer, 16);
  EXPECT_EQ(is[7].operands[1].kind, Kind::Special);
  EXPECT_EQ(is[7].operands[1].name, "%tid.x");
  EXPECT_EQ(is[8].operands[1].name, "%cluster_ctarank");
  EXPECT_EQ(is[9].operands[1].base().integer, 4096);
  EXPECT_EQ(is[10].operands[1].integer, 32);
  EXPECT_TRUE(is[11].operands[1].isUnsigned);
  EXPECT_EQ(is[12].operands[1].floatBits, 64u);
  EXPECT_EQ(is[13].operands[1].floating, -15.0);
  EXPECT_EQ(is[14].operands[2].integer, 23);
  EXPECT_EQ(is[15].operands[0].kind, Kind::Sink);
  EXPECT_EQ(is[16].operands[1].kind, Kind::Address);
  EXPECT_EQ(is[16].operands[1].offset, 4);
  EXPECT_EQ(is[17].operands[1].selector, "b0");
  EXPECT_EQ(is[17].text, "vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1");
}

TEST(PtxParser, VectorRegisters) {
  auto m = parseBody(".reg .v4 .f32 v; .reg .f32 f;\n"
                     "ld.global.v4.f32 v, [0]; mov.f32 f, v.z;");
  ASSERT_TRUE(m);
  const auto &is = kernel(m).instructions;
  ASSERT_EQ(is[0].operands[0].kind, Kind::Vector);
  ASSERT_EQ(is[0].operands[0].elements.size(), 4u);
  EXPECT_EQ(is[1].operands[1].reg, is[0].operands[0].elements[2].reg);
}

TEST(PtxParser, Initialisers) {
  auto m = parseText(header + R"(
.global .align 4 .u16 t[2][3] = {{1, 2}, {0xFFFF}};
.const .f32 pi = 0f40490FDB;
.global .f64 half = 0.5;
.global .b8 open[] = {1, 2, 3};
.global .u64 p[2] = {generic(t), open+2};
.global .b8 bytes[2] = {0xFF(t), 0xFF00(t)};
.global .v2 .u32 pair = {7, 8};
)");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->findVariable("t")->initialiser,
            (std::vector<uint8_t>{1, 0, 2, 0, 0, 0, 255, 255, 0, 0, 0, 0}));
  EXPECT_EQ(m->findVariable("pi")->initialiser,
            (std::vector<uint8_t>{0xDB, 0x0F, 0x49, 0x40}));
  EXPECT_EQ(m->findVariable("half")->initialiser[7], 0x3F);
  EXPECT_EQ(m->findVariable("open")->bytes, 3u);
  const Variable *p = m->findVariable("p");
  ASSERT_EQ(p->relocations.size(), 2u);
  EXPECT_TRUE(p->relocations[0].generic);
  EXPECT_EQ(p->relocations[1].offset, 8u);
  EXPECT_EQ(p->relocations[1].addend, 2);
  EXPECT_EQ(p->relocations[1].variable, m->findVariable("open"));
  const Variable *bytes = m->findVariable("bytes");
  EXPECT_EQ(bytes->relocations[1].shift, 8u);
  EXPECT_EQ(bytes->relocations[1].bytes, 1u);
  EXPECT_EQ(m->findVariable("pair")->bytes, 8u);
  EXPECT_EQ(m->findVariable("pair")->align, 8u);
}

TEST(PtxParser, FunctionsAndCalls) {
  auto m = parseText(header + R"(
.func (.param .b32 out) twice(.param .b32 in);
.visible .entry k() {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  { .param .b32 a; .param .b32 r;
    st.param.b32 [a], %r1;
    call.uni (r), twice, (a);
    ld.param.b32 %r1, [r]; }
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
  { .param .b32 a; .param .b32 r; call (r), %rd1, (a), proto; }
}
.func (.param .b32 out) twice(.param .b32 in) { ret; }
)");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->functions.size(), 2u);
  const Function *twice = m->findFunction("twice");
  EXPECT_TRUE(twice->hasBody);
  const Function &f = kernel(m);
  const Instruction &call = f.instructions[1];
  ASSERT_EQ(call.operands.size(), 3u);
  EXPECT_EQ(call.operands[0].kind, Kind::List);
  EXPECT_EQ(call.operands[1].function, twice);
  EXPECT_EQ(call.operands[2].elements[0].variable->space, StateSpace::Param);
  EXPECT_EQ(f.variables.size(), 4u);
  EXPECT_EQ(f.labelLists[0].kind, LabelList::Kind::Prototype);
  EXPECT_EQ(f.labelLists[0].paramBytes, (std::vector<uint64_t>{4}));
}

TEST(PtxParser, DebugMatterIsSkipped) {
  auto m = parseText(header + R"(
.file 1 "x.cu"
.visible .entry k() {
  .loc 1 10 3
  .loc 1 11 5, function_name $info, inlined_at 1 2 3
  ret;
}
.section .debug_str { info: .b8 1, 2, 3
 .b32 .debug_abbrev }
)");
  ASSERT_TRUE(m);
  EXPECT_EQ(kernel(m).instructions.size(), 1u);
}

TEST(PtxParser, SourceLocations) {
  auto m = parseBody(".reg .pred p; /* two\n lines */ ret; // x\n  @!p ret;");
  ASSERT_TRUE(m);
  const auto &is = kernel(m).instructions;
  EXPECT_EQ(is[0].loc.line, 6u);
  EXPECT_EQ(is[0].loc.column, 11u);
  EXPECT_EQ(is[1].loc.line, 7u);
  EXPECT_EQ(is[1].loc.column, 3u);
  EXPECT_EQ(m->lineText(7), "  @!p ret;");
}
