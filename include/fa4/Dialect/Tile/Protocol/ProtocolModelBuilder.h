//===- ProtocolModelBuilder.h - the model of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLMODELBUILDER_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLMODELBUILDER_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// Builds the model of a kernel, with both CTAs if the kernel has a cluster.
/// Emits an error on the first operation that the model cannot express: a
/// channel with two producers, a channel that only one side uses, a matrix
/// operand for which the role has not waited.
mlir::FailureOr<ProtocolModel> buildProtocolModel(KernelOp kernel);

/// Builds the model of one CTA, also where the kernel has a cluster. Emits the
/// same errors.
mlir::FailureOr<ProtocolModel> buildCtaModel(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLMODELBUILDER_H
