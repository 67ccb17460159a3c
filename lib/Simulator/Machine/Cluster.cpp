//===- Cluster.cpp - one cluster: set-up, scheduling, end -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"
#include "fa4/Target/TargetDescription.h"
#include <algorithm>
#include <cstring>

using namespace fa4::sim;

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

static void makeWarps(Cta &cta, const GridInfo &info, uint32_t threadBase) {
  const Program &program = *info.program;
  size_t registerBytes = (program.registerBytes + 63) / 64 * 64;
  size_t localBytes = size_t(info.entry->localBytes) * warpSize;
  cta.registerStorage = ZeroedMemory(registerBytes * info.warpsPerCta);
  cta.localStorage = ZeroedMemory(localBytes * info.warpsPerCta);
  cta.warps.resize(info.warpsPerCta);
  for (uint32_t w = 0; w < info.warpsPerCta; ++w) {
    Warp &warp = cta.warps[w];
    warp.cta = &cta;
    warp.index = w;
    warp.threadBase = threadBase + w * warpSize;
    warp.registers = cta.registerStorage.data() + w * registerBytes;
    warp.local = cta.localStorage.data() + w * localBytes;
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t thread = w * warpSize + lane;
      if (thread < info.threadsPerCta)
        warp.exists |= 1u << lane;
      warp.tid[0][lane] = thread % info.block.x;
      warp.tid[1][lane] = thread / info.block.x % info.block.y;
      warp.tid[2][lane] = thread / info.block.x / info.block.y;
    }
    warp.live = warp.exists;
    Fragment start;
    start.pc = program.functions[info.entry->function].pc;
    start.mask = warp.exists;
    warp.fragments.push_back(std::move(start));
  }
  cta.liveWarps = info.warpsPerCta;
  cta.liveThreads = info.threadsPerCta;
}

Cluster::Cluster(Grid &grid, uint64_t index, uint32_t firstCta[3],
                 uint64_t seed)
    : grid(grid), index(index), random(seed) {
  const Dim3 &dims = grid.cluster;
  const fa4::TargetDescription &chip = *grid.program->chip;
  ctas.resize(grid.ctasPerCluster);
  uint32_t sharedBytes = sharedReservedBytes + grid.entry->staticSharedBytes +
                         grid.dynamicSharedBytes;
  for (uint32_t rank = 0; rank < ctas.size(); ++rank) {
    Cta &cta = ctas[rank];
    cta.cluster = this;
    cta.rank = rank;
    cta.idInCluster[0] = rank % dims.x;
    cta.idInCluster[1] = rank / dims.x % dims.y;
    cta.idInCluster[2] = rank / dims.x / dims.y;
    for (unsigned i = 0; i < 3; ++i)
      cta.id[i] = firstCta[i] + cta.idInCluster[i];
    // Shared memory starts as NaNs, so that bytes that nobody has written do
    // not pass for data.
    cta.shared.assign(sharedBytes, 0xFF);
    makeWarps(cta, grid, rank * grid.warpsPerCta * warpSize);
    // The registers that setmaxnreg.inc can take: the register file less the
    // launch's share, plus what setmaxnreg.dec gives back. The share of a small
    // block is the assembler's choice.
    uint32_t threads = grid.warpsPerCta * warpSize;
    uint32_t perThread = grid.entry->maxNreg;
    if (!perThread && threads > 256)
      perThread = chip.registerFileWords / threads / chip.registerGranule *
                  chip.registerGranule;
    // ptxas gives no warp more at its start than the most that any asks for.
    if (grid.entry->largestBudget && perThread)
      perThread = std::min(perThread, grid.entry->largestBudget);
    for (Warp &warp : cta.warps)
      warp.maxRegisters = perThread;
    uint32_t used = perThread * threads;
    cta.freeRegisters =
        used < chip.registerFileWords ? chip.registerFileWords - used : 0;
  }
  liveThreads = grid.threadsPerCta * grid.ctasPerCluster;
  clusterPending.assign(grid.warpsPerCta * warpSize * ctas.size(), 0);
  for (Cta &cta : ctas)
    for (Warp &warp : cta.warps)
      allWarps.push_back(&warp);
  if (grid.checker)
    checker = grid.checker->beginCluster(*this);
}

