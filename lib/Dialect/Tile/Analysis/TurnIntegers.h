//===- TurnIntegers.h - forms as integers of a proof ------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates the integers of a kernel (IndexForms.h) to unknowns of
// IntegerCases, for the proof of turns (TurnOrder.h). A symbol that depends on
// the work tile or on the pass of the loop has another unknown in each visit; a
// size or an element of a tensor has one in all of them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_TURNINTEGERS_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_TURNINTEGERS_H

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/IntegerCases.h"
#include <set>

namespace fa4::tile {

/// Nothing if a number is no linear arithmetic on coordinates and sizes.
using KnownSum = std::optional<AffineSum>;

/// The symbols of one work tile in one pass of the loop.
struct VisitSymbols {
  llvm::SmallVector<AffineSum> coordinates;
  llvm::DenseMap<unsigned, KnownSum> known;
};

class TurnIntegers {
public:
  TurnIntegers(KernelOp kernel, IndexForms &forms)
      : forms(&forms), clusterSize(kernel.getClusterSize()) {}

  KnownSum get(const IndexForm &form, VisitSymbols &visit);
  KnownSum get(mlir::Value value, VisitSymbols &visit) {
    return get(forms->get(value), visit);
  }

  /// The size of dimensions with this name.
  AffineSum sizeNamed(llvm::StringRef name);
  /// Makes an unknown from `least` to `most`.
  AffineSum makeBetween(int64_t least, int64_t most);

  /// Makes products with `factor`, which is positive, comparable: two of them
  /// are ordered as their other factors are.
  void addFactor(const AffineSum &factor);
  /// Returns the product of two numbers. If both are unknown, one of them must
  /// be a factor.
  KnownSum multiply(const AffineSum &a, const AffineSum &b);

  /// Takes for granted that this product fits into an index.
  void assumeExact(const IndexForm &product) { exact.insert(product); }
  /// Requires in the visit what assumeExact takes for granted.
  void requireExact(VisitSymbols &visit);
  /// Returns true if no arithmetic of the visits so far wraps around.
  bool isExact() const;

  void require(const AffineSum &condition) { system.require(condition); }
  void require(const Conditions &conditions) { system.require(conditions); }
  void requireOne(std::vector<Conditions> alternatives) {
    system.requireOne(std::move(alternatives));
  }
  AffineSum makeVariable() { return system.makeVariable(); }
  bool isImpossible(const Conditions &conditions) const {
    return system.isImpossible(conditions);
  }
  bool areImpossible(Conditions a, const Conditions &b) const {
    llvm::append_range(a, b);
    return system.isImpossible(a);
  }

private:
  using Kind = IndexSymbol::Kind;

  KnownSum compute(const IndexSymbol &symbol, VisitSymbols &visit);
  KnownSum getProduct(llvm::ArrayRef<unsigned> monomial, int64_t coefficient,
                      VisitSymbols &visit);
  KnownSum getScalar(const IndexSymbol &symbol, VisitSymbols &visit);
  KnownSum getSelect(const IndexSymbol &select, VisitSymbols &visit);
  KnownSum getQuotient(const IndexSymbol &symbol, VisitSymbols &visit);
  AffineSum divide(const AffineSum &number, int64_t divisor);
  AffineSum makeChoice(const AffineSum &a, const AffineSum &b, bool isMax);
  AffineSum scale(const AffineSum &number, const AffineSum &factor);

  IndexForms *forms;
  int64_t clusterSize;
  IntegerCases system;
  llvm::StringMap<AffineSum> sizes;
  /// Elements of tensors, quotients, and arguments of the kernel.
  std::map<std::pair<const void *, std::vector<AffineSum>>, AffineSum> opaque;
  /// Products of a sum and of a positive factor, by the factor.
  std::map<AffineSum, std::map<AffineSum, AffineSum>> products;
  std::set<IndexForm> exact;
  /// Results of operations that may wrap around, and their bits.
  llvm::SmallVector<std::pair<AffineSum, unsigned>> mayWrap;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_TURNINTEGERS_H
