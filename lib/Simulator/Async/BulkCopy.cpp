//===- BulkCopy.cpp - cp.async.bulk, cp.reduce.async.bulk, bulk groups ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Groups and targets
//===----------------------------------------------------------------------===//

void GroupMember::join(Exec &exec, unsigned lane) {
  cta = &exec.cta;
  thread = exec.warp.index * warpSize + lane;
  CopyGroups &groups = asyncState(*cta).bulk[thread];
  group = groups.open();
  groups.openUsed = true;
  ++groups.group(group).reads;
  ++groups.group(group).writes;
}

void GroupMember::readDone(Cluster &cluster) {
  --asyncState(*cta).bulk[thread].group(group).reads;
  cluster.advance();
}

void GroupMember::writeDone(Cluster &cluster) {
  CopyGroups &groups = asyncState(*cta).bulk[thread];
  --groups.group(group).writes;
  groups.trim();
  cluster.advance();
}

bool fa4::sim::loadTargets(Exec &exec, const Inst &inst, unsigned lane,
                           uint32_t data, uint32_t mbarrier, bool multicast,
                           uint32_t mask, unsigned ctaGroup,
                           llvm::SmallVectorImpl<LoadTarget> &targets) {
  uint32_t dataRank = data >> sharedRankShift;
  uint32_t barrierRank = mbarrier >> sharedRankShift;
  uint32_t dataOffset = data & sharedOffsetMask;
  uint32_t barrierOffset = mbarrier & sharedOffsetMask;
  auto barrierOf = [&](uint32_t rank) {
    uint32_t r = ctaGroup == 2 ? (rank & ~1u) | (barrierRank & 1) : rank;
    return r << sharedRankShift | barrierOffset;
  };
  if (!multicast) {
    bool samePair = ctaGroup == 2 && dataRank / 2 == barrierRank / 2;
    if (dataRank != barrierRank && !samePair) {
      exec.report(inst, "bad-mbarrier",
                  formatv("the mbarrier is in CTA rank {0}, the destination in "
                          "CTA rank {1}",
                          barrierRank, dataRank)
                      .str(),
                  lane);
      return false;
    }
    targets.push_back({data, mbarrier});
    return true;
  }
  if (mask == 0 || mask >> exec.cluster.ctas.size()) {
    exec.report(inst, "bad-multicast-mask",
                formatv("multicast mask {0:x} names no CTA, or one outside of "
                        "the cluster of {1}",
                        mask, exec.cluster.ctas.size())
                    .str(),
                lane);
    return false;
  }
  for (uint32_t rank = 0; rank < exec.cluster.ctas.size(); ++rank)
    if (mask >> rank & 1)
      targets.push_back(
          {rank << sharedRankShift | dataOffset, barrierOf(rank)});
  return true;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

/// The properties of the opcode, and the index of each decoded operand (-1:
/// absent).
struct BulkForm {
  bool fromShared = false, toGlobal = false, reduce = false;
  bool multicast = false;
  AddressSpace destinationSpace = AddressSpace::Shared;
  ReduceOp op = ReduceOp::Add;
  TensorMapType type = TensorMapType::U8;
  int mbarrier = -1, mask = -1, byteMask = -1;
};

/// A copy from global memory or shared::cta to shared memory, which completes
/// on mbarriers.
class BulkLoad : public OpBase {
public:
  using OpBase::OpBase;

  AsyncWork work() const override {
    AsyncWork result;
    result.kind =
        form->fromShared ? AsyncWork::StoreAsync : AsyncWork::BulkLoad;
    result.bytes = bytes;
    result.targets = targets.size();
    if (!form->fromShared)
      result.global.push_back(from);
    return result;
  }

  bool step(Cluster &cluster, Random &random) override {
    if (!order.isStarted()) {
      pieceBytes = std::max<uint32_t>(16, (bytes / 4 + 15) & ~15u);
      pieces = (bytes + pieceBytes - 1) / pieceBytes;
      order.start(targets.size(), pieces);
    }
    auto [target, piece] = order.take(random);
    uint32_t begin = piece * pieceBytes;
    uint32_t count = std::min(pieceBytes, bytes - begin);
    uint8_t *to = cluster.resolveShared(targets[target].data + begin, count);
    if (form->reduce)
      reduceInto(to, source + begin, count, form->op, form->type);
    else
      std::memmove(to, source + begin, count);
    cluster.completeTx(targets[target].mbarrier, count, actor(),
                       completionOrder());
    if (!order.empty())
      return false;
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }

  const BulkForm *form = nullptr;
  const uint8_t *source = nullptr;
  AccessRange from{}; ///< The address of `source`.
  llvm::SmallVector<LoadTarget, 2> targets;
  uint32_t bytes = 0, pieceBytes = 0, pieces = 0;
  PieceOrder order;
};

/// A copy from shared to global memory in a bulk group.
class BulkStore : public OpBase {
public:
  using OpBase::OpBase;

  AsyncWork work() const override {
    AsyncWork result;
    result.kind = form->reduce ? AsyncWork::BulkReduce : AsyncWork::BulkStore;
    result.bytes = bytes;
    result.global.push_back({to, bytes});
    return result;
  }

  bool step(Cluster &cluster, Random &) override {
    if (buffer.empty()) {
      buffer.assign(source, source + bytes);
      group.readDone(cluster);
      return false;
    }
    if (form->reduce)
      reduceInto(destination, buffer.data(), bytes, form->op, form->type);
    else if (form->byteMask < 0)
      std::memcpy(destination, buffer.data(), bytes);
    else
      for (uint32_t i = 0; i < bytes; ++i)
        if (byteMask >> (i % 16) & 1)
          destination[i] = buffer[i];
    cluster.grid.globalEpoch.fetch_add(1, std::memory_order_relaxed);
    group.writeDone(cluster);
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }

  const BulkForm *form = nullptr;
  const uint8_t *source = nullptr;
  uint8_t *destination = nullptr;
  uint64_t to = 0; ///< The address of `destination`.
  uint32_t bytes = 0;
  uint16_t byteMask = 0xFFFF;
  std::vector<uint8_t> buffer;
  GroupMember group;
};

} // namespace

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

