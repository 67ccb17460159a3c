//===- Wgmma.cpp - wgmma: execution and decoding -------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"
#include "SharedOperand.h"
#include "fa4/Simulator/Ptx/Ast.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

static constexpr llvm::StringLiteral mismatch = "warpgroup-mismatch";

static WarpgroupState &warpgroupOf(Exec &exec) {
  return asyncState(exec.cta).warpgroups[exec.warp.index / warpgroupWarps];
}
static unsigned memberOf(const Warp &warp) {
  return warp.index % warpgroupWarps;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Reports what keeps the warp from being one of a whole warpgroup.
static bool checkWarpgroup(Exec &exec, const Inst &inst) {
  if (exec.mask != allLanes) {
    // A guard that holds for some lanes only has been reported.
    if (exec.warp.live != allLanes)
      exec.report(inst, "divergent-aligned",
                  "wgmma needs all 32 lanes of the warp");
    return false;
  }
  unsigned first = exec.warp.index - memberOf(exec.warp);
  if (first + warpgroupWarps > exec.cta.warps.size()) {
    exec.report(inst, mismatch,
                formatv("wgmma needs the four warps of a warpgroup, of which "
                        "the CTA has {0} only: its threads must be a multiple "
                        "of 128",
                        exec.cta.warps.size() - first)
                    .str());
    return false;
  }
  return true;
}

/// The value of an operand, which all lanes must agree on.
static uint64_t uniformValue(Exec &exec, const Inst &inst, unsigned operand,
                             const char *name) {
  uint64_t value = exec.value(inst, operand, 0);
  for (unsigned lane = 1; lane < warpSize; ++lane)
    if (exec.value(inst, operand, lane) != value) {
      exec.report(inst, "divergent-operand",
                  formatv("lanes 0 and {0} give different values for {1} of "
                          "wgmma.mma_async",
                          lane, name)
                      .str(),
                  lane);
      break;
    }
  return value;
}

namespace {
/// What a warp gives an instruction.
struct WarpOperands {
  uint64_t a = 0, b = 0;
  bool scaleD = true;
};
} // namespace

static WarpOperands readOperands(Exec &exec, const Inst &inst,
                                 const WgmmaForm &form) {
  WarpOperands result;
  if (!form.registersA)
    result.a =
        uniformValue(exec, inst, form.descriptorA(), "the descriptor of A");
  result.b =
      uniformValue(exec, inst, form.descriptorB(), "the descriptor of B");
  result.scaleD = uniformValue(exec, inst, form.scaleD(), "scale-d") != 0;
  return result;
}

/// The first warp of the warpgroup that comes to an instruction begins it.
static std::unique_ptr<WgmmaOp> makeOp(Exec &exec, const Inst &inst,
                                       const WgmmaForm &form,
                                       const WarpOperands &operands) {
  auto op = std::make_unique<WgmmaOp>(exec, inst, form);
  op->bitsA = operands.a;
  op->bitsB = operands.b;
  op->accumulate = operands.scaleD;
  std::string error;
  op->isValid = MatrixDescriptor::parseWgmma(operands.b, op->b, error);
  if (op->isValid && !form.registersA)
    op->isValid = MatrixDescriptor::parseWgmma(operands.a, op->a, error);
  if (!op->isValid) {
    exec.report(inst, "bad-descriptor", error);
    return op;
  }
  Cta *cta = &exec.cta;
  OperandRange wholeA = op->rangeOfA(0);
  wholeA.rows = form.shape.m;
  op->isValid =
      checkOperand(exec, inst, 0, cta, op->b, op->rangeOfB(), "B") &&
      (form.registersA || checkOperand(exec, inst, 0, cta, op->a, wholeA, "A"));
  return op;
}

/// Reports what the warp does otherwise than the one that began the product.
static void checkAgreement(Exec &exec, const Inst &inst, const WgmmaOp &op,
                           const WarpOperands &operands) {
  if (op.inst != &inst) {
    exec.report(inst, mismatch,
                formatv("the warps of a warpgroup must execute the same "
                        "wgmma.mma_async: for warp {0} product {1} is the one "
                        "at {2}",
                        op.warp->index, exec.warp.wgmmaCount,
                        exec.program.lineOf(*op.inst))
                    .str());
    return;
  }
  const char *what = op.bitsB != operands.b             ? "the descriptor of B"
                     : op.bitsA != operands.a           ? "the descriptor of A"
                     : op.accumulate != operands.scaleD ? "scale-d"
                                                        : nullptr;
  if (what)
    exec.report(inst, mismatch,
                formatv("warps {0} and {1} of a warpgroup give different "
                        "values for {2} of wgmma.mma_async",
                        op.warp->index, exec.warp.index, what)
                    .str());
}

/// Tells the checker what the warp's part reads, and which registers it uses.
static void announce(Exec &exec, const Inst &inst, const WgmmaOp &op) {
  ClusterChecker *checker = exec.checker();
  if (!checker)
    return;
  std::vector<AccessRange> ranges;
  if (op.isValid) {
    addRanges(exec.cta, op.b, op.rangeOfB(), ranges);
    if (!op.form.registersA)
      addRanges(exec.cta, op.a, op.rangeOfA(memberOf(exec.warp)), ranges);
  }
  const MmaShape &shape = op.form.shape;
  checker->wgmmaIssue({&exec.warp, &inst, op.form.registersD,
                       op.form.registersA,
                       shape.n << 8 | shape.k << 20 | shape.f16Accumulator,
                       ranges.data(), ranges.size()});
}

static Flow runMma(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const WgmmaForm *>(inst.extra);
  if (!checkWarpgroup(exec, inst))
    return Flow::Next;
  WarpgroupState &group = warpgroupOf(exec);
  unsigned w = memberOf(exec.warp);
  WarpOperands operands = readOperands(exec, inst, form);
  uint64_t number = group.members[w].issued++;
  ++exec.warp.wgmmaCount;
  WgmmaOp *op = nullptr;
  if (number < group.completed + group.inFlight.size()) {
    op = group.inFlight[number - group.completed];
    checkAgreement(exec, inst, *op, operands);
  } else {
    std::unique_ptr<WgmmaOp> made = makeOp(exec, inst, form, operands);
    op = made.get();
    group.inFlight.push_back(op);
    exec.cluster.async.issue(std::move(made), wgmmaQueue(exec.warp));
    for (unsigned other = 0; other < warpgroupWarps; ++other)
      if (!op->member(other).live)
        exec.report(inst, mismatch,
                    formatv("warp {0} of the warpgroup has exited and cannot "
                            "execute this wgmma.mma_async",
                            op->member(other).index)
                        .str());
  }
  announce(exec, inst, *op);
  op->issued |= 1u << w;
  if (exec.cluster.timer)
    exec.cluster.timer->wgmmaIssued(*op, wgmmaQueue(exec.warp),
                                    op->issued == allWarps);
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Fences and groups
//===----------------------------------------------------------------------===//

static Flow runFence(Exec &exec, const Inst &inst) {
  if (ClusterChecker *checker = exec.checker())
    checker->wgmmaFence(exec.warp, inst);
  return Flow::Next;
}

static Flow runCommit(Exec &exec, const Inst &inst) {
  WarpgroupState::Member &own = warpgroupOf(exec).members[memberOf(exec.warp)];
  own.groups.push_back(own.issued);
  if (ClusterChecker *checker = exec.checker())
    checker->wgmmaCommit(exec.warp, inst);
  return Flow::Next;
}

/// form: groups that may be incomplete.
static Flow runWait(Exec &exec, const Inst &inst) {
  WarpgroupState &group = warpgroupOf(exec);
  WarpgroupState::Member &own = group.members[memberOf(exec.warp)];
  if (own.groups.size() > inst.form) {
    uint64_t needed = own.groups[own.groups.size() - inst.form - 1];
    if (group.completed < needed) {
      BlockReason reason;
      reason.kind = BlockReason::WgmmaGroup;
      reason.value = inst.form;
      return exec.block(reason);
    }
    own.groups.erase(own.groups.begin(), own.groups.end() - inst.form);
    own.waited = std::max(own.waited, needed);
  }
  if (ClusterChecker *checker = exec.checker())
    checker->wgmmaWait(exec.warp, inst, inst.form);
  return Flow::Next;
}

void fa4::sim::checkWarpgroupExit(Exec &exec, const Inst &inst) {
  auto &groups = exec.cta.async->warpgroups;
  auto it = groups.find(exec.warp.index / warpgroupWarps);
  if (it == groups.end())
    return;
  const WarpgroupState &group = it->second;
  const WarpgroupState::Member &own = group.members[memberOf(exec.warp)];
  if (own.issued > own.waited)
    exec.reportStrict(
        inst, "exit-with-async-outstanding",
        "a warp exits while its wgmma.mma_async may be in progress: "
        "wgmma.commit_group and wgmma.wait_group are missing");
  if (own.issued >= group.completed + group.inFlight.size())
    return;
  const WgmmaOp &op = *group.inFlight[own.issued - group.completed];
  exec.report(inst, mismatch,
              formatv("a warp exits without the wgmma.mma_async at {0} that "
                      "warp {1} of its warpgroup has executed",
                      exec.program.lineOf(*op.inst), op.warp->index)
                  .str());
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// "m64n128k16".
static bool parseShape(llvm::StringRef text, MmaShape &shape) {
  shape.m = 64;
  return text.consume_front("m64n") && !text.consumeInteger(10, shape.n) &&
         text.consume_front("k") && !text.getAsInteger(10, shape.k);
}

static std::optional<MmaType> parseType(llvm::StringRef name) {
  static constexpr std::pair<llvm::StringLiteral, MmaType> types[] = {
      {"f16", MmaType::F16},   {"bf16", MmaType::BF16}, {"tf32", MmaType::TF32},
      {"e4m3", MmaType::E4M3}, {"e5m2", MmaType::E5M2}, {"u8", MmaType::U8},
      {"s8", MmaType::S8},     {"b1", MmaType::B1}};
  for (const auto &[known, type] : types)
    if (name == known)
      return type;
  return std::nullopt;
}

/// The kind of product of these types; nothing where they do not go together.
static std::optional<MmaKind> kindOf(MmaType a, MmaType b) {
  auto isFp8 = [](MmaType t) {
    return t == MmaType::E4M3 || t == MmaType::E5M2;
  };
  auto isInt8 = [](MmaType t) { return t == MmaType::U8 || t == MmaType::S8; };
  if (isFp8(a) && isFp8(b))
    return MmaKind::F8F6F4;
  if ((isInt8(a) && isInt8(b)) || (a == MmaType::B1 && b == MmaType::B1))
    return MmaKind::I8;
  if (a != b)
    return std::nullopt;
  if (a == MmaType::TF32)
    return MmaKind::TF32;
  return a == MmaType::F16 || a == MmaType::BF16
             ? std::optional<MmaKind>(MmaKind::F16)
             : std::nullopt;
}

/// Shape and types (PTX ISA, "Matrix Shape" and "Matrix Data-types" of wgmma).
static bool decodeTypes(DecodeContext &c, WgmmaForm &form) {
  MmaShape &shape = form.shape;
  if (!parseShape(c.next(), shape))
    return c.unsupported();
  shape.saturate = c.take("satfinite");
  llvm::StringRef d = c.next();
  std::optional<MmaType> a = parseType(c.next()), b = parseType(c.next());
  std::optional<MmaKind> kind = a && b ? kindOf(*a, *b) : std::nullopt;
  if (!kind)
    return c.unsupported();
  shape.a = *a;
  shape.b = *b;
  shape.kind = *kind;
  bool isInteger = *kind == MmaKind::I8, isBit = *a == MmaType::B1;
  shape.f16Accumulator = d == "f16";
  bool mayBeF16 = *a == MmaType::F16 || *kind == MmaKind::F8F6F4;
  if (isInteger ? d != "s32" : d != "f32" && !(d == "f16" && mayBeF16))
    return c.unsupported();
  if ((isBit && !(c.take("and") && c.take("popc"))) ||
      (shape.saturate && (!isInteger || isBit)) || !c.peek().empty())
    return c.unsupported();
  unsigned k = isBit                    ? 256
               : *kind == MmaKind::F16  ? 16
               : *kind == MmaKind::TF32 ? 8
                                        : 32;
  if (shape.k != k)
    return c.error(formatv("wgmma of these types multiplies k = {0} at a time, "
                           "not {1}",
                           k, shape.k));
  // Integers: 8, 16, 24, 32, 48, 64, ...; the others: all multiples of 8.
  bool isMultiple = shape.n % (isInteger && shape.n > 32 ? 16 : 8) == 0;
  if (shape.n < 8 || shape.n > 256 || !isMultiple)
    return c.error(formatv("wgmma has no N = {0} for these types", shape.n));
  return true;
}

/// Returns true if a vector of the instruction consists of registers, and if
/// `distinct`, of different ones. Registers of a source may be equal: ptxas
/// takes them, and copies what the instruction needs side by side.
static bool hasRegisters(DecodeContext &c, unsigned operand, bool distinct) {
  llvm::SmallDenseSet<const ptx::Register *> seen;
  for (const ptx::Operand &element : c.source().operands[operand].elements)
    if (!element.isRegister() || (!seen.insert(element.reg).second && distinct))
      return false;
  return true;
}

/// D, which is read and written, A and B.
static bool decodeMatrices(DecodeContext &c, WgmmaForm &form) {
  form.registersD = c.addVector(0, 4, true);
  unsigned wanted = form.shape.n / (form.shape.f16Accumulator ? 4 : 2);
  if (!form.registersD)
    return false;
  if (!c.isVector(0) || form.registersD != wanted ||
      !hasRegisters(c, 0, /*distinct=*/true))
    return c.error(formatv("D of this form is a vector of {0} different "
                           "registers",
                           wanted));
  if (c.isVector(1)) {
    form.registersA = c.addVector(1, 4);
    if (form.registersA != 4 || !hasRegisters(c, 1, /*distinct=*/false))
      return form.registersA &&
             c.error("A in registers is a vector of 4 registers");
  } else if (!c.addOperand(1, 8)) {
    return false;
  }
  return c.addOperand(2, 8);
}

/// imm-scale-a and -b (1 or -1), imm-trans-a and -b (0 or 1).
static bool decodeImmediates(DecodeContext &c, WgmmaForm &form) {
  MmaShape &shape = form.shape;
  unsigned source = 4;
  auto take = [&](int64_t off, int64_t on, bool &flag, const char *name) {
    std::optional<int64_t> value = c.immediate(source++);
    if (!value || (*value != off && *value != on))
      return c.error(formatv("{0} must be {1} or {2}", name, off, on));
    flag = *value == on;
    return true;
  };
  if (shape.kind != MmaKind::I8 &&
      (!take(1, -1, shape.negateA, "imm-scale-a") ||
       !take(1, -1, shape.negateB, "imm-scale-b")))
    return false;
  if (shape.kind == MmaKind::F16 &&
      ((!form.registersA && !take(0, 1, shape.mnMajorA, "imm-trans-a")) ||
       !take(0, 1, shape.mnMajorB, "imm-trans-b")))
    return false;
  if (source != c.numSources())
    return c.error(
        formatv("this form has {0} operands, not {1}", source, c.numSources()));
  return true;
}

static bool decodeMma(DecodeContext &c) {
  WgmmaForm form;
  if (c.has("sp"))
    return c.error("sparse wgmma is not supported");
  if (!c.take("sync") || !c.take("aligned"))
    return c.unsupported();
  if (!decodeTypes(c, form) || !decodeMatrices(c, form))
    return false;
  // scale-d: a predicate, or (ptxas takes that, too) a constant.
  if (!c.addOperand(3, 0) || !decodeImmediates(c, form))
    return false;
  c.inst.extra = c.program().keepAlive(form);
  c.inst.form2 = form.registersD + form.registersA;
  c.inst.flags |= Inst::Wgmma;
  c.inst.handler = runMma;
  return true;
}

template <Handler handler> static bool decodePlain(DecodeContext &c) {
  if (!c.take("sync") || !c.take("aligned") || !c.peek().empty())
    return c.unsupported();
  c.inst.handler = handler;
  return true;
}

static bool decodeWait(DecodeContext &c) {
  if (!decodePlain<runWait>(c))
    return false;
  std::optional<int64_t> count = c.immediate(0);
  constexpr int64_t maxPending = 65535;
  if (!count || *count < 0 || *count > maxPending)
    return c.error("wgmma.wait_group needs a constant from 0 to 65535");
  c.inst.form = *count;
  return true;
}

void fa4::sim::registerWgmmaOpcodes(OpcodeTable &table) {
  table.add("wgmma.mma_async", decodeMma);
  table.add("wgmma.fence", decodePlain<runFence>);
  table.add("wgmma.commit_group", decodePlain<runCommit>);
  table.add("wgmma.wait_group", decodeWait);
}
