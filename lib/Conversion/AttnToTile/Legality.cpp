//===- Legality.cpp - which attention ops have a tile program ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"
#include "CaptureReads.h"
#include "FlattenBranches.h"
#include "ModLegality.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

using Reason = std::optional<std::string>;

/// The number of elements of a row that lanes load and store at a time. It is
/// also the unit in which matrices are cut for the copy engine: 32 elements of
/// 16 bits are the 64-byte swizzle.
static constexpr int64_t kHeadDimStep = 32;
/// Pages have multiples of so many keys.
static constexpr int64_t kPageStep = 16;
/// The unit of kHeadDimStep for the gradient, whose matrices may have other
/// swizzles.
static constexpr int64_t kGradientHeadDimStep = 16;
/// The largest head dim that advice is looked for.
static constexpr int64_t kMostHeadDim = 512;

namespace {
/// An operand or destination of an op.
struct Data {
  StringRef name;
  Type type;
  /// True if the copy engine reads or writes it.
  bool byCopyEngine = true;
  bool isWritten = false;
  /// True if the elements must be of q's type.
  bool isOfInputType = true;
};
} // namespace

/// Returns the type of a destination or, on tensors without destinations, of a
/// result.
static Type typeOfResult(AttentionOpInterface op, unsigned i) {
  return op.getInits().empty() ? op->getResult(i).getType()
                               : op.getInits()[i].getType();
}

/// Returns what `op` reads and writes.
static SmallVector<Data> getData(AttentionOpInterface op) {
  SmallVector<Data> data = {{"q", op.getQ().getType()},
                            {"k", op.getK().getType()},
                            {"v", op.getV().getType()}};
  // Threads load and store rows of numbers themselves.
  auto addRows = [&](StringRef name, Type type, bool isWritten = false) {
    data.push_back({name, type, /*byCopyEngine=*/false, isWritten,
                    /*isOfInputType=*/false});
  };
  auto addResult = [&](StringRef name, unsigned i) {
    data.push_back({name, typeOfResult(op, i), /*byCopyEngine=*/true,
                    /*isWritten=*/true});
  };
  if (op.getSeqlensK())
    addRows("seqlens_k", op.getSeqlensK().getType());
  if (op.getPageTable())
    addRows("page_table", op.getPageTable().getType());
  if (op.getBlockList()) {
    addRows("block_list", op.getBlockList().getType());
    addRows("block_counts", op.getBlockCounts().getType());
  }
  if (auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
      backward && backward.getQueryList()) {
    addRows("query_list", backward.getQueryList().getType());
    addRows("query_counts", backward.getQueryCounts().getType());
  }
  if (op.getCuSeqlensQ()) {
    addRows("cu_seqlens_q", op.getCuSeqlensQ().getType());
    if (op.getCuSeqlensK())
      addRows("cu_seqlens_k", op.getCuSeqlensK().getType());
  }
  if (auto sdpa = dyn_cast<SdpaOp>(op.getOperation())) {
    // Lanes round what leaves, to whatever type.
    data.push_back({"out", typeOfResult(op, 0), /*byCopyEngine=*/true,
                    /*isWritten=*/true, /*isOfInputType=*/false});
    if (sdpa.hasLse())
      addRows("lse", typeOfResult(op, 1), /*isWritten=*/true);
    if (op.getSinks())
      addRows("sinks", op.getSinks().getType());
    return data;
  }
  auto backward = cast<SdpaBackwardOp>(op.getOperation());
  data.push_back({"out", backward.getFwdOut().getType()});
  data.push_back({"dout", backward.getDout().getType()});
  addRows("lse", backward.getFwdLse().getType());
  if (backward.getDlse())
    addRows("dlse", backward.getDlse().getType());
  addResult("dq", 0);
  addResult("dk", 1);
  addResult("dv", 2);
  // Only the gradient of the sinks reads the sinks: the LSE already has them in
  // it.
  if (backward.hasDsinks()) {
    addRows("sinks", op.getSinks().getType());
    addRows("dsinks", typeOfResult(op, 3), /*isWritten=*/true);
  }
  for (unsigned i = 0; i != backward.getWrt().size(); ++i)
    addRows("dcaptures", typeOfResult(op, backward.getFirstDcapture() + i),
            /*isWritten=*/true);
  return data;
}

