//===- ModelEquality.h - whether two models say the same ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_MODELEQUALITY_H
#define FA4_TEST_LIB_PROTOCOL_MODELEQUALITY_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// Returns true if two models are equal, up to the names of variables and the
/// operations from which steps come. A dropped wait that gives no value equals
/// no wait.
bool areEqual(const ProtocolModel &a, const ProtocolModel &b);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_MODELEQUALITY_H
