//===- fuzz-npy.cpp - fuzzing the reader of .npy files --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Npy.h"

using namespace fa4::sim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto array = parseNpy(llvm::MemoryBufferRef(bytes, "fuzz.npy"));
  if (!array) {
    llvm::consumeError(array.takeError());
    return 0;
  }
  if (uint64_t(array->count()) * array->itemBytes != array->data.size())
    __builtin_trap();
  for (DType type : {DType::BF16, DType::E4M3, DType::F32, DType::I32})
    if (npyMeaning(*array, type) != NpyMeaning::None &&
        toTensorBytes(*array, type).size() !=
            uint64_t(array->count()) * dtypeBytes(type))
      __builtin_trap();
  return 0;
}
