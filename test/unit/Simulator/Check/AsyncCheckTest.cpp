//===- AsyncCheckTest.cpp - asynchronous copies and tensor memory --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckTest.h"
#include "gmock/gmock.h"

using namespace fa4::sim;
using namespace fa4::sim::test;
using testing::HasSubstr;

static Launch threads(uint32_t count) {
  Launch launch;
  launch.threads = count;
  return launch;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Thread 0 loads 1024 bytes; everybody reads them.
static const char *load = R"(
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra ready;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
ready:
  bar.sync 0;
  @%p0 bra wait;
  mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 1024;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%out], 1024, [bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra wait;
  shl.b32 %r0, %thread, 2;
  mov.u32 %r1, data;
  add.u32 %r1, %r1, %r0;
  ld.shared.u32 %r2, [%r1];
)";

TEST(CheckAsync, BulkLoad) {
  EXPECT_CLEAN(load, Launch());
  EXPECT_KIND(edit(load, "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n"
                         "  @!%p1 bra wait;"),
              Launch(), "race");
  EXPECT_KIND(edit(load, "[bar], 0;", "[bar], 1;"), Launch(), "race");
  EXPECT_KIND(edit(load, "arrive.expect_tx.shared.b64 %rd0, [bar], 1024;",
                   "arrive.shared.b64 %rd0, [bar];"),
              Launch(), "race");
  EXPECT_KIND(edit(load, "%rd0, [bar], 1024;", "%rd0, [bar], 2048;"), Launch(),
              "hang");
}

/// Thread 32 hands `data` over by `bar2`, thread 0 loads into it, and thread 32
/// waits for the load before it hands it over again: as CTAs of a pair, of
/// which one expects the bytes of both.
static const char *loadInTurn = R"(
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra ready;
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.init.shared.b64 [bar2], 1;
  fence.mbarrier_init.release.cluster;
ready:
  bar.sync 0;
  setp.eq.u32 %p1, %thread, 32;
  @%p1 bra other;
  @%p0 bra done;
empty:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar2], 0;
  @!%p2 bra empty;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%out], 1024, [bar];
  bra done;
other:
  mbarrier.arrive.shared.b64 %rd0, [bar2];
  mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 1024;
full:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra full;
  mbarrier.arrive.shared.b64 %rd0, [bar2];
done:
)";

TEST(CheckAsync, BytesThatComeShowThatTheirIssuerHasWaited) {
  EXPECT_CLEAN(loadInTurn, Launch());
  EXPECT_KIND(edit(loadInTurn,
                   "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
                   "  @!%p2 bra full;"),
              Launch(), "barrier-overtaken");
}

/// Everybody writes, thread 0 stores 256 bytes, everybody overwrites them.
static const char *store = R"(
  shl.b32 %r0, %thread, 2;
  mov.u32 %r1, data;
  add.u32 %r1, %r1, %r0;
  st.shared.u32 [%r1], %thread;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra join;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [data], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
join:
  bar.sync 0;
  add.u32 %r2, %thread, 1;
  st.shared.u32 [%r1], %r2;
)";

TEST(CheckAsync, BulkStore) {
  EXPECT_CLEAN(store, Launch());
  EXPECT_KIND(edit(store, "fence.proxy.async.shared::cta;"), Launch(),
              "missing-proxy-fence");
  // The right instruction for the wrong memory.
  EXPECT_KIND(edit(store, "async.shared::cta;", "async.global;"), Launch(),
              "missing-proxy-fence");
  EXPECT_KIND(edit(store, "cp.async.bulk.wait_group.read 0;"), Launch(),
              "missing-bulk-wait");
  EXPECT_KIND(edit(store, "wait_group.read 0;", "wait_group.read 1;"), Launch(),
              "missing-bulk-wait");
  EXPECT_KIND(edit(store, "cp.async.bulk.commit_group;"), Launch(),
              "missing-bulk-wait");
  EXPECT_KIND(edit(store, "join:\n  bar.sync 0;", "join:"), Launch(), "race");
}

