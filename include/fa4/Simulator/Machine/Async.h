//===- Async.h - asynchronous operations -----------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An asynchronous operation (TMA, bulk copy, tcgen05.mma, ...) is issued by a
// thread and performed later, in one or more pieces, when the cluster's seeded
// scheduler chooses. Operations on one queue are performed in the order of
// issue, one at a time; operations without a queue in any order and
// interleaved.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_ASYNC_H
#define FA4_SIMULATOR_MACHINE_ASYNC_H

#include "fa4/Simulator/Machine/Timer.h"
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace fa4::sim {

class Cluster;
struct Inst;
struct Warp;

/// A small random number generator (like xoshiro). It only makes scheduling
/// decisions.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 1) {}
  uint64_t next() {
    state += 0x9E3779B97F4A7C15ull;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Returns a uniform number in [0, n); n > 0.
  uint32_t below(uint32_t n) { return uint32_t((next() >> 32) * n >> 32); }
  bool oneIn(uint32_t n) { return below(n) == 0; }

private:
  uint64_t state;
};

class AsyncOp {
public:
  virtual ~AsyncOp() = default;
  /// Returns true if the operation may be performed now. Operations that wait
  /// for more than their queue override this.
  virtual bool ready(Cluster &) { return true; }
  /// Performs a piece of the operation. Returns true when nothing is left.
  virtual bool step(Cluster &, Random &) = 0;
  /// Returns what the operation asks of the SM's units (timed runs).
  virtual AsyncWork work() const = 0;
  /// Describes the operation for the hang table: "cp.async.bulk.tensor at line
  /// 12".
  virtual std::string describe(const Cluster &) const = 0;

  const Inst *inst = nullptr; ///< What issued it.
  uint32_t issuer = 0; ///< Thread in the cluster (Warp::threadBase + lane).
};

/// The outstanding operations of one cluster.
class AsyncEngine {
public:
  static constexpr uint32_t unordered = ~0u;

  /// Adds an operation. `queue` is a number that the caller chooses, for
  /// example of a CTA's tensor pipe, or `unordered`.
  void issue(std::unique_ptr<AsyncOp> op, uint32_t queue = unordered);
  bool empty() const { return outstanding == 0; }
  uint64_t count() const { return outstanding; }
  /// Performs a piece of one ready operation. Returns false when none is ready.
  bool runOne(Cluster &cluster, Random &random);
  /// Lets operations without a queue (copies) wait while one of a queue (a
  /// product) is ready, and younger copies while an older one is: each is as
  /// late as it can be.
  bool copiesLast = false;
  /// Calls f(const AsyncOp &) for each outstanding operation.
  template <typename F> void forEach(F f) const {
    for (const Queue &q : queues)
      for (const auto &op : q.ops)
        f(*op);
  }
  uint64_t issued = 0;
  /// The clock of a timed run. It hears of all operations, and performs them
  /// instead of runOne.
  ClusterTimer *timer = nullptr;
  /// Performs the next piece of an outstanding operation. Returns true if it
  /// was the last one; the operation is gone then.
  bool perform(AsyncOp &op, Cluster &cluster, Random &random);

private:
  /// Performs a piece of the first operation of a queue. Returns true if it was
  /// the last piece.
  bool stepQueue(unsigned at, Cluster &cluster, Random &random);
  /// The place in `queues` of the operation to perform next, or its size.
  unsigned choose(Cluster &cluster, Random &random);
  struct Queue {
    uint32_t id;
    uint64_t number; ///< `issued` when it was made.
    std::list<std::unique_ptr<AsyncOp>> ops;
  };
  std::vector<Queue> queues; // unordered operations: a queue each
  uint64_t outstanding = 0;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_ASYNC_H
