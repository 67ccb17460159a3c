//===- Atomic.cpp - atom and red ------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions": atom,
// red. Lanes of one instruction are performed in lane order. Clusters run on
// several host threads: a lock per address range makes each element atomic.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Lanes.h"
#include <cmath>
#include <cstring>
#include <mutex>

using namespace fa4::sim;

namespace {

enum AtomicOp : uint8_t {
  OpAnd,
  OpOr,
  OpXor,
  OpExch,
  OpCas,
  OpAdd,
  OpInc,
  OpDec,
  OpMin,
  OpMax,
};

enum Element : uint8_t {
  B32,
  U32,
  S32,
  B64,
  U64,
  S64,
  B128,
  F32,
  F64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  B16,
};
constexpr uint8_t elementBytes[] = {4, 4, 4, 8, 8, 8, 16, 4, 8, 2, 4, 2, 4, 2};

struct AtomicForm {
  MemSpace space = MemSpace::Generic;
  SyncOrder order{Semantics::Relaxed, Scope::Gpu};
  AtomicOp op = OpAdd;
  Element element = B32;
  uint8_t count = 1;
  bool returns = true;
};

std::mutex locks[64];

std::mutex &lockOf(uint64_t address) { return locks[address >> 6 & 63]; }

uint16_t reduceHalf(AtomicOp op, uint16_t a, uint16_t b, bool isBf16) {
  double x = isBf16 ? fromBf16(a) : fromF16(a);
  double y = isBf16 ? fromBf16(b) : fromF16(b);
  double r;
  if (op == OpAdd)
    r = x + y; // exact in double
  else if (x != x || y != y)
    r = x != x ? y : x;
  else if (op == OpMin)
    r = y < x || (x == y && std::signbit(y)) ? y : x;
  else
    r = y > x || (x == y && !std::signbit(y)) ? y : x;
  return encode(r, isBf16 ? bf16Format : f16Format, Round::Nearest, false);
}

uint64_t reduceInt(AtomicOp op, Element e, uint64_t a, uint64_t b) {
  bool wide = elementBytes[e] == 8;
  switch (op) {
  case OpAnd:
    return a & b;
  case OpOr:
    return a | b;
  case OpXor:
    return a ^ b;
  case OpExch:
    return b;
  case OpAdd:
    return a + b;
  case OpInc:
    return a >= b ? 0 : a + 1;
  case OpDec:
    return a == 0 || a > b ? b : a - 1;
  case OpMin:
  case OpMax: {
    bool less;
    if (e == S32)
      less = int32_t(a) < int32_t(b);
    else if (e == S64)
      less = int64_t(a) < int64_t(b);
    else if (wide)
      less = a < b;
    else
      less = uint32_t(a) < uint32_t(b);
    return less == (op == OpMin) ? a : b;
  }
  case OpCas:
    break;
  }
  return a;
}

uint64_t reduce(const AtomicForm &form, uint64_t a, uint64_t b) {
  switch (form.element) {
  case F32:
    if (form.op == OpAdd)
      return bitCast<uint32_t>(
          canonical(bitCast<float>(uint32_t(a)) + bitCast<float>(uint32_t(b))));
    break;
  case F64:
    if (form.op == OpAdd)
      return bitCast<uint64_t>(bitCast<double>(a) + bitCast<double>(b));
    break;
  case F16:
  case BF16:
    return reduceHalf(form.op, a, b, form.element == BF16);
  case F16x2:
  case BF16x2: {
    bool isBf16 = form.element == BF16x2;
    return reduceHalf(form.op, a, b, isBf16) |
           uint32_t(reduceHalf(form.op, a >> 16, b >> 16, isBf16)) << 16;
  }
  default:
    break;
  }
  return reduceInt(form.op, form.element, a, b);
}

uint64_t readMemory(const uint8_t *p, unsigned bytes) {
  uint64_t v = 0;
  std::memcpy(&v, p, std::min(bytes, 8u));
  return v;
}

/// One element; true when memory changed. `old` and `value` have a high half
/// for 128 bits.
bool performElement(const AtomicForm &form, uint8_t *p, const uint64_t b[2],
                    const uint64_t c[2], uint64_t old[2]) {
  unsigned bytes = elementBytes[form.element];
  old[0] = readMemory(p, bytes);
  old[1] = bytes == 16 ? readMemory(p + 8, 8) : 0;
  uint64_t next[2] = {old[0], old[1]};
  uint64_t mask = bytes >= 8 ? ~0ull : (1ull << 8 * bytes) - 1;
  if (form.op == OpCas) {
    if (old[0] == (b[0] & mask) && old[1] == b[1]) {
      next[0] = c[0] & mask;
      next[1] = c[1];
    }
  } else if (form.op == OpExch) {
    next[0] = b[0] & mask;
    next[1] = b[1];
  } else {
    next[0] = reduce(form, old[0], b[0]) & mask;
  }
  std::memcpy(p, &next[0], std::min(bytes, 8u));
  if (bytes == 16)
    std::memcpy(p + 8, &next[1], 8);
  return next[0] != old[0] || next[1] != old[1];
}

void laneValue(const Exec &x, const Operand &op, unsigned lane,
               uint64_t value[2]) {
  value[1] = 0;
  if (op.sink) {
    value[0] = 0;
  } else if (op.width == 4) {
    value[0] = x.read<uint32_t>(op)[lane];
  } else {
    value[0] = x.read<uint64_t>(op)[lane];
    if (op.width == 16)
      value[1] = x.read<uint64_t>(op)[lane + warpSize];
  }
}

void setLane(const Exec &x, const Operand &op, unsigned lane,
             const uint64_t value[2]) {
  if (op.sink)
    return;
  if (op.width == 4) {
    x.write<uint32_t>(op)[lane] = uint32_t(value[0]);
  } else {
    x.write<uint64_t>(op)[lane] = value[0];
    if (op.width == 16)
      x.write<uint64_t>(op)[lane + warpSize] = value[1];
  }
}

/// Operands: results (if any), address, values, compare's new value.
Flow atomic(Exec &x, const Inst &inst) {
  const AtomicForm &form = *static_cast<const AtomicForm *>(inst.extra);
  unsigned bytes = elementBytes[form.element], total = bytes * form.count;
  unsigned at = inst.numResults, values = at + 1, news = values + form.count;
  LaneAccess access;
  resolveLanes(x, inst, x.operand(inst, at), form.space, total, total, true,
               access);
  AccessKind kind = form.returns ? AccessKind::Atomic : AccessKind::Reduction;
  if (isReleasing(kind, form.order))
    tellChecker(x, inst, access, total, kind, form.order);
  bool changed = false;
  forEachLane(access.ok, [&](unsigned l) {
    for (unsigned i = 0; i < form.count; ++i) {
      uint64_t b[2], c[2] = {}, old[2];
      laneValue(x, x.operand(inst, values + i), l, b);
      if (form.op == OpCas)
        laneValue(x, x.operand(inst, news), l, c);
      uint8_t *p = access.host[l] + bytes * i;
      if (access.global >> l & 1) {
        std::lock_guard<std::mutex> lock(lockOf(access.address[l]));
        changed |= performElement(form, p, b, c, old);
      } else {
        changed |= performElement(form, p, b, c, old);
      }
      if (form.returns)
        setLane(x, x.operand(inst, i), l, old);
    }
  });
  uint64_t before = x.cluster.sinceProgress();
  noteAccess(x, inst, access, total, kind, form.order);
  if (!changed) {
    // A failed lock attempt changes nothing, so it does not count as progress;
    // another cluster may release the lock.
    x.cluster.restoreProgress(before);
    x.cluster.globalReads += access.global != 0;
    x.cluster.notePoll(x.warp, x.program.pcOf(inst), access.first());
  }
  return Flow::Next;
}

bool allowed(const AtomicForm &form) {
  AtomicOp op = form.op;
  switch (form.element) {
  case B16:
    return op == OpCas;
  case B32:
  case B64:
    return op <= OpCas;
  case B128:
    return op == OpExch || op == OpCas;
  case U32:
    return op >= OpAdd;
  case S32:
  case U64:
    return op == OpAdd || op == OpMin || op == OpMax;
  case S64:
    return op == OpMin || op == OpMax;
  case F32:
    return op == OpAdd || (form.count > 1 && op >= OpMin);
  case F64:
    return op == OpAdd;
  case F16:
  case F16x2:
  case BF16:
  case BF16x2:
    return op == OpAdd || (form.count > 1 && op >= OpMin);
  }
  return false;
}

bool decodeAtomic(DecodeContext &c, bool returns) {
  AtomicForm form;
  form.returns = returns;
  // Both modifiers are optional; the defaults are .relaxed and .gpu.
  int semantics = c.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  static constexpr Semantics kinds[] = {Semantics::Relaxed, Semantics::Acquire,
                                        Semantics::Release, Semantics::AcqRel};
  if (semantics >= 0)
    form.order.semantics = kinds[semantics];
  takeScope(c, form.order.scope);
  takeSpace(c, form.space);
  if (form.space == MemSpace::Local || form.space == MemSpace::Const ||
      form.space == MemSpace::Param)
    return c.unsupported();
  int op = c.takeOneOf(
      {"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  bool noftz = c.take("noftz");
  bool policy = takeCacheHints(c);
  int v = c.takeOneOf({"v2", "v4", "v8"});
  form.count = v < 0 ? 1 : 2 << v;
  int e = c.takeOneOf({"b32", "u32", "s32", "b64", "u64", "s64", "b128", "f32",
                       "f64", "f16", "f16x2", "bf16", "bf16x2", "b16"});
  policy |= takeCacheHints(c);
  if (op < 0 || e < 0 || !c.peek().empty())
    return c.unsupported();
  form.op = AtomicOp(op);
  form.element = Element(e);
  bool isHalf = e >= F16 && e != B16;
  if (!allowed(form) || (noftz && !isHalf) || (isHalf && !noftz) ||
      (!returns && (op == OpExch || op == OpCas)) ||
      (form.count > 1 && form.space == MemSpace::Shared) ||
      elementBytes[e] * form.count > 16)
    return c.unsupported();
  unsigned expected = 2u + returns + (op == OpCas) + policy;
  if (c.numSources() != expected)
    return c.error("wrong number of operands");
  unsigned bytes = elementBytes[e], i = 0;
  bool isFloat = e == F32 || e == F64;
  c.inst.handler = atomic;
  if (!returns)
    c.inst.flags |= Inst::NoResult;
  if (returns && c.addVector(i++, bytes, true, isFloat) != form.count)
    return c.error("wrong number of elements");
  if (!c.addAddress(i++))
    return false;
  if (c.addVector(i++, bytes, false, isFloat) != form.count)
    return c.error("wrong number of elements");
  if (op == OpCas && !c.addOperand(i++, bytes))
    return false;
  c.inst.extra = c.program().keepAlive(form);
  return true;
}

bool decodeAtom(DecodeContext &c) { return decodeAtomic(c, true); }
bool decodeRed(DecodeContext &c) { return decodeAtomic(c, false); }

} // namespace

void fa4::sim::registerAtomicOpcodes(OpcodeTable &table) {
  table.add("atom", decodeAtom);
  table.add("red", decodeRed);
}
