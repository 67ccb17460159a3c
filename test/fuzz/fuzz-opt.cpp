//===- fuzz-opt.cpp - fuzzing passes on IR that nobody meant --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is a module as text. Its first line says what is done with it:
//
//   // fa4-opt tile-schedule
//
// with one of the pipelines below, or none: then the module is parsed, printed
// and parsed again. Whatever fails has to say so in a diagnostic.
//
//===----------------------------------------------------------------------===//

#include "IRMutator.h"
#include "Protocol/TestPasses.h"
#include "TextMutator.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/InitAll.h"
#include "fa4/Pipelines/AttnToNVVM.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using fa4::fuzz::TextMutator;

static constexpr llvm::StringLiteral kHead = "// fa4-opt";

/// All passes, some with options, and the way down from each level. The pass
/// nvvm-to-binary is left out: it is LLVM's back end that it would try.
static ArrayRef<std::string> getPipelines() {
  static const std::vector<std::string> pipelines = [] {
    std::vector<std::string> all = {
        "",
        "attn-decompose",
        "attn-decompose{query-block=0}",
        "arith-expand-fp8",
        "arith-expand-rounding",
        "math-expand-clampf",
        "attn-print-support",
        "import-attention",
        "import-attention,raise-to-attn",
        "raise-to-attn",
        "linalg-generalize-named-ops,linalg-fuse-elementwise-ops,canonicalize,"
        "cse,raise-to-attn",
        "attn-to-tile",
        "attn-to-tile{chip=sm_103a}",
        "tile-subtile",
        "tile-pair-ctas",
        "tile-pair-ctas{pairs=on}",
        "tile-lazy-rescale",
        "tile-lazy-rescale{threshold=0}",
        "tile-warp-specialize",
        "tile-plan",
        "tile-plan{schedule=static}",
        "tile-schedule",
        "tile-schedule{split-arrival=false}",
        "tile-schedule{verify=false}",
        "tile-split-exp",
        "tile-split-exp{fraction=0.5}",
        "tile-assign-work{schedule=static}",
        "tile-assign-work{schedule=clc}",
        "tile-share-buffers",
        "tile-share-buffers{verify=false}",
        "tile-allocate",
        "tile-allocate{verify=false}",
        "tile-verify-protocol",
        "verify-protocol",
        "tile-explore-protocol{max-states=20000}",
        "tile-explore-protocol{max-passes=1 max-states=2000 reduce=false}",
        "tile-split-loop",
        "tile-distribute",
        "tile-unroll",
        "lane-math-to-llvm",
        "tile-to-nvvm",
        "tile-to-nvvm{verify=false}",
        "tile-verify-outputs",
        "attn-to-nvvm",
        "attn-to-nvvm{verify=false}",
    };
    for (const fa4::KernelLevel &level : fa4::getKernelLevels().drop_back())
      all.push_back("attn-to-nvvm{from=" + level.name.str() + "}");
    return all;
  }();
  return pipelines;
}

/// The pipeline that the first line names, or null.
static const std::string *findPipeline(StringRef text) {
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  if (!line.consume_front(kHead))
    return nullptr;
  const std::string *found = llvm::find(getPipelines(), line.trim());
  return found == getPipelines().end() ? nullptr : found;
}

static void fail(StringRef why, StringRef more = "") {
  llvm::errs() << "fuzz-opt: " << why << "\n" << more << "\n";
  __builtin_trap();
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// What is printed parses, and prints as the same.
static void checkRoundTrip(ModuleOp module) {
  std::string once = print(module);
  auto again = parseSourceString<ModuleOp>(once, module.getContext());
  if (!again)
    fail("what is printed does not parse", once);
  if (print(*again) != once)
    fail("what is printed prints otherwise", once);
}

static void run(ModuleOp module, StringRef pipeline, const unsigned &errors) {
  PassManager passes(module.getContext());
  bool ofKernel =
      pipeline.starts_with("tile-") && !pipeline.starts_with("tile-to-");
  OpPassManager &nest = ofKernel ? passes.nest<fa4::tile::KernelOp>() : passes;
  if (failed(parsePassPipeline(pipeline, nest)))
    fail("no such pipeline", pipeline);
  if (failed(passes.run(module)) != (errors != 0))
    fail("a failure without an error, or an error without failure", pipeline);
}

static const DialectRegistry &getDialects() {
  static const DialectRegistry registry = [] {
    DialectRegistry registry;
    fa4::registerToolDialects(registry);
    return registry;
  }();
  return registry;
}

/// `--heads`, for whoever makes inputs: all first lines.
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  fa4::registerPasses();
  registerTransformsPasses();
  registerLinalgPasses();
  fa4::tile::registerTestPasses();
  if (*argc == 2 && StringRef((*argv)[1]) == "--heads") {
    for (const std::string &pipeline : getPipelines())
      llvm::outs() << kHead << " " << pipeline << "\n";
    exit(0);
  }
  return 0;
}

