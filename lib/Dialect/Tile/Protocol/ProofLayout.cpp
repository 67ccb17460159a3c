//===- ProofLayout.cpp - slots and clocks of the proof ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProofLayout.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;

ProofLayout::ProofLayout(const ProtocolModel &model)
    : model(model), hasOwnMemory(model.channels.size(), true),
      acquired(model.channels.size(), false),
      released(model.channels.size(), false),
      allOrderTensorMemory(
          llvm::all_of(model.channels, [](const ProtocolChannel &channel) {
            return channel.ordersTensorMemory;
          })) {
  for (auto [i, channel] : llvm::enumerate(model.channels)) {
    firstSlot.push_back(slotCount());
    channelOfSlot.append(channel.stages, i);
  }
  overlaps.resize(slotCount());
  for (unsigned a = 0; a < slotCount(); ++a)
    for (unsigned b = 0; b < slotCount(); ++b) {
      unsigned channelA = channelOf(a), channelB = channelOf(b);
      if (!model.overlap(channelA, a - firstSlot[channelA], channelB,
                         b - firstSlot[channelB]))
        continue;
      overlaps[a].push_back(b);
      if (a != b)
        hasOwnMemory[channelA] = hasOwnMemory[channelB] = false;
    }
  for (const ProtocolRole &role : model.roles)
    forEachStep(role.body, [&](const Step &step) {
      if (step.kind == StepKind::Acquire)
        acquired[step.channel] = true;
      if (step.kind == StepKind::Release)
        released[step.channel] = true;
    });
}
