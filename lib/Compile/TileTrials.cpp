//===- TileTrials.cpp - smaller tiles where registers are too few ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many registers a lane needs for what a score_mod or a mask_mod computes,
// only ptxas knows: it orders instructions anew. So tiles are chosen as if a
// region needed few, and where ptxas reports spills, the module is compiled
// again from its attention ops with the next smaller tiles. Without ptxas,
// nobody knows, and the first tiles stay.
//
//===----------------------------------------------------------------------===//

#include "CompileOnce.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Support/NestedOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4;
using namespace mlir;

namespace {
/// Keeps the diagnostics of an attempt back while it lives.
class KeptDiagnostics {
public:
  explicit KeptDiagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          kept.push_back(std::move(diagnostic));
          return success();
        }) {}

  std::vector<Diagnostic> take() { return std::move(kept); }

private:
  std::vector<Diagnostic> kept;
  ScopedDiagnosticHandler handler;
};

/// What an attempt has made.
struct Attempt {
  LogicalResult result = failure();
  OutputFiles files;
  RunReport report;
  std::vector<Diagnostic> diagnostics;

  bool hasTooFewRegisters() const {
    return llvm::any_of(report.files, [](const CompileReport &file) {
      return file.hasTooFewRegisters;
    });
  }
};
} // namespace

static Attempt tryTiles(ModuleOp module, const CompileOptions &options,
                        TimingScope &timing) {
  Attempt attempt;
  KeptDiagnostics kept(module.getContext());
  attempt.result =
      compileOnce(module, options, timing, attempt.files, attempt.report);
  attempt.diagnostics = kept.take();
  return attempt;
}

/// Tries smaller tiles, one after the other, on copies of `module`, until there
/// are no smaller ones, which is an error of attn-to-tile. The result is a
/// failure if there are none with which nothing spills.
static Attempt trySmallerTiles(ModuleOp module, CompileOptions options,
                               TimingScope &timing) {
  while (true) {
    ++options.kernel.smallerTiles;
    OwningOpRef<ModuleOp> copy = module.clone();
    Attempt attempt = tryTiles(*copy, options, timing);
    if (succeeded(attempt.result))
      attempt.report.tables +=
          llvm::formatv("smaller-tiles={0}: with larger tiles, kernels spill\n",
                        options.kernel.smallerTiles);
    if (succeeded(attempt.result) || !attempt.hasTooFewRegisters())
      return attempt;
  }
}

FailureOr<RunReport> fa4::compile(ModuleOp module,
                                  const CompileOptions &options,
                                  TimingScope &timing, OutputFiles &files) {
  bool hasTrials = !options.ptxas.empty() && !options.allowSpills &&
                   containsOp<attn::AttentionOpInterface>(module);
  if (!hasTrials) {
    RunReport report;
    if (failed(compileOnce(module, options, timing, files, report)))
      return failure();
    return report;
  }
  OwningOpRef<ModuleOp> copy = module.clone();
  Attempt attempt = tryTiles(module, options, timing);
  if (attempt.hasTooFewRegisters())
    if (Attempt smaller = trySmallerTiles(*copy, options, timing);
        succeeded(smaller.result))
      attempt = std::move(smaller);
  for (Diagnostic &diagnostic : attempt.diagnostics)
    module.getContext()->getDiagEngine().emit(std::move(diagnostic));
  if (failed(attempt.result))
    return failure();
  for (OutputFiles::File &file : attempt.files.all())
    files.add(file.name, std::move(file.contents));
  return std::move(attempt.report);
}
