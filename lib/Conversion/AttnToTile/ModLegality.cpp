//===- ModLegality.cpp - which regions threads have code for ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModLegality.h"
#include "AttentionProgram.h"
#include "CaptureReads.h"
#include "ExpandMath.h"
#include "FlattenBranches.h"
#include "ModVectorizer.h"
#include "ScoreDerivative.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "fa4/Dialect/Attn/IR/SimplifyMods.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

using Reason = std::optional<std::string>;

namespace {
/// An op with the regions and the mask that the lowering sees.
struct SimplifiedCopy {
  explicit SimplifiedCopy(AttentionOpInterface original)
      : op(cast<AttentionOpInterface>(original->clone())) {
    flattenBranches(op);
    simplifyMods(op);
  }
  SimplifiedCopy(const SimplifiedCopy &) = delete;
  ~SimplifiedCopy() { op->erase(); }

  AttentionOpInterface op;
};
} // namespace

namespace {
/// The same copy, in which operations that threads do not have are expanded to
/// operations that they have, where there are some.
struct ExpandedCopy : SimplifiedCopy {
  explicit ExpandedCopy(AttentionOpInterface original)
      : SimplifiedCopy(original) {
    expandMath(op.getScoreMod());
    expandMath(op.getMaskMod());
  }
};
} // namespace

/// Indices have 32 bits, and a mask's bound is added to a position in the
/// sequence.
static constexpr int64_t kMaxBand = int64_t(1) << 30;

Reason fa4::checkBand(AttentionOpInterface op) {
  SimplifiedCopy copy(op);
  MaskAttr mask = copy.op.getMaskAttr();
  if (!mask)
    return std::nullopt;
  for (std::optional<int64_t> bound : {mask.getLeft(), mask.getRight()})
    if (bound && (*bound > kMaxBand || *bound < -kMaxBand))
      return llvm::formatv("a mask that reaches {0} keys, more than {1}",
                           *bound, kMaxBand);
  return std::nullopt;
}

/// A region becomes instructions for each column of a row, in each role that
/// computes scores: 256 times or more. Beyond this many for one score a
/// compilation would take minutes and gigabytes, and the code would not fit
/// into the instruction caches of a GPU.
static constexpr int64_t kMaxInstructions = 4000;

/// Estimates the number of instructions of a thread that `op` becomes for one
/// score.
static int64_t countInstructions(Operation &op) {
  auto isNumber = [](Value value) { return matchPattern(value, m_Constant()); };
  return llvm::TypeSwitch<Operation *, int64_t>(&op)
      .Case<arith::ConstantOp, attn::YieldOp>([](auto) { return 0; })
      .Case([](math::TanhOp) { return 5; })
      // An address, in 64 bits, of indices that are brought into bounds.
      .Case<tensor::ExtractOp, memref::LoadOp>(
          [](auto read) { return 1 + 3 * int64_t(read.getIndices().size()); })
      .Case<math::ExpOp, math::LogOp, math::SqrtOp, arith::DivFOp>(
          [](auto) { return 2; })
      // A division by a constant becomes a product, a shift, and instructions
      // that round.
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

/// The most dimensions of a captured tensor.
static constexpr int64_t kMaxTableRank = 4;

static bool isTensorOfNumbers(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || shaped.getRank() < 1 ||
      shaped.getRank() > kMaxTableRank)
    return false;
  Type element = shaped.getElementType();
  return isa<Float32Type, Float16Type, BFloat16Type>(element) ||
         element.isInteger(32);
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
        !isTensorOfNumbers(type))
      return llvm::formatv(
          "a capture of type {0}: only f32, i32, index, and "
          "tensors of f32, bf16, f16 or i32 with 1 to {1} dimensions",
          type, kMaxTableRank);
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
      return llvm::formatv("'{0}' in {1}: only elements of captured tensors "
                           "can be read",
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

Reason fa4::checkMods(AttentionOpInterface op) {
  if (Reason reason = checkCountOfOperations(op))
    return reason;
  ExpandedCopy expanded(op);
  return checkRegions(expanded.op);
}

Reason fa4::checkDerivative(AttentionOpInterface op) {
  SimplifiedCopy copy(op);
  auto backward = dyn_cast<SdpaBackwardOp>(copy.op.getOperation());
  if (!backward || backward.getScoreMod().empty())
    return std::nullopt;
  Region &region = backward.getScoreMod();
  if (Operation *bad = attn::findNonDifferentiable(region))
    return llvm::formatv("score_mod cannot be differentiated through '{0}'",
                         bad->getName().getStringRef());
  ScoreDerivative derived(region);
  if (Operation *bad = findUnvectorizable(derived.region))
    return llvm::formatv(
        "'{0}' in the derivative of score_mod: a thread has no code for it",
        bad->getName().getStringRef());
  for (int64_t capture : backward.getWrt()) {
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

void fa4::pointAtOperation(InFlightDiagnostic &diagnostic,
                           AttentionOpInterface op) {
  ExpandedCopy expanded(op);
  for (auto [region, where] : getRegions(expanded.op)) {
    Operation *bad = findWideIndex(*region);
    bad = bad ? bad : findUnvectorizable(*region);
    if (!bad)
      continue;
    diagnostic.attachNote(bad->getLoc()) << "this operation of " << where;
    return;
  }
}
