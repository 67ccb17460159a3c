//===- Tool.h - what all command-line tools share ---------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_TOOL_H
#define FA4_SUPPORT_TOOL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fa4 {

/// Call first in `main`: `--version` of LLVM's command line prints the versions
/// of fa4 and LLVM, and a crash asks to report to fa4, not to LLVM, with a
/// stack that has the names of functions (by the llvm-symbolizer of the LLVM
/// that fa4 was built with, unless LLVM_SYMBOLIZER_PATH or PATH has another).
void setUpTool(llvm::StringRef name);

/// "fa4-opt 0.1.0, LLVM 22.1.8".
std::string versionText(llvm::StringRef tool);

/// For a message about a name that is none of `known`: "did you mean
/// 'schedule'? " where one is near, then "known: tile, subtile, ...".
std::string suggestName(llvm::StringRef given,
                        llvm::ArrayRef<llvm::StringRef> known);

} // namespace fa4

#endif // FA4_SUPPORT_TOOL_H
