//===- LayoutTest.cpp - layouts against independent index formulas -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../../lib/Simulator/Async/MatrixOperand.h"
#include "../../../../lib/Simulator/Async/Reduce.h"
#include "../../../../lib/Simulator/Async/Tcgen05.h"
#include "../../../../lib/Simulator/Async/TensorBox.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <map>
#include <random>
#include <set>

using namespace fa4::sim;
using testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Swizzle
//===----------------------------------------------------------------------===//

/// The manual's tables, in lines of 128 bytes: chunk c of line l stands in
/// place c ^ x(l), where x depends on the mode. Atoms larger than 16 bytes
/// move as a whole.
static uint32_t tableSwizzle(uint32_t span, uint32_t atom, uint32_t address) {
  uint32_t line = address / 128, chunk = address % 128 / 16;
  static const uint32_t narrow[8] = {0, 1, 0, 1, 0, 1, 0, 1};  // 32B
  static const uint32_t middle[8] = {0, 1, 2, 3, 0, 1, 2, 3};  // 64B
  static const uint32_t wide[8] = {0, 1, 2, 3, 4, 5, 6, 7};    // 128B
  static const uint32_t atoms32[8] = {0, 2, 4, 6, 0, 2, 4, 6}; // 32-byte atoms
  static const uint32_t atoms64[8] = {0, 4, 0, 4, 0, 4, 0, 4}; // 64-byte atoms
  const uint32_t *x = span == 32   ? narrow
                      : span == 64 ? middle
                      : atom == 16 ? wide
                      : atom == 32 ? atoms32
                                   : atoms64;
  return line * 128 + (chunk ^ x[line % 8]) * 16 + address % 16;
}

TEST(Swizzle, MatchesTables) {
  struct Case {
    TensorMapSwizzle swizzle;
    uint32_t span, atom;
  } cases[] = {{TensorMapSwizzle::B32, 32, 16},
               {TensorMapSwizzle::B64, 64, 16},
               {TensorMapSwizzle::B128, 128, 16},
               {TensorMapSwizzle::B128Atom32B, 128, 32},
               {TensorMapSwizzle::B128Atom64B, 128, 64}};
  for (const Case &c : cases)
    for (uint32_t a = 0; a < 4096; ++a)
      ASSERT_EQ(swizzleAddress(c.swizzle, a), tableSwizzle(c.span, c.atom, a))
          << "span " << c.span << " atom " << c.atom << " address " << a;
}

TEST(Swizzle, IsItsOwnInverse) {
  for (unsigned s = 0; s <= 6; ++s)
    for (uint32_t a = 0; a < 4096; ++a) {
      auto swizzle = TensorMapSwizzle(s);
      ASSERT_EQ(swizzleAddress(swizzle, swizzleAddress(swizzle, a)), a);
      ASSERT_EQ(swizzleAddress(swizzle, a) / 128, a / 128);
    }
}

//===----------------------------------------------------------------------===//
// Matrix descriptors
//===----------------------------------------------------------------------===//

static uint64_t descriptorBits(uint32_t start, uint32_t leading,
                               uint32_t stride, unsigned mode,
                               unsigned base = 0) {
  return uint64_t(start >> 4) | uint64_t(leading >> 4) << 16 |
         uint64_t(stride >> 4) << 32 | 1ull << 46 | uint64_t(base) << 49 |
         uint64_t(mode) << 61;
}

static MatrixDescriptor parsed(uint64_t bits) {
  MatrixDescriptor d;
  std::string error;
  EXPECT_TRUE(MatrixDescriptor::parse(bits, d, error)) << error;
  return d;
}

TEST(MatrixDescriptor, RejectsReservedBits) {
  MatrixDescriptor d;
  std::string error;
  uint64_t good = descriptorBits(1024, 16, 1024, 2);
  EXPECT_TRUE(MatrixDescriptor::parse(good, d, error));
  EXPECT_FALSE(MatrixDescriptor::parse(good & ~(7ull << 46), d, error));
  EXPECT_NE(error.find("bits 46-48"), std::string::npos);
  EXPECT_FALSE(MatrixDescriptor::parse(
      descriptorBits(1024, 16, 1024, 4) | 1ull << 52, d, error));
  EXPECT_NE(error.find("128-byte swizzling"), std::string::npos);
  EXPECT_FALSE(MatrixDescriptor::parse(good | 1ull << 55, d, error));
  for (unsigned mode : {3, 5, 7})
    EXPECT_FALSE(MatrixDescriptor::parse(descriptorBits(1024, 16, 1024, mode),
                                         d, error));
}

