//===- ColumnLoop.cpp - large arithmetic as a loop over pairs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnLoop.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Which operations
//===----------------------------------------------------------------------===//

/// Returns roughly how many instructions `op` becomes for two columns.
static int64_t countInstructions(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(
          [](auto) { return 1; })
      .Case([](math::TanhOp) { return 7; })
      .Default(int64_t(2));
}

/// Returns true if the operation computes each column from the same column of
/// its operands.
static bool isArithmetic(Operation *op) {
  return op->getNumResults() == 1 && isRow(op->getResult(0).getType()) &&
         (isa<Exp2Op>(op) || OpTrait::hasElementwiseMappableTraits(op)) &&
         !isa<arith::ConstantOp>(op);
}

bool fa4::tile::hasLongArithmetic(RoleOp role, int64_t instructions) {
  return fa4::anyIn(role, [&](Block *block) {
    int64_t count = 0;
    for (Operation &op : *block)
      if (isArithmetic(&op))
        count += countInstructions(&op);
    return count >= instructions;
  });
}

namespace {
/// Collects the operations of a group.
class GroupFinder {
public:
  GroupFinder(Block *block, int64_t begin, int64_t end, RowColumns &columns)
      : block(block), begin(begin), end(end), columns(columns) {}

  bool isMember(Value value);
  void addSlice(Value value);
  void addWhatFollows(Operation *user);
  ColumnGroup finish();
  int64_t instructions = 0;

private:
  void add(Operation *op);
  bool isFree(Value operand, const llvm::DenseSet<Operation *> &free);

  Block *block;
  int64_t begin, end;
  RowColumns &columns;
  llvm::SetVector<Operation *> ops;
  llvm::SmallSetVector<Value, 8> operands;
};
} // namespace

/// Returns true if the operation that makes the value may be in the group.
bool GroupFinder::isMember(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block || !isArithmetic(op) ||
      columns.isOfColumnNumber(value))
    return false;
  const Columns &known = columns[value];
  return llvm::none_of(llvm::seq(begin, end),
                       [&](int64_t pair) { return bool(known.pairs[pair]); });
}

void GroupFinder::add(Operation *op) {
  ops.insert(op);
  instructions += countInstructions(op);
  for (Value operand : op->getOperands())
    if (isRow(operand.getType()) && !isMember(operand))
      operands.insert(operand);
}

/// Adds `value` and all that it is computed from.
void GroupFinder::addSlice(Value value) {
  SmallVector<Operation *> waiting{value.getDefiningOp()};
  while (!waiting.empty()) {
    Operation *op = waiting.pop_back_val();
    if (ops.contains(op))
      continue;
    add(op);
    for (Value operand : op->getOperands())
      if (isMember(operand))
        waiting.push_back(operand.getDefiningOp());
  }
}

/// Returns true if the operand needs no reads beside those of the group. The
/// operations in `free` are computed from such operands alone.
bool GroupFinder::isFree(Value operand,
                         const llvm::DenseSet<Operation *> &free) {
  if (!isRow(operand.getType()) || operands.contains(operand))
    return true;
  Operation *def = operand.getDefiningOp();
  if (isMember(operand))
    return ops.contains(def) || free.contains(def);
  return columns.isBuilt(operand, begin, end) ||
         (def && (isa<vector::StepOp>(def) || RowColumns::isUniform(def))) ||
         columns.isOfColumnNumber(operand);
}

/// Adds operations in front of `user` that take a result of the group and need
/// no other reads. Also adds the operations from which their operands are
/// computed.
void GroupFinder::addWhatFollows(Operation *user) {
  Operation *last = block->findAncestorOpInBlock(*user);
  if (!last)
    return;
  llvm::DenseSet<Operation *> free;
  for (Operation &op : *block) {
    if (&op == last)
      return;
    if (ops.contains(&op) || op.getNumResults() != 1 ||
        !isMember(op.getResult(0)) ||
        !llvm::all_of(op.getOperands(),
                      [&](Value operand) { return isFree(operand, free); }))
      continue;
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return ops.contains(operand.getDefiningOp());
        }))
      addSlice(op.getResult(0));
    else
      free.insert(&op);
  }
}

