//===- ProtocolLanes.h - what lanes read and hand on ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After `tile-distribute`, lanes write a stage and commit it. A value that is
// rescaled in its own buffer is written only by warps whose factors are not 1;
// the other warps hand on the value that is there. The model lets all warps
// read the old value and write the new one, which needs at least as much order.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLLANES_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLLANES_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include <optional>
#include <utility>

namespace fa4::tile {

/// Returns true if the steps are accesses of lanes that may be skipped: at
/// least one writes, and a stage that is not written still has a valid value.
bool mayHandOn(const ProtocolModel &model, unsigned role,
               llvm::ArrayRef<Step> steps);

/// Adds the reads that happen where `steps` are skipped: the stage keeps its
/// old value, which is handed on. `steps` are the steps of `op`.
void addHandOnReads(const ProtocolModel &model, unsigned role,
                    mlir::Operation *op, llvm::ArrayRef<Step> steps,
                    std::vector<Step> &to);

/// Adds the accesses of commits without a write before them, which hand on an
/// old value. Emits an error on a commit of a stage that is written only in
/// some columns.
mlir::LogicalResult completeLaneCommits(ProtocolModel &model, unsigned role);

/// Returns the region of a branch in which all uses of the value lie, so that
/// the value may be anything where the branch is not taken. Pure arithmetic on
/// the value may stand in front of the branch. Returns null if there is no such
/// branch, or if the stage changes hands before it.
mlir::Region *findBranch(ReadOp read);

/// Finds the condition under which the value of `read` matters: the value and
/// all that is computed from it are operands of selections by one condition on
/// scalars, always on one side. Returns the condition, and true if that side is
/// the true value. Where the other side is selected, the value may be anything.
std::optional<std::pair<mlir::Value, bool>> findSelection(ReadOp read);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLLANES_H
