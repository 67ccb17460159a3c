//===- Tcgen05Memory.cpp - tcgen05.alloc, .ld, .st, .wait, .fence --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

unsigned fa4::sim::takeCtaGroup(DecodeContext &context) {
  unsigned group = context.takeOneOf({"cta_group::1", "cta_group::2"}) + 1;
  if (!group) {
    context.unsupported();
    return 0;
  }
  // PTX ISA, tcgen05: all of a kernel have the same value. A commit of another
  // group would wait for none of the MMAs.
  unsigned &known = context.ctaGroup();
  if (known && known != group) {
    context.error(llvm::Twine(".cta_group::") + llvm::Twine(group) +
                  " in a function whose earlier tcgen05 instructions have "
                  ".cta_group::" +
                  llvm::Twine(known));
    return 0;
  }
  return known = group;
}

bool fa4::sim::tensorGroup(Exec &exec, const Inst &inst, unsigned ctaGroup,
                           llvm::SmallVectorImpl<Cta *> &ctas) {
  if (ctaGroup == 1) {
    ctas.push_back(&exec.cta);
    return true;
  }
  uint32_t even = exec.cta.rank & ~1u;
  if (even + 1 >= exec.cluster.ctas.size()) {
    exec.report(inst, "no-cta-pair",
                "cta_group::2 in a CTA without a peer in its cluster");
    return false;
  }
  ctas.push_back(&exec.cluster.ctas[even]);
  ctas.push_back(&exec.cluster.ctas[even + 1]);
  return true;
}

bool fa4::sim::activeGroup(Exec &exec, const Inst &inst, unsigned ctaGroup,
                           llvm::SmallVectorImpl<Cta *> &ctas) {
  if (!tensorGroup(exec, inst, ctaGroup, ctas))
    return false;
  for (Cta *cta : ctas)
    if (cta->liveThreads == 0) {
      exec.report(inst, "no-cta-pair",
                  "cta_group::2 in a CTA whose peer has exited: something that "
                  "keeps the peer until then (a cluster barrier before its "
                  "exit) is missing");
      return false;
    }
  return true;
}

bool fa4::sim::checkTensorColumns(Cluster &cluster, Cta &cta,
                                  const Actor &actor, uint32_t column,
                                  uint32_t columns) {
  TensorMemory &memory = asyncState(cta).tensor;
  if (column + columns > TensorMemory::columns) {
    cluster.report("out-of-bounds",
                   formatv("tensor memory columns [{0}, {1}) are outside of "
                           "0..511",
                           column, column + columns)
                       .str(),
                   actor);
    return false;
  }
  for (uint32_t i = 0; i < columns; ++i)
    if (!memory.allocated[column + i]) {
      cluster.report("tmem-not-allocated",
                     formatv("tensor memory column {0} of CTA rank {1} is not "
                             "allocated (access to columns [{2}, {3}))",
                             column + i, cta.rank, column, column + columns)
                         .str(),
                     actor);
      // Its contents are still there: whoever allows the finding sees them.
      return true;
    }
  return true;
}

/// Checks the rules for an allocation and reports the first that is broken.
static bool checkAlloc(Exec &exec, const Inst &inst, unsigned group,
                       uint32_t columns) {
  const TensorMemory &memory = asyncState(exec.cta).tensor;
  auto fail = [&](llvm::StringRef kind, const llvm::Twine &message) {
    exec.report(inst, kind, message);
    return false;
  };
  if (columns < 32 || columns > 512 || (columns & (columns - 1)))
    return fail("tmem-bad-size", llvm::Twine(columns) +
                                     " columns are not a power of two in "
                                     "32..512");
  if (memory.lastAllocation && columns > memory.lastAllocation)
    return fail("tmem-bad-size",
                llvm::Twine(columns) + " columns are more than the " +
                    llvm::Twine(memory.lastAllocation) +
                    " of the CTA's allocation before: sizes must not increase");
  if (memory.relinquished)
    return fail("tmem-alloc-after-relinquish",
                "the CTA has given up its permit to allocate");
  for (const auto &[base, block] : memory.blocks)
    if (block.ctaGroup != group)
      return fail("mixed-cta-group", "a kernel must use one cta_group for all "
                                     "of its allocations");
  return true;
}

