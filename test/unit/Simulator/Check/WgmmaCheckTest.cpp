//===- WgmmaCheckTest.cpp - what wgmma asks of registers and memory -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel, which is right, and edits of it that each take away or add one
// thing that the manual asks for or forbids. Two products as in attention: A
// of the first is in shared memory, written by stores; A of the second are
// registers that are computed from the accumulators of the first.
//
//===----------------------------------------------------------------------===//

#include "CheckTest.h"

using namespace fa4::sim;
using namespace fa4::sim::test;

static const std::string fence = "wgmma.fence.sync.aligned;\n";
static const std::string commit = "wgmma.commit_group.sync.aligned;\n";
static const std::string waitAll = "wgmma.wait_group.sync.aligned 0;\n";

/// A product of D registers `d` with A from registers or by descriptor.
static std::string product(const std::string &d, const std::string &a,
                           const std::string &scaleD = "0",
                           const std::string &shape = "m64n8k16") {
  std::string transposes = a[0] == '{' ? "0" : "0, 0";
  return "wgmma.mma_async.sync.aligned." + shape + ".f32.bf16.bf16 " + d +
         ", " + a + ", %rd5, " + scaleD + ", 1, 1, " + transposes + ";\n";
}
static const std::string scores = "{%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}";
static const std::string output = "{%o0, %o1, %o2, %o3}";
static const std::string weights = "{%a0, %a1, %a2, %a3}";
static const std::string first = product(scores, "%rd4", "0", "m64n16k16");
static const std::string again = product(scores, "%rd4", "1", "m64n16k16");
static const std::string second = product(output, weights);

/// Q and K lie in core matrices of 8 rows by 16 bytes, one behind the other;
/// warp w writes (and owns) Q's rows 16 w to 16 w + 15, 512 bytes. %r5 and %r6
/// are a thread's place in those of its own warp and of the next.
static std::string wgmmaKernel() {
  return R"(.version 8.4
.target sm_90a
.address_size 64
.entry k(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b32 %d<8>; .reg .b32 %o<4>; .reg .b32 %a<4>;
  .reg .b64 %rd<9>; .reg .pred %p<4>;
  .shared .align 1024 .b8 data[8192];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, 0x3F803F80;
  mov.u32 %r2, data;
  shl.b32 %r3, %r0, 4;
  add.u32 %r5, %r2, %r3;
  xor.b32 %r3, %r3, 512;
  add.u32 %r6, %r2, %r3;
  st.shared.v4.b32 [%r5], {%r1, %r1, %r1, %r1};
  st.shared.v4.b32 [%r5+4096], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r9, %r2, 4;
  cvt.u64.u32 %rd2, %r9;
  add.u64 %rd4, %rd2, 0x0000001000080000;
  add.u64 %rd5, %rd4, 256;
  setp.lt.u32 %p1, %r0, 32;
  selp.u64 %rd6, 2, 0, %p1;
  // OPERANDS
)" + fence +
         "// FIRST\n" + first + again + "// BEHIND FIRST\n" + commit + waitAll +
         R"(// SOFTMAX
  cvt.rn.bf16x2.f32 %a0, %d1, %d0;
  cvt.rn.bf16x2.f32 %a1, %d3, %d2;
  cvt.rn.bf16x2.f32 %a2, %d5, %d4;
  cvt.rn.bf16x2.f32 %a3, %d7, %d6;
  // SECOND
)" + fence +
         second + "// BEHIND SECOND\n" + commit + waitAll + R"(// LAST
  shl.b32 %r10, %r0, 4;
  cvt.u64.u32 %rd7, %r10;
  add.u64 %rd7, %rd1, %rd7;
  st.global.v4.b32 [%rd7], {%o0, %o1, %o2, %o3};
  ret;
}
)";
}

namespace {
struct WgmmaLaunch {
  uint32_t threads = 128;
  std::string messages; ///< Of the first run with findings.
  std::set<Severity> severities;
};
} // namespace

