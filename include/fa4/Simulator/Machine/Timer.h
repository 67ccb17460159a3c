//===- Timer.h - what a clock hears of a running cluster -------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A timed run (Simulator/Timing) executes the instructions of a cluster in the
// order of a modelled clock. The machine tells the clock what it cannot see
// from outside of a handler: which memory an instruction touches, which
// asynchronous operations start, when a barrier lets its waiters go. Runs
// without a clock have no timer, and pay for a comparison with null at these
// places.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_TIMER_H
#define FA4_SIMULATOR_MACHINE_TIMER_H

#include "fa4/Simulator/Machine/Checker.h"
#include "llvm/ADT/SmallVector.h"

namespace fa4::sim {

class AsyncOp;
struct Exec;

/// What a unit of the SM has to do for an asynchronous operation.
struct AsyncWork {
  enum Kind : uint8_t {
    Wgmma,        ///< wgmma.mma_async of a warpgroup.
    TensorMma,    ///< tcgen05.mma.
    TensorCopy,   ///< tcgen05.cp and .shift: `bytes`.
    TensorCommit, ///< tcgen05.commit, when all before it in the pipe is done.
    TensorStore,  ///< tcgen05.st of a warp: `bytes`.
    BulkLoad,     ///< cp.async.bulk, also of tensors, to shared memory.
    BulkStore,    ///< The same to global memory.
    BulkReduce,   ///< cp.reduce.async.bulk to global memory.
    CopyAsync,    ///< cp.async of a lane.
    StoreAsync,   ///< st.async and red.async of a lane, to another CTA.
    Arrival,      ///< An arrival on an mbarrier that follows other work.
    Cancel,       ///< clusterlaunchcontrol.try_cancel.
  };
  Kind kind = Arrival;
  uint64_t bytes = 0;   ///< That one destination gets.
  unsigned targets = 1; ///< CTAs to which a multicast goes.
  /// Of a product. `elementBits` is the size of an element of A and of B, which
  /// together with k gives the bytes of a row.
  unsigned m = 0, n = 0, k = 0, elementBits = 0;
  bool sharedA = false; ///< A is in shared memory.
  unsigned ctas = 1;    ///< CTAs that execute it together.
  /// The global memory that is read or written.
  llvm::SmallVector<AccessRange, 4> global;
};

class ClusterTimer {
public:
  virtual ~ClusterTimer() = default;

  /// Cycles of the SM's clock, and nanoseconds, that the executing instruction
  /// sees.
  virtual uint64_t cycles() const = 0;
  virtual uint64_t nanoseconds() const = 0;
  /// The executing lanes do nothing for so long.
  virtual void sleep(uint64_t nanoseconds) = 0;

  /// An operation has been added to the cluster's AsyncEngine, which the timer
  /// performs when it is over (AsyncEngine::perform). Operations on one queue
  /// are over in the order of issue.
  virtual void asyncIssued(AsyncOp &op, uint32_t queue) = 0;
  /// A warp has executed a wgmma that another of its warpgroup has begun or,
  /// with `isLast`, all have executed it.
  virtual void wgmmaIssued(AsyncOp &op, uint32_t queue, bool isLast) = 0;

  /// The executing instruction has accessed memory; `addresses` as those of
  /// WarpAccess, of the lanes of each mask.
  virtual void access(const uint64_t *addresses, LaneMask shared,
                      LaneMask global, uint32_t bytes, AccessKind kind) = 0;

  /// An arrival on an mbarrier, or bytes that it has been waiting for; and the
  /// end of its phase.
  virtual void mbarrierSignal(const Cta &cta, const Mbarrier &barrier,
                              const Actor &actor) = 0;
  virtual void mbarrierPhase(const Cta &cta, const Mbarrier &barrier) = 0;
  /// A wait has seen the phase complete.
  virtual void mbarrierSeen(const Cta &cta, const Mbarrier &barrier) = 0;
  /// The same of named barriers; `leave` when a warp that has been waiting goes
  /// on.
  virtual void namedArrive(const Cta &cta, unsigned barrier) = 0;
  virtual void namedComplete(const Cta &cta, unsigned barrier) = 0;
  virtual void namedLeave(const Cta &cta, unsigned barrier) = 0;
  /// The same of the cluster's barrier. `isRelease` tells an arrival with
  /// release from a relaxed one.
  virtual void clusterArrive(bool isRelease) = 0;
  virtual void clusterLeave() = 0;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_TIMER_H
