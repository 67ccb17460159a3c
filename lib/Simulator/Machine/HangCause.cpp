//===- HangCause.cpp - what a hang began with -----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a hang nearly every warp waits, most of them for warps that wait
// themselves. The cause is looked for from the certain to the likely:
//
//   1. a wait that cannot end whatever others do: on bytes that no copy brings,
//      on a barrier that is not initialised, by a warp that has been lapped;
//   2. a barrier of which so many signallers have exited that the rest is too
//      few;
//   3. warps that wait for each other in a cycle;
//   4. a warp that polls or spins; a barrier that nobody has ever arrived at.
//
// Who would signal a barrier is not in its state. The run's history says it:
// those who served earlier phases and not yet this one.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>

using namespace fa4::sim;
using llvm::formatv;

namespace {

/// A warp whose signal a wait lacks, and how it used to give it.
struct Signaller {
  const Warp *warp;
  std::string how;
};

struct Wait {
  const Warp *warp;
  const Fragment *fragment;
  std::string what; ///< "mbarrier full+8 (shared 0x408) parity 1".
  std::vector<Signaller> signallers;
};

class HangAnalysis {
public:
  explicit HangAnalysis(Cluster &cluster) : cluster(cluster) {
    for (Cta &cta : cluster.ctas)
      for (const Warp &warp : cta.warps)
        for (const Fragment &fragment : warp.fragments)
          waits.push_back(makeWait(warp, fragment));
  }

  std::string cause() const;

private:
  Wait makeWait(const Warp &warp, const Fragment &fragment) const;
  void addMbarrier(Wait &wait) const;
  void addNamedBarrier(Wait &wait) const;
  void addClusterBarrier(Wait &wait) const;

  const Mbarrier *mbarrierOf(const Wait &wait) const;
  std::string impossible(const Wait &wait) const;
  std::string missingBytes(const Wait &wait, const Mbarrier &barrier) const;
  std::string exited(const Wait &wait) const;
  std::string neverSignalled(const Wait &wait) const;
  std::string spins(const Wait &wait) const;
  std::string cycle() const;
  std::vector<size_t> shortestCycle(size_t from) const;

  std::string who(const Wait &wait) const {
    return Cluster::nameOf(*wait.warp);
  }
  std::string lineOf(const Inst &inst) const {
    return cluster.grid.program->lineOf(inst);
  }
  std::string waitsFor(const Wait &wait) const {
    const Inst &inst = cluster.grid.program->insts[wait.fragment->pc];
    return who(wait) + " at " + lineOf(inst) + " waits for " + wait.what;
  }

  Cluster &cluster;
  std::vector<Wait> waits;
};

} // namespace

//===----------------------------------------------------------------------===//
// Who waits for whom
//===----------------------------------------------------------------------===//

Wait HangAnalysis::makeWait(const Warp &warp, const Fragment &fragment) const {
  Wait wait{&warp, &fragment, "", {}};
  if (!fragment.blockedNow)
    return wait;
  const BlockReason &why = fragment.blocked;
  auto otherLanes = [&](LaneMask lanes) {
    if (lanes & warp.live & ~fragment.mask)
      wait.signallers.push_back({&warp, "its other lanes"});
  };
  switch (why.kind) {
  case BlockReason::Mbarrier:
    addMbarrier(wait);
    break;
  case BlockReason::NamedBarrier:
    addNamedBarrier(wait);
    break;
  case BlockReason::ClusterBarrier:
    addClusterBarrier(wait);
    break;
  case BlockReason::WarpSync:
    wait.what = "other lanes of its warp";
    otherLanes(why.value);
    break;
  case BlockReason::Aligned:
    wait.what = "other lanes of its warp";
    otherLanes(allLanes);
    break;
  case BlockReason::AsyncGroup:
    wait.what = "asynchronous groups";
    break;
  case BlockReason::WgmmaGroup:
    wait.what = "its wgmma groups";
    for (const Warp *late : Cluster::lateWarps(warp))
      wait.signallers.push_back(
          {late, formatv("has executed {0} wgmma.mma_async of {1}",
                         late->wgmmaCount, warp.wgmmaCount)
                     .str()});
    break;
  case BlockReason::TensorWait:
    wait.what = "its tcgen05 loads or stores";
    break;
  case BlockReason::TensorAlloc:
    wait.what = formatv("{0} columns of tensor memory", why.value).str();
    break;
  case BlockReason::None:
  case BlockReason::Other:
    wait.what = why.text;
    break;
  }
  return wait;
}

