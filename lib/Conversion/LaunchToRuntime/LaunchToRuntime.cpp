//===- LaunchToRuntime.cpp - launches to calls of libfa4_runtime ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "HostCalls.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"

namespace fa4 {
#define GEN_PASS_DEF_LAUNCHTORUNTIME
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;

namespace {
struct LaunchToRuntimePass
    : fa4::impl::LaunchToRuntimeBase<LaunchToRuntimePass> {
  using LaunchToRuntimeBase::LaunchToRuntimeBase;

  void runOnOperation() override;

private:
  LogicalResult findKernels();
  LogicalResult addStreams(const DeviceMemory &memory);
  Value getStream(Operation *op);
  LogicalResult convert();

  llvm::StringMap<EmbeddedKernel> kernels;
  SmallVector<tile::LaunchOp> launches;
};
} // namespace

LogicalResult LaunchToRuntimePass::findKernels() {
  ModuleOp module = getOperation();
  for (auto binary : module.getOps<gpu::BinaryOp>())
    for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>()) {
      DictionaryAttr properties = object.getProperties();
      auto manifest = properties
                          ? properties.getAs<StringAttr>(tile::kManifestAttr)
                          : StringAttr();
      auto arguments =
          properties ? properties.getAs<ArrayAttr>(tile::kArgumentsProperty)
                     : ArrayAttr();
      if (manifest && arguments)
        kernels.try_emplace(binary.getSymName(),
                            EmbeddedKernel{binary, object, manifest, arguments,
                                           LLVM::GlobalOp()});
    }
  module.walk([&](tile::LaunchOp launch) { launches.push_back(launch); });
  for (tile::LaunchOp launch : launches) {
    if (!kernels.contains(launch.getKernel()))
      return launch.emitOpError("launches '")
             << launch.getKernel()
             << "', which is no gpu.binary with a manifest; nvvm-to-binary "
                "makes them";
    if (launch->getNumResults() != 0)
      return launch.emitOpError(
          "is on tensors; host code has them bufferized (one-shot-bufferize)");
    if (!launch->getParentOfType<func::FuncOp>())
      return launch.emitOpError("is in no func.func");
  }
  return success();
}

/// Gives each function that works on the stream, or calls one that does, a last
/// argument for the stream.
LogicalResult LaunchToRuntimePass::addStreams(const DeviceMemory &memory) {
  if (stream == "default")
    return success();
  llvm::SetVector<Operation *> functions;
  auto add = [&](auto ops) {
    for (Operation *op : ops)
      functions.insert(op->getParentOfType<func::FuncOp>());
  };
  add(launches);
  add(memory.allocs);
  add(memory.copies);
  add(memory.frees);
  SmallVector<func::CallOp> calls;
  for (unsigned i = 0; i < functions.size(); ++i) {
    auto uses = SymbolTable::getSymbolUses(functions[i], getOperation());
    if (!uses)
      return functions[i]->emitError(
          "launch-to-runtime: unknown operations may use this function, which "
          "gets a stream as its last argument");
    for (const SymbolTable::SymbolUse &use : *uses) {
      auto call = dyn_cast<func::CallOp>(use.getUser());
      if (!call)
        return use.getUser()->emitOpError("uses '")
               << cast<func::FuncOp>(functions[i]).getSymName()
               << "', which gets a stream as its last argument; "
                  "stream=default leaves signatures as they are";
      calls.push_back(call);
      if (auto caller = call->getParentOfType<func::FuncOp>())
        functions.insert(caller);
    }
  }
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  for (Operation *op : functions) {
    auto function = cast<func::FuncOp>(op);
    if (failed(function.insertArgument(function.getNumArguments(), pointer,
                                       DictionaryAttr(), function.getLoc())))
      return failure();
  }
  for (func::CallOp call : calls)
    call.getOperandsMutable().append(getStream(call));
  return success();
}

Value LaunchToRuntimePass::getStream(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (stream == "argument")
    return function.getArguments().back();
  OpBuilder b(op);
  return LLVM::ZeroOp::create(b, op->getLoc(),
                              LLVM::LLVMPointerType::get(&getContext()));
}

LogicalResult LaunchToRuntimePass::convert() {
  if (failed(findKernels()))
    return failure();
  FailureOr<DeviceMemory> memory = DeviceMemory::find(getOperation(), launches);
  if (failed(memory) || failed(addStreams(*memory)))
    return failure();
  HostCalls calls(getOperation(), [&](Operation *op) { return getStream(op); });
  for (tile::LaunchOp launch : launches)
    if (failed(calls.replace(launch, kernels.find(launch.getKernel())->second)))
      return failure();
  for (memref::CopyOp copy : memory->copies)
    calls.replace(copy);
  for (memref::DeallocOp dealloc : memory->frees)
    calls.replace(dealloc);
  for (memref::AllocOp alloc : memory->allocs)
    calls.replace(alloc);
  return success();
}

void LaunchToRuntimePass::runOnOperation() {
  if (stream != "default" && stream != "argument") {
    emitError(getOperation().getLoc(),
              "launch-to-runtime: stream must be argument or default, got '")
        << stream << "'";
    return signalPassFailure();
  }
  kernels.clear();
  launches.clear();
  if (failed(convert()))
    signalPassFailure();
}
