//===- StoreAsync.cpp - st.async and red.async ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores and reductions of registers to shared memory of the cluster that
// complete on an mbarrier of the destination CTA.
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

namespace {

struct StoreAsyncForm {
  unsigned elementBytes = 4, elements = 1;
  bool reduce = false;
  ReduceOp op = ReduceOp::Add;
  TensorMapType type = TensorMapType::U32;
  unsigned bytes() const { return elementBytes * elements; }
};

class StoreAsyncOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::StoreAsync;
    result.bytes = form->bytes();
    return result;
  }
  bool step(Cluster &cluster, Random &) override {
    uint8_t *to = cluster.resolveShared(target.data, form->bytes());
    if (form->reduce)
      reduceInto(to, values, form->bytes(), form->op, form->type);
    else
      std::memcpy(to, values, form->bytes());
    cluster.completeTx(target.mbarrier, form->bytes(), actor(),
                       completionOrder());
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }
  const StoreAsyncForm *form = nullptr;
  LoadTarget target{};
  alignas(16) uint8_t values[32] = {};
};

} // namespace

/// Operands: address, elements, mbarrier.
static Flow run(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const StoreAsyncForm *>(inst.extra);
  forEachLane(exec.mask, [&](unsigned lane) {
    auto to = sharedAddress(exec, inst, 0, lane);
    auto barrier = sharedAddress(exec, inst, 1 + form.elements, lane);
    if (!to || !barrier ||
        !checkShared(exec, inst, lane, *to, form.bytes(), form.bytes(),
                     "destination"))
      return;
    auto op = std::make_unique<StoreAsyncOp>(exec, inst, lane);
    op->form = &form;
    llvm::SmallVector<LoadTarget, 1> targets;
    if (!loadTargets(exec, inst, lane, *to, *barrier, false, 0, 0, targets))
      return;
    op->target = targets[0];
    for (unsigned i = 0; i < form.elements; ++i) {
      uint64_t value = exec.value(inst, 1 + i, lane);
      std::memcpy(op->values + i * form.elementBytes, &value,
                  form.elementBytes);
    }
    if (ClusterChecker *checker = exec.checker()) {
      op->agent = beginAgent(exec, inst, lane, AgentKind::BulkLoad);
      checker->agentWillComplete(op->agent, *barrier, form.bytes());
      AccessRange range{*to, form.bytes()};
      checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                           form.reduce ? AccessKind::Reduction
                                       : AccessKind::Write,
                           Proxy::Generic, &range, 1, *barrier);
    }
    exec.cluster.async.issue(std::move(op));
  });
  return Flow::Next;
}

static bool decodeStoreAsync(DecodeContext &context, bool reduce) {
  StoreAsyncForm form;
  form.reduce = reduce;
  context.takeOneOf({"weak", "relaxed"});
  context.take("cluster");
  context.take("shared::cluster");
  if (!context.take("mbarrier::complete_tx::bytes"))
    return context.unsupported();
  if (reduce) {
    int op = parseReduceOp(context.next());
    if (op < 0)
      return context.unsupported();
    form.op = ReduceOp(op);
  }
  int vector = reduce ? -1 : context.takeOneOf({"v2", "v4"});
  form.elements = vector < 0 ? 1 : 2 << vector;
  llvm::StringRef type = context.next();
  int found = llvm::StringSwitch<int>(type)
                  .Cases({"b32", "u32"}, int(TensorMapType::U32))
                  .Case("s32", int(TensorMapType::S32))
                  .Case("f32", int(TensorMapType::F32))
                  .Cases({"b64", "u64"}, int(TensorMapType::U64))
                  .Case("s64", int(TensorMapType::S64))
                  .Case("f64", int(TensorMapType::F64))
                  .Default(-1);
  if (found < 0)
    return context.unsupported();
  form.type = TensorMapType(found);
  if (reduce && !reduceSupports(form.op, form.type))
    return context.unsupported();
  form.elementBytes = type.ends_with("64") ? 8 : 4;
  if (form.bytes() > 16)
    return context.unsupported();
  bool isFloat = type.starts_with("f");
  if (context.numSources() != 3)
    return context.error("expected an address, a value and an mbarrier");
  if (!context.addAddress(0))
    return false;
  unsigned count = context.addVector(1, form.elementBytes, false, isFloat);
  if (count == 0)
    return false;
  if (count != form.elements)
    return context.error(
        formatv("expected {0} elements, found {1}", form.elements, count));
  if (!context.addAddress(2))
    return false;
  context.inst.extra = context.program().keepAlive(form);
  context.inst.handler = run;
  return true;
}

void fa4::sim::registerStoreAsyncOpcodes(OpcodeTable &table) {
  table.add("st.async",
            [](DecodeContext &c) { return decodeStoreAsync(c, false); });
  table.add("red.async",
            [](DecodeContext &c) { return decodeStoreAsync(c, true); });
}
