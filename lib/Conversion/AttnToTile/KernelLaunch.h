//===- KernelLaunch.h - a kernel of an op and its launch ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_KERNELLAUNCH_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_KERNELLAUNCH_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace fa4 {

/// The names of the dimensions of an op's operands and results, and the sizes
/// that their types give to the names. One operand may have a static size where
/// another one has a dynamic size, which must be the same in a call.
class DimNames {
public:
  explicit DimNames(attn::AttentionOpInterface op);

  llvm::SmallVector<llvm::StringRef> queries() const {
    return data(order, order.isPacked() ? "Tq" : "Sq", "Hq");
  }
  llvm::SmallVector<llvm::StringRef> keys() const;
  llvm::SmallVector<llvm::StringRef> pageTable() const {
    return {"B", "SeqPages"};
  }
  llvm::SmallVector<llvm::StringRef> blockList() const {
    return {"B", "ListHeads", "ListBlocks", "ListEntries"};
  }
  llvm::SmallVector<llvm::StringRef> blockCounts() const {
    return {"B", "ListHeads", "ListBlocks"};
  }
  llvm::SmallVector<llvm::StringRef> queryList() const {
    return {"B", "ListHeads", "ListKeyBlocks", "ListQueries"};
  }
  llvm::SmallVector<llvm::StringRef> queryCounts() const {
    return {"B", "ListHeads", "ListKeyBlocks"};
  }
  /// Returns the dimensions of tensors with one number for each row of queries.
  /// `seq` is the name of the last one, if there is room for other rows.
  llvm::SmallVector<llvm::StringRef> rows(llvm::StringRef seq = "") const {
    if (order.isPacked())
      return {"Hq", seq.empty() ? "Tq" : seq};
    return {"B", "Hq", seq.empty() ? "Sq" : seq};
  }
  /// Returns the dimensions of tensors with one number for each query head.
  llvm::SmallVector<llvm::StringRef> heads() const { return {"Hq"}; }
  llvm::SmallVector<llvm::StringRef> sequences() const { return {"B"}; }
  /// Returns the dimensions of the bounds of packed sequences, of which there
  /// is one more than there are sequences.
  llvm::SmallVector<llvm::StringRef> bounds() const { return {"Bounds"}; }

  /// The static sizes of dimensions of this name, in rising order.
  std::set<int64_t> getSizes(llvm::StringRef name) const {
    auto found = sizes.find(name);
    return found == sizes.end() ? std::set<int64_t>() : found->second;
  }

  const attn::DimOrder order, keyOrder; ///< Of q and out, and of k and v.

private:
  static llvm::SmallVector<llvm::StringRef>
  data(const attn::DimOrder &order, llvm::StringRef seq, llvm::StringRef head) {
    llvm::SmallVector<llvm::StringRef> names(order.rank, "D");
    if (order.batch)
      names[*order.batch] = "B";
    names[order.seq] = seq;
    names[order.head] = head;
    return names;
  }
  void learn(mlir::Type type, llvm::ArrayRef<llvm::StringRef> names);
  void learnOutputs(attn::AttentionOpInterface op);

  const bool hasPages;
  llvm::StringMap<std::set<int64_t>> sizes;
};

/// The facts that all kernels of an op share.
struct Conversion {
  Conversion(attn::AttentionOpInterface op, const TargetDescription &target,
             mlir::SymbolTable &symbols)
      : op(op), target(target), symbols(symbols), names(op), builder(op) {}

  /// Returns the sizes of a tensor or memref.
  llvm::SmallVector<mlir::OpFoldResult> getSizes(mlir::Value value);
  /// Compute with sizes, in numbers where the sizes are numbers.
  mlir::OpFoldResult countBlocks(mlir::OpFoldResult size, int64_t block);
  mlir::OpFoldResult multiply(mlir::OpFoldResult size, int64_t factor);
  mlir::OpFoldResult add(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult min(mlir::OpFoldResult a, mlir::OpFoldResult b);
  /// Keys are counted one by one, by pages where they lie in pages, or by
  /// blocks where those are listed: returns how many units there is room for in
  /// a sequence, or in a list, and the keys of a unit.
  mlir::OpFoldResult countKeyUnits();
  int64_t getKeysOfUnit();
  /// What each of `size` has of a number of CTAs; the name is not used.
  mlir::OpFoldResult share(const tile::SharedSize &shared,
                           mlir::OpFoldResult size);
  /// Creates a tensor or a buffer of numbers that one kernel hands to the next.
  mlir::Value createWorkspace(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                              mlir::Type element);
  /// Puts `results` in the place of the op's, frees the buffers that are
  /// workspaces, and erases the op.
  void finish(mlir::ValueRange results);

  attn::AttentionOpInterface op;
  const TargetDescription &target;
  mlir::SymbolTable &symbols;
  const DimNames names;
  mlir::OpBuilder builder; ///< In front of the op.

private:
  llvm::SmallVector<mlir::Value> workspaces;
};

/// The values of `tile.output`.
inline constexpr llvm::StringLiteral kOnce = "once", kOrdered = "ordered",
                                     kPartial = "partial";

/// Returns the kind of an output that has rows of queries or keys. Which rows
/// of packed tensors a work tile writes stands in memory, so that a proof that
/// each row is written once would have to know what is there.
inline llvm::StringRef getOutputKind(const DimNames &names) {
  return names.order.isPacked() ? kPartial : kOnce;
}

/// Returns the op's destinations, or new tensors with the sizes of the results.
llvm::SmallVector<mlir::Value> getDestinations(Conversion &conversion);

/// A kernel and its launch. Each tensor or scalar is added once, and becomes
/// both an argument of the kernel and an operand of the launch. Arguments are
/// added in the order that the program's header gives, inputs first and scalars
/// last.
class KernelLaunch {
public:
  explicit KernelLaunch(Conversion &conversion) : conversion(conversion) {}

