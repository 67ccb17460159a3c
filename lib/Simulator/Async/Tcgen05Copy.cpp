//===- Tcgen05Copy.cpp - tcgen05.cp, .shift and .commit ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "MatrixOperand.h"
#include "Tcgen05.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

namespace {

struct CopyForm {
  unsigned ctaGroup = 1;
  unsigned rows = 0, chunks = 0; ///< Of shared memory; chunks of 16 bytes.
  /// Each chunk is 16 elements of 4 or 6 bits with padding behind them, and
  /// becomes as many bytes.
  unsigned unpackedBits = 0;
  /// Which of the 128 lanes of tensor memory receive row r.
  enum {
    Straight,
    FourRows,
    Warpx2_02_13,
    Warpx2_01_23,
    Warpx4
  } spread = Straight;

  /// Calls f(lane) for each lane that receives row r.
  template <typename F> void forEachLaneOf(unsigned r, F f) const {
    switch (spread) {
    case Straight:
      return f(r);
    case FourRows:
      return f(32 * r);
    case Warpx2_02_13:
      f(r);
      return f(r + 64);
    case Warpx2_01_23:
      f(r % 32 + r / 32 * 64);
      return f(r % 32 + r / 32 * 64 + 32);
    case Warpx4:
      for (unsigned quarter = 0; quarter < 4; ++quarter)
        f(r + 32 * quarter);
      return;
    }
  }
};

/// Makes a byte of each of a chunk's 16 elements, which stand in the byte where
/// an MMA reads them: 4 bits in the middle, 6 bits at the end.
void unpackElements(const uint8_t *from, unsigned bits, uint8_t *to) {
  for (unsigned i = 0; i < 16; ++i) {
    unsigned bit = i * bits;
    unsigned two = from[bit / 8] | unsigned(from[bit / 8 + 1]) << 8;
    unsigned element = two >> bit % 8 & ((1u << bits) - 1);
    to[i] = bits == 4 ? element << 2 : element;
  }
}

class TensorCopyOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::TensorCopy;
    constexpr unsigned chunkBytes = 16;
    result.bytes = uint64_t(form->rows) * form->chunks * chunkBytes;
    result.ctas = ctas.size();
    return result;
  }
  bool step(Cluster &cluster, Random &) override {
    for (Cta *cta : ctas) {
      TensorMemory &memory = asyncState(*cta).tensor;
      for (unsigned r = 0; r < form->rows; ++r)
        for (unsigned c = 0; c < form->chunks; ++c) {
          const uint8_t *from =
              cta->shared.data() + descriptor.chunkKMajor(r, c);
          uint8_t elements[16];
          if (form->unpackedBits) {
            unpackElements(from, form->unpackedBits, elements);
            from = elements;
          }
          form->forEachLaneOf(r, [&](unsigned lane) {
            std::memcpy(memory.row(lane) + to.column + 4 * c, from, 16);
          });
        }
    }
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }

  void announce(Exec &exec) {
    ClusterChecker *checker = exec.checker();
    if (!checker)
      return;
    agent = beginAgent(exec, *inst, lane, AgentKind::TensorPipe);
    std::vector<AccessRange> ranges;
    std::vector<TensorRange> tensor;
    for (Cta *cta : ctas)
      for (unsigned r = 0; r < form->rows; ++r) {
        for (unsigned c = 0; c < form->chunks; ++c)
          ranges.push_back({uint64_t(cta->rank) << sharedRankShift |
                                descriptor.chunkKMajor(r, c),
                            16});
        form->forEachLaneOf(r, [&](unsigned l) {
          tensor.push_back({uint16_t(cta->rank), uint16_t(l), 1,
                            uint16_t(to.column), uint16_t(4 * form->chunks)});
        });
      }
    checker->agentAccess(agent, actor(), MemSpace::Shared, AccessKind::Read,
                         Proxy::Async, ranges.data(), ranges.size());
    checker->agentTensorAccess(agent, actor(), AccessKind::Write, tensor.data(),
                               tensor.size());
  }

  const CopyForm *form = nullptr;
  MatrixDescriptor descriptor;
  TensorAddress to{};
  llvm::SmallVector<Cta *, 2> ctas;
};

} // namespace

