//===- ProtocolFinding.h - why a kernel is rejected ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLFINDING_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLFINDING_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace fa4::tile {

/// The reason why a kernel is rejected: an error and notes.
struct ProtocolFinding {
  mlir::Operation *op;
  std::string message;
  std::vector<std::pair<mlir::Operation *, std::string>> notes;
  /// The sum of the passes of all loops in the counter-example.
  int64_t passes = 0;
  /// Further channels that the finding is about. The channels of its operations
  /// need not be named.
  llvm::SmallVector<unsigned, 2> channels = {};
  /// Which steps wait for which others at the end of the counter-example. Only
  /// shown to a reader who asks (explainProtocol).
  std::vector<std::pair<mlir::Operation *, std::string>> waits = {};

  void emit() const;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLFINDING_H