/// Allocates in all CTAs of the group once each has asked and has room; false
/// before that.
static bool allocateTogether(Exec &exec, llvm::ArrayRef<Cta *> ctas,
                             uint32_t columns, unsigned group) {
  for (Cta *cta : ctas) {
    AsyncState &state = asyncState(*cta);
    if (state.allocRequest == 0 || !state.tensor.findFree(columns))
      return false;
  }
  for (Cta *cta : ctas) {
    AsyncState &state = asyncState(*cta);
    uint32_t base = *state.tensor.findFree(columns);
    for (uint32_t i = 0; i < columns; ++i)
      state.tensor.allocated.set(base + i);
    state.tensor.blocks[base] = {columns, state.allocInst, group,
                                 state.allocWarp};
    state.tensor.lastAllocation = columns;
    state.allocBase = base;
    state.allocDone = true;
    state.allocRequest = 0;
    if (ClusterChecker *checker = exec.checker())
      checker->tensorAlloc(cta->warps[state.allocWarp], *state.allocInst, *cta,
                           base, columns);
  }
  exec.cluster.advance();
  return true;
}

/// Stores the address in shared memory, as an access of the whole warp.
static void storeAddress(Exec &exec, const Inst &inst, uint32_t address,
                         uint8_t *to, uint32_t base) {
  std::memcpy(to, &base, 4);
  ClusterChecker *checker = exec.checker();
  if (!checker)
    return;
  unsigned lane = __builtin_ctz(exec.mask);
  uint64_t addresses[warpSize] = {};
  addresses[lane] = address;
  checker->access({&exec.warp,
                   &inst,
                   LaneMask(1) << lane,
                   MemSpace::Shared,
                   AccessKind::Write,
                   4,
                   addresses,
                   {Semantics::Weak, Scope::Cta}});
  checker->warpSync(exec.warp, inst, exec.mask);
}

/// form: cta_group.
static Flow runAlloc(Exec &exec, const Inst &inst) {
  unsigned group = inst.form;
  unsigned lane = __builtin_ctz(exec.mask);
  uint32_t columns = exec.value(inst, 1, lane);
  auto address = sharedAddress(exec, inst, 0, lane, AddressSpace::OwnShared);
  llvm::SmallVector<Cta *, 2> ctas;
  if (!address || !tensorGroup(exec, inst, group, ctas))
    return Flow::Next;
  uint8_t *to = checkShared(exec, inst, lane, *address, 4, 4, "destination");
  AsyncState &own = asyncState(exec.cta);
  if (!to || (!exec.frag->arrived && !checkAlloc(exec, inst, group, columns)))
    return Flow::Next;
  BlockReason reason;
  reason.kind = BlockReason::TensorAlloc;
  reason.value = columns;
  // A pair of CTAs allocates together, so the first warp waits for the peer's.
  if (!exec.frag->arrived) {
    if (own.allocRequest || own.allocDone) // Another warp's turn.
      return exec.block(reason);
    own.allocRequest = columns;
    own.allocInst = &inst;
    own.allocWarp = exec.warp.index;
    exec.frag->arrived = true;
    exec.cluster.advance();
  }
  // Where this allocation is done, the peer may have asked for its next one.
  for (Cta *cta : ctas) {
    uint32_t other = asyncState(*cta).allocRequest;
    if (!other || other == columns || own.allocDone)
      continue;
    exec.report(inst, "tmem-bad-size",
                "the two CTAs of the pair allocate different sizes");
    exec.frag->arrived = false;
    return Flow::Next;
  }
  if (!own.allocDone && !allocateTogether(exec, ctas, columns, group))
    return exec.block(reason);
  own.allocDone = false;
  exec.frag->arrived = false;
  storeAddress(exec, inst, *address, to, own.allocBase);
  return Flow::Next;
}

/// Frees the columns of a CTA.
static void freeColumns(Cta &cta, uint32_t column, uint32_t columns) {
  TensorMemory &memory = asyncState(cta).tensor;
  for (uint32_t i = 0; i < columns; ++i)
    memory.allocated.reset(column + i);
  memory.blocks.erase(column);
}

