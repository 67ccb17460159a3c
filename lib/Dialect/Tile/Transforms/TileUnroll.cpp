//===- TileUnroll.cpp - a thread's row in fragments of column pairs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnLoop.h"
#include "ColumnPairs.h"
#include "EraseDead.h"
#include "HoistHandOvers.h"
#include "RowColumns.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/RowPressure.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/PostOrder.h"
#include "fa4/Target/RegisterBudget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEUNROLL
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
/// Rewrites the body of one role. Each vector becomes pairs of columns, because
/// a packed instruction computes two f32 at once. No instruction computes two
/// integers or two conditions at once, so an operation that takes or gives
/// these becomes one operation for each column.
///
/// An operation without effects is built when one that has an effect needs it,
/// fragment by fragment: that gives the order in which a fragment goes all the
/// way before the next one starts.
class Unroller {
public:
  Unroller(RoleOp role, int64_t fragment, int64_t loopInstructions,
           bool readsAhead, const llvm::DenseMap<Value, unsigned> &bufferOf,
           const llvm::DenseSet<Value> &asyncReads,
           const llvm::DenseSet<unsigned> &usedAgain)
      : role(role), fragment(fragment), loopInstructions(loopInstructions),
        readsAhead(readsAhead), bufferOf(bufferOf), asyncReads(asyncReads),
        usedAgain(usedAgain) {}

  LogicalResult run();

private:
  static bool isInTensorMemory(ReadOp op) {
    return op.getChannel().getDefiningOp<ChannelOp>().getSpace() ==
           MemorySpace::tmem;
  }
  /// Calls `body(begin, end)` for the pairs of each fragment of a row.
  void forFragments(Type type, llvm::function_ref<void(int64_t, int64_t)> body);

  /// Pairs `begin` to `end` of a value.
  struct Part {
    Value value;
    int64_t begin, end;
  };
  /// Builds pairs `begin` to `end` of `value`, and first what they need.
  void build(Value value, int64_t begin, int64_t end, OpBuilder &b);
  bool isBuilt(const Part &part);
  bool buildByLoop(Value value, int64_t begin, int64_t end, OpBuilder &b);
  void addNeededParts(const Part &part, SmallVectorImpl<Part> &needed);
  void buildPart(const Part &part, OpBuilder &b);
  void buildAll(Value value, OpBuilder &b);
  void endFragment(Location loc, OpBuilder &b);
  void buildCaptured(Operation &op, OpBuilder &b);
  void buildSlice(vector::ExtractStridedSliceOp op, int64_t begin, int64_t end);

  LogicalResult lowerBlock(Block &block, OpBuilder &b);
  LogicalResult lower(Operation &op, OpBuilder &b);
  LogicalResult lowerFor(scf::ForOp op, OpBuilder &b);
  LogicalResult lowerIf(scf::IfOp op, OpBuilder &b);
  LogicalResult lowerWork(WorkOp op, OpBuilder &b);
  LogicalResult lowerBranch(Region &from, Region &to);
  void lowerRead(ReadOp op, OpBuilder &b);
  void startRead(ReadOp op, int64_t first, int64_t last, OpBuilder &b);
  void finishReads(ReadOp op, OpBuilder &b);
  void read(ReadOp op, int64_t first, int64_t last, OpBuilder &b);
  void readAll(ReadOp op, OpBuilder &b);
  void readAtOnce(ReadOp op, OpBuilder &b);
  void readBuffer(Value channel, OpBuilder &b, bool handsOn = false);
  void readUsedAgain(OpBuilder &b);
  void readOverwritten(WriteOp op, int64_t begin, int64_t end, OpBuilder &b);
  void lowerWrite(WriteOp op, OpBuilder &b);
  bool buildEarly(WriteOp write, OpBuilder &b);
  /// A pair of columns of a value.
  using Pair = std::pair<Value, int64_t>;
  enum class Source { None, Registers, Fresh };
  Source getSource(Operation *op, int64_t pair,
                   const llvm::DenseSet<Pair> &available);
  void lowerReduction(vector::ReductionOp op, OpBuilder &b);
  void foldPairs(vector::ReductionOp op, int64_t begin, int64_t end,
                 OpBuilder &b);
  void foldEarly(WriteOp write, OpBuilder &b);
  void lowerCommit(CommitOp op, OpBuilder &b);
  Value reducePairs(vector::ReductionOp op, OpBuilder &b);
  Value reduceElements(vector::ReductionOp op, OpBuilder &b);

