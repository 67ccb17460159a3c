//===- TensorKernelTest.cpp - tcgen05 and TMA through PTX -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Machine/KernelTest.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Machine/TensorMap.h"
#include <functional>
#include <random>

using namespace fa4::sim;
using namespace fa4::sim::test;

static RunResult runChecked(Kernel &kernel, uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  options.keepGoing = true;
  options.maxInstructions = 5'000'000;
  options.checker = happensBeforeChecker();
  auto result = kernel.simulator->run(kernel.config, options);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return std::move(*result);
}

//===----------------------------------------------------------------------===//
// tcgen05.mma
//===----------------------------------------------------------------------===//

/// Copies a 64 KiB image into shared memory, multiplies with the descriptors
/// given relative to it, and stores D as 128 rows of 256 columns.
static std::string mmaKernel(const std::string &kind, const std::string &mask,
                             const std::string &tail) {
  return header() + R"(
.visible .entry k(.param .u64 image, .param .u64 out, .param .u64 pa,
                  .param .u64 pb, .param .u32 pi)
{
  .reg .b32 %r<300>; .reg .b64 %rd<16>; .reg .pred %p<8>;
  .shared .align 1024 .b8 data[65536];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 slot;
  ld.param.u64 %rd0, [image];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [pa];
  ld.param.u64 %rd3, [pb];
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
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
allocated:
  bar.sync 0;
  ld.shared.u32 %r3, [slot];
  @%p0 bra wait;
  mov.u32 %r4, 65536;
  mbarrier.arrive.expect_tx.shared.b64 %rd4, [full], %r4;
  mov.u32 %r5, data;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%rd0], %r4, [full];
loading:
  mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;
  @!%p2 bra loading;
  shr.u32 %r6, %r5, 4;
  cvt.u64.u32 %rd5, %r6;
  add.u64 %rd6, %rd2, %rd5;
  add.u64 %rd7, %rd3, %rd5;
  mov.pred %p3, 0;
  tcgen05.mma.cta_group::1.kind::)" +
         kind + " [%r3], %rd6, %rd7, %r0, " + mask + "%p3;\n" + tail + R"(
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
wait:
  mbarrier.try_wait.parity.shared.b64 %p4, [done], 0;
  @!%p4 bra wait;
  shl.b32 %r7, %r2, 21;
  add.u32 %r7, %r3, %r7;
  shl.b32 %r8, %r1, 10;
  cvt.u64.u32 %rd8, %r8;
  add.u64 %rd9, %rd1, %rd8;
  mov.u32 %r9, 0;
columns:
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%r7];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%rd9], {%r10, %r11, %r12, %r13};
  st.global.v4.b32 [%rd9+16], {%r14, %r15, %r16, %r17};
  add.u64 %rd9, %rd9, 32;
  add.u32 %r7, %r7, 8;
  add.u32 %r9, %r9, 8;
  setp.lt.u32 %p5, %r9, 256;
  @%p5 bra columns;
  bar.sync 0;
  @%p1 bra out_;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 256;
out_:
  ret;
}
)";
}

/// Byte offset of element (mn, k) in the image, and its descriptor.
struct OperandLayout {
  uint64_t descriptor;
  std::function<uint32_t(uint32_t, uint32_t)> offset;
};

static uint64_t bitsOf(uint32_t start, uint32_t lbo, uint32_t sbo,
                       unsigned mode) {
  return uint64_t(start >> 4) | uint64_t(lbo >> 4) << 16 |
         uint64_t(sbo >> 4) << 32 | 1ull << 46 | uint64_t(mode) << 61;
}

