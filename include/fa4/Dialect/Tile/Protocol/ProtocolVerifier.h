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
//  - never access a stage, or what overlaps it, while another access that
//    conflicts may be under way, and read nothing but the value they waited
//    for,
//  - commit, wait for, release and acquire the same number of values, no value
//    before the stage is acquired, none after it is released.
//
// Why one run decides. A channel has one producer, and each role is one program
// whose branches are uniform. So the k-th wait always takes what the k-th
// commit left, and the (k+stages)-th acquire what the k-th release left, in
// every interleaving: enabled steps never disable each other. Hence all maximal
// runs end in the same state (deadlock is decided by any of them), and the
// order that synchronisation enforces ("happens before") is the same in all of
// them. Two accesses race iff that order does not relate them. It is tracked
// with vector clocks, one component for each role's program order, one for each
// role's tensor-core operations, which run in the order of issue, and one for
// each stage's TMA operations, which may end in any order.
//
// When something has ended (PTX ISA, tcgen05.commit, mbarrier, cp.async.bulk):
//
// | step of a role that issues | is seen when |
// |---|---|
// | commit of an MMA's result | all MMAs that the role issued before have ended |
// | commit of a load | the load has written the stage |
// | release | all stores of this stage have ended |
// | release of what its MMAs read | and all MMAs that it issued before |
//
// Lanes of a role are not ordered with each other: shared memory that one of
// them accessed is known to be free to the others only after they have waited
// for something that follows a commit or release by all of them. Tensor memory
// that a lane accesses is its own.
//
// A relaxed arrival of lanes (ChannelRanks) says that the role has come so far,
// and which accesses to tensor memory have ended. It says nothing of shared
// memory: neither of the role's own accesses, nor of those it has seen the end
// of.
//
// Why all numbers of passes. The canonical run (the first role that can take a
// step takes it, those before others that are behind in loops whose passes may
// not wait for anyone) decides at the end of each pass whether there is another
// one, unless what is known of the trip counts, linear forms with common
// unknowns, decides. Both answers are followed. A state is what can influence
// the future: places of the roles, passes left (up to a shift of the unknowns),
// tokens and contents of stages relative to the ring positions, and which of
// the clocks cover which of the accesses that are still of interest. What
// follows from equal states is equal, so a state is followed once. Channels are
// bounded, so there are finitely many; a kernel without a finite proof is
// rejected at `kMaxProtocolSteps` or `kMaxProtocolStates`.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLVERIFIER_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLVERIFIER_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// The numbers of steps and of states after which the verifier gives up.
inline constexpr uint64_t kMaxProtocolSteps = 8000000;
inline constexpr uint64_t kMaxProtocolStates = 100000;

/// The reason why a kernel is rejected: an error and notes.
struct ProtocolFinding {
  mlir::Operation *op;
  std::string message;
  std::vector<std::pair<mlir::Operation *, std::string>> notes;
  /// The sum of the passes of all loops in the counter-example.
  int64_t passes = 0;
  /// Channels that the finding is about, beside those that the operations of
  /// the error and the notes use.
  llvm::SmallVector<unsigned, 2> channels = {};
  /// Which steps wait for which others where the finding was made, for readers
  /// who ask.
  std::vector<std::pair<mlir::Operation *, std::string>> waits = {};

  void emit() const;
};

struct ProtocolStatistics {
  uint64_t steps = 0;
  uint64_t states = 0;
};

/// Returns the first finding, the one with the fewest passes of loops. It may
/// be that the proof has more than `maxStates` states.
std::optional<ProtocolFinding>
verifyProtocol(const ProtocolModel &model,
               ProtocolStatistics *statistics = nullptr,
               uint64_t maxStates = kMaxProtocolStates);

/// Checks what a placed kernel uses of the chip: offsets are in range, stages
/// share memory only if the protocol may order their accesses, each channel has
/// barriers of its own, and the warps and registers of all roles fit.
std::optional<ProtocolFinding> verifyPlacement(const ProtocolModel &model);

/// Both, with errors emitted.
mlir::LogicalResult verifyProtocol(KernelOp kernel,
                                   ProtocolStatistics *statistics = nullptr,
                                   uint64_t maxStates = kMaxProtocolStates);

/// Emits remarks that say which step of `kernel` waits for which one of another
/// role where the proof fails, at the locations of these steps. Returns false
/// without a remark if there is a proof, or nothing to say about waits. The
/// error itself is not repeated.
bool explainProtocol(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLVERIFIER_H
