//===- Float.cpp - floating-point instructions ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point
// Instructions", "Mixed Precision Floating-Point Instructions". Arithmetic is
// correctly rounded in all four modes. Results of approximate instructions are
// within half a unit in the last place of the exact one before .ftz, so inside
// every bound of the manual; hardware's own bits differ.
//
//===----------------------------------------------------------------------===//

#include "Integer.h"
#include "WideLanes.h"
#include <cfenv>
#include <cmath>

using namespace fa4::sim;

namespace {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

// A half-precision element type: how its bits become a float and back.

struct F16 {
  static float load(uint16_t h) { return fromF16(h); }
  static uint16_t store(double x) {
    return encode(x, f16Format, Round::Nearest, false);
  }
  static bool isSubnormal(uint16_t h) { return !(h & 0x7C00); }
};
struct BF16 {
  static float load(uint16_t h) { return fromBf16(h); }
  static uint16_t store(double x) {
    return encode(x, bf16Format, Round::Nearest, false);
  }
  static bool isSubnormal(uint16_t h) { return false; } // no .ftz for bf16
};

template <bool ftz, typename T> T in(T x) { return ftz ? flush(x) : x; }
template <bool ftz, bool sat, typename T> T out(T x) {
  x = canonical(x);
  if (ftz)
    x = flush(x);
  if (sat) // NaN becomes +0
    x = x > 0 ? (x < 1 ? x : T(1)) : T(0);
  return x;
}

//===----------------------------------------------------------------------===//
// add, sub, mul, fma of f32 and f64
//===----------------------------------------------------------------------===//

enum class Op { Add, Sub, Mul, Fma };

template <typename T, Op op, bool ftz, bool sat> T arith2(T a, T b) {
  a = in<ftz>(a);
  b = in<ftz>(b);
  T r = op == Op::Add ? a + b : op == Op::Sub ? a - b : a * b;
  return out<ftz, sat>(r);
}
template <typename T, bool ftz, bool sat> T arith3(T a, T b, T c) {
  return out<ftz, sat>(std::fma(in<ftz>(a), in<ftz>(b), in<ftz>(c)));
}

/// Applies an operation to both floats of a 64-bit register.
template <Op op, bool ftz> uint64_t pairs2(uint64_t a, uint64_t b) {
  float low = arith2<float, op, ftz, false>(bitCast<float>(uint32_t(a)),
                                            bitCast<float>(uint32_t(b)));
  float high = arith2<float, op, ftz, false>(bitCast<float>(uint32_t(a >> 32)),
                                             bitCast<float>(uint32_t(b >> 32)));
  return bitCast<uint32_t>(low) | uint64_t(bitCast<uint32_t>(high)) << 32;
}
template <bool ftz> uint64_t pairs3(uint64_t a, uint64_t b, uint64_t c) {
  float low = arith3<float, ftz, false>(bitCast<float>(uint32_t(a)),
                                        bitCast<float>(uint32_t(b)),
                                        bitCast<float>(uint32_t(c)));
  float high = arith3<float, ftz, false>(bitCast<float>(uint32_t(a >> 32)),
                                         bitCast<float>(uint32_t(b >> 32)),
                                         bitCast<float>(uint32_t(c >> 32)));
  return bitCast<uint32_t>(low) | uint64_t(bitCast<uint32_t>(high)) << 32;
}

/// Form bits of the handlers with a rounding mode other than nearest.
enum : uint64_t { FormFtz = 1 << 8, FormSat = 1 << 9 };

int hostRounding(Round round) {
  switch (round) {
  case Round::Zero:
    return FE_TOWARDZERO;
  case Round::Down:
    return FE_DOWNWARD;
  case Round::Up:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

/// Sets the host's rounding mode for as long as the object lives.
struct HostRounding {
  explicit HostRounding(Round round) : saved(std::fegetround()) {
    std::fesetround(hostRounding(round));
  }
  ~HostRounding() { std::fesetround(saved); }
  int saved;
};

template <typename T> T directed(Op op, T a, T b, T c) {
#pragma STDC FENV_ACCESS ON
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Fma:
    return std::fma(a, b, c);
  }
  return a;
}

template <typename T> T directedLane(Op op, uint64_t form, T a, T b, T c) {
#pragma STDC FENV_ACCESS ON
  if (form & FormFtz) {
    a = flush(a);
    b = flush(b);
    c = flush(c);
  }
  T r = canonical(directed(op, a, b, c));
  if (form & FormFtz)
    r = flush(r);
  if (form & FormSat)
    r = r > 0 ? (r < 1 ? r : T(1)) : T(0);
  return r;
}

template <typename T, Op op> Flow rounded(Exec &x, const Inst &inst) {
#pragma STDC FENV_ACCESS ON
  HostRounding scope(Round(inst.form & 0xFF));
  T *d = x.write<T>(inst, 0);
  const T *a = x.read<T>(inst, 1), *b = x.read<T>(inst, 2),
          *c = op == Op::Fma ? x.read<T>(inst, 3) : b;
  forEachLane(x.mask, [&](unsigned l) {
    d[l] = directedLane(op, inst.form, a[l], b[l], c[l]);
  });
  return Flow::Next;
}
template <Op op> Flow roundedPairs(Exec &x, const Inst &inst) {
#pragma STDC FENV_ACCESS ON
  HostRounding scope(Round(inst.form & 0xFF));
  // A 64-bit slot is two floats, low first.
  float *d = x.write<float>(inst, 0);
  const float *a = x.read<float>(inst, 1), *b = x.read<float>(inst, 2),
              *c = op == Op::Fma ? x.read<float>(inst, 3) : b;
  forEachLane(x.mask, [&](unsigned l) {
    for (unsigned i = 2 * l; i < 2 * l + 2; ++i)
      d[i] = directedLane(op, inst.form, a[i], b[i], c[i]);
  });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// f16 and bf16
//===----------------------------------------------------------------------===//

template <typename E, bool ftz> double load16(uint16_t h) {
  double v = E::load(h);
  if (ftz && E::isSubnormal(h))
    v = std::copysign(0.0, v);
  return v;
}
template <typename E, bool ftz, bool sat, bool relu = false>
uint16_t store16(double v) {
  if (relu && !(v >= 0) && v == v)
    v = 0;
  if (sat)
    v = v > 0 ? (v < 1 ? v : 1) : 0;
  uint16_t h = E::store(v);
  if (ftz && E::isSubnormal(h))
    h &= 0x8000;
  return h;
}
template <typename E, Op op, bool ftz, bool sat>
uint16_t half2(uint16_t a, uint16_t b) {
  double x = load16<E, ftz>(a), y = load16<E, ftz>(b);
  return store16<E, ftz, sat>(op == Op::Add   ? addToOdd(x, y)
                              : op == Op::Sub ? addToOdd(x, -y)
                                              : x * y);
}
template <typename E, bool ftz, bool sat, bool relu>
uint16_t half3(uint16_t a, uint16_t b, uint16_t c) {
  double x = load16<E, ftz>(a), y = load16<E, ftz>(b), z = load16<E, ftz>(c);
  return store16<E, ftz, sat, relu>(addToOdd(x * y, z));
}
template <uint16_t (*f)(uint16_t, uint16_t)>
uint32_t both2(uint32_t a, uint32_t b) {
  return f(a, b) | uint32_t(f(a >> 16, b >> 16)) << 16;
}
template <uint16_t (*f)(uint16_t, uint16_t, uint16_t)>
uint32_t both3(uint32_t a, uint32_t b, uint32_t c) {
  return f(a, b, c) | uint32_t(f(a >> 16, b >> 16, c >> 16)) << 16;
}
template <uint16_t (*f)(uint16_t)> uint32_t both1(uint32_t a) {
  return f(a) | uint32_t(f(a >> 16)) << 16;
}

/// Mixed precision: add, sub, fma of f32 with f16 or bf16 sources.
template <typename E, Op op, bool sat> float mixed2(uint16_t a, float b) {
  float x = E::load(a);
  return out<false, sat>(op == Op::Add ? x + b : x - b);
}
template <typename E, bool sat> float mixed3(uint16_t a, uint16_t b, float c) {
  return out<false, sat>(std::fma(E::load(a), E::load(b), c));
}

//===----------------------------------------------------------------------===//
// min, max
//===----------------------------------------------------------------------===//

template <bool isMax, typename T> T pick(T a, T b) {
  if (a == b) // +0 is over -0
    return std::signbit(a) == isMax ? b : a;
  return (a < b) == isMax ? b : a;
}
/// Form: `nan` propagates NaN, otherwise a number wins over it; `absolute`
/// compares and returns magnitudes; `xorsign` gives the result the xor of the
/// signs.
template <typename T, bool isMax, bool ftz, bool nan> T extremum(T a, T b) {
  a = in<ftz>(a);
  b = in<ftz>(b);
  T other = a != a ? (b != b ? canonical(a) : b) : a;
  T r =
      a != a || b != b ? (nan ? canonical(T(NAN)) : other) : pick<isMax>(a, b);
  return r;
}
template <typename T, bool isMax, bool ftz, bool nan>
T extremum3(T a, T b, T c) {
  return extremum<T, isMax, ftz, nan>(extremum<T, isMax, ftz, nan>(a, b), c);
}
template <bool isMax, bool ftz, bool nan> float extremumAbs(float a, float b) {
  return extremum<float, isMax, ftz, nan>(std::fabs(a), std::fabs(b));
}
template <bool isMax, bool ftz, bool nan>
float extremumAbs3(float a, float b, float c) {
  return extremum3<float, isMax, ftz, nan>(std::fabs(a), std::fabs(b),
                                           std::fabs(c));
}
template <bool isMax, bool ftz, bool nan> float extremumXor(float a, float b) {
  float r = extremumAbs<isMax, ftz, nan>(a, b);
  bool sign = std::signbit(a) != std::signbit(b);
  return r != r ? r : std::copysign(r, sign ? -1.0f : 1.0f);
}
template <typename E, bool isMax, bool ftz, bool nan, bool xorsign>
uint16_t extremum16(uint16_t a, uint16_t b) {
  float x = load16<E, ftz>(a), y = load16<E, ftz>(b);
  bool sign = std::signbit(x) != std::signbit(y);
  if (xorsign) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  float r = extremum<float, isMax, false, nan>(x, y);
  if (xorsign && r == r)
    r = std::copysign(r, sign ? -1.0f : 1.0f);
  return E::store(r);
}

//===----------------------------------------------------------------------===//
// One source
//===----------------------------------------------------------------------===//

template <bool ftz> float abs32(float a) {
  return in<ftz>(bitCast<float>(bitCast<uint32_t>(a) & 0x7FFFFFFF));
}
template <bool ftz> float neg32(float a) {
  return in<ftz>(bitCast<float>(bitCast<uint32_t>(a) ^ 0x80000000));
}
double abs64(double a) { return std::fabs(a); }
double neg64(double a) { return -a; }
uint16_t abs16(uint16_t a) { return a & 0x7FFF; }
uint16_t neg16(uint16_t a) { return a ^ 0x8000; }
template <bool ftz> uint16_t flush16(uint16_t a) {
  return ftz && !(a & 0x7C00) ? a & 0x8000 : a;
}
template <bool ftz> uint16_t absF16(uint16_t a) {
  return flush16<ftz>(a & 0x7FFF);
}
template <bool ftz> uint16_t negF16(uint16_t a) {
  return flush16<ftz>(a ^ 0x8000);
}

// The approximations are the double-precision functions, rounded once.
double rcpD(double a) { return 1 / a; }
double sqrtD(double a) { return std::sqrt(a); }
double rsqrtD(double a) { return 1 / std::sqrt(a); }
double sinD(double a) { return std::sin(a); }
double cosD(double a) { return std::cos(a); }
double lg2D(double a) { return std::log2(a); }
double ex2D(double a) { return std::exp2(a); }
double tanhD(double a) { return std::tanh(a); }

template <double (*f)(double), bool ftz> float approx(float a) {
  return out<ftz, false>(float(f(in<ftz>(a))));
}
/// ex2 is the hot one: cubic spline would do; this is exact to a float.
template <bool ftz> float ex2(float a) {
  a = in<ftz>(a);
  return out<ftz, false>(std::exp2(a));
}
/// ex2 of all lanes. They have one value where a tile is zeros, as the products
/// of a timed run are.
template <bool ftz> Flow ex2Lanes(Exec &x, const Inst &inst) {
  const uint32_t *from = x.read<uint32_t>(inst, 1);
  uint32_t differ = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    differ |= from[l] ^ from[0];
  if (x.mask != allLanes || differ)
    return lanewise<ex2<ftz>>(x, inst);
  uint32_t value = bitCast<uint32_t>(ex2<ftz>(bitCast<float>(from[0])));
  std::fill_n(x.write<uint32_t>(inst, 0), warpSize, value);
  return Flow::Next;
}
template <double (*f)(double)> double approx64(double a) { return f(a); }
/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 keep 20 bits of the mantissa
/// and flush subnormals; the low word of the result is zero.
template <double (*f)(double)> double gross64(double a) {
  uint64_t bits = bitCast<uint64_t>(a);
  if (!(bits & 0x7FF0000000000000ull))
    a = std::copysign(0.0, a);
  uint64_t r = bitCast<uint64_t>(f(a)) & 0xFFFFFFFF00000000ull;
  if (!(r & 0x7FF0000000000000ull))
    r &= 0x8000000000000000ull;
  return bitCast<double>(r);
}
template <typename E, double (*f)(double), bool ftz>
uint16_t approx16(uint16_t a) {
  return store16<E, ftz, false>(f(load16<E, ftz>(a)));
}
template <bool ftz> float div32(float a, float b) {
  return out<ftz, false>(in<ftz>(a) / in<ftz>(b));
}

/// rcp, sqrt, div with a rounding mode.
enum class Exact { Rcp, Sqrt, Div };
template <typename T, Exact op> Flow exactRounded(Exec &x, const Inst &inst) {
#pragma STDC FENV_ACCESS ON
  HostRounding scope(Round(inst.form & 0xFF));
  bool ftz = inst.form & FormFtz;
  T *d = x.write<T>(inst, 0);
  const T *a = x.read<T>(inst, 1),
          *b = op == Exact::Div ? x.read<T>(inst, 2) : a;
  forEachLane(x.mask, [&](unsigned l) {
    T u = ftz ? flush(a[l]) : a[l], v = ftz ? flush(b[l]) : b[l], r;
    if (op == Exact::Rcp)
      r = T(1) / u;
    else if (op == Exact::Sqrt)
      r = std::sqrt(u);
    else
      r = u / v;
    r = canonical(r);
    d[l] = ftz ? flush(r) : r;
  });
  return Flow::Next;
}

float copysign32(float a, float b) { return std::copysign(b, a); }
double copysign64(double a, double b) { return std::copysign(b, a); }

/// testp: form is the test.
template <typename T> Flow testp(Exec &x, const Inst &inst) {
  LaneMask result = 0;
  const T *a = x.read<T>(inst, 1);
  for (unsigned l = 0; l < warpSize; ++l) {
    int c = std::fpclassify(a[l]);
    bool yes = false;
    switch (inst.form) {
    case 0:
      yes = std::isfinite(a[l]);
      break;
    case 1:
      yes = c == FP_INFINITE;
      break;
    case 2:
      yes = c != FP_NAN;
      break;
    case 3:
      yes = c == FP_NAN;
      break;
    case 4:
      yes = c == FP_NORMAL;
      break;
    default:
      yes = c == FP_SUBNORMAL || c == FP_ZERO;
    }
    result |= uint32_t(yes) << l;
  }
  x.setPredicate(x.operand(inst, 0), result);
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

constexpr Round roundingOf[] = {Round::Nearest, Round::Zero, Round::Down,
                                Round::Up};

/// Consumes a rounding modifier. Without one, the mode is nearest.
Round takeRounding(DecodeContext &c, bool *given = nullptr) {
  int r = c.takeOneOf({"rn", "rz", "rm", "rp"});
  if (given)
    *given = r >= 0;
  return r < 0 ? Round::Nearest : roundingOf[r];
}

enum FloatType { TF32x1, TF64, TF16, TF16x2, TBF16, TBF16x2, TF32x2, NotFloat };
constexpr unsigned floatBytes[] = {4, 8, 2, 4, 2, 4, 8};

FloatType takeFloatType(DecodeContext &c) {
  int t =
      c.takeOneOf({"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"});
  return t < 0 ? NotFloat : FloatType(t);
}
bool isFloat(DecodeContext &c) {
  for (llvm::StringRef t :
       {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"})
    if (c.has(t))
      return true;
  return false;
}

bool finish(DecodeContext &c, Handler handler,
            std::initializer_list<unsigned> widths) {
  if (!handler || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != widths.size())
    return c.error("wrong number of operands");
  c.inst.handler = handler;
  unsigned i = 0;
  for (unsigned width : widths) {
    if (!c.addOperand(i, width, i == 0, /*isFloat=*/true))
      return false;
    ++i;
  }
  return true;
}

template <typename T, Op op> Handler nearest(bool ftz, bool sat) {
  if constexpr (op == Op::Fma) {
    static constexpr Handler h[2][2] = {
        {wide<arith3<T, false, false>>, wide<arith3<T, false, true>>},
        {wide<arith3<T, true, false>>, wide<arith3<T, true, true>>}};
    return h[ftz][sat];
  } else {
    static constexpr Handler h[2][2] = {{lanewise<arith2<T, op, false, false>>,
                                         lanewise<arith2<T, op, false, true>>},
                                        {lanewise<arith2<T, op, true, false>>,
                                         lanewise<arith2<T, op, true, true>>}};
    return h[ftz][sat];
  }
}
template <Op op> Handler nearestPairs(bool ftz) {
  if constexpr (op == Op::Fma)
    return ftz ? widePairs<arith3<float, true, false>, pairs3<true>>
               : widePairs<arith3<float, false, false>, pairs3<false>>;
  else
    return ftz ? widePairs<arith2<float, op, true, false>, pairs2<op, true>>
               : widePairs<arith2<float, op, false, false>, pairs2<op, false>>;
}

template <typename E, Op op, bool ftz, bool sat, bool relu>
Handler halfForm(bool isPair) {
  if constexpr (op == Op::Fma)
    return isPair ? lanewise<both3<half3<E, ftz, sat, relu>>>
                  : lanewise<half3<E, ftz, sat, relu>>;
  else
    return isPair ? lanewise<both2<half2<E, op, ftz, sat>>>
                  : lanewise<half2<E, op, ftz, sat>>;
}
template <typename E, Op op>
Handler halfHandler(bool isPair, bool ftz, bool sat, bool relu) {
  if (relu && (op != Op::Fma || sat))
    return nullptr;
  if (relu)
    return ftz ? halfForm<E, op, true, false, true>(isPair)
               : halfForm<E, op, false, false, true>(isPair);
  if (sat)
    return ftz ? halfForm<E, op, true, true, false>(isPair)
               : halfForm<E, op, false, true, false>(isPair);
  return ftz ? halfForm<E, op, true, false, false>(isPair)
             : halfForm<E, op, false, false, false>(isPair);
}

/// add.f32.bf16 and the like: the second type is that of the sources.
template <Op op> bool decodeMixed(DecodeContext &c, Round round, bool sat) {
  bool isF16 = c.take("f16");
  if (!isF16 && !c.take("bf16"))
    return c.unsupported();
  if (round != Round::Nearest)
    return c.unsupported();
  if constexpr (op == Op::Fma) {
    static constexpr Handler h[2][2] = {
        {lanewise<mixed3<BF16, false>>, lanewise<mixed3<BF16, true>>},
        {lanewise<mixed3<F16, false>>, lanewise<mixed3<F16, true>>}};
    return finish(c, h[isF16][sat], {4, 2, 2, 4});
  } else if constexpr (op == Op::Mul) {
    return c.unsupported();
  } else {
    static constexpr Handler h[2][2] = {
        {lanewise<mixed2<BF16, op, false>>, lanewise<mixed2<BF16, op, true>>},
        {lanewise<mixed2<F16, op, false>>, lanewise<mixed2<F16, op, true>>}};
    return finish(c, h[isF16][sat], {4, 2, 4});
  }
}

template <Op op> bool decodeArith(DecodeContext &c) {
  Round round = takeRounding(c);
  bool ftz = c.take("ftz"), sat = c.take("sat"), relu = c.take("relu");
  FloatType t = takeFloatType(c);
  if (t == NotFloat)
    return c.unsupported();
  if (t == TF32x1 && (c.has("f16") || c.has("bf16")))
    return decodeMixed<op>(c, round, sat);
  bool directedRound = round != Round::Nearest;
  c.inst.form = uint64_t(round) | (ftz ? FormFtz : 0) | (sat ? FormSat : 0);
  Handler handler = nullptr;
  switch (t) {
  case TF32x1:
    handler = directedRound ? rounded<float, op> : nearest<float, op>(ftz, sat);
    break;
  case TF64:
    if (!ftz && !sat)
      handler = directedRound ? rounded<double, op>
                              : nearest<double, op>(false, false);
    break;
  case TF32x2:
    if (!sat)
      handler = directedRound ? roundedPairs<op> : nearestPairs<op>(ftz);
    break;
  case TF16:
  case TF16x2:
    if (!directedRound)
      handler = halfHandler<F16, op>(t == TF16x2, ftz, sat, relu);
    break;
  case TBF16:
  case TBF16x2:
    if (!directedRound && !ftz && !sat)
      handler = halfHandler<BF16, op>(t == TBF16x2, false, false, relu);
    break;
  case NotFloat:
    break;
  }
  if (relu && t != TF16 && t != TF16x2 && t != TBF16 && t != TBF16x2)
    handler = nullptr;
  unsigned w = floatBytes[t];
  if (op == Op::Fma)
    return finish(c, handler, {w, w, w, w});
  return finish(c, handler, {w, w, w});
}

bool decodeAdd(DecodeContext &c) {
  return isFloat(c) ? decodeArith<Op::Add>(c) : decodeIntegerAdd(c);
}
bool decodeSub(DecodeContext &c) {
  return isFloat(c) ? decodeArith<Op::Sub>(c) : decodeIntegerSub(c);
}
bool decodeMul(DecodeContext &c) {
  return isFloat(c) ? decodeArith<Op::Mul>(c) : decodeIntegerMul(c);
}
/// mad.f32 is fma on every target with tensor memory.
bool decodeMad(DecodeContext &c) {
  return isFloat(c) ? decodeArith<Op::Fma>(c) : decodeIntegerMad(c);
}
bool decodeFma(DecodeContext &c) { return decodeArith<Op::Fma>(c); }

//===--- min, max
//----------------------------------------------------------===//

template <bool isMax, bool ftz, bool nan>
Handler extremum32(bool absolute, bool xorsign, bool three) {
  if (xorsign)
    return three || !absolute ? nullptr
                              : Handler(lanewise<extremumXor<isMax, ftz, nan>>);
  if (three)
    return absolute ? lanewise<extremumAbs3<isMax, ftz, nan>>
                    : wide<extremum3<float, isMax, ftz, nan>>;
  return absolute ? lanewise<extremumAbs<isMax, ftz, nan>>
                  : wide<extremum<float, isMax, ftz, nan>>;
}
template <typename E, bool isMax, bool ftz>
Handler extremumHalf(bool isPair, bool nan, bool xorsign) {
  static constexpr Handler h[2][2][2] = {
      {{lanewise<extremum16<E, isMax, ftz, false, false>>,
        lanewise<extremum16<E, isMax, ftz, false, true>>},
       {lanewise<extremum16<E, isMax, ftz, true, false>>,
        lanewise<extremum16<E, isMax, ftz, true, true>>}},
      {{lanewise<both2<extremum16<E, isMax, ftz, false, false>>>,
        lanewise<both2<extremum16<E, isMax, ftz, false, true>>>},
       {lanewise<both2<extremum16<E, isMax, ftz, true, false>>>,
        lanewise<both2<extremum16<E, isMax, ftz, true, true>>>}}};
  return h[isPair][nan][xorsign];
}

template <bool isMax> bool decodeMinMaxFloat(DecodeContext &c) {
  bool ftz = c.take("ftz"), nan = c.take("NaN"), xorsign = c.take("xorsign"),
       absolute = c.take("abs");
  FloatType t = takeFloatType(c);
  bool three = c.numSources() == 4;
  if (t == TF64)
    return ftz || nan || xorsign || absolute
               ? c.unsupported()
               : finish(c, lanewise<extremum<double, isMax, false, false>>,
                        {8, 8, 8});
  if (t == TF32x1) {
    Handler h =
        ftz ? (nan ? extremum32<isMax, true, true>(absolute, xorsign, three)
                   : extremum32<isMax, true, false>(absolute, xorsign, three))
            : (nan ? extremum32<isMax, false, true>(absolute, xorsign, three)
                   : extremum32<isMax, false, false>(absolute, xorsign, three));
    if (three)
      return finish(c, h, {4, 4, 4, 4});
    return finish(c, h, {4, 4, 4});
  }
  if (t == NotFloat || t == TF32x2 || absolute != xorsign)
    return c.unsupported();
  bool isPair = t == TF16x2 || t == TBF16x2;
  Handler h = nullptr;
  if (t == TF16 || t == TF16x2)
    h = ftz ? extremumHalf<F16, isMax, true>(isPair, nan, xorsign)
            : extremumHalf<F16, isMax, false>(isPair, nan, xorsign);
  else if (!ftz)
    h = extremumHalf<BF16, isMax, false>(isPair, nan, xorsign);
  unsigned w = floatBytes[t];
  return finish(c, h, {w, w, w});
}
bool decodeMin(DecodeContext &c) {
  return isFloat(c) ? decodeMinMaxFloat<false>(c)
                    : decodeIntegerMinMax(c, false);
}
bool decodeMax(DecodeContext &c) {
  return isFloat(c) ? decodeMinMaxFloat<true>(c) : decodeIntegerMinMax(c, true);
}

//===--- abs, neg
//----------------------------------------------------------===//

bool decodeAbs(DecodeContext &c) {
  if (!isFloat(c))
    return decodeIntegerAbs(c);
  bool ftz = c.take("ftz");
  FloatType t = takeFloatType(c);
  switch (t) {
  case TF32x1:
    return finish(c, ftz ? lanewise<abs32<true>> : lanewise<abs32<false>>,
                  {4, 4});
  case TF64:
    return finish(c, ftz ? nullptr : Handler(lanewise<abs64>), {8, 8});
  case TF16:
    return finish(c, ftz ? lanewise<absF16<true>> : lanewise<absF16<false>>,
                  {2, 2});
  case TF16x2:
    return finish(
        c, ftz ? lanewise<both1<absF16<true>>> : lanewise<both1<absF16<false>>>,
        {4, 4});
  case TBF16:
    return finish(c, ftz ? nullptr : Handler(lanewise<abs16>), {2, 2});
  case TBF16x2:
    return finish(c, ftz ? nullptr : Handler(lanewise<both1<abs16>>), {4, 4});
  default:
    return c.unsupported();
  }
}
bool decodeNeg(DecodeContext &c) {
  if (!isFloat(c))
    return decodeIntegerNeg(c);
  bool ftz = c.take("ftz");
  FloatType t = takeFloatType(c);
  switch (t) {
  case TF32x1:
    return finish(c, ftz ? lanewise<neg32<true>> : lanewise<neg32<false>>,
                  {4, 4});
  case TF64:
    return finish(c, ftz ? nullptr : Handler(lanewise<neg64>), {8, 8});
  case TF16:
    return finish(c, ftz ? lanewise<negF16<true>> : lanewise<negF16<false>>,
                  {2, 2});
  case TF16x2:
    return finish(
        c, ftz ? lanewise<both1<negF16<true>>> : lanewise<both1<negF16<false>>>,
        {4, 4});
  case TBF16:
    return finish(c, ftz ? nullptr : Handler(lanewise<neg16>), {2, 2});
  case TBF16x2:
    return finish(c, ftz ? nullptr : Handler(lanewise<both1<neg16>>), {4, 4});
  default:
    return c.unsupported();
  }
}

//===--- Functions
//---------------------------------------------------------===//

/// rcp, sqrt: approximate or with a rounding mode.
template <Exact op, double (*f)(double)> bool decodeRoot(DecodeContext &c) {
  bool approximate = c.take("approx");
  bool given = false;
  Round round = takeRounding(c, &given);
  bool ftz = c.take("ftz");
  FloatType t = takeFloatType(c);
  if (approximate == given)
    return c.unsupported();
  c.inst.form = uint64_t(round) | (ftz ? FormFtz : 0);
  if (t == TF32x1 && approximate)
    return finish(c,
                  ftz ? lanewise<approx<f, true>> : lanewise<approx<f, false>>,
                  {4, 4});
  if (t == TF32x1)
    return finish(c, exactRounded<float, op>, {4, 4});
  if (t == TF64 && approximate && ftz && op == Exact::Rcp)
    return finish(c, lanewise<gross64<f>>, {8, 8});
  if (t == TF64 && given && !ftz)
    return finish(c, exactRounded<double, op>, {8, 8});
  return c.unsupported();
}

template <double (*f)(double)> Handler approx32(bool ftz) {
  return ftz ? lanewise<approx<f, true>> : lanewise<approx<f, false>>;
}

bool decodeRsqrt(DecodeContext &c) {
  if (!c.take("approx"))
    return c.unsupported();
  bool ftz = c.take("ftz");
  FloatType t = takeFloatType(c);
  if (t == TF32x1)
    return finish(c, approx32<rsqrtD>(ftz), {4, 4});
  if (t == TF64)
    return finish(c,
                  ftz ? lanewise<gross64<rsqrtD>> : lanewise<approx64<rsqrtD>>,
                  {8, 8});
  return c.unsupported();
}

/// sin, cos, lg2: approx f32 only.
template <double (*f)(double)> bool decodeApprox32(DecodeContext &c) {
  if (!c.take("approx"))
    return c.unsupported();
  bool ftz = c.take("ftz");
  return c.take("f32") ? finish(c, approx32<f>(ftz), {4, 4}) : c.unsupported();
}

/// ex2, tanh: also f16 and bf16.
template <double (*f)(double), bool isEx2> bool decodeApprox(DecodeContext &c) {
  if (!c.take("approx"))
    return c.unsupported();
  bool ftz = c.take("ftz");
  FloatType t = takeFloatType(c);
  Handler h = nullptr;
  switch (t) {
  case TF32x1:
    if (isEx2)
      h = ftz ? ex2Lanes<true> : ex2Lanes<false>;
    else if (!ftz)
      h = lanewise<approx<f, false>>;
    break;
  case TF16:
    h = ftz ? nullptr : Handler(lanewise<approx16<F16, f, false>>);
    break;
  case TF16x2:
    h = ftz ? nullptr : Handler(lanewise<both1<approx16<F16, f, false>>>);
    break;
  // ex2 of bf16 is written with .ftz, tanh without.
  case TBF16:
    h = ftz == isEx2 ? Handler(lanewise<approx16<BF16, f, false>>) : nullptr;
    break;
  case TBF16x2:
    h = ftz == isEx2 ? Handler(lanewise<both1<approx16<BF16, f, false>>>)
                     : nullptr;
    break;
  default:
    break;
  }
  if (t == NotFloat)
    return c.unsupported();
  return finish(c, h, {floatBytes[t], floatBytes[t]});
}

bool decodeDiv(DecodeContext &c) {
  if (!isFloat(c))
    return decodeIntegerDiv(c);
  bool rough = c.take("approx") || c.take("full");
  bool given = false;
  Round round = takeRounding(c, &given);
  bool ftz = c.take("ftz");
  FloatType t = takeFloatType(c);
  if (rough == given)
    return c.unsupported();
  c.inst.form = uint64_t(round) | (ftz ? FormFtz : 0);
  if (t == TF32x1 && rough)
    return finish(c, ftz ? lanewise<div32<true>> : lanewise<div32<false>>,
                  {4, 4, 4});
  if (t == TF32x1)
    return finish(c, exactRounded<float, Exact::Div>, {4, 4, 4});
  if (t == TF64 && !rough && !ftz)
    return finish(c, exactRounded<double, Exact::Div>, {8, 8, 8});
  return c.unsupported();
}

bool decodeCopysign(DecodeContext &c) {
  if (c.take("f32"))
    return finish(c, lanewise<copysign32>, {4, 4, 4});
  if (c.take("f64"))
    return finish(c, lanewise<copysign64>, {8, 8, 8});
  return c.unsupported();
}

bool decodeTestp(DecodeContext &c) {
  int test = c.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  int t = c.takeOneOf({"f32", "f64"});
  if (test < 0 || t < 0 || !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.inst.form = test;
  c.inst.handler = t ? testp<double> : testp<float>;
  return c.addOperand(0, 0, true) && c.addOperand(1, t ? 8 : 4, false, true);
}

} // namespace

void fa4::sim::registerFloatOpcodes(OpcodeTable &table) {
  table.add("add", decodeAdd);
  table.add("sub", decodeSub);
  table.add("mul", decodeMul);
  table.add("mad", decodeMad);
  table.add("fma", decodeFma);
  table.add("min", decodeMin);
  table.add("max", decodeMax);
  table.add("abs", decodeAbs);
  table.add("neg", decodeNeg);
  table.add("div", decodeDiv);
  table.add("rcp", decodeRoot<Exact::Rcp, rcpD>);
  table.add("sqrt", decodeRoot<Exact::Sqrt, sqrtD>);
  table.add("rsqrt", decodeRsqrt);
  table.add("sin", decodeApprox32<sinD>);
  table.add("cos", decodeApprox32<cosD>);
  table.add("lg2", decodeApprox32<lg2D>);
  table.add("ex2", decodeApprox<ex2D, true>);
  table.add("tanh", decodeApprox<tanhD, false>);
  table.add("copysign", decodeCopysign);
  table.add("testp", decodeTestp);
}