/// Rows of `span` bytes, eight to a pattern, as TMA leaves a K-major box of
/// `span` bytes; `bytes` of an element.
static OperandLayout kMajor(uint32_t start, uint32_t span, unsigned bytes) {
  unsigned mode = span == 128 ? 2 : span == 64 ? 4 : 6;
  return {bitsOf(start, 16, 8 * span, mode), [=](uint32_t mn, uint32_t k) {
            uint32_t a = start + mn * span + k * bytes;
            uint32_t line = a / 128 % 8;
            uint32_t x = line % (span / 16);
            return a ^ x << 4;
          }};
}
/// Core matrices of 8 rows by 16 bytes, the two of a K step `columns` apart.
static OperandLayout kMajorPlain(uint32_t start, uint32_t columns,
                                 unsigned bytes) {
  return {bitsOf(start, columns, 128, 0), [=](uint32_t mn, uint32_t k) {
            uint32_t inRow = k * bytes;
            return start + mn / 8 * 128 + mn % 8 * 16 + inRow / 16 * columns +
                   inRow % 16;
          }};
}
/// 16-bit elements, blocks of 64 along MN, rows of k: swizzle 128B.
static OperandLayout mnMajor(uint32_t start, uint32_t block) {
  return {bitsOf(start, block, 1024, 2), [=](uint32_t mn, uint32_t k) {
            uint32_t a = start + mn / 64 * block + k * 128 + mn % 64 * 2;
            return a ^ (a / 128 % 8) << 4;
          }};
}

struct MmaCase {
  const char *name;
  const char *kind;
  uint32_t m, n, k;
  unsigned bytes;
  uint32_t idesc; ///< Without M and N.
  OperandLayout a, b;
  std::function<uint32_t(int)> encode; ///< Of small integers.
};

static uint32_t bf16Of(int x) { return bits(float(x)) >> 16; }
static uint32_t f32Of(int x) { return bits(float(x)); }
/// -3..3 in e4m3.
static uint32_t e4m3Of(int x) {
  static const uint8_t table[] = {0x00, 0x38, 0x40, 0x44};
  return table[std::abs(x)] | (x < 0 ? 0x80 : 0);
}

TEST(Mma, LayoutsAndShapes) {
  const uint32_t f32D = 1 << 4, bf = 1 << 7 | 1 << 10, tf = 2 << 7 | 2 << 10;
  std::vector<MmaCase> cases = {
      {"bf16 K-major 128B", "f16", 128, 64, 16, 2, f32D | bf, kMajor(0, 128, 2),
       kMajor(32768, 128, 2), bf16Of},
      {"bf16 K-major 64B", "f16", 128, 128, 16, 2, f32D | bf, kMajor(0, 64, 2),
       kMajor(32768, 64, 2), bf16Of},
      {"bf16 K-major 32B", "f16", 128, 256, 16, 2, f32D | bf, kMajor(0, 32, 2),
       kMajor(32768, 32, 2), bf16Of},
      {"bf16 plain", "f16", 128, 24, 16, 2, f32D | bf, kMajorPlain(0, 4096, 2),
       kMajorPlain(32768, 2048, 2), bf16Of},
      {"bf16 B MN-major", "f16", 128, 128, 16, 2, f32D | bf | 1 << 16,
       kMajor(0, 128, 2), mnMajor(32768, 4096), bf16Of},
      {"bf16 A MN-major", "f16", 128, 64, 16, 2, f32D | bf | 1 << 15,
       mnMajor(0, 8192), kMajor(32768, 128, 2), bf16Of},
      {"bf16 M=64", "f16", 64, 40, 16, 2, f32D | bf, kMajor(0, 128, 2),
       kMajor(32768, 128, 2), bf16Of},
      {"tf32", "tf32", 128, 32, 8, 4, f32D | tf, kMajor(0, 128, 4),
       kMajor(32768, 64, 4), f32Of},
      {"e4m3", "f8f6f4", 128, 96, 32, 1, f32D, kMajor(0, 128, 1),
       kMajor(32768, 32, 1), e4m3Of},
      {"bf16 negated A", "f16", 128, 16, 16, 2, f32D | bf | 1 << 13,
       kMajor(0, 128, 2), kMajor(32768, 128, 2), bf16Of},
  };
  for (const MmaCase &c : cases) {
    SCOPED_TRACE(c.name);
    std::mt19937 random(3);
    std::uniform_int_distribution<int> small(-3, 3);
    std::vector<uint8_t> image(65536);
    std::vector<int> a(c.m * c.k), b(c.n * c.k);
    auto fill = [&](std::vector<int> &values, const OperandLayout &layout) {
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = small(random);
        uint32_t encoded = c.encode(values[i]);
        std::memcpy(&image[layout.offset(i / c.k, i % c.k)], &encoded, c.bytes);
      }
    };
    fill(a, c.a);
    fill(b, c.b);
    Kernel kernel(mmaKernel(c.kind, "", ""));
    ASSERT_EQ(kernel.error, "");
    kernel.buffer("image", image.size(), image.data());
    kernel.buffer("out", 128 * 1024);
    kernel.scalar(c.a.descriptor);
    kernel.scalar(c.b.descriptor);
    kernel.scalar(uint32_t(c.idesc | c.n / 8 << 17 | c.m / 16 << 24));
    kernel.config.block = {128, 1, 1};
    RunResult result = runChecked(kernel, 1);
    // Only the columns beyond N (and, for M = 64, half the lanes) are unread
    // before they are loaded.
    for (const Report &report : result.reports)
      EXPECT_TRUE(llvm::StringRef(report.kind).starts_with("uninitialised"))
          << reports(result);
    const float *out = kernel.data<float>("out");
    float sign = c.idesc >> 13 & 1 ? -1 : 1;
    for (uint32_t i = 0; i < c.m; ++i)
      for (uint32_t j = 0; j < c.n; ++j) {
        int sum = 0;
        for (uint32_t l = 0; l < c.k; ++l)
          sum += a[i * c.k + l] * b[j * c.k + l];
        // M = 64: sixteen rows in each warp's lanes.
        uint32_t lane = c.m == 64 ? i / 16 * 32 + i % 16 : i;
        ASSERT_EQ(out[lane * 256 + j], sign * sum) << i << ", " << j;
      }
  }
}