  void appendFlat(ValueRange values, OpBuilder &b, SmallVectorImpl<Value> &out);
  void mapFlat(ValueRange from, ValueRange to);

  RoleOp role;
  int64_t fragment, loopInstructions;
  bool readsAhead;
  const llvm::DenseMap<Value, unsigned> &bufferOf;
  const llvm::DenseSet<Value> &asyncReads;
  const llvm::DenseSet<unsigned> &usedAgain;
  RowColumns columns;
  IRMapping &scalars = columns.scalars;
  ColumnMask &masks = columns.masks;
  ColumnIntegers &integers = columns.integers;
  /// Whether the fragment that is built now has integers that are computed from
  /// positions by more than a sum.
  bool builtIntegers = false;
  /// The state of a reduction that has begun.
  struct Partial {
    SmallVector<Value> acc;
    llvm::BitVector folded;
  };
  llvm::DenseMap<Operation *, Partial> partials;
  /// What asks for values now.
  Operation *user = nullptr;
  /// Operations of loops over pairs whose results nothing else uses.
  llvm::DenseSet<Operation *> inLoops;
  /// What has been built for the fragment that is written now.
  llvm::SmallSetVector<Pair, 16> fresh;
  /// Of each read, what is on its way: values of several columns, and the
  /// number of the first one.
  llvm::DenseMap<Operation *, SmallVector<std::pair<Value, int64_t>>> started;
  /// The reads that are not complete yet, in program order.
  llvm::SmallSetVector<ReadOp, 4> unread;
};
} // namespace

void Unroller::forFragments(Type type,
                            llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t count = numPairs(type);
  for (int64_t begin = 0; begin < count; begin += fragment / 2)
    body(begin, std::min(begin + fragment / 2, count));
}

//===----------------------------------------------------------------------===//
// Values without effects, when needed
//===----------------------------------------------------------------------===//

/// The first pair of the source that a slice begins with.
static int64_t getSliceOffset(vector::ExtractStridedSliceOp op) {
  return cast<IntegerAttr>(op.getOffsets()[0]).getInt() / 2;
}

void Unroller::buildSlice(vector::ExtractStridedSliceOp op, int64_t begin,
                          int64_t end) {
  int64_t offset = getSliceOffset(op);
  Columns &to = columns[op.getResult()], &from = columns[op.getSource()];
  std::copy(from.pairs.begin() + begin + offset,
            from.pairs.begin() + end + offset, to.pairs.begin() + begin);
  std::copy(from.elements.begin() + 2 * (begin + offset),
            from.elements.begin() + 2 * (end + offset),
            to.elements.begin() + 2 * begin);
}

bool Unroller::isBuilt(const Part &part) {
  return columns.isBuilt(part.value, part.begin, part.end);
}

/// Columns of integers are built one pair after the other, each from its first
/// operation to its last: a fragment of each of them would be in registers at a
/// time if they were built operation by operation.
void Unroller::addNeededParts(const Part &part, SmallVectorImpl<Part> &needed) {
  Operation *op = part.value.getDefiningOp();
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    int64_t offset = getSliceOffset(slice);
    needed.push_back(
        {slice.getSource(), part.begin + offset, part.end + offset});
    return;
  }
  if (isa<ReadOp>(op) || masks.isColumnMask(part.value) ||
      masks.isSum(part.value))
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isRow(value.getType()) || columns.isBitOperand(operand))
      continue;
    if (!integers.isOfPositions(value)) {
      needed.push_back({value, part.begin, part.end});
      continue;
    }
    for (int64_t pair = part.begin; pair < part.end; ++pair)
      needed.push_back({value, pair, pair + 1});
  }
}

void Unroller::buildPart(const Part &part, OpBuilder &b) {
  auto [value, begin, end] = part;
  Operation *op = value.getDefiningOp();
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op))
    return buildSlice(slice, begin, end);
  if (auto from = dyn_cast<ReadOp>(op))
    return read(from, begin, end, b);
  if (columns.buildUniform(op, b))
    return;
  bool perColumn = isPerColumn(op);
  Columns &known = columns[value];
  for (int64_t pair = begin; pair < end; ++pair) {
    if (known.pairs[pair])
      continue;
    fresh.insert({value, pair});
    if (!perColumn) {
      known.pairs[pair] = columns.buildPair(op, pair, b);
      continue;
    }
    for (int64_t column : {2 * pair, 2 * pair + 1})
      known.elements[column] = columns.buildElement(op, column, b);
    builtIntegers |= integers.isOfPositions(value) &&
                     !isa<vector::StepOp>(op) && !masks.isColumnMask(value) &&
                     !masks.isSum(value);
    // An operation on pairs may use the value, too. If none does, the pair is
    // erased at the end.
    known.pairs[pair] = vector::FromElementsOp::create(
        b, value.getLoc(), pairType(value.getType()),
        ArrayRef(known.elements).slice(2 * pair, 2));
  }
}

