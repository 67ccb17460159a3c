//===- MaskedProgram.h - programs whose blocks are masked ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MASKEDPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MASKEDPROGRAM_H

#include "ModProgram.h"
#include "VisibleRange.h"

namespace fa4 {

/// A program that loops over blocks of scores, of which the op's mask and
/// mask_mod leave out some and cut others.
class MaskedProgram : protected ModProgram {
protected:
  using ModProgram::ModProgram;

  /// Returns the positions which the work tile has to visit, and those in which
  /// all its rows see everything, by the kernel's arguments of this kind
  /// (VisibleBlocksProgram.h), or no bounds if there are none.
  PositionRange readPositions(bool full);
  /// The steps of a loop that are masked: those below `below`, and those from
  /// `from` on. A bound that is null leaves out its steps.
  struct MaskedSteps {
    mlir::Value below, from;
  };
  /// Returns the steps of both.
  MaskedSteps unite(const MaskedSteps &x, const MaskedSteps &y);
  /// Sets the elements of a tile that mask_mod hides to -inf, and in some steps
  /// those that are not `visible`, a condition that is built in the branch that
  /// needs it. `ofMask` are the steps in which the band or mask_mod may hide
  /// something; none if nothing is known of mask_mod.
  mlir::Value maskSteps(mlir::Value tile, mlir::Value step,
                        const MaskedSteps &ofBand,
                        const std::optional<MaskedSteps> &ofMask,
                        llvm::ArrayRef<TileValue> arguments,
                        llvm::function_ref<mlir::Value()> visible);
  /// Sets the elements of a tile that mask_mod hides, or that are not
  /// `visible`, to -inf in each step, without a branch.
  mlir::Value maskAlways(mlir::Value tile, llvm::ArrayRef<TileValue> arguments,
                         mlir::Value visible);

private:
  /// Sets the elements of a tile that are not `visible` to -inf.
  mlir::Value hide(mlir::Value tile, mlir::Value visible);
  /// The condition that a step is masked; null if no step is.
  mlir::Value isMasked(mlir::Value step, const MaskedSteps &steps);
  /// Sets the elements of a tile that mask_mod hides to -inf.
  mlir::Value applyMaskMod(mlir::Value tile,
                           llvm::ArrayRef<TileValue> arguments);
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MASKEDPROGRAM_H
