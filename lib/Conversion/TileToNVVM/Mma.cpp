//===- Mma.cpp - matrix multiply-accumulate ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "SharedMatrix.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

/// An operand in shared memory (by a matrix descriptor) or in tensor memory.
struct MmaLowering::MatrixOperand : SharedMatrix {
  /// The descriptor's low word, or the address, of the first element of the
  /// stage.
  Value base;
  int64_t high = 0;

  bool inTensorMemory() const { return buffer->tensorMemory; }
  /// Returns the distance to K step `step`, in units of 16 bytes or in columns.
  int64_t offset(int64_t step) const {
    if (!inTensorMemory())
      return getOffset(step);
    return (handle.column + step * kStep) * buffer->elementBytes / 4;
  }
};

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Checks that of a pair's MMA each CTA has its own A, and half of B.
LogicalResult MmaLowering::checkParts(MmaOp op, Value value,
                                      const MatrixOperand &operand) {
  if (layout.clusterSize == 1)
    return success();
  ChannelOp channel = operand.handle.channel;
  if (value != op.getB())
    return channel.getSplit()
               ? op.emitOpError(
                     "has an A of which each CTA of the pair has only a part")
               : success();
  uint64_t dim = op.getTransposeB() ? 0 : 1;
  if (channel.getSplit() != dim ||
      channel.getTileType().getDimSize(dim) != op.getN())
    return op.emitOpError(
               "needs a B of which each CTA of the pair has half of the ")
           << (dim == 0 ? "rows" : "columns") << " (split(" << dim << "))";
  return success();
}

/// Checks an operand in tensor memory, where lanes have whole rows of A.
LogicalResult MmaLowering::checkTensorMemory(MmaOp op, Value value,
                                             const MatrixOperand &operand) {
  if (value != op.getA())
    return op.emitOpError("has its B in tensor memory, where only A can be");
  if (!operand.majorK)
    return op.emitOpError("has a transposed A in tensor memory, which "
                          "tcgen05.mma can only read row by row");
  if (operand.handle.row != 0)
    return op.emitOpError("has an A in tensor memory that begins at row ")
           << operand.handle.row << " of a tile; it must begin at row 0";
  if (!operand.buffer->valueLayout->isMmaOperand())
    return op.emitOpError("has an A of ")
           << operand.buffer->rows
           << " rows in tensor memory, where lanes have half a row each; "
              "tcgen05.mma of a pair reads such an A from shared memory";
  return success();
}

/// Finds which part of which stage an operand covers.
FailureOr<MmaLowering::MatrixOperand>
MmaLowering::findOperand(MmaOp op, Value value, bool majorK) {
  MatrixOperand operand;
  if (failed(operand.find(op, value, majorK, handles, layout)) ||
      failed(checkParts(op, value, operand)))
    return failure();
  if (operand.buffer->elementBytes != 2)
    return op.emitOpError("has an operand with elements of ")
           << operand.buffer->elementBytes
           << " bytes; tcgen05.mma takes bf16 and f16, of 2 bytes";
  if (failed(operand.inTensorMemory() ? checkTensorMemory(op, value, operand)
                                      : operand.check(op)))
    return failure();
  return operand;
}

