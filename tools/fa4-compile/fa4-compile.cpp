//===- fa4-compile.cpp - compile attention for Blackwell ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Compile/Compilation.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/InitAll.h"
#include "fa4/Support/FatalErrors.h"
#include "fa4/Support/RepeatedErrors.h"
#include "fa4/Support/Tool.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

using namespace fa4;
using namespace mlir;
namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

namespace {

/// The exit statuses. 0 means that everything was written.
enum Status { kOk = 0, kRejected = 1, kCannotRun = 2 };

/// The command line options. They are constructed in main, so that no other use
/// of this code registers them.
struct Options {
  cl::OptionCategory category{"fa4-compile options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<input.mlir>"),
                             cl::init("-"), cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::desc("Folder of the results; - prints the only one"),
      cl::value_desc("folder"), cl::init("."), cl::cat(category)};
  cl::opt<std::string> chip{
      "chip",
      cl::desc("Chip to compile for: sm_90a, sm_100a or sm_103a (default: that "
               "of the kernel, if the input has one, else sm_100a)"),
      cl::value_desc("sm_100a"), cl::init("sm_100a"), cl::cat(category)};
  cl::list<std::string> emit{
      "emit",
      cl::desc("What to write, comma-separated (default: ptx). A level of the "
               "pipeline (see below): <kernel>.<level>.mlir. llvm: LLVM IR, "
               "<kernel>.ll. ptx: <kernel>.ptx, and <kernel>.json for fa4-sim. "
               "cubin: <kernel>.cubin, by ptxas"),
      cl::value_desc("what"), cl::CommaSeparated, cl::cat(category)};
  cl::opt<std::string> from{
      "from", cl::desc("Level of the pipeline that the input is at"),
      cl::value_desc("level"), cl::cat(category)};
  /// Those of the pipeline, which set `kernel`.
  KernelOptions kernel;
  std::vector<std::unique_ptr<cl::Option>> ofPipeline = [this] {
    std::vector<std::unique_ptr<cl::Option>> options;
    KernelOptions::declareAll(
        [&](StringRef name, StringRef description, auto member) {
          using T = std::decay_t<decltype(kernel.*member)>;
          options.push_back(
              std::make_unique<cl::opt<T, true, KernelOptions::Parser<T>>>(
                  name, cl::desc(description), cl::location(kernel.*member),
                  cl::init(KernelOptions().*member), cl::cat(category)));
        });
    return options;
  }();
  cl::opt<cl::boolOrDefault> verifyPtx{
      "verify-ptx",
      cl::desc(
          "Have ptxas check that the PTX assembles without spills (default: "
          "if a ptxas is found; =false leaves it out, as does FA4_VERIFY_PTX=0 "
          "in the environment)"),
      cl::cat(category)};
  cl::opt<bool> allowSpills{
      "allow-spills",
      cl::desc("Warn of spills and stack that ptxas reports, instead of "
               "refusing the kernel"),
      cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("ptxas to use (default: FA4_PTXAS, then that of CUDA_HOME, "
               "CUDA_PATH, CUDA_ROOT, PATH, /usr/local/cuda, or of the wheel "
               "nvidia-cuda-nvcc in VIRTUAL_ENV, FA4_VENV or beside fa4)"),
      cl::value_desc("path"), cl::cat(category)};
  cl::list<std::string> ptxasArguments{
      "Xptxas", cl::desc("Argument for ptxas; may be given more than once"),
      cl::value_desc("argument"), cl::cat(category)};
  cl::opt<unsigned> optLevel{
      "llvm-opt-level", cl::desc("Level of LLVM's code generation, 0 to 3"),
      cl::init(EmitPTXOptions().optLevel), cl::cat(category)};
  cl::opt<std::string> passes{
      "llvm-passes", cl::desc("LLVM's passes over LLVM IR, in opt's syntax"),
      cl::value_desc("pipeline"), cl::init(kernelPasses), cl::cat(category)};
  cl::opt<bool> verifyLLVM{
      "verify-llvm",
      cl::desc("Check LLVM IR with LLVM's verifier where it is made of "
               "attention ops and tile programs, too"),
      cl::cat(category)};
  cl::opt<bool> keepDenormals{
      "keep-denormals", cl::desc("Do not flush subnormal f32 values to zero"),
      cl::cat(category)};
  cl::opt<bool> report{
      "report", cl::desc("Print what the kernels use (to stderr with -o -)"),
      cl::cat(category)};
  cl::opt<bool> explain{
      "explain",
      cl::desc("Say what to change in an op for which there is no kernel, and "
               "which steps wait for which where the proof of roles fails"),
      cl::cat(category)};
};

} // namespace

