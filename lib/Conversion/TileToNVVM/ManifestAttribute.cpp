//===- ManifestAttribute.cpp - a kernel's fa4.manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestAttribute.h"
#include "Formula.h"
#include "LaunchConditions.h"
#include "TensorMaps.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Tile/IR/EmptyCall.h"
#include "fa4/Target/LaunchLimits.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

static StringRef dtypeName(Type type) {
  return llvm::TypeSwitch<Type, StringRef>(type)
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float16Type) { return "f16"; })
      .Case([](Float32Type) { return "f32"; })
      .Case([](Float8E4M3FNType) { return "e4m3"; })
      .Case([](Float8E5M2Type) { return "e5m2"; })
      .Case([](IntegerType type) {
        return type.getWidth() == 64 ? "i64" : "i32";
      })
      .Default([](Type) { return "i32"; });
}

/// The arguments that a kernel reads, and those that it writes.
static std::pair<llvm::DenseSet<unsigned>, llvm::DenseSet<unsigned>>
findAccesses(KernelOp kernel) {
  llvm::DenseSet<unsigned> read, written;
  kernel.walk([&](Operation *inner) {
    auto number = [](Value v) { return cast<BlockArgument>(v).getArgNumber(); };
    llvm::TypeSwitch<Operation *>(inner)
        .Case([&](LoadOp op) {
          read.insert(number(op.getSource()));
          if (op.getPages())
            read.insert(number(op.getPages()));
        })
        .Case<LoadScalarOp, GatherOp>(
            [&](auto op) { read.insert(number(op.getSource())); })
        .Case<StoreOp, PutOp>(
            [&](auto op) { written.insert(number(op.getDest())); })
        .Case([&](ReduceAddOp op) {
          read.insert(number(op.getDest()));
          written.insert(number(op.getDest()));
        })
        .Case([&](AwaitTurnOp op) {
          read.insert(number(op.getTurns()));
          written.insert(number(op.getTurns()));
        });
  });
  return {read, written};
}

static DictionaryAttr describeTensors(KernelOp kernel, const TensorMaps &maps) {
  Builder builder(kernel.getContext());
  auto [read, written] = findAccesses(kernel);
  SmallVector<NamedAttribute> tensors;
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    SmallVector<Formula> shape, strides;
    for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
      shape.push_back(getSize(kernel, argument, dim));
      strides.push_back(getStride(kernel, argument, dim));
    }
    StringRef role = !written.contains(argument) ? "in"
                     : read.contains(argument)   ? "inout"
                                                 : "out";
    NamedAttrList entries;
    entries.set("dtype",
                builder.getStringAttr(dtypeName(memref.getElementType())));
    entries.set("shape", getTexts(builder, shape));
    entries.set("role", builder.getStringAttr(role));
    if (maps.has(argument))
      entries.set("alignment", builder.getI64IntegerAttr(kTensorMapAlignment));
    if (written.contains(argument))
      entries.set("exclusive", builder.getBoolAttr(true));
    if (kernel.getOutputKind(argument) == OutputKind::Ordered)
      entries.set("ordered", builder.getBoolAttr(true));
    if (!memref.getLayout().isIdentity())
      entries.set("strides", getTexts(builder, strides));
    tensors.push_back(
        builder.getNamedAttr(kernel.getArgName(argument),
                             entries.getDictionary(kernel.getContext())));
  }
  return builder.getDictionaryAttr(tensors);
}

/// The number as manifests have it. Infinities are no numbers of JSON.
static Attribute describeNumber(Builder &builder, double number) {
  if (std::isinf(number))
    return builder.getStringAttr(number < 0 ? "-inf" : "inf");
  if (number == 0)
    return builder.getI64IntegerAttr(0);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
  return builder.getStringAttr(text);
}

