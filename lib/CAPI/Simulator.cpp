//===- Simulator.cpp - kernels on a CPU, for C ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-c/Simulator.h"
#include "../../tools/fa4-sim/EntryPrinter.h"
#include "../../tools/fa4-sim/LaunchPrinter.h"
#include "../../tools/fa4-sim/ReportPrinter.h"
#include "../../tools/fa4-sim/TimePrinter.h"
#include "../../tools/fa4-sim/TimedLaunch.h"
#include "CAPI.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

using namespace fa4::capi;
using namespace fa4::sim;
using llvm::StringRef;

struct Fa4Simulation {
  explicit Fa4Simulation(Manifest manifest) : session(std::move(manifest)) {}

  Session session;
  /// Memory is allocated and filled with the first run.
  bool isPrepared = false;
  bool hasRandomInputs = false;
};

/// A status for an error of the simulator's libraries: they refuse what a
/// manifest, PTX or a call says.
static Failure toFailure(llvm::Error error) {
  if (!error)
    return {};
  return {FA4_REJECTED, std::move(error)};
}

/// Makes a simulation of the manifest that `parse` returns. `parse` reads what
/// `from` points to, which messages call `fromName`.
template <typename Parse>
static Fa4Status create(Fa4Simulation **simulation, const char *from,
                        StringRef fromName, char **message, Parse parse) {
  if (simulation)
    *simulation = nullptr;
  return guard(message, [&]() -> Failure {
    if (!from || !simulation)
      return {FA4_CANNOT_RUN, fromName + " and simulation must not be null"};
    llvm::Expected<Manifest> manifest = parse();
    if (!manifest)
      return toFailure(manifest.takeError());
    *simulation = new Fa4Simulation(std::move(*manifest));
    return {};
  });
}

Fa4Status fa4SimulationCreate(const char *manifest, size_t length,
                              Fa4Simulation **simulation, char **message) {
  return create(
      simulation, manifest, "fa4SimulationCreate: manifest", message, [&] {
        // Without a folder in its name, so that PTX keeps the names that it
        // has.
        return parseManifest(
            llvm::MemoryBufferRef(StringRef(manifest, length), "manifest"));
      });
}

Fa4Status fa4SimulationRead(const char *path, Fa4Simulation **simulation,
                            char **message) {
  return create(simulation, path, "fa4SimulationRead: path", message,
                [&] { return readManifest(path); });
}

void fa4SimulationDestroy(Fa4Simulation *simulation) { delete simulation; }

/// Runs `work`, which sets something of a simulation that has not run.
template <typename Work>
static Fa4Status change(Fa4Simulation *simulation, const void *needed,
                        char **message, Work work) {
  return guard(message, [&]() -> Failure {
    if (!simulation || !needed)
      return {FA4_CANNOT_RUN, "a simulation, a name or data is null"};
    if (simulation->isPrepared)
      return {FA4_CANNOT_RUN, "the simulation has run; sizes, buffers and "
                              "modules are set before the first run"};
    return work();
  });
}

/// The PTX of a string, which messages call `name`.
static llvm::Expected<std::shared_ptr<const ptx::Module>>
parsePtx(const char *name, const char *ptx, size_t length) {
  return ptx::parseModule(
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(ptx, length), name));
}

Fa4Status fa4DescribePtx(const char *name, const char *ptx, size_t length,
                         char **json, char **message) {
  if (json)
    *json = nullptr;
  return guard(message, [&]() -> Failure {
    if (!name || !ptx || !json)
      return {FA4_CANNOT_RUN,
              "fa4DescribePtx: name, ptx and json must not be null"};
    auto module = parsePtx(name, ptx, length);
    if (!module)
      return toFailure(module.takeError());
    *json = copyText(llvm::formatv("{0}", describeEntries(**module)).str());
    return {};
  });
}

Fa4Status fa4SimulationSetModule(Fa4Simulation *simulation, const char *path,
                                 const char *ptx, size_t length,
                                 char **message) {
  return change(
      simulation, path && ptx ? ptx : nullptr, message, [&]() -> Failure {
        const Manifest &manifest = simulation->session.manifest();
        if (llvm::none_of(manifest.launches, [&](const LaunchSpec &launch) {
              return launch.file == path;
            }))
          return {FA4_REJECTED, llvm::Twine("no launch of the "
                                            "manifest is of '") +
                                    path + "'"};
        auto module = parsePtx(path, ptx, length);
        if (!module)
          return toFailure(module.takeError());
        simulation->session.setModule(path, std::move(*module));
        return {};
      });
}

