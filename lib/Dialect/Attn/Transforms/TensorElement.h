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

#include "IndexAlgebra.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <deque>

namespace fa4::attn {

struct ReshapeGroups;

/// An element of a tensor.
struct Place {
  mlir::Value tensor;
  llvm::SmallVector<mlir::AffineExpr> indices;
};

/// A node of the expression.
struct Element {
  enum Kind {
    Leaf,     ///< `value` at `indices`.
    Apply,    ///< `op`, of arith or math, on `args`.
    Index,    ///< The number `indices[0]`.
    Scalar,   ///< `value`, which is no tensor.
    Constant, ///< `constant`.
    Gather,   ///< `value` at the indices `args`.
  };
  Kind kind = Leaf;
  mlir::Type type; ///< Of the element.
  mlir::Value value;
  llvm::SmallVector<mlir::AffineExpr> indices;
  /// Of Apply: the operation and its attributes, without flags that only allow
  /// to compute it in another way (`fastmath`, `overflowFlags`).
  std::optional<mlir::OperationName> op;
  mlir::DictionaryAttr attributes;
  llvm::SmallVector<const Element *> args;
  mlir::TypedAttr constant;
  /// The tensors that hold this number, and where: of a leaf the tensor itself
  /// first, then reshapes and transposes of it; of an operation its result
  /// first. Empty if the number is computed inside of another operation.
  mutable llvm::SmallVector<Place, 1> places;

  /// The node is the operation `Op`.
  template <typename Op> bool isa() const {
    return kind == Apply && op->getTypeID() == mlir::TypeID::get<Op>();
  }
  /// The node is a number of this value; true is 1, and false 0.
  bool isConstant(double number) const;
  std::optional<double> getConstant() const;
};

using ElementRef = const Element *;

/// The same expression: equal operations on equal elements.
bool isEqual(ElementRef a, ElementRef b);

/// The node below conversions between floating-point types.
ElementRef skipCasts(ElementRef element);

/// An expression without the constant factors and the conversions around it,
/// and the product of those factors.
std::pair<ElementRef, double> splitFactor(ElementRef element);

/// Whether an expression, or one that it is made of, is one for which `isIt`
/// holds.
bool contains(ElementRef element, llvm::function_ref<bool(ElementRef)> isIt);

/// Whether a dimension is part of an index of an expression's elements.
bool dependsOn(ElementRef element, unsigned dim);

/// Calls `visit` on all nodes.
void walk(ElementRef element, llvm::function_ref<void(ElementRef)> visit);

/// Makes expressions, which live as long as this object.
class ElementTracer : public IndexAlgebra {
public:
  using IndexAlgebra::IndexAlgebra;

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

  /// The operation on `args`, or what is known to be the same: operations on
  /// constants are computed, those that do nothing are left out, and of several
  /// ways to write something there is one.
  ElementRef apply(mlir::OperationName op, mlir::DictionaryAttr attributes,
                   mlir::Type type, llvm::ArrayRef<ElementRef> args);
  template <typename Op>
  ElementRef apply(mlir::Type type, llvm::ArrayRef<ElementRef> args) {
    return apply(mlir::OperationName(Op::getOperationName(), context), {}, type,
                 args);
  }
  ElementRef constant(mlir::TypedAttr number);
  ElementRef constant(mlir::Type type, double number) {
    return constant(mlir::FloatAttr::get(type, number));
  }

private:
  Element *add(Element element) {
    elements.push_back(std::move(element));
    return &elements.back();
  }
  /// What `apply` may give instead of the operation; null if there is nothing.
  ElementRef fold(mlir::OperationName op, mlir::Type type,
                  llvm::ArrayRef<ElementRef> args);
  ElementRef foldLogic(mlir::OperationName op, llvm::ArrayRef<ElementRef> args);
  ElementRef traceDefinition(mlir::Operation *definition, mlir::OpResult result,
                             llvm::ArrayRef<mlir::AffineExpr> indices);
  ElementRef traceElementwise(mlir::linalg::LinalgOp op, mlir::OpResult result,
                              llvm::ArrayRef<mlir::AffineExpr> indices);
  ElementRef traceReshape(mlir::Operation *reshape, const ReshapeGroups &groups,
                          llvm::ArrayRef<mlir::AffineExpr> indices);
  /// An element of a constant that counts in steps: 0, 1, 2, ...
  ElementRef traceCount(mlir::DenseElementsAttr numbers,
                        llvm::ArrayRef<mlir::AffineExpr> indices);
  ElementRef traceSlice(mlir::tensor::ExtractSliceOp slice,
                        llvm::ArrayRef<mlir::AffineExpr> indices);

  std::deque<Element> elements;
  /// Of the size and of the depth of expressions: what follows them recurses.
  static constexpr size_t kMost = 10000;
  static constexpr unsigned kDeepest = 500;
  size_t limit = kMost;
  unsigned depth = 0;
};

/// The indices of the loops of an operation in which it writes the element of
/// `result`, one of its results, at `indices`; null for loops that this does
/// not say, unless they have one iteration. False if the result's map is no
/// projected permutation.
bool getLoops(mlir::OpResult result, llvm::ArrayRef<mlir::AffineExpr> indices,
              llvm::SmallVectorImpl<mlir::AffineExpr> &loops);

/// select(size == 1, 0, index): an index into a dimension of `size` that may be
/// broadcast to a loop.
struct BroadcastIndex {
  unsigned loop;
  mlir::Value size;
};
std::optional<BroadcastIndex> matchBroadcastIndex(mlir::Value index);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORELEMENT_H
