//===- SoftmaxProgram.h - the state of an online softmax ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SOFTMAXPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SOFTMAXPROGRAM_H

#include "QueryTileProgram.h"

namespace fa4 {

/// What an online softmax has of the blocks so far.
struct SoftmaxState {
  /// The sum of p v: rows x head dim. Null if nothing has been added.
  mlir::Value sum;
  /// Row max of the scores so far, times scale.exponent, and row sum of p.
  mlir::Value max, normalizer;
};

/// Returns true for a type of floating-point numbers, and for tiles of them.
bool isFloatOrTile(mlir::Type type);
/// Returns true for a constant that is at least as large as numbers by which a
/// score_mod hides keys.
bool isLargeNumber(mlir::Operation &op);

/// Programs that end an online softmax.
class SoftmaxProgram : protected QueryTileProgram {
protected:
  SoftmaxProgram(attn::SdpaOp op, tile::KernelOp kernel, int64_t rows,
                 int64_t keys);

  /// Returns what exponents are relative to in rows of this maximum.
  mlir::Value getReference(mlir::Value max);
  /// Returns the state of rows whose only score is that of the sink.
  SoftmaxState startWithSink(mlir::Value rowSinks);
  /// Returns `state.sum / state.normalizer`, rounded to the elements of out.
  mlir::Value computeOut(SoftmaxState state);
  /// Returns ln(2) (max + log2 normalizer), and `own` more if it is not null.
  mlir::Value computeLse(SoftmaxState state, mlir::Value own);

  mlir::VectorType f32Rows() { return f32Type({rows}); }

  attn::SdpaOp op;
  /// True if scores may exceed exponentLimit without an error of the caller.
  bool hasFullRange;
  /// Bound of a row's largest exponent; see chooseExponentLimit.
  double exponentLimit;
  mlir::Value out, lse; ///< `lse` is null if there is none.

private:
  void chooseExponentLimit();
  mlir::Value rejectLargeScores(SoftmaxState state);
  mlir::Value isEmpty(mlir::Value normalizer);
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SOFTMAXPROGRAM_H
