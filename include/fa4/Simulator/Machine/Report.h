//===- Report.h - what a run found wrong -----------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report is one finding about the simulated program: a race, a fault, a
// misuse of a barrier. Reports that differ only in the thread or the address
// are counted as one; `key` says which are the same.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_REPORT_H
#define FA4_SIMULATOR_MACHINE_REPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace fa4::sim {

/// The place in the PTX text and the thread to which a finding belongs.
struct ReportSite {
  uint32_t line = 0;      ///< PTX line, 0 when there is none.
  std::string opcode;     ///< Opcode with its modifiers.
  uint32_t ctaId[3] = {}; ///< %ctaid.
  uint32_t warp = 0;      ///< Warp in the CTA.
  int lane = -1;          ///< Lane, -1 for the whole warp.
  std::string what;       ///< e.g. "write of shared [0x400, 0x410)".
};

/// How bad a finding is.
enum class Severity : uint8_t {
  Error,  ///< The machine cannot do it, or the results depend on luck.
  Strict, ///< The manual forbids it, and hardware is known to tolerate it.
  Note,   ///< A strict one that does not count, as nobody asked for checks.
};

struct Report {
  /// Stable kebab-case class, e.g. "race", "out-of-bounds", "misaligned",
  /// "uninitialised", "missing-proxy-fence", "barrier-over-arrival", "hang".
  std::string kind;
  Severity severity = Severity::Error;
  /// One line that says what is wrong and which synchronisation is missing.
  std::string message;
  /// The access at fault and, if there are two, the earlier one behind it.
  std::vector<ReportSite> sites;
  /// Reports with the same key count as one finding. An empty key stands for
  /// the kind and the lines of the sites.
  std::string key;
  uint64_t count = 1;
};

/// The kinds of findings behind which a run can go on: all but a hang and the
/// limit of instructions. docs/simulator.md says how it goes on.
llvm::ArrayRef<llvm::StringLiteral> survivableKinds();

/// What stands for all strict findings in a list of kinds.
constexpr llvm::StringLiteral allStrict = "strict";

/// Reads a list of kinds with commas between, each of `survivableKinds` or
/// `allStrict`. Fails for another kind, and for none between two commas. An
/// empty list has no kinds.
llvm::Expected<std::vector<std::string>>
parseAllowedKinds(llvm::StringRef list);

/// Collects reports from all worker threads.
class ReportSink {
public:
  /// Reports of the kinds in `allowed` are dropped. Strict ones become notes
  /// where `isStrict` is false, or `allStrict` is allowed.
  explicit ReportSink(bool keepGoing, std::vector<std::string> allowed = {},
                      bool isStrict = true, unsigned maxDistinct = 100)
      : allowed(std::move(allowed)), keepGoing(keepGoing),
        isStrict(isStrict && !isAllowed(allStrict.str())),
        maxDistinct(maxDistinct) {}

  /// Takes a finding. Only an error ends the run.
  void add(Report report);
  /// Whether findings of this kind are dropped.
  bool isAllowed(const std::string &kind) const;
  /// The run stops, too, once another thread sets `*flag`, which may be null
  /// and has to outlive this.
  void interruptBy(const bool *flag) { interrupt = flag; }
  bool isInterrupted() const {
    return interrupt && __atomic_load_n(interrupt, __ATOMIC_RELAXED);
  }
  /// True once the run should stop (the first error without keepGoing).
  bool shouldStop() const {
    return __atomic_load_n(&stop, __ATOMIC_RELAXED) || isInterrupted();
  }
  void requestStop() { __atomic_store_n(&stop, true, __ATOMIC_RELAXED); }
  /// Number of findings, errors and strict ones, counting repetitions.
  uint64_t total() const;
  uint64_t totalStrict() const;
  std::vector<Report> take();

private:
  mutable std::mutex mutex;
  std::vector<Report> reports;
  std::vector<std::string> allowed;
  uint64_t count = 0, strictCount = 0;
  bool keepGoing, isStrict;
  unsigned maxDistinct;
  bool stop = false;
  const bool *interrupt = nullptr;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_REPORT_H
