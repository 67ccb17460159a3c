//===- BulkOps.h - operations of bulk and tensor copies ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is performed in pieces, in any order: each piece's bytes are written
// and then completed on its mbarrier. Copies that join a bulk group first read
// their whole source, then write.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_BULKOPS_H
#define FA4_LIB_SIMULATOR_ASYNC_BULKOPS_H

#include "AsyncState.h"
#include "Reduce.h"

namespace fa4::sim {

/// The target of a load: the shared addresses of its data and its mbarrier.
struct LoadTarget {
  uint32_t data, mbarrier;
};

/// Hands out (target, piece) pairs in random order.
class PieceOrder {
public:
  void start(unsigned targets, unsigned pieces) {
    for (unsigned t = 0; t < targets; ++t)
      for (unsigned p = 0; p < pieces; ++p)
        left.push_back({t, p});
    started = true;
  }
  bool isStarted() const { return started; }
  bool empty() const { return left.empty(); }
  std::pair<unsigned, unsigned> take(Random &random) {
    unsigned i = random.below(left.size());
    auto piece = left[i];
    left[i] = left.back();
    left.pop_back();
    return piece;
  }

private:
  llvm::SmallVector<std::pair<unsigned, unsigned>, 8> left;
  bool started = false;
};

/// Determines the targets of a load: one, or one in each CTA of a multicast
/// mask. `ctaGroup` is 0 if the form has none. Reports addresses that the ISA
/// forbids and returns false.
bool loadTargets(Exec &exec, const Inst &inst, unsigned lane, uint32_t data,
                 uint32_t mbarrier, bool multicast, uint32_t mask,
                 unsigned ctaGroup, llvm::SmallVectorImpl<LoadTarget> &targets);

/// Makes an operation a member of its thread's open group.
struct GroupMember {
  Cta *cta = nullptr;
  uint32_t thread = 0;
  uint64_t group = 0;
  void join(Exec &exec, unsigned lane);
  void readDone(Cluster &cluster);
  void writeDone(Cluster &cluster);
};

/// Completion of an asynchronous operation on an mbarrier.
inline SyncOrder completionOrder() {
  return {Semantics::Release, Scope::Cluster};
}

void registerBulkTensorOpcodes(OpcodeTable &table);
void registerCpAsyncOpcodes(OpcodeTable &table);
void registerStoreAsyncOpcodes(OpcodeTable &table);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_BULKOPS_H
