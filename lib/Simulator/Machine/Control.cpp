//===- Control.cpp - control flow and special registers -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions", "Special
// Registers", griddepcontrol, and the instructions that the decoder inserts.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Lanes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace fa4::sim;

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Sends `taken` of the fragment's lanes to `target`; the others go on behind
/// the instruction.
static void branch(Exec &x, LaneMask taken, uint32_t target) {
  if (taken == x.frag->mask) {
    x.frag->pc = target;
    return;
  }
  Fragment other = *x.frag;
  other.mask = taken;
  other.pc = target;
  other.arrived = other.timedOut = other.blockedNow = false;
  x.frag->mask &= ~taken;
  ++x.frag->pc;
  x.warp.fragments.push_back(std::move(other));
}

static Flow bra(Exec &x, const Inst &inst) {
  branch(x, x.mask, inst.target);
  return Flow::Jump;
}

static Flow brx(Exec &x, const Inst &inst) {
  const auto &targets = *static_cast<const std::vector<uint32_t> *>(inst.extra);
  LaneMask left = x.mask;
  LaneMask others = x.frag->mask & ~x.mask;
  uint32_t behind = x.frag->pc + 1;
  Fragment pattern = *x.frag;
  pattern.arrived = pattern.timedOut = pattern.blockedNow = false;
  bool first = true;
  while (left) {
    uint32_t index = x.value(inst, 0, __builtin_ctz(left));
    LaneMask same = 0;
    forEachLane(left, [&](unsigned l) {
      same |= uint32_t(uint32_t(x.value(inst, 0, l)) == index) << l;
    });
    left &= ~same;
    if (index >= targets.size()) {
      x.report(inst, "branch-index",
               llvm::formatv("brx.idx with index {0}; the list has {1} targets",
                             index, targets.size())
                   .str(),
               __builtin_ctz(same));
      index = 0;
    }
    pattern.mask = same;
    pattern.pc = targets[index];
    if (first)
      *x.frag = pattern;
    else
      x.warp.fragments.push_back(pattern);
    first = false;
  }
  if (others) {
    pattern.mask = others;
    pattern.pc = behind;
    x.warp.fragments.push_back(pattern);
  }
  return Flow::Jump;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void copyLanes(Exec &x, const CallInfo &info) {
  uint64_t localBytes = x.grid.entry->localBytes;
  for (const CallCopy &copy : info.copies)
    forEachLane(x.mask, [&](unsigned l) {
      uint8_t *local = x.warp.local + localBytes * l;
      uint8_t buffer[16] = {};
      if (copy.fromLocal && copy.toLocal) {
        std::memmove(local + copy.toOffset, local + copy.fromOffset,
                     copy.bytes);
        return;
      }
      if (copy.fromLocal) {
        std::memcpy(buffer, local + copy.fromOffset,
                    std::min<uint32_t>(copy.bytes, 16));
      } else {
        uint64_t v = x.value(copy.from, l);
        std::memcpy(buffer, &v, 8);
        if (copy.from.width == 16)
          std::memcpy(buffer + 8, x.read<uint64_t>(copy.from) + l + warpSize,
                      8);
      }
      if (copy.toLocal) {
        std::memcpy(local + copy.toOffset, buffer,
                    std::min<uint32_t>(copy.bytes, 16));
        return;
      }
      uint64_t v;
      std::memcpy(&v, buffer, 8);
      const Operand &to = copy.to;
      if (to.width == 0) {
        uint32_t *p = x.write<uint32_t>(to);
        *p = (*p & ~(1u << l)) | uint32_t(v & 1) << l;
      } else if (to.width == 4) {
        x.write<uint32_t>(to)[l] = uint32_t(v);
      } else {
        x.write<uint64_t>(to)[l] = v;
        if (to.width == 16)
          std::memcpy(x.write<uint64_t>(to) + l + warpSize, buffer + 8, 8);
      }
    });
}

Flow fa4::sim::callFunction(Exec &x, const Inst &inst) {
  copyLanes(x, *static_cast<const CallInfo *>(inst.extra));
  LaneMask taken = x.mask;
  uint32_t returnPc = x.frag->pc + 1;
  if (taken != x.frag->mask) {
    // The lanes that do not call go on as a fragment of their own. The calling
    // lanes keep this one.
    Fragment others = *x.frag;
    others.mask &= ~taken;
    others.pc = returnPc;
    // Results are copied by a guarded instruction at returnPc.
    size_t index = x.frag - x.warp.fragments.data();
    x.warp.fragments.push_back(std::move(others));
    x.frag = &x.warp.fragments[index];
    x.frag->mask = taken;
  }
  x.frag->calls.push_back({returnPc});
  x.frag->pc = inst.target;
  return Flow::Jump;
}

Flow fa4::sim::copyResults(Exec &x, const Inst &inst) {
  copyLanes(x, *static_cast<const CallInfo *>(inst.extra));
  return Flow::Next;
}

Flow fa4::sim::assertFail(Exec &x, const Inst &inst) {
  x.report(inst, "trap", "an assertion of the kernel failed");
  return Flow::Exit;
}

/// ret. form: 1 in an entry.
Flow fa4::sim::endOfFunction(Exec &x, const Inst &inst) {
  if (inst.form || x.frag->calls.empty())
    return Flow::Exit;
  uint32_t target = x.frag->calls.back().returnPc;
  if (x.mask == x.frag->mask) {
    x.frag->calls.pop_back();
    x.frag->pc = target;
    return Flow::Jump;
  }
  Fragment returning = *x.frag;
  returning.mask = x.mask;
  returning.pc = target;
  returning.calls.pop_back();
  x.frag->mask &= ~x.mask;
  ++x.frag->pc;
  x.warp.fragments.push_back(std::move(returning));
  return Flow::Jump;
}

//===----------------------------------------------------------------------===//
// Inserted instructions
//===----------------------------------------------------------------------===//

Flow fa4::sim::narrowTo32(Exec &x, const Inst &inst) {
  uint32_t *d = x.write<uint32_t>(inst, 0);
  const uint64_t *a = x.read<uint64_t>(inst, 1);
  forEachLane(x.mask, [&](unsigned l) { d[l] = uint32_t(a[l]); });
  return Flow::Next;
}

Flow fa4::sim::widenTo64(Exec &x, const Inst &inst) {
  uint64_t *d = x.write<uint64_t>(inst, 0);
  const uint32_t *a = x.read<uint32_t>(inst, 1);
  unsigned shift = 64 - inst.form2;
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t v = uint64_t(a[l]) << shift;
    d[l] = inst.form ? uint64_t(int64_t(v) >> shift) : v >> shift;
  });
  return Flow::Next;
}

