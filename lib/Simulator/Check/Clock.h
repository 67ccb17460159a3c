//===- Clock.h - vector clocks -------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A component stands for something that does accesses in a known order: a
// thread, the tcgen05 pipe of a thread, the loads that complete on one
// mbarrier, ... Stamp (component, n) names the accesses up to its n-th step.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_CHECK_CLOCK_H
#define FA4_LIB_SIMULATOR_CHECK_CLOCK_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace fa4::sim {

/// A vector clock: the known steps of each component. A missing entry stands
/// for 0.
class Clock {
public:
  uint32_t get(uint32_t component) const {
    return component < steps.size() ? steps[component] : 0;
  }
  void raise(uint32_t component, uint32_t step) {
    if (component >= steps.size())
      steps.resize(component + 1 + component / 8);
    steps[component] = std::max(steps[component], step);
  }
  void set(uint32_t component, uint32_t step) {
    if (component < steps.size())
      steps[component] = step;
  }
  void join(const Clock &other) {
    if (other.steps.size() > steps.size())
      steps.resize(other.steps.size());
    uint32_t *to = steps.data();
    const uint32_t *from = other.steps.data();
    for (size_t i = 0, e = other.steps.size(); i < e; ++i)
      to[i] = to[i] > from[i] ? to[i] : from[i];
  }
  void clear() { steps.clear(); }

private:
  std::vector<uint32_t> steps;
};

/// The knowledge of a thread, a barrier or another object.
struct View {
  Clock happened;    ///< Steps that happened before.
  Clock asyncShared; ///< Generic writes to shared memory that a proxy fence
  Clock asyncGlobal; ///< (or to global memory) made visible to the async proxy.
  Clock tensorFenced; ///< Steps released behind tcgen05.fence::before.
  Clock tensorKnown;  ///< Steps known since the last tcgen05.fence::after.
  /// Steps that must have been executed, although their accesses may not be
  /// visible: what had happened when copies were issued that are complete now.
  Clock executed;
  /// Steps before relaxed arrivals that have been waited for: tcgen05
  /// operations of threads that met so are in order, accesses to other memory
  /// are not.
  Clock met;

  void join(const View &other) {
    happened.join(other.happened);
    asyncShared.join(other.asyncShared);
    asyncGlobal.join(other.asyncGlobal);
    tensorFenced.join(other.tensorFenced);
    executed.join(other.executed);
    met.join(other.met);
  }
};
using ViewRef = std::shared_ptr<View>;

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_CHECK_CLOCK_H
