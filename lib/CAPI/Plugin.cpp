//===- Plugin.cpp - what FA4Plugin.so calls -------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/InitAll.h"

/// The callback of mlir::DialectPluginLibraryInfo.
extern "C" void fa4RegisterPluginDialects(mlir::DialectRegistry *registry) {
  fa4::registerDialects(*registry);
}

/// The callback of mlir::PassPluginLibraryInfo.
extern "C" void fa4RegisterPluginPasses() { fa4::registerPasses(); }
