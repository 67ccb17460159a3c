//===- ProtocolSites.h - what roles can still ask of trip counts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop or a condition is a site: a place where a role asks for a number. A
// fact matters only while an answer at some site may rest on it. An unknown of
// given passes is over when each role that asks for it has left these passes.
// Its facts are then forgotten, so that loops over work tiles come back to
// states that were seen before.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSITES_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSITES_H

#include "ProtocolFacts.h"
#include "fa4/Dialect/Tile/Protocol/RoleCursor.h"

namespace fa4::tile {

class ProtocolSites {
public:
  ProtocolSites(const ProtocolModel &model, llvm::ArrayRef<RoleCursor> cursors,
                const ProtocolFacts &facts);

  /// Returns true if no role will ask for the unknown again. Returns false for
  /// unknowns that depend on no pass.
  bool isOver(Unknown unknown) const {
    return !unknown.passes().empty() && !kept.count(unknown);
  }

  /// Appends a key that is equal in two runs if all further answers are equal.
  /// Passes are counted relative to the role that is furthest behind.
  void appendKey(llvm::SmallVectorImpl<int64_t> &key) const;

private:
  using Passes = llvm::SmallVector<int64_t, 2>;

  struct Truth {
    unsigned condition;
    /// An unknown of the form, if it has one.
    std::optional<Unknown> unknown;
    bool value;
  };

  void addLoop(unsigned number);
  void addCondition(unsigned number);
  void decide(unsigned number, llvm::ArrayRef<int64_t> passes, int64_t pass);
  /// Returns the first passes of `parents` in which a role can still come to a
  /// site. With `isPast` the role does not come there again in the present
  /// passes. Returns nothing if it never comes there again.
  std::optional<Passes> firstPasses(unsigned role,
                                    llvm::ArrayRef<unsigned> parents,
                                    bool isPast) const;
  /// Returns the unknowns of the form, in those passes or later ones, about
  /// which something is known.
  llvm::SmallVector<Unknown> findKnown(const LinearForm &form,
                                       llvm::ArrayRef<int64_t> first) const;
  void keep(const LinearForm &form);
  /// Records that a role asks for the form in these passes and later ones.
  void place(const LinearForm &form, llvm::ArrayRef<int64_t> passes);
  Passes relative(Unknown unknown) const;

  const ProtocolModel &model;
  llvm::ArrayRef<RoleCursor> cursors;
  const ProtocolFacts &facts;
  std::set<Unknown> known, kept;
  /// The forms, in the order of sites.
  std::vector<LinearForm> forms;
  std::vector<Truth> truths;
  /// For each site, the unknown of a pass for which it asks next.
  std::vector<Unknown> positions;
  /// For each number of an unknown in `positions`: maps a pass of the outer
  /// loop to the least pass of the inner loop.
  std::map<unsigned, std::map<int64_t, int64_t>> bases;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSITES_H