ColumnGroup GroupFinder::finish() {
  ColumnGroup group;
  group.instructions = instructions;
  group.ops = ops.takeVector();
  llvm::sort(group.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::DenseSet<Operation *> inside(group.ops.begin(), group.ops.end());
  for (Operation *op : group.ops)
    if (!llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return inside.contains(user); }))
      group.outputs.push_back(op->getResult(0));
  group.operands = std::move(operands);
  return group;
}

std::optional<ColumnGroup>
fa4::tile::findColumnGroup(Value value, int64_t begin, int64_t end,
                           Operation *user, RowColumns &columns,
                           int64_t instructions) {
  GroupFinder finder(value.getParentBlock(), begin, end, columns);
  if (!finder.isMember(value))
    return std::nullopt;
  finder.addSlice(value);
  finder.addWhatFollows(user);
  if (finder.instructions < instructions)
    return std::nullopt;
  return finder.finish();
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Passes of a loop. A pass has four pairs of a fragment of 32 columns, and so
/// many operations that do not wait for each other. More passes would be
/// shorter code, but kernels with two pairs a pass take up to a third longer in
/// the model (gradients, whose lanes are few), and with one pair twice as long;
/// each pass also moves all pairs.
static constexpr int64_t kPasses = 4;
/// From this many instructions for a pair on, the time that LLVM takes counts
/// for more: the loop has twice as many passes, each with half of the code.
static constexpr int64_t kLongGroup = 384;
/// The most results of a loop. More results would take more registers than the
/// shorter code is worth.
static constexpr size_t kMaxOutputs = 4;
/// The most conditions whose limits are computed in front of the loop. If there
/// are more, each pass computes the limits by an addition or two, so that they
/// take no registers.
static constexpr size_t kMaxLimits = 8;

namespace {
/// Builds one loop.
class LoopBuilder {
public:
  LoopBuilder(const ColumnGroup &group, int64_t begin, int64_t end,
              RowColumns &columns, OpBuilder &outside)
      : group(group), begin(begin), end(end), columns(columns),
        outside(outside), loc(group.outputs.front().getLoc()) {}

  bool build();

private:
  /// Pairs of a row that the loop carries: those of an operand, of an output,
  /// or of an operand that become those of an output.
  struct Track {
    Value operand, output;
    Type elementType;
    /// Returns the number of values that are carried for a pair: floats are
    /// carried as pairs, other numbers column by column.
    int64_t valuesOfPair() const { return isa<FloatType>(elementType) ? 1 : 2; }
  };

  static bool isStep(Value value) {
    return isa_and_nonnull<vector::StepOp>(value.getDefiningOp());
  }
  bool isCarried(Value operand);
  void planTracks();
  void planColumns();
  void appendValues(Value row, int64_t first, int64_t last, OpBuilder &b,
                    SmallVectorImpl<Value> &values);
  SmallVector<Value> getInits();
  void bindOperands(int64_t number, ValueRange carried, Value column,
                    OpBuilder &b);
  Value getCondition(Value mask, Value column, int64_t number,
                     ArrayRef<Value> words, OpBuilder &b);
  void buildBody(OpBuilder &b, Value column, ValueRange carried);
  void forget();
  void bindResults(ValueRange results);

  const ColumnGroup &group;
  int64_t begin, end;
  RowColumns &columns;
  OpBuilder &outside;
  Location loc;
  /// The pairs of a pass.
  int64_t step = 1;
  SmallVector<Track> tracks;
  /// Conditions that are carried as words, the bit of the pass's first column
  /// first.
  SmallVector<Value> words;
  /// The limits of those words that are comparisons; null if there are too
  /// many.
  llvm::MapVector<Value, Value> limits;
  /// The parts of sums that are the same in all columns.
  llvm::DenseMap<Value, Value> bases;
  /// Operands that are not carried, whose columns are known inside of the loop.
  SmallVector<Value> ofColumn;
  /// The columns of the operands as they are outside of the loop.
  llvm::MapVector<Value, Columns> before;
};
} // namespace

/// Operands that are the same in all columns, or are computed from the number
/// of the column, need not be carried.
bool LoopBuilder::isCarried(Value operand) {
  Operation *def = operand.getDefiningOp();
  return !isStep(operand) && !(def && RowColumns::isUniform(def)) &&
         !columns.isOfColumnNumber(operand);
}

void LoopBuilder::planTracks() {
  for (Value operand : group.operands) {
    if (isCarried(operand))
      tracks.push_back(
          {operand, Value(), getElementTypeOrSelf(operand.getType())});
    else if (!RowColumns::isUniform(operand.getDefiningOp()) ||
             columns.masks.isColumnMask(operand))
      ofColumn.push_back(operand);
  }
  for (Value output : group.outputs) {
    Type type = getElementTypeOrSelf(output.getType());
    auto *track = llvm::find_if(tracks, [&](const Track &track) {
      return track.elementType == type && !track.output;
    });
    if (track == tracks.end())
      tracks.push_back({Value(), output, type});
    else
      track->output = output;
  }
}

void LoopBuilder::planColumns() {
  ColumnMask &masks = columns.masks;
  for (Value operand : ofColumn) {
    if (columns.sums.isSum(operand))
      bases[operand] = columns.sums.getBase(operand, outside);
    if (!masks.isColumnMask(operand))
      continue;
    if (masks.isComparison(operand))
      limits.insert({operand, Value()});
    else
      words.push_back(operand);
  }
  if (limits.size() <= kMaxLimits)
    for (auto &[mask, limit] : limits)
      limit = masks.getLimit(mask, outside);
}

/// Appends pairs `first` to `last` of a row, as the loop carries them.
void LoopBuilder::appendValues(Value row, int64_t first, int64_t last,
                               OpBuilder &b, SmallVectorImpl<Value> &values) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(row.getType()));
  for (int64_t pair = first; pair < last; ++pair) {
    if (isFloat) {
      values.push_back(columns.getPair(row, pair));
      continue;
    }
    for (int64_t column : {2 * pair, 2 * pair + 1})
      values.push_back(columns.getElement(row, column, b));
  }
}

