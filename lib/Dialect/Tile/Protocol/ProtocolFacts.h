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

/// Linear equations and inequalities over integers.
class ProtocolFacts {
public:
  /// `form >= 0`.
  void assume(const LinearForm &form);
  /// `form == 0`. False if no unknown has a coefficient of 1 or -1.
  bool assumeZero(const LinearForm &form);

  /// `form` in unknowns that no equation gives.
  LinearForm simplify(const LinearForm &form) const;

  std::optional<int64_t> lowerBound(const LinearForm &form) const;
  std::optional<int64_t> upperBound(const LinearForm &form) const;
  /// Whether `form <predicate> 0`, if that is known.
  std::optional<bool> decide(ProtocolCondition::Predicate predicate,
                             const LinearForm &form) const;

  /// False: the facts contradict each other. (Not every contradiction is seen.)
  bool isFeasible() const;

  /// All of which something is known.
  std::set<Unknown> unknowns() const;

  /// Keeps what is known without these; may lose facts that relate them to
  /// others.
  void forget(llvm::function_ref<bool(Unknown)> isOld);

  /// Appends a description of `forms`, and of all facts that concern their
  /// unknowns, that is the same if the unknowns are shifted. `rename` keeps the
  /// order.
  void appendKey(std::vector<LinearForm> forms,
                 llvm::function_ref<int64_t(Unknown)> rename,
                 llvm::SmallVectorImpl<int64_t> &key) const;

private:
  std::optional<int64_t> bound(const LinearForm &form, unsigned depth) const;
  /// In all equations and inequalities.
  void substitute(Unknown unknown, const LinearForm &value);

  /// terms + constant >= 0: the constant.
  std::map<std::map<Unknown, int64_t>, int64_t> inequalities;
  std::map<Unknown, LinearForm> equations;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLFACTS_H
