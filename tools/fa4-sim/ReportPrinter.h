//===- ReportPrinter.h - findings as text and JSON -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_REPORTPRINTER_H
#define FA4_TOOLS_FA4_SIM_REPORTPRINTER_H

#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Ptx/Ast.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4::sim {

/// "error", "strict" or "note".
llvm::StringRef nameOf(Severity severity);

/// `file:line: error: message [kind]`, then a line for each access with its
/// PTX text.
void printReport(llvm::raw_ostream &os, const ptx::Module &module,
                 const Report &report);
llvm::json::Value toJson(const ptx::Module &module, const Report &report);

void printStatistics(llvm::raw_ostream &os, const Statistics &stats);
llvm::json::Value toJson(const Statistics &stats);

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_REPORTPRINTER_H
