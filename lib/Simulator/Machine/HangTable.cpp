//===- HangTable.cpp - what every unfinished thread waits for -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace fa4::sim;

ReportSite Cluster::site(const Actor &actor, llvm::StringRef what) const {
  ReportSite site;
  if (actor.inst) {
    site.line = actor.inst->line;
    site.opcode = actor.inst->opcode.str();
  }
  if (actor.warp) {
    for (unsigned i = 0; i < 3; ++i)
      site.ctaId[i] = actor.warp->cta->id[i];
    site.warp = actor.warp->index;
  }
  site.lane = actor.lane;
  site.what = what.str();
  return site;
}

void Cluster::report(llvm::StringRef kind, const llvm::Twine &message,
                     const Actor &actor, llvm::StringRef what) {
  Report finding;
  finding.kind = kind.str();
  finding.message = message.str();
  finding.sites.push_back(site(actor, what));
  grid.sink.add(std::move(finding));
}

/// "3", "0-7,16" of the set bits.
static std::string ranges(uint32_t mask) {
  std::string text;
  for (unsigned i = 0; i < warpSize; ++i) {
    if (!(mask >> i & 1))
      continue;
    unsigned last = i;
    while (last + 1 < warpSize && mask >> (last + 1) & 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(i);
    if (last > i)
      text += "-" + std::to_string(last);
    i = last;
  }
  return text;
}

static std::string lanesText(LaneMask mask, LaneMask all) {
  if (mask == all)
    return "";
  return (mask & (mask - 1) ? " lanes " : " lane ") + ranges(mask);
}

/// What one fragment waits for, in words.
static std::string describe(Cluster &cluster, const Warp &warp,
                            const Fragment &fragment) {
  const BlockReason &why = fragment.blocked;
  if (!fragment.blockedNow)
    return "runs: it polls memory, or spins";
  switch (why.kind) {
  case BlockReason::None:
    return "runs";
  case BlockReason::Mbarrier: {
    std::string where =
        llvm::formatv("waits for mbarrier {0:x}", why.address).str();
    if (cluster.ctas.size() > 1)
      where += llvm::formatv(" of rank {0}", why.cta).str();
    auto &barriers = cluster.ctas[why.cta].mbarriers;
    auto it = barriers.find(why.address);
    if (it == barriers.end() || !it->second.valid)
      return where + ", not initialised";
    const Mbarrier &b = it->second;
    std::string text =
        llvm::formatv("{0} {1} {2}; now phase {3} (parity {4}), {5} of {6} "
                      "arrivals pending, {7} bytes pending",
                      where, why.text, why.value, b.phase, b.phase & 1,
                      b.pending, b.expected, b.tx)
            .str();
    auto seen = warp.seenPhases.find(uint32_t(why.cta) << sharedRankShift |
                                     why.address);
    if (seen != warp.seenPhases.end() && b.phase >= seen->second + 3)
      text += llvm::formatv("; this warp last saw phase {0} complete and has "
                            "been lapped: a wait by parity may lag by one "
                            "phase only",
                            seen->second)
                  .str();
    if (b.pending == 0 && b.tx < 0)
      text += " (more bytes arrived than were expected)";
    return text;
  }
  case BlockReason::NamedBarrier: {
    const NamedBarrier &b = warp.cta->barriers[why.value & 15];
    return llvm::formatv(
               "waits for barrier {0}; {1} of {2} threads have arrived",
               why.value, b.arrived, b.expected)
        .str();
  }
  case BlockReason::ClusterBarrier:
    return llvm::formatv(
               "waits for the cluster barrier; {0} of {1} live threads have "
               "arrived",
               cluster.clusterArrived, cluster.liveThreads)
        .str();
  case BlockReason::WarpSync:
    return "waits for" + lanesText(uint32_t(why.value), 0) + " of its warp";
  case BlockReason::Aligned:
    return "waits for the other lanes of its warp to execute this .aligned "
           "instruction";
  case BlockReason::AsyncGroup:
    return llvm::formatv(
               "waits for asynchronous groups ({0} may be outstanding)",
               why.value)
        .str();
  case BlockReason::TensorWait:
    return "waits for its tcgen05 loads or stores";
  case BlockReason::TensorAlloc:
    return llvm::formatv("waits for {0} columns of tensor memory", why.value)
        .str();
  case BlockReason::Other:
    return std::string("waits for ") + why.text;
  }
  return "";
}

namespace {
/// Warps of a CTA that do the same.
struct HangRow {
  const Cta *cta;
  uint32_t warps, pc;
  std::string lanes, text;
};
} // namespace

static std::vector<HangRow> hangRows(Cluster &cluster) {
  std::vector<HangRow> rows;
  for (const Cta &cta : cluster.ctas)
    for (const Warp &warp : cta.warps)
      for (const Fragment &fragment : warp.fragments) {
        HangRow row{&cta, 1u << warp.index, fragment.pc,
                    lanesText(fragment.mask, warp.exists),
                    describe(cluster, warp, fragment)};
        auto same = llvm::find_if(rows, [&](const HangRow &other) {
          return other.cta == row.cta && other.pc == row.pc &&
                 other.lanes == row.lanes && other.text == row.text;
        });
        if (same != rows.end())
          same->warps |= row.warps;
        else
          rows.push_back(std::move(row));
      }
  return rows;
}

std::string Cluster::hangTable() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const HangRow &row : hangRows(const_cast<Cluster &>(*this))) {
    const Inst &inst = grid.program->insts[row.pc];
    out << llvm::formatv("  CTA ({0},{1},{2}) warp{3} {4}{5}: line {6}: {7}: "
                         "{8}\n",
                         row.cta->id[0], row.cta->id[1], row.cta->id[2],
                         row.warps & (row.warps - 1) ? "s" : "",
                         ranges(row.warps), row.lanes, inst.line, inst.opcode,
                         row.text);
  }
  std::map<std::string, unsigned> pendingOps;
  async.forEach([&](const AsyncOp &op) { ++pendingOps[op.describe(*this)]; });
  for (const auto &[what, count] : pendingOps)
    out << llvm::formatv("  outstanding: {0} x {1}\n", count, what);
  return text;
}

void Cluster::reportHang() {
  Report finding;
  finding.kind = "hang";
  finding.message = "nothing can go on any more:\n" + hangTable();
  if (!finding.message.empty() && finding.message.back() == '\n')
    finding.message.pop_back();
  finding.key = "hang";
  grid.sink.add(std::move(finding));
  grid.sink.requestStop();
}
