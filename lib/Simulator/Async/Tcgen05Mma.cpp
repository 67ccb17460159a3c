//===- Tcgen05Mma.cpp - tcgen05.mma --------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An MMA reads its operands when it is performed, multiplies in f32 (each
// instruction: products summed in order of k onto the accumulator, rounding to
// nearest even) and writes its rows of D. Hardware keeps the products of one
// instruction exactly and truncates once. Blocks with scale factors are summed
// one by one, and their scaled sums rounded together onto the accumulator.
//
//===----------------------------------------------------------------------===//

#include "../Machine/Numeric.h"
#include "BlockScale.h"
#include "SharedOperand.h"
#include "Tcgen05.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

namespace {

struct MmaForm {
  MmaKind kind = MmaKind::F16;
  unsigned ctaGroup = 1;
  bool tensorA = false, shiftA = false;
  /// Decoded operands: 0 D, 1 A, 2 B, 3 instruction descriptor.
  int mask = -1, enable = -1;
  unsigned maskWords = 0;
  bool enableConstant = true;
  uint32_t scaleD = 0; ///< D is scaled by 2^-scaleD.
  /// Elements along K with one scale factor, whose matrices follow the
  /// instruction descriptor; 0: none.
  unsigned block = 0;
};

/// Rows of D in one CTA that share a range of columns of B.
struct RowGroup {
  unsigned cta;    ///< Index in the group.
  unsigned firstA; ///< Row of this CTA's A for the first lane.
  unsigned lane, lanes;
  unsigned firstN, countN; ///< Columns of B.
};

/// Where the rows of D are (PTX ISA, "Data path layout organization").
llvm::SmallVector<RowGroup, 4> rowGroups(const MmaShape &shape,
                                         unsigned ctaGroup) {
  llvm::SmallVector<RowGroup, 4> groups;
  if (ctaGroup == 1 && shape.m == 128) {
    groups.push_back({0, 0, 0, 128, 0, shape.n});
  } else if (ctaGroup == 1) {
    for (unsigned i = 0; i < 4; ++i)
      groups.push_back({0, 16 * i, 32 * i, 16, 0, shape.n});
  } else if (shape.m == 256) {
    for (unsigned v = 0; v < 2; ++v)
      groups.push_back({v, 0, 0, 128, 0, shape.n});
  } else {
    for (unsigned v = 0; v < 2; ++v)
      for (unsigned half = 0; half < 2; ++half)
        groups.push_back(
            {v, 0, 64 * half, 64, half * shape.n / 2, shape.n / 2});
  }
  return groups;
}

class MmaOp : public OpBase {
public:
  using OpBase::OpBase;
  bool step(Cluster &cluster, Random &) override;
  AsyncWork work() const override {
    AsyncWork result = productWork(AsyncWork::TensorMma, shape, !form->tensorA);
    result.ctas = ctas.size();
    return result;
  }

  /// Announces to the checker what the MMA will read and write.
  void announce(Exec &exec);

  /// The parts of A and B in the shared memory of one CTA.
  OperandRange rangeOfA() const {
    return {0, unsigned(shape.m / ctas.size()), shape.k, shape.mnMajorA,
            shape.chunks};
  }
  OperandRange rangeOfB() const {
    return {0, unsigned(shape.n / ctas.size()), shape.k, shape.mnMajorB,
            shape.chunks};
  }
  /// Columns of tensor memory that A takes there.
  unsigned columnsOfA() const { return 4 * shape.chunks; }
  /// Rows of A, and columns of B, whose scale factors a CTA holds. Lanes of a
  /// CTA that share their columns of B share the factors, too.
  unsigned rowsOfScaleA() const { return shape.m / ctas.size(); }
  unsigned rowsOfScaleB() const {
    return form->ctaGroup == 2 && shape.m == 128 ? shape.n / 2 : shape.n;
  }

