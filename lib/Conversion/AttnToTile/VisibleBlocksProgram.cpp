//===- VisibleBlocksProgram.cpp - which blocks a mask shows ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleBlocksProgram.h"
#include "ModProgram.h"
#include "PositionForms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;
using Kind = vector::CombiningKind;

/// The positions that a thread looks at in one step, and the groups: conditions
/// of more groups at a time take more predicates than a thread has.
static constexpr int64_t kStep = 32, kScan = 8;
static_assert(kGroup % kStep == 0);

/// The numbers of the first and the last group if there are none.
static constexpr int64_t kNoFirstGroup = kMaxSize / kGroup, kNoLastGroup = -1;

SmallVector<StringRef> fa4::getPositionNames(const MaskBounds &mask) {
  SmallVector<StringRef> names = {kFirstVisible, kLastVisible};
  if (mask.canBeFull())
    names.append({kFirstFull, kLastFull});
  return names;
}

static Value getPosition(AttentionOpInterface op, MaskSide side) {
  return op.getMaskMod().getArgument(side == MaskSide::Queries ? kQuery : kKey);
}

SmallVector<Value> fa4::getGroupTerms(AttentionOpInterface op,
                                      const MaskBounds &mask,
                                      const VisibleBlocksRequest &tiles) {
  SmallVector<Value> terms = mask.getTerms(tiles.getOtherSide());
  llvm::erase(terms, getPosition(op, tiles.getOtherSide()));
  return terms;
}

namespace {
class VisibleBlocksProgram : ModProgram {
public:
  VisibleBlocksProgram(AttentionOpInterface op, tile::KernelOp kernel,
                       const MaskBounds &mask,
                       const VisibleBlocksRequest &tiles)
      : ModProgram(op, kernel), mask(mask), tiles(tiles),
        groupTerms(getGroupTerms(op, mask, tiles)),
        firstRow(takeWorkTile(kVisibleRows)) {}

  void buildTerms();
  void buildVisible();

private:
  VectorType numbers(ArrayRef<int64_t> shape) {
    return VectorType::get(shape, b.getI32Type());
  }
  Value splatNumber(VectorType type, int64_t number) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, b.getI32IntegerAttr(number)));
  }
  /// The least, or the largest, number of each row of a tile, and of `start`.
  Value reduce(Kind kind, Value tile, Value start) {
    return vector::MultiDimReductionOp::create(
        b, tile, start, ArrayRef<bool>{false, true}, kind);
  }
  /// A number or a condition as i32.
  Value toNumber(Value value);
  Value getSize(MaskSide side) {
    return size(getArgument(side == MaskSide::Queries ? "q" : "k"), order.seq);
  }
  Value over(VectorType type, Value scalar) {
    return vector::BroadcastOp::create(b, type, scalar);
  }
  SmallVector<TileValue> evaluate(ArrayRef<Value> values, MaskSide side,
                                  TileValue positions);
  Value getPositions(Value starts, Value first, Value count);
  using RowBounds = SmallVector<std::pair<Value, Value>>;
  RowBounds boundRows(ArrayRef<Value> values, MaskSide side, int64_t rowLength);
  Bounds toBounds(Value term, TileValue least, TileValue largest);
  Bounds boundPositions(Value blocks, MaskSide side, int64_t block,
                        bool overRows);
  TermBounds boundTiles();
  Value limitToGroups(TileValue condition, Value groups, Value numGroups);
  SmallVector<Value> addGroups(Value condition, Value groups,
                               ValueRange before);
  SmallVector<Value> addStep(TermBounds terms, Value groups, Value numGroups,
                             ValueRange before);
  void storeGroups(Value first, Value last, StringRef firstName,
                   StringRef lastName);
  void storeFull(ValueRange found);
  void store(Value rows, StringRef name) {
    tile::StoreOp::create(b, rows, getArgument(name),
                          ValueRange{batch, head, firstRow}, /*to=*/Value(),
                          /*dims=*/DenseI64ArrayAttr());
  }
  void addTerms(TermBounds &terms, Value groups);

  const MaskBounds &mask;
  VisibleBlocksRequest tiles;
  SmallVector<Value> groupTerms;
  Value firstRow;
};
} // namespace

