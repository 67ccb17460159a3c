//===- MachineTest.cpp - memory, control flow, warps, barriers ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "gmock/gmock.h"

using namespace fa4::sim;
using namespace fa4::sim::test;
using testing::HasSubstr;

namespace {

/// An entry with one pointer parameter in %rd1, %r1 = tid.x, and some
/// registers; `body` ends in ret.
std::string kernel(const std::string &body, const std::string &directives = "",
                   const std::string &before = "") {
  return header() + before + ".visible .entry k(.param .u64 out) " +
         directives +
         "\n{\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n.reg .pred %p<9>;\n"
         "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n" +
         body + "\nret;\n}\n";
}

/// Stores %r2 at out[thread].
const char *store = "mad.wide.u32 %rd9, %r1, 4, %rd1;\nst.global.b32 [%rd9], "
                    "%r2;\n";

struct KernelRun {
  KernelRun(const std::string &text, Dim3 block, Dim3 grid = {},
            Dim3 cluster = {}, uint64_t seed = 0, uint64_t bytes = 4096,
            uint32_t shared = 0)
      : kernel(text) {
    EXPECT_EQ(kernel.error, "");
    if (!kernel.simulator)
      return;
    kernel.buffer("out", bytes);
    kernel.config.block = block;
    kernel.config.grid = grid;
    kernel.config.cluster = cluster;
    kernel.config.dynamicSharedBytes = shared;
    result = kernel.run(seed);
  }
  uint32_t operator[](unsigned i) { return kernel.data<uint32_t>("out")[i]; }
  std::string text() const { return reports(result); }
  Kernel kernel;
  RunResult result;
};

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

TEST(Divergence, LoopsOfDifferentLength) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    KernelRun run(kernel(std::string(R"(
      mov.u32 %r2, 0; mov.u32 %r3, 0;
    loop:
      setp.ge.u32 %p1, %r3, %r1;
      @%p1 bra done;
      add.u32 %r2, %r2, %r3;
      add.u32 %r3, %r3, 1;
      bra loop;
    done:
      bar.sync 0;
    )") + store),
                  {64}, {}, {}, seed);
    ASSERT_TRUE(run.result.ok()) << run.text();
    for (unsigned t = 0; t < 64; ++t)
      EXPECT_EQ(run[t], t * (t - 1) / 2);
  }
}

TEST(Divergence, BrxAndCalls) {
  std::string function = R"(
    .func (.reg .b32 %result) twice(.reg .b32 %x)
    { add.u32 %result, %x, %x; ret; }
    .func (.param .b32 result) square(.param .b32 x)
    { .reg .b32 %v; ld.param.b32 %v, [x]; mul.lo.u32 %v, %v, %v;
      st.param.b32 [result], %v; ret; }
  )";
  KernelRun run(kernel(std::string(R"(
      rem.u32 %r3, %r1, 3;
      ts: .branchtargets L0, L1, L2;
      brx.idx %r3, ts;
    L0: mov.u32 %r2, 7; bra end;
    L1: call (%r2), twice, (%r1); bra end;
    L2: { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1;
          call (r), square, (a); ld.param.b32 %r2, [r]; }
    end:
    )") + store,
                       "", function),
                {32});
  ASSERT_TRUE(run.result.ok()) << run.text();
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(run[t], t % 3 == 0 ? 7 : t % 3 == 1 ? 2 * t : t * t) << t;
}

TEST(Divergence, SpinOnAnotherLane) {
  // Lane 0 releases the others, who spin at a lower pc: independent thread
  // scheduling must let it through.
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KernelRun run(kernel(R"(
      setp.eq.u32 %p1, %r1, 0;
      @%p1 bra release;
    spin:
      ld.relaxed.gpu.global.b32 %r2, [%rd1];
      setp.eq.u32 %p2, %r2, 0;
      @%p2 bra spin;
      bra end;
    release:
      mov.u32 %r2, 1;
      st.relaxed.gpu.global.b32 [%rd1], %r2;
    end:
    )"),
                  {32}, {}, {}, seed);
    EXPECT_TRUE(run.result.ok()) << run.text();
  }
}

TEST(Control, ExitTrapAndGuards) {
  KernelRun run(
      kernel(std::string("mov.u32 %r2, 5; setp.lt.u32 %p1, %r1, 10; @%p1 "
                         "exit;\n") +
             store),
      {32});
  ASSERT_TRUE(run.result.ok());
  EXPECT_EQ(run[9], 0u);
  EXPECT_EQ(run[10], 5u);
  KernelRun trapped(kernel("trap;"), {32});
  EXPECT_THAT(trapped.text(), HasSubstr("trap: the kernel executed trap"));
}

//===----------------------------------------------------------------------===//
// Warp instructions
//===----------------------------------------------------------------------===//

