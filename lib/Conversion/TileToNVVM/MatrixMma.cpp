//===- MatrixMma.cpp - MMAs of lanes that hold the result ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is one piece of inline assembly: fence, one wgmma.mma_async for
// each K step, commit. So is the wait for it. Both tie the registers of the
// accumulator, in and out: no other instruction stands between the registers
// and the MMAs, where ptxas would have to wait (its advisories C7510 to C7519).
// NVVM's operation for wgmma has neither A in registers nor an accumulator that
// is added under a condition.
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "SharedMatrix.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;

/// The registers of A that one instruction takes (PTX ISA, wgmma, fragment of
/// A with elements of 16 bits).
static constexpr unsigned kRegistersOfA = 4;

/// An operand in shared memory, by its descriptor.
struct MatrixMmaLowering::SharedOperand : SharedMatrix {
  /// The low word of the descriptor of K step 0, an i32, and the high one,
  /// which depends on no address.
  Value low;
  uint32_t high = 0;
};

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

ArrayRef<Value> MatrixMmaLowering::getRegisters(Value tile) const {
  auto known = registers.find(tile);
  return known == registers.end() ? ArrayRef<Value>()
                                  : ArrayRef<Value>(known->second);
}

/// The registers of an instruction alternate between the rows of a thread; the
/// parts of a tile are one row after the other.
LogicalResult MatrixMmaLowering::lower(FromLanesOp op) {
  VectorType type = op.getTile().getType();
  const ValueLayout &layout = *role.getLayout(type);
  bool isNarrow = type.getElementTypeBitWidth() == 16;
  SmallVector<Value> inRows;
  for (Value part : op.getParts()) {
    Value vector = mapping.lookupOrDefault(part);
    auto count = cast<VectorType>(part.getType()).getNumElements();
    if (isNarrow && count % 2 != 0)
      return op.emitOpError("has a part with an odd number of elements of 16 "
                            "bits, of which a register has two");
    if (isNarrow)
      vector = vector::BitCastOp::create(
          b, VectorType::get({count / 2}, b.getI32Type()), vector);
    for (int64_t i = 0; i < (isNarrow ? count / 2 : count); ++i)
      inRows.push_back(vector::ExtractOp::create(b, vector, i));
  }
  int64_t perRegister = isNarrow ? 2 : 1;
  SmallVector<Value> &ordered = registers[op.getTile()];
  ordered.resize(inRows.size());
  auto next = inRows.begin();
  for (int64_t row = 0; row < layout.getRowsPerThread(); ++row)
    for (int64_t element :
         layout.getElementsOfRow(b.getContext(), row, type.getDimSize(1)))
      if (element % perRegister == 0)
        ordered[element / perRegister] = *next++;
  return success();
}

