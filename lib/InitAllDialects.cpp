//===- InitAllDialects.cpp - registration of all dialects ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/InitAllDialects.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Attn/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

using namespace mlir;

void fa4::registerDialects(DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, tile::TileDialect>();
  attn::registerBufferizableOpInterfaceExternalModels(registry);
}

void fa4::registerToolDialects(DialectRegistry &registry) {
  registerDialects(registry);
  // All of upstream's, with their external interface models: which ones a user
  // mixes with attention is not ours to guess, and they cost a tool nothing but
  // 20 ms at start.
  registerAllDialects(registry);
  registerAllExtensions(registry);
}
