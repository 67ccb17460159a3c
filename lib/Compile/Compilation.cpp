//===- Compilation.cpp - from a module to its artefacts -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileOnce.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Conversion/TileToNVVM/LaunchSequence.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/PairRanks.h"
#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Analysis/ScheduleTable.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/PlanSearch.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"

using namespace fa4;
using namespace mlir;

/// Checks that a name can be part of a path and of PTX.
static LogicalResult checkName(Operation *op, StringRef name) {
  if (!name.empty() && !llvm::isDigit(name.front()) &&
      llvm::all_of(name, [](char c) {
        return llvm::isAlnum(c) || c == '_' || c == '$';
      }))
    return success();
  return op->emitError()
         << "'" << name
         << "' is no name for PTX, which has letters, digits, _ and $";
}

//===----------------------------------------------------------------------===//
// The chip
//===----------------------------------------------------------------------===//

/// The chip that a kernel has been made for: a tile.kernel says so, and
/// tile-to-nvvm keeps it with what the manifest is made from. Empty if `op` is
/// no kernel, or a function that does not say.
static StringRef getChip(Operation *op) {
  if (auto kernel = dyn_cast<tile::KernelOp>(op))
    return kernel.getChip();
  auto manifest = op->getAttrOfType<DictionaryAttr>(tile::kManifestAttr);
  auto resources =
      manifest ? manifest.getAs<DictionaryAttr>("resources") : DictionaryAttr();
  auto chip = resources ? resources.getAs<StringAttr>("chip") : StringAttr();
  return chip ? chip.getValue() : StringRef();
}

/// Kernels are made for a chip by the first passes; what comes after them
/// cannot compile a kernel for another one.
static LogicalResult checkChips(ModuleOp module,
                                const CompileOptions &options) {
  if (!options.isChipGiven)
    return success();
  for (Operation &op : *module.getBody()) {
    StringRef chip = getChip(&op);
    if (!chip.empty() && chip != options.back.chip)
      return op.emitError("this kernel is for ")
             << chip << ", but --chip=" << options.back.chip << " was given";
  }
  return success();
}

/// The chip of the kernels in a module that becomes one PTX file.
static FailureOr<std::string> findChip(ModuleOp module,
                                       const CompileOptions &options) {
  Operation *first = nullptr;
  for (Operation &op : *module.getBody()) {
    StringRef chip = getChip(&op);
    if (chip.empty())
      continue;
    if (first && chip != getChip(first))
      return op.emitError("this kernel is for ")
             << chip << ", and '"
             << SymbolTable::getSymbolName(first).getValue() << "' is for "
             << getChip(first)
             << "; kernels of a module that has a name are in one PTX file, "
                "which is for one chip";
    first = first ? first : &op;
  }
  return first ? getChip(first).str() : options.back.chip;
}

/// The chips that the output depends on, of kernels and of what becomes one.
static std::string listChips(ModuleOp module, const CompileOptions &options) {
  llvm::SetVector<StringRef> chips;
  module.walk([&](Operation *op) {
    StringRef chip = isa<attn::AttentionOpInterface>(op)
                         ? StringRef(options.back.chip)
                         : getChip(op);
    if (!chip.empty())
      chips.insert(chip);
  });
  return chips.empty() ? options.back.chip : llvm::join(chips, ",");
}

//===----------------------------------------------------------------------===//
// Down to the LLVM dialect
//===----------------------------------------------------------------------===//

static LogicalResult runPasses(ModuleOp module, const CompileOptions &options,
                               TimingScope &timing,
                               llvm::function_ref<void(OpPassManager &)> add) {
  PassManager passes(module.getContext());
  passes.enableTiming(timing);
  // Input has been verified by the parser, and fa4-opt verifies what each pass
  // makes of it; see lower() for what is verified here.
  passes.enableVerifier(false);
  add(passes);
  if (options.configure && failed(options.configure(passes)))
    return failure();
  return passes.run(module);
}

