//===- GradientConversion.cpp - attn.sdpa_backward to kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientConversion.h"
#include "AttentionProgram.h"
#include "CaptureProgram.h"
#include "GradientRowProgram.h"
#include "HeadSumProgram.h"
#include "KernelLaunch.h"
#include "PackedTiles.h"
#include "QueryGradientProgram.h"
#include "QueryTerms.h"
#include "SdpaBackwardProgram.h"
#include "VisibleBlocks.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <map>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
class GradientConversion {
public:
  GradientConversion(SdpaBackwardOp op, const TargetDescription &target,
                     const TileChoice &choice, SymbolTable &symbols)
      : op(op), conversion(op, target, symbols), names(conversion.names),
        b(conversion.builder),
        tiles(chooseBackwardTiles(target, getHeadDims(op),
                                  getBackwardRequest(op, choice))),
        alignedQueries(getAlignedQueries()),
        movesRows(fa4::movesRows(op.getScoreMod())) {}

  void run();

private:
  /// The sizes of a tensor with one number for each row of queries, and room
  /// for whole blocks of queries.
  SmallVector<OpFoldResult> getAlignedRows();
  /// Returns the name of the size of these rows.
  std::string getAlignedQueries() const;
  SmallVector<StringRef> alignedRows() const {
    return names.rows(alignedQueries);
  }
  SmallVector<StringRef> termRows() const {
    SmallVector<StringRef> dims = alignedRows();
    dims.push_back(termColumns);
    return dims;
  }
  /// Returns the list of work tiles of so many rows of packed sequences.
  const std::optional<PackedTiles> &listTiles(TokenSide side, int64_t rows);
  void clear();
  void preprocess();
  void findVisibleBlocks();
  /// Adds the inputs from which each block computes scores and their gradient
  /// again. The numbers of queries are for lanes, which add `rowShift` to
  /// scores, or for MMAs if that is null.
  void addRecomputed(KernelLaunch &launch, Value rowShift);
  /// Returns the shift for the main kernel and that of dq; null if MMAs add it.
  Value getScoreShift() {
    if (tiles.addsTerms)
      return Value();
    return movesRows ? movedShift : shift;
  }
  void main();
  void postprocess();
  /// Adds what tells a kernel on rows of queries which of them are its tile's.
  void addQueryTiles(KernelLaunch &launch,
                     const std::optional<PackedTiles> &packed);
  void queryGradient();
  void sinks();
  /// Computes the gradient of capture `number`, which is output `output`.
  void capture(unsigned number, Value &output);

  SdpaBackwardOp op;
  Conversion conversion;
  const DimNames &names;
  OpBuilder &b;
  const BackwardTiles tiles;
  const std::string alignedQueries,
      termColumns = std::to_string(kAllTermColumns);
  /// True if a linear score_mod gives queries numbers of their own.
  const bool movesRows;
  SmallVector<Value> destinations; ///< dq, dk, dv, dsinks, dcaptures.
  Value parts;                     ///< Null without dcaptures.
  /// Numbers of queries, null if no kernel reads them. `movedShift` is for
  /// kernels whose scores are without the numbers that a linear score_mod gives
  /// to queries; null if there are none.
  Value shift, movedShift, delta;
  Value terms; ///< Null if none do.
  Value sums;  ///< Of dq; null if it has a kernel of its own.
  Value turns; ///< Null unless the op is deterministic and has `sums`.
  /// What the main kernel and that of dq visit, where this has been computed.
  std::optional<VisibleBlocks> visibleQueries, visibleKeys;
  /// Work tiles of kernels; none unless sequences are packed.
  std::map<std::pair<TokenSide, int64_t>, std::optional<PackedTiles>> lists;
};
} // namespace

SmallVector<OpFoldResult> GradientConversion::getAlignedRows() {
  SmallVector<OpFoldResult> sizes = conversion.getSizes(op.getFwdLse());
  // The number of queries counts as static if one operand has it in its type,
  // because each kernel takes other operands.
  unsigned seq = names.order.seq;
  OpFoldResult &queries = sizes.back();
  for (Value value : {op.getQ(), op.getFwdOut(), op.getDout()})
    if (!getConstantIntValue(queries))
      queries = conversion.getSizes(value)[seq];
  queries = conversion.multiply(conversion.countBlocks(queries, tiles.rows),
                                tiles.rows);
  if (!names.order.isPacked())
    return sizes;
  OpFoldResult bounds = conversion.getSizes(op.getCuSeqlensQ()).front();
  queries =
      conversion.add(queries, conversion.multiply(bounds, kPackedAlignment));
  return sizes;
}

std::string GradientConversion::getAlignedQueries() const {
  StringRef queries = names.rows().back();
  if (!names.order.isPacked())
    return tile::alignSize(queries, tiles.rows);
  // One of the two sizes may be static.
  auto find = [&](StringRef name) {
    std::set<int64_t> known = names.getSizes(name);
    return known.empty() ? name.str() : std::to_string(*known.begin());
  };
  return tile::addSizes(
      tile::alignSize(find(queries), tiles.rows),
      tile::multiplySize(find(names.bounds().front()), kPackedAlignment));
}