TEST(Mma, MaskAndAccumulate) {
  // The first MMA writes even lanes of the first quarter only; the second adds
  // to all of D scaled by 1/4.
  std::vector<uint8_t> image(65536);
  for (uint32_t i = 0; i < 128; ++i)
    for (uint32_t k = 0; k < 16; ++k) {
      uint16_t one = 0x3F80;
      std::memcpy(&image[kMajor(0, 128, 2).offset(i, k)], &one, 2);
      if (i < 16)
        std::memcpy(&image[kMajor(32768, 128, 2).offset(i, k)], &one, 2);
    }
  Kernel kernel(mmaKernel(
      "f16", "",
      "mov.u32 %r20, 0xFFFFFFFF; mov.u32 %r21, 0xAAAAAAAA; mov.pred %p6, -1;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd6, %rd7, %r0, "
      "{%r21, %r20, %r20, %r20}, %p6, 2;\n"));
  ASSERT_EQ(kernel.error, "");
  kernel.buffer("image", image.size(), image.data());
  kernel.buffer("out", 128 * 1024);
  kernel.scalar(kMajor(0, 128, 2).descriptor);
  kernel.scalar(kMajor(32768, 128, 2).descriptor);
  kernel.scalar(uint32_t(0x08000490 | 2 << 17));
  kernel.config.block = {128, 1, 1};
  runChecked(kernel, 2);
  const float *out = kernel.data<float>("out");
  for (uint32_t lane = 0; lane < 128; ++lane)
    ASSERT_EQ(out[lane * 256 + 5], lane < 32 && lane % 2 == 0 ? 20.0f : 16.0f)
        << lane;
}

//===----------------------------------------------------------------------===//
// cp.async.bulk.tensor
//===----------------------------------------------------------------------===//