static const FatalErrorExit kFatalErrors{"fa4-compile", kCannotRun};

static Status fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa4-compile") << message << "\n";
  return kCannotRun;
}

/// Reads the options of compile(), and finds ptxas if it will be run.
static FailureOr<CompileOptions> readOptions(const Options &options) {
  CompileOptions compile;
  compile.configure = [](PassManager &passes) {
    return applyPassManagerCLOptions(passes);
  };
  if (llvm::Error error =
          readEmit({options.emit.begin(), options.emit.end()}, compile))
    return fail("--" + llvm::toString(std::move(error))), failure();
  if (llvm::Error error = readFrom(options.from, compile))
    return fail("--" + llvm::toString(std::move(error))), failure();
  compile.kernel = options.kernel;
  compile.kernel.chip = options.chip;
  if (std::optional<std::string> problem = compile.kernel.check())
    return fail("--" + *problem), failure();
  compile.manifests = options.output != "-";
  compile.report = options.report;
  compile.back.chip = options.chip;
  compile.isChipGiven = options.chip.getNumOccurrences() > 0;
  compile.back.optLevel = options.optLevel;
  compile.back.passes = options.passes;
  compile.verifyLLVM = options.verifyLLVM;
  compile.back.flushDenormals = !options.keepDenormals;
  compile.allowSpills = options.allowSpills;
  compile.ptxasArguments.assign(options.ptxasArguments.begin(),
                                options.ptxasArguments.end());
  if (options.output == "-" &&
      (compile.artefacts.size() + compile.levels.size() > 1 ||
       compile.wants(Artefact::Cubin)))
    return fail("-o - prints one text; --emit names something else"), failure();
  VerifyPtx verify = options.verifyPtx == cl::BOU_TRUE    ? VerifyPtx::Yes
                     : options.verifyPtx == cl::BOU_FALSE ? VerifyPtx::No
                                                          : VerifyPtx::IfFound;
  if (llvm::Error error = choosePtxas(verify, options.ptxas, compile))
    return fail(llvm::toString(std::move(error))), failure();
  return compile;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static cl::OptionCategory &passCategory() {
  static cl::OptionCategory category{
      "IR between passes",
      "Printing and reproducing, as in fa4-opt. A level is a pipeline of its "
      "own: a reproducer holds the level that failed, for fa4-opt "
      "--run-reproducer"};
  return category;
}

/// Of MLIR's options those that mean something here are part of --help.
static void showPassOptions() {
  auto &known = cl::getRegisteredOptions();
  for (StringRef name :
       {"mlir-print-ir-before", "mlir-print-ir-after",
        "mlir-print-ir-before-all", "mlir-print-ir-after-all",
        "mlir-print-ir-after-change", "mlir-print-ir-after-failure",
        "mlir-print-ir-module-scope", "mlir-print-ir-tree-dir",
        "mlir-pass-pipeline-crash-reproducer",
        "mlir-pass-pipeline-local-reproducer", "mlir-pass-statistics",
        "mlir-print-debuginfo", "mlir-print-op-generic",
        "mlir-print-local-scope", "mlir-timing", "mlir-timing-display"})
    if (auto option = known.find(name); option != known.end())
      option->second->addCategory(passCategory());
}

/// Says of each attention op that was refused what to change.
static void explainRefused(ModuleOp module, const KernelOptions &options) {
  const TargetDescription *target = lookupTarget(options.chip);
  if (!target)
    return;
  TileChoice choice{/*keys=*/0, options.smallerTiles};
  module.walk([&](attn::AttentionOpInterface op) {
    if (auto advice = adviseUnsupported(op, *target, choice))
      op->emitRemark("what to change: ") << *advice;
  });
}

/// Says of kernels without a proof which steps wait for which. The file may be
/// at a level that is proven only after other passes, so that its kernels are
/// looked at before those that a pass was given.
static void explainUnproven(llvm::SourceMgr &sourceMgr, ModuleOp failed) {
  auto explain = [](ModuleOp module) {
    bool isExplained = false;
    for (auto kernel : module.getOps<tile::KernelOp>())
      isExplained |= tile::explainProtocol(kernel);
    return isExplained;
  };
  OwningOpRef<ModuleOp> given =
      parseSourceFile<ModuleOp>(sourceMgr, failed.getContext());
  if (explain(*given))
    return;
  bool isValid = [&] {
    ScopedDiagnosticHandler quiet(failed.getContext(),
                                  [](Diagnostic &) { return success(); });
    return succeeded(verify(failed));
  }();
  if (isValid)
    explain(failed);
}

static Status run(const Options &options, TimingScope &timing) {
  FailureOr<CompileOptions> compileOptions = readOptions(options);
  if (failed(compileOptions))
    return kCannotRun;
  std::string reason;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      openInputFile(options.input, &reason);
  if (!buffer)
    return fail(reason);

  DialectRegistry registry;
  fa4::registerToolDialects(registry);
  fa4::registerPTXTranslations(registry);
  // Starting threads takes longer than they could save on one kernel. The end
  // of the process frees the context and the module: to erase their operations
  // one by one takes a fiftieth of a compilation's time.
  auto owner =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  MLIRContext &context = *owner;
  llvm::BuryPointer(std::move(owner));
  // Diagnostics do not print the op, because an op may be a whole kernel.
  context.printOpOnDiagnostic(false);
  auto sourceMgr = std::make_shared<llvm::SourceMgr>();
  sourceMgr->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(*sourceMgr, &context);
  RepeatedErrors repeated(context);
  ModuleOp module;
  {
    TimingScope scope = timing.nest("Parser");
    module = parseSourceFile<ModuleOp>(sourceMgr, &context).release();
  }
  if (!module)
    return kRejected;
  llvm::BuryPointer(module.getOperation());

  OutputFiles files;
  // While the back end runs, LLVM's fatal errors are diagnostics of the kernel;
  // see emitPTX.
  llvm::remove_fatal_error_handler();
  FailureOr<RunReport> report = compile(module, *compileOptions, timing, files);
  reportFatalErrorsAs(kFatalErrors);
  if (failed(report)) {
    if (options.explain) {
      explainRefused(module, compileOptions->kernel);
      explainUnproven(*sourceMgr, module);
    }
    return kRejected;
  }
  bool print = options.output == "-";
  if (print && !files.only())
    return fail("-o - prints one text; there are several kernels");
  if (print)
    llvm::outs() << *files.only();
  else if (llvm::Error error = files.writeInto(options.output))
    return fail(llvm::toString(std::move(error)));
  if (options.report)
    report->print(print ? llvm::errs() : llvm::outs());
  return kOk;
}

/// Asks for large pages for the heap. A compilation takes ten megabytes of
/// small pieces, and 2500 faults for pages of 4 kB are a twentieth of its time.
/// Systems without large pages ignore the advice.
static void preferLargePages() {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  constexpr int size = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, size);
  mallopt(M_TRIM_THRESHOLD, 2 * size);
  mallopt(M_TOP_PAD, size);
  // This is more than the heap has left, which grows by `size` more.
  void *volatile block = malloc(1 << 20);
  free(block);
  auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  uintptr_t begin = llvm::alignTo(end - size, 1 << 21);
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

int main(int argc, char **argv) {
  preferLargePages();
  llvm::InitLLVM init(argc, argv);
  setUpTool("fa4-compile");
  reportFatalErrorsAs(kFatalErrors);
  if (std::optional<std::string> problem = findEmptyArgument(argc, argv))
    return fail(*problem);
  Options options;
  registerDefaultTimingManagerCLOptions();
  // --mlir-print-ir-after=PASS knows the passes that are registered by then. To
  // register them takes longer than to compile a small kernel's first level.
  if (llvm::any_of(ArrayRef(argv, argc), [](StringRef argument) {
        return argument.contains("mlir-print-ir-");
      }))
    registerKernelPasses();
  registerPassManagerCLOptions();
  registerAsmPrinterCLOptions();
  showPassOptions();
  cl::HideUnrelatedOptions({&options.category, &passCategory()});
  cl::extrahelp exitStatus("\nExit status: 0 written, 1 the input was refused, "
                           "2 could not run.\n");
  std::string levels = "\nLevels:";
  for (const KernelLevel &level : getKernelLevels())
    levels += ("\n  " + level.name + ": " + level.description).str();
  levels += "\n";
  cl::extrahelp levelHelp(levels);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Compiles kernels to PTX and cubins.\n", &llvm::errs()))
    return kCannotRun;
  DefaultTimingManager timingManager;
  applyDefaultTimingManagerCLOptions(timingManager);
  TimingScope timing = timingManager.getRootScope();
  return run(options, timing);
}
