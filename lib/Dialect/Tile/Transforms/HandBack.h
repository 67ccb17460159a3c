//===- HandBack.h - lanes give an accumulator back early ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// In a ring in tensor memory, the lanes write parts over the first columns of
// an accumulator (the host) that they have read, and the role that issues MMAs
// gets its columns back with the parts. Here the lanes say earlier that they
// have read the host: they read all of it first, and commit to a channel
// in its place. Columns that no part needs are the issuing role's from then on.

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDBACK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDBACK_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include <optional>

namespace fa4::tile {

using UsesMap = llvm::MapVector<ChannelOp, ChannelUses>;

/// Returns the operations of the issuing role in front of which it has to wait
/// for the host, one for each value: the first one behind its write that
/// writes the guest or the next value of the host. Nothing if that is not in
/// the same block.
std::optional<llvm::SmallVector<mlir::Operation *>>
findHandBacks(const ChannelUses &host, const ChannelUses &guest);

/// Returns true if lanes come to read the host without anything that `role`
/// does behind these waits: whatever they, and the roles that they wait for,
/// need of the role until then, it has issued before.
bool handsBackWithout(RoleOp role, const ChannelUses &host,
                      llvm::ArrayRef<mlir::Operation *> waits,
                      const UsesMap &all);

/// Lets lanes hand the host back when they have read it, for which its producer
/// waits in front of each of `waits`.
void handBack(const ChannelUses &host, llvm::ArrayRef<mlir::Operation *> waits);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_HANDBACK_H