  const MmaForm *form = nullptr;
  MmaShape shape;
  MatrixDescriptor descriptorA, descriptorB;
  TensorAddress d{}, tensorA{};
  ScaleMatrix scaleA, scaleB;
  bool accumulate = false;
  uint32_t mask[8] = {};
  llvm::SmallVector<Cta *, 2> ctas;

private:
  void perform() const;
  /// Makes D zeros, as a product of zeros does.
  void clear() const;
  void unpackSharedA(unsigned cta, float *out) const;
  void unpackTensorA(unsigned cta, float *out) const;
  void unpackB(float *out) const;
  void multiply(const RowGroup &group, const float *a, const float *b) const;
  void multiplyBlocks(const RowGroup &group, const float *a,
                      const float *b) const;
  void announceScales(ClusterChecker &checker) const;
  bool masked(unsigned cta, unsigned lane) const {
    return mask[cta * 4 + lane / 32] >> lane % 32 & 1;
  }
};

constexpr unsigned maxN = 256, maxK = 96;

void MmaOp::unpackSharedA(unsigned cta, float *out) const {
  unpackShared(ctas[cta]->shared.data(), ctas[cta]->sharedEnd(), descriptorA,
               rangeOfA(), shape.a, false, shape.k, out);
}

/// A from tensor memory: by lane.
void MmaOp::unpackTensorA(unsigned cta, float *out) const {
  unsigned t = shape.elementsPerChunk();
  TensorMemory &memory = asyncState(*ctas[cta]).tensor;
  for (unsigned lane = 0; lane < TensorMemory::lanes; ++lane) {
    unsigned from = lane;
    if (form->shiftA && lane > 0)
      from = lane - 1;
    auto row =
        reinterpret_cast<const uint8_t *>(memory.row(from) + tensorA.column);
    for (unsigned c = 0; c < shape.chunks; ++c)
      unpackChunk(row + 16 * c, shape.a, false, out + lane * shape.k + c * t);
  }
}

/// B as rows of k, N columns; each CTA of a pair holds half of them.
void MmaOp::unpackB(float *out) const {
  for (unsigned v = 0; v < ctas.size(); ++v)
    unpackShared(ctas[v]->shared.data(), ctas[v]->sharedEnd(), descriptorB,
                 rangeOfB(), shape.b, true, maxN, out + v * rangeOfB().rows);
}

void MmaOp::multiply(const RowGroup &group, const float *a,
                     const float *b) const {
  TensorMemory &memory = asyncState(*ctas[group.cta]).tensor;
  bool direct = shape.kind != MmaKind::I8 && !shape.f16Accumulator;
  float *rows[TensorMemory::lanes];
  const float *rowsA[TensorMemory::lanes];
  std::vector<float> buffer(direct ? 0 : group.lanes * maxN);
  unsigned count = 0;
  unsigned lanes[TensorMemory::lanes];
  for (unsigned i = 0; i < group.lanes; ++i) {
    unsigned lane = group.lane + i + d.lane;
    if (lane >= TensorMemory::lanes || masked(group.cta, lane))
      continue;
    uint32_t *cell = memory.row(lane) + d.column;
    float *row = reinterpret_cast<float *>(cell);
    if (!direct) {
      row = &buffer[count * maxN];
      for (unsigned n = 0; n < group.countN && shape.f16Accumulator; ++n)
        row[n] = accumulate ? fromF16(cell[n] & 0xFFFF) : 0;
    }
    lanes[count] = lane;
    rows[count] = row;
    rowsA[count++] = a + (form->tensorA ? lane : group.firstA + i) * shape.k;
  }
  bool addInto = accumulate && shape.kind != MmaKind::I8;
  multiplyTile(rows, rowsA, b + group.firstN, maxN, count, group.countN,
               shape.k, addInto, std::ldexp(1.0f, -int(form->scaleD)));
  if (direct)
    return;
  for (unsigned i = 0; i < count; ++i) {
    uint32_t *cell = memory.row(lanes[i]) + d.column;
    for (unsigned n = 0; n < group.countN; ++n) {
      if (shape.f16Accumulator) {
        cell[n] = toF16(rows[i][n]);
        continue;
      }
      // The sum of one instruction is exact in f32.
      int64_t sum = int64_t(rows[i][n]) + (accumulate ? int32_t(cell[n]) : 0);
      if (shape.saturate)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      cell[n] = uint32_t(sum);
    }
  }
}

void MmaOp::multiplyBlocks(const RowGroup &group, const float *a,
                           const float *b) const {
  const TensorMemory &memory = asyncState(*ctas[group.cta]).tensor;
  const unsigned blocks = scaleA.perRow;
  // The factors of B by quarter of the lanes, block and column.
  std::vector<double> factors(4 * blocks * group.countN);
  for (unsigned quarter = group.lane / 32;
       quarter < (group.lane + group.lanes) / 32; ++quarter)
    for (unsigned block = 0; block < blocks; ++block)
      for (unsigned n = 0; n < group.countN; ++n)
        factors[(quarter * blocks + block) * group.countN + n] =
            scaleB.at(memory, quarter, n, rowsOfScaleB(), block);
  std::vector<double> sums(group.countN);
  alignas(64) float products[maxN];
  for (unsigned i = 0; i < group.lanes; ++i) {
    unsigned lane = group.lane + i, row = group.firstA + i;
    const float *rowA = a + (form->tensorA ? lane : row) * shape.k;
    float *d = reinterpret_cast<float *>(memory.row(lane) + this->d.column);
    for (unsigned n = 0; n < group.countN; ++n)
      sums[n] = accumulate ? d[n] : 0;
    for (unsigned block = 0; block < blocks; ++block) {
      const float *part = rowA + block * form->block;
      float *to = products;
      multiplyTile(&to, &part, b + block * form->block * maxN + group.firstN,
                   maxN, 1, group.countN, form->block, false, 1);
      double factorA = scaleA.at(memory, lane / 32, row, rowsOfScaleA(), block);
      const double *factorsB =
          &factors[(lane / 32 * blocks + block) * group.countN];
      for (unsigned n = 0; n < group.countN; ++n)
        sums[n] += products[n] * (factorA * factorsB[n]);
    }
    for (unsigned n = 0; n < group.countN; ++n)
      d[n] = float(sums[n]);
  }
}

bool MmaOp::step(Cluster &cluster, Random &) {
  if (!cluster.grid.options.skipProducts)
    perform();
  else if (!accumulate)
    clear();
  cluster.stats.mmaInstructions += 1;
  cluster.stats.mmaFlops += 2ull * shape.m * shape.n * shape.k;
  if (cluster.checker)
    cluster.checker->endAgent(agent);
  return true;
}

void MmaOp::clear() const {
  for (const RowGroup &group : rowGroups(shape, form->ctaGroup))
    for (unsigned lane = group.lane + d.lane; lane < group.lane + group.lanes;
         ++lane)
      if (lane < TensorMemory::lanes && !masked(group.cta, lane))
        std::fill_n(asyncState(*ctas[group.cta]).tensor.row(lane) + d.column,
                    group.countN, 0);
}

void MmaOp::perform() const {
  alignas(64) float b[maxK * maxN];
  alignas(64) float a[TensorMemory::lanes * maxK];
  unpackB(b);
  if (shape.negateA != shape.negateB)
    for (float &x : b)
      x = -x;
  for (unsigned v = 0; v < ctas.size(); ++v) {
    if (form->tensorA)
      unpackTensorA(v, a);
    else
      unpackSharedA(v, a);
    for (const RowGroup &group : rowGroups(shape, form->ctaGroup)) {
      if (group.cta != v)
        continue;
      if (form->block)
        multiplyBlocks(group, a, b);
      else
        multiply(group, a, b);
    }
  }
}

/// All lanes' factors are read: each quarter's by the rows of D in it.
void MmaOp::announceScales(ClusterChecker &checker) const {
  llvm::SmallVector<TensorRange, 4> ranges;
  for (Cta *cta : ctas) {
    ranges.push_back({uint16_t(cta->rank), 0, TensorMemory::lanes,
                      uint16_t(scaleA.column),
                      uint16_t(scaleA.columns(rowsOfScaleA()))});
    ranges.push_back({uint16_t(cta->rank), 0, TensorMemory::lanes,
                      uint16_t(scaleB.column),
                      uint16_t(scaleB.columns(rowsOfScaleB()))});
  }
  checker.agentTensorAccess(agent, actor(), AccessKind::Read, ranges.data(),
                            ranges.size());
}

void MmaOp::announce(Exec &exec) {
  ClusterChecker *checker = exec.checker();
  if (!checker)
    return;
  agent = beginAgent(exec, *inst, lane, AgentKind::TensorPipe);
  std::vector<AccessRange> ranges;
  auto operand = [&](const MatrixDescriptor &descriptor,
                     const OperandRange &range) {
    ranges.clear();
    for (Cta *cta : ctas)
      addRanges(*cta, descriptor, range, ranges);
    checker->agentAccess(agent, actor(), MemSpace::Shared, AccessKind::Read,
                         Proxy::Async, ranges.data(), ranges.size());
  };
  operand(descriptorB, rangeOfB());
  std::vector<TensorRange> tensor;
  if (!form->tensorA) {
    operand(descriptorA, rangeOfA());
  } else {
    for (const RowGroup &group : rowGroups(shape, form->ctaGroup))
      tensor.push_back({uint16_t(ctas[group.cta]->rank),
                        uint16_t(group.lane + d.lane), uint16_t(group.lanes),
                        uint16_t(tensorA.column), uint16_t(columnsOfA())});
    checker->agentTensorAccess(agent, actor(), AccessKind::Read, tensor.data(),
                               tensor.size());
  }
  if (form->block)
    announceScales(*checker);
  tensor.clear();
  for (const RowGroup &group : rowGroups(shape, form->ctaGroup)) {
    // Runs of lanes that are not masked.
    for (unsigned i = 0; i < group.lanes; ++i) {
      unsigned l = group.lane + d.lane + i;
      if (l >= TensorMemory::lanes || masked(group.cta, l))
        continue;
      uint16_t rank = ctas[group.cta]->rank;
      if (!tensor.empty() && tensor.back().cta == rank && i > 0 &&
          tensor.back().lane + tensor.back().lanes == int(l))
        ++tensor.back().lanes;
      else
        tensor.push_back(
            {rank, uint16_t(l), 1, uint16_t(d.column), uint16_t(group.countN)});
    }
  }
  checker->agentTensorAccess(
      agent, actor(), accumulate ? AccessKind::Atomic : AccessKind::Write,
      tensor.data(), tensor.size());
}

} // namespace

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

