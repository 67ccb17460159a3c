//===- TensorElement.h - an element of a tensor as an expression ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one element of a tensor is computed from, through elementwise
// operations, transposes, broadcasts and reshapes: an expression over elements
// of other tensors, at indices that are affine in a few dimensions. Two
// programs that compute the same in operations of different names and shapes
// have the same expression.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORELEMENT_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORELEMENT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineExpr.h"
#include <deque>

namespace fa4::attn {

/// A node of the expression.
struct Element {
  enum Kind {
    Leaf,     ///< `value` at `indices`.
    Apply,    ///< `op`, of arith or math, on `args`.
    Index,    ///< The number `indices[0]`.
    Scalar,   ///< `value`, which is no tensor.
    Constant, ///< `constant`.
  };
  Kind kind = Leaf;
  mlir::Type type; ///< Of the element.
  mlir::Value value;
  llvm::SmallVector<mlir::AffineExpr> indices;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<const Element *> args;
  mlir::TypedAttr constant;

  /// The node is the operation `Op`.
  template <typename Op> bool isa() const {
    return kind == Apply && llvm::isa<Op>(op);
  }
  /// The node is a number of this value.
  bool isConstant(double number) const;
  std::optional<double> getConstant() const;
};

using ElementRef = const Element *;

/// The same expression: equal operations on equal elements.
bool isEqual(ElementRef a, ElementRef b);

/// The node below conversions between floating-point types.
ElementRef skipCasts(ElementRef element);

/// Calls `visit` on all nodes.
void walk(ElementRef element, llvm::function_ref<void(ElementRef)> visit);

/// Makes expressions, which live as long as this object.
class ElementTracer {
public:
  /// `sizes` are those of the dimensions that indices are made of;
  /// ShapedType::kDynamic where one is not known.
  ElementTracer(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> sizes)
      : context(context), sizes(sizes) {}

  /// The element of `tensor` at `indices`; never null.
  ElementRef trace(mlir::Value tensor,
                   llvm::ArrayRef<mlir::AffineExpr> indices);
  /// A number in the body of `op` in the iteration `loops`; null if it depends
  /// on more than elements and indices.
  ElementRef traceScalar(mlir::Value value, mlir::linalg::LinalgOp op,
                         llvm::ArrayRef<mlir::AffineExpr> loops);

  /// Expressions have a largest size, above which an element is a leaf. What is
  /// traced from here on does not count with what was traced before.
  void startAnew() { limit = elements.size() + kMost; }

  /// Says how large a dimension is that was not known.
  void setSize(unsigned dim, int64_t size) { sizes[dim] = size; }
  unsigned getNumDims() const { return sizes.size(); }

  /// Divisions and remainders are resolved where sizes say how they end.
  mlir::AffineExpr simplify(mlir::AffineExpr expr);

private:
  ElementRef add(Element element) {
    elements.push_back(std::move(element));
    return &elements.back();
  }
  ElementRef traceDefinition(mlir::Operation *definition, mlir::OpResult result,
                             llvm::ArrayRef<mlir::AffineExpr> indices);
  ElementRef traceElementwise(mlir::linalg::LinalgOp op, mlir::OpResult result,
                              llvm::ArrayRef<mlir::AffineExpr> indices);
  ElementRef traceCollapse(mlir::Value source,
                           llvm::ArrayRef<mlir::ReassociationIndices> groups,
                           llvm::ArrayRef<mlir::AffineExpr> indices);
  ElementRef traceExpand(mlir::Value source, mlir::ShapedType result,
                         llvm::ArrayRef<mlir::ReassociationIndices> groups,
                         llvm::ArrayRef<mlir::AffineExpr> indices);
  /// Splits a sum into what is a multiple of `divisor`, divided by it, and the
  /// rest.
  std::pair<mlir::AffineExpr, mlir::AffineExpr> split(mlir::AffineExpr sum,
                                                      int64_t divisor);
  /// The smallest number that `expr`, which is never negative, does not reach;
  /// nothing if that is not known.
  std::optional<int64_t> getLimit(mlir::AffineExpr expr);

  mlir::MLIRContext *context;
  llvm::SmallVector<int64_t> sizes;
  std::deque<Element> elements;
  static constexpr size_t kMost = 10000;
  size_t limit = kMost;
};

/// The indices of the loops of an operation in which it writes the element of
/// `result`, one of its results, at `indices`; null for loops that this does
/// not say. False if the result's map is no projected permutation.
bool getLoops(mlir::OpResult result, llvm::ArrayRef<mlir::AffineExpr> indices,
              llvm::SmallVectorImpl<mlir::AffineExpr> &loops);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORELEMENT_H
