//===- Matrix.cpp - ldmatrix, stmatrix, movmatrix -------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Warp Level Matrix Instructions": 8x8 matrices of 16-bit elements
// whose rows are at addresses that the lanes give. Lane l holds the elements
// (l / 4, 2 * (l % 4)) and the next one of each matrix. stmatrix also stores
// 16x8 matrices of bytes, whose columns are at the addresses: lane l holds the
// same two elements, and those eight rows below them.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include <cstring>

using namespace fa4::sim;

namespace {

struct MatrixForm {
  MemSpace space = MemSpace::Generic;
  unsigned count = 1;
  bool transposed = false;
  bool bytes = false; ///< stmatrix.m16n8, ldmatrix.m16n16.
  unsigned rows = 8;  ///< Of a matrix in memory.
};

/// Row addresses: lane 8 * m + r gives row r of matrix m. Lanes beyond the
/// last matrix give nothing.
bool resolveRows(Exec &x, const Inst &inst, const MatrixForm &form,
                 unsigned operand, bool write, LaneAccess &access) {
  LaneMask saved = x.mask;
  unsigned given = form.rows * form.count;
  LaneMask rows = given == warpSize ? allLanes : (1u << given) - 1;
  if (saved != x.warp.live || saved != allLanes) {
    x.report(inst, "divergent-aligned",
             "a matrix instruction needs all 32 lanes of the warp");
    return false;
  }
  x.mask = rows;
  resolveLanes(x, inst, x.operand(inst, operand), form.space, 16, 16, write,
               access);
  x.mask = saved;
  return access.ok == rows;
}

/// Element (row, column) of matrix m for register half h of lane l.
void position(const MatrixForm &form, unsigned l, unsigned h, unsigned &row,
              unsigned &column) {
  row = l / 4;
  column = 2 * (l % 4) + h;
  if (form.transposed)
    std::swap(row, column);
}

/// Loads registers of a matrix instruction. `gather` gives the word of one
/// register in one lane.
template <typename Gather>
Flow loadRegisters(Exec &x, const Inst &inst, unsigned count, Gather gather) {
  const MatrixForm &form = *static_cast<const MatrixForm *>(inst.extra);
  LaneAccess access;
  if (!resolveRows(x, inst, form, count, false, access))
    return Flow::Next;
  for (unsigned r = 0; r < count; ++r) {
    uint32_t out[warpSize];
    for (unsigned l = 0; l < warpSize; ++l)
      out[l] = gather(form, access, r, l);
    std::memcpy(x.write<uint32_t>(inst, r), out, sizeof(out));
  }
  noteAccess(x, inst, access, 16, AccessKind::Read,
             {Semantics::Weak, Scope::Cta});
  return Flow::Next;
}

Flow loadMatrix(Exec &x, const Inst &inst) {
  auto gather = [](const MatrixForm &form, const LaneAccess &access, unsigned m,
                   unsigned l) {
    uint16_t half[2];
    for (unsigned h = 0; h < 2; ++h) {
      unsigned row, column;
      position(form, l, h, row, column);
      std::memcpy(&half[h], access.host[8 * m + row] + 2 * column, 2);
    }
    return half[0] | uint32_t(half[1]) << 16;
  };
  unsigned count = static_cast<const MatrixForm *>(inst.extra)->count;
  return loadRegisters(x, inst, count, gather);
}

/// ldmatrix.m16n16 of bytes, two registers a matrix: lane l gets four
/// neighbours of column l / 4 in memory, which are rows 4 * (l % 4) and on, and
/// those of the column eight behind it.
Flow loadByteMatrix(Exec &x, const Inst &inst) {
  auto gather = [](const MatrixForm &, const LaneAccess &access, unsigned r,
                   unsigned l) {
    uint32_t word = 0;
    for (unsigned e = 0; e < 4; ++e) {
      unsigned row = r / 2 * 16 + 4 * (l % 4) + e, column = l / 4 + r % 2 * 8;
      word |= uint32_t(access.host[row][column]) << 8 * e;
    }
    return word;
  };
  unsigned count = static_cast<const MatrixForm *>(inst.extra)->count;
  return loadRegisters(x, inst, 2 * count, gather);
}

/// Stores the registers of a matrix instruction, one a matrix. `scatter` writes
/// the word of one matrix in one lane. Operands: address, sources.
template <typename Scatter>
Flow storeRegisters(Exec &x, const Inst &inst, Scatter scatter) {
  const MatrixForm &form = *static_cast<const MatrixForm *>(inst.extra);
  LaneAccess access;
  if (!resolveRows(x, inst, form, 0, true, access))
    return Flow::Next;
  for (unsigned m = 0; m < form.count; ++m) {
    const uint32_t *in = x.read<uint32_t>(inst, 1 + m);
    for (unsigned l = 0; l < warpSize; ++l)
      scatter(form, access, m, l, in[l]);
  }
  noteAccess(x, inst, access, 16, AccessKind::Write,
             {Semantics::Weak, Scope::Cta});
  return Flow::Next;
}

Flow storeMatrix(Exec &x, const Inst &inst) {
  auto scatter = [](const MatrixForm &form, LaneAccess &access, unsigned m,
                    unsigned l, uint32_t word) {
    for (unsigned h = 0; h < 2; ++h) {
      unsigned row, column;
      position(form, l, h, row, column);
      uint16_t half = word >> 16 * h;
      std::memcpy(access.host[8 * m + row] + 2 * column, &half, 2);
    }
  };
  return storeRegisters(x, inst, scatter);
}

/// stmatrix.m16n8 of bytes.
Flow storeByteMatrix(Exec &x, const Inst &inst) {
  auto scatter = [](const MatrixForm &, LaneAccess &access, unsigned m,
                    unsigned l, uint32_t word) {
    for (unsigned e = 0; e < 4; ++e) {
      unsigned row = l / 4 + e / 2 * 8, column = 2 * (l % 4) + e % 2;
      access.host[8 * m + column][row] = word >> 8 * e;
    }
  };
  return storeRegisters(x, inst, scatter);
}

Flow moveMatrix(Exec &x, const Inst &inst) {
  const uint32_t *a = x.read<uint32_t>(inst, 1);
  uint32_t out[warpSize];
  for (unsigned l = 0; l < warpSize; ++l) {
    out[l] = 0;
    for (unsigned h = 0; h < 2; ++h) {
      unsigned row = 2 * (l % 4) + h, column = l / 4;
      uint16_t half = a[4 * row + column / 2] >> 16 * (column % 2);
      out[l] |= uint32_t(half) << 16 * h;
    }
  }
  uint32_t *d = x.write<uint32_t>(inst, 0);
  forEachLane(x.mask, [&](unsigned l) { d[l] = out[l]; });
  return Flow::Next;
}

bool decodeMatrix(DecodeContext &c, bool isLoad) {
  MatrixForm form;
  if (!c.take("sync") || !c.take("aligned"))
    return c.unsupported();
  form.bytes = c.take(isLoad ? "m16n16" : "m16n8");
  form.rows = isLoad && form.bytes ? 16 : 8;
  if (!form.bytes && !c.take("m8n8"))
    return c.unsupported();
  int n = c.takeOneOf({"x1", "x2", "x4"});
  form.transposed = c.take("trans");
  if (takeSpace(c, form.space) && form.space != MemSpace::Shared)
    return c.unsupported();
  if (n < 0 || !c.take(form.bytes ? "b8" : "b16") || !c.peek().empty() ||
      (form.bytes && !form.transposed) || form.rows << n > warpSize)
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  form.count = 1u << n;
  if (isLoad)
    c.inst.handler = form.bytes ? loadByteMatrix : loadMatrix;
  else
    c.inst.handler = form.bytes ? storeByteMatrix : storeMatrix;
  c.inst.extra = c.program().keepAlive(form);
  if (!isLoad && !c.addAddress(0))
    return false;
  unsigned registers = form.rows / 8 * form.count;
  if (c.addVector(isLoad ? 0 : 1, 4, isLoad) != registers)
    return c.error("wrong number of elements");
  return !isLoad || c.addAddress(1);
}
bool decodeLdmatrix(DecodeContext &c) { return decodeMatrix(c, true); }
bool decodeStmatrix(DecodeContext &c) { return decodeMatrix(c, false); }
bool decodeMovmatrix(DecodeContext &c) {
  if (!c.take("sync") || !c.take("aligned") || !c.take("m8n8") ||
      !c.take("trans") || !c.take("b16") || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = moveMatrix;
  return c.addOperand(0, 4, true) && c.addOperand(1, 4);
}

} // namespace

void fa4::sim::registerMatrixOpcodes(OpcodeTable &table) {
  table.add("ldmatrix", decodeLdmatrix);
  table.add("stmatrix", decodeStmatrix);
  table.add("movmatrix", decodeMovmatrix);
}
