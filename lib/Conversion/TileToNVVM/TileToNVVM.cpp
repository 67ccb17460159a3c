//===- TileToNVVM.cpp - kernels of the tile dialect to functions ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "LaneOps.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/Tile/Analysis/OutputCoverage.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

namespace fa4 {
#define GEN_PASS_DEF_TILETONVVM
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

struct TileToNVVMPass : fa4::impl::TileToNVVMBase<TileToNVVMPass> {
  using TileToNVVMBase::TileToNVVMBase;
  void runOnOperation() override;

private:
  LogicalResult lowerKernel(KernelOp kernel, LLVM::GlobalOp sharedMemory);
};

/// Creates the dynamic shared memory. It is external, because LLVM would remove
/// stores to an array that only descriptors read, and aligned to 1024 bytes for
/// the widest swizzle.
LLVM::GlobalOp createSharedMemory(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
      /*isConstant=*/false, LLVM::Linkage::External, "fa4_shared_memory",
      Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
}

/// Returns true for an operation that `expand` rewrites or may fold. What a
/// branch or a mask depends on is folded here, because LLVM does not see
/// through a selection by a bit.
bool isToExpand(Operation *op) {
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op))
    return slice.getType().getRank() != 1;
  auto isInteger = [](Type type) { return type.isIntOrIndex(); };
  return isa_and_nonnull<scf::SCFDialect>(op->getDialect()) ||
         isa<vector::InsertStridedSliceOp, vector::BroadcastOp, vector::StepOp,
             vector::FMAOp>(op) ||
         (isa_and_nonnull<arith::ArithDialect>(op->getDialect()) &&
          llvm::any_of(op->getOperandTypes(), isInteger));
}

/// Lowers scf to branches, expands operations without a counterpart in LLVM,
/// and folds scalars. Most operations of a kernel are none of these, so that
/// the patterns are not driven over the whole function.
LogicalResult expand(LLVM::LLVMFuncOp function) {
  RewritePatternSet patterns(function.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  vector::populateVectorRankReducingFMAPattern(patterns);
  populateSCFToControlFlowConversionPatterns(patterns);
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isToExpand(op))
      ops.push_back(op);
  });
  GreedyRewriteConfig config;
  // What a branch moves out of its region would count as new.
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  config.setScope(&function.getBody());
  if (succeeded(applyOpPatternsGreedily(ops, std::move(patterns), config)))
    return success();
  Operation *left = function;
  function.walk([&](Operation *op) {
    bool isLeft = isToExpand(op) && !isa<arith::ArithDialect>(op->getDialect());
    if (isLeft)
      left = op;
    return isLeft ? WalkResult::interrupt() : WalkResult::advance();
  });
  return left->emitOpError("cannot be expanded into scalars and branches: the "
                           "rewrites do not come to an end");
}

/// Returns true if all elements of a constant of the type `index` have the bits
/// of an index in a kernel. The conversion would cut them.
bool fitsIndex(arith::ConstantOp op) {
  if (!getElementTypeOrSelf(op.getType()).isIndex())
    return true;
  auto fits = [](const APInt &value) { return value.isSignedIntN(kIndexBits); };
  if (auto number = dyn_cast<IntegerAttr>(op.getValue()))
    return fits(number.getValue());
  auto elements = dyn_cast<DenseIntElementsAttr>(op.getValue());
  if (!elements)
    return true;
  return elements.isSplat() ? fits(elements.getSplatValue<APInt>())
                            : llvm::all_of(elements.getValues<APInt>(), fits);
}

/// Refuses what the conversion to LLVM, or the back end behind it, would change
/// without a word.
LogicalResult checkConvertible(LLVM::LLVMFuncOp function) {
  return fa4::checkEach(function, [](Operation *op) -> LogicalResult {
    if (auto constant = dyn_cast<arith::ConstantOp>(op);
        constant && !fitsIndex(constant))
      return op->emitOpError("does not fit into an index, which has ")
             << kIndexBits << " bits in a kernel";
    if (auto truncate = dyn_cast<arith::TruncFOp>(op);
        truncate && truncate.getRoundingmode() && !isLaneMath(op))
      return op->emitOpError("has no instruction that rounds ")
             << stringifyRoundingMode(*truncate.getRoundingmode());
    return success();
  });
}

