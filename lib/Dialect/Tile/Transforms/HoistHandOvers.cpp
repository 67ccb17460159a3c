//===- HoistHandOvers.cpp - when lanes take and give stages ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HoistHandOvers.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns true if no other role sees when `op` is executed.
static bool isUnseen(Operation *op) {
  return !fa4::anyIn(op, [](Operation *inner) {
    return !isa<WaitOp, ReadOp>(inner) &&
           !inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
           !isMemoryEffectFree(inner);
  });
}

void fa4::tile::hoistAcquires(RoleOp role) {
  role.walk([](AcquireOp acquire) {
    auto channel = acquire.getChannel().getDefiningOp<ChannelOp>();
    auto type = dyn_cast<VectorType>(channel.getValueType());
    if (!type || type.getRank() != 1)
      return;
    Operation *place = acquire;
    while (place->getPrevNode() && isUnseen(place->getPrevNode()))
      place = place->getPrevNode();
    acquire->moveBefore(place);
  });
}

/// Returns the last read of the value that `release` gives back, if lanes hold
/// all of the value in registers from there on but wait for another role before
/// the release. Returns null otherwise.
static ReadOp findReadBeforeWaiting(ReleaseOp release) {
  Value channel = release.getChannel();
  ReadOp last;
  bool waits = false;
  for (Operation *op = release->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto wait = dyn_cast<WaitOp>(op); wait && wait.getChannel() == channel)
      return waits ? last : ReadOp();
    if (auto read = dyn_cast<ReadOp>(op);
        read && read.getChannel() == channel) {
      // A value with one use is read in pieces as it is used
      // (Unroller::lowerRead), so lanes do not hold it.
      if (read->hasOneUse() || !isa<VectorType>(read.getValue().getType()))
        return nullptr;
      last = last ? last : read;
    } else if (fa4::anyIn(op, [&](Operation *inner) {
                 return inner != op && isa<WaitOp, ReadOp, ReleaseOp>(inner) &&
                        inner->getOperand(0) == channel;
               })) {
      return nullptr;
    }
    waits |= !last && isa<WaitOp, AcquireOp>(op);
  }
  return nullptr;
}

void fa4::tile::hoistReleases(RoleOp role) {
  role.walk([](ReleaseOp release) {
    if (ReadOp read = findReadBeforeWaiting(release))
      release->moveAfter(read);
  });
}