Fa4Status fa4SimulationSetSize(Fa4Simulation *simulation, const char *name,
                               int64_t value, char **message) {
  return change(simulation, name, message, [&] {
    return toFailure(simulation->session.setSize(name, value));
  });
}

Fa4Status fa4SimulationSetReal(Fa4Simulation *simulation, const char *name,
                               double value, char **message) {
  return change(simulation, name, message, [&] {
    return toFailure(simulation->session.setSize(name, value));
  });
}

/// numpy's letter for elements of this type, whose bits stay as they are.
static char getKind(DType type) {
  if (isFloat(type))
    return 'V';
  if (type == DType::Bool)
    return 'b';
  return *dtypeName(type);
}

Fa4Status fa4SimulationSetBuffer(Fa4Simulation *simulation, const char *name,
                                 const int64_t *shape, size_t rank,
                                 const void *data, size_t bytes,
                                 char **message) {
  const void *needed = name && (shape || !rank) ? data : nullptr;
  return change(simulation, needed, message, [&]() -> Failure {
    const Manifest &manifest = simulation->session.manifest();
    int tensor = manifest.findTensor(name);
    if (tensor < 0)
      return {FA4_REJECTED, llvm::Twine("no tensor is named '") + name + "'"};
    DType dtype = manifest.tensors[size_t(tensor)].dtype;
    NpyArray array;
    array.kind = getKind(dtype);
    array.itemBytes = dtypeBytes(dtype);
    array.shape.assign(shape, shape + rank);
    uint64_t wanted = array.itemBytes;
    for (int64_t size : array.shape)
      if (size < 0 || __builtin_mul_overflow(wanted, uint64_t(size), &wanted))
        return {FA4_REJECTED, llvm::Twine("'") + name + "' has a size of " +
                                  llvm::Twine(size)};
    if (wanted != bytes)
      return {FA4_REJECTED, llvm::Twine("'") + name + "' of this shape has " +
                                llvm::Twine(wanted) + " bytes of " +
                                dtypeName(dtype) + ", got " +
                                llvm::Twine(bytes)};
    auto *first = static_cast<const uint8_t *>(data);
    array.data.assign(first, first + bytes);
    return toFailure(simulation->session.setArray(name, std::move(array)));
  });
}

Fa4Status fa4SimulationSetNpy(Fa4Simulation *simulation, const char *name,
                              const void *data, size_t bytes, char **message) {
  return change(simulation, name ? data : nullptr, message, [&]() -> Failure {
    auto array = parseNpy(llvm::MemoryBufferRef(
        StringRef(static_cast<const char *>(data), bytes), name));
    if (!array)
      return toFailure(array.takeError());
    return toFailure(simulation->session.setArray(name, std::move(*array)));
  });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Allocates and fills memory before the first run, and restores it before
/// another one.
static Failure prepare(Fa4Simulation &simulation,
                       const Fa4SimulateOptions &options,
                       bool mayBeZeros = false) {
  if (simulation.isPrepared) {
    simulation.session.reset();
    return {};
  }
  PrepareOptions prepare;
  prepare.randomInputs = options.randomInputs;
  prepare.mayBeZeros = mayBeZeros;
  Failure failure = toFailure(simulation.session.prepare(prepare));
  simulation.isPrepared = failure.status == FA4_OK;
  return failure;
}

/// Hands a finding to the caller.
static void report(const Fa4SimulateOptions &options, const ptx::Module &module,
                   const Report &report) {
  if (!options.handler)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, module, report);
  Fa4Diagnostic given = {};
  given.size = sizeof(given);
  given.severity = FA4_ERROR;
  given.file = module.fileName.c_str();
  given.line = report.sites.empty() ? 0 : report.sites.front().line;
  given.message = text.c_str();
  options.handler(&given, options.userData);
}

static Failure readRunOptions(const Fa4SimulateOptions &options,
                              RunOptions &how) {
  how.seed = options.seed;
  how.keepGoing = options.keepGoing;
  how.threads = options.threads;
  how.maxInstructions = options.maxInstructions;
  how.interrupt = options.interrupt;
  if (options.check)
    how.checker = happensBeforeChecker();
  auto allowed = parseAllowedKinds(textOr(options.allow, ""));
  if (!allowed)
    return {FA4_CANNOT_RUN, "allow: " + llvm::toString(allowed.takeError())};
  how.allowed = std::move(*allowed);
  StringRef name = textOr(options.policy, "random");
  auto policy = findPolicy(name);
  if (!policy)
    return {FA4_CANNOT_RUN, "policy: there is no policy '" + name +
                                "' (known: " + policyNames + ")"};
  how.policy = *policy;
  return {};
}

