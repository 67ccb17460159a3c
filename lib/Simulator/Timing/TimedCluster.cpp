//===- TimedCluster.cpp - a cluster that runs by the clock ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedCluster.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"

using namespace fa4::sim;
using P = fa4::TimingParameter;

/// Whether an instruction computes registers from registers.
static bool isArithmetic(llvm::StringRef opcode) {
  return llvm::StringSwitch<bool>(opcode.split('.').first)
      .Cases({"add", "sub", "mul", "mad", "fma", "min", "max", "abs", "neg"},
             true)
      .Cases({"and", "or", "xor", "not", "shl", "shr", "shf", "lop3", "prmt"},
             true)
      .Cases({"mov", "cvt", "cvta", "selp", "setp", "ex2", "lg2", "rcp"}, true)
      .Default(false);
}

/// Clocks that are too few to wait for.
constexpr double tolerance = 1e-6;

/// Issue slots on pipes that products leave alone.
static float freeSlots(const IssueCost &cost) {
  return cost[Pipe::Control] + cost[Pipe::Uniform] + cost[Pipe::Tensor];
}

static PlainCost plainCostOf(const Inst &inst, const InstructionClass &kind,
                             const IssueCost &cost) {
  PlainCost plain;
  if (!isArithmetic(inst.opcode) || inst.flags & Inst::Aligned ||
      kind.special != Special::None || kind.isFence || kind.isMbarrierTest ||
      kind.pipe == Pipe::Lsu || cost[Pipe::Lsu] != 0 || cost.localOps != 0)
    return plain;
  unsigned count = 0;
  for (unsigned i = 0; i < numPipes; ++i) {
    if (cost.ops[i] == 0)
      continue;
    if (count == PlainCost::mostUses)
      return plain;
    plain.uses[count++] = {uint8_t(i), cost.ops[i]};
  }
  plain.isPlain = true;
  plain.waits = cost.waits;
  plain.isVariable = kind.isVariable();
  plain.slots = cost.slots();
  plain.numUses = plain.slots > 0 ? count : 0;
  plain.free = freeSlots(cost);
  plain.clocks = cost.clocks;
  plain.isFree = plain.slots == 0 && plain.clocks == 0 && plain.waits.empty() &&
                 !plain.isVariable;
  return plain;
}

TimedProgram::TimedProgram(const Program &program, const IssueCosts &costs)
    : program(program), costs(costs) {
  for (const Inst &inst : program.insts) {
    classes.push_back(classify(inst));
    uint16_t used = 0;
    for (unsigned i = 0; i < numPipes; ++i)
      used |= uint16_t(costs.of(inst).ops[i] != 0) << i;
    pipes.push_back(used);
    slots.push_back(costs.of(inst).slots());
    plain.push_back(plainCostOf(inst, classes.back(), costs.of(inst)));
    lines = std::max(lines, inst.line + 1);
  }
  constexpr uint16_t mostFree = 1024;
  for (size_t i = plain.size(); i-- > 1;)
    if (plain[i].isFree && plain[i].freeBehind < mostFree)
      plain[i - 1].freeBehind = plain[i].freeBehind + 1;
}

void TimedProgram::countTurns() {
  turns =
      TurnMap(program, classes, [&](size_t pc) { return !plain[pc].isPlain; });
}

TimedCluster::TimedCluster(const TimedProgram &timed,
                           std::unique_ptr<Cluster> owned,
                           std::vector<SmModel *> sms, double start)
    : cluster(std::move(owned)), start(start), end(start), timed(timed),
      sms(std::move(sms)), now(start), epochTime(start) {
  cluster->setTimer(this);
  namedTimes.resize(cluster->ctas.size());
  for (Warp *warp : cluster->warps()) {
    WarpClock clock;
    clock.lines.resize(timed.lines);
    clock.waits.resize(timed.lines);
    clocks.push_back(std::move(clock));
    for (Fragment &fragment : warp->fragments)
      fragment.readyAt = start;
    WarpTimes times;
    times.begin = times.end = start;
    times.cta = warp->cta->rank;
    times.warp = warp->index;
    warpTimes.push_back(std::move(times));
  }
  turns.resize(clocks.size());
  for (WarpTurns &each : turns)
    each.current.resize(timed.turns.size());
  while (leaves < clocks.size())
    leaves *= 2;
  keys.assign(leaves, never);
  earliest.resize(2 * leaves);
  for (unsigned i = 0; i < numPipes; ++i)
    intervals[i] = this->sms.front()->interval(Pipe(i));
}

//===----------------------------------------------------------------------===//
// What waits for what
//===----------------------------------------------------------------------===//

