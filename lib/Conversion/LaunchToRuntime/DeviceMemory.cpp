//===- DeviceMemory.cpp - memory of the GPU in host code ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace fa4;

/// Returns the buffer of which `value` is a view.
static Value findBuffer(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// Returns the function that is called, or null if its body is not known.
static func::FuncOp findCallee(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  return callee && !callee.isExternal() ? callee : func::FuncOp();
}

/// Adds the buffer behind a memref that is in the GPU's memory. `user` is the
/// operation that needs it there.
LogicalResult DeviceMemory::add(Value memref, Operation *user) {
  if (!isa<MemRefType>(memref.getType()))
    return user->emitOpError(
        "gets memory of unknown rank; memory of the GPU must have a rank");
  Value buffer = findBuffer(memref);
  Operation *origin = buffer.getDefiningOp();
  if (!origin) {
    auto argument = cast<BlockArgument>(buffer);
    if (!argument.getOwner()->isEntryBlock() ||
        !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return user->emitOpError("gets memory through control flow, so it is not "
                               "known whether the GPU "
                               "can access it");
  } else if (auto alloc = dyn_cast<memref::AllocOp>(origin)) {
    if (!alloc.getSymbolOperands().empty() ||
        !alloc.getType().getLayout().isIdentity())
      return alloc.emitOpError(
          "has a layout map; memory of the GPU is allocated without");
  } else if (!isa<func::CallOp>(origin)) {
    return user->emitOpError("gets memory of '")
           << origin->getName()
           << "', and it is not known whether the GPU can access that; "
              "memref.alloc, arguments and calls are known";
  }
  buffers.insert(buffer);
  return success();
}

/// Adds the values of other functions that are the same memory as `buffer`: the
/// arguments that callers pass, and the results that a callee returns.
LogicalResult DeviceMemory::addOrigins(Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    auto uses =
        SymbolTable::getSymbolUses(argument.getOwner()->getParentOp(), module);
    if (uses)
      for (const SymbolTable::SymbolUse &use : *uses)
        if (auto call = dyn_cast<func::CallOp>(use.getUser()))
          if (failed(add(call.getOperand(argument.getArgNumber()), call)))
            return failure();
    return success();
  }
  auto call = buffer.getDefiningOp<func::CallOp>();
  func::FuncOp callee = call ? findCallee(call) : func::FuncOp();
  if (!callee)
    return success();
  unsigned number = cast<OpResult>(buffer).getResultNumber();
  for (auto returned : callee.getOps<func::ReturnOp>())
    if (failed(add(returned.getOperand(number), returned)))
      return failure();
  return success();
}

/// A function returns memory of the GPU: marks the results of all its calls as
/// such memory, too.
void DeviceMemory::addReturned(func::ReturnOp op, unsigned number) {
  auto uses =
      SymbolTable::getSymbolUses(op->getParentOfType<func::FuncOp>(), module);
  if (!uses)
    return;
  for (const SymbolTable::SymbolUse &use : *uses)
    if (auto call = dyn_cast<func::CallOp>(use.getUser()))
      buffers.insert(call.getResult(number));
}

/// Follows the uses of a buffer. Memory of the GPU may be passed on, looked at
/// as another view, returned, and freed. Sets `hasOwner` if the memory is freed
/// or returned.
LogicalResult DeviceMemory::addUses(Value buffer, Location origin,
                                    bool &hasOwner) {
  for (OpOperand &use : buffer.getUses())
    if (failed(addUse(use, origin, hasOwner)))
      return failure();
  return success();
}

LogicalResult DeviceMemory::addUse(OpOperand &use, Location origin,
                                   bool &hasOwner) {
  Operation *user = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (isa<tile::LaunchOp, memref::DimOp, memref::ExtractStridedMetadataOp,
          memref::ExtractAlignedPointerAsIndexOp>(user))
    return success();
  if (isa<memref::DeallocOp>(user)) {
    hasOwner = true;
    return success();
  }
  // The other side of a copy is the GPU's as well: a copy that the host makes
  // would need to wait for the stream.
  if (auto copy = dyn_cast<memref::CopyOp>(user))
    return add(copy->getOperand(number == 0 ? 1 : 0), copy);
  if (auto call = dyn_cast<func::CallOp>(user)) {
    if (func::FuncOp callee = findCallee(call)) {
      Value argument = callee.getArgument(number);
      buffers.insert(argument);
      hasOwner |=
          llvm::any_of(argument.getUsers(), llvm::IsaPred<memref::DeallocOp>);
    }
    return success();
  }
  if (auto returned = dyn_cast<func::ReturnOp>(user)) {
    hasOwner = true;
    addReturned(returned, number);
    return success();
  }
  if (auto view = dyn_cast<ViewLikeOpInterface>(user))
    return addUses(view.getViewDest(), origin, hasOwner);
  InFlightDiagnostic error =
      user->emitOpError("uses memory of the GPU on the host");
  error.attachNote(origin) << "a launch uses the memory that is here";
  return error;
}

/// Whether `buffer` is an allocation of its own: one in this function, or one
/// that a callee has made and returns.
static bool isAllocation(Value buffer) {
  if (buffer.getDefiningOp<memref::AllocOp>())
    return true;
  auto call = buffer.getDefiningOp<func::CallOp>();
  func::FuncOp callee = call ? findCallee(call) : func::FuncOp();
  unsigned number = call ? cast<OpResult>(buffer).getResultNumber() : 0;
  return callee &&
         llvm::all_of(callee.getOps<func::ReturnOp>(), [&](auto returned) {
           return findBuffer(returned.getOperand(number))
               .template getDefiningOp<memref::AllocOp>();
         });
}

/// Follows memory from the launches to where it comes from and where else it
/// goes, through calls and returns.
LogicalResult DeviceMemory::follow(ArrayRef<tile::LaunchOp> launches) {
  for (tile::LaunchOp launch : launches)
    for (Value operand : launch->getOperands())
      if (isa<MemRefType>(operand.getType()) && failed(add(operand, launch)))
        return failure();
  for (unsigned i = 0; i < buffers.size(); ++i) {
    Value buffer = buffers[i];
    bool hasOwner = false;
    if (failed(addOrigins(buffer)) ||
        failed(addUses(buffer, buffer.getLoc(), hasOwner)))
      return failure();
    if (hasOwner || !isAllocation(buffer))
      continue;
    OpBuilder b(buffer.getParentBlock()->getTerminator());
    memref::DeallocOp::create(b, buffer.getLoc(), buffer);
  }
  return success();
}

void DeviceMemory::collectOps() {
  module.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (buffers.contains(alloc))
        allocs.push_back(alloc);
    } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      if (buffers.contains(findBuffer(dealloc.getMemref())))
        frees.push_back(dealloc);
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      if (buffers.contains(findBuffer(copy.getSource())))
        copies.push_back(copy);
    }
  });
}

FailureOr<DeviceMemory> DeviceMemory::find(ModuleOp module,
                                           ArrayRef<tile::LaunchOp> launches) {
  DeviceMemory memory(module);
  if (failed(memory.follow(launches)))
    return failure();
  memory.collectOps();
  return memory;
}
