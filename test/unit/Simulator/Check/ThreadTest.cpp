//===- ThreadTest.cpp - races of threads, and what prevents them ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckTest.h"
#include "gmock/gmock.h"

using namespace fa4::sim;
using namespace fa4::sim::test;

/// Every thread writes its word and reads that of thread tid ^ 32.
static const char *exchange = R"(
  shl.b32 %r0, %thread, 2;
  mov.u32 %r1, data;
  add.u32 %r2, %r1, %r0;
  st.shared.u32 [%r2], %thread;
  bar.sync 0;
  xor.b32 %r3, %thread, 32;
  shl.b32 %r3, %r3, 2;
  add.u32 %r3, %r1, %r3;
  ld.shared.u32 %r4, [%r3];
  cvt.u64.u32 %rd0, %r0;
  add.u64 %rd1, %out, %rd0;
  st.global.u32 [%rd1], %r4;
)";

TEST(Check, SharedRace) {
  EXPECT_CLEAN(exchange, Launch());
  EXPECT_KIND(edit(exchange, "bar.sync 0;"), Launch(), "race");
  // The read before the next round's write needs an order as well.
  std::string again = std::string(exchange) + "st.shared.u32 [%r2], %r4;";
  EXPECT_KIND(again, Launch(), "race");
  EXPECT_CLEAN(std::string(exchange) + "bar.sync 1;\n" +
                   "st.shared.u32 [%r2], %r4;",
               Launch());
}

TEST(Check, EarlierLaunchesAreAwaited) {
  // Warp 0 waits, and tells the others by a barrier.
  std::string body = R"(
    setp.gt.u32 %p0, %thread, 31;
    @%p0 bra meet;
    griddepcontrol.wait;
  meet:
    bar.sync 0;
    griddepcontrol.launch_dependents;
    mul.wide.u32 %rd0, %thread, 4;
    add.u64 %rd1, %out, %rd0;
    st.global.u32 [%rd1], %thread;
  )";
  Launch launch;
  launch.programmatic = true;
  const char *kind = "launch-not-awaited";
  EXPECT_CLEAN(body, launch);
  EXPECT_KIND(edit(body, "bar.sync 0;"), launch, kind);
  EXPECT_KIND(edit(body, "griddepcontrol.wait;"), launch, kind);
  EXPECT_KIND(
      edit(body, "griddepcontrol.wait;", "griddepcontrol.launch_dependents;"),
      launch, kind);
  // Others begin when the launches before them have ended.
  EXPECT_CLEAN(edit(body, "griddepcontrol.wait;"), Launch());
}

TEST(Check, ReportNamesBothAccesses) {
  Launch launch;
  kindsOf(edit(exchange, "bar.sync 0;"), launch);
  EXPECT_NE(launch.message.find("ld.shared.u32"), std::string::npos);
  EXPECT_NE(launch.message.find("st.shared.u32"), std::string::npos);
  EXPECT_NE(launch.message.find("is missing between them"), std::string::npos);
}

TEST(Check, LanesAreThreads) {
  std::string body =
      edit(edit(exchange, "bar.sync 0;", "bar.warp.sync -1;"),
           "xor.b32 %r3, %thread, 32;", "xor.b32 %r3, %thread, 1;");
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "bar.warp.sync -1;"), Launch(), "race");
}

TEST(Check, BytesOfAWordAreApart) {
  std::string body = R"(
    mov.u32 %r1, data;
    add.u32 %r2, %r1, %thread;
    st.shared.u8 [%r2], %thread;
  )";
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "st.shared.u8 [%r2]", "st.shared.u8 [%r1]"), Launch(),
              "race");
}

TEST(Check, EqualValuesDoNotRace) {
  std::string body = "mov.u32 %r0, 7; st.shared.u32 [data], %r0;";
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND("mov.u32 %r0, %group; st.shared.u32 [data], %r0;", Launch(),
              "race");
}

TEST(Check, AtomicsDoNotRace) {
  std::string body = R"(
    st.shared.u32 [data], 0;
    bar.sync 0;
    red.shared.add.u32 [data], 1;
  )";
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(body + "ld.shared.u32 %r0, [data];", Launch(), "race");
}

