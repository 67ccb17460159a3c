//===- RoleCode.h - what all parts of a role's lowering use ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_ROLECODE_H
#define FA4_LIB_CONVERSION_TILETONVVM_ROLECODE_H

#include "KernelLayout.h"
#include "KernelSignature.h"
#include "RingPositions.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/IR/IRMapping.h"

namespace fa4::tile {

/// The values that the prologue computes for all roles.
struct KernelValues {
  mlir::LLVM::LLVMFuncOp function;
  /// The start of dynamic shared memory, as a pointer and as an i32.
  mlir::Value sharedMemory, sharedAddress;
  /// The address of the first column of tensor memory (i32), if the kernel has
  /// any.
  mlir::Value tensorMemory;
  /// The number of the thread, and that of the warp, which is uniform in the
  /// warp (i32).
  mlir::Value thread, warp;
};

/// The attribute of a loop of scf that its branch gets, too.
inline constexpr llvm::StringLiteral kLoopAnnotation = "llvm.loop_annotation";

/// Reads a special register (PTX ISA, "Special Registers") at this place. The
/// operations of NVVM may move: LLVM reads a register once, before all roles,
/// and the value then occupies a register in roles that have none to spare.
mlir::Value readRegister(mlir::ImplicitLocOpBuilder &b, llvm::StringRef name);

/// The number of the CTA in its cluster; that of the leader is 0 (PTX ISA,
/// %cluster_ctarank).
inline constexpr llvm::StringLiteral kRankRegister = "cluster_ctarank";

/// Copies `word`, an i32, at this place. What is computed from the copy stays
/// behind it: in front of a loop, it would occupy registers through all of it.
mlir::Value pin(mlir::ImplicitLocOpBuilder &b, mlir::Value word);

/// Reads what does not change while the kernel runs, so that LLVM may move and
/// merge reads (PTX ISA, ld.global.nc).
mlir::Value loadConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                         mlir::Value pointer);

/// A tile of which the role has only the place: a stage of a channel, or a part
/// of it.
struct Handle {
  /// The channel; null for a tile of zeros that no channel holds.
  ChannelOp channel;
  /// The stage as an i32; null in a ring with one stage.
  mlir::Value stage;
  /// The first row and column of the part.
  int64_t row = 0, column = 0;
};

/// Returns true if the role has only the place of the tile `value`, by a
/// Handle.
inline bool isHandle(mlir::Value value) {
  return getHome(value) == ValueHome::Place;
}

/// What the parts of a role's lowering share while they build its code.
struct RoleState {
  /// Stands where code is built, with the location of the operation that is
  /// being lowered.
  mlir::ImplicitLocOpBuilder &b;
  RoleOp role;
  const KernelLayout &layout;
  const KernelSignature &signature;
  const KernelValues &values;
  RingPositions positions{layout};
  mlir::IRMapping mapping{};
  llvm::DenseMap<mlir::Value, Handle> handles{};
  /// The number of the CTA in its cluster, in a role whose addresses depend on
  /// it.
  mlir::Value rank{};
};

/// Builds what all parts of a role's lowering use: numbers, addresses, and the
/// operations on barriers.
class RoleCode {
protected:
  explicit RoleCode(RoleState &state)
      : state(state), b(state.b), role(state.role), layout(state.layout),
        signature(state.signature), values(state.values),
        positions(state.positions), mapping(state.mapping),
        handles(state.handles), rank(state.rank) {}

  // Numbers.
  mlir::Value constant(int64_t value);
  /// The i32 that a size or stride is (see KernelSignature).
  mlir::Value number32(std::variant<unsigned, int64_t> value);
  mlir::Value add(mlir::Value value, int64_t constant);
  mlir::Value toI32(mlir::Value index);
  mlir::Value toIndex(mlir::Value number);
  mlir::Value argument(unsigned number) {
    return mlir::LLVM::LLVMFuncOp(values.function).getArgument(number);
  }
  /// Returns the row that the thread holds (i32).
  mlir::Value row();
  /// Builds an expression of a layout for a thread. Divisors are powers of two.
  mlir::Value evaluate(mlir::AffineExpr expr, mlir::Value thread);
  /// An error on the operation if one thread runs the role.
  mlir::LogicalResult requireLanes(mlir::Operation *op);
  /// Builds a loop without a body, which ends when the condition is false.
  void repeatWhile(llvm::function_ref<mlir::Value()> condition);

