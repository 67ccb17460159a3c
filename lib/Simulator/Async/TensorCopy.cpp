//===- TensorCopy.cpp - cp.async.bulk.tensor and reductions --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "TensorBox.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace fa4::sim;
using llvm::formatv;

namespace {

/// The index of each decoded operand (-1: absent).
struct TensorForm {
  unsigned rank = 0, ctaGroup = 0;
  bool multicast = false, reduce = false;
  ReduceOp op = ReduceOp::Add;
  AddressSpace destinationSpace = AddressSpace::Shared;
  int map = -1, data = -1, mbarrier = -1, mask = -1;
};

class TensorLoad : public OpBase {
public:
  TensorLoad(Exec &exec, const Inst &inst, unsigned lane, const TensorMap &map,
             const int32_t *coordinates)
      : OpBase(exec, inst, lane), box(map, coordinates) {}

  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::BulkLoad;
    result.bytes = box.bytes();
    result.targets = targets.size();
    result.global = box.ranges();
    return result;
  }

  bool step(Cluster &cluster, Random &random) override {
    if (!order.isStarted()) {
      rowsOfPiece = std::max<uint32_t>(1, (box.rows + 3) / 4);
      order.start(targets.size(), (box.rows + rowsOfPiece - 1) / rowsOfPiece);
    }
    auto [target, piece] = order.take(random);
    uint32_t begin = piece * rowsOfPiece;
    uint32_t end = std::min(begin + rowsOfPiece, box.rows);
    uint32_t data = targets[target].data;
    Cta &cta = *cluster.ctaOfShared(data);
    box.load(cta.shared.data(), data & sharedOffsetMask, toHost, begin, end);
    cluster.completeTx(targets[target].mbarrier,
                       (end - begin) * box.globalRowBytes, actor(),
                       completionOrder());
    if (!order.empty())
      return false;
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }

  TensorBox box;
  intptr_t toHost = 0;
  llvm::SmallVector<LoadTarget, 2> targets;
  uint32_t rowsOfPiece = 0;
  PieceOrder order;
};

class TensorStore : public OpBase {
public:
  TensorStore(Exec &exec, const Inst &inst, unsigned lane, const TensorMap &map,
              const int32_t *coordinates)
      : OpBase(exec, inst, lane), box(map, coordinates) {}

  AsyncWork work() const override {
    AsyncWork result;
    result.kind = form->reduce ? AsyncWork::BulkReduce : AsyncWork::BulkStore;
    result.bytes = box.bytes();
    result.global = box.ranges();
    return result;
  }

  bool step(Cluster &cluster, Random &random) override {
    if (buffer.empty()) {
      buffer.resize(box.bytes());
      Cta &cta = *cluster.ctaOfShared(data);
      for (uint32_t row = 0; row < box.rows; ++row)
        box.readShared(cta.shared.data(), data & sharedOffsetMask, row,
                       buffer.data() + size_t(row) * box.rowBytes);
      group.readDone(cluster);
      return false;
    }
    if (!order.isStarted()) {
      rowsOfPiece = std::max<uint32_t>(1, (box.rows + 1) / 2);
      order.start(1, (box.rows + rowsOfPiece - 1) / rowsOfPiece);
    }
    uint32_t begin = order.take(random).second * rowsOfPiece;
    uint32_t end = std::min(begin + rowsOfPiece, box.rows);
    for (uint32_t row = begin; row < end; ++row)
      if (uint64_t address = box.rowAddress(row))
        write(reinterpret_cast<uint8_t *>(address + toHost),
              buffer.data() + size_t(row) * box.rowBytes + box.rowBegin);
    cluster.grid.globalEpoch.fetch_add(1, std::memory_order_relaxed);
    if (!order.empty())
      return false;
    group.writeDone(cluster);
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }

  void write(uint8_t *to, const uint8_t *from) const {
    if (form->reduce)
      reduceInto(to, from, box.rowEnd - box.rowBegin, form->op, box.map.type);
    else
      std::memcpy(to, from, box.rowEnd - box.rowBegin);
  }