TEST(Check, GlobalRaceOfClusters) {
  std::string body = R"(
    shl.b32 %r0, %thread, 2;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %out, %rd0;
    st.global.u32 [%rd1], %block;
  )";
  Launch two;
  two.ctas = 2;
  EXPECT_KIND(body, two, "race");
  EXPECT_CLEAN(
      edit(body, "shl.b32 %r0, %thread, 2;",
           "mad.lo.u32 %r0, %block, 64, %thread; shl.b32 %r0, %r0, 2;"),
      two);
}

TEST(Check, Uninitialised) {
  EXPECT_KIND("ld.shared.u32 %r0, [data]; st.global.u32 [%out], %r0;", Launch(),
              "uninitialised");
  Launch quiet;
  quiet.options.uninitialised = false;
  EXPECT_CLEAN("ld.shared.u32 %r0, [data];", quiet);
}

/// Thread 0 writes, then arrives; thread 32 waits, then reads.
static const char *handOver = R"(
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra initialised;
  mbarrier.init.shared.b64 [bar], 1;
initialised:
  bar.sync 0;
  setp.eq.u32 %p1, %thread, 32;
  @%p1 bra consumer;
  @%p0 bra done;
  st.shared.u32 [data], 42;
  mbarrier.arrive.shared.b64 %rd0, [bar];
  bra done;
consumer:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra consumer;
  ld.shared.u32 %r0, [data];
done:
)";

TEST(Check, MbarrierOrders) {
  EXPECT_CLEAN(handOver, Launch());
  // The other parity is that of the phase before the first: no wait at all.
  EXPECT_KIND(edit(handOver, "[bar], 0;", "[bar], 1;"), Launch(), "race");
  EXPECT_KIND(edit(handOver,
                   "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;"
                   "\n  @!%p2 bra consumer;"),
              Launch(), "race");
}

TEST(Check, RelaxedMbarrierOrdersNoMemory) {
  std::string arrives = edit(handOver, "arrive.shared.b64 %rd0,",
                             "arrive.relaxed.cta.shared.b64 %rd0,");
  std::string waits = edit(handOver, "try_wait.parity.shared",
                           "try_wait.parity.relaxed.cta.shared");
  Launch launch;
  EXPECT_EQ(kindsOf(arrives, launch), std::set<std::string>{"race"});
  EXPECT_NE(launch.message.find("its arrival or its wait is relaxed"),
            std::string::npos)
      << launch.message;
  EXPECT_KIND(waits, Launch(), "race");
  // A fence makes a release, or an acquire, of it.
  const char *fence = "fence.acq_rel.cta; ";
  EXPECT_CLEAN(
      edit(arrives, "mbarrier.arrive", std::string(fence) + "mbarrier.arrive"),
      Launch());
  EXPECT_CLEAN(edit(waits, "ld.shared.u32 %r0",
                    std::string(fence) + "ld.shared.u32 %r0"),
               Launch());
}

TEST(Check, MbarrierInit) {
  std::string body =
      edit(handOver, "initialised:\n  bar.sync 0;", "initialised:");
  Launch launch;
  auto kinds = kindsOf(body, launch);
  EXPECT_TRUE(kinds.count("mbarrier-init-race") ||
              kinds.count("barrier-uninitialised"))
      << launch.message;
}

TEST(Check, WaitOfOneLaneIsNoWaitOfAnother) {
  std::string body = edit(handOver, "ld.shared.u32 %r0, [data];\ndone:",
                          "done:\n  bar.warp.sync -1;\n"
                          "  setp.eq.u32 %p3, %thread, 33;\n"
                          "  @%p3 ld.shared.u32 %r0, [data];");
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "bar.warp.sync -1;"), Launch(), "race");
}

/// CTA 1 writes into CTA 0's shared memory.
static const char *distributed = R"(
  barrier.cluster.arrive.relaxed; // start
  barrier.cluster.wait;
  setp.eq.u32 %p0, %block, 0;
  @%p0 bra sync;
  mov.u32 %r0, data;
  mapa.shared::cluster.u32 %r1, %r0, 0;
  shl.b32 %r2, %thread, 2;
  add.u32 %r1, %r1, %r2;
  st.shared::cluster.u32 [%r1], %thread;
sync:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @!%p0 bra done;
  ld.shared.u32 %r3, [data];
done:
)";

