//===- fuzz-manifest.cpp - fuzzing the reader of manifests ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Manifest.h"

using namespace fa4::sim;

static void evaluate(const Expression &expression, const Values &values) {
  (void)expression.tryInteger(values);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto manifest = parseManifest(llvm::MemoryBufferRef(text, "fuzz.json"));
  if (!manifest) {
    if (llvm::toString(manifest.takeError()).size() < 12)
      __builtin_trap(); // No message behind the file's name.
    return 0;
  }
  Values values = manifest->defaults;
  for (std::optional<Number> &value : values)
    value = value.value_or(3);
  for (const TensorSpec &tensor : manifest->tensors)
    for (const Expression &dim : tensor.shape)
      evaluate(dim, values);
  for (const LaunchSpec &launch : manifest->launches) {
    for (unsigned i = 0; i < 3; ++i)
      evaluate(launch.grid[i], values);
    for (const ParamSpec &param : launch.params)
      evaluate(param.value, values);
  }
  return 0;
}