/// One CTA's half of a pair's tcgen05.dealloc: true when both have come. Who
/// comes second frees the columns in both.
static bool deallocTogether(Exec &exec, const Inst &inst, uint32_t column,
                            uint32_t columns) {
  Cta &peerCta = exec.cluster.ctas[exec.cta.rank ^ 1];
  AsyncState &own = asyncState(exec.cta), &peer = asyncState(peerCta);
  if (exec.frag->arrived) {
    if (own.frees[column])
      return false;
    own.frees.erase(column);
    exec.frag->arrived = false;
    return true;
  }
  auto request = peer.frees.find(column);
  if (request == peer.frees.end() || !request->second) {
    own.frees[column] = columns;
    exec.frag->arrived = true;
    return false;
  }
  if (request->second != columns)
    exec.report(inst, "tmem-bad-free",
                formatv("this CTA frees {0} columns from column {1}, and its "
                        "peer {2}",
                        columns, column, request->second)
                    .str());
  freeColumns(exec.cta, column, columns);
  freeColumns(peerCta, column, request->second);
  request->second = 0;
  return true;
}

/// form: cta_group.
static Flow runDealloc(Exec &exec, const Inst &inst) {
  unsigned lane = __builtin_ctz(exec.mask);
  TensorAddress address = TensorAddress::of(exec.value(inst, 0, lane));
  uint32_t columns = exec.value(inst, 1, lane);
  llvm::SmallVector<Cta *, 2> ctas;
  if (!tensorGroup(exec, inst, inst.form, ctas))
    return Flow::Next;
  BlockReason reason;
  reason.kind = BlockReason::Other;
  reason.text = "the tcgen05.dealloc of the peer CTA";
  auto freed = [&] {
    exec.cluster.advance();
    return Flow::Next;
  };
  if (exec.frag->arrived)
    return deallocTogether(exec, inst, address.column, columns)
               ? freed()
               : exec.block(reason);
  TensorMemory &memory = asyncState(exec.cta).tensor;
  auto block = memory.blocks.find(address.column);
  if (address.lane != 0 || block == memory.blocks.end() ||
      block->second.columns != columns) {
    exec.report(inst, "tmem-bad-free",
                formatv("columns [{0}, {1}) were not allocated in one piece",
                        address.column, address.column + columns)
                    .str());
    return Flow::Next;
  }
  if (block->second.ctaGroup != inst.form)
    exec.report(inst, "mixed-cta-group", "allocated with the other .cta_group");
  // Either warp of a pair may free the columns in both CTAs.
  if (ClusterChecker *checker = exec.checker())
    for (Cta *cta : ctas)
      checker->tensorDealloc(exec.warp, inst, *cta, address.column, columns);
  if (inst.form == 1)
    freeColumns(exec.cta, address.column, columns);
  else if (!deallocTogether(exec, inst, address.column, columns))
    return exec.block(reason);
  return freed();
}