Value VisibleBlocksProgram::toNumber(Value value) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  Type result = b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(type))
    result = vector.clone(result);
  if (element.isIndex())
    return arith::IndexCastOp::create(b, result, value);
  return element.isInteger(1) ? arith::ExtUIOp::create(b, result, value)
                              : value;
}

/// Computes values of mask_mod that do not depend on the other side than
/// `side`.
SmallVector<TileValue> VisibleBlocksProgram::evaluate(ArrayRef<Value> values,
                                                      MaskSide side,
                                                      TileValue positions) {
  TileValue query{zero}, key{zero};
  (side == MaskSide::Queries ? query : key) = positions;
  return inlineMod(b, attention.getMaskMod(),
                   getModArguments(batch, head, query, key, kVisibleRows),
                   values, kVisibleRows, kStep);
}

/// Finds the least and the largest number of `values` in each of the work
/// tile's rows, which are `rowLength` positions of `side`. Positions behind the
/// end count as the last one.
VisibleBlocksProgram::RowBounds
VisibleBlocksProgram::boundRows(ArrayRef<Value> values, MaskSide side,
                                int64_t rowLength) {
  if (values.empty())
    return {};
  Value rows = positions(kVisibleRows, firstRow);
  Value starts = arith::MulIOp::create(
      b, rows, over(cast<VectorType>(rows.getType()), index(rowLength)));
  VectorType type = numbers({kVisibleRows});
  SmallVector<Value> init;
  for ([[maybe_unused]] Value value : values)
    init.append({splatNumber(type, std::numeric_limits<int32_t>::max()),
                 splatNumber(type, std::numeric_limits<int32_t>::min())});
  ValueRange bounds = repeat(
      index(rowLength / kStep), init, [&](Value step, ValueRange before) {
        Value position =
            getPositions(starts, mul(step, index(kStep)), getSize(side));
        auto found = evaluate(values, side, {position, true, true});
        SmallVector<Value> after;
        for (auto [i, value] : llvm::enumerate(found)) {
          value.value = toNumber(value.value);
          Value tile = broadcastTo(b, value, true, true, kVisibleRows, kStep);
          after.push_back(reduce(Kind::MINSI, tile, before[2 * i]));
          after.push_back(reduce(Kind::MAXSI, tile, before[2 * i + 1]));
        }
        return after;
      });
  RowBounds result;
  for (size_t i = 0; i != bounds.size(); i += 2)
    result.emplace_back(bounds[i], bounds[i + 1]);
  return result;
}

/// The positions of the columns from `first` on of rows that begin at `starts`,
/// but none behind the last one.
Value VisibleBlocksProgram::getPositions(Value starts, Value first,
                                         Value count) {
  Value columns = overRows(positions(kStep, first), kVisibleRows);
  Value position =
      arith::AddIOp::create(b, overColumns(starts, kStep), columns);
  Value last = over(cast<VectorType>(position.getType()), sub(count, one));
  return arith::MinSIOp::create(b, position, last);
}

void VisibleBlocksProgram::buildTerms() {
  RowBounds bounds = boundRows(groupTerms, tiles.getOtherSide(), kGroup);
  for (auto [i, bound] : llvm::enumerate(bounds)) {
    store(bound.first, getLeastName(i));
    store(bound.second, getLargestName(i));
  }
}

/// A condition may be true if the largest number is not 0.
Bounds VisibleBlocksProgram::toBounds(Value term, TileValue least,
                                      TileValue largest) {
  if (!term.getType().isInteger(1))
    return {least, largest};
  auto compare = [&](arith::CmpIPredicate predicate, TileValue number) {
    Type type = number.value.getType();
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
    number.value = arith::CmpIOp::create(b, predicate, number.value, none);
    return number;
  };
  return {compare(arith::CmpIPredicate::eq, least),
          compare(arith::CmpIPredicate::ne, largest)};
}