/// 48 bytes of a row whose last 16 are in another buffer (sm_103a).
TEST(MatrixDescriptor, GoesOnAtAnAddress) {
  // 96 bytes into rows of 128 at 2048; the next buffer is at 32768.
  MatrixDescriptor d =
      parsed(descriptorBits(2048 + 96, 32768, 1024, 2) | 1ull << 52);
  for (unsigned row : {0, 3, 8}) {
    uint32_t at = row / 8 * 1024 + row % 8 * 128, line = row % 8 * 16;
    EXPECT_EQ(d.chunkKMajor(row, 0), 2048 + at + (96 ^ line)) << row;
    EXPECT_EQ(d.chunkKMajor(row, 1), 2048 + at + (112 ^ line)) << row;
    EXPECT_EQ(d.chunkKMajor(row, 2), 32768 + at + line) << row;
  }
}

/// K-major in the terms of CUTLASS: Sw<B,4,3> o ((8,m),(T,2)):((2^B T, SBO),
/// (1, T)) in elements, T = 8 of 16 bits.
TEST(MatrixDescriptor, KMajorSwizzled) {
  struct Mode {
    unsigned code, bits;
  } modes[] = {{6, 1}, {4, 2}, {2, 3}};
  for (const Mode &mode : modes) {
    uint32_t sbo = 8 * (16u << mode.bits);
    MatrixDescriptor d = parsed(descriptorBits(4096, 16, sbo, mode.code));
    for (uint32_t mn = 0; mn < 128; ++mn)
      for (uint32_t k = 0; k < 16; k += 8) {
        uint32_t element = mn % 8 * (8u << mode.bits) + mn / 8 * (sbo / 2) + k;
        uint32_t byte = 4096 + element * 2;
        uint32_t expected = byte ^ ((byte >> 7 & ((1u << mode.bits) - 1)) << 4);
        ASSERT_EQ(d.chunkKMajor(mn, k / 8), expected) << mode.code;
      }
  }
}

TEST(MatrixDescriptor, KMajorPlain) {
  // Core matrices of 8 rows by 16 bytes: columns 2048 apart, rows 128.
  MatrixDescriptor d = parsed(descriptorBits(1024, 2048, 128, 0));
  EXPECT_EQ(d.chunkKMajor(0, 0), 1024u);
  EXPECT_EQ(d.chunkKMajor(3, 0), 1024u + 48);
  EXPECT_EQ(d.chunkKMajor(8, 0), 1024u + 128);
  EXPECT_EQ(d.chunkKMajor(17, 1), 1024u + 2 * 128 + 16 + 2048);
}

/// MN-major: Sw<B,4,3> o ((T,2^B,m),(8,k)):((1,T,LBO),(2^B T,SBO)).
TEST(MatrixDescriptor, MnMajor) {
  struct Mode {
    unsigned code, bits;
  } modes[] = {{6, 1}, {4, 2}, {2, 3}};
  for (const Mode &mode : modes) {
    uint32_t row = 16u << mode.bits, lbo = 8192, sbo = 8 * row;
    MatrixDescriptor d = parsed(descriptorBits(4096, lbo, sbo, mode.code));
    for (uint32_t mn = 0; mn < 128; mn += 8)
      for (uint32_t k = 0; k < 16; ++k) {
        uint32_t chunk = mn / 8, per = 1u << mode.bits;
        uint32_t byte = 4096 + chunk % per * 16 + chunk / per * lbo +
                        k % 8 * row + k / 8 * sbo;
        uint32_t expected = byte ^ ((byte >> 7 & (per - 1)) << 4);
        ASSERT_EQ(d.chunkMnMajor(chunk, k), expected) << mode.code;
      }
  }
  MatrixDescriptor plain = parsed(descriptorBits(1024, 256, 4096, 0));
  EXPECT_EQ(plain.chunkMnMajor(2, 11), 1024u + 2 * 4096 + 256 + 3 * 16);
}