const Mbarrier *HangAnalysis::mbarrierOf(const Wait &wait) const {
  const BlockReason &why = wait.fragment->blocked;
  if (!wait.fragment->blockedNow || why.kind != BlockReason::Mbarrier)
    return nullptr;
  auto &barriers = cluster.ctas[why.cta].mbarriers;
  auto it = barriers.find(why.address);
  return it == barriers.end() ? nullptr : &it->second;
}

void HangAnalysis::addMbarrier(Wait &wait) const {
  const BlockReason &why = wait.fragment->blocked;
  wait.what = formatv("mbarrier {0} {1} {2}",
                      cluster.nameOfShared(cluster.ctas[why.cta], why.address),
                      why.text, why.value)
                  .str();
  const Mbarrier *barrier = mbarrierOf(wait);
  if (!barrier)
    return;
  for (const BarrierSignal &signal : barrier->history.signals()) {
    if (signal.phase >= barrier->phase)
      continue;
    bool arrives = signal.arrivals && barrier->pending;
    bool brings = signal.completedBytes && barrier->tx > 0;
    bool expects = signal.expectedBytes && barrier->tx < 0;
    if (arrives || brings || expects)
      wait.signallers.push_back(
          {signal.warp,
           formatv("{0} at {1}, last for phase {2}", signal.inst->opcode,
                   lineOf(*signal.inst), signal.phase)
               .str()});
  }
}

void HangAnalysis::addNamedBarrier(Wait &wait) const {
  unsigned id = wait.fragment->blocked.value & 15;
  const NamedBarrier &barrier = wait.warp->cta->barriers[id];
  wait.what = formatv("barrier {0}", id).str();
  llvm::SmallVector<const Warp *> arrived;
  for (const BarrierSignal &signal : barrier.history.signals()) {
    if (signal.phase == barrier.generation)
      arrived.push_back(signal.warp);
    else if (!barrier.all)
      wait.signallers.push_back(
          {signal.warp,
           formatv("{0} at {1}, last in generation {2}", signal.inst->opcode,
                   lineOf(*signal.inst), signal.phase)
               .str()});
  }
  // One that has arrived may be known from another instruction, too.
  llvm::erase_if(wait.signallers, [&](const Signaller &signaller) {
    return llvm::is_contained(arrived, signaller.warp);
  });
  for (const Warp &warp : wait.warp->cta->warps)
    if (barrier.all && warp.live && !llvm::is_contained(arrived, &warp))
      wait.signallers.push_back({&warp, "has not arrived"});
}

void HangAnalysis::addClusterBarrier(Wait &wait) const {
  wait.what = "the cluster barrier";
  for (const Cta &cta : cluster.ctas)
    for (const Warp &warp : cta.warps) {
      bool isMissing = false;
      forEachLane(warp.live, [&](unsigned lane) {
        isMissing |= cluster.clusterPending[warp.threadBase + lane] !=
                     cluster.clusterGeneration + 1;
      });
      if (isMissing)
        wait.signallers.push_back({&warp, "has not arrived"});
    }
}

//===----------------------------------------------------------------------===//
// Causes
//===----------------------------------------------------------------------===//

