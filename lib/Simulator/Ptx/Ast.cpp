//===- Ast.cpp - a parsed PTX module --------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Ptx/Ast.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace fa4::sim::ptx;
using llvm::StringRef;

namespace {
struct TypeInfo {
  StringRef name;
  unsigned bytes;
  bool isFloat;
};
} // namespace

/// The table's rows are in the order of the enumerators of Type.
static constexpr TypeInfo types[] = {
    {"b8", 1, false},      {"b16", 2, false},    {"b32", 4, false},
    {"b64", 8, false},     {"b128", 16, false},  {"u8", 1, false},
    {"u16", 2, false},     {"u32", 4, false},    {"u64", 8, false},
    {"s8", 1, false},      {"s16", 2, false},    {"s32", 4, false},
    {"s64", 8, false},     {"f16", 2, true},     {"f16x2", 4, true},
    {"bf16", 2, true},     {"bf16x2", 4, true},  {"tf32", 4, true},
    {"f32", 4, true},      {"f32x2", 8, true},   {"f64", 8, true},
    {"pred", 0, false},    {"texref", 8, false}, {"samplerref", 8, false},
    {"surfref", 8, false},
};

StringRef fa4::sim::ptx::typeName(Type type) {
  return types[unsigned(type)].name;
}

std::optional<Type> fa4::sim::ptx::typeByName(StringRef name) {
  for (unsigned i = 0; i < std::size(types); ++i)
    if (types[i].name == name)
      return Type(i);
  return std::nullopt;
}

unsigned fa4::sim::ptx::typeBytes(Type type) {
  return types[unsigned(type)].bytes;
}

bool fa4::sim::ptx::isFloatType(Type type) {
  return types[unsigned(type)].isFloat;
}

RegisterClass fa4::sim::ptx::registerClass(Type type) {
  switch (typeBytes(type)) {
  case 0:
    return RegisterClass::Pred;
  case 1:
    return RegisterClass::B8;
  case 2:
    return RegisterClass::B16;
  case 4:
    return RegisterClass::B32;
  case 8:
    return RegisterClass::B64;
  default:
    return RegisterClass::B128;
  }
}

Variable *Module::findVariable(StringRef name) const {
  return variableMap.lookup(name);
}

Function *Module::findFunction(StringRef name) const {
  return functionMap.lookup(name);
}

std::string Module::locate(Location loc) const {
  return (fileName + ":" + llvm::Twine(loc.line) + ":" +
          llvm::Twine(loc.column))
      .str();
}

std::string Module::sourceOf(uint32_t line) const {
  auto next = llvm::upper_bound(
      sourceLines, line,
      [](uint32_t l, const SourceLine &source) { return l < source.ptxLine; });
  if (next == sourceLines.begin())
    return "";
  const SourceLine &source = *std::prev(next);
  auto file = sourceFiles.find(source.file);
  if (file == sourceFiles.end() || !source.line)
    return "";
  return (file->second + ":" + llvm::Twine(source.line) +
          (source.column ? ":" + llvm::Twine(source.column) : llvm::Twine()))
      .str();
}

StringRef Module::lineText(uint32_t line) const {
  StringRef rest = buffer ? buffer->getBuffer() : StringRef();
  for (uint32_t i = 1; i < line && !rest.empty(); ++i)
    rest = rest.split('\n').second;
  return rest.split('\n').first.rtrim("\r");
}
