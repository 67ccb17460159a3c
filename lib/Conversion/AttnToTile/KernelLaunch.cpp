//===- KernelLaunch.cpp - a kernel of an op and its launch ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLaunch.h"
#include "AttentionProgram.h"
#include "CaptureReads.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Tile/IR/EmptyCall.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Names of dimensions
//===----------------------------------------------------------------------===//

void DimNames::learn(Type type, ArrayRef<StringRef> names) {
  for (auto [size, name] : llvm::zip(cast<ShapedType>(type).getShape(), names))
    if (!ShapedType::isDynamic(size))
      sizes[name].insert(size);
}

void DimNames::learnOutputs(AttentionOpInterface op) {
  SmallVector<Type> outputs(op.getInits().empty()
                                ? TypeRange(op->getResultTypes())
                                : TypeRange(op.getInits().getTypes()));
  bool isForward = isa<SdpaOp>(op.getOperation());
  for (auto [i, type] : llvm::enumerate(outputs)) {
    if (i == 0)
      learn(type, queries());
    else if (isForward)
      learn(type, rows());
    else
      learn(type, i < 3 ? keys() : heads());
  }
}

SmallVector<StringRef> DimNames::keys() const {
  if (!hasPages)
    return data(order, order.isPacked() ? "Tk" : "Sk", "Hkv");
  SmallVector<StringRef> names = data(keyOrder, "PageSize", "Hkv");
  names[*keyOrder.batch] = "Pages";
  return names;
}

DimNames::DimNames(AttentionOpInterface op)
    : order(getDimOrder(op.getLayout())), keyOrder(getKeyOrder(op)),
      hasPages(bool(op.getPageTable())) {
  learn(op.getQ().getType(), queries());
  learn(op.getK().getType(), keys());
  learn(op.getV().getType(), keys());
  for (auto [i, type] : llvm::enumerate(op.getCaptures().getTypes()))
    if (isa<ShapedType>(type) && !isTable(op, i))
      learn(type, heads());
  if (op.getSinks())
    learn(op.getSinks().getType(), heads());
  if (op.getSeqlensK())
    learn(op.getSeqlensK().getType(), sequences());
  if (op.getPageTable())
    learn(op.getPageTable().getType(), pageTable());
  if (op.getBlockList()) {
    learn(op.getBlockList().getType(), blockList());
    learn(op.getBlockCounts().getType(), blockCounts());
  }
  for (Value each : {op.getCuSeqlensQ(), op.getCuSeqlensK()})
    if (each)
      learn(each.getType(), bounds());
  learnOutputs(op);
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  if (!backward)
    return;
  if (backward.getQueryList()) {
    learn(backward.getQueryList().getType(), queryList());
    learn(backward.getQueryCounts().getType(), queryCounts());
  }
  learn(backward.getFwdOut().getType(), queries());
  learn(backward.getDout().getType(), queries());
  learn(backward.getFwdLse().getType(), rows());
  if (backward.getDlse())
    learn(backward.getDlse().getType(), rows());
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

SmallVector<OpFoldResult> Conversion::getSizes(Value value) {
  if (isa<MemRefType>(value.getType()))
    return memref::getMixedSizes(builder, op.getLoc(), value);
  return tensor::getMixedSizes(builder, op.getLoc(), value);
}

/// Returns what `known` computes of two numbers, or an op of two sizes.
template <typename Op>
static OpFoldResult
compute(Conversion &conversion, OpFoldResult a, OpFoldResult b,
        llvm::function_ref<int64_t(int64_t, int64_t)> known) {
  OpBuilder &builder = conversion.builder;
  Location loc = conversion.op.getLoc();
  auto m = getConstantIntValue(a), n = getConstantIntValue(b);
  if (m && n)
    return builder.getIndexAttr(known(*m, *n));
  Value x = getValueOrCreateConstantIndexOp(builder, loc, a);
  Value y = getValueOrCreateConstantIndexOp(builder, loc, b);
  return Op::create(builder, loc, x, y).getResult();
}

OpFoldResult Conversion::countBlocks(OpFoldResult size, int64_t block) {
  return compute<arith::CeilDivUIOp>(
      *this, size, builder.getIndexAttr(block),
      [](int64_t a, int64_t b) { return llvm::divideCeil(a, b); });
}

OpFoldResult Conversion::multiply(OpFoldResult size, int64_t factor) {
  return compute<arith::MulIOp>(*this, size, builder.getIndexAttr(factor),
                                std::multiplies<int64_t>());
}

OpFoldResult Conversion::add(OpFoldResult a, OpFoldResult b) {
  return compute<arith::AddIOp>(*this, a, b, std::plus<int64_t>());
}

OpFoldResult Conversion::min(OpFoldResult a, OpFoldResult b) {
  return compute<arith::MinUIOp>(
      *this, a, b, [](int64_t a, int64_t b) { return std::min(a, b); });
}

OpFoldResult Conversion::countKeyUnits() {
  if (op.getBlockList())
    return getSizes(op.getBlockList())[kListEntries];
  return op.getPageTable() ? getSizes(op.getPageTable())[kTablePages]
                           : getSizes(op.getK())[names.keyOrder.seq];
}

int64_t Conversion::getKeysOfUnit() {
  if (op.getBlockList())
    return op.getBlockSize()[kBlockKeys];
  return op.getPageTable() ? getPageSize(op) : 1;
}

OpFoldResult Conversion::share(const tile::SharedSize &shared,
                               OpFoldResult size) {
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return builder.getIndexAttr(shared.of(*known));
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(b, number);
  };
  Value count = arith::MaxUIOp::create(
      b, getValueOrCreateConstantIndexOp(b, op.getLoc(), size), index(1));
  Value few = arith::DivUIOp::create(b, index(shared.few), count);
  Value many = arith::DivUIOp::create(b, index(shared.many), count);
  many = arith::MaxUIOp::create(b, many, index(1));
  // Sizes are computed from indices alone: 1 where `few` are enough, or 0.
  Value isEnough = arith::MinUIOp::create(
      b, arith::DivUIOp::create(b, few, index(2)), index(1));
  Value isNot = arith::SubIOp::create(b, index(1), isEnough);
  return arith::AddIOp::create(b, arith::MulIOp::create(b, few, isEnough),
                               arith::MulIOp::create(b, many, isNot))
      .getResult();
}

