//===- HostCalls.cpp - calls of libfa4_runtime ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;

static Value makeInteger(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

static Value toInteger(ImplicitLocOpBuilder &b, Value index) {
  return arith::IndexCastOp::create(b, b.getI64Type(), index);
}

static void appendIntegers(ImplicitLocOpBuilder &b, SmallVector<Value> &values,
                           ValueRange indices) {
  for (Value index : indices)
    values.push_back(toInteger(b, index));
}

/// Returns the number of bytes of an element in memory.
static Value getElementBytes(ImplicitLocOpBuilder &b, MemRefType type) {
  return makeInteger(b, llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

/// Returns the address of the memory of which a memref is a view.
static Value getBase(ImplicitLocOpBuilder &b, Value memref) {
  return toInteger(b,
                   memref::ExtractAlignedPointerAsIndexOp::create(b, memref));
}

/// The address of a memref's first element.
static Value getAddress(ImplicitLocOpBuilder &b, Value memref, Value offset) {
  Value base = getBase(b, memref);
  Value bytes = getElementBytes(b, cast<MemRefType>(memref.getType()));
  Value shift = LLVM::MulOp::create(b, toInteger(b, offset), bytes);
  return LLVM::AddOp::create(b, base, shift);
}

Value HostCalls::call(ImplicitLocOpBuilder &b, Operation *op, StringRef name,
                      SmallVector<Value> operands, Type result) {
  operands.push_back(getStream(op));
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    Type type = result ? result : LLVM::LLVMVoidType::get(b.getContext());
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    callee = LLVM::LLVMFuncOp::create(
        top, module.getLoc(), name,
        LLVM::LLVMFunctionType::get(type,
                                    llvm::to_vector(TypeRange(operands))));
  }
  auto made = LLVM::CallOp::create(b, callee, operands);
  return result ? made.getResult() : Value();
}

/// Stores integers of 64 bits in an array, which is on the stack once for each
/// function, also where `op` is in a loop.
Value HostCalls::storeOnStack(ImplicitLocOpBuilder &b, Operation *op,
                              ValueRange values) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value array;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().front());
    array = LLVM::AllocaOp::create(b, pointer, b.getI64Type(),
                                   makeInteger(b, int64_t(values.size())));
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value at = LLVM::GEPOp::create(b, pointer, b.getI64Type(), array,
                                   ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(b, value, at);
  }
  return array;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void HostCalls::replace(memref::AllocOp alloc) {
  ImplicitLocOpBuilder b(alloc.getLoc(), alloc);
  MemRefType type = alloc.getType();
  SmallVector<Value> sizes;
  auto dynamic = alloc.getDynamicSizes().begin();
  Value count = makeInteger(b, 1);
  for (int64_t size : type.getShape()) {
    sizes.push_back(ShapedType::isDynamic(size) ? toInteger(b, *dynamic++)
                                                : makeInteger(b, size));
    count = LLVM::MulOp::create(b, count, sizes.back());
  }
  Value bytes = LLVM::MulOp::create(b, count, getElementBytes(b, type));
  Value address = call(b, alloc, "fa4RuntimeHostAllocate", {bytes},
                       LLVM::LLVMPointerType::get(b.getContext()));
  LLVMTypeConverter converter(b.getContext());
  auto descriptor =
      MemRefDescriptor::poison(b, alloc.getLoc(), converter.convertType(type));
  descriptor.setAllocatedPtr(b, alloc.getLoc(), address);
  descriptor.setAlignedPtr(b, alloc.getLoc(), address);
  descriptor.setConstantOffset(b, alloc.getLoc(), 0);
  Value stride = makeInteger(b, 1);
  for (unsigned d = type.getRank(); d-- > 0;) {
    descriptor.setSize(b, alloc.getLoc(), d, sizes[d]);
    descriptor.setStride(b, alloc.getLoc(), d, stride);
    stride = LLVM::MulOp::create(b, stride, sizes[d]);
  }
  Value made = descriptor;
  alloc.replaceAllUsesWith(
      UnrealizedConversionCastOp::create(b, type, made).getResult(0));
  alloc.erase();
}

void HostCalls::replace(memref::DeallocOp dealloc) {
  ImplicitLocOpBuilder b(dealloc.getLoc(), dealloc);
  Value address =
      LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                               getBase(b, dealloc.getMemref()));
  call(b, dealloc, "fa4RuntimeHostFree", {address});
  dealloc.erase();
}

