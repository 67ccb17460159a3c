//===- fuzz-ptx.cpp - fuzzing the PTX parser ------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Ptx/Parser.h"

using namespace fa4::sim::ptx;

/// A module is there exactly when nothing is wrong, and names things in order.
static void check(const Module &module) {
  for (const Function &function : module.functions) {
    for (const Instruction &instruction : function.instructions) {
      if (instruction.words.empty() || !instruction.loc.line)
        __builtin_trap();
      for (const Operand &operand : instruction.operands)
        if (operand.is(Operand::Kind::Label) &&
            operand.target > function.instructions.size())
          __builtin_trap();
    }
    for (const Register *reg : function.registers)
      if (reg->id >= function.registerCount[unsigned(reg->cls)])
        __builtin_trap();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Diagnostic> diagnostics;
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto module = parse(llvm::MemoryBuffer::getMemBufferCopy(text, "fuzz.ptx"),
                      diagnostics);
  if (bool(module) != diagnostics.empty())
    __builtin_trap();
  if (module)
    check(*module);
  return 0;
}
