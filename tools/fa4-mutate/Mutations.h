//===- Mutations.h - small faults in a kernel's protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_MUTATE_MUTATIONS_H
#define FA4_TOOLS_FA4_MUTATE_MUTATIONS_H

#include "fa4/Dialect/Tile/Analysis/ProtocolModel.h"
#include <functional>

namespace fa4::tile {

/// One change of a kernel's protocol.
struct Mutation {
  /// Name of the operator: `drop`, `weaken`, ...
  std::string kind;
  /// What it changes, for people.
  std::string text;
  /// Changes a copy of the model, or (null) ...
  std::function<void(ProtocolModel &)> changeModel;
  /// ... an attribute of an operation: name and new value, null to remove it.
  mlir::Operation *op = nullptr;
  std::string attribute;
  mlir::Attribute value;
};

/// All mutations of one step on a channel: left out, without its wait, done
/// twice, exchanged with its neighbour, moved to an end of its block, into a
/// loop beside it or out of the one it is in.
std::vector<Mutation> mutateSteps(const ProtocolModel &model);

/// All mutations of an attribute of channels and roles: stages, initial,
/// in_place_of, offset, full, empty, first_warp, warps, registers.
std::vector<Mutation> mutateAttributes(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_TOOLS_FA4_MUTATE_MUTATIONS_H
