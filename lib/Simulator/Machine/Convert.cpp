//===- Convert.cpp - cvt --------------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: cvt", "cvt.pack".
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include <algorithm>
#include <cfenv>

using namespace fa4::sim;

namespace {

//===----------------------------------------------------------------------===//
// Scalar conversions
//===----------------------------------------------------------------------===//

enum class Type : uint8_t {
  U8,
  S8,
  U16,
  S16,
  U32,
  S32,
  U64,
  S64,
  F16,
  BF16,
  TF32,
  F32,
  F64,
  None
};
constexpr unsigned typeBytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 4, 8};

bool isInteger(Type t) { return t <= Type::S64; }
bool isSigned(Type t) { return unsigned(t) & 1; }

struct Form {
  Type to = Type::None, from = Type::None;
  Round round = Round::Zero;
  bool integral = false; ///< .rni and the like.
  bool ftz = false, sat = false, satfinite = false, relu = false;
};

/// Returns the integer value of the source. 128 bits hold all source types.
__int128 loadInteger(Type t, uint64_t bits) {
  switch (t) {
  case Type::U8:
    return uint8_t(bits);
  case Type::S8:
    return int8_t(bits);
  case Type::U16:
    return uint16_t(bits);
  case Type::S16:
    return int16_t(bits);
  case Type::U32:
    return uint32_t(bits);
  case Type::S32:
    return int32_t(bits);
  case Type::S64:
    return int64_t(bits);
  default:
    return bits;
  }
}

double loadFloat(const Form &form, uint64_t bits) {
  switch (form.from) {
  case Type::F16: {
    return fromF16(uint16_t(bits));
  }
  case Type::BF16:
    return fromBf16(uint16_t(bits));
  case Type::F32:
  case Type::TF32: {
    float x = bitCast<float>(uint32_t(bits));
    return form.ftz ? flush(x) : x;
  }
  default:
    return bitCast<double>(bits);
  }
}

void integerRange(Type t, __int128 &low, __int128 &high) {
  unsigned bits = 8 * typeBytes[unsigned(t)];
  if (isSigned(t)) {
    high = (__int128(1) << (bits - 1)) - 1;
    low = -high - 1;
  } else {
    low = 0;
    high = (__int128(1) << bits) - 1;
  }
}

uint64_t storeInteger(Type t, __int128 value) {
  uint64_t bits = uint64_t(value);
  unsigned unused = 64 - 8 * typeBytes[unsigned(t)];
  // The value is sign-extended to 64 bits, because a wider register may take
  // it.
  return isSigned(t) ? uint64_t(int64_t(bits << unused) >> unused)
                     : bits << unused >> unused;
}

/// Nearest-even of the host or the form's mode, in one rounding.
template <typename T> T narrow(long double value, Round round) {
#pragma STDC FENV_ACCESS ON
  int saved = std::fegetround();
  switch (round) {
  case Round::Zero:
    std::fesetround(FE_TOWARDZERO);
    break;
  case Round::Down:
    std::fesetround(FE_DOWNWARD);
    break;
  case Round::Up:
    std::fesetround(FE_UPWARD);
    break;
  default:
    break;
  }
  volatile long double source = value;
  volatile T result = T(source);
  std::fesetround(saved);
  return result;
}

/// Returns a double that rounds to any narrow format exactly as `value` does.
double toOdd(long double value) {
  double d = narrow<double>(value, Round::Zero);
  if (static_cast<long double>(d) != value)
    d = bitCast<double>(bitCast<uint64_t>(d) | 1);
  return d;
}

