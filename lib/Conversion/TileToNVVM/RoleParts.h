//===- RoleParts.h - a role's lowering by subjects ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RoleLowering goes through the operations of a role. What an operation becomes
// is decided by the part for its subject.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_ROLEPARTS_H
#define FA4_LIB_CONVERSION_TILETONVVM_ROLEPARTS_H

#include "RoleCode.h"
#include "StoreGroups.h"

namespace fa4::tile {

/// An order among CTAs. Turns.cpp
class TurnLowering : RoleCode {
public:
  explicit TurnLowering(RoleState &state) : RoleCode(state) {}
  mlir::LogicalResult lower(AwaitTurnOp op);
  mlir::LogicalResult lower(PassTurnOp op);
  /// Before and behind an addition in a turn that has several parts.
  void beginPart(ReduceAddOp op);
  void endPart(ReduceAddOp op);

private:
  /// A turn that the role has, or the parts of one.
  struct Turn {
    AwaitTurnOp op;
    mlir::Value number;
    llvm::SmallVector<mlir::Value> place; ///< Indices, i32.
    int64_t part = 0;                     ///< The next one that is added.
  };
  mlir::Value counterOf(const Turn &turn, int64_t part);
  void awaitPart(const Turn &turn, int64_t part);
  void passPart(const Turn &turn, int64_t part);

  llvm::DenseMap<mlir::Value, Turn> turns;
};

/// Where a tile is copied from or to: the indices of its first element in the
/// tensor, and the row that the copy ends at, or null. All are i32.
struct CopyPlace {
  llvm::SmallVector<mlir::Value> indices;
  mlir::Value to;
};

/// Copies of tiles between global and shared memory (TMA). TensorCopies.cpp
class CopyLowering : RoleCode {
public:
  CopyLowering(RoleState &state, TurnLowering &turns)
      : RoleCode(state), turns(turns) {}
  /// Loads a tile to a stage where it is committed, because the barrier must
  /// expect its bytes first.
  mlir::LogicalResult load(LoadOp op, const Buffer &buffer, mlir::Value stage,
                           mlir::Value barrier);
  /// Lowers a tile.store or tile.reduce_add.
  mlir::LogicalResult store(mlir::Operation *op, mlir::Value tile,
                            mlir::ValueRange indices);
  /// Waits at the end of the role for the stores that it has started.
  void finish();

private:
  /// Builds the expectation of the bytes of all loads that complete `barrier`.
  void expectLoads(const Buffer &buffer, mlir::Value barrier, int64_t bytes);
  /// Calls `emit`, once or on both sides of a branch, with the tensor map of a
  /// load of the box at `coordinates`.
  void forMapOfLoad(LoadOp op, llvm::ArrayRef<mlir::Value> coordinates,
                    llvm::function_ref<void(mlir::Value)> emit);
  /// Returns the first row or column of the CTA's part of a tile.
  mlir::Value firstOfPart(LoadOp op);
  CopyPlace placeOf(mlir::Operation *op, mlir::ValueRange indices);
  llvm::SmallVector<mlir::Value>
  coordinates(const TensorMap &map, const CopyPlace &place, int64_t box);
  std::pair<mlir::Value, mlir::Value> boundedRow(const TensorMap &map,
                                                 int64_t dim, mlir::Value row,
                                                 mlir::Value to);

  /// Where a load puts a tile.
  struct LoadTarget {
    const Buffer &buffer;
    mlir::Value stage, barrier;
    bool isOfPair;
  };
  /// Returns the place of row `row` of a box.
  mlir::Value pointerToBox(const LoadTarget &target, int64_t box,
                           int64_t row = 0);
  /// Builds the instruction.
  void issue(const LoadTarget &target, mlir::Value to, mlir::Value map,
             mlir::ValueRange at);

  // Loads from pages. PageCopies.cpp
  void loadPages(LoadOp op, const LoadTarget &target);
  void loadWholePages(LoadOp op, const LoadTarget &target,
                      const CopyPlace &place);
  void loadCutPages(LoadOp op, const LoadTarget &target,
                    const CopyPlace &place);
  void loadCutPart(LoadOp op, const LoadTarget &target, const CopyPlace &place,
                   mlir::Value row);
  mlir::Value areAllInPages(LoadOp op, const CopyPlace &place);
  CopyPlace placeInPage(LoadOp op, CopyPlace place, mlir::Value row);
  llvm::SmallVector<mlir::Value> wholePart(LoadOp op, const CopyPlace &place,
                                           mlir::Value page, mlir::Value row);
  /// Returns whether a number (i32) is one of a dimension of an argument.
  mlir::Value isBelow(mlir::Value number, unsigned argument, int64_t dim);

