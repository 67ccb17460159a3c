//===- fa4-sim.cpp - run Blackwell and Hopper PTX on a CPU ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComparePrinter.h"
#include "EntryPrinter.h"
#include "LaunchPrinter.h"
#include "ReportPrinter.h"
#include "TimePrinter.h"
#include "TimedLaunch.h"
#include "WatchPrinter.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "fa4/Support/FatalErrors.h"
#include "fa4/Support/OptionValues.h"
#include "fa4/Support/OutputFiles.h"
#include "fa4/Support/Tool.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include <chrono>
#include <map>
#include <mutex>
#include <set>

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

namespace {

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

using namespace llvm::opt;
constexpr OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

class SimOptTable : public GenericOptTable {
public:
  SimOptTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {}
};

struct Options {
  std::string manifest;
  std::vector<std::pair<std::string, std::string>> bindings, outputs;
  std::vector<std::string> watched;
  uint64_t firstSeed = 0, lastSeed = 0, fillSeed = 0;
  size_t firstLaunch = 0, lastLaunch = SIZE_MAX;
  bool check = false, random = false, raw = false, stats = false, json = false,
       progress = false, time = false;
  ClockOptions clock;
  std::string compared; ///< The launch of --compare.
  std::vector<std::pair<std::string, std::string>> comparedBindings;
  size_t comparedLaunch = 0;
  RunOptions run;
};

} // namespace

static bool fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa4-sim") << message << "\n";
  return false;
}

static bool fail(llvm::Error error) {
  return fail(llvm::toString(std::move(error)));
}

static bool failUnknown(StringRef option) {
  std::string nearest;
  bool isKnown =
      SimOptTable().findNearest(option, nearest, Visibility(), 1, 3) <= 2;
  return fail("unknown option '" + option + "'" +
              (isKnown ? "; did you mean '" + nearest + "'?" : "; try --help"));
}

static bool readNumber(const InputArgList &args, OptionId id, uint64_t &value) {
  StringRef text = args.getLastArgValue(id);
  if (!args.hasArg(id) || !text.getAsInteger(0, value))
    return true;
  return fail(args.getLastArg(id)->getSpelling() + " needs a number, not '" +
              text + "'");
}

/// Parses a range "A:B"; "A" alone stands for "A:A".
template <typename T>
static bool readRange(const InputArgList &args, OptionId id, T &first,
                      T &last) {
  if (!args.hasArg(id))
    return true;
  StringRef text = args.getLastArgValue(id);
  auto [from, to] = text.split(':');
  if (!text.contains(':'))
    to = from;
  if (from.getAsInteger(0, first) || to.getAsInteger(0, last) || last < first)
    return fail(args.getLastArg(id)->getSpelling() +
                " needs a range such as 0:9, not '" + text + "'");
  return true;
}

static bool readPair(StringRef text,
                     std::vector<std::pair<std::string, std::string>> &list) {
  auto [name, value] = text.split('=');
  if (name.empty() || value.empty())
    return fail("expected NAME=VALUE, found '" + text + "'");
  list.emplace_back(name.str(), value.str());
  return true;
}

/// The same for a name of the call, which has one value.
static bool
readBinding(StringRef text,
            std::vector<std::pair<std::string, std::string>> &bindings) {
  if (!readPair(text, bindings))
    return false;
  const auto &added = bindings.back();
  auto first = llvm::find_if(
      bindings, [&](const auto &each) { return each.first == added.first; });
  return &*first == &added || fail("'" + added.first + "' is given twice: " +
                                   first->second + " and " + added.second);
}

static bool readAllowed(const InputArgList &args,
                        std::vector<std::string> &allowed) {
  for (const std::string &list : args.getAllArgValues(OPT_allow)) {
    auto kinds = parseAllowedKinds(list);
    if (!kinds)
      return fail("--allow: " + llvm::toString(kinds.takeError()));
    llvm::append_range(allowed, *kinds);
  }
  return true;
}

static bool readPolicy(const InputArgList &args, Options &options) {
  StringRef name = args.getLastArgValue(OPT_policy, "random");
  auto policy = findPolicy(name);
  if (!policy)
    return fail("unknown policy '" + name + "' (known: " + policyNames + ")");
  options.run.policy = *policy;
  return true;
}

