//===- Checks.h - what an editor shows beside verifiers' errors -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_LSP_SERVER_CHECKS_H
#define FA4_TOOLS_FA4_LSP_SERVER_CHECKS_H

#include "mlir/IR/DialectRegistry.h"

namespace fa4 {

/// Has what `fa4-compile --explain` says of a file become diagnostics in an
/// editor: roles whose protocol has no proof are an error, with remarks at the
/// steps that wait; an attention op without a kernel has a remark that says why
/// and what to change.
void registerEditorChecks(mlir::DialectRegistry &registry);

} // namespace fa4

#endif // FA4_TOOLS_FA4_LSP_SERVER_CHECKS_H
