//===- AttnToTile.cpp - attention ops to tile kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "AttentionProgram.h"
#include "CaptureProgram.h"
#include "ExpandMath.h"
#include "LimitScores.h"
#include "QueryGradientProgram.h"
#include "SdpaBackwardProgram.h"
#include "SdpaProgram.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Attn/IR/SimplifyMods.h"
#include "fa4/Dialect/Tile/IR/EmptyCall.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <set>

namespace fa4 {
#define GEN_PASS_DEF_ATTNTOTILE
#define GEN_PASS_DEF_ATTNPRINTSUPPORT
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// The kernel's signature
//===----------------------------------------------------------------------===//

namespace {
/// The names of the dimensions of an op's operands and results, and the sizes
/// that their types give to the names. One operand may have a static size where
/// another one has a dynamic size, which must be the same in a call.
class DimNames {
public:
  explicit DimNames(AttentionOpInterface op);

  SmallVector<StringRef> queries() const { return data("Sq", "Hq"); }
  SmallVector<StringRef> keys() const { return data("Sk", "Hkv"); }
  /// Of tensors with one number for each row of queries.
  SmallVector<StringRef> rows() const { return {"B", "Hq", "Sq"}; }
  /// Of tensors with one number for each query head.
  SmallVector<StringRef> heads() const { return {"Hq"}; }

  /// The static sizes of dimensions of this name, in rising order.
  std::set<int64_t> getSizes(StringRef name) const {
    auto found = sizes.find(name);
    return found == sizes.end() ? std::set<int64_t>() : found->second;
  }

  MLIRContext *context;
  const DimOrder order;

private:
  SmallVector<StringRef> data(StringRef seq, StringRef head) const {
    SmallVector<StringRef> names(order.rank, "D");
    names[*order.batch] = "B";
    names[order.seq] = seq;
    names[order.head] = head;
    return names;
  }
  void learn(Type type, ArrayRef<StringRef> names);
  void learnOutputs(AttentionOpInterface op);

  llvm::StringMap<std::set<int64_t>> sizes;
};
} // namespace

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

DimNames::DimNames(AttentionOpInterface op)
    : context(op.getContext()), order(getDimOrder(op.getLayout())) {
  learn(op.getQ().getType(), queries());
  learn(op.getK().getType(), keys());
  learn(op.getV().getType(), keys());
  for (Type type : op.getCaptures().getTypes())
    if (isa<ShapedType>(type))
      learn(type, heads());
  if (op.getSinks())
    learn(op.getSinks().getType(), heads());
  learnOutputs(op);
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  if (!backward)
    return;
  learn(backward.getFwdOut().getType(), queries());
  learn(backward.getDout().getType(), queries());
  learn(backward.getFwdLse().getType(), rows());
  if (backward.getDlse())
    learn(backward.getDlse().getType(), rows());
}

/// Adds a condition on sizes without which the kernel must not be launched.
static void addCondition(tile::KernelOp kernel, const Twine &condition,
                         const Twine &message) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> conditions;
  if (auto known = kernel->getAttrOfType<ArrayAttr>(tile::kRequiresAttr))
    llvm::append_range(conditions, known);
  conditions.push_back(b.getDictionaryAttr(
      {b.getNamedAttr("condition", b.getStringAttr(condition)),
       b.getNamedAttr("message", b.getStringAttr(message))}));
  kernel->setAttr(tile::kRequiresAttr, b.getArrayAttr(conditions));
}

namespace {
/// Collects the arguments of a kernel.
class Signature {
public:
  explicit Signature(const DimNames &names)
      : names(names), builder(names.context) {}