/// Reads where the scale factors are; reports factors that are elsewhere than
/// in allocated tensor memory, and descriptors that do not fit to the form.
static bool readScales(Exec &exec, const Inst &inst, MmaOp &op, unsigned lane) {
  const MmaForm &form = *op.form;
  unsigned perRow = op.shape.k / form.block;
  const char *error = nullptr;
  if (op.shape.scaleType == ScaleType::UE4M3 && form.block == 32)
    error = "scale factors of type ue4m3 are for blocks of 16";
  else if (op.shape.k == 96 && exec.program.smVersion != 103)
    error = "K = 96 is for sm_103a";
  auto read = [&](int operand, unsigned id, unsigned rows,
                  ScaleMatrix &matrix) {
    // CUTLASS's addresses of bytes in tensor memory have the byte's number in
    // the highest bits.
    constexpr uint32_t byteBits = 3u << 30;
    auto at = TensorAddress::of(exec.value(inst, operand, lane) & ~byteBits);
    matrix = {at.column, id, perRow, op.shape.scaleType};
    if (at.lane)
      error = "scale factors do not start at lane 0 of tensor memory";
    if (const char *wrong = checkScaleId(id, perRow))
      error = wrong;
    for (Cta *cta : op.ctas)
      if (!error && !checkTensorColumns(exec.cluster, *cta, op.actor(),
                                        at.column, matrix.columns(rows)))
        return false;
    return true;
  };
  if (!read(4, op.shape.scaleIdA, op.rowsOfScaleA(), op.scaleA) ||
      !read(5, op.shape.scaleIdB, op.rowsOfScaleB(), op.scaleB))
    return false;
  if (error)
    exec.report(inst, "bad-descriptor", error, lane);
  return !error;
}

