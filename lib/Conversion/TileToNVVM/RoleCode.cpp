//===- RoleCode.cpp - what all parts of a role's lowering use ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value RoleCode::constant(int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}

Value RoleCode::number32(std::variant<unsigned, int64_t> value) {
  return std::holds_alternative<unsigned>(value)
             ? argument(std::get<unsigned>(value))
             : constant(std::get<int64_t>(value));
}

Value RoleCode::add(Value value, int64_t number) {
  return number == 0 ? value
                     : arith::AddIOp::create(b, value, constant(number));
}

Value RoleCode::toI32(Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}

Value RoleCode::toIndex(Value number) {
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

Value RoleCode::row() {
  return add(values.thread, -static_cast<int64_t>(layout.target.warpSize *
                                                  *role.getFirstWarp()));
}

Value RoleCode::evaluate(AffineExpr expr, Value thread) {
  if (isa<AffineDimExpr>(expr))
    return thread;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = evaluate(binary.getLHS(), thread);
  if (expr.getKind() == AffineExprKind::Add)
    return arith::AddIOp::create(b, lhs, evaluate(binary.getRHS(), thread));
  int64_t rhs = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  if (expr.getKind() == AffineExprKind::Mul)
    return arith::MulIOp::create(b, lhs, constant(rhs));
  if (expr.getKind() == AffineExprKind::Mod)
    return arith::AndIOp::create(b, lhs, constant(rhs - 1));
  return arith::ShRUIOp::create(b, lhs, constant(llvm::Log2_64(rhs)));
}

LogicalResult RoleCode::requireLanes(Operation *op) {
  if (role.runsOnOneThread())
    return op->emitOpError("is an operation of lanes, but the role is of kind "
                           "'issuer': one thread runs it");
  return success();
}

void RoleCode::repeatWhile(llvm::function_ref<Value()> condition) {
  scf::WhileOp::create(
      b, TypeRange(), ValueRange(),
      [&](OpBuilder &, Location, ValueRange) {
        scf::ConditionOp::create(b, condition(), ValueRange());
      },
      [&](OpBuilder &, Location, ValueRange) { scf::YieldOp::create(b); });
}

/// Builds `text`, an instruction with a result and perhaps `operand`, which
/// stays where it is.
static Value buildPinned(ImplicitLocOpBuilder &b, StringRef text,
                         ValueRange operand, StringRef constraints) {
  return LLVM::InlineAsmOp::create(
             b, b.getI32Type(), operand, text, constraints,
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}

Value fa4::tile::pin(ImplicitLocOpBuilder &b, Value word) {
  return buildPinned(b, "mov.b32 $0, $1;", word, "=r,r");
}

Value fa4::tile::readRegister(ImplicitLocOpBuilder &b, StringRef name) {
  return buildPinned(b, ("mov.u32 $0, %" + name + ";").str(), {}, "=r");
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value RoleCode::sharedPointer(int64_t offset, Value dynamic) {
  Value pointer = values.sharedMemory;
  Type type = pointer.getType(), byte = b.getI8Type();
  if (dynamic)
    pointer =
        LLVM::GEPOp::create(b, type, byte, pointer, LLVM::GEPArg(dynamic));
  if (offset != 0)
    pointer = LLVM::GEPOp::create(b, type, byte, pointer,
                                  LLVM::GEPArg(static_cast<int32_t>(offset)));
  return pointer;
}

Value RoleCode::elementPointer(int64_t offset, int64_t size, Value number) {
  if (!number)
    return sharedPointer(offset);
  APInt known;
  if (matchPattern(number, m_ConstantInt(&known)))
    return sharedPointer(offset + known.getSExtValue() * size);
  return sharedPointer(offset,
                       arith::MulIOp::create(b, number, constant(size)));
}

Value RoleCode::stagePointer(const Buffer &buffer, Value stage,
                             int64_t offset) {
  return elementPointer(buffer.offset + offset, buffer.stageSize, stage);
}

Value RoleCode::addStage(Value address, const Buffer &buffer, Value stage,
                         int64_t unit) {
  if (!stage)
    return address;
  Value distance =
      arith::MulIOp::create(b, stage, constant(buffer.stageSize / unit));
  return arith::AddIOp::create(b, address, distance);
}

/// The start of a stage is a multiple of 8 spans, so the swizzle only depends
/// on the row: bits 4.. of the address ^= bits 7.. of it, inside of the span.
Value RoleCode::swizzlePattern(const Buffer &buffer, Value rowStart) {
  return arith::AndIOp::create(b,
                               arith::ShRUIOp::create(b, rowStart, constant(3)),
                               constant(buffer.span - 16));
}

Value RoleCode::tensorAddress(const Buffer &buffer, Value stage,
                              int64_t column) {
  return add(addStage(values.tensorMemory, buffer, stage),
             buffer.offset + column);
}

Value RoleCode::tensorPointer(Value address) {
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 6), address);
}

Value RoleCode::elementsBefore(unsigned number, int64_t dim, Value index) {
  Type i64 = b.getI64Type();
  Value wide = arith::ExtSIOp::create(b, i64, index);
  auto stride = signature.stride(number, dim);
  Value step =
      std::holds_alternative<unsigned>(stride)
          ? argument(std::get<unsigned>(stride))
          : arith::ConstantIntOp::create(b, i64, std::get<int64_t>(stride));
  return arith::MulIOp::create(b, wide, step);
}

Value RoleCode::globalPointer(unsigned number, ArrayRef<Value> indices) {
  return behind(argument(signature.pointerParameter(number)), number, indices);
}

Value fa4::tile::loadConstant(ImplicitLocOpBuilder &b, Type type,
                              Value pointer) {
  return LLVM::LoadOp::create(b, type, pointer, /*alignment=*/0,
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/true);
}

/// Reads the first element in place of one out of bounds (a tensor has at least
/// one element), so that no branch is needed. An address that is not read may
/// be any number: what is the same in a loop is computed once.
Value RoleCode::readElement(unsigned number, ArrayRef<Value> indices) {
  Value inBounds;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index,
                                        number32(signature.size(number, dim)));
    inBounds = inBounds ? arith::AndIOp::create(b, inBounds, below) : below;
  }
  Value pointer =
      arith::SelectOp::create(b, inBounds, globalPointer(number, indices),
                              argument(signature.pointerParameter(number)));
  Type type = signature.memrefType(number).getElementType();
  Value element = loadConstant(b, type, pointer);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return arith::SelectOp::create(b, inBounds, element, zero);
}