TEST(CheckAsync, FenceBehindTheBarrierCounts) {
  std::string late = edit(edit(store, "fence.proxy.async.shared::cta;"),
                          "cp.async.bulk.global",
                          "fence.proxy.async.shared::cta; "
                          "cp.async.bulk.global");
  EXPECT_CLEAN(late, Launch());
}

TEST(CheckAsync, ResultNeedsWaitWithoutRead) {
  std::string body = edit(store, "wait_group.read 0;",
                          "wait_group 0; ld.global.u32 %r9, [%out];");
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "wait_group 0;", "wait_group.read 0;"), Launch(),
              "missing-bulk-wait");
}

TEST(CheckAsync, ExitWithCopiesOutstanding) {
  std::string body = edit(store, "join:\n  bar.sync 0;", "join:");
  body = edit(body, "st.shared.u32 [%r1], %r2;");
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "cp.async.bulk.wait_group.read 0;"), Launch(),
              "exit-with-async-outstanding");
  // A wait that lets the last store pend says nothing of it.
  EXPECT_KIND(edit(body, "wait_group.read 0;", "wait_group.read 1;"), Launch(),
              "exit-with-async-outstanding");
}

TEST(CheckAsync, ExitWithLoadOutstanding) {
  // Nobody looks at what is loaded: still the CTA must not leave before it.
  std::string wait = "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;\n"
                     "  @!%p1 bra wait;";
  std::string body = edit(load, "ld.shared.u32 %r2, [%r1];");
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, wait), Launch(), "exit-with-async-outstanding");
}

TEST(CheckAsync, CpAsync) {
  std::string body = R"(
    shl.b32 %r0, %thread, 2;
    mov.u32 %r1, data;
    add.u32 %r1, %r1, %r0;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %out, %rd0;
    cp.async.ca.shared.global [%r1], [%rd1], 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r2, [%r1];
  )";
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "cp.async.wait_group 0;"), Launch(),
              "missing-async-wait");
  EXPECT_KIND(edit(body, "cp.async.commit_group;"), Launch(),
              "missing-async-wait");
}

TEST(CheckAsync, CpAsyncInFlightAtTheExit) {
  // The stage behind the last one, of which nobody needs anything: no rule asks
  // for a wait before the exit.
  std::string body = R"(
    shl.b32 %r0, %thread, 2;
    mov.u32 %r1, data;
    add.u32 %r1, %r1, %r0;
    cvt.u64.u32 %rd0, %r0;
    add.u64 %rd1, %out, %rd0;
    cp.async.ca.shared.global [%r1], [%rd1], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r1+1024], [%rd1], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r2, [%r1];
  )";
  EXPECT_CLEAN(body, Launch());
  EXPECT_KIND(edit(body, "[%r1];", "[%r1+1024];"), Launch(),
              "missing-async-wait");
}

/// A thread copies and waits; all meet; another warp reads.
static const char *handedOn = R"(
  mov.u32 %r1, data;
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra meet;
  cp.async.ca.shared.global [%r1], [%out], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
meet:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.u32 %r2, [%r1];
)";

TEST(CheckAsync, WhatIsMissingBehindAWait) {
  Launch launch = threads(64);
  EXPECT_CLEAN(handedOn, launch);
  std::string relaxed =
      edit(handedOn, "arrive.aligned", "arrive.relaxed.aligned");
  EXPECT_KIND(relaxed, launch, "race");
  (void)kindsOf(relaxed, launch);
  EXPECT_THAT(
      launch.message,
      HasSubstr("the barrier.cluster.arrive between the two is relaxed"));
  // A fence in front of the arrival is enough.
  EXPECT_CLEAN(edit(relaxed, "barrier.cluster.arrive",
                    "fence.acq_rel.cluster; barrier.cluster.arrive"),
               launch);
  // A flag that is set and read without an order.
  launch.message.clear();
  std::string flag =
      edit(handedOn, "setp.ne", "st.shared.u32 [slot], 0; bar.sync 0; setp.ne");
  flag = edit(flag, "wait_group 0;\n",
              "wait_group 0; st.relaxed.cta.shared.u32 [slot], 1;\n");
  flag = edit(flag,
              "  barrier.cluster.arrive.aligned;\n"
              "  barrier.cluster.wait.aligned;\n",
              "  ld.relaxed.cta.shared.u32 %r3, [slot];\n"
              "  setp.ne.u32 %p1, %r3, 1;\n  @%p1 bra meet;\n");
  EXPECT_KIND(flag, launch, "race");
  (void)kindsOf(flag, launch);
  EXPECT_THAT(launch.message,
              HasSubstr("its thread has waited for the cp.async, but nothing "
                        "orders the wait before this access"));
  // Where the wait is missing, too, it is what the message asks for.
  launch.message.clear();
  (void)kindsOf(edit(relaxed, "cp.async.wait_group 0;"), launch);
  EXPECT_THAT(launch.message, HasSubstr("cp.async.wait_group or "
                                        "cp.async.mbarrier.arrive is missing"));
}

