//===- ProtocolExplanation.cpp - which step waits for whom ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error of the proof stands on one operation, and its notes tell the
// shortest counter-example. The explanation is for the person who edits the
// file. It says where each role stands at the end of the counter-example, what
// the role waits for, and which line of which other role should end the wait.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace fa4::tile;

/// Explains a kernel that has no model because a channel lacks its producer or
/// its consumers: names the roles that wait for the missing side. Returns false
/// if no role does.
static bool explainMissingSide(KernelOp kernel) {
  bool hasExplained = false;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    auto has = [&](auto isKind) {
      return llvm::any_of(channel->getUsers(), isKind);
    };
    bool isCommitted = channel.getInitial() ||
                       has([](Operation *user) { return isa<CommitOp>(user); });
    for (Operation *user : channel->getUsers()) {
      if (!isa<WaitOp>(user) || isCommitted)
        continue;
      auto role = user->getParentOfType<RoleOp>();
      emitRemark(user->getLoc())
          << "@" << role.getSymName() << " waits here for commits of channel \""
          << channel.getLabel() << "\", which no role makes";
      hasExplained = true;
    }
  }
  return hasExplained;
}

bool fa4::tile::explainProtocol(KernelOp kernel) {
  if (kernel.getBody().getOps<RoleOp>().empty())
    return false;
  auto model = [&]() -> FailureOr<ProtocolModel> {
    ScopedDiagnosticHandler quiet(kernel.getContext(),
                                  [](Diagnostic &) { return success(); });
    return buildProtocolModel(kernel);
  }();
  if (failed(model))
    return explainMissingSide(kernel);
  if (verifyPlacement(*model))
    return false;
  std::optional<ProtocolFinding> finding = verifyProtocol(*model);
  if (!finding)
    return false;
  // Not op->emitRemark, which prints the op and therefore verifies it: this may
  // be part of a verifier.
  for (const auto &[op, text] : finding->waits)
    emitRemark(op->getLoc(), text);
  return !finding->waits.empty();
}
