//===- BlockScaleTest.cpp - MMAs with scale factors, and what they read ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Machine/KernelTest.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Machine/TensorMap.h"
#include "gmock/gmock.h"
#include <functional>
#include <random>

using namespace fa4::sim;
using namespace fa4::sim::test;
using testing::HasSubstr;

static RunResult runChecked(Kernel &kernel) {
  RunOptions options;
  options.keepGoing = true;
  options.maxInstructions = 5'000'000;
  options.checker = happensBeforeChecker();
  return llvm::cantFail(kernel.simulator->run(kernel.config, options));
}

//===----------------------------------------------------------------------===//
// tcgen05.mma with scale factors
//===----------------------------------------------------------------------===//

// Places in the image of shared memory. In tensor memory D has the first
// columns, the scale factors of A four from 256 on, those of B eight from 264.
constexpr uint32_t placeB = 16384, placeScaleA = 32768, placeScaleB = 33280;
constexpr uint32_t imageBytes = 34304;
constexpr unsigned columnsOfD = 256;

static std::string descriptor(uint32_t start, uint32_t lbo, uint32_t sbo) {
  return std::to_string(uint64_t(start >> 4) | uint64_t(lbo >> 4) << 16 |
                        uint64_t(sbo >> 4) << 32 | 1ull << 46);
}

/// Copies the image into shared memory and the scale factors on into tensor
/// memory, multiplies, and stores D as 128 rows of 256 columns.
static std::string scaledKernel(const std::string &kind) {
  return header() + R"(
.visible .entry k(.param .u64 image, .param .u64 out, .param .u32 pi)
{
  .reg .b32 %r<40>; .reg .b64 %rd<16>; .reg .pred %p<8>;
  .shared .align 1024 .b8 data[34304];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 slot;
  ld.param.u64 %rd0, [image];
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r0, [pi];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.ne.u32 %p0, %r1, 0;
  setp.ne.u32 %p1, %r2, 0;
  @%p0 bra ready;
  mbarrier.init.shared.b64 [full], 1;
  mbarrier.init.shared.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
ready:
  bar.warp.sync -1;
  @%p1 bra allocated;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
allocated:
  bar.sync 0;
  ld.shared.u32 %r3, [slot];
  @%p0 bra wait;
  mbarrier.arrive.expect_tx.shared.b64 %rd4, [full], 34304;
  mov.u32 %r5, data;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%rd0], 34304, [full];
loading:
  mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;
  @!%p2 bra loading;
  shr.u32 %r6, %r5, 4;
  cvt.u64.u32 %rd5, %r6;
  add.u32 %r30, %r3, 256;
  add.u32 %r31, %r3, 264;
  add.u32 %r32, %r3, 268;
  add.u64 %rd10, %rd5, )" +
         descriptor(placeScaleA, 0, 128) + R"(;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%r30], %rd10;
  add.u64 %rd10, %rd5, )" +
         descriptor(placeScaleB, 0, 128) + R"(;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%r31], %rd10;
  add.u64 %rd10, %rd5, )" +
         descriptor(placeScaleB + 512, 0, 128) + R"(;
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%r32], %rd10;
  add.u64 %rd6, %rd5, )" +
         descriptor(0, 2048, 128) + R"(;
  add.u64 %rd7, %rd5, )" +
         descriptor(placeB, 4096, 128) + R"(;
  mov.pred %p3, 0;
  tcgen05.mma.cta_group::1.kind::)" +
         kind + R"( [%r3], %rd6, %rd7, %r0, [%r30], [%r31], %p3;
  mov.pred %p3, 1;
  tcgen05.mma.cta_group::1.kind::)" +
         kind + R"( [%r3], %rd6, %rd7, %r0, [%r30], [%r31], %p3;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
wait:
  mbarrier.try_wait.parity.shared.b64 %p4, [done], 0;
  @!%p4 bra wait;
  tcgen05.fence::after_thread_sync;
  shl.b32 %r7, %r2, 21;
  add.u32 %r7, %r3, %r7;
  shl.b32 %r8, %r1, 10;
  cvt.u64.u32 %rd8, %r8;
  add.u64 %rd9, %rd1, %rd8;
  mov.u32 %r9, 0;
columns:
  tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, [%r7];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%rd9], {%r10, %r11, %r12, %r13};
  add.u64 %rd9, %rd9, 16;
  add.u32 %r7, %r7, 4;
  add.u32 %r9, %r9, 4;
  setp.lt.u32 %p5, %r9, 256;
  @%p5 bra columns;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @%p1 bra out_;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 512;
out_:
  ret;
}
)";
}

