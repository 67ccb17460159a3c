//===- OutputCoverage.cpp - which elements of an output are written ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/OutputCoverage.h"
#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "fa4/Dialect/Tile/Analysis/TurnOrder.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// The result of a check of one output. An error has been emitted for Wrong,
/// and a remark for Unknown. If `tile.output` claims something that cannot be
/// proven, the result is Wrong.
enum class Coverage { Proven, Unknown, Wrong };

/// Elements [begin, end) of each dimension.
struct Box {
  SmallVector<int64_t> begin, end;

  bool isEmpty() const {
    return llvm::any_of(llvm::zip(begin, end), [](auto range) {
      return std::get<0>(range) >= std::get<1>(range);
    });
  }
  Box intersect(const Box &other) const {
    Box result = *this;
    for (size_t d = 0; d < begin.size(); ++d) {
      result.begin[d] = std::max(begin[d], other.begin[d]);
      result.end[d] = std::min(end[d], other.end[d]);
    }
    return result;
  }
  std::string str() const {
    std::string text = "[";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(llvm::zip(begin, end), os, [&](auto range) {
      os << std::get<0>(range) << ":" << std::get<1>(range);
    });
    return text + "]";
  }
};

/// An operation that writes elements of the output.
struct Store {
  Operation *op;
  ValueRange indices;
  /// Elements written in each dimension, from the index on.
  SmallVector<int64_t> extents;
  /// Loops around it that may make more passes than one, outermost first.
  SmallVector<scf::ForOp> loops;
  /// The operation around it that may leave it out, or null.
  Operation *condition = nullptr;
  /// If each CTA of a cluster writes a part of the tile: the number of the CTA
  /// in its cluster that this store belongs to.
  std::optional<int64_t> rank = std::nullopt;
};

/// The variable that steps through a dimension in blocks: a coordinate of the
/// work tile, or the induction variable of a loop.
struct Coordinate {
  unsigned atom;
  /// The loop of an induction variable; null for coordinate `axis` of the work
  /// tile.
  scf::ForOp loop;
  unsigned axis = 0;
  bool operator==(const Coordinate &other) const { return atom == other.atom; }
};

/// An index: `stride * coordinate + constant`, or just the constant.
struct Index {
  std::optional<Coordinate> coordinate;
  int64_t stride = 0, constant = 0;
};

/// The operations of a kernel that the check looks at.
struct Accesses {
  explicit Accesses(KernelOp kernel) {
    kernel.walk([&](Operation *op) {
      if (auto quotient = dyn_cast<arith::DivUIOp>(op);
          quotient && isNumberOfCluster(kernel, quotient))
        clusters.push_back(quotient);
      if (isa<LoadOp, StoreOp, ReduceAddOp, PutOp>(op))
        memory.push_back(op);
      else if (auto workTile = dyn_cast<WorkTileOp>(op))
        workTiles.push_back(workTile.getCoordinates());
      else if (auto work = dyn_cast<WorkOp>(op))
        workTiles.push_back(work.getCoordinates());
    });
  }
  SmallVector<Operation *> memory;
  /// For each tile.work_tile and tile.work: the coordinates that it gives.
  SmallVector<ValueRange> workTiles;
  /// The divisions that give the cluster's number along its axis.
  SmallVector<arith::DivUIOp> clusters;

private:
  static bool isNumberOfCluster(KernelOp kernel, arith::DivUIOp quotient) {
    ClusterAttr cluster = kernel.getClusterAttr();
    return cluster && getClusterNumberAxis(quotient, cluster.getSize()) ==
                          cluster.getAxis();
  }
};

class OutputCheck {
public:
  OutputCheck(KernelOp kernel, unsigned argument, const Accesses &accesses)
      : kernel(kernel), argument(argument), accesses(accesses),
        type(cast<MemRefType>(kernel.getArgument(argument).getType())),
        name(kernel.getArgName(argument)), counts(makeCounts()) {}

  Coverage run();

private:
  static ExecutionCounts makeCounts() {
    return ExecutionCounts(ExecutionCounts::Induction::Passes);
  }

  // What the kernel says.
  void collect();
  std::optional<Store> describe(Operation *op);
  void findContext(Store &store);
  void joinBranches();
  void findGrid();
  bool splitByRank();
  Polynomial getIndex(const Store &store, unsigned dim);
  std::optional<Index> readIndex(const Store &store, unsigned dim);
  Coverage readStores();

