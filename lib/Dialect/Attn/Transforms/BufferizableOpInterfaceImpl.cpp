//===- BufferizableOpInterfaceImpl.cpp - bufferization of the attn ops ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace fa4::attn;

/// Returns the position of `operand` among the destinations, or nothing if the
/// operand is no destination.
static std::optional<unsigned> getInitNumber(AttentionOpInterface op,
                                             OpOperand &operand) {
  unsigned first = op.getFirstInitNumber();
  if (operand.getOperandNumber() < first)
    return std::nullopt;
  return operand.getOperandNumber() - first;
}

/// Returns the captured operand for which a block argument of a region stands.
static Value getCaptureOf(AttentionOpInterface op, BlockArgument argument) {
  unsigned first = argument.getOwner()->getParent() == &op.getScoreMod()
                       ? kNumScoreModArgs
                       : kNumMaskModArgs;
  return op.getCaptures()[argument.getArgNumber() - first];
}

namespace {
template <typename OpTy>
struct AttentionBufferization : public BufferizableOpInterface::ExternalModel<
                                    AttentionBufferization<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !getInitNumber(cast<AttentionOpInterface>(op), operand);
  }

  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &) const {
    return getInitNumber(cast<AttentionOpInterface>(op), operand).has_value();
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    std::optional<unsigned> init =
        getInitNumber(cast<AttentionOpInterface>(op), operand);
    if (!init || op->getNumResults() == 0)
      return {};
    return {{op->getResult(*init), BufferRelation::Equivalent}};
  }

  bool bufferizesToAllocation(Operation *op, Value value) const {
    return isa<OpResult>(value) &&
           cast<AttentionOpInterface>(op).getInits().empty();
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    auto attention = cast<AttentionOpInterface>(op);
    if (auto argument = dyn_cast<BlockArgument>(value))
      return bufferization::getBufferType(getCaptureOf(attention, argument),
                                          options, state, invocationStack);
    if (!attention.getInits().empty())
      return bufferization::getBufferType(
          attention.getInits()[cast<OpResult>(value).getResultNumber()],
          options, state, invocationStack);
    return cast<BufferLikeType>(getMemRefTypeWithStaticIdentityLayout(
        cast<TensorType>(value.getType())));
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto attention = cast<AttentionOpInterface>(op);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    SmallVector<Value> destinations;
    if (failed(getDestinations(rewriter, attention, operands, options,
                               destinations)))
      return failure();
    createOnMemRefs(rewriter, attention, operands, destinations);
    replaceOpWithBufferizedValues(
        rewriter, op, ArrayRef(destinations).take_front(op->getNumResults()));
    return success();
  }

private:
  /// Finds the buffers that the op writes: those of its destinations, or newly
  /// allocated ones.
  static LogicalResult getDestinations(RewriterBase &rewriter,
                                       AttentionOpInterface op,
                                       ArrayRef<Value> operands,
                                       const BufferizationOptions &options,
                                       SmallVectorImpl<Value> &destinations) {
    if (!op.getInits().empty()) {
      llvm::append_range(destinations,
                         operands.drop_front(op.getFirstInitNumber()));
      return success();
    }
    ReifiedRankedShapedTypeDims shapes;
    if (failed(cast<ReifyRankedShapedTypeOpInterface>(op.getOperation())
                   .reifyResultShapes(rewriter, shapes)))
      return failure();
    for (auto [type, shape] : llvm::zip(op->getResultTypes(), shapes)) {
      auto memref = cast<MemRefType>(
          getMemRefTypeWithStaticIdentityLayout(cast<TensorType>(type)));
      SmallVector<Value> dynamicSizes;
      for (auto [dim, size] : llvm::enumerate(shape))
        if (memref.isDynamicDim(dim))
          dynamicSizes.push_back(
              getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), size));
      FailureOr<Value> buffer =
          options.createAlloc(rewriter, op.getLoc(), memref, dynamicSizes);
      if (failed(buffer))
        return failure();
      destinations.push_back(*buffer);
    }
    return success();
  }

  /// Creates the op on memrefs and moves the regions of `op` there. The regions
  /// read captured tensors through their buffers from then on.
  static void createOnMemRefs(RewriterBase &rewriter, AttentionOpInterface op,
                              ArrayRef<Value> operands,
                              ArrayRef<Value> destinations) {
    unsigned numInputs = op.getFirstInitNumber();
    OperationState newState(op.getLoc(), op->getName());
    newState.addOperands(operands.take_front(numInputs));
    newState.addOperands(destinations);
    newState.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    auto &properties = newState.getOrAddProperties<typename OpTy::Properties>();
    properties = cast<OpTy>(op.getOperation()).getProperties();
    properties.operandSegmentSizes.back() = destinations.size();
    llvm::fill(properties.resultSegmentSizes, 0);
    for (unsigned i = 0, e = op->getNumRegions(); i != e; ++i)
      newState.addRegion();
    auto memrefOp = cast<AttentionOpInterface>(rewriter.create(newState));

    for (auto [number, mod] : llvm::enumerate(op.getMods())) {
      auto [region, firstCapture] = mod;
      if (region->empty())
        continue;
      for (auto [index, capture] : llvm::enumerate(memrefOp.getCaptures()))
        replaceCapture(rewriter, region->getArgument(firstCapture + index),
                       capture.getType());
      rewriter.inlineRegionBefore(*region, memrefOp->getRegion(number),
                                  memrefOp->getRegion(number).end());
    }
  }

  static void replaceCapture(RewriterBase &rewriter, BlockArgument argument,
                             Type bufferType) {
    if (argument.getType() == bufferType)
      return;
    OpBuilder::InsertionGuard guard(rewriter);
    Type tensorType = argument.getType();
    rewriter.setInsertionPointToStart(argument.getOwner());
    argument.setType(bufferType);
    auto tensor =
        ToTensorOp::create(rewriter, argument.getLoc(), tensorType, argument);
    rewriter.replaceAllUsesExcept(argument, tensor, tensor);
  }
};
} // namespace

void fa4::attn::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    SdpaOp::attachInterface<AttentionBufferization<SdpaOp>>(*context);
    SdpaBackwardOp::attachInterface<AttentionBufferization<SdpaBackwardOp>>(
        *context);
    context->loadDialect<BufferizationDialect>();
  });
}