static Flow writeAll(Exec &x, const Inst &inst, uint64_t value) {
  const Operand &d = x.operand(inst, 0);
  if (d.width == 0) {
    x.setPredicate(d, value ? x.mask : 0);
    return Flow::Next;
  }
  forEachLane(x.mask, [&](unsigned l) {
    if (d.width == 4)
      x.write<uint32_t>(d)[l] = uint32_t(value);
    else
      x.write<uint64_t>(d)[l] = value;
  });
  return Flow::Next;
}

Flow fa4::sim::sharedAddress(Exec &x, const Inst &inst) {
  return writeAll(x, inst, uint64_t(x.cta.rank) << sharedRankShift | inst.form);
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

namespace {

enum Special : uint8_t {
  Tid,
  Ntid,
  Ctaid,
  Nctaid,
  ClusterId,
  Nclusterid,
  ClusterCtaid,
  ClusterNctaid, // these eight with .x .y .z
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  ClusterCtarank,
  ClusterNctarank,
  ExplicitCluster,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt,
  Clock,
  ClockHi,
  Clock64,
  Timer,
  TimerLo,
  TimerHi,
  TotalSmem,
  AggrSmem,
  DynamicSmem,
  ReservedBegin,
  ReservedEnd,
  ReservedCap,
  Zero,
  Unknown,
};

uint32_t component(const Dim3 &d, unsigned i) {
  return i == 0 ? d.x : i == 1 ? d.y : d.z;
}

/// Ticks of the SM's clock and nanoseconds: those of the model in a timed run.
uint64_t clockOf(const Cluster &cluster) {
  return cluster.timer ? cluster.timer->cycles() : cluster.time * 2;
}
uint64_t timeOf(const Cluster &cluster) {
  return cluster.timer ? cluster.timer->nanoseconds() : cluster.time;
}

uint64_t uniformValue(Exec &x, Special which, unsigned i) {
  const Grid &g = x.grid;
  switch (which) {
  case Ntid:
    return component(g.block, i);
  case Ctaid:
    return x.cta.id[i];
  case Nctaid:
    return component(g.grid, i);
  case ClusterId:
    return x.cta.id[i] / component(g.cluster, i);
  case Nclusterid:
    return component(g.grid, i) / component(g.cluster, i);
  case ClusterCtaid:
    return x.cta.idInCluster[i];
  case ClusterNctaid:
    return component(g.cluster, i);
  case WarpId:
    return x.warp.index;
  case NwarpId:
    return 64;
  case SmId: // any number in the chip's range
    return (x.cluster.index * x.cluster.ctas.size() + x.cta.rank) % 148;
  case NsmId:
    return 148;
  case GridId:
    return 1;
  case ClusterCtarank:
    return x.cta.rank;
  case ClusterNctarank:
    return x.cluster.ctas.size();
  case ExplicitCluster:
    return x.cluster.ctas.size() > 1 || g.entry->explicitCluster;
  case Clock:
  case Clock64:
    return clockOf(x.cluster);
  case ClockHi:
    return clockOf(x.cluster) >> 32;
  case Timer:
  case TimerLo:
    return timeOf(x.cluster);
  case TimerHi:
    return timeOf(x.cluster) >> 32;
  case TotalSmem:
    return x.cta.shared.size() - sharedReservedBytes;
  case AggrSmem:
    return x.cta.shared.size();
  case DynamicSmem:
    return g.dynamicSharedBytes;
  case ReservedEnd:
  case ReservedCap:
    return sharedReservedBytes;
  default:
    return 0;
  }
}

uint64_t laneValue(Exec &x, Special which, unsigned i, unsigned l) {
  switch (which) {
  case Tid:
    return x.warp.tid[i][l];
  case LaneId:
    return l;
  case MaskEq:
    return 1u << l;
  case MaskLe:
    return (2ull << l) - 1;
  case MaskLt:
    return (1ull << l) - 1;
  case MaskGe:
    return ~((1u << l) - 1);
  case MaskGt:
    return uint32_t(~((2ull << l) - 1));
  default:
    return 0;
  }
}

Flow readSpecial(Exec &x, const Inst &inst) {
  auto which = Special(inst.form & 0xFF);
  unsigned i = inst.form >> 8;
  if (which != Tid && which != LaneId && !(which >= MaskEq && which <= MaskGt))
    return writeAll(x, inst, uniformValue(x, which, i));
  const Operand &d = x.operand(inst, 0);
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t v = laneValue(x, which, i, l);
    if (d.width == 4)
      x.write<uint32_t>(d)[l] = uint32_t(v);
    else
      x.write<uint64_t>(d)[l] = v;
  });
  return Flow::Next;
}

} // namespace

