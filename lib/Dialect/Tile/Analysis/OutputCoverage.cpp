//===- OutputCoverage.cpp - which elements of an output are written ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/OutputCoverage.h"
#include "OutputStores.h"
#include "fa4/Dialect/Tile/Analysis/TurnOrder.h"
#include "fa4/Support/NestedOps.h"

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

class OutputCheck {
public:
  OutputCheck(KernelOp kernel, unsigned argument,
              ArrayRef<Operation *> accesses, IndexForms &forms)
      : kernel(kernel), argument(argument),
        type(cast<MemRefType>(kernel.getArgument(argument).getType())),
        name(kernel.getArgName(argument)), forms(forms),
        all(kernel, argument, accesses, forms) {}

  Coverage run();

private:
  Coverage readStores();
  Coverage checkKinds();
  Coverage checkTurns();
  Coverage checkCoordinates();
  Coverage checkGridCoordinate(unsigned dim, const BlockCoordinate &coordinate);
  Coverage checkLoopCoordinate(unsigned dim, const BlockCoordinate &coordinate);
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
  MemRefType type;
  StringRef name;
  IndexForms &forms;
  OutputStores all;
  ArrayRef<OutputStore> stores;
  OutputKind kind = OutputKind::Once;
  /// For each store: its indices, one for each dimension.
  std::vector<SmallVector<BlockIndex>> indices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operations that write
//===----------------------------------------------------------------------===//

Coverage OutputCheck::readStores() {
  for (const OutputStore &store : stores) {
    SmallVector<BlockIndex> read;
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      std::optional<BlockIndex> index = all.readIndex(store, dim);
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

/// Checks that all writes to an output with turns are additions in turns.
/// Whether the turns are right is checked by verifyTurns.
Coverage OutputCheck::checkTurns() {
  for (const OutputStore &store : stores) {
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
  auto adds = [](const OutputStore &store) {
    return isa<ReduceAddOp>(store.op);
  };
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
  for (const OutputStore &store : stores)
    if (adds(store) != (kind == OutputKind::Accumulate))
      return wrong(store.op, "is written by " +
                                 store.op->getName().getStringRef() +
                                 (kind == OutputKind::Once
                                      ? ", but each element is to be written "
                                        "once"
                                      : ", but work tiles add to its elements "
                                        "(tile.reduce_add)"));
  if (!all.getReads().empty())
    return wrong(all.getReads().front(),
                 "is read here, while other work tiles may be "
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
  std::optional<DerivedSize> aligned = getAlignedSize(b);
  return aligned && aligned->name == a && tile % aligned->number == 0;
}

Coverage OutputCheck::checkGridCoordinate(unsigned dim,
                                          const BlockCoordinate &coordinate) {
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
  IndexForm size = forms.getSize(kernel.getDimName(argument, dim)),
            step = forms.get(loop.getStep()),
            upper = forms.get(loop.getUpperBound());
  if (!forms.get(loop.getLowerBound()).isZero())
    return false;
  if (step == stride && upper == size)
    return true;
  std::optional<unsigned> number = upper.getSymbol();
  if (step != 1 || !number)
    return false;
  const IndexSymbol &quotient = forms.getSymbol(*number);
  return quotient.kind == IndexSymbol::Kind::CeilDiv &&
         quotient.operands[0] == size && quotient.operands[1] == stride;
}

Coverage OutputCheck::checkLoopCoordinate(unsigned dim,
                                          const BlockCoordinate &coordinate) {
  for (const OutputStore &store : stores)
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
    return llvm::any_of(indices.front(), [&](const BlockIndex &index) {
      return index.coordinate && matches(*index.coordinate);
    });
  };
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis)
    if (kind == OutputKind::Once && !all.isSingle(axis) &&
        !isUsed([&](const BlockCoordinate &c) {
          return !c.loop && c.axis == axis;
        }))
      return wrong(stores.front().op, "work tiles that differ in coordinate " +
                                          Twine(axis) +
                                          " only write the same elements");
  for (const OutputStore &store : stores)
    for (scf::ForOp loop : store.loops)
      if (!isUsed([&](const BlockCoordinate &c) { return c.loop == loop; }))
        return unknown(store.op, "passes of the loop around the store write "
                                 "the same elements");
  return Coverage::Proven;
}

Coverage OutputCheck::checkCoordinates() {
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    const BlockIndex &first = indices.front()[dim];
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
    const BlockIndex &index = indices.front()[dim];
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
  stores = all.getStores();
  Coverage kinds = checkKinds();
  if (kinds != Coverage::Proven || stores.empty() ||
      kind == OutputKind::Partial || kind == OutputKind::Ordered)
    return kinds;
  if (kernel.getWorkCount() && kind == OutputKind::Once)
    return unknown(stores.front().op,
                   "'work_count' leaves out work tiles of the grid");
  all.joinBranches();
  stores = all.getStores();
  for (const OutputStore &store : stores)
    if (store.condition)
      return unknown(store.op, "the store may be left out");
  for (const OutputStore &store : stores)
    if (leavesOut(store.op))
      return unknown(store.op, "rows at 'to' and behind are left out");
  if (!all.splitByRank())
    return unknown(stores.front().op,
                   "some stores depend on the number of the CTA in its "
                   "cluster, and others do not");
  stores = all.getStores();
  if (Coverage read = readStores(); read != Coverage::Proven)
    return read;
  Coverage coverage = checkCoordinates();
  return coverage == Coverage::Proven ? checkBoxes() : coverage;
}

LogicalResult fa4::tile::verifyOutputs(KernelOp kernel) {
  IndexForms forms(IndexForms::Induction::Passes);
  SmallVector<Operation *> accesses =
      fa4::collectOps<LoadOp, StoreOp, ReduceAddOp, PutOp>(kernel);
  bool ok = true;
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (isa<MemRefType>(type))
      ok &= OutputCheck(kernel, argument, accesses, forms).run() !=
            Coverage::Wrong;
  return success(succeeded(verifyTurns(kernel)) && ok);
}
