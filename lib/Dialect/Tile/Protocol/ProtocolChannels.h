//===- ProtocolChannels.h - the channels of a model ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLCHANNELS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLCHANNELS_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// Makes the channels of the model of one CTA, and finds them by the channels
/// of the kernel.
class ProtocolChannels {
public:
  /// The model has its kernel and roles.
  explicit ProtocolChannels(ProtocolModel &model);

  /// Adds all channels to the model. Emits an error on a channel that has not
  /// one producer and at least one consumer, and on an acquire by a role that
  /// has no value in the buffer.
  mlir::LogicalResult add();

  /// Returns the number of the channel that a handle names. For a channel with
  /// an exchange, this is the channel of the part that a CTA sends.
  unsigned numberOf(mlir::Value handle) const {
    return numbers.lookup(handle.getDefiningOp());
  }
  /// Returns the number of the buffer that the channel shares with others.
  unsigned bufferOf(mlir::Value handle) const {
    return bufferNumbers.lookup(handle);
  }

  /// The channels of the parts of an exchanged stage that a CTA keeps and
  /// receives.
  struct Exchange {
    unsigned kept, received;
  };
  /// Returns the other parts of a stage of which `sent` is the part that a CTA
  /// sends, or null if `sent` is no such part.
  const Exchange *findExchange(int sent) const {
    auto exchange = exchanges.find(sent);
    return exchange == exchanges.end() ? nullptr : &exchange->second;
  }

private:
  mlir::LogicalResult checkSides(const ChannelUses &uses,
                                 ProtocolChannel &channel);
  mlir::LogicalResult checkAcquires(const ChannelUses &uses,
                                    ProtocolChannel &channel);
  mlir::LogicalResult place();
  void addExchanges();

  ProtocolModel &model;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers, roles;
  llvm::DenseMap<mlir::Value, unsigned> bufferNumbers;
  std::map<int, Exchange> exchanges;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLCHANNELS_H
