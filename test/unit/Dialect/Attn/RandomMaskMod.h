//===- RandomMaskMod.h - random mask_mod regions ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DIALECT_ATTN_RANDOMMASKMOD_H
#define FA4_TEST_UNIT_DIALECT_ATTN_RANDOMMASKMOD_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa4::attn {

/// The op's lengths.
constexpr int64_t kQueries = 13, kKeys = 17;

/// An op whose mask_mod is a random condition on the positions, and on whether
/// the batch is the head, which analyses know nothing of. The context has the
/// dialects attn, arith, func and math.
class RandomOp {
public:
  RandomOp(mlir::MLIRContext &context, unsigned seed, llvm::StringRef mask = "",
           bool isDynamic = false);

  SdpaOp get();
  mlir::ModuleOp getModule() { return *module; }

  std::string source;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The number that `value`, of a mask_mod, is at a pair of positions, computed
/// by upstream's folders. True is 1.
int64_t evaluateInMaskMod(mlir::Region &region, mlir::Value value, int64_t i,
                          int64_t j, bool unknown);
/// The value that `region`, a mask_mod, yields.
bool evaluateMaskMod(mlir::Region &region, int64_t i, int64_t j, bool unknown);

} // namespace fa4::attn

#endif // FA4_TEST_UNIT_DIALECT_ATTN_RANDOMMASKMOD_H