/// LLVM 22's parser of linalg.generic crashes where an iterator type is
/// something else than these.
static bool hasUnknownIterator(StringRef text) {
  while (true) {
    text = text.split("iterator_types").second;
    if (text.empty())
      return false;
    SmallVector<StringRef> parts;
    text.take_until([](char c) { return c == ']'; }).split(parts, '"');
    for (auto [i, part] : llvm::enumerate(parts))
      if (i % 2 == 0 ? part.find_first_not_of(" =[,") != StringRef::npos
                     : part != "parallel" && part != "reduction")
        return true;
  }
}

/// LLVM 22's parser of the short form of linalg.reduce crashes where an operand
/// is no tensor or buffer.
static bool hasScalarReduce(StringRef text) {
  while (true) {
    text = text.split("linalg.reduce {").second;
    if (text.empty())
      return false;
    StringRef types = text.split("ins(").second.split(':').second.ltrim();
    if (!types.starts_with("tensor<") && !types.starts_with("memref<"))
      return true;
  }
}

/// LLVM 22's parsers of linalg's operations with dimensions use the list of
/// these where it is none.
static bool hasNoDimensions(StringRef text, StringRef keyword) {
  while (true) {
    text = text.split(keyword).second;
    if (text.empty())
      return false;
    StringRef list = text.ltrim().take_until([](char c) { return c == ']'; });
    if (!list.consume_front("[") ||
        list.find_first_not_of("0123456789, ") != StringRef::npos ||
        list.size() > 64)
      return true;
  }
}

/// Whether a text is one on which LLVM 22's parsers crash.
static bool crashesParser(StringRef text) {
  // A dense array of `index` has a null element type.
  return text.contains("array<index") || hasUnknownIterator(text) ||
         hasScalarReduce(text) || hasNoDimensions(text, "dimensions =") ||
         hasNoDimensions(text, "permutation =");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The parser wants a zero at the end.
  std::string text(reinterpret_cast<const char *>(data), size);
  const std::string *pipeline = findPipeline(text);
  if (!pipeline || StringRef(text).contains('\0'))
    return -1;
  if (crashesParser(text))
    return -1;
  MLIRContext context(getDialects(), MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(pipeline->rfind("import-", 0) == 0);
  unsigned errors = 0;
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said = diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      said += note.str();
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (bool(module) == (errors != 0))
    fail("no module without an error, or an error with a module", said);
  if (!module)
    return 0;
  if (pipeline->empty())
    checkRoundTrip(*module);
  else
    run(*module, *pipeline, errors);
  return 0;
}

//===----------------------------------------------------------------------===//
// Mutation
//===----------------------------------------------------------------------===//

// libFuzzer's own mutations: not there where inputs are only replayed.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data,
                                                         size_t size,
                                                         size_t maxSize);

static size_t keep(StringRef text, uint8_t *out, size_t maxSize) {
  size_t size = std::min(text.size(), maxSize);
  memcpy(out, text.data(), size);
  return size;
}

/// The first line, and all others.
static std::pair<StringRef, StringRef> split(StringRef text) {
  return findPipeline(text) ? text.split('\n') : std::pair(StringRef(), text);
}

static std::string withHead(StringRef head, StringRef body) {
  return (head.empty() ? StringRef(kHead) : head).str() + "\n" + body.str();
}

static std::string mutateBytes(StringRef text, size_t maxSize) {
  std::string bytes = text.str();
  bytes.resize(maxSize);
  auto *raw = reinterpret_cast<uint8_t *>(bytes.data());
  bytes.resize(LLVMFuzzerMutate(raw, std::min(text.size(), maxSize), maxSize));
  return bytes;
}

/// Nothing if the text does not parse.
static std::string mutateIR(StringRef text, TextMutator &random) {
  if (crashesParser(text))
    return "";
  MLIRContext context(getDialects(), MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  auto module = parseSourceString<ModuleOp>(text.str(), &context);
  if (!module)
    return "";
  return fa4::fuzz::mutate(*module, random);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  TextMutator mutator(seed);
  auto [head, body] =
      split(StringRef(reinterpret_cast<const char *>(data), size));
  size_t choice = mutator.below(LLVMFuzzerMutate ? 32 : 31);
  // bench/fuzz --pass keeps to the pipelines of its inputs.
  static const bool isOnePipeline = getenv("FA4_FUZZ_ONE_PIPELINE");
  if (choice == 0 && !isOnePipeline) {
    ArrayRef<std::string> all = getPipelines();
    std::string other = (kHead + " " + all[mutator.below(all.size())]).str();
    return keep(withHead(other, body), data, maxSize);
  }
  if (choice == 31)
    return keep(withHead(head, mutateBytes(body, maxSize)), data, maxSize);
  if (choice < 16)
    if (std::string changed = mutateIR(body, mutator); !changed.empty())
      return keep(withHead(head, changed), data, maxSize);
  return keep(withHead(head, mutator.mutate(body)), data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *more,
                                            size_t moreSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  TextMutator mutator(seed);
  auto [head, body] =
      split(StringRef(reinterpret_cast<const char *>(data), size));
  StringRef donor =
      split(StringRef(reinterpret_cast<const char *>(more), moreSize)).second;
  return keep(withHead(head, mutator.cross(body, donor)), out, maxSize);
}