TEST(Warp, Shuffles) {
  auto lane = [&](const std::string &text) {
    KernelRun run(kernel("add.u32 %r4, %r1, 100;\n" + text + "\n" + store),
                  {32});
    EXPECT_TRUE(run.result.ok()) << run.text();
    std::vector<uint32_t> v;
    for (unsigned t = 0; t < 32; ++t)
      v.push_back(run[t]);
    return v;
  };
  auto up = lane("shfl.sync.up.b32 %r2, %r4, 1, 0, -1;");
  auto down = lane("shfl.sync.down.b32 %r2|%p1, %r4, 4, 31, -1;");
  auto bfly = lane("shfl.sync.bfly.b32 %r2, %r4, 16, 31, -1;");
  auto idx = lane("shfl.sync.idx.b32 %r2, %r4, 3, 31, -1;");
  auto part = lane("shfl.sync.idx.b32 %r2, %r4, 1, 6175, -1;"); // width 8
  for (unsigned t = 0; t < 32; ++t) {
    EXPECT_EQ(up[t], 100 + (t ? t - 1 : 0));
    EXPECT_EQ(down[t], 100 + (t + 4 < 32 ? t + 4 : t));
    EXPECT_EQ(bfly[t], 100 + (t ^ 16));
    EXPECT_EQ(idx[t], 103u);
    EXPECT_EQ(part[t], 101 + t / 8 * 8);
  }
}

TEST(Warp, VotesMatchReduxElect) {
  auto value = [&](const std::string &text, unsigned t) {
    KernelRun run(kernel("setp.lt.u32 %p1, %r1, 8; and.b32 %r4, %r1, 3;\n" +
                         text + "\n" + store),
                  {32});
    EXPECT_TRUE(run.result.ok()) << run.text();
    return run[t];
  };
  EXPECT_EQ(value("vote.sync.ballot.b32 %r2, %p1, -1;", 20), 0xFFu);
  EXPECT_EQ(
      value("vote.sync.any.pred %p2, %p1, -1; selp.b32 %r2, 1, 2, %p2;", 20),
      1u);
  EXPECT_EQ(
      value("vote.sync.all.pred %p2, !%p1, -1; selp.b32 %r2, 1, 2, %p2;", 20),
      2u);
  EXPECT_EQ(value("match.any.sync.b32 %r2, %r4, -1;", 1), 0x22222222u);
  EXPECT_EQ(value("match.all.sync.b32 %r2|%p2, %r4, -1;", 1), 0u);
  EXPECT_EQ(value("redux.sync.add.s32 %r2, %r1, -1;", 3), 496u);
  EXPECT_EQ(value("redux.sync.max.u32 %r2, %r4, -1;", 3), 3u);
  EXPECT_EQ(
      value("cvt.rn.f32.u32 %r4, %r1; redux.sync.min.f32 %r2, %r4, -1;", 3),
      0u);
  EXPECT_EQ(value("elect.sync %r2|%p2, -1;", 17), 0u);
  EXPECT_EQ(value("elect.sync _|%p2, -1; selp.b32 %r2, 1, 2, %p2;", 0), 1u);
  EXPECT_EQ(value("elect.sync _|%p2, -1; selp.b32 %r2, 1, 2, %p2;", 1), 2u);
}

TEST(Warp, SyncAcrossDivergentPaths) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KernelRun run(kernel(std::string(R"(
      .shared .align 4 .b32 s;
      setp.eq.u32 %p1, %r1, 5;
      @!%p1 bra wait;
      st.shared.b32 [s], 42;
      bar.warp.sync -1;
      bra go;
    wait:
      bar.warp.sync -1;
    go:
      ld.shared.b32 %r2, [s];
    )") + store),
                  {32}, {}, {}, seed);
    ASSERT_TRUE(run.result.ok()) << run.text();
    EXPECT_EQ(run[31], 42u);
  }
}

