//===- SmModel.h - the units of a modelled SM ------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every unit is a server: a request takes it for an interval, and begins when
// the one before it is over. All times are clocks of the SM since the launch
// began; fractions occur where a unit does several things a clock.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMING_SMMODEL_H
#define FA4_LIB_SIMULATOR_TIMING_SMMODEL_H

#include "fa4/Simulator/Machine/Timer.h"
#include "fa4/Simulator/Timing/IssueCost.h"
#include "fa4/Target/TargetDescription.h"
#include "fa4/Target/TimingParameters.h"
#include "llvm/ADT/DenseSet.h"

namespace fa4::sim {

/// A unit that does one thing after the other.
struct Server {
  double free = 0;   ///< When the last request is over.
  double busy = 0;   ///< The time of all requests.
  uint64_t last = 0; ///< The moment at which the last one began (CauseLog).

  /// Takes the unit from `at` on, or from when it is free. Returns the
  /// beginning.
  double take(double at, double interval) {
    double begin = at < free ? free : at;
    free = begin + interval;
    busy += interval;
    return begin;
  }
};

/// When an asynchronous operation is over, and when it has read its source.
struct AsyncTimes {
  double begin = 0, read = 0, end = 0;
  /// The unit that works on it; null where nothing but a latency is modelled.
  Server *unit = nullptr;
  Server *paired = nullptr; ///< That of the other CTA of a pair.
  bool isQueued = false;    ///< It has waited for the operation in front of it.
};

/// What all SMs share, as one of them sees it.
struct ChipModel {
  const TargetDescription *chip = nullptr;
  TimingParameters parameters;
  /// The SMs that run CTAs of the launch. Each has its share of L2 and DRAM.
  unsigned busySms = 1;
  /// Lines of 128 bytes that the launch has touched: the first touch is served
  /// by DRAM.
  llvm::DenseSet<uint64_t> touched;

  double operator[](TimingParameter id) const { return parameters[id]; }
  /// Bytes a clock from L2 that are left for one SM.
  double l2Share() const { return (*this)[TimingParameter::L2Rate] / busySms; }
};

class SmModel {
public:
  explicit SmModel(ChipModel &chip) : chip(chip) {}

  static constexpr unsigned numParts = 4;
  static constexpr unsigned lineBytes = 128;

  /// A sub-partition: a scheduler and its own pipes.
  struct Part {
    Server issue;
    std::array<Server, numPipes> pipes;
  };
  std::array<Part, numParts> parts;
  Server lsu;          ///< Shared by the sub-partitions.
  Server shared;       ///< Shared memory: 128 bytes a clock.
  Server tensor;       ///< Tensor cores: one product after the other.
  Server bulk;         ///< Loads of the bulk copy engine.
  Server bulkStore;    ///< Its stores and reductions.
  Server namedBarrier; ///< Arrivals of warps.
  Server link;         ///< To shared memory of other CTAs.
  Server reduction;    ///< red.global and the like.

  /// Clocks for which an instruction takes a pipe of a sub-partition.
  double interval(Pipe pipe) const;
  /// The pipe of a sub-partition that executes what several pipes could.
  Pipe choose(Pipe pipe, const Part &part) const {
    // Conversions share the multifunction unit.
    if (pipe == Pipe::Convert)
      return Pipe::Mufu;
    if (pipe == Pipe::FmaPair)
      return Pipe::Fma;
    if (pipe != Pipe::AluOrFma)
      return pipe;
    double alu = part.pipes[unsigned(Pipe::Alu)].free;
    double heavy = part.pipes[unsigned(Pipe::FmaHeavy)].free;
    return heavy < alu ? Pipe::FmaHeavy : Pipe::Alu;
  }

  /// The time for which instructions take the issue slots of a sub-partition
  /// from `at` on: longer while products keep the register file busy.
  /// `slots` is cost.slots(), which callers know.
  double issueInterval(double at, const IssueCost &cost, double slots) const {
    return issueInterval(
        at, cost[Pipe::Lsu],
        cost[Pipe::Control] + cost[Pipe::Uniform] + cost[Pipe::Tensor], slots);
  }
  /// `lsu` and `free` of the slots are for the LSU, and for pipes that products
  /// leave alone.
  double issueInterval(double at, double lsu, double free, double slots) const {
    double left = tensor.free - at;
    return left <= 0 ? slots : intervalUnderProducts(left, lsu, free, slots);
  }
  double issueInterval(double at, const IssueCost &cost) const {
    return issueInterval(at, cost, cost.slots());
  }

  /// Takes shared memory for `bytes` of loads or stores from `at` on; returns
  /// the end.
  double takeShared(double at, double bytes, bool isRead);
  /// Notes that a copy moves `bytes` into or out of shared memory.
  void noteCopy(double bytes);
  /// The interval of a product that reads `bytes` of shared memory, and takes
  /// `interval` if nothing else does. Products leave a part of the bandwidth to
  /// others. What others took beyond that delays products.
  double productInterval(double interval, double bytes);

  /// Latency of a load of the line of an address, and of one from L2.
  double loadLatency(uint64_t address, bool mayCache);

  /// Operations that `work` describes, issued at `at`.
  AsyncTimes bulkLoad(double at, const AsyncWork &work);
  AsyncTimes bulkWrite(double at, const AsyncWork &work);
  AsyncTimes copyAsync(double at, const AsyncWork &work);
  AsyncTimes remoteStore(double at, const AsyncWork &work);
  AsyncTimes wgmma(double at, const AsyncWork &work);
  AsyncTimes tensorCopy(double at, const AsyncWork &work);
  AsyncTimes tensorStore(double at, const AsyncWork &work);
  /// A tcgen05.mma takes the tensor pipes of all CTAs that execute it.
  static AsyncTimes tensorMma(double at, const AsyncWork &work,
                              llvm::ArrayRef<SmModel *> sms);

  /// The units and the time for which each has been busy, in a fixed order; of
  /// units of the sub-partitions the mean.
  std::vector<std::pair<llvm::StringRef, double>> busyTimes() const;

  ChipModel &chip;

private:
  double get(TimingParameter id) const { return chip[id]; }
  double intervalUnderProducts(double left, double lsu, double free,
                               double slots) const {
    double slow = (slots - lsu - free) * get(TimingParameter::IssueUnderWgmma) +
                  lsu * get(TimingParameter::LsuUnderWgmma) + free;
    if (slow <= 0)
      return slots;
    // What is not done when the products are over goes on at full speed.
    return slow <= left ? slow : left + slots * (1 - left / slow);
  }
  void touch(const AsyncWork &work);
  llvm::DenseSet<uint64_t> cached; ///< Lines in L1.
  /// Clocks of shared memory that products have left to others, and that others
  /// have taken since the last product.
  double left = 0, taken = 0;
};

/// The product as TargetDescription wants it: one instruction.
fa4::MmaShape instructionShape(const AsyncWork &work,
                               const TargetDescription &chip);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMING_SMMODEL_H
