//===- Checker.h - events that the happens-before engine sees --*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine calls these when a checker is installed (Cluster::checker is
// non-null), after the operation's own effect; of a release to memory, before
// it, so that a cluster on another worker thread that sees the value also finds
// what was released with it. A run without a checker makes
// no call and pays a null test at most.
//
// Threads are numbered in the cluster: Warp::threadBase + lane. Everything of
// one cluster comes from one worker thread at a time; different clusters from
// different ones.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_CHECKER_H
#define FA4_SIMULATOR_MACHINE_CHECKER_H

#include "fa4/Simulator/Machine/Memory.h"
#include <cstdint>
#include <memory>

namespace fa4::sim {

struct Warp;
struct Cta;
struct Inst;
struct Mbarrier;
struct Actor;
class Cluster;

using LaneMask = uint32_t;

/// The number of an asynchronous operation as an agent of the happens-before
/// relation.
using AgentId = uint32_t;
constexpr AgentId noAgent = ~0u;

enum class Semantics : uint8_t {
  Weak,
  Volatile,
  Relaxed,
  Acquire,
  Release,
  AcqRel,
  Sc
};
enum class Scope : uint8_t { Cta, Cluster, Gpu, Sys };
enum class AccessKind : uint8_t { Read, Write, Atomic, Reduction };
enum class Proxy : uint8_t { Generic, Async, Tensor, TensorMap };

struct SyncOrder {
  Semantics semantics = Semantics::Relaxed;
  Scope scope = Scope::Cta;
};

/// One memory instruction of the lanes in `mask`.
struct WarpAccess {
  const Warp *warp;
  const Inst *inst;
  LaneMask mask;
  MemSpace space; ///< Shared, Global, Local, Param.
  AccessKind kind;
  uint32_t bytes;            ///< Per lane, all elements of a vector.
  const uint64_t *addresses; ///< 32 lanes: global address, or shared address
                             ///< (rank << 24 | offset).
  SyncOrder order;           ///< Weak for plain accesses.
};

enum class FenceKind : uint8_t {
  Memory,         ///< fence.{acquire,release,acq_rel,sc}, membar.
  MbarrierInit,   ///< fence.mbarrier_init.release.cluster.
  ProxyAlias,     ///< fence.proxy.alias.
  ProxyAsync,     ///< fence.proxy.async: `spaces` say which.
  ProxyTensorMap, ///< fence.proxy.tensormap::generic: order says which side.
  SyncRestrict,   ///< fence.{acquire,release}.sync_restrict::...cluster.
  AsyncGeneric,   ///< fence.proxy.async::generic.{acquire,release}...
};

/// Spaces of a proxy fence.
enum ProxySpaces : uint8_t {
  ProxyGlobal = 1,
  ProxySharedCta = 2,
  ProxySharedCluster = 4,
  ProxyAll = 7,
};

struct FenceEvent {
  const Warp *warp;
  const Inst *inst;
  LaneMask mask;
  FenceKind kind;
  SyncOrder order;
  uint8_t spaces = ProxyAll;
  const uint64_t *addresses = nullptr; ///< Of proxy.tensormap acquire.
  uint32_t bytes = 0;
};

/// The kind of an asynchronous operation. It decides how threads learn that the
/// operation is complete.
enum class AgentKind : uint8_t {
  BulkLoad,   ///< Completes on mbarriers: TMA load, bulk copy, st.async.
  BulkStore,  ///< Joins the issuing thread's bulk group.
  CpAsync,    ///< Joins the issuing thread's cp.async group.
  TensorPipe, ///< tcgen05.mma, .cp, .shift: known through tcgen05.commit.
  Commit,     ///< tcgen05.commit, cp.async.mbarrier.arrive: an arrival to come.
};

/// A range of memory: `rows` runs of `bytes` bytes, `stride` bytes apart.
struct AccessRange {
  uint64_t address; ///< Global, or shared (rank << 24 | offset).
  uint32_t bytes;
  uint32_t rows = 1;
  uint64_t stride = 0;
};

/// A rectangle of tensor memory.
struct TensorRange {
  uint16_t cta; ///< Rank in the cluster.
  uint16_t lane, lanes;
  uint16_t column, columns;
  uint8_t thread = 0; ///< Lane of the warp whose tcgen05.ld or .st it is.
};

/// A wgmma.mma_async of one warp of a warpgroup.
struct WgmmaEvent {
  const Warp *warp;
  const Inst *inst;
  /// The first operands of `inst` are the registers of D, then those of A.
  unsigned registersD, registersA;
  /// Equal for instructions of the same shape and accumulator type.
  uint32_t shape;
  /// What this warp's part reads of shared memory.
  const AccessRange *ranges;
  size_t rangeCount;
};

/// The checker of one cluster.
class ClusterChecker {
public:
  virtual ~ClusterChecker() = default;