static Reason checkElementTypes(AttentionOpInterface op,
                                const TargetDescription &target,
                                const TileChoice &) {
  Type element = cast<ShapedType>(op.getQ().getType()).getElementType();
  if (!isa<BFloat16Type, Float16Type>(element) ||
      !target.supportsMmaElementType(debugString(element)))
    return llvm::formatv("elements of {0}: only bf16 and f16", element);
  for (const Data &each : getData(op)) {
    Type other = cast<ShapedType>(each.type).getElementType();
    if (each.isOfInputType && other != element)
      return llvm::formatv("{0} of {1} for inputs of {2}", each.name, other,
                           element);
  }
  return std::nullopt;
}

static int64_t getHeadDimStep(AttentionOpInterface op) {
  return isa<SdpaBackwardOp>(op.getOperation()) ? kGradientHeadDimStep
                                                : kHeadDimStep;
}

/// Returns which limit of the target the smallest tiles exceed; empty if there
/// is room.
static std::string findExceeded(AttentionOpInterface op,
                                const TargetDescription &target, HeadDims dims,
                                const TileChoice &choice) {
  if (auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation()))
    return chooseBackwardTiles(target, dims,
                               getBackwardRequest(backward, choice))
        .exceeded;
  TileRequest request = getTileRequest(cast<SdpaOp>(op.getOperation()), choice);
  return chooseAttentionTiles(target, dims, request).exceeded;
}

static Reason checkHeadDims(AttentionOpInterface op,
                            const TargetDescription &target,
                            const TileChoice &choice) {
  HeadDims dims = getHeadDims(op);
  if (ShapedType::isDynamic(dims.qk) || ShapedType::isDynamic(dims.v) ||
      ShapedType::isDynamic(
          cast<ShapedType>(op.getK().getType()).getShape().back()))
    return "a dynamic head dim";
  for (int64_t each : {dims.v, dims.qk})
    if (each % getHeadDimStep(op) != 0)
      return llvm::formatv("head dim {0}: only multiples of {1}", each,
                           getHeadDimStep(op));
  std::string exceeded = findExceeded(op, target, dims, {choice.keys});
  if (exceeded.empty())
    return std::nullopt;
  std::string blocks =
      choice.keys == 0
          ? ""
          : llvm::formatv(" with blocks of {0} keys", choice.keys).str();
  return llvm::formatv("head dims {0} of q and k, {1} of v{2}: the smallest "
                       "tiles exceed {3}",
                       dims.qk, dims.v, blocks, exceeded);
}

static Reason checkSmallerTiles(AttentionOpInterface op,
                                const TargetDescription &target,
                                const TileChoice &choice) {
  if (findExceeded(op, target, getHeadDims(op), choice).empty())
    return std::nullopt;
  return llvm::formatv("smaller-tiles={0}: the op has fewer sizes of tiles",
                       choice.smaller);
}

/// Work tiles take turns in an order that must be known to be free of circles.
/// Which sequence a work tile belongs to, and which blocks a list has, stands
/// in memory.
static Reason checkTurns(AttentionOpInterface op,
                         const TargetDescription &target,
                         const TileChoice &choice) {
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  bool isPacked = getDimOrder(op.getLayout()).isPacked();
  if (!backward || !backward.getDeterministic() ||
      !(isPacked || op.getBlockList()) ||
      chooseBackwardTiles(target, getHeadDims(op),
                          getBackwardRequest(backward, choice))
          .hasQueryKernel())
    return std::nullopt;
  if (!isPacked)
    return "a deterministic gradient with a block_list and these head dims";
  return llvm::formatv("a deterministic gradient of packed sequences (layout "
                       "{0}) with these head dims",
                       stringifyLayout(op.getLayout()));
}

/// The copy engine takes rows that a page and a block of keys have in common.
static Reason checkPages(AttentionOpInterface op) {
  if (!op.getPageTable())
    return std::nullopt;
  int64_t size = getPageSize(op);
  if (ShapedType::isDynamic(size))
    return "a dynamic page size";
  if (size % kPageStep != 0)
    return llvm::formatv("pages of {0} keys: only multiples of {1}", size,
                         kPageStep);
  if (int64_t keys = getKeyCapacity(op);
      ShapedType::isStatic(keys) && keys > kMaxSize)
    return llvm::formatv("pages with room for {0} keys of a sequence, more "
                         "than {1}",
                         keys, kMaxSize);
  return std::nullopt;
}

