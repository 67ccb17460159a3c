//===- TurnIntegers.h - forms as integers of a proof ------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the integers of a kernel (IndexForms.h) to IntegerCases, for the
// proof of turns (TurnOrder.h). A symbol that depends on the work tile or on
// the pass of the loop is replaced by another one in each visit; a size or an
// element of a tensor is one symbol in all of them. All that is known of a
// symbol (the minimum of two forms is one of them, say) becomes a requirement
// when the symbol occurs first.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_TURNINTEGERS_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_TURNINTEGERS_H

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/IntegerCases.h"
#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include <set>

namespace fa4::tile {

/// Nothing if a number is no linear arithmetic on coordinates and sizes.
using KnownForm = std::optional<IndexForm>;

/// The facts about a planned pair of CTAs on which the turns of one
/// tile.await_turn depend. The kernel is still the program of a single CTA.
struct PlannedPair {
  unsigned axis;
  /// The distance between the places of the two CTAs.
  int64_t rows;
};

/// The symbols of one work tile in one pass of the loop.
struct VisitSymbols {
  llvm::SmallVector<IndexForm> coordinates;
  llvm::DenseMap<unsigned, KnownForm> known;
};

class TurnIntegers : public IntegerCases {
public:
  TurnIntegers(KernelOp kernel, IndexForms &forms,
               std::optional<PlannedPair> pair)
      : forms(&forms), clusterSize(kernel.getClusterSize()), pair(pair) {}

  /// Returns the form in this visit.
  KnownForm get(const IndexForm &form, VisitSymbols &visit);
  KnownForm get(mlir::Value value, VisitSymbols &visit) {
    return get(forms->get(value), visit);
  }

  /// Returns the size of dimensions with this name.
  IndexForm sizeNamed(llvm::StringRef name);
  /// Makes an unknown number, and one from `least` to `most`.
  IndexForm makeUnknown();
  IndexForm makeBetween(int64_t least, int64_t most);

  /// Makes products with `factor`, which is positive, comparable: two of them
  /// are ordered as their other factors are. Other products of unknowns are not
  /// understood.
  void addFactor(const IndexForm &factor);
  /// Compares the product of a factor and `other` with all others. Does nothing
  /// if `factor` is none.
  void compareProduct(const IndexForm &factor, const IndexForm &other);

  /// Takes for granted that this product fits into an index.
  void assumeExact(const IndexForm &product) { exact.insert(product); }
  /// Requires in the visit what assumeExact takes for granted.
  void requireExact(VisitSymbols &visit);
  /// Returns true if no arithmetic of the visits so far wraps around.
  bool isExact() const;

  /// Returns the number divided by a constant, rounded down.
  IndexForm divide(const IndexForm &number, const llvm::DynamicAPInt &divisor);

  using IntegerCases::require;
  bool areImpossible(Conditions a, const Conditions &b) const {
    llvm::append_range(a, b);
    return isImpossible(a);
  }

private:
  using Kind = IndexSymbol::Kind;

  KnownForm compute(const IndexSymbol &symbol, VisitSymbols &visit);
  KnownForm getProduct(llvm::ArrayRef<unsigned> monomial, VisitSymbols &visit);
  IndexForm getMinOrMax(Kind kind, const IndexForm &a, const IndexForm &b);
  KnownForm getSelect(const IndexSymbol &select, VisitSymbols &visit);
  KnownForm getQuotient(const IndexSymbol &symbol, VisitSymbols &visit);
  KnownForm getBoundOfPair(mlir::Operation *bound, const VisitSymbols &visit);
  /// Returns true the first time that it is asked about the symbol.
  bool isNew(const IndexForm &symbol) {
    return described.insert(*symbol.getSymbol()).second;
  }
  void requireBetween(const IndexForm &number, int64_t least, int64_t most);

  IndexForms *forms;
  int64_t clusterSize;
  std::optional<PlannedPair> pair;
  llvm::DenseSet<unsigned> described;
  /// For each positive factor, the numbers that it is multiplied by.
  std::map<IndexForm, std::set<IndexForm>> products;
  std::set<IndexForm> exact;
  /// Results of operations that may wrap around, and their bits.
  llvm::SmallVector<std::pair<IndexForm, unsigned>> mayWrap;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_TURNINTEGERS_H