  // What follows from it.
  Coverage checkKinds();
  Coverage checkTurns();
  Coverage checkCoordinates();
  Coverage checkGridCoordinate(unsigned dim, const Coordinate &coordinate);
  Coverage checkLoopCoordinate(unsigned dim, const Coordinate &coordinate);
  Coverage checkUnused();
  Coverage checkBoxes();
  Coverage checkHoles(const Box &block, ArrayRef<Box> boxes);
  bool endsWith(scf::ForOp loop, unsigned dim, int64_t stride);

  Coverage wrong(Operation *op, const Twine &message) {
    op->emitError() << "output '" << name << "': " << message;
    return Coverage::Wrong;
  }
  /// Reports that something is not proven: as an error if `tile.output` claims
  /// it, as a remark otherwise.
  Coverage unknown(Operation *op, const Twine &message) {
    bool isClaimed = kernel.getOutputKind(argument).has_value();
    InFlightDiagnostic diagnostic =
        isClaimed ? op->emitError() : op->emitRemark();
    diagnostic << "output '" << name
               << "': not proven that each element is written once: "
               << message;
    return isClaimed ? Coverage::Wrong : Coverage::Unknown;
  }
  std::string dimText(unsigned dim) {
    return ("dimension " + Twine(dim) + " (" +
            kernel.getDimName(argument, dim) + ")")
        .str();
  }

  KernelOp kernel;
  unsigned argument;
  const Accesses &accesses;
  MemRefType type;
  StringRef name;
  ExecutionCounts counts;
  OutputKind kind = OutputKind::Once;
  SmallVector<Store> stores;
  SmallVector<Operation *> reads;
  /// Maps the atoms of the grid's coordinates to their axes. `zeroAtoms` are
  /// the atoms of coordinates that are always 0.
  llvm::DenseMap<unsigned, unsigned> axisOf;
  llvm::SmallDenseSet<unsigned> zeroAtoms;
  SmallVector<bool> isSingle;
  /// Maps the atom of a cluster's number to the atom of the coordinate from
  /// which the number is computed by a division.
  llvm::DenseMap<unsigned, unsigned> coordinateOf;
  /// For each store: its indices, one for each dimension.
  std::vector<SmallVector<Index>> indices;
};

} // namespace

//===----------------------------------------------------------------------===//
// What the kernel says
//===----------------------------------------------------------------------===//

/// Returns how many rows of the tile the threads of the role hold.
static int64_t countRows(PutOp op) {
  auto role = op->getParentOfType<RoleOp>();
  return role && role.getLayout()
             ? role.getLayout()->getNumRows(role.getNumThreads())
             : 1;
}

std::optional<Store> OutputCheck::describe(Operation *op) {
  auto tileStore = [&](auto store) {
    Store result{op,
                 store.getIndices(),
                 SmallVector<int64_t>(type.getRank(), 1),
                 {},
                 nullptr};
    VectorType tile = store.getTile().getType();
    for (auto [dim, size] : llvm::zip(store.getTileDims(), tile.getShape()))
      result.extents[dim] = size;
    return result;
  };
  Value output = kernel.getArgument(argument);
  return llvm::TypeSwitch<Operation *, std::optional<Store>>(op)
      .Case<StoreOp, ReduceAddOp>([&](auto store) -> std::optional<Store> {
        if (store.getDest() != output)
          return std::nullopt;
        return tileStore(store);
      })
      .Case([&](PutOp put) -> std::optional<Store> {
        if (put.getDest() != output)
          return std::nullopt;
        Store result{op,
                     put.getIndices(),
                     SmallVector<int64_t>(type.getRank(), 1),
                     {},
                     nullptr};
        result.extents[put.getDim()] = countRows(put);
        return result;
      })
      .Default(std::nullopt);
}

void OutputCheck::findContext(Store &store) {
  for (Operation *parent = store.op->getParentOp();
       !isa<RoleOp, KernelOp>(parent); parent = parent->getParentOp()) {
    // A loop over work tiles is no loop around the store: all CTAs together
    // visit each tile once.
    if (isa<WorkOp>(parent))
      continue;
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      store.condition = parent;
    else if (counts.getTripCount(loop) != ExecutionCounts::constant(1))
      store.loops.insert(store.loops.begin(), loop);
  }
}

