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

#include "RoleParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4::tile;

/// The scope of all threads of a launch.
static constexpr llvm::StringLiteral kDeviceScope = "device";

LogicalResult TurnLowering::lower(AwaitTurnOp op) {
  if (!role.runsOnOneThread())
    return op.emitOpError("must be in a role of kind 'issuer', because one "
                          "thread waits for a turn");
  auto i32Of = [&](Value index) {
    return toI32(mapping.lookupOrDefault(index));
  };
  auto kernel = cast<KernelOp>(role->getParentOp());
  OrderAttr order = kernel.getOrderAttr();
  bool isDescending = order && order.getDescending();
  Value tile = i32Of(op.getTile());
  Value number = isDescending
                     ? arith::SubIOp::create(b, i32Of(op.getLast()), tile)
                     : arith::SubIOp::create(b, tile, i32Of(op.getFirst()));
  Turn &turn = turns[op.getTurn()];
  turn = {op, number, llvm::map_to_vector(op.getIndices(), i32Of)};
  if (op.getParts() == 1)
    awaitPart(turn, 0);
  return success();
}

/// The parts of a turn are counted one behind the other.
Value TurnLowering::counterOf(const Turn &turn, int64_t part) {
  SmallVector<Value> indices = turn.place;
  if (part != 0)
    indices.back() = arith::AddIOp::create(b, indices.back(), constant(part));
  AwaitTurnOp op = turn.op;
  return globalPointer(cast<BlockArgument>(op.getTurns()).getArgNumber(),
                       indices);
}

void TurnLowering::awaitPart(const Turn &turn, int64_t part) {
  Value counter = counterOf(turn, part), number = turn.number;
  repeatWhile([&] {
    Value passed =
        LLVM::LoadOp::create(b, b.getI32Type(), counter, /*alignment=*/4,
                             /*isVolatile=*/false, /*isNonTemporal=*/false,
                             /*isInvariant=*/false, /*isInvariantGroup=*/false,
                             LLVM::AtomicOrdering::acquire, kDeviceScope);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, passed, number)
        .getResult();
  });
}

void TurnLowering::beginPart(ReduceAddOp op) {
  auto turn = turns.find(op.getTurn());
  if (turn != turns.end() && turn->second.op.getParts() != 1)
    awaitPart(turn->second, turn->second.part);
}

/// While a part is added, the one before it ends.
void TurnLowering::endPart(ReduceAddOp op) {
  auto turn = turns.find(op.getTurn());
  if (turn == turns.end() || turn->second.op.getParts() == 1)
    return;
  int64_t part = turn->second.part++;
  if (part == 0)
    return;
  waitForStores(/*read=*/false, /*pending=*/1);
  passPart(turn->second, part - 1);
}

LogicalResult TurnLowering::lower(PassTurnOp op) {
  waitForStores(/*read=*/false, /*pending=*/0);
  const Turn &turn = turns.find(op.getTurn())->second;
  AwaitTurnOp await = turn.op;
  passPart(turn, await.getParts() - 1);
  return success();
}

/// Inline assembly, because LLVM 22 makes a relaxed `atom` without a fence of
/// an `atomicrmw` with release.
void TurnLowering::passPart(const Turn &turn, int64_t part) {
  LLVM::InlineAsmOp::create(
      b, /*resultTypes=*/TypeRange(),
      ValueRange{counterOf(turn, part), constant(1)},
      "red.release.gpu.global.add.u32 [$0], $1;", "l,r,~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
      /*operand_attrs=*/ArrayAttr());
}
