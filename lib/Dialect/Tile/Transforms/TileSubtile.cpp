//===- TileSubtile.cpp - MMAs of the target's rows ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of values that an operation relates to each other form a class:
// the rows of an MMA's A and of its result, for example, or the rows of a
// matrix and the elements of the vector that is broadcast to it. A class is cut
// as a whole. Each operation is repeated once for each combination of parts of
// the classes that it touches.
//
//===----------------------------------------------------------------------===//

#include "StructuredRewrite.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESUBTILE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Classes of dimensions
//===----------------------------------------------------------------------===//

namespace {
class Dimensions {
public:
  void addBlock(Block &block) {
    for (Operation &op : block)
      addOp(&op);
  }

  /// Returns the number of the class of dimension `dim` of `value`. The whole
  /// kernel must have been added before.
  unsigned classOf(Value value, unsigned dim) {
    return classes.getLeaderValue(number(value, dim));
  }
  /// Returns the classes of the dimensions of `value`; none if it is no vector.
  SmallVector<unsigned> classesOf(Value value);
  /// Returns an operation that cannot be repeated for parts of the class, or
  /// null.
  Operation *lockOf(unsigned leader);

private:
  using Key = std::pair<Value, unsigned>;

  unsigned number(Value value, unsigned dim) {
    auto [it, isNew] =
        numbers.try_emplace(Key(value, dim), unsigned(numbers.size()));
    if (isNew)
      classes.insert(it->second);
    return it->second;
  }
  void join(Value x, unsigned xDim, Value y, unsigned yDim) {
    classes.unionSets(number(x, xDim), number(y, yDim));
  }
  void joinAll(Value x, Value y);
  void lock(Value value, Operation *op);
  void lockOperandsAndResults(Operation *op);
  void addOp(Operation *op);
  void add(MmaOp op);
  void add(RescaleOp op) {
    joinAll(op.getValue(), op.getResult());
    join(op.getFactor(), 0, op.getResult(), 0);
  }
  void add(vector::MultiDimReductionOp op);
  void add(vector::BroadcastOp op);
  void add(vector::ShapeCastOp op);
  void add(vector::ExtractStridedSliceOp op);
  void addElementwise(Operation *op);
  void addRegions(Operation *op);

  DenseMap<Key, unsigned> numbers;
  llvm::EquivalenceClasses<unsigned> classes;
  SmallVector<std::pair<unsigned, Operation *>> locks;
};
} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

SmallVector<unsigned> Dimensions::classesOf(Value value) {
  SmallVector<unsigned> result;
  for (unsigned dim = 0; dim < shapeOf(value).size(); ++dim)
    result.push_back(classOf(value, dim));
  return result;
}

Operation *Dimensions::lockOf(unsigned leader) {
  for (auto [number, op] : locks)
    if (classes.getLeaderValue(number) == leader)
      return op;
  return nullptr;
}

void Dimensions::joinAll(Value x, Value y) {
  for (unsigned dim = 0; dim < shapeOf(x).size(); ++dim)
    join(x, dim, y, dim);
}

void Dimensions::lock(Value value, Operation *op) {
  for (unsigned dim = 0; dim < shapeOf(value).size(); ++dim)
    locks.push_back({number(value, dim), op});
}

void Dimensions::lockOperandsAndResults(Operation *op) {
  for (Value operand : op->getOperands())
    lock(operand, op);
  for (Value result : op->getResults())
    lock(result, op);
}

void Dimensions::add(MmaOp op) {
  unsigned aRows = op.getTransposeA() ? 1 : 0;
  unsigned bRows = op.getTransposeB() ? 1 : 0;
  join(op.getA(), aRows, op.getResult(), 0);
  join(op.getB(), 1 - bRows, op.getResult(), 1);
  join(op.getA(), 1 - aRows, op.getB(), bRows);
  if (op.getAcc())
    joinAll(op.getAcc(), op.getResult());
}

void Dimensions::add(vector::MultiDimReductionOp op) {
  unsigned kept = 0;
  for (auto [dim, reduced] : llvm::enumerate(op.getReductionMask()))
    if (!reduced)
      join(op.getSource(), dim, op.getDest(), kept++);
  joinAll(op.getAcc(), op.getDest());
}

void Dimensions::add(vector::BroadcastOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getSource()),
                    to = shapeOf(op.getVector());
  unsigned added = to.size() - from.size();
  for (unsigned dim = 0; dim < from.size(); ++dim)
    if (from[dim] == to[added + dim])
      join(op.getSource(), dim, op.getVector(), added + dim);
}

