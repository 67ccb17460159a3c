//===- fuzz-decode.cpp - fuzzing the PTX decoder --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Ptx/Parser.h"

using namespace fa4::sim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto module =
      ptx::parseModule(llvm::MemoryBuffer::getMemBufferCopy(text, "fuzz.ptx"));
  if (!module) {
    llvm::consumeError(module.takeError());
    return 0;
  }
  auto simulator = Simulator::create(*module);
  if (!simulator)
    llvm::consumeError(simulator.takeError());
  return 0;
}
