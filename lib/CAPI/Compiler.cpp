//===- Compiler.cpp - attention to kernels, in memory ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-c/Compiler.h"
#include "CAPI.h"
#include "fa4/Compile/Compilation.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/InitAllDialects.h"
#include "fa4/Support/RepeatedErrors.h"
#include "fa4/Support/Tool.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4;
using namespace fa4::capi;
using namespace mlir;

struct Fa4Compilation {
  OutputFiles files;
  std::string report;
};

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

namespace {

/// Hands diagnostics to the caller, and keeps the first error.
class Diagnostics {
public:
  Diagnostics(MLIRContext &context, const Fa4CompileOptions &options)
      : options(options), handler(&context, [this](Diagnostic &diagnostic) {
          report(diagnostic);
          for (Diagnostic &note : diagnostic.getNotes())
            report(note);
        }) {}

  /// The first error; `otherwise` if nobody has said what is wrong.
  Failure rejected(StringRef otherwise) const {
    return {FA4_REJECTED, firstError.empty() ? otherwise.str() : firstError};
  }

private:
  void report(Diagnostic &diagnostic);

  const Fa4CompileOptions &options;
  std::string firstError;
  ScopedDiagnosticHandler handler;
};

} // namespace

/// Returns the place in the file to which a location leads.
static FileLineColLoc findPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location each) {
    place = dyn_cast<FileLineColLoc>(each);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

static Fa4Severity getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return FA4_ERROR;
  case DiagnosticSeverity::Warning:
    return FA4_WARNING;
  case DiagnosticSeverity::Remark:
    return FA4_REMARK;
  case DiagnosticSeverity::Note:
    return FA4_NOTE;
  }
  return FA4_ERROR;
}

void Diagnostics::report(Diagnostic &diagnostic) {
  Fa4Diagnostic given = {};
  given.size = sizeof(given);
  given.severity = getSeverity(diagnostic.getSeverity());
  std::string message = diagnostic.str(), file, place;
  given.message = message.c_str();
  if (FileLineColLoc at = findPlace(diagnostic.getLocation())) {
    file = at.getFilename().str();
    given.file = file.c_str();
    given.line = at.getLine();
    given.column = at.getColumn();
    place = file + ": ";
    if (given.line)
      place = llvm::formatv("{0}:{1}:{2}: ", file, given.line, given.column);
  }
  if (given.severity == FA4_ERROR && firstError.empty())
    firstError = place + message;
  if (options.handler)
    options.handler(&given, options.userData);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static bool readValue(StringRef text, bool &value) {
  if (text == "true" || text == "false")
    return value = text == "true", true;
  return false;
}
static bool readValue(StringRef text, double &value) {
  return !text.getAsDouble(value);
}
static bool readValue(StringRef text, int64_t &value) {
  return !text.getAsInteger(10, value);
}
static bool readValue(StringRef text, std::string &value) {
  value = text.str();
  return true;
}

/// Reads the options of the pipeline, "schedule=lpt mmas-ahead=true".
static Failure readPipeline(StringRef text, KernelOptions &options) {
  SmallVector<StringRef> given;
  text.split(given, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef option : given) {
    auto [name, value] = option.split('=');
    SmallVector<StringRef> known;
    bool isKnown = false, isRead = false;
    KernelOptions::declareAll(
        [&, name = name, value = value](StringRef each, auto, auto member) {
          known.push_back(each);
          if (each != name)
            return;
          isKnown = true;
          isRead = readValue(value, options.*member);
        });
    if (!isKnown)
      return {FA4_CANNOT_RUN, "pipeline: there is no option '" + name + "'; " +
                                  suggestName(name, known)};
    if (!isRead)
      return {FA4_CANNOT_RUN,
              "pipeline: '" + value + "' is no value of " + name};
  }
  if (std::optional<std::string> problem = options.check())
    return {FA4_CANNOT_RUN, "pipeline: " + *problem};
  return {};
}

static Failure readOptions(const Fa4CompileOptions &given,
                           CompileOptions &options) {
  std::vector<std::string> emit;
  for (StringRef name : llvm::split(textOr(given.emit, "ptx"), ','))
    emit.push_back(name.str());
  if (llvm::Error error = readEmit(emit, options))
    return {FA4_CANNOT_RUN, std::move(error)};
  if (llvm::Error error = readFrom(textOr(given.from, ""), options))
    return {FA4_CANNOT_RUN, std::move(error)};
  options.kernel.chip = options.back.chip =
      textOr(given.chip, KernelOptions().chip).str();
  options.isChipGiven = given.chip;
  Failure failure = readPipeline(textOr(given.pipeline, ""), options.kernel);
  if (failure.status != FA4_OK)
    return failure;
  options.allowSpills = given.allowSpills;
  options.report = given.report;
  options.locations = given.locations;
  VerifyPtx verify = given.verifyPtx == FA4_VERIFY_PTX_YES ? VerifyPtx::Yes
                     : given.verifyPtx == FA4_VERIFY_PTX_NO
                         ? VerifyPtx::No
                         : VerifyPtx::IfFound;
  if (llvm::Error error = choosePtxas(verify, textOr(given.ptxas, ""), options))
    return {FA4_CANNOT_RUN, std::move(error)};
  return {};
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// All dialects: made once, as that takes longer than a small kernel's first
/// levels.
static const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry();
    registerToolDialects(*made);
    registerPTXTranslations(*made);
    return made;
  }();
  return *registry;
}

