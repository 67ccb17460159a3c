//===- Error.h - how the runtime's functions fail -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the library a failure is an exception, which the functions of the API
// catch (Runtime.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_ERROR_H
#define FA4_LIB_RUNTIME_ERROR_H

#include "fa4-runtime/Runtime.h"
#include <string>

namespace fa4::runtime {

struct Failure {
  Fa4RuntimeStatus status;
  std::string message;
};

[[noreturn]] inline void fail(Fa4RuntimeStatus status, std::string message) {
  throw Failure{status, std::move(message)};
}

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_ERROR_H
