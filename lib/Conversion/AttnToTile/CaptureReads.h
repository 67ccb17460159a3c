//===- CaptureReads.h - how regions read captured tensors ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A captured tensor that score_mod and mask_mod read, and at the query head
// only, is a *vector*: a kernel reads its number once for a tile. Any other one
// is a *table*, of which a thread reads an element for each score; its sizes
// are its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_CAPTUREREADS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_CAPTUREREADS_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace fa4 {

/// If `op` reads an element of a captured tensor, returns the tensor, an
/// argument of the region, otherwise null.
mlir::Value getReadTensor(mlir::Operation *op);

/// If `op` reads a captured tensor at the query head with which its region is
/// called, returns the tensor, otherwise null.
mlir::Value getReadVector(mlir::Operation *op);

/// Returns true if capture number `capture` of `op` is a table.
bool isTable(attn::AttentionOpInterface op, unsigned capture);

/// Returns `roots` and the values of a score_mod or mask_mod region that are
/// computed from one of them.
llvm::SmallPtrSet<mlir::Value, 16>
findDependents(mlir::Region &region, llvm::ArrayRef<mlir::Value> roots);

/// Returns true if a table is read at an index that depends on the query or the
/// key.
bool readsTables(attn::AttentionOpInterface op);
bool readsTablesInMask(attn::AttentionOpInterface op);

/// A size of q or of k, or the number of keys in pages, and the name or formula
/// that it has where it is dynamic.
struct SizeOfOperand {
  int64_t size;
  std::string name;
};

/// Returns the size that counts the values of one of the indices with which a
/// region is called: 0 is the batch, then come the head, the query and the key.
SizeOfOperand getCountOfIndex(attn::AttentionOpInterface op, unsigned index);

/// Returns the dimensions of a table, each with the number of the index at
/// which some region reads it as it is. The table has no fewer elements there
/// than the index has values. Positions in packed sequences are left out: the
/// table has as many elements as the longest sequence, which stands in memory.
llvm::SetVector<std::pair<unsigned, unsigned>>
findIndexedDims(attn::AttentionOpInterface op, unsigned capture);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_CAPTUREREADS_H