static Failure compileText(StringRef text, const Fa4CompileOptions *given,
                           Fa4Compilation &result) {
  Fa4CompileOptions all = {};
  Failure failure = readStruct(given, "Fa4CompileOptions", all);
  if (failure.status != FA4_OK)
    return failure;
  CompileOptions options;
  failure = readOptions(all, options);
  if (failure.status != FA4_OK)
    return failure;
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  Diagnostics diagnostics(context, all);
  RepeatedErrors repeated(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      text, ParserConfig(&context), textOr(all.inputName, "-"));
  if (!module)
    return diagnostics.rejected("the input does not parse");
  TimingScope timing;
  FailureOr<RunReport> report = compile(*module, options, timing, result.files);
  if (failed(report))
    return diagnostics.rejected("the input was refused");
  if (options.report) {
    llvm::raw_string_ostream os(result.report);
    report->print(os);
  }
  return {};
}

Fa4Status fa4Compile(const char *text, size_t length,
                     const Fa4CompileOptions *options,
                     Fa4Compilation **compilation, char **message) {
  if (compilation)
    *compilation = nullptr;
  return guard(message, [&]() -> Failure {
    if (!text || !compilation)
      return {FA4_CANNOT_RUN, "fa4Compile: text and compilation must not be "
                              "null"};
    auto result = std::make_unique<Fa4Compilation>();
    Failure failure = compileText(StringRef(text, length), options, *result);
    if (failure.status == FA4_OK)
      *compilation = result.release();
    return failure;
  });
}

static Fa4Artefact getArtefact(const OutputFiles::File &file) {
  return {file.name.c_str(), file.contents.c_str(), file.contents.size()};
}

size_t fa4CompilationGetNumArtefacts(const Fa4Compilation *compilation) {
  return compilation ? compilation->files.all().size() : 0;
}

Fa4Artefact fa4CompilationGetArtefact(const Fa4Compilation *compilation,
                                      size_t position) {
  if (position >= fa4CompilationGetNumArtefacts(compilation))
    return {};
  return getArtefact(compilation->files.all()[position]);
}

Fa4Artefact fa4CompilationFindArtefact(const Fa4Compilation *compilation,
                                       const char *suffix) {
  if (compilation && suffix)
    for (const OutputFiles::File &file : compilation->files.all())
      if (StringRef(file.name).ends_with(suffix))
        return getArtefact(file);
  return {};
}

const char *fa4CompilationGetReport(const Fa4Compilation *compilation) {
  return compilation ? compilation->report.c_str() : "";
}

void fa4CompilationDestroy(Fa4Compilation *compilation) { delete compilation; }

//===----------------------------------------------------------------------===//
// Specs
//===----------------------------------------------------------------------===//

/// Writes sizes as the shape of a memref.
static std::string printType(ArrayRef<int64_t> sizes, StringRef element) {
  std::string text = "memref<";
  for (int64_t size : sizes)
    text += (size ? std::to_string(size) : "?") + "x";
  return text + element.str() + ">";
}