static const char *tensorCopy = R"(
.visible .entry k(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128],
                  .param .u32 x, .param .u32 y)
{
  .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  .shared .align 1024 .b8 data[8192];
  .shared .align 8 .b64 full;
  mov.b64 %rd0, from;
  cvta.param.u64 %rd1, %rd0;
  mov.b64 %rd2, to;
  cvta.param.u64 %rd3, %rd2;
  ld.param.u32 %r0, [x];
  ld.param.u32 %r1, [y];
  mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd4, [full], 4096;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [data], [%rd1, {%r0, %r1}], [full];
wait:
  mbarrier.try_wait.parity.shared.b64 %p0, [full], 0;
  @!%p0 bra wait;
  STORE.2d.global.shared::ctaADD.tile.bulk_group [%rd3, {%r0, %r1}], [data];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

static TensorMap map2d(uint64_t address, TensorMapSwizzle swizzle,
                       TensorMapType type) {
  TensorMap map;
  map.rank = 2;
  map.type = type;
  map.swizzle = swizzle;
  map.address = address;
  map.dims[0] = 40;
  map.dims[1] = 50;
  map.byteStrides[0] = 48 * 4;
  map.box[0] = 32;
  map.box[1] = 32;
  return map;
}

TEST(TensorCopy, LoadThenStoreIsTheIdentityInBounds) {
  std::vector<float> input(48 * 50);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = i;
  for (bool add : {false, true})
    for (auto swizzle : {TensorMapSwizzle::None, TensorMapSwizzle::B128})
      for (int x : {0, -5, 20})
        for (int y : {0, -7, 30}) {
          std::string text = header() + tensorCopy;
          text.replace(text.find("STORE"), 5,
                       add ? "cp.reduce.async.bulk.tensor"
                           : "cp.async.bulk.tensor");
          text.replace(text.find("ADD"), 3, add ? ".add" : "");
          Kernel kernel(text);
          ASSERT_EQ(kernel.error, "");
          auto &memory = kernel.simulator->memory();
          auto *from = llvm::cantFail(memory.allocate("from", 48 * 50 * 4));
          auto *to = llvm::cantFail(memory.allocate("to", 48 * 50 * 4));
          std::memcpy(from->data, input.data(), 48 * 50 * 4);
          auto *result = reinterpret_cast<float *>(to->data);
          for (int i = 0; i < 48 * 50; ++i)
            result[i] = 1;
          kernel.scalar(
              map2d(from->address, swizzle, TensorMapType::F32).encode());
          kernel.scalar(
              map2d(to->address, swizzle, TensorMapType::F32).encode());
          kernel.scalar(x);
          kernel.scalar(y);
          kernel.config.block = {1, 1, 1};
          RunResult run = runChecked(kernel, 4);
          // A store may not begin in front of the tensor, as the load does.
          bool isStored = x >= 0 && y >= 0;
          ASSERT_EQ(reports(run).find("only loads may begin in front") ==
                        std::string::npos,
                    isStored)
              << reports(run);
          ASSERT_EQ(reports(run).empty(), isStored) << reports(run);
          for (int j = 0; j < 50; ++j)
            for (int i = 0; i < 48; ++i) {
              bool inside = isStored && i >= x && i < x + 32 && i < 40 &&
                            j >= y && j < y + 32;
              float expected = inside ? input[j * 48 + i] + add : 1;
              ASSERT_EQ(result[j * 48 + i], expected) << i << " " << j;
            }
        }
}

//===----------------------------------------------------------------------===//
// tcgen05.ld, .st and .cp
//===----------------------------------------------------------------------===//

/// One warp: `body` between allocation and deallocation; %r3 is the tensor
/// memory address, data 2 KiB of shared memory whose words count from 0.
static std::string tensorKernel(const std::string &body) {
  return header() + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .pred %p<8>;
  .shared .align 1024 .b8 data[2048];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 slot;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra ready;
  mbarrier.init.shared.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
ready:
  mov.u32 %r1, data;
  shl.b32 %r2, %r0, 2;
  add.u32 %r2, %r1, %r2;
  mov.u32 %r4, %r0;
fill:
  st.shared.u32 [%r2], %r4;
  add.u32 %r2, %r2, 128;
  add.u32 %r4, %r4, 32;
  setp.lt.u32 %p1, %r4, 512;
  @%p1 bra fill;
  fence.proxy.async.shared::cta;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
  ld.shared.u32 %r3, [slot];
  shl.b32 %r5, %r0, 4;
  cvt.u64.u32 %rd1, %r5;
  add.u64 %rd0, %rd0, %rd1;
)" + body +
         R"(
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%rd0], {%r10, %r11, %r12, %r13};
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
  ret;
}
)";
}