/// Encodes where an operand begins: by an address of tensor memory, or by a
/// descriptor (PTX ISA, tcgen05, shared memory descriptor). Only the low word
/// of a descriptor depends on the address: 16-byte units in bits 0-13, and a
/// sum that stays below 2^14.
void MmaLowering::encode(MatrixOperand &operand) {
  const Buffer &buffer = *operand.buffer;
  if (operand.inTensorMemory()) {
    operand.base = tensorAddress(buffer, operand.handle.stage, 0);
    return;
  }
  int64_t swizzle = buffer.span == 128 ? 2 : buffer.span == 64 ? 4 : 6;
  operand.high = operand.getStride() | int64_t(1) << 14 | swizzle << 29;
  Value start = arith::ShRUIOp::create(
      b, add(pin(b, values.sharedAddress), buffer.offset), constant(4));
  operand.base = addStage(add(start, operand.getLeading() << 16), buffer,
                          operand.handle.stage, /*unit=*/16);
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Checks the accumulator, and sets `enable` to the condition under which the
/// first K step adds to it; null means never.
LogicalResult MmaLowering::checkAccumulator(MmaOp op, ChannelOp destination,
                                            Value &enable) {
  if (!op.getAcc() || matchPattern(op.getAcc(), m_AnyZeroFloat()))
    return success();
  auto handle = handles.find(op.getAcc());
  if (handle == handles.end())
    return op.emitOpError("has an accumulator that lies in no channel");
  ChannelOp source = handle->second.channel;
  if (!source && !op.getAccumulate())
    return op.emitOpError(
        "accumulates to a tile that begins with zero in front of the loop; it "
        "needs a condition (if) that is false in the first iteration");
  if (source) {
    const Buffer &from = layout.buffer(source),
                 &to = layout.buffer(destination);
    if (!from.tensorMemory || from.offset != to.offset ||
        from.stages != to.stages || from.stageSize != to.stageSize)
      return op.emitOpError(
          "accumulates to a tile that lies in another place than the channel "
          "to which its result is committed");
  }
  enable = op.getAccumulate()
               ? mapping.lookupOrDefault(op.getAccumulate())
               : arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  return success();
}

/// Returns the instruction descriptor for .kind::f16 with f32 results (PTX ISA,
/// tcgen05).
static int64_t instructionDescriptor(MmaOp op, int64_t ctas) {
  int64_t format = op.getA().getType().getElementType().isBF16();
  return int64_t(1) << 4 | format << 7 | format << 10 |
         int64_t(op.getTransposeA()) << 15 |
         int64_t(!op.getTransposeB()) << 16 | op.getN() / 8 << 17 |
         ctas * op.getM() / 16 << 24;
}

static LogicalResult checkShape(MmaOp op, int64_t ctas) {
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  if (ctas == 2 && ((m != 128 && m != 64) || n % 32 != 0))
    return op.emitOpError("has M = ")
           << m << " in each CTA of a pair and N = " << n
           << "; tcgen05.mma of a pair has 64 or 128 rows in each, and "
              "multiples of 32 columns";
  if (m != 128 && m != 64)
    return op.emitOpError("has M = ")
           << m << "; tcgen05.mma has 64 and 128 rows";
  if (n % 16 != 0 || n > 256)
    return op.emitOpError("has N = ")
           << n << "; tcgen05.mma has multiples of 16 up to 256 columns";
  if (k % kStep != 0)
    return op.emitOpError("has K = ")
           << k << "; tcgen05.mma takes multiples of " << kStep;
  Type element = op.getA().getType().getElementType();
  if (!element.isBF16() && !element.isF16())
    return op.emitOpError("multiplies elements of ")
           << element << "; tcgen05.mma takes bf16 and f16";
  return success();
}

LogicalResult MmaLowering::lower(MmaOp op) {
  CommitOp commit = findCommit(op.getResult());
  if (!role.getFacts().startsMmas)
    return op.emitOpError("must be in a role that starts MMAs, not of kind '")
           << stringifyRoleKind(role.getKind()) << "'";
  if (!commit || commit->getParentOfType<RoleOp>() != role)
    return op.emitOpError(
        "must have a result that the role commits to a channel");
  auto destination = commit.getChannel().getDefiningOp<ChannelOp>();
  const Buffer &buffer = layout.buffer(destination);
  if (!buffer.tensorMemory)
    return op.emitOpError("is committed to channel \"")
           << destination.getLabel()
           << "\" in shared memory; its result must lie in tensor memory "
              "(tmem)";
  if (buffer.elementBytes != 4)
    return op.emitOpError("is committed to channel \"")
           << destination.getLabel() << "\" with elements of "
           << buffer.elementBytes << " bytes; its result must have f32, of 4";
  if (failed(checkShape(op, layout.clusterSize)))
    return failure();
  FailureOr<MatrixOperand> matrixA =
      findOperand(op, op.getA(), !op.getTransposeA());
  if (failed(matrixA))
    return failure();
  FailureOr<MatrixOperand> matrixB =
      findOperand(op, op.getB(), op.getTransposeB());
  if (failed(matrixB))
    return failure();
  encode(*matrixA);
  encode(*matrixB);
  Value enable;
  if (failed(checkAccumulator(op, destination, enable)))
    return failure();

  Value stage = stageOf(buffer, RingUse::Commit);
  Type i64 = b.getI64Type();
  auto at = [&](const MatrixOperand &operand, int64_t step) -> Value {
    Value low = add(operand.base, operand.offset(step));
    if (operand.inTensorMemory())
      return tensorPointer(low);
    Value high = arith::ConstantIntOp::create(b, i64, operand.high << 32);
    return arith::OrIOp::create(b, arith::ExtUIOp::create(b, i64, low), high);
  };
  Value result = tensorPointer(tensorAddress(buffer, stage, 0));
  Value descriptor = constant(instructionDescriptor(op, layout.clusterSize));
  Type i1 = b.getI1Type();
  for (int64_t step = 0; step < op.getK() / kStep; ++step) {
    bool first = step == 0;
    if (!enable || !first)
      enable = arith::ConstantIntOp::create(b, i1, !first);
    NVVM::Tcgen05MMAOp::create(
        b, NVVM::Tcgen05MMAKind::F16, layout.getGroup(),
        NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false, result,
        at(*matrixA, step), at(*matrixB, step), descriptor, enable,
        /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
  }
  handles[op.getResult()] = {destination, stage, 0, 0};
  return success();
}
