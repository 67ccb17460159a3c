//===- Move.cpp - moves, comparisons, selection, address conversion -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Comparison and Selection Instructions", "Data Movement and
// Conversion Instructions": mov, cvta, isspacep, mapa, getctarank.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace fa4::sim;

namespace {

//===----------------------------------------------------------------------===//
// mov
//===----------------------------------------------------------------------===//

template <typename T> T same(T a) { return a; }

Flow movPredicate(Exec &x, const Inst &inst) {
  x.setPredicate(x.operand(inst, 0), x.predicate(x.operand(inst, 1)));
  return Flow::Next;
}

uint64_t *halves128(const Exec &x, const Operand &op) {
  return const_cast<uint64_t *>(x.read<uint64_t>(op));
}

Flow mov128(Exec &x, const Inst &inst) {
  uint64_t *d = halves128(x, x.operand(inst, 0));
  const uint64_t *a = halves128(x, x.operand(inst, 1));
  forEachLane(x.mask, [&](unsigned l) {
    d[l] = a[l];
    d[l + warpSize] = a[l + warpSize];
  });
  return Flow::Next;
}

/// form: bits of an element. Operand 0 is the wide one, then the elements.
Flow movPack(Exec &x, const Inst &inst) {
  unsigned bits = inst.form, count = inst.numOperands - 1;
  const Operand &wide = x.operand(inst, 0);
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t low = 0, high = 0;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t v = x.value(inst, 1 + i, l);
      if (bits < 64)
        v &= (1ull << bits) - 1;
      unsigned at = i * bits;
      (at < 64 ? low : high) |= v << (at & 63);
    }
    if (wide.width == 4) {
      x.write<uint32_t>(wide)[l] = low;
    } else {
      x.write<uint64_t>(wide)[l] = low;
      if (wide.width == 16)
        x.write<uint64_t>(wide)[l + warpSize] = high;
    }
  });
  return Flow::Next;
}
Flow pack2x32(Exec &x, const Inst &inst) {
  uint64_t *d = x.write<uint64_t>(inst, 0);
  const uint32_t *a = x.read<uint32_t>(inst, 1), *b = x.read<uint32_t>(inst, 2);
  if (x.mask == allLanes)
    for (unsigned l = 0; l < warpSize; ++l)
      d[l] = a[l] | uint64_t(b[l]) << 32;
  else
    forEachLane(x.mask,
                [&](unsigned l) { d[l] = a[l] | uint64_t(b[l]) << 32; });
  return Flow::Next;
}
/// The halves of 64 bits, in all lanes.
void unpack2x32(const Exec &x, const Operand &d, const Operand &wide,
                unsigned shift) {
  const uint64_t *from = x.read<uint64_t>(wide);
  uint32_t *to = x.write<uint32_t>(d);
  for (unsigned l = 0; l < warpSize; ++l)
    to[l] = uint32_t(from[l] >> shift);
}
Flow movUnpack(Exec &x, const Inst &inst) {
  unsigned bits = inst.form, count = inst.numOperands - 1;
  const Operand &wide = x.operand(inst, count);
  uint64_t mask = bits < 64 ? (1ull << bits) - 1 : ~0ull;
  for (unsigned i = 0; i < count; ++i) {
    const Operand &d = x.operand(inst, i);
    if (d.sink)
      continue;
    unsigned at = i * bits;
    if (x.mask == allLanes && bits == 32 && wide.width == 8 && d.width == 4) {
      unpack2x32(x, d, wide, at);
      continue;
    }
    forEachLane(x.mask, [&](unsigned l) {
      uint64_t v;
      if (wide.width == 4)
        v = x.read<uint32_t>(wide)[l];
      else
        v = x.read<uint64_t>(wide)[l + (at >= 64 ? warpSize : 0)];
      v = v >> (at & 63) & mask;
      if (d.width == 8)
        x.write<uint64_t>(d)[l] = v;
      else
        x.write<uint32_t>(d)[l] = uint32_t(v);
    });
  }
  return Flow::Next;
}

