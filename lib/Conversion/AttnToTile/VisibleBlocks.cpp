//===- VisibleBlocks.cpp - launches that find visible blocks ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
class VisibleBlocksLaunch {
public:
  VisibleBlocksLaunch(Conversion &conversion, const MaskBounds &mask,
                      const VisibleBlocksRequest &tiles)
      : conversion(conversion), mask(mask), tiles(tiles),
        groups(tile::countBlocks(name(tiles.getOtherSide()), kGroup)),
        blocks{{},
               mask.dependsOnHead() ? "Hq" : "1",
               tile::countBlocks(name(tiles.tiles), tiles.rows)},
        numTerms(getGroupTerms(conversion.op, mask, tiles).size()) {}

  VisibleBlocks run();

private:
  static StringRef name(MaskSide side) {
    return side == MaskSide::Queries ? "Sq" : "Sk";
  }
  Value createNumbers(MaskSide side, int64_t rows);
  void addInputs(KernelLaunch &launch);
  void launchTerms();
  void launchVisible();

  Conversion &conversion;
  const MaskBounds &mask;
  VisibleBlocksRequest tiles;
  const std::string groups; ///< The name of the number of groups.
  VisibleBlocks blocks;
  unsigned numTerms;
  SmallVector<Value> least, largest; ///< Of each term.
};
} // namespace

/// Creates a tensor with a number for each block of `rows` positions.
Value VisibleBlocksLaunch::createNumbers(MaskSide side, int64_t rows) {
  AttentionOpInterface op = conversion.op;
  OpBuilder &b = conversion.builder;
  const DimOrder &order = conversion.names.order;
  SmallVector<OpFoldResult> q = conversion.getSizes(op.getQ()),
                            k = conversion.getSizes(op.getK());
  OpFoldResult heads = b.getIndexAttr(1);
  if (mask.dependsOnHead())
    heads = q[order.head];
  OpFoldResult positions =
      side == MaskSide::Queries ? q[order.seq] : k[order.seq];
  return conversion.createWorkspace(
      {q[*order.batch], heads, conversion.countBlocks(positions, rows)},
      b.getI32Type());
}

void VisibleBlocksLaunch::addInputs(KernelLaunch &launch) {
  launch.addInput("q", conversion.op.getQ(), conversion.names.queries());
  launch.addInput("k", conversion.op.getK(), conversion.names.keys());
  launch.addCapturedVectors();
}

void VisibleBlocksLaunch::launchTerms() {
  if (numTerms == 0)
    return;
  KernelLaunch launch(conversion);
  addInputs(launch);
  unsigned firstOutput = launch.getNumArguments();
  SmallVector<StringRef> dims = {"B", blocks.heads, groups};
  for (unsigned i : llvm::seq(numTerms)) {
    launch.addOutput(getLeastName(i), least[i], dims, kOnce, 0.0f);
    launch.addOutput(getLargestName(i), largest[i], dims, kOnce, 0.0f);
  }
  launch.addCapturedScalars();
  launch.emit(tiles.tiles == MaskSide::Queries ? "_key_terms_kernel"
                                               : "_query_terms_kernel",
              launch.countNumbers(firstOutput, kVisibleRows),
              [&](tile::KernelOp kernel) {
                buildTermsProgram(conversion.op, kernel, mask, tiles);
              });
}

void VisibleBlocksLaunch::launchVisible() {
  KernelLaunch launch(conversion);
  addInputs(launch);
  for (unsigned i : llvm::seq(numTerms)) {
    launch.addInput(getLeastName(i), least[i], {"B", blocks.heads, groups});
    launch.addInput(getLargestName(i), largest[i], {"B", blocks.heads, groups});
  }
  unsigned firstOutput = launch.getNumArguments();
  for (auto &[name, numbers] : blocks.positions)
    launch.addOutput(name, numbers, {"B", blocks.heads, blocks.tiles}, kOnce,
                     0.0f);
  launch.addCapturedScalars();
  launch.emit(tiles.tiles == MaskSide::Queries ? "_visible_keys_kernel"
                                               : "_visible_queries_kernel",
              launch.countNumbers(firstOutput, kVisibleRows),
              [&](tile::KernelOp kernel) {
                buildVisibleBlocksProgram(conversion.op, kernel, mask, tiles);
              });
}

VisibleBlocks VisibleBlocksLaunch::run() {
  for (unsigned i = 0; i != numTerms; ++i) {
    least.push_back(createNumbers(tiles.getOtherSide(), kGroup));
    largest.push_back(createNumbers(tiles.getOtherSide(), kGroup));
  }
  for (StringRef name : getPositionNames(mask))
    blocks.positions.emplace_back(name, createNumbers(tiles.tiles, tiles.rows));
  launchTerms();
  launchVisible();
  return blocks;
}

std::optional<VisibleBlocks>
fa4::launchVisibleBlocks(Conversion &conversion,
                         const VisibleBlocksRequest &tiles) {
  // Positions of packed sequences would be numbers of the sequence, and what a
  // sequence has in pages has no name by which blocks could be counted. Which
  // blocks are visited, a list says.
  if (conversion.names.order.isPacked() || conversion.op.getPageTable() ||
      conversion.op.getBlockList())
    return std::nullopt;
  MaskBounds mask(conversion.op);
  bool hasHead = tiles.tiles == MaskSide::Queries;
  if (!mask.isUseful() || (mask.dependsOnHead() && !hasHead) ||
      tiles.rows % kGroup != 0)
    return std::nullopt;
  return VisibleBlocksLaunch(conversion, mask, tiles).run();
}

void fa4::addVisibleBlocks(KernelLaunch &launch, const VisibleBlocks &blocks) {
  for (const auto &[name, numbers] : blocks.positions)
    launch.addInput(name, numbers, {"B", blocks.heads, blocks.tiles});
}