namespace {
struct ScaledCase {
  const char *kind;
  uint32_t n, k, block;
  unsigned idA, idB;
  uint32_t idesc; ///< Types of A, B and of scale factors.
  unsigned bits;  ///< Of an element; 4: two a byte, unless `padded`.
  bool padded;
};
} // namespace

/// -3..3 in e4m3, in e2m1 (4 bits), in ue8m0 2^x, in ue4m3 |x|.
static uint32_t e4m3Of(int x) {
  static const uint8_t table[] = {0x00, 0x38, 0x40, 0x44};
  return table[std::abs(x)] | (x < 0 ? 0x80 : 0);
}
static uint32_t e2m1Of(int x) {
  static const uint8_t table[] = {0, 2, 4, 5};
  return table[std::abs(x)] | (x < 0 ? 8 : 0);
}

TEST(BlockScale, LayoutsOfScaleFactors) {
  const uint32_t ue8m0 = 1 << 23, fp4 = 1 << 7 | 1 << 10, mixed = 5 << 7;
  const ScaledCase cases[] = {
      {"mxf8f6f4.block_scale", 64, 32, 32, 0, 3, ue8m0, 8, false},
      {"mxf8f6f4.block_scale.block32", 24, 32, 32, 2, 1, ue8m0, 8, false},
      {"mxf8f6f4.block_scale.scale_vec::1X", 64, 32, 32, 1, 0, ue8m0 | mixed, 8,
       true},
      {"mxf4.block_scale", 256, 64, 32, 0, 2, ue8m0 | fp4, 4, false},
      {"mxf4.block_scale.scale_vec::2X", 96, 64, 32, 2, 0, ue8m0 | fp4, 4,
       false},
      {"mxf4nvf4.block_scale.block32", 128, 64, 32, 2, 2, ue8m0 | fp4, 4,
       false},
      {"mxf4.block_scale", 128, 96, 32, 1, 3, ue8m0 | fp4 | 1u << 31, 4, false},
      {"mxf4nvf4.block_scale.scale_vec::4X", 256, 64, 16, 0, 0, fp4, 4, false},
      {"mxf4nvf4.block_scale.block16", 8, 64, 16, 0, 0, ue8m0 | fp4, 4, false},
  };
  for (const ScaledCase &c : cases) {
    SCOPED_TRACE(c.kind);
    std::mt19937 random(5);
    std::uniform_int_distribution<int> small(-3, 3);
    std::vector<uint8_t> image(imageBytes);
    auto drawElements = [&](uint32_t start, uint32_t rows, uint32_t columns,
                            bool padded) {
      std::vector<int> values(rows * c.k);
      for (uint32_t i = 0; i < values.size(); ++i) {
        int x = values[i] = small(random);
        uint32_t perChunk = c.bits == 4 ? 32 : 16;
        uint32_t row = i / c.k, at = i % c.k % perChunk;
        uint32_t chunkOfRow = i % c.k / perChunk;
        uint8_t *chunk =
            &image[start + row / 8 * 128 + row % 8 * 16 + chunkOfRow * columns];
        if (c.bits == 4 || padded)
          chunk[at / 2] |= e2m1Of(x) << at % 2 * 4;
        else
          chunk[at] = e4m3Of(x);
      }
      return values;
    };
    std::vector<int> a = drawElements(0, 128, 2048, c.padded);
    std::vector<int> b = drawElements(placeB, c.n, 4096, false);
    // Four factors of each row, of which the instruction takes some.
    auto drawScales = [&](uint32_t start, uint32_t rows) {
      std::vector<double> values(rows * 4);
      for (uint32_t i = 0; i < values.size(); ++i) {
        uint32_t row = i / 4;
        int x = small(random);
        bool power = c.idesc >> 23 & 1;
        values[i] = power ? std::ldexp(1.0, x) : std::abs(x);
        image[start + row / 128 * 512 + row % 32 * 16 + row / 32 % 4 * 4 +
              i % 4] = power ? 127 + x : e4m3Of(std::abs(x));
      }
      return values;
    };
    std::vector<double> scaleA = drawScales(placeScaleA, 128);
    std::vector<double> scaleB = drawScales(placeScaleB, 256);
    std::string text = scaledKernel(c.kind);
    if (c.k == 96)
      text.replace(text.find("sm_100a"), 7, "sm_103a");
    Kernel kernel(text);
    ASSERT_EQ(kernel.error, "");
    kernel.buffer("image", image.size(), image.data());
    kernel.buffer("out", 128 * 1024);
    kernel.scalar(
        uint32_t(c.idesc | c.idB << 4 | c.idA << 29 | c.n / 8 << 17 | 1 << 27));
    kernel.config.block = {128, 1, 1};
    RunResult result = runChecked(kernel);
    for (const Report &report : result.reports) // Columns beyond N.
      EXPECT_EQ(report.kind, "uninitialised") << reports(result);
    const float *out = kernel.data<float>("out");
    for (uint32_t i = 0; i < 128; ++i)
      for (uint32_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (uint32_t l = 0; l < c.k; ++l) {
          // What does not fit into the word of a column of B is where that
          // column is in the next 128.
          uint32_t byteB = c.idB + l / c.block;
          sum += a[i * c.k + l] * b[j * c.k + l] *
                 scaleA[i * 4 + c.idA + l / c.block] *
                 scaleB[(byteB / 4 * 128 + j) * 4 + byteB % 4];
        }
        ASSERT_EQ(out[i * columnsOfD + j], 2 * sum) << i << ", " << j;
      }
  }
}

