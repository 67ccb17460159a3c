//===- Tile.h - the tile dialect ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The C++ interface of the tile dialect.

#ifndef FA4_DIALECT_TILE_IR_TILE_H
#define FA4_DIALECT_TILE_IR_TILE_H

#include "fa4/Dialect/Tile/IR/ValueLayout.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fa4/Dialect/Tile/IR/TileDialect.h.inc"
#include "fa4/Dialect/Tile/IR/TileEnums.h.inc"

namespace fa4::tile {

/// The mbarriers of a channel's stages, one each, and what completes a phase of
/// one of them.
struct Barriers {
  /// The number of the first mbarrier.
  int64_t first = 0;
  int64_t arrivals = 1;
  /// The bytes that copies of the hardware write, if they complete a phase.
  std::optional<int64_t> bytes = std::nullopt;

  bool operator==(const Barriers &other) const {
    return first == other.first && arrivals == other.arrivals &&
           bytes == other.bytes;
  }
};
inline llvm::hash_code hash_value(const Barriers &barriers) {
  return llvm::hash_combine(barriers.first, barriers.arrivals, barriers.bytes);
}

} // namespace fa4::tile

#define GET_ATTRDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fa4/Dialect/Tile/IR/TileTypes.h.inc"

namespace fa4::tile {

/// The resource that operations on channels read and write: the state of all
/// channels.
struct ChannelResource
    : public mlir::SideEffects::Resource::Base<ChannelResource> {
  llvm::StringRef getName() final { return "channel"; }
};

/// The lanes of a warp that execute an operation together.
struct WarpResource : public mlir::SideEffects::Resource::Base<WarpResource> {
  llvm::StringRef getName() final { return "warp"; }
};

/// The most elements that a tile may have. Any chip has room for far fewer;
/// sums of the bytes of tiles of this size do not overflow.
inline constexpr int64_t kMaxTileElements = int64_t(1) << 20;

/// Returns the type of a tile, or of one that is pending.
inline mlir::VectorType getTileType(mlir::Type type) {
  if (auto pending = mlir::dyn_cast<PendingType>(type))
    return pending.getTileType();
  return mlir::cast<mlir::VectorType>(type);
}

/// Whether the tile has at most kMaxTileElements.
bool fitsChip(mlir::VectorType tile);

/// Checks a `split` of a load or a channel of this tile (null if it carries
/// scalars): there is a cluster whose CTAs can have equal parts of the matrix.
mlir::LogicalResult verifySplit(mlir::Operation *op, mlir::VectorType tile,
                                std::optional<uint64_t> split);

/// Returns the type of one of `parts` equal parts of dimension `dim` of a tile.
mlir::VectorType getPartOf(mlir::VectorType tile, int64_t dim, int64_t parts);

/// Whether a channel may carry scalars of this type that a role computes:
/// index, i32, i1 or f32.
bool isWord(mlir::Type type);

/// Whether this is the type of the response to a tile.request: i128, 16 opaque
/// bytes, which are a channel's scalars, too.
bool isResponse(mlir::Type type);

/// The names of the attributes of kernel arguments.
inline constexpr llvm::StringLiteral kArgName = "tile.name";
inline constexpr llvm::StringLiteral kArgDims = "tile.dims";
/// The dimension of a tensor that counts its pages, where loads have `pages`.
inline constexpr unsigned kPageDim = 0;
inline constexpr llvm::StringLiteral kArgOutput = "tile.output";

/// What a kernel does with an argument that it writes; the values of
/// `tile.output`.
enum class OutputKind {
  Once,       // "once": the grid writes each element once.
  Accumulate, // "accumulate": work tiles add to the elements.
  Ordered,    // "ordered": work tiles take turns at adding to the elements.
  Partial,    // "partial": some elements are written, others are not.
};

/// Returns the kind of output that has this name in `tile.output`, if there is
/// one.
std::optional<OutputKind> symbolizeOutputKind(llvm::StringRef name);

/// The number that the name of a size (in `tile.dims` or a grid) is, if the
/// size is static.
std::optional<int64_t> getStaticSize(llvm::StringRef name);

/// A size that a number makes of another one.
struct DerivedSize {
  llvm::StringRef name;
  int64_t number;
};
/// Returns the parts of `align(Sq, 128)`, a size rounded up to a multiple, and
/// of `times(N, 4)`, a multiple of a size. None for any other name.
std::optional<DerivedSize> getAlignedSize(llvm::StringRef name);
std::optional<DerivedSize> getMultipleSize(llvm::StringRef name);

/// The parts of `share(FEW, MANY, B)`: `FEW / B` if that is 2 or more, else
/// `max(MANY / B, 1)`, rounded down. It is how many CTAs each of B sequences
/// gets: few sequences have as many in all as there are SMs, and more sequences
/// several times as many, so that not too many SMs are left over.
struct SharedSize {
  int64_t few, many;
  llvm::StringRef name;