Handler fa4::sim::specialRegister(llvm::StringRef name, unsigned &bytes,
                                  uint64_t &form) {
  name.consume_front("%");
  unsigned i = 0;
  bool indexed = false;
  llvm::StringRef base = name;
  if (base.consume_back(".x") || base.consume_back(".y") ||
      base.consume_back(".z")) {
    i = name.back() - 'x';
    indexed = true;
  }
  Special which = indexed
                      ? llvm::StringSwitch<Special>(base)
                            .Case("tid", Tid)
                            .Case("ntid", Ntid)
                            .Case("ctaid", Ctaid)
                            .Case("nctaid", Nctaid)
                            .Case("clusterid", ClusterId)
                            .Case("nclusterid", Nclusterid)
                            .Case("cluster_ctaid", ClusterCtaid)
                            .Case("cluster_nctaid", ClusterNctaid)
                            .Default(Unknown)
                      : llvm::StringSwitch<Special>(base)
                            .Case("laneid", LaneId)
                            .Case("warpid", WarpId)
                            .Case("nwarpid", NwarpId)
                            .Case("smid", SmId)
                            .Case("nsmid", NsmId)
                            .Case("gridid", GridId)
                            .Case("cluster_ctarank", ClusterCtarank)
                            .Case("cluster_nctarank", ClusterNctarank)
                            .Case("is_explicit_cluster", ExplicitCluster)
                            .Case("lanemask_eq", MaskEq)
                            .Case("lanemask_le", MaskLe)
                            .Case("lanemask_lt", MaskLt)
                            .Case("lanemask_ge", MaskGe)
                            .Case("lanemask_gt", MaskGt)
                            .Case("clock", Clock)
                            .Case("clock_hi", ClockHi)
                            .Case("clock64", Clock64)
                            .Case("globaltimer", Timer)
                            .Case("globaltimer_lo", TimerLo)
                            .Case("globaltimer_hi", TimerHi)
                            .Case("total_smem_size", TotalSmem)
                            .Case("aggr_smem_size", AggrSmem)
                            .Case("dynamic_smem_size", DynamicSmem)
                            .Case("reserved_smem_offset_begin", ReservedBegin)
                            .Case("reserved_smem_offset_end", ReservedEnd)
                            .Case("reserved_smem_offset_cap", ReservedCap)
                            .Case("current_graph_exec", Zero)
                            .Default(Unknown);
  if (which == Unknown)
    return nullptr;
  bytes = which == ExplicitCluster                                ? 0
          : which == Clock64 || which == Timer || which == GridId ? 8
                                                                  : 4;
  form = uint64_t(which) | uint64_t(i) << 8;
  return readSpecial;
}

