//===- Turns.cpp - an order among CTAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A place is a counter in global memory. One thread of the CTA waits for it and
// adds to it: the one that starts the additions, and that is told when they
// have been done. No fence for the asynchronous proxy is needed: all accesses
// to the sums are in this proxy, and the wait for a bulk group makes what was
// written visible to the thread (PTX ISA, cp.async.bulk.wait_group), which
// releases it.

#include "RoleLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;

/// The scope of all threads of a launch.
static constexpr llvm::StringLiteral kDeviceScope = "device";

LogicalResult RoleLowering::lowerAwaitTurn(AwaitTurnOp op) {
  if (!role.issues())
    return op.emitOpError("must be in a role of kind 'issuer', because one "
                          "thread waits for a turn");
  auto i32Of = [&](Value index) {
    return toI32(mapping.lookupOrDefault(index));
  };
  auto kernel = cast<KernelOp>(role->getParentOp());
  OrderAttr order = kernel.getOrderAttr();
  bool isDescending = order && order.getDescending();
  Value tile = i32Of(op.getTile());
  Value number =
      isDescending
          ? arith::SubIOp::create(builder, loc, i32Of(op.getLast()), tile)
          : arith::SubIOp::create(builder, loc, tile, i32Of(op.getFirst()));
  SmallVector<Value> indices = llvm::map_to_vector(op.getIndices(), i32Of);
  Value place =
      globalPointer(cast<BlockArgument>(op.getTurns()).getArgNumber(), indices);
  mapping.map(op.getTurn(), place);
  scf::WhileOp::create(
      builder, loc, TypeRange(), ValueRange(),
      [&](OpBuilder &builder, Location loc, ValueRange) {
        Value passed = LLVM::LoadOp::create(
            builder, loc, builder.getI32Type(), place, /*alignment=*/4,
            /*isVolatile=*/false, /*isNonTemporal=*/false,
            /*isInvariant=*/false, /*isInvariantGroup=*/false,
            LLVM::AtomicOrdering::acquire, kDeviceScope);
        Value again = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ne, passed, number);
        scf::ConditionOp::create(builder, loc, again, ValueRange());
      },
      [&](OpBuilder &builder, Location loc, ValueRange) {
        scf::YieldOp::create(builder, loc);
      });
  return success();
}

/// Inline assembly, because LLVM 22 makes a relaxed `atom` without a fence of
/// an `atomicrmw` with release.
LogicalResult RoleLowering::lowerPassTurn(PassTurnOp op) {
  waitForStores(/*read=*/false, /*pending=*/0);
  LLVM::InlineAsmOp::create(
      builder, loc, /*resultTypes=*/TypeRange(),
      ValueRange{mapping.lookup(op.getTurn()), constant(1)},
      "red.release.gpu.global.add.u32 [$0], $1;", "l,r,~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
      /*operand_attrs=*/ArrayAttr());
  return success();
}
