//===- ProtocolBarriers.h - what completes barriers, and fences ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase of an mbarrier ends with the last of its arrivals and of its bytes
// (PTX ISA, "mbarrier phases"). Who arrives, a phase:
//
// | barrier | what arrives | arrivals | bytes |
// |---|---|---|---|
// | full, stage filled by MMAs | tcgen05.commit | 1 | |
// | full, stage filled by a TMA load | arrive.expect_tx | 1 | of all boxes |
// | full, stage filled by lanes | each lane | 32 a warp | |
// | empty, a role that issues | tcgen05.commit, or its thread | 1 | |
// | empty, a role of lanes | each lane | 32 a warp | |
//
// Who waits for the commits or releases of both CTAs of a cluster does so at
// one barrier of the leader, at which those of both arrive. The thread of one
// of the CTAs expects the bytes of the loads of both, and arrives for both.
//
// A count that is too small ends a phase early, one that is too large never.
//
// MMAs and TMA stores read shared memory through the async proxy. What lanes
// write through the generic proxy is theirs to see only behind a fence.proxy
// .async of the lane that wrote (PTX ISA, "Proxies"), so there is one on each
// path from a `tile.write` to the commit of the stage.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLBARRIERS_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLBARRIERS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

/// Checks the counts of channels that have barriers, and the fences of roles
/// that are distributed. Everything is recomputed from the steps of the model,
/// not from what tile-allocate or tile-distribute has written.
std::optional<ProtocolFinding> verifyBarriers(const ProtocolModel &model,
                                              const TargetDescription &target);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLBARRIERS_H
