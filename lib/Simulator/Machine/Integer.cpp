//===- Integer.cpp - integer and logic instructions -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer
// Arithmetic Instructions", "Logic and Shift Instructions".
//
//===----------------------------------------------------------------------===//

#include "Integer.h"
#include <limits>

using namespace fa4::sim;

namespace {

//===----------------------------------------------------------------------===//
// One lane
//===----------------------------------------------------------------------===//

template <typename T> using U = std::make_unsigned_t<T>;
/// Arithmetic that wraps needs an unsigned type without int promotion.
template <typename T>
using W = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <typename T> T add(T a, T b) { return T(W<T>(a) + W<T>(b)); }
template <typename T> T sub(T a, T b) { return T(W<T>(a) - W<T>(b)); }
template <typename T> T mulLo(T a, T b) { return T(W<T>(a) * W<T>(b)); }
template <typename T> T madLo(T a, T b, T c) {
  return T(W<T>(a) * W<T>(b) + W<T>(c));
}
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<
        sizeof(T) == 4,
        std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <typename T> T mulHi(T a, T b) {
  return T((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
}
template <typename T> T madHi(T a, T b, T c) { return add<T>(mulHi(a, b), c); }
template <typename T> Wide<T> mulWide(T a, T b) {
  return Wide<T>(a) * Wide<T>(b);
}
template <typename T> Wide<T> madWide(T a, T b, Wide<T> c) {
  return add<Wide<T>>(Wide<T>(a) * Wide<T>(b), c);
}
int32_t clamp32(int64_t v) {
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : int32_t(v);
}
int32_t addSat(int32_t a, int32_t b) { return clamp32(int64_t(a) + b); }
int32_t subSat(int32_t a, int32_t b) { return clamp32(int64_t(a) - b); }
int32_t madHiSat(int32_t a, int32_t b, int32_t c) {
  return clamp32(int64_t(mulHi(a, b)) + c);
}
template <typename T> int64_t extend24(T a) {
  return std::is_signed_v<T> ? int64_t(int32_t(uint32_t(a) << 8) >> 8)
                             : int64_t(uint32_t(a) & 0xFFFFFF);
}
template <typename T> T mul24Lo(T a, T b) {
  return T(extend24(a) * extend24(b));
}
template <typename T> T mul24Hi(T a, T b) {
  return T(uint64_t(extend24(a) * extend24(b)) >> 16);
}
template <typename T> T mad24Lo(T a, T b, T c) { return add(mul24Lo(a, b), c); }
template <typename T> T mad24Hi(T a, T b, T c) { return add(mul24Hi(a, b), c); }
template <typename T> T sad(T a, T b, T c) {
  return add<T>(c, a < b ? sub(b, a) : sub(a, b));
}
// Division by zero gives all ones; the quotient that overflows wraps.
template <typename T> T div(T a, T b) {
  if (b == 0)
    return T(-1);
  if (std::is_signed_v<T> && b == T(-1))
    return sub<T>(0, a);
  return T(a / b);
}
template <typename T> T rem(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == T(-1))
    return 0;
  return T(a % b);
}
template <typename T> T absolute(T a) { return a < 0 ? sub<T>(0, a) : a; }
template <typename T> T negate(T a) { return sub<T>(0, a); }
template <typename T> T minimum(T a, T b) { return a < b ? a : b; }
template <typename T> T maximum(T a, T b) { return a > b ? a : b; }
template <typename T> T relu(T a) { return a < 0 ? 0 : a; }
template <typename T> T minRelu(T a, T b) { return relu(minimum(a, b)); }
template <typename T> T maxRelu(T a, T b) { return relu(maximum(a, b)); }
/// Both halves of a register.
template <typename T, T (*f)(T, T)> uint32_t halves(uint32_t a, uint32_t b) {
  return uint16_t(f(T(a), T(b))) | uint32_t(uint16_t(f(T(a >> 16), T(b >> 16))))
                                       << 16;
}

uint32_t popc32(uint32_t a) { return __builtin_popcount(a); }
uint32_t popc64(uint64_t a) { return __builtin_popcountll(a); }
uint32_t clz32(uint32_t a) { return a ? __builtin_clz(a) : 32; }
uint32_t clz64(uint64_t a) { return a ? __builtin_clzll(a) : 64; }
uint32_t brev32(uint32_t a) { return __builtin_bitreverse32(a); }
uint64_t brev64(uint64_t a) { return __builtin_bitreverse64(a); }
template <typename T> uint32_t bfind(T a) {
  U<T> bits = std::is_signed_v<T> && a < 0 ? U<T>(~U<T>(a)) : U<T>(a);
  if (!bits)
    return 0xFFFFFFFF;
  return 63 - __builtin_clzll(uint64_t(bits));
}
template <typename T> uint32_t bfindShift(T a) {
  uint32_t position = bfind(a);
  return position == 0xFFFFFFFF ? position : 8 * sizeof(T) - 1 - position;
}
uint32_t fns(uint32_t mask, uint32_t base, int32_t offset) {
  // Find the n-th set bit from base, upwards or downwards.
  base &= 31;
  if (offset == 0)
    return mask >> base & 1 ? base : 0xFFFFFFFF;
  int step = offset > 0 ? 1 : -1;
  int count = offset > 0 ? offset : -offset;
  for (int position = base; position >= 0 && position < 32; position += step)
    if (mask >> position & 1 && --count == 0)
      return position;
  return 0xFFFFFFFF;
}
template <typename T> T bfe(T a, uint32_t b, uint32_t c) {
  constexpr unsigned bits = 8 * sizeof(T), msb = bits - 1;
  unsigned position = b & 0xFF, length = c & 0xFF;
  U<T> value = U<T>(a);
  bool sign = false;
  if (std::is_signed_v<T> && length != 0) {
    unsigned at = std::min(position + length - 1, msb);
    sign = value >> at & 1;
  }
  U<T> result = sign ? U<T>(-1) : U<T>(0);
  unsigned available = position > msb ? 0 : std::min(length, bits - position);
  if (available == 0)
    return T(result);
  U<T> mask = available == bits ? U<T>(-1) : (U<T>(1) << available) - 1;
  return T((result & ~mask) | (value >> position & mask));
}
template <typename T> T bfi(T a, T b, uint32_t c, uint32_t d) {
  constexpr unsigned bits = 8 * sizeof(T);
  unsigned position = c & 0xFF, length = d & 0xFF;
  if (position >= bits || length == 0)
    return b;
  length = std::min(length, bits - position);
  T mask = (length == bits ? T(-1) : (T(1) << length) - 1) << position;
  return (b & ~mask) | (a << position & mask);
}
template <bool wrap> uint32_t bmsk(uint32_t a, uint32_t b) {
  if (wrap) {
    a &= 31;
    b &= 31;
  } else if (a >= 32) {
    return 0;
  }
  uint64_t length = std::min<uint32_t>(b, 32);
  return uint32_t(((uint64_t(1) << length) - 1) << a);
}
template <typename T, bool wrap> T szext(T a, uint32_t b) {
  if (wrap)
    b &= 31;
  if (b >= 32)
    return a;
  if (b == 0)
    return 0;
  uint32_t shifted = uint32_t(a) << (32 - b);
  return T(shifted) >> (32 - b);
}

template <typename A, typename B>
int32_t dp4a(uint32_t a, uint32_t b, int32_t c) {
  uint32_t sum = c;
  for (unsigned i = 0; i < 4; ++i)
    sum += uint32_t(int32_t(A(a >> 8 * i)) * int32_t(B(b >> 8 * i)));
  return sum;
}
template <typename A, typename B, bool high>
int32_t dp2a(uint32_t a, uint32_t b, int32_t c) {
  uint32_t sum = c;
  for (unsigned i = 0; i < 2; ++i)
    sum += uint32_t(int32_t(A(a >> 16 * i)) *
                    int32_t(B(b >> 8 * (i + (high ? 2 : 0)))));
  return sum;
}

template <typename T> T bitAnd(T a, T b) { return a & b; }
template <typename T> T bitOr(T a, T b) { return a | b; }
template <typename T> T bitXor(T a, T b) { return a ^ b; }
template <typename T> T bitNot(T a) { return T(~a); }
template <typename T> T cnot(T a) { return a == 0; }
// Shift amounts are clamped to the width.
template <typename T> T shl(T a, uint32_t b) {
  return b >= 8 * sizeof(T) ? 0 : T(W<T>(a) << b);
}
template <typename T> T shr(T a, uint32_t b) {
  if (b >= 8 * sizeof(T))
    return std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
  return T(a >> b);
}
template <bool left, bool wrap>
uint32_t funnel(uint32_t a, uint32_t b, uint32_t c) {
  unsigned n = wrap ? c & 31 : std::min(c, 32u);
  uint64_t both = uint64_t(b) << 32 | a;
  return left ? uint32_t((both << n) >> 32) : uint32_t(both >> n);
}

uint32_t prmt(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned select = c >> 4 * i & 0xF;
    uint8_t byte = bytes >> 8 * (select & 7);
    if (select & 8)
      byte = byte & 0x80 ? 0xFF : 0;
    result |= uint32_t(byte) << 8 * i;
  }
  return result;
}
/// Modes f4e, b4e, rc8, ecl, ecr, rc16: the bytes by c[1:0].
template <unsigned mode> uint32_t prmtMode(uint32_t a, uint32_t b, uint32_t c) {
  unsigned n = c & 3;
  unsigned s[4];
  for (unsigned i = 0; i < 4; ++i)
    switch (mode) {
    case 0:
      s[i] = n + i;
      break;
    case 1:
      s[i] = (n - i) & 7;
      break;
    case 2:
      s[i] = n;
      break;
    case 3:
      s[i] = std::max(n, i);
      break;
    case 4:
      s[i] = std::min(n, i);
      break;
    default:
      s[i] = (n & 1) * 2 + (i & 1);
    }
  return prmt(a, b, s[0] | s[1] << 4 | s[2] << 8 | s[3] << 12);
}

//===----------------------------------------------------------------------===//
// Handlers that lanewise does not cover
//===----------------------------------------------------------------------===//

template <typename T> Flow lop3(Exec &x, const Inst &inst) {
  // Operands: d, a, b, c [, p, q]: p = (d != 0) BoolOp q.
  unsigned table = inst.form & 0xFF;
  const T *a = x.read<T>(inst, 1), *b = x.read<T>(inst, 2),
          *c = x.read<T>(inst, 3);
  T out[warpSize];
  for (unsigned l = 0; l < warpSize; ++l)
    out[l] = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      for (unsigned l = 0; l < warpSize; ++l)
        out[l] |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) &
                  (i & 1 ? c[l] : ~c[l]);
  const Operand &result = x.operand(inst, 0);
  if (!result.sink) {
    T *d = x.write<T>(result);
    forEachLane(x.mask, [&](unsigned l) { d[l] = out[l]; });
  }
  if (inst.form >> 8) {
    LaneMask nonzero = 0;
    for (unsigned l = 0; l < warpSize; ++l)
      nonzero |= uint32_t(out[l] != 0) << l;
    LaneMask q = x.predicate(x.operand(inst, 5));
    x.setPredicate(x.operand(inst, 4),
                   (inst.form >> 8) == 1 ? nonzero & q : nonzero | q);
  }
  return Flow::Next;
}