void HostCalls::replace(memref::CopyOp copy) {
  ImplicitLocOpBuilder b(copy.getLoc(), copy);
  auto type = cast<MemRefType>(copy.getSource().getType());
  auto from = memref::ExtractStridedMetadataOp::create(b, copy.getSource());
  auto to = memref::ExtractStridedMetadataOp::create(b, copy.getTarget());
  SmallVector<Value> values = {
      getAddress(b, copy.getSource(), from.getOffset()),
      getAddress(b, copy.getTarget(), to.getOffset())};
  appendIntegers(b, values, from.getSizes());
  appendIntegers(b, values, from.getStrides());
  appendIntegers(b, values, to.getStrides());
  Value array = storeOnStack(b, copy, values);
  Value rank = makeInteger(b, type.getRank());
  call(b, copy, "fa4RuntimeHostCopy", {rank, getElementBytes(b, type), array});
  copy.erase();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

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

/// Describes the arguments of a launch to the library: "q:bf16:4,factor:f32".
static std::string describeArguments(tile::LaunchOp launch, ArrayAttr names) {
  std::string text;
  for (auto [operand, name] :
       llvm::zip(launch->getOperands(), names.getAsRange<StringAttr>())) {
    text += (text.empty() ? "" : ",") + name.str() + ":" +
            getDTypeName(getElementTypeOrSelf(operand.getType()));
    if (auto memref = dyn_cast<MemRefType>(operand.getType()))
      text += ":" + std::to_string(memref.getRank());
  }
  return text;
}

/// Makes the struct that describes a kernel to the runtime library,
/// Fa4RuntimeHostKernel, in place of the gpu.binary.
LLVM::GlobalOp HostCalls::makeGlobal(EmbeddedKernel &kernel,
                                     tile::LaunchOp launch) {
  ImplicitLocOpBuilder b(kernel.binary.getLoc(), kernel.binary);
  b.setInsertionPointAfter(kernel.binary);
  std::string name = kernel.binary.getSymName().str();
  StringRef manifest = kernel.manifest.getValue();
  StringRef code = kernel.object.getObject().getValue();
  kernel.binary.erase();
  SymbolTable symbols(module);
  auto makeBytes = [&](StringRef suffix, StringRef bytes) {
    // Code is data that the driver reads in words. The last character is the
    // zero at the end.
    constexpr uint64_t kAlignment = 16;
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size() + 1);
    auto global = LLVM::GlobalOp::create(
        b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        (name + suffix).str(), b.getStringAttr(bytes + Twine('\0')),
        kAlignment);
    symbols.insert(global);
    return global;
  };
  LLVM::GlobalOp parts[] = {
      makeBytes("_manifest", manifest), makeBytes("_image", code),
      makeBytes("_arguments", describeArguments(launch, kernel.arguments))};
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {i64, pointer, i64, pointer, i64, pointer, pointer});
  auto global =
      LLVM::GlobalOp::create(b, type, /*isConstant=*/false,
                             LLVM::Linkage::Internal, name, Attribute());
  b.createBlock(&global.getInitializerRegion());
  Value value = LLVM::ZeroOp::create(b, type);
  auto insert = [&](Value field, int64_t at) {
    value = LLVM::InsertValueOp::create(b, value, field, at);
  };
  insert(makeInteger(b, 7 * 8), 0);
  insert(LLVM::AddressOfOp::create(b, parts[0]), 1);
  insert(makeInteger(b, int64_t(manifest.size())), 2);
  insert(LLVM::AddressOfOp::create(b, parts[1]), 3);
  insert(makeInteger(b, int64_t(code.size())), 4);
  insert(LLVM::AddressOfOp::create(b, parts[2]), 5);
  LLVM::ReturnOp::create(b, value);
  return global;
}

/// Returns the 64 bits in which a scalar is passed to the library.
static Value widenScalar(ImplicitLocOpBuilder &b, Value scalar) {
  Type type = scalar.getType();
  if (type.isIndex())
    return toInteger(b, scalar);
  if (isa<IntegerType>(type))
    return LLVM::SExtOp::create(b, b.getI64Type(), scalar);
  Value wide = LLVM::FPExtOp::create(b, b.getF64Type(), scalar);
  return LLVM::BitcastOp::create(b, b.getI64Type(), wide);
}

LogicalResult HostCalls::replace(tile::LaunchOp launch,
                                 EmbeddedKernel &kernel) {
  if (kernel.arguments.size() != launch->getNumOperands())
    return launch.emitOpError("passes ")
           << launch->getNumOperands() << " arguments, the manifest of '"
           << launch.getKernel() << "' has " << kernel.arguments.size();
  for (Value operand : launch->getOperands())
    if (getDTypeName(getElementTypeOrSelf(operand.getType())).empty())
      return launch.emitOpError("passes ")
             << operand.getType() << ", a type that manifests do not have";
  if (!kernel.global)
    kernel.global = makeGlobal(kernel, launch);
  ImplicitLocOpBuilder b(launch.getLoc(), launch);
  SmallVector<Value> values;
  for (Value operand : launch->getOperands()) {
    if (!isa<MemRefType>(operand.getType())) {
      values.push_back(widenScalar(b, operand));
      continue;
    }
    auto metadata = memref::ExtractStridedMetadataOp::create(b, operand);
    values.push_back(getAddress(b, operand, metadata.getOffset()));
    appendIntegers(b, values, metadata.getSizes());
    appendIntegers(b, values, metadata.getStrides());
  }
  Value array = storeOnStack(b, launch, values);
  call(b, launch, "fa4RuntimeHostLaunch",
       {LLVM::AddressOfOp::create(b, kernel.global), array});
  launch.erase();
  return success();
}