/// The options of --time.
static bool readClockOptions(const InputArgList &args, Options &options) {
  ClockOptions &clock = options.clock;
  clock.parameters = args.getAllArgValues(OPT_set);
  clock.costs = args.getLastArgValue(OPT_costs);
  if (!clock.costs.empty() && clock.costs != "machine" &&
      clock.costs != "forms")
    return fail("unknown costs '" + Twine(clock.costs) +
                "' (known: machine, forms)");
  clock.trace = args.getLastArgValue(OPT_trace);
  clock.sensitivity = args.hasArg(OPT_sensitivity);
  clock.everyCta = options.check;
  for (OptionId id :
       {OPT_set, OPT_costs, OPT_trace, OPT_sensitivity, OPT_compare})
    if (args.hasArg(id) && !options.time)
      return fail(args.getLastArg(id)->getSpelling() + " is for --time");
  options.compared = args.getLastArgValue(OPT_compare);
  for (OptionId id : {OPT_compared, OPT_compared_launch})
    if (args.hasArg(id) && options.compared.empty())
      return fail(args.getLastArg(id)->getSpelling() + " is for --compare");
  if (options.compared.empty())
    return true;
  for (OptionId id : {OPT_check, OPT_trace, OPT_sensitivity, OPT_output,
                      OPT_watch, OPT_seeds, OPT_stats})
    if (args.hasArg(id))
      return fail(args.getLastArg(id)->getSpelling() + " beside --compare");
  for (const std::string &text : args.getAllArgValues(OPT_compared))
    if (!readBinding(text, options.comparedBindings))
      return false;
  uint64_t launch = 0;
  if (!readNumber(args, OPT_compared_launch, launch))
    return false;
  options.comparedLaunch = args.hasArg(OPT_compared_launch) ? launch : SIZE_MAX;
  return true;
}

