//===- HoverDocs.h - documentation of operations in hovers ------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_LSP_SERVER_HOVERDOCS_H
#define FA4_TOOLS_FA4_LSP_SERVER_HOVERDOCS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace fa4 {

/// Returns `message`, which the server sends to its client. The answer to a
/// hover over an operation of fa4's gets the operation's documentation; all
/// other messages are returned as they are.
std::string addDocumentation(llvm::StringRef message);

/// Runs `server`, which speaks on standard input and output, and passes its
/// messages on to the client through addDocumentation. Returns the exit status.
int runWithDocumentation(llvm::function_ref<int()> server);

} // namespace fa4

#endif // FA4_TOOLS_FA4_LSP_SERVER_HOVERDOCS_H