LogicalResult MatrixMmaLowering::lower(ToLanesOp op) {
  VectorType type = op.getTile().getType();
  const ValueLayout &layout = *role.getLayout(type);
  ArrayRef<Value> from = getRegisters(op.getTile());
  if (from.empty() || !type.getElementType().isF32())
    return op.emitOpError("takes a tile that is no result of an MMA of the "
                          "role (tile.await)");
  SmallVector<Value> inRows;
  for (int64_t row = 0; row < layout.getRowsPerThread(); ++row)
    for (int64_t element :
         layout.getElementsOfRow(b.getContext(), row, type.getDimSize(1)))
      inRows.push_back(from[element]);
  ValueRange rest = inRows;
  for (Value part : op.getParts()) {
    auto vector = cast<VectorType>(part.getType());
    ValueRange elements = rest.take_front(vector.getNumElements());
    rest = rest.drop_front(vector.getNumElements());
    mapping.map(
        part, vector::FromElementsOp::create(b, vector, elements).getResult());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult MatrixMmaLowering::checkShape(MmaOp op) {
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  if (!layout.target.isMmaInstruction(m, n))
    return op.emitOpError("is ")
           << m << "x" << n << "; wgmma has " << layout.target.mma.rows
           << " rows, and multiples of 8 up to " << layout.target.mma.maxColumns
           << " columns";
  if (k % kStep != 0)
    return op.emitOpError("has K = ")
           << k << "; wgmma takes multiples of " << kStep;
  return success();
}

/// Finds an operand in shared memory and encodes where it begins. Only the low
/// word of a descriptor depends on the address: 16-byte units in bits 0-13, and
/// a sum that stays below 2^14.
FailureOr<MatrixMmaLowering::SharedOperand>
MatrixMmaLowering::findShared(MmaOp op, Value value, bool majorK) {
  SharedOperand operand;
  if (failed(operand.find(op, value, majorK, handles, layout)) ||
      failed(operand.check(op)))
    return failure();
  const Buffer &buffer = *operand.buffer;
  int64_t swizzle = buffer.span == 128 ? 1 : buffer.span == 64 ? 2 : 3;
  operand.high = uint32_t(operand.getStride() | swizzle << 30);
  Value start = arith::ShRUIOp::create(
      b, add(pin(b, values.sharedAddress), buffer.offset), constant(4));
  operand.low = addStage(add(start, operand.getLeading() << 16), buffer,
                         operand.handle.stage, /*unit=*/16);
  return operand;
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// Returns `{$first, $first+1, ...}` with `count` operands.
static std::string listOperands(unsigned first, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += formatv("{0}${1}", i ? ", " : "", first + i);
  return list + "}";
}

/// Writes the instructions of a product. Operands are: the results, the
/// accumulator (if there is one), A (registers or the low word of a
/// descriptor), the low word of B's descriptor, the condition.
std::string MatrixMmaLowering::writeProduct(MmaOp op, unsigned results,
                                            unsigned firstInput,
                                            const SharedOperand *a,
                                            const SharedOperand &sharedB,
                                            bool hasAcc) {
  int64_t steps = op.getK() / kStep;
  unsigned operandB = firstInput + (a ? 1 : unsigned(steps) * kRegistersOfA);
  std::string text = "{\n.reg .pred p;\n.reg .b32 low;\n.reg .b64 da, db;\n";
  text += hasAcc ? formatv("setp.ne.b32 p, ${0}, 0;\n", operandB + 1).str()
                 : "setp.ne.b32 p, 0, 0;\n";
  text += "wgmma.fence.sync.aligned;\n";
  StringRef element =
      op.getA().getType().getElementType().isBF16() ? "bf16" : "f16";
  for (int64_t step = 0; step < steps; ++step) {
    auto address = [&](StringRef name, unsigned operand,
                       const SharedOperand &matrix) {
      text += formatv("add.s32 low, ${1}, {2};\nmov.b64 {0}, {{low, {3}};\n",
                      name, operand, matrix.getOffset(step), matrix.high);
    };
    if (a)
      address("da", firstInput, *a);
    address("db", operandB, sharedB);
    if (step == 1)
      text += "setp.eq.b32 p, 0, 0;\n";
    text += formatv("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} ",
                    op.getN(), element);
    text += listOperands(0, results) + ", ";
    text += a ? std::string("da")
              : listOperands(firstInput + step * kRegistersOfA, kRegistersOfA);
    text += ", db, p, 1, 1";
    if (a)
      text += formatv(", {0}", int(op.getTransposeA()));
    text += formatv(", {0};\n", int(!op.getTransposeB()));
  }
  return text + "wgmma.commit_group.sync.aligned;\n}";
}

/// Builds inline assembly whose results are f32 registers.
static SmallVector<Value> buildAssembly(ImplicitLocOpBuilder &b, StringRef text,
                                        unsigned results, ValueRange inputs,
                                        const std::string &constraints) {
  SmallVector<Type> types(results, b.getF32Type());
  auto all = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value result =
      LLVM::InlineAsmOp::create(
          b, all, inputs, text, constraints, /*has_side_effects=*/true,
          /*is_align_stack=*/false, LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr())
          .getResult(0);
  SmallVector<Value> registers;
  for (unsigned i = 0; i < results; ++i)
    registers.push_back(LLVM::ExtractValueOp::create(b, result, int64_t(i)));
  return registers;
}

/// Returns the constraints of `results` results and as many inputs that are in
/// the same registers, if these are `tied`.
static std::string constrainResults(unsigned results, bool tied) {
  std::string text = "=f";
  for (unsigned i = 1; i < results; ++i)
    text += ",=f";
  for (unsigned i = 0; tied && i < results; ++i)
    text += formatv(",{0}", i).str();
  return text;
}

LogicalResult MatrixMmaLowering::lower(MmaOp op) {
  if (failed(checkShape(op)))
    return failure();
  unsigned results = op.getN() / 2;
  SmallVector<Value> inputs;
  Value sum = op.getAcc() ? Value(op.getAcc()) : Value(op.getOnto());
  if (sum)
    llvm::append_range(inputs, getRegisters(sum));
  if (sum && inputs.size() != results)
    return op.emitOpError("has an accumulator that no registers of the role "
                          "hold (tile.from_lanes)");
  std::string constraints = constrainResults(results, bool(sum));
  // Operands that are tied to results have numbers of their own.
  unsigned firstInput = results + inputs.size();
  FailureOr<SharedOperand> sharedA = failure();
  ArrayRef<Value> wordsOfA = getRegisters(op.getA());
  if (!wordsOfA.empty()) {
    if (op.getTransposeA())
      return op.emitOpError("has a transposed A in registers, which wgmma "
                            "reads row by row");
    llvm::append_range(inputs, wordsOfA);
    for (size_t i = 0; i < wordsOfA.size(); ++i)
      constraints += ",r";
  } else {
    sharedA = findShared(op, op.getA(), !op.getTransposeA());
    if (failed(sharedA))
      return failure();
    inputs.push_back(sharedA->low);
    constraints += ",r";
  }
  FailureOr<SharedOperand> sharedB =
      findShared(op, op.getB(), op.getTransposeB());
  if (failed(sharedB))
    return failure();
  inputs.push_back(sharedB->low);
  constraints += ",r";
  if (sum) {
    Value condition =
        op.getAccumulate()
            ? mapping.lookupOrDefault(op.getAccumulate())
            : arith::ConstantIntOp::create(b, b.getI1Type(), 1).getResult();
    inputs.push_back(arith::ExtUIOp::create(b, b.getI32Type(), condition));
    constraints += ",r";
  }
  std::string text = writeProduct(op, results, firstInput,
                                  succeeded(sharedA) ? &*sharedA : nullptr,
                                  *sharedB, bool(sum));
  registers[op.getResult()] =
      buildAssembly(b, text, results, inputs, constraints);
  return success();
}

/// Returns how many MMAs may still be under way behind the wait: those that the
/// role has started since the one that it waits for, or since a later one for
/// which it has waited before. More would tell ptxas that an MMA is under way
/// which has ended, and it would say that its registers are read (C7514).
static unsigned countLater(AwaitOp op) {
  Operation *last = op.getMma();
  for (auto other : op->getBlock()->getOps<AwaitOp>())
    if (other->isBeforeInBlock(op) && last->isBeforeInBlock(other.getMma()))
      last = other.getMma();
  unsigned count = 0;
  for (Operation *next = last->getNextNode(); next != op;
       next = next->getNextNode())
    count += isa<MmaOp>(next);
  return count;
}

/// The wait keeps the registers of A, too: the MMAs read them until they have
/// ended.
LogicalResult MatrixMmaLowering::lower(AwaitOp op) {
  SmallVector<Value> inputs(getRegisters(op.getPending()));
  unsigned results = inputs.size();
  std::string constraints = constrainResults(results, /*tied=*/true);
  for (MmaOp mma : op.getMmas())
    for (Value word : getRegisters(mma.getA())) {
      inputs.push_back(word);
      constraints += ",r";
    }
  registers[op.getResult()] = buildAssembly(
      b, formatv("wgmma.wait_group.sync.aligned {0};", countLater(op)).str(),
      results, inputs, constraints);
  return success();
}