TEST(MatrixDescriptor, BaseOffset) {
  // A pattern that starts three rows behind its alignment: row 0 is unmoved.
  MatrixDescriptor d = parsed(descriptorBits(1024 + 3 * 128, 16, 1024, 2, 3));
  EXPECT_EQ(d.chunkKMajor(0, 1), 1024u + 3 * 128 + 16);
  EXPECT_EQ(d.chunkKMajor(1, 0), 1024u + 4 * 128 + 16);
}

TEST(MmaShape, Fields) {
  MmaShape s;
  std::string error;
  ASSERT_TRUE(MmaShape::parse(MmaKind::F16, 0x08200490, 1, s, error)) << error;
  EXPECT_EQ(s.m, 128u);
  EXPECT_EQ(s.n, 128u);
  EXPECT_EQ(s.k, 16u);
  EXPECT_EQ(s.a, MmaType::BF16);
  EXPECT_FALSE(s.mnMajorB);
  ASSERT_TRUE(MmaShape::parse(MmaKind::F16, 0x10400490 | 1 << 16, 2, s, error));
  EXPECT_EQ(s.m, 256u);
  EXPECT_EQ(s.n, 256u);
  EXPECT_TRUE(s.mnMajorB);
  EXPECT_FALSE(MmaShape::parse(MmaKind::F16, 0x10400490, 1, s, error));
  EXPECT_NE(error.find("M = 256"), std::string::npos);
  EXPECT_FALSE(MmaShape::parse(MmaKind::TF32, 0x08200490, 1, s, error));
  EXPECT_FALSE(MmaShape::parse(MmaKind::F16, 0x08200494, 1, s, error));
  EXPECT_FALSE(MmaShape::parse(MmaKind::F16, 0x08000490, 1, s, error));
}