enum class Carry { Add, Sub, Mad };

/// add, sub, mad.lo/.hi with carry: form bit 0: carry in, bit 1: carry out,
/// bit 2: the high half of the product.
template <typename T, Carry kind> Flow withCarry(Exec &x, const Inst &inst) {
  using Double = Wide<U<T>>;
  bool in = inst.form & 1, out = inst.form & 2, high = inst.form & 4;
  LaneMask carries = x.warp.carry;
  forEachLane(x.mask, [&](unsigned l) {
    auto get = [&](unsigned i) { return U<T>(x.read<Slot<T>>(inst, i)[l]); };
    unsigned carry = in ? x.warp.carry >> l & 1 : 0;
    Double sum;
    if constexpr (kind == Carry::Add) {
      sum = Double(get(1)) + get(2) + carry;
    } else if constexpr (kind == Carry::Sub) {
      // A subtraction borrows: it sets CC.CF if the difference is negative.
      sum = Double(get(1)) - get(2) - carry;
    } else {
      U<T> product =
          high ? U<T>(mulHi<T>(T(get(1)), T(get(2)))) : U<T>(get(1) * get(2));
      sum = Double(product) + get(3) + carry;
    }
    x.write<Slot<T>>(inst, 0)[l] = U<T>(sum);
    unsigned next = unsigned(sum >> (8 * sizeof(T))) & 1;
    carries = (carries & ~(1u << l)) | next << l;
  });
  if (out)
    x.warp.carry = carries;
  return Flow::Next;
}