/// Bytes that were expected and did not come, or came and were not expected.
std::string HangAnalysis::missingBytes(const Wait &wait,
                                       const Mbarrier &barrier) const {
  int64_t expected = 0, completed = 0;
  std::vector<std::string> expects, copies;
  for (const BarrierSignal &signal : barrier.history.signals()) {
    if (signal.phase != barrier.phase)
      continue;
    expected += signal.expectedBytes;
    completed += signal.completedBytes;
    std::string text =
        formatv("{0} at {1} ({2})", signal.inst->opcode, lineOf(*signal.inst),
                Cluster::nameOf(*signal.warp))
            .str();
    if (signal.expectedBytes)
      expects.push_back(std::move(text));
    else if (signal.completedBytes)
      copies.push_back(std::move(text));
  }
  std::string brought =
      copies.empty()
          ? std::string("; no copy has brought any")
          : formatv("; {0} came, by {1}", completed, llvm::join(copies, ", "))
                .str();
  const BlockReason &why = wait.fragment->blocked;
  std::string name =
      "mbarrier " + cluster.nameOfShared(cluster.ctas[why.cta], why.address);
  if (barrier.tx > 0)
    return formatv("the byte count of {0} cannot be met: {1} of the {2} bytes "
                   "that phase {3} of {4} expects have not come, and no copy "
                   "to it is outstanding{5}",
                   llvm::join(expects, " and "), barrier.tx, expected,
                   barrier.phase, name, brought)
        .str();
  std::string told = expects.empty()
                         ? "no mbarrier.expect_tx was executed for it"
                         : formatv("it expects {0}, by {1}", expected,
                                   llvm::join(expects, " and "))
                               .str();
  return formatv("phase {0} of {1} was brought {2} bytes more than it expects "
                 "({3}{4})",
                 barrier.phase, name, -barrier.tx, told, brought)
      .str();
}

/// Says why nothing can end the wait; empty if something could.
std::string HangAnalysis::impossible(const Wait &wait) const {
  const BlockReason &why = wait.fragment->blocked;
  if (!wait.fragment->blockedNow || why.kind != BlockReason::Mbarrier)
    return "";
  const Mbarrier *barrier = mbarrierOf(wait);
  if (!barrier || !barrier->valid)
    return waitsFor(wait) + ", which is not initialised";
  bool wasExpected = llvm::any_of(
      barrier->history.signals(), [&](const BarrierSignal &signal) {
        return signal.expectedBytes && signal.phase < barrier->phase;
      });
  bool mayBeExpected = barrier->tx < 0 && barrier->pending && wasExpected;
  bool mayCome = barrier->tx > 0 && barrier->pending;
  if (barrier->tx && !mayBeExpected && !mayCome)
    return missingBytes(wait, *barrier);
  auto seen = wait.warp->seenPhases.find(uint32_t(why.cta) << sharedRankShift |
                                         why.address);
  if (seen != wait.warp->seenPhases.end() && barrier->phase >= seen->second + 3)
    return waitsFor(wait) + ", and has been lapped: two phases have completed "
                            "since it looked last";
  return "";
}

/// Signallers that have exited, where those that are left are too few.
std::string HangAnalysis::exited(const Wait &wait) const {
  const Mbarrier *barrier = mbarrierOf(wait);
  if (!barrier || !barrier->pending)
    return "";
  uint32_t left = 0;
  for (const BarrierSignal &signal : barrier->history.signals())
    if (signal.phase < barrier->phase && signal.warp->live)
      left += signal.arrivals;
  if (left >= barrier->pending)
    return "";
  for (const Signaller &signaller : wait.signallers)
    if (!signaller.warp->live)
      return waitsFor(wait) + ", but " + Cluster::nameOf(*signaller.warp) +
             ", which used to signal it (" + signaller.how + "), has exited";
  return "";
}

