//===- Access.cpp - ld, st and what they share with atomics ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions": ld, ldu, st, st.bulk,
// prefetch, discard, createpolicy, ldmatrix, stmatrix are in Matrix.cpp.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace fa4::sim;

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

bool fa4::sim::takeScope(DecodeContext &c, Scope &scope) {
  int s = c.takeOneOf({"cta", "cluster", "gpu", "sys"});
  if (s < 0)
    return false;
  scope = Scope(s);
  return true;
}

bool fa4::sim::takeOrder(DecodeContext &c, SyncOrder &order) {
  int s = c.takeOneOf({"weak", "volatile", "relaxed", "acquire", "release",
                       "acq_rel", "sc", "mmio"});
  if (s < 0)
    return true;
  static constexpr Semantics kinds[] = {Semantics::Weak,    Semantics::Volatile,
                                        Semantics::Relaxed, Semantics::Acquire,
                                        Semantics::Release, Semantics::AcqRel,
                                        Semantics::Sc,      Semantics::Relaxed};
  order.semantics = kinds[s];
  order.scope = Scope::Sys;
  if (s >= 2)
    return takeScope(c, order.scope);
  return true;
}

bool fa4::sim::takeSpace(DecodeContext &c, MemSpace &space) {
  int s =
      c.takeOneOf({"global", "shared", "shared::cta", "shared::cluster",
                   "local", "const", "param", "param::entry", "param::func"});
  static constexpr MemSpace spaces[] = {
      MemSpace::Global, MemSpace::Shared, MemSpace::Shared,
      MemSpace::Shared, MemSpace::Local,  MemSpace::Const,
      MemSpace::Param,  MemSpace::Param,  MemSpace::Param};
  space = s < 0 ? MemSpace::Generic : spaces[s];
  if (s == 1 || s == 2)
    c.inst.flags |= Inst::OwnShared;
  return s >= 0;
}