/// CTA 1 sends four words to CTA 0, which waits for them.
static const char *storeAsync = R"(
  setp.ne.u32 %p0, %block, 0;
  setp.ne.u32 %p1, %thread, 0;
  or.pred %p2, %p0, %p1;
  @%p2 bra sync;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 16;
sync:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r0, data;
  mapa.shared::cluster.u32 %r1, %r0, 0;
  mov.u32 %r2, bar;
  mapa.shared::cluster.u32 %r3, %r2, 0;
  @!%p0 bra wait;
  @%p1 bra done;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r1], {%r0, %r1, %r2, %r3}, [%r3];
  bra done;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;
  @!%p3 bra wait;
  ld.shared.u32 %r4, [data];
done:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";

TEST(CheckAsync, StoreAsync) {
  Launch pair = threads(32);
  pair.ctas = pair.cluster = 2;
  EXPECT_CLEAN(storeAsync, pair);
  EXPECT_KIND(edit(storeAsync, "%rd0, [bar], 16;", "%rd0, [bar], 32;"), pair,
              "hang");
  EXPECT_KIND(edit(storeAsync, "arrive.expect_tx.shared.b64 %rd0, [bar], 16;",
                   "arrive.shared.b64 %rd0, [bar];"),
              pair, "race");
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// Warp 0 stores to tensor memory, warp 4 (the same lanes) loads it, warp 0
/// stores again.
static const char *tensor = R"(
  setp.ne.u32 %p0, %group, 0;
  setp.ne.u32 %p1, %group, 4;
  @%p0 bra allocated;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
allocated:
  bar.sync 0;
  ld.shared.u32 %r0, [slot];
  @%p0 bra stored;
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%r0], {%thread, %thread};
  tcgen05.wait::st.sync.aligned;
stored:
  bar.sync 1;
  @%p1 bra loaded;
  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r0];
  tcgen05.wait::ld.sync.aligned;
loaded:
  bar.sync 2;
  @%p0 bra done;
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%r0], {%thread, %thread};
  tcgen05.wait::st.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
done:
)";

TEST(CheckTensor, Waits) {
  Launch launch = threads(256);
  EXPECT_CLEAN(tensor, launch);
  EXPECT_KIND(edit(tensor, "tcgen05.wait::st.sync.aligned;"), launch,
              "missing-tensor-wait");
  EXPECT_KIND(edit(tensor, "tcgen05.wait::ld.sync.aligned;"), launch,
              "missing-tensor-wait");
  EXPECT_KIND(edit(tensor, "bar.sync 1;"), launch, "race");
  // A value that has arrived was read.
  EXPECT_CLEAN(
      edit(tensor, "tcgen05.wait::ld.sync.aligned;", "add.u32 %r3, %r1, %r2;"),
      launch);
}

TEST(CheckTensor, PortOfASubPartition) {
  // What goes through one port is in order on hardware, whatever the manual
  // says; what an MMA or a dealloc does is not.
  Launch launch = threads(256);
  EXPECT_STRICT(edit(tensor, "tcgen05.wait::st.sync.aligned;"), launch,
                "missing-tensor-wait");
  EXPECT_STRICT(edit(tensor, "tcgen05.wait::ld.sync.aligned;"), launch,
                "missing-tensor-wait");
  EXPECT_ERROR(edit(tensor, "bar.sync 1;"), launch, "race");
}

