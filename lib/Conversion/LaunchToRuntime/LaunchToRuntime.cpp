//===- LaunchToRuntime.cpp - launches to calls of libfa4_runtime ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that are called, and the struct that they get of a kernel, are
// those of include/fa4-runtime/Host.h.
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/Passes.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa4 {
#define GEN_PASS_DEF_LAUNCHTORUNTIME
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;

namespace {

/// The object of a kernel, and what its launches pass.
struct EmbeddedKernel {
  gpu::BinaryOp binary;
  gpu::ObjectAttr object;
  StringAttr manifest;
  ArrayAttr arguments;
  LLVM::GlobalOp global; ///< Made with the first launch.
};

struct LaunchToRuntimePass
    : fa4::impl::LaunchToRuntimeBase<LaunchToRuntimePass> {
  using LaunchToRuntimeBase::LaunchToRuntimeBase;

  void runOnOperation() override;

private:
  LogicalResult findKernels();
  LogicalResult addStreams();
  LogicalResult findDeviceMemory();
  LogicalResult addDeviceMemory(Value memref, Operation *user);
  void collectMemoryOps();
  LogicalResult addOrigins(Value buffer);
  LogicalResult addUses(Value buffer, Location origin, bool &hasOwner);
  void addReturned(func::ReturnOp op, unsigned number);
  bool isDeviceMemory(Value buffer);
  Value getStream(Operation *op);
  LogicalResult convertLaunch(tile::LaunchOp launch);
  LLVM::GlobalOp getKernelGlobal(EmbeddedKernel &kernel, tile::LaunchOp launch);
  void convertAlloc(memref::AllocOp alloc);
  void convertDealloc(memref::DeallocOp dealloc);
  void convertCopy(memref::CopyOp copy);
  Value storeOnStack(OpBuilder &b, Operation *op, ValueRange values);
  LLVM::LLVMFuncOp declare(StringRef name, Type result, ArrayRef<Type> params);

  llvm::StringMap<EmbeddedKernel> kernels;
  SmallVector<tile::LaunchOp> launches;
  /// Allocations, arguments of functions, and results of calls that are in the
  /// GPU's memory.
  llvm::SetVector<Value> deviceMemory;
  /// What is done with it beside launches.
  SmallVector<memref::AllocOp> allocs;
  SmallVector<memref::CopyOp> copies;
  SmallVector<memref::DeallocOp> frees;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is there
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Gives each function that works on the stream, or calls one that does, a last
/// argument for the stream.
LogicalResult LaunchToRuntimePass::addStreams() {
  if (stream == "default")
    return success();
  llvm::SetVector<Operation *> functions;
  auto add = [&](auto ops) {
    for (Operation *op : ops)
      functions.insert(op->getParentOfType<func::FuncOp>());
  };
  add(launches);
  add(allocs);
  add(copies);
  add(frees);
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

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The buffer of which `value` is a view.
static Value findBuffer(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

bool LaunchToRuntimePass::isDeviceMemory(Value buffer) {
  return deviceMemory.contains(findBuffer(buffer));
}

/// The function that a call is of, if its body is known.
static func::FuncOp findCallee(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  return callee && !callee.isExternal() ? callee : func::FuncOp();
}

/// Adds the buffer behind a memref that is in the GPU's memory. `user` is what
/// needs it there.
LogicalResult LaunchToRuntimePass::addDeviceMemory(Value memref,
                                                   Operation *user) {
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
  deviceMemory.insert(buffer);
  return success();
}

/// Adds what is one memory with `buffer` in other functions: what callers pass
/// as an argument, and what a callee returns.
LogicalResult LaunchToRuntimePass::addOrigins(Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    auto uses = SymbolTable::getSymbolUses(argument.getOwner()->getParentOp(),
                                           getOperation());
    if (uses)
      for (const SymbolTable::SymbolUse &use : *uses)
        if (auto call = dyn_cast<func::CallOp>(use.getUser()))
          if (failed(addDeviceMemory(call.getOperand(argument.getArgNumber()),
                                     call)))
            return failure();
    return success();
  }
  auto call = buffer.getDefiningOp<func::CallOp>();
  func::FuncOp callee = call ? findCallee(call) : func::FuncOp();
  if (!callee)
    return success();
  unsigned number = cast<OpResult>(buffer).getResultNumber();
  for (auto returned : callee.getOps<func::ReturnOp>())
    if (failed(addDeviceMemory(returned.getOperand(number), returned)))
      return failure();
  return success();
}

/// Memory of the GPU may be passed on, looked at as another view, returned, and
/// freed. `hasOwner` becomes true if somebody frees it or returns it.
LogicalResult LaunchToRuntimePass::addUses(Value buffer, Location origin,
                                           bool &hasOwner) {
  for (OpOperand &use : buffer.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tile::LaunchOp, memref::DimOp, memref::ExtractStridedMetadataOp,
            memref::ExtractAlignedPointerAsIndexOp>(user))
      continue;
    if (isa<memref::DeallocOp>(user)) {
      hasOwner = true;
      continue;
    }
    // The other side of a copy is the GPU's as well: a copy that the host makes
    // would need to wait for the stream.
    if (auto copy = dyn_cast<memref::CopyOp>(user)) {
      Value other = copy->getOperand(use.getOperandNumber() == 0 ? 1 : 0);
      if (failed(addDeviceMemory(other, copy)))
        return failure();
      continue;
    }
    if (auto call = dyn_cast<func::CallOp>(user)) {
      if (func::FuncOp callee = findCallee(call)) {
        Value argument = callee.getArgument(use.getOperandNumber());
        deviceMemory.insert(argument);
        hasOwner |=
            llvm::any_of(argument.getUsers(), llvm::IsaPred<memref::DeallocOp>);
      }
      continue;
    }
    if (auto returned = dyn_cast<func::ReturnOp>(user)) {
      hasOwner = true;
      addReturned(returned, use.getOperandNumber());
      continue;
    }
    if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
      if (failed(addUses(view.getViewDest(), origin, hasOwner)))
        return failure();
      continue;
    }
    InFlightDiagnostic error =
        user->emitOpError("uses memory of the GPU on the host");
    error.attachNote(origin) << "a launch uses the memory that is here";
    return error;
  }
  return success();
}

/// What a function returns is memory of the GPU where it is called, too.
void LaunchToRuntimePass::addReturned(func::ReturnOp op, unsigned number) {
  auto uses = SymbolTable::getSymbolUses(op->getParentOfType<func::FuncOp>(),
                                         getOperation());
  if (!uses)
    return;
  for (const SymbolTable::SymbolUse &use : *uses)
    if (auto call = dyn_cast<func::CallOp>(use.getUser()))
      deviceMemory.insert(call.getResult(number));
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
LogicalResult LaunchToRuntimePass::findDeviceMemory() {
  for (tile::LaunchOp launch : launches)
    for (Value operand : launch->getOperands())
      if (isa<MemRefType>(operand.getType()) &&
          failed(addDeviceMemory(operand, launch)))
        return failure();
  for (unsigned i = 0; i < deviceMemory.size(); ++i) {
    Value buffer = deviceMemory[i];
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

void LaunchToRuntimePass::collectMemoryOps() {
  getOperation().walk([&](Operation *op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (deviceMemory.contains(alloc))
        allocs.push_back(alloc);
    } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      if (isDeviceMemory(dealloc.getMemref()))
        frees.push_back(dealloc);
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      if (isDeviceMemory(copy.getSource()))
        copies.push_back(copy);
    }
  });
}

static Value makeInteger(OpBuilder &b, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

static Value toInteger(OpBuilder &b, Location loc, Value index) {
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
}

/// The bytes of an element in memory.
static Value getElementBytes(OpBuilder &b, Location loc, MemRefType type) {
  return makeInteger(b, loc,
                     llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

/// The address of a memref's first element.
static Value getAddress(OpBuilder &b, Location loc, Value memref,
                        Value offset) {
  auto type = cast<MemRefType>(memref.getType());
  Value base = toInteger(
      b, loc, memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref));
  Value bytes = getElementBytes(b, loc, type);
  Value shift = LLVM::MulOp::create(b, loc, toInteger(b, loc, offset), bytes);
  return LLVM::AddOp::create(b, loc, base, shift);
}

void LaunchToRuntimePass::convertAlloc(memref::AllocOp alloc) {
  OpBuilder b(alloc);
  Location loc = alloc.getLoc();
  MemRefType type = alloc.getType();
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  SmallVector<Value> sizes;
  auto dynamic = alloc.getDynamicSizes().begin();
  Value count = makeInteger(b, loc, 1);
  for (int64_t size : type.getShape()) {
    sizes.push_back(ShapedType::isDynamic(size) ? toInteger(b, loc, *dynamic++)
                                                : makeInteger(b, loc, size));
    count = LLVM::MulOp::create(b, loc, count, sizes.back());
  }
  Value bytes =
      LLVM::MulOp::create(b, loc, count, getElementBytes(b, loc, type));
  LLVM::LLVMFuncOp allocate =
      declare("fa4RuntimeHostAllocate", pointer, {b.getI64Type(), pointer});
  Value address = LLVM::CallOp::create(b, loc, allocate,
                                       ValueRange{bytes, getStream(alloc)})
                      .getResult();
  LLVMTypeConverter converter(&getContext());
  auto descriptor =
      MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, address);
  descriptor.setAlignedPtr(b, loc, address);
  descriptor.setConstantOffset(b, loc, 0);
  Value stride = makeInteger(b, loc, 1);
  for (unsigned d = type.getRank(); d-- > 0;) {
    descriptor.setSize(b, loc, d, sizes[d]);
    descriptor.setStride(b, loc, d, stride);
    stride = LLVM::MulOp::create(b, loc, stride, sizes[d]);
  }
  Value descriptorValue = descriptor;
  Value memref =
      UnrealizedConversionCastOp::create(b, loc, type, descriptorValue)
          .getResult(0);
  alloc.replaceAllUsesWith(memref);
  alloc.erase();
}

void LaunchToRuntimePass::convertDealloc(memref::DeallocOp dealloc) {
  OpBuilder b(dealloc);
  Location loc = dealloc.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  Value base = toInteger(b, loc,
                         memref::ExtractAlignedPointerAsIndexOp::create(
                             b, loc, dealloc.getMemref()));
  Value address = LLVM::IntToPtrOp::create(b, loc, pointer, base);
  LLVM::LLVMFuncOp release =
      declare("fa4RuntimeHostFree", LLVM::LLVMVoidType::get(&getContext()),
              {pointer, pointer});
  LLVM::CallOp::create(b, loc, release,
                       ValueRange{address, getStream(dealloc)});
  dealloc.erase();
}

/// Stores integers of 64 bits in an array, which is on the stack once for each
/// function, also where `op` is in a loop.
Value LaunchToRuntimePass::storeOnStack(OpBuilder &b, Operation *op,
                                        ValueRange values) {
  Location loc = op->getLoc();
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  OpBuilder entry =
      OpBuilder::atBlockBegin(&op->getParentOfType<func::FuncOp>().front());
  Value array =
      LLVM::AllocaOp::create(entry, loc, pointer, entry.getI64Type(),
                             makeInteger(entry, loc, int64_t(values.size())));
  for (auto [i, value] : llvm::enumerate(values)) {
    Value at = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), array,
                                   ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(b, loc, value, at);
  }
  return array;
}

void LaunchToRuntimePass::convertCopy(memref::CopyOp copy) {
  OpBuilder b(copy);
  Location loc = copy.getLoc();
  auto from =
      memref::ExtractStridedMetadataOp::create(b, loc, copy.getSource());
  auto to = memref::ExtractStridedMetadataOp::create(b, loc, copy.getTarget());
  SmallVector<Value> values = {
      getAddress(b, loc, copy.getSource(), from.getOffset()),
      getAddress(b, loc, copy.getTarget(), to.getOffset())};
  for (ValueRange list :
       {ValueRange(from.getSizes()), ValueRange(from.getStrides()),
        ValueRange(to.getStrides())})
    for (Value index : list)
      values.push_back(toInteger(b, loc, index));
  Value array = storeOnStack(b, copy, values);
  auto type = cast<MemRefType>(copy.getSource().getType());
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  LLVM::LLVMFuncOp callee =
      declare("fa4RuntimeHostCopy", LLVM::LLVMVoidType::get(&getContext()),
              {b.getI64Type(), b.getI64Type(), pointer, pointer});
  LLVM::CallOp::create(b, loc, callee,
                       ValueRange{makeInteger(b, loc, type.getRank()),
                                  getElementBytes(b, loc, type), array,
                                  getStream(copy)});
  copy.erase();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp LaunchToRuntimePass::declare(StringRef name, Type result,
                                              ArrayRef<Type> params) {
  ModuleOp module = getOperation();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(b, module.getLoc(), name,
                                  LLVM::LLVMFunctionType::get(result, params));
}

/// The manifest's name of a type: `bf16`, `i32`; empty if it has none.
static std::string getDTypeName(Type type) {
  return llvm::TypeSwitch<Type, std::string>(type)
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float16Type) { return "f16"; })
      .Case([](Float32Type) { return "f32"; })
      .Case([](Float64Type) { return "f64"; })
      .Case([](Float8E4M3FNType) { return "e4m3"; })
      .Case([](Float8E5M2Type) { return "e5m2"; })
      .Case([](IndexType) { return "i64"; })
      .Case([](IntegerType type) {
        return (type.isUnsigned() ? "u" : "i") +
               std::to_string(type.getWidth());
      })
      .Default([](Type) { return ""; });
}

/// A constant of bytes, and its length.
static LLVM::GlobalOp makeBytes(OpBuilder &b, Location loc, StringRef name,
                                StringRef bytes) {
  // Code is data that the driver reads in words.
  constexpr uint64_t kAlignment = 16;
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal, name,
                                b.getStringAttr(bytes), kAlignment);
}

/// The struct that the library gets of a kernel, Fa4RuntimeHostKernel, in place
/// of the gpu.binary.
LLVM::GlobalOp LaunchToRuntimePass::getKernelGlobal(EmbeddedKernel &kernel,
                                                    tile::LaunchOp launch) {
  if (kernel.global)
    return kernel.global;
  OpBuilder b(&getContext());
  b.setInsertionPointAfter(kernel.binary);
  Location loc = kernel.binary.getLoc();
  std::string name = kernel.binary.getSymName().str();
  std::string arguments;
  for (auto [operand, argument] : llvm::zip(
           launch->getOperands(), kernel.arguments.getAsRange<StringAttr>())) {
    auto memref = dyn_cast<MemRefType>(operand.getType());
    arguments += (arguments.empty() ? "" : ",") + argument.str() + ":" +
                 getDTypeName(getElementTypeOrSelf(operand.getType()));
    if (memref)
      arguments += ":" + std::to_string(memref.getRank());
  }
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  Type i64 = b.getI64Type();
  auto type = LLVM::LLVMStructType::getLiteral(
      &getContext(), {i64, pointer, i64, pointer, i64, pointer, pointer});
  // The last character is the zero at the end.
  StringRef manifest = kernel.manifest.getValue();
  StringRef code = kernel.object.getObject().getValue();
  kernel.binary.erase();
  SymbolTable symbols(getOperation());
  SmallVector<LLVM::GlobalOp, 3> parts;
  for (auto [suffix, bytes] :
       {std::pair("_manifest", (manifest + Twine('\0')).str()),
        std::pair("_image", (code + Twine('\0')).str()),
        std::pair("_arguments", arguments + '\0')}) {
    parts.push_back(makeBytes(b, loc, name + suffix, bytes));
    symbols.insert(parts.back());
  }
  kernel.global =
      LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false,
                             LLVM::Linkage::Internal, name, Attribute());
  b.createBlock(&kernel.global.getInitializerRegion());
  Value value = LLVM::ZeroOp::create(b, loc, type);
  auto insert = [&](Value field, int64_t at) {
    value = LLVM::InsertValueOp::create(b, loc, value, field, at);
  };
  insert(makeInteger(b, loc, 7 * 8), 0);
  insert(LLVM::AddressOfOp::create(b, loc, parts[0]), 1);
  insert(makeInteger(b, loc, int64_t(manifest.size())), 2);
  insert(LLVM::AddressOfOp::create(b, loc, parts[1]), 3);
  insert(makeInteger(b, loc, int64_t(code.size())), 4);
  insert(LLVM::AddressOfOp::create(b, loc, parts[2]), 5);
  LLVM::ReturnOp::create(b, loc, value);
  return kernel.global;
}