void OutputCheck::collect() {
  for (Operation *op : accesses.memory) {
    if (std::optional<Store> store = describe(op)) {
      findContext(*store);
      stores.push_back(std::move(*store));
    } else if (auto load = dyn_cast<LoadOp>(op);
               load && load.getSource() == kernel.getArgument(argument)) {
      reads.push_back(op);
    }
  }
}

/// Joins equal stores in both branches of an `scf.if`: one of them always
/// happens, so neither is conditional.
void OutputCheck::joinBranches() {
  auto isSame = [&](const Store &a, const Store &b) {
    return a.extents == b.extents && a.loops == b.loops &&
           a.op->getName() == b.op->getName() &&
           llvm::all_of(llvm::zip(a.indices, b.indices), [&](auto pair) {
             return counts.getValue(std::get<0>(pair)) ==
                    counts.getValue(std::get<1>(pair));
           });
  };
  for (size_t i = 0; i < stores.size(); ++i) {
    auto branch = dyn_cast_or_null<scf::IfOp>(stores[i].condition);
    if (!branch || stores[i].op->getParentRegion() != &branch.getThenRegion())
      continue;
    auto *other = llvm::find_if(stores, [&](const Store &store) {
      return store.condition == branch &&
             store.op->getParentRegion() == &branch.getElseRegion() &&
             isSame(stores[i], store);
    });
    if (other == stores.end())
      continue;
    // The joined store is under the conditions around the `scf.if`.
    Store joined = stores[i];
    joined.op = branch;
    joined.loops.clear();
    joined.condition = nullptr;
    findContext(joined);
    joined.op = stores[i].op;
    stores[i] = joined;
    bool isBefore = other < &stores[i];
    stores.erase(other);
    i -= isBefore ? 1 : 0;
  }
}

void OutputCheck::findGrid() {
  isSingle.assign(kernel.getGrid().size(), false);
  for (ValueRange coordinates : accesses.workTiles)
    for (auto [axis, value] : llvm::enumerate(coordinates)) {
      Polynomial atom = counts.getValue(value);
      axisOf[atom.begin()->first.front()] = axis;
      auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
      int64_t size;
      if (extent.getSize().getAsInteger(10, size) || size > extent.getTile())
        continue;
      isSingle[axis] = true;
      zeroAtoms.insert(atom.begin()->first.front());
    }
}

/// Replaces each store by one for each CTA of a cluster, if its indices depend
/// on the CTA. Returns false if that is so for some stores and not for others.
bool OutputCheck::splitByRank() {
  for (arith::DivUIOp quotient : accesses.clusters)
    coordinateOf[counts.getValue(quotient).begin()->first.front()] =
        counts.getValue(quotient.getLhs()).begin()->first.front();
  auto dependsOnRank = [&](const Store &store) {
    return llvm::any_of(store.indices, [&](Value index) {
      return llvm::any_of(counts.getValue(index), [&](const auto &term) {
        return llvm::any_of(term.first, [&](unsigned atom) {
          return coordinateOf.contains(atom);
        });
      });
    });
  };
  if (!llvm::any_of(stores, dependsOnRank))
    return true;
  if (!llvm::all_of(stores, dependsOnRank))
    return false;
  SmallVector<Store> all;
  for (const Store &store : stores)
    for (int64_t rank = 0; rank < kernel.getClusterSize(); ++rank)
      all.emplace_back(store).rank = rank;
  stores = std::move(all);
  return true;
}

/// Returns the index of a store as a polynomial. For the store of one CTA of a
/// cluster, the coordinate is replaced: it is the number of the cluster times
/// the size of the cluster, plus the number of the CTA.
Polynomial OutputCheck::getIndex(const Store &store, unsigned dim) {
  Polynomial index = counts.getValue(store.indices[dim]);
  if (!store.rank)
    return index;
  for (auto [number, coordinate] : coordinateOf) {
    auto term = index.find({coordinate});
    if (term == index.end())
      continue;
    llvm::DynamicAPInt factor = term->second;
    Polynomial own;
    own[{coordinate}] = -factor;
    own[{number}] = factor * llvm::DynamicAPInt(kernel.getClusterSize());
    own[{}] = factor * llvm::DynamicAPInt(*store.rank);
    index = ExecutionCounts::add(index, own);
  }
  return index;
}