/// form: cta_group. The warps of a pair may wait for each other.
static Flow runRelinquish(Exec &exec, const Inst &inst) {
  llvm::SmallVector<Cta *, 2> ctas;
  TensorMemory &memory = asyncState(exec.cta).tensor;
  if (!memory.relinquished)
    exec.cluster.advance();
  memory.relinquished = true;
  if (!tensorGroup(exec, inst, inst.form, ctas) ||
      llvm::all_of(
          ctas, [](Cta *cta) { return asyncState(*cta).tensor.relinquished; }))
    return Flow::Next;
  BlockReason reason;
  reason.kind = BlockReason::Other;
  reason.text = "the tcgen05.relinquish_alloc_permit of the peer CTA";
  return exec.block(reason);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

TensorCell fa4::sim::tensorCell(TensorShape shape, unsigned t, unsigned reg,
                                unsigned split) {
  switch (shape) {
  case TensorShape::S32x32b:
    return {t, reg};
  case TensorShape::S16x64b:
    return {t / 4 + 8 * (t % 2), t / 2 % 2 + 2 * reg};
  case TensorShape::S16x128b:
    return {t / 4 + 8 * (reg % 2), t % 4 + 4 * (reg / 2)};
  case TensorShape::S16x256b:
    return {t / 4 + 8 * (reg / 2 % 2), 8 * (reg / 4) + 2 * (t % 4) + reg % 2};
  case TensorShape::S16x32bx2:
    return {t % 16, t < 16 ? reg : split + reg};
  }
  return {0, 0};
}

unsigned fa4::sim::tensorRegisters(TensorShape shape, unsigned repeat) {
  switch (shape) {
  case TensorShape::S16x128b:
    return 2 * repeat;
  case TensorShape::S16x256b:
    return 4 * repeat;
  default:
    return repeat;
  }
}

namespace {

struct LoadStoreForm {
  TensorShape shape;
  bool packed = false; ///< .pack::16b or .unpack::16b.
  uint32_t split = 0;
  unsigned registers = 0, firstRegister = 0, address = 0;
  uint32_t columns = 0;          ///< That the whole access spans.
  std::vector<TensorCell> cells; ///< By thread * registers + register.
  /// Register r of thread t is column r of row t, and there are whole squares
  /// of four of both.
  bool inSquares = false;
};

/// The values of a warp's tcgen05.st on their way to tensor memory.
/// Writes to row i, column r what column i, row r of a square has.
static void transposeSquare(const uint32_t *const from[4],
                            uint32_t *const to[4]) {
  using Vector = uint32_t __attribute__((vector_size(16)));
  Vector in[4];
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(&in[i], from[i], sizeof(Vector));
  Vector low0 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  Vector high0 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  Vector low2 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  Vector high2 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  Vector out[4] = {__builtin_shufflevector(low0, low2, 0, 1, 4, 5),
                   __builtin_shufflevector(low0, low2, 2, 3, 6, 7),
                   __builtin_shufflevector(high0, high2, 0, 1, 4, 5),
                   __builtin_shufflevector(high0, high2, 2, 3, 6, 7)};
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(to[i], &out[i], sizeof(Vector));
}

class TensorStoreOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::TensorStore;
    result.bytes = values.size() * sizeof(uint32_t);
    return result;
  }
  bool step(Cluster &cluster, Random &) override {
    TensorMemory &memory = asyncState(*warp->cta).tensor;
    if (form->inSquares)
      storeSquares(memory);
    else
      storeCells(memory);
    --asyncState(*warp->cta).pendingStores[warp->index];
    cluster.advance();
    return true;
  }

private:
  void storeSquares(TensorMemory &memory) const {
    const uint32_t *from[4];
    uint32_t *to[4];
    for (unsigned t = 0; t < warpSize; t += 4)
      for (unsigned r = 0; r < form->registers; r += 4) {
        for (unsigned i = 0; i < 4; ++i) {
          from[i] = &values[(r + i) * warpSize + t];
          to[i] = memory.row(base.lane + t + i) + base.column + r;
        }
        transposeSquare(from, to);
      }
  }
  void storeCells(TensorMemory &memory) const {
    unsigned width = form->packed ? 2 : 1;
    for (unsigned r = 0; r < form->registers; ++r)
      for (unsigned t = 0; t < warpSize; ++t) {
        TensorCell cell = form->cells[t * form->registers + r];
        uint32_t *to = memory.row(base.lane + cell.row) + base.column +
                       cell.column * width;
        uint32_t value = values[r * warpSize + t];
        if (form->packed) {
          // Each half goes to the low half of a column of its own.
          to[0] = value & 0xFFFF;
          to[1] = value >> 16;
        } else {
          to[0] = value;
        }
      }
  }

public:
  const LoadStoreForm *form = nullptr;
  TensorAddress base{};
  std::vector<uint32_t> values;
};

} // namespace

/// The address operand, the same in all lanes, in the warp's lanes.
static bool readAddress(Exec &exec, const Inst &inst, const LoadStoreForm &form,
                        TensorAddress &address) {
  uint32_t bits = exec.value(inst, form.address, __builtin_ctz(exec.mask));
  bool same = true;
  forEachLane(exec.mask, [&](unsigned lane) {
    same &= uint32_t(exec.value(inst, form.address, lane)) == bits;
  });
  if (!same) {
    exec.report(inst, "divergent-operand",
                "the address differs between the lanes of the warp");
    return false;
  }
  address = TensorAddress::of(bits);
  uint32_t quarter = exec.warp.index % 4 * 32;
  bool half = form.shape != TensorShape::S32x32b;
  if (address.lane != quarter && !(half && address.lane == quarter + 16)) {
    exec.reportStrict(
        inst, "tmem-lane-access",
        formatv("warp {0} accesses tensor memory lane {1}, but may "
                "access lanes {2}..{3} only",
                exec.warp.index, address.lane, quarter, quarter + 31)
            .str());
    // A warp has no way to other lanes than its own: it reaches these, as
    // CuTe-DSL's examples have it.
    address.lane = quarter + (half ? address.lane % 32 / 16 * 16 : 0);
  }
  return checkTensorColumns(exec.cluster, exec.cta, exec.actor(inst),
                            address.column, form.columns);
}

