//===- OutputFiles.h - files that appear together -------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_COMPILE_OUTPUTFILES_H
#define FA4_TOOLS_FA4_COMPILE_OUTPUTFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fa4 {

/// The results of a compilation, kept in memory until all of them are there.
class OutputFiles {
public:
  void add(const llvm::Twine &name, std::string contents) {
    files.push_back({name.str(), std::move(contents)});
  }

  /// Writes the files into `directory`, which is created if it is not there.
  /// Each is written under a temporary name first; none gets its name before
  /// all are written. After an error none of them is there, nor a temporary
  /// file, nor a folder that this call made.
  llvm::Error write(llvm::StringRef directory) const;

  /// The contents of the only file; nothing if there are several.
  std::optional<llvm::StringRef> only() const {
    if (files.size() != 1)
      return std::nullopt;
    return llvm::StringRef(files.front().contents);
  }

private:
  struct File {
    std::string name, contents;
  };
  std::vector<File> files;
};

} // namespace fa4

#endif // FA4_TOOLS_FA4_COMPILE_OUTPUTFILES_H