/// Tiles of keys have their queries in a list of their own, and each tile is in
/// one block.
static Reason checkQueryList(SdpaBackwardOp op, const TargetDescription &target,
                             const TileChoice &choice) {
  if (!op.getQueryList())
    return "a gradient with a block_list and without a query_list";
  int64_t lists = cast<ShapedType>(op.getQueryList().getType())
                      .getDimSize(kListHeads),
          heads = cast<ShapedType>(op.getK().getType())
                      .getDimSize(getKeyOrder(op).head);
  if (!ShapedType::isDynamic(lists) && !ShapedType::isDynamic(heads) &&
      heads % lists != 0)
    return llvm::formatv("a gradient with lists of {0} heads and {1} key/value "
                         "heads: query heads that share keys share a list",
                         lists, heads);
  BackwardTiles tiles = chooseBackwardTiles(target, getHeadDims(op),
                                            getBackwardRequest(op, choice));
  auto check = [](StringRef what, int64_t size,
                  std::initializer_list<int64_t> divisors) -> Reason {
    for (int64_t each : divisors)
      if (each != 0 && size % each != 0)
        return llvm::formatv("a gradient with blocks of {0} {1}: only "
                             "multiples of {2}",
                             size, what, each);
    return std::nullopt;
  };
  bool hasCaptures = !op.getWrt().empty();
  if (Reason reason = check("queries", op.getBlockSize()[kBlockQueries],
                            {tiles.queries, tiles.queryRows,
                             hasCaptures ? tiles.captureRows : 0}))
    return reason;
  return check(
      "keys", op.getBlockSize()[kBlockKeys],
      {tiles.keys, tiles.queryKeys, hasCaptures ? tiles.captureKeys : 0});
}

/// A tile of queries has one list, whose blocks are of whole tiles of keys.
static Reason checkBlocks(AttentionOpInterface op,
                          const TargetDescription &target,
                          const TileChoice &choice) {
  if (!op.getBlockList())
    return std::nullopt;
  if (auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation()))
    return checkQueryList(backward, target, choice);
  TileRequest request = getTileRequest(cast<SdpaOp>(op.getOperation()), choice);
  if (request.rowsDivide % int64_t(target.mma.rows) != 0)
    return llvm::formatv("a list for each {0} queries: only multiples of {1}",
                         request.rowsDivide, target.mma.rows);
  if (request.keysDivide % kKeyStep != 0)
    return llvm::formatv("a list of blocks of {0} keys: only multiples of {1}",
                         request.keysDivide, kKeyStep);
  if (choice.keys != 0 && request.keysDivide % choice.keys != 0)
    return llvm::formatv("keys={0} for a list of blocks of {1} keys",
                         choice.keys, request.keysDivide);
  return std::nullopt;
}

/// Whoever launches the kernel checks dynamic sizes (TileToNVVM's
/// LaunchConditions.cpp).
static Reason checkSizes(StringRef name, Type type) {
  for (int64_t size : cast<ShapedType>(type).getShape()) {
    if (size == 0)
      return llvm::formatv("'{0}' has no elements", name);
    if (!ShapedType::isDynamic(size) && size > kMaxSize)
      return llvm::formatv("'{0}' has a size of {1}, more than {2}", name, size,
                           kMaxSize);
  }
  return std::nullopt;
}