  TurnLowering &turns;
  bool stores = false;
};

/// Matrix multiply-accumulate. Mma.cpp
class MmaLowering : RoleCode {
public:
  explicit MmaLowering(RoleState &state) : RoleCode(state) {}
  mlir::LogicalResult lower(MmaOp op);

private:
  struct MatrixOperand;
  mlir::LogicalResult checkParts(MmaOp op, mlir::Value value,
                                 const MatrixOperand &operand);
  mlir::FailureOr<MatrixOperand> findOperand(MmaOp op, mlir::Value value,
                                             bool majorK);
  mlir::LogicalResult checkTensorMemory(MmaOp op, mlir::Value value,
                                        const MatrixOperand &operand);
  void encode(MatrixOperand &operand);
  mlir::LogicalResult checkAccumulator(MmaOp op, ChannelOp destination,
                                       mlir::Value &enable);
};

/// Matrix multiply-accumulate of lanes that hold the result. MatrixMma.cpp
class MatrixMmaLowering : RoleCode {
public:
  explicit MatrixMmaLowering(RoleState &state) : RoleCode(state) {}
  mlir::LogicalResult lower(MmaOp op);
  mlir::LogicalResult lower(AwaitOp op);
  mlir::LogicalResult lower(FromLanesOp op);
  mlir::LogicalResult lower(ToLanesOp op);

  /// Returns the registers in which a thread has a tile, in the order in which
  /// instructions name them: f32, or i32 of two elements of 16 bits.
  llvm::ArrayRef<mlir::Value> getRegisters(mlir::Value tile) const;

private:
  struct SharedOperand;
  mlir::LogicalResult checkShape(MmaOp op);
  mlir::FailureOr<SharedOperand> findShared(MmaOp op, mlir::Value value,
                                            bool majorK);
  std::string writeProduct(MmaOp op, unsigned results, unsigned firstInput,
                           const SharedOperand *a, const SharedOperand &b,
                           bool hasAcc);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> registers;
};

/// What each lane does with its part of a tile. Lanes.cpp
class LaneLowering : RoleCode {
public:
  explicit LaneLowering(RoleState &state) : RoleCode(state) {}
  mlir::LogicalResult lower(ReadOp op);
  mlir::LogicalResult lower(WriteOp op);
  mlir::LogicalResult lower(FenceOp op);
  mlir::LogicalResult lower(KeepOrderOp op);
  mlir::LogicalResult lower(AnyOp op);
  mlir::LogicalResult lower(CombineOp op);
  mlir::LogicalResult lower(RowOp op);

  /// Waits for the loads from tensor memory that are under way if `op` uses the
  /// value of one.
  void finishLoadsFor(mlir::Operation *op);
  /// Waits for all loads and stores of tensor memory that are under way. This
  /// is done at the ends of regions, too, because the code behind a region does
  /// not know whether the region ran.
  void finish();

private:
  mlir::Value readColumns(ReadOp op, const Buffer &buffer, mlir::Value stage);
  mlir::FailureOr<mlir::Value> readTensorMemory(ReadOp op,
                                                const Buffer &buffer);
  mlir::LogicalResult writeTensorMemory(WriteOp op, const Buffer &buffer);
  mlir::Value chunkPointer(const Buffer &buffer, mlir::Value stage,
                           int64_t column);
  /// Returns the bytes from the start of a stage to where the thread's CTA has
  /// row 0 of the box of a column of a tile that is exchanged (Exchange.cpp).
  mlir::Value exchangedBox(const Buffer &buffer, int64_t column);
  mlir::Value rowPointer(const Buffer &buffer, mlir::Value stage);
  mlir::Value laneAddress(const Buffer &buffer, mlir::Value stage,
                          int64_t column);
  void finishLoads();
  void finishStores();

