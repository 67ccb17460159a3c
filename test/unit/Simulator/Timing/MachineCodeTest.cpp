//===- MachineCodeTest.cpp - costs from machine code ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/MachineCode.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "fa4/Target/NVPTX/Nvdisasm.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa4;
using namespace fa4::sim;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {

/// A kernel `k` whose body begins in line 10 of the text.
struct Kernel {
  explicit Kernel(StringRef body, StringRef target = "sm_90a")
      : text((".version 8.0\n.target " + target +
              "\n.address_size 64\n"
              ".visible .entry k(.param .u64 out)\n{\n"
              ".reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<9>;\n"
              ".reg .pred %p<9>; .shared .align 8 .b8 memory[1024];\n\n\n" +
              body + "\n}\n")
                 .str()) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, "k.ptx");
    module = llvm::cantFail(ptx::parseModule(std::move(buffer)));
    llvm::Expected<std::unique_ptr<Program>> decoded =
        Program::decode(*module, memory);
    if (decoded)
      program = std::move(*decoded);
    else
      ADD_FAILURE() << llvm::toString(decoded.takeError());
  }

  /// The costs of the instructions of a line, together.
  IssueCost of(const IssueCosts &costs, uint32_t line) const {
    IssueCost sum;
    for (const Inst &inst : program->insts)
      if (inst.line == line) {
        const IssueCost &cost = costs.of(inst);
        for (unsigned pipe = 0; pipe < numPipes; pipe++)
          sum.ops[pipe] += cost.ops[pipe];
        sum.clocks += cost.clocks;
        sum.waits.append(cost.waits);
      }
    return sum;
  }
  float clocks(const IssueCosts &costs, uint32_t first, uint32_t last) const {
    float sum = 0;
    for (uint32_t line = first; line <= last; line++)
      sum += of(costs, line).clocks;
    return sum;
  }

  std::string text;
  GlobalMemory memory;
  std::shared_ptr<const ptx::Module> module;
  std::unique_ptr<Program> program;
};

/// The text of a disassembly of the kernel `k`.
struct Listing {
  Listing() { out << "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n"; }

  struct Control {
    unsigned stall = 1, result = 7, operands = 7, mask = 0;
  };
  Listing &add(unsigned line, StringRef text, Control c) {
    if (line != last)
      out << "\t//## File \".nv_debug_ptx_txt\", line " << line << "\n";
    last = line;
    uint64_t upper = uint64_t(c.stall) << 41 | uint64_t(c.result) << 46 |
                     uint64_t(c.operands) << 49 | uint64_t(c.mask) << 52;
    out << llvm::formatv("        /*{0:x-4}*/  {1} ;  /* 0x{2} */\n", address,
                         text, llvm::format_hex_no_prefix(line, 16));
    out << "      /* 0x" << llvm::format_hex_no_prefix(upper, 16) << " */\n";
    address += 16;
    return *this;
  }
  Listing &add(unsigned line, StringRef text, unsigned stall = 1) {
    return add(line, text, Control{stall, 7, 7, 0});
  }
  Listing &label(StringRef name) {
    out << name << ":\n";
    return *this;
  }
  IssueCosts charge(const Kernel &kernel, ChargeReport *report = nullptr) {
    std::vector<MachineFunction> code =
        llvm::cantFail(parseMachineCode(out.str()));
    std::vector<ChargeReport> reports;
    IssueCosts costs =
        chargeMachineCode(*kernel.program, code, "test", &reports);
    if (report)
      *report = reports.front();
    return costs;
  }