  /// Returns the share of each of `count`.
  int64_t of(int64_t count) const;
};
/// Returns the parts of `share(16, 66, B)`, or none for any other name.
std::optional<SharedSize> getSharedSize(llvm::StringRef name);
/// Returns the size in the form in which its `name` is given: a number for a
/// number.
std::string nameSharedSize(const SharedSize &size);

/// Returns the two sizes of `min(A, B)`, or nothing if `name` is none.
std::optional<std::pair<llvm::StringRef, llvm::StringRef>>
getSmallerOf(llvm::StringRef name);
/// Returns the smaller one of two sizes in the form in which they are given: a
/// number for two numbers.
std::string minOfSizes(llvm::StringRef a, llvm::StringRef b);

/// Returns the size behind `align(Sq, 128)`, `ceildiv(Sq, 128)`, the number
/// of blocks of 128 elements, or `times(Sq, 4)`: Sq. A sum of sizes is behind
/// its terms: of `ceildiv(Tq, 128) + N`, one of Tq and N is returned, and so is
/// one of those of a minimum. None for any other name.
std::optional<llvm::StringRef> getSizeBehind(llvm::StringRef name);

/// Returns a multiple of a size in the form in which it is given: a number for
/// a number, `times(N, 4)` for the name N.
std::string multiplySize(llvm::StringRef name, int64_t factor);

/// Returns the sum of two sizes in the form in which they are given: a number
/// for two numbers, `ceildiv(Tq, 128) + N` otherwise.
std::string addSizes(llvm::StringRef a, llvm::StringRef b);
/// Returns the two sizes of a sum, or nothing if `name` is none.
std::optional<std::pair<llvm::StringRef, llvm::StringRef>>
getSummands(llvm::StringRef name);

/// Returns the number of blocks of `block` elements of the size `name`, in the
/// form in which it is given: a number for a number, `ceildiv(Sq, 128)` for Sq.
std::string countBlocks(llvm::StringRef name, int64_t block);

/// Returns the size `name`, rounded up to `multiple`, in the form in which it
/// is given: a number for a number, `align(Sq, 128)` for the name `Sq`.
std::string alignSize(llvm::StringRef name, int64_t multiple);

class ChannelOp;
class KernelOp;

/// Returns the axis of the grid along which `value` is the coordinate of the
/// work tile: a result of `tile.work_tile`, or an argument of `tile.work`. None
/// if it is something else.
std::optional<unsigned> getWorkAxis(mlir::Value value);

/// Returns the axis along which `value` is the number of a cluster of `size`
/// CTAs: the coordinate of the work tile, divided by `size` (`arith.divui`).
/// The CTAs of a cluster have neighbouring coordinates, the first of which is a
/// multiple of their number, so the number of the cluster is one in all of
/// them. None if it is something else.
std::optional<unsigned> getClusterNumberAxis(mlir::Value value, int64_t size);

/// Returns how lanes of tensor memory, and the threads that read them, hold a
/// matrix with that many rows: a row each, or as the chip's table says of one
/// CTA's rows of the smaller MMA of a pair (`MmaUnit::layoutOfPairMinRows`). A
/// vector of row values lies as the rows of a matrix do that has one each.
const ValueLayout &getMatrixLayout(KernelOp kernel, mlir::VectorType matrix);

/// Returns the layout of the tile of `channel`, as the function above does.
const ValueLayout &getMatrixLayout(ChannelOp channel);

} // namespace fa4::tile

#define GET_OP_CLASSES
#include "fa4/Dialect/Tile/IR/TileOps.h.inc"

#endif // FA4_DIALECT_TILE_IR_TILE_H