Value Conversion::createWorkspace(ArrayRef<OpFoldResult> sizes, Type element) {
  if (!op.hasMemRefSemantics())
    return tensor::EmptyOp::create(builder, op.getLoc(), sizes, element);
  Value buffer = memref::AllocOp::create(builder, op.getLoc(), sizes, element);
  workspaces.push_back(buffer);
  return buffer;
}

void Conversion::finish(ValueRange results) {
  for (Value workspace : workspaces)
    memref::DeallocOp::create(builder, op.getLoc(), workspace);
  if (!op.hasMemRefSemantics())
    op->replaceAllUsesWith(results);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

SmallVector<Value> fa4::getDestinations(Conversion &conversion) {
  AttentionOpInterface op = conversion.op;
  OpBuilder &b = conversion.builder;
  SmallVector<Value> destinations(op.getInits());
  if (!destinations.empty())
    return destinations;
  ReifiedRankedShapedTypeDims shapes;
  LogicalResult reified = reifyResultShapes(b, op, shapes);
  (void)reified; // Cannot fail on tensors.
  for (auto [shape, type] : llvm::zip(shapes, op->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    Value empty =
        tensor::EmptyOp::create(b, op.getLoc(), shape, tensor.getElementType());
    if (empty.getType() != type)
      empty = tensor::CastOp::create(b, op.getLoc(), type, empty);
    destinations.push_back(empty);
  }
  return destinations;
}

void KernelLaunch::addArgument(StringRef name, Type type,
                               NamedAttrList argument) {
  Builder &b = conversion.builder;
  argument.set(tile::kArgName, b.getStringAttr(name));
  types.push_back(type);
  attributes.push_back(argument.getDictionary(b.getContext()));
}

void KernelLaunch::addTensor(StringRef name, Type type,
                             ArrayRef<StringRef> dims, StringRef kind,
                             std::optional<float> ifEmpty) {
  Builder &b = conversion.builder;
  auto shaped = cast<ShapedType>(type);
  SmallVector<Attribute> sizes;
  for (auto [size, dim] : llvm::zip(shaped.getShape(), dims)) {
    StringAttr name = b.getStringAttr(
        ShapedType::isDynamic(size) ? dim.str() : std::to_string(size));
    sizes.push_back(name);
    if (ShapedType::isDynamic(size))
      dynamicDims.insert(name.getValue());
  }
  if (!isa<MemRefType>(type))
    type = MemRefType::get(shaped.getShape(), shaped.getElementType());
  NamedAttrList argument;
  argument.set(tile::kArgDims, b.getArrayAttr(sizes));
  if (!kind.empty())
    argument.set(tile::kArgOutput, b.getStringAttr(kind));
  if (ifEmpty)
    argument.set(tile::kArgIfEmpty, b.getF32FloatAttr(*ifEmpty));
  addArgument(name, type, argument);
}

void KernelLaunch::addInput(StringRef name, Value value,
                            ArrayRef<StringRef> dims) {
  inputs.push_back(value);
  addTensor(name, value.getType(), dims, /*kind=*/"", std::nullopt);
}

void KernelLaunch::addOutput(StringRef name, Value &value,
                             ArrayRef<StringRef> dims, StringRef kind,
                             std::optional<float> ifEmpty) {
  outputs.push_back(&value);
  addTensor(name, value.getType(), dims, kind, ifEmpty);
}

void KernelLaunch::addMatrices() {
  AttentionOpInterface op = conversion.op;
  addInput("q", op.getQ(), conversion.names.queries());
  addInput("k", op.getK(), conversion.names.keys());
  addInput("v", op.getV(), conversion.names.keys());
  if (conversion.names.order.isPacked()) {
    addInput("cu_seqlens_q", op.getCuSeqlensQ(), conversion.names.bounds());
    if (op.getCuSeqlensK())
      addInput("cu_seqlens_k", op.getCuSeqlensK(), conversion.names.bounds());
  }
  if (op.getSeqlensK())
    addInput("seqlens_k", op.getSeqlensK(), conversion.names.sequences());
  if (op.getPageTable())
    addPageTable(op.getPageTable());
  hasMatrices = true;
}

void KernelLaunch::addSinks(Value sinks) {
  addInput("sinks", sinks, conversion.names.heads());
}

/// Positions in a sequence are computed in 32 bits.
void KernelLaunch::addPageTable(Value table) {
  pageTable = getNumArguments();
  addInput("page_table", table, conversion.names.pageTable());
  StringRef pages = getKeysName();
  if (llvm::isDigit(pages.front()))
    return;
  int64_t most = kMaxSize / getPageSize(conversion.op);
  require(pages + " <= " + Twine(most), "the number of pages of a sequence, " +
                                            pages + ", must be at most " +
                                            Twine(most));
}

void KernelLaunch::addBlockList() {
  AttentionOpInterface op = conversion.op;
  if (!op.getBlockList())
    return;
  blockList = getNumArguments();
  addInput("block_list", op.getBlockList(), conversion.names.blockList());
  addInput("block_counts", op.getBlockCounts(), conversion.names.blockCounts());
}

void KernelLaunch::addQueryList() {
  auto op = cast<SdpaBackwardOp>(conversion.op.getOperation());
  if (!op.getQueryList())
    return;
  blockList = getNumArguments();
  hasQueryList = true;
  addInput("query_list", op.getQueryList(), conversion.names.queryList());
  addInput("query_counts", op.getQueryCounts(), conversion.names.queryCounts());
}

StringRef KernelLaunch::getKeyUnitsName() const {
  return blockList ? getDim(*blockList, kListEntries) : getKeysName();
}

StringRef KernelLaunch::getKeysName() const {
  return pageTable ? getDim(*pageTable, kTablePages)
                   : getDim(1, conversion.names.keyOrder.seq);
}

/// Without keys, the LSE of a row is its sink. No kernel runs then, and there
/// is no constant that the results could be filled with.
void KernelLaunch::requireKeysBesideSinks() {
  auto op = dyn_cast<SdpaOp>(conversion.op.getOperation());
  if (!op || !op.getSinks() || !op.hasLse())
    return;
  auto requireSome = [&](StringRef size) {
    if (!llvm::isDigit(size.front()))
      require(size + " >= 1", "size " + size +
                                  " must be at least 1: the LSE of a row "
                                  "without keys is its sink, and no kernel "
                                  "writes it");
  };
  requireSome(getKeysName());
  // Sequences without keys may have a cache without pages.
  if (pageTable)
    requireSome(getDim(1, *conversion.names.keyOrder.batch));
  // So may lists without blocks.
  if (blockList)
    for (unsigned dim : {kListBlocks, kListEntries})
      requireSome(getDim(*blockList, dim));
}

/// The sizes of a table have names of their own, because it may have more
/// elements than are read.
void KernelLaunch::addCapturedTable(unsigned capture, Value table) {
  std::string name = getCaptureName(capture);
  SmallVector<StringRef> dims;
  for (int64_t dim : llvm::seq(cast<ShapedType>(table.getType()).getRank()))
    dims.push_back(
        conversion.builder.getStringAttr(name + "_" + Twine(dim)).getValue());
  addInput(name, table, dims);
  requireElements(capture, name);
}

/// What the indices of a region's call count, for people.
static constexpr StringLiteral kIndexNames[kNumIndexArgs] = {
    "sequence", "query head", "query", "key"};

/// The op's check compares sizes that are static.
void KernelLaunch::requireElements(unsigned capture, StringRef name) {
  auto type = cast<ShapedType>(conversion.op.getCaptures()[capture].getType());
  llvm::SmallDenseSet<unsigned> indexed;
  for (auto [dim, index] : findIndexedDims(conversion.op, capture)) {
    indexed.insert(dim);
    SizeOfOperand count = getCountOfIndex(conversion.op, index);
    if (!type.isDynamicDim(dim) && !ShapedType::isDynamic(count.size))
      continue;
    std::string least = ShapedType::isDynamic(count.size)
                            ? count.name
                            : std::to_string(count.size);
    StringRef size = getDim(types.size() - 1, dim);
    require(
        size + " >= " + least,
        llvm::formatv("dimension {0} of '{1}', {2}, must be at least {3}: a "
                      "region reads it at each {4}",
                      dim, name, size, least, kIndexNames[index])
            .str());
  }
  // A table without elements is no reason to leave out the launch.
  std::string isEmpty;
  for (unsigned index : llvm::seq(kNumIndexArgs))
    if (SizeOfOperand count = getCountOfIndex(conversion.op, index);
        ShapedType::isDynamic(count.size))
      isEmpty += llvm::formatv(" || {0} == 0", count.name).str();
  for (int64_t dim : llvm::seq(type.getRank()))
    if (type.isDynamicDim(dim) && !indexed.contains(dim)) {
      StringRef size = getDim(types.size() - 1, dim);
      require(size + " >= 1" + isEmpty,
              llvm::formatv("dimension {0} of '{1}', {2}, must be at least 1",
                            dim, name, size)
                  .str());
    }
}

void KernelLaunch::addCapturedVectors() {
  for (auto [i, capture] : llvm::enumerate(conversion.op.getCaptures())) {
    if (!isa<ShapedType>(capture.getType()))
      continue;
    if (isTable(conversion.op, i))
      addCapturedTable(i, capture);
    else
      addInput(getCaptureName(i), capture, conversion.names.heads());
  }
}

void KernelLaunch::addCapturedScalars() {
  for (auto [i, capture] : llvm::enumerate(conversion.op.getCaptures())) {
    if (isa<ShapedType>(capture.getType()))
      continue;
    scalars.push_back(capture);
    addArgument(getCaptureName(i), capture.getType(), {});
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

StringRef KernelLaunch::getDim(unsigned argument, unsigned dim) const {
  auto dims = cast<DictionaryAttr>(attributes[argument])
                  .getAs<ArrayAttr>(tile::kArgDims);
  return cast<StringAttr>(dims[dim]).getValue();
}

Attribute KernelLaunch::getExtent(unsigned argument, unsigned dim,
                                  int64_t tile) const {
  return tile::ExtentAttr::get(conversion.builder.getContext(),
                               getDim(argument, dim), tile);
}

SmallVector<Attribute>
KernelLaunch::countTiles(unsigned argument, int64_t rows, unsigned seq,
                         unsigned head, std::optional<unsigned> batch) const {
  SmallVector<Attribute> grid = {getExtent(argument, seq, rows),
                                 getExtent(argument, head, 1)};
  if (batch)
    grid.push_back(getExtent(argument, *batch, 1));
  return grid;
}

SmallVector<Attribute> KernelLaunch::countRows(unsigned argument,
                                               int64_t rows) const {
  const DimOrder &order = conversion.names.order;
  return countTiles(argument, rows, order.seq, order.head, order.batch);
}

SmallVector<Attribute> KernelLaunch::countNumbers(unsigned argument,
                                                  int64_t rows) const {
  const DimOrder &order = conversion.names.order;
  return countTiles(argument, rows, order.lseSeq(), order.lseHead(),
                    order.lseBatch());
}

SmallVector<Attribute> KernelLaunch::countHeads(unsigned argument,
                                                int64_t heads) const {
  return {getExtent(argument, 0, heads)};
}

void KernelLaunch::require(const Twine &condition, const Twine &message) {
  Builder &b = conversion.builder;
  conditions.push_back(b.getDictionaryAttr(
      {b.getNamedAttr("condition", b.getStringAttr(condition)),
       b.getNamedAttr("message", b.getStringAttr(message))}));
}

/// If one operand has a static size and another one a dynamic size, the op's
/// verifier cannot compare the two. The launch then has a condition that they
/// agree.
void KernelLaunch::requireSizes() {
  for (StringRef name : dynamicDims)
    for (int64_t size : conversion.names.getSizes(name))
      require(name + " == " + Twine(size), "size " + name + " must be " +
                                               Twine(size) +
                                               ", as it is in another operand");
}

/// The op's verifier checks static numbers of heads. For dynamic ones, the
/// launch has a condition instead.
void KernelLaunch::requireHeadGroups() {
  StringRef queryHeads = getDim(0, conversion.names.order.head);
  requireMultiple(queryHeads, getDim(1, conversion.names.keyOrder.head),
                  "key/value heads");
  if (!blockList)
    return;
  // Query heads that share keys share the list by which tiles of keys go.
  StringRef lists = getDim(*blockList, kListHeads);
  requireMultiple(queryHeads, lists, "the heads of 'block_list'");
  if (hasQueryList)
    requireMultiple(getDim(1, conversion.names.keyOrder.head), lists,
                    "the heads of 'query_list'", "key/value");
}

void KernelLaunch::requireMultiple(StringRef heads, StringRef sharedHeads,
                                   StringRef what, StringRef kind) {
  auto isName = [](StringRef size) { return !llvm::isDigit(size.front()); };
  if (!isName(heads) && !isName(sharedHeads))
    return;
  // A tensor without heads is as empty as one without rows.
  std::string condition = llvm::formatv("{0} % {1} == 0", heads, sharedHeads);
  if (isName(sharedHeads))
    condition = llvm::formatv("{1} == 0 ? {0} == 0 : {2}", heads, sharedHeads,
                              condition);
  require(condition, llvm::formatv("the number of {3} heads, {0}, must be a "
                                   "multiple of that of {2}, {1}",
                                   heads, sharedHeads, what, kind)
                         .str());
}

tile::KernelOp KernelLaunch::createKernel(const Twine &suffix,
                                          ArrayRef<Attribute> grid) {
  Operation *function = conversion.op->getParentOfType<FunctionOpInterface>();
  std::string name =
      (SymbolTable::getSymbolName(function).getValue() + suffix).str();
  Location loc = conversion.op.getLoc();
  OpBuilder detached(conversion.op.getContext());
  auto kernel = tile::KernelOp::create(
      detached, loc, name, detached.getFunctionType(types, {}),
      detached.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr(),
      conversion.target.chip, detached.getArrayAttr(grid),
      workCount.empty() ? StringAttr() : detached.getStringAttr(workCount),
      /*schedule=*/tile::ScheduleAttr(), /*order=*/tile::OrderAttr(),
      /*cluster=*/tile::ClusterAttr(), /*plan=*/tile::PlanAttr(),
      /*smem_bytes=*/IntegerAttr(),
      /*tmem_columns=*/IntegerAttr());
  kernel.getBody().emplaceBlock().addArguments(
      types, SmallVector<Location>(types.size(), loc));
  requireSizes();
  if (hasMatrices) {
    requireHeadGroups();
    requireKeysBesideSinks();
  }
  if (!conditions.empty())
    kernel->setAttr(tile::kRequiresAttr, detached.getArrayAttr(conditions));
  conversion.symbols.insert(kernel, function->getIterator());
  return kernel;
}

/// Folds constants and removes duplicate operations of the program.
static void simplify(tile::KernelOp kernel) {
  // It does no harm if the greedy driver gives up early.
  (void)applyPatternsGreedily(kernel, FrozenRewritePatternSet());
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

void KernelLaunch::launch(tile::KernelOp kernel) {
  SmallVector<Value> written;
  SmallVector<Type> results;
  for (Value *output : outputs) {
    written.push_back(*output);
    if (isa<RankedTensorType>(output->getType()))
      results.push_back(output->getType());
  }
  auto launched = tile::LaunchOp::create(
      conversion.builder, conversion.op.getLoc(), results, kernel.getSymName(),
      inputs, written, scalars);
  for (auto [output, result] : llvm::zip(outputs, launched.getOutputs()))
    *output = result;
}

void KernelLaunch::emit(const Twine &suffix, ArrayRef<Attribute> grid,
                        llvm::function_ref<void(tile::KernelOp)> build) {
  tile::KernelOp kernel = createKernel(suffix, grid);
  build(kernel);
  simplify(kernel);
  launch(kernel);
}