Cluster::~Cluster() = default;

bool Cluster::shouldStop() const { return grid.sink.shouldStop(); }

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

/// Habits of the scheduler: how long a warp runs, which warps are held back,
/// how late asynchronous work is. Each is legal; together they expose code
/// that relies on luck.
void Cluster::drawPolicy() {
  static constexpr unsigned quanta[] = {1, 16, 64, 64, 256, 1024};
  static constexpr unsigned weights[] = {1, 2, 8, 64, 1u << 20};
  turnsLeft = 64 + random.below(512);
  if (grid.seed == 0 && grid.options.policy == SchedulePolicy::Random) {
    // This is what hardware usually does: every warp gets a turn, and copies
    // take a while.
    fair = true;
    quantum = 16;
    asyncOneIn = 4;
    return;
  }
  quantum = quanta[random.below(6)];
  freeRun = random.oneIn(4);
  switch (grid.options.policy) {
  case SchedulePolicy::Eager:
    break;
  case SchedulePolicy::Lazy:
    asyncOneIn = 1u << 20;
    async.copiesLast = grid.seed % 2 == 0;
    break;
  case SchedulePolicy::Random:
    asyncOneIn = weights[random.below(5)];
    break;
  case SchedulePolicy::Priority:
    asyncOneIn = weights[random.below(5)];
    return drawPriorities();
  }
  favoured = random.oneIn(2) ? ~0ull : random.next();
}

/// Draws the order of the warps; every other time whole warpgroups, because a
/// warpgroup often works on one tile.
void Cluster::drawPriorities() {
  constexpr unsigned group = 4;
  unsigned size = random.oneIn(2) ? group : 1;
  quantum = 1;
  turnsLeft = 1u << (8 + random.below(9));
  std::vector<unsigned> firsts;
  for (unsigned w = 0; w < allWarps.size(); w += size)
    firsts.insert(firsts.begin() + random.below(firsts.size() + 1), w);
  priorities.clear();
  for (unsigned first : firsts)
    for (unsigned w = first; w < first + size && w < allWarps.size(); ++w)
      priorities.push_back(w);
}

int Cluster::pickFragment(Warp &warp) {
  int best = -1;
  bool any = warp.fragments.size() > 1 && (freeRun || random.oneIn(8));
  unsigned seen = 0;
  for (unsigned i = 0; i < warp.fragments.size(); ++i) {
    const Fragment &fragment = warp.fragments[i];
    if (!runnable(fragment))
      continue;
    // The fragment with the lowest pc comes first, which lets structured code
    // reconverge. Now and then any fragment is chosen, so that none starves.
    if (best < 0 || (any ? random.oneIn(++seen + 1)
                         : fragment.pc < warp.fragments[best].pc))
      best = i;
  }
  return best;
}

bool Cluster::pick(Warp *&warp, unsigned &fragment) {
  unsigned count = allWarps.size();
  unsigned first = fair ? nextWarp : random.below(count);
  /// Instructions without progress after which a warp that polls lets others
  /// run.
  constexpr uint64_t patience = 50000;
  bool isStrict = !priorities.empty() && sinceProgress() < patience;
  for (int pass = favoured == ~0ull ? 1 : 0; pass < 2; ++pass)
    for (unsigned i = 0; i < count; ++i) {
      unsigned w = isStrict            ? priorities[i]
                   : first + i < count ? first + i
                                       : first + i - count;
      if (pass == 0 && !(favoured >> (w & 63) & 1))
        continue;
      Warp &candidate = *allWarps[w];
      if (!candidate.live)
        continue;
      int best = pickFragment(candidate);
      if (best < 0)
        continue;
      warp = &candidate;
      fragment = best;
      nextWarp = w + 1 < count ? w + 1 : 0;
      return true;
    }
  return false;
}

