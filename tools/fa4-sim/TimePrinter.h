//===- TimePrinter.h - times of launches as text and JSON -------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_TIMEPRINTER_H
#define FA4_TOOLS_FA4_SIM_TIMEPRINTER_H

#include "fa4/Simulator/Ptx/Ast.h"
#include "fa4/Simulator/Timing/TimedRun.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4::sim {

/// The parameters of a chip with those that "NAME=NUMBER" sets. Fails for a
/// chip without a table, an unknown name, and what is no positive number.
llvm::Expected<TimingParameters>
readTimingParameters(llvm::StringRef chip,
                     llvm::ArrayRef<std::string> settings);

/// Prints the time of a launch, the shares of the units, and where the time of
/// each group of warps goes, with the text of the PTX lines that they wait at.
void printTime(llvm::raw_ostream &os, const ptx::Module &module,
               const TimeResult &time);
llvm::json::Value toJson(const TimeResult &time);

/// The PTX lines that a warp has waited at, with the clocks; the longest wait
/// comes first.
std::vector<std::pair<uint32_t, double>> longestWaits(const WarpTimes &times);
/// The mbarriers that it has waited for there: " (full (shared 0x400))", or "".
std::string barriersAt(const WarpTimes &times, uint32_t line);

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_TIMEPRINTER_H