/// Builds `value` with all that it is computed from as a loop, if that is much.
bool Unroller::buildByLoop(Value value, int64_t begin, int64_t end,
                           OpBuilder &b) {
  while (auto slice = value.getDefiningOp<vector::ExtractStridedSliceOp>()) {
    begin += getSliceOffset(slice);
    end += getSliceOffset(slice);
    value = slice.getSource();
  }
  std::optional<ColumnGroup> group =
      findColumnGroup(value, begin, end, user, columns, loopInstructions);
  if (!group)
    return false;
  for (Value operand : group->operands)
    if (!masks.isColumnMask(operand) && !masks.isSum(operand))
      build(operand, begin, end, b);
  if (!buildColumnLoop(*group, begin, end, columns, b))
    return false;
  for (Operation *op : group->ops)
    inLoops.insert(op);
  for (Value output : group->outputs) {
    inLoops.erase(output.getDefiningOp());
    for (int64_t pair = begin; pair < end; ++pair)
      fresh.insert({output, pair});
  }
  return true;
}

void Unroller::build(Value value, int64_t begin, int64_t end, OpBuilder &b) {
  if (end - begin > 1)
    buildByLoop(value, begin, end, b);
  fa4::visitPostOrder<Part>(
      {value, begin, end}, [&](const Part &part) { return isBuilt(part); },
      [&](const Part &part, SmallVectorImpl<Part> &needed) {
        addNeededParts(part, needed);
      },
      [&](const Part &part) { buildPart(part, b); });
}

void Unroller::buildAll(Value value, OpBuilder &b) {
  forFragments(value.getType(), [&](int64_t begin, int64_t end) {
    build(value, begin, end, b);
    endFragment(value.getLoc(), b);
  });
}

/// Keeps ptxas from computing integers of the next fragments meanwhile: what is
/// computed from positions waits for nothing, and those that are the same in
/// all threads run on a pipe of their own.
void Unroller::endFragment(Location loc, OpBuilder &b) {
  if (builtIntegers)
    KeepOrderOp::create(b, loc);
  builtIntegers = false;
}

/// Builds all values that the regions of `op` use, in front of `op`.
void Unroller::buildCaptured(Operation &op, OpBuilder &b) {
  op.walk([&](Operation *inner) {
    if (inner == &op)
      return;
    bool isMask =
        inner->getNumResults() == 1 && masks.isColumnMask(inner->getResult(0));
    for (OpOperand &use : inner->getOpOperands()) {
      Value operand = use.get();
      if (!isRow(operand.getType()) ||
          op.isAncestor(operand.getParentBlock()->getParentOp()))
        continue;
      bool asBits = masks.isColumnMask(operand);
      if (asBits)
        masks.makeWords(operand, b);
      if (!asBits || !(isMask || columns.isBitOperand(use)))
        buildAll(operand, b);
    }
  });
}

//===----------------------------------------------------------------------===//
// Channels and reductions
//===----------------------------------------------------------------------===//

/// Builds reads of those of the pairs `first` to `last` that are neither read
/// nor on their way.
void Unroller::startRead(ReadOp op, int64_t first, int64_t last, OpBuilder &b) {
  SmallVector<Value, 0> &to = columns[op.getValue()].pairs;
  while (first < last && to[first])
    ++first;
  while (last > first && to[last - 1])
    --last;
  Type elementType = getElementTypeOrSelf(op.getValue());
  for (auto [begin, end] : splitAccess(2 * first, 2 * last)) {
    auto part = VectorType::get({end - begin}, elementType);
    Value value = ReadOp::create(b, op.getLoc(), part, op.getChannel(),
                                 op.getColumn() + begin, op.getAll());
    started[op].push_back({value, begin});
  }
}