  //===--- Threads --------------------------------------------------------===//
  virtual void access(const WarpAccess &) = 0;
  virtual void fence(const FenceEvent &) = 0;
  /// bar.warp.sync and other instructions that order memory among `members`.
  virtual void warpSync(const Warp &, const Inst &, LaneMask members) = 0;
  virtual void exitThreads(const Warp &, LaneMask) = 0;
  /// griddepcontrol.wait: what earlier launches have written is there.
  virtual void launchesAwaited(const Warp &, LaneMask) {}

  //===--- mbarriers ------------------------------------------------------===//
  virtual void mbarrierInit(const Actor &, Cta &, const Mbarrier &) = 0;
  virtual void mbarrierInval(const Actor &, Cta &, const Mbarrier &) = 0;
  /// Called before the counts change. The arrival is by a thread (actor.lane)
  /// or by an agent.
  virtual void mbarrierArrive(const Actor &, Cta &, const Mbarrier &,
                              const SyncOrder &, uint32_t count) = 0;
  virtual void mbarrierExpectTx(const Actor &, Cta &, const Mbarrier &,
                                const SyncOrder &, uint32_t bytes) = 0;
  virtual void mbarrierCompleteTx(const Actor &, Cta &, const Mbarrier &,
                                  const SyncOrder &, uint32_t bytes) = 0;
  /// The current phase (barrier.phase) is about to complete.
  virtual void mbarrierPhase(Cta &, const Mbarrier &) = 0;
  /// A test_wait or try_wait of these lanes returned true: phase `completed`
  /// (0 the first) is known to be complete. Parity waits pass the latest phase
  /// of that parity.
  virtual void mbarrierWait(const Warp &, const Inst &, LaneMask, Cta &,
                            const Mbarrier &, uint64_t completed,
                            const SyncOrder &) = 0;

  //===--- Named and cluster barriers -------------------------------------===//
  virtual void barrierArrive(const Warp &, const Inst &, LaneMask, Cta &,
                             unsigned barrier, uint64_t generation) = 0;
  /// The lanes leave a barrier.sync/red of this generation.
  virtual void barrierLeave(const Warp &, const Inst &, LaneMask, Cta &,
                            unsigned barrier, uint64_t generation) = 0;
  virtual void clusterArrive(const Warp &, const Inst &, LaneMask,
                             uint64_t generation, const SyncOrder &) = 0;
  virtual void clusterWait(const Warp &, const Inst &, LaneMask,
                           uint64_t generation, const SyncOrder &) = 0;

  //===--- Asynchronous operations ----------------------------------------===//
  // The accesses of an operation are announced when it is issued, no matter
  // when it is performed, because its order relative to others is fixed by
  // then.

  static constexpr uint32_t noMbarrier = ~0u;