/// Returns the initial values of the loop: the pairs of each track, then the
/// words.
SmallVector<Value> LoopBuilder::getInits() {
  SmallVector<Value> inits;
  for (const Track &track : tracks) {
    if (track.operand) {
      appendValues(track.operand, begin, end, outside, inits);
      continue;
    }
    Type type = isa<FloatType>(track.elementType)
                    ? pairType(track.output.getType())
                    : track.elementType;
    Value zero =
        arith::ConstantOp::create(outside, loc, outside.getZeroAttr(type));
    inits.append((end - begin) * track.valuesOfPair(), zero);
  }
  for (Value mask : words) {
    Value word = columns.masks.getWord(mask, 2 * begin / 32, outside);
    if (int64_t shift = 2 * begin % 32)
      word = arith::ShRUIOp::create(
          outside, loc, word,
          arith::ConstantIntOp::create(outside, loc, outside.getI32Type(),
                                       shift));
    inits.push_back(word);
  }
  return inits;
}

/// Returns the condition of a column. `column` is its number, which is that of
/// the pass's first column plus `number`.
Value LoopBuilder::getCondition(Value mask, Value column, int64_t number,
                                ArrayRef<Value> wordsNow, OpBuilder &b) {
  auto limit = limits.find(mask);
  if (limit != limits.end()) {
    Value narrow = arith::IndexCastOp::create(b, loc, b.getI32Type(), column);
    return columns.masks.compare(mask, limit->second, narrow, b);
  }
  auto *word = llvm::find(words, mask);
  return ColumnMask::testBit(wordsNow[word - words.begin()], number, loc, b);
}

