//===- HangTable.cpp - what every unfinished thread waits for -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"
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

static std::string lanesText(LaneMask mask, LaneMask live) {
  if (mask == live)
    return "";
  return llvm::formatv(" lanes {0:x-}", mask).str();
}

/// What one fragment waits for, in words.
static std::string describe(Cluster &cluster, const Warp &warp,
                            const Fragment &fragment) {
  const BlockReason &why = fragment.blocked;
  if (!fragment.blockedNow)
    return "runs (polls memory?)";
  switch (why.kind) {
  case BlockReason::None:
    return "runs";
  case BlockReason::Mbarrier: {
    std::string where = llvm::formatv("mbarrier {0:x}", why.address).str();
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
    if (b.pending == 0 && b.tx < 0)
      text += " (more bytes arrived than were expected)";
    return text;
  }
  case BlockReason::NamedBarrier: {
    const NamedBarrier &b = warp.cta->barriers[why.value & 15];
    return llvm::formatv("barrier {0}; {1} of {2} threads have arrived",
                         why.value, b.arrived, b.expected)
        .str();
  }
  case BlockReason::ClusterBarrier:
    return llvm::formatv("cluster barrier; {0} of {1} live threads have "
                         "arrived",
                         cluster.clusterArrived, cluster.liveThreads)
        .str();
  case BlockReason::WarpSync:
    return llvm::formatv("lanes {0:x-} of its warp", uint32_t(why.value)).str();
  case BlockReason::Aligned:
    return llvm::formatv("the other lanes of its warp (.aligned; lanes {0:x-} "
                         "are here)",
                         uint32_t(why.value))
        .str();
  case BlockReason::AsyncGroup:
    return llvm::formatv("asynchronous groups ({0} may be outstanding)",
                         why.value)
        .str();
  case BlockReason::TensorWait:
    return "its tcgen05 loads or stores";
  case BlockReason::TensorAlloc:
    return llvm::formatv("{0} columns of tensor memory", why.value).str();
  case BlockReason::Other:
    return why.text;
  }
  return "";
}

std::string Cluster::hangTable() const {
  Cluster &self = const_cast<Cluster &>(*this);
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Cta &cta : ctas)
    for (const Warp &warp : cta.warps)
      for (const Fragment &fragment : warp.fragments) {
        const Inst &inst = grid.program->insts[fragment.pc];
        out << llvm::formatv("  CTA ({0},{1},{2}) warp {3}{4}: line {5}: {6}: "
                             "waits for {7}\n",
                             cta.id[0], cta.id[1], cta.id[2], warp.index,
                             lanesText(fragment.mask, warp.exists), inst.line,
                             inst.opcode, describe(self, warp, fragment));
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
  for (const Cta &cta : ctas)
    for (const Warp &warp : cta.warps)
      for (const Fragment &fragment : warp.fragments) {
        Actor actor;
        actor.inst = &grid.program->insts[fragment.pc];
        actor.warp = const_cast<Warp *>(&warp);
        if (finding.sites.size() < 64)
          finding.sites.push_back(site(actor, describe(*this, warp, fragment)));
      }
  finding.key = "hang";
  grid.sink.add(std::move(finding));
  grid.sink.requestStop();
}