TEST(Check, DistributedSharedRace) {
  Launch pair;
  pair.ctas = pair.cluster = 2;
  pair.threads = 32;
  EXPECT_CLEAN(distributed, pair);
  // Relaxed and without a fence: threads meet, memory does not.
  EXPECT_KIND(edit(distributed, "arrive.aligned", "arrive.relaxed.aligned"),
              pair, "race");
  EXPECT_CLEAN(edit(distributed, "barrier.cluster.arrive.aligned",
                    "fence.acq_rel.cluster; "
                    "barrier.cluster.arrive.relaxed.aligned"),
               pair);
  // CTA 0 may not have started.
  EXPECT_KIND(edit(distributed, "  barrier.cluster.arrive.relaxed; // start\n"
                                "  barrier.cluster.wait;\n"),
              pair, "race");
}

TEST(Check, RelaxedClusterBarrierWithinACta) {
  // What a CTA does to its own shared memory is in order on hardware; what it
  // stores elsewhere is on its way.
  Launch pair;
  pair.ctas = pair.cluster = 2;
  const char *own = R"(
  setp.eq.u32 %p0, %thread, 0;
  @%p0 st.shared.u32 [data], 1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.u32 %r0, [data];
)";
  EXPECT_CLEAN(own, pair);
  EXPECT_STRICT(edit(own, "arrive.aligned", "arrive.relaxed.aligned"), pair,
                "race");
  EXPECT_ERROR(edit(distributed, "arrive.aligned", "arrive.relaxed.aligned"),
               pair, "race");
  std::string global =
      edit(edit(own, "st.shared.u32 [data]", "st.global.u32 [%out]"),
           "ld.shared.u32 %r0, [data]", "ld.global.u32 %r0, [%out]");
  EXPECT_ERROR(edit(global, "arrive.aligned", "arrive.relaxed.aligned"), pair,
               "race");
}

/// CTA 1 stores into CTA 0's shared memory, and hands that on by an arrival at
/// CTA 0's mbarrier.
static const char *remoteStore = R"(
  setp.eq.u32 %p0, %block, 0;
  setp.eq.u32 %p1, %thread, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  @%p1 st.shared.u32 [data+4], 0;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r0, data;
  mapa.shared::cluster.u32 %r1, %r0, 0;
  mov.u32 %r2, bar;
  mapa.shared::cluster.u32 %r3, %r2, 0;
  @%p0 bra wait;
  @!%p1 bra done;
  st.shared::cluster.u32 [%r1], 7;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3]; // signal
  bra done;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra wait; // waited
  ld.shared.u32 %r4, [data];
done:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";

/// A release of the scope .cta orders nothing in another CTA's memory.
TEST(Check, ScopeOfRemoteStores) {
  Launch pair;
  pair.ctas = pair.cluster = 2;
  pair.threads = 32;
  EXPECT_CLEAN(remoteStore, pair);
  auto signal = [](const char *by) {
    return edit(remoteStore,
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3]; "
                "// signal",
                by);
  };
  // The default scope is .cta.
  EXPECT_KIND(signal("mbarrier.arrive.shared::cluster.b64 _, [%r3];"), pair,
              "race");
  EXPECT_KIND(
      signal("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r3];"), pair,
      "race");
  for (const char *scope : {"cluster", "gpu", "sys", "cta"}) {
    std::string body =
        signal(("fence.acq_rel." + std::string(scope) +
                "; mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, "
                "[%r3];")
                   .c_str());
    if (scope == llvm::StringRef("cta")) {
      EXPECT_KIND(body, pair, "race");
    } else {
      EXPECT_CLEAN(body, pair);
    }
  }
  // The thread that signals hands on what another one has stored.
  EXPECT_CLEAN(edit(signal("bar.warp.sync 3; bra done; other: bar.warp.sync 3; "
                           "mbarrier.arrive.release.cluster.shared::cluster."
                           "b64 _, [%r3];"),
                    "@!%p1 bra done;",
                    "setp.eq.u32 %p3, %thread, 1; @%p3 bra other; "
                    "@!%p1 bra done;"),
               pair);
  // A flag instead of the mbarrier.
  auto flag = [&](const std::string &scope) {
    return edit(
        signal(("st.release." + scope + ".shared::cluster.u32 [%r1+4], 1;")
                   .c_str()),
        "  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, "
        "[bar], 0;\n",
        ("  ld.acquire." + scope +
         ".shared.u32 %r5, [data+4]; setp.ne.u32 %p2, %r5, 0;\n")
            .c_str());
  };
  EXPECT_CLEAN(flag("cluster"), pair);
  EXPECT_KIND(flag("cta"), pair, "race");
}

