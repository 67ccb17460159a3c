//===- OutputFiles.h - files that appear together ---------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_OUTPUTFILES_H
#define FA4_SUPPORT_OUTPUTFILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fa4 {

/// The results of a tool, kept in memory until all of them are there.
///
/// Regular files appear together or not at all: each is written under a
/// temporary name beside its place first, and none gets its name before all are
/// written. A file that was there before keeps its permissions, and is as it
/// was after an error. A symbolic link stays: the file that the link leads to
/// is replaced. A place that is no regular file (a device, a FIFO, an open file
/// under /dev/fd) is written in place, after the temporary files and before any
/// of them gets its name.
class OutputFiles {
public:
  struct File {
    std::string name, contents;
  };

  void add(const llvm::Twine &name, std::string contents) {
    files.push_back({name.str(), std::move(contents)});
  }

  /// Writes the files into `directory`, which is created if it is not there,
  /// readable for whom the umask lets. After an error, which names the file,
  /// neither a temporary file is left nor a folder that this call made.
  llvm::Error writeInto(llvm::StringRef directory) const;

  /// Writes the files where their names say. "-" is standard output.
  llvm::Error write() const;

  /// The contents of the only file; nothing if there are several.
  std::optional<llvm::StringRef> only() const {
    if (files.size() != 1)
      return std::nullopt;
    return llvm::StringRef(files.front().contents);
  }

  /// Whether writing to `path` writes to standard output: "-", or a name of the
  /// same file, as /dev/stdout is.
  static bool isStandardOutput(llvm::StringRef path);

  /// All files, in the order in which they were added.
  const std::vector<File> &all() const { return files; }
  std::vector<File> &all() { return files; }

private:
  std::vector<File> files;
};

/// Runs `tool`, which writes a file at the path that it is given, and moves
/// what it has written to `output` by OutputFiles. For a main function of
/// upstream's that opens its output itself: an error or a full disk then leaves
/// neither a partial file nor an emptied one. The path given to `tool` is that
/// of a file in memory. Returns the tool's exit status; after 0, 1 with a
/// message of `name` if the output cannot be written.
int writeThroughMemory(llvm::StringRef name, llvm::StringRef output,
                       llvm::function_ref<int(llvm::StringRef path)> tool);

} // namespace fa4

#endif // FA4_SUPPORT_OUTPUTFILES_H