bool decodeMov(DecodeContext &c) {
  int t = c.takeOneOf({"pred", "b16", "u16", "s16",  "b32",   "u32",   "s32",
                       "f32",  "b64", "u64", "s64",  "f64",   "b128",  "b8",
                       "u8",   "s8",  "f16", "bf16", "f16x2", "bf16x2"});
  static constexpr unsigned widths[] = {0, 2, 2,  2, 4, 4, 4, 4, 8, 8,
                                        8, 8, 16, 1, 1, 1, 2, 2, 4, 4};
  if (t < 0 || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  unsigned w = widths[t];
  if (c.isVector(0) && c.isVector(1))
    return c.error("mov of a vector to a vector");
  if (w == 0 && (c.isVector(0) || c.isVector(1)))
    return c.error("mov of a vector of predicates");
  if (c.isVector(1)) { // pack
    if (!c.addOperand(0, w, true))
      return false;
    unsigned n = c.vectorSize(1);
    if (n < 2 || w % n)
      return c.error("a vector of this size does not fit");
    if (!c.addVector(1, w / n))
      return false;
    c.inst.form = 8 * w / n;
    c.inst.handler = w == 8 && n == 2 ? pack2x32 : movPack;
    return true;
  }
  if (c.isVector(0)) { // unpack
    unsigned n = c.vectorSize(0);
    if (n < 2 || w % n)
      return c.error("a vector of this size does not fit");
    c.inst.form = 8 * w / n;
    c.inst.handler = movUnpack;
    return c.addVector(0, w / n, true) && c.addOperand(1, w);
  }
  c.inst.handler = w == 0   ? movPredicate
                   : w <= 4 ? lanewise<same<uint32_t>>
                   : w == 8 ? lanewise<same<uint64_t>>
                            : mov128;
  bool isFloat = t == 7 || t == 11;
  return c.addOperand(0, w, true) && c.addOperand(1, w, false, isFloat);
}

//===----------------------------------------------------------------------===//
// setp, set
//===----------------------------------------------------------------------===//

enum Compare : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Lo,
  Ls,
  Hi,
  Hs,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan,
};

template <typename T> bool holds(Compare compare, T a, T b) {
  bool unordered = a != a || b != b;
  switch (compare) {
  case Eq:
    return a == b;
  case Ne: // ordered: false for NaN
    return a != b && !unordered;
  case Lt:
  case Lo:
    return a < b;
  case Le:
  case Ls:
    return a <= b;
  case Gt:
  case Hi:
    return a > b;
  case Ge:
  case Hs:
    return a >= b;
  case Equ:
    return unordered || a == b;
  case Neu:
    return unordered || a != b;
  case Ltu:
    return unordered || a < b;
  case Leu:
    return unordered || a <= b;
  case Gtu:
    return unordered || a > b;
  case Geu:
    return unordered || a >= b;
  case Num:
    return !unordered;
  case Nan:
    return unordered;
  }
  return false;
}

struct CompareForm {
  Compare compare;
  int boolOp; ///< -1 none, 0 and, 1 or, 2 xor.
  bool ftz, half, isBf16, packed, both;
  int setType; ///< set: 0 u32/s32, 1 f32, 2 f16, 3 bf16 (also packed).
};

template <typename T> float widen16(uint16_t h, bool ftz) {
  return std::is_same_v<T, int>
             ? fromBf16(h)
             : (ftz && !(h & 0x7C00) ? std::copysign(0.0f, fromF16(h))
                                     : fromF16(h));
}

template <typename T>
LaneMask compareLanes(Exec &x, const CompareForm &form, const Inst &inst,
                      unsigned a, unsigned b) {
  const Slot<T> *pa = x.read<Slot<T>>(inst, a), *pb = x.read<Slot<T>>(inst, b);
  LaneMask result = 0;
  bool lanes[warpSize];
  auto loop = [&](auto predicate) {
    for (unsigned l = 0; l < warpSize; ++l) {
      T u = fromSlot<T>(pa[l]), v = fromSlot<T>(pb[l]);
      if constexpr (std::is_same_v<T, float>)
        if (form.ftz) {
          u = flush(u);
          v = flush(v);
        }
      lanes[l] = predicate(u, v);
    }
  };
  // The common comparisons get loops of their own.
  switch (form.compare) {
  case Eq:
    loop([](T u, T v) { return u == v; });
    break;
  case Lt:
  case Lo:
    loop([](T u, T v) { return u < v; });
    break;
  case Gt:
  case Hi:
    loop([](T u, T v) { return u > v; });
    break;
  default:
    loop([&](T u, T v) { return holds(form.compare, u, v); });
  }
  for (unsigned l = 0; l < warpSize; ++l)
    result |= uint32_t(lanes[l]) << l;
  return result;
}

