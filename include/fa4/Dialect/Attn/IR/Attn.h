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

/// The position of each dimension in q, k, v and out for a layout, and in the
/// LSE.
struct DimOrder {
  /// The batch dimension, which packed layouts do not have.
  std::optional<unsigned> batch;
  /// The sequence position. In packed layouts, the token.
  unsigned seq;
  unsigned head;
  /// The head dim, which is always the innermost dimension.
  unsigned dim;
  unsigned rank;

  bool isPacked() const { return !batch; }

  /// The LSE is [batch, head, query], or [head, token] in packed layouts.
  unsigned lseRank() const { return rank - 1; }
  std::optional<unsigned> lseBatch() const {
    return isPacked() ? std::nullopt : std::optional<unsigned>(0);
  }
  unsigned lseHead() const { return isPacked() ? 0 : 1; }
  unsigned lseSeq() const { return lseHead() + 1; }
};

DimOrder getDimOrder(Layout layout);

/// The dimensions of a page table.
inline constexpr unsigned kTableSequences = 0, kTablePages = 1;

/// The dimensions of a block list, of which its counts have all but the last.
/// Those of a query list are the same; it has blocks of keys for kListBlocks.
inline constexpr unsigned kListSequences = 0, kListHeads = 1, kListBlocks = 2,
                          kListEntries = 3;
/// The elements of an op's `block_size`.
inline constexpr unsigned kBlockQueries = 0, kBlockKeys = 1;

/// Number of block arguments before the captures: the score and the four
/// indices (batch, head, query, key) for score_mod, the indices for mask_mod.
inline constexpr unsigned kNumIndexArgs = 4;
inline constexpr unsigned kNumScoreModArgs = 1 + kNumIndexArgs;
inline constexpr unsigned kNumMaskModArgs = kNumIndexArgs;

/// Returns true for the element types of q, k and v: f16, bf16, f32, f8E4M3FN,
/// f8E5M2.
bool isSupportedInputType(mlir::Type elementType);
/// Returns true for the element types of out, and of a gradient, whose input
/// has `inputType`.
bool isSupportedOutputType(mlir::Type elementType, mlir::Type inputType);
/// Returns the default element type of out (or of a gradient): that of the
/// input, and bf16 for fp8.
mlir::Type getDefaultOutputType(mlir::Type inputType);

} // namespace fa4::attn

#include "fa4/Dialect/Attn/IR/AttnInterfaces.h.inc"

namespace fa4::attn {

/// Returns the order of the dimensions of k and v: that of the op's layout, or,
/// for pages beside packed queries, that of the layout with a batch dimension,
/// which is for the pages then.
DimOrder getKeyOrder(AttentionOpInterface op);

/// Returns the number of keys in a page of an op with a page table; kDynamic if
/// it is not known.
int64_t getPageSize(AttentionOpInterface op);

/// Returns the number of keys that a sequence has room for, in tensors or in
/// pages; in packed layouts, that of all sequences. kDynamic if a size that it
/// depends on is dynamic.
int64_t getKeyCapacity(AttentionOpInterface op);

} // namespace fa4::attn

#define GET_OP_CLASSES
#include "fa4/Dialect/Attn/IR/AttnOps.h.inc"

#endif // FA4_DIALECT_ATTN_IR_ATTN_H
