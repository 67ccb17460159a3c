//===- MatrixOperand.cpp - descriptors and operands of MMAs --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixOperand.h"
#include "../Machine/Numeric.h"
#include "llvm/ADT/Twine.h"
#include <array>

using namespace fa4::sim;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

void MatrixDescriptor::parseOffsets(uint64_t bits) {
  start = (bits & 0x3FFF) << 4;
  leading = (bits >> 16 & 0x3FFF) << 4;
  stride = (bits >> 32 & 0x3FFF) << 4;
  baseOffset = bits >> 49 & 7;
}

static bool failDescriptor(uint64_t bits, std::string &error,
                           const Twine &message) {
  error =
      ("shared-memory descriptor 0x" + Twine::utohexstr(bits) + ": " + message)
          .str();
  return false;
}

bool MatrixDescriptor::parseWgmma(uint64_t bits, MatrixDescriptor &result,
                                  std::string &error) {
  static constexpr TensorMapSwizzle modes[] = {
      TensorMapSwizzle::None, TensorMapSwizzle::B128, TensorMapSwizzle::B64,
      TensorMapSwizzle::B32};
  result.parseOffsets(bits);
  if (bits >> 46 & 7)
    return failDescriptor(bits, error,
                          "bits 46-48 are not 0 (a descriptor of tcgen05 has "
                          "0b001 there)");
  if (bits >> 52 & 0x3FF)
    return failDescriptor(bits, error, "bits 52-61 are not 0");
  result.swizzle = modes[bits >> 62];
  return true;
}

bool MatrixDescriptor::parse(uint64_t bits, MatrixDescriptor &result,
                             std::string &error) {
  auto fail = [&](const Twine &message) {
    return failDescriptor(bits, error, message);
  };
  result.parseOffsets(bits);
  if ((bits >> 46 & 7) != 1)
    return fail("bits 46-48 are not 0b001");
  result.continues = bits >> 52 & 1;
  if (result.continues && (bits >> 61 != 2 || result.baseOffset))
    return fail("an absolute leading dimension (bit 52) needs 128-byte "
                "swizzling, and no base offset");
  if (bits >> 53 & 0xFF)
    return fail("bits 53-60 are not 0");
  switch (bits >> 61) {
  case 0:
    result.swizzle = TensorMapSwizzle::None;
    return true;
  case 1:
    result.swizzle = TensorMapSwizzle::B128Atom32B;
    return true;
  case 2:
    result.swizzle = TensorMapSwizzle::B128;
    return true;
  case 4:
    result.swizzle = TensorMapSwizzle::B64;
    return true;
  case 6:
    result.swizzle = TensorMapSwizzle::B32;
    return true;
  default:
    return fail("swizzle mode " + Twine(bits >> 61) + " is reserved");
  }
}

uint32_t MatrixDescriptor::span() const {
  switch (swizzle) {
  case TensorMapSwizzle::None:
    return 16;
  case TensorMapSwizzle::B32:
    return 32;
  case TensorMapSwizzle::B64:
    return 64;
  default:
    return 128;
  }
}

uint32_t MatrixDescriptor::swizzled(uint32_t address) const {
  // The pattern starts at baseOffset rows of 128 bytes behind its alignment.
  uint32_t phase = address - baseOffset * 128;
  return address ^ (swizzleAddress(swizzle, phase) ^ phase);
}

uint32_t MatrixDescriptor::chunkKMajor(uint32_t mn, uint32_t k) const {
  if (swizzle == TensorMapSwizzle::None)
    return start + mn / 8 * stride + mn % 8 * 16 + k * leading;
  uint32_t row = mn / 8 * stride + mn % 8 * span();
  uint32_t inRow = start % span() + k * 16;
  if (continues && inRow >= span())
    return swizzled(leading + row + inRow - span());
  return swizzled(start + row + k * 16);
}

uint32_t MatrixDescriptor::chunkMnMajor(uint32_t mn, uint32_t k) const {
  if (swizzle == TensorMapSwizzle::None)
    return start + mn * stride + k / 8 * leading + k % 8 * 16;
  uint32_t perBlock = span() / 16;
  // The pattern of 32-byte atoms repeats after four rows.
  uint32_t group = swizzle == TensorMapSwizzle::B128Atom32B ? 4 : 8;
  return swizzled(start + mn / perBlock * leading + mn % perBlock * 16 +
                  k / group * stride + k % group * span());
}

