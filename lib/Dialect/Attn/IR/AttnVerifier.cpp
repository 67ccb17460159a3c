//===- AttnVerifier.cpp - the rules of the attn ops ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function a group of rules, one message a rule. Operands are named as in
// the op's documentation.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Support/OpCheckInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::attn;

namespace {
/// Collects the sizes that must agree between operands. Each is kept with the
/// operand that gave it first, which the error message names.
class SizeChecker {
public:
  explicit SizeChecker(AttentionOpInterface op) : op(op) {}

  /// Records that the dimension `letter` (B, Sq, Hkv, ... as in the
  /// documentation) has the size `size` in `operand`. Emits an error if another
  /// operand disagrees.
  LogicalResult unify(StringRef letter, int64_t size, const Twine &operand) {
    if (ShapedType::isDynamic(size))
      return success();
    auto [it, isNew] = known.try_emplace(letter, size, operand.str());
    if (isNew || it->second.first == size)
      return success();
    return op->emitOpError() << "size " << letter << " is " << size << " in '"
                             << operand.str() << "' but " << it->second.first
                             << " in '" << it->second.second << "'";
  }

  /// Returns the size of the dimension `letter` if some operand has it static.
  std::optional<int64_t> get(StringRef letter) const {
    auto it = known.find(letter);
    return it == known.end() ? std::nullopt
                             : std::optional<int64_t>(it->second.first);
  }

private:
  AttentionOpInterface op;
  llvm::StringMap<std::pair<int64_t, std::string>> known;
};
} // namespace

static bool isTensorOrMemRefOf(Type type, int64_t rank,
                               function_ref<bool(Type)> isElement) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() && shaped.getRank() == rank &&
         isElement(shaped.getElementType());
}

//===----------------------------------------------------------------------===//
// Data operands
//===----------------------------------------------------------------------===//

static LogicalResult verifyRank(Operation *op, Value value, StringRef name,
                                unsigned rank, Layout layout) {
  int64_t actual = cast<ShapedType>(value.getType()).getRank();
  if (actual == rank)
    return success();
  bool isPaged = rank != getDimOrder(layout).rank;
  return op->emitOpError() << "'" << name << "' must have rank " << rank
                           << " in layout " << stringifyLayout(layout)
                           << (isPaged ? " with page_table" : "") << ", got "
                           << actual;
}

/// Checks the sizes of a tensor in the op's layout. `seq`, `head`, `dim` and
/// `batch` are the letters of its dimensions in the documentation.
static LogicalResult unifyData(SizeChecker &sizes, const DimOrder &order,
                               Type type, const Twine &name, StringRef seq,
                               StringRef head, StringRef dim,
                               StringRef batch = "B") {
  auto shaped = cast<ShapedType>(type);
  if (order.batch &&
      failed(sizes.unify(batch, shaped.getDimSize(*order.batch), name)))
    return failure();
  return failure(
      failed(sizes.unify(seq, shaped.getDimSize(order.seq), name)) ||
      failed(sizes.unify(head, shaped.getDimSize(order.head), name)) ||
      failed(sizes.unify(dim, shaped.getDimSize(order.dim), name)));
}

static LogicalResult unifyLse(SizeChecker &sizes, const DimOrder &order,
                              Type type, const Twine &name) {
  auto shaped = cast<ShapedType>(type);
  if (order.batch &&
      failed(sizes.unify("B", shaped.getDimSize(*order.lseBatch()), name)))
    return failure();
  return failure(
      failed(sizes.unify("Hq", shaped.getDimSize(order.lseHead()), name)) ||
      failed(sizes.unify(order.isPacked() ? "Tq" : "Sq",
                         shaped.getDimSize(order.lseSeq()), name)));
}

