//===- fa4-mutate.cpp - mutation test of the protocol checks ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "fa4/Dialect/Tile/Analysis/ProtocolExplorer.h"
#include "fa4/InitAll.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include <chrono>
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
    listSurvivors("survivors", cl::cat(category),
                  cl::desc("Print the mutants that nothing rejects"));
static cl::opt<int64_t>
    maxPasses("max-passes", cl::init(0), cl::cat(category),
              cl::desc("Passes of a loop that are explored (0: automatic)"));
static cl::opt<uint64_t>
    maxStates("max-states", cl::init(2000000), cl::cat(category),
              cl::desc("States of one mutant that are explored"));

namespace {

enum class Verdict { Accepted, Rejected, Unknown };

struct Result {
  /// Rejected before any run: by the operations' verifiers, the model or the
  /// placement.
  std::string rule;
  Verdict verifier = Verdict::Accepted;
  Verdict explorer = Verdict::Accepted;
  std::string verifierSays, explorerSays;

  bool isKilled() const {
    return !rule.empty() || verifier == Verdict::Rejected ||
           explorer == Verdict::Rejected;
  }
  bool disagrees() const {
    return verifier != explorer && verifier != Verdict::Unknown &&
           explorer != Verdict::Unknown;
  }
};

struct Counts {
  unsigned mutants = 0, byRules = 0, byBoth = 0, survivors = 0, disagree = 0,
           unknown = 0;
};

using Table =
    llvm::MapVector<std::string, Counts, std::map<std::string, unsigned>>;

} // namespace

static double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since)
      .count();
}

static double verifierSeconds = 0, slowestVerifier = 0;

static Result check(const ProtocolModel &model) {
  Result result;
  if (auto finding = verifyPlacement(model)) {
    result.rule = finding->message;
    return result;
  }
  auto begin = std::chrono::steady_clock::now();
  if (auto finding = verifyProtocol(model)) {
    result.verifier = Verdict::Rejected;
    result.verifierSays = finding->message;
  }
  double time = seconds(begin);
  verifierSeconds += time;
  slowestVerifier = std::max(slowestVerifier, time);
  ExplorerOptions options;
  options.maxPasses = maxPasses;
  options.maxStates = maxStates;
  ExplorerStatistics statistics;
  // Lanes in any order take many more states: only where they may matter.
  options.lanes = false;
  auto finding = exploreProtocol(model, options, &statistics);
  if (!finding && result.verifier == Verdict::Rejected) {
    options.lanes = true;
    statistics = {};
    finding = exploreProtocol(model, options, &statistics);
  }
  if (finding) {
    result.explorer = Verdict::Rejected;
    result.explorerSays = finding->message;
  } else if (statistics.gaveUp) {
    result.explorer = Verdict::Unknown;
  }
  return result;
}

static Result checkMutant(const ProtocolModel &original,
                          const Mutation &mutation) {
  if (mutation.changeModel) {
    ProtocolModel copy = original;
    mutation.changeModel(copy);
    return check(copy);
  }
  Attribute old = mutation.op->getAttr(mutation.attribute);
  auto set = [&](Attribute value) {
    if (value)
      mutation.op->setAttr(mutation.attribute, value);
    else
      mutation.op->removeAttr(mutation.attribute);
  };
  set(mutation.value);
  Result result;
  FailureOr<ProtocolModel> model = failure();
  {
    ScopedDiagnosticHandler handler(mutation.op->getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      if (result.rule.empty())
                                        result.rule = diagnostic.str();
                                      return success();
                                    });
    if (succeeded(mlir::verify(original.kernel)))
      model = ProtocolModel::build(original.kernel);
  }
  if (succeeded(model))
    result = check(*model);
  set(old);
  return result;
}

static StringRef name(Verdict verdict) {
  return verdict == Verdict::Accepted   ? "accepts"
         : verdict == Verdict::Rejected ? "rejects"
                                        : "gave up";
}

static void print(const Mutation &mutation, const Result &result) {
  llvm::outs() << mutation.kind << ": " << mutation.text << "\n";
  if (!result.rule.empty()) {
    llvm::outs() << "    rule: " << result.rule << "\n";
    return;
  }
  llvm::outs() << "    verifier " << name(result.verifier) << " "
               << result.verifierSays << "\n    explorer "
               << name(result.explorer) << " " << result.explorerSays << "\n";
}

static bool mutateKernel(KernelOp kernel, Table &table) {
  FailureOr<ProtocolModel> model = ProtocolModel::build(kernel);
  if (failed(model))
    return false;
  Result original = check(*model);
  if (original.isKilled() || original.explorer != Verdict::Accepted) {
    kernel.emitError("is rejected itself: ")
        << original.rule << original.verifierSays << original.explorerSays;
    return false;
  }
  std::vector<Mutation> mutations = mutateSteps(*model);
  llvm::append_range(mutations, mutateAttributes(kernel));
  for (const Mutation &mutation : mutations) {
    Result result = checkMutant(*model, mutation);
    Counts &counts = table[mutation.kind];
    ++counts.mutants;
    counts.byRules += !result.rule.empty();
    counts.byBoth += result.verifier == Verdict::Rejected &&
                     result.explorer == Verdict::Rejected;
    counts.survivors += !result.isKilled();
    counts.disagree += result.disagrees();
    counts.unknown += result.explorer == Verdict::Unknown;
    if (listAll || result.disagrees() || (listSurvivors && !result.isKilled()))
      print(mutation, result);
  }
  return true;
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

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Changes one thing in the protocol of each kernel and asks the verifier\n"
      "and the explorer. Exit status 1 if they disagree or a kernel is "
      "invalid.\n");
  DialectRegistry registry;
  fa4::registerToolDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  Table table;
  bool isGood = true;
  for (const std::string &file : inputs) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
    if (!module)
      return 1;
    module->walk([&](KernelOp kernel) {
      if (!kernel.getBody().getOps<RoleOp>().empty())
        isGood &= mutateKernel(kernel, table);
    });
  }
  printTable(table);
  llvm::outs() << formatv("\nverifier: {0:f1} ms in all, {1:f1} ms at most\n",
                          verifierSeconds * 1e3, slowestVerifier * 1e3);
  for (const auto &[name, counts] : table)
    isGood &= counts.disagree == 0;
  return isGood ? 0 : 1;
}