static bool checkSize(Exec &exec, const Inst &inst, unsigned lane,
                      uint64_t bytes) {
  if (bytes % 16 == 0)
    return true;
  exec.report(
      inst, "misaligned",
      formatv("a bulk copy of {0} bytes, not a multiple of 16", bytes).str(),
      lane);
  return false;
}

static void issueLoad(Exec &exec, const Inst &inst, const BulkForm &form,
                      unsigned lane) {
  uint32_t bytes = exec.value(inst, 2, lane);
  auto to = sharedAddress(exec, inst, 0, lane, form.destinationSpace);
  auto barrier = sharedAddress(exec, inst, form.mbarrier, lane);
  if (!to || !barrier || !checkSize(exec, inst, lane, bytes) || !bytes)
    return;
  auto op = std::make_unique<BulkLoad>(exec, inst, lane);
  op->form = &form;
  op->bytes = bytes;
  uint32_t mask = form.mask < 0 ? 0 : exec.value(inst, form.mask, lane);
  if (!loadTargets(exec, inst, lane, *to, *barrier, form.multicast,
                   mask & 0xFFFF, 0, op->targets))
    return;
  for (const LoadTarget &target : op->targets)
    if (!checkShared(exec, inst, lane, target.data, bytes, 16, "destination"))
      return;
  AccessRange from{0, bytes};
  if (form.fromShared) {
    auto address = sharedAddress(exec, inst, 1, lane, AddressSpace::OwnShared);
    if (!address)
      return;
    op->source = checkShared(exec, inst, lane, *address, bytes, 16, "source");
    from.address = *address;
  } else {
    from.address = exec.value(inst, 1, lane);
    op->source =
        checkGlobal(exec, inst, lane, from.address, bytes, 16, "source");
  }
  if (!op->source)
    return;
  op->from = from;
  if (ClusterChecker *checker = exec.checker()) {
    op->agent = beginAgent(exec, inst, lane, AgentKind::BulkLoad);
    Actor actor = op->actor();
    for (const LoadTarget &target : op->targets) {
      checker->agentWillComplete(op->agent, target.mbarrier, bytes);
      AccessRange range{target.data, bytes};
      checker->agentAccess(op->agent, actor, MemSpace::Shared,
                           form.reduce ? AccessKind::Reduction
                                       : AccessKind::Write,
                           Proxy::Async, &range, 1, target.mbarrier);
    }
    checker->agentAccess(
        op->agent, actor, form.fromShared ? MemSpace::Shared : MemSpace::Global,
        AccessKind::Read, Proxy::Async, &from, 1, op->targets[0].mbarrier);
  }
  exec.cluster.stats.tmaBytes += bytes;
  exec.cluster.async.issue(std::move(op));
}

