//===- TimingParameters.cpp - latencies and rates of the clock ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/TimingParameters.h"

using namespace fa4;
using llvm::ArrayRef;
using llvm::StringRef;

static constexpr TimingParameterInfo sm90Table[] = {
#define TIMING_PARAMETER(id, name, unit, sm90, sm100, sm103, low, high,        \
                         confidence, source)                                   \
  {name, unit, sm90, low, high, confidence, source},
#include "fa4/Target/TimingParameters.def"
};

static constexpr TimingParameterInfo sm100Table[] = {
#define TIMING_PARAMETER(id, name, unit, sm90, sm100, sm103, low, high,        \
                         confidence, source)                                   \
  {name, unit, sm100, low, high, confidence, source},
#include "fa4/Target/TimingParameters.def"
};

static constexpr TimingParameterInfo sm103Table[] = {
#define TIMING_PARAMETER(id, name, unit, sm90, sm100, sm103, low, high,        \
                         confidence, source)                                   \
  {name, unit, sm103, low, high, confidence, source},
#include "fa4/Target/TimingParameters.def"
};

ArrayRef<TimingParameterInfo> fa4::timingTable(StringRef chip) {
  if (chip == "sm_90a")
    return sm90Table;
  if (chip == "sm_100a")
    return sm100Table;
  if (chip == "sm_103a")
    return sm103Table;
  return {};
}

std::optional<TimingParameters> fa4::timingParameters(StringRef chip) {
  ArrayRef<TimingParameterInfo> table = timingTable(chip);
  if (table.empty())
    return std::nullopt;
  TimingParameters result;
  for (unsigned i = 0; i < numTimingParameters; ++i)
    result.set(TimingParameter(i), table[i].value);
  return result;
}

std::optional<TimingParameter> fa4::findTimingParameter(StringRef name) {
  for (unsigned i = 0; i < numTimingParameters; ++i)
    if (sm90Table[i].name == name)
      return TimingParameter(i);
  return std::nullopt;
}