static Failure checkSizes(const Fa4SdpaSpec &spec) {
  for (auto [name, size] :
       {std::pair("batch", spec.batch), std::pair("queries", spec.queries),
        std::pair("keys", spec.keys), std::pair("queryHeads", spec.queryHeads),
        std::pair("keyHeads", spec.keyHeads),
        std::pair("headDim", spec.headDim),
        std::pair("headDimV", spec.headDimV)})
    if (size < 0)
      return {FA4_CANNOT_RUN, llvm::formatv("Fa4SdpaSpec.{0} must not be "
                                            "negative, got {1}",
                                            name, size)};
  if (spec.headDim == 0)
    return {FA4_CANNOT_RUN, "Fa4SdpaSpec.headDim must be given"};
  return {};
}

/// Parses what has been printed, so that an error is told where the spec is
/// given and not where it is compiled.
static Failure checkText(StringRef what,
                         llvm::function_ref<bool(MLIRContext &)> parse) {
  MLIRContext context(getRegistry(), MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  Fa4CompileOptions options = {};
  Diagnostics diagnostics(context, options);
  if (parse(context))
    return {};
  return {FA4_CANNOT_RUN,
          what + ": " + diagnostics.rejected("does not parse").message};
}

/// Writes the mask of a spec, with a space in front, if it has one.
static Failure printMask(const Fa4SdpaSpec &spec, std::string &text) {
  if (spec.mask && spec.band)
    return {FA4_CANNOT_RUN, "Fa4SdpaSpec has both mask and band"};
  std::string mask = textOr(spec.mask, "").str();
  Fa4Mask band = {0, FA4_NO_BOUND, FA4_NO_BOUND, FA4_BOTTOM_RIGHT};
  if (spec.band) {
    Failure failure = readStruct(spec.band, "Fa4Mask", band);
    if (failure.status != FA4_OK)
      return failure;
    if (band.left == FA4_NO_BOUND && band.right == FA4_NO_BOUND)
      return {};
    mask = "window";
    for (auto [name, bound] :
         {std::pair("left", band.left), std::pair("right", band.right)})
      if (bound != FA4_NO_BOUND)
        mask += llvm::formatv(", {0} = {1}", name, bound).str();
    mask += band.alignment == FA4_TOP_LEFT ? ", top_left" : ", bottom_right";
  } else if (!spec.mask) {
    return {};
  }
  text = " mask<" + mask + ">";
  return checkText(spec.band ? "Fa4SdpaSpec.band" : "Fa4SdpaSpec.mask",
                   [&](MLIRContext &context) {
                     context.loadDialect<attn::AttnDialect>();
                     return bool(
                         parseAttribute("#attn.mask<" + mask + ">", &context));
                   });
}

namespace {
/// The text of the operation of a spec.
class SpecPrinter {
public:
  SpecPrinter(const Fa4SdpaSpec &spec, attn::Layout layout)
      : spec(spec), layout(layout), order(attn::getDimOrder(layout)) {
    int64_t dimV = spec.headDimV ? spec.headDimV : spec.headDim;
    q = printType(spec.queries, spec.queryHeads, spec.headDim);
    k = printType(spec.keys, spec.keyHeads, spec.headDim);
    v = printType(spec.keys, spec.keyHeads, dimV);
    out = printType(spec.queries, spec.queryHeads, dimV);
    lse = ::printType({spec.batch, spec.queryHeads, spec.queries}, "f32");
    StringRef list = textOr(spec.captures, "");
    for (StringRef each : llvm::split(list, ',')) {
      auto [name, type] = each.split(':');
      if (list.trim().empty())
        break;
      captureNames += (captureNames.empty() ? "" : ", ") + name.trim().str();
      captureTypes += (captureTypes.empty() ? "" : ", ") + type.trim().str();
    }
  }

  std::string print(StringRef mask) const;

private:
  std::string printType(int64_t length, int64_t heads, int64_t dim) const {
    int64_t sizes[4] = {};
    sizes[*order.batch] = spec.batch;
    sizes[order.seq] = length;
    sizes[order.head] = heads;
    sizes[order.dim] = dim;
    return ::printType(sizes, textOr(spec.dtype, "bf16"));
  }
  std::string printArguments() const;
  /// What the forward op and its gradient share: layout to captures.
  std::string printAttributes(StringRef mask) const;
  std::string printRegion(StringRef name, StringRef first,
                          const char *body) const;

  const Fa4SdpaSpec &spec;
  attn::Layout layout;
  attn::DimOrder order;
  std::string q, k, v, out, lse, captureNames, captureTypes;
};
} // namespace

std::string SpecPrinter::printArguments() const {
  std::string text =
      llvm::formatv("%q: {0}, %k: {1}, %v: {2}, %out: {3}", q, k, v, out);
  if (spec.backward)
    text += llvm::formatv(", %dout: {0}, %lse: {1}, %dq: {2}, %dk: {3}, "
                          "%dv: {4}",
                          out, lse, q, k, v)
                .str();
  else if (spec.lse)
    text += ", %lse: " + lse;
  if (spec.captures)
    text += ", " + std::string(spec.captures);
  return text;
}

std::string SpecPrinter::printAttributes(StringRef mask) const {
  std::string text =
      llvm::formatv(" layout<{0}>{1}", attn::stringifyLayout(layout), mask);
  llvm::raw_string_ostream os(text);
  if (spec.scale != 0)
    os << " scale(" << llvm::format("%.17e", spec.scale) << ")";
  if (spec.backward && spec.deterministic)
    os << " deterministic";
  if (!captureNames.empty())
    os << " captures(" << captureNames << " : " << captureTypes << ")";
  return text;
}

std::string SpecPrinter::printRegion(StringRef name, StringRef first,
                                     const char *body) const {
  if (!body)
    return "";
  std::string more =
      spec.captures ? ", " + std::string(spec.captures) : std::string();
  return llvm::formatv("\n    {0}({1}%b: index, %h: index, %i: index, %j: "
                       "index{2}) {{\n{3}\n    }",
                       name, first, more, body);
}

std::string SpecPrinter::print(StringRef mask) const {
  std::string text = llvm::formatv("func.func @{0}({1}) {{\n",
                                   textOr(spec.name, "sdpa"), printArguments());
  llvm::raw_string_ostream os(text);
  if (spec.backward)
    os << "  attn.sdpa_backward %q, %k, %v out(%out) dout(%dout) lse(%lse)"
       << printAttributes(mask) << " outs(%dq, %dk, %dv : " << q << ", " << k
       << ", " << v << ") : " << q << ", " << k << ", " << v << ", " << out
       << ", " << out << ", " << lse;
  else
    os << "  attn.sdpa %q, %k, %v" << printAttributes(mask) << " outs(%out"
       << (spec.lse ? ", %lse" : "") << " : " << out
       << (spec.lse ? ", " + lse : "") << ") : " << q << ", " << k << ", " << v;
  os << printRegion("score_mod", "%s: f32, ", spec.scoreMod)
     << printRegion("mask_mod", "", spec.maskMod) << "\n  return\n}\n";
  return text;
}

static Failure printSpec(const Fa4SdpaSpec &spec, std::string &text) {
  Failure failure = checkSizes(spec);
  if (failure.status != FA4_OK)
    return failure;
  StringRef layoutName = textOr(spec.layout, "bshd");
  std::optional<attn::Layout> layout = attn::symbolizeLayout(layoutName);
  if (!layout || attn::getDimOrder(*layout).isPacked())
    return {FA4_CANNOT_RUN, "Fa4SdpaSpec.layout must be bshd, bhsd or sbhd, "
                            "got '" +
                                layoutName + "'"};
  std::string mask;
  failure = printMask(spec, mask);
  if (failure.status != FA4_OK)
    return failure;
  text = SpecPrinter(spec, *layout).print(mask);
  return checkText("Fa4SdpaSpec", [&](MLIRContext &context) {
    return bool(parseSourceString<ModuleOp>(text, ParserConfig(&context), "-"));
  });
}

Fa4Status fa4SdpaSpecPrint(const Fa4SdpaSpec *spec, char **text,
                           char **message) {
  if (text)
    *text = nullptr;
  return guard(message, [&]() -> Failure {
    if (!spec || !text)
      return {FA4_CANNOT_RUN,
              "fa4SdpaSpecPrint: spec and text must not be null"};
    Fa4SdpaSpec all = {};
    Failure failure = readStruct(spec, "Fa4SdpaSpec", all);
    std::string printed;
    if (failure.status == FA4_OK)
      failure = printSpec(all, printed);
    if (failure.status == FA4_OK)
      *text = copyText(printed);
    return failure;
  });
}