/// Joins the dimensions of a shape cast, which may only add or remove
/// dimensions of size 1.
void Dimensions::add(vector::ShapeCastOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getSource()),
                    to = shapeOf(op.getResult());
  auto longDims = [](ArrayRef<int64_t> shape) {
    return llvm::filter_to_vector(
        llvm::seq<unsigned>(shape.size()),
        [&](unsigned dim) { return shape[dim] != 1; });
  };
  SmallVector<unsigned> fromDims = longDims(from), toDims = longDims(to);
  if (fromDims.size() != toDims.size())
    return lockOperandsAndResults(op);
  for (auto [x, y] : llvm::zip(fromDims, toDims))
    if (from[x] != to[y])
      return lockOperandsAndResults(op);
  for (auto [x, y] : llvm::zip(fromDims, toDims))
    join(op.getSource(), x, op.getResult(), y);
}

/// Joins the dimensions that a slice takes whole. The others cannot be cut.
void Dimensions::add(vector::ExtractStridedSliceOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getSource()),
                    to = shapeOf(op.getResult());
  for (auto [dim, source, result] : llvm::enumerate(from, to)) {
    if (source == result) {
      join(op.getSource(), dim, op.getResult(), dim);
      continue;
    }
    locks.push_back({number(op.getSource(), dim), op});
    locks.push_back({number(op.getResult(), dim), op});
  }
}

void Dimensions::addElementwise(Operation *op) {
  Value result = op->getResult(0);
  auto joinVector = [&](Value value) {
    if (isa<VectorType>(value.getType()))
      joinAll(value, result);
  };
  llvm::for_each(op->getOperands(), joinVector);
  llvm::for_each(op->getResults(), joinVector);
  // The operation's attribute names columns, so the columns cannot be cut.
  if (auto exp2 = dyn_cast<Exp2Op>(op))
    locks.push_back(
        {number(result, exp2.getResult().getType().getRank() - 1), op});
}

/// Adds a loop or a branch, which hand values on to their bodies' arguments and
/// to their results.
void Dimensions::addRegions(Operation *op) {
  auto joinNames = [&](Value value) {
    for (Value name : getPreviousValues(value, FlowThrough::Regions))
      joinAll(name, value);
  };
  llvm::for_each(op->getResults(), joinNames);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      llvm::for_each(block.getArguments(), joinNames);
      addBlock(block);
    }
}

void Dimensions::addOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<MmaOp, RescaleOp, vector::MultiDimReductionOp, vector::BroadcastOp,
            vector::ShapeCastOp, vector::ExtractStridedSliceOp>(
          [&](auto op) { add(op); })
      .Case<scf::ForOp, scf::IfOp>([&](auto op) { addRegions(op); })
      // A part of such an operation differs only in its position.
      .Case<LoadOp, LoadRowsOp, StoreOp, ReduceAddOp, vector::StepOp,
            scf::YieldOp>([](auto) {})
      .Default([&](Operation *op) {
        SplatElementsAttr splat;
        if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults())
          addElementwise(op);
        else if (!matchPattern(op, m_Constant(&splat)))
          op->walk([&](Operation *nested) { lockOperandsAndResults(nested); });
      });
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {
/// Maps each class that is cut to its number of parts.
using PartCounts = llvm::SmallMapVector<unsigned, int64_t, 4>;
/// Chooses one part of each of some classes.
using Choice = llvm::SmallMapVector<unsigned, int64_t, 4>;

class Splitter : public StructuredRewrite {
public:
  Splitter(KernelOp kernel, Dimensions &dimensions, const PartCounts &counts)
      : kernel(kernel), dimensions(dimensions), counts(counts) {}

  void run();

private:
  void appendTypes(Value tile, SmallVectorImpl<Type> &types) override {
    types.append(isOfChosen(tile) ? 1 : countParts(tile), partType(tile));
  }
  void appendValues(Value tile, Value target, OpBuilder &b,
                    SmallVectorImpl<Value> &values) override;
  void setValues(Value tile, ValueRange values) override;
  LogicalResult lower(Operation &op, OpBuilder &b) override;

  /// Returns the classes of those dimensions of `value` that are cut, in the
  /// order of the dimensions.
  SmallVector<unsigned> cutClasses(Value value) {
    SmallVector<unsigned> classes = dimensions.classesOf(value);
    llvm::erase_if(classes, [&](unsigned id) { return !counts.contains(id); });
    return classes;
  }
  int64_t countParts(Value value);
  Type partType(Value value);
  /// Returns the part of `value` for `choice`, or the whole value if none of
  /// its dimensions is cut.
  Value part(Value value, const Choice &choice);
  /// Returns true for a result of the branch that is built for one choice.
  bool isOfChosen(Value value) const {
    return chosenBranch && value.getDefiningOp() == chosenBranch;
  }
  /// Calls `visit` for each choice of parts of `classes`; the last class varies
  /// fastest.
  void forEachChoice(ArrayRef<unsigned> classes, const Choice &outer,
                     function_ref<void(const Choice &)> visit);

  void split(Operation *op, OpBuilder &b);
  LogicalResult split(scf::IfOp op, OpBuilder &b);
  /// Copies `op` for one choice. If the copy is a later part of a sum, `sum` is
  /// the partial result so far, else null.
  Operation *makePart(Operation *op, const Choice &choice, Value sum,
                      OpBuilder &b);
  void setIndices(Operation *copy, Operation *op, const Choice &choice);
  Operation *makeStep(vector::StepOp op, const Choice &choice, OpBuilder &b);

  KernelOp kernel;
  Dimensions &dimensions;
  const PartCounts &counts;
  /// All parts of a value, ordered by the first cut dimension, then the next.
  DenseMap<Value, SmallVector<Value>> parts;
  /// A branch that is built once for each choice, and the choice.
  Operation *chosenBranch = nullptr;
  Choice chosen;
};
} // namespace

