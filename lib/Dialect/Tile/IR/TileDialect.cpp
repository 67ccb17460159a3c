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

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Parses `(n)` behind a keyword.
static ParseResult parseNumber(AsmParser &parser, int64_t &number) {
  return failure(parser.parseLParen() || parser.parseInteger(number) ||
                 parser.parseRParen());
}

/// Parses `(n) arrivals(n) bytes(n)`, of which the bytes may be absent.
static ParseResult parseBarriers(AsmParser &parser, Barriers &barriers) {
  if (parseNumber(parser, barriers.first) || parser.parseKeyword("arrivals") ||
      parseNumber(parser, barriers.arrivals))
    return failure();
  return failed(parser.parseOptionalKeyword("bytes"))
             ? success()
             : parseNumber(parser, barriers.bytes.emplace());
}

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t offset = 0;
  Barriers full;
  std::optional<Barriers> empty, landed;
  if (parser.parseLess() || parser.parseKeyword("offset") ||
      parseNumber(parser, offset) || parser.parseKeyword("full") ||
      parseBarriers(parser, full) ||
      (succeeded(parser.parseOptionalKeyword("empty")) &&
       parseBarriers(parser, empty.emplace())) ||
      (succeeded(parser.parseOptionalKeyword("landed")) &&
       parseBarriers(parser, landed.emplace())) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    offset, full, empty, landed);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << "<offset(" << getOffset() << ")";
  for (auto [name, barriers] : {std::pair("full", std::optional(getFull())),
                                {"empty", getEmpty()},
                                {"landed", getLanded()}}) {
    if (!barriers)
      continue;
    printer << " " << name << "(" << barriers->first << ") arrivals("
            << barriers->arrivals << ")";
    if (barriers->bytes)
      printer << " bytes(" << *barriers->bytes << ")";
  }
  printer << ">";
}

/// Places are so small that sums and products with them do not overflow. The
/// limit is far beyond any chip; the protocol's proof rejects places that are
/// negative or too large for the chip at hand. PTX ISA, mbarrier: counts of
/// arrivals and of bytes are below 2^20.
LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t offset, Barriers full,
                                std::optional<Barriers> empty,
                                std::optional<Barriers> landed) {
  auto check = [&](StringRef what, int64_t value, int64_t least,
                   int64_t limit) -> LogicalResult {
    if (value >= least && value < limit)
      return success();
    return emitError() << "a place has " << what << "(" << value
                       << "), not from " << least << " to " << limit - 1;
  };
  constexpr int64_t far = 1 << 30, most = 1 << 20;
  if (failed(check("offset", offset, 1 - far, far)))
    return failure();
  for (auto [name, barriers] : {std::pair("full", std::optional(full)),
                                {"empty", empty},
                                {"landed", landed}})
    if (barriers &&
        (failed(check(name, barriers->first, 1 - far, far)) ||
         failed(check("arrivals", barriers->arrivals, 1, most)) ||
         failed(check("bytes", barriers->bytes.value_or(1), 1, most))))
      return failure();
  if (landed && !landed->bytes)
    return emitError() << "a place has 'landed' barriers without the 'bytes' "
                          "that come from the other CTA";
  return success();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               Schedule, MmaOrder, bool /*splitArrivals*/,
                               int64_t storeParts, bool /*shareStores*/,
                               bool /*divideLoads*/, bool /*overlapStores*/,
                               int64_t maxStages) {
  if (storeParts < 1)
    return emitError() << "#tile.plan has store_parts = " << storeParts
                       << "; a stored value leaves in at least one part";
  if (maxStages < 1)
    return emitError() << "#tile.plan has max_stages = " << maxStages
                       << "; a ring has at least one stage";
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  Type value) {
  if (isWord(value) || isResponse(value) || isa<NoneType>(value))
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