uint64_t storeFloat(const Form &form, long double value) {
  if (form.relu && value < 0)
    value = 0;
  if (form.relu && value == 0)
    value = 0.0L;
  switch (form.to) {
  case Type::F16: {
    uint16_t h = encode(toOdd(value), f16Format, form.round, form.satfinite);
    if (form.sat)
      h = encode(std::fmax(0.0, std::fmin(1.0, decode(h, f16Format))),
                 f16Format, Round::Nearest, false);
    return h;
  }
  case Type::BF16: {
    uint16_t h = encode(toOdd(value), bf16Format, form.round, form.satfinite);
    if (form.sat)
      h = encode(std::fmax(0.0, std::fmin(1.0, decode(h, bf16Format))),
                 bf16Format, Round::Nearest, false);
    return h;
  }
  case Type::TF32:
    // 19 bits in the upper end of 32.
    return uint64_t(
               encode(toOdd(value), tf32Format, form.round, form.satfinite))
           << 13;
  case Type::F32: {
    float f = canonical(narrow<float>(value, form.round));
    if (form.ftz)
      f = flush(f);
    if (form.sat)
      f = f > 0 ? (f < 1 ? f : 1.0f) : 0.0f;
    return bitCast<uint32_t>(f);
  }
  default: {
    double d = narrow<double>(value, form.round);
    if (form.sat)
      d = d > 0 ? (d < 1 ? d : 1.0) : 0.0;
    return bitCast<uint64_t>(d);
  }
  }
}

uint64_t convert(const Form &form, uint64_t bits) {
  if (isInteger(form.from)) {
    __int128 value = loadInteger(form.from, bits);
    if (!isInteger(form.to))
      return storeFloat(form, static_cast<long double>(value));
    if (form.sat) {
      __int128 low, high;
      integerRange(form.to, low, high);
      value = std::clamp(value, low, high);
    }
    return storeInteger(form.to, value);
  }
  double value = loadFloat(form, bits);
  if (isInteger(form.to)) {
    if (value != value)
      return 0;
    // Values out of range are clamped, including infinities.
    __int128 low, high;
    integerRange(form.to, low, high);
    double rounded = roundToIntegral(value, form.round);
    __int128 integer = rounded <= double(low)    ? low
                       : rounded >= double(high) ? high
                                                 : __int128(rounded);
    return storeInteger(form.to, integer);
  }
  if (form.integral)
    value = roundToIntegral(value, form.round);
  return storeFloat(form, value);
}

Flow cvt(Exec &x, const Inst &inst) {
  const Form &form = *static_cast<const Form *>(inst.extra);
  const Operand &d = x.operand(inst, 0), &a = x.operand(inst, 1);
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t bits = a.width == 8 ? x.read<uint64_t>(a)[l]
                                 : uint64_t(x.read<uint32_t>(a)[l]);
    uint64_t r = convert(form, bits);
    if (d.width == 8)
      x.write<uint64_t>(d)[l] = r;
    else
      x.write<uint32_t>(d)[l] = uint32_t(r);
  });
  return Flow::Next;
}

// The forms that kernels use most have handlers of their own.
int64_t s64FromS32(int32_t a) { return a; }
uint64_t u64FromU32(uint32_t a) { return a; }
uint32_t u32FromU64(uint64_t a) { return uint32_t(a); }
uint32_t u32FromU16(uint16_t a) { return a; }
uint16_t u16FromU32(uint32_t a) { return uint16_t(a); }
uint32_t u32FromU32(uint32_t a) { return a; }
float f32FromS32(int32_t a) { return float(a); }
float f32FromU32(uint32_t a) { return float(a); }
float f32FromBf16(uint16_t a) { return canonical(fromBf16(a)); }
float f32FromF16(uint16_t a) { return canonical(fromF16(a)); }
uint16_t bf16FromF32(float a) { return toBf16(a); }
uint16_t f16FromF32(float a) { return toF16(a); }
uint32_t bf16x2FromF32(float a, float b) {
  return uint32_t(toBf16(a)) << 16 | toBf16(b);
}
uint32_t f16x2FromF32(float a, float b) {
  return uint32_t(toF16(a)) << 16 | toF16(b);
}

struct Hot {
  Type to, from;
  Handler handler;
};
constexpr Hot hotForms[] = {
    {Type::S64, Type::S32, lanewise<s64FromS32>},
    {Type::U64, Type::S32, lanewise<s64FromS32>},
    {Type::U64, Type::U32, lanewise<u64FromU32>},
    {Type::S64, Type::U32, lanewise<u64FromU32>},
    {Type::U32, Type::U64, lanewise<u32FromU64>},
    {Type::S32, Type::S64, lanewise<u32FromU64>},
    {Type::U32, Type::S64, lanewise<u32FromU64>},
    {Type::S32, Type::U64, lanewise<u32FromU64>},
    {Type::U32, Type::U16, lanewise<u32FromU16>},
    {Type::U16, Type::U32, lanewise<u16FromU32>},
    {Type::U32, Type::U32, lanewise<u32FromU32>},
    {Type::U32, Type::S32, lanewise<u32FromU32>},
    {Type::S32, Type::U32, lanewise<u32FromU32>},
    {Type::F32, Type::S32, lanewise<f32FromS32>},
    {Type::F32, Type::U32, lanewise<f32FromU32>},
    {Type::F32, Type::BF16, lanewise<f32FromBf16>},
    {Type::F32, Type::F16, lanewise<f32FromF16>},
    {Type::BF16, Type::F32, lanewise<bf16FromF32>},
    {Type::F16, Type::F32, lanewise<f16FromF32>},
};

