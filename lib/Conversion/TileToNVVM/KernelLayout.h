//===- KernelLayout.h - where a kernel keeps what ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_KERNELLAYOUT_H
#define FA4_LIB_CONVERSION_TILETONVVM_KERNELLAYOUT_H

#include "fa4/Dialect/Tile/Analysis/ChannelRanks.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/MapVector.h"

namespace fa4::tile {

/// Where the stages of a channel are and how a tile lies in one.
///
/// A matrix in shared memory is a row of boxes side by side, each of all rows
/// and of `span` bytes of them, rows packed, and then swizzled over `span`
/// bytes: what one TMA box is (CUDA driver API, cuTensorMapEncodeTiled), and
/// what K-major and MN-major matrix descriptors read (PTX ISA, tcgen05, shared
/// memory descriptor). Row values and tiles of rank 1 are packed.
///
/// In tensor memory row r is lane r, and element c is in 32-bit column c or,
/// for 16-bit elements, half of column c / 2. Of a folded tile, the second half
/// of the columns is in the lanes behind those of the first half.
struct Buffer {
  ChannelOp channel;
  bool tensorMemory = false;
  /// How lanes hold a tile; null for a channel of scalars.
  const ValueLayout *valueLayout = nullptr;
  int64_t stages = 1;
  /// The offset of stage 0: bytes from the start of dynamic shared memory, or
  /// columns.
  int64_t offset = 0;
  /// The distance between stages in bytes or columns.
  int64_t stageSize = 0;
  /// What a stage of one CTA holds.
  int64_t rows = 0, columns = 1;
  int64_t elementBytes = 0;
  /// The bytes of a row in a box; 0 if the tile is packed.
  int64_t span = 0;
  /// The barriers; no `empty` ones if no role acquires.
  Barriers full;
  std::optional<Barriers> empty;
  /// The barriers at which bytes of the other CTA arrive, for a tile that is
  /// exchanged. It lies in a stage as the result of the exchange does, with
  /// what goes to the other CTA behind it.
  std::optional<Barriers> landed;
  /// The CTAs of the cluster at whose barriers commits and releases arrive.
  ChannelRanks ranks;
  /// True if a value of the channel says to the role that waits for it that
  /// lanes have accessed tensor memory: the channel itself is there, or its
  /// commits hand on columns that several channels use in turn.
  bool ordersTensorMemory = false;

  ChannelOp getChannel() const { return channel; }
  int64_t tileBytes() const { return rows * columns * elementBytes; }
  int64_t boxes() const { return span ? columns * elementBytes / span : 1; }
  int64_t boxBytes() const { return rows * span; }
  /// Returns the number of lanes among which a tile is spread.
  int64_t lanes() const { return valueLayout->getThreadsPerRow() * rows; }
  /// Returns the bytes from the start of a stage to an element, before the
  /// swizzle.
  int64_t elementOffset(int64_t row, int64_t column) const {
    int64_t bytes = column * elementBytes;
    return span ? bytes / span * boxBytes() + row * span + bytes % span
                : row * columns * elementBytes + bytes;
  }
};

/// Warps that change their register budget together: whole warpgroups (PTX ISA,
/// setmaxnreg).
struct WarpGroup {
  int64_t firstWarp = 0, endWarp = 0;
  llvm::SmallVector<RoleOp> roles;
  std::optional<int64_t> registers;
};

/// Everything that is decided about a placed kernel before code is built.
class KernelLayout {
public:
  /// Computes the layout. Emits an error on an op that has no place or an
  /// impossible one.
  static mlir::FailureOr<KernelLayout> compute(KernelOp kernel);

  const Buffer &buffer(ChannelOp channel) const {
    return buffers.find(channel)->second;
  }
  const Buffer &buffer(mlir::Value channel) const {
    return buffer(channel.getDefiningOp<ChannelOp>());
  }

  const TargetDescription &target;
  llvm::MapVector<ChannelOp, Buffer> buffers;
  llvm::SmallVector<WarpGroup> groups;
  int64_t threads = 0;
  /// The registers of a thread when the kernel starts.
  int64_t entryRegisters = 0;
  /// Offsets in bytes from the start of dynamic shared memory, and its size.
  int64_t barriers = 0, tensorMemorySlot = 0, sharedBytes = 0;
  int64_t tensorColumns = 0;
  /// The CTAs of a cluster, and who executes an operation of tensor memory:
  /// each CTA for itself or a pair (PTX ISA, .cta_group).
  int64_t clusterSize = 1;
  mlir::NVVM::CTAGroupKind getGroup() const {
    return clusterSize == 1 ? mlir::NVVM::CTAGroupKind::CTA_1
                            : mlir::NVVM::CTAGroupKind::CTA_2;
  }

private:
  explicit KernelLayout(const TargetDescription &target) : target(target) {}
  mlir::LogicalResult placeChannels(KernelOp kernel);
  void findHandOvers(KernelOp kernel);
  mlir::LogicalResult findRanks(KernelOp kernel);
  mlir::LogicalResult groupWarps(KernelOp kernel);
  mlir::LogicalResult addToGroup(RoleOp role);
  mlir::LogicalResult shareRegisters(KernelOp kernel);
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_KERNELLAYOUT_H
