//===- Formula.cpp - numbers of a manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fa4::tile;

Formula::Formula(int64_t number)
    : text(std::to_string(number)), number(number), divisor(number) {}

Formula Formula::name(const Twine &name) {
  return Formula(name.str(), Kind::Primary);
}

Formula Formula::size(StringRef size) {
  if (std::optional<int64_t> number = getStaticSize(size))
    return *number;
  if (auto summands = getSummands(size))
    return Formula::size(summands->first) + Formula::size(summands->second);
  if (auto sizes = getSmallerOf(size))
    return min(Formula::size(sizes->first), Formula::size(sizes->second));
  if (std::optional<SharedSize> shared = getSharedSize(size)) {
    Formula count = max(name(shared->name), 1);
    Formula few = Formula(shared->few) / count;
    Formula many = max(Formula(shared->many) / count, 1);
    return Formula(llvm::formatv("({0} >= 2 ? {0} : {1})", few.text, many.text),
                   Kind::Primary);
  }
  if (std::optional<DerivedSize> multiple = getMultipleSize(size))
    return Formula(multiple->number) * name(multiple->name);
  Formula result = name(size);
  if (std::optional<DerivedSize> aligned = getAlignedSize(size))
    result.divisor = aligned->number;
  return result;
}

std::string Formula::asOperand(Kind weakest) const {
  return kind < weakest ? "(" + text + ")" : text;
}

namespace fa4::tile {

Formula operator+(const Formula &a, const Formula &b) {
  if (a.number && b.number)
    return *a.number + *b.number;
  Formula result(a.text + " + " + b.text, Formula::Kind::Sum);
  result.divisor = std::gcd(a.divisor, b.divisor);
  return result;
}

Formula operator*(const Formula &a, const Formula &b) {
  if (a.number == 1)
    return b;
  if (b.number == 1)
    return a;
  int64_t product;
  bool isTooLarge = llvm::MulOverflow(a.divisor, b.divisor, product);
  if (a.number && b.number)
    return isTooLarge ? INT64_MAX : product;
  using Kind = Formula::Kind;
  Formula result(a.asOperand(Kind::Quotient) + " * " +
                     b.asOperand(Kind::Product),
                 std::min(a.kind, Kind::Product));
  result.divisor = isTooLarge ? 1 : product;
  return result;
}

Formula operator/(const Formula &a, const Formula &b) {
  if (b.number == 1)
    return a;
  using Kind = Formula::Kind;
  return Formula(a.asOperand(Kind::Quotient) + " / " +
                     b.asOperand(Kind::Primary),
                 Kind::Quotient);
}

Formula ceilDiv(const Formula &a, int64_t b) {
  if (b == 1)
    return a;
  if (a.number)
    return llvm::divideCeil(*a.number, b);
  return Formula(llvm::formatv("ceildiv({0}, {1})", a.text, b),
                 Formula::Kind::Primary);
}

Formula min(const Formula &a, const Formula &b) {
  return Formula(llvm::formatv("min({0}, {1})", a.text, b.text),
                 Formula::Kind::Primary);
}

Formula max(const Formula &a, const Formula &b) {
  return Formula(llvm::formatv("max({0}, {1})", a.text, b.text),
                 Formula::Kind::Primary);
}

} // namespace fa4::tile

std::string Formula::isFrom(int64_t least, int64_t most) const {
  return llvm::formatv("{0} >= {1} && {0} <= {2}", text, least, most);
}

std::string Formula::isMultipleOf(int64_t factor) const {
  return llvm::formatv("{0} % {1} == 0", asOperand(Kind::Quotient), factor);
}

ArrayAttr fa4::tile::getTexts(Builder &builder, ArrayRef<Formula> formulas) {
  return builder.getArrayAttr(
      llvm::map_to_vector(formulas, [&](const Formula &formula) -> Attribute {
        return builder.getStringAttr(formula.str());
      }));
}

//===----------------------------------------------------------------------===//
// Formulas of a kernel
//===----------------------------------------------------------------------===//

std::optional<StringRef> fa4::tile::getFreeName(StringRef size) {
  if (getStaticSize(size))
    return std::nullopt;
  return getSizeBehind(size).value_or(size);
}

Formula fa4::tile::getSize(KernelOp kernel, unsigned argument, int64_t dim) {
  return Formula::size(kernel.getDimName(argument, dim));
}

Formula fa4::tile::getStride(KernelOp kernel, unsigned argument, int64_t dim) {
  auto type = cast<MemRefType>(kernel.getArgumentTypes()[argument]);
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  if (!ShapedType::isDynamic(strides[dim]))
    return strides[dim];
  if (!type.getLayout().isIdentity())
    return Formula::name(kernel.getArgName(argument) + "_stride" + Twine(dim));
  Formula number = 1, names = 1;
  for (int64_t inner = dim + 1; inner < type.getRank(); ++inner) {
    Formula size = getSize(kernel, argument, inner);
    Formula &factors = size.getNumber() ? number : names;
    factors = factors * size;
  }
  return number * names;
}

static Formula countTiles(ExtentAttr extent) {
  return ceilDiv(Formula::size(extent.getSize()), extent.getTile());
}

/// The number of what is numbered: work tiles, or clusters of them.
static Formula countNumbered(KernelOp kernel) {
  Formula product = 1;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis)
    product = product * countTiles(kernel.getNumberedExtent(axis));
  return product;
}

Formula fa4::tile::countWorkTiles(KernelOp kernel) {
  return Formula(kernel.getClusterSize()) * countNumbered(kernel);
}

/// The number of CTAs, or clusters, of the schedule `static`: one an SM, but no
/// more than there is work. With more blocks than the order's `few_blocks`, the
/// quotient is 1 or more, and there are as many as there is work.
static Formula countStatic(KernelOp kernel) {
  Formula count = Formula::name(kSmCount) / kernel.getClusterSize();
  Formula work = countNumbered(kernel);
  OrderAttr order = kernel.getOrderAttr();
  if (!order || order.getFewBlocks() == 0)
    return min(count, work);
  Formula blocks = countTiles(kernel.getNumberedExtent(order.getAxis()));
  return min(max(count, blocks / (order.getFewBlocks() + 1) * work), work);
}

SmallVector<Formula> fa4::tile::getGrid(KernelOp kernel) {
  Formula clusterSize = kernel.getClusterSize();
  if (kernel.getScheduleOrGrid() == Schedule::Static)
    return {clusterSize * countStatic(kernel)};
  if (kernel.getScheduleOrGrid() != Schedule::Grid)
    return {countWorkTiles(kernel)};
  SmallVector<Formula> grid = llvm::map_to_vector(
      kernel.getGrid().getAsRange<ExtentAttr>(), countTiles);
  if (ClusterAttr cluster = kernel.getClusterAttr())
    grid[cluster.getAxis()] =
        clusterSize * countTiles(kernel.getNumberedExtent(cluster.getAxis()));
  return grid;
}

SmallVector<int64_t> fa4::tile::getClusterShape(KernelOp kernel) {
  SmallVector<int64_t> shape(3, 1);
  bool isGrid = kernel.getScheduleOrGrid() == Schedule::Grid;
  shape[isGrid ? kernel.getClusterAttr().getAxis() : 0] =
      kernel.getClusterSize();
  return shape;
}
