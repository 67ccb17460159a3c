//===- RaiseRemark.cpp - attention that is not looked into ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseRemark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::attn;

/// Whether `op` adds up products.
static bool isSumOfProducts(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
    return false;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  auto sum = yielded.getDefiningOp<arith::AddFOp>();
  return sum && llvm::any_of(sum->getOperands(), [](Value value) {
           while (auto extension = value.getDefiningOp<arith::ExtFOp>())
             value = extension.getIn();
           return value.getDefiningOp<arith::MulFOp>();
         });
}

namespace {
/// What is found on the way from a product back to other products.
class Way {
public:
  explicit Way(linalg::LinalgOp end) : end(end) {
    for (Value input : end.getDpsInputs())
      open.push_back(input);
    end.getBlock()->walk([&](Operation *op) { note(op); });
    while (!open.empty() && seen.size() < kMost)
      step(open.pop_back_val());
  }

  bool hasSoftmax() const { return isNamed || (hasExp && hasReduction); }
  /// The first operation that is not followed; null if there is none.
  Operation *getOpaque() const { return opaque; }

private:
  static constexpr size_t kMost = 200;

  void note(Operation *op) {
    hasExp |= isa<math::ExpOp, math::Exp2Op>(op);
    isNamed |= isa<linalg::SoftmaxOp>(op);
    auto each = dyn_cast<linalg::LinalgOp>(op);
    hasReduction |=
        each && each.getNumReductionLoops() != 0 && !isSumOfProducts(each);
  }
  void step(Value value);
  void enter(Operation *op);
  void addWriters(Value buffer);

  linalg::LinalgOp end;
  SmallVector<Value> open;
  llvm::SmallPtrSet<Value, 32> seen;
  bool isNamed = false, hasExp = false, hasReduction = false;
  Operation *opaque = nullptr;
};
} // namespace

static Value skipViews(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

/// What is written into a buffer in front of the product, in its block.
void Way::addWriters(Value buffer) {
  for (auto op : end->getBlock()->getOps<DestinationStyleOpInterface>()) {
    if (!op->isBeforeInBlock(end))
      return;
    if (llvm::any_of(op.getDpsInits(),
                     [&](Value init) { return skipViews(init) == buffer; }))
      enter(op);
  }
}

void Way::enter(Operation *op) {
  auto product = dyn_cast<linalg::LinalgOp>(op);
  if (product && isSumOfProducts(product))
    return;
  if (isa<linalg::SoftmaxOp>(op)) {
    isNamed = true;
    return;
  }
  op->walk([&](Operation *inner) { note(inner); });
  bool isFollowed =
      isa_and_nonnull<linalg::LinalgDialect, tensor::TensorDialect,
                      arith::ArithDialect, math::MathDialect>(op->getDialect());
  if (!isFollowed && !opaque)
    opaque = op;
  if (auto call = dyn_cast<CallOpInterface>(op))
    if (Operation *callee = call.resolveCallable())
      callee->walk([&](Operation *inner) { note(inner); });
  llvm::append_range(open, op->getOperands());
}

void Way::step(Value value) {
  if (!seen.insert(value).second)
    return;
  if (isa<BaseMemRefType>(value.getType()))
    return addWriters(skipViews(value));
  if (Operation *definition = value.getDefiningOp();
      definition && isa<RankedTensorType>(value.getType()))
    enter(definition);
}

std::string fa4::attn::explainUnmatched(linalg::LinalgOp op) {
  if (!isSumOfProducts(op))
    return "";
  Way way(op);
  if (!way.hasSoftmax())
    return "";
  if (!op.hasPureTensorSemantics())
    return "its operands are buffers, and the pass reads tensors: it comes "
           "before bufferization";
  unsigned longer = 0;
  for (auto [kind, size] :
       llvm::zip(op.getIteratorTypesArray(), op.getStaticLoopRanges()))
    longer += kind == utils::IteratorType::reduction && size != 1;
  if (longer > 1)
    return llvm::formatv("it sums over {0} dimensions, and the product with "
                         "the values only over the keys",
                         longer);
  if (Operation *opaque = way.getOpaque())
    return llvm::formatv("what is multiplied comes from {0}, {1}",
                         opaque->getName().getStringRef(),
                         isa<CallOpInterface>(opaque)
                             ? "which --inline would have resolved"
                             : "which is not looked into");
  return "what it multiplies holds operations that are not followed, or is no "
         "product of two numbers that begins with 0";
}