TEST(CheckTensor, RelaxedClusterBarriers) {
  // They order what threads execute, which is what tcgen05 asks for, and no
  // other memory.
  Launch launch = threads(256);
  launch.ctas = launch.cluster = 2;
  std::string relaxed = tensor;
  for (const char *barrier : {"bar.sync 1;", "bar.sync 2;"})
    relaxed = edit(relaxed, barrier,
                   "tcgen05.fence::before_thread_sync; "
                   "barrier.cluster.arrive.relaxed.aligned; "
                   "barrier.cluster.wait.aligned; "
                   "tcgen05.fence::after_thread_sync;");
  EXPECT_CLEAN(relaxed, launch);
  EXPECT_KIND(edit(relaxed, "tcgen05.fence::before_thread_sync; "), launch,
              "missing-tensor-fence");
  EXPECT_STRICT(edit(relaxed, "tcgen05.wait::ld.sync.aligned;"), launch,
                "missing-tensor-wait");
}

TEST(CheckTensor, Fences) {
  Launch launch = threads(256);
  std::string fenced = tensor;
  for (const char *barrier : {"bar.sync 1;", "bar.sync 2;"})
    fenced = edit(fenced, barrier,
                  std::string("tcgen05.fence::before_thread_sync; ") + barrier +
                      " tcgen05.fence::after_thread_sync;");
  EXPECT_CLEAN(fenced, launch);
  EXPECT_KIND(edit(fenced, "tcgen05.fence::before_thread_sync;"), launch,
              "missing-tensor-fence");
  EXPECT_KIND(edit(fenced, "tcgen05.fence::after_thread_sync;"), launch,
              "missing-tensor-fence");
  launch.options.tensorFences = CheckOptions::Ignored;
  EXPECT_CLEAN(edit(fenced, "tcgen05.fence::after_thread_sync;"), launch);
  launch.options.tensorFences = CheckOptions::Required;
  EXPECT_KIND(tensor, launch, "missing-tensor-fence");
}

TEST(CheckTensor, RelaxedArrivals) {
  // PTX ISA, tcgen05 memory consistency model, canonical patterns: threads that
  // meet need no release where tcgen05.fence orders tensor memory.
  Launch launch = threads(256);
  std::string body = edit(tensor, "allocated:\n  bar.sync 0;", R"(
allocated:
  setp.ne.u32 %p2, %thread, 0;
  @%p2 bra initialised;
  mbarrier.init.shared.b64 [bar], 256;
initialised:
  bar.sync 0;)");
  std::string meet = R"(
  tcgen05.fence::before_thread_sync;
  mbarrier.arrive.relaxed.cta.shared.b64 %rd0, [bar];
wait:
  mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p3, [bar], 0;
  @!%p3 bra wait;
  tcgen05.fence::after_thread_sync;)";
  std::string fenced = "tcgen05.fence::before_thread_sync; bar.sync 2;"
                       " tcgen05.fence::after_thread_sync;";
  body = edit(edit(body, "bar.sync 1;", meet), "bar.sync 2;", fenced);
  EXPECT_CLEAN(body, launch);
  EXPECT_KIND(edit(body, "tcgen05.fence::before_thread_sync;"), launch,
              "missing-tensor-fence");
  EXPECT_KIND(edit(body, "tcgen05.fence::after_thread_sync;"), launch,
              "missing-tensor-fence");
  EXPECT_KIND(edit(body, "tcgen05.wait::st.sync.aligned;"), launch,
              "missing-tensor-wait");
  // Shared memory is not in order.
  EXPECT_KIND(edit(edit(body, "tcgen05.fence::before_thread_sync;",
                        "@%p0 bra none; st.shared.u32 [data], 1; none: "
                        "tcgen05.fence::before_thread_sync;"),
                   "tcgen05.fence::after_thread_sync;",
                   "tcgen05.fence::after_thread_sync; "
                   "@%p1 bra empty; ld.shared.u32 %r5, [data]; empty:"),
              launch, "race");
}