/// Returns true if the module has attention ops, or kernels above the LLVM
/// dialect.
static bool hasKernelsToLower(ModuleOp module) {
  return containsOp<attn::AttentionOpInterface, tile::KernelOp>(module);
}

/// Returns true if the module has operations of the LLVM dialect. If so, LLVM's
/// verifier runs as well: hand-written LLVM IR may be invalid in ways that MLIR
/// accepts; what our passes emit is not.
static bool hasLLVM(ModuleOp module) {
  return anyIn(module, [](Operation *op) {
    return isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(
        op->getDialect());
  });
}

/// The first level at which a kernel can look like this, and what of it says
/// so.
static std::pair<StringRef, StringRef> getFirstLevel(tile::KernelOp kernel) {
  if (containsOp<tile::ReadOp, tile::WriteOp>(kernel))
    return {"distribute", "accesses of single threads"};
  auto channels = kernel.getBody().getOps<tile::ChannelOp>();
  if (llvm::any_of(channels,
                   [](tile::ChannelOp op) { return op.getPlaceAttr(); }))
    return {"allocate", "channels that have a place in memory"};
  if (!kernel.getBody().getOps<tile::RoleOp>().empty())
    return {"warp-specialize", "roles"};
  return {"tile", "nothing of later levels"};
}

/// Whether an operation computes the same of more than two elements, which a
/// thread does in parts.
static bool isOnManyColumns(Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() == 0)
    return false;
  auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
  return vector && vector.getNumElements() > 2;
}

/// The last level at which a kernel can look like this, and what of it says
/// so; the last level of all if nothing does.
static std::pair<StringRef, StringRef> getLastLevel(tile::KernelOp kernel) {
  if (kernel.getBody().getOps<tile::RoleOp>().empty())
    return {"assign-work", "no roles"};
  auto channels = kernel.getBody().getOps<tile::ChannelOp>();
  if (!channels.empty() && llvm::none_of(channels, [](tile::ChannelOp op) {
        return bool(op.getPlaceAttr());
      }))
    return {"share-buffers", "channels without a place in memory"};
  if (!anyIn(kernel, [](Operation *op) { return isOnManyColumns(op); }))
    return {getKernelLevels().back().name, ""};
  if (getFirstLevel(kernel).first == "distribute")
    return {"distribute", "operations on more columns than two"};
  return {"split-loop", "operations on tiles"};
}

/// Checks that a kernel has been through the levels up to that at which it
/// enters, and no further.
static LogicalResult checkLevel(tile::KernelOp kernel, unsigned from) {
  StringRef name = getKernelLevels()[from].name;
  auto [first, why] = getFirstLevel(kernel);
  if (from < *findKernelLevel(first))
    return kernel.emitError("has ")
           << why << " already, as from the level '" << first
           << "' on: --from=" << name << " would plan it again";
  auto [last, lack] = getLastLevel(kernel);
  if (from > *findKernelLevel(last))
    return kernel.emitError("has ")
           << lack << ", as up to the level '" << last << "': --from=" << name
           << " would leave out the levels behind it";
  return success();
}

/// Checks that the input fits the level at which it enters: a kernel that has
/// roles already must not be planned again.
static LogicalResult checkStart(ModuleOp module,
                                const CompileOptions &options) {
  auto kernels = module.getOps<tile::KernelOp>();
  if (options.from && kernels.empty() &&
      *options.from + 1 < getKernelLevels().size())
    return module.emitError("no tile.kernel, which a file of the level '")
           << getKernelLevels()[*options.from].name << "' has";
  if (options.from) {
    for (tile::KernelOp kernel : kernels)
      if (failed(checkLevel(kernel, *options.from)))
        return failure();
    return success();
  }
  for (tile::KernelOp kernel : kernels)
    if (!kernel.getBody().getOps<tile::RoleOp>().empty())
      return kernel.emitError(
          "has roles already; --from=LEVEL says which level it is at");
  return success();
}

