//===- MatrixOperand.h - descriptors and operands of MMAs ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_MATRIXOPERAND_H
#define FA4_LIB_SIMULATOR_ASYNC_MATRIXOPERAND_H

#include "Swizzle.h"
#include "fa4/Simulator/Machine/Timer.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace fa4::sim {

/// The last three scale blocks of A and B (PTX ISA, "Block Scaling").
enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MxF8F6F4,
  MxF4,
  MxF4NvF4
};

/// The element types of A and B.
enum class MmaType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  U8,
  S8,
  B1,
  E2M1Pairs ///< Two a byte, where E2M1 has one of each kind::f8f6f4's bytes.
};

/// Formats of scale factors.
enum class ScaleType : uint8_t { UE8M0, UE4M3 };

/// Shared-memory matrix descriptor (PTX ISA, "Shared memory descriptor").
struct MatrixDescriptor {
  uint32_t start = 0;               ///< Byte offset in the CTA's shared window.
  uint32_t leading = 0, stride = 0; ///< LBO and SBO, bytes.
  uint32_t baseOffset = 0;          ///< 0..7, rows of 128 bytes.
  /// What of a K-major row lies behind its 128 bytes goes on at `leading`, an
  /// address in the window, too.
  bool continues = false;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;

  /// Parses a descriptor of tcgen05. Fails with a message on reserved or
  /// unsupported bits.
  static bool parse(uint64_t bits, MatrixDescriptor &result,
                    std::string &error);
  /// Parses a descriptor of wgmma, which has the same offsets and other codes
  /// of the swizzling mode (PTX ISA, "Matrix Descriptor Format" of wgmma).
  static bool parseWgmma(uint64_t bits, MatrixDescriptor &result,
                         std::string &error);

  /// Shared offset of a 16-byte chunk. K-major: of row `mn`, chunk `k` along K.
  uint32_t chunkKMajor(uint32_t mn, uint32_t k) const;
  /// MN-major: of chunk `mn` along M or N, at element `k` of K.
  uint32_t chunkMnMajor(uint32_t mn, uint32_t k) const;

private:
  uint32_t swizzled(uint32_t address) const;
  uint32_t span() const; ///< Bytes of the swizzle pattern's rows; 16: none.
  void parseOffsets(uint64_t bits);
};

/// The elements of A or B that one instruction reads: `rows` along M or N from
/// `first` on, `k` along K, which are `chunks` times 16 bytes.
struct OperandRange {
  unsigned first, rows, k;
  bool mnMajor;
  unsigned chunks = 2;
  unsigned elementsPerChunk() const { return k / chunks; }
};

/// All 16-byte chunks of an operand: f(mn, k, shared offset); mn (relative to
/// `first`) and k of the chunk's first element.
template <typename F>
void forEachChunk(const MatrixDescriptor &descriptor, const OperandRange &range,
                  F f) {
  unsigned t = range.elementsPerChunk();
  if (!range.mnMajor) {
    for (unsigned mn = 0; mn < range.rows; ++mn)
      for (unsigned c = 0; c < range.chunks; ++c)
        f(mn, c * t, descriptor.chunkKMajor(range.first + mn, c));
    return;
  }
  for (unsigned k = 0; k < range.k; ++k)
    for (unsigned c = 0; c * t < range.rows; ++c)
      f(c * t, k, descriptor.chunkMnMajor(range.first / t + c, k));
}

/// Instruction descriptor (PTX ISA, "Instruction descriptor").
struct MmaShape {
  MmaKind kind = MmaKind::F16;
  MmaType a = MmaType::F16, b = MmaType::F16;
  bool f16Accumulator = false, saturate = false;
  bool negateA = false, negateB = false;
  bool mnMajorA = false, mnMajorB = false;
  uint32_t m = 0, n = 0, k = 0;
  unsigned chunks = 2; ///< Of 16 bytes along K.
  ScaleType scaleType = ScaleType::UE8M0;
  /// Of kinds that scale blocks: the byte of a word of tensor memory in which
  /// the scale factors of a row begin.
  unsigned scaleIdA = 0, scaleIdB = 0;

  static bool parse(MmaKind kind, uint32_t bits, unsigned ctaGroup,
                    MmaShape &result, std::string &error);
  unsigned elementsPerChunk() const { return k / chunks; }
  bool scalesBlocks() const { return kind >= MmaKind::MxF8F6F4; }
};

/// Elements of one 16-byte chunk as f32 (integers and bits too, up to
/// maxChunkElements); `packed`: 6- and 4-bit elements stand packed at the
/// chunk's start, as in shared memory, instead of one a byte, as in tensor
/// memory.
void unpackChunk(const uint8_t *chunk, MmaType type, bool packed, float *out);
constexpr unsigned maxChunkElements = 128;

/// Unpacks an operand from shared memory (bytes up to `end`; what lies outside
/// reads as zeros). Element (mn, k) goes to out[mn * stride + k], and with
/// `transposed` to out[k * stride + mn].
void unpackShared(const uint8_t *shared, uint32_t end,
                  const MatrixDescriptor &descriptor, const OperandRange &range,
                  MmaType type, bool transposed, unsigned stride, float *out);

/// What a product of that shape asks of the tensor cores.
AsyncWork productWork(AsyncWork::Kind kind, const MmaShape &shape,
                      bool sharedA);

/// D[row][0..n) = scale * D[row][...] (or 0) + A[row][k] * B[k][...]; rows are
/// pointers. `b` has rows of `bStride` floats, 64-byte aligned; n % 8 == 0.
/// Sums in order of k, in f32.
void multiplyTile(float *const *d, const float *const *a, const float *b,
                  size_t bStride, unsigned rows, unsigned n, unsigned k,
                  bool accumulate, float scale);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_MATRIXOPERAND_H