Value RoleCode::behind(Value base, unsigned number, ArrayRef<Value> indices) {
  Value offset;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value term = elementsBefore(number, dim, index);
    offset = offset ? arith::AddIOp::create(b, offset, term) : term;
  }
  Type element = signature.memrefType(number).getElementType();
  return LLVM::GEPOp::create(b, base.getType(), element, base,
                             LLVM::GEPArg(offset));
}

Value RoleCode::stageOf(const Buffer &buffer, RingUse use) {
  return RingPositions::stage(b, positions.get(buffer.channel, use),
                              buffer.stages);
}

RingPosition RoleCode::lastWaited(ChannelOp channel) {
  RingPosition position = positions.get(channel, RingUse::Wait);
  --position.offset;
  return position;
}

Value RoleCode::lastWaitedStage(const Buffer &buffer) {
  return RingPositions::stage(b, lastWaited(buffer.channel), buffer.stages);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Value RoleCode::barrier(const Barriers &barriers, Value stage) {
  return elementPointer(layout.barriers + 8 * barriers.first, 8, stage);
}

Type RoleCode::clusterPointer() {
  return LLVM::LLVMPointerType::get(
      b.getContext(), unsigned(NVVM::NVVMMemorySpace::SharedCluster));
}

Value RoleCode::barrierOf(int64_t rank, Value barrier) {
  return NVVM::MapaOp::create(b, clusterPointer(), barrier, constant(rank));
}

Value RoleCode::castPointer(Type type, Value pointer) {
  return LLVM::IntToPtrOp::create(
      b, type,
      LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer).getResult());
}

/// A release to the cluster is a fence of all memory (MEMBAR.ALL.GPU), so
/// there is none where ChannelRanks does without.
void RoleCode::arrive(const Buffer &buffer, Value barrier, ArrivalReach reach) {
  if (reach == ArrivalReach::Own) {
    NVVM::MBarrierArriveOp::create(b, Type(), barrier, Value());
    return;
  }
  assert(reach == ArrivalReach::Leader && "threads arrive at one barrier");
  NVVM::MBarrierArriveOp::create(b, Type(), barrierOf(0, barrier), Value(),
                                 NVVM::MemScopeKind::CLUSTER,
                                 /*relaxed=*/buffer.ranks.isRelaxed(reach));
}

/// What threads of another CTA have done in shared memory before they arrived
/// is seen by a wait that acquires from the cluster. Hardware's arrivals need
/// no such wait.
void RoleCode::spin(const Buffer &buffer, Value barrier, Value parity,
                    ArrivalReach reach) {
  bool ofCluster = reach == ArrivalReach::Leader;
  auto scope =
      ofCluster ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA;
  bool relaxed = buffer.ranks.isRelaxed(reach);
  repeatWhile([&] {
    Value done = NVVM::MBarrierTryWaitOp::create(
        b, b.getI1Type(), barrier, parity, Value(), scope, relaxed);
    Value yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    return arith::XOrIOp::create(b, done, yes).getResult();
  });
}

void RoleCode::expectBytes(Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(b, Type(), barrier, constant(bytes),
                                         NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value());
}

void RoleCode::fenceSharedMemory() {
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

void RoleCode::fenceTensorMemory(NVVM::Tcgen05FenceKind kind) {
  NVVM::Tcgen05FenceOp::create(b, kind);
}

void RoleCode::waitForStores(bool read, int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, /*group=*/pending,
                                       read ? b.getUnitAttr() : UnitAttr());
}
