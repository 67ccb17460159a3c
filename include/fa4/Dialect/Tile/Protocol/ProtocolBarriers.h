//===- ProtocolBarriers.h - what completes barriers, and fences ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase of an mbarrier ends when its last arrival and its last byte have come
// (PTX ISA, "mbarrier phases"). In each phase arrive:
//
// | barrier | what arrives | arrivals | bytes |
// |---|---|---|---|
// | full, stage filled by MMAs | tcgen05.commit | 1 | |
// | full, stage filled by a TMA load | arrive.expect_tx | 1 | of all boxes |
// | full, stage filled by lanes | each lane | 32 a warp | |
// | empty, a role that issues | tcgen05.commit, or its thread | 1 | |
// | empty, a role of lanes | each lane | 32 a warp | |
//
// A role that waits for the commits or releases of both CTAs of a cluster waits
// at one barrier, in the leader. The roles of both CTAs arrive there. If the
// stages are filled by loads, one thread expects the bytes of both CTAs and
// arrives for both.
//
// A count that is too small ends the phase early. A count that is too large
// never ends it.
//
// MMAs and TMA stores read shared memory through the async proxy; lanes write
// through the generic proxy. The async proxy sees a write only behind a
// fence.proxy.async of the lane that wrote (PTX ISA, "Proxies"). So each path
// from a `tile.write` to the commit of its stage has such a fence.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLBARRIERS_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLBARRIERS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolFinding.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

/// Checks the counts of channels that have barriers, and the fences of roles
/// that are distributed. The numbers are recomputed from the steps of the
/// model: what tile-allocate and tile-distribute have written is checked, not
/// used.
std::optional<ProtocolFinding> verifyBarriers(const ProtocolModel &model,
                                              const TargetDescription &target);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLBARRIERS_H
