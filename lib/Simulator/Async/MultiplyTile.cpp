//===- MultiplyTile.cpp - the matrix multiplication kernel ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixOperand.h"
#include <cstring>

using namespace fa4::sim;

namespace {

/// `Width` columns at a time, `Rows` rows at a time, in registers.
template <unsigned Width> struct Kernel {
  typedef float Vector __attribute__((vector_size(Width * 4), aligned(4)));

  template <unsigned Rows, unsigned Vectors>
  __attribute__((always_inline)) static void
  block(float *const *d, const float *const *a, const float *b, size_t bStride,
        unsigned column, unsigned k, bool accumulate, float scale) {
    Vector sum[Rows][Vectors];
    for (unsigned r = 0; r < Rows; ++r)
      for (unsigned v = 0; v < Vectors; ++v) {
        if (accumulate) {
          std::memcpy(&sum[r][v], d[r] + column + v * Width, Width * 4);
          sum[r][v] *= scale;
        } else {
          sum[r][v] = Vector{};
        }
      }
    for (unsigned i = 0; i < k; ++i) {
      const float *from = b + i * bStride + column;
      for (unsigned v = 0; v < Vectors; ++v) {
        Vector x;
        std::memcpy(&x, from + v * Width, Width * 4);
        for (unsigned r = 0; r < Rows; ++r)
          sum[r][v] += x * a[r][i];
      }
    }
    for (unsigned r = 0; r < Rows; ++r)
      for (unsigned v = 0; v < Vectors; ++v)
        std::memcpy(d[r] + column + v * Width, &sum[r][v], Width * 4);
  }

  template <unsigned Rows>
  __attribute__((always_inline)) static void
  rowBlock(float *const *d, const float *const *a, const float *b,
           size_t bStride, unsigned n, unsigned k, bool accumulate,
           float scale) {
    unsigned column = 0;
    for (; column + 2 * Width <= n; column += 2 * Width)
      block<Rows, 2>(d, a, b, bStride, column, k, accumulate, scale);
    for (; column + Width <= n; column += Width)
      block<Rows, 1>(d, a, b, bStride, column, k, accumulate, scale);
    for (; column < n; column += 8)
      Kernel<8>::template block<Rows, 1>(d, a, b, bStride, column, k,
                                         accumulate, scale);
  }

  __attribute__((always_inline)) static void
  run(float *const *d, const float *const *a, const float *b, size_t bStride,
      unsigned rows, unsigned n, unsigned k, bool accumulate, float scale) {
    unsigned row = 0;
    for (; row + 4 <= rows; row += 4)
      rowBlock<4>(d + row, a + row, b, bStride, n, k, accumulate, scale);
    for (; row < rows; ++row)
      rowBlock<1>(d + row, a + row, b, bStride, n, k, accumulate, scale);
  }
};

using Function = void (*)(float *const *, const float *const *, const float *,
                          size_t, unsigned, unsigned, unsigned, bool, float);

void portable(float *const *d, const float *const *a, const float *b,
              size_t bStride, unsigned rows, unsigned n, unsigned k,
              bool accumulate, float scale) {
  Kernel<8>::run(d, a, b, bStride, rows, n, k, accumulate, scale);
}

// Products of operands of at most 12 significant bits are exact in f32, so
// that fused and separate multiply-add give the same sums.
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void
avx2(float *const *d, const float *const *a, const float *b, size_t bStride,
     unsigned rows, unsigned n, unsigned k, bool accumulate, float scale) {
  Kernel<8>::run(d, a, b, bStride, rows, n, k, accumulate, scale);
}

__attribute__((target("avx512f,avx2,fma"))) void
avx512(float *const *d, const float *const *a, const float *b, size_t bStride,
       unsigned rows, unsigned n, unsigned k, bool accumulate, float scale) {
  Kernel<16>::run(d, a, b, bStride, rows, n, k, accumulate, scale);
}
#endif

Function choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return avx2;
#endif
  return portable;
}

} // namespace

void fa4::sim::multiplyTile(float *const *d, const float *const *a,
                            const float *b, size_t bStride, unsigned rows,
                            unsigned n, unsigned k, bool accumulate,
                            float scale) {
  static const Function function = choose();
  function(d, a, b, bStride, rows, n, k, accumulate, scale);
}