static bool parseType(MmaKind kind, uint32_t code, MmaType &type) {
  switch (kind) {
  case MmaKind::F16:
    type = code == 0 ? MmaType::F16 : MmaType::BF16;
    return code <= 1;
  case MmaKind::TF32:
    type = MmaType::TF32;
    return code == 2;
  case MmaKind::F8F6F4:
  case MmaKind::MxF8F6F4: {
    static constexpr MmaType types[] = {MmaType::E4M3, MmaType::E5M2,
                                        MmaType::E4M3, MmaType::E2M3,
                                        MmaType::E3M2, MmaType::E2M1};
    if (code > 5 || code == 2)
      return false;
    type = types[code];
    return true;
  }
  case MmaKind::I8:
    type = code == 0 ? MmaType::U8 : MmaType::S8;
    return code <= 1;
  case MmaKind::MxF4:
  case MmaKind::MxF4NvF4:
    type = MmaType::E2M1Pairs;
    return code == 1;
  }
  return false;
}

/// Kinds whose elements are two a byte. Bit 12 of their descriptors is reserved
/// and set by CuTe-DSL, which writes the other kinds' code for B.
static bool packsPairs(MmaKind kind) {
  return kind == MmaKind::MxF4 || kind == MmaKind::MxF4NvF4;
}

/// The bits of a descriptor that only kinds that scale blocks have.
static const char *parseScales(uint32_t bits, MmaShape &shape) {
  bool pairs = packsPairs(shape.kind);
  shape.scaleIdA = bits >> 29 & 3;
  shape.scaleIdB = bits >> 4 & 3;
  shape.scaleType = bits >> 23 & 1 ? ScaleType::UE8M0 : ScaleType::UE4M3;
  if (shape.scaleType == ScaleType::UE4M3 && shape.kind != MmaKind::MxF4NvF4)
    return "scale factors of type ue4m3 are for kind::mxf4nvf4";
  if (bits >> 31 && !pairs)
    return "reserved bits are set";
  shape.k = !pairs ? 32 : bits >> 31 ? 96 : 64;
  shape.chunks = shape.k == 96 ? 3 : 2;
  shape.m = (bits >> 27 & 3) * 128;
  if (pairs && (shape.mnMajorA || shape.mnMajorB))
    return "4-bit elements must be K-major";
  if (bits & 3 || bits >> 3 & 1 || bits >> 6 & 1 || bits >> 24 & 7)
    return "reserved bits are set";
  return nullptr;
}

/// The bits of a descriptor that only kinds without scales have.
static const char *parseUnscaled(uint32_t bits, MmaShape &shape) {
  shape.m = (bits >> 24 & 0x1F) * 16;
  shape.k = shape.kind == MmaKind::F16    ? 16
            : shape.kind == MmaKind::TF32 ? 8
                                          : 32;
  if (bits >> 30 || (bits >> 23 & 1) || (bits >> 29 & 1) || (bits >> 6 & 1))
    return "reserved bits are set";
  return nullptr;
}

/// The types of D, A and B. Returns what is wrong; empty if nothing is.
static std::string parseTypes(uint32_t bits, MmaShape &shape) {
  MmaKind kind = shape.kind;
  if (!shape.scalesBlocks()) {
    uint32_t d = bits >> 4 & 3;
    uint32_t wanted = kind == MmaKind::I8 ? 2 : 1;
    shape.f16Accumulator = d == 0;
    if (d != wanted &&
        !(d == 0 && (kind == MmaKind::F16 || kind == MmaKind::F8F6F4)))
      return ("D format " + Twine(d) + " does not go with the kind").str();
    shape.saturate = bits >> 3 & 1;
    if (shape.saturate && kind != MmaKind::I8)
      return "saturate is for kind::i8";
  }
  if (!parseType(kind, bits >> 7 & 7, shape.a) ||
      !parseType(kind, bits >> 10 & (packsPairs(kind) ? 3 : 7), shape.b))
    return "A or B format does not go with the kind";
  shape.negateA = bits >> 13 & 1;
  shape.negateB = bits >> 14 & 1;
  if ((shape.negateA || shape.negateB) && kind == MmaKind::I8)
    return "kind::i8 has no negation";
  return "";
}

