//===- StoreAsync.cpp - st.async, red.async -------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "st.async", "red.async": a store to, or a reduction in, the shared
// memory of a CTA of the cluster, which completes its bytes on an mbarrier of
// that CTA. The forms that complete on an mbarrier are modelled; .mmio ones
// are not.
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace fa4::sim;
using llvm::formatv;

namespace {

struct StoreForm {
  unsigned elementBytes = 4, count = 1;
  AddressSpace space = AddressSpace::Generic;
  bool reduce = false;
  ReduceOp op = ReduceOp::Add;
  TensorMapType type = TensorMapType::U32;
  unsigned bytes() const { return elementBytes * count; }
};

class StoreAsyncOp : public OpBase {
public:
  using OpBase::OpBase;

  bool step(Cluster &cluster, Random &) override {
    if (form->reduce)
      reduceInto(to, data, form->bytes(), form->op, form->type);
    else
      std::memcpy(to, data, form->bytes());
    cluster.completeTx(mbarrier, form->bytes(), actor(), completionOrder());
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }

  const StoreForm *form = nullptr;
  uint8_t *to = nullptr;
  uint32_t mbarrier = 0;
  uint8_t data[32] = {};
};

/// Operands: address, elements, mbarrier.
void issue(Exec &exec, const Inst &inst, unsigned lane) {
  const auto &form = *static_cast<const StoreForm *>(inst.extra);
  unsigned last = inst.numOperands - 1;
  auto to = sharedAddress(exec, inst, 0, lane, form.space);
  auto mbarrier = sharedAddress(exec, inst, last, lane, form.space);
  if (!to || !mbarrier)
    return;
  if ((*to ^ *mbarrier) >> sharedRankShift) {
    exec.report(inst, "bad-mbarrier",
                formatv("the mbarrier is in CTA rank {0}, the destination in "
                        "CTA rank {1}",
                        *mbarrier >> sharedRankShift, *to >> sharedRankShift)
                    .str(),
                lane);
    return;
  }
  auto op = std::make_unique<StoreAsyncOp>(exec, inst, lane);
  op->form = &form;
  op->mbarrier = *mbarrier;
  op->to = checkShared(exec, inst, lane, *to, form.bytes(), form.bytes(),
                       "destination");
  if (!op->to)
    return;
  for (unsigned i = 0; i < form.count; ++i) {
    uint64_t value = exec.value(inst, 1 + i, lane);
    std::memcpy(op->data + i * form.elementBytes, &value, form.elementBytes);
  }
  if (ClusterChecker *checker = exec.checker()) {
    op->agent = beginAgent(exec, inst, lane, AgentKind::BulkLoad);
    checker->agentWillComplete(op->agent, *mbarrier, form.bytes());
    AccessRange range{*to, form.bytes()};
    checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                         form.reduce ? AccessKind::Reduction
                                     : AccessKind::Write,
                         Proxy::Generic, &range, 1, *mbarrier);
  }
  exec.cluster.async.issue(std::move(op));
}

Flow runStore(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) { issue(exec, inst, lane); });
  return Flow::Next;
}

/// The common end: space and completion mechanism.
bool takeMechanism(DecodeContext &context, StoreForm &form) {
  form.space = context.take("shared::cluster") ? AddressSpace::Shared
                                               : AddressSpace::Generic;
  return context.take("mbarrier::complete_tx::bytes");
}

bool finish(DecodeContext &context, const StoreForm &form) {
  if (!context.peek().empty())
    return context.unsupported();
  if (context.numSources() != 3)
    return context.error("wrong number of operands");
  context.inst.handler = runStore;
  context.inst.extra = context.program().keepAlive(form);
  if (!context.addAddress(0))
    return false;
  if (context.addVector(1, form.elementBytes) != form.count)
    return context.error("wrong number of elements");
  return context.addAddress(2);
}

bool decodeStore(DecodeContext &context) {
  StoreForm form;
  context.take("weak");
  if (!takeMechanism(context, form))
    return context.unsupported();
  int vector = context.takeOneOf({"v2", "v4"});
  form.count = vector < 0 ? 1 : 2 << vector;
  int type = context.takeOneOf(
      {"b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"});
  if (type < 0)
    return context.unsupported();
  form.elementBytes = type < 4 ? 4 : 8;
  return finish(context, form);
}

bool decodeReduce(DecodeContext &context) {
  StoreForm form;
  form.reduce = true;
  context.take("relaxed");
  context.take("cluster");
  if (!takeMechanism(context, form))
    return context.unsupported();
  int op = parseReduceOp(context.next());
  int type = context.takeOneOf({"u32", "s32", "b32", "u64"});
  if (op < 0 || type < 0)
    return context.unsupported();
  static constexpr TensorMapType types[] = {
      TensorMapType::U32, TensorMapType::S32, TensorMapType::U32,
      TensorMapType::U64};
  form.op = ReduceOp(op);
  form.type = types[type];
  form.elementBytes = type == 3 ? 8 : 4;
  bool bitwise = form.op == ReduceOp::And || form.op == ReduceOp::Or ||
                 form.op == ReduceOp::Xor;
  bool countdown = form.op == ReduceOp::Inc || form.op == ReduceOp::Dec;
  if (bitwise != (type == 2) || (countdown && type != 0) ||
      (type == 3 && form.op != ReduceOp::Add))
    return context.unsupported();
  return finish(context, form);
}

} // namespace

void fa4::sim::registerStoreAsyncOpcodes(OpcodeTable &table) {
  table.add("st.async", decodeStore);
  table.add("red.async", decodeReduce);
}