/// Reads the index in dimension `dim` as `stride * coordinate + constant`.
/// Returns nothing if the index has another form.
std::optional<Index> OutputCheck::readIndex(const Store &store, unsigned dim) {
  Index index;
  for (const auto &term : getIndex(store, dim)) {
    const std::vector<unsigned> &monomial = term.first;
    // The limit is far beyond any tensor, and small enough that sums of
    // coefficients do not overflow.
    constexpr int64_t limit = int64_t(1) << 40;
    if (term.second > limit || term.second < -limit)
      return std::nullopt;
    int64_t coefficient = static_cast<int64_t>(term.second);
    if (monomial.empty()) {
      index.constant = coefficient;
      continue;
    }
    if (llvm::any_of(monomial,
                     [&](unsigned atom) { return zeroAtoms.contains(atom); }))
      continue;
    if (monomial.size() != 1 || index.coordinate)
      return std::nullopt;
    index.stride = coefficient;
    if (auto axis = axisOf.find(monomial[0]); axis != axisOf.end()) {
      index.coordinate = Coordinate{monomial[0], {}, axis->second};
      continue;
    }
    const auto *loop = llvm::find_if(store.loops, [&](scf::ForOp loop) {
      return counts.getPass(loop).atom == monomial[0];
    });
    if (loop == store.loops.end())
      return std::nullopt;
    index.coordinate = Coordinate{monomial[0], *loop, 0};
  }
  return index;
}

Coverage OutputCheck::readStores() {
  for (const Store &store : stores) {
    SmallVector<Index> read;
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      std::optional<Index> index = readIndex(store, dim);
      if (!index)
        return unknown(store.op, "the index of " + dimText(dim) +
                                     " is no multiple of a coordinate of the "
                                     "work tile plus a constant");
      read.push_back(*index);
    }
    indices.push_back(std::move(read));
  }
  return Coverage::Proven;
}

//===----------------------------------------------------------------------===//
// Operations that write
//===----------------------------------------------------------------------===//

/// Checks that all writes to an output with turns are additions in turns.
/// Whether the turns are right is checked by verifyTurns.
Coverage OutputCheck::checkTurns() {
  for (const Store &store : stores) {
    auto add = dyn_cast<ReduceAddOp>(store.op);
    if (!add)
      return wrong(store.op, "is written by " +
                                 store.op->getName().getStringRef() +
                                 ", but work tiles take turns at adding to it");
    if (!add.getTurn())
      return wrong(store.op, "is added to without a turn (in_turn), so that "
                             "the sums depend on timing");
  }
  return Coverage::Proven;
}

