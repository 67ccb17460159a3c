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

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4::tile {

/// Bytes. PTX ISA, "mbarrier": opaque 64 bits, aligned to 8.
inline constexpr int64_t kBarrierBytes = 8;
/// Bytes: the 32-bit address, rounded so that what follows is aligned to 8.
inline constexpr int64_t kTmemAddressBytes = 8;

/// Bytes to which a stage is aligned, and of which its size is a multiple.
/// Matrices are in the 128-byte swizzle, which repeats every 1024 bytes (PTX
/// ISA, "Shared memory matrix layout"); row values are the target of bulk
/// copies, which want 128.
int64_t getSmemAlignment(mlir::VectorType type);

/// Bytes of one stage, padding included.
int64_t getSmemBytes(mlir::VectorType type);

/// Columns of one stage: 32 bits of each lane (PTX ISA, "Tensor Memory"). A row
/// of the tile is in one lane, 16-bit elements two in a column.
int64_t getTmemColumns(mlir::VectorType type);

/// Bytes of the swizzle for a tile in shared memory: the widest that the bytes
/// of its rows are a multiple of; 0 if there is none, and for tiles of rank 1.
int64_t getSwizzleSpan(mlir::VectorType tile);

/// Bytes that a TMA load of a tile writes to a stage: padding is none of them,
/// elements out of bounds are (PTX ISA, cp.async.bulk.tensor).
int64_t getLoadBytes(mlir::VectorType tile);

/// CTAs whose loads and lanes complete one barrier together (PTX ISA,
/// .cta_group): kernels of pairs are not made yet.
int64_t getCtaGroupSize(KernelOp kernel);

/// Of a placed kernel: number of mbarriers, and bytes from the start of shared
/// memory to the first one and to the address of tensor memory.
int64_t getBarrierCount(KernelOp kernel);
int64_t getBarrierOffset(KernelOp kernel);
int64_t getTmemAddressOffset(KernelOp kernel);

/// Tables of shared and tensor memory of a placed kernel, one line a channel
/// in the order of addresses.
void printMemoryMap(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_MEMORYMAP_H