//===----------------------------------------------------------------------===//
// Packed conversions
//===----------------------------------------------------------------------===//

/// One of the packed formats: `count` elements of `bits` bits.
struct Packed {
  llvm::StringLiteral name;
  const Format *format; ///< Null: ue8m0, or s2f6.
  unsigned count, bits;
  bool isFixedPoint = false; ///< s2f6: a signed number of 64ths.
};
constexpr Packed packedTypes[] = {
    {"f16x2", &f16Format, 2, 16},  {"bf16x2", &bf16Format, 2, 16},
    {"e4m3x2", &e4m3Format, 2, 8}, {"e5m2x2", &e5m2Format, 2, 8},
    {"e2m3x2", &e2m3Format, 2, 8}, {"e3m2x2", &e3m2Format, 2, 8},
    {"e2m1x2", &e2m1Format, 2, 4}, {"ue8m0x2", nullptr, 2, 8},
    {"e4m3x4", &e4m3Format, 4, 8}, {"e5m2x4", &e5m2Format, 4, 8},
    {"e2m3x4", &e2m3Format, 4, 8}, {"e3m2x4", &e3m2Format, 4, 8},
    {"e2m1x4", &e2m1Format, 4, 4}, {"s2f6x2", nullptr, 2, 8, true},
};

const Packed *findPacked(llvm::StringRef name) {
  for (const Packed &p : packedTypes)
    if (p.name == name)
      return &p;
  return nullptr;
}

struct PackedForm {
  const Packed *to, *from; ///< from null: f32 sources, one an element.
  Round round;
  bool relu, satfinite;
  bool scaled = false; ///< Each element times a factor of ue8m0.
};

uint32_t encodeUe8m0(double value, Round round, bool satfinite) {
  // An exponent with bias 127; NaN is 255.
  constexpr uint32_t nan = 255, largest = 254;
  if (value != value)
    return nan;
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return 0;
  if (std::isinf(magnitude))
    return satfinite ? largest : nan;
  int exponent = std::ilogb(magnitude);
  if (round == Round::Up && std::ldexp(1.0, exponent) < magnitude)
    ++exponent;
  if (exponent > 127)
    return satfinite ? largest : nan;
  return std::max(exponent + 127, 0);
}

uint32_t encodeElement(double value, const PackedForm &form, uint32_t random,
                       unsigned randomBits) {
  if (!form.to->format)
    return encodeUe8m0(value, form.round, form.satfinite);
  if (form.relu && !(value > 0) && value == value)
    value = 0;
  return encode(value, *form.to->format, form.round, form.satfinite, random,
                randomBits);
}

double decodeUe8m0(uint32_t bits) {
  return bits == 255 ? NAN : std::ldexp(1.0, int(bits) - 127);
}

double decodeElement(uint32_t bits, const Packed &type) {
  if (type.isFixedPoint)
    return int8_t(bits) / 64.0;
  return type.format ? decode(bits, *type.format) : decodeUe8m0(bits);
}

