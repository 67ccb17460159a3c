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

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace fa4::tile {

/// A constant and multiples of variables.
struct AffineSum {
  std::map<unsigned, int64_t> terms; ///< By variable; no factor is 0.
  int64_t constant = 0;

  AffineSum() = default;
  AffineSum(int64_t constant) : constant(constant) {}
  bool isConstant() const { return terms.empty(); }
  void add(const AffineSum &other, int64_t factor);
  bool operator==(const AffineSum &other) const {
    return terms == other.terms && constant == other.constant;
  }
  bool operator<(const AffineSum &other) const {
    return std::pair(terms, constant) < std::pair(other.terms, other.constant);
  }
};

AffineSum operator+(AffineSum a, const AffineSum &b);
AffineSum operator-(AffineSum a, const AffineSum &b);
AffineSum operator*(const AffineSum &a, int64_t factor);

/// A conjunction: each of the sums is at least 0.
using Conditions = std::vector<AffineSum>;
/// The conditions a >= b, a > b and a == b.
AffineSum isAtLeast(const AffineSum &a, const AffineSum &b);
AffineSum isMore(const AffineSum &a, const AffineSum &b);
Conditions isEqual(const AffineSum &a, const AffineSum &b);

/// Returns true if two numbers always differ because of a common divisor. The
/// search would find that, too, but only after it has read all requirements.
bool neverEqual(const AffineSum &a, const AffineSum &b);

class IntegerCases {
public:
  AffineSum makeVariable();
  void require(const AffineSum &condition) { always.push_back(condition); }
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
  unsigned variables = 0;
  Conditions always;
  std::vector<std::vector<Conditions>> cases;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INTEGERCASES_H
