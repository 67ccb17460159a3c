//===- StoreGroups.h - stores that may go on behind a release ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_STOREGROUPS_H
#define FA4_LIB_CONVERSION_TILETONVVM_STOREGROUPS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include <deque>
#include <optional>

namespace fa4::tile {

/// How many of the stores that a role has issued need not have read their
/// tiles when it releases a stage. Each `tile.store` and `tile.reduce_add` is a
/// bulk group of its own. A thread can wait until all but its last N groups
/// have ended (PTX ISA, cp.async.bulk.wait_group); so N is the number of stores
/// behind the last one that reads the released stage, the least on all paths.
///
/// The k-th release of a channel belongs to its k-th wait. The analysis follows
/// the values that have been waited for and not been released, through loops
/// and branches. It keeps paths apart on which other numbers of values are
/// outstanding, by whether each loop makes a pass, and whether a pass is the
/// first one. Where it loses track, N is 0: all stores are waited for.
class StoreGroups {
public:
  explicit StoreGroups(RoleOp role);

  /// Returns N for a release.
  int64_t mayBePending(ReleaseOp release) const;

private:
  /// A value that has been waited for: by which operation (null if by one of
  /// several), and the stores issued since the last one that reads the value.
  struct Value {
    mlir::Operation *wait;
    int64_t storesSince;
  };
  struct State {
    llvm::MapVector<mlir::Value, std::deque<Value>> values;
    /// The passes of the loops around the state and before it.
    enum Passes { None, First, Later };
    llvm::MapVector<mlir::Operation *, Passes> loops;
  };
  using States = llvm::SmallVector<State, 2>;

  /// These return false if the values are lost track of.
  bool run(mlir::Block &block, States &states);
  bool run(mlir::Operation &op, States &states);
  bool runLoop(mlir::Operation *loop, States &states);
  bool runBranch(mlir::scf::IfOp branch, States &states);
  bool release(ReleaseOp op, State &state);
  static void store(mlir::Value tile, State &state);
  static std::optional<bool> decide(mlir::Value condition, const State &state);
  /// Adds a state, or joins it with one on a path of the same kind. Returns
  /// false if nothing has changed.
  static bool add(State state, States &states);

  /// The channels that the role releases.
  llvm::DenseSet<mlir::Value> released;
  llvm::DenseMap<mlir::Operation *, int64_t> pending;
  bool isKnown = false;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_STOREGROUPS_H
