//===- TurnExplorer.cpp - the turns of all work tiles, for small sizes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/TurnExplorer.h"
#include "fa4/Dialect/Tile/Analysis/ConcreteFolder.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::formatv;

using Numbers = std::vector<int64_t>;

namespace {

/// An element of a tensor of counts.
struct PlaceKey {
  unsigned argument;
  Numbers indices;
  bool operator<(const PlaceKey &other) const {
    return std::tie(argument, indices) <
           std::tie(other.argument, other.indices);
  }
  bool operator==(const PlaceKey &other) const {
    return argument == other.argument && indices == other.indices;
  }
};

/// What has been seen of a place.
struct Place {
  AwaitTurnOp op;
  int64_t passed = 0, first = 0, last = 0;
  /// Coordinates but for that by which turns go, and the number of the CTA in a
  /// cluster by which they go.
  Numbers others;
  std::map<int64_t, unsigned> visits;
};

/// A part of an `ordered` tensor that has been added to at a place.
struct Box {
  unsigned argument;
  Numbers begin, end;
  PlaceKey place;

  bool overlaps(const Box &other) const {
    if (argument != other.argument)
      return false;
    for (unsigned i = 0; i < begin.size(); ++i)
      if (begin[i] >= other.end[i] || other.begin[i] >= end[i])
        return false;
    return true;
  }
};

/// The end of a run: a finding, sizes that no launch has, or a number that
/// cannot be computed.
enum class Stop { No, Finding, InvalidSizes, Unknown };

/// All work tiles for one choice of sizes.
class TurnRun {
public:
  TurnRun(KernelOp kernel, const std::map<std::string, int64_t> &sizes,
          ConcreteFolder &folder)
      : kernel(kernel), sizes(sizes), folder(folder) {}

  Stop run();
  std::optional<ProtocolFinding> finding;
  uint64_t turns = 0;

private:
  Stop find(Operation *op, const Twine &message) {
    finding = ProtocolFinding{op, message.str(), {}, 0};
    return Stop::Finding;
  }
  std::string tileText() const {
    return "work tile (" +
           llvm::join(llvm::map_range(coordinates,
                                      [](auto x) { return std::to_string(x); }),
                      ", ") +
           ")";
  }
  static std::string text(const PlaceKey &key) {
    return "[" +
           llvm::join(llvm::map_range(key.indices,
                                      [](auto x) { return std::to_string(x); }),
                      ", ") +
           "]";
  }

  std::optional<int64_t> sizeNamed(StringRef name) const;
  Stop runTiles(int64_t axis);
  Stop runBlock(Block &block);
  Stop runLoop(scf::ForOp loop);
  Stop checkPlace(AwaitTurnOp op, const PlaceKey &key);
  Stop await(AwaitTurnOp op);
  Stop pass(PassTurnOp op);
  Stop add(ReduceAddOp op);
  Stop checkVisits();

  TypedAttr evaluate(Value value);
  TypedAttr compute(Value value);
  /// Computes numbers. On failure says why in `reason`.
  std::optional<int64_t> get(Value value);
  bool get(ValueRange values, Numbers &numbers);
  void set(Value value, int64_t number);

