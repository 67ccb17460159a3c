//===- VerifyProtocol.h - check of a module's roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PIPELINES_VERIFYPROTOCOL_H
#define FA4_PIPELINES_VERIFYPROTOCOL_H

namespace fa4 {

/// Registers the pipeline `verify-protocol`, which runs `tile-verify-protocol`
/// on each kernel of a module.
void registerVerifyProtocolPipeline();

} // namespace fa4

#endif // FA4_PIPELINES_VERIFYPROTOCOL_H
