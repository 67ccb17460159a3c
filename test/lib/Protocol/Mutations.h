//===- Mutations.h - small faults in a kernel's protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_MUTATIONS_H
#define FA4_TEST_LIB_PROTOCOL_MUTATIONS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "mlir/IR/IRMapping.h"
#include <functional>

namespace fa4::tile {

/// A change of a kernel's operations.
struct IRChange {
  enum Kind {
    Erase,
    /// Insert a copy in front of the operation.
    Duplicate,
    /// Move the operation before or behind `anchor`, or the operation of its
    /// own block that contains `anchor`.
    MoveBefore,
    MoveBehind,
    /// Move the operation into the body of the loop `anchor`.
    MoveToStart,
    MoveToEnd,
    /// Set `attributes`, also of `others`; a null value removes an attribute.
    SetAttributes,
    /// Add `delta` to operand number `operand`, or take `value` in its place.
    AddToOperand,
    SetOperand,
    /// Have a tile.reduce_add add without its turn.
    DropTurn,
    /// The same of all that add in the turn of a tile.await_turn, which goes
    /// with its tile.pass_turn.
    EraseTurn,
  };
  Kind kind;
  mlir::Operation *op;
  mlir::Operation *anchor = nullptr;
  llvm::SmallVector<std::pair<std::string, mlir::Attribute>, 1> attributes;
  unsigned operand = 0;
  int64_t delta = 0;
  mlir::Value value = nullptr;
  llvm::SmallVector<mlir::Operation *, 1> others = {};

  /// Applies the change to a copy of the IR, given the copy of each operation.
  /// Fails if the operations cannot be changed in this way. The result may be
  /// invalid IR.
  llvm::LogicalResult apply(const mlir::IRMapping &copies) const;
};

/// Returns the place of a channel with a change: of the offset and of the full,
/// empty and landed barriers. Returns null if there is no such place.
PlaceAttr changePlace(
    ChannelOp channel,
    llvm::function_ref<void(int64_t &, Barriers &, std::optional<Barriers> &,
                            std::optional<Barriers> &)>
        change);

/// The values of Mutation::kind.
inline constexpr llvm::StringRef kMutationKinds[] = {
    "drop",       "weaken",         "duplicate",      "swap",
    "move",       "leave loop",     "enter loop",     "arrivals",
    "bytes",      "stages",         "initial",        "offset",
    "barrier",    "registers",      "warps",          "drop fence",
    "move fence", "drop turn",      "duplicate turn", "move turn",
    "wrong turn", "order",          "one CTA",        "leader",
    "split",      "exchange",       "cluster",        "unfenced",
    "ahead",      "weaken unfenced"};
/// Those of mutateOnRequest.
inline constexpr llvm::StringRef kRequestedKinds[] = {"unfenced", "ahead",
                                                      "weaken unfenced"};

/// One change of a kernel's protocol.
struct Mutation {
  /// The name of the operator: `drop`, `weaken`, ...
  std::string kind;
  /// A text for people that says what is changed.
  std::string text;
  /// The operation of the step that is changed, if it is one of a step.
  mlir::Operation *op = nullptr;
  /// Changes a copy of the model; null for a mutation that only exists in the
  /// IR.
  std::function<void(ProtocolModel &)> changeModel;
  /// The same change in the IR, if the IR can express it.
  std::optional<IRChange> changeIR;
  /// It is one of mutateTurns.
  bool isOfTurns = false;
};

/// All mutations of one step on a channel: left out, without its wait, done
/// twice, exchanged with its neighbour, moved to an end of its block, into a
/// loop beside it or out of the one it is in. In a cluster, all CTAs have the
/// fault; and each step on a channel may lack its wait or arrival for the
/// stages of one CTA.
std::vector<Mutation> mutateSteps(const ProtocolModel &model);

/// All mutations of an attribute of channels and roles: stages, initial,
/// offset, full, empty, arrivals and bytes of a phase, first_warp, warps,
/// registers.
std::vector<Mutation> mutateAttributes(KernelOp kernel);

/// All mutations of a fence in a role of lanes: left out, or moved.
std::vector<Mutation> mutateFences(KernelOp kernel);

/// All mutations of turns (tile.await_turn, tile.pass_turn): left out, taken or
/// passed on twice, earlier or later; of another number, at another place, by
/// another coordinate; and other orders of work tiles.
std::vector<Mutation> mutateTurns(KernelOp kernel);

/// All mutations of what the CTAs of a cluster have to do with each other:
/// which roles the leader alone has, what parts of tiles CTAs have, what is
/// counted of an exchange, and which CTAs make a cluster. None without a
/// cluster.
std::vector<Mutation> mutatePairs(KernelOp kernel);

/// All mutations of a kind that is made only if asked for: they are no faults
/// that somebody might make, but what a kernel may be able to do without.
///
/// - `unfenced`: no channel in shared memory orders accesses to tensor memory.
///   Its arrivals, and the waits for them, are without tcgen05.fence. A kernel
///   of which this is accepted needs none there.
/// - `weaken unfenced`: `weaken` of a kernel that is changed by `unfenced`.
///   What is accepted needs neither the wait nor fences that hand-overs of
///   shared memory may be without.
/// - `ahead`: a wait for a value of a ring asks for the next value, too. Where
///   it is accepted, the next value comes without what the role does behind the
///   wait.
std::vector<Mutation> mutateOnRequest(const ProtocolModel &model,
                                      llvm::StringRef kind);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_MUTATIONS_H