static std::vector<uint32_t> runTensorKernel(const std::string &body) {
  Kernel kernel(tensorKernel(body));
  EXPECT_EQ(kernel.error, "");
  if (!kernel.simulator)
    return std::vector<uint32_t>(128);
  kernel.buffer("out", 512);
  kernel.config.block = {32, 1, 1};
  RunResult result = runChecked(kernel, 3);
  EXPECT_EQ(reports(result), "");
  uint32_t *out = kernel.data<uint32_t>("out");
  return std::vector<uint32_t>(out, out + 128);
}

TEST(TensorMemory, StoreInOneShapeLoadInAnother) {
  // Lane l holds 100 l + column, four columns.
  auto out = runTensorKernel(R"(
    mul.lo.u32 %r6, %r0, 100;
    add.u32 %r7, %r6, 1; add.u32 %r8, %r6, 2; add.u32 %r9, %r6, 3;
    tcgen05.st.sync.aligned.32x32b.x4.b32 [%r3], {%r6, %r7, %r8, %r9};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.16x128b.x1.b32 {%r10, %r11}, [%r3];
    add.u32 %r20, %r3, 0x100000;
    tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r12, %r13}, [%r20];
  )");
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(out[4 * t], 100 * (t / 4) + t % 4);
    EXPECT_EQ(out[4 * t + 1], 100 * (t / 4 + 8) + t % 4);
    // The upper sixteen lanes, 64 bits a row.
    uint32_t row = 16 + t / 4 + 8 * (t % 2), column = t / 2 % 2;
    EXPECT_EQ(out[4 * t + 2], 100 * row + column);
    EXPECT_EQ(out[4 * t + 3], 100 * row + column + 2);
  }
}

TEST(TensorMemory, PackAndUnpack) {
  auto out = runTensorKernel(R"(
    shl.b32 %r6, %r0, 16;
    or.b32 %r6, %r6, 0x1234;
    tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%r3], %r6;
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r10, %r11}, [%r3];
    tcgen05.ld.sync.aligned.32x32b.x1.pack::16b.b32 {%r12}, [%r3];
    mov.u32 %r13, 0;
  )");
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(out[4 * t], 0x1234u);
    EXPECT_EQ(out[4 * t + 1], t);
    EXPECT_EQ(out[4 * t + 2], t << 16 | 0x1234);
  }
}

/// Copies 32 rows of core matrices to tensor memory in the form that
/// `modifiers` name, and reads them.
static std::vector<uint32_t> runCopy(const std::string &modifiers) {
  return runTensorKernel(R"(
    @%p0 bra wait;
    shr.u32 %r6, %r1, 4;
    cvt.u64.u32 %rd2, %r6;
    or.b64 %rd2, %rd2, 0x0000400800080000;
    tcgen05.cp.cta_group::1.32x128b.warpx4)" +
                         modifiers + R"( [%r3], %rd2;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
  wait:
    mbarrier.try_wait.parity.shared.b64 %p2, [done], 0;
    @!%p2 bra wait;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, [%r3];
  )");
}

TEST(TensorMemory, CopyFromSharedMemory) {
  // Core matrices of 8 rows by 16 bytes behind one another: row r is words
  // 4 r to 4 r + 3, and goes to all four quarters.
  auto out = runCopy("");
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], i);
}