/// What is done in place of a launch on sizes of 0; null if no size can be 0.
static DictionaryAttr describeEmpty(KernelOp kernel) {
  Builder builder(kernel.getContext());
  llvm::SetVector<StringRef> names;
  SmallVector<Attribute> fills;
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    for (int64_t dim = 0; memref && dim < memref.getRank(); ++dim)
      if (auto name = getFreeName(kernel.getDimName(argument, dim)))
        names.insert(*name);
    auto number = kernel.getArgAttrOfType<FloatAttr>(argument, kArgIfEmpty);
    if (number)
      fills.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "tensor", builder.getStringAttr(kernel.getArgName(argument))),
           builder.getNamedAttr(
               "value", describeNumber(builder, number.getValueAsDouble()))}));
  }
  if (names.empty())
    return {};
  std::string condition = llvm::join(
      llvm::map_range(names,
                      [](StringRef name) { return (name + " == 0").str(); }),
      " || ");
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("condition", builder.getStringAttr(condition)),
       builder.getNamedAttr("fills", builder.getArrayAttr(fills))});
}

/// Collects the names that an expression may use: sizes, free strides, scalars.
static ArrayAttr collectNames(KernelOp kernel, Builder &builder) {
  llvm::SetVector<Attribute> names;
  auto add = [&](StringRef name) { names.insert(builder.getStringAttr(name)); };
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      add(kernel.getArgName(argument));
      continue;
    }
    for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
      if (auto name = getFreeName(kernel.getDimName(argument, dim)))
        add(*name);
      Formula stride = getStride(kernel, argument, dim);
      if (!memref.getLayout().isIdentity() && !stride.getNumber())
        add(stride.str());
    }
  }
  return builder.getArrayAttr(names.getArrayRef());
}

/// What the kernel uses of its SM.
static DictionaryAttr describeResources(KernelOp kernel,
                                        const KernelLayout &layout) {
  Builder builder(kernel.getContext());
  NamedAttrList registers, resources;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    if (role.getRegisters())
      registers.set(role.getSymName(),
                    builder.getI64IntegerAttr(*role.getRegisters()));
  resources.set("chip", kernel.getChipAttr());
  resources.set("tmem_columns",
                builder.getI64IntegerAttr(layout.tensorColumns));
  resources.set("entry_registers",
                builder.getI64IntegerAttr(layout.entryRegisters));
  resources.set("role_registers", registers.getDictionary(kernel.getContext()));
  return resources.getDictionary(kernel.getContext());
}

DictionaryAttr fa4::tile::buildManifestAttribute(KernelOp kernel,
                                                 const KernelLayout &layout,
                                                 const TensorMaps &maps,
                                                 ArrayAttr params,
                                                 ArrayAttr conditions) {
  Builder builder(kernel.getContext());
  SmallVector<StringRef> arguments;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    arguments.push_back(kernel.getArgName(i));
  NamedAttrList manifest;
  manifest.set("sizes", collectNames(kernel, builder));
  manifest.set("requires", conditions);
  manifest.set("tensors", describeTensors(kernel, maps));
  manifest.set("grid", getTexts(builder, getGrid(kernel)));
  manifest.set("block", builder.getI64ArrayAttr({layout.threads}));
  manifest.set("dynamic_smem", builder.getI64IntegerAttr(layout.sharedBytes));
  manifest.set("params", params);
  manifest.set(kArguments, builder.getStrArrayAttr(arguments));
  manifest.set("resources", describeResources(kernel, layout));
  if (kernel.getCluster())
    manifest.set("cluster", builder.getI64ArrayAttr(getClusterShape(kernel)));
  const TargetDescription *target = lookupTarget(kernel.getChip());
  if (target && kernel.getScheduleOrGrid() == Schedule::Static)
    manifest.set(kSmCount, builder.getI64IntegerAttr(target->smCount));
  if (kernel->hasAttr(kProgrammaticLaunchAttr))
    manifest.set(kProgrammatic, builder.getBoolAttr(true));
  if (DictionaryAttr empty =
          mayBeEmpty(kernel) ? describeEmpty(kernel) : DictionaryAttr())
    manifest.set(kEmpty, empty);
  return manifest.getDictionary(kernel.getContext());
}
