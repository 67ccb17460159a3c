//===- AttnDialect.cpp - the attn dialect and its attributes -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::attn;

#include "fa4/Dialect/Attn/IR/AttnDialect.cpp.inc"
#include "fa4/Dialect/Attn/IR/AttnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Attn/IR/AttnAttrs.cpp.inc"

namespace {
/// Attention ops go wherever their function goes: all that they depend on are
/// their operands, and their regions see nothing of the function around them.
struct AttnInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa4/Dialect/Attn/IR/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa4/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Layouts and element types
//===----------------------------------------------------------------------===//

DimOrder fa4::attn::getDimOrder(Layout layout) {
  switch (layout) {
  case Layout::bshd:
    return {/*batch=*/0, /*seq=*/1, /*head=*/2, /*dim=*/3, /*rank=*/4};
  case Layout::bhsd:
    return {/*batch=*/0, /*seq=*/2, /*head=*/1, /*dim=*/3, /*rank=*/4};
  case Layout::sbhd:
    return {/*batch=*/1, /*seq=*/0, /*head=*/2, /*dim=*/3, /*rank=*/4};
  case Layout::thd:
    return {/*batch=*/std::nullopt, /*seq=*/0, /*head=*/1, /*dim=*/2,
            /*rank=*/3};
  case Layout::htd:
    return {/*batch=*/std::nullopt, /*seq=*/1, /*head=*/0, /*dim=*/2,
            /*rank=*/3};
  }
  llvm_unreachable("unknown layout");
}

bool fa4::attn::isSupportedInputType(Type elementType) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float8E4M3FNType,
             Float8E5M2Type>(elementType);
}

bool fa4::attn::isSupportedOutputType(Type elementType, Type inputType) {
  return elementType == inputType ||
         isa<Float16Type, BFloat16Type, Float32Type>(elementType);
}

Type fa4::attn::getDefaultOutputType(Type inputType) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(inputType))
    return BFloat16Type::get(inputType.getContext());
  return inputType;
}

/// A keyword; `offered` are those that an editor proposes here.
static ParseResult parseKeywordOf(AsmParser &parser, StringRef &keyword,
                                  ArrayRef<StringRef> offered) {
  if (succeeded(parser.parseOptionalKeyword(&keyword, offered)))
    return success();
  return parser.parseKeyword(&keyword);
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringRef> names;
  for (uint32_t i = 0; i <= getMaxEnumValForLayout(); ++i)
    names.push_back(stringifyLayout(static_cast<Layout>(i)));
  StringRef name;
  SMLoc loc;
  if (parser.parseLess() || parser.getCurrentLocation(&loc) ||
      parseKeywordOf(parser, name, names))
    return {};
  std::optional<Layout> layout = symbolizeLayout(name);
  if (!layout) {
    parser.emitError(loc, "unknown layout '")
        << name << "', expected bshd, bhsd, sbhd, thd or htd";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return LayoutAttr::get(parser.getContext(), *layout);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyLayout(getValue()) << ">";
}

//===----------------------------------------------------------------------===//
// MaskAttr
//===----------------------------------------------------------------------===//

/// mask ::= `<` (`causal` | `window`) (`,` `left` `=` int)?
///          (`,` `right` `=` int)? `,` (`top_left` | `bottom_right`) `>`
Attribute MaskAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef kind;
  if (parser.parseLess() || parseKeywordOf(parser, kind, {"causal", "window"}))
    return {};
  if (kind != "causal" && kind != "window") {
    parser.emitError(loc, "expected 'causal' or 'window' in a mask, got '")
        << kind << "'";
    return {};
  }

  std::optional<int64_t> left, right;
  std::optional<MaskAlignment> alignment;
  while (!alignment) {
    if (parser.parseComma())
      return {};
    SMLoc keyLoc = parser.getCurrentLocation();
    StringRef key;
    if (parseKeywordOf(parser, key,
                       {"left", "right", "top_left", "bottom_right"}))
      return {};
    if ((alignment = symbolizeMaskAlignment(key)))
      break;
    if (key != "left" && key != "right") {
      parser.emitError(keyLoc, "expected 'left', 'right', 'top_left' or "
                               "'bottom_right' in a mask, got '")
          << key << "'";
      return {};
    }
    std::optional<int64_t> &bound = key == "left" ? left : right;
    if (bound) {
      parser.emitError(keyLoc, "'") << key << "' given twice";
      return {};
    }
    if (parser.parseEqual() || parser.parseInteger(bound.emplace()))
      return {};
  }
  if (parser.parseGreater())
    return {};

  if (kind == "causal") {
    if (right) {
      parser.emitError(loc, "contradictory mask: 'causal' means right = 0; "
                            "use 'window' to give another 'right'");
      return {};
    }
    right = 0;
  }
  return parser.getChecked<MaskAttr>(loc, parser.getContext(), left, right,
                                     *alignment);
}

void MaskAttr::print(AsmPrinter &printer) const {
  printer << "<" << (isCausal() ? "causal" : "window");
  if (getLeft())
    printer << ", left = " << *getLeft();
  if (getRight() && !isCausal())
    printer << ", right = " << *getRight();
  printer << ", " << stringifyMaskAlignment(getAlignment()) << ">";
}

LogicalResult MaskAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               std::optional<int64_t> left,
                               std::optional<int64_t> right,
                               MaskAlignment alignment) {
  if (!left && !right)
    return emitError() << "a mask without 'left' and 'right' hides nothing; "
                          "leave the mask out";
  // The limit keeps sums of window bounds and sequence lengths within 64 bits.
  constexpr int64_t limit = int64_t(1) << 40;
  for (std::optional<int64_t> bound : {left, right})
    if (bound && (*bound > limit || *bound < -limit))
      return emitError() << "mask bound " << *bound
                         << " is out of range [-2^40, 2^40]";
  if (left && right && *left + *right < 0)
    return emitError() << "contradictory mask: left + right = "
                       << *left + *right
                       << " is negative, so no query sees a key";
  return success();
}
