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
  /// Sets what is listed of those of `tiles` that are the sequence's. `before`
  /// has the columns of the list, in the order of kListColumns, and the
  /// sequence's first tile; returns the same behind the sequence.
  SmallVector<Value> addSequence(Value sequence, Value tiles,
                                 ValueRange before);
  void store(Value tiles, StringRef name, Value first);

  PackedTilesRequest request;
};
} // namespace

SmallVector<Value> PackedTilesProgram::addSequence(Value sequence, Value tiles,
                                                   ValueRange before) {
  using Predicate = arith::CmpIPredicate;
  TokenRange queries = readBounds(TokenSide::Queries, sequence);
  // Keys in pages begin with 0.
  TokenRange keys;
  if (!attention.getPageTable())
    keys = readBounds(TokenSide::Keys, sequence);
  TokenRange tokens = clampTokens(
      request.side, request.side == TokenSide::Queries ? queries : keys);
  Value firstTile = before.back();
  Value endTile =
      add(firstTile, ceilDiv(sub(tokens.end, tokens.first), request.rows));
  Value isOfSequence =
      arith::AndIOp::create(b, less(tiles, over(firstTile), Predicate::sge),
                            less(tiles, over(endTile), Predicate::slt));
  Value number = arith::SubIOp::create(b, tiles, over(firstTile));
  SmallVector<Value> listed = {over(sequence), number, over(queries.first),
                               over(queries.end)};
  if (keys.first)
    listed.append({over(keys.first), over(keys.end)});
  SmallVector<Value> behind;
  for (auto [column, value] : llvm::zip_equal(before.drop_back(), listed))
    behind.push_back(arith::SelectOp::create(b, isOfSequence, value, column));
  behind.push_back(endTile);
  return behind;
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
  ArrayRef<llvm::StringLiteral> columns = getListColumns(attention);
  SmallVector<Value> init(columns.size(), over(zero));
  init.push_back(zero);
  ValueRange listed = repeat(countSequences(request.side), init,
                             [&](Value sequence, ValueRange before) {
                               return addSequence(sequence, tiles, before);
                             });
  store(over(listed.back()), kTileCounts, first);
  for (auto [name, column] : llvm::zip_equal(columns, listed.drop_back()))
    store(column, name, first);
}

void fa4::buildPackedTilesProgram(AttentionOpInterface op,
                                  tile::KernelOp kernel,
                                  const PackedTilesRequest &request) {
  PackedTilesProgram(op, kernel, request).build();
}