LaneMask compareHalf(Exec &x, const CompareForm &form, const Inst &inst,
                     unsigned a, unsigned b, unsigned shift) {
  const uint32_t *pa = x.read<uint32_t>(inst, a),
                 *pb = x.read<uint32_t>(inst, b);
  LaneMask result = 0;
  auto widen = [&](uint32_t bits) {
    uint16_t h = bits >> shift;
    return form.isBf16 ? widen16<int>(h, false) : widen16<float>(h, form.ftz);
  };
  for (unsigned l = 0; l < warpSize; ++l)
    result |= uint32_t(holds(form.compare, widen(pa[l]), widen(pb[l]))) << l;
  return result;
}

LaneMask combine(int boolOp, LaneMask a, LaneMask c) {
  switch (boolOp) {
  case 0:
    return a & c;
  case 1:
    return a | c;
  case 2:
    return a ^ c;
  default:
    return a;
  }
}

/// Operands: p, q (sink if absent), a, b [, c].
template <typename T> Flow setp(Exec &x, const Inst &inst) {
  const CompareForm &form = *static_cast<const CompareForm *>(inst.extra);
  LaneMask c = form.boolOp >= 0 ? x.predicate(x.operand(inst, 4)) : 0;
  LaneMask p, q;
  if (form.half) {
    p = compareHalf(x, form, inst, 2, 3, 0);
    q = form.packed ? compareHalf(x, form, inst, 2, 3, 16) : ~p;
  } else {
    p = compareLanes<T>(x, form, inst, 2, 3);
    q = ~p;
  }
  x.setPredicate(x.operand(inst, 0), combine(form.boolOp, p, c));
  x.setPredicate(x.operand(inst, 1), combine(form.boolOp, q, c));
  return Flow::Next;
}

/// Operands: d, a, b [, c].
template <typename T> Flow set(Exec &x, const Inst &inst) {
  const CompareForm &form = *static_cast<const CompareForm *>(inst.extra);
  LaneMask c = form.boolOp >= 0 ? x.predicate(x.operand(inst, 3)) : 0;
  static constexpr uint32_t ones[] = {0xFFFFFFFF, 0x3F800000, 0x3C00, 0x3F80};
  uint32_t one = ones[form.setType];
  uint32_t *d = x.write<uint32_t>(inst, 0);
  LaneMask low = form.half ? compareHalf(x, form, inst, 1, 2, 0)
                           : compareLanes<T>(x, form, inst, 1, 2);
  low = combine(form.boolOp, low, c);
  LaneMask high = form.packed ? combine(form.boolOp,
                                        compareHalf(x, form, inst, 1, 2, 16), c)
                              : 0;
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t r = low >> l & 1 ? one : 0;
    if (form.packed)
      r = (r & 0xFFFF) | (high >> l & 1 ? one << 16 : 0);
    d[l] = r;
  });
  return Flow::Next;
}

enum CompareType {
  CB16,
  CB32,
  CB64,
  CU16,
  CU32,
  CU64,
  CS16,
  CS32,
  CS64,
  CF32,
  CF64,
  CF16,
  CBF16,
  CF16x2,
  CBF16x2
};
constexpr unsigned compareBytes[] = {2, 4, 8, 2, 4, 8, 2, 4,
                                     8, 4, 8, 2, 2, 4, 4};

int takeCompareType(DecodeContext &c) {
  return c.takeOneOf({"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32",
                      "s64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"});
}

bool takeCompare(DecodeContext &c, CompareForm &form) {
  int op =
      c.takeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
                   "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (op < 0)
    return false;
  form.compare = Compare(op);
  form.boolOp = c.takeOneOf({"and", "or", "xor"});
  form.ftz = c.take("ftz");
  return true;
}