/// The 64 bits in which a scalar is passed on.
static Value widenScalar(OpBuilder &b, Location loc, Value scalar) {
  Type type = scalar.getType();
  if (type.isIndex())
    return toInteger(b, loc, scalar);
  if (isa<IntegerType>(type))
    return LLVM::SExtOp::create(b, loc, b.getI64Type(), scalar);
  Value wide = LLVM::FPExtOp::create(b, loc, b.getF64Type(), scalar);
  return LLVM::BitcastOp::create(b, loc, b.getI64Type(), wide);
}

LogicalResult LaunchToRuntimePass::convertLaunch(tile::LaunchOp launch) {
  EmbeddedKernel &kernel = kernels.find(launch.getKernel())->second;
  if (kernel.arguments.size() != launch->getNumOperands())
    return launch.emitOpError("passes ")
           << launch->getNumOperands() << " arguments, the manifest of '"
           << launch.getKernel() << "' has " << kernel.arguments.size();
  for (Value operand : launch->getOperands())
    if (getDTypeName(getElementTypeOrSelf(operand.getType())).empty())
      return launch.emitOpError("passes ")
             << operand.getType() << ", a type that manifests do not have";
  LLVM::GlobalOp global = getKernelGlobal(kernel, launch);
  OpBuilder b(launch);
  Location loc = launch.getLoc();
  SmallVector<Value> values;
  for (Value operand : launch->getOperands()) {
    if (!isa<MemRefType>(operand.getType())) {
      values.push_back(widenScalar(b, loc, operand));
      continue;
    }
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, operand);
    values.push_back(getAddress(b, loc, operand, metadata.getOffset()));
    for (ValueRange list :
         {ValueRange(metadata.getSizes()), ValueRange(metadata.getStrides())})
      for (Value index : list)
        values.push_back(toInteger(b, loc, index));
  }
  Value array = storeOnStack(b, launch, values);
  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  LLVM::LLVMFuncOp callee =
      declare("fa4RuntimeHostLaunch", LLVM::LLVMVoidType::get(&getContext()),
              {pointer, pointer, pointer});
  Value address = LLVM::AddressOfOp::create(b, loc, global);
  LLVM::CallOp::create(b, loc, callee,
                       ValueRange{address, array, getStream(launch)});
  launch.erase();
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
  deviceMemory.clear();
  allocs.clear();
  copies.clear();
  frees.clear();
  if (failed(findKernels()) || failed(findDeviceMemory()))
    return signalPassFailure();
  collectMemoryOps();
  if (failed(addStreams()))
    return signalPassFailure();
  for (tile::LaunchOp launch : launches)
    if (failed(convertLaunch(launch)))
      return signalPassFailure();
  for (memref::CopyOp copy : copies)
    convertCopy(copy);
  for (memref::DeallocOp dealloc : frees)
    convertDealloc(dealloc);
  for (memref::AllocOp alloc : allocs)
    convertAlloc(alloc);
}
