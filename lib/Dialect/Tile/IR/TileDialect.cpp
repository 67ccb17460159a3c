//===- TileDialect.cpp - the tile dialect, its attributes and types ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

#include "fa4/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "fa4/Dialect/Tile/IR/TileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileTypes.cpp.inc"

namespace {
/// Roles run at the same time and share no registers, so the constants that a
/// fold makes stay in the role that needs them.
struct TileFoldInterface : public DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  bool shouldMaterializeInto(Region *region) const final {
    return isa<RoleOp>(region->getParentOp());
  }
};
} // namespace

bool fa4::tile::isWord(Type type) {
  return type.isIndex() || type.isSignlessInteger(32) ||
         type.isSignlessInteger(1) || type.isF32();
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  Type value) {
  if (isWord(value) || isResponse(value))
    return success();
  auto type = dyn_cast<VectorType>(value);
  if (!type)
    return emitError() << "a channel carries tiles (vectors) or scalars of "
                          "type index, i32, i1, f32 or i128, not "
                       << value;
  if (!type.getRank() || type.isScalable())
    return emitError() << "a channel carries values of one or more static "
                          "dimensions, not "
                       << type;
  if (!type.getElementType().isIntOrFloat())
    return emitError() << "elements of " << type << " have no size in memory";
  if (!fitsChip(type))
    return emitError() << "a channel carries values of at most "
                       << kMaxTileElements << " elements, not " << type;
  return success();
}

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa4/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa4/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa4/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addInterfaces<TileFoldInterface>();
}