static bool readOptions(const InputArgList &args, Options &options) {
  for (const Arg *unknown : args.filtered(OPT_UNKNOWN))
    return failUnknown(unknown->getAsString(args));
  std::vector<std::string> inputs = args.getAllArgValues(OPT_INPUT);
  if (inputs.empty())
    return fail("no manifest; try --help");
  options.manifest = inputs.front();
  for (size_t i = 1; i < inputs.size(); ++i)
    if (!readBinding(inputs[i], options.bindings))
      return false;
  for (const std::string &text : args.getAllArgValues(OPT_output))
    if (!readPair(text, options.outputs))
      return false;
  uint64_t threads = 0;
  if (!readNumber(args, OPT_seed, options.firstSeed) ||
      !readNumber(args, OPT_fill_seed, options.fillSeed) ||
      !readNumber(args, OPT_threads, threads) ||
      !readNumber(args, OPT_max_instructions, options.run.maxInstructions))
    return false;
  if (threads > 1024)
    return fail("--threads is out of range");
  options.run.threads = unsigned(threads);
  options.lastSeed = options.firstSeed;
  if (args.hasArg(OPT_seed) && args.hasArg(OPT_seeds))
    return fail("--seed beside --seeds");
  if (!readRange(args, OPT_seeds, options.firstSeed, options.lastSeed) ||
      !readRange(args, OPT_launches, options.firstLaunch, options.lastLaunch) ||
      !readPolicy(args, options))
    return false;
  options.watched = args.getAllArgValues(OPT_watch);
  options.check = args.hasArg(OPT_check);
  options.random = args.hasArg(OPT_random);
  options.raw = args.hasArg(OPT_raw);
  options.stats = args.hasArg(OPT_stats);
  options.time = args.hasArg(OPT_time);
  if (!readClockOptions(args, options))
    return false;
  options.json = args.hasArg(OPT_json);
  options.progress = args.hasArg(OPT_progress) || llvm::errs().is_displayed();
  options.run.keepGoing = args.hasArg(OPT_keep_going);
  if (!readAllowed(args, options.run.allowed))
    return false;
  if (options.check)
    options.run.checker = happensBeforeChecker();
  options.run.isStrict = options.check;
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes and arrays of the call
//===----------------------------------------------------------------------===//

/// `name=value` is a size when `name` is no tensor; else an array to read, or
/// where to write a tensor of role out.
static bool
bindNames(Session &session, Options &options,
          llvm::ArrayRef<std::pair<std::string, std::string>> bindings) {
  const std::string &manifest = session.manifest().file;
  for (const auto &[name, value] : bindings) {
    int tensor = session.manifest().findTensor(name);
    if (tensor < 0) {
      std::optional<Number> number = Number::parse(value);
      if (!number)
        return fail("'" + name + "' is no tensor of " + manifest + ", and '" +
                    value + "' is no number");
      if (auto error = session.setSize(name, *number))
        return fail(std::move(error));
      continue;
    }
    if (session.manifest().tensors[size_t(tensor)].role == Role::Out) {
      options.outputs.emplace_back(name, value);
      continue;
    }
    auto array = readNpy(value);
    if (!array)
      return fail(array.takeError());
    if (auto error = session.setArray(name, std::move(*array)))
      return fail(std::move(error));
  }
  for (const auto &[name, file] : options.outputs)
    if (!session.isTensor(name))
      return fail(manifest + ": no tensor is named '" + name + "'");
  return true;
}

/// Writes all outputs, or none if one of them fails.
static bool writeOutputs(const Session &session, const Options &options) {
  fa4::OutputFiles files;
  for (const auto &[name, file] : options.outputs) {
    auto array = session.array(name, options.raw);
    if (!array)
      return fail(array.takeError());
    files.add(file, encodeNpy(*array));
  }
  if (auto error = files.write())
    return fail(std::move(error));
  return true;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// A line on standard error that tells how far a launch is, once it takes
/// longer than half a second.
class ProgressLine {
public:
  explicit ProgressLine(std::string title) : title(std::move(title)) {}
  ~ProgressLine() {
    if (shown)
      llvm::errs() << "\r\033[K";
  }
  void update(uint64_t done, uint64_t total) {
    std::lock_guard<std::mutex> lock(mutex);
    auto now = std::chrono::steady_clock::now();
    if (now - last < std::chrono::milliseconds(shown ? 100 : 500))
      return;
    last = now;
    shown = true;
    llvm::errs() << "\r" << title << ": " << done << " of " << total
                 << " clusters";
    llvm::errs().flush();
  }

private:
  std::string title;
  std::mutex mutex;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  bool shown = false;
};

class Runner {
public:
  Runner(Session &session, const Options &options, WatchPrinter &watch,
         llvm::raw_ostream &text)
      : session(session), options(options), watch(watch), text(text),
        timed(session, options.clock) {}

  /// Runs all seeds. Returns false after an error; findings are no errors.
  bool runSeeds() {
    for (uint64_t seed = options.firstSeed;; ++seed) {
      session.reset();
      if (!runLaunches(seed))
        return false;
      if (seed == options.lastSeed || hasEnded())
        return true;
    }
  }

  /// One line about a run that has come to its end.
  void printSuccess() const {
    text << llvm::formatv(
        "{0}: launches {1}, CTAs {2}, warp instructions {3}, "
        "seconds {4:f3}, findings {5}{6}{7}{8}\n",
        findings ? "strict" : "ok", launches, ctas, stats.warpInstructions,
        seconds, findings, findings ? ", all of what hardware tolerates" : "",
        options.check ? "" : " (races: not without --check)",
        session.zeroInputs().empty() ? "" : "; inputs were zeros");
  }
  /// All findings, and those that are strict.
  uint64_t findings = 0, strict = 0;
  llvm::json::Array runs;

private:
  bool runLaunches(uint64_t seed) {
    size_t last = std::min(options.lastLaunch, session.launchCount() - 1);
    for (size_t i = options.firstLaunch; i <= last; ++i) {
      if (!runLaunch(seed, i))
        return false;
      if (hasEnded())
        return true;
    }
    return true;
  }

  /// Whether an error has ended the run.
  bool hasEnded() const { return findings > strict && !options.run.keepGoing; }

  /// Prints findings; those that end no run come again in other runs of the
  /// launch, and are printed once.
  void printReports(uint64_t seed, size_t launch, const RunResult &result) {
    const ptx::Module &module = session.module(launch);
    bool isNamed = options.lastSeed == options.firstSeed;
    for (const Report &report : result.reports) {
      if (report.severity != Severity::Error &&
          !printed.insert({launch, report.key}).second)
        continue;
      if (!isNamed)
        text << "seed " << seed << ":\n";
      isNamed = true;
      printReport(text, module, report);
    }
  }

  std::string title(uint64_t seed, size_t launch) const {
    std::string text = "launch " + std::to_string(launch);
    StringRef entry = session.launch(launch).entry;
    if (!entry.empty())
      text += " (" + entry.take_front(40).str() +
              (entry.size() > 40 ? "...)" : ")");
    if (options.lastSeed != options.firstSeed)
      text += " seed " + std::to_string(seed);
    return text;
  }

  bool runLaunch(uint64_t seed, size_t launch) {
    RunOptions run = options.run;
    run.seed = seed;
    watch.attach(session.module(launch), run);
    std::optional<TimeResult> time;
    llvm::Expected<RunResult> result = [&]() -> llvm::Expected<RunResult> {
      if (options.time) {
        auto done = timed.run(launch, run);
        if (!done)
          return done.takeError();
        time = std::move(done->time);
        return std::move(done->run);
      }
      ProgressLine line(title(seed, launch));
      if (options.progress)
        run.progress = [&](uint64_t done, uint64_t total) {
          line.update(done, total);
        };
      return session.run(launch, run);
    }();
    if (!result)
      return fail(result.takeError());
    watch.finishLaunch();
    findings += result->findings;
    strict += result->strict;
    ++launches;
    ctas += session.launch(launch).grid.count();
    stats.add(result->stats);
    seconds += result->stats.seconds;
    if (options.json)
      return addJson(seed, launch, *result, time), true;
    const ptx::Module &module = session.module(launch);
    printReports(seed, launch, *result);
    if (options.stats) {
      text << title(seed, launch) << ":\n";
      printStatistics(text, result->stats);
    }
    if (time && session.isEmpty(launch)) {
      text << title(seed, launch)
           << ": not launched, as a size is 0; its results are filled\n";
    } else if (time && result->isComplete()) {
      text << title(seed, launch) << ":\n";
      printTime(text, module, *time);
    }
    text.flush();
    return true;
  }

  void addJson(uint64_t seed, size_t launch, const RunResult &result,
               const std::optional<TimeResult> &time) {
    llvm::json::Object run =
        launchToJson(session, launch, seed, result, time ? &*time : nullptr);
    if (options.stats)
      run["stats"] = toJson(result.stats);
    if (!options.watched.empty())
      run["watch"] = watch.takeJson();
    runs.push_back(std::move(run));
  }

  Session &session;
  const Options &options;
  WatchPrinter &watch;
  llvm::raw_ostream &text;
  TimedLaunches timed;
  uint64_t launches = 0, ctas = 0;
  /// The strict findings and notes of launches, by their keys.
  std::set<std::pair<size_t, std::string>> printed;
  Statistics stats;
  double seconds = 0;
};

} // namespace

/// What a run on inputs that nobody gave is worth, the user should know.
static void noteZeros(const Session &session, const Options &options) {
  const std::vector<std::string> &zeros = session.zeroInputs();
  if (zeros.empty())
    return;
  llvm::WithColor::note(llvm::errs(), "fa4-sim")
      << (options.random ? "--random fills floating-point tensors only: "
                         : "no input has contents: ")
      << llvm::join(zeros, ", ") << (zeros.size() > 1 ? " are" : " is")
      << " zeros; give NAME=FILE.npy" << (options.random ? "" : ", or --random")
      << "\n";
}

/// Runs the manifest. Returns the exit status: 0 if all runs were clean, 1 with
/// findings, 2 if it could not run, 3 if all findings are strict.
static int runManifest(Options &options) {
  auto manifest = readManifest(options.manifest);
  if (!manifest)
    return fail(manifest.takeError()), 2;
  Session session(std::move(*manifest));
  if (!bindNames(session, options, options.bindings))
    return 2;
  PrepareOptions prepare{options.random, options.fillSeed,
                         /*mayBeZeros=*/options.time && !options.check};
  prepare.mayReset =
      options.firstSeed != options.lastSeed || options.clock.sensitivity;
  if (auto error = session.prepare(prepare))
    return fail(std::move(error)), 2;
  size_t launches = std::min(options.lastLaunch, session.launchCount() - 1) + 1;
  bool isOne = launches == options.firstLaunch + 1 &&
               options.firstSeed == options.lastSeed;
  if (!options.clock.trace.empty() && !isOne &&
      options.firstLaunch < session.launchCount())
    return fail("--trace is for one launch, of " + Twine(launches) +
                "; choose it with --launches"),
           2;
  if (options.firstLaunch >= session.launchCount())
    return fail(options.manifest + " has no launch " +
                Twine(options.firstLaunch)),
           2;
  // Where an array goes to standard output, nothing else does.
  bool isTaken = llvm::any_of(options.outputs, [](const auto &output) {
    return fa4::OutputFiles::isStandardOutput(output.second);
  });
  llvm::raw_ostream &text = isTaken ? llvm::errs() : llvm::outs();
  noteZeros(session, options);
  options.clock.everyCta |= !options.outputs.empty();
  WatchPrinter watch;
  if (auto error =
          watch.setUp(session, options.watched, options.json ? nullptr : &text))
    return fail(std::move(error)), 2;
  Runner runner(session, options, watch, text);
  if (!runner.runSeeds())
    return 2;
  bool ok = runner.findings == 0;
  if (options.json)
    text << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{
                                         {"ok", ok},
                                         {"findings", int64_t(runner.findings)},
                                         {"strict", int64_t(runner.strict)},
                                         {"zero_inputs", session.zeroInputs()},
                                         {"runs", std::move(runner.runs)}}));
  bool isComplete = runner.findings == runner.strict;
  if (!isComplete && options.run.keepGoing && !options.json)
    text << runner.findings << " findings\n";
  // After an error the results cannot be trusted, so they are not written.
  if ((isComplete || options.run.keepGoing) && !writeOutputs(session, options))
    return 2;
  if (isComplete && !options.json)
    runner.printSuccess();
  return ok ? 0 : isComplete ? 3 : 1;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