/// Tells the caller of all findings of a launch, and fails if there are any.
static Failure reportAll(const Fa4SimulateOptions &options,
                         const ptx::Module &module, const RunResult &result) {
  for (const Report &each : result.reports)
    report(options, module, each);
  if (result.ok())
    return {};
  const Report &first = result.reports.front();
  return {FA4_FINDINGS, first.message + " [" + first.kind + "]"};
}

/// Gets what a launch did, and its time if it ran by the clock. A failure ends
/// the run.
using TakeLaunch = llvm::function_ref<Failure(
    size_t launch, const RunResult &result, const TimeResult *time)>;

/// Runs the launches of a simulation that is prepared, in their order.
static Failure runLaunches(Session &session, const Fa4SimulateOptions &options,
                           const RunOptions &how, bool timed, TakeLaunch take) {
  ClockOptions clock;
  clock.everyCta = options.check;
  clock.trace = textOr(options.trace, "");
  if (timed && options.trace && session.launchCount() != 1)
    return {FA4_CANNOT_RUN, "a trace is of one launch, and the manifest has " +
                                llvm::Twine(session.launchCount())};
  TimedLaunches timedLaunches(session, clock);
  for (size_t i = 0; i < session.launchCount(); ++i) {
    std::optional<TimeResult> time;
    auto result = [&]() -> llvm::Expected<RunResult> {
      if (!timed)
        return session.run(i, how);
      auto done = timedLaunches.run(i, how);
      if (!done)
        return done.takeError();
      time = std::move(done->time);
      return std::move(done->run);
    }();
    if (!result) {
      bool isInterrupted =
          how.interrupt && __atomic_load_n(how.interrupt, __ATOMIC_RELAXED);
      return {isInterrupted ? FA4_CANNOT_RUN : FA4_REJECTED,
              result.takeError()};
    }
    Failure failure = take(i, *result, time ? &*time : nullptr);
    if (failure.status != FA4_OK)
      return failure;
  }
  return {};
}

/// Runs all launches, and adds their times to `times` if `timed`. Findings go
/// to the handler.
static Failure run(Fa4Simulation &simulation, const Fa4SimulateOptions &options,
                   bool timed, llvm::json::Array &times) {
  RunOptions how;
  Failure failure = readRunOptions(options, how);
  if (failure.status == FA4_OK)
    failure = prepare(simulation, options, /*mayBeZeros=*/timed);
  if (failure.status != FA4_OK)
    return failure;
  Session &session = simulation.session;
  auto take = [&](size_t launch, const RunResult &result,
                  const TimeResult *time) {
    if (time)
      times.push_back(toJson(*time));
    return reportAll(options, session.module(launch), result);
  };
  return runLaunches(session, options, how, timed, take);
}

/// Runs all launches, and says in JSON what they did.
static Failure runToJson(Fa4Simulation &simulation,
                         const Fa4SimulateOptions &options, bool timed,
                         llvm::json::Object &json) {
  RunOptions how;
  Failure failure = readRunOptions(options, how);
  how.isStrict = options.check;
  if (failure.status == FA4_OK)
    failure = prepare(simulation, options,
                      /*mayBeZeros=*/timed && !options.check);
  if (failure.status != FA4_OK)
    return failure;
  Session &session = simulation.session;
  llvm::json::Array runs;
  uint64_t findings = 0, strict = 0;
  auto take = [&](size_t launch, const RunResult &result,
                  const TimeResult *time) -> Failure {
    llvm::json::Object made =
        launchToJson(session, launch, options.seed, result, time);
    made["stats"] = toJson(result.stats);
    runs.push_back(std::move(made));
    findings += result.findings;
    strict += result.strict;
    // This status ends the run, and goes no further.
    if (!result.isComplete() && !options.keepGoing)
      return {FA4_FINDINGS, ""};
    return {};
  };
  failure = runLaunches(session, options, how, timed, take);
  if (failure.status != FA4_OK && failure.status != FA4_FINDINGS)
    return failure;
  json = llvm::json::Object{{"ok", findings == 0},
                            {"findings", int64_t(findings)},
                            {"strict", int64_t(strict)},
                            {"zero_inputs", session.zeroInputs()},
                            {"runs", std::move(runs)}};
  return {};
}

