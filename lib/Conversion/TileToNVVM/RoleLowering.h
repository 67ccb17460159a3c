//===- RoleLowering.h - what a role does, for its threads ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_ROLELOWERING_H
#define FA4_LIB_CONVERSION_TILETONVVM_ROLELOWERING_H

#include "KernelLayout.h"
#include "KernelSignature.h"
#include "RingPositions.h"
#include "StoreGroups.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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
mlir::Value readRegister(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::StringRef name);

/// The number of the CTA in its cluster; that of the leader is 0 (PTX ISA,
/// %cluster_ctarank).
inline constexpr llvm::StringLiteral kRankRegister = "cluster_ctarank";

/// Copies `word`, an i32, at this place. What is computed from the copy stays
/// behind it: in front of a loop, it would occupy registers through all of it.
mlir::Value pin(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value word);

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

/// Builds the code of one role. Upstream operations that compute are copied;
/// operations of the tile dialect become operations of NVVM. Structured control
/// flow stays structured.
class RoleLowering {
public:
  RoleLowering(mlir::OpBuilder &builder, RoleOp role,
               const KernelLayout &layout, const KernelSignature &signature,
               const KernelValues &values)
      : builder(builder), role(role), layout(layout), signature(signature),
        values(values), positions(layout), storeGroups(role),
        loc(role.getLoc()) {}

