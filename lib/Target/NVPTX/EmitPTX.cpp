//===- EmitPTX.cpp - from the LLVM dialect to PTX, in process -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/NVPTX/EmitPTX.h"
#include "HalfCompares.h"
#include "PtxVersion.h"
#include "TensorMemoryRegisters.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using fa4::EmitPTXOptions;

static const char *const kTriple = "nvptx64-nvidia-cuda";

//===----------------------------------------------------------------------===//
// Diagnostics of LLVM
//===----------------------------------------------------------------------===//

namespace {

/// Turns LLVM's diagnostics into MLIR diagnostics on the function that they
/// concern.
class DiagnosticsToMLIR final : public llvm::DiagnosticHandler {
public:
  explicit DiagnosticsToMLIR(ModuleOp module) : module(module) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    StringRef message = StringRef(text).trim();
    switch (info.getSeverity()) {
    case llvm::DS_Error:
      HasErrors = true;
      opOf(info)->emitError() << "NVPTX back end: " << message;
      break;
    case llvm::DS_Warning:
      opOf(info)->emitWarning() << "NVPTX back end: " << message;
      break;
    case llvm::DS_Remark:
    case llvm::DS_Note:
      break;
    }
    return true;
  }

private:
  Operation *opOf(const llvm::DiagnosticInfo &info) {
    // LLVM's casts know the two located diagnostics, but not their common base
    // class.
    const llvm::DiagnosticInfoWithLocationBase *located =
        llvm::dyn_cast<llvm::DiagnosticInfoUnsupported>(&info);
    if (!located)
      located = llvm::dyn_cast<llvm::DiagnosticInfoResourceLimit>(&info);
    if (located)
      if (Operation *function = SymbolTable::lookupSymbolIn(
              module, located->getFunction().getName()))
        return function;
    return module;
  }

  ModuleOp module;
};

} // namespace

/// Reports a fatal error of LLVM. The message of the instruction selector names
/// the function in its last line and the node in its first, with addresses that
/// differ from run to run and are left out here.
static void reportFatal(ModuleOp module, StringRef reason) {
  auto [text, functionName] = reason.split("\nIn function: ");
  Operation *op = functionName.empty()
                      ? nullptr
                      : SymbolTable::lookupSymbolIn(module, functionName);
  std::string message = text.split('\n').first.str();
  llvm::Regex address("0x[0-9a-f]+(: |, )?");
  while (address.match(message))
    message = address.sub("", message);
  (op ? op : module.getOperation())->emitError()
      << "NVPTX back end: " << StringRef(message).trim();
}

/// Runs `work`. If LLVM ends it by report_fatal_error or a crash, returns false
/// and sets `reason`; objects that `work` owns must then not be destroyed, as
/// they may be in an invalid state.
static bool runGuarded(llvm::function_ref<void()> work, std::string &reason) {
  // The fatal error handler and the crash recovery are global to the process.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  llvm::ScopedFatalErrorHandler handler(
      [](void *userData, const char *message, bool) {
        *static_cast<std::string *>(userData) = message;
        if (auto *context = llvm::CrashRecoveryContext::GetCurrent())
          context->HandleExit(1);
      },
      &reason);
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  bool ok = recovery.RunSafely(work);
  llvm::CrashRecoveryContext::Disable();
  if (!ok && reason.empty())
    reason = "crashed with status " + std::to_string(recovery.RetCode);
  return ok;
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

static const llvm::Target *nvptxTarget(std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
}

/// LLVM itself only prints a warning to stderr for a chip or feature that it
/// does not know.
static LogicalResult checkSubtarget(ModuleOp module, const llvm::Target &target,
                                    const EmitPTXOptions &options) {
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target.createMCSubtargetInfo(llvm::Triple(kTriple), "", ""));
  if (!info->isCPUStringValid(options.chip))
    return module.emitError()
           << "the NVPTX back end knows no chip '" << options.chip << "'";
  for (StringRef feature : llvm::split(options.features, ',')) {
    StringRef name = feature;
    bool known =
        feature.empty() ||
        ((name.consume_front("+") || name.consume_front("-")) &&
         llvm::any_of(info->getAllProcessorFeatures(),
                      [&](const auto &entry) { return name == entry.Key; }));
    if (!known)
      return module.emitError()
             << "the NVPTX back end knows no feature '" << feature << "'";
  }
  return success();
}

/// Returns LLVM's target, or null after an error on the module.
static const llvm::Target *findTarget(ModuleOp module,
                                      const EmitPTXOptions &options) {
  std::string error;
  const llvm::Target *target = nvptxTarget(error);
  if (!target)
    module.emitError() << "LLVM was built without NVPTX: " << error;
  else if (failed(checkSubtarget(module, *target, options)))
    return nullptr;
  return target;
}

LogicalResult fa4::checkPTXTarget(ModuleOp module,
                                  const EmitPTXOptions &options) {
  return success(findTarget(module, options) != nullptr);
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(ModuleOp module, const EmitPTXOptions &options) {
  const llvm::Target *target = findTarget(module, options);
  if (!target)
    return nullptr;
  std::optional<llvm::CodeGenOptLevel> level =
      llvm::CodeGenOpt::getLevel(int(options.optLevel));
  if (!level) {
    module.emitError() << "no optimisation level " << options.optLevel
                       << "; the levels are 0 to 3";
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      llvm::Triple(kTriple), options.chip, options.features,
      llvm::TargetOptions(), std::nullopt, std::nullopt, *level));
}