int64_t Splitter::countParts(Value value) {
  int64_t count = 1;
  for (unsigned id : cutClasses(value))
    count *= counts.lookup(id);
  return count;
}

Type Splitter::partType(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return value.getType();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, id] : llvm::zip(shape, dimensions.classesOf(value)))
    if (counts.contains(id))
      size /= counts.lookup(id);
  return VectorType::get(shape, type.getElementType());
}

Value Splitter::part(Value value, const Choice &choice) {
  SmallVector<unsigned> classes = cutClasses(value);
  if (classes.empty())
    return scalars.lookupOrDefault(value);
  int64_t index = 0;
  for (unsigned id : classes)
    index = index * counts.lookup(id) + choice.lookup(id);
  return parts.at(value)[index];
}

void Splitter::appendValues(Value tile, Value target, OpBuilder &b,
                            SmallVectorImpl<Value> &values) {
  if (isOfChosen(target) || cutClasses(tile).empty())
    values.push_back(part(tile, chosen));
  else
    llvm::append_range(values, parts.at(tile));
}

void Splitter::setValues(Value tile, ValueRange values) {
  if (cutClasses(tile).empty())
    scalars.map(tile, values.front());
  else if (isOfChosen(tile))
    parts[tile].push_back(values.front());
  else
    parts[tile] = llvm::to_vector(values);
}

void Splitter::forEachChoice(ArrayRef<unsigned> classes, const Choice &outer,
                             function_ref<void(const Choice &)> visit) {
  if (classes.empty())
    return visit(outer);
  Choice choice = outer;
  for (int64_t i = 0; i < counts.lookup(classes.front()); ++i) {
    choice[classes.front()] = i;
    forEachChoice(classes.drop_front(), choice, visit);
  }
}

/// Adjusts the indices of a copy: along cut dimensions, a part begins at
/// another index.
void Splitter::setIndices(Operation *copy, Operation *op,
                          const Choice &choice) {
  OpBuilder b(copy);
  auto shift = [&](auto memoryOp, Value tile) {
    MutableOperandRange indices = memoryOp.getIndicesMutable();
    SmallVector<unsigned> classes = dimensions.classesOf(tile);
    for (auto [id, size, dim] :
         llvm::zip(classes, shapeOf(tile), memoryOp.getTileDims())) {
      int64_t number = choice.lookup(id);
      if (number == 0)
        continue;
      int64_t rows = number * (size / counts.lookup(id));
      if (auto load = dyn_cast<LoadOp>(op);
          load && dim == load.getTileDims().front())
        rows /= load.getInnerRows();
      Value offset = arith::ConstantIndexOp::create(b, op->getLoc(), rows);
      OpOperand &index = indices[dim];
      index.set(arith::AddIOp::create(b, op->getLoc(), index.get(), offset));
    }
  };
  llvm::TypeSwitch<Operation *>(copy)
      .Case<LoadOp, LoadRowsOp>(
          [&](auto load) { shift(load, op->getResult(0)); })
      .Case<StoreOp, ReduceAddOp>(
          [&](auto store) { shift(store, op->getOperand(0)); });
}

Operation *Splitter::makeStep(vector::StepOp op, const Choice &choice,
                              OpBuilder &b) {
  auto type = cast<VectorType>(partType(op));
  Operation *step = vector::StepOp::create(b, op.getLoc(), type);
  int64_t number = choice.lookup(dimensions.classOf(op, 0));
  if (number == 0)
    return step;
  auto offset = DenseElementsAttr::get(
      type, b.getIndexAttr(number * type.getNumElements()));
  return arith::AddIOp::create(
      b, op.getLoc(), step->getResult(0),
      arith::ConstantOp::create(b, op.getLoc(), offset));
}