TEST(Warp, MemberMaskThatLeavesOutTheLane) {
  KernelRun run(kernel("shfl.sync.idx.b32 %r2, %r1, 0, 31, 1;"), {32});
  EXPECT_THAT(run.text(), HasSubstr("member-mask: lanes fffffffe execute it "
                                    "with member mask 1"));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(Memory, VectorsAndWidths) {
  KernelRun run(kernel(R"(
    setp.ne.u32 %p1, %r1, 0;
    @%p1 exit;
    st.global.v4.b32 [%rd1], {1, 2, 3, 4};
    st.global.v8.b32 [%rd1+32], {10, 11, 12, 13, 14, 15, 16, 17};
    ld.global.v4.b64 {%rd2, %rd3, %rd4, %rd5}, [%rd1+32];
    st.global.v2.b64 [%rd1+64], {%rd5, %rd2};
    ld.global.s8 %r2, [%rd1+32];
    mov.u32 %r3, 0x80;
    st.global.u8 [%rd1+16], %r3;
    ld.global.s8 %rd6, [%rd1+16];
    st.global.b64 [%rd1+80], %rd6;
    { .reg .b128 %q; ld.global.b128 %q, [%rd1]; st.global.b128 [%rd1+96], %q; }
  )"),
                {32});
  ASSERT_TRUE(run.result.ok()) << run.text();
  EXPECT_EQ(run[3], 4u);
  EXPECT_EQ(run[15], 17u);
  EXPECT_EQ(run[16], 16u);
  EXPECT_EQ(run[18], 10u);
  EXPECT_EQ(run[20], 0xFFFFFF80u);
  EXPECT_EQ(run[21], 0xFFFFFFFFu);
  EXPECT_EQ(run[26], 3u);
}

TEST(Memory, GenericAddressesAndSpaces) {
  KernelRun run(kernel(std::string(R"(
      .shared .align 16 .b8 s[64];
      .local .align 4 .b32 l;
      mov.u64 %rd2, s;
      cvta.shared.u64 %rd3, %rd2;
      isspacep.shared %p1, %rd3;
      isspacep.global %p2, %rd3;
      st.b32 [%rd3+8], 77;
      ld.shared.b32 %r4, [s+8];
      cvta.to.shared.u64 %rd4, %rd3;
      ld.shared.b32 %r5, [%rd4+8];
      mov.u64 %rd5, l;
      cvta.local.u64 %rd5, %rd5;
      st.b32 [%rd5], %r1;
      ld.local.b32 %r6, [l];
      add.u32 %r2, %r4, %r5;
      add.u32 %r2, %r2, %r6;
      selp.b32 %r7, 1000, 0, %p1;
      selp.b32 %r8, 5000, 0, %p2;
      add.u32 %r2, %r2, %r7;
      add.u32 %r2, %r2, %r8;
  )") + store),
                {32});
  ASSERT_TRUE(run.result.ok()) << run.text();
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(run[t], 1154 + t);
}

TEST(Memory, ModuleVariables) {
  KernelRun run(
      kernel(std::string(R"(
      ld.const.b32 %r3, [table+4];
      ld.global.b32 %r4, [counter];
      add.u32 %r2, %r3, %r4;
  )") + store,
             "",
             ".const .align 4 .b32 table[2] = {5, 6};\n.global .align 4 "
             ".u32 counter = 100;\n"),
      {32});
  ASSERT_TRUE(run.result.ok()) << run.text();
  EXPECT_EQ(run[0], 106u);
}

TEST(Memory, DynamicSharedMemoryBeginsBehindTheEntrysOwn) {
  // Static variables of one entry do not move another's dynamic memory.
  std::string text = header() + R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .entry small(.param .u64 p) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [p];
  mov.u32 %r0, dynamic;
  st.global.u32 [%rd0], %r0;
  ret;
}
.visible .entry large(.param .u64 p) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  .shared .align 8 .b8 own[24];
  ld.param.u64 %rd0, [p];
  mov.u32 %r0, dynamic;
  st.global.u32 [%rd0], %r0;
  ret;
}
)";
  auto start = [](const std::string &module, const char *entry) {
    Kernel k(module);
    EXPECT_EQ(k.error, "");
    k.buffer("p", 4);
    k.config.entry = entry;
    EXPECT_EQ(reports(k.run()), "");
    return *k.data<uint32_t>("p");
  };
  EXPECT_EQ(start(text, "small"), 0x400u);
  EXPECT_EQ(start(text, "large"), 0x420u);
  // Unless a function names it, whoever calls it.
  text += ".func (.reg .b32 %r) where() { mov.u32 %r, dynamic; ret; }\n";
  EXPECT_EQ(start(text, "small"), 0x420u);
}

TEST(Memory, Faults) {
  KernelRun beyond(kernel("st.global.b32 [%rd1+4096], 1;"), {1});
  EXPECT_THAT(beyond.text(), HasSubstr("out-of-bounds: access of 4 bytes "
                                       "outside of global memory"));
  EXPECT_THAT(beyond.text(), HasSubstr("0 bytes past the end of out"));
  KernelRun crooked(kernel("st.global.b64 [%rd1+4], %rd1;"), {1});
  EXPECT_THAT(crooked.text(), HasSubstr("misaligned"));
  KernelRun shared(kernel("mov.u32 %r2, 0; st.shared.b32 [%r2], 1;"), {1});
  EXPECT_THAT(shared.text(), HasSubstr("outside of shared memory"));
  EXPECT_THAT(shared.text(), HasSubstr("[line 11 st.shared.b32]"));
}

