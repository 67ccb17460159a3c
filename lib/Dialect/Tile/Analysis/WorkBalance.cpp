//===- WorkBalance.cpp - how work tiles differ ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/WorkBalance.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

static Trend negate(Trend trend) {
  return trend == Trend::Rising    ? Trend::Falling
         : trend == Trend::Falling ? Trend::Rising
                                   : trend;
}

/// Returns the trend of a minimum or a maximum of two numbers.
static Trend combine(Trend a, Trend b) {
  if (a == Trend::Constant || a == b)
    return b;
  return b == Trend::Constant ? a : Trend::Unknown;
}

/// Returns the trend of a sum.
static Trend add(Trend a, Trend b) {
  bool isDifference = a == negate(b) && a != b;
  return isDifference ? Trend::Sliding : combine(a, b);
}

namespace {

/// Finds how numbers change along one axis. Takes all arithmetic for exact: a
/// kernel in which a loop bound wraps around is right, whatever the order of
/// its work tiles is.
class Trends {
public:
  Trends(IndexForms &forms, unsigned axis) : forms(forms), axis(axis) {}

  Trend get(Value value);
  /// Returns true if `value` is the same for all work tiles along the axis in
  /// the same passes of the loops.
  bool isShared(Value value) {
    return !forms.getSymbols().dependsOnCoordinate(forms.get(value), axis);
  }

private:
  Trend ofForm(const IndexForm &form);
  Trend ofProduct(const IndexForm::Monomial &monomial);
  Trend ofSymbol(const IndexSymbol &symbol);
  bool isAtLeast(const IndexForm &form, int64_t bound);

  IndexForms &forms;
  unsigned axis;
  /// The trends of the first symbols.
  SmallVector<Trend> known;
};

} // namespace

bool Trends::isAtLeast(const IndexForm &form, int64_t bound) {
  IndexBounds bounds = forms.getSymbols().getBounds(form);
  return bounds.low && *bounds.low >= bound;
}

/// Returns the trend of a product with at most one factor that changes. The
/// other factors must not be negative.
Trend Trends::ofProduct(const IndexForm::Monomial &monomial) {
  Trend trend = Trend::Constant;
  bool isScaled = true;
  for (unsigned symbol : monomial) {
    if (known[symbol] == Trend::Constant)
      isScaled &= isAtLeast(IndexForm::ofSymbol(symbol), 0);
    else if (trend != Trend::Constant)
      return Trend::Unknown;
    else
      trend = known[symbol];
  }
  return trend == Trend::Constant || isScaled ? trend : Trend::Unknown;
}

Trend Trends::ofForm(const IndexForm &form) {
  Trend trend = Trend::Constant;
  for (const auto &[monomial, coefficient] : form) {
    Trend product = ofProduct(monomial);
    trend = add(trend, coefficient < 0 ? negate(product) : product);
  }
  return trend;
}

Trend Trends::ofSymbol(const IndexSymbol &symbol) {
  using Kind = IndexSymbol::Kind;
  switch (symbol.kind) {
  case Kind::WorkCoordinate:
  case Kind::ClusterNumber:
    return symbol.number == axis ? Trend::Rising : Trend::Constant;
  case Kind::Min:
  case Kind::Max:
    return combine(ofForm(symbol.operands[0]), ofForm(symbol.operands[1]));
  case Kind::SignedResidue:
  case Kind::UnsignedResidue:
    return ofForm(symbol.operands[0]);
  case Kind::FloorDiv:
  case Kind::CeilDiv:
    if (ofForm(symbol.operands[1]) == Trend::Constant &&
        isAtLeast(symbol.operands[1], 1))
      return ofForm(symbol.operands[0]);
    break;
  case Kind::Pass:
  case Kind::Induction:
    // The number takes all its values in each work tile, so it has no trend.
    return Trend::Unknown;
  case Kind::Opaque:
    return isa_and_nonnull<KernelOp>(symbol.getParentOfArgument())
               ? Trend::Constant
               : Trend::Unknown;
  default:
    break;
  }
  bool isConstant = llvm::all_of(symbol.operands, [&](const IndexForm &form) {
    return ofForm(form) == Trend::Constant;
  });
  if (isConstant)
    return Trend::Constant;
  // Bounds that are read for each work tile tell where its own positions are
  // among those of all.
  return symbol.kind == Kind::Scalar ? Trend::Sliding : Trend::Unknown;
}