static LogicalResult verifyTensorsOrMemRefs(AttentionOpInterface op) {
  bool memrefs = op.hasMemRefSemantics();
  auto isOther = [&](Value value) {
    return value && isa<ShapedType>(value.getType()) &&
           isa<BaseMemRefType>(value.getType()) != memrefs;
  };
  // A captured value may be a tensor or a memref whatever the op's data are.
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (number >= op.getFirstCaptureNumber() &&
        number < op.getFirstInitNumber())
      continue;
    if (isOther(operand.get()))
      return op->emitOpError(
          "operands other than captures must be all tensors or all memrefs");
  }
  if (memrefs && op->getNumResults() != 0)
    return op->emitOpError(
        "has no results on memrefs; name destinations with outs");
  return success();
}

static LogicalResult verifyQkv(AttentionOpInterface op, SizeChecker &sizes) {
  Layout layout = op.getLayout();
  DimOrder order = getDimOrder(layout), keyOrder = getKeyOrder(op);
  std::pair<Value, StringRef> qkv[] = {
      {op.getQ(), "q"}, {op.getK(), "k"}, {op.getV(), "v"}};
  for (auto [value, name] : qkv) {
    unsigned rank = name == "q" ? order.rank : keyOrder.rank;
    if (failed(verifyRank(op, value, name, rank, layout)))
      return failure();
  }

  Type element = cast<ShapedType>(op.getQ().getType()).getElementType();
  if (!isSupportedInputType(element))
    return op->emitOpError("element type of 'q' must be f16, bf16, f32, "
                           "f8E4M3FN or f8E5M2, got ")
           << element;
  for (auto [value, name] : ArrayRef(qkv).drop_front()) {
    Type other = cast<ShapedType>(value.getType()).getElementType();
    if (other != element)
      return op->emitOpError() << "element type of '" << name << "' is "
                               << other << " but that of 'q' is " << element;
  }

  StringRef sq = order.isPacked() ? "Tq" : "Sq";
  StringRef sk = order.isPacked() ? "Tk" : "Sk", sequences = "B";
  if (op.getPageTable()) {
    sk = "S";
    sequences = "P";
  }
  if (failed(
          unifyData(sizes, order, op.getQ().getType(), "q", sq, "Hq", "D")) ||
      failed(unifyData(sizes, keyOrder, op.getK().getType(), "k", sk, "Hkv",
                       "D", sequences)) ||
      failed(unifyData(sizes, keyOrder, op.getV().getType(), "v", sk, "Hkv",
                       "Dv", sequences)))
    return failure();

  for (StringRef letter : {"D", "Dv", "Hq", "Hkv", "S"})
    if (sizes.get(letter) == int64_t(0))
      return op->emitOpError() << "size " << letter << " must not be 0";
  std::optional<int64_t> hq = sizes.get("Hq"), hkv = sizes.get("Hkv");
  if (hq && hkv && *hq % *hkv != 0)
    return op->emitOpError()
           << "number of query heads (" << *hq
           << ") must be a multiple of that of key/value heads (" << *hkv
           << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Lengths, sinks, scale
//===----------------------------------------------------------------------===//

static LogicalResult verifyLengths(AttentionOpInterface op,
                                   SizeChecker &sizes) {
  bool packed = getDimOrder(op.getLayout()).isPacked();
  Value cuQ = op.getCuSeqlensQ(), cuK = op.getCuSeqlensK();
  if (cuK && op.getPageTable())
    return op->emitOpError("cu_seqlens has that of k beside page_table, by "
                           "which keys are found");
  if (!cuQ != !cuK && !op.getPageTable())
    return op->emitOpError(
        "cu_seqlens_q and cu_seqlens_k must be given together");
  if (packed && !cuQ)
    return op->emitOpError("layout ")
           << stringifyLayout(op.getLayout()) << " needs cu_seqlens";
  if (!packed && cuQ)
    return op->emitOpError("cu_seqlens needs a packed layout (thd, htd), got ")
           << stringifyLayout(op.getLayout());

  auto isI32 = [](Type type) { return type.isSignlessInteger(32); };
  std::pair<Value, StringRef> vectors[] = {{cuQ, "cu_seqlens_q"},
                                           {cuK, "cu_seqlens_k"},
                                           {op.getSeqlensK(), "seqlens_k"}};
  for (auto [value, name] : vectors) {
    if (!value)
      continue;
    if (!isTensorOrMemRefOf(value.getType(), 1, isI32))
      return op->emitOpError()
             << "'" << name << "' must be of rank 1 and i32, got "
             << value.getType();
    int64_t size = cast<ShapedType>(value.getType()).getDimSize(0);
    bool prefix = name != "seqlens_k";
    if (prefix && size == 0)
      return op->emitOpError()
             << "'" << name << "' must have B + 1 elements, got 0";
    if (!ShapedType::isDynamic(size) &&
        failed(sizes.unify("B", prefix ? size - 1 : size, name)))
      return failure();
  }
  return success();
}

static LogicalResult verifyPageTable(AttentionOpInterface op,
                                     SizeChecker &sizes) {
  Value table = op.getPageTable();
  if (!table)
    return success();
  if (getKeyOrder(op).batch != 0u)
    return op->emitOpError("page_table needs layout bshd, bhsd, thd or htd, "
                           "got ")
           << stringifyLayout(op.getLayout());
  auto isI32 = [](Type type) { return type.isSignlessInteger(32); };
  if (!isTensorOrMemRefOf(table.getType(), 2, isI32))
    return op->emitOpError("'page_table' must be of rank 2 and i32, got ")
           << table.getType();
  return sizes.unify(
      "B", cast<ShapedType>(table.getType()).getDimSize(kTableSequences),
      "page_table");
}

/// Checks a list of blocks and its counts; `blocks` is the name of the number
/// of lists.
static LogicalResult verifyList(AttentionOpInterface op, SizeChecker &sizes,
                                std::pair<Value, StringRef> list,
                                std::pair<Value, StringRef> counts,
                                StringRef blocks) {
  auto isI32 = [](Type type) { return type.isSignlessInteger(32); };
  for (auto [value, name] : {list, counts}) {
    unsigned rank = value == list.first ? kListEntries + 1 : kListEntries;
    if (!isTensorOrMemRefOf(value.getType(), rank, isI32))
      return op->emitOpError() << "'" << name << "' must be of rank " << rank
                               << " and i32, got " << value.getType();
    auto type = cast<ShapedType>(value.getType());
    if (failed(sizes.unify("B", type.getDimSize(kListSequences), name)) ||
        failed(sizes.unify("Hl", type.getDimSize(kListHeads), name)) ||
        failed(sizes.unify(blocks, type.getDimSize(kListBlocks), name)))
      return failure();
  }
  return success();
}

/// Checks the query list of a gradient and its counts, which need a block list.
static LogicalResult verifyQueryList(SdpaBackwardOp op, SizeChecker &sizes) {
  Value list = op.getQueryList(), counts = op.getQueryCounts();
  if (!list != !counts)
    return op->emitOpError(
        "'query_list' and its counts must be given together");
  if (!list)
    return success();
  if (!op.getBlockList())
    return op->emitOpError("query_list needs a block_list");
  return verifyList(op, sizes, {list, "query_list"}, {counts, "query_counts"},
                    "K");
}

/// Checks the block list, its counts and the sizes of blocks, all of which an
/// op has or none.
static LogicalResult verifyBlockList(AttentionOpInterface op,
                                     SizeChecker &sizes) {
  Value list = op.getBlockList(), counts = op.getBlockCounts();
  ArrayRef<int64_t> blockSize = op.getBlockSize();
  if (!list != !counts)
    return op->emitOpError(
        "'block_list' and its counts must be given together");
  if (!list && blockSize.empty())
    return success();
  if (!list)
    return op->emitOpError("block_size needs a block_list");
  if (blockSize.size() != 2 ||
      llvm::any_of(blockSize, [](int64_t size) { return size < 1; }))
    return op->emitOpError("block_list needs block_size [queries, keys], two "
                           "numbers of at least 1");
  if (failed(verifyList(op, sizes, {list, "block_list"},
                        {counts, "block_counts"}, "N")))
    return failure();
  std::optional<int64_t> heads = sizes.get("Hl"), queryHeads = sizes.get("Hq");
  if (heads == int64_t(0))
    return op->emitOpError("size Hl must not be 0");
  if (heads && queryHeads && *queryHeads % *heads != 0)
    return op->emitOpError("number of query heads (")
           << *queryHeads << ") must be a multiple of that of 'block_list' ("
           << *heads << ")";
  return success();
}

static LogicalResult verifySinksAndScale(AttentionOpInterface op,
                                         SizeChecker &sizes) {
  if (Value sinks = op.getSinks()) {
    auto isFloat = [](Type type) {
      return isa<Float32Type, BFloat16Type, Float16Type>(type);
    };
    if (!isTensorOrMemRefOf(sinks.getType(), 1, isFloat))
      return op->emitOpError(
                 "'sinks' must be of rank 1 and f32, bf16 or f16, got ")
             << sinks.getType();
    if (failed(sizes.unify(
            "Hq", cast<ShapedType>(sinks.getType()).getDimSize(0), "sinks")))
      return failure();
  }
  if (FloatAttr scale = op.getScaleAttr())
    if (!scale.getValue().isFinite())
      return op->emitOpError("scale must be a finite number");
  return success();
}

//===----------------------------------------------------------------------===//
// Results and destinations
//===----------------------------------------------------------------------===//

/// Checks the destinations. An op on tensors has one for each result, of the
/// result's type, or none at all; an op on memrefs has from `required` to
/// `maximum` of them.
static LogicalResult verifyInits(AttentionOpInterface op, unsigned required,
                                 unsigned maximum) {
  OperandRange inits = op.getInits();
  if (op.hasMemRefSemantics()) {
    if (inits.size() >= required && inits.size() <= maximum)
      return success();
    return op->emitOpError("needs ")
           << required << " to " << maximum
           << " destinations (outs) on memrefs, got " << inits.size();
  }
  if (inits.empty())
    return success();
  if (inits.size() != op->getNumResults())
    return op->emitOpError("has ") << op->getNumResults() << " results but "
                                   << inits.size() << " destinations (outs)";
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(inits.getTypes(), op->getResultTypes())))
    if (std::get<0>(pair) != std::get<1>(pair))
      return op->emitOpError("destination ")
             << index << " has type " << std::get<0>(pair)
             << " but the result has type " << std::get<1>(pair);
  return success();
}