TEST(Memory, Atomics) {
  KernelRun run(kernel(R"(
    atom.global.add.u32 %r2, [%rd1], 2;
    red.relaxed.gpu.global.max.u32 [%rd1+4], %r1;
    mov.b32 %r3, 0f3F800000;
    red.global.add.f32 [%rd1+8], %r3;
    atom.relaxed.global.cas.b32 %r8, [%rd1+12], 0, 17;
    red.global.add.noftz.bf16x2 [%rd1+16], 0x3F803F80;
    red.global.add.v4.f32 [%rd1+32], {%r3, %r3, %r3, %r3};
    atom.global.inc.u32 %r5, [%rd1+20], 9;
    {.shared .align 4 .b32 s; st.shared.b32 [s], 0; bar.sync 0;
     atom.shared.add.u32 %r6, [s], 1; bar.sync 0; ld.shared.b32 %r7, [s];
     st.global.b32 [%rd1+24], %r7;}
  )"),
                {64}, {4});
  ASSERT_TRUE(run.result.ok()) << run.text();
  EXPECT_EQ(run[0], 512u);
  EXPECT_EQ(run[1], 63u);
  EXPECT_EQ(run[2], bits(256.f));
  EXPECT_EQ(run[3], 17u);
  EXPECT_EQ(run[4], 0x43804380u); // 256 in bf16: exact all the way
  EXPECT_EQ(run[11], bits(256.f));
  EXPECT_EQ(run[5], 256 % 10u);
  EXPECT_EQ(run[6], 64u);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TEST(Barrier, ProducerConsumer) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    KernelRun run(kernel(R"(
      .shared .align 4 .b32 s;
      setp.lt.u32 %p1, %r1, 32;
      @%p1 bra consumer;
      st.shared.b32 [s], 9;
      bar.arrive 1, 64;
      bra end;
    consumer:
      bar.sync 1, 64;
      ld.shared.b32 %r2, [s];
      mad.wide.u32 %rd9, %r1, 4, %rd1;
      st.global.b32 [%rd9], %r2;
    end:
    )"),
                  {64}, {}, {}, seed);
    ASSERT_TRUE(run.result.ok()) << run.text();
    EXPECT_EQ(run[31], 9u);
  }
}

TEST(Barrier, Reductions) {
  KernelRun run(kernel(std::string(R"(
      setp.lt.u32 %p1, %r1, 50;
      bar.red.popc.u32 %r2, 0, %p1;
      bar.red.and.pred %p2, 0, %p1;
      barrier.cta.red.or.pred %p3, 0, 64, %p1;
      selp.b32 %r3, 100, 0, %p2;
      selp.b32 %r4, 1000, 0, %p3;
      add.u32 %r2, %r2, %r3;
      add.u32 %r2, %r2, %r4;
  )") + store),
                {64});
  ASSERT_TRUE(run.result.ok()) << run.text();
  EXPECT_EQ(run[63], 1050u);
}

TEST(Barrier, HangTable) {
  KernelRun run(kernel(R"(
    .shared .align 8 .b64 bar;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra other;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 mbarrier.init.shared.b64 [bar], 2;
    bar.warp.sync -1;
  wait:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra wait;
    exit;
  other:
    bar.sync 3, 96;
  )"),
                {64});
  EXPECT_THAT(run.text(), HasSubstr("hang: nothing can go on any more"));
  EXPECT_THAT(run.text(), HasSubstr("parity 0; now phase 0 (parity 0), 2 of 2 "
                                    "arrivals pending, 0 bytes pending"));
  EXPECT_THAT(run.text(), HasSubstr("waits for barrier 3; 32 of 96 threads "
                                    "have arrived"));
}

TEST(Mbarrier, PhasesTokensAndTransactions) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KernelRun run(kernel(R"(
      .shared .align 8 .b64 bar[2];
      setp.ne.u32 %p1, %r1, 0;
      @!%p1 mbarrier.init.shared::cta.b64 [bar], 64;
      @!%p1 mbarrier.init.shared::cta.b64 [bar+8], 1;
      bar.sync 0;
      mbarrier.arrive.shared::cta.b64 %rd2, [bar];
    w1: mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd2;
      @!%p2 bra w1;
      @%p1 bra w2;
      mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar+8], 48;
      mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar+8], 32;
      mbarrier.test_wait.parity.shared::cta.b64 %p3, [bar+8], 0;
      selp.b32 %r2, 1, 0, %p3;
      st.global.b32 [%rd1], %r2;
      mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar+8], 16;
    w2: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [bar+8], 0, 1000;
      @!%p3 bra w2;
      mad.wide.u32 %rd9, %r1, 4, %rd1;
      st.global.b32 [%rd9+4], 3;
    )"),
                  {64}, {}, {}, seed);
    ASSERT_TRUE(run.result.ok()) << run.text();
    EXPECT_EQ(run[0], 0u);
    EXPECT_EQ(run[64], 3u);
  }
}