/// Takes what reads have brought apart, which is its first use.
void Unroller::finishReads(ReadOp op, OpBuilder &b) {
  SmallVector<Value, 0> &to = columns[op.getValue()].pairs;
  for (auto [value, begin] : started[op]) {
    int64_t count = cast<VectorType>(value.getType()).getNumElements();
    for (int64_t column = 0; column < count; column += 2)
      to[(begin + column) / 2] =
          count == 2
              ? value
              : vector::ExtractStridedSliceOp::create(b, op.getLoc(), value,
                                                      column, /*sizes=*/2,
                                                      /*strides=*/1);
  }
  started[op].clear();
}

/// Reads those of the pairs `first` to `last` that have not been read yet. A
/// read of tensor memory takes long, so the read of the next fragment is on its
/// way while these pairs are worked on, if the role has registers for it or
/// holds the whole value anyway.
void Unroller::read(ReadOp op, int64_t first, int64_t last, OpBuilder &b) {
  finishReads(op, b);
  startRead(op, first, last, b);
  finishReads(op, b);
  int64_t count = numPairs(op.getValue().getType());
  if (isInTensorMemory(op) && (readsAhead || !op->hasOneUse()) && last < count)
    startRead(op, last, std::min(last + fragment / 2, count), b);
}

void Unroller::readAll(ReadOp op, OpBuilder &b) {
  forFragments(op.getValue().getType(),
               [&](int64_t begin, int64_t end) { read(op, begin, end, b); });
  unread.remove(op);
}

/// A value with one use is read fragment by fragment as it is consumed, so that
/// few fragments are in registers at a time. A value with more uses is held as
/// a whole anyway: it is read early to hide the latency, unless a fragment at a
/// time does.
void Unroller::lowerRead(ReadOp op, OpBuilder &b) {
  if (op->hasOneUse() || isInTensorMemory(op))
    unread.insert(op);
  else
    readAll(op, b);
}

/// The columns of one read of tensor memory where several follow each other.
static constexpr int64_t kLongRead = 32;

/// Reads all of a value that is not worked on meanwhile: one read does not wait
/// for another.
void Unroller::readAtOnce(ReadOp op, OpBuilder &b) {
  finishReads(op, b);
  int64_t count = numPairs(op.getValue().getType());
  for (int64_t first = 0; first < count; first += kLongRead / 2)
    startRead(op, first, std::min(first + kLongRead / 2, count), b);
  finishReads(op, b);
  unread.remove(op);
}

/// Completes reads of the buffer of `channel`. If lanes then hand on what they
/// have read, who gets it waits for that.
void Unroller::readBuffer(Value channel, OpBuilder &b, bool handsOn) {
  SmallVector<ReadOp> pending(unread.begin(), unread.end());
  for (ReadOp op : pending)
    if (bufferOf.lookup(op.getChannel()) == bufferOf.lookup(channel)) {
      if (handsOn && isInTensorMemory(op) &&
          op.getChannel().getType() == channel.getType())
        readAtOnce(op, b);
      else
        readAll(op, b);
    }
}

/// Completes reads of buffers whose memory other channels have afterwards: that
/// a value is read in front of a commit may be what lets its memory be written
/// behind the wait for it.
void Unroller::readUsedAgain(OpBuilder &b) {
  SmallVector<ReadOp> pending(unread.begin(), unread.end());
  for (ReadOp op : pending)
    if (usedAgain.contains(bufferOf.lookup(op.getChannel())))
      readAll(op, b);
}

/// Returns the pairs of `read` whose place columns `begin` to `end` of `write`
/// take, which has the same buffer: all of them, if nothing is known.
static std::pair<int64_t, int64_t> getOverwritten(ReadOp read, WriteOp write,
                                                  int64_t begin, int64_t end) {
  auto from = read.getChannel().getDefiningOp<ChannelOp>();
  auto to = write.getChannel().getDefiningOp<ChannelOp>();
  int64_t count =
      cast<VectorType>(read.getValue().getType()).getNumElements() / 2;
  int64_t column = read.getColumn();
  begin += write.getColumn();
  end += write.getColumn();
  PlaceAttr source = from.getPlaceAttr(), target = to.getPlaceAttr();
  if (from.getSpace() == MemorySpace::tmem && from.getStages() == 1 &&
      to.getStages() == 1 && source && target) {
    // A thread has a lane; a column is a word of 32 bits.
    auto bitsOf = [](ChannelOp channel) -> int64_t {
      return channel.getTileType().getElementTypeBitWidth();
    };
    int64_t shift = 32 * (target.getOffset() - source.getOffset());
    begin = llvm::divideFloorSigned(begin * bitsOf(to) + shift, bitsOf(from));
    end = llvm::divideCeilSigned(end * bitsOf(to) + shift, bitsOf(from));
  } else if (from.getValueType() != to.getValueType() || !source || !target ||
             source.getOffset() != target.getOffset()) {
    return {0, count};
  }
  return {
      std::clamp<int64_t>(llvm::divideFloorSigned(begin - column, 2), 0, count),
      std::clamp<int64_t>(llvm::divideCeilSigned(end - column, 2), 0, count)};
}

