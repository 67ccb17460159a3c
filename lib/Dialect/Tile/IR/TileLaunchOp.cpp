//===- TileLaunchOp.cpp - running a tile kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace fa4::tile;

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  auto add = [&](MutableOperandRange operands, MemoryEffects::Effect *effect) {
    for (OpOperand &operand : operands)
      if (isa<BaseMemRefType>(operand.get().getType()))
        effects.emplace_back(effect, &operand,
                             SideEffects::DefaultResource::get());
  };
  add(getInputsMutable(), MemoryEffects::Read::get());
  // A destination also counts as read, because a kernel need not write all of
  // its elements and may add to them.
  add(getInitsMutable(), MemoryEffects::Read::get());
  add(getInitsMutable(), MemoryEffects::Write::get());
}

/// Returns true if a value of type `type` can be passed as a kernel argument of
/// type `argument`.
static bool fits(Type type, Type argument) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type == argument;
  auto memref = dyn_cast<MemRefType>(argument);
  return memref && memref.getLayout().isIdentity() &&
         memref.getShape() == tensor.getShape() &&
         memref.getElementType() == tensor.getElementType();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *symbol =
      symbolTable.lookupNearestSymbolFrom(*this, getKernelAttr());
  // The parameters of a kernel that has been lowered are no longer the tensors,
  // so there is nothing to compare.
  if (symbol && (symbol->hasAttr("nvvm.kernel") || isa<gpu::BinaryOp>(symbol)))
    return success();
  auto kernel = dyn_cast_or_null<KernelOp>(symbol);
  if (!kernel)
    return emitOpError("'") << getKernel() << "' is not a tile.kernel";
  ArrayRef<Type> arguments = kernel.getArgumentTypes();
  if (arguments.size() != getNumOperands())
    return emitOpError("passes ")
           << getNumOperands() << " values to a kernel with "
           << arguments.size() << " arguments";
  for (auto [i, type, argument] : llvm::enumerate(getOperandTypes(), arguments))
    if (!fits(type, argument))
      return emitOpError("passes ") << type << " as '" << kernel.getArgName(i)
                                    << "', which is " << argument;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    bool isInit =
        i >= getInputs().size() && i < getInputs().size() + getInits().size();
    if (kernel.getOutputKind(i) && !isInit)
      return emitOpError("passes '")
             << kernel.getArgName(i)
             << "', which the kernel writes, as an input";
  }
  return success();
}