TEST(Mbarrier, Misuse) {
  auto text = [&](const std::string &body) {
    return KernelRun(kernel(".shared .align 8 .b64 bar;\n" + body), {1}).text();
  };
  EXPECT_THAT(
      text("mbarrier.arrive.shared.b64 _, [bar];"),
      HasSubstr("barrier-uninitialised: mbarrier bar (shared 0x400) was "
                "never initialised"));
  EXPECT_THAT(
      text("mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 "
           "[bar], 1;"),
      HasSubstr("barrier-reuse"));
  EXPECT_THAT(
      text("mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64"
           " [bar]; mbarrier.arrive.shared.b64 _, [bar];"),
      HasSubstr("was invalidated by mbarrier.inval"));
  EXPECT_THAT(text("mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared."
                   "b64 _, [bar], 3;"),
              HasSubstr("barrier-over-arrival: 3 arrival(s)"));
  EXPECT_THAT(text("mbarrier.init.shared.b64 [bar], 0;"),
              HasSubstr("barrier-count"));
  EXPECT_THAT(text("mbarrier.init.shared.b64 [bar], 1; mbarrier.expect_tx."
                   "relaxed.cta.shared.b64 [bar], 1048576;"),
              HasSubstr("barrier-tx-overflow"));
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

TEST(Cluster, DistributedSharedMemory) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KernelRun run(kernel(R"(
      .shared .align 4 .b32 s[32];
      mov.u32 %r2, %cluster_ctarank;
      mov.u32 %r3, s;
      mad.lo.u32 %r3, %r1, 4, %r3;
      mad.lo.u32 %r4, %r2, 100, %r1;
      st.shared.b32 [%r3], %r4;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      xor.b32 %r5, %r2, 1;
      mapa.shared::cluster.u32 %r6, %r3, %r5;
      ld.shared::cluster.b32 %r7, [%r6];
      getctarank.shared::cluster.u32 %r8, %r6;
      mad.lo.u32 %r7, %r8, 1000, %r7;
      mov.u32 %r9, %ctaid.x;
      mad.lo.u32 %r9, %r9, 32, %r1;
      mad.wide.u32 %rd9, %r9, 4, %rd1;
      st.global.b32 [%rd9], %r7;
      barrier.cluster.arrive.release.aligned;
      barrier.cluster.wait.acquire.aligned;
    )"),
                  {32}, {4}, {2}, seed);
    ASSERT_TRUE(run.result.ok()) << run.text();
    for (unsigned cta = 0; cta < 4; ++cta)
      for (unsigned t = 0; t < 32; ++t)
        EXPECT_EQ(run[cta * 32 + t], (1 - cta % 2) * 1100 + t);
  }
}

TEST(Cluster, RemoteArrive) {
  KernelRun run(kernel(R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r2, %cluster_ctarank;
    setp.eq.u32 %p1, %r2, 0;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 mbarrier.init.shared::cta.b64 [bar], 2;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 %r3, bar;
    and.b32 %r3, %r3, 0xFEFFFFFF;
    @%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
    @!%p1 bra end;
  w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra w;
    st.global.b32 [%rd1], 1;
  end:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
  )",
                       ".reqnctapercluster 2, 1, 1"),
                {32}, {2});
  ASSERT_TRUE(run.result.ok()) << run.text();
  EXPECT_EQ(run[0], 1u);
}

TEST(Cluster, IsExplicit) {
  for (unsigned cluster : {1, 2}) {
    KernelRun run(kernel("mov.pred %p1, %is_explicit_cluster; "
                         "selp.u32 %r2, 5, 4, %p1; "
                         "setp.eq.u32 %p2, %r1, 0; "
                         "@%p2 st.global.b32 [%rd1], %r2;"),
                  {32}, {2}, {cluster});
    ASSERT_TRUE(run.result.ok()) << run.text();
    EXPECT_EQ(run[0], cluster == 1 ? 4u : 5u);
  }
  EXPECT_THAT(Kernel(kernel("mov.u32 %r1, %is_explicit_cluster;")).error,
              HasSubstr("special register '%is_explicit_cluster' is a "
                        "predicate"));
}

TEST(Cluster, MaxClusterRank) {
  Kernel k(kernel("", ".maxclusterrank 2"));
  ASSERT_EQ(k.error, "");
  k.buffer("out", 64);
  k.config.grid = {8};
  k.config.block = {32};
  k.config.cluster = {2};
  EXPECT_TRUE(bool(k.simulator->run(k.config)));
  k.config.cluster = {4};
  auto result = k.simulator->run(k.config);
  ASSERT_FALSE(bool(result));
  EXPECT_THAT(llvm::toString(result.takeError()),
              HasSubstr("has more CTAs than its .maxclusterrank, 2"));
}

