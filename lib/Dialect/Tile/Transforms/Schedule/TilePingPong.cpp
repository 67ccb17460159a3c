//===- TilePingPong.cpp - roles that take turns at MMAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixStages.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEPINGPONG
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;
using fa4::TargetDescription;

/// The least time of lanes, as a share of the time of their MMAs, from which on
/// turns pay. Measured on an H100 in FlashAttention-4's loops: without turns
/// head dim 64 (share 0.8) takes 4.3% longer, 128 (0.44) takes 1.5% longer; 256
/// (0.34) has none there.
static constexpr double kTurnShare = 0.4;

namespace {
/// A role that takes turns, and the loop in which it does.
struct Player {
  RoleOp role;
  scf::ForOp loop;
};
} // namespace

/// Returns the only loop of the role's work that starts MMAs, or null.
static scf::ForOp findLoop(RoleOp role) {
  scf::ForOp found;
  for (auto loop : KernelOp::getWorkBlock(role.getBody()).getOps<scf::ForOp>())
    if (!loop.getBody()->getOps<MmaOp>().empty()) {
      if (found)
        return {};
      found = loop;
    }
  return found;
}

/// Returns the cycles of the exponentials in a pass of the loop, which stand
/// for the work of lanes.
static uint64_t countLaneCycles(scf::ForOp loop,
                                const TargetDescription &target) {
  uint64_t elements = 0;
  loop.walk([&](Operation *op) {
    if (isa<math::Exp2Op, Exp2Op>(op))
      if (auto type = dyn_cast<VectorType>(op->getResult(0).getType()))
        elements += type.getNumElements();
  });
  return elements / target.rates.mufu;
}

static bool pays(scf::ForOp loop, const TargetDescription &target) {
  uint64_t mmas = 0;
  for (auto mma : loop.getBody()->getOps<MmaOp>())
    mmas += countMmaCycles(mma, target);
  return countLaneCycles(loop, target) >= kTurnShare * mmas;
}

/// Returns the roles that can take turns: all that start MMAs by lanes, if
/// their loops make as many passes. Empty if they cannot, or if it does not
/// pay.
///
/// It does not where MMAs of one role read what lanes of another compute: the
/// roles are in step then, and those MMAs may start late in a pass, so that a
/// turn would last nearly as long as the pass. (Measured on an H100, gradient
/// with head dim 64: 451 TFLOP/s with turns, 545 without.)
static SmallVector<Player> findPlayers(KernelOp kernel) {
  SmallVector<Player> players;
  IndexForms forms;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (!isMatrixRole(role))
      continue;
    scf::ForOp loop = findLoop(role);
    if (!loop || exchangesOperands(loop) || !pays(loop, kernel.getTarget()) ||
        (!players.empty() &&
         forms.getTripCount(loop) != forms.getTripCount(players.front().loop)))
      return {};
    players.push_back({role, loop});
  }
  return players.size() > 1 ? players : SmallVector<Player>();
}

static void takeTurns(KernelOp kernel, ArrayRef<Player> players) {
  OpBuilder b(players.front().role);
  SmallVector<ChannelOp> turns;
  for (Player player : players) {
    std::string label = ("turn_" + player.role.getSymName()).str();
    turns.push_back(ChannelOp::create(b, kernel.getLoc(), b.getNoneType(),
                                      StringRef(label), MemorySpace::barrier));
  }
  for (unsigned number = 0; number < players.size(); ++number) {
    RoleOp role = players[number].role;
    scf::ForOp loop = players[number].loop;
    Location loc = role.getLoc();
    ChannelOp next = turns[(number + 1) % turns.size()];
    auto mmas = llvm::to_vector(loop.getBody()->getOps<MmaOp>());
    b.setInsertionPoint(mmas.front());
    WaitOp::create(b, loc, /*value=*/Type(), turns[number].getChannel());
    b.setInsertionPointAfter(mmas.back());
    CommitOp::create(b, loc, next.getChannel(), /*value=*/Value());
    Block &body = role.getBody().front();
    if (number + 1 == players.size()) {
      b.setInsertionPointToStart(&body);
      CommitOp::create(b, loc, next.getChannel(), Value());
    }
    // The last turn of all is taken, so that no thread ends with a barrier that
    // waits for others.
    if (number == 0) {
      b.setInsertionPointToEnd(&body);
      WaitOp::create(b, loc, Type(), turns[number].getChannel());
    }
  }
}

namespace {
struct TilePingPong : public fa4::tile::impl::TilePingPongBase<TilePingPong> {
  void runOnOperation() override {
    SmallVector<Player> players = findPlayers(getOperation());
    if (!players.empty())
      takeTurns(getOperation(), players);
  }
};
} // namespace