/// Checks how the data is laid out in memory. `byCopyEngine` tells whether the
/// copy engine reads or writes it, and `isWritten` whether it is a destination.
static Reason checkMemory(StringRef name, Type type, bool byCopyEngine,
                          bool isWritten) {
  if (Reason reason = checkSizes(name, type))
    return reason;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (Attribute encoding = tensor.getEncoding())
      return llvm::formatv("'{0}' has the encoding {1}", name, encoding);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return std::nullopt;
  if (memref.getMemorySpace())
    return llvm::formatv("'{0}' is in memory space {1}", name,
                         memref.getMemorySpace());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return llvm::formatv("'{0}' has a layout other than strides", name);
  if (strides.back() != 1)
    return llvm::formatv("the innermost stride of '{0}' is not 1", name);
  int64_t bytes = memref.getElementTypeBitWidth() / 8;
  if (byCopyEngine && !ShapedType::isDynamic(offset) &&
      offset * bytes % kTensorMapAlignment != 0)
    return llvm::formatv("'{0}' begins {1} bytes behind an aligned address, "
                         "not a multiple of {2}",
                         name, offset * bytes, kTensorMapAlignment);
  for (auto [stride, size] :
       llvm::zip(ArrayRef(strides).drop_back(), memref.getShape())) {
    if (ShapedType::isDynamic(stride))
      continue;
    if (stride < 0)
      return llvm::formatv("'{0}' has a negative stride, {1}", name, stride);
    if (isWritten && stride == 0 && size != 1)
      return llvm::formatv("'{0}' has a stride of 0, so that several results "
                           "would be written to one place",
                           name);
    if (stride >= kTensorMapStrideEnd / bytes)
      return llvm::formatv("'{0}' has a stride of {1} elements, not below {2} "
                           "bytes",
                           name, stride, kTensorMapStrideEnd);
    if (byCopyEngine && stride * bytes % kTensorMapAlignment != 0)
      return llvm::formatv("'{0}' has a stride of {1} bytes, not a multiple of "
                           "{2}",
                           name, stride * bytes, kTensorMapAlignment);
  }
  return std::nullopt;
}

/// A captured tensor is read at the query head. Where one of the two numbers is
/// dynamic, the kernel's manifest has the condition that they agree.
static Reason checkCapturedSize(AttentionOpInterface op, StringRef name,
                                ShapedType type) {
  auto q = cast<ShapedType>(op.getQ().getType());
  int64_t heads = q.getDimSize(getDimOrder(op.getLayout()).head);
  int64_t size = type.getDimSize(0);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(size) ||
      heads == size)
    return std::nullopt;
  return llvm::formatv("'{0}' has {1} numbers for {2} query heads", name, size,
                       heads);
}

/// A table has an element at each index with which a region reads it as it is.
static Reason checkTable(AttentionOpInterface op, unsigned capture,
                         StringRef name, ShapedType type) {
  for (auto [dim, index] : findIndexedDims(op, capture)) {
    int64_t size = type.getDimSize(dim);
    SizeOfOperand count = getCountOfIndex(op, index);
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(count.size) &&
        size < count.size)
      return llvm::formatv(
          "dimension {0} of '{1}' has {2} elements, but is read "
          "at {3} = {4} indices",
          dim, name, size, count.name, count.size);
  }
  return std::nullopt;
}

static Reason checkCaptures(AttentionOpInterface op) {
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    auto shaped = dyn_cast<ShapedType>(capture.getType());
    if (!shaped || !shaped.hasRank())
      continue;
    std::string name = getCaptureName(i);
    for (Reason reason : {checkMemory(name, shaped, /*byCopyEngine=*/false,
                                      /*isWritten=*/false),
                          isTable(op, i) ? checkTable(op, i, name, shaped)
                                         : checkCapturedSize(op, name, shaped)})
      if (reason)
        return reason;
  }
  return std::nullopt;
}

static Reason checkOperands(AttentionOpInterface op) {
  if (Reason reason = checkCaptures(op))
    return reason;
  for (const Data &each : getData(op))
    if (Reason reason = checkMemory(each.name, each.type, each.byCopyEngine,
                                    each.isWritten))
      return reason;
  return std::nullopt;
}

static std::string adviseOnHeadDims(AttentionOpInterface op,
                                    const TargetDescription &target) {
  HeadDims dims = getHeadDims(op);
  if (ShapedType::isDynamic(dims.qk) || ShapedType::isDynamic(dims.v))
    return "give q, k and v a static head dim; other sizes may stay dynamic";
  // The largest head dim, the same for q, k and v, for which there is room.
  int64_t step = getHeadDimStep(op), most = 0;
  for (int64_t each = step; each <= kMostHeadDim; each += step)
    if (findExceeded(op, target, {each, each}, TileChoice()).empty())
      most = each;
  std::string advice = llvm::formatv(
      "head dims of this target are multiples of {0} up to {1}", step, most);
  if (std::max(dims.qk, dims.v) > most)
    return advice + "; split the op, or take the path to the CPU "
                    "(fa4-opt --attn-to-llvm)";
  return advice +
         ": pad with zeros, and keep the factor of the true head dim with "
         "scale(...)";
}