static void issueCopy(Exec &exec, const Inst &inst, const CopyForm &form,
                      unsigned lane) {
  auto op = std::make_unique<TensorCopyOp>(exec, inst, lane);
  op->form = &form;
  std::string error;
  if (!activeGroup(exec, inst, form.ctaGroup, op->ctas))
    return;
  if (!MatrixDescriptor::parse(exec.value(inst, 1, lane), op->descriptor,
                               error)) {
    exec.report(inst, "bad-descriptor", error, lane);
    return;
  }
  op->to = TensorAddress::of(exec.value(inst, 0, lane));
  for (Cta *cta : op->ctas) {
    if (!checkTensorColumns(exec.cluster, *cta, op->actor(), op->to.column,
                            4 * form.chunks))
      return;
    for (unsigned r = 0; r < form.rows; ++r)
      for (unsigned c = 0; c < form.chunks; ++c) {
        uint32_t offset = op->descriptor.chunkKMajor(r, c);
        if (offset < sharedReservedBytes || offset + 16 > cta->sharedEnd()) {
          exec.report(inst, "out-of-bounds",
                      formatv("the descriptor covers shared {0:x}, outside of "
                              "the CTA's memory",
                              offset)
                          .str(),
                      lane);
          return;
        }
      }
  }
  op->announce(exec);
  exec.cluster.async.issue(std::move(op),
                           pipeQueue(exec.warp.threadBase + lane));
}

static Flow runCopy(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const CopyForm *>(inst.extra);
  forEachLane(exec.mask,
              [&](unsigned lane) { issueCopy(exec, inst, form, lane); });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// tcgen05.shift
//===----------------------------------------------------------------------===//

namespace {
/// Every row from the address on moves one lane down; the last one is lost
/// behind the first one's copy.
class ShiftOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::TensorCopy;
    constexpr unsigned rowBytes = 32;
    result.bytes = TensorMemory::lanes * rowBytes;
    result.ctas = ctas.size();
    return result;
  }
  bool step(Cluster &cluster, Random &) override {
    for (Cta *cta : ctas) {
      TensorMemory &memory = asyncState(*cta).tensor;
      for (unsigned l = TensorMemory::lanes - 1; l > at.lane; --l)
        std::memcpy(memory.row(l) + at.column, memory.row(l - 1) + at.column,
                    32);
    }
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }
  TensorAddress at{};
  llvm::SmallVector<Cta *, 2> ctas;
};
} // namespace

/// form: cta_group.
static Flow runShift(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    auto op = std::make_unique<ShiftOp>(exec, inst, lane);
    op->at = TensorAddress::of(exec.value(inst, 0, lane));
    if (!activeGroup(exec, inst, inst.form, op->ctas))
      return;
    if (op->at.lane % 32 || op->at.lane >= TensorMemory::lanes) {
      exec.report(inst, "misaligned",
                  "the address's lane must be a multiple of 32", lane);
      return;
    }
    std::vector<TensorRange> tensor;
    for (Cta *cta : op->ctas) {
      if (!checkTensorColumns(exec.cluster, *cta, op->actor(), op->at.column,
                              8))
        return;
      tensor.push_back({uint16_t(cta->rank), uint16_t(op->at.lane),
                        uint16_t(TensorMemory::lanes - op->at.lane),
                        uint16_t(op->at.column), 8});
    }
    if (ClusterChecker *checker = exec.checker()) {
      op->agent = beginAgent(exec, inst, lane, AgentKind::TensorPipe);
      checker->agentTensorAccess(op->agent, op->actor(), AccessKind::Atomic,
                                 tensor.data(), tensor.size());
    }
    exec.cluster.async.issue(std::move(op),
                             pipeQueue(exec.warp.threadBase + lane));
  });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// tcgen05.commit
//===----------------------------------------------------------------------===//

namespace {

/// The arrivals of a commit, which happen when everything before the commit is
/// complete.
class CommitArrival : public OpBase {
public:
  CommitArrival(const OpBase &commit, llvm::ArrayRef<uint32_t> mbarriers)
      : OpBase(commit), mbarriers(mbarriers.begin(), mbarriers.end()) {}
  AsyncWork work() const override { return {}; }
  bool step(Cluster &cluster, Random &random) override {
    unsigned i = random.below(mbarriers.size());
    cluster.arrive(mbarriers[i], 1, actor(), completionOrder());
    mbarriers.erase(mbarriers.begin() + i);
    if (!mbarriers.empty())
      return false;
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }
  llvm::SmallVector<uint32_t, 2> mbarriers;
};

/// Reaches the head of the thread's pipe when all operations before it are
/// performed; the arrival itself may come later than operations behind it.
class CommitOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::TensorCommit;
    return result;
  }
  bool step(Cluster &cluster, Random &) override {
    cluster.async.issue(std::make_unique<CommitArrival>(*this, mbarriers));
    return true;
  }
  llvm::SmallVector<uint32_t, 2> mbarriers;
};

} // namespace

