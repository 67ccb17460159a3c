//===- WatchPrinter.h - who wrote to a place, as text and JSON -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_WATCHPRINTER_H
#define FA4_TOOLS_FA4_SIM_WATCHPRINTER_H

#include "fa4/Simulator/Check/Watch.h"
#include "fa4/Simulator/Manifest/Session.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

namespace fa4::sim {

/// The places that --watch names, and what is written to them.
class WatchPrinter {
public:
  /// Reads the places, after Session::prepare. With `os`, each write is printed
  /// as it happens; without, it is kept for takeJson.
  llvm::Error setUp(const Session &session, llvm::ArrayRef<std::string> names,
                    llvm::raw_ostream *os);

  /// Watches a launch: makes the checker around that of `run`.
  void attach(const ptx::Module &module, RunOptions &run);
  /// Behind a launch: the places that nobody wrote to.
  void finishLaunch();
  llvm::json::Array takeJson() { return std::move(events); }

private:
  void tell(const ptx::Module &module, const WatchEvent &event);
  std::string valueText(unsigned place, uint64_t bits) const;

  std::vector<std::string> names;
  std::vector<MemoryPlace> places;
  std::vector<uint64_t> writes; ///< Of this launch, by place.
  llvm::raw_ostream *os = nullptr;
  llvm::json::Array events;
  std::mutex mutex;
};

} // namespace fa4::sim

#endif // FA4_TOOLS_FA4_SIM_WATCHPRINTER_H