/// Completes reads of what `write` is about to overwrite with its columns
/// `begin` to `end`.
void Unroller::readOverwritten(WriteOp write, int64_t begin, int64_t end,
                               OpBuilder &b) {
  SmallVector<ReadOp> pending(unread.begin(), unread.end());
  for (ReadOp op : pending) {
    if (bufferOf.lookup(op.getChannel()) != bufferOf.lookup(write.getChannel()))
      continue;
    std::pair<int64_t, int64_t> pairs = getOverwritten(op, write, begin, end);
    forFragments(op.getValue().getType(), [&](int64_t first, int64_t last) {
      if (first < pairs.second && pairs.first < last &&
          !isBuilt({op.getValue(), first, last}))
        read(op, first, last, b);
    });
  }
}

void Unroller::lowerWrite(WriteOp op, OpBuilder &b) {
  Value value = op.getValue();
  forFragments(value.getType(), [&](int64_t first, int64_t last) {
    fresh.clear();
    build(value, first, last, b);
    readOverwritten(op, 2 * first, 2 * last, b);
    for (auto [begin, end] : splitAccess(2 * first, 2 * last)) {
      ArrayRef<Value> parts =
          ArrayRef(columns[value].pairs).slice(begin / 2, (end - begin) / 2);
      WriteOp::create(b, op.getLoc(), joinPairs(parts, op.getLoc(), b),
                      op.getChannel(), op.getColumn() + begin);
    }
    if (buildEarly(op, b) || builtIntegers)
      KeepOrderOp::create(b, op.getLoc());
    builtIntegers = false;
    foldEarly(op, b);
  });
}

/// Builds what stands in front of the write and is computed from a number that
/// the write has built (a `fresh` one), although only something later needs it.
/// The program's order says where it is computed: the product of a probability
/// and a derivative, for example, takes the registers of both, which otherwise
/// would be held. Nothing is read for it.
bool Unroller::buildEarly(WriteOp write, OpBuilder &b) {
  llvm::SmallSetVector<int64_t, 16> pairs;
  for (const Pair &each : fresh)
    pairs.insert(each.second);
  // What can be computed from numbers that are in registers.
  llvm::DenseSet<Pair> available;
  bool isAnyBuilt = false;
  for (Operation &op : *write->getBlock()) {
    if (&op == write)
      break;
    if (op.getNumResults() != 1 || !isRow(op.getResult(0).getType()))
      continue;
    Value result = op.getResult(0);
    for (int64_t pair : pairs) {
      if (pair >= numPairs(result.getType()))
        continue;
      Source source = getSource(&op, pair, available);
      if (source == Source::None)
        continue;
      available.insert({result, pair});
      if (source != Source::Fresh)
        continue;
      build(result, pair, pair + 1, b);
      isAnyBuilt = true;
    }
  }
  return isAnyBuilt;
}

/// Says what a pair of the operation's result can be computed from.
Unroller::Source Unroller::getSource(Operation *op, int64_t pair,
                                     const llvm::DenseSet<Pair> &available) {
  auto isThere = [&](Value value) {
    return isa_and_nonnull<arith::ConstantOp, vector::BroadcastOp>(
               value.getDefiningOp()) ||
           columns.getPair(value, pair);
  };
  if (isThere(op->getResult(0)))
    return Source::Registers;
  if (!OpTrait::hasElementwiseMappableTraits(op) || inLoops.contains(op) ||
      masks.isColumnMask(op->getResult(0)))
    return Source::None;
  bool isFresh = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isRow(value.getType()) || columns.isBitOperand(operand))
      continue;
    if (!isThere(value) && !available.contains({value, pair}))
      return Source::None;
    isFresh |= fresh.contains({value, pair}) &&
               isa<FloatType>(getElementTypeOrSelf(value));
  }
  return isFresh ? Source::Fresh : Source::Registers;
}