/// Operands: d, then f32 sources from the highest element to the lowest (and
/// the random bits), or one packed source (and its packed factors).
Flow cvtPacked(Exec &x, const Inst &inst) {
  const PackedForm &form = *static_cast<const PackedForm *>(inst.extra);
  unsigned count = form.to->count;
  uint32_t *d = x.write<uint32_t>(inst, 0);
  bool stochastic = form.round == Round::Stochastic;
  const uint32_t *random =
      stochastic ? x.read<uint32_t>(inst, count + 1) : nullptr;
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t result = 0;
    for (unsigned i = 0; i < count; ++i) { // i-th from the top
      unsigned element = count - 1 - i;
      double value;
      if (form.from)
        value = decodeElement(x.read<uint32_t>(inst, 1)[l] >>
                                      element * form.from->bits &
                                  ((1ull << form.from->bits) - 1),
                              *form.from) *
                (form.scaled
                     ? decodeUe8m0(x.read<uint32_t>(inst, 2)[l] >> 8 * element &
                                   0xFF)
                     : 1);
      else
        value = x.read<float>(inst, 1 + i)[l];
      uint32_t bits = 0;
      unsigned width = 0;
      if (stochastic) {
        // Two elements: 16 random bits each; four: 8 each for pairs of them.
        width = count == 2 ? (form.to->format == &f16Format ? 13 : 16) : 8;
        unsigned at = count == 2 ? 16 * element : 8 * element;
        bits = random[l] >> at & ((1u << width) - 1);
      }
      result |= (encodeElement(value, form, bits, width) &
                 ((1ull << form.to->bits) - 1))
                << element * form.to->bits;
    }
    d[l] = result;
  });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// cvt.pack
//===----------------------------------------------------------------------===//

struct PackForm {
  unsigned bits; ///< Of an element: 16, 8, 4, 2.
  bool isSigned, withC;
};

Flow cvtPack(Exec &x, const Inst &inst) {
  const PackForm &form = *static_cast<const PackForm *>(inst.extra);
  uint32_t *d = x.write<uint32_t>(inst, 0);
  const int32_t *a = x.read<int32_t>(inst, 1), *b = x.read<int32_t>(inst, 2);
  const uint32_t *c = form.withC ? x.read<uint32_t>(inst, 3) : nullptr;
  int32_t high = form.isSigned ? (1 << (form.bits - 1)) - 1
                               : int32_t((1u << form.bits) - 1);
  int32_t low = form.isSigned ? -high - 1 : 0;
  uint32_t mask = (1u << form.bits) - 1;
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t ta = uint32_t(std::clamp(a[l], low, high)) & mask;
    uint32_t tb = uint32_t(std::clamp(b[l], low, high)) & mask;
    uint32_t both = ta << form.bits | tb;
    d[l] = c ? both | c[l] << 2 * form.bits : both;
  });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

Type takeScalar(DecodeContext &c) {
  int t = c.takeOneOf({"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64",
                       "f16", "bf16", "tf32", "f32", "f64"});
  return t < 0 ? Type::None : Type(t);
}

bool takeRound(DecodeContext &c, Round &round, bool &integral) {
  static constexpr Round modes[] = {Round::Nearest, Round::Zero, Round::Down,
                                    Round::Up};
  int i = c.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  if (i >= 0) {
    round = modes[i];
    integral = true;
    return true;
  }
  i = c.takeOneOf({"rn", "rz", "rm", "rp", "rna", "rs"});
  if (i < 0)
    return false;
  round = i < 4 ? modes[i] : i == 4 ? Round::NearestAway : Round::Stochastic;
  return true;
}

bool decodeCvtPacked(DecodeContext &c, Round round, bool given) {
  PackedForm form{nullptr, nullptr, round, c.take("relu"), c.take("satfinite")};
  form.scaled = c.take("scaled::n2::ue8m0");
  form.to = findPacked(c.next());
  llvm::StringRef source = c.next();
  form.from = findPacked(source);
  if (!form.to || (!form.from && source != "f32") || !given ||
      !c.peek().empty())
    return c.unsupported();
  if (form.from && (form.from->count != 2 || form.to->count != 2))
    return c.unsupported();
  // Fixed-point numbers come with a scale, and a scale is for bf16.
  bool fixed = form.to->isFixedPoint || (form.from && form.from->isFixedPoint);
  if (form.scaled ? !form.from || form.to->format != &bf16Format ||
                        (!form.from->format && !fixed)
                  : fixed)
    return c.unsupported();
  bool narrow = form.to->bits < 16;
  // The forms in the manual: narrow results saturate, but for ue8m0, which may;
  // results of four elements are stochastic; 16-bit results come from f32 or
  // from narrow formats.
  bool stochastic = round == Round::Stochastic;
  if ((narrow && form.to->format && !form.satfinite) ||
      (form.to->count == 4) != (stochastic && narrow) ||
      (form.from && !narrow && form.from->bits == 16) ||
      (stochastic && form.from))
    return c.unsupported();
  unsigned bytes = std::max(1u, form.to->count * form.to->bits / 8);
  c.inst.handler = cvtPacked;
  if (!narrow && !form.from && round == Round::Nearest && !form.relu &&
      !form.satfinite)
    c.inst.handler = form.to->format == &bf16Format ? lanewise<bf16x2FromF32>
                                                    : lanewise<f16x2FromF32>;
  c.inst.extra = c.program().keepAlive(form);
  if (!c.addOperand(0, bytes, true))
    return false;
  if (form.from)
    return c.numSources() == 2u + form.scaled &&
           c.addOperand(1,
                        std::max(1u, form.from->count * form.from->bits / 8)) &&
           (!form.scaled || c.addOperand(2, 2));
  if (form.to->count == 4) {
    if (c.numSources() != 3 || c.addVector(1, 4, false, true) != 4)
      return c.error("needs {a, b, e, f} and random bits");
    return c.addOperand(2, 4);
  }
  unsigned expected = 3 + stochastic;
  if (c.numSources() != expected)
    return c.error("wrong number of operands");
  return c.addOperand(1, 4, false, true) && c.addOperand(2, 4, false, true) &&
         (!stochastic || c.addOperand(3, 4));
}

