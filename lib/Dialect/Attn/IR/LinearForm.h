//===- LinearForm.h - integers as linear forms of positions --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_IR_LINEARFORM_H
#define FA4_LIB_DIALECT_ATTN_IR_LINEARFORM_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace fa4::attn {

/// A constant whose magnitude is larger is no sequence position, and a bound
/// beyond it is none that kernels take in the mask attribute. Products of two
/// numbers within this limit, and sums of a few such products, do not overflow
/// 64 bits.
constexpr int64_t kMaxConstant = int64_t(1) << 30;

/// What is known of an integer v that depends on the query index i and the key
/// index j: denominator * v - query * i - key * j is from low to high. The
/// quotient of a division by 4, for example, is 4 * v = i + [-3, 0].
struct LinearForm {
  int64_t denominator = 1, query = 0, key = 0, low = 0, high = 0;
  /// True if v is proven not negative for all positions, which are not negative
  /// themselves.
  bool isNonNegative = false;

  static LinearForm getConstant(int64_t value);
  static LinearForm getQuery() { return {1, 1, 0, 0, 0, true}; }
  static LinearForm getKey() { return {1, 0, 1, 0, 0, true}; }

  LinearForm operator-() const;
  LinearForm operator+(const LinearForm &other) const;
  LinearForm operator-(const LinearForm &other) const { return *this + -other; }
  LinearForm operator*(int64_t factor) const;
  /// The quotient of v and `divisor`, which is positive: rounded down, or
  /// towards zero.
  LinearForm floorDivide(int64_t divisor) const;
  LinearForm truncatingDivide(int64_t divisor) const;

  /// True if v is known for all positions, not only a range that holds it.
  bool isExact() const { return denominator == 1 && low == high; }
  /// The value of v if it is the same for all positions.
  std::optional<int64_t> getConstantValue() const;
  /// True if v stays within 32 bits, and its numbers within `kMaxConstant`.
  bool isSmall() const;

private:
  /// The same form without common factors.
  LinearForm reduce() const;
};

/// Values as linear forms of the query and key index arguments of a mask_mod's
/// block. Each value is looked at once, however many others are computed from
/// it. Index arithmetic is taken as exact: sequence positions are non-negative
/// and far below 2^31.
class LinearForms {
public:
  explicit LinearForms(mlir::Block &block) : block(block) {}

  std::optional<LinearForm> get(mlir::Value value);

private:
  std::optional<LinearForm> compute(mlir::Value value);
  std::optional<LinearForm> computeBinary(mlir::Operation *op);

  mlir::Block &block;
  llvm::DenseMap<mlir::Value, std::optional<LinearForm>> forms;
};

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_IR_LINEARFORM_H