  std::string text;
  llvm::raw_string_ostream out{text};
  unsigned address = 0, last = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::string errorOf(StringRef text) {
  auto code = parseMachineCode(text);
  return code ? "" : llvm::toString(code.takeError());
}

// Encodings that ptxas 13 has made for sm_90a.
TEST(MachineCodeText, Instructions) {
  std::vector<MachineFunction> code = llvm::cantFail(parseMachineCode(R"(
	.section	.text.k,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=168"
.text.k:
	//## File ".nv_debug_ptx_txt", line 54
        /*0010*/                   S2R R16, SR_TID.X ;                 /* 0x0000000000107919 */
                                                                       /* 0x000e6e0000002100 */
.L_x_4:
	//## File ".nv_debug_ptx_txt.123", line 1052
        /*2fa0*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR9+0x10], R3 ; /* 0x00001003ff0075a7 */
                                                                       /* 0x000ea20008000149 */
        /*2fb0*/              @!P0 BRA `(.L_x_4) ;                     /* 0x0000000000108947 */
                                                                       /* 0x004fea0003800000 */
        /*2fc0*/                   BRA.U UP0, `(.L_x_4) ;              /* 0x0000000000108947 */
                                                                       /* 0x000fea0003800000 */
        /*2fd0*/               @PT EXIT ;                              /* 0x000000000000794d */
                                                                       /* 0x000fea0003800000 */
        /*2fe0*/                   NOP;                                /* 0x0000000000007918 */
                                                                       /* 0x000fc00000000000 */
)"));
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(code[0].name, "k");
  const std::vector<MachineInst> &insts = code[0].insts;
  ASSERT_EQ(insts.size(), 5u); // Without the padding.
  EXPECT_EQ(insts[0].opcode, "S2R");
  EXPECT_EQ(insts[0].operands, "R16, SR_TID.X");
  EXPECT_EQ(insts[0].line, 54u);
  EXPECT_EQ(insts[0].stall, 7u);
  EXPECT_EQ(insts[0].resultScoreboard, 1u);
  EXPECT_EQ(insts[0].operandScoreboard, MachineInst::noScoreboard);
  EXPECT_EQ(insts[0].waitMask, 0u);
  EXPECT_EQ(insts[1].line, 1052u);
  EXPECT_EQ(insts[1].resultScoreboard, 2u);
  EXPECT_EQ(insts[2].stall, 5u);
  EXPECT_EQ(insts[2].waitMask, 4u);
  EXPECT_EQ(insts[2].target, 1);
  EXPECT_TRUE(insts[2].isGuarded && insts[2].fallsThrough);
  EXPECT_TRUE(insts[3].fallsThrough && !insts[3].isGuarded);
  EXPECT_FALSE(insts[4].fallsThrough || insts[4].isGuarded);
}

TEST(MachineCodeText, Errors) {
  EXPECT_EQ(errorOf(""), "nvdisasm has printed no instruction");
  EXPECT_EQ(errorOf("\t.section\t.text.k,\"ax\"\n"),
            "nvdisasm has printed no instruction");
  StringRef section = "\t.section\t.text.k,\"ax\"\n";
  StringRef first = "/*0000*/ EXIT ; /* 0x000000000000794d */\n";
  EXPECT_EQ(errorOf((section + first.drop_back()).str()),
            "the output of nvdisasm is cut off");
  EXPECT_EQ(errorOf((section + first + first).str()),
            "cannot read this line of nvdisasm: '" + first.trim().str() + "'");
  EXPECT_EQ(errorOf((section + "/*0000*/ EXIT ;\n").str()),
            "cannot read this line of nvdisasm: '/*0000*/ EXIT ;'");
  EXPECT_EQ(
      errorOf((section + "//## File \".nv_debug_ptx_txt\", line x\n").str()),
      "cannot read this line of nvdisasm: '//## File \".nv_debug_ptx_txt\", "
      "line x'");
}

TEST(MachineCodeText, Pipes) {
  EXPECT_EQ(machinePipe("FFMA.FTZ"), Pipe::Fma);
  EXPECT_EQ(machinePipe("FFMA2"), Pipe::FmaPair);
  EXPECT_EQ(machinePipe("IMAD.MOV.U32"), Pipe::FmaHeavy);
  EXPECT_EQ(machinePipe("FMNMX3"), Pipe::Alu);
  EXPECT_EQ(machinePipe("F2FP.BF16.F32.PACK_AB"), Pipe::Alu);
  EXPECT_EQ(machinePipe("MUFU.EX2"), Pipe::Mufu);
  EXPECT_EQ(machinePipe("F2I.TRUNC"), Pipe::Convert);
  EXPECT_EQ(machinePipe("STSM.16.M88.4"), Pipe::Lsu);
  EXPECT_EQ(machinePipe("SYNCS.ARRIVE.TRANS64"), Pipe::Lsu);
  EXPECT_EQ(machinePipe("HGMMA.64x128x16.F32.BF16"), Pipe::Tensor);
  EXPECT_EQ(machinePipe("UTCHMMA.2CTA"), Pipe::Tensor);
  EXPECT_EQ(machinePipe("UTMALDG.4D"), Pipe::Uniform);
  EXPECT_EQ(machinePipe("UIADD3.64"), Pipe::Uniform);
  EXPECT_EQ(machinePipe("USETMAXREG.DEALLOC.CTAPOOL"), Pipe::Control);
  EXPECT_EQ(machinePipe("LDTM.x32"), Pipe::TensorMemory);
  EXPECT_EQ(machinePipe("DFMA"), Pipe::Double);
}

//===----------------------------------------------------------------------===//
// Charging
//===----------------------------------------------------------------------===//

// ptxas has moved the exponential behind the barrier: so is its time. The
// comparison of the loop's end belongs to the loop, not to the barrier's line.
TEST(MachineCodeCosts, BehindABarrier) {
  Kernel kernel("$LOOP:\n"
                "  ex2.approx.ftz.f32 %f1, %f2;\n" // 11
                "  bar.sync 1;\n"
                "  mul.f32 %f3, %f3, %f1;\n" // 13
                "  add.u32 %r1, %r1, 1;\n"
                "  setp.ne.u32 %p1, %r1, 8;\n" // 15
                "  @%p1 bra $LOOP;\n"
                "  ret;");
  Listing listing;
  listing.label(".L_x_0")
      .add(14, "IADD3 R1, R1, 0x1, RZ", 2)
      .add(12, "BAR.SYNC.DEFER_BLOCKING 0x1", 6)
      .add(11, "MUFU.EX2 R2, R3", Listing::Control{8, 0, 7, 0})
      .add(15, "ISETP.NE.U32.AND P0, PT, R1, 0x8, PT", 4)
      .add(13, "FMUL R4, R4, R2", Listing::Control{2, 7, 7, 1})
      .add(16, "@P0 BRA `(.L_x_0)", 5)
      .add(17, "EXIT", 5);
  ChargeReport report;
  IssueCosts costs = listing.charge(kernel, &report);
  EXPECT_EQ(kernel.of(costs, 11).clocks, 0);
  EXPECT_EQ(kernel.of(costs, 12).clocks, 6 + 2); // 14 is in front of it.
  EXPECT_EQ(kernel.of(costs, 12)[Pipe::Alu], 1);
  float behind = kernel.clocks(costs, 13, 16);
  EXPECT_EQ(behind, 8 + 4 + 2 + 5);
  EXPECT_EQ(kernel.of(costs, 15)[Pipe::Mufu] + kernel.of(costs, 13)[Pipe::Mufu],
            1);
  EXPECT_EQ(kernel.clocks(costs, 10, 16), 27); // The loop, all of it.
  EXPECT_EQ(report.moved, 2u);
  EXPECT_EQ(report.withoutLine, 0u);
  EXPECT_EQ(report.instructions, 7u);
}

// Arithmetic that ptxas has moved behind an arrival does not delay it: its time
// comes before the next barrier takes effect.
TEST(MachineCodeCosts, BehindASignal) {
  Kernel kernel("  mov.u32 %r2, memory;\n" // 10
                "  ex2.approx.ftz.f32 %f1, %f2;\n"
                "  ex2.approx.ftz.f32 %f3, %f4;\n" // 12
                "  bar.sync 1;\n"
                "  mbarrier.arrive.shared.b64 _, [%r2];\n" // 14
                "  bar.sync 2;\n"
                "  ret;");
  Listing listing;
  listing.add(10, "UMOV UR4, 0x400", 2)
      .add(13, "BAR.SYNC.DEFER_BLOCKING 0x1", 6)
      .add(11, "MUFU.EX2 R1, R2", 8)
      .add(14, "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ", 3)
      .add(12, "MUFU.EX2 R3, R4", 9)
      .add(15, "BAR.SYNC.DEFER_BLOCKING 0x2", 6)
      .add(16, "EXIT", 5);
  IssueCosts costs = listing.charge(kernel);
  EXPECT_EQ(kernel.of(costs, 13).clocks, 6);
  EXPECT_EQ(kernel.of(costs, 14).clocks, 8 + 3);
  EXPECT_EQ(kernel.of(costs, 15).clocks, 9 + 6);
}

// An invariant of the loop is computed once, in front of it; a constant is made
// anew in each iteration.
TEST(MachineCodeCosts, OtherLoops) {
  Kernel kernel("  mov.u32 %r5, 7;\n" // 10
                "  mov.u32 %r1, 0;\n"
                "$LOOP:\n"
                "  mul.lo.u32 %r3, %r4, %r5;\n" // 13
                "  add.u32 %r1, %r1, %r3;\n"
                "  setp.ne.u32 %p1, %r1, 8;\n"
                "  @%p1 bra $LOOP;\n" // 16
                "  st.shared.u32 [memory], %r1;\n"
                "  ret;");
  Listing listing;
  listing.add(13, "IMAD R3, R4, 0x7, RZ", 5)
      .add(11, "MOV R1, RZ", 3)
      .label(".L_x_0")
      .add(10, "MOV R5, 0x7", 4)
      .add(14, "IADD3 R1, R1, R3, RZ", 2)
      .add(15, "ISETP.NE.U32.AND P0, PT, R1, 0x8, PT", 13)
      .add(16, "@P0 BRA `(.L_x_0)", 5)
      .add(17, "STS [UR4], R1", 1)
      .add(18, "EXIT", 5);
  IssueCosts costs = listing.charge(kernel);
  EXPECT_EQ(kernel.clocks(costs, 10, 12), 8);
  EXPECT_EQ(kernel.of(costs, 11)[Pipe::FmaHeavy], 1);
  EXPECT_EQ(kernel.of(costs, 13).clocks, 0);
  EXPECT_EQ(kernel.clocks(costs, 13, 16), 24);
  EXPECT_EQ(kernel.of(costs, 17)[Pipe::Lsu], 1);
}

// The loop is unrolled by four, and a copy of its body in front of it executes
// what is left over: an iteration costs a quarter of the unrolled loop's.
TEST(MachineCodeCosts, Copies) {
  Kernel kernel("$LOOP:\n"
                "  ex2.approx.ftz.f32 %f1, %f1;\n" // 11
                "  fma.rn.f32 %f2, %f1, %f1, %f2;\n"
                "  sub.u32 %r1, %r1, 1;\n" // 13
                "  setp.ne.u32 %p1, %r1, 0;\n"
                "  @%p1 bra $LOOP;\n" // 15
                "  ret;");
  Listing listing;
  listing.add(11, "MUFU.EX2 R1, R1", 9).add(12, "FFMA R2, R1, R1, R2", 9);
  listing.label(".L_x_0");
  for (unsigned i = 0; i < 4; i++)
    listing.add(11, "MUFU.EX2 R1, R1", 8).add(12, "FFMA R2, R1, R1, R2", 2);
  listing.add(13, "IADD3 R3, R3, -0x4, RZ", 4)
      .add(14, "ISETP.NE.U32.AND P0, PT, R3, RZ, PT", 12)
      .add(15, "@P0 BRA `(.L_x_0)", 4)
      .add(16, "EXIT", 5);
  ChargeReport report;
  IssueCosts costs = listing.charge(kernel, &report);
  EXPECT_EQ(report.peeled, 2u);
  EXPECT_EQ(kernel.of(costs, 11)[Pipe::Mufu], 1);
  EXPECT_EQ(kernel.of(costs, 11).clocks, 8);
  EXPECT_EQ(kernel.of(costs, 12)[Pipe::Fma], 1);
  EXPECT_EQ(kernel.of(costs, 14).clocks, 3);
  EXPECT_EQ(kernel.clocks(costs, 11, 15) * 4, 4 * 10 + 4 + 12 + 4);
}

// A wait is tried in line, and goes on in a loop at the function's end, which
// costs nothing. Between the try and the branch that needs its result there is
// arithmetic that the PTX has behind the wait, in the shadow of the try.
TEST(MachineCodeCosts, WaitForAnMbarrier) {
  Kernel kernel("$WORK:\n"
                "  mov.u32 %r2, memory;\n" // 11
                "$WAIT:\n"
                "  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], %r3;\n"
                "  @%p1 bra $DONE;\n" // 14
                "  bra $WAIT;\n"
                "$DONE:\n"
                "  mul.f32 %f1, %f1, %f2;\n" // 17
                "  xor.b32 %r3, %r3, 1;\n"
                "  sub.u32 %r1, %r1, 1;\n" // 19
                "  setp.ne.u32 %p2, %r1, 0;\n"
                "  @%p2 bra $WORK;\n" // 21
                "  ret;");
  Listing listing;
  listing.label(".L_x_0")
      .add(13, "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR9], R3",
           Listing::Control{2, 2, 7, 0})
      .add(17, "FMUL R1, R1, R2", 3)
      .add(14, "@!P0 BRA `(.L_x_1)", Listing::Control{5, 7, 7, 4})
      .label(".L_x_2")
      .add(18, "LOP3.LUT R3, R3, 0x1, RZ, 0x3c, !PT", 2)
      .add(19, "IADD3 R1, R1, -0x1, RZ", 4)
      .add(20, "ISETP.NE.U32.AND P2, PT, R1, RZ, PT", 12)
      .add(21, "@P2 BRA `(.L_x_0)", 5)
      .add(22, "EXIT", 5)
      .label(".L_x_1")
      .add(13, "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR9], R3",
           Listing::Control{2, 2, 7, 0})
      .add(13, "@!P0 NANOSLEEP.SYNCS 0x989680", 5)
      .add(14, "@!P0 BRA `(.L_x_1)", Listing::Control{5, 7, 7, 4})
      .add(14, "BRA `(.L_x_2)", 5);
  ChargeReport report;
  IssueCosts costs = listing.charge(kernel, &report);
  EXPECT_EQ(report.waiting, 4u);
  EXPECT_EQ(kernel.of(costs, 13)[Pipe::Lsu], 1);
  EXPECT_EQ(kernel.of(costs, 13)[Pipe::Fma], 1);
  EXPECT_EQ(kernel.of(costs, 17).clocks, 0);
  EXPECT_EQ(kernel.of(costs, 14).clocks, 5);
  ASSERT_EQ(kernel.of(costs, 14).waits.size(), 1u);
  EXPECT_EQ(kernel.of(costs, 14).waits[0].line, 13u);
  EXPECT_EQ(kernel.of(costs, 14).waits[0].distance, 2 + 3);
  EXPECT_EQ(kernel.clocks(costs, 11, 21), 2 + 3 + 5 + 2 + 4 + 12 + 5);
}

// Scoreboards: the latest producer counts, also that of the iteration before; a
// wait until operands have been read is none.
TEST(MachineCodeCosts, Waits) {
  Kernel kernel("$LOOP:\n"
                "  ld.shared.u32 %r2, [memory];\n" // 11
                "  ld.shared.u32 %r3, [memory+4];\n"
                "  add.u32 %r4, %r4, %r5;\n" // 13
                "  add.u32 %r6, %r2, %r3;\n"
                "  st.shared.u32 [memory+8], %r6;\n" // 15
                "  ld.shared.u32 %r5, [memory+64];\n"
                "  setp.ne.u32 %p1, %r6, 0;\n" // 17
                "  @%p1 bra $LOOP;\n"
                "  ret;");
  Listing listing;
  listing.label(".L_x_0")
      .add(11, "LDS R2, [UR4]", Listing::Control{1, 0, 7, 0})
      .add(12, "LDS R3, [UR4+0x4]", Listing::Control{2, 0, 7, 0})
      .add(13, "IADD3 R4, R4, R5, RZ", Listing::Control{3, 7, 7, 2})
      .add(14, "IADD3 R6, R2, R3, RZ", Listing::Control{5, 7, 7, 1})
      .add(15, "STS [UR4+0x8], R6", Listing::Control{1, 7, 3, 0})
      .add(16, "LDS R5, [UR4+0x40]", Listing::Control{4, 1, 7, 0})
      .add(17, "ISETP.NE.U32.AND P0, PT, R6, RZ, PT",
           Listing::Control{13, 7, 7, 8})
      .add(18, "@P0 BRA `(.L_x_0)", 5)
      .add(19, "EXIT", 5);
  IssueCosts costs = listing.charge(kernel);
  ASSERT_EQ(kernel.of(costs, 14).waits.size(), 1u);
  EXPECT_EQ(kernel.of(costs, 14).waits[0].line, 12u);
  EXPECT_EQ(kernel.of(costs, 14).waits[0].distance, 2 + 3);
  ASSERT_EQ(kernel.of(costs, 13).waits.size(), 1u);
  EXPECT_EQ(kernel.of(costs, 13).waits[0].line, 16u);
  EXPECT_EQ(kernel.of(costs, 13).waits[0].distance, 4 + 13 + 5 + 1 + 2);
  EXPECT_TRUE(kernel.of(costs, 17).waits.empty());
}

// Several instructions of a line have their own costs, so that one can wait for
// another.
TEST(MachineCodeCosts, InstructionsOfALine) {
  Kernel kernel("  ld.shared.u32 %r2, [memory]; add.u32 %r2, %r2, 1;\n"
                "  ret;");
  Listing listing;
  listing.add(10, "LDS R2, [UR4]", Listing::Control{2, 0, 7, 0})
      .add(10, "VIADD R2, R2, 0x1", Listing::Control{5, 7, 7, 1})
      .add(11, "EXIT", 5);
  IssueCosts costs = listing.charge(kernel);
  for (const Inst &inst : kernel.program->insts) {
    const IssueCost &cost = costs.of(inst);
    if (inst.flags & Inst::Helper)
      continue;
    if (inst.opcode.starts_with("ld")) {
      EXPECT_EQ(cost[Pipe::Lsu], 1);
      EXPECT_TRUE(cost.waits.empty());
    } else if (inst.opcode.starts_with("add")) {
      EXPECT_EQ(cost[Pipe::Alu], 1);
      ASSERT_EQ(cost.waits.size(), 1u);
      EXPECT_EQ(cost.waits[0].distance, 2);
    }
  }
}

// Spilled registers: the first load's result is needed by another PTX
// instruction, the second one's by the instruction to which it is charged.
TEST(MachineCodeCosts, Spills) {
  Kernel kernel("$LOOP:\n"
                "  fma.rn.f32 %f1, %f1, %f2, %f3;\n" // 11
                "  fma.rn.f32 %f4, %f4, %f2, %f1;\n"
                "  setp.ne.u32 %p1, %r1, 0;\n" // 13
                "  @%p1 bra $LOOP;\n"
                "  ret;");
  Listing listing;
  listing.label(".L_x_0")
      .add(11, "LDL R2, [R1+0x8] (*\"SpillRefill\"*)",
           Listing::Control{2, 0, 7, 0})
      .add(11, "FFMA R4, R4, R5, R6", 4)
      .add(12, "LDL.LU.64 R8, [R1+0x10] (*\"SpillRefill\"*)",
           Listing::Control{3, 1, 7, 0})
      .add(12, "FFMA R9, R9, R2, R8", Listing::Control{4, 7, 7, 3})
      .add(12, "STL [R1+0x8], R9 (*\"SpillRefill\"*)",
           Listing::Control{1, 7, 2, 0})
      .add(13, "ISETP.NE.U32.AND P0, PT, R3, RZ, PT", 12)
      .add(14, "@P0 BRA `(.L_x_0)", 5)
      .add(15, "EXIT", 5);
  IssueCosts costs = listing.charge(kernel);
  for (const Inst &inst : kernel.program->insts) {
    const IssueCost &cost = costs.of(inst);
    if (inst.line == 11) {
      EXPECT_EQ(cost.localOps, 1);
      EXPECT_EQ(cost.localBytes, 4);
      EXPECT_FALSE(cost.localDistance);
    } else if (inst.line == 12) {
      EXPECT_EQ(cost[Pipe::Lsu], 2);
      EXPECT_EQ(cost.localOps, 2);
      EXPECT_EQ(cost.localBytes, 8 + 4);
      ASSERT_EQ(cost.waits.size(), 1u);
      EXPECT_TRUE(cost.waits[0].isLocal);
      EXPECT_EQ(cost.waits[0].line, 11u);
      EXPECT_EQ(cost.waits[0].distance, 2 + 4 + 3);
      ASSERT_TRUE(cost.localDistance);
      EXPECT_EQ(*cost.localDistance, 3);
    } else {
      EXPECT_EQ(cost.localOps, 0);
    }
  }
}

// nvdisasm repeats the line before for products, which have none: they are
// those of the PTX, in order, by their shapes.
TEST(MachineCodeCosts, Products) {
  StringRef small = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                    "{%f1,%f2,%f3,%f4}, %rd1, %rd2, 1, 1, 1, 0, 0;\n";
  StringRef large = "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
                    "{%f5,%f6,%f7,%f8,%f9,%f10,%f11,%f12}, %rd1, %rd2, 1, 1, "
                    "1, 0, 0;\n";
  Kernel kernel(("wgmma.fence.sync.aligned;\n" + small + small + large + // 13
                 "wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;\n" // 15
                 "ret;")
                    .str());
  Listing listing;
  listing.add(10, "WARPGROUP.ARRIVE", 6)
      .add(10, "HGMMA.64x8x16.F32.BF16 R24, gdesc[UR8], RZ, !UPT", 2)
      .add(10, "HGMMA.64x8x16.F32.BF16 R24, gdesc[UR8], R24", 3)
      .add(10, "HGMMA.64x16x16.F32.BF16 R28, gdesc[UR8], R28, gsb0", 4)
      .add(15, "WARPGROUP.DEPBAR.LE gsb0, 0x0", 2)
      .add(16, "EXIT", 5);
  IssueCosts costs = listing.charge(kernel);
  EXPECT_EQ(kernel.of(costs, 10)[Pipe::Tensor], 0);
  for (unsigned line : {11, 12, 13}) {
    EXPECT_EQ(kernel.of(costs, line)[Pipe::Tensor], 1);
    EXPECT_EQ(kernel.of(costs, line).clocks, line - 9);
  }
}

//===----------------------------------------------------------------------===//
// The tools
//===----------------------------------------------------------------------===//

namespace {

/// Programs in place of ptxas and nvdisasm; temporary files go to a folder of
/// its own, and none may be left.
class MachineCodeTools : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(fs::createUniqueDirectory("fa4-machine-code", root));
    temporary = file("tmp");
    ASSERT_FALSE(fs::create_directory(temporary));
    before = getenv("TMPDIR") ? getenv("TMPDIR") : "";
    setenv("TMPDIR", temporary.c_str(), 1);
  }
  void TearDown() override {
    if (before.empty())
      unsetenv("TMPDIR");
    else
      setenv("TMPDIR", before.c_str(), 1);
    std::error_code ec;
    EXPECT_EQ(fs::directory_iterator(temporary, ec), fs::directory_iterator());
    fs::remove_directories(root);
  }
  std::string file(StringRef name) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }
  std::string program(StringRef name, StringRef script) {
    std::string path = file(name);
    std::error_code ec;
    llvm::raw_fd_ostream(path, ec) << "#!/bin/sh\n" << script << "\n";
    EXPECT_FALSE(ec);
    EXPECT_FALSE(fs::setPermissions(path, fs::all_all));
    return path;
  }
  std::string errorOf(StringRef ptxas, StringRef nvdisasm) {
    auto costs = issueCostsFromMachineCode(*kernel.program, kernel.text, ptxas,
                                           nvdisasm);
    return costs ? "" : llvm::toString(costs.takeError());
  }
  /// A ptxas that prints what there is to print and writes a cubin.
  std::string goodPtxas() {
    return program(
        "ptxas",
        "echo \"ptxas info    : Compiling entry function 'k' for 'sm_90a'\"\n"
        "echo 'ptxas info    : Used 6 registers'\n"
        "while [ \"$1\" != -o ]; do shift; done\n"
        "echo 'Cuda compilation tools, release 13.0, V13.0.88' > $2");
  }