/// form: cta_group; form2: multicast.
static Flow runCommit(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    auto op = std::make_unique<CommitOp>(exec, inst, lane);
    auto address = sharedAddress(exec, inst, 0, lane);
    llvm::SmallVector<Cta *, 2> ctas;
    if (!address || !activeGroup(exec, inst, inst.form, ctas))
      return;
    if (inst.form2) {
      uint32_t mask = exec.value(inst, 1, lane) & 0xFFFF;
      if (mask == 0 || mask >> exec.cluster.ctas.size()) {
        exec.report(inst, "bad-multicast-mask",
                    formatv("multicast mask {0:x} names no CTA, or one outside "
                            "of the cluster of {1}",
                            mask, exec.cluster.ctas.size())
                        .str(),
                    lane);
        return;
      }
      for (uint32_t rank = 0; rank < exec.cluster.ctas.size(); ++rank)
        if (mask >> rank & 1)
          op->mbarriers.push_back(rank << sharedRankShift |
                                  (*address & sharedOffsetMask));
    } else {
      op->mbarriers.push_back(*address);
    }
    for (uint32_t mbarrier : op->mbarriers)
      if (!exec.cluster.expectMbarrier(mbarrier, op->actor()))
        return;
    op->agent = beginAgent(exec, inst, lane, AgentKind::Commit);
    exec.cluster.async.issue(std::move(op),
                             pipeQueue(exec.warp.threadBase + lane));
  });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static bool decodeCopy(DecodeContext &context) {
  CopyForm form;
  form.ctaGroup = takeCtaGroup(context);
  if (!form.ctaGroup)
    return false;
  switch (context.takeOneOf(
      {"128x256b", "4x256b", "128x128b", "64x128b", "32x128b"})) {
  case 0:
    form.rows = 128, form.chunks = 2;
    break;
  case 1:
    form.rows = 4, form.chunks = 2, form.spread = CopyForm::FourRows;
    break;
  case 2:
    form.rows = 128, form.chunks = 1;
    break;
  case 3:
    form.rows = 64, form.chunks = 1;
    if (context.take("warpx2::02_13"))
      form.spread = CopyForm::Warpx2_02_13;
    else if (context.take("warpx2::01_23"))
      form.spread = CopyForm::Warpx2_01_23;
    else
      return context.unsupported();
    break;
  case 4:
    form.rows = 32, form.chunks = 1, form.spread = CopyForm::Warpx4;
    if (!context.take("warpx4"))
      return context.unsupported();
    break;
  default:
    return context.unsupported();
  }
  if (context.take("b8x16")) {
    int format = context.takeOneOf({"b4x16_p64", "b6x16_p32"});
    if (format < 0)
      return context.unsupported();
    form.unpackedBits = format == 0 ? 4 : 6;
  }
  context.inst.extra = context.program().keepAlive(form);
  context.inst.handler = runCopy;
  return context.addAddress(0) && context.addOperand(1, 8);
}

static bool decodeShift(DecodeContext &context) {
  context.inst.form = takeCtaGroup(context);
  if (!context.inst.form)
    return false;
  if (!context.take("down"))
    return context.unsupported();
  context.inst.handler = runShift;
  return context.addAddress(0);
}

static bool decodeCommit(DecodeContext &context) {
  context.inst.form = takeCtaGroup(context);
  if (!context.inst.form)
    return false;
  if (!context.take("mbarrier::arrive::one"))
    return context.unsupported();
  context.take("shared::cluster");
  context.inst.form2 = context.take("multicast::cluster");
  if (!context.take("b64"))
    return context.unsupported();
  context.inst.handler = runCommit;
  return context.addAddress(0) &&
         (!context.inst.form2 || context.addOperand(1, 2));
}

void fa4::sim::registerTensorCopyOpcodes(OpcodeTable &table) {
  table.add("tcgen05.cp", decodeCopy);
  table.add("tcgen05.shift", decodeShift);
  table.add("tcgen05.commit", decodeCommit);
}

void fa4::sim::registerTcgen05Opcodes(OpcodeTable &table) {
  registerTensorMemoryOpcodes(table);
  registerTensorCopyOpcodes(table);
  registerMmaOpcodes(table);
}
