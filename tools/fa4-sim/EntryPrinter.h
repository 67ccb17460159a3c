//===- EntryPrinter.h - the entries of a PTX file as JSON ------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launcher has to know of a PTX file before it can write a manifest:
// the chip, and of each entry the parameters with their types and sizes.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_ENTRYPRINTER_H
#define FA4_TOOLS_FA4_SIM_ENTRYPRINTER_H

#include "fa4/Simulator/Ptx/Ast.h"
#include "llvm/Support/JSON.h"

namespace fa4::sim {

/// {"targets": ["sm_100a"], "entries": [{"name", "params": [{"name", "type",
/// "bytes", "align", "array"}], "block", "cluster"}]}. `type` is that of an
/// element ("f32"), `bytes` the size of the whole parameter, `array` whether it
/// has brackets; `block` and `cluster` are three numbers, or null where the
/// entry does not demand them.
llvm::json::Value describeEntries(const ptx::Module &module);

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_ENTRYPRINTER_H