  /// Called when issuer.lane issues an operation. Returns the operation's
  /// agent.
  virtual AgentId beginAgent(AgentKind, const Actor &issuer) { return noAgent; }
  /// Announces an access of an agent. `proxy` is Generic for st.async and
  /// non-bulk cp.async. `mbarrier` is the shared address of the mbarrier on
  /// which this access of a BulkLoad completes.
  virtual void agentAccess(AgentId, const Actor &issuer, MemSpace, AccessKind,
                           Proxy, const AccessRange *, size_t count,
                           uint32_t mbarrier = noMbarrier) {}
  virtual void agentTensorAccess(AgentId, const Actor &issuer, AccessKind,
                                 const TensorRange *, size_t count) {}
  /// A BulkLoad will complete `bytes` on this mbarrier, in pieces (each told by
  /// mbarrierCompleteTx).
  virtual void agentWillComplete(AgentId, uint32_t mbarrier, uint32_t bytes) {}
  /// Called when nothing refers to the agent any more.
  virtual void endAgent(AgentId) {}
  /// A thread asks for the work of a cluster that has not started.
  virtual void requestWork(const Actor &) {}
  /// The answer to the request of this BulkLoad, about to complete on the
  /// mbarrier, is that there is no work left.
  virtual void refuseWork(AgentId, uint32_t mbarrier) {}

  virtual void bulkCommit(const Warp &, const Inst &, LaneMask) {}
  /// At most `pending` groups are incomplete; `read`: have not read their
  /// sources.
  virtual void bulkWait(const Warp &, const Inst &, LaneMask, uint32_t pending,
                        bool read) {}
  virtual void cpAsyncCommit(const Warp &, const Inst &, LaneMask) {}
  virtual void cpAsyncWait(const Warp &, const Inst &, LaneMask,
                           uint32_t pending) {}

  //===--- Tensor memory --------------------------------------------------===//
  virtual void tensorAlloc(const Warp &, const Inst &, Cta &, uint32_t column,
                           uint32_t columns) {}
  virtual void tensorDealloc(const Warp &, const Inst &, Cta &, uint32_t column,
                             uint32_t columns) {}
  /// tcgen05.ld (Read) or .st (Write) of a warp.
  virtual void tensorAccess(const Warp &, const Inst &, LaneMask, AccessKind,
                            const TensorRange *, size_t count) {}
  /// tcgen05.wait::ld (Read) or ::st (Write).
  virtual void tensorWait(const Warp &, const Inst &, LaneMask, AccessKind) {}
  /// While a tcgen05.ld of the warp has registers to define
  /// (Warp::pendingLoads): `inst` is about to read its source registers and to
  /// define its results.
  virtual void registersRead(const Warp &, const Inst &inst) {}
  /// While registers of the warp hold what nobody has written
  /// (Warp::hasUndefined): lanes are about to execute `inst`, and others of
  /// those that have `come` do not, because of its guard.
  virtual void undefinedRead(const Warp &, const Inst &inst, LaneMask executing,
                             LaneMask come) {}
  virtual void tensorFence(const Warp &, const Inst &, LaneMask, bool before) {}

  //===--- wgmma ----------------------------------------------------------===//
  virtual void wgmmaFence(const Warp &, const Inst &) {}
  virtual void wgmmaIssue(const WgmmaEvent &) {}
  virtual void wgmmaCommit(const Warp &, const Inst &) {}
  /// At most `pending` groups of the warp's are incomplete.
  virtual void wgmmaWait(const Warp &, const Inst &, uint32_t pending) {}
  /// `inst` (no wgmma) of some lanes is about to read or write a register that
  /// a wgmma of the program uses (Inst::MmaRegisters).
  virtual void mmaRegistersTouched(const Warp &, const Inst &inst) {}

  //===--- The end --------------------------------------------------------===//
  /// Something else is about to be reported, or held readers go on: findings
  /// that wait for more are as complete as they get.
  virtual void flush() {}
  /// Called when all threads have exited and all operations are complete.
  virtual void finish() = 0;
};

/// The checker of a launch, which holds the state that clusters share (global
/// memory).
class Checker {
public:
  virtual ~Checker() = default;
  virtual std::unique_ptr<ClusterChecker> beginCluster(Cluster &) = 0;
  /// Called after the last cluster.
  virtual void finish() = 0;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_CHECKER_H
