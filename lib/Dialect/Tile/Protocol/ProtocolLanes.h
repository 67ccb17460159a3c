//===- ProtocolLanes.h - what lanes read and hand on ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After `tile-distribute`, lanes write a stage and commit it. A value that is
// rescaled in its own buffer is only written by the warps whose factors are not
// 1: the others hand on what is there, the value that they have waited for. In
// the model all do both, read the one and write the other: that asks for no
// less order.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLLANES_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLLANES_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include <optional>
#include <utility>

namespace fa4::tile {

/// Whether the steps are accesses by lanes that leave a valid stage behind also
/// if they do not happen, and some write.
bool mayHandOn(const ProtocolModel &model, unsigned role,
               llvm::ArrayRef<Step> steps);

/// Reads of what is handed on where `steps`, those of `op`, do not happen.
void addHandOnReads(const ProtocolModel &model, unsigned role,
                    mlir::Operation *op, llvm::ArrayRef<Step> steps,
                    std::vector<Step> &to);

/// Adds what commits without a write before them hand on. An error on a commit
/// of a stage of which only some columns are written.
mlir::LogicalResult completeLaneCommits(ProtocolModel &model, unsigned role);

/// The region of a branch behind `read` that has all uses of the value and of
/// what is computed from it before the branch, if its stage does not change
/// hands before. If the branch is not taken, the value may be anything. Null:
/// there is no such branch.
mlir::Region *findBranch(ReadOp read);

/// Where `read` and what is computed from it go into selections only, on one
/// side of one condition on scalars: the condition, and whether the side is
/// that of the true value. If the other side is selected, the value may be
/// anything.
std::optional<std::pair<mlir::Value, bool>> findSelection(ReadOp read);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLLANES_H