  Kernel kernel{"ret;"};
  llvm::SmallString<128> root;
  std::string temporary, before;
};

} // namespace

TEST_F(MachineCodeTools, Source) {
  Listing listing;
  listing.add(10, "EXIT", 5);
  std::string text = file("text");
  std::error_code ec;
  llvm::raw_fd_ostream(text, ec) << listing.out.str();
  std::string nvdisasm = program("nvdisasm", "cat " + text);
  IssueCosts costs = llvm::cantFail(issueCostsFromMachineCode(
      *kernel.program, kernel.text, goodPtxas(), nvdisasm));
  EXPECT_EQ(costs.source, "machine code (ptxas 13.0.88)");
  EXPECT_EQ(kernel.of(costs, 10).clocks, 5);
  EXPECT_EQ(costs.registers.lookup("k"), 6u);
}

TEST_F(MachineCodeTools, Errors) {
  std::string none = file("none"), ptxas = goodPtxas();
  EXPECT_EQ(errorOf(none, none),
            "'" + none + "', given as ptxas, is no executable file");
  EXPECT_EQ(errorOf(ptxas, none),
            "'" + none + "', given as nvdisasm, is no executable file");
  std::string bad = program("bad", "echo no good >&2; exit 3");
  EXPECT_EQ(errorOf(bad, bad),
            bad + " -arch=sm_90a failed (exit status 3):\nno good");
  EXPECT_EQ(errorOf(ptxas, bad), bad + " failed (exit status 3):\nno good");
  std::string silent = program("silent", "exit 0");
  EXPECT_EQ(errorOf(ptxas, silent), "nvdisasm has printed no instruction");
  std::string other = program(
      "other", "echo '.section .text.other,'; echo '/*0000*/ EXIT ; /* "
               "0x000000000000794d */'; echo '/* 0x000fea0003800000 */'");
  EXPECT_EQ(errorOf(ptxas, other),
            "nvdisasm has printed no machine code of the kernel 'k'");
}

