//===- InitAll.h - registration of everything ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_INITALL_H
#define FA4_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa4 {

/// The dialects of fa4 with the external interface models that its passes rely
/// on.
void registerDialects(mlir::DialectRegistry &registry);
/// fa4's dialects and the upstream ones that a fa4 tool reads and writes.
void registerToolDialects(mlir::DialectRegistry &registry);

/// fa4's passes and pipelines.
void registerPasses();
/// fa4's passes and pipelines and the upstream ones that go with them.
void registerToolPasses();

} // namespace fa4

#endif // FA4_INITALL_H
