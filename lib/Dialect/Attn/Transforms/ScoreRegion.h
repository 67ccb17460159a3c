//===- ScoreRegion.h - expressions as regions of attn.sdpa ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_SCOREREGION_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_SCOREREGION_H

#include "AttentionMatch.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::attn {

/// Writes expressions as the bodies of score_mod and mask_mod. Scores are
/// computed in f32, whatever narrower type they had, and integers in i32 where
/// the sizes of tensors say that they fit.
class ScoreRegionWriter {
public:
  ScoreRegionWriter(const AttentionMatch &match, ElementTracer &tracer,
                    mlir::Location loc);

  /// Whether anything but a factor and a mask is done with the scores.
  bool hasScoreMod() const;
  /// The values that the regions need as captures.
  mlir::ValueRange getCaptures() const { return captures.getArrayRef(); }
  void writeScoreMod(mlir::OpBuilder &b, mlir::Region &region);
  void writeMaskMod(mlir::OpBuilder &b, mlir::Region &region);

private:
  void collect(ElementRef element);
  mlir::Block *addBlock(mlir::OpBuilder &b, mlir::Region &region, bool isScore);
  mlir::Value emit(mlir::OpBuilder &b, ElementRef element);
  mlir::Value emitApply(mlir::OpBuilder &b, ElementRef element);
  mlir::Value emitIndex(mlir::OpBuilder &b, mlir::AffineExpr index);
  bool isNarrow(ElementRef element);
  ElementRef negate(ElementRef condition);

  const AttentionMatch &match;
  ElementTracer &tracer;
  mlir::Location loc;
  llvm::SetVector<mlir::Value> captures;
  // Of the region that is written.
  mlir::Value score;
  llvm::SmallVector<mlir::Value> dims;
  mlir::Block::BlockArgListType captured;
};

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_SCOREREGION_H
