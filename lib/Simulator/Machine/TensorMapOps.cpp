//===- TensorMapOps.cpp - tensormap.replace, tensormap.cp_fenceproxy ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "tensormap.replace": kernels that make tensor maps of their own
// write fields of a 128-byte object in shared or global memory, copy it to
// global memory and fence. The object is a TensorMap; all-zero bytes, from
// which kernels start, become one with the first field written.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "fa4/Simulator/Machine/TensorMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace fa4::sim;

namespace {

enum Field : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  Atomicity,
  Fill,
};

struct ReplaceForm {
  Field field;
  MemSpace space;
  unsigned ordinal = 0;
};

/// new_val of .elemtype (the manual's table) to CUtensorMapDataType.
bool elementType(uint64_t value, TensorMapType &type) {
  static constexpr TensorMapType types[] = {
      TensorMapType::U8,     TensorMapType::U16,  TensorMapType::U32,
      TensorMapType::S32,    TensorMapType::U64,  TensorMapType::S64,
      TensorMapType::F16,    TensorMapType::F32,  TensorMapType::F32Ftz,
      TensorMapType::F64,    TensorMapType::BF16, TensorMapType::TF32,
      TensorMapType::TF32Ftz};
  if (value >= std::size(types))
    return false;
  type = types[value];
  return true;
}

/// False when the field cannot take the value.
bool replaceField(TensorMap &map, const ReplaceForm &form, uint64_t value) {
  unsigned i = form.ordinal;
  switch (form.field) {
  case GlobalAddress:
    map.address = value;
    return true;
  case Rank: // one less than the rank
    map.rank = value + 1;
    return value < 5;
  case BoxDim:
    map.box[i] = value;
    return value >= 1 && value <= 256;
  case GlobalDim:
    map.dims[i] = uint32_t(value) ? uint32_t(value) : uint64_t(1) << 32;
    return true;
  case GlobalStride:
    map.byteStrides[i] = value;
    return true;
  case ElementStride:
    map.elementStrides[i] = value;
    return value >= 1 && value <= 8;
  case ElementType:
    return elementType(value, map.type);
  case Interleave:
    map.interleave = value;
    return value <= 2;
  case Swizzle:
    map.swizzle = TensorMapSwizzle(value);
    return value <= 3;
  case Atomicity: {
    // Only the 128-byte swizzle has atoms other than 16 bytes.
    static constexpr TensorMapSwizzle atoms[] = {
        TensorMapSwizzle::B128, TensorMapSwizzle::B128Atom32B,
        TensorMapSwizzle::B128Atom32BFlip8B, TensorMapSwizzle::B128Atom64B};
    if (value >= 4)
      return false;
    if (value || map.swizzle >= TensorMapSwizzle::B128)
      map.swizzle = atoms[value];
    return true;
  }
  case Fill:
    map.fillNan = value;
    return value <= 1;
  }
  return false;
}

Flow replace(Exec &x, const Inst &inst) {
  const ReplaceForm &form = *static_cast<const ReplaceForm *>(inst.extra);
  LaneAccess access;
  resolveLanes(x, inst, x.operand(inst, 0), form.space, 128, 64, true, access);
  forEachLane(access.ok, [&](unsigned l) {
    TensorMap map;
    std::memcpy(&map, access.host[l], sizeof(map));
    static const uint8_t zeros[sizeof(TensorMap)] = {};
    if (std::memcmp(&map, zeros, sizeof(map)) == 0)
      map = TensorMap();
    if (map.magic != TensorMap::magicValue) {
      x.report(inst, "bad-tensor-map",
               "the 128 bytes are neither a tensor map nor zero", l);
      return;
    }
    uint64_t value = x.value(inst, 1, l);
    if (!replaceField(map, form, value))
      x.report(inst, "bad-tensor-map",
               llvm::formatv("the field cannot be {0:x}", value).str(), l);
    std::memcpy(access.host[l], &map, sizeof(map));
  });
  noteAccess(x, inst, access, 128, AccessKind::Write,
             {Semantics::Weak, Scope::Cta});
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
    std::memcpy(to.host[l], from.host[l], 128);
    noteAccess(x, inst, from, 128, AccessKind::Read,
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
  form.field = Field(field);
  bool wide = field == GlobalAddress || field == GlobalStride;
  if (!c.take(wide ? "b64" : "b32") || !c.peek().empty())
    return c.unsupported();
  bool indexed = field >= BoxDim && field <= ElementStride;
  if (c.numSources() != 2u + indexed)
    return c.error("wrong number of operands");
  if (indexed) {
    std::optional<int64_t> ordinal = c.immediate(1);
    if (!ordinal || *ordinal < 0 || *ordinal > (field == GlobalStride ? 3 : 4))
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
