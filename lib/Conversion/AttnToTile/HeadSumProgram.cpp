//===- HeadSumProgram.cpp - sums over all queries of a head ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadSumProgram.h"
#include "AttentionProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
/// Rows of tiles are heads, so that each thread sums for its head alone, always
/// in the same order.
class HeadSumProgram : AttentionProgram {
public:
  HeadSumProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                 const BackwardTiles &tiles)
      : AttentionProgram(op, kernel), heads(tiles.heads),
        queries(tiles.sinkQueries),
        firstHead(mul(tile::WorkTileOp::create(b, TypeRange{b.getIndexType()})
                          .getResult(0),
                      index(heads))) {}

  void buildSinks();
  void buildCapture();

private:
  /// Sums tiles over all blocks of queries of all sequences. `makeTile` builds
  /// the tile of a block. Its argument is the place of the block in tensors
  /// that have, like `rows`, one number for each row of queries.
  Value sumBlocks(Value rows,
                  llvm::function_ref<Value(ArrayRef<Value>)> makeTile);
  Value load(unsigned argument, ArrayRef<Value> at) {
    return tile::LoadOp::create(b, f32Type({heads, queries}),
                                kernel.getArgument(argument), at,
                                /*to=*/Value(), /*dims=*/DenseI64ArrayAttr());
  }
  void store(Value numbers, Value memref) {
    tile::StoreOp::create(b, numbers, memref, firstHead, /*to=*/Value(),
                          /*dims=*/DenseI64ArrayAttr());
  }

  const int64_t heads, queries;
  const Value firstHead;
};
} // namespace

Value HeadSumProgram::sumBlocks(
    Value rows, llvm::function_ref<Value(ArrayRef<Value>)> makeTile) {
  Value blocks = floorDiv(size(rows, order.lseSeq()), queries);
  Value sequences = order.isPacked() ? one : size(rows, *order.lseBatch());
  Value steps = max(mul(sequences, blocks), 1);
  return repeat(
      steps, splat(f32Type({heads}), 0.0), [&](Value step, Value sums) {
        Value sequence = fold<arith::DivUIOp>(step, blocks);
        Value block = sub(step, mul(sequence, blocks));
        SmallVector<Value> place = {firstHead, mul(block, index(queries))};
        if (!order.isPacked())
          place.insert(place.begin(), sequence);
        return addColumns(makeTile(place), sums);
      });
}

void HeadSumProgram::buildSinks() {
  auto arguments = kernel.getArguments();
  Value shift = arguments[0], sinks = arguments[2], dsinks = arguments[3];
  VectorType rowType = f32Type({heads});
  Type element = cast<MemRefType>(sinks.getType()).getElementType();
  Value rows =
      tile::LoadRowsOp::create(b, VectorType::get({heads}, element), sinks,
                               firstHead, b.getI64IntegerAttr(0));
  Value exponents =
      arith::MulFOp::create(b, widen(rows), splat(rowType, kLog2E));
  Value sums = sumBlocks(shift, [&](ArrayRef<Value> at) -> Value {
    Value p = math::Exp2Op::create(
        b,
        arith::AddFOp::create(b, load(0, at), overColumns(exponents, queries)));
    return arith::MulFOp::create(b, p, load(1, at));
  });
  // LLVM would move a negation behind the rounding. There it would become
  // `neg.ftz.f16`, which loses sums that are subnormal in f16.
  Value negative = arith::SubFOp::create(b, splat(rowType, 0.0), sums);
  store(round(negative, dsinks), dsinks);
}

void HeadSumProgram::buildCapture() {
  Value parts = kernel.getArgument(0), dcapture = kernel.getArgument(1);
  store(sumBlocks(parts, [&](ArrayRef<Value> at) { return load(0, at); }),
        dcapture);
}

void fa4::buildSinksProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                            const BackwardTiles &tiles) {
  HeadSumProgram(op, kernel, tiles).buildSinks();
}

void fa4::buildCaptureSumProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                 const BackwardTiles &tiles) {
  HeadSumProgram(op, kernel, tiles).buildCapture();
}
