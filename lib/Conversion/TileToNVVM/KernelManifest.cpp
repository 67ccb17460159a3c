//===- KernelManifest.cpp - how a kernel is launched ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
namespace json = llvm::json;

static std::optional<json::Value> toJSON(Attribute attr) {
  using Result = std::optional<json::Value>;
  return llvm::TypeSwitch<Attribute, Result>(attr)
      .Case([](StringAttr attr) { return Result(attr.getValue()); })
      .Case([](BoolAttr attr) { return Result(attr.getValue()); })
      .Case([](IntegerAttr attr) { return Result(attr.getInt()); })
      .Case([](ArrayAttr attr) -> Result {
        json::Array array;
        for (Attribute element : attr) {
          Result value = toJSON(element);
          if (!value)
            return std::nullopt;
          array.push_back(std::move(*value));
        }
        return Result(std::move(array));
      })
      .Case([](DictionaryAttr attr) -> Result {
        json::Object object;
        for (NamedAttribute entry : attr) {
          Result value = toJSON(entry.getValue());
          if (!value)
            return std::nullopt;
          object[entry.getName().getValue()] = std::move(*value);
        }
        return Result(std::move(object));
      })
      .Default(std::nullopt);
}

StringRef fa4::tile::getKernelChip(LLVM::LLVMFuncOp kernel) {
  auto manifest = kernel->getAttrOfType<DictionaryAttr>(kManifestAttr);
  auto resources =
      manifest ? manifest.getAs<DictionaryAttr>("resources") : DictionaryAttr();
  auto chip = resources ? resources.getAs<StringAttr>("chip") : StringAttr();
  return chip ? chip.getValue() : StringRef();
}

FailureOr<json::Object> fa4::tile::buildManifest(LLVM::LLVMFuncOp kernel) {
  auto attr = kernel->getAttrOfType<DictionaryAttr>(kManifestAttr);
  if (!attr)
    return kernel.emitOpError("has no '") << kManifestAttr << "'";
  auto names = attr.getAs<ArrayAttr>("sizes");
  std::optional<json::Value> value = toJSON(attr);
  if (!value || !names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return kernel.emitOpError("has a '")
           << kManifestAttr << "' that does not describe a launch";
  json::Object object = std::move(*value->getAsObject());
  json::Object sizes;
  for (auto name : names.getAsRange<StringAttr>())
    sizes[name.getValue()] = nullptr;
  // The target's number, unless a call says another one.
  if (auto count = attr.getAs<IntegerAttr>(kSmCount)) {
    sizes[kSmCount] = count.getInt();
    object.erase(kSmCount);
  }
  object["sizes"] = std::move(sizes);
  object["entry"] = kernel.getSymName();
  object.erase(kArguments);
  if (auto resources = object.find("resources"); resources != object.end()) {
    json::Value comment = std::move(resources->second);
    object.erase("resources");
    object["comment"] = std::move(comment);
  }
  return object;
}