TEST(Cluster, ClustersThatWaitForEachOther) {
  // Cluster i waits for cluster i + 1: with every order and one resident
  // cluster at a time, all must finish.
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Kernel k(kernel(R"(
      mov.u32 %r2, %ctaid.x;
      mad.wide.u32 %rd2, %r2, 4, %rd1;
      mov.u32 %r3, %nctaid.x;
      add.u32 %r4, %r2, 1;
      setp.eq.u32 %p1, %r4, %r3;
      @%p1 bra go;
    spin:
      ld.acquire.gpu.global.b32 %r5, [%rd2+4];
      setp.eq.u32 %p2, %r5, 0;
      @%p2 bra spin;
    go:
      st.release.gpu.global.b32 [%rd2], 1;
    )"));
    ASSERT_EQ(k.error, "");
    k.buffer("out", 4096);
    k.config.grid = {8};
    RunOptions options;
    options.seed = seed;
    options.residentClusters = 1;
    options.threads = 1 + seed % 2;
    auto result = k.simulator->run(k.config, options);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    EXPECT_TRUE(result->ok()) << reports(*result);
    EXPECT_EQ(result->stats.clusters, 8u);
  }
}

TEST(Cluster, StoreAndReduceAsync) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KernelRun run(kernel(R"(
      .shared .align 8 .b64 bar;
      .shared .align 16 .b32 s[4];
      mov.u32 %r2, %cluster_ctarank;
      setp.eq.u32 %p1, %r2, 0;
      setp.eq.u32 %p2, %r1, 0;
      @%p2 mbarrier.init.shared::cta.b64 [bar], 1;
      @%p2 st.shared.v4.b32 [s], {1, 1, 1, 1};
      @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 24;
      fence.mbarrier_init.release.cluster;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      xor.b32 %r3, %r2, 1;
      mov.u32 %r4, bar;
      mov.u32 %r5, s;
      mapa.shared::cluster.u32 %r4, %r4, %r3;
      mapa.shared::cluster.u32 %r5, %r5, %r3;
      @%p2 st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r5], {%r2, 7}, [%r4];
      @%p2 st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r5+8], %rd1, [%r4];
      @%p2 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5+4], 5, [%r4];
      @%p2 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%r5+4], 9, [%r4];
    w: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;
      @!%p3 bra w;
      ld.shared.b32 %r6, [s];
      mov.u32 %r7, %ctaid.x;
      mad.wide.u32 %rd9, %r7, 4, %rd1;
      @%p2 st.global.b32 [%rd9], %r6;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
    )"),
                  {32}, {2}, {2}, seed);
    ASSERT_TRUE(run.result.ok()) << run.text();
    EXPECT_EQ(run[0], 1u);
    EXPECT_EQ(run[1], 0u);
  }
}

TEST(Memory, TensorMapFields) {
  Kernel k(kernel(R"(
    .shared .align 128 .b8 map[128];
    mad.wide.u32 %rd5, %r1, 4, 0;
    mov.u64 %rd6, map;
    add.u64 %rd5, %rd5, %rd6;
    st.shared.b32 [%rd5], 0;
    bar.warp.sync -1;
    setp.eq.u32 %p1, %r1, 0;
    @!%p1 bra copy;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %rd1;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 1;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, 64;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 1, 8;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 128;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 1, 4;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map], 0, 256;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 0, 1;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 1, 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map], 0xa;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 3;
  copy:
    bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [map], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
  )"));
  ASSERT_EQ(k.error, "");
  uint64_t address = k.buffer("out", 4096);
  k.config.block = {32};
  RunResult result = k.run();
  ASSERT_TRUE(result.ok()) << reports(result);
  TensorMap map = llvm::cantFail(TensorMap::decode(k.data<uint8_t>("out")));
  EXPECT_EQ(llvm::toString(map.verify()), "");
  EXPECT_EQ(map.address, address);
  EXPECT_EQ(map.rank, 2);
  EXPECT_EQ(map.box[1], 8);
  EXPECT_EQ(map.dims[0], 128u);
  EXPECT_EQ(map.byteStrides[0], 256u);
  EXPECT_EQ(map.type, TensorMapType::BF16);
  EXPECT_EQ(map.swizzle, TensorMapSwizzle::B128);
}

TEST(Memory, Matrices) {
  // ldmatrix of what stmatrix.trans stored is the transpose.
  KernelRun run(kernel(std::string(R"(
      .shared .align 16 .b8 s[128];
      mov.u32 %r3, s;
      and.b32 %r4, %r1, 7;
      mad.lo.u32 %r3, %r4, 16, %r3;
      stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r3], {%r1};
      bar.warp.sync -1;
      ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r3];
      movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r5;
  )") + store),
                {32});
  ASSERT_TRUE(run.result.ok()) << run.text();
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(run[t], t);
}

