//===- Report.cpp - what a run found wrong --------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/Report.h"
#include "fa4/Support/Tool.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace fa4::sim;

llvm::ArrayRef<llvm::StringLiteral> fa4::sim::survivableKinds() {
  static constexpr llvm::StringLiteral kinds[] = {"bad-descriptor",
                                                  "bad-mbarrier",
                                                  "bad-multicast-mask",
                                                  "bad-tensor-map",
                                                  "barrier-count",
                                                  "barrier-double-arrival",
                                                  "barrier-id",
                                                  "barrier-no-complete",
                                                  "barrier-over-arrival",
                                                  "barrier-overtaken",
                                                  "barrier-remote-wait",
                                                  "barrier-reuse",
                                                  "barrier-stale-state",
                                                  "barrier-tx-overflow",
                                                  "barrier-tx-underflow",
                                                  "barrier-uninitialised",
                                                  "branch-index",
                                                  "cluster-barrier",
                                                  "divergent-aligned",
                                                  "divergent-operand",
                                                  "exit-with-async-outstanding",
                                                  "inactive-lane",
                                                  "mbarrier-init-race",
                                                  "member-mask",
                                                  "misaligned",
                                                  "missing-async-wait",
                                                  "missing-bulk-wait",
                                                  "missing-proxy-fence",
                                                  "missing-tensor-fence",
                                                  "missing-tensor-wait",
                                                  "missing-wgmma-fence",
                                                  "missing-wgmma-wait",
                                                  "mixed-cta-group",
                                                  "no-cta-pair",
                                                  "out-of-bounds",
                                                  "race",
                                                  "race-before-cas",
                                                  "request-after-refusal",
                                                  "setmaxnreg",
                                                  "tmem-alloc-after-relinquish",
                                                  "tmem-bad-free",
                                                  "tmem-bad-size",
                                                  "tmem-lane-access",
                                                  "tmem-not-allocated",
                                                  "tmem-not-freed",
                                                  "trap",
                                                  "uninitialised",
                                                  "uninitialised-row",
                                                  "warpgroup-mismatch"};
  return kinds;
}

llvm::Expected<std::vector<std::string>>
fa4::sim::parseAllowedKinds(llvm::StringRef list) {
  std::vector<std::string> allowed;
  llvm::SmallVector<llvm::StringRef> kinds;
  if (!list.empty())
    list.split(kinds, ',');
  for (llvm::StringRef kind : kinds) {
    if (kind != allStrict && !llvm::is_contained(survivableKinds(), kind))
      return llvm::createStringError(
          "'" + kind + "' is no finding behind which a run can go on; " +
          suggestName(kind,
                      llvm::to_vector_of<llvm::StringRef>(survivableKinds())));
    allowed.push_back(kind.str());
  }
  return allowed;
}

bool ReportSink::isAllowed(const std::string &kind) const {
  return std::find(allowed.begin(), allowed.end(), kind) != allowed.end();
}

void ReportSink::add(Report report) {
  if (isAllowed(report.kind))
    return;
  if (report.severity == Severity::Strict && !isStrict)
    report.severity = Severity::Note;
  // Of what ends no run it is enough to know one place.
  bool isError = report.severity == Severity::Error;
  if (report.key.empty()) {
    report.key = report.kind;
    for (const ReportSite &site : report.sites) {
      report.key += ":" + std::to_string(site.line);
      if (!isError)
        break;
    }
  }
  std::lock_guard<std::mutex> lock(mutex);
  // Other workers may not have stopped yet. Their findings add nothing.
  if (stop)
    return;
  if (report.severity != Severity::Note)
    count += report.count;
  if (report.severity == Severity::Strict)
    strictCount += report.count;
  // After this many findings the run stops: a loop over a faulty instruction
  // would report without end.
  constexpr uint64_t enough = 20000;
  if ((isError && !keepGoing) || count >= enough)
    requestStop();
  unsigned alike = 0; // Errors, or others: neither keeps the other out.
  for (Report &known : reports) {
    if (known.key == report.key && known.severity == report.severity) {
      known.count += report.count;
      return;
    }
    alike += (known.severity == Severity::Error) == isError;
  }
  if (alike < maxDistinct)
    reports.push_back(std::move(report));
}

uint64_t ReportSink::total() const {
  std::lock_guard<std::mutex> lock(mutex);
  return count;
}

uint64_t ReportSink::totalStrict() const {
  std::lock_guard<std::mutex> lock(mutex);
  return strictCount;
}

std::vector<Report> ReportSink::take() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::move(reports);
}