  /// The values of loads from tensor memory for which lanes have not waited
  /// yet.
  llvm::DenseSet<mlir::Value> pendingLoads;
  /// Columns of tensor memory, in 32-bit words of a stage of the channel.
  struct ColumnRange {
    mlir::Value channel;
    int64_t begin, end;
  };
  /// What lanes have stored since they last waited for stores.
  llvm::SmallVector<ColumnRange> pendingStores;
};

/// The write of a tile of which threads hold fragments. FragmentWrites.cpp
class FragmentWriteLowering : RoleCode {
public:
  FragmentWriteLowering(RoleState &state, const MatrixMmaLowering &matrices)
      : RoleCode(state), matrices(matrices) {}
  /// Lowers the write of a tile that a tile.from_lanes gives.
  mlir::LogicalResult lower(WriteOp op);

private:
  struct Place;
  Place findPlace(mlir::Operation *op, const Buffer &buffer);
  llvm::SmallVector<mlir::Value>
  exchangeGroups(llvm::ArrayRef<mlir::Value> words, mlir::Value exchanges);

  const MatrixMmaLowering &matrices;
};

/// Elements of the rows of a tile in global memory. Puts.cpp
class PutLowering : RoleCode {
public:
  explicit PutLowering(RoleState &state) : RoleCode(state) {}
  mlir::LogicalResult lower(PutOp op);

private:
  void putElement(PutOp op, mlir::Value element, mlir::Value tileRow);
};

/// Which CTA works on which tile. WorkTiles.cpp
class WorkLowering : RoleCode {
public:
  explicit WorkLowering(RoleState &state) : RoleCode(state) {}
  /// Builds whether there is a first work tile for the CTA, which is so in all
  /// kernels without a `work_count`.
  mlir::Value hasWorkTile();
  mlir::LogicalResult lower(WorkTileOp op);
  mlir::LogicalResult lower(ResponseOp op);
  /// Lowers the loop over work tiles, whose body `lowerBody` lowers.
  mlir::LogicalResult
  lower(WorkOp op,
        llvm::function_ref<mlir::LogicalResult(mlir::Block &)> lowerBody);
  mlir::LogicalResult request(CommitOp op, const Buffer &buffer,
                              mlir::Value stage, mlir::Value barrier);
  mlir::Value readResponse(const Buffer &buffer, mlir::Value stage);

private:
  mlir::Value sizeNamed(llvm::StringRef name);
  mlir::Value countAlong(unsigned axis);
  /// The extents of the grid, and their product.
  std::pair<llvm::SmallVector<mlir::Value>, mlir::Value> getExtents();
  /// The block and the group of a work tile (see OrderAttr).
  std::pair<mlir::Value, mlir::Value>
  findBlock(mlir::Value number, mlir::Value blocks, mlir::Value groups);
  llvm::SmallVector<mlir::Value>
  findCoordinates(mlir::Value number, llvm::ArrayRef<mlir::Value> extents);
  llvm::StringRef getNumberRegister();
  mlir::Value tileOfPass(mlir::Value pass);

  KernelOp kernel = mlir::cast<KernelOp>(role->getParentOp());
};

/// The protocol of channels. ChannelOps.cpp
class ChannelLowering : RoleCode {
public:
  ChannelLowering(RoleState &state, LaneLowering &lanes, CopyLowering &copies,
                  WorkLowering &work)
      : RoleCode(state), lanes(lanes), copies(copies), work(work),
        storeGroups(role) {}
  mlir::LogicalResult lower(AcquireOp op);
  mlir::LogicalResult lower(CommitOp op);
  mlir::LogicalResult lower(WaitOp op);
  mlir::LogicalResult lower(ReleaseOp op);
  /// Exchange.cpp
  mlir::LogicalResult lower(ExchangeOp op);

private:
  mlir::Value readScalar(const Buffer &buffer, mlir::Value stage,
                         mlir::Type type);
  void writeScalar(const Buffer &buffer, mlir::Value stage, mlir::Value value);
  bool fitsRole(mlir::Value tile);
  mlir::LogicalResult commitIssued(CommitOp op, const Buffer &buffer,
                                   mlir::Value stage, mlir::Value full);
  void arriveFromLanes(const Buffer &buffer, mlir::Value barrier,
                       ArrivalReach reach);
  /// Builds the arrival of one thread of each warp.
  void arriveFromWarps(const Buffer &buffer, mlir::Value barrier,
                       ArrivalReach reach);
  /// Builds the arrival at the end of all MMAs that the thread has issued.
  void arriveAfterMmas(mlir::Value barrier, ArrivalReach reach);

  LaneLowering &lanes;
  CopyLowering &copies;
  WorkLowering &work;
  StoreGroups storeGroups;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_ROLEPARTS_H
