//===- PackedTilesProgram.cpp - the work tiles of packed sequences --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedTilesProgram.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
class PackedTilesProgram : AttentionProgram {
public:
  PackedTilesProgram(AttentionOpInterface op, tile::KernelOp kernel,
                     const PackedTilesRequest &request)
      : AttentionProgram(op, kernel), request(request) {}

  void build();

private:
  Value over(Value scalar) {
    return vector::BroadcastOp::create(
        b, VectorType::get({kListedTiles}, b.getIndexType()), scalar);
  }
  /// Sets what `tiles` are of the sequence, whose first tile is `firstTile`:
  /// returns their sequences, their numbers, and the first tile behind it.
  SmallVector<Value> addSequence(Value sequence, Value tiles, Value sequences,
                                 Value numbers, Value firstTile);
  void store(Value tiles, StringRef name, Value first);

  PackedTilesRequest request;
};
} // namespace

SmallVector<Value> PackedTilesProgram::addSequence(Value sequence, Value tiles,
                                                   Value sequences,
                                                   Value numbers,
                                                   Value firstTile) {
  using Predicate = arith::CmpIPredicate;
  TokenRange tokens = readTokens(request.side, sequence);
  Value endTile =
      add(firstTile, ceilDiv(sub(tokens.end, tokens.first), request.rows));
  Value isOfSequence =
      arith::AndIOp::create(b, less(tiles, over(firstTile), Predicate::sge),
                            less(tiles, over(endTile), Predicate::slt));
  Value number = arith::SubIOp::create(b, tiles, over(firstTile));
  return {arith::SelectOp::create(b, isOfSequence, over(sequence), sequences),
          arith::SelectOp::create(b, isOfSequence, number, numbers), endTile};
}

void PackedTilesProgram::store(Value tiles, StringRef name, Value first) {
  auto type = VectorType::get({kListedTiles}, b.getI32Type());
  tile::StoreOp::create(b, arith::IndexCastOp::create(b, type, tiles),
                        getArgument(name), first, /*to=*/Value(),
                        /*dims=*/DenseI64ArrayAttr());
}

void PackedTilesProgram::build() {
  Value work =
      tile::WorkTileOp::create(b, TypeRange{b.getIndexType()}).getResult(0);
  Value first = mul(work, index(kListedTiles));
  Value tiles = positions(kListedTiles, first);
  Value init[] = {over(zero), over(zero), zero};
  ValueRange listed = repeat(
      countSequences(request.side), init,
      [&](Value sequence, ValueRange before) -> SmallVector<Value> {
        return addSequence(sequence, tiles, before[0], before[1], before[2]);
      });
  store(over(listed[2]), kTileCounts, first);
  store(listed[0], kTileSequences, first);
  store(listed[1], kTileNumbers, first);
}

void fa4::buildPackedTilesProgram(AttentionOpInterface op,
                                  tile::KernelOp kernel,
                                  const PackedTilesRequest &request) {
  PackedTilesProgram(op, kernel, request).build();
}