/// Walks up from `memref` through operations that give the same memory another
/// type: the first elements of the two are at one address.
static Value skipSameMemory(MemrefValue memref) {
  while (true) {
    memref = memref::skipFullyAliasingOperations(memref);
    Operation *op = memref.getDefiningOp();
    bool isSame =
        isa_and_nonnull<memref::CollapseShapeOp, memref::ExpandShapeOp,
                        memref::MemorySpaceCastOp, memref::TransposeOp>(op);
    if (auto cast = dyn_cast_or_null<memref::ReinterpretCastOp>(op)) {
      auto type = dyn_cast<MemRefType>(cast.getSource().getType());
      SmallVector<int64_t> strides;
      int64_t offset = ShapedType::kDynamic;
      isSame = type && succeeded(type.getStridesAndOffset(strides, offset)) &&
               ShapedType::isStatic(offset) &&
               cast.getStaticOffsets().front() == offset;
    }
    if (!isSame)
      return memref;
    memref = mlir::cast<MemrefValue>(op->getOperand(0));
  }
}

/// A destination in memory is written while inputs are still read, so it must
/// not be another operand, nor the same memory under another type (a cast, a
/// reshape, a subview of all of it). Whether other views overlap depends on
/// numbers that only whoever launches the kernel knows: see `exclusive` in the
/// manifest.
static LogicalResult verifyNoAliases(AttentionOpInterface op) {
  if (!op.hasMemRefSemantics())
    return success();
  // Captured scalars are memory of nobody.
  auto memoryOf = [&](unsigned i) -> Value {
    auto memref = dyn_cast<MemrefValue>(op->getOperand(i));
    return memref ? skipSameMemory(memref) : Value();
  };
  unsigned first = op.getFirstInitNumber();
  for (unsigned i = first; i < op->getNumOperands(); ++i)
    for (unsigned other = 0; other < i; ++other)
      if (memoryOf(i) && memoryOf(i) == memoryOf(other))
        return op->emitOpError("destination ")
               << i - first << " (outs) must be memory of its own, but is also "
               << (other < first ? "operand " : "destination ")
               << (other < first ? other : other - first);
  return success();
}