static Trace::Unit unitOf(AsyncWork::Kind kind) {
  switch (kind) {
  case AsyncWork::Wgmma:
  case AsyncWork::TensorMma:
  case AsyncWork::TensorCopy:
  case AsyncWork::TensorCommit:
    return Trace::TensorCores;
  case AsyncWork::BulkLoad:
    return Trace::BulkLoads;
  case AsyncWork::BulkStore:
  case AsyncWork::BulkReduce:
    return Trace::BulkStores;
  case AsyncWork::TensorStore:
    return Trace::TensorStores;
  default:
    return Trace::Others;
  }
}

TimedCluster::PendingMoment TimedCluster::actor(Moment::Kind kind) const {
  if (isPerforming)
    return {-1, eventMoment};
  const WarpClock &clock = *current.clock;
  const WarpTimes &times = *current.times;
  Moment moment = {now, current.cause, current.line, kind};
  moment.cluster = number;
  moment.cta = current.track.cta;
  moment.number = current.track.number;
  moment.parts = {float(times.issue - clock.issue),
                  float(times.contention - clock.contention),
                  float(times.pipe() - clock.pipe),
                  float(times.scoreboard - clock.scoreboard)};
  return {moment, 0};
}

uint64_t TimedCluster::logBegin(const AsyncOp &op, const AsyncWork &work,
                                const AsyncTimes &times) {
  if (!log)
    return 0;
  Moment begin = {times.begin, 0, op.inst->line, Moment::Began};
  begin.cause = times.isQueued && times.unit ? times.unit->last : 0;
  if (!log->find(begin.cause)) {
    PendingMoment issuer = actor(Moment::Issued);
    begin.cause = logged(issuer);
  }
  begin.isOperation = times.unit != nullptr;
  begin.cluster = number;
  begin.cta = rankOf(op);
  begin.number = unitOf(work.kind);
  uint64_t moment = log->add(begin);
  for (Server *unit : {times.unit, times.paired})
    if (unit)
      unit->last = moment;
  return moment;
}

uint64_t TimedCluster::logWake(double at) {
  uint64_t cause = at <= current.wakeAt ? current.wakeCause : 0;
  if (!cause)
    cause = current.pollCause;
  if (log && !cause && current.isRetry)
    cause = logged(epochCause);
  // A latency of its own does not end a warp's work.
  if (!cause)
    return current.cause;
  Moment moment = {at, cause, current.line, Moment::Woke};
  moment.cluster = number;
  moment.cta = current.track.cta;
  moment.number = current.track.number;
  WarpClock &clock = *current.clock;
  const WarpTimes &times = *current.times;
  clock.issue = times.issue;
  clock.contention = times.contention;
  clock.pipe = times.pipe();
  clock.scoreboard = times.scoreboard;
  return log->add(moment);
}

//===----------------------------------------------------------------------===//
// What happens next
//===----------------------------------------------------------------------===//

double TimedCluster::keyOf(const Warp &warp) {
  if (warp.live && warp.fragments.size() == 1) {
    const Fragment &only = warp.fragments.front();
    if (!only.blockedNow && !only.isHeld)
      return only.readyAt;
  }
  int index = warp.live ? cluster->firstFragment(warp) : -1;
  if (index < 0)
    return never;
  const Fragment &fragment = warp.fragments[index];
  return fragment.blockedNow ? std::max(fragment.readyAt, epochTime)
                             : fragment.readyAt;
}

void TimedCluster::updateKeys() {
  for (unsigned i = 0; i < clocks.size(); ++i) {
    const Warp &warp = *cluster->warps()[i];
    // What others do changes nothing for a warp that does not wait.
    bool waits = warp.fragments.size() != 1 || warp.fragments[0].blockedNow;
    if (waits || keys[i] == never)
      keys[i] = keyOf(warp);
  }
  keysAreOld = false;
  for (unsigned i = 0; i < leaves; ++i)
    earliest[leaves + i] = {llvm::bit_cast<uint64_t>(keys[i]), i};
  for (unsigned node = leaves - 1; node > 0; --node) {
    const Earliest &left = earliest[2 * node], &right = earliest[2 * node + 1];
    earliest[node] = right.key < left.key ? right : left;
  }
}

inline void TimedCluster::setKey(unsigned index, double key) {
  keys[index] = key;
  Earliest best = {llvm::bit_cast<uint64_t>(key), index};
  Earliest *tree = earliest.data();
  unsigned node = leaves + index;
  tree[node] = best;
  for (; node > 1; node /= 2) {
    const Earliest &other = tree[node ^ 1];
    // A sibling on the left is in front where keys are equal.
    bool isOther = other.key < best.key + (node & 1);
    best.key = isOther ? other.key : best.key;
    best.index = isOther ? other.index : best.index;
    tree[node / 2] = best;
  }
}

double TimedCluster::nextTime() {
  if (keysAreOld)
    updateKeys();
  double warp = llvm::bit_cast<double>(earliest[1].key);
  return events.empty() ? warp : std::min(events.top().at, warp);
}

