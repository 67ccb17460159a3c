//===- Tool.cpp - what all command-line tools share -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Support/Tool.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>

using llvm::StringRef;

std::string fa4::versionText(StringRef tool) {
  return (tool + " " FA4_VERSION ", LLVM " LLVM_VERSION_STRING).str();
}

void fa4::setUpTool(StringRef name) {
  llvm::setBugReportMsg(
      "This is a bug in fa4. Please report it to fa4's maintainers (not to "
      "LLVM), with the\ninput, the command line and the stack below.\n");
  // LLVM looks beside the tool and in PATH; Debian keeps LLVM's tools
  // elsewhere.
  bool isFound = !llvm::sys::findProgramByName("llvm-symbolizer").getError();
  if (!isFound && llvm::sys::fs::can_execute(FA4_LLVM_SYMBOLIZER))
    setenv("LLVM_SYMBOLIZER_PATH", FA4_LLVM_SYMBOLIZER, /*replace=*/0);
  // A file that may not grow any more (`ulimit -f`) is an error of the write,
  // like a full disk, and no crash. LLVM installs its handlers with the first
  // callback, so that this comes after one.
  llvm::sys::AddSignalHandler([](void *) {}, nullptr);
  signal(SIGXFSZ, SIG_IGN);
  llvm::cl::SetVersionPrinter(
      [text = versionText(name)](llvm::raw_ostream &os) {
        os << text << "\n";
      });
}

std::string fa4::suggestName(StringRef given, llvm::ArrayRef<StringRef> known) {
  StringRef nearest;
  unsigned best = std::max<size_t>(2, given.size() / 3) + 1;
  for (StringRef name : known) {
    unsigned distance = given.edit_distance(name, /*AllowReplacements=*/true,
                                            /*MaxEditDistance=*/best);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  std::string text;
  if (!nearest.empty())
    text = ("did you mean '" + nearest + "'? ").str();
  return text + "known: " + llvm::join(known, ", ");
}