bool fa4::sim::takeCacheHints(DecodeContext &c) {
  while (c.takeOneOf({"ca",
                      "cg",
                      "cs",
                      "lu",
                      "cv",
                      "wb",
                      "wt",
                      "nc",
                      "unified",
                      "L1::evict_normal",
                      "L1::evict_unchanged",
                      "L1::evict_first",
                      "L1::evict_last",
                      "L1::no_allocate",
                      "L2::evict_normal",
                      "L2::evict_first",
                      "L2::evict_last",
                      "L2::64B",
                      "L2::128B",
                      "L2::256B",
                      "level::prefetch_size",
                      "level::eviction_priority"}) >= 0)
    ;
  return c.take("L2::cache_hint");
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static const char *nameOf(MemSpace space) {
  switch (space) {
  case MemSpace::Shared:
    return "shared memory";
  case MemSpace::Local:
    return "local memory";
  case MemSpace::Param:
    return "the parameters";
  case MemSpace::Const:
    return "constant memory";
  default:
    return "global memory";
  }
}

static void outOfBounds(Exec &x, const Inst &inst, unsigned lane,
                        MemSpace space, uint64_t address, unsigned bytes) {
  std::string where;
  if (space == MemSpace::Shared) {
    Cta *cta = x.cluster.ctaOfShared(address);
    where = cta ? llvm::formatv("shared {0:x} of CTA rank {1}; its window is "
                                "[{2:x}, {3:x})",
                                address & sharedOffsetMask, cta->rank,
                                sharedReservedBytes, cta->shared.size())
                      .str()
                : llvm::formatv("shared {0:x}: no CTA of that rank in a "
                                "cluster of {1}",
                                address, x.cluster.ctas.size())
                      .str();
  } else if (space == MemSpace::Global || space == MemSpace::Const) {
    where = x.grid.memory.describe(address);
  } else {
    where = llvm::formatv("{0:x}", address).str();
  }
  x.report(inst, "out-of-bounds",
           llvm::formatv("access of {0} bytes outside of {1}: {2}", bytes,
                         nameOf(space), where)
               .str(),
           lane);
}

/// Reports a .shared::cta access to the shared memory of another CTA.
static void notOwnShared(Exec &x, const Inst &inst, unsigned lane,
                         uint32_t address, unsigned bytes) {
  x.report(inst, "out-of-bounds",
           llvm::formatv("access of {0} bytes outside of the CTA's shared "
                         "memory: shared {1:x} of CTA rank {2}, which takes "
                         ".shared::cluster",
                         bytes, address & sharedOffsetMask,
                         address >> sharedRankShift)
               .str(),
           lane);
}

void fa4::sim::resolveLanes(Exec &x, const Inst &inst, const Operand &op,
                            MemSpace space, unsigned bytes, unsigned alignment,
                            bool write, LaneAccess &access) {
  const Allocation *last = nullptr;
  forEachLane(x.mask, [&](unsigned l) {
    access.host[l] = nullptr;
    uint64_t address = x.value(op, l);
    MemSpace s = space;
    if (space == MemSpace::Generic)
      s = Exec::classify(address, address);
    else if (address & windowMask && space != MemSpace::Global &&
             space != MemSpace::Const)
      address &= 0xFFFFFFFF;
    access.address[l] = address;
    if (address & (alignment - 1)) {
      x.report(inst, "misaligned",
               llvm::formatv("address {0:x} in {1} is not a multiple of {2}",
                             address, nameOf(s), alignment)
                   .str(),
               l);
      return;
    }
    uint8_t *host = nullptr;
    switch (s) {
    case MemSpace::Shared:
      host = x.cluster.resolveShared(address, bytes);
      if (host && inst.flags & Inst::OwnShared &&
          address >> sharedRankShift != x.cta.rank)
        return notOwnShared(x, inst, l, address, bytes);
      access.shared |= uint32_t(host != nullptr) << l;
      break;
    case MemSpace::Local: {
      uint64_t size = x.grid.entry->localBytes;
      if (address < size && address + bytes <= size)
        host = x.warp.local + size * l + address;
      break;
    }
    case MemSpace::Param:
      if (!write && address < x.grid.params.size() &&
          address + bytes <= x.grid.params.size())
        host = const_cast<uint8_t *>(x.grid.params.data()) + address;
      break;
    default:
      if (!last || address - last->address >= last->bytes)
        last = x.grid.memory.find(address);
      if (last && address - last->address + bytes <= last->bytes)
        host = last->data + (address - last->address);
      access.global |= uint32_t(host != nullptr) << l;
      break;
    }
    if (!host)
      return outOfBounds(x, inst, l, s, address, bytes);
    access.host[l] = host;
    access.ok |= 1u << l;
  });
}

void fa4::sim::noteAccess(Exec &x, const Inst &inst, const LaneAccess &access,
                          unsigned bytes, AccessKind kind,
                          const SyncOrder &order) {
  if (kind != AccessKind::Read && (access.shared | access.global))
    x.cluster.noteProgress();
  if (kind == AccessKind::Read && (access.shared | access.global))
    x.cluster.noteLoad(x.warp, x.program.pcOf(inst), access.first());
  if (access.global) {
    if (kind == AccessKind::Read)
      ++x.cluster.globalReads;
    else if (order.semantics != Semantics::Weak)
      x.grid.globalEpoch.fetch_add(1, std::memory_order_relaxed);
    else if (!(x.cluster.executed & 63))
      x.grid.globalEpoch.fetch_add(1, std::memory_order_relaxed);
  }
  if (x.cluster.timer)
    x.cluster.timer->access(access.address, access.shared, access.global, bytes,
                            kind);
  if (!isReleasing(kind, order))
    tellChecker(x, inst, access, bytes, kind, order);
}

bool fa4::sim::isReleasing(AccessKind kind, const SyncOrder &order) {
  return kind == AccessKind::Reduction ||
         (kind == AccessKind::Write && order.semantics == Semantics::Release);
}

void fa4::sim::tellChecker(Exec &x, const Inst &inst, const LaneAccess &access,
                           unsigned bytes, AccessKind kind,
                           const SyncOrder &order) {
  ClusterChecker *checker = x.checker();
  if (!checker)
    return;
  WarpAccess event;
  event.warp = &x.warp;
  event.inst = &inst;
  event.kind = kind;
  event.bytes = bytes;
  event.addresses = access.address;
  event.order = order;
  if (access.shared) {
    event.mask = access.shared;
    event.space = MemSpace::Shared;
    checker->access(event);
  }
  if (access.global) {
    event.mask = access.global;
    event.space = MemSpace::Global;
    checker->access(event);
  }
}

namespace {

//===----------------------------------------------------------------------===//
// ld, st
//===----------------------------------------------------------------------===//

struct AccessForm {
  MemSpace space = MemSpace::Generic;
  SyncOrder order{Semantics::Weak, Scope::Cta};
  uint8_t elementBytes = 4;
  uint8_t count = 1;
  bool isSigned = false;
};

uint64_t loadElement(const uint8_t *p, unsigned bytes, bool isSigned) {
  switch (bytes) {
  case 1:
    return isSigned ? uint64_t(int64_t(int8_t(*p))) : *p;
  case 2: {
    uint16_t v;
    std::memcpy(&v, p, 2);
    return isSigned ? uint64_t(int64_t(int16_t(v))) : v;
  }
  case 4: {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return isSigned ? uint64_t(int64_t(int32_t(v))) : v;
  }
  default: {
    uint64_t v;
    std::memcpy(&v, p, 8);
    return v;
  }
  }
}

Flow load(Exec &x, const Inst &inst) {
  const AccessForm &form = *static_cast<const AccessForm *>(inst.extra);
  LaneAccess access;
  unsigned size = form.elementBytes, total = size * form.count;
  resolveLanes(x, inst, x.operand(inst, inst.numResults), form.space, total,
               total, /*write=*/false, access);
  if (form.order.semantics == Semantics::Acquire)
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < form.count; ++i) {
    const Operand &d = x.operand(inst, i);
    if (d.sink)
      continue;
    if (size == 4 && d.width == 4) {
      uint32_t *out = x.write<uint32_t>(d);
      forEachLane(access.ok, [&](unsigned l) {
        std::memcpy(&out[l], access.host[l] + 4 * i, 4);
      });
      continue;
    }
    forEachLane(access.ok, [&](unsigned l) {
      const uint8_t *p = access.host[l] + size * i;
      uint64_t v = loadElement(p, size, form.isSigned);
      if (d.width == 4) {
        x.write<uint32_t>(d)[l] = uint32_t(v);
      } else {
        x.write<uint64_t>(d)[l] = v;
        if (d.width == 16)
          x.write<uint64_t>(d)[l + warpSize] =
              size == 16 ? loadElement(p + 8, 8, false) : 0;
      }
    });
  }
  noteAccess(x, inst, access, total, AccessKind::Read, form.order);
  return Flow::Next;
}

Flow store(Exec &x, const Inst &inst) {
  const AccessForm &form = *static_cast<const AccessForm *>(inst.extra);
  LaneAccess access;
  unsigned size = form.elementBytes, total = size * form.count;
  resolveLanes(x, inst, x.operand(inst, 0), form.space, total, total,
               /*write=*/true, access);
  if (form.order.semantics == Semantics::Release) {
    tellChecker(x, inst, access, total, AccessKind::Write, form.order);
    __atomic_thread_fence(__ATOMIC_RELEASE);
  }
  for (unsigned i = 0; i < form.count; ++i) {
    const Operand &s = x.operand(inst, 1 + i);
    if (s.sink)
      continue;
    forEachLane(access.ok, [&](unsigned l) {
      uint8_t *p = access.host[l] + size * i;
      if (s.width == 4) {
        std::memcpy(p, &x.read<uint32_t>(s)[l], std::min(size, 4u));
      } else {
        std::memcpy(p, &x.read<uint64_t>(s)[l], std::min(size, 8u));
        if (size == 16)
          std::memcpy(p + 8, &x.read<uint64_t>(s)[l + warpSize], 8);
      }
    });
  }
  noteAccess(x, inst, access, total, AccessKind::Write, form.order);
  return Flow::Next;
}

bool takeElement(DecodeContext &c, AccessForm &form) {
  int v = c.takeOneOf({"v2", "v4", "v8"});
  form.count = v < 0 ? 1 : 2 << v;
  int t = c.takeOneOf({"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32",
                       "s32", "f32", "b64", "u64", "s64", "f64", "b128", "f16",
                       "bf16", "f16x2", "bf16x2"});
  static constexpr uint8_t bytes[] = {1, 1, 1, 2, 2,  2, 4, 4, 4, 4,
                                      8, 8, 8, 8, 16, 2, 2, 4, 4};
  if (t < 0)
    return false;
  form.elementBytes = bytes[t];
  form.isSigned = t == 2 || t == 5 || t == 8 || t == 12;
  unsigned total = form.elementBytes * form.count;
  // Only global memory has accesses of 256 bits, and a vector of 8 has 32-bit
  // elements.
  if (total > 32 || (form.count == 8 && form.elementBytes != 4))
    return false;
  return total <= 16 || form.space == MemSpace::Global ||
         form.space == MemSpace::Generic;
}

bool decodeLoad(DecodeContext &c) {
  AccessForm form;
  if (!takeOrder(c, form.order))
    return c.unsupported();
  if (form.order.semantics == Semantics::Release ||
      form.order.semantics == Semantics::AcqRel)
    return c.unsupported();
  takeSpace(c, form.space);
  bool policy = takeCacheHints(c);
  if (!takeElement(c, form))
    return c.unsupported();
  policy |= takeCacheHints(c);
  if (!c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 2u + policy)
    return c.error("wrong number of operands");
  c.anyWidth = true;
  c.inst.handler = load;
  unsigned n = c.addVector(0, form.elementBytes, true);
  if (n == 0)
    return false;
  if (n != form.count)
    return c.error("the vector has " + llvm::Twine(n) + " elements, not " +
                   llvm::Twine(unsigned(form.count)));
  // Parameters of functions are local memory; the decoder knows which.
  if (form.space == MemSpace::Param && c.isLocalParam(1))
    form.space = MemSpace::Local;
  c.inst.extra = c.program().keepAlive(form);
  return c.addAddress(1);
}

bool decodeStore(DecodeContext &c) {
  AccessForm form;
  if (!takeOrder(c, form.order))
    return c.unsupported();
  if (form.order.semantics == Semantics::Acquire ||
      form.order.semantics == Semantics::AcqRel)
    return c.unsupported();
  takeSpace(c, form.space);
  if (form.space == MemSpace::Const)
    return c.unsupported();
  bool policy = takeCacheHints(c);
  if (!takeElement(c, form))
    return c.unsupported();
  if (!c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 2u + policy)
    return c.error("wrong number of operands");
  if (form.space == MemSpace::Param) {
    if (!c.isLocalParam(0))
      return c.error("store to an entry parameter");
    form.space = MemSpace::Local;
  }
  c.anyWidth = true;
  c.inst.handler = store;
  c.inst.flags |= Inst::NoResult;
  if (!c.addAddress(0))
    return false;
  unsigned n = c.addVector(1, form.elementBytes);
  if (n == 0)
    return false;
  if (n != form.count)
    return c.error("the vector has " + llvm::Twine(n) + " elements, not " +
                   llvm::Twine(unsigned(form.count)));
  c.inst.extra = c.program().keepAlive(form);
  return true;
}

//===----------------------------------------------------------------------===//
// st.bulk
//===----------------------------------------------------------------------===//

/// st.bulk{.weak}{.shared::cta} [a], size, 0: zeroes.
Flow storeBulk(Exec &x, const Inst &inst) {
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t address = x.value(inst, 0, l), size = x.value(inst, 1, l);
    MemSpace space = MemSpace::Shared;
    if (inst.form)
      space = Exec::classify(address, address);
    uint8_t *host = space == MemSpace::Shared
                        ? x.cluster.resolveShared(address, size)
                        : nullptr;
    if (address % 8 || size % 8)
      return x.report(inst, "misaligned",
                      "st.bulk needs address and size in multiples of 8", l);
    if (!host)
      return outOfBounds(x, inst, l, MemSpace::Shared, address, size);
    std::memset(host, 0, size);
    x.cluster.noteProgress();
    if (ClusterChecker *checker = x.checker()) {
      uint64_t addresses[warpSize] = {};
      addresses[l] = address;
      checker->access({&x.warp,
                       &inst,
                       1u << l,
                       MemSpace::Shared,
                       AccessKind::Write,
                       uint32_t(size),
                       addresses,
                       {Semantics::Weak, Scope::Cta}});
    }
  });
  return Flow::Next;
}