/// What comes behind a commit must not delay it. See tile.keep_order.
void Unroller::lowerCommit(CommitOp op, OpBuilder &b) {
  b.clone(*op, scalars);
  auto rest =
      llvm::make_range(std::next(op->getIterator()), op->getBlock()->end());
  auto usesRows = [](Operation &next) {
    return llvm::any_of(next.getOperandTypes(), isRow);
  };
  if (asyncReads.contains(op.getChannel()) && llvm::any_of(rest, usesRows))
    KeepOrderOp::create(b, op.getLoc());
}

/// The number of independent partial results of a reduction. Four hide the
/// latency of one step.
static constexpr unsigned kAccumulators = 4;

static Value combine(vector::ReductionOp op, Value a, Value b,
                     OpBuilder &builder) {
  return vector::makeArithReduction(builder, op.getLoc(), op.getKind(), a, b);
}

/// Combines `values` as a balanced tree.
static Value combineAll(vector::ReductionOp op, SmallVector<Value> values,
                        OpBuilder &b) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(combine(op, values[i], values[i + 1], b));
    if (values.size() % 2)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Returns true for sums and products, which the FMA pipe computes on two f32
/// at once.
static bool isPacked(vector::ReductionOp op) {
  using Kind = vector::CombiningKind;
  return op.getDest().getType().isF32() &&
         (op.getKind() == Kind::ADD || op.getKind() == Kind::MUL);
}

/// Folds those of the pairs `begin` to `end` into the partial results that are
/// built and have not been folded yet.
void Unroller::foldPairs(vector::ReductionOp op, int64_t begin, int64_t end,
                         OpBuilder &b) {
  Partial &partial = partials[op];
  int64_t count = numPairs(op.getVector().getType());
  partial.folded.resize(count);
  partial.acc.resize(std::min<int64_t>(kAccumulators, count));
  for (int64_t pair = begin; pair < end; ++pair) {
    Value next = columns.getPair(op.getVector(), pair);
    if (!next || partial.folded[pair])
      continue;
    partial.folded.set(pair);
    Value &acc = partial.acc[pair % partial.acc.size()];
    acc = acc ? combine(op, acc, next, b) : next;
  }
}

/// Folds the columns that a write has built into later reductions of its block.
/// Without this, each column would occupy a register until the reduction.
void Unroller::foldEarly(WriteOp write, OpBuilder &b) {
  for (Operation *op = write->getNextNode(); op; op = op->getNextNode())
    if (auto reduction = dyn_cast<vector::ReductionOp>(op);
        reduction && isPacked(reduction))
      foldPairs(reduction, 0, numPairs(reduction.getVector().getType()), b);
}

/// Reduces pairs to one pair, and this pair to an element.
Value Unroller::reducePairs(vector::ReductionOp op, OpBuilder &b) {
  forFragments(op.getVector().getType(), [&](int64_t begin, int64_t end) {
    build(op.getVector(), begin, end, b);
    foldPairs(op, begin, end, b);
    endFragment(op.getLoc(), b);
  });
  Value pair = combineAll(op, partials[op].acc, b);
  Value low = vector::ExtractOp::create(b, op.getLoc(), pair, 0);
  Value high = vector::ExtractOp::create(b, op.getLoc(), pair, 1);
  return combine(op, low, high, b);
}

/// Reduces elements. Each step folds two elements into an accumulator, which is
/// one instruction with three operands for maxima and minima.
Value Unroller::reduceElements(vector::ReductionOp op, OpBuilder &b) {
  SmallVector<Value> acc(
      std::min<int64_t>(kAccumulators, numPairs(op.getVector().getType())));
  if (op.getAcc())
    acc[0] = columns.getScalar(op.getAcc());
  forFragments(op.getVector().getType(), [&](int64_t begin, int64_t end) {
    build(op.getVector(), begin, end, b);
    for (int64_t pair = begin; pair < end; ++pair) {
      Value &partial = acc[pair % acc.size()];
      for (int64_t column : {2 * pair, 2 * pair + 1}) {
        Value next = columns.getElement(op.getVector(), column, b);
        partial = partial ? combine(op, partial, next, b) : next;
      }
    }
    endFragment(op.getLoc(), b);
  });
  Value result = acc[0];
  for (Value partial : ArrayRef<Value>(acc).drop_front())
    result = combine(op, result, partial, b);
  return result;
}

