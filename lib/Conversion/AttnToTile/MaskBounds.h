//===- MaskBounds.h - a mask_mod by bounds of its numbers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a mask_mod shows any score of a rectangle can often be told from the
// least and the largest of its numbers. `doc[q] == doc[k]` is false in all of a
// rectangle if the documents of its queries, from 3 to 4, and those of its
// keys, from 5 to 9, have none in common. A number that depends on one side
// alone, the queries or the keys, is a *term*: kernels find its least and its
// largest value exactly, whatever the region computes it by (tables, divisions,
// remainders). Operations on terms of both sides work on the bounds.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MASKBOUNDS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MASKBOUNDS_H

#include "ModVectorizer.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "llvm/ADT/MapVector.h"

namespace fa4 {

/// The sides of a rectangle of scores on which a value of mask_mod depends.
enum class MaskSide { None, Queries, Keys, Both };

/// The least and the largest value of a number. Of a condition, `low` says that
/// it may be false, and `high` that it may be true; a null value stands for
/// true.
struct Bounds {
  TileValue low, high;
};

/// The bounds of the terms of a region.
using TermBounds = llvm::DenseMap<mlir::Value, Bounds>;

class MaskBounds {
public:
  explicit MaskBounds(attn::AttentionOpInterface op);

  /// True if a table is read at an index that depends on the query or the key,
  /// and if bounds may tell that a rectangle has no visible score. VisibleRange
  /// bounds what depends on positions alone.
  bool isUseful() const { return isUsefulMask; }
  /// True if bounds may tell that a rectangle has no hidden score.
  bool canBeFull() const;
  bool dependsOnHead() const { return usesHead; }

  /// The terms of one side, or those that are the same for all scores, in the
  /// order of the region. A query or a key that stands in an operation with a
  /// term of the other side is a term of its own.
  llvm::SmallVector<mlir::Value> getTerms(MaskSide side) const;

  /// Builds the conditions that some score may be hidden, and that some may be
  /// visible, from the bounds of all terms, in i32. Rectangles are elements of
  /// a tile of `rows` x `columns`.
  Bounds buildVisible(mlir::ImplicitLocOpBuilder &b, const TermBounds &terms,
                      int64_t rows, int64_t columns) const;

private:
  /// What is known of a value before its bounds are.
  struct Fact {
    MaskSide side = MaskSide::None;
    /// The absolute value is less than this; 0 if no such number is known.
    int64_t end = 0;
  };
  /// Which of the two values of a condition bounds may rule out; of a number,
  /// whether it has bounds.
  struct Decided {
    bool canBeRuledOut[2] = {false, false};
  };

  void learn(mlir::Operation &op);
  int64_t computeEnd(mlir::Operation &op) const;
  MaskSide getSide(mlir::Value value) const { return facts.lookup(value).side; }
  bool isCombined(mlir::Value value) const;
  Decided decide(mlir::Value value) const;
  Decided lookup(mlir::Value value) const;
  bool readsTableAtPosition() const;

  mlir::Region &maskMod;
  mlir::Value visible;
  llvm::DenseMap<mlir::Value, Fact> facts;
  /// The values of which `visible` is made, operands first.
  llvm::MapVector<mlir::Value, Decided> decided;
  bool isUsefulMask = false, usesHead = false;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MASKBOUNDS_H