void TimedCluster::advance(double limit) {
  double warp = llvm::bit_cast<double>(earliest[1].key);
  double event = events.empty() ? never : events.top().at;
  bool wasEvent = event <= warp;
  if (wasEvent) {
    runEvent();
  } else {
    // (An event comes before a warp of the same time.)
    limit = std::min(limit, event);
    while (stepWarp(earliest[1].index) &&
           llvm::bit_cast<double>(earliest[1].key) < limit)
      ;
  }
  if (cluster->epoch != seenEpoch) {
    seenEpoch = cluster->epoch;
    cluster->noteProgress();
    epochTime = now;
    if (log)
      epochCause = wasEvent ? PendingMoment{-1, eventMoment} : actor();
    keysAreOld = true;
  }
}

bool TimedCluster::expireWaits() {
  keysAreOld = true;
  return cluster->expireWaits();
}

std::vector<WarpTimes> TimedCluster::timesOfWarps() const {
  std::vector<WarpTimes> times = warpTimes;
  for (auto [own, clock] : llvm::zip_equal(times, clocks))
    for (auto [line, clocks] : llvm::enumerate(clock.waits))
      if (clocks > 0)
        own.waits[line] = clocks;
  return times;
}

void TimedCluster::finish() {
  isPerforming = true;
  cluster->finish();
  if (!log)
    return;
  auto last = llvm::max_element(
      warpTimes, [](const auto &a, const auto &b) { return a.end < b.end; });
  const WarpClock &clock = clocks[last - warpTimes.begin()];
  lastMoment = eventEnd > last->end ? eventMoment : clock.cause;
}

