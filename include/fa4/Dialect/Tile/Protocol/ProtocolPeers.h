//===- ProtocolPeers.h - the other CTA of a cluster -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLPEERS_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLPEERS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// Turns the model of one CTA into the model of a cluster of two, if the kernel
/// has a cluster. Both CTAs have the same unknowns. Emits an error on a loop or
/// condition whose value depends on which work tile of the cluster a CTA has.
mlir::LogicalResult addPeers(ProtocolModel &model);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLPEERS_H