  /// Adds a tensor or memref. `letters` are the names of its dynamic
  /// dimensions, `output` is its `tile.output`, if it has one, and `ifEmpty`
  /// its `tile.if_empty`.
  void addData(StringRef name, Type type, ArrayRef<StringRef> letters,
               StringRef output = "",
               std::optional<float> ifEmpty = std::nullopt) {
    auto shaped = cast<ShapedType>(type);
    SmallVector<Attribute> dims;
    for (auto [size, letter] : llvm::zip(shaped.getShape(), letters)) {
      dims.push_back(builder.getStringAttr(
          ShapedType::isDynamic(size) ? letter.str() : std::to_string(size)));
      if (ShapedType::isDynamic(size))
        dynamic.insert(letter);
    }
    if (!isa<MemRefType>(type))
      type = MemRefType::get(shaped.getShape(), shaped.getElementType());
    SmallVector<NamedAttribute> more = {
        builder.getNamedAttr(tile::kArgDims, builder.getArrayAttr(dims))};
    if (!output.empty())
      more.push_back(builder.getNamedAttr(tile::kArgOutput,
                                          builder.getStringAttr(output)));
    if (ifEmpty)
      more.push_back(builder.getNamedAttr(tile::kArgIfEmpty,
                                          builder.getF32FloatAttr(*ifEmpty)));
    add(name, type, more);
  }
  void addScalar(StringRef name, Type type) { add(name, type, {}); }

  StringRef getDim(unsigned argument, unsigned dim) const {
    auto attrs = cast<DictionaryAttr>(attributes[argument]);
    auto dims = attrs.getAs<ArrayAttr>(tile::kArgDims);
    return cast<StringAttr>(dims[dim]).getValue();
  }

  tile::KernelOp createKernel(OpBuilder &b, Location loc, StringRef name,
                              StringRef chip, ArrayRef<Attribute> grid) const {
    Builder builder(b.getContext());
    auto kernel = tile::KernelOp::create(
        b, loc, name, builder.getFunctionType(types, {}),
        builder.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr(), chip,
        builder.getArrayAttr(grid), /*schedule=*/tile::ScheduleAttr(),
        /*order=*/tile::OrderAttr(), /*cluster=*/tile::ClusterAttr(),
        /*smem_bytes=*/IntegerAttr(),
        /*tmem_columns=*/IntegerAttr());
    Block &body = kernel.getBody().emplaceBlock();
    for (Type type : types)
      body.addArgument(type, loc);
    requireSizes(kernel);
    return kernel;
  }

private:
  /// What the op's verifier checks of static sizes becomes a condition where
  /// one operand has a static size and another one a dynamic size.
  void requireSizes(tile::KernelOp kernel) const {
    for (StringRef name : dynamic)
      for (int64_t size : names.getSizes(name))
        addCondition(kernel, llvm::formatv("{0} == {1}", name, size).str(),
                     llvm::formatv("size {0} must be {1}, as it is in another "
                                   "operand",
                                   name, size)
                         .str());
  }
  void add(StringRef name, Type type, ArrayRef<NamedAttribute> more) {
    NamedAttrList list(more);
    list.append(tile::kArgName, builder.getStringAttr(name));
    types.push_back(type);
    attributes.push_back(list.getDictionary(builder.getContext()));
  }

  const DimNames &names;
  Builder builder;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  /// The names of dynamic dimensions.
  llvm::SetVector<StringRef> dynamic;
};
} // namespace

static constexpr StringLiteral kOnce = "once", kOrdered = "ordered",
                               kPartial = "partial";

/// The captured vectors, which are inputs of kernels, or the captured scalars,
/// which come behind the outputs.
static SmallVector<Value> getCaptures(AttentionOpInterface op, bool isVector) {
  SmallVector<Value> captures;
  for (Value capture : op.getCaptures())
    if (isa<ShapedType>(capture.getType()) == isVector)
      captures.push_back(capture);
  return captures;
}

static void addCaptures(Signature &signature, AttentionOpInterface op,
                        bool isVector) {
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    if (isa<ShapedType>(capture.getType()) != isVector)
      continue;
    if (isVector)
      signature.addData(getCaptureName(i), capture.getType(), {"Hq"});
    else
      signature.addScalar(getCaptureName(i), capture.getType());
  }
}

static Signature getSignature(SdpaOp op, const DimNames &names,
                              ValueRange outputs) {
  Signature signature(names);
  signature.addData("q", op.getQ().getType(), names.queries());
  signature.addData("k", op.getK().getType(), names.keys());
  signature.addData("v", op.getV().getType(), names.keys());
  addCaptures(signature, op, /*isVector=*/true);
  // Rows that see no key, of a call without keys, too. A batch without
  // sequences or queries has none.
  signature.addData("out", outputs[0].getType(), names.queries(), kOnce, 0.0f);
  if (op.hasLse())
    signature.addData("lse", outputs[1].getType(), names.rows(), kOnce,
                      -std::numeric_limits<float>::infinity());
  addCaptures(signature, op, /*isVector=*/false);
  return signature;
}

