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
#include <cstring>
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
                     const Actor &actor, llvm::StringRef what,
                     Severity severity) {
  if (checker)
    checker->flush();
  Report finding;
  finding.kind = kind.str();
  finding.severity = severity;
  finding.message = message.str();
  finding.sites.push_back(site(actor, what));
  grid.sink.add(std::move(finding));
}

/// Lists the set bits of a mask, for example "3" or "0-7,16".
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

std::string Cluster::nameOf(const Warp &warp) {
  const uint32_t *id = warp.cta->id;
  return llvm::formatv("CTA ({0},{1},{2}) warp {3}", id[0], id[1], id[2],
                       warp.index)
      .str();
}

std::string Cluster::nameOfShared(const Cta &cta, uint32_t offset) const {
  std::string name = grid.entry->describeShared(offset);
  if (ctas.size() > 1)
    name += " of CTA rank " + std::to_string(cta.rank);
  return name;
}

/// Describes the memory that a warp which is not blocked reads again and again,
/// or nothing.
std::string Cluster::polledBy(const Warp &warp) {
  constexpr uint64_t isPolling = 16, isRecent = 100000;
  const Warp::Load *polled = nullptr;
  for (const Warp::Load &load : warp.recentLoads)
    if (load.repeats >= isPolling && executed - load.at < isRecent &&
        (!polled || load.repeats > polled->repeats))
      polled = &load;
  if (!polled)
    return "";
  const Inst &inst = grid.program->insts[polled->pc];
  uint64_t address;
  MemSpace space = Exec::classify(polled->address, address);
  std::string where, value;
  const uint8_t *host = nullptr;
  if (space == MemSpace::Shared) {
    const Cta &cta = *ctaOfShared(address);
    where = nameOfShared(cta, address & sharedOffsetMask);
    if (findMbarrier(address))
      where = "mbarrier " + where;
    else
      host = resolveShared(address, 4);
  } else {
    where = "global " + grid.memory.describe(address);
    host = grid.memory.resolve(address, 4);
  }
  if (host) {
    uint32_t word;
    std::memcpy(&word, host, 4);
    value = llvm::formatv(", which holds {0:x}", word).str();
  }
  return llvm::formatv("polls {0}{1}, by {2} at {3}", where, value, inst.opcode,
                       grid.program->lineOf(inst))
      .str();
}

/// Who arrived last, before or in the current phase.
static std::string lastArrival(Cluster &cluster,
                               const BarrierHistory &history) {
  const BarrierSignal *last = nullptr;
  for (const BarrierSignal &signal : history.signals())
    if (signal.arrivals && (!last || signal.phase >= last->phase))
      last = &signal;
  if (!last)
    return "; nobody has ever arrived";
  return llvm::formatv("; last arrival: warp {0}, {1}, phase {2}",
                       last->warp->index,
                       cluster.grid.program->lineOf(*last->inst), last->phase)
      .str();
}

llvm::SmallVector<const Warp *, 4> Cluster::lateWarps(const Warp &warp) {
  constexpr unsigned warpsPerGroup = 4;
  const std::vector<Warp> &warps = warp.cta->warps;
  llvm::SmallVector<const Warp *, 4> late;
  unsigned first = warp.index - warp.index % warpsPerGroup;
  for (unsigned w = first; w < first + warpsPerGroup && w < warps.size(); ++w)
    if (warps[w].wgmmaCount < warp.wgmmaCount)
      late.push_back(&warps[w]);
  return late;
}

static std::string describeMbarrierWait(Cluster &cluster, const Warp &warp,
                                        const BlockReason &why) {
  std::string where = "waits for mbarrier " +
                      cluster.nameOfShared(cluster.ctas[why.cta], why.address);
  auto &barriers = cluster.ctas[why.cta].mbarriers;
  auto it = barriers.find(why.address);
  if (it == barriers.end() || !it->second.valid)
    return where + ", not initialised";
  const Mbarrier &b = it->second;
  std::string text =
      llvm::formatv("{0} {1} {2}; now phase {3} (parity {4}), {5} of {6} "
                    "arrivals pending, {7} bytes pending",
                    where, why.text, why.value, b.phase, b.phase & 1, b.pending,
                    b.expected, b.tx)
          .str();
  auto seen =
      warp.seenPhases.find(uint32_t(why.cta) << sharedRankShift | why.address);
  if (seen != warp.seenPhases.end() && b.phase >= seen->second + 3)
    text += llvm::formatv("; this warp last saw phase {0} complete and has "
                          "been lapped: a wait by parity may lag by one "
                          "phase only",
                          seen->second)
                .str();
  if (b.pending == 0 && b.tx < 0)
    text += " (more bytes arrived than were expected)";
  return text + lastArrival(cluster, b.history);
}

/// Describes in words what a fragment waits for.
static std::string describe(Cluster &cluster, const Warp &warp,
                            const Fragment &fragment) {
  const BlockReason &why = fragment.blocked;
  if (!fragment.blockedNow) {
    std::string polled = cluster.polledBy(warp);
    return polled.empty()
               ? "runs: it spins in a loop that looks at no memory twice"
               : "runs: it " + polled;
  }
  switch (why.kind) {
  case BlockReason::None:
    return "runs";
  case BlockReason::Mbarrier:
    return describeMbarrierWait(cluster, warp, why);
  case BlockReason::NamedBarrier: {
    const NamedBarrier &b = warp.cta->barriers[why.value & 15];
    return llvm::formatv(
               "waits for barrier {0}; {1} of {2} threads have arrived",
               why.value, b.arrived, b.expected)
               .str() +
           lastArrival(cluster, b.history);
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
  case BlockReason::WgmmaGroup:
    return llvm::formatv("waits for its wgmma groups ({0} may be outstanding); "
                         "it has executed {1} wgmma.mma_async{2}",
                         why.value, warp.wgmmaCount,
                         cluster.lateWarps(warp).empty()
                             ? ""
                             : ", another warp of its warpgroup fewer")
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
/// Warps of a CTA that wait for the same thing at the same line.
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
    out << llvm::formatv("  CTA ({0},{1},{2}) warp{3} {4}{5}: {6}: {7}: {8}\n",
                         row.cta->id[0], row.cta->id[1], row.cta->id[2],
                         row.warps & (row.warps - 1) ? "s" : "",
                         ranges(row.warps), row.lanes,
                         grid.program->lineOf(inst), inst.opcode, row.text);
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
  finding.message =
      "nothing can go on any more: " + hangCause() + "\n" + hangTable();
  if (!finding.message.empty() && finding.message.back() == '\n')
    finding.message.pop_back();
  finding.key = "hang";
  grid.sink.add(std::move(finding));
  grid.sink.requestStop();
}
