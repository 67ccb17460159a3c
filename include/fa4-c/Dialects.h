//===- fa4-c/Dialects.h - the attn dialect with objects of MLIR -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_C_DIALECTS_H
#define FA4_C_DIALECTS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Attn, attn);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Tile, tile);

/// `layout<name>`; null if there is no such layout.
MLIR_CAPI_EXPORTED MlirAttribute fa4AttnLayoutAttrGet(MlirContext context,
                                                      MlirStringRef name);

/// The band of keys that a query sees: `left` keys before and `right` behind
/// its own position, each null for no bound; positions are counted from the
/// last query and key (bottom_right) or from the first. Null, with a
/// diagnostic, for a band that hides nothing or everything.
MLIR_CAPI_EXPORTED MlirAttribute fa4AttnMaskAttrGet(MlirLocation location,
                                                    const int64_t *left,
                                                    const int64_t *right,
                                                    bool bottomRight);

/// Makes `attn.sdpa` on tensors, without regions. `mask` may be null. The
/// results are the output and, with `lse`, the log-sum-exp. The caller inserts
/// and verifies the operation. Null for a layout that is none.
MLIR_CAPI_EXPORTED MlirOperation
fa4AttnSdpaCreate(MlirLocation location, MlirValue q, MlirValue k, MlirValue v,
                  MlirAttribute layout, MlirAttribute mask, bool lse);

MLIR_CAPI_EXPORTED bool fa4OperationIsAAttnSdpa(MlirOperation op);

#ifdef __cplusplus
}
#endif

#endif // FA4_C_DIALECTS_H