namespace {
/// One of two launches that are compared.
struct Compared {
  std::unique_ptr<Session> session;
  size_t launch = 0;
  std::string chip;
  TimedResult result;
};
} // namespace

/// Reads a launch. `option` chooses one of several; `chosen` is what has been
/// chosen, SIZE_MAX if nothing.
static bool openCompared(Compared &side, StringRef file, size_t chosen,
                         StringRef option) {
  auto manifest = readManifest(file);
  if (!manifest)
    return fail(manifest.takeError());
  side.session = std::make_unique<Session>(std::move(*manifest));
  size_t count = side.session->manifest().launches.size();
  if (chosen == SIZE_MAX && count != 1)
    return fail("--compare is for one launch, " + file + " has " +
                Twine(count) + "; choose one with " + option);
  side.launch = chosen == SIZE_MAX ? 0 : chosen;
  if (side.launch >= count)
    return fail(file + " has no launch " + Twine(chosen));
  return true;
}

/// Gives both launches the sizes and arrays that they know, and the second one
/// what is for it alone. What neither knows is an error.
static bool bindCompared(Compared (&sides)[2], Options &options) {
  std::vector<std::pair<std::string, std::string>> known[2];
  for (const auto &binding : options.bindings) {
    bool isKnown = false;
    for (auto [side, list] : llvm::zip(sides, known))
      if (side.session->isDeclared(binding.first)) {
        list.push_back(binding);
        isKnown = true;
      }
    if (!isKnown)
      known[0].push_back(binding);
  }
  llvm::append_range(known[1], options.comparedBindings);
  for (auto [side, list] : llvm::zip(sides, known))
    if (!bindNames(*side.session, options, list))
      return false;
  if (!options.outputs.empty())
    return fail("'" + options.outputs.front().first +
                "' is an output: --compare writes none");
  return true;
}

