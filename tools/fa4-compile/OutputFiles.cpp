//===- OutputFiles.cpp - files that appear together -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using llvm::sys::fs::TempFile;

static Error cannotWrite(const Twine &path, const Twine &reason) {
  return llvm::createStringError("cannot write '" + path + "': " + reason);
}

static std::string pathOf(StringRef directory, StringRef name) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

static Expected<TempFile> writeTemporary(const std::string &path,
                                         StringRef contents) {
  // Beside its final place: a rename does not cross file systems.
  Expected<TempFile> file = TempFile::create(path + ".tmp%%%%%%%%");
  if (!file)
    return cannotWrite(path, llvm::toString(file.takeError()));
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << contents;
  stream.flush();
  if (std::error_code ec = stream.error()) {
    stream.clear_error();
    llvm::consumeError(file->discard());
    return cannotWrite(path, ec.message());
  }
  return std::move(*file);
}

Error OutputFiles::write(StringRef directory) const {
  bool existed = llvm::sys::fs::exists(directory);
  if (std::error_code ec = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError("cannot create the folder '" + directory +
                                   "': " + ec.message());
  std::vector<TempFile> written;
  Error error = Error::success();
  for (const File &file : files) {
    Expected<TempFile> temporary =
        writeTemporary(pathOf(directory, file.name), file.contents);
    if (!temporary) {
      error = temporary.takeError();
      break;
    }
    written.push_back(std::move(*temporary));
  }
  size_t kept = 0;
  for (; !error && kept < written.size(); ++kept) {
    std::string path = pathOf(directory, files[kept].name);
    if (Error failed = written[kept].keep(path))
      error = cannotWrite(path, llvm::toString(std::move(failed)));
  }
  if (!error)
    return error;
  // keep() has removed the temporary file of the one that failed.
  for (TempFile &file : llvm::MutableArrayRef(written).drop_front(kept))
    llvm::consumeError(file.discard());
  for (size_t i = 0; i + 1 < kept; ++i)
    llvm::sys::fs::remove(pathOf(directory, files[i].name));
  if (!existed)
    llvm::sys::fs::remove(directory); // Succeeds when it is empty.
  return error;
}