std::vector<size_t> HangAnalysis::shortestCycle(size_t from) const {
  std::vector<int64_t> before(waits.size(), -1);
  std::deque<size_t> queue = {from};
  while (!queue.empty()) {
    size_t at = queue.front();
    queue.pop_front();
    for (const Signaller &signaller : waits[at].signallers)
      for (size_t next = 0; next < waits.size(); ++next) {
        if (waits[next].warp != signaller.warp ||
            !waits[next].fragment->blockedNow)
          continue;
        // A warp that waits for its own other lanes is no cycle by itself.
        if (next == at && waits[at].warp == signaller.warp &&
            signaller.how == "its other lanes")
          continue;
        if (next == from) {
          std::vector<size_t> path;
          for (int64_t i = at; i >= 0; i = before[i])
            path.insert(path.begin(), size_t(i));
          return path;
        }
        if (before[next] < 0) {
          before[next] = int64_t(at);
          queue.push_back(next);
        }
      }
  }
  return {};
}

/// "warp A waits for X, which warp B would signal; warp B waits for Y, ...".
std::string HangAnalysis::cycle() const {
  std::vector<size_t> best;
  for (size_t i = 0; i < waits.size(); ++i) {
    if (!waits[i].fragment->blockedNow)
      continue;
    std::vector<size_t> found = shortestCycle(i);
    if (!found.empty() && (best.empty() || found.size() < best.size()))
      best = std::move(found);
  }
  if (best.empty())
    return "";
  std::string text = "a cycle of waits: " + waitsFor(waits[best.front()]);
  for (size_t i = 0; i < best.size(); ++i) {
    const Wait &wait = waits[best[i]],
               &next = waits[best[(i + 1) % best.size()]];
    auto signaller =
        llvm::find_if(wait.signallers, [&](const Signaller &signaller) {
          return signaller.warp == next.warp;
        });
    text += ", which " + who(next) + " would signal (" + signaller->how + ")";
    if (i + 1 < best.size())
      text += ", which waits for " + next.what;
  }
  return text;
}

std::string HangAnalysis::neverSignalled(const Wait &wait) const {
  if (!wait.fragment->blockedNow || !wait.signallers.empty())
    return "";
  const Mbarrier *barrier = mbarrierOf(wait);
  if (barrier && barrier->pending)
    return waitsFor(wait) +
           formatv(": {0} of {1} arrivals of phase {2} are missing, and nobody "
                   "else has ever arrived there",
                   barrier->pending, barrier->expected, barrier->phase)
               .str();
  if (wait.fragment->blocked.kind != BlockReason::NamedBarrier)
    return "";
  const NamedBarrier &named =
      wait.warp->cta->barriers[wait.fragment->blocked.value & 15];
  return waitsFor(wait) + formatv(": {0} of {1} threads have arrived, and "
                                  "nobody else has ever arrived there",
                                  named.arrived, named.expected)
                              .str();
}

/// A warp that runs on and on without an effect.
std::string HangAnalysis::spins(const Wait &wait) const {
  if (wait.fragment->blockedNow)
    return "";
  std::string polled = cluster.polledBy(*wait.warp);
  if (polled.empty())
    return formatv("{0} spins around {1}, in a loop that looks at no memory "
                   "twice",
                   who(wait),
                   lineOf(cluster.grid.program->insts[wait.fragment->pc]))
        .str();
  return who(wait) + " " + polled + ", and nobody changes that";
}

std::string HangAnalysis::cause() const {
  auto firstOf = [&](auto describe) {
    for (const Wait &wait : waits)
      if (std::string text = describe(wait); !text.empty())
        return text;
    return std::string();
  };
  std::string text = firstOf([&](const Wait &w) { return impossible(w); });
  if (text.empty())
    text = firstOf([&](const Wait &w) { return exited(w); });
  if (text.empty())
    text = cycle();
  if (text.empty())
    text = firstOf([&](const Wait &w) { return spins(w); });
  if (text.empty())
    text = firstOf([&](const Wait &w) { return neverSignalled(w); });
  if (text.empty())
    text = firstOf([&](const Wait &w) { return waitsFor(w); });
  return text;
}

std::string Cluster::hangCause() const {
  return HangAnalysis(const_cast<Cluster &>(*this)).cause();
}
