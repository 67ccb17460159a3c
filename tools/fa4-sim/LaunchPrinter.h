//===- LaunchPrinter.h - what a launch did, as JSON -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_LAUNCHPRINTER_H
#define FA4_TOOLS_FA4_SIM_LAUNCHPRINTER_H

#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Timing/TimedRun.h"
#include "llvm/Support/JSON.h"

namespace fa4::sim {

/// {"seed", "launch", "entry", "findings", "strict", "reports", "notes",
/// "time"} of a launch in a run. `launch` is its number in the session. "time"
/// is there where `time` is not null.
llvm::json::Object launchToJson(const Session &session, size_t launch,
                                uint64_t seed, const RunResult &result,
                                const TimeResult *time);

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_LAUNCHPRINTER_H
