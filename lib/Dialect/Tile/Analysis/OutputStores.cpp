//===- OutputStores.cpp - the operations that write an output ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputStores.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using Kind = IndexSymbol::Kind;

OutputStores::OutputStores(KernelOp kernel, unsigned argument,
                           ArrayRef<Operation *> accesses, IndexForms &forms)
    : kernel(kernel), forms(forms) {
  for (Operation *op : accesses)
    collect(op, kernel.getArgument(argument));
}

/// Returns how many rows of the tile the threads of the role hold.
static int64_t countRows(PutOp op) {
  auto role = op->getParentOfType<RoleOp>();
  return role && role.getLayout()
             ? role.getLayout()->getNumRows(role.getNumThreads())
             : 1;
}

void OutputStores::collect(Operation *op, BlockArgument output) {
  SmallVector<int64_t> extents(cast<MemRefType>(output.getType()).getRank(), 1);
  auto add = [&](ValueRange indices) {
    stores.push_back({op, indices, extents});
    findContext(stores.back());
  };
  auto addTile = [&](auto store) {
    if (store.getDest() != output)
      return;
    VectorType tile = store.getTile().getType();
    for (auto [dim, size] : llvm::zip(store.getTileDims(), tile.getShape()))
      extents[dim] = size;
    add(store.getIndices());
  };
  if (auto store = dyn_cast<StoreOp>(op)) {
    addTile(store);
  } else if (auto sum = dyn_cast<ReduceAddOp>(op)) {
    addTile(sum);
  } else if (auto put = dyn_cast<PutOp>(op); put && put.getDest() == output) {
    extents[put.getDim()] = countRows(put);
    add(put.getIndices());
  } else if (auto load = dyn_cast<LoadOp>(op);
             load && load.getSource() == output) {
    reads.push_back(load);
  }
}

void OutputStores::findContext(OutputStore &store) {
  for (Operation *parent = store.op->getParentOp();
       !isa<RoleOp, KernelOp>(parent); parent = parent->getParentOp()) {
    // A loop over work tiles is no loop around the store: all CTAs together
    // visit each tile once.
    if (isa<WorkOp>(parent))
      continue;
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      store.condition = parent;
    else if (forms.getTripCount(loop) != 1)
      store.loops.insert(store.loops.begin(), loop);
  }
}

void OutputStores::joinBranches() {
  auto isSame = [&](const OutputStore &a, const OutputStore &b) {
    return a.extents == b.extents && a.loops == b.loops &&
           a.op->getName() == b.op->getName() &&
           llvm::all_of(llvm::zip(a.indices, b.indices), [&](auto pair) {
             return forms.get(std::get<0>(pair)) ==
                    forms.get(std::get<1>(pair));
           });
  };
  for (size_t i = 0; i < stores.size(); ++i) {
    auto branch = dyn_cast_or_null<scf::IfOp>(stores[i].condition);
    if (!branch || stores[i].op->getParentRegion() != &branch.getThenRegion())
      continue;
    auto *other = llvm::find_if(stores, [&](const OutputStore &store) {
      return store.condition == branch &&
             store.op->getParentRegion() == &branch.getElseRegion() &&
             isSame(stores[i], store);
    });
    if (other == stores.end())
      continue;
    // The joined store is under the conditions around the `scf.if`.
    OutputStore joined = stores[i];
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

bool OutputStores::splitByRank() {
  auto dependsOnRank = [&](const OutputStore &store) {
    return llvm::any_of(store.indices, [&](Value index) {
      return forms.getSymbols().dependsOn(
          forms.get(index), [](const IndexSymbol &symbol) {
            return symbol.kind == Kind::ClusterNumber;
          });
    });
  };
  if (!llvm::any_of(stores, dependsOnRank))
    return true;
  if (!llvm::all_of(stores, dependsOnRank))
    return false;
  SmallVector<OutputStore> all;
  for (const OutputStore &store : stores)
    for (int64_t rank = 0; rank < kernel.getClusterSize(); ++rank)
      all.emplace_back(store).rank = rank;
  stores = std::move(all);
  return true;
}

/// Returns the form of an index. For the store of one CTA of a cluster, the
/// coordinate is replaced: it is the number of the cluster times the size of
/// the cluster, plus the number of the CTA.
IndexForm OutputStores::getIndex(const OutputStore &store, unsigned dim) {
  IndexForm index = forms.get(store.indices[dim]);
  if (!store.rank)
    return index;
  unsigned axis = kernel.getClusterAttr().getAxis();
  IndexForm own =
      forms.getClusterNumber(kernel) * kernel.getClusterSize() + *store.rank;
  IndexForm factor(forms.getSymbols().takeCoordinate(index, axis));
  return index + factor * own;
}

bool OutputStores::isSingle(unsigned axis) {
  auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
  std::optional<int64_t> size = getStaticSize(extent.getSize());
  return size && *size <= extent.getTile();
}

std::optional<BlockIndex> OutputStores::readIndex(const OutputStore &store,
                                                  unsigned dim) {
  BlockIndex index;
  for (const auto &term : getIndex(store, dim)) {
    const IndexForm::Monomial &monomial = term.first;
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
    // The only coordinate along an axis with one work tile is 0.
    if (llvm::any_of(monomial, [&](unsigned symbol) {
          std::optional<unsigned> axis = forms.getSymbols().getAxis({symbol});
          return axis && isSingle(*axis);
        }))
      continue;
    if (monomial.size() != 1 || index.coordinate)
      return std::nullopt;
    index.stride = coefficient;
    if (std::optional<unsigned> axis = forms.getSymbols().getAxis(monomial)) {
      index.coordinate = BlockCoordinate{monomial[0], {}, *axis};
      continue;
    }
    const auto *loop = llvm::find_if(store.loops, [&](scf::ForOp loop) {
      return forms.getPass(loop).symbol == monomial[0];
    });
    if (loop == store.loops.end())
      return std::nullopt;
    index.coordinate = BlockCoordinate{monomial[0], *loop, 0};
  }
  return index;
}