template <LaneMask (*f)(LaneMask, LaneMask)>
Flow predicateBinary(Exec &x, const Inst &inst) {
  x.setPredicate(x.operand(inst, 0), f(x.predicate(x.operand(inst, 1)),
                                       x.predicate(x.operand(inst, 2))));
  return Flow::Next;
}
Flow predicateNot(Exec &x, const Inst &inst) {
  x.setPredicate(x.operand(inst, 0), ~x.predicate(x.operand(inst, 1)));
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool operandsOf(DecodeContext &c, std::initializer_list<unsigned> widths) {
  if (c.numSources() != widths.size())
    return c.error("wrong number of operands");
  unsigned i = 0;
  for (unsigned width : widths) {
    if (!c.addOperand(i, width, i == 0))
      return false;
    ++i;
  }
  return true;
}

bool finish(DecodeContext &c, Handler handler,
            std::initializer_list<unsigned> widths) {
  if (!handler || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = handler;
  return operandsOf(c, widths);
}

/// Handler tables by type: s16 u16 s32 u32 s64 u64.
enum IntType { S16, U16, S32, U32, S64, U64, NotInt };
constexpr unsigned typeBytes[] = {2, 2, 4, 4, 8, 8};

IntType takeType(DecodeContext &c) {
  int t = c.takeOneOf({"s16", "u16", "s32", "u32", "s64", "u64"});
  return t < 0 ? NotInt : IntType(t);
}

#define BY_TYPE(f)                                                             \
  {lanewise<f<int16_t>>,  lanewise<f<uint16_t>>, lanewise<f<int32_t>>,         \
   lanewise<f<uint32_t>>, lanewise<f<int64_t>>,  lanewise<f<uint64_t>>}
#define BY_TYPE32(f)                                                           \
  {nullptr, nullptr, lanewise<f<int32_t>>, lanewise<f<uint32_t>>,              \
   nullptr, nullptr}
using Handlers = Handler[6];

bool simple(DecodeContext &c, const Handlers &handlers, unsigned sources) {
  IntType t = takeType(c);
  if (t == NotInt)
    return c.unsupported();
  unsigned w = typeBytes[t];
  switch (sources) {
  case 1:
    return finish(c, handlers[t], {w, w});
  case 2:
    return finish(c, handlers[t], {w, w, w});
  default:
    return finish(c, handlers[t], {w, w, w, w});
  }
}

bool decodeCarry(DecodeContext &c, Carry kind, bool in) {
  bool out = c.take("cc");
  bool high = false;
  if (kind == Carry::Mad) {
    int part = c.takeOneOf({"lo", "hi"});
    if (part < 0)
      return c.unsupported();
    high = part == 1;
  }
  int t = c.takeOneOf({"s32", "u32", "b32", "s64", "u64", "b64"});
  if (t < 0)
    return c.unsupported();
  unsigned w = t < 3 ? 4 : 8;
  c.inst.form = unsigned(in) | unsigned(out) << 1 | unsigned(high) << 2;
  Handler handler = nullptr;
  switch (kind) {
  case Carry::Add:
    handler = w == 4 ? withCarry<uint32_t, Carry::Add>
                     : withCarry<uint64_t, Carry::Add>;
    break;
  case Carry::Sub:
    handler = w == 4 ? withCarry<uint32_t, Carry::Sub>
                     : withCarry<uint64_t, Carry::Sub>;
    break;
  case Carry::Mad:
    if (t == 0 || t == 3)
      handler = w == 4 ? withCarry<int32_t, Carry::Mad>
                       : withCarry<int64_t, Carry::Mad>;
    else
      handler = w == 4 ? withCarry<uint32_t, Carry::Mad>
                       : withCarry<uint64_t, Carry::Mad>;
    return finish(c, handler, {w, w, w, w});
  }
  return finish(c, handler, {w, w, w});
}

bool decodeMul(DecodeContext &c) {
  int part = c.takeOneOf({"lo", "hi", "wide"});
  static constexpr Handlers lo = BY_TYPE(mulLo), hi = BY_TYPE(mulHi);
  static constexpr Handler wide[6] = {
      lanewise<mulWide<int16_t>>, lanewise<mulWide<uint16_t>>,
      lanewise<mulWide<int32_t>>, lanewise<mulWide<uint32_t>>};
  if (part == 0)
    return simple(c, lo, 2);
  if (part == 1)
    return simple(c, hi, 2);
  IntType t = takeType(c);
  if (part != 2 || t == NotInt || t >= S64)
    return c.unsupported();
  unsigned w = typeBytes[t];
  return finish(c, wide[t], {2 * w, w, w});
}

bool decodeMad(DecodeContext &c) {
  if (c.has("cc"))
    return decodeCarry(c, Carry::Mad, false);
  int part = c.takeOneOf({"lo", "hi", "wide"});
  static constexpr Handlers lo = BY_TYPE(madLo), hi = BY_TYPE(madHi);
  static constexpr Handler wide[6] = {
      lanewise<madWide<int16_t>>, lanewise<madWide<uint16_t>>,
      lanewise<madWide<int32_t>>, lanewise<madWide<uint32_t>>};
  if (part == 0)
    return simple(c, lo, 3);
  if (part == 1 && c.take("sat"))
    return c.take("s32") ? finish(c, lanewise<madHiSat>, {4, 4, 4, 4})
                         : c.unsupported();
  if (part == 1)
    return simple(c, hi, 3);
  IntType t = takeType(c);
  if (part != 2 || t == NotInt || t >= S64)
    return c.unsupported();
  unsigned w = typeBytes[t];
  return finish(c, wide[t], {2 * w, w, w, 2 * w});
}

bool decode24(DecodeContext &c, bool add) {
  int part = c.takeOneOf({"lo", "hi"});
  static constexpr Handlers mulL = BY_TYPE32(mul24Lo),
                            mulH = BY_TYPE32(mul24Hi),
                            madL = BY_TYPE32(mad24Lo),
                            madH = BY_TYPE32(mad24Hi);
  if (part < 0)
    return c.unsupported();
  if (add)
    return simple(c, part ? madH : madL, 3);
  return simple(c, part ? mulH : mulL, 2);
}

bool decodeDiv(DecodeContext &c) {
  static constexpr Handlers h = BY_TYPE(div);
  return simple(c, h, 2);
}
bool decodeRem(DecodeContext &c) {
  static constexpr Handlers h = BY_TYPE(rem);
  return simple(c, h, 2);
}
bool decodeSad(DecodeContext &c) {
  static constexpr Handlers h = BY_TYPE(sad);
  return simple(c, h, 3);
}

bool decodeBits1(DecodeContext &c, Handler h32, Handler h64, bool sameWidth) {
  int t = c.takeOneOf({"b32", "b64"});
  if (t < 0)
    return c.unsupported();
  unsigned w = t ? 8u : 4u;
  return finish(c, t ? h64 : h32, {sameWidth ? w : 4u, w});
}
bool decodePopc(DecodeContext &c) {
  return decodeBits1(c, lanewise<popc32>, lanewise<popc64>, false);
}
bool decodeClz(DecodeContext &c) {
  return decodeBits1(c, lanewise<clz32>, lanewise<clz64>, false);
}
bool decodeBrev(DecodeContext &c) {
  return decodeBits1(c, lanewise<brev32>, lanewise<brev64>, true);
}
bool decodeBfind(DecodeContext &c) {
  bool shift = c.take("shiftamt");
  IntType t = takeType(c);
  static constexpr Handler plain[6] = {nullptr,
                                       nullptr,
                                       lanewise<bfind<int32_t>>,
                                       lanewise<bfind<uint32_t>>,
                                       lanewise<bfind<int64_t>>,
                                       lanewise<bfind<uint64_t>>};
  static constexpr Handler amount[6] = {nullptr,
                                        nullptr,
                                        lanewise<bfindShift<int32_t>>,
                                        lanewise<bfindShift<uint32_t>>,
                                        lanewise<bfindShift<int64_t>>,
                                        lanewise<bfindShift<uint64_t>>};
  if (t == NotInt)
    return c.unsupported();
  return finish(c, shift ? amount[t] : plain[t], {4, typeBytes[t]});
}
bool decodeFns(DecodeContext &c) {
  return c.take("b32") ? finish(c, lanewise<fns>, {4, 4, 4, 4})
                       : c.unsupported();
}
bool decodeBfe(DecodeContext &c) {
  IntType t = takeType(c);
  static constexpr Handler h[6] = {nullptr,
                                   nullptr,
                                   lanewise<bfe<int32_t>>,
                                   lanewise<bfe<uint32_t>>,
                                   lanewise<bfe<int64_t>>,
                                   lanewise<bfe<uint64_t>>};
  if (t == NotInt)
    return c.unsupported();
  unsigned w = typeBytes[t];
  return finish(c, h[t], {w, w, 4, 4});
}
bool decodeBfi(DecodeContext &c) {
  int t = c.takeOneOf({"b32", "b64"});
  if (t < 0)
    return c.unsupported();
  unsigned w = t ? 8u : 4u;
  return finish(c, t ? lanewise<bfi<uint64_t>> : lanewise<bfi<uint32_t>>,
                {w, w, w, 4, 4});
}
bool decodeBmsk(DecodeContext &c) {
  int mode = c.takeOneOf({"clamp", "wrap"});
  if (mode < 0 || !c.take("b32"))
    return c.unsupported();
  return finish(c, mode ? lanewise<bmsk<true>> : lanewise<bmsk<false>>,
                {4, 4, 4});
}
bool decodeSzext(DecodeContext &c) {
  int mode = c.takeOneOf({"clamp", "wrap"});
  int t = c.takeOneOf({"s32", "u32"});
  if (mode < 0 || t < 0)
    return c.unsupported();
  static constexpr Handler h[2][2] = {
      {lanewise<szext<int32_t, false>>, lanewise<szext<uint32_t, false>>},
      {lanewise<szext<int32_t, true>>, lanewise<szext<uint32_t, true>>}};
  return finish(c, h[mode][t], {4, 4, 4});
}
bool decodeDp4a(DecodeContext &c) {
  int a = c.takeOneOf({"s32", "u32"}), b = c.takeOneOf({"s32", "u32"});
  static constexpr Handler h[2][2] = {
      {lanewise<dp4a<int8_t, int8_t>>, lanewise<dp4a<int8_t, uint8_t>>},
      {lanewise<dp4a<uint8_t, int8_t>>, lanewise<dp4a<uint8_t, uint8_t>>}};
  if (a < 0 || b < 0)
    return c.unsupported();
  return finish(c, h[a][b], {4, 4, 4, 4});
}
template <bool high> Handler dp2aHandler(int a, int b) {
  static constexpr Handler h[2][2] = {
      {lanewise<dp2a<int16_t, int8_t, high>>,
       lanewise<dp2a<int16_t, uint8_t, high>>},
      {lanewise<dp2a<uint16_t, int8_t, high>>,
       lanewise<dp2a<uint16_t, uint8_t, high>>}};
  return h[a][b];
}
bool decodeDp2a(DecodeContext &c) {
  int part = c.takeOneOf({"lo", "hi"});
  int a = c.takeOneOf({"s32", "u32"}), b = c.takeOneOf({"s32", "u32"});
  if (part < 0 || a < 0 || b < 0)
    return c.unsupported();
  return finish(c, part ? dp2aHandler<true>(a, b) : dp2aHandler<false>(a, b),
                {4, 4, 4, 4});
}

LaneMask maskAnd(LaneMask a, LaneMask b) { return a & b; }
LaneMask maskOr(LaneMask a, LaneMask b) { return a | b; }
LaneMask maskXor(LaneMask a, LaneMask b) { return a ^ b; }

#define LOGIC(name, f, predicateForm)                                          \
  bool name(DecodeContext &c) {                                                \
    int t = c.takeOneOf({"pred", "b16", "b32", "b64"});                        \
    static constexpr Handler h[] = {predicateForm, lanewise<f<uint16_t>>,      \
                                    lanewise<f<uint32_t>>,                     \
                                    lanewise<f<uint64_t>>};                    \
    static constexpr unsigned widths[] = {0, 2, 4, 8};                         \
    if (t < 0)                                                                 \
      return c.unsupported();                                                  \
    unsigned w = widths[t];                                                    \
    return finish(c, h[t], {w, w, w});                                         \
  }
LOGIC(decodeAnd, bitAnd, predicateBinary<maskAnd>)
LOGIC(decodeOr, bitOr, predicateBinary<maskOr>)
LOGIC(decodeXor, bitXor, predicateBinary<maskXor>)
#undef LOGIC

bool decodeNot(DecodeContext &c) {
  int t = c.takeOneOf({"pred", "b16", "b32", "b64"});
  static constexpr Handler h[] = {predicateNot, lanewise<bitNot<uint16_t>>,
                                  lanewise<bitNot<uint32_t>>,
                                  lanewise<bitNot<uint64_t>>};
  static constexpr unsigned widths[] = {0, 2, 4, 8};
  if (t < 0)
    return c.unsupported();
  return finish(c, h[t], {widths[t], widths[t]});
}
bool decodeCnot(DecodeContext &c) {
  int t = c.takeOneOf({"b16", "b32", "b64"});
  static constexpr Handler h[] = {lanewise<cnot<uint16_t>>,
                                  lanewise<cnot<uint32_t>>,
                                  lanewise<cnot<uint64_t>>};
  static constexpr unsigned widths[] = {2, 4, 8};
  if (t < 0)
    return c.unsupported();
  return finish(c, h[t], {widths[t], widths[t]});
}

bool decodeLop3(DecodeContext &c) {
  int boolOp = c.takeOneOf({"and", "or"});
  if (!c.take("b32") || !c.peek().empty())
    return c.unsupported();
  // d[|p], a, b, c, immLut [, q]: the pair counts as two operands.
  unsigned extra = boolOp >= 0;
  if (c.numSources() != 5 + 2 * extra)
    return c.error("wrong number of operands");
  unsigned first = extra ? 2 : 1;
  std::optional<int64_t> table = c.immediate(first + 3);
  if (!table || *table < 0 || *table > 255)
    return c.error("lop3 needs an immediate table in 0..255");
  c.inst.handler = lop3<uint32_t>;
  c.inst.form = uint64_t(*table) | uint64_t(boolOp + 1) << 8;
  if (!c.addOperand(0, 4, true))
    return false;
  for (unsigned i = 0; i < 3; ++i)
    if (!c.addOperand(first + i, 4))
      return false;
  if (extra)
    return c.addOperand(1, 0, true) && c.addOperand(first + 4, 0);
  return true;
}

bool decodeShl(DecodeContext &c) {
  int t = c.takeOneOf({"b16", "b32", "b64"});
  static constexpr Handler h[] = {lanewise<shl<uint16_t>>,
                                  lanewise<shl<uint32_t>>,
                                  lanewise<shl<uint64_t>>};
  static constexpr unsigned widths[] = {2, 4, 8};
  if (t < 0)
    return c.unsupported();
  return finish(c, h[t], {widths[t], widths[t], 4});
}
bool decodeShr(DecodeContext &c) {
  int t = c.takeOneOf(
      {"s16", "u16", "s32", "u32", "s64", "u64", "b16", "b32", "b64"});
  static constexpr Handlers h = BY_TYPE(shr);
  if (t < 0)
    return c.unsupported();
  if (t >= 6)
    t = (t - 6) * 2 + 1;
  return finish(c, h[t], {typeBytes[t], typeBytes[t], 4});
}
bool decodeShf(DecodeContext &c) {
  int side = c.takeOneOf({"l", "r"}), mode = c.takeOneOf({"clamp", "wrap"});
  static constexpr Handler h[2][2] = {
      {lanewise<funnel<true, false>>, lanewise<funnel<true, true>>},
      {lanewise<funnel<false, false>>, lanewise<funnel<false, true>>}};
  if (side < 0 || mode < 0 || !c.take("b32"))
    return c.unsupported();
  return finish(c, h[side][mode], {4, 4, 4, 4});
}
bool decodePrmt(DecodeContext &c) {
  if (!c.take("b32"))
    return c.unsupported();
  int mode = c.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  static constexpr Handler h[] = {lanewise<prmtMode<0>>, lanewise<prmtMode<1>>,
                                  lanewise<prmtMode<2>>, lanewise<prmtMode<3>>,
                                  lanewise<prmtMode<4>>, lanewise<prmtMode<5>>};
  return finish(c, mode < 0 ? lanewise<prmt> : h[mode], {4, 4, 4, 4});
}

bool decodeAddc(DecodeContext &c) { return decodeCarry(c, Carry::Add, true); }
bool decodeSubc(DecodeContext &c) { return decodeCarry(c, Carry::Sub, true); }
bool decodeMadc(DecodeContext &c) { return decodeCarry(c, Carry::Mad, true); }
bool decodeMul24(DecodeContext &c) { return decode24(c, false); }
bool decodeMad24(DecodeContext &c) { return decode24(c, true); }

/// s16x2, u16x2: both halves at once.
bool packed(DecodeContext &c, Handler s, Handler u) {
  int t = c.takeOneOf({"s16x2", "u16x2"});
  return finish(c, t == 0 ? s : u, {4, 4, 4});
}
bool isPacked(DecodeContext &c) { return c.has("s16x2") || c.has("u16x2"); }

} // namespace

//===----------------------------------------------------------------------===//
// Forms of opcodes that floating point shares
//===----------------------------------------------------------------------===//

bool fa4::sim::decodeIntegerAdd(DecodeContext &c) {
  static constexpr Handlers h = BY_TYPE(add);
  if (c.has("cc"))
    return decodeCarry(c, Carry::Add, false);
  if (isPacked(c))
    return packed(c, lanewise<halves<int16_t, add<int16_t>>>,
                  lanewise<halves<uint16_t, add<uint16_t>>>);
  if (c.take("sat"))
    return c.take("s32") ? finish(c, lanewise<addSat>, {4, 4, 4})
                         : c.unsupported();
  return simple(c, h, 2);
}
bool fa4::sim::decodeIntegerSub(DecodeContext &c) {
  static constexpr Handlers h = BY_TYPE(sub);
  if (c.has("cc"))
    return decodeCarry(c, Carry::Sub, false);
  if (c.take("sat"))
    return c.take("s32") ? finish(c, lanewise<subSat>, {4, 4, 4})
                         : c.unsupported();
  return simple(c, h, 2);
}
bool fa4::sim::decodeIntegerMul(DecodeContext &c) { return decodeMul(c); }
bool fa4::sim::decodeIntegerMad(DecodeContext &c) { return decodeMad(c); }
bool fa4::sim::decodeIntegerDiv(DecodeContext &c) { return decodeDiv(c); }
bool fa4::sim::decodeIntegerAbs(DecodeContext &c) {
  int t = c.takeOneOf({"s16", "s32", "s64"});
  static constexpr Handler h[] = {lanewise<absolute<int16_t>>,
                                  lanewise<absolute<int32_t>>,
                                  lanewise<absolute<int64_t>>};
  static constexpr unsigned widths[] = {2, 4, 8};
  if (t < 0)
    return c.unsupported();
  return finish(c, h[t], {widths[t], widths[t]});
}
bool fa4::sim::decodeIntegerNeg(DecodeContext &c) {
  int t = c.takeOneOf({"s16", "s32", "s64"});
  static constexpr Handler h[] = {lanewise<negate<int16_t>>,
                                  lanewise<negate<int32_t>>,
                                  lanewise<negate<int64_t>>};
  static constexpr unsigned widths[] = {2, 4, 8};
  if (t < 0)
    return c.unsupported();
  return finish(c, h[t], {widths[t], widths[t]});
}
bool fa4::sim::decodeIntegerMinMax(DecodeContext &c, bool isMax) {
  static constexpr Handlers low = BY_TYPE(minimum), high = BY_TYPE(maximum);
  bool withRelu = c.take("relu");
  if (isPacked(c)) {
    if (withRelu)
      return packed(c,
                    isMax ? lanewise<halves<int16_t, maxRelu<int16_t>>>
                          : lanewise<halves<int16_t, minRelu<int16_t>>>,
                    nullptr);
    return isMax ? packed(c, lanewise<halves<int16_t, maximum<int16_t>>>,
                          lanewise<halves<uint16_t, maximum<uint16_t>>>)
                 : packed(c, lanewise<halves<int16_t, minimum<int16_t>>>,
                          lanewise<halves<uint16_t, minimum<uint16_t>>>);
  }
  if (withRelu)
    return c.take("s32") ? finish(c,
                                  isMax ? lanewise<maxRelu<int32_t>>
                                        : lanewise<minRelu<int32_t>>,
                                  {4, 4, 4})
                         : c.unsupported();
  return simple(c, isMax ? high : low, 2);
}

void fa4::sim::registerIntegerOpcodes(OpcodeTable &table) {
  table.add("addc", decodeAddc);
  table.add("subc", decodeSubc);
  table.add("madc", decodeMadc);
  table.add("mul24", decodeMul24);
  table.add("mad24", decodeMad24);
  table.add("rem", decodeRem);
  table.add("sad", decodeSad);
  table.add("popc", decodePopc);
  table.add("clz", decodeClz);
  table.add("brev", decodeBrev);
  table.add("bfind", decodeBfind);
  table.add("fns", decodeFns);
  table.add("bfe", decodeBfe);
  table.add("bfi", decodeBfi);
  table.add("bmsk", decodeBmsk);
  table.add("szext", decodeSzext);
  table.add("dp4a", decodeDp4a);
  table.add("dp2a", decodeDp2a);
  table.add("and", decodeAnd);
  table.add("or", decodeOr);
  table.add("xor", decodeXor);
  table.add("not", decodeNot);
  table.add("cnot", decodeCnot);
  table.add("lop3", decodeLop3);
  table.add("shl", decodeShl);
  table.add("shr", decodeShr);
  table.add("shf", decodeShf);
  table.add("prmt", decodePrmt);
}