/// The kinds of findings of ten seeds together.
static std::set<std::string> kinds(const std::string &text,
                                   WgmmaLaunch &launch) {
  std::set<std::string> found;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Kernel kernel(text);
    EXPECT_EQ(kernel.error, "");
    if (!kernel.simulator)
      return {"error"};
    kernel.buffer("out", 4096);
    kernel.config.block = {launch.threads, 1, 1};
    RunOptions options;
    options.seed = seed;
    options.keepGoing = true;
    options.maxInstructions = 1'000'000;
    options.checker = happensBeforeChecker();
    auto result = kernel.simulator->run(kernel.config, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {"error"};
    }
    for (const Report &report : result->reports) {
      found.insert(report.kind);
      launch.severities.insert(report.severity);
    }
    if (launch.messages.empty())
      launch.messages = reports(*result);
  }
  return found;
}
static std::set<std::string> kinds(const std::string &text) {
  WgmmaLaunch launch;
  return kinds(text, launch);
}

using Kinds = std::set<std::string>;
static const Kinds nothing, missingFence = {"missing-wgmma-fence"},
                            missingWait = {"missing-wgmma-wait"};

static std::string behind(const std::string &mark, const std::string &text) {
  return edit(wgmmaKernel(), "// " + mark + "\n", text);
}

