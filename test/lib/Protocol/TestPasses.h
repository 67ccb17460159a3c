//===- TestPasses.h - passes that only tests use ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_TESTPASSES_H
#define FA4_TEST_LIB_PROTOCOL_TESTPASSES_H

#include "fa4/Support/PassWithOptions.h"
#include "mlir/Pass/Pass.h"

namespace fa4::tile {

#define GEN_PASS_DECL
#include "Protocol/TestPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "Protocol/TestPasses.h.inc"

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_TESTPASSES_H
