//===- ProtocolCases.h - numbers of passes to explore ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLCASES_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLCASES_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// All that a role does.
using ProtocolTrace = std::vector<ProtocolEvent>;

/// One choice of all numbers of passes and conditions.
struct ProtocolCase {
  /// Of each role.
  std::vector<ProtocolTrace> traces;
  /// Of each loop, each time that it is entered.
  std::vector<llvm::SmallVector<int64_t, 2>> passes;

  /// Of all loops.
  int64_t total() const;
};

/// All cases in which no loop makes more than `maxPasses` passes, and none with
/// loops in it more than `maxOuterPasses`, one of each kind; those with the
/// fewest passes first. None if there are more than `maxCases`.
std::optional<std::vector<ProtocolCase>>
findProtocolCases(const ProtocolModel &model, int64_t maxPasses,
                  int64_t maxOuterPasses, size_t maxCases);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLCASES_H
