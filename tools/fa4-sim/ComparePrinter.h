//===- ComparePrinter.h - two timed launches side by side -------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_COMPAREPRINTER_H
#define FA4_TOOLS_FA4_SIM_COMPAREPRINTER_H

#include "fa4/Simulator/Ptx/Ast.h"
#include "fa4/Simulator/Timing/TimedRun.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4::sim {

/// One of two launches.
struct TimedSide {
  std::string file, entry;
  const ptx::Module &module;
  const TimeResult &time;
};

/// Prints times, periods and the busy shares of units side by side, then the
/// roles that do the same in both, and the critical path of each.
void printComparison(llvm::raw_ostream &os, const TimedSide &a,
                     const TimedSide &b);
llvm::json::Value comparisonToJson(const TimedSide &a, const TimedSide &b);

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_COMPAREPRINTER_H
