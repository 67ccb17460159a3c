//===- MemoryMap.h - where the channels of a kernel live ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of channels, and the memory map that `tile-allocate` writes.
//
// Shared memory, from the start of the CTA's dynamic shared memory, which is
// aligned to kSmemTileAlignment:
//
//   stages of the channels | mbarriers, 8 bytes each | tensor-memory address
//
// The last part, kTmemAddressBytes, exists where the kernel has tensor memory:
// tcgen05.alloc writes the address of its first column there.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_MEMORYMAP_H
#define FA4_DIALECT_TILE_ANALYSIS_MEMORYMAP_H

#include "fa4/Dialect/Tile/Analysis/FirstFit.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4::tile {

/// Size in bytes of the slot for the 32-bit address of tensor memory, rounded
/// up to keep an alignment of 8.
inline constexpr int64_t kTmemAddressBytes = 8;

/// Size and alignment in bytes of a stage that holds a scalar of a role.
inline constexpr int64_t kSmemScalarBytes = 8;

/// Size in bytes of the response to a tile.request (PTX ISA,
/// clusterlaunchcontrol.try_cancel).
inline constexpr int64_t kResponseBytes = 16;

/// Returns the alignment in bytes of a stage in shared memory. The size of the
/// stage is a multiple of it. Matrices have the 128-byte swizzle, which repeats
/// every 1024 bytes (PTX ISA, "Shared memory matrix layout"). Row values are
/// the target of bulk copies, which need 128.
int64_t getSmemAlignment(ChannelOp channel);

/// Returns the channel with `exchange` whose buffer the values of `channel`
/// take over, or null.
ChannelOp getExchangeBefore(ChannelOp channel);

/// Returns how many bytes of a stage of a channel with `exchange` go to the
/// other CTA. As many come from there.
int64_t getExchangedBytes(ChannelOp channel);

/// Returns the bytes of one stage, padding included. A stage of a channel with
/// `exchange` has room for the result of the exchange and for the part that
/// goes to the other CTA.
int64_t getSmemBytes(ChannelOp channel);

/// Returns the columns of one stage. A column has 32 bits in each lane (PTX
/// ISA, "Tensor Memory"); a row of the tile lies in one lane, with two 16-bit
/// elements in a column, or half a row where the tile is folded.
int64_t getTmemColumns(ChannelOp channel);

/// Checks that each channel can lie in the memory that it names, and that
/// computations with sizes do not overflow. Emits an error on a channel that
/// cannot.
mlir::LogicalResult checkBuffers(KernelOp kernel,
                                 const TargetDescription &target);

/// Returns the size and alignment of the buffer that `owner` has, for all
/// stages: in bytes of shared memory or columns of tensor memory.
PlacedBuffer getBuffer(ChannelOp owner, const TargetDescription &target);

/// Returns the channels of a space that have a buffer of their own, in the
/// order of their declarations.
llvm::SmallVector<ChannelOp> getBufferOwners(KernelOp kernel,
                                             MemorySpace space);

/// Returns the bytes of the swizzle for a tile in shared memory: the widest one
/// that divides the bytes of a row; 0 if there is none, and for tiles of rank
/// 1.
int64_t getSwizzleSpan(mlir::VectorType tile);

/// Returns the bytes of the swizzle of a channel in shared memory. If lanes
/// access a folded tile, each half of a row consists of whole spans: a thread
/// of either half then has the same places in its own boxes. The same holds if
/// one half of each row is sent to the other CTA.
int64_t getSwizzleSpan(ChannelOp channel);

/// Returns the bytes that hardware writes to a stage of one CTA: a TMA load of
/// a tile, or the response to a request. For a load, padding does not count,
/// and elements out of bounds do (PTX ISA, cp.async.bulk.tensor).
int64_t getAsyncBytes(ChannelOp channel);

/// For a placed kernel: the number of mbarriers, and the bytes from the start
/// of shared memory to the first mbarrier and to the address of tensor memory.
int64_t getBarrierCount(KernelOp kernel);
int64_t getBarrierOffset(KernelOp kernel);
int64_t getTmemAddressOffset(KernelOp kernel);

/// Prints tables of the shared and tensor memory of a placed kernel, one line
/// for each channel in the order of addresses.
void printMemoryMap(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_MEMORYMAP_H