bool allowed(const CompareForm &form, int type) {
  bool isFloat = type >= CF32;
  if (isFloat)
    return !(form.compare >= Lo && form.compare <= Hs) &&
           !(form.ftz && (type == CF64 || type == CBF16 || type == CBF16x2));
  if (form.ftz || form.compare >= Equ)
    return false;
  if (type <= CB64)
    return form.compare <= Ne;
  if (type >= CS16)
    return form.compare <= Ge;
  return true;
}

#define COMPARE_HANDLERS(f)                                                    \
  {f<uint16_t>, f<uint32_t>, f<uint64_t>, f<uint16_t>, f<uint32_t>,            \
   f<uint64_t>, f<int16_t>,  f<int32_t>,  f<int64_t>,  f<float>,               \
   f<double>,   f<float>,    f<float>,    f<float>,    f<float>}

bool decodeSetp(DecodeContext &c) {
  CompareForm form{};
  if (!takeCompare(c, form))
    return c.unsupported();
  int t = takeCompareType(c);
  if (t < 0 || !c.peek().empty() || !allowed(form, t))
    return c.unsupported();
  form.half = t >= CF16;
  form.isBf16 = t == CBF16 || t == CBF16x2;
  form.packed = t >= CF16x2;
  static constexpr Handler h[] = COMPARE_HANDLERS(setp);
  c.inst.handler = h[t];
  c.inst.extra = c.program().keepAlive(form);
  unsigned sources = 2 + (form.boolOp >= 0);
  unsigned results = c.numSources() - sources;
  if (results != 1 && results != 2)
    return c.error("wrong number of operands");
  if (!c.addOperand(0, 0, true))
    return false;
  if (results == 2) {
    if (!c.addOperand(1, 0, true))
      return false;
  } else {
    c.addSink();
  }
  bool isFloat = t == CF32 || t == CF64;
  return c.addOperand(results, compareBytes[t], false, isFloat) &&
         c.addOperand(results + 1, compareBytes[t], false, isFloat) &&
         (form.boolOp < 0 || c.addOperand(results + 2, 0));
}

bool decodeSet(DecodeContext &c) {
  CompareForm form{};
  if (!takeCompare(c, form))
    return c.unsupported();
  static constexpr llvm::StringLiteral results[] = {
      "u32", "s32", "f32", "f16", "bf16", "u16", "s16", "f16x2", "bf16x2"};
  llvm::StringRef name = c.next();
  int d = -1;
  for (unsigned i = 0; i < 9; ++i)
    if (results[i] == name)
      d = i;
  int t = takeCompareType(c);
  if (d < 0 || t < 0 || !c.peek().empty() || !allowed(form, t))
    return c.unsupported();
  static constexpr int kinds[] = {0, 0, 1, 2, 3, 0, 0, 2, 3};
  form.setType = kinds[d];
  form.half = t >= CF16;
  form.isBf16 = t == CBF16 || t == CBF16x2;
  form.packed = t >= CF16x2;
  if ((d >= 7) != form.packed && !(form.packed && d < 2))
    return c.unsupported();
  static constexpr Handler h[] = COMPARE_HANDLERS(set);
  c.inst.handler = h[t];
  c.inst.extra = c.program().keepAlive(form);
  if (c.numSources() != 3u + (form.boolOp >= 0))
    return c.error("wrong number of operands");
  bool isFloat = t == CF32 || t == CF64;
  unsigned bytes = d == 3 || d == 4 || d == 5 || d == 6 ? 2 : 4;
  return c.addOperand(0, bytes, true) &&
         c.addOperand(1, compareBytes[t], false, isFloat) &&
         c.addOperand(2, compareBytes[t], false, isFloat) &&
         (form.boolOp < 0 || c.addOperand(3, 0));
}

//===----------------------------------------------------------------------===//
// selp, slct
//===----------------------------------------------------------------------===//

