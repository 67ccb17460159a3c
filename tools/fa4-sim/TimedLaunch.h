//===- TimedLaunch.h - launches by the clock --------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_TIMEDLAUNCH_H
#define FA4_TOOLS_FA4_SIM_TIMEDLAUNCH_H

#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Timing/TimedRun.h"
#include <map>

namespace fa4::sim {

/// What --time is to do.
struct ClockOptions {
  std::vector<std::string> parameters; ///< NAME=NUMBER of --set.
  std::string costs;                   ///< "machine", "forms" or "".
  std::string trace;                   ///< A file, or "".
  bool sensitivity = false;
  /// Results and findings take every CTA, and its products.
  bool everyCta = false;
};

/// Runs launches of a session by the clock of their chip.
class TimedLaunches {
public:
  /// Both have to outlive this.
  TimedLaunches(Session &session, const ClockOptions &options)
      : session(session), options(options) {}

  /// Runs a launch. Fails for a chip without a table of parameters, an unknown
  /// parameter, machine code that is asked for and cannot be had, and a trace
  /// that cannot be written. Findings are no errors.
  llvm::Expected<TimedResult> run(size_t launch, const RunOptions &run);

private:
  llvm::Expected<const IssueCosts *> costsOf(size_t launch,
                                             const Program &program);
  llvm::Error findSensitivities(size_t launch, Simulator &simulator,
                                const LaunchConfig &config, RunOptions run,
                                TimeOptions timeOptions, TimeResult &time);

  Session &session;
  const ClockOptions &options;
  /// Launches share programs.
  std::map<const Program *, std::unique_ptr<IssueCosts>> costs;
};

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_TIMEDLAUNCH_H
