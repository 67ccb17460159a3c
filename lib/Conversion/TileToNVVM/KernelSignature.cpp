//===- KernelSignature.cpp - parameters of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSignature.h"
#include "LaunchConditions.h"
#include "ManifestAttribute.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

MemRefType KernelSignature::memrefType(unsigned argument) const {
  return cast<MemRefType>(getKernel().getArgumentTypes()[argument]);
}

void KernelSignature::addParameter(Type type, ArrayRef<NamedAttribute> entries,
                                   bool isTensorMap) {
  parameters.push_back(
      {type, DictionaryAttr::get(kernel.getContext(), entries), isTensorMap});
}

void KernelSignature::addNumber(Numbers &numbers, const Formula &formula,
                                Type type) {
  if (formula.getNumber() ||
      !numbers.try_emplace(formula, parameters.size()).second)
    return;
  Builder builder(kernel.getContext());
  std::string name = "i" + std::to_string(type.getIntOrFloatBitWidth());
  addParameter(
      type,
      {builder.getNamedAttr("value", builder.getStringAttr(formula.str())),
       builder.getNamedAttr("type", builder.getStringAttr(name))});
}

void KernelSignature::addMaps() {
  mapParameters.resize(maps.getMaps().size());
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Builder builder(kernel.getContext());
  for (unsigned index : maps.sortByArgument()) {
    mapParameters[index] = parameters.size();
    DictionaryAttr map = TensorMaps::describe(kernel, maps.getMaps()[index]);
    addParameter(pointer, builder.getNamedAttr("tensormap", map),
                 /*isTensorMap=*/true);
  }
}

/// Returns the memref of which an op reads single elements, in bounds; null for
/// other ops.
static Value getReadElements(Operation *op) {
  if (isa<LoadScalarOp, GatherOp>(op))
    return op->getOperand(0);
  auto load = dyn_cast<LoadOp>(op);
  return load ? load.getPages() : Value();
}

/// Returns the memref that threads access by its address with an op; null for
/// other ops.
static Value getAddressed(Operation *op) {
  if (auto put = dyn_cast<PutOp>(op))
    return put.getDest();
  if (Value source = getReadElements(op))
    return source;
  auto turn = dyn_cast<AwaitTurnOp>(op);
  return turn ? turn.getTurns() : Value();
}

LogicalResult KernelSignature::addPointers() {
  Builder builder(kernel.getContext());
  std::set<unsigned> accessed;
  auto addAccess = [&](Operation *op) -> LogicalResult {
    Value memref = getAddressed(op);
    if (!memref)
      return success();
    if (failed(checkIsArgument(op, memref)))
      return failure();
    accessed.insert(cast<BlockArgument>(memref).getArgNumber());
    return success();
  };
  if (failed(fa4::checkEach(kernel, addAccess)))
    return failure();
  if (std::optional<unsigned> count = kernel.getWorkCountArgument())
    accessed.insert(*count);
  for (unsigned argument : accessed) {
    MemRefType type = memrefType(argument);
    SmallVector<int64_t> typeStrides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(typeStrides, offset)))
      return kernel.emitOpError("argument of type ")
             << type << " has no strides";
    pointers[argument] = parameters.size();
    addParameter(
        LLVM::LLVMPointerType::get(kernel.getContext(), /*addressSpace=*/1),
        builder.getNamedAttr(
            "tensor", builder.getStringAttr(kernel.getArgName(argument))));
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      addNumber(strides, getStride(kernel, argument, dim),
                builder.getI64Type());
  }
  return success();
}

void KernelSignature::addScalars() {
  Builder builder(kernel.getContext());
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    if (isa<MemRefType>(type))
      continue;
    scalars[argument] = parameters.size();
    Type lowered = type.isIndex() ? builder.getI32Type() : type;
    addParameter(
        lowered,
        {builder.getNamedAttr(
             "value", builder.getStringAttr(kernel.getArgName(argument))),
         builder.getNamedAttr(
             "type", builder.getStringAttr(type.isF32() ? "f32" : "i32"))});
  }
}

void KernelSignature::addSize(const Formula &size) {
  addNumber(sizes, size, IntegerType::get(kernel.getContext(), 32));
}