template <typename T> Flow selp(Exec &x, const Inst &inst) {
  LaneMask p = x.predicate(x.operand(inst, 3));
  T *d = x.write<T>(inst, 0);
  const T *a = x.read<T>(inst, 1), *b = x.read<T>(inst, 2);
  forEachLane(x.mask, [&](unsigned l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
  return Flow::Next;
}
Flow selpPredicate(Exec &x, const Inst &inst) {
  LaneMask p = x.predicate(x.operand(inst, 3));
  x.setPredicate(x.operand(inst, 0),
                 (x.predicate(x.operand(inst, 1)) & p) |
                     (x.predicate(x.operand(inst, 2)) & ~p));
  return Flow::Next;
}

int takeDataType(DecodeContext &c) {
  return c.takeOneOf({"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64",
                      "u64", "s64", "f64", "pred"});
}
constexpr unsigned dataBytes[] = {2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 0};

bool decodeSelp(DecodeContext &c) {
  int t = takeDataType(c);
  if (t < 0 || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 4)
    return c.error("wrong number of operands");
  unsigned w = dataBytes[t];
  c.inst.handler = w == 0   ? selpPredicate
                   : w == 8 ? selp<uint64_t>
                            : selp<uint32_t>;
  bool isFloat = t == 6 || t == 10;
  return c.addOperand(0, w, true) && c.addOperand(1, w, false, isFloat) &&
         c.addOperand(2, w, false, isFloat) && c.addOperand(3, 0);
}

template <typename T, bool isFloat, bool ftz>
Flow slct(Exec &x, const Inst &inst) {
  T *d = x.write<T>(inst, 0);
  const T *a = x.read<T>(inst, 1), *b = x.read<T>(inst, 2);
  const uint32_t *c = x.read<uint32_t>(inst, 3);
  forEachLane(x.mask, [&](unsigned l) {
    bool first;
    if (isFloat) {
      float f = bitCast<float>(c[l]);
      first = (ftz ? flush(f) : f) >= 0;
    } else {
      first = int32_t(c[l]) >= 0;
    }
    d[l] = first ? a[l] : b[l];
  });
  return Flow::Next;
}

bool decodeSlct(DecodeContext &c) {
  bool ftz = c.take("ftz");
  int t = takeDataType(c);
  int s = c.takeOneOf({"s32", "f32"});
  if (t < 0 || t == 11 || s < 0 || (ftz && !s) || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 4)
    return c.error("wrong number of operands");
  unsigned w = dataBytes[t];
  c.inst.handler = w == 8 ? (s ? (ftz ? slct<uint64_t, true, true>
                                      : slct<uint64_t, true, false>)
                               : slct<uint64_t, false, false>)
                          : (s ? (ftz ? slct<uint32_t, true, true>
                                      : slct<uint32_t, true, false>)
                               : slct<uint32_t, false, false>);
  bool isFloat = t == 6 || t == 10;
  return c.addOperand(0, w, true) && c.addOperand(1, w, false, isFloat) &&
         c.addOperand(2, w, false, isFloat) && c.addOperand(3, 4, false, s);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

enum Space : uint8_t {
  SpaceConst,
  SpaceGlobal,
  SpaceLocal,
  SpaceSharedCta,
  SpaceSharedCluster,
  SpaceParam,
};

int takeSpace(DecodeContext &c) {
  int s =
      c.takeOneOf({"const", "global", "local", "shared", "shared::cta",
                   "shared::cluster", "param", "param::entry", "param::func"});
  static constexpr int spaces[] = {
      SpaceConst,     SpaceGlobal,    SpaceLocal,
      SpaceSharedCta, SpaceSharedCta, SpaceSharedCluster,
      SpaceParam,     SpaceParam,     SpaceParam};
  return s < 0 ? -1 : spaces[s];
}

uint64_t windowOf(unsigned space) {
  switch (space) {
  case SpaceLocal:
    return localWindow;
  case SpaceSharedCta:
  case SpaceSharedCluster:
    return sharedWindow;
  case SpaceParam:
    return paramWindow;
  default:
    return 0;
  }
}

/// form: the window to add or (form2) to take away.
Flow cvta(Exec &x, const Inst &inst) {
  const Operand &d = x.operand(inst, 0);
  uint64_t window = inst.form;
  bool to = inst.form2;
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t a = x.value(inst, 1, l);
    uint64_t r = !window ? a : to ? a & ~windowMask : window | uint32_t(a);
    if (d.width == 8)
      x.write<uint64_t>(d)[l] = r;
    else
      x.write<uint32_t>(d)[l] = uint32_t(r);
  });
  return Flow::Next;
}

bool decodeCvta(DecodeContext &c) {
  bool to = c.take("to");
  int space = takeSpace(c);
  int t = c.takeOneOf({"u64", "u32"});
  if (space < 0 || t < 0 || !c.peek().empty())
    return c.unsupported();
  if (t == 1)
    return c.error("32-bit generic addresses are not supported");
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.inst.form = windowOf(space);
  c.inst.form2 = to;
  c.inst.handler = cvta;
  return c.addOperand(0, 8, true) && c.addOperand(1, 8);
}

Flow isspacep(Exec &x, const Inst &inst) {
  LaneMask result = 0;
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t address;
    MemSpace space = Exec::classify(x.value(inst, 1, l), address);
    bool yes = false;
    switch (inst.form) {
    case SpaceGlobal:
      yes = space == MemSpace::Global;
      break;
    case SpaceLocal:
      yes = space == MemSpace::Local;
      break;
    case SpaceSharedCta:
      yes = space == MemSpace::Shared &&
            (address >> sharedRankShift) == x.cta.rank;
      break;
    case SpaceSharedCluster:
      yes = space == MemSpace::Shared;
      break;
    case SpaceParam:
      yes = space == MemSpace::Param;
      break;
    default:
      break;
    }
    result |= uint32_t(yes) << l;
  });
  x.setPredicate(x.operand(inst, 0), result);
  return Flow::Next;
}