static void issueStore(Exec &exec, const Inst &inst, const BulkForm &form,
                       unsigned lane) {
  uint32_t bytes = exec.value(inst, 2, lane);
  auto from = sharedAddress(exec, inst, 1, lane, AddressSpace::OwnShared);
  if (!from || !checkSize(exec, inst, lane, bytes) || !bytes)
    return;
  uint64_t to = exec.value(inst, 0, lane);
  auto op = std::make_unique<BulkStore>(exec, inst, lane);
  op->form = &form;
  op->bytes = bytes;
  op->to = to;
  if (form.byteMask >= 0)
    op->byteMask = exec.value(inst, form.byteMask, lane);
  op->source = checkShared(exec, inst, lane, *from, bytes, 16, "source");
  op->destination = checkGlobal(exec, inst, lane, to, bytes, 16, "destination");
  if (!op->source || !op->destination)
    return;
  op->group.join(exec, lane);
  if (ClusterChecker *checker = exec.checker()) {
    op->agent = beginAgent(exec, inst, lane, AgentKind::BulkStore);
    AccessRange source{*from, bytes}, destination{to, bytes};
    checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                         AccessKind::Read, Proxy::Async, &source, 1);
    checker->agentAccess(op->agent, op->actor(), MemSpace::Global,
                         form.reduce ? AccessKind::Reduction
                                     : AccessKind::Write,
                         Proxy::Async, &destination, 1);
  }
  exec.cluster.stats.tmaBytes += bytes;
  exec.cluster.async.issue(std::move(op));
}

/// Returns true if two lanes issue the same store. Hardware issues it once for
/// the warp then.
static bool sameStore(Exec &exec, const Inst &inst, const BulkForm &form,
                      unsigned a, unsigned b) {
  for (unsigned i = 0; i < 3; ++i)
    if (exec.value(inst, i, a) != exec.value(inst, i, b))
      return false;
  return form.toGlobal && !form.reduce;
}

static Flow runBulk(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const BulkForm *>(inst.extra);
  unsigned first = __builtin_ctz(exec.mask);
  forEachLane(exec.mask, [&](unsigned lane) {
    if (lane != first && sameStore(exec, inst, form, first, lane))
      return;
    if (form.toGlobal)
      issueStore(exec, inst, form, lane);
    else
      issueLoad(exec, inst, form, lane);
  });
  return Flow::Next;
}

static Flow runCommitGroup(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    asyncState(exec.cta).bulk[exec.warp.index * warpSize + lane].commit();
  });
  if (ClusterChecker *checker = exec.checker())
    checker->bulkCommit(exec.warp, inst, exec.mask);
  return Flow::Next;
}

/// `Inst::form` holds the number of groups that may still be under way, shifted
/// left by 1, and in its lowest bit whether the wait is one of `.read`.
static Flow runWaitGroup(Exec &exec, const Inst &inst) {
  uint32_t pending = inst.form >> 1;
  bool read = inst.form & 1;
  bool done = true;
  forEachLane(exec.mask, [&](unsigned lane) {
    auto &map = asyncState(exec.cta).bulk;
    auto it = map.find(exec.warp.index * warpSize + lane);
    if (it != map.end())
      done &= it->second.complete(pending, read);
  });
  if (!done) {
    BlockReason reason;
    reason.kind = BlockReason::AsyncGroup;
    reason.value = pending;
    return exec.block(reason);
  }
  forEachLane(exec.mask, [&](unsigned lane) {
    auto &map = asyncState(exec.cta).bulk;
    auto it = map.find(exec.warp.index * warpSize + lane);
    if (it == map.end())
      return;
    it->second.openWaited |= it->second.openUsed;
    if (it->second.open() > pending)
      it->second.waited =
          std::max(it->second.waited, it->second.open() - pending);
  });
  if (ClusterChecker *checker = exec.checker())
    checker->bulkWait(exec.warp, inst, exec.mask, pending, read);
  return Flow::Next;
}

/// A prefetch into L2 only checks the address.
static Flow runPrefetch(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    uint64_t bytes = exec.value(inst, 1, lane);
    if (checkSize(exec, inst, lane, bytes))
      checkGlobal(exec, inst, lane, exec.value(inst, 0, lane), bytes, 16,
                  "prefetch");
  });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static bool parseType(llvm::StringRef name, TensorMapType &type) {
  int found = llvm::StringSwitch<int>(name)
                  .Case("f16", int(TensorMapType::F16))
                  .Case("bf16", int(TensorMapType::BF16))
                  .Case("f32", int(TensorMapType::F32))
                  .Case("f64", int(TensorMapType::F64))
                  .Case("s32", int(TensorMapType::S32))
                  .Cases({"u32", "b32"}, int(TensorMapType::U32))
                  .Case("s64", int(TensorMapType::S64))
                  .Cases({"u64", "b64"}, int(TensorMapType::U64))
                  .Default(-1);
  type = TensorMapType(found);
  return found >= 0;
}