/// Expects a message among those of the first run with findings.
static void expectMessage(const std::string &text, const std::string &message) {
  WgmmaLaunch launch;
  kinds(text, launch);
  EXPECT_NE(launch.messages.find(message), std::string::npos)
      << "in: " << launch.messages;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

TEST(Wgmma, RightKernel) { EXPECT_EQ(kinds(wgmmaKernel()), nothing); }

TEST(Wgmma, FenceBeforeFirst) {
  std::string text = edit(wgmmaKernel(), fence + "// FIRST", "// FIRST");
  EXPECT_EQ(kinds(text), missingFence);
  expectMessage(text, "wgmma.fence is missing before the warp's first");
}

TEST(Wgmma, FenceBehindOtherAccesses) {
  EXPECT_EQ(kinds(edit(wgmmaKernel(), fence + second, second)), missingFence);
  // An accumulator that is written between the fence and the product, or read.
  EXPECT_EQ(kinds(behind("FIRST", "mov.b32 %d3, 0;\n")), missingFence);
  EXPECT_EQ(kinds(behind("FIRST", "mov.b32 %r11, %d3;\n")), missingFence);
  EXPECT_EQ(kinds(behind("OPERANDS", "mov.b32 %d3, 0;\n")), nothing);
  // A part of A.
  EXPECT_EQ(kinds(edit(wgmmaKernel(), fence + second,
                       fence + "mov.b32 %a0, 0;\n" + second)),
            missingFence);
  // By one lane.
  EXPECT_EQ(kinds(behind("FIRST", "setp.eq.u32 %p2, %r0, 5;\n"
                                  "@%p2 mov.b32 %d3, 0;\n")),
            missingFence);
  expectMessage(behind("FIRST", "mov.b32 %d3, 0;\n"),
                "a register of the wgmma.mma_async was read or written before: "
                "wgmma.fence is missing between them");
}

TEST(Wgmma, OtherShapeNeedsFence) {
  std::string other = product("{%d0, %d1, %d2, %d3}", "%rd4", "1");
  EXPECT_EQ(kinds(edit(wgmmaKernel(), again, other)), missingFence);
  EXPECT_EQ(kinds(edit(wgmmaKernel(), again, fence + other)), nothing);
  expectMessage(edit(wgmmaKernel(), again, other),
                "an accumulator is one of an earlier wgmma.mma_async of "
                "another shape");
}

TEST(Wgmma, WaitBeforeAccess) {
  std::string firstGroup = commit + waitAll + "// SOFTMAX";
  for (const std::string &other :
       {commit + "// SOFTMAX", waitAll + "// SOFTMAX",
        commit + edit(waitAll, "0;", "1;") + "// SOFTMAX"})
    EXPECT_EQ(kinds(edit(wgmmaKernel(), firstGroup, other)), missingWait);
  // Of two groups, one may be pending: the first is complete.
  std::string twoGroups = edit(wgmmaKernel(), firstGroup,
                               commit + product(output, "%rd4") + commit +
                                   edit(waitAll, "0;", "1;") + "// SOFTMAX");
  EXPECT_EQ(kinds(twoGroups), nothing);
  expectMessage(edit(wgmmaKernel(), firstGroup, "// SOFTMAX"),
                "the register is an accumulator of a wgmma.mma_async that may "
                "still be in progress: wgmma.commit_group and wgmma.wait_group "
                "are missing between them [line ");
}

TEST(Wgmma, InputsInFlight) {
  EXPECT_EQ(kinds(behind("BEHIND SECOND", "mov.b32 %a3, 0;\n")), missingWait);
  EXPECT_EQ(kinds(behind("BEHIND SECOND", "mov.b32 %r11, %a3;\n")),
            missingWait);
  EXPECT_EQ(kinds(behind("LAST", "mov.b32 %a3, 0;\n")), nothing);
  // Two products may read the same part of A.
  EXPECT_EQ(kinds(behind("BEHIND SECOND", product(output, weights, "1"))),
            nothing);
  EXPECT_EQ(
      kinds(behind("BEHIND SECOND", product("{%d0, %d1, %d2, %d3}", weights))),
      nothing);
}

TEST(Wgmma, ProductsOfProductsInFlight) {
  // A is an accumulator of one in flight.
  EXPECT_EQ(
      kinds(behind("BEHIND FIRST", product(output, "{%d0, %d1, %d2, %d3}"))),
      missingWait);
  // An accumulator is A of one in flight.
  EXPECT_EQ(kinds(behind("BEHIND SECOND", product(weights, "%rd4"))),
            missingWait);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

TEST(Wgmma, ProxyFence) {
  EXPECT_EQ(kinds(edit(wgmmaKernel(), "fence.proxy.async.shared::cta;")),
            Kinds{"missing-proxy-fence"});
  EXPECT_EQ(kinds(edit(wgmmaKernel(), "fence.proxy.async.shared::cta;",
                       "fence.proxy.async.global;")),
            Kinds{"missing-proxy-fence"});
  // Behind the barrier it speaks for all.
  EXPECT_EQ(
      kinds(edit(edit(wgmmaKernel(), "fence.proxy.async.shared::cta;"),
                 "bar.sync 0;", "bar.sync 0; fence.proxy.async.shared::cta;")),
      nothing);
}

TEST(Wgmma, OperandsOfOtherWarps) {
  Kinds found = kinds(edit(wgmmaKernel(), "bar.sync 0;", "bar.warp.sync -1;"));
  found.erase("uninitialised");
  EXPECT_EQ(found, Kinds{"race"});
}

TEST(Wgmma, OverwritingAnOperand) {
  std::string store = "st.shared.b32 [data+4096], %r1;\n";
  EXPECT_TRUE(kinds(behind("BEHIND SECOND", "@%p1 " + store))
                  .count("missing-wgmma-wait"));
  std::string handed = "bar.sync 1, 128;\n@%p1 " + store;
  EXPECT_TRUE(
      kinds(behind("BEHIND SECOND", handed)).count("missing-wgmma-wait"));
  // Behind a wait, by whoever waited or was told by such a warp: it speaks for
  // the whole warpgroup.
  EXPECT_EQ(kinds(behind("LAST", "setp.eq.u32 %p2, %r0, 70;\n@%p2 " + store)),
            nothing);
}

TEST(Wgmma, RowsOfAWarp) {
  // A warp may write its own rows of A without the others: it alone reads them.
  std::string tail = "bar.warp.sync -1;\nfence.proxy.async.shared::cta;\n"
                     "bar.warp.sync -1;\n" +
                     fence + product(output, "%rd4") + commit + waitAll;
  // B lies at 4096, apart from A.
  std::string store = "st.shared.v4.b32 [%r5], {%r1, %r1, %r1, %r1};\n";
  EXPECT_EQ(kinds(behind("LAST", store + tail)), nothing);
  std::string other = edit(store, "%r5", "%r6");
  Kinds found = kinds(behind("LAST", other + tail));
  EXPECT_TRUE(found.count("race") || found.count("missing-wgmma-wait"));
}

TEST(Wgmma, BadOperands) {
  std::string outside = behind("OPERANDS", "add.u64 %rd5, %rd5, 16000;\n");
  EXPECT_EQ(kinds(outside), Kinds{"out-of-bounds"});
  expectMessage(outside, "the descriptor of B covers shared");
  std::string blackwell =
      behind("OPERANDS", "or.b64 %rd5, %rd5, 0x0000400000000000;\n");
  EXPECT_EQ(kinds(blackwell), Kinds{"bad-descriptor"});
  expectMessage(blackwell, "bits 46-48 are not 0 (a descriptor of tcgen05");
  std::string reserved =
      behind("OPERANDS", "or.b64 %rd4, %rd4, 0x0010000000000000;\n");
  expectMessage(reserved, "bits 52-61 are not 0");
}

//===----------------------------------------------------------------------===//
// Warpgroups
//===----------------------------------------------------------------------===//

TEST(Wgmma, WarpsDisagree) {
  std::string b = behind("OPERANDS", "add.u64 %rd5, %rd5, %rd6;\n");
  EXPECT_EQ(kinds(b), Kinds{"warpgroup-mismatch"});
  expectMessage(b, "give different values for the descriptor of B");
  std::string scale =
      edit(wgmmaKernel(), again, product(scores, "%rd4", "%p1", "m64n16k16"));
  EXPECT_EQ(kinds(scale), Kinds{"warpgroup-mismatch"});
  expectMessage(scale, "give different values for scale-d");
  std::string lanes = behind("OPERANDS", "setp.eq.u32 %p2, %r0, 9;\n"
                                         "@%p2 add.u64 %rd4, %rd4, 2;\n");
  EXPECT_TRUE(kinds(lanes).count("divergent-operand"));
  expectMessage(lanes, "lanes 0 and 9 give different values for the "
                       "descriptor of A of wgmma.mma_async");
}

TEST(Wgmma, WarpsTakeOtherWays) {
  // Warp 0 executes another instruction than the others.
  std::string branch = "@%p1 bra other;\n" + again + "bra together;\nother:\n" +
                       again + "together:\n";
  WgmmaLaunch launch;
  EXPECT_EQ(kinds(edit(wgmmaKernel(), again, branch), launch),
            Kinds{"warpgroup-mismatch"});
  EXPECT_NE(launch.messages.find("the warps of a warpgroup must execute the "
                                 "same wgmma.mma_async: for warp "),
            std::string::npos)
      << launch.messages;
  // Warp 0 executes one more, and nobody waits for that one but its exit.
  std::string more =
      behind("LAST", "@%p1 bra more;\nbra less;\nmore:\n" + fence +
                         product(output, "%rd4") + commit + "less:\n");
  EXPECT_TRUE(kinds(more).count("warpgroup-mismatch"));
}

TEST(Wgmma, HangNamesTheLateWarp) {
  std::string text =
      behind("LAST", "@%p1 bra more;\nbra less;\nmore:\n" + fence +
                         product(output, "%rd4") + commit + waitAll +
                         "less:\nbar.sync 0;\n");
  EXPECT_EQ(kinds(text), Kinds{"hang"});
  expectMessage(text, "warp 0 at line ");
  expectMessage(text, "waits for its wgmma groups");
  expectMessage(text, "it has executed 4 wgmma.mma_async, another warp of its "
                      "warpgroup fewer");
}

TEST(Wgmma, IncompleteWarpgroup) {
  WgmmaLaunch launch;
  launch.threads = 96;
  Kinds found = kinds(wgmmaKernel(), launch);
  EXPECT_TRUE(found.count("warpgroup-mismatch"));
  EXPECT_NE(launch.messages.find("wgmma needs the four warps of a warpgroup, "
                                 "of which the CTA has 3 only"),
            std::string::npos)
      << launch.messages;
  std::string gone = behind("OPERANDS", "setp.eq.u32 %p2, %r0, 7;\n"
                                        "@%p2 exit;\n");
  EXPECT_TRUE(kinds(gone).count("divergent-aligned"));
}

TEST(Wgmma, ExitInFlight) {
  std::string text = edit(wgmmaKernel(), commit + waitAll + "// LAST", "");
  Kinds found = kinds(text);
  EXPECT_TRUE(found.count("exit-with-async-outstanding"));
  EXPECT_TRUE(found.count("missing-wgmma-wait"));
}

//===----------------------------------------------------------------------===//
// The time at which a product is performed
//===----------------------------------------------------------------------===//

/// The result of a run without checks, whose products are as late as they may
/// be.
static std::vector<float> lateResult(const std::string &text) {
  Kernel kernel(text);
  EXPECT_EQ(kernel.error, "");
  kernel.buffer("out", 4096);
  kernel.config.block = {128, 1, 1};
  RunOptions options;
  options.policy = SchedulePolicy::Lazy;
  auto result = kernel.simulator->run(kernel.config, options);
  EXPECT_TRUE(bool(result) && result->ok());
  const float *data = kernel.data<float>("out");
  return {data, data + 512};
}

TEST(Wgmma, ReadsAndWritesLate) {
  // Q, K and V hold ones: scores 16 twice, weights 32, 16 of them.
  EXPECT_EQ(lateResult(wgmmaKernel()), std::vector<float>(512, 512.0f));
  // Weights from accumulators that are not there yet.
  std::string early = edit(wgmmaKernel(), commit + waitAll + "// SOFTMAX");
  EXPECT_NE(lateResult(early), std::vector<float>(512, 512.0f));
  // Weights that are overwritten before they are read.
  EXPECT_NE(lateResult(behind("BEHIND SECOND", "mov.b32 %a0, 0;\n")),
            std::vector<float>(512, 512.0f));
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

TEST(Wgmma, ChipsRefuse) {
  std::string error = Kernel(edit(wgmmaKernel(), "sm_90a", "sm_100a")).error;
  EXPECT_EQ(error, "test.ptx:28:1: error: 'wgmma' exists on sm_90a only, and "
                   "the module's target is sm_100a");
  error = Kernel(edit(wgmmaKernel(), "sm_90a", "sm_90")).error;
  EXPECT_EQ(error, "test.ptx:28:1: error: 'wgmma' exists on sm_90a only, and "
                   "the module's target is sm_90");
  std::string tensor = behind("LAST", "tcgen05.wait::ld.sync.aligned;\n"
                                      "tcgen05.wait::st.sync.aligned;\n");
  error = Kernel(tensor).error;
  EXPECT_NE(error.find("'tcgen05' exists on sm_100a, sm_103a and their "
                       "families, and the module's target is sm_90a"),
            std::string::npos);
  EXPECT_EQ(error.find('\n'), std::string::npos) << "one for all of them";
  error = Kernel(edit(wgmmaKernel(), "sm_90a", "sm_120a")).error;
  EXPECT_EQ(error.substr(0, error.find('\n')),
            "test.ptx:2:1: error: no table of the chip sm_120a; there are "
            "tables of sm_90a, sm_100a, sm_103a");
}

TEST(Wgmma, MalformedForms) {
  auto errorOf = [](const std::string &instruction) {
    std::string error =
        Kernel(edit(wgmmaKernel(), second, instruction + "\n")).error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    size_t at = error.find("error: ");
    return at == std::string::npos ? error : error.substr(at + 7);
  };
  std::string begin = "wgmma.mma_async.sync.aligned.";
  EXPECT_EQ(errorOf(begin + "m64n12k16.f32.bf16.bf16 {%o0, %o1, %o2, %o3, %d0, "
                            "%d1}, %rd4, %rd5, 0, 1, 1, 0, 0;"),
            "wgmma has no N = 12 for these types");
  EXPECT_EQ(errorOf(begin + "m64n40k32.s32.s8.s8 {%o0, %o1}, %rd4, %rd5, 0;"),
            "wgmma has no N = 40 for these types");
  EXPECT_EQ(errorOf(begin + "m64n8k8.f32.bf16.bf16 {%o0, %o1, %o2, %o3}, %rd4, "
                            "%rd5, 0, 1, 1, 0, 0;"),
            "wgmma of these types multiplies k = 16 at a time, not 8");
  EXPECT_EQ(errorOf(begin + "m64n8k16.f32.bf16.bf16 {%o0, %o1}, %rd4, %rd5, 0, "
                            "1, 1, 0, 0;"),
            "D of this form is a vector of 4 different registers");
  EXPECT_EQ(errorOf(begin + "m64n8k16.f32.bf16.bf16 {%o0, %o1, %o0, %o1}, "
                            "%rd4, %rd5, 0, 1, 1, 0, 0;"),
            "D of this form is a vector of 4 different registers");
  EXPECT_EQ(errorOf(begin + "m64n8k16.f32.bf16.bf16 {%o0, %o1, %o2, %o3}, "
                            "{%a0, %a1}, %rd5, 0, 1, 1, 0;"),
            "A in registers is a vector of 4 registers");
  EXPECT_EQ(errorOf(begin + "m64n8k16.f32.bf16.bf16 {%o0, %o1, %o2, %o3}, "
                            "%rd4, %rd5, 0, 2, 1, 0, 0;"),
            "imm-scale-a must be 1 or -1");
  EXPECT_EQ(errorOf(begin + "m64n8k16.f32.bf16.bf16 {%o0, %o1, %o2, %o3}, "
                            "{%a0, %a1, %a2, %a3}, %rd5, 0, 1, 1, 0, 0;"),
            "this form has 7 operands, not 8");
  EXPECT_EQ(errorOf(begin + "m64n8k32.f32.e4m3.e4m3 {%o0, %o1, %o2, %o3}, "
                            "%rd4, %rd5, 0, 1, 1, 0, 1;"),
            "this form has 6 operands, not 8");
  for (const char *types : {"m64n8k16.f32.f16.bf16", "m64n8k16.bf16.bf16.bf16",
                            "m64n8k16.f16.bf16.bf16", "m128n8k16.f32.f16.f16",
                            "m64n8k16.satfinite.f32.f16.f16"})
    EXPECT_EQ(errorOf(begin + types +
                      " {%o0, %o1, %o2, %o3}, %rd4, %rd5, 0, "
                      "1, 1, 0, 0;"),
              "unsupported instruction form '" + begin + types + "'");
  EXPECT_EQ(errorOf("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 "
                    "{%o0, %o1, %o2, %o3}, %rd4, %rd5, %r0, 0, 0, 1, 1, 0, 0;"),
            "sparse wgmma is not supported");
  EXPECT_EQ(errorOf("wgmma.wait_group.sync.aligned %r0;"),
            "wgmma.wait_group needs a constant from 0 to 65535");
  EXPECT_EQ(errorOf("wgmma.wait_group.sync.aligned 4294967296;"),
            "wgmma.wait_group needs a constant from 0 to 65535");
}

/// A producer fills one stage, of which four warps multiply; thread 0 of these
/// gives it back. All four have waited for "full" when the product is complete.
static const std::string stages = R"(.version 8.4
.target sm_90a
.address_size 64
.entry k(.param .u64 out)
{
  .shared .align 1024 .b8 buffer[4096];
  .shared .align 8 .b8 bars[16];
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .f32 %d<4>;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  mov.u32 %r2, bars;
  mov.u32 %r3, buffer;
  ld.param.u64 %rd0, [out];
  mov.u32 %r4, 0;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra ready;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  mbarrier.init.shared::cta.b64 [%r2+8], 1;
ready:
  bar.sync 0;
  setp.eq.u32 %p0, %r1, 4;
  @%p0 bra producer;
  shr.u32 %r5, %r3, 4;
  cvt.u64.u32 %rd1, %r5;
  add.u64 %rd1, %rd1, 0x0000001000080000;
consume:
  and.b32 %r6, %r4, 1;
full:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r6;
  @!%p1 bra full;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %rd1, %rd1, 0, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  setp.eq.u32 %p2, %r0, 0;
  @%p2 mbarrier.arrive.shared::cta.b64 _, [%r2+8];
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 4;
  @%p0 bra consume;
  ret;
producer:
  and.b32 %r1, %r0, 31;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra done;
produce:
  setp.eq.u32 %p0, %r4, 0;
  @%p0 bra issue;
  add.u32 %r6, %r4, -1;
  and.b32 %r6, %r6, 1;
empty:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2+8], %r6;
  @!%p1 bra empty;
issue:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 2048;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd0], 2048, [%r2];
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 4;
  @%p0 bra produce;
done:
  ret;
}
)";

