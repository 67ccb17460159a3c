//===- ProtocolFacts.h - what is known of trip counts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLFACTS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLFACTS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include <set>

namespace fa4::tile {

/// A set of linear equations and inequalities over integers.
class ProtocolFacts {
public:
  /// Adds the fact `form >= 0`.
  void assume(const LinearForm &form);
  /// Adds the fact `form == 0`. Returns false if no unknown has the coefficient
  /// 1 or -1.
  bool assumeZero(const LinearForm &form);

  /// Returns `form` with each unknown that has an equation replaced by it.
  LinearForm simplify(const LinearForm &form) const;

  std::optional<int64_t> lowerBound(const LinearForm &form) const;
  std::optional<int64_t> upperBound(const LinearForm &form) const;
  /// Returns whether `form <predicate> 0`, or nothing if the facts do not
  /// decide it.
  std::optional<bool> decide(ProtocolCondition::Predicate predicate,
                             const LinearForm &form) const;

  /// Returns false if the facts contradict each other. Not every contradiction
  /// is found.
  bool isFeasible() const;

  /// Returns all unknowns that occur in a fact.
  std::set<Unknown> unknowns() const;

  /// Removes the given unknowns and keeps the facts about the others. Facts
  /// that relate removed unknowns to others may be lost.
  void forget(llvm::function_ref<bool(Unknown)> isOld);

  /// Appends a description of `forms` and of all facts about their unknowns.
  /// The description does not change if the passes of all unknowns are shifted.
  /// `rename` keeps the order of unknowns.
  void appendKey(std::vector<LinearForm> forms,
                 llvm::function_ref<int64_t(Unknown)> rename,
                 llvm::SmallVectorImpl<int64_t> &key) const;

private:
  std::optional<int64_t> bound(const LinearForm &form, unsigned depth) const;
  /// Replaces an unknown in all equations and inequalities.
  void substitute(Unknown unknown, const LinearForm &value);
  void eliminate(Unknown unknown);

  /// Maps the terms of an inequality `terms + constant >= 0` to its constant.
  std::map<std::map<Unknown, int64_t>, int64_t> inequalities;
  std::map<Unknown, LinearForm> equations;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLFACTS_H
