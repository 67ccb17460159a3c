//===- NVVMToBinary.cpp - kernels to embedded PTX and cubins --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Compile/Compilation.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace fa4 {
#define GEN_PASS_DEF_NVVMTOBINARY
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;

namespace {

constexpr unsigned kSharedMemorySpace = 3;

/// What is made of one kernel.
struct KernelFiles {
  std::string object, manifest;
};

struct NVVMToBinaryPass : fa4::impl::NVVMToBinaryBase<NVVMToBinaryPass> {
  using NVVMToBinaryBase::NVVMToBinaryBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    NVVMToBinaryBase::getDependentDialects(registry);
    registerPTXTranslations(registry);
  }
  void runOnOperation() override;

private:
  FailureOr<CompileOptions> getOptions(ModuleOp module) const;
  void replace(LLVM::LLVMFuncOp kernel, KernelFiles files,
               const CompileOptions &options);
};

/// Returns the kernels of a module.
SmallVector<LLVM::LLVMFuncOp> getKernels(ModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() &&
        function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      kernels.push_back(function);
  return kernels;
}

/// Copies the kernels, and what they use, into a module of their own. The
/// attributes of `module`, such as its data layout, are the host's.
OwningOpRef<ModuleOp> copyDeviceCode(ModuleOp module,
                                     ArrayRef<LLVM::LLVMFuncOp> kernels) {
  llvm::SetVector<Operation *> used(kernels.begin(), kernels.end());
  SymbolTable symbols(module);
  for (unsigned i = 0; i < used.size(); ++i)
    if (auto uses = SymbolTable::getSymbolUses(used[i]))
      for (const SymbolTable::SymbolUse &use : *uses)
        if (Operation *symbol = symbols.lookup(
                use.getSymbolRef().getRootReference().getValue()))
          used.insert(symbol);
  OwningOpRef<ModuleOp> device = ModuleOp::create(module.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(device->getBody());
  for (Operation &op : *module.getBody())
    if (used.contains(&op))
      b.clone(op);
  return device;
}

/// The shared memory of kernels that are gone means nothing on the host, nor
/// does their target.
void removeRest(ModuleOp module) {
  for (auto global :
       llvm::make_early_inc_range(module.getOps<LLVM::GlobalOp>()))
    if (global.getAddrSpace() == kSharedMemorySpace &&
        SymbolTable::symbolKnownUseEmpty(global, module))
      global.erase();
  StringRef name = LLVM::LLVMDialect::getTargetTripleAttrName();
  if (auto triple = module->getAttrOfType<StringAttr>(name))
    if (triple.getValue().starts_with("nvptx"))
      module->removeAttr(name);
}

FailureOr<CompileOptions> NVVMToBinaryPass::getOptions(ModuleOp module) const {
  CompileOptions options;
  options.back.chip = chip;
  // Kernels that say their chip do not ask for this one.
  if (failed(checkPTXTarget(module, options.back)))
    return failure();
  options.artefacts = {Artefact::PTX};
  if (format == "ptx")
    return options;
  if (format != "cubin")
    return module.emitError("nvvm-to-binary: format must be ptx or cubin, got "
                            "'")
           << format << "'";
  options.artefacts.push_back(Artefact::Cubin);
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return module.emitError("nvvm-to-binary: ")
           << llvm::toString(ptxas.takeError());
  options.ptxas = std::move(*ptxas);
  return options;
}

void NVVMToBinaryPass::replace(LLVM::LLVMFuncOp kernel, KernelFiles files,
                               const CompileOptions &options) {
  OpBuilder b(kernel);
  auto manifest = kernel->getAttrOfType<DictionaryAttr>(tile::kManifestAttr);
  StringRef own = tile::getKernelChip(kernel);
  auto target = NVVM::NVVMTargetAttr::get(
      &getContext(), options.back.optLevel, "nvptx64-nvidia-cuda",
      own.empty() ? StringRef(options.back.chip) : own, options.back.features);
  DictionaryAttr properties;
  if (!files.manifest.empty()) {
    NamedAttrList list;
    list.append(tile::kManifestAttr, b.getStringAttr(files.manifest));
    if (Attribute arguments = manifest.get(tile::kArguments))
      list.append(tile::kArgumentsProperty, arguments);
    properties = list.getDictionary(&getContext());
  }
  // The type is what a launch has to pass. The manifest, which the function's
  // attributes have as well, says what the parameters mean.
  auto table = gpu::KernelTableAttr::get(
      &getContext(), {gpu::KernelMetadataAttr::get(kernel.getSymNameAttr(),
                                                   kernel.getFunctionType())});
  auto object =
      gpu::ObjectAttr::get(target,
                           format == "ptx" ? gpu::CompilationTarget::Assembly
                                           : gpu::CompilationTarget::Binary,
                           b.getStringAttr(files.object), properties, table);
  gpu::BinaryOp::create(b, kernel.getLoc(), kernel.getSymName(),
                        /*offloadingHandler=*/Attribute(),
                        ArrayRef<Attribute>(object));
  kernel.erase();
}

void NVVMToBinaryPass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<CompileOptions> options = getOptions(module);
  if (failed(options))
    return signalPassFailure();
  SmallVector<LLVM::LLVMFuncOp> kernels = getKernels(module);
  if (kernels.empty())
    return markAllAnalysesPreserved();
  OwningOpRef<ModuleOp> device = copyDeviceCode(module, kernels);
  OutputFiles files;
  RunReport report;
  TimingScope timing;
  if (failed(emitKernels(*device, *options, describeOrigin(*device, *options),
                         timing, files, report)))
    return signalPassFailure();
  llvm::StringMap<KernelFiles> made;
  for (OutputFiles::File &file : files.all()) {
    auto [name, extension] = StringRef(file.name).rsplit('.');
    if (extension == StringRef(format))
      made[name].object = std::move(file.contents);
    else if (extension == "json")
      made[name].manifest = std::move(file.contents);
  }
  for (LLVM::LLVMFuncOp kernel : kernels)
    replace(kernel, std::move(made[kernel.getSymName()]), *options);
  removeRest(module);
}

} // namespace
