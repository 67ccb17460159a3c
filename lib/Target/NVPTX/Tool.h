//===- Tool.h - finding and running NVIDIA's programs ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ptxas and nvdisasm have in common: where they are looked for, and the
// temporary files through which they are run.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_TARGET_NVPTX_TOOL_H
#define FA4_LIB_TARGET_NVPTX_TOOL_H

#include "fa4/Target/NVPTX/Ptxas.h"
#include "llvm/ADT/SmallString.h"

namespace fa4 {

inline llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// A program of the CUDA toolkit.
struct ToolName {
  llvm::StringRef program;
  /// The environment variable that may name its path.
  llvm::StringRef variable;
  /// The command line's flag that may name its path, for the error message.
  llvm::StringRef flag;
  /// The wheel that has the program, and its folder beside `cu13`.
  llvm::StringRef wheel, package;
};

/// Path of the program: the first executable file of the places that findPtxas
/// documents. The error names every place looked at.
llvm::Expected<std::string> findTool(const ToolName &tool, llvm::StringRef path,
                                     const PtxasSearch &search);

/// A file in the folder for temporary files. It is removed with this object,
/// and if a signal ends the process.
class ScratchFile {
public:
  explicit ScratchFile(llvm::StringRef suffix);
  ~ScratchFile();
  ScratchFile(const ScratchFile &) = delete;

  llvm::Error error() const;
  llvm::StringRef path() const { return name; }
  llvm::Error write(llvm::StringRef text);
  llvm::Expected<std::string> read() const;

private:
  void closeFile();

  llvm::SmallString<128> name;
  int fd = -1;
  std::error_code ec;
};

/// Runs a program, `command[0]`, until it ends. What it prints goes to the file
/// `output`, its messages go to `messages`. Returns why it failed, in words
/// that stand behind "failed"; nothing if it did not.
std::optional<std::string> runTool(llvm::ArrayRef<llvm::StringRef> command,
                                   const ScratchFile &output,
                                   const ScratchFile &messages);

/// The error that `program` failed: with the reason that runTool gave, and the
/// beginning of its messages, because one bad instruction often leads to many
/// lines.
llvm::Error makeToolError(const llvm::Twine &program, llvm::StringRef reason,
                          llvm::StringRef log);

} // namespace fa4

#endif // FA4_LIB_TARGET_NVPTX_TOOL_H