bool decodeCvt(DecodeContext &c) {
  Form form;
  bool given = takeRound(c, form.round, form.integral);
  for (const Packed &p : packedTypes)
    if (c.has(p.name))
      return decodeCvtPacked(c, form.round, given);
  form.ftz = c.take("ftz");
  form.sat = c.take("sat");
  form.relu = c.take("relu");
  form.satfinite = c.take("satfinite");
  form.to = takeScalar(c);
  form.from = takeScalar(c);
  if (form.to == Type::None || form.from == Type::None || !c.peek().empty() ||
      form.from == Type::TF32)
    return c.unsupported();
  bool toInt = isInteger(form.to), fromInt = isInteger(form.from);
  if ((form.relu || form.satfinite) && (toInt || fromInt))
    return c.unsupported();
  if (!given) {
    // Exact conversions need no rounding mode; others do.
    if (!toInt && !fromInt) {
      bool exact = form.to == form.from || form.to == Type::F64 ||
                   (form.to == Type::F32 && form.from != Type::F64);
      if (!exact)
        return c.unsupported();
      form.round = Round::Nearest;
    } else if (toInt != fromInt) {
      return c.unsupported();
    }
  }
  if (form.round == Round::Stochastic ||
      (form.round == Round::NearestAway && form.to != Type::TF32 &&
       form.to != Type::F16 && form.to != Type::BF16))
    return c.unsupported();
  bool plain = !form.ftz && !form.sat && !form.relu && !form.satfinite;
  // .ftz changes nothing for sources and results without f32 subnormals.
  c.inst.handler = cvt;
  if (plain && (form.round == Round::Nearest || (toInt && fromInt)))
    for (const Hot &hot : hotForms)
      if (hot.to == form.to && hot.from == form.from)
        c.inst.handler = hot.handler;
  c.inst.extra = c.program().keepAlive(form);
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.resultSigned = toInt && isSigned(form.to);
  return c.addOperand(0, typeBytes[unsigned(form.to)], true) &&
         c.addOperand(1, typeBytes[unsigned(form.from)], false, !fromInt);
}

bool decodeCvtPack(DecodeContext &c) {
  if (!c.take("sat"))
    return c.unsupported();
  int to = c.takeOneOf({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  if (to < 0 || !c.take("s32"))
    return c.unsupported();
  PackForm form{16u >> (to / 2), bool(to & 1), c.take("b32")};
  if (!c.peek().empty() || form.withC != (to >= 2))
    return c.unsupported();
  if (c.numSources() != (form.withC ? 4u : 3u))
    return c.error("wrong number of operands");
  c.inst.handler = cvtPack;
  c.inst.extra = c.program().keepAlive(form);
  for (unsigned i = 0; i < c.numSources(); ++i)
    if (!c.addOperand(i, 4, i == 0))
      return false;
  return true;
}

} // namespace

void fa4::sim::registerConvertOpcodes(OpcodeTable &table) {
  table.add("cvt", decodeCvt);
  table.add("cvt.pack", decodeCvtPack);
}
