//===- Bf16Compares.cpp - comparisons of bf16 that flush subnormals -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bf16Compares.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

/// Whether the back end adds `.ftz` to the function's instructions on f32.
static bool flushesSubnormals(const Function &function) {
  return function.getDenormalMode(APFloat::IEEEsingle()).Output ==
         DenormalMode::PreserveSign;
}

void fa4::widenBf16Compares(Module &module) {
  for (Function &function : module) {
    if (!flushesSubnormals(function))
      continue;
    for (Instruction &each : instructions(function)) {
      auto *compare = dyn_cast<FCmpInst>(&each);
      Type *type = compare ? compare->getOperand(0)->getType() : nullptr;
      if (!type || !type->getScalarType()->isBFloatTy())
        continue;
      IRBuilder<> builder(compare);
      Type *wide = type->getWithNewType(builder.getFloatTy());
      for (Use &operand : compare->operands())
        operand.set(builder.CreateFPExt(operand.get(), wide));
    }
  }
}