  const TensorForm *form = nullptr;
  TensorBox box;
  uint32_t data = 0;
  intptr_t toHost = 0;
  std::vector<uint8_t> buffer;
  uint32_t rowsOfPiece = 0;
  PieceOrder order;
  GroupMember group;
};

} // namespace

/// The tensor map that the operand points at; reports what is wrong with it.
static bool readMap(Exec &exec, const Inst &inst, const TensorForm &form,
                    unsigned lane, TensorMap &map) {
  uint64_t pointer = exec.value(inst, form.map, lane), address;
  const uint8_t *data = nullptr;
  MemSpace space = Exec::classify(pointer, address);
  if (space == MemSpace::Param) {
    if (address + TensorMap::objectBytes <= exec.grid.params.size())
      data = exec.grid.params.data() + address;
  } else if (space == MemSpace::Global) {
    data = exec.grid.memory.resolve(address, TensorMap::objectBytes);
  }
  if (!data || address % 64) {
    exec.report(inst, data ? "misaligned" : "out-of-bounds",
                formatv("no tensor map at address {0:x}", pointer).str(), lane);
    return false;
  }
  std::string problem;
  llvm::Expected<TensorMap> decoded = TensorMap::decode(data);
  if (decoded)
    map = *decoded;
  if (!decoded)
    problem = llvm::toString(decoded.takeError());
  else if (llvm::Error error = map.verify())
    problem = llvm::toString(std::move(error));
  else if (map.rank != form.rank)
    problem = formatv("the tensor map has rank {0}, the instruction {1}",
                      map.rank, form.rank);
  else if (map.interleave)
    problem = "interleaved tensor maps are not supported";
  if (problem.empty())
    return true;
  exec.report(inst, "bad-tensor-map", problem, lane);
  return false;
}

/// Reports a copy that does not begin at 16 bytes of a row. The PTX ISA does
/// not mention it, but on an H200 each is an illegal instruction, loads, stores
/// and reductions, of elements of 1, 2 and 4 bytes, with and without swizzling.
/// Nobody has tried it on Blackwell.
static bool checkBytesOfRow(Exec &exec, const Inst &inst, unsigned lane,
                            const TensorMap &map, const int32_t *coordinates) {
  int64_t bytes = int64_t(coordinates[0]) * map.elementBits() / 8;
  if (exec.program.smVersion != 90 || bytes % 16 == 0)
    return true;
  exec.report(
      inst, "misaligned",
      formatv("coordinate 0 is {0}, {1} bytes, not a multiple of 16; on "
              "a card this is an illegal instruction",
              coordinates[0], bytes)
          .str(),
      lane);
  return false;
}

/// Reports a copy that begins within a byte, or within the 128 elements that
/// padded ones are copied in.
static bool checkFirstCoordinate(Exec &exec, const Inst &inst, unsigned lane,
                                 const TensorMap &map,
                                 const int32_t *coordinates) {
  if (map.elementBits() >= 8)
    return checkBytesOfRow(exec, inst, lane, map, coordinates);
  int step = map.isPadded() ? 128 : 2;
  if (coordinates[0] % step == 0)
    return true;
  exec.report(inst, "misaligned",
              formatv("coordinate 0 is {0}, not a multiple of {1}, as {2}-bit "
                      "elements need",
                      coordinates[0], step, map.elementBits())
                  .str(),
              lane);
  return false;
}

/// Distance from global addresses of the box to host memory; reports a box
/// that leaves its allocation.
static bool resolveBox(Exec &exec, const Inst &inst, unsigned lane,
                       const TensorBox &box, llvm::ArrayRef<AccessRange> ranges,
                       intptr_t &toHost) {
  toHost = 0;
  if (ranges.empty())
    return true;
  uint64_t low = ~0ull, high = 0;
  for (const AccessRange &range : ranges) {
    low = std::min(low, range.address);
    high = std::max(high, range.address + (range.rows - 1) * range.stride +
                              range.bytes);
  }
  uint8_t *host = exec.grid.memory.resolve(low, high - low);
  if (!host) {
    exec.report(inst, "out-of-bounds",
                formatv("the box's global memory [{0:x}, {1:x}) is not in one "
                        "allocation: {2}",
                        low, high, exec.grid.memory.describe(high - 1))
                    .str(),
                lane);
    return false;
  }
  toHost = reinterpret_cast<intptr_t>(host) - intptr_t(low);
  return true;
}