/// Returns the op's destinations, or new tensors with the sizes of the results.
template <typename Op>
static SmallVector<Value> getDestinations(OpBuilder &b, Op op) {
  SmallVector<Value> destinations(op.getInits());
  if (!destinations.empty())
    return destinations;
  ReifiedRankedShapedTypeDims shapes;
  LogicalResult reified = op.reifyResultShapes(b, shapes);
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

//===----------------------------------------------------------------------===//
// attn-to-tile
//===----------------------------------------------------------------------===//

/// Folds constants and removes duplicate operations of the program.
static void simplify(tile::KernelOp kernel) {
  // It does no harm if the greedy driver gives up early.
  (void)applyPatternsGreedily(kernel, FrozenRewritePatternSet());
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
}

/// What the op's verifier checks of static head counts becomes a condition on
/// dynamic ones.
static void addConditions(tile::KernelOp kernel, StringRef queryHeads,
                          StringRef keyHeads) {
  auto isName = [](StringRef size) { return !llvm::isDigit(size.front()); };
  if (!isName(queryHeads) && !isName(keyHeads))
    return;
  // A tensor without heads is as empty as one without rows.
  std::string condition =
      llvm::formatv("{0} % {1} == 0", queryHeads, keyHeads).str();
  if (isName(keyHeads))
    condition = llvm::formatv("{1} == 0 ? {0} == 0 : {2}", queryHeads, keyHeads,
                              condition)
                    .str();
  addCondition(
      kernel, condition,
      llvm::formatv("the number of query heads, {0}, must be a multiple of "
                    "that of key/value heads, {1}",
                    queryHeads, keyHeads)
          .str());
}

/// Makes the kernel of `signature` in front of the op's function, empty.
static tile::KernelOp addKernel(AttentionOpInterface op,
                                const Signature &signature, StringRef suffix,
                                const TargetDescription &target,
                                ArrayRef<Attribute> grid,
                                SymbolTable &symbols) {
  Operation *function = op->getParentOfType<FunctionOpInterface>();
  OpBuilder detached(op.getContext());
  tile::KernelOp kernel = signature.createKernel(
      detached, op.getLoc(),
      (SymbolTable::getSymbolName(function).getValue() + suffix).str(),
      target.chip, grid);
  symbols.insert(kernel, function->getIterator());
  return kernel;
}

/// The same, with a grid that counts tiles of `rows` rows, heads and batches of
/// argument `argument`.
static tile::KernelOp addKernel(AttentionOpInterface op,
                                const Signature &signature, StringRef suffix,
                                const TargetDescription &target,
                                unsigned argument, int64_t rows,
                                SymbolTable &symbols) {
  DimOrder order = getDimOrder(op.getLayout());
  auto extent = [&](unsigned dim, int64_t tile) {
    return tile::ExtentAttr::get(op.getContext(),
                                 signature.getDim(argument, dim), tile);
  };
  return addKernel(
      op, signature, suffix, target,
      {extent(order.seq, rows), extent(order.head, 1), extent(*order.batch, 1)},
      symbols);
}

static HeadDims getHeadDims(AttentionOpInterface op) {
  auto headDim = [](Value value) {
    return cast<ShapedType>(value.getType()).getShape().back();
  };
  return {headDim(op.getQ()), headDim(op.getV())};
}

static void convert(SdpaOp op, const TargetDescription &target, int64_t keys,
                    SymbolTable &symbols) {
  OpBuilder b(op);
  SmallVector<Value> destinations = getDestinations(b, op);
  DimNames names(op);
  Signature signature = getSignature(op, names, destinations);
  const DimOrder &order = names.order;

  int64_t queries = cast<ShapedType>(op.getQ().getType()).getDimSize(order.seq);
  AttentionTiles tiles = chooseAttentionTiles(
      target, getHeadDims(op),
      ShapedType::isDynamic(queries) ? std::nullopt : std::optional(queries),
      keys);
  tile::KernelOp kernel =
      addKernel(op, signature, "_kernel", target, 0, tiles.rows, symbols);
  addConditions(kernel, signature.getDim(0, order.head),
                signature.getDim(1, order.head));
  buildSdpaProgram(op, kernel, tiles);
  simplify(kernel);

  SmallVector<Value> inputs = {op.getQ(), op.getK(), op.getV()};
  llvm::append_range(inputs, getCaptures(op, /*isVector=*/true));
  auto launch = tile::LaunchOp::create(
      b, op.getLoc(), op->getResultTypes(), kernel.getSymName(), inputs,
      destinations, getCaptures(op, /*isVector=*/false));
  op->replaceAllUsesWith(launch);
  op->erase();
}

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

namespace {
/// Makes the kernels of the gradient, and launches them one after the other.
class BackwardConversion {
public:
  BackwardConversion(SdpaBackwardOp op, const TargetDescription &target,
                     SymbolTable &symbols)
      : op(op), target(target), symbols(symbols), names(op), b(op),
        tiles(chooseBackwardTiles(target, getHeadDims(op))),
        alignedQueries(tile::alignSize("Sq", tiles.rows)) {}

  void run();

private:
  /// A tensor or a buffer of numbers, which the kernels hand on.
  Value createWorkspace(ArrayRef<OpFoldResult> sizes, Type element);
  SmallVector<OpFoldResult> getSizes(Value value);
  /// The sizes of a tensor with one number for each row of queries, and room
  /// for whole blocks of queries.
  SmallVector<OpFoldResult> getAlignedRows();
  SmallVector<StringRef> alignedRows() const {
    return {"B", "Hq", alignedQueries};
  }
  /// On tensors, each output becomes what the kernel has written to it.
  void launch(tile::KernelOp kernel, ValueRange inputs,
              ArrayRef<Value *> outputs, ValueRange scalars = {});
  void preprocess();
  /// What scores and their gradient are computed from again, in each block.
  void addRecomputed(Signature &signature);
  void main();
  void postprocess();
  void queryGradient();
  void sinks();
  /// The inputs of the kernels that compute scores.
  SmallVector<Value> getInputs() {
    SmallVector<Value> inputs = {op.getQ(),    op.getK(), op.getV(),
                                 op.getDout(), shift,     delta};
    llvm::append_range(inputs, getCaptures(op, /*isVector=*/true));
    return inputs;
  }
  /// The gradient of capture `number`, which is output `output`.
  void capture(unsigned number, Value &output);

  SdpaBackwardOp op;
  const TargetDescription &target;
  SymbolTable &symbols;
  DimNames names;
  OpBuilder b;
  BackwardTiles tiles;
  const std::string alignedQueries;
  SmallVector<Value> destinations; ///< dq, dk, dv, dsinks, dcaptures.
  Value parts;                     ///< Null without dcaptures.
  Value shift, delta;
  Value sums;  ///< Of dq; null if it has a kernel of its own.
  Value turns; ///< Null unless the op is deterministic and has `sums`.
};
} // namespace

Value BackwardConversion::createWorkspace(ArrayRef<OpFoldResult> sizes,
                                          Type element) {
  if (op.hasMemRefSemantics())
    return memref::AllocOp::create(b, op.getLoc(), sizes, element);
  return tensor::EmptyOp::create(b, op.getLoc(), sizes, element);
}

SmallVector<OpFoldResult> BackwardConversion::getSizes(Value value) {
  if (isa<MemRefType>(value.getType()))
    return memref::getMixedSizes(b, op.getLoc(), value);
  return tensor::getMixedSizes(b, op.getLoc(), value);
}

SmallVector<OpFoldResult> BackwardConversion::getAlignedRows() {
  SmallVector<OpFoldResult> sizes = getSizes(op.getFwdLse());
  // The number of queries is static if one operand says so: each kernel has
  // another of them.
  unsigned seq = names.order.seq;
  OpFoldResult &queries = sizes.back();
  for (Value value : {op.getQ(), op.getFwdOut(), op.getDout()})
    if (!getConstantIntValue(queries))
      queries = getSizes(value)[seq];
  if (std::optional<int64_t> number = getConstantIntValue(queries)) {
    queries = b.getIndexAttr(llvm::alignTo(*number, tiles.rows));
    return sizes;
  }
  auto block = arith::ConstantIndexOp::create(b, op.getLoc(), tiles.rows);
  Value blocks =
      arith::CeilDivUIOp::create(b, op.getLoc(), cast<Value>(queries), block);
  queries = arith::MulIOp::create(b, op.getLoc(), blocks, block).getResult();
  return sizes;
}

void BackwardConversion::launch(tile::KernelOp kernel, ValueRange inputs,
                                ArrayRef<Value *> outputs, ValueRange scalars) {
  SmallVector<Value> written;
  SmallVector<Type> results;
  for (Value *output : outputs) {
    written.push_back(*output);
    if (isa<RankedTensorType>(output->getType()))
      results.push_back(output->getType());
  }
  auto launched = tile::LaunchOp::create(
      b, op.getLoc(), results, kernel.getSymName(), inputs, written, scalars);
  for (auto [output, result] : llvm::zip(outputs, launched.getOutputs()))
    *output = result;
}

void BackwardConversion::preprocess() {
  Signature signature(names);
  signature.addData("out", op.getFwdOut().getType(), names.queries());
  signature.addData("dout", op.getDout().getType(), names.queries());
  signature.addData("lse", op.getFwdLse().getType(), names.rows());
  if (op.getDlse())
    signature.addData("dlse", op.getDlse().getType(), names.rows());
  signature.addData("shift", shift.getType(), alignedRows(), kOnce, 0.0f);
  signature.addData("delta", delta.getType(), alignedRows(), kOnce, 0.0f);
  if (sums)
    signature.addData("sums", sums.getType(), names.queries(), kOnce, 0.0f);
  if (turns)
    signature.addData("turns", turns.getType(), alignedRows(), kOnce);
  tile::KernelOp kernel = addKernel(op, signature, "_preprocess_kernel", target,
                                    0, tiles.rows, symbols);
  buildPreprocessProgram(op, kernel, tiles);
  simplify(kernel);

  SmallVector<Value> inputs = {op.getFwdOut(), op.getDout(), op.getFwdLse()};
  if (op.getDlse())
    inputs.push_back(op.getDlse());
  SmallVector<Value *> outputs = {&shift, &delta};
  if (sums)
    outputs.push_back(&sums);
  if (turns)
    outputs.push_back(&turns);
  launch(kernel, inputs, outputs);
}

void BackwardConversion::addRecomputed(Signature &signature) {
  signature.addData("q", op.getQ().getType(), names.queries());
  signature.addData("k", op.getK().getType(), names.keys());
  signature.addData("v", op.getV().getType(), names.keys());
  signature.addData("dout", op.getDout().getType(), names.queries());
  signature.addData("shift", shift.getType(), alignedRows());
  signature.addData("delta", delta.getType(), alignedRows());
  addCaptures(signature, op, /*isVector=*/true);
}

void BackwardConversion::main() {
  Signature signature(names);
  addRecomputed(signature);
  // Blocks of keys add to the rows that see one of them, and the heads of a
  // group take turns, which is more than can be proven today. Without keys the
  // sums stay zeros, as the kernel in front has made them.
  if (sums)
    signature.addData("sums", sums.getType(), names.queries(),
                      turns ? kOrdered : kPartial);
  signature.addData("dk", destinations[1].getType(), names.keys(), kOnce, 0.0f);
  signature.addData("dv", destinations[2].getType(), names.keys(), kOnce, 0.0f);
  if (turns)
    signature.addData("turns", turns.getType(), alignedRows());
  addCaptures(signature, op, /*isVector=*/false);
  tile::KernelOp kernel =
      addKernel(op, signature, "_kernel", target, 1, tiles.keys, symbols);
  addConditions(kernel, signature.getDim(0, names.order.head),
                signature.getDim(1, names.order.head));
  buildSdpaBackwardProgram(op, kernel, tiles);
  simplify(kernel);

  SmallVector<Value *> outputs = {&destinations[1], &destinations[2]};
  if (sums)
    outputs.insert(outputs.begin(), &sums);
  if (turns)
    outputs.push_back(&turns);
  launch(kernel, getInputs(), outputs, getCaptures(op, /*isVector=*/false));
}

void BackwardConversion::postprocess() {
  Signature signature(names);
  signature.addData("sums", sums.getType(), names.queries());
  signature.addData("dq", destinations[0].getType(), names.queries(), kOnce,
                    0.0f);
  tile::KernelOp kernel = addKernel(op, signature, "_postprocess_kernel",
                                    target, 0, tiles.rows, symbols);
  buildPostprocessProgram(op, kernel, tiles);
  simplify(kernel);
  launch(kernel, sums, {&destinations[0]});
}

void BackwardConversion::queryGradient() {
  Signature signature(names);
  addRecomputed(signature);
  signature.addData("dq", destinations[0].getType(), names.queries(), kOnce,
                    0.0f);
  addCaptures(signature, op, /*isVector=*/false);
  tile::KernelOp kernel = addKernel(op, signature, "_dq_kernel", target, 0,
                                    tiles.queryRows, symbols);
  addConditions(kernel, signature.getDim(0, names.order.head),
                signature.getDim(1, names.order.head));
  buildQueryGradientProgram(op, kernel, tiles);
  simplify(kernel);
  launch(kernel, getInputs(), &destinations[0],
         getCaptures(op, /*isVector=*/false));
}

void BackwardConversion::sinks() {
  Signature signature(names);
  signature.addData("shift", shift.getType(), alignedRows());
  signature.addData("delta", delta.getType(), alignedRows());
  signature.addData("sinks", op.getSinks().getType(), {"Hq"});
  signature.addData("dsinks", destinations[3].getType(), {"Hq"}, kOnce, 0.0f);
  tile::KernelOp kernel =
      addKernel(op, signature, "_sinks_kernel", target,
                {tile::ExtentAttr::get(op.getContext(), signature.getDim(3, 0),
                                       tiles.heads)},
                symbols);
  buildSinksProgram(op, kernel, tiles);
  simplify(kernel);
  launch(kernel, {shift, delta, op.getSinks()}, {&destinations[3]});
}

void BackwardConversion::capture(unsigned number, Value &output) {
  std::string suffix = llvm::formatv("_capture{0}_kernel", number);
  Signature signature(names);
  addRecomputed(signature);
  signature.addData("parts", parts.getType(), alignedRows(), kOnce, 0.0f);
  addCaptures(signature, op, /*isVector=*/false);
  tile::KernelOp kernel =
      addKernel(op, signature, suffix, target, 0, tiles.captureRows, symbols);
  addConditions(kernel, signature.getDim(0, names.order.head),
                signature.getDim(1, names.order.head));
  buildCaptureProgram(op, kernel, tiles, number);
  simplify(kernel);
  launch(kernel, getInputs(), &parts, getCaptures(op, /*isVector=*/false));

  Signature ofSum(names);
  std::string name = llvm::formatv("dcapture{0}", number);
  ofSum.addData("parts", parts.getType(), alignedRows());
  ofSum.addData(name, output.getType(), {"Hq"}, kOnce, 0.0f);
  tile::KernelOp sum = addKernel(
      op, ofSum, llvm::formatv("_capture{0}_sum_kernel", number).str(), target,
      {tile::ExtentAttr::get(op.getContext(), ofSum.getDim(1, 0), tiles.heads)},
      symbols);
  buildCaptureSumProgram(op, sum, tiles);
  simplify(sum);
  launch(sum, parts, &output);
}

void BackwardConversion::run() {
  destinations = getDestinations(b, op);
  SmallVector<OpFoldResult> rows = getAlignedRows();
  shift = createWorkspace(rows, b.getF32Type());
  delta = createWorkspace(rows, b.getF32Type());
  SmallVector<Value> workspaces = {shift, delta};
  if (!tiles.hasQueryKernel()) {
    sums = createWorkspace(getSizes(op.getQ()), b.getF32Type());
    workspaces.push_back(sums);
  }
  if (sums && op.getDeterministic()) {
    turns = createWorkspace(rows, b.getI32Type());
    workspaces.push_back(turns);
  }
  if (!op.getWrt().empty()) {
    parts = createWorkspace(rows, b.getF32Type());
    workspaces.push_back(parts);
  }
  preprocess();
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
  if (op.hasMemRefSemantics())
    for (Value workspace : workspaces)
      memref::DeallocOp::create(b, op.getLoc(), workspace);
  else
    op->replaceAllUsesWith(destinations);
  op->erase();
}

/// Lets each of several launches of a function begin before the one in front of
/// it has ended.
static void overlapLaunches(FunctionOpInterface function,
                            const SymbolTable &symbols) {
  auto launches =
      llvm::to_vector(function.getFunctionBody().getOps<tile::LaunchOp>());
  if (launches.size() < 2)
    return;
  for (tile::LaunchOp launch : launches)
    if (auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel()))
      kernel->setAttr(tile::kProgrammaticLaunchAttr,
                      UnitAttr::get(kernel.getContext()));
}

