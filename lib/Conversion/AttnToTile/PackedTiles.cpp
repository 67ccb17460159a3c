//===- PackedTiles.cpp - the launch that lists work tiles -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedTiles.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

std::optional<PackedTiles>
fa4::launchPackedTiles(Conversion &conversion,
                       const PackedTilesRequest &request) {
  AttentionOpInterface op = conversion.op;
  const DimNames &names = conversion.names;
  if (!names.order.isPacked())
    return std::nullopt;
  bool isOfQueries = request.side == TokenSide::Queries;
  Value matrix = isOfQueries ? op.getQ() : op.getK();
  Value bounds = isOfQueries ? op.getCuSeqlensQ() : op.getCuSeqlensK();

  KernelLaunch launch(conversion);
  launch.addInput(isOfQueries ? "q" : "k", matrix,
                  isOfQueries ? names.queries() : names.keys());
  launch.addInput("cu_seqlens_q", op.getCuSeqlensQ(), names.bounds());
  if (op.getCuSeqlensK())
    launch.addInput("cu_seqlens_k", op.getCuSeqlensK(), names.bounds());
  PackedTiles tiles;
  tiles.count = tile::addSizes(
      tile::countBlocks(launch.getDim(0, names.order.seq), request.rows),
      launch.getDim(1, 0));
  OpFoldResult tokens = conversion.getSizes(matrix)[names.order.seq];
  OpFoldResult count =
      conversion.add(conversion.countBlocks(tokens, request.rows),
                     conversion.getSizes(bounds).front());
  for (StringRef name : llvm::concat<const llvm::StringLiteral>(
           ArrayRef(kTileCounts), getListColumns(op)))
    tiles.columns.emplace_back(
        name,
        conversion.createWorkspace(count, conversion.builder.getI32Type()));
  // Without rows, no kernel reads the list.
  for (auto &[name, numbers] : tiles.columns)
    launch.addOutput(name, numbers, {tiles.count}, kOnce, 0.0f);
  unsigned firstColumn = launch.getNumArguments() - tiles.columns.size();
  launch.emit(isOfQueries ? "_query_tiles_kernel" : "_key_tiles_kernel",
              launch.countHeads(firstColumn, kListedTiles),
              [&](tile::KernelOp kernel) {
                buildPackedTilesProgram(op, kernel, request);
              });
  return tiles;
}

void fa4::addPackedTiles(KernelLaunch &launch, const PackedTiles &tiles) {
  for (auto &[name, numbers] : tiles.columns)
    launch.addInput(name, numbers, {tiles.count});
  launch.setWorkCount(kTileCounts);
}

SmallVector<Attribute>
fa4::countWorkTiles(const KernelLaunch &launch,
                    const std::optional<PackedTiles> &tiles, unsigned argument,
                    int64_t rows) {
  SmallVector<Attribute> grid = launch.countRows(argument, rows);
  if (tiles)
    grid.front() = tile::ExtentAttr::get(grid.front().getContext(),
                                         tiles->count, /*tile=*/1);
  return grid;
}