TEST(Wgmma, OneWarpGivesAStageBack) {
  WgmmaLaunch launch;
  launch.threads = 160;
  EXPECT_EQ(kinds(stages, launch), nothing) << launch.messages;
  // Other warps may still wait for the stage while thread 0's product is not
  // known to be complete.
  Kinds early =
      kinds(edit(edit(stages, "  wgmma.wait_group.sync.aligned 0;\n"),
                 "b64 _, [%r2+8];\n",
                 "b64 _, [%r2+8];\n  wgmma.wait_group.sync.aligned 0;\n"),
            launch);
  EXPECT_TRUE(early.count("barrier-overtaken"));
  EXPECT_TRUE(early.count("race") || early.count("missing-wgmma-wait"));
  // One that waits behind its product is not known to have waited.
  Kinds late =
      kinds(edit(edit(stages, "  @!%p1 bra full;\n",
                      "  @!%p1 bra full;\n  setp.eq.u32 %p3, %r1, 1;\n"),
                 "  wgmma.wait_group.sync.aligned 0;\n",
                 "  wgmma.wait_group.sync.aligned 0;\n"
                 "again:\n  @!%p3 bra over;\n"
                 "  mbarrier.try_wait.parity.shared::cta.b64 %p1, "
                 "[%r2], %r6;\n  @!%p1 bra again;\nover:\n"),
            launch);
  EXPECT_TRUE(late.count("barrier-overtaken") || late.count("hang"));
}

TEST(Wgmma, OneLaneGivesBackWhatOthersHaveRead) {
  // All threads read words of the stage, as kernels read scales there.
  const std::string read = "shl.b32 %r7, %r0, 2; add.u32 %r7, %r7, %r3; "
                           "ld.shared.u32 %r8, [%r7];\n";
  const std::string wait = "  wgmma.wait_group.sync.aligned 0;\n";
  WgmmaLaunch before, behind, met;
  before.threads = behind.threads = met.threads = 160;
  // Their products say that they have done so, but order no memory.
  EXPECT_EQ(
      kinds(edit(stages, "  wgmma.fence", read + "  wgmma.fence"), before),
      Kinds{"race"});
  EXPECT_EQ(before.severities, std::set<Severity>{Severity::Strict});
  EXPECT_NE(before.messages.find("the read was executed before"),
            std::string::npos);
  // Nothing says that they have read what they read behind the product.
  EXPECT_EQ(kinds(edit(stages, wait, wait + read), behind), Kinds{"race"});
  EXPECT_TRUE(behind.severities.count(Severity::Error));
  EXPECT_EQ(kinds(edit(stages, wait, wait + read + "bar.sync 1, 128;\n"), met),
            nothing);
}