/// Returns what is wrong with the sizes; empty if nothing is.
static std::string checkSizes(const MmaShape &shape, unsigned ctaGroup) {
  bool legalM = ctaGroup == 1
                    ? shape.m == 128 || (shape.m == 64 && !shape.scalesBlocks())
                    : (shape.m == 128 && shape.k != 96) || shape.m == 256;
  if (!legalM)
    return ("M = " + Twine(shape.m) +
            " is not legal with cta_group::" + Twine(ctaGroup))
        .str();
  // PTX ISA, tables of shapes by kind, and of N with a transposed B of 8 bits.
  bool transposesBytes = shape.mnMajorB && shape.kind != MmaKind::F16 &&
                         shape.kind != MmaKind::TF32;
  uint32_t step = ctaGroup == 1 ? 8 : 16;
  if (transposesBytes ||
      (shape.kind == MmaKind::I8 && (ctaGroup == 2 || shape.n > 32)))
    step *= 2;
  if (shape.n < step || shape.n > 256 || shape.n % step)
    return ("N = " + Twine(shape.n) + " is not a multiple of " + Twine(step) +
            " in " + Twine(step) + "..256")
        .str();
  return "";
}

bool MmaShape::parse(MmaKind kind, uint32_t bits, unsigned ctaGroup,
                     MmaShape &result, std::string &error) {
  auto fail = [&](const Twine &message) {
    error =
        ("instruction descriptor 0x" + Twine::utohexstr(bits) + ": " + message)
            .str();
    return false;
  };
  result.kind = kind;
  if (bits & 7)
    return fail("sparse matrices are not supported");
  if (std::string wrong = parseTypes(bits, result); !wrong.empty())
    return fail(wrong);
  result.mnMajorA = bits >> 15 & 1;
  result.mnMajorB = bits >> 16 & 1;
  result.n = (bits >> 17 & 0x3F) * 8;
  if (const char *wrong = result.scalesBlocks() ? parseScales(bits, result)
                                                : parseUnscaled(bits, result))
    return fail(wrong);
  auto subByte = [](MmaType t) {
    return t == MmaType::E2M3 || t == MmaType::E3M2 || t == MmaType::E2M1;
  };
  if ((result.mnMajorA && subByte(result.a)) ||
      (result.mnMajorB && subByte(result.b)))
    return fail("6- and 4-bit elements must be K-major");
  std::string wrong = checkSizes(result, ctaGroup);
  return wrong.empty() || fail(wrong);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// All 256 values of an 8-bit (or narrower) format.
static const std::array<float, 256> &byteTable(MmaType type) {
  auto make = [](const Format &format) {
    std::array<float, 256> table;
    unsigned width = 1 + format.exponentBits + format.mantissaBits;
    for (unsigned i = 0; i < 256; ++i)
      table[i] = float(decode(i & ((1u << width) - 1), format));
    return table;
  };
  static const std::array<float, 256> e4m3 = make(e4m3Format);
  static const std::array<float, 256> e5m2 = make(e5m2Format);
  static const std::array<float, 256> e2m3 = make(e2m3Format);
  static const std::array<float, 256> e3m2 = make(e3m2Format);
  static const std::array<float, 256> e2m1 = make(e2m1Format);
  switch (type) {
  case MmaType::E5M2:
    return e5m2;
  case MmaType::E2M3:
    return e2m3;
  case MmaType::E3M2:
    return e3m2;
  case MmaType::E2M1:
    return e2m1;
  default:
    return e4m3;
  }
}

void fa4::sim::unpackChunk(const uint8_t *chunk, MmaType type, bool packed,
                           float *out) {
  auto halves = reinterpret_cast<const uint16_t *>(chunk);
  switch (type) {
  case MmaType::F16:
    for (unsigned i = 0; i < 8; ++i)
      out[i] = fromF16(halves[i]);
    return;
  case MmaType::BF16:
    for (unsigned i = 0; i < 8; ++i)
      out[i] = fromBf16(halves[i]);
    return;
  case MmaType::TF32:
    for (unsigned i = 0; i < 4; ++i)
      out[i] = bitCast<float>(reinterpret_cast<const uint32_t *>(chunk)[i] &
                              0xFFFFE000u);
    return;
  case MmaType::U8:
    for (unsigned i = 0; i < 16; ++i)
      out[i] = chunk[i];
    return;
  case MmaType::S8:
    for (unsigned i = 0; i < 16; ++i)
      out[i] = int8_t(chunk[i]);
    return;
  case MmaType::B1:
    for (unsigned i = 0; i < 128; ++i)
      out[i] = chunk[i / 8] >> i % 8 & 1;
    return;
  case MmaType::E2M1Pairs: {
    const auto &table = byteTable(MmaType::E2M1);
    for (unsigned i = 0; i < 32; ++i)
      out[i] = table[chunk[i / 2] >> (i % 2 * 4) & 0xF];
    return;
  }
  default:
    break;
  }
  const auto &table = byteTable(type);
  if (packed && type == MmaType::E2M1) {
    for (unsigned i = 0; i < 16; ++i)
      out[i] = table[chunk[i / 2] >> (i % 2 * 4) & 0xF];
    return;
  }
  if (packed && (type == MmaType::E2M3 || type == MmaType::E3M2)) {
    for (unsigned i = 0; i < 16; ++i) {
      unsigned bit = i * 6;
      unsigned two = chunk[bit / 8] | chunk[bit / 8 + 1] << 8;
      out[i] = table[two >> bit % 8 & 0x3F];
    }
    return;
  }
  // In tensor memory 4-bit elements stand in bits 2-5 of their byte.
  bool shifted = type == MmaType::E2M1;
  for (unsigned i = 0; i < 16; ++i)
    out[i] = table[shifted ? chunk[i] >> 2 & 0xF : chunk[i]];
}

/// A chunk of shared memory; what is outside reads as zeros (it was reported
/// when the instruction was issued).
static const uint8_t *chunkAt(const uint8_t *shared, uint32_t end,
                              uint32_t offset) {
  static const uint8_t zeros[16] = {};
  return offset + 16 > end ? zeros : shared + offset;
}

void fa4::sim::unpackShared(const uint8_t *shared, uint32_t end,
                            const MatrixDescriptor &descriptor,
                            const OperandRange &range, MmaType type,
                            bool transposed, unsigned stride, float *out) {
  unsigned t = range.elementsPerChunk();
  // The chunk's elements are neighbours along K (or along M or N), and so are
  // their places, or `stride` floats apart.
  bool scattered = range.mnMajor != transposed;
  unsigned mnStride = transposed ? 1 : stride,
           kStride = transposed ? stride : 1;
  forEachChunk(descriptor, range, [&](unsigned mn, unsigned k, uint32_t at) {
    const uint8_t *chunk = chunkAt(shared, end, at);
    float *to = out + mn * mnStride + k * kStride;
    // The last chunk along M or N may reach beyond the operand.
    bool whole = !range.mnMajor || mn + t <= range.rows;
    if (whole && !scattered)
      return unpackChunk(chunk, type, true, to);
    float values[maxChunkElements];
    unpackChunk(chunk, type, true, values);
    unsigned count = whole ? t : range.rows - mn, step = scattered ? stride : 1;
    for (unsigned i = 0; i < count; ++i)
      to[i * step] = values[i];
  });
}

AsyncWork fa4::sim::productWork(AsyncWork::Kind kind, const MmaShape &shape,
                                bool sharedA) {
  // An instruction takes 32 bytes of each row of A, or 48, whatever the type.
  const unsigned rowBits = 128 * shape.chunks;
  AsyncWork result;
  result.kind = kind;
  result.m = shape.m;
  result.n = shape.n;
  result.k = shape.k;
  result.elementBits = rowBits / shape.k;
  result.sharedA = sharedA;
  return result;
}