/// Reads the options of a function that runs a simulation, calls `work` with
/// them, and hands its JSON to the caller where `json` asks for some.
template <typename Json, typename Work>
static Fa4Status runWith(Fa4Simulation *simulation,
                         const Fa4SimulateOptions *options, char **json,
                         bool hasPlaces, char **message, Work work) {
  if (json)
    *json = nullptr;
  return guard(message, [&]() -> Failure {
    if (!simulation || !hasPlaces)
      return {FA4_CANNOT_RUN, "a simulation or json is null"};
    Fa4SimulateOptions all = {};
    Failure failure = readStruct(options, "Fa4SimulateOptions", all);
    Json made;
    if (failure.status == FA4_OK)
      failure = work(all, made);
    if (failure.status == FA4_OK && json)
      *json = copyText(
          llvm::formatv("{0}", llvm::json::Value(std::move(made))).str());
    return failure;
  });
}

Fa4Status fa4SimulationRun(Fa4Simulation *simulation,
                           const Fa4SimulateOptions *options, char **message) {
  return runWith<llvm::json::Array>(
      simulation, options, /*json=*/nullptr, /*hasPlaces=*/true, message,
      [&](const Fa4SimulateOptions &all, llvm::json::Array &times) {
        return run(*simulation, all, /*timed=*/false, times);
      });
}

Fa4Status fa4SimulationTime(Fa4Simulation *simulation,
                            const Fa4SimulateOptions *options, char **json,
                            char **message) {
  return runWith<llvm::json::Array>(
      simulation, options, json, json != nullptr, message,
      [&](const Fa4SimulateOptions &all, llvm::json::Array &times) {
        return run(*simulation, all, /*timed=*/true, times);
      });
}

Fa4Status fa4SimulationReport(Fa4Simulation *simulation,
                              const Fa4SimulateOptions *options, bool timed,
                              char **json, char **message) {
  return runWith<llvm::json::Object>(
      simulation, options, json, json != nullptr, message,
      [&](const Fa4SimulateOptions &all, llvm::json::Object &made) {
        return runToJson(*simulation, all, timed, made);
      });
}

/// The tensor of a simulation that has run; null if there is no such tensor.
static const Tensor *findTensor(const Fa4Simulation *simulation,
                                const char *name) {
  if (simulation && name)
    for (const Tensor &tensor : simulation->session.tensors())
      if (tensor.spec->name == name)
        return &tensor;
  return nullptr;
}

size_t fa4SimulationGetBufferShape(const Fa4Simulation *simulation,
                                   const char *name, int64_t *shape,
                                   size_t rank) {
  const Tensor *tensor = findTensor(simulation, name);
  if (!tensor)
    return 0;
  std::copy_n(tensor->shape.begin(), std::min(rank, tensor->shape.size()),
              shape);
  return tensor->shape.size();
}

size_t fa4SimulationGetBufferSize(const Fa4Simulation *simulation,
                                  const char *name) {
  const Tensor *tensor = findTensor(simulation, name);
  if (!tensor)
    return 0;
  size_t bytes = dtypeBytes(tensor->spec->dtype);
  for (int64_t size : tensor->shape)
    bytes *= size;
  return bytes;
}

Fa4Status fa4SimulationGetBuffer(const Fa4Simulation *simulation,
                                 const char *name, void *data, size_t bytes,
                                 char **message) {
  return guard(message, [&]() -> Failure {
    if (!simulation || !name || !data)
      return {FA4_CANNOT_RUN, "a simulation, a name or data is null"};
    if (!simulation->isPrepared)
      return {FA4_CANNOT_RUN, "the simulation has not run"};
    auto array = simulation->session.array(name, /*raw=*/true);
    if (!array)
      return toFailure(array.takeError());
    if (array->data.size() != bytes)
      return {FA4_CANNOT_RUN, llvm::Twine("'") + name + "' has " +
                                  llvm::Twine(array->data.size()) +
                                  " bytes, got " + llvm::Twine(bytes)};
    std::copy(array->data.begin(), array->data.end(),
              static_cast<uint8_t *>(data));
    return {};
  });
}