/// Returns the types of the outputs: those of the results on tensors, those of
/// the destinations on memrefs.
static SmallVector<Type> getOutputTypes(AttentionOpInterface op) {
  if (op.hasMemRefSemantics())
    return llvm::to_vector(op.getInits().getTypes());
  return llvm::to_vector(op->getResultTypes());
}

static LogicalResult verifyOutputElement(Operation *op, Type type,
                                         StringRef name, Type input) {
  Type element = cast<ShapedType>(type).getElementType();
  if (isSupportedOutputType(element, input))
    return success();
  return op->emitOpError() << "element type of '" << name
                           << "' must be f16, bf16, f32 or " << input
                           << " as the input, got " << element;
}

static LogicalResult verifyLseType(Operation *op, Type type, StringRef name,
                                   const DimOrder &order) {
  if (isTensorOrMemRefOf(type, order.lseRank(),
                         [](Type element) { return element.isF32(); }))
    return success();
  return op->emitOpError() << "'" << name << "' must be of rank "
                           << order.lseRank() << " and f32, got " << type;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

static LogicalResult verifyModSignature(AttentionOpInterface op, Region &region,
                                        StringRef name, bool hasScore,
                                        Type yielded) {
  Builder builder(op.getContext());
  SmallVector<Type> expected;
  if (hasScore)
    expected.push_back(builder.getF32Type());
  expected.append(kNumIndexArgs, builder.getIndexType());
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (!llvm::equal(expected, region.getArgumentTypes())) {
    InFlightDiagnostic diag = op->emitOpError()
                              << name << " must take arguments (";
    llvm::interleaveComma(expected, diag);
    diag << "), got (";
    llvm::interleaveComma(region.getArgumentTypes(), diag);
    return diag << ")";
  }
  auto yield = region.front().empty()
                   ? YieldOp()
                   : dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError() << name << " must end with attn.yield";
  if (yield.getValue().getType() != yielded)
    return op->emitOpError() << name << " must yield " << yielded << ", got "
                             << yield.getValue().getType();
  return success();
}

/// A region may read memory. Any other effect that outlives the region is an
/// error, and so is an operation that does not declare its effects.
static LogicalResult verifyModEffects(AttentionOpInterface op, Region &region,
                                      StringRef name) {
  for (Operation &nested : region.getOps()) {
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(&nested);
    if (!effects) {
      InFlightDiagnostic diag = op->emitOpError()
                                << name << " contains '" << nested.getName()
                                << "', whose side effects are unknown";
      diag.attachNote(nested.getLoc()) << "the operation is here";
      return diag;
    }
    if (llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
          return isa<MemoryEffects::Read>(effect.getEffect());
        }))
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << name << " must not have side effects, but '"
                              << nested.getName() << "' has";
    diag.attachNote(nested.getLoc()) << "the operation is here";
    return diag;
  }
  return success();
}