Coverage OutputCheck::checkKinds() {
  auto adds = [](const Store &store) { return isa<ReduceAddOp>(store.op); };
  std::optional<OutputKind> said = kernel.getOutputKind(argument);
  kind = said.value_or(llvm::any_of(stores, adds) ? OutputKind::Accumulate
                                                  : OutputKind::Once);
  if (stores.empty())
    return said ? wrong(kernel, "no tile.store, tile.put or tile.reduce_add "
                                "writes it")
                : Coverage::Proven;
  if (kind == OutputKind::Partial)
    return Coverage::Proven;
  if (kind == OutputKind::Ordered)
    return checkTurns();
  for (const Store &store : stores)
    if (adds(store) != (kind == OutputKind::Accumulate))
      return wrong(store.op, "is written by " +
                                 store.op->getName().getStringRef() +
                                 (kind == OutputKind::Once
                                      ? ", but each element is to be written "
                                        "once"
                                      : ", but work tiles add to its elements "
                                        "(tile.reduce_add)"));
  if (!reads.empty())
    return wrong(reads.front(), "is read here, while other work tiles may be "
                                "writing it");
  return Coverage::Proven;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Returns true if two dimensions have equally many blocks of `tile` elements:
/// their sizes are equal, or one size is the other rounded up within its last
/// block.
static bool haveEqualBlocks(StringRef a, StringRef b, int64_t tile) {
  if (a == b)
    return true;
  auto x = getStaticSize(a), y = getStaticSize(b);
  if (x && y)
    return *x > 0 && *y > 0 &&
           llvm::divideCeil(*x, tile) == llvm::divideCeil(*y, tile);
  std::optional<AlignedSize> aligned = getAlignedSize(b);
  return aligned && aligned->name == a && tile % aligned->multiple == 0;
}

Coverage OutputCheck::checkGridCoordinate(unsigned dim,
                                          const Coordinate &coordinate) {
  auto extent = cast<ExtentAttr>(kernel.getGrid()[coordinate.axis]);
  StringRef size = kernel.getDimName(argument, dim);
  if (!haveEqualBlocks(extent.getSize(), size, extent.getTile()))
    return wrong(stores.front().op,
                 "the work tile's coordinate " + Twine(coordinate.axis) +
                     " counts along '" + extent.getSize() +
                     "', but selects elements of " + dimText(dim));
  int64_t stride = indices.front()[dim].stride;
  if (stride != extent.getTile())
    return wrong(stores.front().op, "work tiles begin " + Twine(stride) +
                                        " elements apart in " + dimText(dim) +
                                        ", but the grid has one for each " +
                                        Twine(extent.getTile()));
  return Coverage::Proven;
}

/// Returns true if the blocks of a loop that begins at 0 reach the end of the
/// dimension and go no whole block further. A block has `stride` elements.
bool OutputCheck::endsWith(scf::ForOp loop, unsigned dim, int64_t stride) {
  auto isSize = [&](Value value) {
    if (auto dimOp = value.getDefiningOp<memref::DimOp>())
      return getSizeName(dimOp) == kernel.getDimName(argument, dim);
    return !type.isDynamicDim(dim) &&
           counts.getValue(value) ==
               ExecutionCounts::constant(type.getDimSize(dim));
  };
  if (!counts.getValue(loop.getLowerBound()).empty())
    return false;
  Polynomial step = counts.getValue(loop.getStep());
  Value end = loop.getUpperBound();
  if (step == ExecutionCounts::constant(stride) && isSize(end))
    return true;
  auto divided = [&](auto op) {
    return op && isSize(op.getLhs()) &&
           counts.getValue(op.getRhs()) == ExecutionCounts::constant(stride);
  };
  return step == ExecutionCounts::constant(1) &&
         (divided(end.getDefiningOp<arith::CeilDivSIOp>()) ||
          divided(end.getDefiningOp<arith::CeilDivUIOp>()));
}

Coverage OutputCheck::checkLoopCoordinate(unsigned dim,
                                          const Coordinate &coordinate) {
  for (const Store &store : stores)
    if (store.loops != stores.front().loops)
      return unknown(store.op, "not all stores are in the same loops");
  if (kind == OutputKind::Once &&
      !endsWith(coordinate.loop, dim, indices.front()[dim].stride))
    return unknown(coordinate.loop, "the passes of this loop are not known to "
                                    "be the blocks of " +
                                        dimText(dim));
  return Coverage::Proven;
}

/// Checks the coordinates that select no elements.
Coverage OutputCheck::checkUnused() {
  auto isUsed = [&](auto matches) {
    return llvm::any_of(indices.front(), [&](const Index &index) {
      return index.coordinate && matches(*index.coordinate);
    });
  };
  for (size_t axis = 0; axis < isSingle.size(); ++axis)
    if (kind == OutputKind::Once && !isSingle[axis] &&
        !isUsed([&](const Coordinate &c) { return !c.loop && c.axis == axis; }))
      return wrong(stores.front().op, "work tiles that differ in coordinate " +
                                          Twine(axis) +
                                          " only write the same elements");
  for (const Store &store : stores)
    for (scf::ForOp loop : store.loops)
      if (!isUsed([&](const Coordinate &c) { return c.loop == loop; }))
        return unknown(store.op, "passes of the loop around the store write "
                                 "the same elements");
  return Coverage::Proven;
}

Coverage OutputCheck::checkCoordinates() {
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    const Index &first = indices.front()[dim];
    for (auto [store, index] : llvm::zip(stores, indices)) {
      if (first.coordinate == index[dim].coordinate &&
          first.stride == index[dim].stride)
        continue;
      store.op->emitError()
          << "output '" << name << "': stores select their elements of "
          << dimText(dim) << " by different coordinates";
      return Coverage::Wrong;
    }
    if (!first.coordinate)
      continue;
    for (unsigned other = 0; other < dim; ++other)
      if (indices.front()[other].coordinate == first.coordinate)
        return wrong(stores.front().op, "one coordinate selects elements of " +
                                            dimText(other) + " and of " +
                                            dimText(dim));
    Coverage coverage = first.coordinate->loop
                            ? checkLoopCoordinate(dim, *first.coordinate)
                            : checkGridCoordinate(dim, *first.coordinate);
    if (coverage != Coverage::Proven)
      return coverage;
  }
  return checkUnused();
}

//===----------------------------------------------------------------------===//
// Boxes in a block
//===----------------------------------------------------------------------===//

