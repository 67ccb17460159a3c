//===- naive_attention.c - a slow attention kernel ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread for each row of queries, in plain C: the tests of the correctness
// grid compile it where they need kernels but no compiler of attention.
// HEAD_DIM, CAUSAL (0, or 1: bottom right, 2: top left) and F16 are defined on
// the command line; so is MISTAKE, which makes it wrong in one way.
//
//===----------------------------------------------------------------------===//

#define NO_MISTAKE 0
#define WRONG_HEAD 1
#define LATE_MAX 2
#define RACE 3
#ifndef MISTAKE
#define MISTAKE NO_MISTAKE
#endif

#if F16
typedef _Float16 Element;
static float toFloat(Element x) { return (float)x; }
static Element fromFloat(float x) { return (Element)x; }
#else
typedef unsigned short Element;
static float toFloat(Element x) {
  return __builtin_bit_cast(float, (unsigned)x << 16);
}
static Element fromFloat(float x) {
  unsigned bits = __builtin_bit_cast(unsigned, x);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#endif

#define GLOBAL __attribute__((address_space(1)))

__attribute__((device_kernel)) void
KERNEL(GLOBAL const Element *q, GLOBAL const Element *k,
       GLOBAL const Element *v, GLOBAL Element *out, GLOBAL float *lse, int Sq,
       int Sk, int Hq, int Hkv, int qToken, int qHead, int kToken, int kHead,
       float scale) {
  int row = __nvvm_read_ptx_sreg_ctaid_x() * 128 + __nvvm_read_ptx_sreg_tid_x();
  int head = __nvvm_read_ptx_sreg_ctaid_y(),
      batch = __nvvm_read_ptx_sreg_ctaid_z();
  if (row >= Sq)
    return;
  int group = MISTAKE == WRONG_HEAD ? head % Hkv : head / (Hq / Hkv);
  long mine = (long)batch * Sq * Hq * HEAD_DIM + (long)row * qToken +
              (long)head * qHead;
  long keys = (long)batch * Sk * Hkv * HEAD_DIM + (long)group * kHead;
  int end = Sk;
  if (CAUSAL) {
    int last = row + (CAUSAL == 1 ? Sk - Sq : 0);
    end = last + 1 < Sk ? last + 1 : Sk;
  }
  float max = -__builtin_inff(), sum = 0, sums[HEAD_DIM];
#pragma unroll
  for (int d = 0; d < HEAD_DIM; ++d)
    sums[d] = 0;
#pragma nounroll
  for (int j = 0; j < end; ++j) {
    float score = 0;
#pragma unroll
    for (int d = 0; d < HEAD_DIM; ++d)
      score += toFloat(q[mine + d]) * toFloat(k[keys + (long)j * kToken + d]);
    score *= scale;
    // The first score as the max: the sums overflow where others are larger.
    float next =
        MISTAKE == LATE_MAX && j > 0 ? max : __builtin_fmaxf(max, score);
    float old = __nvvm_ex2_approx_ftz_f(1.44269504f * (max - next));
    float p = __nvvm_ex2_approx_ftz_f(1.44269504f * (score - next));
    max = next;
    sum = sum * old + p;
#pragma unroll
    for (int d = 0; d < HEAD_DIM; ++d)
      sums[d] = sums[d] * old + p * toFloat(v[keys + (long)j * kToken + d]);
  }
  float factor = sum > 0 ? 1 / sum : 0;
#pragma unroll
  for (int d = 0; d < HEAD_DIM; ++d)
    out[mine + d] = fromFloat(sums[d] * factor);
  long at = ((long)batch * Hq + head) * Sq + row;
  lse[MISTAKE == RACE ? at / 2 : at] =
      max + 0.693147181f * __nvvm_lg2_approx_ftz_f(sum);
}
