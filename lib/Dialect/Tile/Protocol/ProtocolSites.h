//===- ProtocolSites.h - what roles can still ask of trip counts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop or a condition is a site: a place where a role asks for numbers. Of
// the facts that a run has gathered, those matter that an answer at a site may
// still rest on. An unknown of some passes is over when each role that asks for
// it has left them; what is known of it then is forgotten, so that loops over
// work tiles come back to states that were seen.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSITES_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSITES_H

#include "ProtocolFacts.h"

namespace fa4::tile {

class ProtocolSites {
public:
  ProtocolSites(const ProtocolModel &model, llvm::ArrayRef<RoleCursor> cursors,
                const ProtocolFacts &facts);

  /// Whether no role will ask for it again. False for what no pass decides.
  bool isOver(Unknown unknown) const {
    return !unknown.passes().empty() && !kept.count(unknown);
  }

  /// Appends what is the same in two runs if all answers to come are: passes
  /// are counted from those of the role that is furthest behind.
  void appendKey(llvm::SmallVectorImpl<int64_t> &key) const;

private:
  using Passes = llvm::SmallVector<int64_t, 2>;

  struct Truth {
    unsigned condition;
    /// One of its unknowns.
    std::optional<Unknown> unknown;
    bool value;
  };

  void addLoop(unsigned number);
  void addCondition(unsigned number);
  void decide(unsigned number, llvm::ArrayRef<int64_t> passes, int64_t pass);
  /// The first passes of `parents` in which a role can still come to a site; it
  /// does not again in the present ones if it `isPast`. None: it does not at
  /// all.
  std::optional<Passes> firstPasses(unsigned role,
                                    llvm::ArrayRef<unsigned> parents,
                                    bool isPast) const;
  /// Unknowns of the form in those passes or later ones, about which something
  /// is known.
  llvm::SmallVector<Unknown> findKnown(const LinearForm &form,
                                       llvm::ArrayRef<int64_t> first) const;
  void keep(const LinearForm &form);
  /// A role asks for the form in these passes and later ones.
  void place(const LinearForm &form, llvm::ArrayRef<int64_t> passes);
  Passes relative(Unknown unknown) const;

  const ProtocolModel &model;
  llvm::ArrayRef<RoleCursor> cursors;
  const ProtocolFacts &facts;
  std::set<Unknown> known, kept;
  /// In the order of sites.
  std::vector<LinearForm> forms;
  std::vector<Truth> truths;
  /// Where sites are that ask for unknowns of a pass.
  std::vector<Unknown> positions;
  /// Of each such unknown: the least pass, and of each the least inner one.
  std::map<unsigned, std::map<int64_t, int64_t>> bases;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSITES_H