void Cluster::hold(Fragment &fragment) {
  holdRequested = false;
  fragment.isHeld = anyHeld = true;
  heldSince = executed;
}

void Cluster::releaseReaders() {
  holdRequested = false;
  if (!anyHeld)
    return;
  anyHeld = false;
  for (Warp *warp : allWarps)
    for (Fragment &fragment : warp->fragments)
      fragment.isHeld = false;
  if (checker)
    checker->flush();
}

bool Cluster::expireTimeLimits() {
  bool any = false;
  for (Warp *warp : allWarps)
    for (Fragment &fragment : warp->fragments)
      if (fragment.blockedNow && fragment.blocked.hasTimeLimit) {
        fragment.timedOut = true;
        any = true;
      }
  time += 1000;
  return any;
}

bool Cluster::waitsInVain(const Warp &warp, const Fragment &fragment) const {
  if (!fragment.blockedNow || fragment.timedOut)
    return false;
  const BlockReason &reason = fragment.blocked;
  if (reason.kind == BlockReason::NamedBarrier)
    return fragment.arrived &&
           warp.cta->barriers[reason.value].generation <= fragment.token;
  // (Other schedules try again: which turns there are is theirs to choose.)
  if (timer && reason.kind == BlockReason::ClusterBarrier)
    return reason.value == clusterGeneration;
  if (timer && reason.kind == BlockReason::WarpSync && fragment.arrived) {
    LaneMask missing = reason.value & warp.live;
    for (const Fragment &other : warp.fragments)
      if (other.arrived && other.blocked.kind == BlockReason::WarpSync)
        missing &= ~other.mask;
    return missing != 0;
  }
  if (reason.kind != BlockReason::Mbarrier || !reason.isOneObject)
    return false;
  const Cta &cta = ctas[reason.cta];
  auto found = cta.mbarriers.find(reason.address);
  return found != cta.mbarriers.end() && found->second.valid &&
         found->second.phase == fragment.token;
}

int Cluster::firstFragment(const Warp &warp) const {
  int best = -1;
  for (unsigned i = 0; i < warp.fragments.size(); ++i)
    if (runnable(warp.fragments[i]) &&
        (best < 0 || warp.fragments[i].pc < warp.fragments[best].pc) &&
        !waitsInVain(warp, warp.fragments[i]))
      best = i;
  return best;
}

bool Cluster::expireWaits() {
  if (!anyHeld)
    return expireTimeLimits();
  releaseReaders();
  return true;
}

/// Goes on where no warp can: with asynchronous operations, with readers that
/// are held, or with waits whose time is over. Returns a status if nothing else
/// can happen here.
std::optional<Cluster::Status> Cluster::runWithoutWarps() {
  /// The number of rounds of expired waits after which a cluster counts as
  /// stuck.
  constexpr unsigned maxIdleRounds = 64;
  if (async.runOne(*this, random))
    return std::nullopt;
  if (anyHeld) {
    releaseReaders();
    return std::nullopt;
  }
  if (idleRounds == 0)
    idleReads = globalReads;
  if (!expireTimeLimits())
    return Status::Stuck;
  if (++idleRounds < maxIdleRounds)
    return std::nullopt;
  idleRounds = 0;
  // Code between the waits may poll global memory.
  polled = true;
  return globalReads == idleReads ? Status::Stuck : Status::Stalled;
}

