//===- RoleLowering.h - what a role does, for its threads ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_ROLELOWERING_H
#define FA4_LIB_CONVERSION_TILETONVVM_ROLELOWERING_H

#include "RoleParts.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace fa4::tile {

/// Builds the code of one role. Upstream operations that compute are copied;
/// operations of the tile dialect become operations of NVVM. Structured control
/// flow stays structured.
class RoleLowering : RoleCode {
public:
  explicit RoleLowering(RoleState &state) : RoleCode(state) {}

  /// Builds the code at the builder's insertion point. Emits an error on an op
  /// that it cannot lower.
  mlir::LogicalResult lower();

private:
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  struct Carried;
  llvm::SmallVector<mlir::Value> enterLoop(mlir::scf::ForOp op,
                                           Carried &carried);
  void bindCarried(mlir::ValueRange from, mlir::ValueRange to,
                   Carried &carried);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  leavePass(mlir::scf::YieldOp yield, Carried &carried);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult mergeHandles(mlir::scf::IfOp op);
  mlir::LogicalResult lowerBranch(mlir::Region &region,
                                  llvm::ArrayRef<RingPositions::Key> keys);
  /// Checks an operation that is issued where it is committed.
  mlir::LogicalResult checkIssued(mlir::Operation *op, llvm::StringRef why,
                                  llvm::StringRef whyCommitted);
  mlir::LogicalResult copy(mlir::Operation &op);
  mlir::LogicalResult lowerDivision(mlir::Operation &op);
  mlir::LogicalResult lowerConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult lowerDim(mlir::memref::DimOp op);
  mlir::LogicalResult lowerLoadScalar(LoadScalarOp op);
  mlir::LogicalResult lowerGather(GatherOp op);
  mlir::LogicalResult lowerSlice(mlir::vector::ExtractStridedSliceOp op);

  IntegerRanges ranges;
  TurnLowering turns{state};
  CopyLowering copies{state, turns};
  MmaLowering mmas{state};
  MatrixMmaLowering matrices{state};
  LaneLowering lanes{state};
  FragmentWriteLowering fragments{state, matrices};
  PutLowering puts{state};
  WorkLowering work{state};
  ChannelLowering channels{state, lanes, copies, work};
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_ROLELOWERING_H