/// Decodes between which memories a copy goes, and how it completes.
static bool decodeDirection(DecodeContext &context, BulkForm &form) {
  if (context.peek() == "global") {
    context.next();
    // Destination global: the source must be shared::cta.
    if (!context.take("shared::cta"))
      return false;
    form.toGlobal = form.fromShared = true;
  } else if (int space = context.takeOneOf({"shared::cluster", "shared::cta"});
             space >= 0) {
    if (space == 1)
      form.destinationSpace = AddressSpace::OwnShared;
    if (context.take("shared::cta"))
      form.fromShared = true;
    else if (!context.take("global"))
      return false;
  } else {
    return false;
  }
  return context.take(form.toGlobal ? "bulk_group"
                                    : "mbarrier::complete_tx::bytes");
}

static bool decodeReduction(DecodeContext &context, BulkForm &form) {
  int op = parseReduceOp(context.next());
  if (op < 0)
    return false;
  form.op = ReduceOp(op);
  context.take("noftz");
  return parseType(context.next(), form.type) &&
         reduceSupports(form.op, form.type);
}

/// Decodes what follows cp.async.bulk or cp.reduce.async.bulk.
static bool decodeCopy(DecodeContext &context, bool reduce) {
  BulkForm form;
  form.reduce = reduce;
  if (!decodeDirection(context, form))
    return context.unsupported();
  form.multicast = context.take("multicast::cluster");
  bool policy = context.take("L2::cache_hint");
  bool byteMask = context.take("cp_mask");
  if (reduce && !decodeReduction(context, form))
    return context.unsupported();
  unsigned next = 0;
  unsigned sources = context.numSources();
  unsigned expected = 3 + !form.toGlobal + form.multicast + policy + byteMask;
  if (sources != expected)
    return context.error(
        formatv("expected {0} operands, found {1}", expected, sources));
  if (!context.addAddress(next++) || !context.addAddress(next++) ||
      !context.addOperand(next++, 4))
    return false;
  if (!form.toGlobal) {
    form.mbarrier = next;
    if (!context.addAddress(next++))
      return false;
  }
  if (form.multicast) {
    form.mask = next;
    if (!context.addOperand(next++, 2))
      return false;
  }
  if (policy && !context.addOperand(next++, 8))
    return false;
  if (byteMask) {
    form.byteMask = next;
    if (!context.addOperand(next++, 2))
      return false;
  }
  context.inst.handler = runBulk;
  context.inst.extra = context.program().keepAlive(form);
  return true;
}

static bool decodePrefetch(DecodeContext &context) {
  if (!context.take("L2") || !context.take("global"))
    return context.unsupported();
  bool policy = context.take("L2::cache_hint");
  if (!context.addAddress(0) || !context.addOperand(1, 4) ||
      (policy && !context.addOperand(2, 8)))
    return false;
  context.inst.handler = runPrefetch;
  return true;
}

static bool decodeCommit(DecodeContext &context) {
  context.inst.handler = runCommitGroup;
  return true;
}

static bool decodeWait(DecodeContext &context) {
  bool read = context.take("read");
  auto pending = context.immediate(0);
  if (!pending || *pending < 0)
    return context.error("expected an integer constant");
  context.inst.form = uint64_t(*pending) << 1 | read;
  context.inst.handler = runWaitGroup;
  return true;
}

void fa4::sim::registerBulkCopyOpcodes(OpcodeTable &table) {
  table.add("cp.async.bulk",
            [](DecodeContext &c) { return decodeCopy(c, false); });
  table.add("cp.reduce.async.bulk",
            [](DecodeContext &c) { return decodeCopy(c, true); });
  table.add("cp.async.bulk.prefetch", decodePrefetch);
  table.add("cp.async.bulk.commit_group", decodeCommit);
  table.add("cp.async.bulk.wait_group", decodeWait);
  registerBulkTensorOpcodes(table);
  registerCpAsyncOpcodes(table);
  registerStoreAsyncOpcodes(table);
}