/// Each factor of ue8m0 and ue4m3 that has a special meaning.
TEST(BlockScale, ExtremeFactors) {
  for (auto [code, expected] : {std::pair<int, double>{0, std::ldexp(1, -127)},
                                {254, std::ldexp(1, 127)},
                                {255, NAN}}) {
    std::vector<uint8_t> image(imageBytes);
    image[0] = image[placeB] = e4m3Of(1); // One product of 1.
    std::fill_n(&image[placeScaleA], 512, code);
    std::fill_n(&image[placeScaleB], 1024, 127);
    Kernel kernel(scaledKernel("mxf8f6f4.block_scale"));
    kernel.buffer("image", image.size(), image.data());
    kernel.buffer("out", 128 * 1024);
    kernel.scalar(uint32_t(1 << 23 | 1 << 17 | 1 << 27));
    kernel.config.block = {128, 1, 1};
    runChecked(kernel);
    float first = kernel.data<float>("out")[0];
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(first));
    else
      EXPECT_EQ(first, float(2 * expected)) << code;
    // Elsewhere the product is zero, which times infinity it would not stay.
    if (code != 255)
      EXPECT_EQ(kernel.data<float>("out")[1], 0) << code;
  }
}

TEST(BlockScale, WhatIsRefused) {
  const uint32_t ue8m0 = 1 << 23, fp4 = 1 << 7 | 1 << 10;
  struct Bad {
    const char *kind;
    uint32_t idesc;
    const char *message;
  };
  const Bad cases[] = {
      {"mxf4nvf4.block_scale.block32", fp4, "ue4m3 are for blocks of 16"},
      {"mxf4.block_scale", fp4, "ue4m3 are for kind::mxf4nvf4"},
      {"mxf4nvf4.block_scale.block16", fp4 | 1 << 29, "must be 0"},
      {"mxf4.block_scale", ue8m0 | fp4 | 1 << 4, "must be 0 or 2"},
      {"mxf4.block_scale", ue8m0 | fp4 | 1u << 31, "K = 96 is for sm_103a"},
      {"mxf4.block_scale", ue8m0 | fp4 | 1 << 16, "K-major"},
      {"mxf4.block_scale", ue8m0 | 5 << 7 | 1 << 10, "does not go with"},
      {"mxf8f6f4.block_scale", ue8m0 | 1 << 24, "reserved bits"},
  };
  for (const Bad &bad : cases) {
    Kernel kernel(scaledKernel(bad.kind));
    ASSERT_EQ(kernel.error, "");
    kernel.buffer("image", imageBytes);
    kernel.buffer("out", 128 * 1024);
    kernel.scalar(uint32_t(bad.idesc | 1 << 27 | 2 << 17));
    kernel.config.block = {128, 1, 1};
    RunResult result = runChecked(kernel);
    ASSERT_FALSE(result.reports.empty()) << bad.message;
    EXPECT_EQ(result.reports[0].kind, "bad-descriptor");
    EXPECT_THAT(result.reports[0].message, HasSubstr(bad.message));
  }
}

//===----------------------------------------------------------------------===//
// Elements of less than a byte
//===----------------------------------------------------------------------===//