static void tellAccess(Exec &exec, const Inst &inst, const LoadStoreForm &form,
                       TensorAddress address, AccessKind kind) {
  ClusterChecker *checker = exec.checker();
  if (!checker)
    return;
  llvm::SmallVector<TensorRange, 64> ranges;
  unsigned width = form.packed ? 2 : 1;
  uint16_t rank = exec.cta.rank;
  for (unsigned t = 0; t < warpSize; ++t) {
    size_t first = ranges.size();
    for (unsigned r = 0; r < form.registers; ++r) {
      TensorCell cell = form.cells[t * form.registers + r];
      uint16_t lane = address.lane + cell.row;
      uint16_t column = address.column + cell.column * width;
      if (ranges.size() > first) {
        TensorRange &last = ranges.back();
        if (last.lane == lane && last.column + last.columns == column) {
          last.columns += width;
          continue;
        }
      }
      ranges.push_back({rank, lane, 1, column, uint16_t(width), uint8_t(t)});
    }
  }
  checker->tensorAccess(exec.warp, inst, exec.mask, kind, ranges.data(),
                        ranges.size());
}

static void loadSquares(Exec &exec, const Inst &inst, const LoadStoreForm &form,
                        const TensorMemory &memory,
                        const TensorAddress &address) {
  const uint32_t *from[4];
  uint32_t *to[4];
  for (unsigned r = 0; r < form.registers; r += 4)
    for (unsigned t = 0; t < warpSize; t += 4) {
      for (unsigned i = 0; i < 4; ++i) {
        from[i] = memory.row(address.lane + t + i) + address.column + r;
        to[i] = exec.write<uint32_t>(inst, form.firstRegister + r + i) + t;
      }
      transposeSquare(from, to);
    }
}

static Flow runLoad(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const LoadStoreForm *>(inst.extra);
  TensorAddress address;
  if (!readAddress(exec, inst, form, address))
    return Flow::Next;
  TensorMemory &memory = asyncState(exec.cta).tensor;
  unsigned width = form.packed ? 2 : 1;
  if (form.inSquares)
    loadSquares(exec, inst, form, memory, address);
  for (unsigned r = 0; r < form.registers && !form.inSquares; ++r) {
    const Operand &op = exec.operand(inst, form.firstRegister + r);
    if (op.sink)
      continue;
    uint32_t *to = exec.write<uint32_t>(op);
    for (unsigned t = 0; t < warpSize; ++t) {
      TensorCell cell = form.cells[t * form.registers + r];
      const uint32_t *from = memory.row(address.lane + cell.row) +
                             address.column + cell.column * width;
      to[t] = form.packed ? (from[0] & 0xFFFF) | from[1] << 16 : from[0];
    }
  }
  tellAccess(exec, inst, form, address, AccessKind::Read);
  return Flow::Next;
}

static Flow runStore(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const LoadStoreForm *>(inst.extra);
  auto op = std::make_unique<TensorStoreOp>(exec, inst, 0);
  if (!readAddress(exec, inst, form, op->base))
    return Flow::Next;
  op->form = &form;
  op->values.resize(form.registers * warpSize);
  for (unsigned r = 0; r < form.registers; ++r)
    std::memcpy(&op->values[r * warpSize],
                exec.read<uint32_t>(inst, form.firstRegister + r),
                warpSize * 4);
  ++asyncState(exec.cta).pendingStores[exec.warp.index];
  tellAccess(exec, inst, form, op->base, AccessKind::Write);
  AsyncOp &store = *op;
  AsyncEngine &async = exec.cluster.async;
  async.issue(std::move(op), storeQueue(exec.warp));
  // A sub-partition has one port to its lanes, which is in order: who loads
  // them behind an arrival that is behind the store finds its values. The
  // manual does not promise it, and other schedules delay the store.
  if (exec.cluster.isFair() && !exec.cluster.timer)
    async.perform(store, exec.cluster, exec.cluster.random);
  return Flow::Next;
}

/// form: 1 for ::st.
static Flow runWait(Exec &exec, const Inst &inst) {
  if (inst.form && asyncState(exec.cta).pendingStores[exec.warp.index]) {
    BlockReason reason;
    reason.kind = BlockReason::TensorWait;
    return exec.block(reason);
  }
  if (ClusterChecker *checker = exec.checker())
    checker->tensorWait(exec.warp, inst, exec.mask,
                        inst.form ? AccessKind::Write : AccessKind::Read);
  return Flow::Next;
}

