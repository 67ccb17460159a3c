//===- Simulator.cpp - kernels on a CPU, for C ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-c/Simulator.h"
#include "../../tools/fa4-sim/ReportPrinter.h"
#include "../../tools/fa4-sim/TimePrinter.h"
#include "../../tools/fa4-sim/TimedLaunch.h"
#include "CAPI.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Ptx/Parser.h"
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

Fa4Status fa4SimulationCreate(const char *manifest, size_t length,
                              Fa4Simulation **simulation, char **message) {
  if (simulation)
    *simulation = nullptr;
  return guard(message, [&]() -> Failure {
    if (!manifest || !simulation)
      return {FA4_CANNOT_RUN, "fa4SimulationCreate: manifest and simulation "
                              "must not be null"};
    // Without a folder in its name, so that PTX keeps the names that it has.
    auto parsed = parseManifest(
        llvm::MemoryBufferRef(StringRef(manifest, length), "manifest"));
    if (!parsed)
      return toFailure(parsed.takeError());
    *simulation = new Fa4Simulation(std::move(*parsed));
    return {};
  });
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
        auto module = ptx::parseModule(
            llvm::MemoryBuffer::getMemBufferCopy(StringRef(ptx, length), path));
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

static RunOptions getRunOptions(const Fa4SimulateOptions &options) {
  RunOptions how;
  how.seed = options.seed;
  how.keepGoing = options.keepGoing;
  how.threads = options.threads;
  how.maxInstructions = options.maxInstructions;
  if (options.check)
    how.checker = happensBeforeChecker();
  return how;
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

static Failure run(Fa4Simulation &simulation,
                   const Fa4SimulateOptions &options) {
  Failure failure = prepare(simulation, options);
  if (failure.status != FA4_OK)
    return failure;
  RunOptions how = getRunOptions(options);
  Session &session = simulation.session;
  for (size_t i = 0; i < session.launchCount(); ++i) {
    auto result = session.run(i, how);
    if (!result)
      return toFailure(result.takeError());
    failure = reportAll(options, session.module(i), *result);
    if (failure.status != FA4_OK)
      return failure;
  }
  return {};
}

static Failure runTimed(Fa4Simulation &simulation,
                        const Fa4SimulateOptions &options, std::string &json) {
  Failure failure = prepare(simulation, options, /*mayBeZeros=*/true);
  if (failure.status != FA4_OK)
    return failure;
  RunOptions how = getRunOptions(options);
  ClockOptions clock;
  clock.everyCta = options.check;
  clock.trace = textOr(options.trace, "");
  Session &session = simulation.session;
  if (options.trace && session.launchCount() != 1)
    return {FA4_CANNOT_RUN, "a trace is of one launch, and the manifest has " +
                                llvm::Twine(session.launchCount())};
  TimedLaunches timed(session, clock);
  llvm::json::Array times;
  for (size_t i = 0; i < session.launchCount(); ++i) {
    auto result = timed.run(i, how);
    if (!result)
      return toFailure(result.takeError());
    failure = reportAll(options, session.module(i), result->run);
    if (failure.status != FA4_OK)
      return failure;
    times.push_back(toJson(result->time));
  }
  llvm::raw_string_ostream(json) << llvm::json::Value(std::move(times));
  return {};
}

Fa4Status fa4SimulationRun(Fa4Simulation *simulation,
                           const Fa4SimulateOptions *options, char **message) {
  return guard(message, [&]() -> Failure {
    if (!simulation)
      return {FA4_CANNOT_RUN, "fa4SimulationRun: simulation must not be null"};
    Fa4SimulateOptions all = {};
    Failure failure = readStruct(options, "Fa4SimulateOptions", all);
    return failure.status == FA4_OK ? run(*simulation, all) : failure;
  });
}

Fa4Status fa4SimulationTime(Fa4Simulation *simulation,
                            const Fa4SimulateOptions *options, char **json,
                            char **message) {
  if (json)
    *json = nullptr;
  return guard(message, [&]() -> Failure {
    if (!simulation || !json)
      return {FA4_CANNOT_RUN, "fa4SimulationTime: simulation and json must not "
                              "be null"};
    Fa4SimulateOptions all = {};
    Failure failure = readStruct(options, "Fa4SimulateOptions", all);
    std::string text;
    if (failure.status == FA4_OK)
      failure = runTimed(*simulation, all, text);
    if (failure.status == FA4_OK)
      *json = copyText(text);
    return failure;
  });
}

size_t fa4SimulationGetBufferSize(const Fa4Simulation *simulation,
                                  const char *name) {
  if (simulation && name)
    for (const Tensor &tensor : simulation->session.tensors()) {
      if (tensor.spec->name != name)
        continue;
      size_t bytes = dtypeBytes(tensor.spec->dtype);
      for (int64_t size : tensor.shape)
        bytes *= size;
      return bytes;
    }
  return 0;
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