Trend Trends::get(Value value) {
  IndexForm form = forms.get(value);
  // The operands of a symbol are older than the symbol.
  while (known.size() < forms.getSymbols().size())
    known.push_back(ofSymbol(forms.getSymbol(known.size())));
  return ofForm(form);
}

/// Returns how the number of passes of all loops changes along the trends'
/// axis.
static Trend getTrendOfPasses(KernelOp kernel, Trends &trends) {
  Trend trend = Trend::Constant;
  kernel.walk([&](scf::ForOp loop) {
    if (isa<KernelOp>(loop->getParentOp()))
      trend = combine(trend, add(trends.get(loop.getUpperBound()),
                                 negate(trends.get(loop.getLowerBound()))));
  });
  return trend;
}

/// Returns the loads in loops. Each loads a tile in each pass.
static SmallVector<LoadOp> collectLoopLoads(KernelOp kernel) {
  return fa4::collectOpsIf(kernel, [](LoadOp load) {
    return bool(load->getParentOfType<scf::ForOp>());
  });
}

/// Returns the dimension of the load that the loops around it run along: the
/// only dimension whose index depends on an induction variable.
static std::optional<unsigned> findLoopDim(LoadOp load, IndexForms &forms) {
  std::optional<unsigned> found;
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    bool moves = forms.getSymbols().dependsOn(
        forms.get(index), [](const IndexSymbol &symbol) {
          return symbol.kind == IndexSymbol::Kind::Induction ||
                 isa_and_nonnull<scf::ForOp>(symbol.getParentOfArgument());
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
static bool readsShared(LoadOp load, std::optional<unsigned> loopDim,
                        Trend passes, Trends &trends) {
  for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
    bool isRange = passes != Trend::Constant && loopDim == dim;
    if (!isRange && !trends.isShared(index))
      return false;
  }
  return true;
}

/// Adds the load to the bytes that work tiles along the axis share. Returns
/// false if they do not share the load, or if it runs along another dimension
/// than the other loads.
static bool addShared(KernelOp kernel, LoadOp load, std::optional<unsigned> dim,
                      WorkBalance &balance) {
  auto source = dyn_cast<BlockArgument>(load.getSource());
  if (!dim || !source)
    return false;
  // A sequence in pages is as long as its pages are many.
  bool countsPages = load.getPages() && load.getTileDims().front() == *dim;
  StringRef size =
      countsPages ? kernel.getDimName(
                        cast<BlockArgument>(load.getPages()).getArgNumber(),
                        /*dim=*/1)
                  : kernel.getDimName(source.getArgNumber(), *dim);
  if (!balance.size.empty() && balance.size != size)
    return false;
  VectorType tile = load.getTile().getType();
  int64_t bytes = tile.getElementTypeBitWidth() / 8 *
                  (countsPages ? load.getPageSize() : 1);
  for (auto [tileDim, extent] : llvm::zip(load.getTileDims(), tile.getShape()))
    bytes *= tileDim == int64_t(*dim) ? 1 : extent;
  balance.size = size;
  balance.sharedBytes += bytes;
  return true;
}

WorkBalance fa4::tile::findWorkBalance(KernelOp kernel) {
  SmallVector<LoadOp> loads = collectLoopLoads(kernel);
  IndexForms forms;
  auto loopDim = [&](LoadOp load) { return findLoopDim(load, forms); };
  WorkBalance found;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    Trends trends(forms, axis);
    WorkBalance balance{axis, getTrendOfPasses(kernel, trends), 0, ""};
    bool isSame = !loads.empty() && llvm::all_of(loads, [&](LoadOp load) {
      return readsShared(load, loopDim(load), balance.trend, trends);
    });
    bool isKnown = isSame && llvm::all_of(loads, [&](LoadOp load) {
                     return addShared(kernel, load, loopDim(load), balance);
                   });
    if (!isKnown) {
      balance.sharedBytes = 0;
      balance.size = "";
    }
    // Axes along which work differs are preferred. Among equal ones, the axis
    // along which more bytes are shared is preferred.
    bool isBetter = balance.trend != Trend::Constant
                        ? found.trend == Trend::Constant
                        : found.trend == Trend::Constant &&
                              balance.sharedBytes > found.sharedBytes;
    if (isBetter)
      found = balance;
  }
  return found;
}
