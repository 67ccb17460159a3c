//===- ProtocolTokens.h - one run of the tokens of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_PROTOCOLTOKENS_H
#define FA4_TEST_LIB_PROTOCOL_PROTOCOLTOKENS_H

#include "Protocol/ProtocolCases.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"

namespace fa4::tile {

/// Runs the roles for sizes with many passes, in one order, and looks only at
/// who waits for whom: nobody at stages or what is in them. Ends after
/// `maxEvents`. Found are roles that wait forever, and channels that are out of
/// balance at the end. As nothing that a role does takes away what another one
/// waits for, one order gets stuck if any does. Of a cluster, one CTA stands
/// for all.
std::optional<ProtocolFinding> runProtocolTokens(const ProtocolModel &model,
                                                 ProtocolInputs &inputs,
                                                 const ProtocolSizes &sizes,
                                                 size_t maxEvents);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_PROTOCOLTOKENS_H