  KernelOp kernel;
  const std::map<std::string, int64_t> &sizes;
  ConcreteFolder &folder;
  Numbers coordinates;
  llvm::DenseMap<Value, TypedAttr> inputs, known;
  Stop reason = Stop::No;
  std::map<PlaceKey, Place> places;
  std::map<PlaceKey, PlaceKey> counters; ///< The place of each that is counted.
  llvm::DenseMap<Operation *, PlaceKey> open; ///< Turns that are being taken.
  std::vector<Box> boxes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::optional<int64_t> TurnRun::sizeNamed(StringRef name) const {
  if (std::optional<int64_t> size = getStaticSize(name))
    return size;
  if (std::optional<DerivedSize> aligned = getAlignedSize(name)) {
    std::optional<int64_t> size = sizeNamed(aligned->name);
    return size ? std::optional<int64_t>(llvm::alignTo(*size, aligned->number))
                : std::nullopt;
  }
  auto it = sizes.find(name.str());
  return it == sizes.end() ? std::nullopt : std::optional(it->second);
}

static TypedAttr makeNumber(Type type, int64_t number) {
  return IntegerAttr::get(ConcreteFolder::getNumberType(type), number);
}

TypedAttr TurnRun::compute(Value value) {
  reason = Stop::Unknown;
  if (isa<BlockArgument>(value))
    return {};
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (isa<WorkTileOp>(op))
    return makeNumber(value.getType(), coordinates[result.getResultNumber()]);
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto source = dyn_cast<BlockArgument>(dim.getSource());
    if (!source || !dim.getConstantIndex())
      return {};
    std::optional<int64_t> size = sizeNamed(
        kernel.getDimName(source.getArgNumber(), *dim.getConstantIndex()));
    return size ? makeNumber(value.getType(), *size) : TypedAttr();
  }
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return {};
  SmallVector<TypedAttr> operands;
  for (Value operand : op->getOperands()) {
    if (!ConcreteFolder::getNumberType(operand.getType()))
      return {};
    operands.push_back(evaluate(operand));
    if (!operands.back())
      return {};
  }
  reason = folder.isInteger(op) ? Stop::InvalidSizes : Stop::Unknown;
  return folder.fold(result, operands);
}

TypedAttr TurnRun::evaluate(Value value) {
  if (TypedAttr input = inputs.lookup(value))
    return input;
  if (TypedAttr number = known.lookup(value))
    return number;
  TypedAttr number = compute(value);
  if (number)
    known[value] = number;
  return number;
}

std::optional<int64_t> TurnRun::get(Value value) {
  auto number = dyn_cast_or_null<IntegerAttr>(evaluate(value));
  return number ? std::optional(number.getValue().getSExtValue())
                : std::nullopt;
}

bool TurnRun::get(ValueRange values, Numbers &numbers) {
  for (Value value : values) {
    std::optional<int64_t> number = get(value);
    if (!number)
      return false;
    numbers.push_back(*number);
  }
  return true;
}

void TurnRun::set(Value value, int64_t number) {
  inputs[value] = makeNumber(value.getType(), number);
  known.clear();
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

/// Whether all parts of a place are in the tensor that counts turns.
Stop TurnRun::checkPlace(AwaitTurnOp op, const PlaceKey &key) {
  for (auto [dim, index] : llvm::enumerate(key.indices)) {
    std::optional<int64_t> size =
        sizeNamed(kernel.getDimName(key.argument, dim));
    if (!size)
      return Stop::Unknown;
    bool isLast = dim + 1 == key.indices.size();
    if (index < 0 || index + (isLast ? int64_t(op.getParts()) - 1 : 0) >= *size)
      return find(op, tileText() + " takes a turn at " + text(key) +
                          ", which is outside of the tensor that counts turns");
  }
  return Stop::No;
}

Stop TurnRun::await(AwaitTurnOp op) {
  PlaceKey key{cast<BlockArgument>(op.getTurns()).getArgNumber(), {}};
  Numbers who;
  if (!get(op.getIndices(), key.indices) ||
      !get({op.getTile(), op.getFirst(), op.getLast()}, who))
    return reason;
  int64_t tile = who[0], first = who[1], last = who[2];
  if (Stop stop = checkPlace(op, key); stop != Stop::No)
    return stop;
  unsigned axis = op.getAxis();
  OrderAttr order = kernel.getOrderAttr();
  if (order && order.getAxis() != axis)
    return find(op, "takes turns along another axis of the grid than that of "
                    "the order of work tiles");
  // CTAs with different numbers in their clusters do not meet.
  Numbers others = coordinates;
  ClusterAttr cluster = kernel.getClusterAttr();
  if (cluster && cluster.getAxis() == axis)
    others[axis] %= cluster.getSize();
  else
    others.erase(others.begin() + axis);
  for (PlaceKey counter = key;
       counter.indices.back() < key.indices.back() + int64_t(op.getParts());
       ++counter.indices.back())
    if (!(counters.try_emplace(counter, key).first->second == key))
      return find(op, tileText() + " counts a part of its turn at " +
                          text(counter) + ", where another place counts one");
  auto [it, isNew] = places.try_emplace(key);
  Place &place = it->second;
  if (isNew) {
    place.op = op;
    place.first = first;
    place.last = last;
    place.others = others;
  }
  if (place.op != op || place.first != first || place.last != last ||
      place.others != others)
    return find(op, tileText() +
                        " does not agree with one before it on who "
                        "takes turns at " +
                        text(key));
  bool isDescending = order && order.getDescending();
  int64_t turn = isDescending ? last - tile : tile - first;
  if (turn != place.passed)
    return find(
        op, tileText() +
                formatv(" waits forever for turn {0} at ", turn).str() +
                text(key) +
                formatv(": work tiles before it pass {0}", place.passed).str());
  ++place.visits[tile];
  ++turns;
  open[op] = key;
  return Stop::No;
}

Stop TurnRun::pass(PassTurnOp op) {
  auto await = op.getTurn().getDefiningOp<AwaitTurnOp>();
  auto it = open.find(await);
  if (!await || it == open.end())
    return find(op, tileText() + " passes on a turn that it has not taken");
  ++places[it->second].passed;
  open.erase(it);
  return Stop::No;
}

Stop TurnRun::add(ReduceAddOp op) {
  auto dest = dyn_cast<BlockArgument>(op.getDest());
  if (!dest || kernel.getOutputKind(dest.getArgNumber()) != OutputKind::Ordered)
    return Stop::No;
  Operation *await = op.getTurn() ? op.getTurn().getDefiningOp() : nullptr;
  auto it = open.find(await);
  if (it == open.end())
    return find(op, tileText() + " adds without a turn");
  Box box{dest.getArgNumber(), {}, {}, it->second};
  auto turn = cast<AwaitTurnOp>(await);
  SmallVector<Operation *> parts = turn.getAdditions();
  if (turn.getParts() > 1)
    box.place.indices.back() +=
        llvm::find(parts, op.getOperation()) - parts.begin();
  if (!get(op.getIndices(), box.begin))
    return reason;
  box.end = box.begin;
  for (int64_t &end : box.end)
    ++end;
  ArrayRef<int64_t> shape = cast<VectorType>(op.getTile().getType()).getShape();
  for (auto [dim, size] : llvm::zip(op.getTileDims(), shape))
    box.end[dim] = box.begin[dim] + size;
  for (const Box &other : boxes)
    if (box.overlaps(other) && !(box.place == other.place))
      return find(op, tileText() + " adds in turn at " + text(box.place) +
                          " to what others add to in turn at " +
                          text(other.place));
  boxes.push_back(std::move(box));
  return Stop::No;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Whether turns, or sums, are in a region of the operation.
static bool hasEvents(Operation *op) {
  return op
      ->walk([](Operation *each) {
        return isa<AwaitTurnOp, PassTurnOp, ReduceAddOp>(each)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

Stop TurnRun::runLoop(scf::ForOp loop) {
  Numbers bounds;
  if (!get({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
           bounds))
    return reason;
  if (bounds[2] <= 0)
    return Stop::Unknown;
  for (int64_t i = bounds[0]; i < bounds[1]; i += bounds[2]) {
    set(loop.getInductionVar(), i);
    if (Stop stop = runBlock(*loop.getBody()); stop != Stop::No)
      return stop;
  }
  return Stop::No;
}

Stop TurnRun::runBlock(Block &block) {
  for (Operation &op : block) {
    Stop stop = Stop::No;
    if (auto turn = dyn_cast<AwaitTurnOp>(op)) {
      stop = await(turn);
    } else if (auto turn = dyn_cast<PassTurnOp>(op)) {
      stop = pass(turn);
    } else if (auto sum = dyn_cast<ReduceAddOp>(op)) {
      stop = add(sum);
    } else if (op.getNumRegions() == 0 || !hasEvents(&op)) {
      continue;
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      stop = runLoop(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      std::optional<int64_t> truth = get(branch.getCondition());
      if (!truth)
        return reason;
      Region &region = *truth ? branch.getThenRegion() : branch.getElseRegion();
      if (!region.empty())
        stop = runBlock(region.front());
    } else if (isa<RoleOp, WorkOp>(op)) {
      // Each pass of a tile.work is a work tile of its own.
      if (isa<WorkOp>(op))
        for (auto [argument, number] :
             llvm::zip(op.getRegion(0).getArguments(), coordinates))
          set(argument, number);
      stop = runBlock(op.getRegion(0).front());
    } else {
      return Stop::Unknown;
    }
    if (stop != Stop::No)
      return stop;
  }
  return Stop::No;
}

Stop TurnRun::checkVisits() {
  for (auto &[key, place] : places) {
    for (int64_t tile = place.first; tile <= place.last; ++tile)
      if (place.visits[tile] != 1)
        return find(
            place.op,
            formatv("work tile {0} takes turns at ", tile).str() + text(key) +
                formatv(", but comes there {0} times", place.visits[tile])
                    .str());
    if (int64_t(place.visits.size()) != place.last - place.first + 1)
      return find(place.op,
                  "a work tile comes to " + text(key) +
                      " that is not one of those that take turns there");
  }
  return Stop::No;
}

/// Runs the work tiles along `axis`, of which the first one may have the
/// largest coordinate. Clusters are worked on one after another, all CTAs of
/// each, even if one has no work tile.
Stop TurnRun::runTiles(int64_t axis) {
  auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
  std::optional<int64_t> size = sizeNamed(extent.getSize());
  if (!size)
    return Stop::Unknown;
  ClusterAttr cluster = kernel.getClusterAttr();
  int64_t ctas = cluster && cluster.getAxis() == axis ? cluster.getSize() : 1;
  int64_t clusters = llvm::divideCeil(*size, extent.getTile() * ctas);
  OrderAttr order = kernel.getOrderAttr();
  bool isDescending = order && order.getAxis() == axis && order.getDescending();
  for (int64_t i = 0; i < clusters * ctas; ++i) {
    int64_t number = i / ctas;
    coordinates[axis] =
        (isDescending ? clusters - 1 - number : number) * ctas + i % ctas;
    Stop stop = Stop::No;
    if (axis != 0) {
      stop = runTiles(axis - 1);
    } else {
      known.clear();
      stop = runBlock(kernel.getBody().front());
      if (stop == Stop::No && !open.empty())
        stop = find(open.begin()->first, tileText() + " keeps its turn");
    }
    if (stop != Stop::No)
      return stop;
  }
  return Stop::No;
}

Stop TurnRun::run() {
  coordinates.assign(kernel.getGrid().size(), 0);
  Stop stop = runTiles(coordinates.size() - 1);
  return stop == Stop::No ? checkVisits() : stop;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The names of sizes that are not known, and whether it is rows that they
/// count, of which there are several blocks.
static std::map<std::string, bool> collectSizes(KernelOp kernel,
                                                int64_t &tile) {
  std::map<std::string, bool> sizes;
  auto add = [&](StringRef name, bool countsRows) {
    if (std::optional<DerivedSize> aligned = getAlignedSize(name))
      name = aligned->name;
    if (!getStaticSize(name))
      sizes[name.str()] |= countsRows;
  };
  for (auto extent : kernel.getGrid().getAsRange<ExtentAttr>()) {
    tile = std::max(tile, extent.getTile());
    add(extent.getSize(), extent.getTile() > 1);
  }
  kernel->walk([&](Operation *op) {
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      auto source = dyn_cast<BlockArgument>(dim.getSource());
      if (source && dim.getConstantIndex())
        add(kernel.getDimName(source.getArgNumber(), *dim.getConstantIndex()),
            false);
    } else if (auto sum = dyn_cast<ReduceAddOp>(op)) {
      auto dest = dyn_cast<BlockArgument>(sum.getDest());
      for (int64_t dim : sum.getTileDims())
        if (dest)
          add(kernel.getDimName(dest.getArgNumber(), dim), true);
    }
  });
  return sizes;
}

std::optional<ProtocolFinding>
fa4::tile::exploreTurns(KernelOp kernel, TurnStatistics &statistics) {
  bool hasTurns = hasEvents(kernel);
  if (!hasTurns)
    return std::nullopt;
  if (kernel.getScheduleOrGrid() == Schedule::Requested) {
    WalkResult result =
        kernel.walk([](AwaitTurnOp) { return WalkResult::interrupt(); });
    if (!result.wasInterrupted())
      return std::nullopt;
    return ProtocolFinding{kernel,
                           "work tiles take turns, but the hardware "
                           "hands them out in an order of its own",
                           {},
                           0};
  }
  int64_t tile = 1;
  std::map<std::string, bool> names = collectSizes(kernel, tile);
  Numbers few = {1, 2}, rows = {1, tile, tile + 1, 3 * tile - 1};
  ConcreteFolder folder;
  std::vector<unsigned> chosen(names.size(), 0);
  while (true) {
    std::map<std::string, int64_t> sizes;
    std::string described;
    for (auto [entry, choice] : llvm::zip(names, chosen)) {
      int64_t size = (entry.second ? rows : few)[choice];
      sizes[entry.first] = size;
      described += (described.empty() ? "" : ", ") + entry.first + " = " +
                   std::to_string(size);
    }
    TurnRun run(kernel, sizes, folder);
    Stop stop = run.run();
    ++statistics.cases;
    statistics.turns += run.turns;
    statistics.gaveUp |= stop == Stop::Unknown;
    if (stop == Stop::Finding) {
      run.finding->message += " (" + described + ")";
      return run.finding;
    }
    // The next choice, as a number whose digits have different bases.
    unsigned digit = 0;
    for (; digit < chosen.size(); ++digit) {
      bool countsRows = std::next(names.begin(), digit)->second;
      if (++chosen[digit] < (countsRows ? rows : few).size())
        break;
      chosen[digit] = 0;
    }
    if (digit == chosen.size())
      return std::nullopt;
  }
}