/// Reads the descriptors of an MMA. On failure `error` says why.
static bool readDescriptors(Exec &exec, const Inst &inst, unsigned lane,
                            MmaOp &op, std::string &error) {
  const MmaForm &form = *op.form;
  uint32_t idesc = exec.value(inst, 3, lane);
  if (!MmaShape::parse(form.kind, idesc, form.ctaGroup, op.shape, error) ||
      !MatrixDescriptor::parse(exec.value(inst, 2, lane), op.descriptorB,
                               error) ||
      (!form.tensorA && !MatrixDescriptor::parse(exec.value(inst, 1, lane),
                                                 op.descriptorA, error)))
    return false;
  bool continues = op.descriptorB.continues || op.descriptorA.continues;
  if (continues && (exec.program.smVersion != 103 || op.shape.mnMajorA ||
                    op.shape.mnMajorB)) {
    error = "an absolute leading dimension (bit 52) is for K-major operands "
            "on sm_103a";
    return false;
  }
  if (form.tensorA && op.shape.mnMajorA) {
    error = "A in tensor memory must be K-major";
    return false;
  }
  return true;
}

/// Reads where D lies in tensor memory, and reports a D that cannot lie there.
static bool placeD(Exec &exec, const Inst &inst, unsigned lane, MmaOp &op) {
  unsigned ctaGroup = op.form->ctaGroup;
  op.d = TensorAddress::of(exec.value(inst, 0, lane));
  bool folded = ctaGroup == 2 && op.shape.m == 128;
  unsigned columns = folded ? op.shape.n / 2 : op.shape.n;
  for (Cta *cta : op.ctas)
    if (!checkTensorColumns(exec.cluster, *cta, op.actor(), op.d.column,
                            columns))
      return false;
  bool half = ctaGroup == 1 && op.shape.m == 64;
  if (op.d.lane == 0 || (half && op.d.lane == 16))
    return true;
  exec.report(inst, "bad-descriptor",
              formatv("D starts at tensor memory lane {0}", op.d.lane).str(),
              lane);
  return false;
}