//===----------------------------------------------------------------------===//
// Miscellaneous
//===----------------------------------------------------------------------===//

namespace {

Flow exitThread(Exec &, const Inst &) { return Flow::Exit; }
Flow nothing(Exec &, const Inst &) { return Flow::Next; }
Flow trap(Exec &x, const Inst &inst) {
  x.report(inst, "trap", "the kernel executed trap");
  return Flow::Exit;
}
Flow nanosleep(Exec &x, const Inst &inst) {
  uint64_t duration = x.value(inst, 0, __builtin_ctz(x.mask)) & 0xFFFFF;
  x.cluster.time += duration;
  if (x.cluster.timer)
    x.cluster.timer->sleep(duration);
  return Flow::Yield;
}

/// setmaxnreg: the register file must hold what the warps ask for. A warp
/// that wants more waits until others have given enough back.
Flow setmaxnreg(Exec &x, const Inst &inst) {
  uint32_t count = inst.form;
  bool increase = inst.form2;
  Warp &warp = x.warp;
  if (warp.maxRegisters == 0) { // the launch does not say how many it had
    warp.maxRegisters = count;
    warp.budgets.push_back(&inst);
    return Flow::Next;
  }
  if (increase ? count < warp.maxRegisters : count > warp.maxRegisters) {
    x.reportStrict(
        inst, "setmaxnreg",
        llvm::formatv("setmaxnreg.{0} to {1} registers, but the warp has "
                      "{2}",
                      increase ? "inc" : "dec", count, warp.maxRegisters)
            .str());
    return Flow::Next;
  }
  uint32_t difference =
      increase ? count - warp.maxRegisters : warp.maxRegisters - count;
  uint32_t amount = difference * warpSize;
  if (increase) {
    if (amount > x.cta.freeRegisters) {
      BlockReason reason;
      reason.kind = BlockReason::Other;
      reason.text = "registers for setmaxnreg.inc, which no other warp has "
                    "given back";
      return x.block(reason);
    }
    x.cta.freeRegisters -= amount;
  } else {
    x.cta.freeRegisters += amount;
    x.cluster.advance();
  }
  warp.maxRegisters = count;
  // Another one for the count that the warp has changes nothing, so that the
  // other warps of its group need none: FlashAttention-4's backward for head
  // dim 256 has one for each of two branches that a warp takes.
  if (difference || warp.budgets.empty())
    warp.budgets.push_back(&inst);
  return Flow::Next;
}

bool decodeBra(DecodeContext &c) {
  c.take("uni");
  if (!c.peek().empty())
    return c.unsupported();
  c.inst.handler = bra;
  return c.addTarget(0);
}
bool decodeBrx(DecodeContext &c) {
  c.take("uni");
  if (!c.peek().empty())
    return c.unsupported();
  c.inst.handler = brx;
  return c.addOperand(0, 4) && c.addTargetList(1);
}
bool decodeCall(DecodeContext &c) {
  c.take("uni");
  if (!c.peek().empty())
    return c.unsupported();
  return c.addCall();
}
bool decodeRet(DecodeContext &c) {
  c.take("uni");
  if (!c.peek().empty())
    return c.unsupported();
  c.inst.handler = endOfFunction;
  c.inst.form = c.inEntry();
  return true;
}

template <Handler handler> bool decodePlain(DecodeContext &c) {
  if (!c.peek().empty())
    return c.unsupported();
  c.inst.handler = handler;
  return true;
}

bool decodeNanosleep(DecodeContext &c) {
  if (!c.take("u32") || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = nanosleep;
  return c.addOperand(0, 4);
}

bool decodeSetmaxnreg(DecodeContext &c) {
  int direction = c.takeOneOf({"inc", "dec"});
  if (direction < 0 || !c.take("sync") || !c.take("aligned") ||
      !c.take("u32") || !c.peek().empty())
    return c.unsupported();
  std::optional<int64_t> count = c.immediate(0);
  if (!count || *count < 24 || *count > 256 || *count % 8)
    return c.error("setmaxnreg needs an immediate that is a multiple of 8 in "
                   "24..256");
  c.inst.handler = setmaxnreg;
  c.inst.form = *count;
  c.inst.form2 = direction == 0;
  return true;
}

/// griddepcontrol.wait: launches are run one after the other, so that what a
/// launch depends on is complete.
Flow awaitLaunches(Exec &x, const Inst &) {
  if (ClusterChecker *checker = x.checker())
    checker->launchesAwaited(x.warp, x.mask);
  return Flow::Next;
}

bool decodeGriddepcontrol(DecodeContext &c) {
  int kind = c.takeOneOf({"wait", "launch_dependents"});
  if (kind < 0 || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = kind == 0 ? awaitLaunches : nothing;
  return true;
}

bool decodePmevent(DecodeContext &c) {
  c.take("mask");
  return decodePlain<nothing>(c);
}

} // namespace

void fa4::sim::registerControlOpcodes(OpcodeTable &table) {
  table.add("bra", decodeBra);
  table.add("brx.idx", decodeBrx);
  table.add("call", decodeCall);
  table.add("ret", decodeRet);
  table.add("exit", decodePlain<exitThread>);
  table.add("trap", decodePlain<trap>);
  table.add("brkpt", decodePlain<nothing>);
  table.add("nanosleep", decodeNanosleep);
  table.add("pmevent", decodePmevent);
  table.add("setmaxnreg", decodeSetmaxnreg);
  table.add("griddepcontrol", decodeGriddepcontrol);
}
