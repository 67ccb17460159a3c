//===- Nvdisasm.h - finding and running NVIDIA's disassembler -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nvdisasm is no free software either, so it is a program that is found and
// run.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_NVPTX_NVDISASM_H
#define FA4_TARGET_NVPTX_NVDISASM_H

#include "fa4/Target/NVPTX/Ptxas.h"

namespace fa4 {

/// Path of nvdisasm: `path` if it is not empty, else the environment variable
/// FA4_NVDISASM, else the places in which findPtxas looks; the wheel is
/// `nvidia-cuda-nvdisasm`. The error names every place looked at.
llvm::Expected<std::string> findNvdisasm(llvm::StringRef path = {},
                                         const PtxasSearch &search = {});

/// The text of all functions of a cubin with their encodings and, if it was
/// assembled with `-lineinfo`, the lines of the embedded PTX (nvdisasm -c -hex
/// -gp). Leaves no file behind.
llvm::Expected<std::string> disassemble(llvm::StringRef nvdisasm,
                                        llvm::StringRef cubin);

} // namespace fa4

#endif // FA4_TARGET_NVPTX_NVDISASM_H