bool decodeStoreBulk(DecodeContext &c) {
  c.take("weak");
  bool shared = c.take("shared::cta");
  if (!c.peek().empty())
    return c.unsupported();
  if (c.numSources() != 3)
    return c.error("wrong number of operands");
  std::optional<int64_t> value = c.immediate(2);
  if (!value || *value != 0)
    return c.error("st.bulk needs the value 0");
  c.inst.handler = storeBulk;
  c.inst.form = !shared;
  return c.addAddress(0) && c.addOperand(1, 8);
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

Flow nothing(Exec &, const Inst &) { return Flow::Next; }

/// prefetch, prefetchu and applypriority: the form is checked, the instructions
/// have no effect.
bool decodeHint(DecodeContext &c) {
  MemSpace space;
  takeSpace(c, space);
  if (c.takeOneOf({"L1", "L2", "L2::evict_last", "L2::evict_normal"}) < 0)
    return c.unsupported();
  c.takeOneOf({"L2::evict_last", "L2::evict_normal"});
  if (!c.peek().empty())
    return c.unsupported();
  c.inst.handler = nothing;
  return c.addAddress(0);
}

/// discard{.global}.L2 [a], 128: the bytes become undefined.
Flow discard(Exec &x, const Inst &inst) {
  LaneAccess access;
  resolveLanes(x, inst, x.operand(inst, 0), MemSpace(inst.form), 128, 128, true,
               access);
  forEachLane(access.ok,
              [&](unsigned l) { std::memset(access.host[l], 0xFF, 128); });
  noteAccess(x, inst, access, 128, AccessKind::Write,
             {Semantics::Weak, Scope::Cta});
  return Flow::Next;
}
bool decodeDiscard(DecodeContext &c) {
  MemSpace space;
  takeSpace(c, space);
  if (!c.take("L2") || !c.peek().empty() || c.numSources() != 2)
    return c.unsupported();
  c.inst.handler = discard;
  c.inst.form = uint64_t(space);
  return c.addAddress(0);
}

/// createpolicy: a policy is an opaque word, and its meaning is not modelled.
Flow policy(Exec &x, const Inst &inst) {
  uint64_t *d = x.write<uint64_t>(inst, 0);
  forEachLane(x.mask, [&](unsigned l) { d[l] = 0x1000000000000000ull; });
  return Flow::Next;
}
bool decodePolicy(DecodeContext &c) {
  if (c.takeOneOf({"fractional", "range", "cvt"}) < 0)
    return c.unsupported();
  while (c.takeOneOf({"global", "L2", "L2::evict_last", "L2::evict_normal",
                      "L2::evict_first", "L2::evict_unchanged"}) >= 0)
    ;
  if (!c.take("b64") || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = policy;
  return c.addOperand(0, 8, true);
}

} // namespace

void fa4::sim::registerMemoryOpcodes(OpcodeTable &table) {
  table.add("ld", decodeLoad);
  table.add("ldu", decodeLoad);
  table.add("st", decodeStore);
  table.add("st.bulk", decodeStoreBulk);
  table.add("prefetch", decodeHint);
  table.add("prefetchu", decodeHint);
  table.add("applypriority", decodeHint);
  table.add("discard", decodeDiscard);
  table.add("createpolicy", decodePolicy);
}