/// The same of A, which is in shared or in tensor memory.
static bool placeA(Exec &exec, const Inst &inst, unsigned lane, MmaOp &op) {
  if (!op.form->tensorA)
    return checkOperand(exec, inst, lane, op.ctas, op.descriptorA,
                        op.rangeOfA(), "A");
  op.tensorA = TensorAddress::of(exec.value(inst, 1, lane));
  return llvm::all_of(op.ctas, [&](Cta *cta) {
    return checkTensorColumns(exec.cluster, *cta, op.actor(), op.tensorA.column,
                              op.columnsOfA());
  });
}

static void issueMma(Exec &exec, const Inst &inst, const MmaForm &form,
                     unsigned lane) {
  auto op = std::make_unique<MmaOp>(exec, inst, lane);
  op->form = &form;
  if (!activeGroup(exec, inst, form.ctaGroup, op->ctas))
    return;
  std::string error;
  if (!readDescriptors(exec, inst, lane, *op, error)) {
    exec.report(inst, "bad-descriptor", error, lane);
    return;
  }
  op->accumulate = form.enable < 0 ? form.enableConstant
                                   : exec.value(inst, form.enable, lane) != 0;
  for (unsigned i = 0; i < form.maskWords; ++i)
    op->mask[i] = exec.value(inst, form.mask + i, lane);
  if (!placeD(exec, inst, lane, *op) || !placeA(exec, inst, lane, *op) ||
      !checkOperand(exec, inst, lane, op->ctas, op->descriptorB, op->rangeOfB(),
                    "B") ||
      (form.block && !readScales(exec, inst, *op, lane)))
    return;
  op->announce(exec);
  exec.cluster.async.issue(std::move(op),
                           pipeQueue(exec.warp.threadBase + lane));
}

