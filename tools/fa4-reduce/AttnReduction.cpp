//===- AttnReduction.cpp - smaller attention ops --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-reduce drops ops; what attention ops are made of are clauses and
// regions. Each change is made to a copy of the module first, and stays if that
// is still interesting.
//
//===----------------------------------------------------------------------===//

#include "AttnReduction.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Reducer/ReductionPatternInterface.h"
#include "mlir/Reducer/Tester.h"

using namespace mlir;
using namespace fa4::attn;

namespace {
/// A change that makes an attention op simpler, or fails if it does not apply.
using Change = std::function<LogicalResult(Operation *)>;
} // namespace

static Change dropAttribute(StringRef name) {
  return [=](Operation *op) { return success(bool(op->removeAttr(name))); };
}

static Change clearRegion(unsigned number) {
  return [=](Operation *op) -> LogicalResult {
    Region &region = op->getRegion(number);
    if (region.empty())
      return failure();
    region.dropAllReferences();
    region.getBlocks().clear();
    return success();
  };
}

/// Removes captures. They are arguments of both regions, whose arguments go
/// first.
static LogicalResult dropCaptures(Operation *op) {
  auto sdpa = dyn_cast<SdpaOp>(op);
  if (!sdpa || sdpa.getCaptures().empty() ||
      !llvm::all_of(op->getRegions(), [](Region &r) { return r.empty(); }))
    return failure();
  sdpa.getCapturesMutable().clear();
  return success();
}

/// Replaces the only result of an operation in a region by one of its operands.
static Change bypass(unsigned region, unsigned place, unsigned operand) {
  return [=](Operation *op) -> LogicalResult {
    Block &block = op->getRegion(region).front();
    Operation *inner = &*std::next(block.begin(), place);
    Value by = inner->getOperand(operand);
    inner->getResult(0).replaceAllUsesWith(by);
    inner->erase();
    return success();
  };
}

/// Returns all changes to try. Those that remove most come first.
static SmallVector<Change> getChanges(Operation *op) {
  SmallVector<Change> changes = {clearRegion(0), clearRegion(1),
                                 dropAttribute("mask"), dropAttribute("scale"),
                                 dropCaptures};
  for (Region &region : op->getRegions()) {
    if (!region.hasOneBlock())
      continue;
    for (auto [place, inner] : llvm::enumerate(region.front())) {
      if (inner.getNumResults() != 1 || inner.getNumRegions())
        continue;
      for (auto [number, type] : llvm::enumerate(inner.getOperandTypes()))
        if (type == inner.getResult(0).getType())
          changes.push_back(bypass(region.getRegionNumber(), place, number));
    }
  }
  return changes;
}

/// Returns true if the change works on a copy of the op and leaves the copy
/// valid and interesting.
static bool isGood(const Change &change, Operation *op, const Tester &tester) {
  auto module = op->getParentOfType<ModuleOp>();
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone(mapping)));
  ScopedDiagnosticHandler quiet(op->getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(change(mapping.lookup(op))) && succeeded(verify(*copy)) &&
         tester.isInteresting(*copy).first == Tester::Interestingness::True;
}

namespace {

struct SimplifyAttention
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  SimplifyAttention(MLIRContext *context, const Tester &tester)
      : OpInterfaceRewritePattern(context), tester(tester) {}

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    for (const Change &change : getChanges(op)) {
      if (!isGood(change, op, tester))
        continue;
      rewriter.modifyOpInPlace(op, [&] { (void)change(op); });
      return success();
    }
    return failure();
  }

  const Tester &tester;
};

struct AttnReduction : public DialectReductionPatternInterface {
  explicit AttnReduction(Dialect *dialect)
      : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &) const override {}
  void populateReductionPatternsWithTester(RewritePatternSet &patterns,
                                           Tester &tester) const override {
    patterns.add<SimplifyAttention>(patterns.getContext(), tester);
  }
};

} // namespace

void fa4::registerAttnReduction(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, AttnDialect *dialect) {
    dialect->addInterfaces<AttnReduction>();
  });
}