/// Runs two launches by the clock, and prints them side by side. Returns the
/// exit status.
static int compareManifests(Options &options) {
  Compared sides[2];
  if (options.lastLaunch != SIZE_MAX &&
      options.firstLaunch != options.lastLaunch)
    return fail("--compare is for one launch, --launches names several"), 2;
  if (!openCompared(sides[0], options.manifest, options.lastLaunch,
                    "--launches") ||
      !openCompared(sides[1], options.compared, options.comparedLaunch,
                    "--compared-launch") ||
      !bindCompared(sides, options))
    return 2;
  for (Compared &side : sides) {
    PrepareOptions prepare{options.random, options.fillSeed,
                           /*mayBeZeros=*/true};
    prepare.mayReset = false;
    if (auto error = side.session->prepare(prepare))
      return fail(std::move(error)), 2;
    auto noteChip = [&](Simulator &simulator, const LaunchConfig &) {
      side.chip = simulator.program().chip->chip.str();
      return llvm::Error::success();
    };
    llvm::cantFail(side.session->runWith(side.launch, noteChip));
  }
  for (Compared &side : sides)
    if (side.session->isEmpty(side.launch))
      return fail("--compare: nothing of " + side.session->manifest().file +
                  " is launched, as a size is 0"),
             2;
  if (sides[0].chip != sides[1].chip)
    return fail("--compare: " + options.manifest + " is for " + sides[0].chip +
                ", " + options.compared + " for " + sides[1].chip),
           2;
  bool ok = true;
  for (Compared &side : sides) {
    TimedLaunches timed(*side.session, options.clock);
    auto done = timed.run(side.launch, options.run);
    if (!done)
      return fail(done.takeError()), 2;
    side.result = std::move(*done);
    for (const Report &report : side.result.run.reports)
      printReport(llvm::errs(), side.session->module(side.launch), report);
    ok &= side.result.run.isComplete();
  }
  if (!ok)
    return 1;
  auto toSide = [](const Compared &side) {
    return TimedSide{side.session->manifest().file,
                     side.session->launch(side.launch).entry,
                     side.session->module(side.launch), side.result.time};
  };
  TimedSide a = toSide(sides[0]), b = toSide(sides[1]);
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}\n", comparisonToJson(a, b));
  else
    printComparison(llvm::outs(), a, b);
  return 0;
}