static Flow runMma(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const MmaForm *>(inst.extra);
  forEachLane(exec.mask,
              [&](unsigned lane) { issueMma(exec, inst, form, lane); });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Consumes .block_scale and the size of blocks, which some kinds have a
/// default for. Returns the size, 0 for other kinds, and nothing for a form
/// that the manual does not have.
static std::optional<unsigned> takeBlockSize(DecodeContext &context,
                                             MmaKind kind) {
  if (kind < MmaKind::MxF8F6F4)
    return 0;
  if (!context.take("block_scale"))
    return std::nullopt;
  int size = context.takeOneOf({"scale_vec::1X", "scale_vec::2X",
                                "scale_vec::4X", "block16", "block32"});
  bool is16 = size == 2 || size == 3;
  switch (kind) {
  case MmaKind::MxF8F6F4:
    if (size == 1 || is16)
      return std::nullopt;
    return 32;
  case MmaKind::MxF4:
    if (size == 0 || is16)
      return std::nullopt;
    return 32;
  default:
    if (size <= 0)
      return std::nullopt;
    return is16 ? 16 : 32;
  }
}

/// Decodes the modifiers.
static bool decodeMmaKind(DecodeContext &context, MmaForm &form) {
  form.ctaGroup = takeCtaGroup(context);
  if (!form.ctaGroup)
    return false;
  int kind =
      context.takeOneOf({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                         "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (kind < 0)
    return context.unsupported();
  form.kind = MmaKind(kind);
  std::optional<unsigned> block = takeBlockSize(context, form.kind);
  if (!block)
    return context.unsupported();
  form.block = *block;
  context.takeOneOf({"collector::a::fill", "collector::a::use",
                     "collector::a::lastuse", "collector::a::discard"});
  form.shiftA = context.take("ashift");
  if (!context.rest().empty()) // .sp, .ws, ...
    return context.unsupported();
  return true;
}

/// Decodes the operands behind the instruction descriptor.
static bool decodeLastOperands(DecodeContext &context, MmaForm &form) {
  unsigned source = 4;
  int operand = 4;
  if (form.block) {
    if (!context.addAddress(4) || !context.addAddress(5))
      return false;
    source = operand = 6;
  } else if (source < context.numSources() && context.isVector(source)) {
    form.mask = operand;
    form.maskWords = context.addVector(source++, 4);
    if (form.maskWords != 4 * form.ctaGroup)
      return context.error(
          formatv("disable-output-lane needs {0} words", 4 * form.ctaGroup));
    operand += form.maskWords;
  }
  if (source < context.numSources()) {
    if (auto constant = context.immediate(source)) {
      form.enableConstant = *constant != 0;
    } else {
      form.enable = operand;
      if (!context.addOperand(source, 0))
        return false;
    }
    ++source;
  } else {
    return context.error("the enable-input-d predicate is missing");
  }
  if (source < context.numSources()) {
    auto scale = context.immediate(source++);
    if (!scale || *scale < 0 || *scale > 15 ||
        (form.kind != MmaKind::F16 && form.kind != MmaKind::TF32))
      return context.error(
          "scale-input-d must be a constant 0..15, with kind f16 or tf32");
    form.scaleD = *scale;
  }
  if (source < context.numSources())
    return context.error("too many operands");
  return true;
}

static bool decodeMma(DecodeContext &context) {
  MmaForm form;
  if (!decodeMmaKind(context, form))
    return false;
  form.tensorA = context.isAddress(1);
  if (form.shiftA && (!form.tensorA || form.block))
    return context.error(".ashift needs A in tensor memory, and no scales");
  if (!context.addAddress(0) ||
      !(form.tensorA ? context.addAddress(1) : context.addOperand(1, 8)) ||
      !context.addOperand(2, 8) || !context.addOperand(3, 4) ||
      !decodeLastOperands(context, form))
    return false;
  context.inst.extra = context.program().keepAlive(form);
  context.inst.handler = runMma;
  return true;
}

void fa4::sim::registerMmaOpcodes(OpcodeTable &table) {
  table.add("tcgen05.mma", decodeMma);
}
