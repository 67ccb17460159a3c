//===- Mutations.h - small faults in a kernel's protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_MUTATE_MUTATIONS_H
#define FA4_TOOLS_FA4_MUTATE_MUTATIONS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "mlir/IR/IRMapping.h"
#include <functional>

namespace fa4::tile {

/// A change of a kernel's operations.
struct IRChange {
  enum Kind {
    Erase,
    /// A copy before the operation.
    Duplicate,
    /// Before or behind `anchor`, or what holds it in `op`'s block.
    MoveBefore,
    MoveBehind,
    /// Into the body of loop `anchor`.
    MoveToStart,
    MoveToEnd,
    /// `attributes`; a null value removes one.
    SetAttributes,
  };
  Kind kind;
  mlir::Operation *op;
  mlir::Operation *anchor = nullptr;
  llvm::SmallVector<std::pair<std::string, mlir::Attribute>, 1> attributes;

  /// In a copy of the IR, given the copy of each operation. Fails where the
  /// operations cannot be changed so; what was made may also be invalid.
  llvm::LogicalResult apply(const mlir::IRMapping &copies) const;
};

/// One change of a kernel's protocol.
struct Mutation {
  /// Name of the operator: `drop`, `weaken`, ...
  std::string kind;
  /// What it changes, for people.
  std::string text;
  /// Changes a copy of the model; null for a mutation that is one of the IR.
  std::function<void(ProtocolModel &)> changeModel;
  /// The same in the IR, if the IR can say it.
  std::optional<IRChange> changeIR;
};

/// All mutations of one step on a channel: left out, without its wait, done
/// twice, exchanged with its neighbour, moved to an end of its block, into a
/// loop beside it or out of the one it is in.
std::vector<Mutation> mutateSteps(const ProtocolModel &model);

/// All mutations of an attribute of channels and roles: stages, initial,
/// offset, full, empty, arrivals and bytes of a phase, first_warp, warps,
/// registers.
std::vector<Mutation> mutateAttributes(KernelOp kernel);

/// All mutations of a fence in a role of lanes: left out, or moved.
std::vector<Mutation> mutateFences(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_TOOLS_FA4_MUTATE_MUTATIONS_H