LogicalResult KernelSignature::addSizeOf(memref::DimOp op) {
  auto source = dyn_cast<BlockArgument>(op.getSource());
  std::optional<int64_t> index = op.getConstantIndex();
  if (!source || source.getOwner()->getParentOp() != kernel || !index)
    return op.emitOpError(
        "must name a dimension of a kernel argument by a constant index");
  // memref.dim's verifier allows an index out of bounds, which is undefined
  // behaviour.
  int64_t rank = cast<MemRefType>(source.getType()).getRank();
  if (*index < 0 || *index >= rank)
    return op.emitOpError("asks for the size of dimension ")
           << *index << " of a tensor of " << rank << " dimensions";
  addSize(getSize(kernel, source.getArgNumber(), *index));
  return success();
}

/// Adds the sizes that an op needs when the kernel runs.
LogicalResult KernelSignature::addSizesOf(Operation *op) {
  auto addDim = [&](Value memref, int64_t dim) {
    addSize(getSize(kernel, cast<BlockArgument>(memref).getArgNumber(), dim));
  };
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return addSizeOf(dim);
  if (auto put = dyn_cast<PutOp>(op))
    addDim(put.getDest(), put.getDim());
  // A bound of rows behind the end of the tensor counts as the end.
  if (getCopyEnd(op)) {
    const TensorMap &map = tensorMap(op);
    addSize(getSize(kernel, map.argument, map.dims[map.second]));
  }
  // Pages are counted, too.
  if (auto load = dyn_cast<LoadOp>(op); load && load.getPages())
    addDim(load.getSource(), kPageDim);
  if (Value source = getReadElements(op))
    for (int64_t dim = 0; dim < cast<MemRefType>(source.getType()).getRank();
         ++dim)
      addDim(source, dim);
  // Upstream's operations, as memref.rank, take any memref.
  if (!isa_and_nonnull<TileDialect>(op->getDialect()) &&
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    return op->emitOpError(
        "takes a tensor of the kernel, which only memref.dim and operations "
        "of the tile dialect can");
  return success();
}

LogicalResult KernelSignature::addSizes() {
  // Coordinates are computed from numbers of work tiles.
  if (kernel.getScheduleOrGrid() != Schedule::Grid) {
    for (auto extent : kernel.getGrid().getAsRange<ExtentAttr>())
      addSize(Formula::size(extent.getSize()));
    if (OrderAttr order = kernel.getOrderAttr(); order && order.getSize())
      addSize(Formula::size(order.getSize().getValue()));
  }
  return fa4::checkEach(kernel, [&](Operation *op) { return addSizesOf(op); });
}

LLVM::LLVMFuncOp KernelSignature::createFunction(OpBuilder &builder) const {
  MLIRContext *context = builder.getContext();
  auto types = llvm::map_to_vector(parameters, [](auto &p) { return p.type; });
  auto function = LLVM::LLVMFuncOp::create(
      builder, getKernel().getLoc(), getKernel().getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  auto mapType = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    if (!parameter.isTensorMap)
      continue;
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(mapType));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(128));
    function.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                        builder.getUnitAttr());
  }
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  // ptxas ignores setmaxnreg unless it knows the number of registers at entry,
  // which it computes from these two attributes.
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr(
                        {static_cast<int32_t>(layout.threads), 1, 1}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(1));
  if (getKernel().getCluster())
    function->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        builder.getDenseI32ArrayAttr(llvm::map_to_vector(
            getClusterShape(kernel), [](int64_t n) { return int32_t(n); })));
  auto params = llvm::map_to_vector(
      parameters, [](auto &p) -> Attribute { return p.description; });
  function->setAttr(kManifestAttr,
                    buildManifestAttribute(kernel, layout, maps,
                                           builder.getArrayAttr(params),
                                           conditions));
  return function;
}

FailureOr<KernelSignature>
KernelSignature::compute(KernelOp kernel, const KernelLayout &layout) {
  FailureOr<TensorMaps> maps = TensorMaps::collect(kernel);
  if (failed(maps))
    return failure();
  KernelSignature signature(kernel, layout, std::move(*maps));
  signature.addMaps();
  if (failed(signature.addPointers()))
    return failure();
  signature.addScalars();
  if (failed(signature.addSizes()))
    return failure();
  auto pointers = llvm::to_vector(llvm::make_first_range(signature.pointers));
  FailureOr<ArrayAttr> conditions =
      collectLaunchConditions(kernel, signature.maps, pointers);
  if (failed(conditions))
    return failure();
  signature.conditions = *conditions;
  return signature;
}