/// Atomics of the scope .cta are atomic among the threads of a CTA.
TEST(Check, ScopeOfAtomics) {
  Launch pair;
  pair.ctas = pair.cluster = 2;
  pair.threads = 32;
  for (const char *space : {"shared::cluster", "global"}) {
    auto body = [&](const std::string &scope) {
      std::string at = space == llvm::StringRef("global") ? "%out" : "%r1";
      return "mov.u32 %r0, data; mapa.shared::cluster.u32 %r1, %r0, 0; "
             "setp.eq.u32 %p1, %thread, 0; @%p1 st.shared.u32 [data], 0; "
             "barrier.cluster.arrive; barrier.cluster.wait; red.relaxed." +
             scope + "." + space + ".add.u32 [" + at +
             "], 1; barrier.cluster.arrive; barrier.cluster.wait;";
    };
    EXPECT_CLEAN(body("cluster"), pair);
    EXPECT_KIND(body("cta"), pair, "race");
    Launch one;
    one.threads = 64;
    EXPECT_CLEAN(body("cta"), one);
  }
}

/// CTA 1 accesses CTA 0's shared memory, and nobody looks at it any more: CTA 0
/// must not exit before, and neither must CTA 1 if its own memory is accessed.
static std::string accessBeforeExit(const std::string &access) {
  return R"(
  shl.b32 %r2, %thread, 2;
  mov.u32 %r0, data;
  add.u32 %r3, %r0, %r2;
  st.shared.u32 [%r3], %thread;
  setp.ne.u32 %p1, %thread, 0;
  @%p1 bra ready;
  mbarrier.init.shared.b64 [bar], 32;
  fence.mbarrier_init.release.cluster;
ready:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r1, %r3, 0;
  mov.u32 %r4, bar;
  mapa.shared::cluster.u32 %r5, %r4, 0;
  setp.eq.u32 %p0, %block, 0;
  @%p0 bra last;
)" + access +
         R"(
last:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
)";
}

TEST(Check, ExitOfAClustersCta) {
  Launch pair;
  pair.ctas = pair.cluster = 2;
  pair.threads = 32;
  for (const char *access :
       {"st.shared::cluster.u32 [%r1], %thread;",
        "ld.shared::cluster.u32 %r6, [%r1];",
        "atom.shared::cluster.add.u32 %r6, [%r1], 1;",
        "red.shared::cluster.add.u32 [%r1], 1;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r5];"}) {
    std::string body = accessBeforeExit(access);
    EXPECT_CLEAN(body, pair);
    // The threads meet before they exit, their accesses do not.
    std::string relaxed =
        edit(body, "arrive.release.aligned", "arrive.relaxed.aligned");
    EXPECT_KIND(relaxed, pair, "exit-with-async-outstanding");
    EXPECT_CLEAN(edit(relaxed, "last:", "last: fence.acq_rel.cluster;"), pair);
    // CTA 0 exits at once.
    EXPECT_KIND(edit(body, "barrier.cluster.wait.acquire.aligned;"), pair,
                "exit-with-async-outstanding");
  }
  // Who has waited for an arrival knows of it.
  for (const char *order : {"release", "relaxed"})
    EXPECT_CLEAN(
        edit(edit(accessBeforeExit(std::string("mbarrier.arrive.") + order +
                                   ".cluster.shared::cluster.b64 _, [%r5];"),
                  "@%p0 bra last;",
                  "@!%p0 bra arrive; wait: "
                  "mbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p2, "
                  "[bar], 0; @!%p2 bra wait; bra last; arrive:"),
             "arrive.release.aligned", "arrive.relaxed.aligned"),
        pair);
}

/// A remote arrival at a barrier that its own CTA initialises.
static const char *remoteArrival = R"(
  setp.ne.u32 %p0, %block, 0;
  setp.ne.u32 %p1, %thread, 0;
  or.pred %p2, %p0, %p1;
  @%p2 bra sync;
  mbarrier.init.shared.b64 [bar], 32;
  fence.mbarrier_init.release.cluster;
sync:
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r0, bar;
  mapa.shared::cluster.u32 %r1, %r0, 0;
  @!%p0 bra wait;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
  bra done;
wait:
  mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
  @!%p3 bra wait;
done:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";