void TimedCluster::runEvent() {
  Event event = events.top();
  events.pop();
  now = event.at;
  end = std::max(end, now);
  isPerforming = true;
  if (log) {
    Moment over = {now, event.began, event.op->inst->line, Moment::Ended};
    over.cluster = number;
    over.cta = rankOf(*event.op);
    over.number = event.unit;
    eventMoment = log->add(over);
    eventEnd = now;
  }
  bool isOver = cluster->async.perform(*event.op, *cluster, cluster->random);
  if (!isOver && event.end > event.at) {
    // A store has read its source.
    events.push({event.end, eventNumber++, event.op, event.end, event.began,
                 event.unit});
  } else {
    while (!isOver)
      isOver = cluster->async.perform(*event.op, *cluster, cluster->random);
  }
  isPerforming = false;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

double TimedCluster::scoreboardTime(const WarpClock &clock,
                                    llvm::ArrayRef<IssueCost::Wait> waits,
                                    double at) const {
  double result = at;
  for (const IssueCost::Wait &wait : waits) {
    if (wait.line >= clock.lines.size())
      continue;
    const LineRecord &record = clock.lines[wait.line];
    // The delays since the producer was issued hide its latency, too.
    double delays = (at - clock.nominal) - (record.issued - record.nominal);
    double ready = wait.isLocal ? record.localReady : record.ready;
    double left = ready - record.issued - wait.distance - delays;
    result = std::max(result, at + left);
  }
  return result;
}

double TimedCluster::drainTime(const WarpClock &clock, const Inst &inst,
                               double at, Pipe &fullest) const {
  const InstructionClass &kind = timed.classes[timed.program.pcOf(inst)];
  if (!kind.isFence)
    return at;
  double slack = get(P::PipeSlack);
  for (unsigned i = 0; i < numPipes; ++i)
    if (clock.pipeEnd[i] - slack > at) {
      at = clock.pipeEnd[i] - slack;
      fullest = Pipe(i);
    }
  return at;
}

inline double TimedCluster::takePipe(WarpClock &clock, SmModel &sm,
                                     SmModel::Part &part, Pipe wanted,
                                     float ops, double begin) {
  Pipe pipe = sm.choose(wanted, part);
  double &done = clock.pipeEnd[unsigned(pipe)];
  // A pair of f32 takes the pipe of single ones for longer.
  double interval =
      ops * intervals[unsigned(wanted == Pipe::FmaPair ? wanted : pipe)];
  double from = part.pipes[unsigned(pipe)].take(begin, interval);
  // The assembler spreads the warp's own work, which does not delay it.
  double queued = from - std::max(begin, done);
  done = from + interval;
  if (pipe == Pipe::FmaHeavy)
    part.pipes[unsigned(Pipe::Fma)].take(begin,
                                         ops * intervals[unsigned(Pipe::Fma)]);
  return queued;
}

/// `forEachUse` calls its argument with each pipe but the LSU that the
/// instruction goes to, and the operations there.
template <typename F>
inline TimedCluster::Issue
TimedCluster::issue(WarpClock &clock, WarpTimes &times, SmModel &sm,
                    SmModel::Part &part, double at, const Slots &slots,
                    F forEachUse) {
  double begin = at, over = at;
  if (slots.all > 0) {
    begin = std::max(at, part.issue.free);
    double interval = sm.issueInterval(begin, slots.lsu, slots.free, slots.all);
    part.issue.take(begin, interval);
    part.issue.busy -= interval - slots.all;
    over = begin + interval;
  }
  double own = std::max(slots.clocks, slots.all);
  current.issuedAt = std::max(begin + own, over);
  times.issue += own;
  times.contention += current.issuedAt - at - own;
  double queued = 0;
  forEachUse([&](unsigned pipe, float ops) {
    queued =
        std::max(queued, takePipe(clock, sm, part, Pipe(pipe), ops, begin));
  });
  return {begin, queued};
}

double TimedCluster::charge(WarpTimes &times, SmModel::Part &part,
                            const Inst &inst, double at) {
  const IssueCost &cost = timed.costs.of(inst);
  size_t pc = timed.program.pcOf(inst);
  Slots slots = {timed.slots[pc], cost[Pipe::Lsu], freeSlots(cost),
                 cost.clocks};
  auto [begin, queued] =
      issue(*current.clock, times, *current.sm, part, at, slots, [&](auto use) {
        for (unsigned used = slots.all > 0 ? timed.pipes[pc] : 0; used;
             used &= used - 1) {
          unsigned pipe = llvm::countr_zero(used);
          times.ops[pipe] += cost.ops[pipe];
          if (Pipe(pipe) != Pipe::Lsu)
            use(pipe, cost.ops[pipe]);
        }
      });
  noteResult(part, inst, begin, queued);
  if (cost.localOps > 0)
    chargeLocal(times, inst, begin);
  return begin;
}

/// Registers are spilled to L1, whose data go through the port of shared
/// memory. A load takes as long as one of global memory that L1 answers.
void TimedCluster::chargeLocal(WarpTimes &times, const Inst &inst, double at) {
  const IssueCost &cost = timed.costs.of(inst);
  SmModel &sm = *current.sm;
  double begin = sm.lsu.take(at, cost.localOps);
  sm.takeShared(begin, cost.localBytes * warpSize, /*isRead=*/false);
  double latency = begin - at + get(P::L1Latency);
  LineRecord &record = current.clock->lines[inst.line];
  record.issued = at;
  record.nominal = current.clock->nominal;
  record.localReady = at + latency;
  if (!cost.localDistance)
    return;
  double stall = std::max(0.0, latency - *cost.localDistance);
  current.issuedAt += stall;
  times.scoreboard += stall;
}

void TimedCluster::noteResult(SmModel::Part &part, const Inst &inst, double at,
                              double queued) {
  const InstructionClass &kind = *current.kind;
  if (!kind.isVariable())
    return;
  LineRecord &record = current.clock->lines[inst.line];
  record.issued = at;
  record.nominal = current.clock->nominal;
  record.ready =
      at + queued + resultLatency(kind, sms.front()->chip.parameters);
}

void TimedCluster::chargeMemory(const IssueCost &cost, double at) {
  SmModel &sm = *current.sm;
  double begin = sm.lsu.take(
      at, std::max<double>(cost[Pipe::Lsu] - cost.localOps, current.lines));
  double over = sm.lsu.free;
  if (current.sharedBytes > 0)
    over = std::max(over, sm.takeShared(begin, current.sharedBytes,
                                        !current.kind->isStore));
  current.clock->pipeEnd[unsigned(Pipe::Lsu)] = over;
  current.clock->hasStored |= current.kind->isStore;
  // The first of the clocks in which the access is served is in its latency.
  current.latency += std::max(0.0, over - at - 1);
}

void TimedCluster::chargeSpecial(SmModel::Part &part, double at) {
  WarpClock &clock = *current.clock;
  // A latency that is known as a whole begins with the instruction: the clocks
  // that the assembler gave it are a part of the latency.
  auto last = [&](double latency) { delay(at - hidden(latency) + latency); };
  switch (current.kind->special) {
  case Special::None:
    return;
  case Special::MbarrierArrive:
    return last(get(P::MbarrierArrive));
  case Special::MbarrierRelease:
    return last(get(P::MembarGpu) + get(P::MbarrierArrive));
  case Special::ProxyFence:
    last(get(P::ProxyFence) + (clock.hasStored ? get(P::StoreFence) : 0));
    clock.hasStored = false;
    return;
  case Special::MembarCta:
    return last(get(P::MembarCta));
  case Special::MembarGpu:
    return last(get(P::MembarGpu));
  case Special::WarpSync:
    return last(get(P::WarpSync));
  case Special::RegisterChange:
    return last(get(P::RegisterChange));
  case Special::TensorAlloc:
    return last(get(P::TensorAlloc));
  case Special::GlobalReduction:
    return delay(current.sm->reduction.take(at, get(P::RedInterval)));
  case Special::TensorLoad: {
    constexpr double columnBytes = warpSize * 4;
    double interval =
        current.kind->columns * columnBytes / get(P::TensorLoadRate);
    Server &pipe = part.pipes[unsigned(Pipe::TensorMemory)];
    double ready = pipe.take(at, interval) + interval;
    clock.tensorLoaded = ready + get(P::TensorLoadLatency);
    return;
  }
  case Special::TensorWaitLoad:
    return delay(clock.tensorLoaded);
  }
}

/// Looks again later at a warp that cannot issue `inst` yet. Returns whether it
/// can now.
bool TimedCluster::canIssue(unsigned index, Fragment &fragment,
                            const Inst &inst) {
  WarpClock &clock = clocks[index];
  WarpTimes &times = warpTimes[index];
  double time = keys[index];
  double ready = scoreboardTime(clock, timed.costs.of(inst).waits, time);
  Pipe fullest = Pipe::Control;
  double drained = drainTime(clock, inst, ready, fullest);
  if (drained <= time + tolerance)
    return true;
  times.scoreboard += ready - time;
  times.pipes[unsigned(fullest)] += drained - ready;
  fragment.readyAt = drained;
  setKey(index, drained);
  return false;
}

/// Begins the record of what handlers tell of an instruction.
void TimedCluster::beginInstruction(unsigned index, const Fragment &fragment,
                                    const Inst &inst) {
  const Warp &warp = *cluster->warps()[index];
  current = Current();
  current.clock = &clocks[index];
  current.times = &warpTimes[index];
  current.line = inst.line;
  current.sm = sms[warp.cta->rank];
  current.kind = &timed.classes[fragment.pc];
  current.track = {warp.cta->rank, warp.index};
  current.cause = fragment.cause;
  current.isRetry = fragment.blockedNow;
  current.clocks = timed.costs.of(inst).clocks;
}

/// Charges what an executed instruction has taken, and its wait, which began
/// at `waitingSince`.
void TimedCluster::endInstruction(unsigned index, SmModel::Part &part,
                                  const Inst &inst, LaneMask mask,
                                  double waitingSince) {
  WarpClock &clock = clocks[index];
  if (mask) {
    if (current.kind->pipe == Pipe::Lsu)
      chargeMemory(timed.costs.of(inst), now);
    if (current.latency > 0)
      clock.lines[inst.line].ready += current.latency;
    if (!current.isRetry)
      chargeSpecial(part, now);
  }
  if (current.kind->isMbarrierTest)
    clock.failedTest = current.isSeen ? 0 : inst.line;
  double over =
      std::max({waitingSince, current.isRetry ? now : 0, current.wakeAt});
  uint64_t cause = current.cause;
  if (over > waitingSince || current.pollCause)
    cause = logWake(over);
  if (over > waitingSince) {
    clock.waits[inst.line] += over - waitingSince;
    if (trace)
      trace->add(Trace::Slice{current.track, waitingSince, over, inst.line,
                              inst.opcode});
  }
  for (Fragment &other : cluster->warps()[index]->fragments)
    if (other.mask & mask) {
      other.readyAt = std::max(other.readyAt, over);
      other.cause = cause;
    }
  clock.cause = cause;
}

inline void TimedCluster::countForTurn(unsigned index, uint32_t pc, Flow flow) {
  if (flow == Flow::Jump &&
      timed.turns.endsTurn(pc, timed.program.insts[pc].target))
    return turns[index].end();
  if (uint32_t counter = timed.turns.counterOf(pc))
    ++turns[index].current[counter];
}

bool TimedCluster::stepWarp(unsigned index) {
  Warp &warp = *cluster->warps()[index];
  WarpTimes &times = warpTimes[index];
  bool isWhole = warp.fragments.size() == 1;
  int at = isWhole ? 0 : cluster->firstFragment(warp);
  Fragment &fragment = warp.fragments[at];
  const PlainCost &plain = timed.plain[fragment.pc];
  // (Where the epoch is new, the step counts as its cause.)
  if (isWhole && plain.isPlain && !fragment.blockedNow && !fragment.isCharged &&
      cluster->epoch == seenEpoch) {
    stepPlain(index, warp, plain);
    return true;
  }
  const Inst &inst = timed.program.insts[fragment.pc];
  bool isIssued = fragment.blockedNow || fragment.isCharged;
  if (!isIssued && !canIssue(index, fragment, inst))
    return true;
  SmModel::Part &part =
      sms[warp.cta->rank]->parts[warp.index % SmModel::numParts];
  beginInstruction(index, fragment, inst);
  now = keys[index];
  if (!isIssued) {
    now = charge(times, part, inst, now);
    fragment.readyAt = current.issuedAt;
    clocks[index].nominal += current.clocks;
    ++times.instructions;
    if (current.kind->isFence && fragment.readyAt > now) {
      // The clocks of an instruction come before its effect: machine code that
      // stands in front of a barrier is charged to the barrier.
      setKey(index, fragment.readyAt);
      fragment.isCharged = true;
      return true;
    }
  }
  fragment.isCharged = false;
  double waitingSince = fragment.readyAt;
  times.end = std::max(times.end, now);
  end = std::max(end, now);
  uint32_t pc = fragment.pc;
  Cluster::Step step = cluster->step(warp, at);
  if (step.mask && step.flow != Flow::Block && timed.turns.size())
    countForTurn(index, pc, step.flow);
  if (step.inst && step.flow != Flow::Block)
    endInstruction(index, part, inst, step.mask, waitingSince);
  else if (step.inst && !current.isRetry)
    chargeSpecial(part, now);
  setKey(index, keyOf(warp));
  return false;
}

/// What `charge` does, for an instruction of which less is to be asked.
inline double TimedCluster::chargePlain(unsigned index, SmModel &sm,
                                        SmModel::Part &part, const Inst &inst,
                                        const PlainCost &plain) {
  WarpClock &clock = clocks[index];
  WarpTimes &times = warpTimes[index];
  Slots slots = {plain.slots, 0, plain.free, plain.clocks};
  auto [begin, queued] =
      issue(clock, times, sm, part, keys[index], slots, [&](auto use) {
        for (unsigned i = 0; i < plain.numUses; ++i) {
          auto [pipe, ops] = plain.uses[i];
          times.ops[pipe] += ops;
          use(pipe, ops);
        }
      });
  if (plain.isVariable) {
    current.clock = &clock;
    current.kind = &timed.classes[timed.program.pcOf(inst)];
    noteResult(part, inst, begin, queued);
  }
  return begin;
}

/// What stepWarp does for an instruction that nothing holds up once its
/// operands are there, and that tells the clock of nothing.
void TimedCluster::stepPlain(unsigned index, Warp &warp,
                             const PlainCost &plain) {
  Fragment &fragment = warp.fragments.front();
  const Inst &inst = timed.program.insts[fragment.pc];
  WarpClock &clock = clocks[index];
  WarpTimes &times = warpTimes[index];
  if (!plain.waits.empty()) {
    double time = keys[index];
    double ready = scoreboardTime(clock, plain.waits, time);
    if (ready > time + tolerance) {
      times.scoreboard += ready - time;
      fragment.readyAt = ready;
      return setKey(index, ready);
    }
  }
  SmModel &sm = *sms[warp.cta->rank];
  now = chargePlain(index, sm, sm.parts[warp.index % SmModel::numParts], inst,
                    plain);
  fragment.readyAt = current.issuedAt;
  clock.nominal += plain.clocks;
  clock.cause = fragment.cause;
  // What takes no time needs no turn of its own.
  times.instructions += 1 + plain.freeBehind;
  times.end = std::max(times.end, now);
  end = std::max(end, now);
  cluster->stepPlain(warp, 1 + plain.freeBehind);
  setKey(index, fragment.readyAt);
}

//===----------------------------------------------------------------------===//
// What handlers tell
//===----------------------------------------------------------------------===//

uint64_t TimedCluster::nanoseconds() const {
  return uint64_t(now / get(P::ClockGHz));
}

void TimedCluster::sleep(uint64_t nanoseconds) {
  delay(now + nanoseconds * get(P::ClockGHz));
}

/// Bytes of shared memory's bandwidth that an access takes: 128 for each clock.
/// Lanes are served in groups that together access 128 bytes; in a group, each
/// bank gives one word a clock, to all lanes that want it.
static double bankBytes(const uint64_t *addresses, LaneMask mask,
                        uint32_t bytes) {
  constexpr unsigned banks = 32, wordBytes = 4, rowBytes = banks * wordBytes;
  unsigned words = std::max(1u, bytes / wordBytes);
  unsigned lanes = std::max(1u, std::min(warpSize, warpSize / words));
  double clocks = 0;
  for (unsigned first = 0; first < warpSize; first += lanes) {
    uint64_t seen[banks][4];
    unsigned counts[banks] = {};
    unsigned most = 0;
    for (unsigned l = first; l < first + lanes; ++l) {
      if (!(mask >> l & 1))
        continue;
      for (unsigned w = 0; w < words; ++w) {
        uint64_t word = addresses[l] / wordBytes + w;
        unsigned bank = word % banks, &count = counts[bank];
        bool isKnown = false;
        for (unsigned i = 0; i < std::min(count, 4u); ++i)
          isKnown |= seen[bank][i] == word;
        if (isKnown)
          continue;
        if (count < 4)
          seen[bank][count] = word;
        most = std::max(most, ++count);
      }
    }
    clocks += most;
  }
  return clocks * rowBytes;
}

void TimedCluster::access(const uint64_t *addresses, LaneMask shared,
                          LaneMask global, uint32_t bytes, AccessKind kind) {
  if (shared) {
    uint32_t rank = addresses[__builtin_ctz(shared)] >> sharedRankShift;
    SmModel &sm = *sms[std::min<size_t>(rank, sms.size() - 1)];
    double taken = bankBytes(addresses, shared, bytes);
    if (&sm == current.sm) {
      current.sharedBytes += taken;
    } else {
      double begin = current.sm->link.take(now, __builtin_popcount(shared) *
                                                    bytes / get(P::RemoteRate));
      sm.takeShared(begin, taken, kind == AccessKind::Read);
      current.latency +=
          begin - now + get(P::RemoteShared) - get(P::SharedLatency);
    }
  }
  if (!global)
    return;
  double latency = 0;
  uint64_t last = ~0ull;
  forEachLane(global, [&](unsigned l) {
    uint64_t line = addresses[l] / SmModel::lineBytes;
    if (line == last)
      return;
    last = line;
    ++current.lines;
    latency = std::max(
        latency, current.sm->loadLatency(addresses[l], current.kind->mayCache));
  });
  if (kind == AccessKind::Read || kind == AccessKind::Atomic)
    current.latency += latency - get(P::L1Latency);
}

void TimedCluster::mbarrierSignal(const Cta &cta, const Mbarrier &barrier,
                                  const Actor &actor) {
  bool isRemote = actor.warp && actor.warp->cta != &cta;
  double latency = isPerforming ? 0
                   : isRemote   ? get(P::MbarrierRemote)
                                : get(P::MbarrierHandOff);
  if (!isPerforming && current.kind->special == Special::MbarrierRelease)
    latency += get(P::MembarGpu);
  BarrierTime &time = timeOf(cta, barrier.offset);
  time.isByThread = !isPerforming;
  time.signalledAt = now;
  if (actor.warp)
    time.signaller = {actor.warp->cta->rank, actor.warp->index};
  if (now + latency < time.signalled)
    return;
  time.signalled = now + latency;
  if (log)
    time.signal = this->actor();
}

void TimedCluster::mbarrierPhase(const Cta &cta, const Mbarrier &barrier) {
  BarrierTime &time = timeOf(cta, barrier.offset);
  // The bytes may have come before the arrival that expects them.
  if (log && time.signalled < now)
    time.signal = actor();
  time.complete = std::max(time.signalled, now);
  if (trace)
    trace->add(Trace::Phase{cta.rank, barrier.offset, time.complete});
  time.completed = time.signal;
  time.signalled = 0;
}

void TimedCluster::mbarrierSeen(const Cta &cta, const Mbarrier &barrier) {
  BarrierTime &time = timeOf(cta, barrier.offset);
  bool isPolled = current.clock->failedTest == current.line;
  bool isLate = current.isRetry || isPolled || time.complete > now;
  uint64_t cause = isLate ? logged(time.completed) : 0;
  if (isPolled)
    current.pollCause = cause;
  current.isSeen = true;
  delay(time.complete, cause);
  constexpr size_t mostNames = 4;
  uint64_t place = uint64_t(current.line) << 32 | cta.rank << sharedRankShift |
                   barrier.offset;
  if (isLate && current.clock->named.insert(place).second) {
    std::set<std::string> &names = current.times->barriers[current.line];
    if (names.size() < mostNames)
      names.insert(cluster->nameOfShared(cta, barrier.offset));
  }
  if (trace && current.isRetry && time.isByThread)
    trace->add(Trace::Arrow{time.signaller, current.track, time.signalledAt,
                            time.complete});
  if (!current.isRetry)
    return delay(now + get(P::MbarrierTry));
  // A suspended wait takes longer to go on where a thread has arrived; the
  // latencies of copies and products include the waiter.
  if (time.isByThread)
    delay(time.complete + get(P::MbarrierWake), cause);
}

void TimedCluster::namedArrive(const Cta &cta, unsigned barrier) {
  double interval = get(P::NamedPerWarp);
  BarrierTime &time = namedTimes[cta.rank][barrier];
  double issued = now - hidden(get(P::NamedLatency));
  double arrived =
      sms[cta.rank]->namedBarrier.take(issued, interval) + interval;
  if (arrived < time.signalled)
    return;
  time.signalled = arrived;
  if (log)
    time.signal = actor();
}

void TimedCluster::namedComplete(const Cta &cta, unsigned barrier) {
  BarrierTime &time = namedTimes[cta.rank][barrier];
  double least = time.signalled > 0 ? time.signalled : now;
  // The last of those that had not arrived may have exited instead.
  if (log && time.signalled <= 0)
    time.signal = actor();
  time.complete = least + get(P::NamedLatency);
  time.completed = time.signal;
  time.signalled = 0;
}

void TimedCluster::namedLeave(const Cta &cta, unsigned barrier) {
  BarrierTime &time = namedTimes[cta.rank][barrier];
  delay(time.complete, logged(time.completed));
}

void TimedCluster::clusterArrive(bool isRelease) {
  double fence = isRelease ? get(P::MembarGpu) : 0;
  double arrived = now - hidden(fence + get(P::ClusterBarrier)) + fence;
  delay(arrived);
  double latency = get(P::ClusterBarrier) + get(P::ClusterPerCta) * sms.size();
  if (arrived + latency < clusterTime.signalled)
    return;
  clusterTime.signalled = arrived + latency;
  if (log)
    clusterTime.signal = actor();
}

void TimedCluster::clusterLeave() {
  delay(clusterTime.signalled, logged(clusterTime.signal));
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

void TimedCluster::traceWork(const AsyncOp &op, const AsyncWork &work,
                             const AsyncTimes &times) {
  Trace::Unit unit = unitOf(work.kind);
  if (work.kind == AsyncWork::TensorCommit)
    return;
  // Products overlap: a slice is the time for which one has the tensor cores.
  double over = unit == Trace::TensorCores ? smOf(op).tensor.free : times.end;
  if (over > times.begin)
    trace->add(Trace::Slice{
        {rankOf(op), unit}, times.begin, over, op.inst->line, op.inst->opcode});
}

AsyncTimes TimedCluster::timesOf(const AsyncWork &work, SmModel &sm,
                                 double at) {
  switch (work.kind) {
  case AsyncWork::Wgmma:
    return sm.wgmma(at, work);
  case AsyncWork::TensorMma: {
    llvm::SmallVector<SmModel *, 2> pair = {&sm};
    for (SmModel *other : sms)
      if (work.ctas == 2 && other != &sm && pair.size() < 2)
        pair.push_back(other);
    return SmModel::tensorMma(at + get(P::TensorIssue), work, pair);
  }
  case AsyncWork::TensorCopy:
    return sm.tensorCopy(at, work);
  case AsyncWork::TensorStore:
    return sm.tensorStore(at, work);
  case AsyncWork::BulkLoad:
    return sm.bulkLoad(at, work);
  case AsyncWork::BulkStore:
  case AsyncWork::BulkReduce:
    return sm.bulkWrite(at, work);
  case AsyncWork::CopyAsync:
    return sm.copyAsync(at, work);
  case AsyncWork::StoreAsync:
    return sm.remoteStore(at, work);
  case AsyncWork::Cancel:
    return {at, at + get(P::CancelLatency), at + get(P::CancelLatency)};
  case AsyncWork::TensorCommit:
  case AsyncWork::Arrival:
    return {at, at, at};
  }
  return {at, at, at};
}

void TimedCluster::schedule(AsyncOp &op, uint32_t queue, const AsyncWork &work,
                            const AsyncTimes &times) {
  AsyncTimes real = times;
  uint64_t began = logBegin(op, work, times);
  if (queue != AsyncEngine::unordered) {
    QueueEnd &last = queueEnds[queue];
    if (last.end > real.end) {
      real.end = last.end;
      began = last.began;
    }
    last = {real.end, began};
  }
  bool isWrite = times.read < times.end && times.read > times.begin;
  events.push({isWrite ? real.read : real.end, eventNumber++, &op, real.end,
               began, unitOf(work.kind)});
}

void TimedCluster::asyncIssued(AsyncOp &op, uint32_t queue) {
  AsyncWork work = op.work();
  if (work.kind == AsyncWork::Wgmma)
    return;
  if (!isPerforming)
    ++current.times->work[work.kind];
  AsyncTimes times = timesOf(work, smOf(op), now);
  schedule(op, queue, work, times);
  if (trace)
    traceWork(op, work, times);
}

void TimedCluster::wgmmaIssued(AsyncOp &op, uint32_t queue, bool isLast) {
  std::deque<Begin> &begins = wgmmaBegins[queue];
  AsyncWork work = op.work();
  ++current.times->work[work.kind];
  if (isLast) {
    AsyncTimes times = timesOf(work, smOf(op), now);
    schedule(op, queue, work, times);
    begins.push_back({times.begin, times.unit->last});
    if (trace)
      traceWork(op, work, times);
  }
  delay(now + work.n * get(P::WgmmaIssue));
  while (!begins.empty() && begins.front().at <= now)
    begins.pop_front();
  auto ahead =
      size_t(get(work.sharedA ? P::WgmmaIssueAhead : P::WgmmaAheadRegisters));
  if (begins.size() > ahead) {
    const Begin &begin = begins[begins.size() - ahead - 1];
    delay(begin.at, begin.moment);
  }
}