// PTX of a version that ptxas does not know yet is assembled as one that it
// knows.
TEST_F(MachineCodeTools, OldPtxas) {
  goodPtxas();
  std::string old = program(
      "old", "for file; do case $file in *.ptx) break;; esac; done\n"
             "if grep -q '^.version 8.0' $file; then\n"
             "  echo \"ptxas $file, line 1; fatal   : Unsupported .version "
             "8.0; current version is '7.8'\"; exit 1\n"
             "fi\n"
             "grep -q '^.version 7.8' $file && exec " +
                 file("ptxas") + " \"$@\"");
  std::string silent = program("silent", "exit 0");
  EXPECT_EQ(errorOf(old, silent), "nvdisasm has printed no instruction");
}

// With the real tools, where they are: each clock of the loop is charged to the
// loop, though ptxas moves and copies code.
TEST_F(MachineCodeTools, RealLoop) {
  llvm::Expected<std::string> ptxas = findPtxas(), nvdisasm = findNvdisasm();
  if (!ptxas || !nvdisasm) {
    llvm::consumeError(ptxas ? llvm::Error::success() : ptxas.takeError());
    llvm::consumeError(nvdisasm ? llvm::Error::success()
                                : nvdisasm.takeError());
    GTEST_SKIP() << "needs ptxas and nvdisasm";
  }
  Kernel real("  ld.param.u64 %rd1, [out];\n" // 10
              "  mov.u32 %r1, %tid.x;\n"
              "  cvt.rn.f32.u32 %f1, %r1;\n"
              "  mov.f32 %f2, 0f00000000;\n"
              "$LOOP:\n" // 14
              "  .pragma \"nounroll\";\n"
              "  ex2.approx.ftz.f32 %f3, %f1;\n"
              "  bar.sync 0;\n" // 17
              "  fma.rn.f32 %f2, %f3, %f3, %f2;\n"
              "  add.f32 %f1, %f1, %f2;\n"
              "  add.u32 %r1, %r1, 1;\n" // 20
              "  setp.lt.u32 %p1, %r1, 4096;\n"
              "  @%p1 bra $LOOP;\n"
              "  st.global.f32 [%rd1], %f2;\n" // 23
              "  ret;");
  llvm::Expected<PtxasResult> cubin =
      assemble(*ptxas, real.text, "sm_90a", std::string("-lineinfo"));
  ASSERT_TRUE(bool(cubin));
  auto code = llvm::cantFail(
      parseMachineCode(llvm::cantFail(disassemble(*nvdisasm, cubin->cubin))));
  // The loop's instructions are those from the target of the branch back on.
  const std::vector<MachineInst> &insts = code[0].insts;
  float stalls = 0;
  for (size_t i = 0; i < insts.size(); i++)
    if (insts[i].target != -1 && insts[i].target < int(i))
      for (size_t j = insts[i].target; j <= i; j++)
        stalls += insts[j].stall;
  std::vector<ChargeReport> reports;
  IssueCosts costs = chargeMachineCode(*real.program, code, "", &reports);
  // The first instruction has the line of the declaration, the branch behind
  // the end none.
  EXPECT_LE(reports[0].withoutLine, 2u);
  EXPECT_GT(stalls, 20);
  EXPECT_EQ(real.clocks(costs, 14, 22), stalls);
  EXPECT_GE(real.of(costs, 17)[Pipe::Control], 1);
  float mufu = 0;
  for (uint32_t line = 14; line <= 22; line++)
    mufu += real.of(costs, line)[Pipe::Mufu];
  EXPECT_EQ(mufu, 1);
}