/// 16 elements of 4 or 6 bits at the start of each 16 bytes become bytes, with
/// the element where kind::f8f6f4 reads it.
TEST(TensorMemory, CopyUnpacksElements) {
  for (unsigned bits : {4, 6}) {
    std::string format = bits == 4 ? "b4x16_p64" : "b6x16_p32";
    auto out = runCopy(".b8x16." + format);
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < 16; ++i) {
        // Word w of a lane's 16 bytes is 4 * lane + w.
        uint64_t words = i * bits / 32;
        uint64_t two = (4 * lane + words) |
                       (words < 3 ? uint64_t(4 * lane + words + 1) << 32 : 0);
        uint32_t element = two >> i * bits % 32 & ((1u << bits) - 1);
        uint32_t byte = out[4 * lane + i / 4] >> i % 4 * 8 & 0xFF;
        EXPECT_EQ(byte, bits == 4 ? element << 2 : element) << lane << " " << i;
      }
  }
}

//===----------------------------------------------------------------------===//
// clusterlaunchcontrol
//===----------------------------------------------------------------------===//

/// Takes over one CTA after the other; `fence` stands between the read of a
/// response and the request for the next one.
static std::string takingOver(const char *fence) {
  return header() + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<8>; .reg .b128 %q;
  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 full;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r5, 0;
  mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
next:
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd0, %rd1;
  red.global.add.u32 [%rd2], 1;
  mbarrier.arrive.expect_tx.shared.b64 %rd3, [full], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [full];
wait:
  mbarrier.try_wait.parity.shared.b64 %p0, [full], %r5;
  @!%p0 bra wait;
  xor.b32 %r5, %r5, 1;
  ld.shared.b128 %q, [response];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q;
  @!%p1 bra done;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r0, %q;
)" + fence +
         R"(
  bra next;
done:
  ret;
}
)";
}

/// A launch of 100 CTAs, of which few start.
static RunResult takeOver(Kernel &kernel, uint64_t seed) {
  EXPECT_EQ(kernel.error, "");
  if (kernel.config.params.empty())
    kernel.buffer("out", 400);
  kernel.config.block = {1, 1, 1};
  kernel.config.grid = {100, 1, 1};
  std::memset(kernel.data<uint8_t>("out"), 0, 400);
  return runChecked(kernel, seed);
}

TEST(LaunchControl, EveryCtaIsDoneOnce) {
  Kernel kernel(takingOver("fence.proxy.async.shared::cta;"));
  for (uint64_t seed : {0, 1, 2}) {
    RunResult result = takeOver(kernel, seed);
    EXPECT_EQ(reports(result), "");
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(kernel.data<uint32_t>("out")[i], 1u) << i;
  }
}

TEST(LaunchControl, ReadResponseNeedsFence) {
  Kernel kernel(takingOver(""));
  RunResult result = takeOver(kernel, 0);
  ASSERT_FALSE(result.reports.empty());
  for (const Report &report : result.reports)
    EXPECT_EQ(report.kind, "missing-proxy-fence") << reports(result);
}

/// Who has read that there is no work left may not ask again.
TEST(LaunchControl, NoRequestBehindOneThatFailed) {
  std::string text = takingOver("fence.proxy.async.shared::cta;");
  std::string leave = "@!%p1 bra done;";
  text.replace(text.find(leave), leave.size(), "@!%p1 bra again;");
  std::string end = "done:";
  text.replace(text.find(end), end.size(), R"(again:
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 %rd3, [full], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [full];
last:
  mbarrier.try_wait.parity.shared.b64 %p0, [full], %r5;
  @!%p0 bra last;
done:)");
  Kernel kernel(text);
  RunResult result = takeOver(kernel, 0);
  ASSERT_FALSE(result.reports.empty());
  EXPECT_EQ(result.reports.front().kind, "request-after-refusal")
      << reports(result);
}