/// The name of the level at which CTAs become pairs.
static constexpr StringLiteral decidesOnPairs = "pair-ctas";

/// How the CTAs of each kernel can work in pairs, by its name.
using PairPlans = llvm::StringMap<tile::PairPlan>;

/// Finds the plans that the next level, which decides on pairs, has.
static PairPlans findPairPlans(ModuleOp module) {
  PairPlans plans;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    if (kernel.getCluster())
      continue;
    auto found = tile::findPairPlan(kernel);
    if (auto *plan = std::get_if<tile::PairPlan>(&found))
      plans.try_emplace(kernel.getSymName(), std::move(*plan));
  }
  return plans;
}

/// Adds to the report what a search finds for kernels that have no plan. The
/// next level makes one for these, and does not tell what it has tried.
static void addPlans(ModuleOp module, const KernelOptions &options,
                     RunReport &report) {
  llvm::raw_string_ostream os(report.tables);
  for (auto kernel : module.getOps<tile::KernelOp>())
    if (!kernel.getPlan())
      tile::printPlanSearch(
          kernel, tile::searchPlan(kernel, getPlanOptions(options)), os);
}

/// Adds the report's tables for which the level has the information.
static void addTables(ModuleOp module, StringRef level, const PairPlans &pairs,
                      RunReport &report) {
  llvm::raw_string_ostream os(report.tables);
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    if (level == decidesOnPairs)
      if (auto plan = pairs.find(kernel.getSymName()); plan != pairs.end())
        tile::printPairFigures(kernel, plan->second, os);
    if (level == "schedule")
      tile::printSchedule(kernel, os);
    if (level == "split-exp") {
      tile::printRoofline(kernel, os);
      if (std::optional<tile::ExpSplit> split = tile::computeRoofline(kernel))
        report.rooflines.try_emplace(kernel.getSymName(), *split);
    }
    if (level == "allocate")
      tile::printMemoryMap(kernel, os);
  }
}

/// Emits an error if a level is to be written that the input has already
/// passed.
static LogicalResult checkLevels(ModuleOp module, const CompileOptions &options,
                                 unsigned first) {
  for (unsigned level : options.levels)
    if (level < first)
      return module.emitError("is past the level '")
             << getKernelLevels()[level].name << "', which --emit asks for";
  return success();
}

/// Returns the last level that the pipeline runs. It is the last level to be
/// written if nothing else is asked for, so that IR can be looked at although a
/// later pass would refuse it.
static unsigned lastLevel(const CompileOptions &options) {
  bool isWhole = options.levels.empty() || options.report ||
                 !options.ptxas.empty() || options.wants(Artefact::LLVM) ||
                 options.wants(Artefact::PTX);
  return isWhole ? getKernelLevels().size() - 1
                 : *llvm::max_element(options.levels);
}

/// Runs the pipeline and keeps the IR of the levels that are to be written.
static LogicalResult lower(ModuleOp module, const CompileOptions &options,
                           TimingScope &timing,
                           std::vector<std::pair<StringRef, std::string>> &ir,
                           RunReport &report) {
  ArrayRef<KernelLevel> levels = getKernelLevels();
  // Input in the LLVM dialect only goes through the last level.
  unsigned first = options.from ? *options.from + 1 : 0;
  if (!hasKernelsToLower(module)) {
    if (!options.from && failed(findKernels(module)))
      return failure();
    first = levels.size() - 1;
  }
  if (failed(checkStart(module, options)) ||
      failed(checkLevels(module, options, first)))
    return failure();
  PairPlans pairs;
  for (unsigned i = first; i <= lastLevel(options); ++i) {
    if (options.report && levels[i].name == decidesOnPairs)
      pairs = findPairPlans(module);
    if (options.report &&
        (levels[i].name == "plan" || levels[i].name == "schedule"))
      addPlans(module, options.kernel, report);
    if (failed(runPasses(module, options, timing, [&](OpPassManager &passes) {
          addKernelLevel(passes, i, lastLevel(options) + 1, options.kernel);
        })))
      return failure();
    bool isWritten = llvm::is_contained(options.levels, i);
    // What leaves the pipeline is verified: the back end counts on valid IR. To
    // verify each level would take as long as most passes.
    if (isWritten || i == lastLevel(options)) {
      TimingScope scope = timing.nest("Verifier");
      if (failed(verify(module)))
        return failure();
    }
    if (options.report)
      addTables(module, levels[i].name, pairs, report);
    if (!isWritten)
      continue;
    ir.push_back({levels[i].name, ""});
    // As fa4-opt prints it, with aliases of attributes.
    llvm::raw_string_ostream stream(ir.back().second);
    module.print(stream, OpPrintingFlags().enableDebugInfo(options.locations));
    stream << "\n";
  }
  return success();
}

