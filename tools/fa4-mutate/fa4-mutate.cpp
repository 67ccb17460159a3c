//===- fa4-mutate.cpp - mutation test of the protocol checks ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/MutantCheck.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "fa4/InitAll.h"
#include "fa4/Support/FatalErrors.h"
#include "fa4/Support/OptionValues.h"
#include "fa4/Support/Tool.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/WithColor.h"
#include <limits>
#include <map>

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;
namespace cl = llvm::cl;

static cl::OptionCategory category("fa4-mutate");
static cl::list<std::string>
    inputs(cl::Positional, cl::OneOrMore,
           cl::desc("<MLIR files with kernels of roles>"), cl::cat(category));
static cl::opt<bool> listAll("list", cl::cat(category),
                             cl::desc("Print each mutant and its verdicts"));
static cl::opt<bool>
    asJson("json", cl::cat(category),
           cl::desc("Print a JSON object a line for each mutant, no table"));
static cl::opt<std::string>
    only("only", cl::value_desc("N[:M]"), cl::cat(category),
         cl::desc("Only mutant N, or N to M, counted from 0"));
static cl::opt<std::string> onlyKind(
    "kind", cl::value_desc("name"), cl::cat(category),
    cl::desc("Only mutants of that kind, e.g. weaken. Some kinds "
             "are made only if asked for: unfenced, weaken unfenced, ahead"));
static cl::opt<bool>
    reduce("reduce", cl::init(true), cl::cat(category),
           cl::desc("Explore one of all orders that are equivalent (default); "
                    "with --reduce=false, each of them"));
static cl::opt<std::string> emitIR(
    "emit", cl::value_desc("N[:M]"), cl::cat(category),
    cl::desc("Print mutant N as IR, or those of N to M that the IR can say, "
             "with '// -----' between them. Asks nobody for a verdict"));
static cl::opt<bool>
    rulesOnly("rules", cl::cat(category),
              cl::desc("Only mutants of attributes and fences, and only the "
                       "rules of placement, barriers and fences"));
static cl::opt<bool>
    listSurvivors("survivors", cl::cat(category),
                  cl::desc("Print the mutants that nothing rejects"));
static cl::opt<bool>
    twice("twice", cl::cat(category),
          cl::desc("Also the mutants of each one that nothing rejects and that "
                   "has IR"));
static cl::opt<int64_t>
    maxPasses("max-passes", cl::init(0), cl::cat(category),
              cl::desc("Passes of a loop that are explored (0: automatic)"));
static cl::opt<uint64_t>
    maxStates("max-states", cl::init(2000000), cl::cat(category),
              cl::desc("States of one mutant that are explored"));

namespace {

struct Counts {
  unsigned mutants = 0, byRules = 0, byBoth = 0, survivors = 0, disagree = 0,
           unknown = 0;
};

using Table =
    llvm::MapVector<std::string, Counts, std::map<std::string, unsigned>>;

} // namespace

static int fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa4-mutate") << message << "\n";
  return 1;
}

/// A range of numbers of mutants.
struct NumberRange {
  uint64_t first = 0, last = std::numeric_limits<uint64_t>::max();
  bool contains(uint64_t number) const {
    return first <= number && number <= last;
  }
};

static NumberRange parseRange(StringRef option, StringRef text) {
  NumberRange range;
  if (text.empty())
    return range;
  auto [first, last] = text.split(':');
  if (!text.contains(':'))
    last = first;
  if (first.getAsInteger(10, range.first) || last.getAsInteger(10, range.last))
    llvm::reportFatalUsageError("--" + option + "=" + text +
                                ": expected N or N:M");
  return range;
}

static StringRef name(Verdict verdict) {
  return verdict == Verdict::Accepted   ? "accepts"
         : verdict == Verdict::Rejected ? "rejects"
                                        : "gave up";
}

namespace {

/// The number of a mutant, or of one of a mutant's mutants.
struct MutantNumber {
  std::optional<uint64_t> of;
  uint64_t number;
};

raw_ostream &operator<<(raw_ostream &os, const MutantNumber &number) {
  if (number.of)
    os << *number.of << ".";
  return os << number.number;
}

} // namespace

static void print(MutantNumber number, const Mutation &mutation,
                  const MutantResult &result) {
  llvm::outs() << number << " " << mutation.kind << ": " << mutation.text
               << "\n";
  if (!result.rule.empty()) {
    llvm::outs() << "    rule: " << result.rule << "\n";
    return;
  }
  if (rulesOnly)
    return;
  llvm::outs() << "    verifier " << name(result.verifier) << " "
               << result.verifierSays << "\n    explorer "
               << name(result.explorer) << " " << result.explorerSays << "\n";
}

