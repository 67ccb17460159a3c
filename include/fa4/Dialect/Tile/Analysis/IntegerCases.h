//===- IntegerCases.h - conditions on integers, case by case ----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether integers exist that fulfil linear conditions, some of which
// are alternatives (a minimum is one of its operands). The method is branch and
// bound on the simplex of MLIR's Presburger library.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INTEGERCASES_H
#define FA4_DIALECT_TILE_ANALYSIS_INTEGERCASES_H

#include "fa4/Dialect/Tile/Analysis/IndexForm.h"

namespace fa4::tile {

/// A conjunction: each of the forms is at least 0. A product of symbols counts
/// as an integer of its own.
using Conditions = std::vector<IndexForm>;
/// The conditions a >= b, a > b and a == b.
IndexForm isAtLeast(const IndexForm &a, const IndexForm &b);
IndexForm isMore(const IndexForm &a, const IndexForm &b);
Conditions isEqual(const IndexForm &a, const IndexForm &b);

/// Returns the largest number that divides the coefficients of all symbols; 0
/// if there are none.
llvm::DynamicAPInt getDivisor(const IndexForm &form);
/// Returns true if two numbers always differ because of a common divisor. The
/// search would find that, too, but only after it has read all requirements.
bool neverEqual(const IndexForm &a, const IndexForm &b);

class IntegerCases {
public:
  void require(const IndexForm &condition) { always.push_back(condition); }
  void require(const Conditions &conditions);
  /// Requires that at least one of the alternatives holds.
  void requireOne(std::vector<Conditions> alternatives) {
    cases.push_back(std::move(alternatives));
  }

  /// Returns true if no integers fulfil the requirements and `conditions`.
  /// Returns false also if that takes too long to find out.
  bool isImpossible(const Conditions &conditions) const;

private:
  class Search;
  Conditions always;
  std::vector<std::vector<Conditions>> cases;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INTEGERCASES_H