namespace {
struct AttnToTile : public fa4::impl::AttnToTileBase<AttnToTile> {
  using AttnToTileBase::AttnToTileBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetDescription *target = lookupTarget(chip);
    if (!target) {
      module.emitError("no target '")
          << chip << "'; known are " << llvm::join(knownTargets(), ", ");
      return signalPassFailure();
    }
    int64_t mostKeys = target->mma.maxColumns;
    if (keys != 0 && (keys < kKeyStep || keys > mostKeys || keys % kKeyStep)) {
      module.emitError("attn-to-tile: keys must be a multiple of ")
          << kKeyStep << " up to " << mostKeys
          << ", or 0 for a number that is chosen; got " << keys.getValue();
      return signalPassFailure();
    }
    SmallVector<AttentionOpInterface> ops;
    module.walk([&](AttentionOpInterface op) { ops.push_back(op); });
    bool failed = false;
    for (AttentionOpInterface op : ops)
      failed |= mlir::failed(check(op, *target));
    if (failed)
      return signalPassFailure();
    SymbolTable symbols(module);
    for (AttentionOpInterface op : ops) {
      simplifyMods(op);
      limitConstantScores(op.getScoreMod());
      expandMath(op.getMaskMod());
      // A gradient expands score_mod when it has taken the derivative.
      if (isa<SdpaOp>(op.getOperation()))
        expandMath(op.getScoreMod());
      if (auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation()))
        BackwardConversion(backward, *target, symbols).run();
      else
        convert(cast<SdpaOp>(op.getOperation()), *target, keys, symbols);
    }
    for (auto function : module.getOps<FunctionOpInterface>())
      overlapLaunches(function, symbols);
  }

  LogicalResult check(AttentionOpInterface op,
                      const TargetDescription &target) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (!function || function->getParentOp() != getOperation())
      return op->emitOpError("must be in a function of the module");
    return checkLegality(op, target, keys);
  }
};

