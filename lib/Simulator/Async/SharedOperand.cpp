//===- SharedOperand.cpp - where an MMA reads shared memory --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedOperand.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

bool fa4::sim::checkOperand(Exec &exec, const Inst &inst, unsigned lane,
                            llvm::ArrayRef<Cta *> ctas,
                            const MatrixDescriptor &descriptor,
                            const OperandRange &range, const char *name) {
  uint32_t low = ~0u, high = 0;
  forEachChunk(descriptor, range, [&](unsigned, unsigned, uint32_t offset) {
    low = std::min(low, offset);
    high = std::max(high, offset + 16);
  });
  for (Cta *cta : ctas)
    if (low < sharedReservedBytes || high > cta->sharedEnd()) {
      exec.report(inst, "out-of-bounds",
                  formatv("the descriptor of {0} covers shared [{1:x}, {2:x}), "
                          "outside of the CTA's memory",
                          name, low, high)
                      .str(),
                  lane);
      return false;
    }
  return true;
}

void fa4::sim::addRanges(const Cta &cta, const MatrixDescriptor &descriptor,
                         const OperandRange &range,
                         std::vector<AccessRange> &ranges) {
  forEachChunk(descriptor, range, [&](unsigned, unsigned, uint32_t offset) {
    uint64_t address = uint64_t(cta.rank) << sharedRankShift | offset;
    if (!ranges.empty() &&
        ranges.back().address + ranges.back().bytes == address)
      ranges.back().bytes += 16;
    else
      ranges.push_back({address, 16});
  });
}