/// Lets the operands of pair `number` of a pass be what the loop carries.
/// `first` is the number of the pass's first column.
void LoopBuilder::bindOperands(int64_t number, ValueRange carried, Value first,
                               OpBuilder &b) {
  int64_t pair = begin + number;
  for (const Track &track : tracks) {
    int64_t count = track.valuesOfPair();
    if (track.operand)
      columns.set(track.operand, pair, carried.slice(number * count, count), b);
    carried = carried.drop_front((end - begin) * count);
  }
  SmallVector<Value> wordsNow(carried);
  for (int64_t i : {0, 1}) {
    int64_t offset = 2 * number + i;
    Value column = first;
    if (offset)
      column = arith::AddIOp::create(
          b, loc, first, arith::ConstantIndexOp::create(b, loc, offset));
    for (Value operand : ofColumn)
      columns[operand].elements[2 * pair + i] =
          isStep(operand) ? column
          : columns.masks.isColumnMask(operand)
              ? getCondition(operand, column, offset, wordsNow, b)
              : columns.sums.getAt(operand, bases.lookup(operand), first,
                                   offset, b);
  }
}

void LoopBuilder::buildBody(OpBuilder &b, Value column, ValueRange carried) {
  columns.knowsConditions = true;
  for (int64_t number = 0; number < step; ++number) {
    bindOperands(number, carried, column, b);
    for (Operation *op : group.ops)
      columns.build(op, begin + number, b);
  }
  columns.knowsConditions = false;
  SmallVector<Value> next;
  for (const Track &track : tracks) {
    int64_t count = (end - begin) * track.valuesOfPair(),
            taken = step * track.valuesOfPair();
    ValueRange values = carried.take_front(count);
    carried = carried.drop_front(count);
    llvm::append_range(next, values.drop_front(taken));
    // If the track has no output, nobody uses the values at the end.
    if (track.output)
      appendValues(track.output, begin, begin + step, b, next);
    else
      llvm::append_range(next, values.take_front(taken));
  }
  for (Value word : carried)
    next.push_back(arith::ShRUIOp::create(
        b, loc, word,
        arith::ConstantIntOp::create(b, loc, b.getI32Type(), 2 * step)));
  scf::YieldOp::create(b, loc, next);
}

/// Values of the loop's body are not known behind it.
void LoopBuilder::forget() {
  for (Operation *op : group.ops) {
    Columns &known = columns[op->getResult(0)];
    for (int64_t pair = begin; pair < begin + step; ++pair)
      known.pairs[pair] = known.elements[2 * pair] =
          known.elements[2 * pair + 1] = Value();
  }
  for (auto &[value, known] : before)
    columns[value] = known;
}

void LoopBuilder::bindResults(ValueRange results) {
  for (const Track &track : tracks) {
    int64_t count = track.valuesOfPair();
    for (int64_t pair = begin; pair < end; ++pair) {
      ValueRange values = results.take_front(count);
      results = results.drop_front(count);
      if (track.output)
        columns.set(track.output, pair, values, outside);
    }
  }
}

bool LoopBuilder::build() {
  int64_t count = end - begin;
  int64_t passes = group.instructions < kLongGroup ? kPasses : 2 * kPasses;
  step = std::max<int64_t>(1, count / passes);
  // The bits of a pass's columns must be in the word that is carried.
  bool isInOneWord = 2 * begin / 32 == (2 * end - 1) / 32;
  if (count < 2 * step || count % step != 0 || !isInOneWord ||
      group.outputs.size() > kMaxOutputs)
    return false;
  planTracks();
  planColumns();
  SmallVector<Value> inits = getInits();
  for (Value operand : group.operands)
    before.insert({operand, columns[operand]});
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(outside, loc, value);
  };
  auto loop = scf::ForOp::create(
      outside, loc, number(2 * begin), number(2 * end), number(2 * step), inits,
      [&](OpBuilder &b, Location, Value column, ValueRange carried) {
        buildBody(b, column, carried);
      });
  forget();
  bindResults(loop.getResults());
  return true;
}

bool fa4::tile::buildColumnLoop(const ColumnGroup &group, int64_t begin,
                                int64_t end, RowColumns &columns,
                                OpBuilder &b) {
  return LoopBuilder(group, begin, end, columns, b).build();
}
