//===- LaunchPrinter.cpp - what a launch did, as JSON
//----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchPrinter.h"
#include "ReportPrinter.h"
#include "TimePrinter.h"

using namespace fa4::sim;

llvm::json::Object fa4::sim::launchToJson(const Session &session, size_t launch,
                                          uint64_t seed,
                                          const RunResult &result,
                                          const TimeResult *time) {
  const ptx::Module &module = session.module(launch);
  llvm::json::Array reports, notes;
  for (const Report &report : result.reports)
    (report.severity == Severity::Note ? notes : reports)
        .push_back(toJson(module, report));
  llvm::json::Object run{{"seed", int64_t(seed)},
                         {"launch", int64_t(launch)},
                         {"entry", session.launch(launch).entry},
                         {"findings", int64_t(result.findings)},
                         {"strict", int64_t(result.strict)},
                         {"reports", std::move(reports)},
                         {"notes", std::move(notes)}};
  if (time)
    run["time"] = toJson(*time);
  return run;
}
