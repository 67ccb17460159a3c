//===- IRMutator.h - mutations of parsed IR ---------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Most changes of text leave nothing that verifies. These keep types and
// dominance, so that passes see what their authors did not think of.

#ifndef FA4_TEST_FUZZ_IRMUTATOR_H
#define FA4_TEST_FUZZ_IRMUTATOR_H

#include "TextMutator.h"
#include "mlir/IR/BuiltinOps.h"

namespace fa4::fuzz {

/// Changes one operation or a few, and prints the module.
std::string mutate(mlir::ModuleOp module, TextMutator &random);

} // namespace fa4::fuzz

#endif // FA4_TEST_FUZZ_IRMUTATOR_H