namespace {
/// A reason for which there may be no kernel, and advice on what to change
/// then.
struct Check {
  Reason (*explain)(AttentionOpInterface op, const TargetDescription &target,
                    const TileChoice &choice);
  llvm::StringLiteral advice;
};
} // namespace

/// Makes a check whose answer depends on the op alone.
template <Reason check(AttentionOpInterface)>
static Reason ofOp(AttentionOpInterface op, const TargetDescription &,
                   const TileChoice &) {
  return check(op);
}

/// The checks, in the order in which users are told of their reasons.
static constexpr Check kChecks[] = {
    {checkElementTypes,
     "convert q, k, v and out to bf16 or f16 in front of the op and behind it"},
    {checkBlocks,
     "list blocks of 128 queries and 64 or 128 keys (a gradient on "
     "Blackwell: 128 keys; each gradient: a query_list, too), or "
     "ask for a number of keys that divides them"},
    {checkHeadDims, ""}, // See adviseOnHeadDims.
    {ofOp<checkPages>, "give k and v a static page size, which is 16, 32, 64, "
                       "128 or another multiple of 16"},
    {checkSmallerTiles, "ask for fewer steps, or for none"},
    {checkTurns,
     "leave out deterministic, or the block_list, and use a layout with a "
     "batch dimension (bshd, bhsd, sbhd), with sequences padded to one length: "
     "seqlens_k(...) hides the keys behind each"},
    {ofOp<checkOperands>,
     "copy the operand to a memref without strides in the default memory "
     "space, or let its sizes and strides be dynamic, so that a launch checks "
     "them"},
    {ofOp<checkBand>, "leave out the bound of the mask: it hides nothing"},
    {ofOp<checkMods>,
     "write the region with operations of arith and math on scalars, "
     "arith.select in place of branches, and captures of type f32, i32 or "
     "index"},
    {ofOp<checkDerivative>,
     "write score_mod with operations that have a derivative "
     "(docs/reference/AttnPasses.md)"}};

/// Returns the check that finds a reason, and the reason.
static std::optional<std::pair<const Check *, std::string>>
findFailedCheck(AttentionOpInterface op, const TargetDescription &target,
                const TileChoice &choice) {
  OwningOpRef<Operation *> copy(op->clone());
  auto flat = cast<AttentionOpInterface>(*copy);
  flattenBranches(flat);
  for (const Check &check : kChecks)
    if (Reason reason = check.explain(flat, target, choice))
      return std::pair(&check, *reason);
  return std::nullopt;
}

Reason fa4::explainUnsupported(AttentionOpInterface op,
                               const TargetDescription &target,
                               const TileChoice &choice) {
  auto failed = findFailedCheck(op, target, choice);
  return failed ? Reason(failed->second) : std::nullopt;
}

Reason fa4::adviseUnsupported(AttentionOpInterface op,
                              const TargetDescription &target,
                              const TileChoice &choice) {
  auto failed = findFailedCheck(op, target, choice);
  if (!failed)
    return std::nullopt;
  for (StringRef chip : knownTargets()) {
    const TargetDescription *other = lookupTarget(chip);
    if (!explainUnsupported(op, *other, choice))
      return llvm::formatv("there is a kernel for {0}: --chip={0}", chip);
  }
  StringRef advice = failed->first->advice;
  return advice.empty() ? adviseOnHeadDims(op, target) : advice.str();
}

LogicalResult fa4::checkLegality(AttentionOpInterface op,
                                 const TargetDescription &target,
                                 const TileChoice &choice) {
  auto failed = findFailedCheck(op, target, choice);
  if (!failed)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("not supported on ")
                                  << target.chip << ": " << failed->second;
  // Only the check of the regions refuses single operations.
  if (failed->first->explain == ofOp<checkMods>)
    pointAtOperation(diagnostic, op);
  return diagnostic;
}