Cluster::Status Cluster::run(uint64_t budget) {
  /// The number of instructions without progress after which other clusters run
  /// first.
  constexpr uint64_t stallAfter = 200000;
  /// Instructions after which a reader that is held goes on.
  constexpr uint64_t holdAtMost = 1000000;
  uint64_t end = executed + budget;
  while (executed < end) {
    if (shouldStop())
      return Status::Done;
    if (liveThreads == 0) {
      while (async.runOne(*this, random))
        if (shouldStop())
          return Status::Done;
      finish();
      return Status::Done;
    }
    if (epoch != seenEpoch) {
      seenEpoch = epoch;
      progressAt = executed;
      idleRounds = 0;
    }
    if (anyHeld &&
        (sinceProgress() > stallAfter || executed - heldSince > holdAtMost)) {
      releaseReaders();
      continue;
    }
    if (sinceProgress() > stallAfter) {
      // No warp has made progress for long: either this CTA polls memory that
      // another cluster writes, or it hangs. Only the grid can tell.
      progressAt = executed;
      polled = polls != pollsAtProgress;
      pollsAtProgress = polls;
      return Status::Stalled;
    }
    if (turnsLeft-- == 0)
      drawPolicy();
    if (grid.options.policy == SchedulePolicy::Eager) {
      while (async.runOne(*this, random))
        if (shouldStop())
          return Status::Done;
    } else if (!async.empty() && random.oneIn(asyncOneIn)) {
      async.runOne(*this, random);
    }
    Warp *warp;
    unsigned fragment;
    if (pick(warp, fragment)) {
      runFragment(*warp, fragment, 1 + random.below(2 * quantum), freeRun);
      continue;
    }
    if (std::optional<Status> status = runWithoutWarps())
      return *status;
  }
  return Status::Running;
}

void Cluster::finish() {
  asyncClusterExit(*this);
  if (checker)
    checker->finish();
}

//===----------------------------------------------------------------------===//
// Exit
//===----------------------------------------------------------------------===//

void Cluster::checkBudgets(const Warp &last, const Inst &exit) {
  constexpr unsigned warpsPerGroup = 4;
  std::vector<Warp> &warps = last.cta->warps;
  unsigned first = last.index - last.index % warpsPerGroup;
  unsigned end = std::min<size_t>(first + warpsPerGroup, warps.size());
  for (unsigned w = first; w < end; ++w)
    if (warps[w].live)
      return;
  auto text = [](const Warp &warp) {
    std::string budgets;
    for (const Inst *inst : warp.budgets)
      budgets += (budgets.empty() ? "" : ", then ") +
                 std::string(inst->form2 ? "inc " : "dec ") +
                 std::to_string(inst->form);
    return budgets.empty() ? "none" : budgets;
  };
  // The counts may differ: FlashAttention-4's backward for Blackwell, which
  // works, gives the warps of one warpgroup 104 and 24 registers.
  auto directions = [](const Warp &warp) {
    llvm::SmallVector<uint64_t, 2> list;
    for (const Inst *inst : warp.budgets)
      list.push_back(inst->form2);
    return list;
  };
  for (unsigned w = first + 1; w < end; ++w) {
    if (directions(warps[w]) == directions(warps[first]))
      continue;
    const Warp &actor = warps[w].budgets.empty() ? warps[first] : warps[w];
    const Inst *inst = actor.budgets.empty() ? &exit : actor.budgets.back();
    return report(
        "setmaxnreg",
        "all warps of a warpgroup must execute setmaxnreg together: "
        "warp " +
            llvm::Twine(first) + " has executed " + text(warps[first]) +
            ", warp " + llvm::Twine(w) + " " + text(warps[w]),
        {inst, const_cast<Warp *>(&actor), -1, noAgent}, "", Severity::Strict);
  }
}

void Cluster::exitLanes(Exec &exec, LaneMask mask) {
  Warp &warp = exec.warp;
  asyncLanesExit(exec, mask);
  if (checker)
    checker->exitThreads(warp, mask);
  unsigned count = __builtin_popcount(mask);
  // Arrivals of threads that have exited no longer count, and are no longer
  // expected.
  forEachLane(mask, [&](unsigned l) {
    clusterArrived -=
        clusterPending[warp.threadBase + l] == clusterGeneration + 1;
  });
  warp.live &= ~mask;
  exec.frag->mask &= ~mask;
  Cta &cta = *warp.cta;
  cta.liveThreads -= count;
  liveThreads -= count;
  if (!warp.live) {
    --cta.liveWarps;
    checkBudgets(warp, grid.program->insts[exec.frag->pc]);
  }
  advance();
  recheckBarriers(cta);
}
