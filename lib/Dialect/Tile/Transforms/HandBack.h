//===- HandBack.h - lanes give an accumulator back early ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// In a ring in tensor memory, the lanes write parts over the first columns of
// an accumulator (the host) that they have read. The role that issues MMAs gets
// the columns back only with the parts. This rewriting lets it have them
// earlier: the lanes read all of the host first, and say so by a commit to a
// channel in the host's place. From then on, the columns that no part needs
// belong to the issuing role.

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDBACK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDBACK_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include <optional>

namespace fa4::tile {

using UsesMap = llvm::MapVector<ChannelOp, ChannelUses>;

/// Returns the operations in front of which the issuing role has to wait for
/// the host, one for each value of the host. Each is the first operation behind
/// a write of the host that writes the guest or the next value of the host.
/// Returns nothing if one of them is in another block than its write.
std::optional<llvm::SmallVector<mlir::Operation *>>
findHandBacks(const ChannelUses &host, const ChannelUses &guest);

/// Returns true if lanes can read the host without anything that `role` does
/// behind `waits`: the role has issued before whatever the lanes, and the roles
/// for which they wait, need until then.
bool handsBackWithout(RoleOp role, const ChannelUses &host,
                      llvm::ArrayRef<mlir::Operation *> waits,
                      const UsesMap &all);

/// Lets lanes hand the host back as soon as they have read it. The host's
/// producer waits for that in front of each of `waits`.
void handBack(const ChannelUses &host, llvm::ArrayRef<mlir::Operation *> waits);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDBACK_H