TEST(Memory, ByteMatrices) {
  // Lane l holds elements (l / 4, 2 (l % 4)), the next one of the row, and the
  // two eight rows below; columns of 16 bytes lie behind one another.
  KernelRun run(kernel(std::string(R"(
      .shared .align 16 .b8 s[128];
      mov.u32 %r3, s;
      and.b32 %r4, %r1, 7;
      mad.lo.u32 %r3, %r4, 16, %r3;
      mad.lo.u32 %r5, %r1, 0x04040404, 0x03020100;
      stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r5};
      bar.warp.sync -1;
      mov.u32 %r6, s;
      mad.lo.u32 %r6, %r1, 4, %r6;
      ld.shared.b32 %r2, [%r6];
  )") + store),
                {32});
  ASSERT_TRUE(run.result.ok()) << run.text();
  for (unsigned at = 0; at < 128; ++at) {
    unsigned row = at % 16, column = at / 16;
    unsigned lane = row % 8 * 4 + column / 2,
             element = row / 8 * 2 + column % 2;
    EXPECT_EQ(run[at / 4] >> at % 4 * 8 & 0xFF, 4 * lane + element) << at;
  }
}

TEST(Memory, LoadsByteMatrices) {
  // Word w of shared memory holds bytes 4 w to 4 w + 3 (modulo 256), in 16 rows
  // of 16; lane l gets four rows of column l / 4, and of column l / 4 + 8.
  for (unsigned half : {0, 1}) {
    KernelRun run(kernel(std::string(R"(
      .shared .align 16 .b8 s[256];
      mov.u32 %r3, s;
      mad.lo.u32 %r4, %r1, 4, %r3;
      mad.lo.u32 %r5, %r1, 0x04040404, 0x03020100;
      st.shared.b32 [%r4], %r5;
      add.u32 %r5, %r5, 0x80808080;
      st.shared.b32 [%r4+128], %r5;
      bar.warp.sync -1;
      and.b32 %r6, %r1, 15;
      mad.lo.u32 %r6, %r6, 16, %r3;
      ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r7, %r8}, [%r6];
      mov.u32 %r2, %r)") +
                         (half ? "8" : "7") + ";\n" + store),
                  {32});
    ASSERT_TRUE(run.result.ok()) << run.text();
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned e = 0; e < 4; ++e)
        EXPECT_EQ(run[l] >> 8 * e & 0xFF,
                  (4 * (l % 4) + e) * 16 + l / 4 + 8 * half)
            << l << " " << e;
  }
}

TEST(Hang, PollingAndComputing) {
  KernelRun polling(kernel(R"(
  w: ld.volatile.global.b32 %r2, [%rd1];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra w;
  )"),
                    {32}, {2});
  EXPECT_THAT(polling.text(), HasSubstr("runs: it polls global out + 0x0"));
  // Six million instructions without a store are no hang.
  KernelRun computing(kernel(R"(
    mov.u32 %r3, 0; mov.u32 %r2, 0;
  l: add.u32 %r2, %r2, %r3;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 2000000;
    @%p1 bra l;
    st.global.b32 [%rd1], %r2;
  )"),
                      {1});
  EXPECT_TRUE(computing.result.ok()) << computing.text();
  EXPECT_EQ(computing[0], uint32_t(1999999ull * 2000000 / 2));
}

//===----------------------------------------------------------------------===//
// Registers, launches, decoding
//===----------------------------------------------------------------------===//

TEST(Setmaxnreg, Balances) {
  KernelRun good(kernel(R"(
    setp.lt.u32 %p1, %r1, 128;
    @%p1 bra high;
    setmaxnreg.dec.sync.aligned.u32 64;
    exit;
  high:
    setmaxnreg.inc.sync.aligned.u32 240;
  )",
                        ".reqntid 512 .minnctapersm 1"),
                 {512});
  EXPECT_TRUE(good.result.ok()) << good.text();
  KernelRun bad(kernel("setmaxnreg.inc.sync.aligned.u32 200;",
                       ".reqntid 512 .minnctapersm 1"),
                {512});
  EXPECT_THAT(bad.text(), HasSubstr("registers for setmaxnreg.inc"));
  KernelRun wrong(kernel("setmaxnreg.dec.sync.aligned.u32 200;",
                         ".reqntid 512 .minnctapersm 1"),
                  {512});
  EXPECT_THAT(wrong.text(), HasSubstr("setmaxnreg.dec to 200 registers, but "
                                      "the warp has 128"));
}

