//===- Manifest.cpp - manifests with LLVM's errors ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Manifest.h"

using namespace fa4::sim;

llvm::Expected<Manifest> fa4::sim::parseManifest(llvm::MemoryBufferRef buffer) {
  return toExpected([&] {
    return Manifest::parse(buffer.getBuffer(),
                           buffer.getBufferIdentifier().str());
  });
}

llvm::Expected<Manifest> fa4::sim::readManifest(llvm::StringRef path) {
  return toExpected([&] { return Manifest::read(path.str()); });
}
