//===- WorkBalance.cpp - how work tiles differ ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/WorkBalance.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// Finds how numbers change along one axis.
class Trends {
public:
  Trends(KernelOp kernel, unsigned axis) : axis(axis), kernel(kernel) {}

  Trend get(Value value);

private:
  Trend compute(Value value);
  Trend ofOperands(Operation *op);
  bool isAtLeast(Value value, int64_t bound);

  unsigned axis;
  KernelOp kernel;
  llvm::DenseMap<Value, Trend> known;
  IntegerRanges ranges;
};

} // namespace

static Trend negate(Trend trend) {
  return trend == Trend::Rising    ? Trend::Falling
         : trend == Trend::Falling ? Trend::Rising
                                   : trend;
}

/// Returns the trend of a sum, a minimum or a maximum of two numbers.
static Trend combine(Trend a, Trend b) {
  if (a == Trend::Constant || a == b)
    return b;
  return b == Trend::Constant ? a : Trend::Unknown;
}

/// Returns true if `value` is the same for all work tiles along the axis, and
/// at least `bound`.
bool Trends::isAtLeast(Value value, int64_t bound) {
  return known.lookup(value) == Trend::Constant &&
         ranges.get(value).smin().sge(bound);
}

/// Returns Constant if all operands are constant. Of any other operation
/// nothing is known.
Trend Trends::ofOperands(Operation *op) {
  bool isConstant = op->getNumRegions() == 0 &&
                    llvm::all_of(op->getOperands(), [&](Value operand) {
                      return known.lookup(operand) == Trend::Constant;
                    });
  return isConstant ? Trend::Constant : Trend::Unknown;
}

Trend Trends::compute(Value value) {
  // A loop's induction variable is Unknown: it takes all its values at each
  // work tile.
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<KernelOp>(argument.getOwner()->getParentOp()) ? Trend::Constant
                                                             : Trend::Unknown;
  Operation *op = value.getDefiningOp();
  auto lhs = [&] { return known.lookup(op->getOperand(0)); };
  auto rhs = [&] { return known.lookup(op->getOperand(1)); };
  return llvm::TypeSwitch<Operation *, Trend>(op)
      .Case([&](WorkTileOp tile) {
        return tile.getResult(axis) == value ? Trend::Rising : Trend::Constant;
      })
      .Case<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
            arith::MaxUIOp>([&](auto) { return combine(lhs(), rhs()); })
      .Case([&](arith::SubIOp) { return combine(lhs(), negate(rhs())); })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto) { return lhs(); })
      .Case([&](arith::MulIOp) {
        return isAtLeast(op->getOperand(1), 0)   ? lhs()
               : isAtLeast(op->getOperand(0), 0) ? rhs()
                                                 : ofOperands(op);
      })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
            arith::CeilDivUIOp, arith::FloorDivSIOp>([&](auto) {
        return isAtLeast(op->getOperand(1), 1) ? lhs() : ofOperands(op);
      })
      .Default([&](Operation *) { return ofOperands(op); });
}

Trend Trends::get(Value value) {
  visitPostOrder<Value>(
      value, [&](Value v) { return known.contains(v); },
      [](Value v, SmallVectorImpl<Value> &operands) {
        if (Operation *op = v.getDefiningOp())
          llvm::append_range(operands, op->getOperands());
      },
      [&](Value v) { known.try_emplace(v, compute(v)); });
  return known.lookup(value);
}

/// Returns how the number of passes of all loops changes along the trends'
/// axis.
static Trend getTrendOfPasses(KernelOp kernel, Trends &trends) {
  Trend trend = Trend::Constant;
  kernel.walk([&](scf::ForOp loop) {
    if (isa<KernelOp>(loop->getParentOp()))
      trend = combine(trend, combine(trends.get(loop.getUpperBound()),
                                     negate(trends.get(loop.getLowerBound()))));
  });
  return trend;
}

/// Returns the loads in loops. Each loads a tile in each pass.
static SmallVector<LoadOp> collectLoopLoads(KernelOp kernel) {
  SmallVector<LoadOp> loads;
  kernel.walk([&](LoadOp load) {
    if (load->getParentOfType<scf::ForOp>())
      loads.push_back(load);
  });
  return loads;
}

/// Returns true if `matches` holds for `value` or for any value that it is
/// computed from.
static bool anySource(Value value, llvm::function_ref<bool(Value)> matches) {
  SmallVector<Value> worklist = {value};
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (matches(next))
      return true;
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// Returns true if `value` is the same for all work tiles along the axis in the
/// same passes of the loops.
static bool isShared(Value value, Trends &trends) {
  return !anySource(value, [&](Value source) {
    return getWorkAxis(source) && trends.get(source) != Trend::Constant;
  });
}

/// Returns the dimension of the load that the loops around it run along: the
/// only dimension whose index depends on an induction variable.
static std::optional<unsigned> findLoopDim(LoadOp load) {
  std::optional<unsigned> found;
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    bool moves = anySource(index, [](Value source) {
      auto argument = dyn_cast<BlockArgument>(source);
      return argument && isa<scf::ForOp>(argument.getOwner()->getParentOp());
    });
    if (moves && found)
      return std::nullopt;
    if (moves)
      found = dim;
  }
  return found;
}

/// Returns true if the work tiles along the axis read the same elements, or
/// ranges of the same elements along the loop's dimension. Ranges are allowed
/// only where the tiles make different numbers of passes. They may begin or end
/// at different elements: a loop from the last block of keys to the first
/// begins at an index that depends on the axis.
static bool readsShared(LoadOp load, Trend passes, Trends &trends) {
  std::optional<unsigned> loopDim = findLoopDim(load);
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    bool isRange = passes != Trend::Constant && loopDim == dim;
    if (!isRange && !isShared(index, trends))
      return false;
  }
  return true;
}

/// Adds the load to the bytes that work tiles along the axis share. Returns
/// false if they do not share the load, or if it runs along another dimension
/// than the other loads.
static bool addShared(KernelOp kernel, LoadOp load, WorkBalance &balance) {
  std::optional<unsigned> dim = findLoopDim(load);
  auto source = dyn_cast<BlockArgument>(load.getSource());
  if (!dim || !source)
    return false;
  StringRef size = kernel.getDimName(source.getArgNumber(), *dim);
  if (!balance.size.empty() && balance.size != size)
    return false;
  VectorType tile = load.getTile().getType();
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  for (auto [tileDim, extent] : llvm::zip(load.getTileDims(), tile.getShape()))
    bytes *= tileDim == int64_t(*dim) ? 1 : extent;
  balance.size = size;
  balance.sharedBytes += bytes;
  return true;
}

WorkBalance fa4::tile::findWorkBalance(KernelOp kernel) {
  SmallVector<LoadOp> loads = collectLoopLoads(kernel);
  WorkBalance found;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    Trends trends(kernel, axis);
    WorkBalance balance{axis, getTrendOfPasses(kernel, trends), 0, ""};
    bool isSame = !loads.empty() && llvm::all_of(loads, [&](LoadOp load) {
      return readsShared(load, balance.trend, trends);
    });
    bool isKnown = isSame && llvm::all_of(loads, [&](LoadOp load) {
                     return addShared(kernel, load, balance);
                   });
    if (!isKnown) {
      balance.sharedBytes = 0;
      balance.size = "";
    }
    // An axis with differences is preferred; next, one along which more is
    // shared.
    bool isBetter = balance.trend != Trend::Constant
                        ? found.trend == Trend::Constant
                        : found.trend == Trend::Constant &&
                              balance.sharedBytes > found.sharedBytes;
    if (isBetter)
      found = balance;
  }
  return found;
}