TEST(Check, MbarrierInitFence) {
  Launch pair;
  pair.ctas = pair.cluster = 2;
  pair.threads = 32;
  EXPECT_CLEAN(remoteArrival, pair);
  EXPECT_KIND(edit(remoteArrival, "fence.mbarrier_init.release.cluster;"), pair,
              "mbarrier-init-race");
  // A fence of the thread before the initialisation counts, as CUTLASS's GEMMs
  // need it: the instruction itself has no code in the machine.
  const char *ordered = "  mbarrier.init.shared.b64 [bar], 32;\n"
                        "  fence.mbarrier_init.release.cluster;\n";
  EXPECT_CLEAN(edit(remoteArrival, ordered,
                    "  fence.mbarrier_init.release.cluster;\n"
                    "  mbarrier.init.shared.b64 [bar], 32;\n"),
               pair);
}

TEST(Check, ReleaseAndAcquireThroughMemory) {
  // Thread 0 publishes a value in a flag; thread 32 spins on it.
  std::string body = R"(
    setp.eq.u32 %p0, %thread, 0;
    setp.eq.u32 %p1, %thread, 32;
    @%p0 bra producer;
    @%p1 bra consumer;
    bra done;
  producer:
    st.global.u32 [%out+64], 5;
    st.release.gpu.global.u32 [%out], 1;
    bra done;
  consumer:
    ld.acquire.gpu.global.u32 %r0, [%out];
    setp.eq.u32 %p2, %r0, 0;
    @%p2 bra consumer;
    ld.global.u32 %r1, [%out+64];
  done:
  )";
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "st.release.gpu", "st.relaxed.gpu"), Launch(), "race");
  EXPECT_KIND(edit(body, "ld.acquire.gpu", "ld.relaxed.gpu"), Launch(), "race");
  std::string fenced =
      edit(edit(body, "st.release.gpu", "fence.acq_rel.gpu; st.relaxed.gpu"),
           "ld.acquire.gpu", "ld.relaxed.gpu");
  EXPECT_CLEAN(
      edit(fenced, "ld.global.u32 %r1", "fence.acq_rel.gpu; ld.global.u32 %r1"),
      Launch());
}

/// Thread 0 arrives on `bar` for two phases, thread 32 waits for both of them.
/// In between thread 32 tells that it has seen the first one.
static const char *phases = R"(
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra initialised;
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.init.shared.b64 [bar2], 1;
initialised:
  bar.sync 0;
  setp.eq.u32 %p1, %thread, 32;
  @%p1 bra first;
  @%p0 bra done;
  mbarrier.arrive.shared.b64 %rd0, [bar];
seen:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar2], 0;
  @!%p2 bra seen;
  mbarrier.arrive.shared.b64 %rd0, [bar];
  bra done;
first:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra first;
  mbarrier.arrive.shared.b64 %rd0, [bar2];
second:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 1;
  @!%p2 bra second;
done:
)";

TEST(Check, WaitMustNotBeOvertaken) {
  EXPECT_CLEAN(phases, Launch());
  // Thread 0 goes on after a while without a sign of thread 32, which may then
  // come when both phases are over. Runs in which it comes in time are
  // reported, too.
  EXPECT_KIND(edit(edit(phases, "@!%p2 bra seen;"),
                   "mbarrier.arrive.shared.b64 %rd0, [bar2];"),
              Launch(), "barrier-overtaken");
}

/// An addition by compare-and-swap, as the CUDA C++ Programming Guide has it
/// for numbers without an atomic.
static const char *swapLoop = R"(
  ld.global.u64 %rd0, [%out];
again:
  mov.b64 %rd1, %rd0;
  add.u64 %rd2, %rd1, 1;
  atom.global.cas.b64 %rd0, [%out], %rd1, %rd2;
  setp.ne.u64 %p0, %rd1, %rd0;
  @%p0 bra again;
)";

TEST(Check, PlainLoadBeforeCompareAndSwap) {
  Launch launch;
  launch.threads = 64;
  launch.ctas = 2;
  using Kinds = std::set<std::string>;
  EXPECT_EQ(kindsOf(swapLoop, launch), Kinds{"race-before-cas"});
  EXPECT_THAT(launch.message, testing::HasSubstr("wants ld.relaxed"));
  EXPECT_CLEAN(edit(swapLoop, "ld.global", "ld.relaxed.gpu.global"), launch);
  // A plain load of another place, and one that a plain store races with.
  EXPECT_EQ(
      kindsOf(edit(swapLoop, "b64 %rd0, [%out]", "b64 %rd0, [%out+8]"), launch),
      Kinds{});
  EXPECT_TRUE(
      kindsOf(edit(swapLoop, "again:", "st.global.u64 [%out], %rd0;\nagain:"),
              launch)
          .count("race"));
}