/// form: 1 for ::before_thread_sync.
static Flow runFence(Exec &exec, const Inst &inst) {
  if (ClusterChecker *checker = exec.checker())
    checker->tensorFence(exec.warp, inst, exec.mask, inst.form);
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static bool takeAligned(DecodeContext &context) {
  if (!context.take("sync") || !context.take("aligned"))
    return context.unsupported();
  context.inst.flags |= Inst::Aligned;
  return true;
}

static bool decodeAlloc(DecodeContext &context) {
  unsigned group = takeCtaGroup(context);
  if (!group || !takeAligned(context))
    return false;
  context.takeOneOf({"shared::cta", "shared"});
  if (!context.take("b32"))
    return context.unsupported();
  context.inst.form = group;
  context.inst.handler = runAlloc;
  return context.addAddress(0) && context.addOperand(1, 4);
}

static bool decodeDealloc(DecodeContext &context) {
  unsigned group = takeCtaGroup(context);
  if (!group || !takeAligned(context))
    return false;
  if (!context.take("b32"))
    return context.unsupported();
  context.inst.form = group;
  context.inst.handler = runDealloc;
  return context.addOperand(0, 4) && context.addOperand(1, 4);
}

static bool decodeRelinquish(DecodeContext &context) {
  context.inst.form = takeCtaGroup(context);
  context.inst.handler = runRelinquish;
  return context.inst.form && takeAligned(context);
}

static bool decodeLoadStore(DecodeContext &context, bool store) {
  LoadStoreForm form;
  if (!takeAligned(context))
    return false;
  int shape =
      context.takeOneOf({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  int log =
      context.takeOneOf({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  if (shape < 0 || log < 0)
    return context.unsupported();
  form.shape = TensorShape(shape);
  form.packed = context.take(store ? "unpack::16b" : "pack::16b");
  if (!context.take("b32") || !context.rest().empty())
    return context.unsupported();
  unsigned wanted = tensorRegisters(form.shape, 1u << log);
  if (wanted > 128)
    return context.unsupported();
  bool split = form.shape == TensorShape::S16x32bx2;
  unsigned values = store ? 1 + split : 0, address = store ? 0 : 1;
  if (split) {
    auto offset = context.immediate(store ? 1 : 2);
    if (!offset)
      return context.error("immHalfSplitoff must be a constant");
    form.split = *offset;
  }
  unsigned count = 0;
  if (store) {
    if (!context.addAddress(address))
      return false;
    form.address = 0;
    form.firstRegister = 1;
    count = context.addVector(values, 4);
  } else {
    count = context.addVector(values, 4, true);
    form.address = count;
    if (!context.addAddress(address))
      return false;
  }
  if (count == 0)
    return false;
  if (count != wanted)
    return context.error(
        formatv("expected {0} registers, found {1}", wanted, count));
  form.registers = count;
  form.inSquares = !form.packed && count % 4 == 0;
  for (unsigned t = 0; t < warpSize; ++t)
    for (unsigned r = 0; r < count; ++r) {
      TensorCell cell = tensorCell(form.shape, t, r, form.split);
      form.cells.push_back(cell);
      form.columns = std::max(form.columns, cell.column + 1);
      form.inSquares &= cell.row == t && cell.column == r;
    }
  form.columns *= form.packed ? 2 : 1;
  context.inst.extra = context.program().keepAlive(form);
  context.inst.handler = store ? runStore : runLoad;
  return true;
}

static bool decodeWait(DecodeContext &context, bool store) {
  context.inst.form = store;
  context.inst.handler = runWait;
  return takeAligned(context);
}

static bool decodeFence(DecodeContext &context, bool before) {
  context.inst.form = before;
  context.inst.handler = runFence;
  return true;
}

void fa4::sim::registerTensorMemoryOpcodes(OpcodeTable &table) {
  table.add("tcgen05.alloc", decodeAlloc);
  table.add("tcgen05.dealloc", decodeDealloc);
  table.add("tcgen05.relinquish_alloc_permit", decodeRelinquish);
  table.add("tcgen05.ld",
            [](DecodeContext &c) { return decodeLoadStore(c, false); });
  table.add("tcgen05.st",
            [](DecodeContext &c) { return decodeLoadStore(c, true); });
  table.add("tcgen05.wait::ld",
            [](DecodeContext &c) { return decodeWait(c, false); });
  table.add("tcgen05.wait::st",
            [](DecodeContext &c) { return decodeWait(c, true); });
  table.add("tcgen05.fence::before_thread_sync",
            [](DecodeContext &c) { return decodeFence(c, true); });
  table.add("tcgen05.fence::after_thread_sync",
            [](DecodeContext &c) { return decodeFence(c, false); });
}