void Unroller::lowerReduction(vector::ReductionOp op, OpBuilder &b) {
  bool packed = isPacked(op);
  Value result = packed ? reducePairs(op, b) : reduceElements(op, b);
  if (packed && op.getAcc())
    result = combine(op, columns.getScalar(op.getAcc()), result, b);
  scalars.map(op.getDest(), result);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void Unroller::appendFlat(ValueRange values, OpBuilder &b,
                          SmallVectorImpl<Value> &out) {
  for (Value value : values) {
    if (!isRow(value.getType())) {
      out.push_back(columns.getScalar(value));
      continue;
    }
    buildAll(value, b);
    llvm::append_range(out, columns[value].pairs);
  }
}

static void appendTypes(TypeRange from, SmallVectorImpl<Type> &out) {
  for (Type type : from) {
    auto row = dyn_cast<VectorType>(type);
    if (!row) {
      out.push_back(type);
      continue;
    }
    out.append(row.getNumElements() / 2,
               VectorType::get({2}, row.getElementType()));
  }
}

void Unroller::mapFlat(ValueRange from, ValueRange to) {
  for (Value value : from) {
    if (!isRow(value.getType())) {
      scalars.map(value, to.front());
      to = to.drop_front();
      continue;
    }
    int64_t count = numPairs(value.getType());
    columns[value].pairs = llvm::to_vector_of<Value, 0>(to.take_front(count));
    to = to.drop_front(count);
  }
}

LogicalResult Unroller::lowerBranch(Region &from, Region &to) {
  if (!to.front().empty())
    to.front().back().erase();
  OpBuilder b = OpBuilder::atBlockEnd(&to.front());
  if (failed(lowerBlock(from.front(), b)))
    return failure();
  unread.remove_if([&](ReadOp op) { return op->getBlock() == &from.front(); });
  Operation &yield = from.front().back();
  user = &yield;
  SmallVector<Value> values;
  appendFlat(yield.getOperands(), b, values);
  scf::YieldOp::create(b, yield.getLoc(), values);
  return success();
}

LogicalResult Unroller::lowerFor(scf::ForOp op, OpBuilder &b) {
  SmallVector<Value> inits;
  appendFlat(op.getInitArgs(), b, inits);
  auto loop =
      scf::ForOp::create(b, op.getLoc(), columns.getScalar(op.getLowerBound()),
                         columns.getScalar(op.getUpperBound()),
                         columns.getScalar(op.getStep()), inits);
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  mapFlat(op.getRegionIterArgs(), loop.getRegionIterArgs());
  mapFlat(op.getResults(), loop.getResults());
  return lowerBranch(op.getRegion(), loop.getRegion());
}

LogicalResult Unroller::lowerIf(scf::IfOp op, OpBuilder &b) {
  SmallVector<Type> types;
  appendTypes(op.getResultTypes(), types);
  auto branch = scf::IfOp::create(b, op.getLoc(), types,
                                  columns.getScalar(op.getCondition()),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/!op.getElseRegion().empty());
  mapFlat(op.getResults(), branch.getResults());
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions()))
    if (!from.empty() && failed(lowerBranch(from, to)))
      return failure();
  return success();
}

LogicalResult Unroller::lowerWork(WorkOp op, OpBuilder &b) {
  auto work = WorkOp::create(b, op.getLoc(), op.getCoordinates().size());
  scalars.map(op.getCoordinates(), work.getCoordinates());
  OpBuilder inside(work.getNext());
  if (failed(lowerBlock(op.getBody().front(), inside)))
    return failure();
  if (Value number = op.getNext().getNumber())
    work.getNext().getNumberMutable().assign(columns.getScalar(number));
  return success();
}

