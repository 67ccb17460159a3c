//===- QuietTrial.h - without diagnostics ------------------------*- C++
//-*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_QUIETTRIAL_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_QUIETTRIAL_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Threading.h"

namespace fa4::tile {

/// While this object lives, diagnostics of this thread are dropped. A pass uses
/// it to try something: a user can do nothing about the reason why a trial
/// fails. Other threads report as before.
class QuietTrial {
public:
  explicit QuietTrial(mlir::MLIRContext *context)
      : handler(context, [thread = llvm::get_threadid()](mlir::Diagnostic &) {
          return mlir::success(llvm::get_threadid() == thread);
        }) {}

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_QUIETTRIAL_H
