//===- PassHelp.h - help on fa4's own passes --------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_OPT_PASSHELP_H
#define FA4_TOOLS_FA4_OPT_PASSHELP_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fa4 {

/// The descriptions of all passes of fa4, as Markdown.
std::string describePasses();

/// fa4's passes and pipelines by topic, a line each. The passes must be
/// registered.
std::string listPasses();

/// What `--help-fa4` prints: fa4's passes and pipelines, a line each; with a
/// pattern, all about those whose name contains it. The passes must be
/// registered. Returns the exit status: 1 if no name contains the pattern.
int printPassHelp(llvm::StringRef pattern);

} // namespace fa4

#endif // FA4_TOOLS_FA4_OPT_PASSHELP_H
