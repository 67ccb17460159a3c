//===- WgmmaProduct.cpp - the arithmetic of wgmma.mma_async --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product reads its operands, registers included, when it is performed:
// whatever has become of them since the instruction was executed is what it
// gets. Numbers are those of tcgen05.mma: exact products, summed in order of k
// in f32 onto the accumulator.
//
//===----------------------------------------------------------------------===//

#include "../Machine/Numeric.h"
#include "Wgmma.h"
#include <cmath>

using namespace fa4::sim;

namespace {
constexpr unsigned maxN = 256, maxK = 256;
constexpr unsigned maxRows = warpgroupWarps * warpgroupRows;

/// The row (of a warp's 16) and column of D that element `half` (0 or 1) of
/// pair `pair` has in a lane: pairs come in twos, of rows 8 apart, for each 8
/// columns (PTX ISA, figure of the accumulator D of wgmma).
struct Place {
  unsigned row, column;
};
Place placeOfD(unsigned lane, unsigned pair, unsigned half) {
  return {lane / 4 + pair % 2 * 8, pair / 2 * 8 + lane % 4 * 2 + half};
}
} // namespace

const uint32_t *WgmmaOp::lanesOf(unsigned w, unsigned operand) const {
  const Operand &op = program.slots[inst->firstOperand + operand];
  return reinterpret_cast<const uint32_t *>(member(w).registers + op.offset);
}

/// A from registers: register r of a lane holds k/8 neighbours along K, of row
/// lane / 4 + 8 (r % 2), from (lane % 4) k/8 + (r / 2) k/2 on.
void WgmmaOp::unpackRegistersA(unsigned w, float *out) const {
  unsigned k = form.shape.k, count = k / 8;
  for (unsigned r = 0; r < form.registersA; ++r) {
    const uint32_t *lanes = lanesOf(w, form.registersD + r);
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint8_t chunk[16] = {};
      float values[maxChunkElements];
      std::memcpy(chunk, &lanes[lane], 4);
      unpackChunk(chunk, form.shape.a, true, values);
      unsigned row = lane / 4 + r % 2 * 8;
      unsigned first = lane % 4 * count + r / 2 * (k / 2);
      std::copy(values, values + count, out + row * maxK + first);
    }
  }
}

void WgmmaOp::loadD(unsigned w, float *d) const {
  for (unsigned pair = 0; pair < form.shape.n / 4; ++pair)
    for (unsigned half = 0; half < 2; ++half) {
      const uint32_t *lanes =
          lanesOf(w, form.shape.f16Accumulator ? pair : 2 * pair + half);
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        Place at = placeOfD(lane, pair, half);
        d[at.row * maxN + at.column] =
            form.shape.f16Accumulator
                ? fromF16(uint16_t(lanes[lane] >> 16 * half))
                : bitCast<float>(lanes[lane]);
      }
    }
}

void WgmmaOp::storeD(unsigned w, const float *d) const {
  const MmaShape &shape = form.shape;
  for (unsigned pair = 0; pair < shape.n / 4; ++pair)
    for (unsigned half = 0; half < 2; ++half) {
      auto *lanes = const_cast<uint32_t *>(
          lanesOf(w, shape.f16Accumulator ? pair : 2 * pair + half));
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        Place at = placeOfD(lane, pair, half);
        float value = d[at.row * maxN + at.column];
        if (shape.f16Accumulator) {
          uint32_t kept = lanes[lane] & (half ? 0xFFFFu : 0xFFFF0000u);
          lanes[lane] = kept | uint32_t(toF16(value)) << 16 * half;
        } else if (shape.kind == MmaKind::I8) {
          // The sum of one instruction is exact in f32.
          int64_t sum =
              int64_t(value) + (accumulate ? int32_t(lanes[lane]) : 0);
          if (shape.saturate)
            sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
          lanes[lane] = uint32_t(sum);
        } else {
          lanes[lane] = bitCast<uint32_t>(value);
        }
      }
    }
}

void WgmmaOp::multiplyParts(unsigned parts, const float *columns,
                            float *d) const {
  const MmaShape &shape = form.shape;
  bool addInto = accumulate && shape.kind != MmaKind::I8;
  alignas(64) thread_local float rowsOfA[maxRows * maxK];
  float *rows[maxRows];
  const float *rowsA[maxRows];
  unsigned count = 0;
  for (unsigned w = 0; w < warpgroupWarps; ++w) {
    if (!(parts >> w & 1))
      continue;
    float *to = &rowsOfA[w * warpgroupRows * maxK];
    if (form.registersA)
      unpackRegistersA(w, to);
    else
      unpackShared(cta().shared.data(), cta().sharedEnd(), a, rangeOfA(w),
                   shape.a, false, maxK, to);
    float *tile = d + w * warpgroupRows * maxN;
    if (addInto)
      loadD(w, tile);
    for (unsigned r = 0; r < warpgroupRows; ++r) {
      rows[count] = tile + r * maxN;
      rowsA[count++] = to + r * maxK;
    }
  }
  multiplyTile(rows, rowsA, columns, maxN, count, shape.n, shape.k, addInto,
               1.0f);
}

void WgmmaOp::performParts(unsigned parts) const {
  const MmaShape &shape = form.shape;
  alignas(64) thread_local float columns[maxK * maxN];
  alignas(64) thread_local float d[maxRows * maxN];
  unpackShared(cta().shared.data(), cta().sharedEnd(), b, rangeOfB(), shape.b,
               true, maxN, columns);
  if (shape.negateA != shape.negateB)
    for (unsigned i = 0; i < shape.k * maxN; ++i)
      columns[i] = -columns[i];
  multiplyParts(parts, columns, d);
  for (unsigned w = 0; w < warpgroupWarps; ++w)
    if (parts >> w & 1)
      storeD(w, d + w * warpgroupRows * maxN);
}

void WgmmaOp::clearParts(unsigned parts) const {
  for (unsigned w = 0; w < warpgroupWarps; ++w)
    for (unsigned r = 0; parts >> w & 1 && r < form.registersD; ++r)
      std::fill_n(const_cast<uint32_t *>(lanesOf(w, r)), warpSize, 0);
}

AsyncWork WgmmaOp::work() const {
  return productWork(AsyncWork::Wgmma, form.shape, !form.registersA);
}

bool WgmmaOp::step(Cluster &cluster, Random &) {
  unsigned parts = issued & ~done;
  if (isValid && cluster.grid.options.skipProducts)
    clearParts(accumulate ? 0 : parts);
  else if (isValid)
    performParts(parts);
  done |= parts;
  if (done != allWarps)
    return false;
  cluster.stats.mmaInstructions += 1;
  cluster.stats.mmaFlops += 2ull * form.shape.m * form.shape.n * form.shape.k;
  WarpgroupState &group =
      asyncState(cta()).warpgroups[warp->index / warpgroupWarps];
  group.inFlight.pop_front();
  ++group.completed;
  return true;
}
