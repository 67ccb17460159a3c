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
#include <deque>

namespace fa4::tile {

/// The events of all runs. An entry is identified by its number. Runs that part
/// share the entries before they parted.
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

  /// Returns what the last step of a role that waits for another one waits for,
  /// and that step, if there is one. `last` is the last entry of the role.
  std::optional<std::pair<mlir::Operation *, std::string>>
  lastWait(int last, unsigned role) const;

  /// Notes on what `role` has waited for on channels that are `about` the
  /// memory, and why `old`, an entry of `oldRole` (kNone: still to come), has
  /// not ended then. `ends`: the last entry of each role.
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

  /// Returns nothing if the entry waits for nothing.
  std::optional<Source> sourceOf(const Entry &entry, unsigned wanted) const;
  /// Describes a wait: "@mma in pass 1 of its loop waits for commit number 2 of
  /// channel "k" by @load".
  std::string describe(const Entry &wait, unsigned role,
                       const Source &source) const;
  /// Describes a commit or release that comes after an access but does not
  /// cover it.
  std::string describeClaim(const Entry &entry, unsigned role) const;

  const ProtocolModel &model;
  /// Hundreds of thousands for some kernels, which a vector would copy again
  /// and again as it grows.
  std::deque<Entry> entries;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLHISTORY_H
