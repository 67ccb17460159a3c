//===- ProtocolPeers.h - the other CTA of a cluster -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLPEERS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLPEERS_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// Makes the model of one CTA, with the roles of the leader, that of a cluster
/// of two. Unknown numbers are the same in both CTAs: an error on a loop or
/// condition that depends on which of its work tiles a CTA has.
mlir::LogicalResult addPeers(ProtocolModel &model);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLPEERS_H
