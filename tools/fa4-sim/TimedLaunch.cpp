//===- TimedLaunch.cpp - launches by the clock ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedLaunch.h"
#include "TimePrinter.h"
#include "fa4/Simulator/Timing/MachineCode.h"
#include "fa4/Simulator/Timing/WarpRoles.h"
#include "fa4/Support/OutputFiles.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace fa4::sim;
using llvm::StringRef;

llvm::Expected<const IssueCosts *>
TimedLaunches::costsOf(size_t launch, const Program &program) {
  std::unique_ptr<IssueCosts> &known = costs[&program];
  if (known)
    return known.get();
  std::string missing;
  if (options.costs != "forms") {
    StringRef ptx = session.module(launch).buffer->getBuffer();
    auto machine = issueCostsFromMachineCode(program, ptx);
    if (machine)
      known = std::make_unique<IssueCosts>(std::move(*machine));
    else if (options.costs == "machine")
      return machine.takeError();
    else
      missing =
          StringRef(llvm::toString(machine.takeError())).split(';').first.str();
  }
  if (!known)
    known = std::make_unique<IssueCosts>(issueCostsFromForms(program));
  if (!missing.empty())
    known->source += " (" + missing + ")";
  return known.get();
}

/// A CTA of a sampled launch may wait for one that does not run.
static void noteSampledHang(const TimedResult &result) {
  bool isHang = llvm::any_of(result.run.reports, [](const Report &report) {
    return report.kind == "hang";
  });
  if (isHang && result.time.simulatedCtas < result.time.ctas)
    llvm::WithColor::note(llvm::errs(), "fa4-sim")
        << "--time runs only some of the " << result.time.ctas
        << " CTAs; if one waits for another through global memory, use "
           "--check, with which all of them run\n";
}

llvm::Error
TimedLaunches::findSensitivities(size_t launch, Simulator &simulator,
                                 const LaunchConfig &config, RunOptions run,
                                 TimeOptions timeOptions, TimeResult &time) {
  const Program &program = simulator.program();
  auto costs = costsOf(launch, program);
  if (!costs)
    return costs.takeError();
  TimingParameters parameters = timeOptions.parameters;
  timeOptions.trace = nullptr;
  timeOptions.everyCta = false;
  timeOptions.onlyFirst = true;
  run.checker = nullptr;
  auto runWith = [&](const TimingParameters &changed) {
    timeOptions.parameters = changed;
    session.reset();
    return runTimed(program, simulator.memory(), **costs, config, run,
                    timeOptions);
  };
  auto found = findSensitivity(program.chip->chip, parameters, runWith);
  if (!found)
    return found.takeError();
  time.sensitivity = std::move(*found);
  return llvm::Error::success();
}

llvm::Expected<TimedResult> TimedLaunches::run(size_t launch,
                                               const RunOptions &run) {
  RunOptions timedRun = run;
  TimeOptions timeOptions;
  timeOptions.everyCta = options.everyCta;
  timedRun.skipProducts = !options.everyCta;
  Trace trace;
  timeOptions.trace = options.trace.empty() ? nullptr : &trace;
  TimedResult result;
  auto execute = [&](Simulator &simulator,
                     const LaunchConfig &config) -> llvm::Error {
    const Program &program = simulator.program();
    auto parameters =
        readTimingParameters(program.chip->chip, options.parameters);
    if (!parameters)
      return parameters.takeError();
    timeOptions.parameters = *parameters;
    auto costs = costsOf(launch, program);
    if (!costs)
      return costs.takeError();
    auto done = runTimed(program, simulator.memory(), **costs, config, timedRun,
                         timeOptions);
    if (!done)
      return done.takeError();
    result = std::move(*done);
    noteSampledHang(result);
    if (result.run.isComplete() && options.sensitivity)
      return findSensitivities(launch, simulator, config, timedRun, timeOptions,
                               result.time);
    return llvm::Error::success();
  };
  if (llvm::Error error = session.runWith(launch, execute))
    return std::move(error);
  if (options.trace.empty())
    return result;
  for (const WarpRole &role : findRoles(result.time))
    for (const WarpTimes *warp : role.warps)
      if (role.duties)
        trace.roles[{warp->cta, warp->warp}] = role.label();
  OutputFiles files;
  files.add(options.trace, trace.json());
  if (llvm::Error error = files.write())
    return std::move(error);
  return result;
}