LogicalResult Unroller::lower(Operation &op, OpBuilder &b) {
  user = &op;
  if (op.getNumRegions())
    buildCaptured(op, b);
  op.walk([&](Operation *inner) {
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(inner))
      readBuffer(inner->getOperand(0), b, /*handsOn=*/isa<CommitOp>(inner));
    if (isa<CommitOp>(inner))
      readUsedAgain(b);
  });
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp op) { return lowerFor(op, b); })
      .Case([&](scf::IfOp op) { return lowerIf(op, b); })
      .Case([&](WorkOp op) { return lowerWork(op, b); })
      .Case([&](vector::ReductionOp op) {
        lowerReduction(op, b);
        return success();
      })
      .Case([&](vector::ExtractOp op) {
        int64_t column = op.getStaticPosition().front();
        build(op.getSource(), column / 2, column / 2 + 1, b);
        scalars.map(op.getResult(),
                    columns.getElement(op.getSource(), column, b));
        return success();
      })
      .Case([&](WriteOp op) {
        if (isRow(op.getValue().getType())) {
          lowerWrite(op, b);
          return success();
        }
        readBuffer(op.getChannel(), b);
        b.clone(*op, scalars);
        return success();
      })
      .Case([&](CommitOp op) {
        lowerCommit(op, b);
        return success();
      })
      .Case([&](ReadOp op) {
        if (isRow(op.getValue().getType()))
          lowerRead(op, b);
        else
          b.clone(*op, scalars);
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (op->getNumResults() == 1 && isRow(op->getResult(0).getType()))
          return success(); // built when needed
        b.clone(*op, scalars);
        return success();
      });
}

LogicalResult Unroller::lowerBlock(Block &block, OpBuilder &b) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (failed(lower(op, b)))
      return failure();
  }
  return success();
}

LogicalResult Unroller::run() {
  if (failed(verifyRows(role)))
    return failure();
  hoistAcquires(role);
  hoistReleases(role);
  auto allocate = [&](Value value) { columns.allocate(value); };
  role.walk([&](Operation *op) { llvm::for_each(op->getResults(), allocate); });
  role.walk(
      [&](Block *block) { llvm::for_each(block->getArguments(), allocate); });
  Block &old = role.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&role.getBody().emplaceBlock());
  LogicalResult result = lowerBlock(old, b);
  old.dropAllReferences();
  old.erase();
  // Pairs were built in advance.
  eraseDead(role.getBody().front());
  return result;
}

namespace {
struct TileUnroll : public fa4::tile::impl::TileUnrollBase<TileUnroll> {
  using TileUnrollBase::TileUnrollBase;

  void runOnOperation() override {
    if (fragment < 2 || fragment % 2) {
      getOperation()->emitError("tile-unroll: fragment must be a positive even "
                                "number of columns, not ")
          << fragment.getValue();
      return signalPassFailure();
    }
    KernelOp kernel = getOperation();
    llvm::DenseMap<Value, unsigned> bufferOf = numberBuffers(kernel);
    llvm::DenseSet<Value> asyncReads = findAsyncReads(kernel);
    llvm::DenseSet<unsigned> usedAgain = findBuffersUsedAgain(kernel, bufferOf);
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      if (role.runsOnOneThread())
        continue;
      RowPressure pressure = findRowPressure(role);
      if (failed(Unroller(role, fragmentOf(role, pressure), loopInstructions,
                          /*readsAhead=*/pressure.held != 0, bufferOf,
                          asyncReads, usedAgain)
                     .run()))
        return signalPassFailure();
    }
  }

  /// Registers of a row that is held beside the fragment of a loop over pairs:
  /// the products of probabilities and derivatives, for example.
  static constexpr uint64_t kHeldByLoops = 128;

  /// The largest fragment with which the role has enough registers, half of the
  /// pass's or a quarter of it if necessary. Two fragments are in flight: one
  /// is read while the other one is worked on.
  int64_t fragmentOf(RoleOp role, const RowPressure &pressure) {
    if (!role.getRegisters())
      return fragment;
    uint64_t registers = *role.getRegisters();
    // A loop over pairs works on few of them at a time. Of the rows that count
    // as held, those that are read in front of a wait are in shared memory.
    if (hasLongArithmetic(role, loopInstructions)) {
      uint64_t held = std::min<uint64_t>(pressure.held, kHeldByLoops);
      bool fits = held + 2 * fragment + kRegisterSlack <= registers;
      return fits || fragment % 4 ? int64_t(fragment) : fragment / 2;
    }
    if (registers < uint64_t(2 * fragment) + kRegisterSlack)
      return fragment % 4 == 0 ? fragment / 2 : int64_t(fragment);
    int64_t columns = fragment;
    if (columns % 4 == 0 && hasUniformIntegers(role))
      columns /= 2;
    while (columns % 4 == 0 && 4 * columns > fragment &&
           pressure.getRegisters(columns) + kRegisterSlack > registers)
      columns /= 2;
    return columns;
  }
};
} // namespace