static LogicalResult verifyMods(AttentionOpInterface op) {
  Builder builder(op.getContext());
  std::tuple<Region *, StringRef, bool, Type> mods[] = {
      {&op.getScoreMod(), "score_mod", true, builder.getF32Type()},
      {&op.getMaskMod(), "mask_mod", false, builder.getI1Type()}};
  for (auto [region, name, hasScore, yielded] : mods) {
    if (region->empty())
      continue;
    if (failed(verifyModSignature(op, *region, name, hasScore, yielded)) ||
        failed(verifyModEffects(op, *region, name)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

static LogicalResult verifyShared(AttentionOpInterface op, SizeChecker &sizes) {
  return failure(
      failed(verifyTensorsOrMemRefs(op)) || failed(verifyQkv(op, sizes)) ||
      failed(verifyLengths(op, sizes)) || failed(verifyPageTable(op, sizes)) ||
      failed(verifyBlockList(op, sizes)) ||
      failed(verifySinksAndScale(op, sizes)));
}

LogicalResult SdpaOp::verify() {
  SizeChecker sizes(*this);
  if (failed(verifyShared(*this, sizes)) ||
      failed(verifyInits(*this, /*required=*/1, /*maximum=*/2)) ||
      failed(verifyNoAliases(*this)))
    return failure();
  if (!hasMemRefSemantics() && !getOut())
    return emitOpError("needs the result 'out' on tensors");
  DimOrder order = getDimOrder(getLayout());
  SmallVector<Type> outputs = getOutputTypes(*this);
  Type input = cast<ShapedType>(getQ().getType()).getElementType();

  int64_t outRank = cast<ShapedType>(outputs[0]).getRank();
  if (outRank != order.rank)
    return emitOpError("'out' must have rank ")
           << order.rank << " in layout " << stringifyLayout(getLayout())
           << ", got " << outRank;
  if (failed(verifyOutputElement(*this, outputs[0], "out", input)) ||
      failed(unifyData(sizes, order, outputs[0], "out",
                       order.isPacked() ? "Tq" : "Sq", "Hq", "Dv")))
    return failure();
  if (outputs.size() == 2 &&
      (failed(verifyLseType(*this, outputs[1], "lse", order)) ||
       failed(unifyLse(sizes, order, outputs[1], "lse"))))
    return failure();
  return success();
}

/// Checks out, dout, lse and dlse: the results of the forward op and their
/// gradients.
static LogicalResult verifyForwardResults(SdpaBackwardOp op,
                                          SizeChecker &sizes) {
  DimOrder order = getDimOrder(op.getLayout());
  StringRef sq = order.isPacked() ? "Tq" : "Sq";
  Type input = cast<ShapedType>(op.getQ().getType()).getElementType();
  std::pair<Value, StringRef> outs[] = {{op.getFwdOut(), "out"},
                                        {op.getDout(), "dout"}};
  for (auto [value, name] : outs)
    if (failed(verifyRank(op, value, name, order.rank, op.getLayout())) ||
        failed(verifyOutputElement(op, value.getType(), name, input)) ||
        failed(unifyData(sizes, order, value.getType(), name, sq, "Hq", "Dv")))
      return failure();
  Type outElement = cast<ShapedType>(op.getFwdOut().getType()).getElementType();
  Type doutElement = cast<ShapedType>(op.getDout().getType()).getElementType();
  if (outElement != doutElement)
    return op->emitOpError("element type of 'dout' is ")
           << doutElement << " but that of 'out' is " << outElement;

  std::pair<Value, StringRef> lses[] = {{op.getFwdLse(), "lse"},
                                        {op.getDlse(), "dlse"}};
  for (auto [value, name] : lses)
    if (value && (failed(verifyLseType(op, value.getType(), name, order)) ||
                  failed(unifyLse(sizes, order, value.getType(), name))))
      return failure();
  return success();
}

static bool isF32(Type type) { return type.isF32(); }

/// Checks the numbers of the captures whose gradients are asked for, and the
/// captures.
static LogicalResult verifyWrt(SdpaBackwardOp op, SizeChecker &sizes) {
  int64_t last = -1, count = op.getCaptures().size();
  for (int64_t number : op.getWrt()) {
    if (number <= last || number >= count)
      return op.emitOpError("'wrt' must have numbers of captures in rising "
                            "order, below ")
             << count << ", got " << number;
    last = number;
    Type type = op.getCaptures()[number].getType();
    if (!type.isF32() && !isTensorOrMemRefOf(type, 1, isF32))
      return op.emitOpError("capture ")
             << number << " in 'wrt' must be f32, or f32 for each query head, "
             << "got " << type;
    if (auto shaped = dyn_cast<ShapedType>(type))
      if (failed(sizes.unify("Hq", shaped.getDimSize(0),
                             ("capture " + Twine(number)).str())))
        return failure();
  }
  if (last >= 0 && op.getScoreMod().empty())
    return op.emitOpError("'wrt' needs a score_mod");
  return success();
}

static LogicalResult verifyDcapture(SdpaBackwardOp op, Type type,
                                    SizeChecker &sizes) {
  if (!isTensorOrMemRefOf(type, 1, isF32))
    return op.emitOpError("the gradient of a capture must be of rank 1 and "
                          "f32, got ")
           << type;
  return sizes.unify("Hq", cast<ShapedType>(type).getDimSize(0), "dcaptures");
}

LogicalResult SdpaBackwardOp::verify() {
  SizeChecker sizes(*this);
  if (failed(verifyShared(*this, sizes)) ||
      failed(verifyForwardResults(*this, sizes)) ||
      failed(verifyQueryList(*this, sizes)) ||
      failed(verifyWrt(*this, sizes)) ||
      failed(verifyInits(*this, 3 + getWrt().size(), 4 + getWrt().size())) ||
      failed(verifyNoAliases(*this)))
    return failure();
  if (!hasMemRefSemantics() && !(getDq() && getDk() && getDv()))
    return emitOpError("needs the results 'dq', 'dk' and 'dv' on tensors");
  if (!hasMemRefSemantics() && getDcaptures().size() != getWrt().size())
    return emitOpError("has ")
           << getDcaptures().size() << " results behind dq, dk, dv and dsinks, "
           << "but 'wrt' asks for " << getWrt().size();
  DimOrder order = getDimOrder(getLayout());
  SmallVector<Type> outputs = getOutputTypes(*this);
  Type input = cast<ShapedType>(getQ().getType()).getElementType();
  StringRef sq = order.isPacked() ? "Tq" : "Sq";
  StringRef sk = order.isPacked() ? "Tk" : "Sk";
  std::tuple<StringRef, StringRef, StringRef, StringRef> gradients[] = {
      {"dq", sq, "Hq", "D"}, {"dk", sk, "Hkv", "D"}, {"dv", sk, "Hkv", "Dv"}};
  for (auto [type, gradient] : llvm::zip(outputs, gradients)) {
    auto [name, seq, head, dim] = gradient;
    int64_t rank = cast<ShapedType>(type).getRank();
    if (rank != order.rank)
      return emitOpError() << "'" << name << "' must have rank " << order.rank
                           << " in layout " << stringifyLayout(getLayout())
                           << ", got " << rank;
    if (failed(verifyOutputElement(*this, type, name, input)) ||
        failed(unifyData(sizes, order, type, name, seq, head, dim)))
      return failure();
  }
  for (Type type : ArrayRef(outputs).drop_front(getFirstDcapture()))
    if (failed(verifyDcapture(*this, type, sizes)))
      return failure();
  if (!hasDsinks())
    return success();
  if (!getSinks())
    return emitOpError("'dsinks' needs 'sinks'");
  if (!isTensorOrMemRefOf(outputs[3], 1, [](Type element) {
        return isa<Float32Type, BFloat16Type, Float16Type>(element);
      }))
    return emitOpError("'dsinks' must be of rank 1 and f32, bf16 or f16, got ")
           << outputs[3];
  return sizes.unify("Hq", cast<ShapedType>(outputs[3]).getDimSize(0),
                     "dsinks");
}

static LogicalResult verifyRegionsOf(AttentionOpInterface op) {
  if (failed(verifyMods(op)))
    return failure();
  return fa4::runToolCheck(op);
}

LogicalResult SdpaOp::verifyRegions() { return verifyRegionsOf(*this); }

LogicalResult SdpaBackwardOp::verifyRegions() { return verifyRegionsOf(*this); }