  /// Builds the code at the builder's insertion point. Emits an error on an op
  /// that it cannot lower.
  mlir::LogicalResult lower();

private:
  // RoleLowering.cpp: control flow and what is copied.
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  mlir::LogicalResult lowerFor(mlir::scf::ForOp op);
  struct Carried;
  llvm::SmallVector<mlir::Value> enterLoop(mlir::scf::ForOp op,
                                           Carried &carried);
  void bindCarried(mlir::ValueRange from, mlir::ValueRange to,
                   Carried &carried);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  leavePass(mlir::scf::YieldOp yield, Carried &carried);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp op);
  mlir::LogicalResult mergeHandles(mlir::scf::IfOp op);
  mlir::LogicalResult lowerBranch(mlir::Region &region,
                                  llvm::ArrayRef<RingPositions::Key> keys);
  mlir::LogicalResult copy(mlir::Operation &op);
  mlir::LogicalResult lowerDivision(mlir::Operation &op);
  mlir::LogicalResult lowerConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult lowerDim(mlir::memref::DimOp op);
  mlir::LogicalResult lowerLoadScalar(LoadScalarOp op);
  /// Returns how many elements (i64) behind the first one of an argument the
  /// one with this index (i32) of a dimension is.
  mlir::Value elementsBefore(unsigned argument, int64_t dim, mlir::Value index);
  /// Returns a pointer to the element at `indices` (i32) of an argument.
  mlir::Value globalPointer(unsigned argument,
                            llvm::ArrayRef<mlir::Value> indices);
  mlir::LogicalResult lowerSlice(mlir::vector::ExtractStridedSliceOp op);

  // WorkTiles.cpp: which CTA works on which tile.
  mlir::LogicalResult lowerWorkTile(WorkTileOp op);
  mlir::LogicalResult lowerWork(WorkOp op);
  mlir::LogicalResult requestWork(CommitOp op, const Buffer &buffer,
                                  mlir::Value stage, mlir::Value barrier);
  mlir::Value readResponse(const Buffer &buffer, mlir::Value stage);
  mlir::LogicalResult lowerResponse(ResponseOp op);
  mlir::Value sizeNamed(llvm::StringRef name);
  /// The extents of the grid, and their product.
  std::pair<llvm::SmallVector<mlir::Value>, mlir::Value> getExtents();
  /// The block and the group of a work tile (see OrderAttr).
  std::pair<mlir::Value, mlir::Value>
  findBlock(mlir::Value number, mlir::Value blocks, mlir::Value groups);
  llvm::SmallVector<mlir::Value>
  findCoordinates(mlir::Value number, llvm::ArrayRef<mlir::Value> extents);
  llvm::StringRef getNumberRegister();
  mlir::Value tileOfPass(mlir::Value pass);

  // ChannelOps.cpp: the protocol of channels.
  mlir::LogicalResult lowerAcquire(AcquireOp op);
  mlir::LogicalResult lowerCommit(CommitOp op);
  mlir::LogicalResult lowerWait(WaitOp op);
  mlir::LogicalResult lowerRelease(ReleaseOp op);
  mlir::Value readScalar(const Buffer &buffer, mlir::Value stage,
                         mlir::Type type);
  bool fitsRole(mlir::Value tile);
  void writeScalar(const Buffer &buffer, mlir::Value stage, mlir::Value value);
  void arriveFromLanes(const Buffer &buffer, mlir::Value barrier,
                       ArrivalReach reach);
  /// Builds the wait for a phase of a barrier of the buffer.
  void spin(const Buffer &buffer, mlir::Value barrier, mlir::Value parity,
            ArrivalReach reach);
  /// Builds the arrival of a thread at the buffer's barrier that is at the
  /// place of `barrier` in the CTA's memory.
  void arrive(const Buffer &buffer, mlir::Value barrier, ArrivalReach reach);
  /// Builds the arrival at the end of all MMAs that the thread has issued.
  void arriveAfterMmas(mlir::Value barrier, ArrivalReach reach);
  /// Returns the barrier of a CTA of the cluster at the place of `barrier`.
  mlir::Value barrierOf(int64_t rank, mlir::Value barrier);
  mlir::Value barrier(int64_t first, mlir::Value stage);

  // TensorCopies.cpp: TMA.
  mlir::LogicalResult loadTile(LoadOp op, const Buffer &buffer,
                               mlir::Value stage, mlir::Value barrier);
  /// Builds the expectation of the bytes of all loads that complete `barrier`.
  void expectLoads(const Buffer &buffer, mlir::Value barrier, int64_t bytes);
  /// Returns the first row or column of the CTA's part of a tile.
  mlir::Value firstOfPart(LoadOp op);
  mlir::LogicalResult lowerStore(mlir::Operation *op, mlir::Value tile,
                                 mlir::ValueRange indices);
  llvm::SmallVector<mlir::Value>
  coordinates(mlir::Operation *op, mlir::ValueRange indices, int64_t box);
  std::pair<mlir::Value, mlir::Value> boundedRow(const TensorMap &map,
                                                 int64_t dim, mlir::Value row,
                                                 mlir::Value to);
  void waitForStores(bool read, int64_t pending);

  // Turns.cpp: an order among CTAs.
  /// A turn that the role has, or the parts of one.
  struct Turn {
    AwaitTurnOp op;
    mlir::Value number;
    llvm::SmallVector<mlir::Value> place; ///< Indices, i32.
    int64_t part = 0;                     ///< The next one that is added.
  };
  mlir::LogicalResult lowerAwaitTurn(AwaitTurnOp op);
  mlir::LogicalResult lowerPassTurn(PassTurnOp op);
  /// Before and behind an addition in a turn that has several parts.
  void beginPart(ReduceAddOp op);
  void endPart(ReduceAddOp op);
  mlir::Value counterOf(const Turn &turn, int64_t part);
  void awaitPart(const Turn &turn, int64_t part);
  void passPart(const Turn &turn, int64_t part);

  // Mma.cpp
  struct MatrixOperand;
  mlir::LogicalResult lowerMma(MmaOp op);
  mlir::LogicalResult checkParts(MmaOp op, mlir::Value value,
                                 const MatrixOperand &operand);
  mlir::LogicalResult describeOperand(MmaOp op, mlir::Value value, bool majorK,
                                      MatrixOperand &operand);
  mlir::LogicalResult checkAccumulator(MmaOp op, ChannelOp destination,
                                       mlir::Value &enable);
  mlir::Value tensorAddress(const Buffer &buffer, mlir::Value stage,
                            int64_t column);

  // Exchange.cpp: tiles of which each CTA of a cluster has rows.
  mlir::LogicalResult lowerExchange(ExchangeOp op);
  /// Returns the bytes from the start of a stage to where the thread's CTA has
  /// row 0 of the box of a column of a tile that is exchanged.
  mlir::Value exchangedBox(const Buffer &buffer, int64_t column);

  // Lanes.cpp
  mlir::LogicalResult lowerRead(ReadOp op);
  mlir::LogicalResult lowerWrite(WriteOp op);
  mlir::LogicalResult lowerPut(PutOp op);
  mlir::LogicalResult lowerFence(FenceOp op);
  mlir::LogicalResult lowerKeepOrder(KeepOrderOp op);
  /// An error on the operation if one thread runs the role.
  mlir::LogicalResult requireLanes(mlir::Operation *op);
  void lowerAny(AnyOp op);
  mlir::FailureOr<mlir::Value> readTensorMemory(ReadOp op,
                                                const Buffer &buffer);
  mlir::LogicalResult writeTensorMemory(WriteOp op, const Buffer &buffer);
  mlir::LogicalResult checkChunks(mlir::Operation *op, const Buffer &buffer,
                                  mlir::Type type, int64_t column);
  mlir::Value chunkPointer(const Buffer &buffer, mlir::Value stage,
                           int64_t column);
  mlir::Value rowPointer(const Buffer &buffer, mlir::Value stage);
  mlir::Value laneAddress(const Buffer &buffer, mlir::Value stage,
                          int64_t column);
  mlir::Value row();
  void finishTensorLoads();
  void finishTensorStores();

  mlir::Value constant(int64_t value);
  /// The i32 that a size or stride is (see KernelSignature).
  mlir::Value number32(std::variant<unsigned, int64_t> value);
  /// Builds the arrival of a thread that starts asynchronous writes of so many
  /// bytes.
  void expectBytes(mlir::Value barrier, int64_t bytes);
  /// Orders accesses of the thread to shared memory before those of the
  /// asynchronous proxy (PTX ISA, fence.proxy.async).
  void fenceSharedMemory();
  mlir::Value add(mlir::Value value, int64_t constant);
  mlir::Value toI32(mlir::Value index);
  mlir::Value toIndex(mlir::Value number);
  mlir::Value sharedPointer(int64_t offset, mlir::Value dynamic = {});
  /// Returns a pointer to element `number` (an i32, or null for 0) of an array
  /// at `offset`.
  mlir::Value elementPointer(int64_t offset, int64_t size, mlir::Value number);
  /// Returns a pointer to a stage, plus a constant.
  mlir::Value stagePointer(const Buffer &buffer, mlir::Value stage,
                           int64_t offset = 0);
  mlir::Value argument(unsigned number) {
    return mlir::LLVM::LLVMFuncOp(values.function).getArgument(number);
  }

  mlir::OpBuilder &builder;
  RoleOp role;
  const KernelLayout &layout;
  const KernelSignature &signature;
  const KernelValues &values;
  RingPositions positions;
  StoreGroups storeGroups;
  IntegerRanges ranges;
  mlir::Location loc;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, Handle> handles;
  /// True if lanes have started loads from tensor memory for which they have
  /// not waited yet.
  bool loadsPending = false;
  llvm::DenseSet<mlir::Value> pendingValues;
  /// Columns of tensor memory, in 32-bit words of a stage of the channel.
  struct ColumnRange {
    mlir::Value channel;
    int64_t begin, end;
  };
  /// What lanes have stored since they last waited for stores.
  llvm::SmallVector<ColumnRange> pendingStores;
  bool stores = false;
  /// The number of the CTA in its cluster, in a role whose addresses depend on
  /// it.
  mlir::Value rank;
  llvm::DenseMap<mlir::Value, Turn> turns;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_ROLELOWERING_H
