//===- TensorMaps.h - the tensor maps of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_TENSORMAPS_H
#define FA4_LIB_CONVERSION_TILETONVVM_TENSORMAPS_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// A tensor map: it describes how tiles of one shape are copied to and from a
/// tensor.
struct TensorMap {
  unsigned argument = 0;
  /// The dimensions of the memref in the map's order, with the contiguous one
  /// first.
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<int64_t> box;
  int64_t span = 0;
  /// The place in `dims` at which the dimension of rows stands for the second
  /// time, for copies that end at a row (`to`), or -1. The map begins as many
  /// rows in front of the tensor as a box has, R, so that (i, j) is row
  /// i + j - R. i has extent R: with j at the row that the store ends at, rows
  /// behind that are out of bounds, and no coordinate is negative, which stores
  /// must not have.
  int second = -1;
  /// Whether the map begins R rows in front of the tensor, as above. A load
  /// with nothing in bounds reads from where its map begins, on a card, and
  /// there may be no memory in front of the tensor. So a load has a second map,
  /// with the same dimensions, which begins where the tensor does, and takes
  /// that where all of the tile is behind `to`.
  bool beginsInFront = false;

  /// Returns the place in `dims` at which the dimension of rows stands first.
  /// There must be a second one.
  unsigned getFirst() const {
    return llvm::find(dims, dims[second]) - dims.begin();
  }
  /// Returns R.
  int64_t getRows() const { return box[getFirst()]; }

  bool operator==(const TensorMap &other) const {
    return argument == other.argument && dims == other.dims &&
           box == other.box && span == other.span && second == other.second &&
           beginsInFront == other.beginsInFront;
  }
};

/// The tensor maps of a kernel, by first use. Accesses that copy tiles of one
/// shape to or from one tensor share a map.
class TensorMaps {
public:
  /// Emits an error on an op whose access no map describes.
  static mlir::FailureOr<TensorMaps> collect(KernelOp kernel);
  /// The manifest's description of a map.
  static mlir::DictionaryAttr describe(KernelOp kernel, const TensorMap &map);

  llvm::ArrayRef<TensorMap> getMaps() const { return maps; }
  /// Returns the place in getMaps() of the map with which an op copies.
  unsigned find(mlir::Operation *memoryOp) const {
    return mapOf.find(memoryOp)->second;
  }
  /// Returns the place in getMaps() of the map with which a load that ends at a
  /// row (`to`) copies tiles that are behind that altogether.
  unsigned findBehind(mlir::Operation *load) const {
    return mapBehind.find(load)->second;
  }
  /// Returns the places in getMaps(), by argument and then by first use.
  llvm::SmallVector<unsigned> sortByArgument() const;
  bool has(unsigned argument) const {
    return llvm::any_of(
        maps, [&](const TensorMap &map) { return map.argument == argument; });
  }

private:
  mlir::LogicalResult add(mlir::Operation *op, mlir::Value memref,
                          mlir::VectorType tile,
                          llvm::ArrayRef<int64_t> tileDims, bool hasEnd);
  /// Returns the place in getMaps() of a map, which it adds if it is not there.
  unsigned addMap(const TensorMap &map);

  llvm::SmallVector<TensorMap> maps;
  llvm::DenseMap<mlir::Operation *, unsigned> mapOf, mapBehind;
};

/// Returns the row that a copy of a tile ends at (`to`), or null.
mlir::Value getCopyEnd(mlir::Operation *op);

/// Emits an error if an op accesses a memref that is no argument of the kernel.
mlir::LogicalResult checkIsArgument(mlir::Operation *op, mlir::Value memref);

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_TENSORMAPS_H
