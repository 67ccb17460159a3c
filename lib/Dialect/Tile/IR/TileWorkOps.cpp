//===- TileWorkOps.cpp - the work of a CTA ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa4::tile;

bool KernelOp::isPersistent() {
  Schedule schedule = getScheduleOrGrid();
  return schedule == Schedule::Static || schedule == Schedule::Requested;
}

Block &KernelOp::getWorkBlock(Region &scope) {
  auto works = scope.front().getOps<WorkOp>();
  return works.empty() ? scope.front() : (*works.begin()).getBody().front();
}

std::optional<unsigned> fa4::tile::getWorkAxis(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa_and_nonnull<WorkOp>(argument.getOwner()->getParentOp())
               ? std::optional(argument.getArgNumber())
               : std::nullopt;
  auto result = cast<OpResult>(value);
  return isa<WorkTileOp>(result.getOwner())
             ? std::optional(result.getResultNumber())
             : std::nullopt;
}

std::optional<unsigned> fa4::tile::getClusterNumberAxis(Value value,
                                                        int64_t size) {
  auto quotient = value.getDefiningOp<arith::DivUIOp>();
  return quotient && getConstantIntValue(quotient.getRhs()) == size
             ? getWorkAxis(quotient.getLhs())
             : std::nullopt;
}

static LogicalResult verifyCoordinates(Operation *op, KernelOp kernel,
                                       unsigned number, StringRef what) {
  if (kernel.getGrid().size() != number)
    return op->emitOpError("has ")
           << number << " " << what << ", but the grid has "
           << kernel.getGrid().size() << " extents";
  return success();
}

LogicalResult WorkTileOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel)
    return emitOpError("must be in a tile.kernel");
  if (kernel.isPersistent())
    return emitOpError(
               "is of a CTA with one work tile, but with the schedule '")
           << stringifySchedule(kernel.getScheduleOrGrid())
           << "' a CTA may have more (see tile.work)";
  return verifyCoordinates(*this, kernel, getNumResults(), "results");
}

/// A constant is the same in all work tiles.
OpFoldResult AtMostOp::fold(FoldAdaptor adaptor) {
  return adaptor.getBound() ? getBound() : Value();
}
OpFoldResult AtLeastOp::fold(FoldAdaptor adaptor) {
  return adaptor.getBound() ? getBound() : Value();
}

//===----------------------------------------------------------------------===//
// tile.work
//===----------------------------------------------------------------------===//

void WorkOp::build(OpBuilder &builder, OperationState &state,
                   unsigned coordinates) {
  OpBuilder::InsertionGuard guard(builder);
  Region *region = state.addRegion();
  SmallVector<Type> types(coordinates, builder.getIndexType());
  builder.createBlock(region, {}, types,
                      SmallVector<Location>(coordinates, state.location));
  ensureTerminator(*region, builder, state.location);
}

NextOp WorkOp::getNext() {
  return cast<NextOp>(getBody().front().getTerminator());
}

ParseResult WorkOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> coordinates;
  if (parser.parseArgumentList(coordinates, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &coordinate : coordinates)
    coordinate.type = parser.getBuilder().getIndexType();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, coordinates))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void WorkOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getCoordinates(), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument, {}, /*omitType=*/true);
  });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  Operation *next = getNext();
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/next->getNumOperands() != 0 ||
                          !next->getAttrs().empty());
}

void WorkOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn set) {
  for (BlockArgument argument : region.getArguments())
    set(argument, "tile");
}

SmallVector<Region *> WorkOp::getLoopRegions() { return {&getBody()}; }

void NextOp::build(OpBuilder &, OperationState &) {}

bool fa4::tile::isResponse(Type type) { return type.isSignlessInteger(128); }

ChannelOp ResponseOp::getChannel() {
  auto wait = getResponse().getDefiningOp<WaitOp>();
  return wait ? wait.getChannel().getDefiningOp<ChannelOp>() : ChannelOp();
}

/// The roles of a kernel agree on the next work tile because all of them have
/// its number from the channel of responses, each in its order.
LogicalResult NextOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  bool isRequested =
      kernel && kernel.getScheduleOrGrid() == Schedule::Requested;
  if (!isRequested && getNumber())
    return emitOpError("has a number, which only the schedule 'clc' needs");
  if (isRequested && (*this)->getParentOfType<RoleOp>() && !getNumber())
    return emitOpError("needs the number of the next work tile, because the "
                       "kernel's schedule is 'clc'");
  if (getNumber() && !getNumber().getDefiningOp<ResponseOp>())
    return emitOpError("has a number that is not the result of a "
                       "tile.response");
  return success();
}

LogicalResult WorkOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel)
    return emitOpError("must be in a tile.kernel");
  if (!kernel.isPersistent())
    return emitOpError("is in a kernel of the schedule '")
           << stringifySchedule(kernel.getScheduleOrGrid())
           << "', whose CTAs have one work tile each (see tile.work_tile)";
  if (!llvm::all_of(getBody().getArgumentTypes(),
                    [](Type type) { return type.isIndex(); }))
    return emitOpError("has coordinates that are not of type index");
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (isa<WorkOp>(op))
      return emitOpError("is the second one of its block");
  return verifyCoordinates(*this, kernel, getBody().getNumArguments(),
                           "coordinates");
}