/// PTX ISA, the tables of shapes by kind and of N with a transposed B of 8
/// bits.
TEST(MmaShape, StepsOfN) {
  auto isLegal = [](MmaKind kind, uint32_t bits, unsigned group, unsigned n) {
    MmaShape s;
    std::string error;
    return MmaShape::parse(kind, bits | (n / 8) << 17, group, s, error);
  };
  const uint32_t m128 = 8 << 24, m256 = 16 << 24, transposedB = 1 << 16;
  const uint32_t f32 = 1 << 4, s32 = 2 << 4;
  for (unsigned n = 8; n <= 256; n += 8) {
    EXPECT_EQ(isLegal(MmaKind::F8F6F4, m128 | f32, 1, n), true) << n;
    EXPECT_EQ(isLegal(MmaKind::F8F6F4, m256 | f32, 2, n), n % 16 == 0) << n;
    EXPECT_EQ(isLegal(MmaKind::F8F6F4, m128 | f32 | transposedB, 1, n),
              n % 16 == 0)
        << n;
    EXPECT_EQ(isLegal(MmaKind::F8F6F4, m256 | f32 | transposedB, 2, n),
              n % 32 == 0)
        << n;
    EXPECT_EQ(isLegal(MmaKind::F16, m256 | f32 | transposedB, 2, n),
              n % 16 == 0)
        << n;
    EXPECT_EQ(isLegal(MmaKind::I8, m128 | s32, 1, n), n <= 32 || n % 16 == 0)
        << n;
    EXPECT_EQ(isLegal(MmaKind::I8, m256 | s32, 2, n), n % 32 == 0) << n;
  }
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

TEST(TensorCell, CoversItsRectangleOnce) {
  struct Case {
    TensorShape shape;
    unsigned rows, columnsPerRepeat;
  } cases[] = {{TensorShape::S32x32b, 32, 1},
               {TensorShape::S16x64b, 16, 2},
               {TensorShape::S16x128b, 16, 4},
               {TensorShape::S16x256b, 16, 8}};
  for (const Case &c : cases)
    for (unsigned repeat : {1, 2, 8, 32}) {
      unsigned registers = tensorRegisters(c.shape, repeat);
      std::set<std::pair<uint32_t, uint32_t>> seen;
      for (unsigned t = 0; t < 32; ++t)
        for (unsigned r = 0; r < registers; ++r) {
          TensorCell cell = tensorCell(c.shape, t, r, 0);
          EXPECT_LT(cell.row, c.rows);
          EXPECT_LT(cell.column, c.columnsPerRepeat * repeat);
          EXPECT_TRUE(seen.insert({cell.row, cell.column}).second);
        }
      EXPECT_EQ(seen.size(), c.rows * c.columnsPerRepeat * repeat);
    }
}

/// The fragments that the manual draws: a few cells of each figure.
TEST(TensorCell, MatchesFigures) {
  auto at = [](TensorShape s, unsigned t, unsigned r, unsigned split = 0) {
    TensorCell c = tensorCell(s, t, r, split);
    return std::make_pair(c.row, c.column);
  };
  using P = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(at(TensorShape::S32x32b, 7, 3), P(7, 3));
  // 16x64b: t0 row 0, t1 row 8, t2 and t3 one column on; t4 row 1.
  EXPECT_EQ(at(TensorShape::S16x64b, 1, 0), P(8, 0));
  EXPECT_EQ(at(TensorShape::S16x64b, 2, 0), P(0, 1));
  EXPECT_EQ(at(TensorShape::S16x64b, 4, 1), P(1, 2));
  // 16x128b: rows t/4, second register eight rows down.
  EXPECT_EQ(at(TensorShape::S16x128b, 5, 0), P(1, 1));
  EXPECT_EQ(at(TensorShape::S16x128b, 5, 1), P(9, 1));
  EXPECT_EQ(at(TensorShape::S16x128b, 5, 2), P(1, 5));
  // 16x256b: the accumulator fragment of mma.sync m16n8.
  EXPECT_EQ(at(TensorShape::S16x256b, 6, 1), P(1, 5));
  EXPECT_EQ(at(TensorShape::S16x256b, 6, 2), P(9, 4));
  EXPECT_EQ(at(TensorShape::S16x256b, 6, 4), P(1, 12));
  // 16x32bx2: the upper half-warp reads behind the split.
  EXPECT_EQ(at(TensorShape::S16x32bx2, 3, 2, 64), P(3, 2));
  EXPECT_EQ(at(TensorShape::S16x32bx2, 19, 2, 64), P(3, 66));
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

TEST(MultiplyTile, MatchesLoops) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> small(-8, 8);
  for (unsigned n : {8u, 24u, 40u, 128u, 256u})
    for (unsigned rows : {1u, 5u, 64u})
      for (unsigned k : {8u, 16u, 32u})
        for (bool accumulate : {false, true}) {
          std::vector<float> a(rows * k), b(k * 256), d(rows * n), expected;
          for (auto *v : {&a, &b, &d})
            for (float &x : *v)
              x = small(random);
          expected = d;
          for (unsigned i = 0; i < rows; ++i)
            for (unsigned j = 0; j < n; ++j) {
              float sum = accumulate ? 0.5f * d[i * n + j] : 0;
              for (unsigned l = 0; l < k; ++l)
                sum += a[i * k + l] * b[l * 256 + j];
              expected[i * n + j] = sum;
            }
          std::vector<float *> dRows;
          std::vector<const float *> aRows;
          for (unsigned i = 0; i < rows; ++i) {
            dRows.push_back(&d[i * n]);
            aRows.push_back(&a[i * k]);
          }
          multiplyTile(dRows.data(), aRows.data(), b.data(), 256, rows, n, k,
                       accumulate, 0.5f);
          ASSERT_EQ(d, expected) << n << " " << rows << " " << k;
        }
}

TEST(UnpackChunk, Formats) {
  uint8_t chunk[16] = {};
  float out[16];
  uint16_t bf[8] = {0x3F80, 0xC000};
  unpackChunk(reinterpret_cast<uint8_t *>(bf), MmaType::BF16, true, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
  chunk[0] = 0x38; // e4m3: 1.0
  chunk[1] = 0x7E; // 448
  unpackChunk(chunk, MmaType::E4M3, true, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 448.0f);
  chunk[0] = 0x21; // e2m1, packed: elements 1 and 2
  unpackChunk(chunk, MmaType::E2M1, true, out);
  EXPECT_EQ(out[0], 0.5f);
  EXPECT_EQ(out[1], 1.0f);
  uint32_t tf[4] = {0x3F801FFF};
  unpackChunk(reinterpret_cast<uint8_t *>(tf), MmaType::TF32, true, out);
  EXPECT_EQ(out[0], 1.0f);
}

//===----------------------------------------------------------------------===//
// Tensor maps in memory
//===----------------------------------------------------------------------===//

/// The first 64 bytes of a map, from 32-bit words.
static std::vector<uint8_t> mapOf(const std::vector<uint32_t> &words) {
  std::vector<uint8_t> bytes(TensorMap::objectBytes);
  std::memcpy(bytes.data(), words.data(), 4 * words.size());
  return bytes;
}

// Words that cuTensorMapEncodeTiled of driver 13.0 wrote on an H100 for a bf16
// tensor of 64 x 32 x 16 x 8 x 4 with strides 128, 4096, 65536 and 524288 at
// 0x700000000000, box 8 x 2 x 2 x 2 x 2; then one argument at a time changed.
static const std::vector<uint32_t> driverMap = {
    0,  0x7000, 0x540, 8, 0x100, 0x1000,     0x8000,     0,
    63, 31,     15,    7, 3,     0x07000000, 0x01010101, 0};

static TensorMap decoded(size_t word, uint32_t value) {
  std::vector<uint32_t> words = driverMap;
  words[word] = value;
  return llvm::cantFail(TensorMap::decode(mapOf(words).data()));
}

TEST(TensorMapLayout, OfTheDriver) {
  TensorMap map = decoded(0, 0);
  EXPECT_EQ(llvm::toString(map.verify()), "");
  EXPECT_EQ(map.rank, 5);
  EXPECT_EQ(map.address, 0x700000000000u);
  EXPECT_EQ(map.type, TensorMapType::BF16);
  EXPECT_EQ(map.swizzle, TensorMapSwizzle::None);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(map.dims[i], 64u >> i);
    EXPECT_EQ(map.box[i], i ? 2 : 8);
    EXPECT_EQ(map.elementStrides[i], 1);
  }
  EXPECT_EQ(map.byteStrides[0], 128u);
  EXPECT_EQ(map.byteStrides[3], 524288u);
  EXPECT_EQ(decoded(2, 0x6540).swizzle, TensorMapSwizzle::B128);
  EXPECT_EQ(decoded(2, 0x3540).swizzle, TensorMapSwizzle::B32);
  EXPECT_EQ(decoded(2, 0x3540).interleave, 2);
  EXPECT_EQ(decoded(2, 0x8540).fillNan, 1);
  EXPECT_EQ(decoded(2, 0x3C0).type, TensorMapType::F32);
  EXPECT_EQ(decoded(2, 0x440).type, TensorMapType::F32Ftz);
  EXPECT_EQ(decoded(2, 0x4C0).type, TensorMapType::F64);
  EXPECT_EQ(decoded(2, 0x103C0).type, TensorMapType::TF32);
  EXPECT_EQ(decoded(2, 0x10440).type, TensorMapType::TF32Ftz);
  EXPECT_EQ(decoded(2, 0x60540).type, TensorMapType::BF16); // L2 promotion
  EXPECT_EQ(decoded(8, 0xFFFFFFFF).dims[0], uint64_t(1) << 32);
  EXPECT_EQ(decoded(13, 0x07000E00).elementStrides[3], 8);
  EXPECT_EQ(decoded(13, 0x7F000000).box[0], 128);
  EXPECT_EQ(decoded(14, 0xFF000000).box[4], 256);
  EXPECT_EQ(decoded(7, 0x0F00).byteStrides[2], 0xF000010000u);
  // As CuTe-DSL 4.8 makes them for sm_100: mode 2, L2 promotion, bit 21.
  TensorMap dsl = decoded(2, 0x246312);
  EXPECT_EQ(dsl.rank, 2);
  EXPECT_EQ(dsl.type, TensorMapType::F16);
  EXPECT_EQ(dsl.swizzle, TensorMapSwizzle::B128);
  // As it makes them of elements of less than a byte.
  EXPECT_EQ(decoded(2, 0x465A2).type, TensorMapType::B4x16);
  EXPECT_EQ(decoded(2, 0x46622).type, TensorMapType::B4x16P64);
  EXPECT_EQ(decoded(2, 0x466A2).type, TensorMapType::B6x16P32);
  // ptxas's tensormap.replace for sm_100a: bits 19 to 21.
  EXPECT_EQ(decoded(2, 0x86540).swizzle, TensorMapSwizzle::B128Atom32B);
}

TEST(TensorMapLayout, EncodesWhatItDecodes) {
  for (unsigned type = 0; type <= unsigned(TensorMapType::B6x16P32); ++type)
    for (unsigned swizzle = 0;
         swizzle <= unsigned(TensorMapSwizzle::B128Atom64B); ++swizzle) {
      TensorMap map = decoded(0, 0x100);
      map.type = TensorMapType(type);
      map.swizzle = TensorMapSwizzle(swizzle);
      map.dims[1] = uint64_t(1) << 32;
      map.byteStrides[1] = 0xFFFFFFFFF0;
      map.elementStrides[4] = 8;
      map.box[0] = map.box[3] = 256;
      auto bytes = map.encode();
      TensorMap again = llvm::cantFail(TensorMap::decode(bytes.data()));
      EXPECT_EQ(again.type, map.type);
      EXPECT_EQ(again.swizzle, map.swizzle);
      EXPECT_EQ(again.encode(), bytes);
      EXPECT_EQ(again.dims[1], map.dims[1]);
      EXPECT_EQ(again.byteStrides[1], map.byteStrides[1]);
      EXPECT_EQ(again.elementStrides[4], 8);
      EXPECT_EQ(again.box[3], 256);
    }
}

TEST(TensorMapLayout, WhatIsNone) {
  auto error = [](size_t word, uint32_t value) {
    std::vector<uint32_t> words = driverMap;
    words[word] = value;
    auto map = TensorMap::decode(mapOf(words).data());
    return map ? std::string() : llvm::toString(map.takeError());
  };
  EXPECT_THAT(error(2, 0x541), HasSubstr("im2col"));
  EXPECT_THAT(error(2, 0x545), HasSubstr("mode is 5"));
  EXPECT_THAT(error(2, 0x740), HasSubstr("element type"));
  EXPECT_THAT(error(15, 1), HasSubstr("no tiled map"));
  EXPECT_THAT(error(2, 0x400540), HasSubstr("swizzle"));
  std::vector<uint8_t> zeros(TensorMap::objectBytes);
  EXPECT_THAT(llvm::toString(TensorMap::decode(zeros.data()).takeError()),
              HasSubstr("all zero"));
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

static TensorMap tensorMap3d(TensorMapSwizzle swizzle) {
  TensorMap map;
  map.rank = 3;
  map.type = TensorMapType::U16;
  map.swizzle = swizzle;
  map.address = 4096;
  map.dims[0] = 40;
  map.dims[1] = 6;
  map.dims[2] = 3;
  map.byteStrides[0] = 96;
  map.byteStrides[1] = 96 * 7;
  map.box[0] = 32;
  map.box[1] = 5;
  map.box[2] = 2;
  return map;
}

TEST(TensorBox, LoadsWithFillAndSwizzle) {
  std::vector<uint16_t> memory(4096);
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = i;
  for (auto swizzle :
       {TensorMapSwizzle::None, TensorMapSwizzle::B64, TensorMapSwizzle::B128})
    for (int x : {0, -3, 20, 100})
      for (int y : {0, -2, 4})
        for (int z : {0, 2, -1})
          for (unsigned stride : {1u, 2u})
            for (bool nan : {false, true}) {
              TensorMap map = tensorMap3d(swizzle);
              map.elementStrides[1] = stride;
              map.type = nan ? TensorMapType::BF16 : TensorMapType::U16;
              map.fillNan = nan;
              int32_t at[] = {x, y, z};
              TensorBox box(map, at);
              unsigned rowsY = (5 + stride - 1) / stride;
              ASSERT_EQ(box.bytes(), 64u * rowsY * 2);
              std::vector<uint8_t> window(8192, 0xAA);
              intptr_t toHost = reinterpret_cast<intptr_t>(memory.data()) -
                                intptr_t(map.address);
              box.load(window.data(), 1024, toHost, 0, box.rows);
              for (unsigned k = 0; k < 2; ++k)
                for (unsigned j = 0; j < rowsY; ++j)
                  for (unsigned i = 0; i < 32; ++i) {
                    int gx = x + int(i), gy = y + int(j * stride),
                        gz = z + int(k);
                    bool inside = gx >= 0 && gx < 40 && gy >= 0 && gy < 6 &&
                                  gz >= 0 && gz < 3;
                    uint16_t expected = nan ? 0x7FFF : 0;
                    if (inside)
                      expected = memory[gz * 48 * 7 + gy * 48 + gx];
                    uint32_t dense = 1024 + ((k * rowsY + j) * 32 + i) * 2;
                    uint16_t got;
                    std::memcpy(&got, &window[swizzleAddress(swizzle, dense)],
                                2);
                    ASSERT_EQ(got, expected) << x << " " << y << " " << z;
                  }
            }
}

TEST(TensorBox, RangesAreTheRowsInBounds) {
  TensorMap map = tensorMap3d(TensorMapSwizzle::None);
  int32_t at[] = {-4, 3, 2};
  TensorBox box(map, at);
  auto ranges = box.ranges();
  ASSERT_EQ(ranges.size(), 1u); // z = 3 is outside.
  EXPECT_EQ(ranges[0].address, 4096u + 2 * 96 * 7 + 3 * 96);
  EXPECT_EQ(ranges[0].bytes, 28u * 2);
  EXPECT_EQ(ranges[0].rows, 3u);
  EXPECT_EQ(ranges[0].stride, 96u);
}

/// A store copies the bytes that are in bounds, and no others.
TEST(TensorBox, SharedRangesAreTheBytesInBounds) {
  constexpr uint32_t base = 3u << sharedRankShift | 1024;
  for (TensorMapSwizzle swizzle :
       {TensorMapSwizzle::None, TensorMapSwizzle::B32, TensorMapSwizzle::B64,
        TensorMapSwizzle::B128})
    for (int32_t x : {0, 16, 20, 47, 48})
      for (int32_t y : {0, 5, 7}) {
        TensorMap map = tensorMap3d(swizzle);
        int32_t at[] = {x, y, 2};
        TensorBox box(map, at);
        std::set<uint32_t> expected, got;
        for (uint32_t row = 0; row < box.rows; ++row)
          for (uint32_t byte = box.rowBegin; byte < box.rowEnd; ++byte)
            if (box.rowAddress(row))
              expected.insert(
                  swizzleAddress(swizzle, base + row * box.rowBytes + byte));
        for (const AccessRange &range : box.sharedRanges(base))
          for (uint32_t byte = 0; byte < range.bytes; ++byte)
            got.insert(range.address + byte);
        EXPECT_EQ(got, expected) << x << " " << y;
      }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST(Reduce, Types) {
  float f[2] = {1.5f, -2.0f}, g[2] = {2.0f, 5.0f};
  reduceInto(reinterpret_cast<uint8_t *>(f), reinterpret_cast<uint8_t *>(g), 8,
             ReduceOp::Add, TensorMapType::F32);
  EXPECT_EQ(f[0], 3.5f);
  EXPECT_EQ(f[1], 3.0f);
  uint16_t h[1] = {0x3F80}, i[1] = {0xC000}; // bf16 1 and -2
  reduceInto(reinterpret_cast<uint8_t *>(h), reinterpret_cast<uint8_t *>(i), 2,
             ReduceOp::Min, TensorMapType::BF16);
  EXPECT_EQ(h[0], 0xC000);
  int32_t s[1] = {-5}, t[1] = {3};
  reduceInto(reinterpret_cast<uint8_t *>(s), reinterpret_cast<uint8_t *>(t), 4,
             ReduceOp::Max, TensorMapType::S32);
  EXPECT_EQ(s[0], 3);
  uint32_t u[1] = {7}, v[1] = {7};
  reduceInto(reinterpret_cast<uint8_t *>(u), reinterpret_cast<uint8_t *>(v), 4,
             ReduceOp::Inc, TensorMapType::U32);
  EXPECT_EQ(u[0], 0u);
  EXPECT_FALSE(reduceSupports(ReduceOp::Xor, TensorMapType::F16));
}
