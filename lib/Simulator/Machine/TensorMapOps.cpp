//===- TensorMapOps.cpp - tensormap.replace, tensormap.cp_fenceproxy ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "tensormap.replace": kernels that make tensor maps of their own
// write fields of a 128-byte object in shared or global memory, copy it to
// global memory and fence. Each field has its bits in the object
// (Machine/TensorMap.h), and the others stay as they are: whether the whole is
// a map is for the copy that uses it to say.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "fa4/Simulator/Machine/TensorMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace fa4::sim;

namespace {

struct ReplaceForm {
  TensorMapField field;
  MemSpace space;
  unsigned ordinal = 0;
};

/// The words of the map that hold the field are read and written.
Flow replace(Exec &x, const Inst &inst) {
  const ReplaceForm &form = *static_cast<const ReplaceForm *>(inst.extra);
  LaneAccess map;
  resolveLanes(x, inst, x.operand(inst, 0), form.space, TensorMap::objectBytes,
               64, true, map);
  forEachLane(map.ok, [&](unsigned l) {
    uint64_t value = x.value(inst, 1, l);
    if (!replaceTensorMapField(map.host[l], form.field, form.ordinal, value))
      x.report(inst, "bad-tensor-map",
               llvm::formatv("the field cannot be {0:x}", value).str(), l);
  });
  TensorMapBits bits = tensorMapBits(form.field, form.ordinal);
  for (unsigned r = 0; r < bits.count; ++r) {
    LaneAccess word = map;
    forEachLane(map.ok, [&](unsigned l) {
      word.host[l] += 4 * bits.runs[r].word;
      word.address[l] += 4 * bits.runs[r].word;
    });
    if (bits.runs[r].bits < 32)
      noteAccess(x, inst, word, 4, AccessKind::Read,
                 {Semantics::Weak, Scope::Cta});
    noteAccess(x, inst, word, 4, AccessKind::Write,
               {Semantics::Weak, Scope::Cta});
  }
  return Flow::Next;
}

/// Copies 128 bytes from shared::cta to global memory and is a release to the
/// tensormap proxy.
Flow copyFence(Exec &x, const Inst &inst) {
  LaneMask lanes = x.mask;
  x.mask = lanes & -lanes; // the warp does it together
  LaneAccess from, to;
  resolveLanes(x, inst, x.operand(inst, 1), MemSpace::Shared, 128, 128, false,
               from);
  resolveLanes(x, inst, x.operand(inst, 0), MemSpace::Global, 128, 128, true,
               to);
  if (from.ok && to.ok) {
    unsigned l = __builtin_ctz(from.ok);
    std::memcpy(to.host[l], from.host[l], TensorMap::objectBytes);
    // Nobody needs to have written what says nothing.
    noteAccess(x, inst, from, TensorMap::meaningBytes, AccessKind::Read,
               {Semantics::Weak, Scope::Cta});
    noteAccess(x, inst, to, 128, AccessKind::Write,
               {Semantics::Weak, Scope::Cta});
  }
  x.mask = lanes;
  if (ClusterChecker *checker = x.checker())
    checker->fence({&x.warp,
                    &inst,
                    x.mask,
                    FenceKind::ProxyTensorMap,
                    {Semantics::Release, Scope(inst.form)}});
  return Flow::Next;
}

bool decodeReplace(DecodeContext &c) {
  ReplaceForm form;
  if (!c.take("tile"))
    return c.unsupported();
  int field = c.takeOneOf({"global_address", "rank", "box_dim", "global_dim",
                           "global_stride", "element_stride", "elemtype",
                           "interleave_layout", "swizzle_mode",
                           "swizzle_atomicity", "fill_mode"});
  takeSpace(c, form.space);
  if (field < 0 || !c.take("b1024"))
    return c.unsupported();
  form.field = TensorMapField(field);
  bool wide = form.field == TensorMapField::GlobalAddress ||
              form.field == TensorMapField::GlobalStride;
  if (!c.take(wide ? "b64" : "b32") || !c.peek().empty())
    return c.unsupported();
  bool indexed = form.field >= TensorMapField::BoxDim &&
                 form.field <= TensorMapField::ElementStride;
  if (c.numSources() != 2u + indexed)
    return c.error("wrong number of operands");
  if (indexed) {
    std::optional<int64_t> ordinal = c.immediate(1);
    if (!ordinal || *ordinal < 0 ||
        *ordinal > (form.field == TensorMapField::GlobalStride ? 3 : 4))
      return c.error("the ordinal must be an immediate below the rank");
    form.ordinal = *ordinal;
  }
  c.inst.handler = replace;
  c.inst.extra = c.program().keepAlive(form);
  return c.addAddress(0) && c.addOperand(1 + indexed, wide ? 8 : 4);
}

bool decodeCopyFence(DecodeContext &c) {
  Scope scope;
  if (!c.take("global") || !c.take("shared::cta") ||
      !c.take("tensormap::generic") || !c.take("release") ||
      !takeScope(c, scope) || !c.take("sync") || !c.take("aligned") ||
      !c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 3 || c.immediate(2).value_or(0) != 128)
    return c.error("needs two addresses and the size 128");
  c.inst.handler = copyFence;
  c.inst.form = uint64_t(scope);
  return c.addAddress(0) && c.addAddress(1);
}

} // namespace

void fa4::sim::registerTensorMapOpcodes(OpcodeTable &table) {
  table.add("tensormap.replace", decodeReplace);
  table.add("tensormap.cp_fenceproxy", decodeCopyFence);
}