/// Moves the kernels out of `module` into modules for the back end. Everything
/// that is not in the LLVM dialect stays on the host. If the module has no
/// name, each kernel gets a module of its own.
static FailureOr<std::vector<OwningOpRef<ModuleOp>>> split(ModuleOp module) {
  FailureOr<SmallVector<LLVM::LLVMFuncOp>> kernels = findKernels(module);
  if (failed(kernels))
    return failure();
  bool together = module.getSymName() || kernels->size() == 1;
  std::vector<OwningOpRef<ModuleOp>> result;
  for (LLVM::LLVMFuncOp kernel : *kernels) {
    OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
    (*part)->setAttrs(module->getAttrs());
    if (kernels->size() == 1 || !module.getSymName())
      part->setSymName(kernel.getSymName());
    Operation *named = part->getSymName() == kernel.getSymName()
                           ? kernel.getOperation()
                           : module.getOperation();
    if (failed(checkName(named, *part->getSymName())))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(part->getBody());
    for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
      if (op.getDialect() != kernel->getDialect())
        continue;
      if (together || &op == kernel)
        op.moveBefore(part->getBody(), part->getBody()->end());
      else if (!llvm::is_contained(*kernels, &op))
        builder.clone(op);
    }
    result.push_back(std::move(part));
    if (together)
      break;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// From the LLVM dialect on
//===----------------------------------------------------------------------===//

/// Emits an error on a kernel that spills or needs a stack, unless that is
/// allowed: spills cost more than any schedule gains.
static LogicalResult checkLocalMemory(ModuleOp module,
                                      const CompileOptions &options,
                                      CompileReport &report) {
  bool ok = true;
  for (const PtxasFunction &function : report.ptxas.functions) {
    if (!function.usesLocalMemory())
      continue;
    Operation *op = module.lookupSymbol(function.name);
    op = op ? op : module.getOperation();
    InFlightDiagnostic diagnostic =
        options.allowSpills ? op->emitWarning() : op->emitError();
    diagnostic << "'" << function.name << "' uses local memory on "
               << report.chip << ": " << function.stackBytes
               << " bytes stack frame, " << function.spillStoreBytes
               << " bytes spill stores, " << function.spillLoadBytes
               << " bytes spill loads";
    ok &= options.allowSpills;
  }
  report.hasTooFewRegisters = !ok;
  return success(ok);
}

/// Returns true for an advisory that ptxas waits for MMAs where the kernel does
/// not, which takes most of their speed: C7509 to C7519, and C7602 of later
/// versions.
static bool saysThatMmasWait(StringRef advisory) {
  if (!advisory.consume_front("(C"))
    return false;
  unsigned number;
  return !advisory.consumeInteger(10, number) &&
         ((7509 <= number && number <= 7519) || number == 7602);
}

static LogicalResult runPtxas(ModuleOp module, const CompileOptions &options,
                              StringRef ptx, CompileReport &report,
                              OutputFiles &files) {
  llvm::Expected<PtxasResult> result =
      assemble(options.ptxas, ptx, report.chip, options.ptxasArguments);
  if (!result) {
    std::string message = llvm::toString(result.takeError());
    if (!options.ptxasIsOptional || !isPtxasTooOld(message))
      return module.emitError(message);
    report.notChecked = options.ptxas + " is too old";
    return success();
  }
  bool mmasWait = false;
  for (StringRef advisory : result->report.advisories) {
    bool isError = saysThatMmasWait(advisory) && !options.allowSpills;
    (isError ? module.emitError("ptxas: ") : module.emitWarning("ptxas: "))
        << advisory;
    mmasWait |= isError;
  }
  report.hasTooFewRegisters = mmasWait;
  if (mmasWait)
    return failure();
  report.ptxas = std::move(result->report);
  if (failed(checkLocalMemory(module, options, report)))
    return failure();
  if (options.wants(Artefact::Cubin))
    files.add(report.name + ".cubin", std::move(result->cubin));
  return success();
}

static void addManifest(const Twine &name, llvm::json::Object manifest,
                        OutputFiles &files) {
  files.add(name + ".json",
            llvm::formatv("{0:2}\n", llvm::json::Value(std::move(manifest))));
}

/// Adds KERNEL.json for each kernel that says how it is launched, and keeps it
/// in `manifests`. The manifest's comment says what made the kernel (`origin`)
/// and what it needs.
static LogicalResult addManifests(ModuleOp module, StringRef ptxName,
                                  const llvm::json::Object &origin,
                                  tile::Manifests &manifests,
                                  OutputFiles &files) {
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!kernel->hasAttr(tile::kManifestAttr))
      continue;
    FailureOr<llvm::json::Object> manifest = tile::buildManifest(kernel);
    if (failed(manifest))
      return failure();
    (*manifest)["ptx"] = (ptxName + ".ptx").str();
    if (llvm::json::Object *comment = manifest->getObject("comment"))
      for (const auto &[key, value] : origin)
        comment->try_emplace(key, value);
    addManifest(kernel.getSymName(), *manifest, files);
    tile::KernelManifest &kept = manifests[kernel.getSymName()];
    kept.manifest = std::move(*manifest);
    auto attr = kernel->getAttrOfType<DictionaryAttr>(tile::kManifestAttr);
    if (auto names = attr.getAs<ArrayAttr>(tile::kArguments))
      for (auto name : names.getAsRange<StringAttr>())
        kept.arguments.push_back(name.str());
  }
  return success();
}

