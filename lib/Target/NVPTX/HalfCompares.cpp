//===- HalfCompares.cpp - comparisons of 16-bit floats that flush
//----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfCompares.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

/// Whether the back end adds `.ftz` to the function's instructions on f32.
static bool flushesSubnormals(const Function &function) {
  return function.getDenormalMode(APFloat::IEEEsingle()).Output ==
         DenormalMode::PreserveSign;
}

static void widenCompare(FCmpInst &compare) {
  Type *type = compare.getOperand(0)->getType();
  if (type->getScalarSizeInBits() != 16)
    return;
  IRBuilder<> builder(&compare);
  Type *wide = type->getWithNewType(builder.getFloatTy());
  for (Use &operand : compare.operands())
    operand.set(builder.CreateFPExt(operand.get(), wide));
}

void fa4::widenHalfCompares(Module &module) {
  for (Function &function : module)
    if (flushesSubnormals(function))
      for (Instruction &op : instructions(function))
        if (auto *compare = dyn_cast<FCmpInst>(&op))
          widenCompare(*compare);
}