/// The first and the last position of each of `blocks`, which are numbers of
/// blocks of `block` positions.
Bounds VisibleBlocksProgram::boundPositions(Value blocks, MaskSide side,
                                            int64_t block, bool overRows) {
  auto type = cast<VectorType>(blocks.getType());
  Value first = arith::MulIOp::create(b, blocks, over(type, index(block)));
  Value last = arith::AddIOp::create(b, first, over(type, index(block - 1)));
  last = arith::MinSIOp::create(b, last, over(type, sub(getSize(side), one)));
  return {{toNumber(first), overRows, !overRows},
          {toNumber(last), overRows, !overRows}};
}

/// The bounds of the terms of the work tiles that are this tile's rows, and of
/// those that are the same for all scores.
TermBounds VisibleBlocksProgram::boundTiles() {
  TermBounds terms;
  SmallVector<Value> ofTiles = mask.getTerms(tiles.tiles),
                     uniform = mask.getTerms(MaskSide::None);
  Value position = getPosition(attention, tiles.tiles);
  llvm::erase(ofTiles, position);
  Value rows = positions(kVisibleRows, firstRow);
  terms[position] =
      boundPositions(rows, tiles.tiles, tiles.rows, /*overRows=*/true);
  RowBounds bounds = boundRows(ofTiles, tiles.tiles, tiles.rows);
  for (auto [term, bound] : llvm::zip(ofTiles, bounds))
    terms[term] = toBounds(term, {bound.first, /*overRows=*/true},
                           {bound.second, /*overRows=*/true});
  auto found = evaluate(uniform, tiles.tiles, {zero});
  for (auto [term, value] : llvm::zip(uniform, found)) {
    value.value = toNumber(value.value);
    terms[term] = toBounds(term, value, value);
  }
  return terms;
}

/// Adds the bounds of the terms of `groups`, which are this tile's columns.
void VisibleBlocksProgram::addTerms(TermBounds &terms, Value groups) {
  VectorType found = numbers({kScan});
  for (auto [i, term] : llvm::enumerate(groupTerms)) {
    auto read = [&](StringRef name) -> TileValue {
      Value all = getArgument(name);
      return {tile::GatherOp::create(b, found, all,
                                     ValueRange{batch, head, groups}),
              /*overRows=*/false, /*overColumns=*/true};
    };
    terms[term] =
        toBounds(term, read(getLeastName(i)), read(getLargestName(i)));
  }
  MaskSide side = tiles.getOtherSide();
  terms[getPosition(attention, side)] =
      boundPositions(groups, side, kGroup, /*overRows=*/false);
}

/// A condition on the tile of work tiles and groups, which is false for groups
/// that do not exist.
Value VisibleBlocksProgram::limitToGroups(TileValue condition, Value groups,
                                          Value numGroups) {
  Value isGroup =
      less(groups, over(cast<VectorType>(groups.getType()), numGroups),
           arith::CmpIPredicate::slt);
  return arith::AndIOp::create(
      b, broadcastTo(b, condition, true, true, kVisibleRows, kScan),
      overRows(isGroup, kVisibleRows));
}

/// Continues the least and the largest number of the groups for which a
/// condition holds, and, of three numbers, how many they are.
SmallVector<Value> VisibleBlocksProgram::addGroups(Value condition,
                                                   Value groups,
                                                   ValueRange before) {
  Value numbers = overRows(toNumber(groups), kVisibleRows);
  auto tileType = cast<VectorType>(numbers.getType());
  auto choose = [&](int64_t otherwise) -> Value {
    return arith::SelectOp::create(b, condition, numbers,
                                   splatNumber(tileType, otherwise));
  };
  SmallVector<Value> after = {
      reduce(Kind::MINSI, choose(kNoFirstGroup), before[0]),
      reduce(Kind::MAXSI, choose(kNoLastGroup), before[1])};
  if (before.size() == 3)
    after.push_back(reduce(Kind::ADD, toNumber(condition), before[2]));
  return after;
}

