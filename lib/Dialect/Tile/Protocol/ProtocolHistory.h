//===- ProtocolHistory.h - what roles have done before a finding ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counter-examples: why nothing orders two accesses. The history starts at the
// later role and takes its last wait on the memory. It goes on with the role
// that this wait waited for, and that role's last wait before, and so on. It
// ends where the chain does not lead to the end of the earlier access.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H

#include "fa4/Dialect/Tile/Protocol/RoleCursor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <deque>

namespace fa4::tile {

/// The events of all runs. A number identifies an entry. Two runs share the
/// entries from before the question at which they part.
class ProtocolHistory {
public:
  static constexpr int kNone = -1;
  using Notes = std::vector<std::pair<mlir::Operation *, std::string>>;

  explicit ProtocolHistory(const ProtocolModel &model) : model(model) {}

  /// Adds an event of a role whose last entry is `last`, and returns the new
  /// entry.
  int append(int last, const ProtocolEvent &event);

  /// Finds an entry of the role whose last entry is `last`: the newest one of
  /// this kind if no position is given. Returns kNone if there is none.
  int find(int last, StepKind kind, unsigned channel,
           std::optional<int64_t> position = std::nullopt) const;
  /// Finds the first relaxed arrival behind the entry `after` of the role whose
  /// last entry is `last`. Returns kNone if there is none.
  int findRelaxed(int last, int after) const;
  mlir::Operation *opOf(int entry) const { return entries[entry].step->op; }
  int64_t passOf(int entry) const { return entries[entry].pass; }
  int64_t positionOf(int entry) const { return entries[entry].position; }

  /// Returns the last step with which the role waited for another one, and a
  /// text that says what it waited for. Returns nothing if the role has not
  /// waited. `last` is the last entry of the role.
  std::optional<std::pair<mlir::Operation *, std::string>>
  lastWait(int last, unsigned role) const;

  /// Returns notes on why `role` does not know the end of the entry `old` of
  /// `oldRole` (kNone: an entry that is still to come). They tell for what
  /// `role` has waited on channels for which `about` is true, the channels of
  /// the memory. `ends` has the last entry of each role.
  Notes explain(llvm::ArrayRef<int> ends, unsigned role, unsigned oldRole,
                int old, llvm::function_ref<bool(unsigned)> about) const;

  /// Returns a text such as " in pass 2 of its loop", or an empty one outside
  /// of loops (-1).
  static std::string inPass(int64_t pass);

private:
  struct Entry {
    const Step *step;
    int previous;
    /// The number of the entry within its role.
    int count;
    int64_t position, pass;
  };
  /// The commits or releases for which a wait or acquire has waited.
  struct Source {
    unsigned role;
    StepKind kind;
    int64_t position;
  };

  /// Returns the commit or release for which `entry` waits, or nothing.
  std::optional<Source> sourceOf(const Entry &entry, unsigned wanted) const;
  /// Describes a wait: "@mma in pass 1 of its loop waits for commit number 2 of
  /// channel "k" by @load".
  std::string describe(const Entry &wait, unsigned role,
                       const Source &source) const;
  /// Describes a commit or release that comes after an access but does not
  /// cover it.
  std::string describeClaim(const Entry &entry, unsigned role) const;

  const ProtocolModel &model;
  /// Some kernels have hundreds of thousands of entries. A vector would copy
  /// them each time it grows.
  std::deque<Entry> entries;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H