/// Appends to `left` the parts of `box` that are not in `taken`.
static void subtract(Box box, const Box &taken, SmallVectorImpl<Box> &left) {
  Box common = box.intersect(taken);
  if (common.isEmpty()) {
    left.push_back(std::move(box));
    return;
  }
  for (size_t d = 0; d < box.begin.size(); ++d) {
    Box below = box, above = box;
    below.end[d] = common.begin[d];
    above.begin[d] = common.end[d];
    for (Box &part : {std::ref(below), std::ref(above)})
      if (!part.isEmpty())
        left.push_back(part);
    box.begin[d] = common.begin[d];
    box.end[d] = common.end[d];
  }
}

Coverage OutputCheck::checkHoles(const Box &block, ArrayRef<Box> boxes) {
  SmallVector<Box> left = {block};
  for (const Box &box : boxes) {
    SmallVector<Box> next;
    for (Box &part : left)
      subtract(std::move(part), box, next);
    left = std::move(next);
  }
  if (left.empty())
    return Coverage::Proven;
  InFlightDiagnostic diagnostic =
      kernel.emitError() << "output '" << name << "': no store writes elements "
                         << left.front().str() << " of the " << block.str()
                         << " of each work tile";
  for (auto [store, box] : llvm::zip(stores, boxes))
    diagnostic.attachNote(store.op->getLoc())
        << "this store writes " << box.str();
  return Coverage::Wrong;
}

Coverage OutputCheck::checkBoxes() {
  Box block;
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    const Index &index = indices.front()[dim];
    if (!index.coordinate && type.isDynamicDim(dim))
      return wrong(stores.front().op,
                   "no coordinate of the work tile selects elements of " +
                       dimText(dim) + ", so that not all of them are written");
    block.begin.push_back(0);
    block.end.push_back(index.coordinate ? index.stride : type.getDimSize(dim));
  }
  SmallVector<Box> boxes;
  for (auto [store, index] : llvm::zip(stores, indices)) {
    Box box;
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      box.begin.push_back(index[dim].constant);
      box.end.push_back(index[dim].constant + store.extents[dim]);
      // Elements behind the end of the dimension are not written.
      if (!index[dim].coordinate)
        box.end.back() = std::min(box.end.back(), block.end[dim]);
    }
    Box inside = box.intersect(block);
    if (inside.begin != box.begin || inside.end != box.end)
      return wrong(store.op, "writes " + box.str() + ", not inside of the " +
                                 block.str() + " of its work tile");
    for (auto [earlier, other] : llvm::zip(stores, boxes)) {
      Box common = box.intersect(other);
      if (common.isEmpty())
        continue;
      InFlightDiagnostic diagnostic =
          store.op->emitError()
          << "output '" << name << "': elements " << common.str() << " of the "
          << block.str() << " of each work tile are written twice";
      diagnostic.attachNote(earlier.op->getLoc()) << "the other store";
      return Coverage::Wrong;
    }
    boxes.push_back(std::move(box));
  }
  return checkHoles(block, boxes);
}

/// Returns true if the store may leave out some elements of its tile that are
/// in bounds.
static bool leavesOut(Operation *store) {
  if (auto put = dyn_cast<PutOp>(store))
    return bool(put.getTo());
  auto matrix = dyn_cast<StoreOp>(store);
  return matrix && matrix.getTo();
}

Coverage OutputCheck::run() {
  collect();
  Coverage kinds = checkKinds();
  if (kinds != Coverage::Proven || stores.empty() ||
      kind == OutputKind::Partial || kind == OutputKind::Ordered)
    return kinds;
  joinBranches();
  for (const Store &store : stores)
    if (store.condition)
      return unknown(store.op, "the store may be left out");
  for (const Store &store : stores)
    if (leavesOut(store.op))
      return unknown(store.op, "rows at 'to' and behind are left out");
  findGrid();
  if (!splitByRank())
    return unknown(stores.front().op,
                   "some stores depend on the number of the CTA in its "
                   "cluster, and others do not");
  if (Coverage read = readStores(); read != Coverage::Proven)
    return read;
  Coverage coverage = checkCoordinates();
  return coverage == Coverage::Proven ? checkBoxes() : coverage;
}

LogicalResult fa4::tile::verifyOutputs(KernelOp kernel) {
  Accesses accesses(kernel);
  bool ok = true;
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (isa<MemRefType>(type))
      ok &= OutputCheck(kernel, argument, accesses).run() != Coverage::Wrong;
  return success(succeeded(verifyTurns(kernel)) && ok);
}
