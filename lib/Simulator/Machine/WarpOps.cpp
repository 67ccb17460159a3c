//===- WarpOps.cpp - instructions among the lanes of a warp ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, activemask,
// elect.sync, bar.warp.sync. A `.sync` instruction waits until all lanes of
// its member mask that have not exited execute the same instruction.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

namespace {

/// The member masks of the executing lanes. False when some group is not
/// complete yet (the fragment must block) or a lane is outside its own mask.
/// Calls f(members) once for each group; members that have exited are left out.
template <typename F>
Flow forGroups(Exec &x, const Inst &inst, unsigned maskOperand, F f) {
  struct Group {
    LaneMask members, lanes;
  };
  Group groups[warpSize];
  unsigned count = 0;
  LaneMask left = x.mask;
  while (left) {
    unsigned first = __builtin_ctz(left);
    LaneMask members = x.value(inst, maskOperand, first), same = 0;
    forEachLane(left, [&](unsigned l) {
      if (LaneMask(x.value(inst, maskOperand, l)) == members)
        same |= 1u << l;
    });
    left &= ~same;
    groups[count++] = {members, same};
  }
  for (unsigned i = 0; i < count; ++i) {
    Group &g = groups[i];
    if (g.lanes & ~g.members) {
      x.report(inst, "member-mask",
               llvm::formatv("lanes {0:x-} execute it with member mask {1:x-}, "
                             "which does not name them",
                             g.lanes & ~g.members, g.members)
                   .str(),
               __builtin_ctz(g.lanes & ~g.members));
      g.members |= g.lanes;
    }
    LaneMask missing = g.members & x.warp.live & ~g.lanes;
    if (missing) {
      BlockReason reason;
      reason.kind = BlockReason::WarpSync;
      reason.value = missing;
      return x.block(reason);
    }
  }
  for (unsigned i = 0; i < count; ++i)
    f(groups[i].lanes);
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// shfl.sync
//===----------------------------------------------------------------------===//

enum ShuffleMode { Up, Down, Bfly, Idx };

/// Operands: d, p (or sink), a, b, c, member mask.
template <ShuffleMode mode> Flow shuffle(Exec &x, const Inst &inst) {
  return forGroups(x, inst, 5, [&](LaneMask lanes) {
    const uint32_t *a = x.read<uint32_t>(inst, 2);
    uint32_t out[warpSize];
    LaneMask inRange = 0;
    forEachLane(lanes, [&](unsigned l) {
      uint32_t b = uint32_t(x.value(inst, 3, l)) & 31;
      uint32_t c = x.value(inst, 4, l);
      int clamp = c & 31, segment = c >> 8 & 31;
      int lane = l;
      int maxLane = (lane & segment) | (clamp & ~segment);
      int minLane = lane & segment;
      int j;
      bool p;
      switch (mode) {
      case Up:
        j = lane - int(b);
        p = j >= maxLane;
        break;
      case Down:
        j = lane + int(b);
        p = j <= maxLane;
        break;
      case Bfly:
        j = lane ^ int(b);
        p = j <= maxLane;
        break;
      case Idx:
        j = minLane | (int(b) & ~segment);
        p = j <= maxLane;
        break;
      }
      if (!p)
        j = lane;
      // The manual leaves the value of a lane that does not take part
      // undefined.
      if (!(lanes >> j & 1)) {
        x.reportStrict(
            inst, "inactive-lane",
            llvm::formatv("shfl.sync reads lane {0}, which does not take "
                          "part",
                          j)
                .str(),
            lane);
        out[l] = 0xFFFFFFFF;
      } else {
        out[l] = a[j];
      }
      inRange |= uint32_t(p) << l;
    });
    const Operand &d = x.operand(inst, 0);
    if (!d.sink)
      forEachLane(lanes, [&](unsigned l) { x.write<uint32_t>(d)[l] = out[l]; });
    x.setPredicate(x.operand(inst, 1), inRange);
  });
}

bool decodeShuffle(DecodeContext &c) {
  if (!c.take("sync"))
    return c.error("shfl without .sync does not exist on this target");
  int mode = c.takeOneOf({"up", "down", "bfly", "idx"});
  if (mode < 0 || !c.take("b32") || !c.peek().empty())
    return c.unsupported();
  static constexpr Handler h[] = {shuffle<Up>, shuffle<Down>, shuffle<Bfly>,
                                  shuffle<Idx>};
  c.inst.handler = h[mode];
  unsigned n = c.numSources();
  if (n != 5 && n != 6)
    return c.error("wrong number of operands");
  unsigned at = n - 4;
  if (!c.addOperand(0, 4, true))
    return false;
  if (n == 6) {
    if (!c.addOperand(1, 0, true))
      return false;
  } else {
    c.addSink();
  }
  for (unsigned i = 0; i < 4; ++i)
    if (!c.addOperand(at + i, 4))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// vote.sync, match.sync, redux.sync
//===----------------------------------------------------------------------===//

enum VoteMode { All, Any, Uni, Ballot };

/// Operands: d, a, member mask.
template <VoteMode mode> Flow vote(Exec &x, const Inst &inst) {
  return forGroups(x, inst, 2, [&](LaneMask lanes) {
    LaneMask a = x.predicate(x.operand(inst, 1)) & lanes;
    const Operand &d = x.operand(inst, 0);
    if (mode == Ballot) {
      if (!d.sink)
        forEachLane(lanes, [&](unsigned l) { x.write<uint32_t>(d)[l] = a; });
      return;
    }
    bool result = mode == All   ? a == lanes
                  : mode == Any ? a != 0
                                : a == 0 || a == lanes;
    if (!d.sink) {
      uint32_t *p = x.write<uint32_t>(d);
      *p = (*p & ~lanes) | (result ? lanes : 0);
    }
  });
}

bool decodeVote(DecodeContext &c) {
  if (!c.take("sync"))
    return c.error("vote without .sync does not exist on this target");
  int mode = c.takeOneOf({"all", "any", "uni", "ballot"});
  if (mode < 0 || c.takeOneOf({"pred", "b32"}) != (mode == Ballot) ||
      !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 3)
    return c.error("wrong number of operands");
  static constexpr Handler h[] = {vote<All>, vote<Any>, vote<Uni>,
                                  vote<Ballot>};
  c.inst.handler = h[mode];
  return c.addOperand(0, mode == Ballot ? 4 : 0, true) && c.addOperand(1, 0) &&
         c.addOperand(2, 4);
}

/// Operands: d, p (or sink), a, member mask. form: 1 for match.all.
template <typename T> Flow match(Exec &x, const Inst &inst) {
  return forGroups(x, inst, 3, [&](LaneMask lanes) {
    const T *a = x.read<T>(inst, 2);
    uint32_t *d = x.write<uint32_t>(inst, 0);
    bool all = true;
    forEachLane(lanes,
                [&](unsigned l) { all &= a[l] == a[__builtin_ctz(lanes)]; });
    if (inst.form) {
      forEachLane(lanes, [&](unsigned l) { d[l] = all ? lanes : 0; });
      x.setPredicate(x.operand(inst, 1), all ? lanes : 0);
      return;
    }
    uint32_t out[warpSize];
    forEachLane(lanes, [&](unsigned l) {
      out[l] = 0;
      forEachLane(lanes,
                  [&](unsigned m) { out[l] |= uint32_t(a[m] == a[l]) << m; });
    });
    forEachLane(lanes, [&](unsigned l) { d[l] = out[l]; });
  });
}

bool decodeMatch(DecodeContext &c) {
  int mode = c.takeOneOf({"any", "all"});
  bool sync = c.take("sync");
  int t = c.takeOneOf({"b32", "b64"});
  if (mode < 0 || !sync || t < 0 || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = t ? match<uint64_t> : match<uint32_t>;
  c.inst.form = mode;
  unsigned n = c.numSources();
  if (n != 3 && !(n == 4 && mode == 1))
    return c.error("wrong number of operands");
  if (!c.addOperand(0, 4, true))
    return false;
  if (n == 4) {
    if (!c.addOperand(1, 0, true))
      return false;
  } else {
    c.addSink();
  }
  return c.addOperand(n - 2, t ? 8 : 4) && c.addOperand(n - 1, 4);
}

enum ReduxOp { RAdd, RMin, RMax, RAnd, ROr, RXor };
enum ReduxType { RU32, RS32, RB32, RF32 };
enum : uint64_t { ReduxAbs = 1, ReduxNan = 2 };

uint32_t reduxF32(ReduxOp op, uint64_t form, uint32_t a, uint32_t b) {
  float u = bitCast<float>(a), v = bitCast<float>(b);
  if (u != u || v != v) {
    if (form & ReduxNan || (u != u && v != v))
      return canonicalNan32;
    return u != u ? b : a;
  }
  if (u == v)
    return std::signbit(u) == (op == RMin) ? a : b;
  return (u < v) == (op == RMin) ? a : b;
}

/// Operands: d, a, member mask.
template <ReduxOp op, ReduxType type> Flow redux(Exec &x, const Inst &inst) {
  return forGroups(x, inst, 2, [&](LaneMask lanes) {
    const uint32_t *a = x.read<uint32_t>(inst, 1);
    uint32_t *d = x.write<uint32_t>(inst, 0);
    bool first = true;
    uint32_t r = 0;
    forEachLane(lanes, [&](unsigned l) {
      uint32_t v = a[l];
      if (type == RF32 && inst.form & ReduxAbs)
        v &= 0x7FFFFFFF;
      if (first) {
        r = v;
        first = false;
        return;
      }
      switch (op) {
      case RAdd:
        r += v;
        break;
      case RAnd:
        r &= v;
        break;
      case ROr:
        r |= v;
        break;
      case RXor:
        r ^= v;
        break;
      case RMin:
      case RMax:
        if (type == RF32)
          r = reduxF32(op, inst.form, r, v);
        else if (type == RS32)
          r = (int32_t(v) < int32_t(r)) == (op == RMin) ? v : r;
        else
          r = (v < r) == (op == RMin) ? v : r;
      }
    });
    if (type == RF32 && bitCast<float>(r) != bitCast<float>(r))
      r = canonicalNan32;
    forEachLane(lanes, [&](unsigned l) { d[l] = r; });
  });
}

bool decodeRedux(DecodeContext &c) {
  if (!c.take("sync"))
    return c.unsupported();
  int op = c.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  bool absolute = c.take("abs"), nan = c.take("NaN");
  int t = c.takeOneOf({"u32", "s32", "b32", "f32"});
  if (op < 0 || t < 0 || !c.peek().empty() || ((absolute || nan) && t != 3))
    return c.unsupported();
  Handler h = nullptr;
  if (t == RB32) {
    h = op == RAnd   ? redux<RAnd, RB32>
        : op == ROr  ? redux<ROr, RB32>
        : op == RXor ? redux<RXor, RB32>
                     : nullptr;
  } else if (op == RMin || op == RMax) {
    static constexpr Handler mins[] = {redux<RMin, RU32>, redux<RMin, RS32>,
                                       nullptr, redux<RMin, RF32>};
    static constexpr Handler maxs[] = {redux<RMax, RU32>, redux<RMax, RS32>,
                                       nullptr, redux<RMax, RF32>};
    h = op == RMin ? mins[t] : maxs[t];
  } else if (op == RAdd && t != RF32) {
    h = redux<RAdd, RU32>;
  }
  if (!h)
    return c.unsupported();
  if (c.numSources() != 3)
    return c.error("wrong number of operands");
  c.inst.handler = h;
  c.inst.form = (absolute ? ReduxAbs : 0) | (nan ? ReduxNan : 0);
  return c.addOperand(0, 4, true) && c.addOperand(1, 4) && c.addOperand(2, 4);
}

//===----------------------------------------------------------------------===//
// activemask, elect.sync, bar.warp.sync
//===----------------------------------------------------------------------===//

Flow activemask(Exec &x, const Inst &inst) {
  uint32_t *d = x.write<uint32_t>(inst, 0);
  forEachLane(x.mask, [&](unsigned l) { d[l] = x.mask; });
  return Flow::Next;
}
bool decodeActivemask(DecodeContext &c) {
  if (!c.take("b32") || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = activemask;
  return c.addOperand(0, 4, true);
}

/// elect.sync d|p, mask: the same leader for the same mask; the lowest lane.
Flow elect(Exec &x, const Inst &inst) {
  return forGroups(x, inst, 2, [&](LaneMask lanes) {
    unsigned leader = __builtin_ctz(lanes);
    const Operand &d = x.operand(inst, 0), &p = x.operand(inst, 1);
    if (!d.sink)
      forEachLane(lanes, [&](unsigned l) { x.write<uint32_t>(d)[l] = leader; });
    if (!p.sink) {
      uint32_t *bits = x.write<uint32_t>(p);
      *bits = (*bits & ~lanes) | 1u << leader;
    }
  });
}
bool decodeElect(DecodeContext &c) {
  if (!c.take("sync") || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 3)
    return c.error("wrong number of operands");
  c.inst.handler = elect;
  return c.addOperand(0, 4, true) && c.addOperand(1, 0, true) &&
         c.addOperand(2, 4);
}

/// Lanes need not be at the same bar.warp.sync: those that have arrived with
/// the mask wait; the last releases them all.
Flow warpSync(Exec &x, const Inst &inst) {
  Fragment &self = *x.frag;
  LaneMask members = x.value(inst, 0, __builtin_ctz(x.mask));
  if (x.mask & ~members) {
    x.report(inst, "member-mask",
             llvm::formatv("lanes {0:x-} execute it with member mask {1:x-}, "
                           "which does not name them",
                           x.mask & ~members, members)
                 .str());
    members |= x.mask;
  }
  members &= x.warp.live;
  if (members == x.mask) {
    if (ClusterChecker *checker = x.checker())
      checker->warpSync(x.warp, inst, members);
    self.arrived = false;
    return Flow::Next;
  }
  LaneMask here = x.mask;
  for (const Fragment &other : x.warp.fragments)
    if (&other != &self && other.arrived &&
        other.blocked.kind == BlockReason::WarpSync)
      here |= other.mask;
  if ((here & members) == members) {
    if (ClusterChecker *checker = x.checker())
      checker->warpSync(x.warp, inst, members);
    for (Fragment &other : x.warp.fragments)
      if (&other != &self && other.arrived &&
          other.blocked.kind == BlockReason::WarpSync &&
          !(other.mask & ~members)) {
        other.arrived = false;
        other.blocked = {};
        other.blockedNow = false;
        ++other.pc;
      }
    self.arrived = false;
    x.cluster.advance();
    return Flow::Next;
  }
  self.arrived = true;
  BlockReason reason;
  reason.kind = BlockReason::WarpSync;
  reason.value = members & ~here;
  return x.block(reason);
}
bool decodeWarpSync(DecodeContext &c) {
  if (!c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 1)
    return c.error("wrong number of operands");
  c.inst.handler = warpSync;
  return c.addOperand(0, 4);
}

} // namespace

void fa4::sim::registerWarpOpcodes(OpcodeTable &table) {
  table.add("shfl", decodeShuffle);
  table.add("vote", decodeVote);
  table.add("match", decodeMatch);
  table.add("redux", decodeRedux);
  table.add("activemask", decodeActivemask);
  table.add("elect", decodeElect);
  table.add("bar.warp.sync", decodeWarpSync);
}