Operation *Splitter::makePart(Operation *op, const Choice &choice, Value sum,
                              OpBuilder &b) {
  if (auto step = dyn_cast<vector::StepOp>(op))
    return makeStep(step, choice, b);
  Operation *copy = b.insert(op->cloneWithoutRegions());
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(part(operand.get(), choice));
  for (auto [result, original] :
       llvm::zip(copy->getResults(), op->getResults()))
    result.setType(partType(original));
  if (auto constant = dyn_cast<arith::ConstantOp>(copy)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    constant.setValueAttr(
        splat.resizeSplat(cast<ShapedType>(constant.getType())));
  }
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(copy))
    slice.setSizesAttr(b.getI64ArrayAttr(slice.getType().getShape()));
  setIndices(copy, op, choice);
  if (!sum)
    return copy;
  if (auto mma = dyn_cast<MmaOp>(copy)) {
    mma.getAccMutable().assign(sum);
    mma.getAccumulateMutable().clear();
  } else {
    cast<vector::MultiDimReductionOp>(copy).getAccMutable().assign(sum);
  }
  return copy;
}

/// Splits an operation without control flow.
void Splitter::split(Operation *op, OpBuilder &b) {
  llvm::SmallSetVector<unsigned, 4> kept, summed;
  for (Value result : op->getResults())
    kept.insert_range(cutClasses(result));
  for (Value operand : op->getOperands())
    for (unsigned id : cutClasses(operand))
      if (!kept.contains(id))
        summed.insert(id);
  if (kept.empty() && summed.empty()) {
    b.clone(*op, scalars);
    return;
  }
  SmallVector<SmallVector<Value>> results(op->getNumResults());
  forEachChoice(kept.getArrayRef(), {}, [&](const Choice &outer) {
    Operation *last = nullptr;
    forEachChoice(summed.getArrayRef(), outer, [&](const Choice &choice) {
      bool isLater = last && last->getNumResults() > 0;
      last = makePart(op, choice, isLater ? last->getResult(0) : Value(), b);
    });
    for (auto [list, result] : llvm::zip(results, last->getResults()))
      list.push_back(result);
  });
  for (auto [list, result] : llvm::zip(results, op->getResults()))
    setValues(result, list);
}

/// Splits a branch. Each part gets a branch of its own if there are no side
/// effects and each result has the same parts. The work for one part then does
/// not wait for another part's.
LogicalResult Splitter::split(scf::IfOp op, OpBuilder &b) {
  llvm::SmallSetVector<unsigned, 4> kept;
  for (Value result : op.getResults())
    kept.insert_range(cutClasses(result));
  bool isUniform = !kept.empty() && isMemoryEffectFree(op) &&
                   llvm::all_of(op.getResults(), [&](Value result) {
                     return cutClasses(result).size() == kept.size();
                   });
  if (!isUniform)
    return rebuild(op, b);
  for (Value result : op.getResults())
    parts[result].clear();
  LogicalResult result = success();
  llvm::SaveAndRestore outerBranch(chosenBranch, op.getOperation());
  llvm::SaveAndRestore outerChoice(chosen);
  forEachChoice(kept.getArrayRef(), {}, [&](const Choice &choice) {
    chosenBranch = op;
    chosen = choice;
    result = failure(failed(result) || failed(rebuild(op, b)));
  });
  return result;
}

LogicalResult Splitter::lower(Operation &op, OpBuilder &b) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return rebuild(loop, b);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return split(branch, b);
  split(&op, b);
  return success();
}

