//===- ProtocolHistory.h - what roles have done before a finding ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counter-examples. Where nothing orders two accesses, the later role has
// waited for something, or for nothing at all. The history follows its last
// wait on the memory to the role that it waited for, that one's last wait
// before, and so on, up to where this does not lead to the end of the earlier
// access.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa4::tile {

/// Events of all runs. An entry is known by its number; runs that part share
/// what they had in common.
class ProtocolHistory {
public:
  static constexpr int kNone = -1;
  using Notes = std::vector<std::pair<mlir::Operation *, std::string>>;

  explicit ProtocolHistory(const ProtocolModel &model) : model(model) {}

  /// The entry of an event of a role whose last entry is `last`.
  int append(int last, const ProtocolEvent &event);

  /// An entry of the role whose last one is `last`: its newest if no position
  /// is given. kNone if it has none.
  int find(int last, StepKind kind, unsigned channel,
           std::optional<int64_t> position = std::nullopt) const;
  mlir::Operation *opOf(int entry) const { return entries[entry].step->op; }
  int64_t passOf(int entry) const { return entries[entry].pass; }
  int64_t positionOf(int entry) const { return entries[entry].position; }

  /// Notes on what `role` has waited for on channels that are `about` the
  /// memory, and why `old`, an entry of `oldRole` (kNone: still to come), has
  /// not ended then. `ends`: the last entry of each role.
  Notes explain(llvm::ArrayRef<int> ends, unsigned role, unsigned oldRole,
                int old, llvm::function_ref<bool(unsigned)> about) const;

  /// " in pass 2 of its loop", or nothing outside of loops (-1).
  static std::string inPass(int64_t pass);

private:
  struct Entry {
    const Step *step;
    int previous;
    /// Of its role.
    int count;
    int64_t position, pass;
  };
  /// What a wait or acquire has waited for.
  struct Source {
    unsigned role;
    StepKind kind;
    int64_t position;
  };

  /// None if it waits for nothing.
  std::optional<Source> sourceOf(const Entry &entry, unsigned wanted) const;
  std::string describe(const Entry &wait, unsigned role,
                       const Source &source) const;
  /// Of a commit or release that comes after an access which it does not cover.
  std::string describeClaim(const Entry &entry, unsigned role) const;

  const ProtocolModel &model;
  std::vector<Entry> entries;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H
