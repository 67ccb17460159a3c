//===- InitAllDialects.h - registration of the dialects ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_INITALLDIALECTS_H
#define FA4_INITALLDIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa4 {

/// The dialects of fa4 with the external interface models that its passes rely
/// on.
void registerDialects(mlir::DialectRegistry &registry);
/// fa4's dialects and the upstream ones that a fa4 tool reads and writes.
void registerToolDialects(mlir::DialectRegistry &registry);

} // namespace fa4

#endif // FA4_INITALLDIALECTS_H
