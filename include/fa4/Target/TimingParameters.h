//===- TimingParameters.h - latencies and rates of the clock ---*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers with which fa4-sim tells the time. The table, with the source of
// each number, the range in which the truth is expected, and how far it can be
// trusted, is TimingParameters.def. What a chip has (SMs, shared memory, shapes
// of products) is in TargetDescription.h.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_TIMINGPARAMETERS_H
#define FA4_TARGET_TIMINGPARAMETERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <optional>

namespace fa4 {

enum class TimingParameter : unsigned {
#define TIMING_PARAMETER(id, ...) id,
#include "fa4/Target/TimingParameters.def"
  Count
};
constexpr unsigned numTimingParameters = unsigned(TimingParameter::Count);

/// A row of the table for one chip.
struct TimingParameterInfo {
  llvm::StringLiteral name;
  llvm::StringLiteral unit;
  double value;
  /// The truth is expected between low * value and high * value.
  double low, high;
  /// A, B, C, D or G: see TimingParameters.def.
  char confidence;
  llvm::StringLiteral source;
};

/// The values of a chip.
class TimingParameters {
public:
  double operator[](TimingParameter id) const { return values[unsigned(id)]; }
  void set(TimingParameter id, double value) { values[unsigned(id)] = value; }

private:
  std::array<double, numTimingParameters> values{};
};

/// Returns the rows of a chip ("sm_90a"), in the order of TimingParameter, or
/// nothing if there are no numbers for the chip.
llvm::ArrayRef<TimingParameterInfo> timingTable(llvm::StringRef chip);

/// Returns the values of the chip's table, or nothing if it has none.
std::optional<TimingParameters> timingParameters(llvm::StringRef chip);

/// Returns the parameter of that name, the same for all chips.
std::optional<TimingParameter> findTimingParameter(llvm::StringRef name);

} // namespace fa4

#endif // FA4_TARGET_TIMINGPARAMETERS_H