TEST(Check, WhatNobodyWroteAndNobodyNeeds) {
  Launch launch;
  launch.threads = 32;
  std::string load = "ld.shared.v2.u32 {%r0, %r9}, [data+8];\n"
                     "add.u32 %r1, %r0, 1; cvt.u64.u32 %rd0, %r1;\n"
                     "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\n";
  EXPECT_CLEAN(load, launch);
  // As of rows that do not exist: nothing is stored for them.
  std::string store = "st.global.u32 [%out], %r2;";
  EXPECT_CLEAN(load + "setp.gt.u32 %p1, %thread, 31; @%p1 " + store, launch);
  EXPECT_CLEAN(load + "mov.u32 %r2, 7;" + store, launch);
  for (const std::string &use :
       {store,
        std::string("cvt.u32.u64 %r3, %rd0; and.b32 %r3, %r3, 4; mov.u32 %r4, "
                    "data; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], 1;"),
        std::string("setp.eq.u32 %p1, %r2, 5; @%p1 bra over; over:"),
        std::string("setp.eq.u32 %p1, %r2, 5; @%p1 add.u32 %r3, %r3, 1;")})
    EXPECT_KIND(load + use, launch, "uninitialised");
  // Shared memory hands it on, word by word, until somebody else stores there.
  std::string kept = load + "mov.u32 %r6, data; shl.b32 %r7, %thread, 3; "
                            "add.u32 %r6, %r6, %r7;\n"
                            "st.shared.v2.u32 [%r6+64], {%thread, %r9};\n"
                            "bar.sync 0; xor.b32 %r6, %r6, 8;\n";
  EXPECT_CLEAN(kept + "ld.shared.u32 %r8, [%r6+68]; add.u32 %r8, %r8, 1;",
               launch);
  EXPECT_CLEAN(kept + "ld.shared.v2.u32 {%r8, %r10}, [%r6+64]; "
                      "st.global.u32 [%out], %r8;",
               launch);
  for (const char *use :
       {"ld.shared.v2.u32 {%r10, %r8}, [%r6+64]; st.global.u32 [%out], %r8;",
        "atom.shared.add.u32 %r8, [%r6+68], 1;",
        "ld.shared.u32 %r8, [%r6+68]; st.shared.u32 [%r6+68], %r8; "
        "ld.shared.u32 %r8, [%r6+68]; st.global.u32 [%out], %r8;",
        "fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r8, data; "
        "setp.eq.u32 %p1, %thread, 0; @%p1 cp.async.bulk.global.shared::cta."
        "bulk_group [%out], [%r8+64], 256; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group 0;"})
    EXPECT_KIND(kept + use, launch, "uninitialised");
  EXPECT_CLEAN(kept + "bar.sync 0; st.shared.u32 [%r6+68], 1; "
                      "ld.shared.u32 %r8, [%r6+68]; st.global.u32 [%out], %r8;",
               launch);
  // So does a matrix of which nothing is defined, but not one of mixed lanes.
  std::string matrix =
      load + "mov.u32 %r6, data; shl.b32 %r7, %thread, 4; add.u32 %r6, %r6, "
             "%r7;\n"
             "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6+1024], {%r9};\n"
             "bar.sync 0; ld.shared.u32 %r8, [data+1148];\n";
  EXPECT_CLEAN(matrix, launch);
  EXPECT_KIND(matrix + "st.global.u32 [%out], %r8;", launch, "uninitialised");
  EXPECT_KIND(edit(matrix, "stmatrix",
                   "setp.eq.u32 %p1, %thread, 3; @%p1 mov.u32 %r9, 0; "
                   "stmatrix"),
              launch, "uninitialised");
  Launch named;
  named.threads = 32;
  (void)kindsOf(load + store, named);
  EXPECT_THAT(named.message, testing::HasSubstr("ld.shared.v2.u32] [line"));
  // Of each of two turns: the first one needs nothing.
  EXPECT_KIND("mov.u32 %r5, 0;\nturn:\n" + load +
                  "setp.eq.u32 %p1, %r5, 1; @%p1 " + store +
                  " add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2; @%p2 bra "
                  "turn;",
              launch, "uninitialised");
}
