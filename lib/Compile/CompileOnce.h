//===- CompileOnce.h - a module with the tiles that the options say -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_COMPILE_COMPILEONCE_H
#define FA4_LIB_COMPILE_COMPILEONCE_H

#include "fa4/Compile/Compilation.h"

namespace fa4 {

/// Does what compile() does, in one attempt. After a failure, the reports of
/// files say whether registers were too few.
mlir::LogicalResult compileOnce(mlir::ModuleOp module,
                                const CompileOptions &options,
                                mlir::TimingScope &timing, OutputFiles &files,
                                RunReport &report);

} // namespace fa4

#endif // FA4_LIB_COMPILE_COMPILEONCE_H