/// Reports a load of a box with nothing of the tensor in it where the address
/// of the tensor map is not in memory. The PTX ISA does not mention it, but an
/// H200 reads there, though all that it puts into shared memory is the fill:
/// the kernel ends with CUDA_ERROR_ILLEGAL_ADDRESS. Stores do not, nor do loads
/// with any element in bounds.
static bool checkMapAddress(Exec &exec, const Inst &inst, unsigned lane,
                            const TensorMap &map,
                            llvm::ArrayRef<AccessRange> ranges) {
  if (!ranges.empty() || exec.grid.memory.find(map.address))
    return true;
  exec.report(inst, "out-of-bounds",
              formatv("all of the box is outside of the tensor, and the tensor "
                      "map's address {0:x} is in no allocation; a card reads "
                      "there",
                      map.address)
                  .str(),
              lane);
  return false;
}

static void readCoordinates(Exec &exec, const Inst &inst,
                            const TensorForm &form, unsigned lane,
                            int32_t *coordinates) {
  for (unsigned i = 0; i < form.rank; ++i)
    coordinates[i] = exec.value(inst, form.map + 1 + i, lane);
}

/// Returns the bytes of shared memory that a box occupies. Swizzling permutes
/// them within 128 bytes.
static uint32_t sharedBytes(const TensorBox &box) {
  if (box.map.swizzle == TensorMapSwizzle::None)
    return box.bytes();
  return (box.bytes() + 127) & ~127u;
}

static void issueLoad(Exec &exec, const Inst &inst, const TensorForm &form,
                      unsigned lane) {
  TensorMap map;
  int32_t coordinates[5];
  auto to = sharedAddress(exec, inst, form.data, lane, form.destinationSpace);
  auto barrier = sharedAddress(exec, inst, form.mbarrier, lane);
  if (!to || !barrier || !readMap(exec, inst, form, lane, map))
    return;
  readCoordinates(exec, inst, form, lane, coordinates);
  if (!checkFirstCoordinate(exec, inst, lane, map, coordinates))
    return;
  auto op = std::make_unique<TensorLoad>(exec, inst, lane, map, coordinates);
  uint32_t mask = form.mask < 0 ? 0 : exec.value(inst, form.mask, lane);
  if (!loadTargets(exec, inst, lane, *to, *barrier, form.multicast,
                   mask & 0xFFFF, form.ctaGroup, op->targets))
    return;
  for (const LoadTarget &target : op->targets)
    if (!checkShared(exec, inst, lane, target.data, sharedBytes(op->box), 128,
                     "destination"))
      return;
  auto ranges = op->box.ranges();
  if (!checkMapAddress(exec, inst, lane, map, ranges) ||
      !resolveBox(exec, inst, lane, op->box, ranges, op->toHost))
    return;
  if (ClusterChecker *checker = exec.checker()) {
    op->agent = beginAgent(exec, inst, lane, AgentKind::BulkLoad);
    for (const LoadTarget &target : op->targets) {
      checker->agentWillComplete(op->agent, target.mbarrier,
                                 op->box.transactionBytes());
      AccessRange range{target.data, sharedBytes(op->box)};
      checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                           AccessKind::Write, Proxy::Async, &range, 1,
                           target.mbarrier);
    }
    checker->agentAccess(op->agent, op->actor(), MemSpace::Global,
                         AccessKind::Read, Proxy::Async, ranges.data(),
                         ranges.size(), op->targets[0].mbarrier);
  }
  exec.cluster.stats.tmaBytes += op->box.bytes();
  exec.cluster.async.issue(std::move(op));
}