/// ptxas gives each warp no more at its start than the largest count that any
/// asks for, so that this one is there.
TEST(Setmaxnreg, LargestCountIsThereAtTheStart) {
  KernelRun run(kernel(R"(
    setp.lt.u32 %p1, %r1, 128;
    @%p1 bra high;
    setmaxnreg.dec.sync.aligned.u32 96;
    exit;
  high:
    setmaxnreg.inc.sync.aligned.u32 128;
  )",
                       ".reqntid 384 .minnctapersm 1"),
                {384});
  EXPECT_TRUE(run.result.ok()) << run.text();
}

TEST(Setmaxnreg, WholeWarpgroups) {
  // Warps 0 and 1 of the first warpgroup leave it out.
  KernelRun some(kernel(R"(
    setp.lt.u32 %p1, %r1, 64;
    @%p1 bra out_;
    setmaxnreg.dec.sync.aligned.u32 64;
  out_:
  )",
                        ".reqntid 512 .minnctapersm 1"),
                 {512});
  EXPECT_THAT(some.text(),
              HasSubstr("all warps of a warpgroup must execute setmaxnreg "
                        "together: warp 0 has executed none, warp 2 dec 64"));
  // The others have other counts, which works.
  KernelRun counts(kernel(R"(
    setp.lt.u32 %p1, %r1, 64;
    @%p1 bra few;
    setmaxnreg.dec.sync.aligned.u32 64;
    exit;
  few:
    setmaxnreg.dec.sync.aligned.u32 24;
  )",
                          ".reqntid 512 .minnctapersm 1"),
                   {512});
  EXPECT_TRUE(counts.result.ok()) << counts.text();
  // One warp asks again for what it has.
  KernelRun again(kernel(R"(
    setmaxnreg.dec.sync.aligned.u32 64;
    setp.lt.u32 %p1, %r1, 32;
    @!%p1 bra done;
    setmaxnreg.dec.sync.aligned.u32 64;
  done:
  )",
                         ".reqntid 512 .minnctapersm 1"),
                  {512});
  EXPECT_TRUE(again.result.ok()) << again.text();
}

TEST(Launch, Checks) {
  Kernel k(kernel("", ".reqntid 64"));
  ASSERT_EQ(k.error, "");
  auto failure = [&] {
    auto result = k.simulator->run(k.config);
    return result ? std::string("ran") : llvm::toString(result.takeError());
  };
  k.config.block = {64};
  EXPECT_EQ(failure(), "entry 'k' has 1 parameters, the launch gives 0");
  k.scalar<uint32_t>(1);
  EXPECT_THAT(failure(), HasSubstr("is 8 bytes, the launch gives 4"));
  k.config.block = {32};
  EXPECT_THAT(failure(), HasSubstr("requires block (64,1,1)"));
  k.config.entry = "nothing";
  EXPECT_THAT(failure(), HasSubstr("no entry 'nothing'; there is: k"));
}

TEST(Decode, AllUnknownFormsAtOnce) {
  Kernel k(kernel("add.rn.f31 %r1, %r1, %r1;\nfrobnicate.b32 %r1, %r2;\n"
                  "mul.lo.s32 %r1, %r1, %rd1;\nadd.s32 %r1, %r1;"));
  EXPECT_THAT(k.error, HasSubstr("test.ptx:11:1: error: unsupported "
                                 "instruction form 'add.rn.f31'"));
  EXPECT_THAT(k.error, HasSubstr("test.ptx:12:1: error: unknown opcode "
                                 "'frobnicate.b32'"));
  EXPECT_THAT(k.error, HasSubstr("test.ptx:13:1: error: register '%rd1' does "
                                 "not have the size that 'mul.lo.s32' needs"));
  EXPECT_THAT(k.error, HasSubstr("test.ptx:14:1: error: wrong number of "
                                 "operands"));
}

// Memory of the caller is an allocation like any other, and one that is
// released is gone, and its address is not given out again.
TEST(Memory, OfTheCallerAndReleased) {
  GlobalMemory memory;
  alignas(64) uint8_t bytes[128] = {7};
  Allocation *own = llvm::cantFail(memory.allocate("own", 128));
  Allocation *given =
      llvm::cantFail(memory.allocate("given", 128, 0x10000, bytes));
  Allocation *last = llvm::cantFail(memory.allocate("last", 128));
  EXPECT_EQ(memory.resolve(0x10000, 128), bytes);
  EXPECT_EQ(memory.resolve(0x10001, 128), nullptr);
  EXPECT_EQ(given->index, 0u);
  uint64_t address = own->address;
  EXPECT_TRUE(memory.release(address));
  EXPECT_FALSE(memory.release(address));
  EXPECT_EQ(memory.find(address), nullptr);
  EXPECT_EQ(last->index, 1u);
  EXPECT_GT(llvm::cantFail(memory.allocate("next", 128))->address, address);
  EXPECT_TRUE(memory.release(0x10000));
  EXPECT_EQ(bytes[0], 7);
}

} // namespace
