//===- UnsupportedApi.cpp - functions that only say so -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

// Whatever a function takes, it may be called as one without parameters: the
// caller cleans up (System V ABI).
#define FA4_UNSUPPORTED(name)                                                  \
  FA4_API CUresult name() {                                                    \
    FA4_CALL(Nothing);                                                         \
    return call->unsupported(#name);                                           \
  }
#include "UnsupportedCalls.def"