/// Adds FUNCTION.json for each function of the host that launches several
/// kernels: all of its launches.
static LogicalResult addLaunchSequences(ModuleOp host,
                                        const tile::Manifests &manifests,
                                        const llvm::json::Object &origin,
                                        OutputFiles &files) {
  for (auto function : host.getOps<FunctionOpInterface>()) {
    unsigned launches = 0;
    function.walk([&](tile::LaunchOp) { ++launches; });
    if (launches < 2)
      continue;
    FailureOr<llvm::json::Object> sequence =
        tile::buildLaunchSequence(function, manifests);
    if (failed(sequence))
      return failure();
    (*sequence)["comment"] = llvm::json::Object(origin);
    addManifest(function.getName(), std::move(*sequence), files);
  }
  return success();
}

llvm::json::Object fa4::describeOrigin(ModuleOp module,
                                       const CompileOptions &options) {
  llvm::json::Object described{
      {"version", FA4_VERSION},
      {"chip", listChips(module, options)},
      {"llvm_opt_level", options.back.optLevel},
      {"llvm_passes", options.back.passes},
      {"flush_denormals", options.back.flushDenormals}};
  KernelOptions::declareAll([&](StringRef name, auto, auto member) {
    // Whether the kernel is proven does not change it.
    if (name != "verify")
      described[llvm::join(llvm::split(name, '-'), "_")] =
          options.kernel.*member;
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().assumeVerified());
  os << llvm::json::Value(llvm::json::Object(described));
  std::array<uint8_t, 32> hash =
      llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  described.erase("chip");
  described.erase("version");
  return llvm::json::Object{{"options", std::move(described)},
                            {"version", FA4_VERSION},
                            {"hash", llvm::toHex(hash, /*LowerCase=*/true)}};
}

/// Emits PTX and the artefacts that are made from it.
static LogicalResult emit(ModuleOp module, const CompileOptions &options,
                          const llvm::json::Object &origin,
                          tile::Manifests &manifests, TimingScope &timing,
                          OutputFiles &files, CompileReport &report) {
  report.name = module.getSymName()->str();
  FailureOr<std::string> chip = findChip(module, options);
  if (failed(chip))
    return failure();
  report.chip = *chip;
  std::string llvmIR;
  llvm::raw_string_ostream stream(llvmIR);
  EmitPTXOptions back = options.back;
  back.chip = report.chip;
  back.timing = &timing;
  if (options.wants(Artefact::LLVM))
    back.llvmIR = &stream;
  FailureOr<std::string> ptx = emitPTX(module, back);
  if (failed(ptx))
    return failure();
  report.ptxBytes = ptx->size();
  if (options.wants(Artefact::LLVM))
    files.add(report.name + ".ll", std::move(llvmIR));
  report.notChecked = options.notChecked;
  if (!options.ptxas.empty()) {
    TimingScope scope = timing.nest("ptxas");
    if (failed(runPtxas(module, options, *ptx, report, files)))
      return failure();
  }
  if (options.report) {
    for (auto kernel : module.getOps<LLVM::LLVMFuncOp>())
      if (kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
        report.kernels.push_back(kernel.getSymName().str());
    report.ptx = *ptx;
  }
  bool writesManifests = options.wants(Artefact::PTX) && options.manifests;
  OutputFiles unwanted;
  if ((writesManifests || options.report) &&
      failed(addManifests(module, report.name, origin, manifests,
                          writesManifests ? files : unwanted)))
    return failure();
  if (options.wants(Artefact::PTX))
    files.add(report.name + ".ptx", std::move(*ptx));
  return success();
}

/// Adds how long each kernel takes by the clock of the simulator, or why that
/// is not known.
static void addTimes(const tile::Manifests &manifests,
                     const CompileOptions &options, RunReport &report) {
  llvm::raw_string_ostream os(report.times);
  llvm::StringMap<std::string> texts;
  // What is a length in one kernel is one in all: some only have pointers.
  std::set<std::string> lengths;
  for (const auto &kernel : manifests) {
    std::string &text = texts[kernel.getKey()];
    text = llvm::formatv(
        "{0}", llvm::json::Value(llvm::json::Object(kernel.second.manifest)));
    if (auto found = findLengths(text))
      lengths.insert(found->begin(), found->end());
    else
      llvm::consumeError(found.takeError());
  }
  for (const CompileReport &file : report.files)
    for (const std::string &kernel : file.kernels) {
      auto text = texts.find(kernel);
      if (text == texts.end()) {
        os << "no modelled time of @" << kernel
           << ": it does not say how it is launched\n";
        continue;
      }
      auto time = modelTime(text->second, file.ptx, lengths, options.ptxas);
      if (!time) {
        os << "no modelled time of @" << kernel << ": "
           << llvm::toString(time.takeError()) << "\n";
        continue;
      }
      auto roofline = report.rooflines.find(kernel);
      time->print(
          kernel,
          roofline == report.rooflines.end() ? nullptr : &roofline->second, os);
    }
}

static void addLevels(StringRef name,
                      std::vector<std::pair<StringRef, std::string>> &ir,
                      OutputFiles &files) {
  for (auto &[level, text] : ir)
    files.add((name + "." + level + ".mlir").str(), std::move(text));
}

/// Ends a run that only writes levels. The files are named after the kernels
/// that they would become.
static LogicalResult
stopEarly(ModuleOp module, std::vector<std::pair<StringRef, std::string>> &ir,
          OutputFiles &files) {
  auto kernels = module.getOps<tile::KernelOp>();
  if (kernels.empty()) {
    module.emitError("no attention op and no tile.kernel");
    return failure();
  }
  tile::KernelOp first = *kernels.begin();
  bool isNamed = module.getSymName() && !llvm::hasSingleElement(kernels);
  StringRef name = isNamed ? *module.getSymName() : first.getSymName();
  if (failed(checkName(isNamed ? module.getOperation() : first, name)))
    return failure();
  addLevels(name, ir, files);
  return success();
}

/// Emits the artefacts of each module that `split` has made.
static LogicalResult emitParts(ArrayRef<OwningOpRef<ModuleOp>> parts,
                               const CompileOptions &options,
                               const llvm::json::Object &origin,
                               TimingScope &timing, tile::Manifests &manifests,
                               OutputFiles &files, RunReport &report) {
  for (const OwningOpRef<ModuleOp> &part : parts) {
    CompileReport &file = report.files.emplace_back();
    if (failed(
            emit(part.get(), options, origin, manifests, timing, files, file)))
      return failure();
  }
  if (options.report) {
    TimingScope scope = timing.nest("Modelled time");
    addTimes(manifests, options, report);
  }
  return success();
}

LogicalResult fa4::emitKernels(ModuleOp module, const CompileOptions &options,
                               const llvm::json::Object &origin,
                               TimingScope &timing, OutputFiles &files,
                               RunReport &report) {
  FailureOr<std::vector<OwningOpRef<ModuleOp>>> parts = split(module);
  if (failed(parts))
    return failure();
  tile::Manifests manifests;
  return emitParts(*parts, options, origin, timing, manifests, files, report);
}

LogicalResult fa4::compileOnce(ModuleOp module, const CompileOptions &given,
                               TimingScope &timing, OutputFiles &files,
                               RunReport &report) {
  CompileOptions options = given;
  options.back.verify = given.verifyLLVM || hasLLVM(module);
  if (failed(checkChips(module, options)))
    return failure();
  llvm::json::Object origin;
  if (options.wants(Artefact::PTX))
    origin = describeOrigin(module, options);
  std::vector<std::pair<StringRef, std::string>> ir;
  if (failed(lower(module, options, timing, ir, report)))
    return failure();
  if (lastLevel(options) + 1 < getKernelLevels().size())
    return stopEarly(module, ir, files);
  FailureOr<std::vector<OwningOpRef<ModuleOp>>> parts = split(module);
  if (failed(parts))
    return failure();
  addLevels(*parts->front()->getSymName(), ir, files);
  tile::Manifests manifests;
  if (failed(
          emitParts(*parts, options, origin, timing, manifests, files, report)))
    return failure();
  // The kernels have left the module; what launches them is still there.
  if (options.wants(Artefact::PTX) && options.manifests &&
      failed(addLaunchSequences(module, manifests, origin, files)))
    return failure();
  return success();
}

void RunReport::print(llvm::raw_ostream &os) const {
  os << tables;
  for (const CompileReport &file : files)
    file.print(os);
  os << times;
}

void CompileReport::print(llvm::raw_ostream &os) const {
  os << llvm::formatv("{0} on {1}: {2} bytes of PTX\n", name, chip, ptxBytes);
  if (ptxas.functions.empty()) {
    os << "  not checked for spills: " << notChecked << "\n";
    return;
  }
  os << llvm::formatv("  {0,-32} {1,9} {2,8} {3,10} {4,5} {5,12} {6,11}\n",
                      "function", "registers", "barriers", "smem bytes",
                      "stack", "spill stores", "spill loads");
  for (const PtxasFunction &f : ptxas.functions)
    os << llvm::formatv("  {0,-32} {1,9} {2,8} {3,10} {4,5} {5,12} {6,11}\n",
                        f.name, f.registers, f.barriers, f.sharedBytes,
                        f.stackBytes, f.spillStoreBytes, f.spillLoadBytes);
}