bool decodeIsspacep(DecodeContext &c) {
  int space = takeSpace(c);
  if (space < 0 || space == SpaceConst || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.inst.form = space;
  c.inst.handler = isspacep;
  return c.addOperand(0, 0, true) && c.addOperand(1, 8);
}

/// Address arithmetic: code may compute the addresses of CTAs that do not exist
/// (CUTLASS does in lanes beyond the cluster's size), and only an access there
/// is an error. A rank that no cluster has stays one in the address's 8 bits.
/// form: 1 for a shared::cluster address, 0 for a generic one.
Flow mapa(Exec &x, const Inst &inst) {
  const Operand &d = x.operand(inst, 0);
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t a = x.value(inst, 1, l);
    uint32_t rank = std::min<uint32_t>(x.value(inst, 2, l), 0xFF);
    uint64_t r = (a & ~uint64_t(0xFF000000u)) | uint64_t(rank)
                                                    << sharedRankShift;
    if (d.width == 8)
      x.write<uint64_t>(d)[l] = r;
    else
      x.write<uint32_t>(d)[l] = uint32_t(r);
  });
  return Flow::Next;
}
Flow getctarank(Exec &x, const Inst &inst) {
  forEachLane(x.mask, [&](unsigned l) {
    x.write<uint32_t>(inst, 0)[l] =
        x.value(inst, 1, l) >> sharedRankShift & 0xFF;
  });
  return Flow::Next;
}

bool decodeMapa(DecodeContext &c) {
  bool shared = c.take("shared::cluster");
  int t = c.takeOneOf({"u32", "u64"});
  if (t < 0 || !c.peek().empty() || (!shared && t == 0))
    return c.unsupported();
  if (c.numSources() != 3)
    return c.error("wrong number of operands");
  unsigned w = t ? 8 : 4;
  c.inst.handler = mapa;
  c.inst.form = shared;
  return c.addOperand(0, w, true) && c.addOperand(1, w) && c.addOperand(2, 4);
}
bool decodeGetctarank(DecodeContext &c) {
  c.take("shared::cluster");
  int t = c.takeOneOf({"u32", "u64"});
  if (t < 0 || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.inst.handler = getctarank;
  return c.addOperand(0, 4, true) && c.addOperand(1, t ? 8 : 4);
}

} // namespace

void fa4::sim::registerMoveOpcodes(OpcodeTable &table) {
  table.add("mov", decodeMov);
  table.add("setp", decodeSetp);
  table.add("set", decodeSet);
  table.add("selp", decodeSelp);
  table.add("slct", decodeSlct);
  table.add("cvta", decodeCvta);
  table.add("isspacep", decodeIsspacep);
  table.add("mapa", decodeMapa);
  table.add("getctarank", decodeGetctarank);
}