/// Reports a store or reduction whose box begins in front of the tensor. The
/// PTX ISA does not mention it, but a kernel that does so ends with
/// CUDA_ERROR_ILLEGAL_INSTRUCTION on an H100, in any dimension, with and
/// without swizzling. Loads may begin there, and stores may end behind the
/// tensor.
static bool checkNotNegative(Exec &exec, const Inst &inst,
                             const TensorForm &form, unsigned lane,
                             const int32_t *coordinates) {
  const int32_t *end = coordinates + form.rank;
  const int32_t *found = std::find_if(
      coordinates, end, [](int32_t coordinate) { return coordinate < 0; });
  if (found == end)
    return true;
  exec.report(inst, "out-of-bounds",
              formatv("coordinate {0} is {1}: only loads may begin in front of "
                      "the tensor; on a card this is an illegal instruction",
                      found - coordinates, *found)
                  .str(),
              lane);
  return false;
}

static void issueStore(Exec &exec, const Inst &inst, const TensorForm &form,
                       unsigned lane) {
  TensorMap map;
  int32_t coordinates[5];
  auto from =
      sharedAddress(exec, inst, form.data, lane, AddressSpace::OwnShared);
  if (!from || !readMap(exec, inst, form, lane, map))
    return;
  if (form.reduce && !reduceSupports(form.op, map.type)) {
    exec.report(inst, "bad-tensor-map",
                "the reduction is not defined for the tensor's element type",
                lane);
    return;
  }
  if (map.type == TensorMapType::B4x16P64) {
    exec.report(inst, "bad-tensor-map",
                "4-bit elements with padding can be loaded, not stored", lane);
    return;
  }
  readCoordinates(exec, inst, form, lane, coordinates);
  if (!checkNotNegative(exec, inst, form, lane, coordinates) ||
      !checkFirstCoordinate(exec, inst, lane, map, coordinates))
    return;
  auto op = std::make_unique<TensorStore>(exec, inst, lane, map, coordinates);
  op->form = &form;
  op->data = *from;
  if (!checkShared(exec, inst, lane, *from, sharedBytes(op->box), 128,
                   "source"))
    return;
  auto ranges = op->box.ranges();
  if (!resolveBox(exec, inst, lane, op->box, ranges, op->toHost))
    return;
  op->group.join(exec, lane);
  if (ClusterChecker *checker = exec.checker()) {
    op->agent = beginAgent(exec, inst, lane, AgentKind::BulkStore);
    auto sources = op->box.sharedRanges(*from);
    checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                         AccessKind::Read, Proxy::Async, sources.data(),
                         sources.size());
    checker->agentAccess(op->agent, op->actor(), MemSpace::Global,
                         form.reduce ? AccessKind::Reduction
                                     : AccessKind::Write,
                         Proxy::Async, ranges.data(), ranges.size());
  }
  exec.cluster.stats.tmaBytes += op->box.bytes();
  exec.cluster.async.issue(std::move(op));
}

/// Returns true if two lanes issue the same store. Hardware issues it once for
/// the warp then.
static bool sameStore(Exec &exec, const Inst &inst, const TensorForm &form,
                      unsigned a, unsigned b) {
  for (unsigned i = 0; i <= form.rank + 1; ++i)
    if (exec.value(inst, i, a) != exec.value(inst, i, b))
      return false;
  return form.mbarrier < 0 && !form.reduce;
}

static Flow runTensor(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const TensorForm *>(inst.extra);
  unsigned first = __builtin_ctz(exec.mask);
  forEachLane(exec.mask, [&](unsigned lane) {
    if (lane != first && sameStore(exec, inst, form, first, lane))
      return;
    if (form.mbarrier >= 0)
      issueLoad(exec, inst, form, lane);
    else
      issueStore(exec, inst, form, lane);
  });
  return Flow::Next;
}

