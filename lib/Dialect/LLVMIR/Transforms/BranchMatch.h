//===- BranchMatch.h - branches that differ in numbers only ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worked example. The pattern, on the left, is a branch with rows from 64 on;
// the other branch has rows from 0 on, so that the addition was folded:
//
//   %a = llvm.add %x, %c64        |
//   %b = llvm.mul %a, %n          |  %p = llvm.mul %x, %n
//   nvvm.barrier id = %c2         |  nvvm.barrier id = %c1
//   llvm.br ^end                  |  nvvm.barrier id = %c2
//                                 |  llvm.br ^end
//
// The walk finds that %a is %x plus 0 in the other branch (a NumberInBranch of
// the addition's second operand), that %b is %p, and that the first barrier is
// number 1. The second barrier of the other branch is a LoneOperation.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_BRANCHMATCH_H
#define FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_BRANCHMATCH_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Dominance.h"

namespace fa4 {

/// Blocks of which a conditional branch leads into the first one, and nothing
/// into the others from elsewhere. Nothing outside uses their values.
struct Branch {
  /// The LLVM::CondBrOp.
  mlir::Operation *from = nullptr;
  /// In an order in which each block comes behind those that dominate it.
  llvm::SmallVector<mlir::Block *> blocks;
  /// The block to which they lead, behind blocks that only lead on.
  mlir::Block *exit = nullptr;

  /// Returns the branch that is taken where the condition of `from` holds;
  /// nothing if there is no such.
  static std::optional<Branch> find(mlir::LLVM::CondBrOp from,
                                    mlir::DominanceInfo &dominance);
  mlir::Value getCondition() const { return from->getOperand(0); }
  int64_t countOperations() const;
};

/// An integer in the code of a pattern: an operand of `op` that is a constant,
/// or the offset in bytes of a getelementptr.
struct NumberPlace {
  mlir::Operation *op;
  unsigned operand; ///< kOffset for the offset.

  static constexpr unsigned kOffset = ~0u;
  bool isOffset() const { return operand == kOffset; }
  /// The integer in the pattern itself.
  int64_t get() const;
};

struct NumberInBranch {
  NumberPlace place;
  int64_t number;
};

/// An operation that one of the branches has and the other one lacks.
struct LoneOperation {
  mlir::Operation *op;
  /// The pattern's operation in front of which it stands; `op` itself if it is
  /// the pattern's.
  mlir::Operation *before;
  bool isOfPattern() const { return op == before; }
};

/// How a branch differs from a pattern.
struct BranchMatch {
  llvm::SmallVector<NumberInBranch> numbers;
  llvm::SmallVector<LoneOperation> lone;

  /// Returns how `other` differs from `pattern`; nothing if one code cannot
  /// serve for both.
  static std::optional<BranchMatch> find(const Branch &pattern,
                                         const Branch &other);
};

} // namespace fa4

#endif // FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_BRANCHMATCH_H
