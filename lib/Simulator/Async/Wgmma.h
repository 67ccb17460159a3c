//===- Wgmma.h - products of warpgroups ----------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions")
// is executed by the four warps of a warpgroup. Warp w owns rows 16 w to
// 16 w + 15 of A and D; all of them read B. The warps come to the instruction
// one after the other, and the part of each may be performed at any time after
// that; the product is complete when all four parts are, and so a wait for it
// waits for the whole warpgroup (CUTLASS's kernels let one warp of a warpgroup
// give the operands back).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_WGMMA_H
#define FA4_LIB_SIMULATOR_ASYNC_WGMMA_H

#include "AsyncState.h"
#include "MatrixOperand.h"

namespace fa4::sim {

constexpr unsigned warpgroupWarps = 4, warpgroupRows = 16;
constexpr uint8_t allWarps = (1u << warpgroupWarps) - 1;

/// A decoded wgmma.mma_async. Its operands: the registers of D, then those of A
/// or its descriptor, the descriptor of B, scale-d.
struct WgmmaForm {
  MmaShape shape;
  /// Registers of a thread. `registersA` is 0 where A is in shared memory.
  unsigned registersD = 0, registersA = 0;
  unsigned descriptorA() const { return registersD; }
  unsigned descriptorB() const {
    return registersD + (registersA ? registersA : 1);
  }
  unsigned scaleD() const { return descriptorB() + 1; }
};

/// A product in progress.
class WgmmaOp : public OpBase {
public:
  WgmmaOp(Exec &exec, const Inst &inst, const WgmmaForm &form)
      : OpBase(exec, inst, 0), form(form), program(exec.program) {}
  bool ready(Cluster &) override { return (issued & ~done) != 0; }
  bool step(Cluster &cluster, Random &) override;
  AsyncWork work() const override;

  /// The parts of A and B that warp `w` of the warpgroup reads.
  OperandRange rangeOfA(unsigned w) const {
    return {w * warpgroupRows, warpgroupRows, form.shape.k,
            form.shape.mnMajorA};
  }
  OperandRange rangeOfB() const {
    return {0, form.shape.n, form.shape.k, form.shape.mnMajorB};
  }
  Cta &cta() const { return *warp->cta; }
  /// Warp `w` of the warpgroup.
  Warp &member(unsigned w) const {
    return cta().warps[warp->index / warpgroupWarps * warpgroupWarps + w];
  }

  const WgmmaForm &form;
  MatrixDescriptor a, b;
  uint64_t bitsA = 0, bitsB = 0; ///< The descriptors as the warps gave them.
  bool accumulate = false;
  uint8_t issued = 0, done = 0; ///< By warp of the warpgroup.
  bool isValid = true;          ///< False after a finding: nothing is computed.

private:
  const uint32_t *lanesOf(unsigned w, unsigned operand) const;
  void performParts(unsigned parts) const;
  /// Makes the parts of D zeros, as a product of zeros does.
  void clearParts(unsigned parts) const;
  void multiplyParts(unsigned parts, const float *b, float *d) const;
  void unpackRegistersA(unsigned w, float *out) const;
  void loadD(unsigned w, float *d) const;
  void storeD(unsigned w, const float *d) const;

  const Program &program;
};

/// The warp's last lanes exit: reports what it has begun and not waited for,
/// and what the rest of its warpgroup has executed and it has not.
void checkWarpgroupExit(Exec &exec, const Inst &inst);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_WGMMA_H