/// As `takingOver`, by clusters of two CTAs, of which the first one asks for
/// both: `expect` lets the barrier of the other CTA expect the response,
/// `multicast` is the form of the request, and `release` the order in which
/// CTAs tell the first one that they have read it.
static std::string takingOverPairs(const std::string &expect,
                                   const std::string &multicast,
                                   const std::string &release) {
  return header() + R"(
.visible .entry k(.param .u64 out) .reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<8>; .reg .b128 %q;
  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 empty;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %cluster_ctarank;
  setp.ne.u32 %p0, %r1, 0;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
  mbarrier.init.shared.b64 [full], 1;
  mbarrier.init.shared.b64 [empty], 2;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.relaxed;
  barrier.cluster.wait;
  mov.u32 %r7, full;
  mapa.shared::cluster.u32 %r7, %r7, 1;
  mov.u32 %r8, empty;
  mapa.shared::cluster.u32 %r8, %r8, 0;
next:
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd0, %rd1;
  red.global.add.u32 [%rd2], 1;
  @%p0 bra wait;
  mbarrier.arrive.expect_tx.shared.b64 %rd3, [full], 16;
  )" + expect +
         R"(
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes)" +
         multicast + R"(.b128 [response], [full];
wait:
  mbarrier.try_wait.parity.shared.b64 %p1, [full], %r5;
  @!%p1 bra wait;
  xor.b32 %r5, %r5, 1;
  ld.shared.b128 %q, [response];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
  @!%p2 bra done;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r0, %q;
  add.u32 %r0, %r0, %r1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.)" +
         release + R"(.cluster.shared::cluster.b64 _, [%r8];
  @%p0 bra next;
read:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [empty], %r6;
  @!%p3 bra read;
  xor.b32 %r6, %r6, 1;
  bra next;
done:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)";
}

static constexpr const char *kExpect =
    "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r7], "
    "16;";
static constexpr const char *kToAll = ".multicast::cluster::all";

/// The response names the first CTA of a cluster, in both CTAs.
TEST(LaunchControl, EveryClusterIsDoneOnce) {
  Kernel kernel(takingOverPairs(kExpect, kToAll, "release"));
  for (uint64_t seed : {0, 1, 2}) {
    RunResult result = takeOver(kernel, seed);
    EXPECT_EQ(reports(result), "");
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(kernel.data<uint32_t>("out")[i], 1u) << i;
  }
}

/// Each CTA has a barrier and bytes of its own.
TEST(LaunchControl, ResponseCompletesInEachCta) {
  Kernel toOne(takingOverPairs(kExpect, "", "release"));
  EXPECT_NE(reports(takeOver(toOne, 0)).find("hang"), std::string::npos);
  Kernel unexpected(takingOverPairs("", kToAll, "release"));
  EXPECT_NE(reports(takeOver(unexpected, 0)).find("hang"), std::string::npos);
}

/// The read in the other CTA comes before the next response.
TEST(LaunchControl, ResponseOfOtherCtaIsReadBeforeTheNext) {
  Kernel kernel(takingOverPairs(kExpect, kToAll, "relaxed"));
  RunResult result = takeOver(kernel, 0);
  ASSERT_FALSE(result.reports.empty());
  EXPECT_EQ(result.reports.front().kind, "race") << reports(result);
}

TEST(Decode, UnsupportedFormsAreNamed) {
  for (const char *form :
       {"tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd0, %rd0, %r0, %p0;",
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block16 [%r0], "
        "%rd0, "
        "%rd0, %r0, [%r0], [%r0], %p0;",
        "tcgen05.cp.cta_group::1.128x256b.b8x16.b5x16 [%r0], %rd0;",
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_"
        "tx::bytes [%r0], [%rd0, {%r0, %r0, %r0}], [%r0], {%rs0};"}) {
    Kernel kernel(header() +
                  ".visible .entry k() { .reg .b32 %r<2>; .reg .b64 "
                  "%rd<2>; .reg .pred %p<2>; .reg .b16 %rs<2>;\n" +
                  form + "\nret; }");
    EXPECT_NE(kernel.error.find("unsupported instruction form"),
              std::string::npos)
        << form << "\n"
        << kernel.error;
  }
}
