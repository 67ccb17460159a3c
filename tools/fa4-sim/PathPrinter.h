//===- PathPrinter.h - critical paths as text and JSON ----------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_PATHPRINTER_H
#define FA4_TOOLS_FA4_SIM_PATHPRINTER_H

#include "fa4/Simulator/Ptx/Ast.h"
#include "fa4/Simulator/Timing/WarpRoles.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4::sim {

/// The instruction of a PTX line, without its guard, its types and its
/// operands: "mbarrier.try_wait".
llvm::StringRef opcodeAt(const ptx::Module &module, uint32_t line);

/// Prints the critical path of a launch, step by step. `roles` are those of the
/// result.
void printPath(llvm::raw_ostream &os, const ptx::Module &module,
               const TimeResult &time, const std::vector<WarpRole> &roles);
/// Null if no path was found.
llvm::json::Value toJson(const CriticalPath &path);

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_PATHPRINTER_H
