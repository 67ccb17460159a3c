//===- Manifest.h - manifests with LLVM's errors ---------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_MANIFEST_H
#define FA4_SIMULATOR_MANIFEST_MANIFEST_H

#include "fa4/Manifest/Error.h"
#include "fa4/Manifest/Manifest.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace fa4::sim {

using namespace manifest;

/// Calls a function, and returns its result or the ManifestError that it
/// throws.
template <typename F> auto toExpected(F f) -> llvm::Expected<decltype(f())> {
  try {
    return f();
  } catch (const ManifestError &error) {
    return llvm::createStringError(error.what());
  }
}

inline llvm::Expected<int64_t> evaluateInteger(const Expression &expression,
                                               const Values &values) {
  return toExpected([&] { return expression.evaluateInteger(values); });
}

/// Manifest::parse and Manifest::read.
llvm::Expected<Manifest> parseManifest(llvm::MemoryBufferRef buffer);
llvm::Expected<Manifest> readManifest(llvm::StringRef path);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_MANIFEST_H