namespace {

/// Leaves out passes of the back end that look for what kernelPasses or ptxas
/// have found or find anyway: common subexpressions, four more times; forms of
/// addresses and products for a chain of additions; constants that are
/// expensive; instructions that are better selected in another block or that
/// do not change in a loop. They take a tenth of the time of a compilation.
class BackEndGate final : public llvm::OptPassGate {
public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return !llvm::is_contained({"early-cse", "nary-reassociate", "slsr",
                                "consthoist", "codegenprepare",
                                "early-machinelicm", "machine-cse"},
                               pass);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

static std::unique_ptr<llvm::Module> translate(ModuleOp module,
                                               llvm::LLVMContext &context,
                                               llvm::TargetMachine &machine,
                                               const EmitPTXOptions &options) {
  // The module is verified here, because the translation prints its findings to
  // stderr instead of reporting them.
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(
      module, context, "fa4", /*disableVerification=*/true);
  if (!translated)
    return nullptr;
  const llvm::Triple &triple = translated->getTargetTriple();
  if (!triple.empty() && !triple.isNVPTX()) {
    module.emitError() << "target triple '" << triple.str()
                       << "' is not one of NVPTX";
    return nullptr;
  }
  translated->setTargetTriple(llvm::Triple(kTriple));
  translated->setDataLayout(machine.createDataLayout());
  if (options.flushDenormals)
    for (llvm::Function &function : *translated)
      if (!function.isDeclaration() &&
          !function.hasFnAttribute("denormal-fp-math-f32"))
        function.addFnAttr("denormal-fp-math-f32", "preserve-sign");
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (options.verify && llvm::verifyModule(*translated, &stream)) {
    module.emitError() << "invalid LLVM IR: " << StringRef(errors).trim();
    return nullptr;
  }
  return translated;
}

/// Runs the passes. Returns false and sets `reason` if `passes` is not a valid
/// pipeline.
static bool optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     StringRef passes, std::string &reason) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager pipeline;
  if (llvm::Error error = builder.parsePassPipeline(pipeline, passes)) {
    reason = llvm::toString(std::move(error));
    return false;
  }
  pipeline.run(module, modules);
  return true;
}

static bool generate(llvm::Module &module, llvm::TargetMachine &machine,
                     llvm::SmallVectorImpl<char> &text) {
  llvm::raw_svector_ostream stream(text);
  // The printer writes word by word. It buffers as much as its stream says,
  // which is nothing for a stream into memory.
  stream.SetBufferSize(1 << 16);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile,
                                  /*DisableVerify=*/true))
    return false;
  passes.run(module);
  return true;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

void fa4::registerPTXTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

FailureOr<SmallVector<LLVM::LLVMFuncOp>> fa4::findKernels(ModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() &&
        function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      kernels.push_back(function);
  if (kernels.empty())
    return module.emitError()
           << "no attention op, no tile.kernel and no kernel of the LLVM "
              "dialect, which is an llvm.func with a body and the attribute '"
           << NVVM::NVVMDialect::getKernelFuncAttrName() << "'";
  return kernels;
}

static TimingScope beginPhase(const EmitPTXOptions &options, StringRef name) {
  return options.timing ? options.timing->nest(name) : TimingScope();
}

namespace {
/// The text of the assembly, or why there is none.
struct BackEndResult {
  llvm::SmallString<0> text;
  std::string pipelineError;
  bool canGenerate = true;
};
} // namespace

/// Runs LLVM's passes and its back end, which may end the process: see
/// runGuarded.
static BackEndResult runBackEnd(llvm::Module &module,
                                llvm::TargetMachine &machine,
                                const EmitPTXOptions &options) {
  BackEndResult result;
  {
    TimingScope scope = beginPhase(options, "LLVM optimisation");
    fa4::useTensorMemoryRegisters(module);
    if (!optimize(module, machine, options.passes, result.pipelineError))
      return result;
    fa4::widenHalfCompares(module);
  }
  if (options.llvmIR)
    module.print(*options.llvmIR, nullptr);
  TimingScope scope = beginPhase(options, "NVPTX code generation");
  result.canGenerate = generate(module, machine, result.text);
  return result;
}

FailureOr<std::string> fa4::emitPTX(ModuleOp module,
                                    const EmitPTXOptions &options) {
  if (failed(findKernels(module)))
    return failure();
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(module, options);
  if (!machine)
    return failure();
  auto context = std::make_unique<llvm::LLVMContext>();
  static BackEndGate gate;
  if (machine->getOptLevel() < llvm::CodeGenOptLevel::Aggressive)
    context->setOptPassGate(gate);
  context->setDiagnosticHandler(std::make_unique<DiagnosticsToMLIR>(module));
  std::unique_ptr<llvm::Module> translated;
  {
    TimingScope scope = beginPhase(options, "Translation to LLVM IR");
    translated = translate(module, *context, *machine, options);
  }
  if (!translated)
    return failure();

  std::string reason;
  BackEndResult result;
  bool finished = runGuarded(
      [&] { result = runBackEnd(*translated, *machine, options); }, reason);
  if (!finished) {
    // An earlier error is the cause of this one, which is not reported then.
    if (!context->getDiagHandlerPtr()->HasErrors)
      reportFatal(module, reason);
    // Passes that were interrupted still refer to these objects, so they are
    // leaked.
    (void)translated.release();
    (void)machine.release();
    (void)context.release();
    return failure();
  }
  if (!result.pipelineError.empty())
    return module.emitError() << "LLVM passes: " << result.pipelineError;
  if (!result.canGenerate)
    return module.emitError() << "the NVPTX back end writes no assembly";
  if (context->getDiagHandlerPtr()->HasErrors)
    return failure();
  std::string ptx(result.text);
  claimLowestVersion(ptx, options.chip);
  return ptx;
}
