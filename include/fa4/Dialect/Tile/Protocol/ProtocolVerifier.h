//===- ProtocolVerifier.h - proof of a kernel's synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides for all numbers of passes of all loops whether the roles of a kernel
//
//  - never wait for each other forever,
//  - never access a stage, or memory that overlaps it, while a conflicting
//    access may be under way, and read only values for which they have waited,
//  - commit, wait for, release and acquire the same number of values: none
//    before its stage is acquired, none after it is released.
//
// Why one run decides. A channel has one producer, and each role is one program
// whose branches are uniform. So in every interleaving, the k-th wait takes
// what the k-th commit left, and the (k+stages)-th acquire takes what the k-th
// release left. Enabled steps never disable each other. Hence all maximal runs
// end in the same state, so any one of them decides whether there is a
// deadlock. And all of them have the same order of accesses that
// synchronisation enforces ("happens before"). Two accesses race iff this order
// does not relate them. The order is tracked with vector clocks. A clock has
// one component for each role's program order. It has one for each role's
// tensor-core operations, which run in the order of issue. It has one for each
// stage's TMA operations, which may end in any order.
//
// When an asynchronous access has ended (PTX ISA, tcgen05.commit, mbarrier,
// cp.async.bulk):
//
// | step of a role that issues | is seen when |
// |---|---|
// | commit of an MMA's result | all MMAs that the role issued before have ended |
// | commit of a load | the load has written the stage |
// | release | all stores of this stage have ended |
// | release of what its MMAs read | and all MMAs that it issued before |
//
// Lanes of a role are not ordered with each other. If one lane has accessed
// shared memory, another lane knows that only after it has waited for something
// that follows a commit or release by all of them. Each lane accesses its own
// part of tensor memory, so this does not concern tensor memory.
//
// A relaxed arrival of lanes (ChannelRanks) tells how far the role has come and
// which accesses to tensor memory have ended. It tells nothing about shared
// memory: neither about the role's own accesses, nor about accesses whose end
// the role has seen.
//
// Why all numbers of passes. The proof follows one canonical run: the first
// role that can take a step takes it. (Roles that are behind come first, if the
// passes of their loops may not wait for anyone.) At the end of each pass, the
// facts about trip counts may decide whether there is another pass. The facts
// are linear forms over common unknowns. If they do not decide, both answers
// are followed.
//
// A state is all that can influence the future: the places of the roles, the
// passes that are left (up to a shift of the unknowns), tokens and contents of
// stages relative to the ring positions, and which clocks cover which accesses
// that may still conflict. Equal states have equal futures, so each state is
// followed once. Channels are bounded, so there are finitely many states. A
// kernel whose proof does not end within `kMaxProtocolSteps` or
// `kMaxProtocolStates` is rejected.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLVERIFIER_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLVERIFIER_H

#include "fa4/Dialect/Tile/Protocol/ProtocolFinding.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// The numbers of steps and of states after which the verifier gives up.
inline constexpr uint64_t kMaxProtocolSteps = 8000000;
inline constexpr uint64_t kMaxProtocolStates = 100000;

struct ProtocolStatistics {
  uint64_t steps = 0;
  uint64_t states = 0;
};

/// Returns the finding with the fewest passes of loops, or nothing if there is
/// a proof. A proof that needs more than `maxStates` states is a finding, too.
std::optional<ProtocolFinding>
verifyProtocol(const ProtocolModel &model,
               ProtocolStatistics *statistics = nullptr,
               uint64_t maxStates = kMaxProtocolStates);

/// Checks what a placed kernel uses of the chip. Offsets must be in range.
/// Stages may share memory only where the protocol orders their accesses. Each
/// channel must have its own barriers. The warps and registers of all roles
/// must fit.
std::optional<ProtocolFinding> verifyPlacement(const ProtocolModel &model);

/// Builds the model of `kernel` and runs both checks. Emits errors.
mlir::LogicalResult verifyProtocol(KernelOp kernel,
                                   ProtocolStatistics *statistics = nullptr,
                                   uint64_t maxStates = kMaxProtocolStates);

/// Explains where the proof fails. Emits remarks at the steps of `kernel` that
/// wait; each says for which step of another role. Returns false without a
/// remark if there is a proof, or nothing to say about waits. Does not repeat
/// the error.
bool explainProtocol(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLVERIFIER_H