  /// Adds a tensor or memref that the kernel reads. `dims` are the names of its
  /// dimensions. The kernel uses these names for dynamic sizes.
  void addInput(llvm::StringRef name, mlir::Value value,
                llvm::ArrayRef<llvm::StringRef> dims);
  /// Adds a tensor or memref that the kernel writes; a tensor becomes the
  /// launch's result. `kind` is its `tile.output` (empty for none), `ifEmpty`
  /// its `tile.if_empty`.
  void addOutput(llvm::StringRef name, mlir::Value &value,
                 llvm::ArrayRef<llvm::StringRef> dims, llvm::StringRef kind,
                 std::optional<float> ifEmpty = std::nullopt);
  /// Adds q, k and v, and the sequences' bounds, numbers of keys and pages, if
  /// there are any. For dynamic numbers of heads, the kernel requires of a call
  /// what the op's verifier checks of static ones; with sinks and the LSE, it
  /// requires keys.
  void addMatrices();
  /// Add the lists of blocks, if there are any: those of rows of queries, and
  /// those of rows of keys.
  void addBlockList();
  void addQueryList();
  /// Adds the sinks of the forward op.
  void addSinks(mlir::Value sinks);
  /// Add the captured tensors, which are inputs, and the captured scalars.
  void addCapturedVectors();
  void addCapturedScalars();

  /// Sets the kernel's `work_count`, the name of an input.
  void setWorkCount(llvm::StringRef name) { workCount = name; }

  /// Return a grid that counts tiles of `rows` rows, heads and batches of an
  /// argument, the same for an argument with one number for each row, and a
  /// grid that counts tiles of heads of a vector.
  llvm::SmallVector<mlir::Attribute> countRows(unsigned argument,
                                               int64_t rows) const;
  llvm::SmallVector<mlir::Attribute> countNumbers(unsigned argument,
                                                  int64_t rows) const;
  llvm::SmallVector<mlir::Attribute> countHeads(unsigned argument,
                                                int64_t heads) const;

  unsigned getNumArguments() const { return types.size(); }
  /// Returns the name of an argument's dimension.
  llvm::StringRef getDim(unsigned argument, unsigned dim) const;
  /// Returns the name of what Conversion::countKeyUnits returns, of a kernel to
  /// which q, k and v, and the list, have been added.
  llvm::StringRef getKeyUnitsName() const;

  /// Makes the kernel in front of the op's function, whose name and `suffix`
  /// are its name, lets `build` fill its body, and launches it in front of the
  /// op.
  void emit(const llvm::Twine &suffix, llvm::ArrayRef<mlir::Attribute> grid,
            llvm::function_ref<void(tile::KernelOp)> build);

private:
  void addTensor(llvm::StringRef name, mlir::Type type,
                 llvm::ArrayRef<llvm::StringRef> dims, llvm::StringRef kind,
                 std::optional<float> ifEmpty);
  void addArgument(llvm::StringRef name, mlir::Type type,
                   mlir::NamedAttrList attributes);
  /// The number of tiles of `tile` elements of an argument's dimension.
  mlir::Attribute getExtent(unsigned argument, unsigned dim,
                            int64_t tile) const;
  /// The grid of tiles of `rows` elements of dimension `seq`, of each head and
  /// batch. The numbers are those of an argument's dimensions.
  llvm::SmallVector<mlir::Attribute>
  countTiles(unsigned argument, int64_t rows, unsigned seq, unsigned head,
             std::optional<unsigned> batch) const;
  /// Adds a condition on sizes without which the kernel must not be launched.
  void require(const llvm::Twine &condition, const llvm::Twine &message);
  void requireSizes();
  void addPageTable(mlir::Value table);
  /// Returns the name of the keys, or of the pages, of a sequence.
  llvm::StringRef getKeysName() const;
  void addCapturedTable(unsigned capture, mlir::Value table);
  /// Requires that the table that is the last argument has an element wherever
  /// a region reads it at an index with which it is called.
  void requireElements(unsigned capture, llvm::StringRef name);
  void requireHeadGroups();
  /// Requires that as many of `heads`, which people call `kind` heads, belong
  /// to each of `sharedHeads`, which they call `what`, unless both numbers are
  /// known.
  void requireMultiple(llvm::StringRef heads, llvm::StringRef sharedHeads,
                       llvm::StringRef what, llvm::StringRef kind = "query");
  void requireKeysBesideSinks();
  tile::KernelOp createKernel(const llvm::Twine &suffix,
                              llvm::ArrayRef<mlir::Attribute> grid);
  void launch(tile::KernelOp kernel);

  Conversion &conversion;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Attribute> attributes;
  llvm::SmallVector<mlir::Value> inputs, scalars;
  llvm::SmallVector<mlir::Value *> outputs;
  llvm::SetVector<llvm::StringRef> dynamicDims;
  llvm::SmallVector<mlir::Attribute> conditions;
  bool hasMatrices = false;
  /// The numbers of the arguments, if there are any. The list of blocks is a
  /// query list if there is one.
  std::optional<unsigned> pageTable, blockList;
  bool hasQueryList = false;
  llvm::StringRef workCount;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_KERNELLAUNCH_H