static void printJson(MutantNumber number, StringRef kernel,
                      const Mutation &mutation, const MutantResult &result,
                      bool isExpressible) {
  llvm::json::Object object{
      {"number", number.number},      {"kernel", kernel},
      {"kind", mutation.kind},        {"text", mutation.text},
      {"expressible", isExpressible}, {"killed", result.isKilled()},
  };
  if (number.of)
    object["of"] = *number.of;
  // Steps are numbered by blocks. Their lines are in the order of the program.
  if (auto place = mutation.op
                       ? mutation.op->getLoc()->findInstanceOf<FileLineColLoc>()
                       : FileLineColLoc())
    object["line"] = place.getLine();
  if (!result.rule.empty()) {
    object["rule"] = result.rule;
  } else if (!rulesOnly) {
    object["verifier"] = name(result.verifier);
    object["explorer"] = name(result.explorer);
    object["verifier_says"] = result.verifierSays;
    object["explorer_says"] = result.explorerSays;
    object["verifier_passes"] = result.verifierPasses;
    object["explorer_passes"] = result.explorerPasses;
  }
  llvm::outs() << llvm::json::Value(std::move(object)) << "\n";
}

namespace {

class MutationTest {
public:
  bool runKernel(KernelOp kernel);
  /// Prints the table. Returns true if no verdicts differ.
  bool finish() const;

private:
  bool emit(MutantChecker &checker, uint64_t number, const Mutation &mutation);
  void ask(MutantChecker &checker, MutantNumber number,
           const Mutation &mutation);
  /// Runs the mutants of a mutant.
  void runMutant(KernelOp kernel, uint64_t number);

  NumberRange range = parseRange(emitIR.empty() ? "only" : "emit",
                                 emitIR.empty() ? only : emitIR);
  uint64_t next = 0, emitted = 0;
  StringRef kernelName;
  Table table;
  double seconds = 0, slowest = 0;
};

} // namespace

/// Prints the mutant that was asked for. Returns false if the IR cannot express
/// it.
bool MutationTest::emit(MutantChecker &checker, uint64_t number,
                        const Mutation &mutation) {
  MutantModule mutant = checker.express(mutation);
  if (!mutant.module) {
    if (range.first != range.last)
      return true;
    llvm::errs() << "error: mutant " << number << ", " << mutation.kind << ": "
                 << mutation.text << ", has no IR\n";
    return false;
  }
  if (emitted++ != 0)
    llvm::outs() << "// -----\n";
  llvm::outs() << "// mutant " << number << " of @" << kernelName << ", "
               << mutation.kind << ": " << mutation.text << "\n";
  mutant.module->print(llvm::outs());
  llvm::outs() << "\n";
  return true;
}

void MutationTest::ask(MutantChecker &checker, MutantNumber number,
                       const Mutation &mutation) {
  MutantResult result = checker.check(mutation);
  Counts &counts = table[mutation.kind];
  ++counts.mutants;
  counts.byRules += !result.rule.empty();
  counts.byBoth += result.verifier == Verdict::Rejected &&
                   result.explorer == Verdict::Rejected;
  counts.survivors += !result.isKilled();
  counts.disagree += result.disagrees();
  counts.unknown += result.explorer == Verdict::Unknown;
  MutantModule mutant;
  bool isFollowed = twice && !number.of && !result.isKilled();
  if (asJson || isFollowed)
    mutant = checker.express(mutation);
  if (asJson)
    printJson(number, kernelName, mutation, result, bool(mutant.module));
  else if (listAll || result.disagrees() ||
           (listSurvivors && !result.isKilled()))
    print(number, mutation, result);
  if (isFollowed && mutant.module)
    runMutant(mutant.kernel, number.number);
}

static std::vector<Mutation> mutate(const ProtocolModel &model) {
  if (llvm::is_contained(kRequestedKinds, onlyKind.getValue()))
    return mutateOnRequest(model, onlyKind);
  std::vector<Mutation> mutations = mutateSteps(model);
  llvm::append_range(mutations, mutateAttributes(model.kernel));
  llvm::append_range(mutations, mutateFences(model.kernel));
  llvm::append_range(mutations, mutateTurns(model.kernel));
  llvm::append_range(mutations, mutatePairs(model.kernel));
  return mutations;
}

