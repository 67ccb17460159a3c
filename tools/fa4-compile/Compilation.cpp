//===- Compilation.cpp - from a module to its artefacts -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "fa4/Conversion/TileToNVVM/Manifest.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4;
using namespace mlir;

bool CompileOptions::wants(Artefact artefact) const {
  return llvm::is_contained(artefacts, artefact);
}

/// The name of the files. It is part of paths, and of PTX if it is a kernel's.
static FailureOr<std::string> nameOf(ModuleOp module) {
  FailureOr<SmallVector<LLVM::LLVMFuncOp>> found = findKernels(module);
  if (failed(found))
    return failure();
  ArrayRef<LLVM::LLVMFuncOp> kernels = *found;
  if (kernels.size() > 1 && !module.getSymName())
    return module.emitError() << kernels.size()
                              << " kernels in a module without a name; the "
                                 "module's name is that of the files";
  LLVM::LLVMFuncOp first = kernels.front();
  StringRef name =
      kernels.size() > 1 ? *module.getSymName() : first.getSymName();
  if (name.empty() || llvm::isDigit(name.front()) ||
      !llvm::all_of(name, [](char c) {
        return llvm::isAlnum(c) || c == '_' || c == '$';
      }))
    return (kernels.size() > 1 ? module.emitError() : first.emitError())
           << "'" << name
           << "' is no name for PTX, which has letters, digits, _ and $";
  return name.str();
}

/// Down to what has a translation to LLVM IR.
static LogicalResult lower(ModuleOp module, TimingScope &timing) {
  PassManager passes(module.getContext());
  passes.enableTiming(timing);
  passes.addPass(createConvertNVVMToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

/// Spills and stack cost more than any schedule gains: an error on the kernel,
/// unless they are allowed.
static LogicalResult checkLocalMemory(ModuleOp module,
                                      const CompileOptions &options,
                                      const PtxasReport &report) {
  bool ok = true;
  for (const PtxasFunction &function : report.functions) {
    if (!function.usesLocalMemory())
      continue;
    Operation *op = module.lookupSymbol(function.name);
    op = op ? op : module.getOperation();
    InFlightDiagnostic diagnostic =
        options.allowSpills ? op->emitWarning() : op->emitError();
    diagnostic << "'" << function.name << "' uses local memory on "
               << options.back.chip << ": " << function.stackBytes
               << " bytes stack frame, " << function.spillStoreBytes
               << " bytes spill stores, " << function.spillLoadBytes
               << " bytes spill loads";
    ok &= options.allowSpills;
  }
  return success(ok);
}

static LogicalResult runPtxas(ModuleOp module, const CompileOptions &options,
                              StringRef ptx, CompileReport &report,
                              OutputFiles &files) {
  llvm::Expected<PtxasResult> result =
      assemble(options.ptxas, ptx, options.back.chip, options.ptxasArguments);
  if (!result)
    return module.emitError(llvm::toString(result.takeError()));
  for (const std::string &advisory : result->report.advisories)
    module.emitWarning("ptxas: ") << advisory;
  if (failed(checkLocalMemory(module, options, result->report)))
    return failure();
  report.ptxas = std::move(result->report);
  if (options.wants(Artefact::Cubin))
    files.add(report.name + ".cubin", std::move(result->cubin));
  return success();
}

/// KERNEL.json for each kernel that says how it is launched.
static LogicalResult addManifests(ModuleOp module, StringRef ptxName,
                                  OutputFiles &files) {
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!kernel->hasAttr(tile::kManifestAttr))
      continue;
    FailureOr<llvm::json::Object> manifest = tile::buildManifest(kernel);
    if (failed(manifest))
      return failure();
    (*manifest)["ptx"] = (ptxName + ".ptx").str();
    files.add(
        kernel.getSymName().str() + ".json",
        llvm::formatv("{0:2}\n", llvm::json::Value(std::move(*manifest))));
  }
  return success();
}

FailureOr<CompileReport> fa4::compile(ModuleOp module,
                                      const CompileOptions &options,
                                      TimingScope &timing, OutputFiles &files) {
  if (failed(lower(module, timing)))
    return failure();
  FailureOr<std::string> name = nameOf(module);
  if (failed(name))
    return failure();
  std::string nvvm;
  if (options.wants(Artefact::NVVM))
    llvm::raw_string_ostream(nvvm) << module << "\n";
  std::string llvmIR;
  llvm::raw_string_ostream stream(llvmIR);
  EmitPTXOptions back = options.back;
  back.timing = &timing;
  if (options.wants(Artefact::LLVM))
    back.llvmIR = &stream;
  FailureOr<std::string> ptx = emitPTX(module, back);
  if (failed(ptx))
    return failure();
  CompileReport report;
  report.name = *name;
  report.chip = options.back.chip;
  report.ptxBytes = ptx->size();
  if (options.wants(Artefact::NVVM))
    files.add(*name + ".nvvm.mlir", std::move(nvvm));
  if (options.wants(Artefact::LLVM))
    files.add(*name + ".ll", std::move(llvmIR));
  if (!options.ptxas.empty()) {
    TimingScope scope = timing.nest("ptxas");
    if (failed(runPtxas(module, options, *ptx, report, files)))
      return failure();
  }
  if (options.wants(Artefact::PTX) &&
      failed(addManifests(module, *name, files)))
    return failure();
  if (options.wants(Artefact::PTX))
    files.add(*name + ".ptx", std::move(*ptx));
  return report;
}

void CompileReport::print(llvm::raw_ostream &os) const {
  os << llvm::formatv("{0} on {1}: {2} bytes of PTX\n", name, chip, ptxBytes);
  if (ptxas.functions.empty())
    return;
  os << llvm::formatv("  {0,-32} {1,9} {2,8} {3,10} {4,5} {5,12} {6,11}\n",
                      "function", "registers", "barriers", "smem bytes",
                      "stack", "spill stores", "spill loads");
  for (const PtxasFunction &f : ptxas.functions)
    os << llvm::formatv("  {0,-32} {1,9} {2,8} {3,10} {4,5} {5,12} {6,11}\n",
                        f.name, f.registers, f.barriers, f.sharedBytes,
                        f.stackBytes, f.spillStoreBytes, f.spillLoadBytes);
}