  // Addresses.
  mlir::Value sharedPointer(int64_t offset, mlir::Value dynamic = {});
  /// Returns a pointer to element `number` (an i32, or null for 0) of an array
  /// at `offset`.
  mlir::Value elementPointer(int64_t offset, int64_t size, mlir::Value number);
  /// Returns a pointer to a stage, plus a constant.
  mlir::Value stagePointer(const Buffer &buffer, mlir::Value stage,
                           int64_t offset = 0);
  /// Returns `address` with the distance of a stage from stage 0 added, of
  /// which `unit` bytes or columns are 1.
  mlir::Value addStage(mlir::Value address, const Buffer &buffer,
                       mlir::Value stage, int64_t unit = 1);
  /// Returns what the swizzle of a matrix in shared memory adds (by xor) to the
  /// distance from the start of a row, which begins at `rowStart` of a stage.
  mlir::Value swizzlePattern(const Buffer &buffer, mlir::Value rowStart);
  /// Returns the address (i32) of a column of a stage in tensor memory.
  mlir::Value tensorAddress(const Buffer &buffer, mlir::Value stage,
                            int64_t column);
  /// Returns a pointer to an address of tensor memory.
  mlir::Value tensorPointer(mlir::Value address);
  /// Returns how many elements (i64) behind the first one of an argument the
  /// one with this index (i32) of a dimension is.
  mlir::Value elementsBefore(unsigned argument, int64_t dim, mlir::Value index);
  /// Returns the pointer to the element that is as far behind `base` as the one
  /// at `indices` (i32) of an argument is behind the first one.
  mlir::Value behind(mlir::Value base, unsigned argument,
                     llvm::ArrayRef<mlir::Value> indices);
  /// Reads the element at `indices` (i32) of an argument that does not change
  /// while the kernel runs. Out of bounds, it is 0.
  mlir::Value readElement(unsigned argument,
                          llvm::ArrayRef<mlir::Value> indices);
  /// Returns a pointer to the element at `indices` (i32) of an argument.
  mlir::Value globalPointer(unsigned argument,
                            llvm::ArrayRef<mlir::Value> indices);
  /// Returns the stage of the next operation of this kind on the channel.
  mlir::Value stageOf(const Buffer &buffer, RingUse use);
  /// Returns the position of the channel's last wait.
  RingPosition lastWaited(ChannelOp channel);
  /// Returns the stage of the channel's last wait.
  mlir::Value lastWaitedStage(const Buffer &buffer);

  // Barriers.
  mlir::Value barrier(const Barriers &barriers, mlir::Value stage);
  /// Returns the barrier of a CTA of the cluster at the place of `barrier`.
  mlir::Value barrierOf(int64_t rank, mlir::Value barrier);
  /// Returns a pointer of another type to the same address. An address of the
  /// CTA is one of the cluster, too (PTX ISA, "Shared State Space"), and some
  /// operations take a barrier of the cluster as one of the CTA.
  mlir::Value castPointer(mlir::Type type, mlir::Value pointer);
  /// The type of pointers to shared memory of the cluster.
  mlir::Type clusterPointer();
  /// Builds the wait for a phase of a barrier of the buffer.
  void spin(const Buffer &buffer, mlir::Value barrier, mlir::Value parity,
            ArrivalReach reach);
  /// Builds the arrival of a thread at the buffer's barrier that is at the
  /// place of `barrier` in the CTA's memory.
  void arrive(const Buffer &buffer, mlir::Value barrier, ArrivalReach reach);
  /// Builds the arrival of a thread that starts asynchronous writes of so many
  /// bytes.
  void expectBytes(mlir::Value barrier, int64_t bytes);
  /// Orders accesses of the thread to shared memory before those of the
  /// asynchronous proxy (PTX ISA, fence.proxy.async).
  void fenceSharedMemory();
  /// Builds the fence that orders accesses to tensor memory with arrivals.
  void fenceTensorMemory(mlir::NVVM::Tcgen05FenceKind kind);
  /// Waits until the stores issued so far, but the last `pending` ones, have
  /// read their tiles (`read`), or have ended.
  void waitForStores(bool read, int64_t pending);

  RoleState &state;
  mlir::ImplicitLocOpBuilder &b;
  RoleOp &role;
  const KernelLayout &layout;
  const KernelSignature &signature;
  const KernelValues &values;
  RingPositions &positions;
  mlir::IRMapping &mapping;
  llvm::DenseMap<mlir::Value, Handle> &handles;
  mlir::Value &rank;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_ROLECODE_H