/// Returns true if --rules and --kind do not exclude the mutation.
static bool isAskedFor(const Mutation &mutation) {
  return !(rulesOnly && mutation.changeModel) &&
         (onlyKind.empty() || mutation.kind == onlyKind);
}

void MutationTest::runMutant(KernelOp kernel, uint64_t number) {
  FailureOr<ProtocolModel> model = buildCtaModel(kernel);
  assert(succeeded(model) && "was accepted");
  MutantChecker checker(*model, {maxPasses, maxStates, reduce, rulesOnly});
  for (auto [i, mutation] : llvm::enumerate(mutate(*model)))
    if (isAskedFor(mutation))
      ask(checker, {number, i}, mutation);
  seconds += checker.seconds;
  slowest = std::max(slowest, checker.slowest);
}

bool MutationTest::runKernel(KernelOp kernel) {
  FailureOr<ProtocolModel> model = buildCtaModel(kernel);
  if (failed(model))
    return false;
  kernelName = kernel.getSymName();
  MutantChecker checker(*model, {maxPasses, maxStates, reduce, rulesOnly});
  if (emitIR.empty()) {
    MutantResult original = checker.check(*model);
    if (original.isKilled() || original.explorer != Verdict::Accepted) {
      kernel.emitError("is rejected itself: ")
          << original.rule << original.verifierSays << original.explorerSays;
      return false;
    }
  }
  bool isGood = true;
  for (const Mutation &mutation : mutate(*model)) {
    uint64_t number = next++;
    assert(llvm::is_contained(kMutationKinds, mutation.kind));
    if (!range.contains(number) || !isAskedFor(mutation))
      continue;
    if (emitIR.empty())
      ask(checker, {std::nullopt, number}, mutation);
    else
      isGood &= emit(checker, number, mutation);
  }
  seconds += checker.seconds;
  slowest = std::max(slowest, checker.slowest);
  return isGood;
}

static void printTable(const Table &table) {
  llvm::outs() << "| operator | mutants | rules | verifier and explorer | "
                  "only one of them | not explored in full | survive |\n"
                  "|---|---|---|---|---|---|---|\n";
  Counts sum;
  auto row = [](StringRef name, const Counts &c) {
    llvm::outs() << formatv("| {0} | {1} | {2} | {3} | {4} | {5} | {6} |\n",
                            name, c.mutants, c.byRules, c.byBoth, c.disagree,
                            c.unknown, c.survivors);
  };
  for (const auto &[name, c] : table) {
    row(name, c);
    sum.mutants += c.mutants;
    sum.byRules += c.byRules;
    sum.byBoth += c.byBoth;
    sum.survivors += c.survivors;
    sum.disagree += c.disagree;
    sum.unknown += c.unknown;
  }
  row("all", sum);
}

bool MutationTest::finish() const {
  if (range.first != 0 && range.first >= next) {
    llvm::errs() << "error: there are " << next << " mutants\n";
    return false;
  }
  if (!emitIR.empty())
    return true;
  if (!asJson) {
    printTable(table);
    llvm::outs() << formatv("\nverifier: {0:f1} ms in all, {1:f1} ms at most\n",
                            seconds * 1e3, slowest * 1e3);
  }
  return llvm::all_of(
      table, [](const auto &entry) { return entry.second.disagree == 0; });
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  fa4::setUpTool("fa4-mutate");
  static const fa4::FatalErrorExit fatal{"fa4-mutate", 1};
  fa4::reportFatalErrorsAs(fatal);
  if (auto problem = fa4::findEmptyArgument(argc, argv))
    return fail(*problem);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Changes one thing in the protocol of each kernel and asks the verifier\n"
      "and the explorer. Exit status 1 if they disagree or a kernel is "
      "invalid.\n");
  if (!onlyKind.empty() &&
      !llvm::is_contained(kMutationKinds, onlyKind.getValue()))
    return fail("--kind: there is no kind '" + onlyKind + "'; " +
                fa4::suggestName(onlyKind, kMutationKinds));
  if (maxPasses < 0)
    return fail("--max-passes must not be negative, got " + Twine(maxPasses));
  DialectRegistry registry;
  fa4::registerToolDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  MutationTest test;
  bool isGood = true;
  for (const std::string &file : inputs) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
    if (!module)
      return 1;
    module->walk([&](KernelOp kernel) {
      if (!kernel.getBody().getOps<RoleOp>().empty())
        isGood &= test.runKernel(kernel);
    });
  }
  bool agrees = test.finish();
  return isGood && agrees ? 0 : 1;
}
