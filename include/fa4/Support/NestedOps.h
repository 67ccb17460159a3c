//===- NestedOps.h - questions about operations in an operation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each function walks `root` and everything nested in it, inner operations
// before the outer one. A callback's argument type says which of them it is
// called for, as for Operation::walk: all operations (Operation *), operations
// of a kind (an op class), or blocks (Block *).

#ifndef FA4_SUPPORT_NESTEDOPS_H
#define FA4_SUPPORT_NESTEDOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"

namespace fa4 {

/// Returns true if `predicate` holds for one of the operations.
template <typename Predicate>
bool anyIn(mlir::Operation *root, Predicate predicate) {
  using Visited = typename llvm::function_traits<Predicate>::template arg_t<0>;
  return root
      ->walk([&](Visited visited) {
        return mlir::WalkResult(mlir::failure(predicate(visited)));
      })
      .wasInterrupted();
}

/// Returns true if one of the operations is one of `Ops`.
template <typename... Ops> bool containsOp(mlir::Operation *root) {
  return anyIn(root, [](mlir::Operation *op) { return mlir::isa<Ops...>(op); });
}

/// Calls `check` until it fails. Returns failure if it has failed.
template <typename Check>
mlir::LogicalResult checkEach(mlir::Operation *root, Check check) {
  using Visited = typename llvm::function_traits<Check>::template arg_t<0>;
  return mlir::failure(anyIn(root, [&](Visited visited) {
    return mlir::failed(mlir::LogicalResult(check(visited)));
  }));
}

/// Returns the operations for which `predicate` holds. A caller may erase them
/// as it goes through the list.
template <typename Predicate>
auto collectOpsIf(mlir::Operation *root, Predicate predicate) {
  using Visited = typename llvm::function_traits<Predicate>::template arg_t<0>;
  llvm::SmallVector<Visited> found;
  root->walk([&](Visited visited) {
    if (predicate(visited))
      found.push_back(visited);
  });
  return found;
}

/// Returns the operations that are one of `Ops`: as Operation * if these are
/// several, else as the only one.
template <typename... Ops> auto collectOps(mlir::Operation *root) {
  if constexpr (sizeof...(Ops) == 1)
    return collectOpsIf(root, [](Ops... op) { return true; });
  else
    return collectOpsIf(
        root, [](mlir::Operation *op) { return mlir::isa<Ops...>(op); });
}

} // namespace fa4

#endif // FA4_SUPPORT_NESTEDOPS_H