/// CTA 1 sends what it has to CTA 0, which waits for it, and then tells CTA 1.
static const char *sentBeforeExit = R"(
  shl.b32 %r2, %thread, 2;
  mov.u32 %r0, data;
  add.u32 %r3, %r0, %r2;
  st.shared.u32 [%r3], %thread;
  fence.proxy.async.shared::cta;
  setp.ne.u32 %p1, %thread, 0;
  @%p1 bra ready;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
ready:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.eq.u32 %p0, %block, 0;
  add.u32 %r4, %r0, 1024;
  mapa.shared::cluster.u32 %r1, %r4, 0;
  mov.u32 %r4, bar;
  mapa.shared::cluster.u32 %r5, %r4, 0;
  @%p0 bra receive;
  @%p1 bra last;
  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r0], 128, [%r5];
  bra last;
receive:
  @%p1 bra wait;
  mbarrier.arrive.expect_tx.shared.b64 %rd0, [bar], 128;
wait:
  mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
  @!%p3 bra wait;
last:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
)";

TEST(CheckAsync, ExitOfAClustersCta) {
  Launch pair = threads(32);
  pair.ctas = pair.cluster = 2;
  EXPECT_CLEAN(sentBeforeExit, pair);
  // CTA 1 does not know that its memory has been read.
  EXPECT_KIND(edit(sentBeforeExit, "arrive.release", "arrive.relaxed"), pair,
              "exit-with-async-outstanding");
  // Nor does anybody else without the wait.
  EXPECT_KIND(edit(sentBeforeExit,
                   "  mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n"
                   "  @!%p3 bra wait;\n"),
              pair, "exit-with-async-outstanding");
}

TEST(CheckTensor, Uninitialised) {
  EXPECT_KIND(edit(tensor, "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r0], "
                           "{%thread, %thread};"),
              threads(256), "uninitialised");
}

TEST(CheckTensor, Allocation) {
  Launch launch = threads(256);
  EXPECT_KIND(edit(tensor, "tcgen05.dealloc.cta_group::1.sync.aligned.b32 "
                           "%r0, 32;"),
              launch, "tmem-not-freed");
  EXPECT_KIND(edit(tensor, "[slot], 32;", "[slot], 48;"), launch,
              "tmem-bad-size");
  EXPECT_KIND(edit(tensor, "{%r1, %r2}, [%r0]", "{%r1, %r2}, [%r0+31]"), launch,
              "tmem-not-allocated");
  EXPECT_KIND(
      edit(tensor, "bar.sync 1;", "bar.sync 1; or.b32 %r0, %r0, 0x200000;"),
      launch, "tmem-lane-access");
  EXPECT_KIND(edit(tensor, "[slot], 32;",
                   "[slot], 512; tcgen05.alloc.cta_group::1.sync.aligned."
                   "shared::cta.b32 [slot], 32;"),
              launch, "hang");
  EXPECT_KIND(edit(tensor, "b32 %r0, 32;", "b32 %r0, 64;"), launch,
              "tmem-bad-free");
  EXPECT_KIND(
      edit(tensor, "[slot], 32;",
           "[slot], 32; tcgen05.relinquish_alloc_permit.cta_group::1.sync."
           "aligned; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
           "[slot], 32;"),
      launch, "tmem-alloc-after-relinquish");
}

/// One thread multiplies zeroed tiles and commits; the warp loads the result.
static const char *multiply = R"(
  mov.u32 %r1, data;
  shl.b32 %r2, %thread, 5;
  add.u32 %r2, %r1, %r2;
  mov.b32 %r3, 0;
  st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};
  st.shared.v4.b32 [%r2+16], {%r3, %r3, %r3, %r3};
  fence.proxy.async.shared::cta;
  setp.ne.u32 %p0, %thread, 0;
  @%p0 bra ready;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
ready:
  bar.warp.sync -1;
  setp.ne.u32 %p1, %group, 0;
  @%p1 bra allocated;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