/// Loads a box of 128 x 4 elements at (x, 1), copies what is in shared memory,
/// and stores the box through the map.
static const char *subByteCopy = R"(
.visible .entry k(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128],
                  .param .u64 raw, .param .u32 x, .param .u32 bytes, .param .u32 expected)
{
  .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  .shared .align 1024 .b8 data[1024];
  .shared .align 8 .b64 full;
  mov.b64 %rd0, from;
  cvta.param.u64 %rd1, %rd0;
  mov.b64 %rd2, to;
  cvta.param.u64 %rd3, %rd2;
  ld.param.u64 %rd5, [raw];
  ld.param.u32 %r0, [x];
  ld.param.u32 %r2, [bytes];
  ld.param.u32 %r3, [expected];
  mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd4, [full], %r3;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [data], [%rd1, {%r0, 1}], [full];
wait:
  mbarrier.try_wait.parity.shared.b64 %p0, [full], 0;
  @!%p0 bra wait;
  cp.async.bulk.global.shared::cta.bulk_group [%rd5], [data], %r2;
  STORE
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

TEST(SubByteCopy, PlacesOfElements) {
  struct Case {
    TensorMapType type;
    unsigned bits, sharedBytes, stores;
  };
  for (Case c : {Case{TensorMapType::B4x16, 4, 256, 1},
                 Case{TensorMapType::B4x16P64, 4, 512, 0},
                 Case{TensorMapType::B6x16P32, 6, 512, 0}}) {
    unsigned rowBytes = 256 * c.bits / 8, groupBytes = 16 * c.bits / 8;
    std::vector<uint8_t> input(8 * rowBytes);
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = uint8_t(i * 37 + i / 256);
    std::string text = header() + subByteCopy;
    text.replace(text.find("STORE"), 5,
                 c.stores ? "cp.async.bulk.tensor.2d.global.shared::cta.tile."
                            "bulk_group [%rd3, {%r0, 1}], [data];"
                          : "");
    Kernel kernel(text);
    ASSERT_EQ(kernel.error, "");
    auto &memory = kernel.simulator->memory();
    auto *from = llvm::cantFail(memory.allocate("from", input.size()));
    auto *to = llvm::cantFail(memory.allocate("to", input.size()));
    std::memcpy(from->data, input.data(), input.size());
    for (const Allocation *tensor : {from, to}) {
      TensorMap map;
      map.rank = 2;
      map.type = c.type;
      map.address = tensor->address;
      map.dims[0] = 256;
      map.dims[1] = 8;
      map.byteStrides[0] = rowBytes;
      map.box[0] = 128;
      map.box[1] = 4;
      ASSERT_EQ(llvm::toString(map.verify()), "");
      auto bytes = map.encode();
      kernel.config.params.emplace_back(bytes.begin(), bytes.end());
    }
    kernel.buffer("raw", c.sharedBytes);
    kernel.scalar(uint32_t(128));
    kernel.scalar(uint32_t(c.sharedBytes));
    kernel.scalar(uint32_t(4 * 128 * c.bits / 8)); // Without the padding.
    kernel.config.block = {1, 1, 1};
    RunResult result = runChecked(kernel);
    EXPECT_EQ(reports(result), "");
    const uint8_t *raw = kernel.data<uint8_t>("raw");
    unsigned place = c.sharedBytes / 32; // Of 16 elements in shared memory.
    for (unsigned row = 0; row < 4; ++row)
      for (unsigned group = 0; group < 8; ++group)
        for (unsigned i = 0; i < groupBytes; ++i)
          ASSERT_EQ(raw[(row * 8 + group) * place + i],
                    input[(row + 1) * rowBytes + rowBytes / 2 +
                          group * groupBytes + i])
              << row << " " << group << " " << i;
    if (c.stores)
      for (size_t i = 0; i < input.size(); ++i) {
        bool inside = i / rowBytes >= 1 && i / rowBytes < 5 &&
                      i % rowBytes >= rowBytes / 2;
        ASSERT_EQ(to->data[i], inside ? input[i] : 0) << i;
      }
  }
}

TEST(SubByteCopy, RulesOfTheMap) {
  TensorMap good;
  good.rank = 2;
  good.type = TensorMapType::B6x16P32;
  good.address = 4096;
  good.dims[0] = 256;
  good.dims[1] = 8;
  good.byteStrides[0] = 192;
  good.box[0] = 128;
  good.box[1] = 4;
  EXPECT_EQ(llvm::toString(good.verify()), "");
  auto message = [&](std::function<void(TensorMap &)> change) {
    TensorMap map = good;
    change(map);
    return llvm::toString(map.verify());
  };
  using Map = TensorMap;
  EXPECT_THAT(message([](Map &m) { m.address = 4112; }), HasSubstr("of 32"));
  EXPECT_THAT(message([](Map &m) { m.dims[0] = 64; }), HasSubstr("of 128"));
  EXPECT_THAT(message([](Map &m) { m.box[0] = 64; }), HasSubstr("not 128"));
  EXPECT_THAT(message([](Map &m) { m.byteStrides[0] = 208; }),
              HasSubstr("of 32"));
  EXPECT_THAT(message([](Map &m) { m.fillNan = 1; }), HasSubstr("NaN"));
  EXPECT_THAT(message([](Map &m) { m.swizzle = TensorMapSwizzle::B64; }),
              HasSubstr("swizzle"));
  EXPECT_THAT(message([](Map &m) {
                m.type = TensorMapType::B4x16;
                m.dims[0] = 255;
              }),
              HasSubstr("odd"));
}
