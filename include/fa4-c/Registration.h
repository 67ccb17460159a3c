//===- fa4-c/Registration.h - fa4 in a context of MLIR -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As mlir-c: what is done with objects of MLIR shares the MLIR of libfa4.so,
// which is libMLIR.so of LLVM 22.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_C_REGISTRATION_H
#define FA4_C_REGISTRATION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds fa4's dialects, and what upstream's passes need to know of them.
MLIR_CAPI_EXPORTED void fa4RegisterAllDialects(MlirDialectRegistry registry);

/// Registers fa4's passes and pipelines with the process, for
/// mlirParsePassPipeline. May be called several times, from several threads.
MLIR_CAPI_EXPORTED void fa4RegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif // FA4_C_REGISTRATION_H
