//===- Nvdisasm.cpp - finding and running NVIDIA's disassembler -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/NVPTX/Nvdisasm.h"
#include "Tool.h"

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

Expected<std::string> fa4::findNvdisasm(StringRef path,
                                        const PtxasSearch &search) {
  return findTool(
      {"nvdisasm", "FA4_NVDISASM", "", "nvidia-cuda-nvdisasm", "cuda_nvdisasm"},
      path, search);
}

Expected<std::string> fa4::disassemble(StringRef nvdisasm, StringRef cubin) {
  ScratchFile input("cubin"), text("sass"), messages("log");
  for (ScratchFile *file : {&input, &text, &messages})
    if (Error error = file->error())
      return std::move(error);
  if (Error error = input.write(cubin))
    return std::move(error);
  StringRef command[] = {nvdisasm, "-c", "-hex", "-gp", input.path()};
  std::optional<std::string> reason = runTool(command, text, messages);
  if (!reason)
    return text.read();
  Expected<std::string> log = messages.read();
  if (!log)
    return log.takeError();
  return makeToolError(nvdisasm, *reason, *log);
}
