//===- Dialects.cpp - the attn dialect with objects of MLIR, for C --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-c/Dialects.h"
#include "fa4-c/Registration.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/InitAllDialects.h"
#include "fa4/InitAllPasses.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/IR/Diagnostics.h"

using namespace fa4::attn;
using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Attn, attn, fa4::attn::AttnDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Tile, tile, fa4::tile::TileDialect)

void fa4RegisterAllDialects(MlirDialectRegistry registry) {
  fa4::registerDialects(*unwrap(registry));
}

void fa4RegisterAllPasses(void) {
  // The registry of passes is the process's, and has no lock.
  static const bool registered = (fa4::registerPasses(), true);
  (void)registered;
}

MlirAttribute fa4AttnLayoutAttrGet(MlirContext context, MlirStringRef name) {
  MLIRContext *ours = unwrap(context);
  ours->loadDialect<AttnDialect>();
  std::optional<Layout> layout = symbolizeLayout(unwrap(name));
  return wrap(layout ? Attribute(LayoutAttr::get(ours, *layout)) : Attribute());
}

MlirAttribute fa4AttnMaskAttrGet(MlirLocation location, const int64_t *left,
                                 const int64_t *right, bool bottomRight) {
  Location at = unwrap(location);
  at->getContext()->loadDialect<AttnDialect>();
  auto bound = [](const int64_t *value) {
    return value ? std::optional<int64_t>(*value) : std::nullopt;
  };
  return wrap(MaskAttr::getChecked([&] { return emitError(at); },
                                   at->getContext(), bound(left), bound(right),
                                   bottomRight ? MaskAlignment::BottomRight
                                               : MaskAlignment::TopLeft));
}

/// Whether the results of the op can be inferred from this operand; an error
/// otherwise.
static bool checkOperand(Location location, Value value, StringRef name,
                         const DimOrder &order) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getRank() == order.rank)
    return true;
  emitError(location) << "attn.sdpa: '" << name << "' must be a tensor of "
                      << order.rank << " dimensions, got " << value.getType();
  return false;
}

MlirOperation fa4AttnSdpaCreate(MlirLocation location, MlirValue q, MlirValue k,
                                MlirValue v, MlirAttribute layout,
                                MlirAttribute mask, bool lse) {
  Location at = unwrap(location);
  auto layoutAttr = dyn_cast_or_null<LayoutAttr>(unwrap(layout));
  auto maskAttr = dyn_cast_or_null<MaskAttr>(unwrap(mask));
  if (!layoutAttr || (unwrap(mask) && !maskAttr)) {
    emitError(at) << "attn.sdpa: " << (layoutAttr ? "'mask'" : "'layout'")
                  << " is no attribute of that kind";
    return wrap(static_cast<Operation *>(nullptr));
  }
  DimOrder order = getDimOrder(layoutAttr.getValue());
  for (auto [name, value] :
       {std::pair("q", q), std::pair("k", k), std::pair("v", v)})
    if (!checkOperand(at, unwrap(value), name, order))
      return wrap(static_cast<Operation *>(nullptr));
  at->getContext()->loadDialect<AttnDialect>();
  OpBuilder builder(at->getContext());
  SdpaOp op = SdpaOp::create(builder, at, unwrap(q), unwrap(k), unwrap(v),
                             layoutAttr.getValue(), maskAttr, lse);
  return wrap(op.getOperation());
}

bool fa4OperationIsAAttnSdpa(MlirOperation op) {
  return isa<SdpaOp>(unwrap(op));
}