const std::optional<PackedTiles> &GradientConversion::listTiles(TokenSide side,
                                                                int64_t rows) {
  auto [found, isNew] = lists.try_emplace({side, rows});
  if (isNew)
    found->second = launchPackedTiles(conversion, {side, rows});
  return found->second;
}

/// Clears the numbers of rows that belong to no packed sequence, with all
/// others.
void GradientConversion::clear() {
  KernelLaunch launch(conversion);
  for (auto [name, rows] :
       {std::pair("shift", &shift), std::pair("moved_shift", &movedShift),
        std::pair("delta", &delta), std::pair("parts", &parts)})
    if (*rows)
      launch.addOutput(name, *rows, alignedRows(), kOnce, 0.0f);
  if (terms)
    launch.addOutput("terms", terms, termRows(), kOnce, 0.0f);
  launch.emit(
      "_clear_kernel", launch.countNumbers(0, tiles.rows),
      [&](tile::KernelOp kernel) { buildClearProgram(op, kernel, tiles); });
}

void GradientConversion::addQueryTiles(
    KernelLaunch &launch, const std::optional<PackedTiles> &packed) {
  if (!packed)
    return;
  launch.addInput("q", op.getQ(), names.queries());
  launch.addInput("cu_seqlens_q", op.getCuSeqlensQ(), names.bounds());
  addPackedTiles(launch, *packed);
}

void GradientConversion::preprocess() {
  const auto &packed = listTiles(TokenSide::Queries, tiles.rows);
  KernelLaunch launch(conversion);
  launch.addInput("out", op.getFwdOut(), names.queries());
  launch.addInput("dout", op.getDout(), names.queries());
  launch.addInput("lse", op.getFwdLse(), names.rows());
  if (op.getDlse())
    launch.addInput("dlse", op.getDlse(), names.rows());
  addQueryTiles(launch, packed);
  if (movesRows)
    launch.addCapturedVectors();
  StringRef kind = getOutputKind(names);
  if (shift)
    launch.addOutput("shift", shift, alignedRows(), kind, 0.0f);
  if (movedShift)
    launch.addOutput("moved_shift", movedShift, alignedRows(), kind, 0.0f);
  if (delta)
    launch.addOutput("delta", delta, alignedRows(), kind, 0.0f);
  if (terms)
    launch.addOutput("terms", terms, termRows(), kind, 0.0f);
  if (sums)
    launch.addOutput("sums", sums, names.queries(), kind, 0.0f);
  if (turns)
    launch.addOutput("turns", turns, alignedRows(), kOnce);
  if (movesRows)
    launch.addCapturedScalars();
  launch.emit("_preprocess_kernel",
              countWorkTiles(launch, packed, 0, tiles.rows),
              [&](tile::KernelOp kernel) {
                buildPreprocessProgram(op, kernel, tiles);
              });
}

/// Work tiles that take turns visit all blocks (KeyTileProgram.cpp).
void GradientConversion::findVisibleBlocks() {
  if (!turns)
    visibleQueries =
        launchVisibleBlocks(conversion, {MaskSide::Keys, tiles.keys});
  if (tiles.hasQueryKernel())
    visibleKeys =
        launchVisibleBlocks(conversion, {MaskSide::Queries, tiles.queryRows});
}

void GradientConversion::addRecomputed(KernelLaunch &launch, Value rowShift) {
  launch.addMatrices();
  launch.addInput("dout", op.getDout(), names.queries());
  if (!rowShift) {
    launch.addInput("terms", terms, termRows());
  } else {
    launch.addInput("shift", rowShift, alignedRows());
    launch.addInput("delta", delta, alignedRows());
  }
  launch.addCapturedVectors();
}

void GradientConversion::main() {
  const auto &packed = listTiles(TokenSide::Keys, tiles.keys);
  KernelLaunch launch(conversion);
  addRecomputed(launch, getScoreShift());
  launch.addQueryList();
  if (packed)
    addPackedTiles(launch, *packed);
  if (visibleQueries)
    addVisibleBlocks(launch, *visibleQueries);
  // Blocks of keys add to the rows that see one of them, and the heads of a
  // group take turns, which is more than can be proven today. Without keys the
  // sums stay zeros, as the kernel in front has made them.
  if (sums)
    launch.addOutput("sums", sums, names.queries(),
                     turns ? kOrdered : kPartial);
  launch.addOutput("dk", destinations[1], names.keys(), getOutputKind(names),
                   0.0f);
  launch.addOutput("dv", destinations[2], names.keys(), getOutputKind(names),
                   0.0f);
  if (turns)
    launch.addOutput("turns", turns, alignedRows(), /*kind=*/"");
  launch.addCapturedScalars();
  launch.emit("_kernel", countWorkTiles(launch, packed, 1, tiles.keys),
              [&](tile::KernelOp kernel) {
                buildSdpaBackwardProgram(op, kernel, tiles);
              });
}