void Splitter::run() {
  if (failed(rebuildBody(kernel.getBody())))
    llvm_unreachable("each operation can be split: see checkCuts");
  // Some operations were copied for each part but are the same: they are
  // merged. Operations that a part's branch does not use are removed.
  IRRewriter rewriter(kernel.getContext());
  (void)runRegionDCE(rewriter, kernel->getRegions());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Finds the classes to be cut, and for each the MMA that is the reason.
static LogicalResult findOversizeRows(KernelOp kernel, Dimensions &dimensions,
                                      int64_t rows, PartCounts &counts,
                                      DenseMap<unsigned, MmaOp> &reasons) {
  return fa4::checkEach(kernel, [&](MmaOp op) -> LogicalResult {
    if (op.getM() <= rows)
      return success();
    if (op.getM() % rows != 0)
      return op.emitOpError("has ")
             << op.getM() << " rows, which is no multiple of the target's "
             << rows;
    unsigned id = dimensions.classOf(op.getResult(), 0);
    counts[id] = op.getM() / rows;
    reasons.try_emplace(id, op);
    return success();
  });
}

static LogicalResult refuse(Operation *op, MmaOp reason, int64_t parts) {
  InFlightDiagnostic diag = op->emitOpError("cannot be cut into ")
                            << parts
                            << " parts, which an MMA of too many rows asks for";
  diag.attachNote(reason.getLoc()) << "the MMA is here";
  return diag;
}

/// Returns true if the rows and the columns of a tile are one class that is to
/// be cut.
static bool isSquareCut(Value value, Dimensions &dimensions,
                        const PartCounts &counts) {
  SmallVector<unsigned> classes = dimensions.classesOf(value);
  return classes.size() == 2 && classes[0] == classes[1] &&
         counts.contains(classes[0]);
}

/// Gives each use of a number of rows or columns, or of a constant, a copy of
/// its own. Where a tile has as many rows as columns, one `vector.step` may
/// count both, or one broadcast of a scalar be compared with both, and would
/// tie them together.
static void separateUses(KernelOp kernel) {
  auto isFree = [](Operation *op) {
    auto broadcast = dyn_cast<vector::BroadcastOp>(op);
    return isa<vector::StepOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
           (broadcast && !isa<VectorType>(broadcast.getSource().getType()));
  };
  for (Operation *op : fa4::collectOpsIf(kernel, isFree)) {
    if (!isa<VectorType>(op->getResult(0).getType()))
      continue;
    for (OpOperand &use :
         llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (op->hasOneUse())
        break;
      OpBuilder b(use.getOwner());
      use.set(b.clone(*op)->getResult(0));
    }
  }
}

/// Returns the class of a load's rows if a cut would go through the rows of one
/// element of its first dimension (`inner`).
static std::optional<unsigned>
findCutElement(LoadOp load, Dimensions &dimensions, const PartCounts &counts) {
  if (!load.getInner())
    return std::nullopt;
  unsigned rows = dimensions.classOf(load.getTile(), 0);
  int64_t parts = counts.lookup(rows);
  if (parts == 0 ||
      load.getTile().getType().getDimSize(0) / parts % load.getInnerRows() == 0)
    return std::nullopt;
  return rows;
}

/// Checks that each operation can work on parts.
static LogicalResult checkCuts(KernelOp kernel, Dimensions &dimensions,
                               const PartCounts &counts,
                               const DenseMap<unsigned, MmaOp> &reasons) {
  for (auto [id, parts] : counts)
    if (Operation *op = dimensions.lockOf(id))
      return refuse(op, reasons.lookup(id), parts);
  return fa4::checkEach(kernel, [&](Operation *op) -> LogicalResult {
    if (auto load = dyn_cast<LoadOp>(op))
      if (auto id = findCutElement(load, dimensions, counts))
        return refuse(op, reasons.lookup(*id), counts.lookup(*id));
    for (Value result : op->getResults())
      if (isSquareCut(result, dimensions, counts)) {
        unsigned id = dimensions.classOf(result, 0);
        return refuse(op, reasons.lookup(id), counts.lookup(id));
      }
    return success();
  });
}

namespace {
struct TileSubtile : public fa4::tile::impl::TileSubtileBase<TileSubtile> {
  /// Finds the dimensions, and how they are to be cut.
  LogicalResult analyse(Dimensions &dimensions, PartCounts &counts,
                        DenseMap<unsigned, MmaOp> &reasons) {
    KernelOp kernel = getOperation();
    dimensions.addBlock(kernel.getBody().front());
    return findOversizeRows(kernel, dimensions, kernel.getTarget().mma.rows,
                            counts, reasons);
  }

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    Dimensions dimensions;
    PartCounts counts;
    DenseMap<unsigned, MmaOp> reasons;
    if (failed(analyse(dimensions, counts, reasons)))
      return signalPassFailure();
    if (fa4::anyIn(kernel, [&](Operation *op) {
          return llvm::any_of(op->getResults(), [&](Value result) {
            return isSquareCut(result, dimensions, counts);
          });
        })) {
      separateUses(kernel);
      dimensions = Dimensions();
      counts.clear();
      reasons.clear();
      if (failed(analyse(dimensions, counts, reasons)))
        return signalPassFailure();
    }
    if (failed(checkCuts(kernel, dimensions, counts, reasons)))
      return signalPassFailure();
    if (!counts.empty())
      Splitter(kernel, dimensions, counts).run();
  }
};
} // namespace