/// Prefetches of boxes or tensor maps change nothing.
static Flow runPrefetchTensor(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const TensorForm *>(inst.extra);
  TensorMap map;
  forEachLane(exec.mask,
              [&](unsigned lane) { readMap(exec, inst, form, lane, map); });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static bool decodeRank(DecodeContext &context, TensorForm &form) {
  int index = context.takeOneOf({"1d", "2d", "3d", "4d", "5d"});
  form.rank = index + 1;
  return index >= 0;
}

static bool addMap(DecodeContext &context, TensorForm &form, unsigned source,
                   int operand) {
  form.map = operand;
  unsigned count = context.addTensorAddress(source);
  if (count == 0)
    return false;
  if (count != form.rank + 1)
    return context.error(
        formatv("expected {0} coordinates, found {1}", form.rank, count - 1));
  return true;
}

/// Decodes which way tiles go, and by which reduction they are added.
static bool decodeDirection(DecodeContext &context, TensorForm &form,
                            bool &store) {
  store = context.peek() == "global";
  if (store) {
    context.next();
    if (!context.take("shared::cta") || !context.take("bulk_group"))
      return false;
  } else {
    int space = context.takeOneOf({"shared::cluster", "shared::cta"});
    if (form.reduce || space < 0 || !context.take("global") ||
        !context.take("mbarrier::complete_tx::bytes"))
      return false;
    if (space == 1)
      form.destinationSpace = AddressSpace::OwnShared;
  }
  if (!form.reduce)
    return true;
  int op = context.takeOneOf(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  form.op = ReduceOp(op);
  return op >= 0;
}

/// Decodes the operands of a store, or of a load with its mbarrier and mask.
static bool decodeOperands(DecodeContext &context, TensorForm &form, bool store,
                           bool policy) {
  unsigned next = 2;
  if (store) {
    if (!addMap(context, form, 0, 0))
      return false;
    form.data = form.rank + 1;
    if (!context.addAddress(1))
      return false;
  } else {
    form.data = 0;
    if (!context.addAddress(0) || !addMap(context, form, 1, 1))
      return false;
    form.mbarrier = form.rank + 2;
    if (!context.addAddress(next++))
      return false;
    if (form.multicast) {
      form.mask = form.mbarrier + 1;
      if (!context.addOperand(next++, 2))
        return false;
    }
  }
  return !policy || context.addOperand(next, 8);
}

static bool decodeTensor(DecodeContext &context, bool reduce) {
  TensorForm form;
  form.reduce = reduce;
  bool store = false;
  if (!decodeRank(context, form) || !decodeDirection(context, form, store))
    return context.unsupported();
  context.take("tile");
  form.multicast = context.take("multicast::cluster");
  if (context.take("cta_group::1"))
    form.ctaGroup = 1;
  else if (context.take("cta_group::2"))
    form.ctaGroup = 2;
  bool policy = context.take("L2::cache_hint");
  if (!context.rest().empty()) // im2col, gather4, scatter4
    return context.unsupported();
  unsigned expected = (store ? 2 : 3) + form.multicast + policy;
  if (context.numSources() != expected)
    return context.error(formatv("expected {0} operands, found {1}", expected,
                                 context.numSources()));
  if (!decodeOperands(context, form, store, policy))
    return false;
  context.inst.handler = runTensor;
  context.inst.extra = context.program().keepAlive(form);
  return true;
}

static bool decodePrefetchTensor(DecodeContext &context) {
  TensorForm form;
  if (!decodeRank(context, form) || !context.take("L2") ||
      !context.take("global"))
    return context.unsupported();
  context.take("tile");
  bool policy = context.take("L2::cache_hint");
  if (!context.rest().empty())
    return context.unsupported();
  if (!addMap(context, form, 0, 0) || (policy && !context.addOperand(1, 8)))
    return false;
  context.inst.handler = runPrefetchTensor;
  context.inst.extra = context.program().keepAlive(form);
  return true;
}

/// prefetch{.param,.const}.tensormap: brings a map into a cache.
static bool decodePrefetchMap(DecodeContext &context) {
  context.takeOneOf({"param", "const"});
  if (!context.take("tensormap") && !context.rest().empty())
    return context.unsupported();
  context.inst.handler = [](Exec &, const Inst &) { return Flow::Next; };
  return context.addAddress(0);
}

void fa4::sim::registerBulkTensorOpcodes(OpcodeTable &table) {
  table.add("cp.async.bulk.tensor",
            [](DecodeContext &c) { return decodeTensor(c, false); });
  table.add("cp.reduce.async.bulk.tensor",
            [](DecodeContext &c) { return decodeTensor(c, true); });
  table.add("cp.async.bulk.prefetch.tensor", decodePrefetchTensor);
  table.add("prefetch.tensormap", decodePrefetchMap);
  table.add("prefetch.param.tensormap", decodePrefetchMap);
  table.add("prefetch.const.tensormap", decodePrefetchMap);
}
