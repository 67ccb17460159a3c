//===- Legality.cpp - which attention ops have a tile program ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"
#include "ExpandMath.h"
#include "ScoreDerivative.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "fa4/Dialect/Attn/IR/SimplifyMods.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

using Reason = std::optional<std::string>;

/// The number of elements of a row that lanes load and store at a time. It is
/// also the unit in which matrices are cut for the copy engine: 32 elements of
/// 16 bits are the 64-byte swizzle.
static constexpr int64_t kHeadDimStep = 32;
/// The same for the gradient, whose matrices may have other swizzles.
static constexpr int64_t kGradientHeadDimStep = 16;
/// Indices have 32 bits, and a mask's bound is added to a position in the
/// sequence.
static constexpr int64_t kMaxBand = int64_t(1) << 30;

template <typename T> static std::string print(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

namespace {
/// An operand or destination of an op.
struct Data {
  StringRef name;
  Type type;
  /// The copy engine reads or writes it.
  bool byCopyEngine = true;
  bool isWritten = false;
  /// Its elements must be of q's type.
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
  if (auto sdpa = dyn_cast<SdpaOp>(op.getOperation())) {
    addResult("out", 0);
    if (sdpa.hasLse())
      addRows("lse", typeOfResult(op, 1), /*isWritten=*/true);
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
  // Only their gradient reads the sinks: the LSE has them in it.
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
                                const TargetDescription &target) {
  Type element = cast<ShapedType>(op.getQ().getType()).getElementType();
  if (!isa<BFloat16Type, Float16Type>(element) ||
      !target.supportsMmaElementType(print(element)))
    return llvm::formatv("elements of {0}: only bf16 and f16", print(element));
  for (const Data &each : getData(op)) {
    Type other = cast<ShapedType>(each.type).getElementType();
    if (each.isOfInputType && other != element)
      return llvm::formatv("{0} of {1} for inputs of {2}", each.name,
                           print(other), print(element));
  }
  return std::nullopt;
}

HeadDims fa4::getHeadDims(AttentionOpInterface op) {
  auto headDim = [](Value value) {
    return cast<ShapedType>(value.getType()).getShape().back();
  };
  return {headDim(op.getQ()), headDim(op.getV())};
}

static int64_t getHeadDimStep(AttentionOpInterface op) {
  return isa<SdpaBackwardOp>(op.getOperation()) ? kGradientHeadDimStep
                                                : kHeadDimStep;
}

/// Returns which limit of the target the smallest tiles exceed; empty if there
/// is room.
static std::string findExceeded(AttentionOpInterface op,
                                const TargetDescription &target, HeadDims dims,
                                int64_t keys) {
  return isa<SdpaBackwardOp>(op.getOperation())
             ? chooseBackwardTiles(target, dims).exceeded
             : chooseAttentionTiles(target, dims, std::nullopt, keys).exceeded;
}

static Reason checkHeadDims(AttentionOpInterface op,
                            const TargetDescription &target, int64_t keys) {
  HeadDims dims = getHeadDims(op);
  if (ShapedType::isDynamic(dims.qk) || ShapedType::isDynamic(dims.v) ||
      ShapedType::isDynamic(
          cast<ShapedType>(op.getK().getType()).getShape().back()))
    return "a dynamic head dim";
  for (int64_t each : {dims.v, dims.qk})
    if (each % getHeadDimStep(op) != 0)
      return llvm::formatv("head dim {0}: only multiples of {1}", each,
                           getHeadDimStep(op));
  std::string exceeded = findExceeded(op, target, dims, keys);
  if (exceeded.empty())
    return std::nullopt;
  std::string blocks =
      keys == 0 ? "" : llvm::formatv(" with blocks of {0} keys", keys).str();
  return llvm::formatv("head dims {0} of q and k, {1} of v{2}: the smallest "
                       "tiles exceed {3}",
                       dims.qk, dims.v, blocks, exceeded);
}

static Reason checkLengths(AttentionOpInterface op) {
  if (getDimOrder(op.getLayout()).isPacked())
    return llvm::formatv("sequences packed by cu_seqlens (layout {0})",
                         stringifyLayout(op.getLayout()));
  if (op.getSeqlensK())
    return "key lengths by sequence (seqlens_k)";
  return std::nullopt;
}

static Reason checkBand(AttentionOpInterface op) {
  MaskAttr mask = op.getMaskAttr();
  if (!mask)
    return std::nullopt;
  for (std::optional<int64_t> bound : {mask.getLeft(), mask.getRight()})
    if (bound && (*bound > kMaxBand || *bound < -kMaxBand))
      return llvm::formatv("a mask that reaches {0} keys, more than {1}",
                           *bound, kMaxBand);
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

/// How the data is laid out in memory; `byCopyEngine` where the copy engine
/// reads or writes it, `isWritten` where it is a destination.
static Reason checkMemory(StringRef name, Type type, bool byCopyEngine,
                          bool isWritten) {
  if (Reason reason = checkSizes(name, type))
    return reason;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (Attribute encoding = tensor.getEncoding())
      return llvm::formatv("'{0}' has the encoding {1}", name, print(encoding));
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return std::nullopt;
  if (memref.getMemorySpace())
    return llvm::formatv("'{0}' is in memory space {1}", name,
                         print(memref.getMemorySpace()));
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

static Reason checkCaptures(AttentionOpInterface op) {
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    auto shaped = dyn_cast<ShapedType>(capture.getType());
    if (!shaped || !shaped.hasRank() || shaped.getRank() != 1)
      continue;
    std::string name = getCaptureName(i);
    for (Reason reason : {checkMemory(name, shaped, /*byCopyEngine=*/false,
                                      /*isWritten=*/false),
                          checkCapturedSize(op, name, shaped)})
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

/// A region becomes instructions for each column of a row, in each role that
/// computes scores: 256 times or more. Beyond this many for one score a
/// compilation would take minutes and gigabytes, and the code would not fit
/// into the instruction caches of a GPU.
static constexpr int64_t kMaxInstructions = 4000;

/// About the instructions of a thread that `op` becomes for one score.
static int64_t countInstructions(Operation &op) {
  auto isNumber = [](Value value) { return matchPattern(value, m_Constant()); };
  return llvm::TypeSwitch<Operation *, int64_t>(&op)
      .Case<arith::ConstantOp, attn::YieldOp>([](auto) { return 0; })
      .Case([](math::TanhOp) { return 5; })
      .Case<math::ExpOp, math::LogOp, math::SqrtOp, arith::DivFOp>(
          [](auto) { return 2; })
      // By a constant: a product, a shift, and what rounds.
      .Case<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
            arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto division) { return isNumber(division.getRhs()) ? 4 : 1; })
      .Default(int64_t(1));
}

namespace {
struct RegionSize {
  int64_t operations = 0, instructions = 0;
};
} // namespace

/// The derivative with respect to the score takes about twice as many
/// operations as the score.
static RegionSize measure(AttentionOpInterface op, Region &region) {
  bool hasDerivative = &region == &op.getScoreMod() &&
                       isa<attn::SdpaBackwardOp>(op.getOperation());
  RegionSize size;
  for (Operation &each : region.front()) {
    ++size.operations;
    size.instructions += countInstructions(each) * (hasDerivative ? 3 : 1);
  }
  return size;
}

static bool isVectorOfNumbers(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() && shaped.getRank() == 1 &&
         (shaped.getElementType().isF32() ||
          shaped.getElementType().isInteger(32));
}

/// The regions of `op` that are not empty, and their names.
static SmallVector<std::pair<Region *, StringRef>>
getRegions(AttentionOpInterface op) {
  SmallVector<std::pair<Region *, StringRef>> regions;
  for (std::pair<Region *, StringRef> each :
       {std::pair(&op.getScoreMod(), StringRef("score_mod")),
        std::pair(&op.getMaskMod(), StringRef("mask_mod"))})
    if (!each.first->empty())
      regions.push_back(each);
  return regions;
}

static Reason checkCountOfOperations(AttentionOpInterface op) {
  for (auto [region, where] : getRegions(op))
    if (RegionSize size = measure(op, *region);
        size.instructions > kMaxInstructions)
      return llvm::formatv("{0} operations in {1}, about {2} instructions for "
                           "each score; more than {3}",
                           size.operations, where, size.instructions,
                           kMaxInstructions);
  return std::nullopt;
}

/// Returns a constant of the type `index` that does not fit into an index of a
/// kernel, which has `kIndexBits` bits, or null.
static arith::ConstantOp findWideIndex(Region &region) {
  for (auto constant : region.front().getOps<arith::ConstantOp>()) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    if (number && number.getType().isIndex() &&
        !number.getValue().isSignedIntN(kIndexBits))
      return constant;
  }
  return {};
}

static Reason checkRegions(AttentionOpInterface op) {
  for (Type type : op.getCaptures().getTypes())
    if (!type.isF32() && !type.isInteger(32) && !type.isIndex() &&
        !isVectorOfNumbers(type))
      return llvm::formatv("a capture of type {0}: only f32, i32, index, and "
                           "f32 or i32 for each query head",
                           print(type));
  for (auto [region, where] : getRegions(op)) {
    if (arith::ConstantOp wide = findWideIndex(*region))
      return llvm::formatv("the index {0} in {1}: an index has {2} bits in a "
                           "kernel, from {3} to {4}",
                           cast<IntegerAttr>(wide.getValue()).getInt(), where,
                           kIndexBits, llvm::minIntN(kIndexBits),
                           llvm::maxIntN(kIndexBits));
    Operation *bad = findUnvectorizable(*region);
    if (!bad)
      continue;
    StringRef name = bad->getName().getStringRef();
    if (attn::getSourceOfRead(bad))
      return llvm::formatv("'{0}' in {1}: a captured tensor can be read only "
                           "at the query head",
                           name, where);
    if (isElementwise(bad))
      return llvm::formatv("'{0}' in {1}: a thread has no code for it", name,
                           where);
    return llvm::formatv("'{0}' in {1}: only elementwise operations on numbers "
                         "of up to 32 bits and index",
                         name, where);
  }
  return std::nullopt;
}

/// Whether threads have code for the derivative of score_mod.
static Reason checkDerivative(SdpaBackwardOp op) {
  Region &region = op.getScoreMod();
  if (region.empty())
    return std::nullopt;
  if (Operation *bad = attn::findNonDifferentiable(region))
    return llvm::formatv("score_mod cannot be differentiated through '{0}'",
                         bad->getName().getStringRef());
  ScoreDerivative derived(region);
  if (Operation *bad = findUnvectorizable(derived.region))
    return llvm::formatv(
        "'{0}' in the derivative of score_mod: a thread has no code for it",
        bad->getName().getStringRef());
  for (int64_t capture : op.getWrt()) {
    unsigned argument = kNumScoreModArgs + capture;
    if (Operation *bad = attn::findNonDifferentiable(region, argument))
      return llvm::formatv("score_mod cannot be differentiated by capture {0} "
                           "through '{1}'",
                           capture, bad->getName().getStringRef());
    ScoreDerivative byCapture(region, argument);
    if (Operation *bad = findUnvectorizable(byCapture.region))
      return llvm::formatv("'{0}' in the derivative of score_mod by capture "
                           "{1}: a thread has no code for it",
                           bad->getName().getStringRef(), capture);
  }
  return std::nullopt;
}

namespace {
/// An op with the regions and the mask that the lowering sees.
struct SimplifiedCopy {
  explicit SimplifiedCopy(AttentionOpInterface original)
      : op(cast<AttentionOpInterface>(original->clone())) {
    simplifyMods(op);
  }
  SimplifiedCopy(const SimplifiedCopy &) = delete;
  ~SimplifiedCopy() { op->erase(); }

  AttentionOpInterface op;
};
} // namespace

namespace {
/// The same, with operations that threads have as far as there are some.
struct ExpandedCopy : SimplifiedCopy {
  explicit ExpandedCopy(AttentionOpInterface original)
      : SimplifiedCopy(original) {
    expandMath(op.getScoreMod());
    expandMath(op.getMaskMod());
  }
};
} // namespace

static Reason checkMods(AttentionOpInterface op) {
  if (Reason reason = checkCountOfOperations(op))
    return reason;
  SimplifiedCopy copy(op);
  ExpandedCopy expanded(op);
  for (Reason reason : {checkBand(copy.op), checkRegions(expanded.op)})
    if (reason)
      return reason;
  // Of a region whose operations threads have.
  if (auto backward = dyn_cast<SdpaBackwardOp>(copy.op.getOperation()))
    return checkDerivative(backward);
  return std::nullopt;
}

Reason fa4::explainUnsupported(AttentionOpInterface op,
                               const TargetDescription &target, int64_t keys) {
  if (target.mma.accumulatorSpace != AccumulatorSpace::TensorMemory)
    return "targets without tensor memory have no kernel yet";
  if (op.getSinks() && isa<SdpaOp>(op.getOperation()))
    return "sinks";
  for (Reason reason :
       {checkElementTypes(op, target), checkLengths(op),
        checkHeadDims(op, target, keys), checkOperands(op), checkMods(op)})
    if (reason)
      return reason;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Advice
//===----------------------------------------------------------------------===//

/// The first supported target that has a kernel for `op`; empty if none has.
static StringRef findTarget(AttentionOpInterface op, int64_t keys) {
  for (StringRef chip : knownTargets())
    if (!explainUnsupported(op, *lookupTarget(chip), keys))
      return chip;
  return "";
}

static std::string adviseOnHeadDims(AttentionOpInterface op,
                                    const TargetDescription &target) {
  HeadDims dims = getHeadDims(op);
  if (ShapedType::isDynamic(dims.qk) || ShapedType::isDynamic(dims.v))
    return "give q, k and v a static head dim; other sizes may stay dynamic";
  // The largest for which there is room.
  int64_t step = getHeadDimStep(op), most = 0;
  for (int64_t each = step; each <= int64_t(target.tmemColumns); each += step)
    if (findExceeded(op, target, {each, each}, /*keys=*/0).empty())
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

Reason fa4::adviseUnsupported(AttentionOpInterface op,
                              const TargetDescription &target, int64_t keys) {
  if (!explainUnsupported(op, target, keys))
    return std::nullopt;
  if (StringRef chip = findTarget(op, keys); !chip.empty())
    return llvm::formatv("there is a kernel for {0}: --chip={0}", chip);
  const TargetDescription *best = &target;
  for (StringRef chip : knownTargets())
    if (best->mma.accumulatorSpace != AccumulatorSpace::TensorMemory)
      best = lookupTarget(chip);
  std::string prefix =
      best == &target ? ""
                      : llvm::formatv("--chip={0}, and: ", best->chip).str();
  auto advise = [&](const llvm::Twine &advice) {
    return (prefix + advice).str();
  };
  if (op.getSinks() && isa<SdpaOp>(op.getOperation()))
    return advise("leave out sinks(...): with the LSE as a second result, out "
                  "times 1 / (1 + exp(sink - lse)) is the result with a sink");
  if (checkElementTypes(op, *best))
    return advise("convert q, k, v and out to bf16 or f16 in front of the op "
                  "and behind it");
  if (checkLengths(op))
    return advise("use a layout with a batch dimension (bshd, bhsd, sbhd) "
                  "without seqlens_k, and sequences of one length: one op for "
                  "each length, or a mask_mod that hides what was padded");
  if (checkHeadDims(op, *best, keys))
    return advise(adviseOnHeadDims(op, *best));
  if (checkOperands(op))
    return advise("copy the operand to a memref without strides in the default "
                  "memory space, or let its sizes and strides be dynamic, so "
                  "that a launch checks them");
  ExpandedCopy expanded(op);
  if (checkBand(op))
    return advise("leave out the bound of the mask: it hides nothing");
  if (checkCountOfOperations(op) || checkRegions(expanded.op))
    return advise("write the region with operations of arith and math on "
                  "scalars, arith.select in place of branches, and captures of "
                  "type f32, i32 or index");
  return advise("write score_mod with operations that have a derivative "
                "(docs/reference/AttnPasses.md)");
}

/// Says which operation of a region has no code, for users whose regions were
/// traced: its location is that of a line of theirs.
static void pointAtOperation(InFlightDiagnostic &diagnostic,
                             AttentionOpInterface op) {
  for (auto [region, where] : getRegions(op)) {
    Operation *bad = findWideIndex(*region);
    bad = bad ? bad : findUnvectorizable(*region);
    if (!bad)
      continue;
    diagnostic.attachNote(bad->getLoc()) << "this operation of " << where;
    return;
  }
}

LogicalResult fa4::checkLegality(AttentionOpInterface op,
                                 const TargetDescription &target,
                                 int64_t keys) {
  Reason reason = explainUnsupported(op, target, keys);
  if (!reason)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("not supported on ")
                                  << target.chip << ": " << *reason;
  // What is refused may be something else than an operation.
  if (ExpandedCopy expanded(op); reason == checkRegions(expanded.op))
    pointAtOperation(diagnostic, expanded.op);
  return diagnostic;
}