void GradientConversion::postprocess() {
  const auto &packed = listTiles(TokenSide::Queries, tiles.rows);
  KernelLaunch launch(conversion);
  launch.addInput("sums", sums, names.queries());
  addQueryTiles(launch, packed);
  launch.addOutput("dq", destinations[0], names.queries(), getOutputKind(names),
                   0.0f);
  launch.emit("_postprocess_kernel",
              countWorkTiles(launch, packed, 0, tiles.rows),
              [&](tile::KernelOp kernel) {
                buildPostprocessProgram(op, kernel, tiles);
              });
}

void GradientConversion::queryGradient() {
  const auto &packed = listTiles(TokenSide::Queries, tiles.queryRows);
  KernelLaunch launch(conversion);
  addRecomputed(launch, getScoreShift());
  launch.addBlockList();
  if (packed)
    addPackedTiles(launch, *packed);
  if (visibleKeys)
    addVisibleBlocks(launch, *visibleKeys);
  launch.addOutput("dq", destinations[0], names.queries(), getOutputKind(names),
                   0.0f);
  launch.addCapturedScalars();
  launch.emit("_dq_kernel", countWorkTiles(launch, packed, 0, tiles.queryRows),
              [&](tile::KernelOp kernel) {
                buildQueryGradientProgram(op, kernel, tiles);
              });
}

void GradientConversion::sinks() {
  KernelLaunch launch(conversion);
  launch.addInput("shift", shift, alignedRows());
  launch.addInput("delta", delta, alignedRows());
  launch.addInput("sinks", op.getSinks(), names.heads());
  launch.addOutput("dsinks", destinations[3], names.heads(), kOnce, 0.0f);
  launch.emit(
      "_sinks_kernel", launch.countHeads(3, tiles.heads),
      [&](tile::KernelOp kernel) { buildSinksProgram(op, kernel, tiles); });
}

void GradientConversion::capture(unsigned number, Value &output) {
  std::string name = "capture" + std::to_string(number);
  const auto &packed = listTiles(TokenSide::Queries, tiles.captureRows);
  KernelLaunch launch(conversion);
  addRecomputed(launch, shift);
  launch.addBlockList();
  if (packed)
    addPackedTiles(launch, *packed);
  launch.addOutput("parts", parts, alignedRows(), getOutputKind(names), 0.0f);
  launch.addCapturedScalars();
  launch.emit("_" + name + "_kernel",
              countWorkTiles(launch, packed, 0, tiles.captureRows),
              [&](tile::KernelOp kernel) {
                buildCaptureProgram(op, kernel, tiles, number);
              });

  KernelLaunch sum(conversion);
  sum.addInput("parts", parts, alignedRows());
  sum.addOutput("d" + name, output, names.heads(), kOnce, 0.0f);
  sum.emit("_" + name + "_sum_kernel", sum.countHeads(1, tiles.heads),
           [&](tile::KernelOp kernel) {
             buildCaptureSumProgram(op, kernel, tiles);
           });
}

void GradientConversion::run() {
  destinations = getDestinations(conversion);
  SmallVector<OpFoldResult> rows = getAlignedRows();
  bool readsRows = op.hasDsinks() || !op.getWrt().empty();
  auto createRows = [&] {
    return conversion.createWorkspace(rows, b.getF32Type());
  };
  if (readsRows || (!tiles.addsTerms && !movesRows))
    shift = createRows();
  if (!tiles.addsTerms && movesRows)
    movedShift = createRows();
  if (shift || movedShift)
    delta = createRows();
  if (tiles.addsTerms) {
    SmallVector<OpFoldResult> sizes = rows;
    sizes.push_back(b.getIndexAttr(kAllTermColumns));
    terms = conversion.createWorkspace(sizes, b.getBF16Type());
  }
  if (!tiles.hasQueryKernel())
    sums = conversion.createWorkspace(conversion.getSizes(op.getQ()),
                                      b.getF32Type());
  if (sums && op.getDeterministic())
    turns = conversion.createWorkspace(rows, b.getI32Type());
  if (!op.getWrt().empty())
    parts = conversion.createWorkspace(rows, b.getF32Type());
  if (names.order.isPacked())
    clear();
  preprocess();
  findVisibleBlocks();
  main();
  if (sums)
    postprocess();
  else
    queryGradient();
  if (op.hasDsinks())
    sinks();
  unsigned first = op.getFirstDcapture();
  for (auto [i, number] : llvm::enumerate(op.getWrt()))
    capture(number, destinations[first + i]);
  conversion.finish(destinations);
}

void fa4::convertGradient(SdpaBackwardOp op, const TargetDescription &target,
                          const TileChoice &choice, SymbolTable &symbols) {
  GradientConversion(op, target, choice, symbols).run();
}
