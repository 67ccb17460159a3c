//===- InitAllPasses.cpp - registration of all passes ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from the dialects and from fa4's own passes: what is linked with
// archives and does not need all of upstream's passes does not get LLVM's back
// ends that they use. The constructors of those take 2 ms of each process.
//
//===----------------------------------------------------------------------===//

#include "fa4/InitAllPasses.h"
#include "mlir/InitAllPasses.h"

void fa4::registerToolPasses() {
  registerPasses();
  mlir::registerAllPasses();
}