allocated:
  bar.sync 0;
  ld.shared.u32 %r0, [slot];
  @%p0 bra wait;
  shr.u32 %r4, %r1, 4;
  cvt.u64.u32 %rd0, %r4;
  or.b64 %rd1, %rd0, 0x0000400800080000;
  mov.b32 %r5, 0x08040490;
  setp.ne.u32 %p2, 0, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd1, %r5, %p2;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
  @!%p3 bra wait;
  shl.b32 %r7, %group, 21;
  add.u32 %r7, %r0, %r7;
  tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r8, %r9}, [%r7];
  tcgen05.wait::ld.sync.aligned;
  bar.sync 0;
  @%p1 bra done;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
done:
)";

TEST(CheckTensor, RowsThatNobodyWrites) {
  // Half of the lanes that are loaded.
  Launch launch = threads(256);
  using Kinds = std::set<std::string>;
  EXPECT_EQ(kindsOf(edit(tensor,
                         "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r0], "
                         "{%thread, %thread};",
                         "tcgen05.st.sync.aligned.16x64b.x1.b32 [%r0], "
                         "{%thread};"),
                    launch),
            Kinds{"uninitialised-row"});
  // A in tensor memory, of which one warp writes its 32 rows.
  std::string body = edit(edit(multiply, "[slot], 32;", "[slot], 64;"),
                          "%r0, 32;", "%r0, 64;");
  body = edit(body, "ld.shared.u32 %r0, [slot];",
              "ld.shared.u32 %r0, [slot];\n  add.u32 %r10, %r0, 32;\n"
              "  @%p1 bra stored;\n"
              "  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r10], {%r3, %r3, %r3, "
              "%r3, %r3, %r3, %r3, %r3};\n"
              "  tcgen05.wait::st.sync.aligned;\nstored:");
  body = edit(body, "[%r0], %rd1, %rd1,", "[%r0], [%r10], %rd1,");
  launch = threads(128);
  EXPECT_EQ(kindsOf(body, launch), Kinds{"uninitialised-row"})
      << launch.message;
  // Rows of which a part is missing are none that nobody needs.
  EXPECT_KIND(edit(body,
                   "x8.b32 [%r10], {%r3, %r3, %r3, %r3, %r3, %r3, %r3, "
                   "%r3}",
                   "x4.b32 [%r10], {%r3, %r3, %r3, %r3}"),
              launch, "uninitialised");
}

TEST(CheckTensor, Mma) {
  Launch launch = threads(128);
  EXPECT_CLEAN(multiply, launch);
  std::string wait = "mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n"
                     "  @!%p3 bra wait;";
  EXPECT_KIND(edit(multiply, wait), launch, "race");
  EXPECT_KIND(edit(multiply, wait, edit(wait, ", 0;", ", 1;")), launch, "race");
  EXPECT_KIND(edit(multiply, "fence.proxy.async.shared::cta;"), launch,
              "missing-proxy-fence");
  EXPECT_KIND(edit(multiply, "tcgen05.commit.cta_group::1.mbarrier::arrive::"
                             "one.shared::cluster.b64 [bar];"),
              launch, "hang");
  // D accumulates onto nothing.
  EXPECT_KIND(
      edit(multiply, "setp.ne.u32 %p2, 0, 0;", "setp.eq.u32 %p2, 0, 0;"),
      launch, "uninitialised");
  // The operands are overwritten while the MMA may read them.
  EXPECT_KIND(edit(multiply, "tcgen05.commit",
                   "st.shared.b32 [data], 1; tcgen05.commit"),
              launch, "race");
  EXPECT_CLEAN(edit(multiply, "bar.sync 0;\n  @%p1 bra done;",
                    "bar.sync 0; st.shared.b32 [data], 1;\n  @%p1 bra done;"),
               launch);
  EXPECT_KIND(edit(multiply, "0x08040490", "0x08040494"), launch,
              "bad-descriptor");
  EXPECT_KIND(edit(multiply, "tcgen05.wait::ld.sync.aligned;\n  bar.sync 0;",
                   "tcgen05.wait::ld.sync.aligned;"),
              launch, "race");
}
