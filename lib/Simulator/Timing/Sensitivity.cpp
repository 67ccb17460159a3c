//===- Sensitivity.cpp - how much a time hangs on a parameter -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/TimedRun.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace fa4::sim;

llvm::Expected<std::vector<Sensitivity>> fa4::sim::findSensitivity(
    llvm::StringRef chip, const TimingParameters &parameters,
    llvm::function_ref<llvm::Expected<TimedResult>(const TimingParameters &)>
        run) {
  auto base = run(parameters);
  if (!base)
    return base.takeError();
  double cycles = base->time.ctaCycles;
  std::vector<Sensitivity> found;
  llvm::ArrayRef<TimingParameterInfo> table = timingTable(chip);
  for (unsigned i = 0; i < table.size(); ++i) {
    auto id = TimingParameter(i);
    double value = parameters[id];
    Sensitivity entry;
    entry.parameter = table[i].name.str();
    entry.confidence = table[i].confidence;
    entry.low = value * table[i].low;
    entry.high = value * table[i].high;
    for (bool isHigh : {false, true}) {
      double end = isHigh ? entry.high : entry.low;
      if (end == value || cycles == 0)
        continue;
      TimingParameters changed = parameters;
      changed.set(id, end);
      auto result = run(changed);
      if (!result)
        return result.takeError();
      (isHigh ? entry.atHigh : entry.atLow) =
          result->time.ctaCycles / cycles - 1;
    }
    if (entry.atLow != 0 || entry.atHigh != 0)
      found.push_back(std::move(entry));
  }
  auto most = [](const Sensitivity &entry) {
    return std::max(std::abs(entry.atLow), std::abs(entry.atHigh));
  };
  llvm::sort(found, [&](const Sensitivity &a, const Sensitivity &b) {
    return std::make_pair(-most(a), a.parameter) <
           std::make_pair(-most(b), b.parameter);
  });
  return found;
}
