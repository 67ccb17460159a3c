//===- Attn.h - the attn dialect -----------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C++ interface of the attn dialect: ops, attributes, and the helpers that
// turn a layout into dimension numbers.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTN_H
#define FA4_DIALECT_ATTN_IR_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"
#include <array>
#include <optional>

#include "fa4/Dialect/Attn/IR/AttnDialect.h.inc"
#include "fa4/Dialect/Attn/IR/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Attn/IR/AttnAttrs.h.inc"

namespace fa4::attn {

/// Position of each dimension in a q, k, v or out of some layout, and of the
/// dimensions of its LSE.
struct DimOrder {
  /// Not present in the packed layouts.
  std::optional<unsigned> batch;
  /// Sequence position; in packed layouts the token.
  unsigned seq;
  unsigned head;
  /// Head dim: always the innermost one.
  unsigned dim;
  unsigned rank;

  bool isPacked() const { return !batch; }

  /// The LSE is [batch, head, query], or [head, token] when packed.
  unsigned lseRank() const { return rank - 1; }
  std::optional<unsigned> lseBatch() const {
    return isPacked() ? std::nullopt : std::optional<unsigned>(0);
  }
  unsigned lseHead() const { return isPacked() ? 0 : 1; }
  unsigned lseSeq() const { return lseHead() + 1; }
};

DimOrder getDimOrder(Layout layout);

/// Number of block arguments before the captures: the score and the four
/// indices (batch, head, query, key) for score_mod, the indices for mask_mod.
inline constexpr unsigned kNumIndexArgs = 4;
inline constexpr unsigned kNumScoreModArgs = 1 + kNumIndexArgs;
inline constexpr unsigned kNumMaskModArgs = kNumIndexArgs;

/// Element type of q, k, v: f16, bf16, f32, f8E4M3FN, f8E5M2.
bool isSupportedInputType(mlir::Type elementType);
/// Element type of out and of gradients whose input has `inputType`.
bool isSupportedOutputType(mlir::Type elementType, mlir::Type inputType);
/// The element type of out (or of a gradient) where nothing else is asked for:
/// the input's, bf16 for fp8.
mlir::Type getDefaultOutputType(mlir::Type inputType);

} // namespace fa4::attn

#include "fa4/Dialect/Attn/IR/AttnInterfaces.h.inc"

#define GET_OP_CLASSES
#include "fa4/Dialect/Attn/IR/AttnOps.h.inc"

#endif // FA4_DIALECT_ATTN_IR_ATTN_H