/// Prints what a launcher must know of a PTX file. Returns the exit status.
static int printEntries(const InputArgList &args) {
  for (const Arg *unknown : args.filtered(OPT_UNKNOWN))
    return failUnknown(unknown->getAsString(args)), 2;
  std::vector<std::string> inputs = args.getAllArgValues(OPT_INPUT);
  if (inputs.size() != 1)
    return fail("--entries takes one PTX file"), 2;
  auto module = ptx::parseFile(inputs.front());
  if (!module)
    return fail(module.takeError()), 2;
  llvm::outs() << llvm::formatv("{0:2}\n", describeEntries(**module));
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  fa4::setUpTool("fa4-sim");
  static const fa4::FatalErrorExit fatal{"fa4-sim", 2};
  fa4::reportFatalErrorsAs(fatal);
  if (auto problem = fa4::findEmptyArgument(argc, argv))
    return fail(*problem), 2;
  SimOptTable table;
  unsigned missingIndex, missingCount;
  InputArgList args = table.ParseArgs(llvm::ArrayRef(argv + 1, argc - 1),
                                      missingIndex, missingCount);
  if (args.hasArg(OPT_help)) {
    table.printHelp(
        llvm::outs(),
        "fa4-sim [options] MANIFEST [SCALAR=VALUE | TENSOR=FILE.npy]...",
        "Runs the launches of a manifest, or of a recorded launch, "
        "on a CPU.");
    llvm::outs()
        << "\nExit status: 0 clean, 1 findings, 2 could not run, 3 all "
           "findings are strict: what the manual forbids and hardware "
           "tolerates.\n";
    return 0;
  }
  if (args.hasArg(OPT_version)) {
    llvm::outs() << fa4::versionText("fa4-sim")
                 << ", PTX ISA up to 9.x, sm_90a to sm_103a\n";
    return 0;
  }
  if (missingCount)
    return fail("'" + StringRef(args.getArgString(missingIndex)) +
                "' needs a value"),
           2;
  if (args.hasArg(OPT_entries))
    return printEntries(args);
  Options options;
  if (!readOptions(args, options))
    return 2;
  return options.compared.empty() ? runManifest(options)
                                  : compareManifests(options);
}
