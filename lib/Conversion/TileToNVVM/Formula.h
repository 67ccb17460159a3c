//===- Formula.h - numbers of a manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_FORMULA_H
#define FA4_LIB_CONVERSION_TILETONVVM_FORMULA_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include <optional>
#include <string>

namespace fa4::tile {

/// An expression over the sizes of a call, which a manifest writes where it
/// needs a number (docs/simulator-manifest.md). Operators put brackets where
/// the text needs them, and compute what is known: with names a and b,
/// 2 * (a + 3 * 4) * b has the text "2 * (a + 12) * b".
class Formula {
public:
  Formula(int64_t number);
  /// A name in the manifest's `sizes`.
  static Formula name(const llvm::Twine &name);
  /// A size as the kernel names it (`tile.dims`): a number, a name, or what is
  /// derived from names.
  static Formula size(llvm::StringRef size);

  const std::string &str() const { return text; }
  /// The value, if it is the same for all calls. Products that 64 bits do not
  /// hold are INT64_MAX.
  std::optional<int64_t> getNumber() const { return number; }
  /// A number that divides the value, whatever the sizes are.
  int64_t getDivisor() const { return divisor; }
  bool operator<(const Formula &other) const { return text < other.text; }

  friend Formula operator+(const Formula &a, const Formula &b);
  friend Formula operator*(const Formula &a, const Formula &b);
  friend Formula operator/(const Formula &a, const Formula &b);
  friend Formula ceilDiv(const Formula &a, int64_t b);
  friend Formula min(const Formula &a, const Formula &b);
  friend Formula max(const Formula &a, const Formula &b);

  /// Conditions of a manifest.
  std::string isFrom(int64_t least, int64_t most) const;
  std::string isMultipleOf(int64_t factor) const;

private:
  /// What the text is, from the operator that binds weakest. A product may
  /// stand on the right of `*` without brackets, a quotient may not.
  enum class Kind { Sum, Quotient, Product, Primary };
  Formula(std::string text, Kind kind) : text(std::move(text)), kind(kind) {}
  /// The text as an operand of an operator that takes `weakest` and above.
  std::string asOperand(Kind weakest) const;

  std::string text;
  Kind kind = Kind::Primary;
  std::optional<int64_t> number;
  int64_t divisor = 1;
};

/// The texts of formulas, as an attribute.
mlir::ArrayAttr getTexts(mlir::Builder &builder,
                         llvm::ArrayRef<Formula> formulas);

/// Returns the name in the manifest's `sizes` that a size of a kernel depends
/// on: Sq for `align(Sq, 128)`. None if the size is a number.
std::optional<llvm::StringRef> getFreeName(llvm::StringRef size);

/// The extent of an argument's dimension, and its stride in elements.
Formula getSize(KernelOp kernel, unsigned argument, int64_t dim);
Formula getStride(KernelOp kernel, unsigned argument, int64_t dim);
/// The number of work tiles of a kernel whose schedule is not `grid`. A cluster
/// counts as many as it has CTAs: its last ones may have no work tile.
Formula countWorkTiles(KernelOp kernel);
/// The CTAs of a launch, from x on.
llvm::SmallVector<Formula> getGrid(KernelOp kernel);
/// The CTAs of a cluster along the axes of the launch.
llvm::SmallVector<int64_t> getClusterShape(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_FORMULA_H