/// Converts what lowerLaneOps has left.
LogicalResult convertToLLVM(LLVM::LLVMFuncOp function) {
  MLIRContext *context = function.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(kIndexBits);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  // Of indices: lowerLaneOps has lowered all others.
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<NVVM::NVVMDialect>();
  SmallVector<Operation *> ops;
  for (Block &block : function.getBody())
    for (Operation &op : block)
      if (!isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(
              op.getDialect()))
        ops.push_back(&op);
  ConversionConfig config;
  config.allowPatternRollback = false;
  return applyFullConversion(ops, target, std::move(patterns), config);
}

/// What is said of a loop of scf arrives at its branch under a name that the
/// translation to LLVM IR does not read.
void nameLoopAnnotations(LLVM::LLVMFuncOp function) {
  function.walk([](LLVM::CondBrOp branch) {
    if (auto annotation = dyn_cast_or_null<LLVM::LoopAnnotationAttr>(
            branch->removeDiscardableAttr(kLoopAnnotation)))
      branch.setLoopAnnotationAttr(annotation);
  });
}

/// Returns true if `argument` reaches an operation that has an effect or ends
/// the function: by its users, their results, and the arguments of blocks to
/// which branches pass it.
bool isLive(BlockArgument argument) {
  SmallVector<Value> values{argument};
  llvm::SmallDenseSet<Value> seen{argument};
  auto add = [&](Value value) {
    if (seen.insert(value).second)
      values.push_back(value);
  };
  while (!values.empty())
    for (OpOperand &use : values.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (auto branch = dyn_cast<BranchOpInterface>(user)) {
        std::optional<BlockArgument> target =
            branch.getSuccessorBlockArgument(use.getOperandNumber());
        if (!target)
          return true;
        add(*target);
      } else if (!isPure(user)) {
        return true;
      } else {
        for (Value result : user->getResults())
          add(result);
      }
    }
  return false;
}

/// Erases values that loops carry and nobody uses, which are arguments of
/// blocks by now. remove-dead-values of LLVM 22 leaves the operands of branches
/// to a block of which it erases an argument, so that nothing must remain for
/// it to erase. Upstream's elimination computes the liveness of each operation
/// several times over, and few kernels need it.
void eraseDeadArguments(LLVM::LLVMFuncOp function) {
  auto blocks = llvm::drop_begin(function.getBody());
  if (llvm::all_of(blocks, [](Block &block) {
        return llvm::all_of(block.getArguments(), isLive);
      }))
    return;
  IRRewriter rewriter(function.getContext());
  (void)runRegionDCE(rewriter, function->getRegions());
}

LogicalResult TileToNVVMPass::lowerKernel(KernelOp kernel,
                                          LLVM::GlobalOp sharedMemory) {
  FailureOr<KernelLayout> layout = KernelLayout::compute(kernel);
  if (failed(layout))
    return failure();
  FailureOr<KernelSignature> signature =
      KernelSignature::compute(kernel, *layout);
  if (failed(signature))
    return failure();
  OpBuilder builder(kernel);
  FailureOr<LLVM::LLVMFuncOp> function =
      KernelLowering(builder, kernel, *layout, *signature).lower(sharedMemory);
  if (failed(function))
    return failure();
  kernel.erase();
  if (failed(expand(*function)) || failed(checkConvertible(*function)))
    return failure();
  lowerLaneOps(*function);
  if (failed(convertToLLVM(*function)))
    return failure();
  nameLoopAnnotations(*function);
  eraseDeadArguments(*function);
  return success();
}

void TileToNVVMPass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  if (kernels.empty())
    return;
  if (verify)
    for (KernelOp kernel : kernels)
      if (failed(verifyProtocol(kernel)) || failed(verifyOutputs(kernel)))
        return signalPassFailure();
  LLVM::GlobalOp sharedMemory = createSharedMemory(module);
  for (KernelOp kernel : kernels)
    if (failed(lowerKernel(kernel, sharedMemory)))
      return signalPassFailure();
  module->setAttr(LLVM::LLVMDialect::getTargetTripleAttrName(),
                  StringAttr::get(&getContext(), "nvptx64-nvidia-cuda"));
}

} // namespace