//===----------------------------------------------------------------------===//
// attn-print-support
//===----------------------------------------------------------------------===//

struct AttnPrintSupport
    : public fa4::impl::AttnPrintSupportBase<AttnPrintSupport> {
  void runOnOperation() override {
    std::vector<std::string> reasons;
    size_t width = 0;
    SmallVector<std::pair<StringRef, AttentionOpInterface>> ops;
    getOperation().walk([&](AttentionOpInterface op) {
      auto function = op->getParentOfType<FunctionOpInterface>();
      StringRef name = function ? function.getName() : "(no function)";
      width = std::max(width, name.size());
      ops.push_back({name, op});
    });
    raw_ostream &os = llvm::outs();
    os.indent(width);
    for (StringRef chip : knownTargets())
      os << "  " << chip;
    os << "\n";
    for (auto [name, op] : ops) {
      std::string line;
      llvm::raw_string_ostream text(line);
      text << llvm::left_justify(name, width);
      for (StringRef chip : knownTargets())
        text << "  "
             << llvm::left_justify(cell(op, chip, reasons), chip.size());
      os << StringRef(line).rtrim() << "\n";
    }
    os << "\n";
    for (auto [i, reason] : llvm::enumerate(reasons))
      os << "(" << i + 1 << ") " << reason << "\n";
    markAllAnalysesPreserved();
  }

  /// Returns a cell of the support matrix: `yes`, or the number of the reason,
  /// which is added to `reasons`.
  static std::string cell(AttentionOpInterface op, StringRef chip,
                          std::vector<std::string> &reasons) {
    std::optional<std::string> reason =
        explainUnsupported(op, *lookupTarget(chip));
    if (!reason)
      return "yes";
    auto found = llvm::find(reasons, *reason);
    size_t number = found - reasons.begin() + 1;
    if (number > reasons.size())
      reasons.push_back(*reason);
    return llvm::formatv("({0})", number);
  }
};
} // namespace