/// Stores the first and the last position of groups.
void VisibleBlocksProgram::storeGroups(Value first, Value last,
                                       StringRef firstName,
                                       StringRef lastName) {
  auto type = cast<VectorType>(first.getType());
  Value size = splatNumber(type, kGroup);
  store(arith::MulIOp::create(b, first, size), firstName);
  last = arith::MulIOp::create(b, last, size);
  store(arith::AddIOp::create(b, last, splatNumber(type, kGroup - 1)),
        lastName);
}

/// Groups are full from the first to the last full one if there are as many.
/// Otherwise none counts as full.
void VisibleBlocksProgram::storeFull(ValueRange found) {
  auto type = cast<VectorType>(found[0].getType());
  Value distance = arith::SubIOp::create(b, found[1], found[0]);
  Value hasGap = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne,
      arith::AddIOp::create(b, distance, splatNumber(type, 1)), found[2]);
  auto choose = [&](int64_t none, Value number) -> Value {
    return arith::SelectOp::create(b, hasGap, splatNumber(type, none), number);
  };
  storeGroups(choose(kNoFirstGroup, found[0]), choose(kNoLastGroup, found[1]),
              kFirstFull, kLastFull);
}

/// Looks at `groups`, and continues the numbers of those that may be visible
/// and, if bounds can tell it, of those that are full.
SmallVector<Value> VisibleBlocksProgram::addStep(TermBounds terms, Value groups,
                                                 Value numGroups,
                                                 ValueRange before) {
  addTerms(terms, groups);
  Bounds visible = mask.buildVisible(b, terms, kVisibleRows, kScan);
  SmallVector<Value> after =
      addGroups(limitToGroups(visible.high, groups, numGroups), groups,
                before.take_front(2));
  if (!mask.canBeFull())
    return after;
  Value mayBeHidden =
      broadcastTo(b, visible.low, true, true, kVisibleRows, kScan);
  Value all = arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(mayBeHidden.getType()), true));
  TileValue isFull{arith::XOrIOp::create(b, mayBeHidden, all), true, true};
  after.append(addGroups(limitToGroups(isFull, groups, numGroups), groups,
                         before.drop_front(2)));
  return after;
}

void VisibleBlocksProgram::buildVisible() {
  VectorType type = numbers({kVisibleRows});
  Value numGroups = ceilDiv(getSize(tiles.getOtherSide()), kGroup);
  TermBounds ofTiles = boundTiles();
  SmallVector<Value> init;
  for (int64_t number :
       {kNoFirstGroup, kNoLastGroup, kNoFirstGroup, kNoLastGroup, int64_t(0)})
    init.push_back(splatNumber(type, number));
  if (!mask.canBeFull())
    init.resize(2);
  ValueRange found = repeat(
      ceilDiv(numGroups, kScan), init, [&](Value step, ValueRange before) {
        Value groups = positions(kScan, mul(step, index(kScan)));
        return addStep(ofTiles, groups, numGroups, before);
      });
  storeGroups(found[0], found[1], kFirstVisible, kLastVisible);
  if (mask.canBeFull())
    storeFull(found.drop_front(2));
}

void fa4::buildTermsProgram(AttentionOpInterface op, tile::KernelOp kernel,
                            const MaskBounds &mask,
                            const VisibleBlocksRequest &tiles) {
  VisibleBlocksProgram(op, kernel, mask, tiles).buildTerms();
}

void fa4::buildVisibleBlocksProgram(AttentionOpInterface op,
                                    tile::KernelOp kernel,
                                    const MaskBounds &mask,
                                    const VisibleBlocksRequest &tiles) {
  VisibleBlocksProgram(op, kernel, mask, tiles).buildVisible();
}
