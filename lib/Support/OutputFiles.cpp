//===- OutputFiles.cpp - files that appear together -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Support/OutputFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;

static Error cannotWrite(const Twine &path, const Twine &reason) {
  return llvm::createStringError("cannot write '" + path + "': " + reason);
}

static Error cannotWrite(const Twine &path, std::error_code code) {
  return cannotWrite(path, code.message());
}

//===----------------------------------------------------------------------===//
// Where to write
//===----------------------------------------------------------------------===//

namespace {

/// The place of one file.
struct Place {
  std::string name; ///< As the user wrote it, for messages.
  std::string path; ///< Behind all links; empty: standard output.
  bool isInPlace = false;
  bool existed = false;
  fs::perms permissions = fs::perms_not_known; ///< Of the file that was there.
  llvm::sys::fs::UniqueID id;
};

} // namespace

/// Paths of open files: the links there lead to names, but writing to such a
/// name would miss the file that is open.
static bool isOpenFile(StringRef path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

/// The path behind all links of the last component, also where the last link
/// leads to nothing yet.
static Expected<std::string> followLinks(const std::string &path) {
  constexpr unsigned maxLinks = 40; // As Linux.
  std::filesystem::path result = path;
  std::error_code code;
  for (unsigned i = 0; i < maxLinks; ++i) {
    if (isOpenFile(result.string()) ||
        !std::filesystem::is_symlink(
            std::filesystem::symlink_status(result, code)))
      return result.string();
    std::filesystem::path target = std::filesystem::read_symlink(result, code);
    if (code)
      return cannotWrite(path, code);
    // An absolute target replaces all of the path.
    result = result.parent_path() / target;
  }
  return cannotWrite(
      path, std::make_error_code(std::errc::too_many_symbolic_link_levels));
}

static bool sameFile(const fs::file_status &status, int descriptor) {
  fs::file_status other;
  return !fs::status(descriptor, other) &&
         status.getUniqueID() == other.getUniqueID();
}

bool OutputFiles::isStandardOutput(StringRef path) {
  fs::file_status status;
  return path == "-" ||
         (!fs::status(path, status) && sameFile(status, STDOUT_FILENO));
}

static Expected<Place> findPlace(StringRef name) {
  Place place;
  place.name = name.str();
  if (OutputFiles::isStandardOutput(name)) {
    place.isInPlace = true;
    return place;
  }
  Expected<std::string> path = followLinks(place.name);
  if (!path)
    return path.takeError();
  place.path = std::move(*path);
  fs::file_status status;
  std::error_code code = fs::status(place.path, status);
  if (code == std::errc::no_such_file_or_directory)
    return place;
  if (code)
    return cannotWrite(name, code);
  if (status.type() == fs::file_type::directory_file)
    return cannotWrite(name, std::make_error_code(std::errc::is_a_directory));
  place.existed = true;
  place.isInPlace =
      status.type() != fs::file_type::regular_file || isOpenFile(place.path);
  place.permissions = status.permissions();
  place.id = status.getUniqueID();
  // A rename asks for the right to write to the folder only.
  code = fs::access(place.path, fs::AccessMode::Write);
  if (code)
    return cannotWrite(name, code);
  return place;
}

/// Two regular files at one place: the second would replace the first.
static Error checkDistinct(llvm::ArrayRef<Place> places) {
  for (size_t i = 0; i < places.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Place &a = places[i], &b = places[j];
      if (!a.isInPlace && !b.isInPlace &&
          (a.path == b.path || (a.existed && b.existed && a.id == b.id)))
        return cannotWrite(a.name,
                           b.name == a.name
                               ? "two results would go there"
                               : "it is the same file as '" + b.name + "'");
    }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::error_code writeTo(llvm::raw_fd_ostream &stream,
                               StringRef contents) {
  stream << contents;
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  return code;
}

static Error writeInPlace(const Place &place, StringRef contents) {
  if (place.path.empty()) {
    if (std::error_code code = writeTo(llvm::outs(), contents))
      return cannotWrite("standard output", code);
    return Error::success();
  }
  int descriptor;
  if (std::error_code code = fs::openFileForWrite(
          place.path, descriptor, fs::CD_OpenExisting, fs::OF_None))
    return cannotWrite(place.name, code);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  if (std::error_code code = writeTo(stream, contents))
    return cannotWrite(place.name, code);
  return Error::success();
}

namespace {

/// A regular file on its way to its place: until keep(), its destructor puts
/// back what was there.
class Replacement {
public:
  explicit Replacement(const Place &place) : place(place) {}
  Replacement(const Replacement &) = delete;
  ~Replacement() {
    if (temporary)
      llvm::consumeError(temporary->discard());
    if (!isThere || isKept)
      return;
    if (backup.empty())
      fs::remove(place.path);
    else
      fs::rename(backup, place.path);
    forget();
  }

  /// Writes the temporary file, beside its place since a rename does not cross
  /// file systems.
  Error write(StringRef contents) {
    llvm::SmallString<128> model = llvm::sys::path::parent_path(place.path);
    llvm::sys::path::append(model, ".fa4-%%%%%%%%.tmp");
    Expected<fs::TempFile> file = fs::TempFile::create(model);
    if (!file)
      return cannotWrite(place.name, llvm::errorToErrorCode(file.takeError()));
    temporary = std::move(*file);
    if (place.existed)
      fs::setPermissions(temporary->FD, place.permissions);
    llvm::raw_fd_ostream stream(temporary->FD, /*shouldClose=*/false);
    if (std::error_code code = writeTo(stream, contents))
      return cannotWrite(place.name, code);
    return Error::success();
  }

  /// Gives the file its name. The file that was there stays under a second name
  /// where the file system has hard links.
  Error rename() {
    if (place.existed) {
      backup = temporary->TmpName + ".old";
      if (fs::create_hard_link(place.path, backup))
        backup.clear();
      else
        llvm::sys::RemoveFileOnSignal(backup);
    }
    Error error = temporary->keep(place.path);
    temporary.reset(); // Also after an error, keep() has removed the file.
    if (error) {
      forget();
      return cannotWrite(place.name, llvm::errorToErrorCode(std::move(error)));
    }
    isThere = true;
    return Error::success();
  }

  void keep() {
    isKept = true;
    forget();
  }

private:
  void forget() {
    if (backup.empty())
      return;
    fs::remove(backup);
    llvm::sys::DontRemoveFileOnSignal(backup);
    backup.clear();
  }

  const Place &place;
  std::optional<fs::TempFile> temporary;
  std::string backup;
  bool isThere = false, isKept = false;
};

} // namespace

Error OutputFiles::write() const {
  std::vector<Place> places;
  for (const File &file : files) {
    Expected<Place> place = findPlace(file.name);
    if (!place)
      return place.takeError();
    places.push_back(std::move(*place));
  }
  if (Error error = checkDistinct(places))
    return error;
  std::vector<std::unique_ptr<Replacement>> replacements;
  for (auto [place, file] : llvm::zip_equal(places, files)) {
    if (place.isInPlace)
      continue;
    replacements.push_back(std::make_unique<Replacement>(place));
    if (Error error = replacements.back()->write(file.contents))
      return error;
  }
  for (auto [place, file] : llvm::zip_equal(places, files))
    if (place.isInPlace)
      if (Error error = writeInPlace(place, file.contents))
        return error;
  for (auto &replacement : replacements)
    if (Error error = replacement->rename())
      return error;
  for (auto &replacement : replacements)
    replacement->keep();
  return Error::success();
}

Error OutputFiles::writeInto(StringRef directory) const {
  // The folders of the path that are not there yet, the innermost first.
  std::vector<std::string> made;
  for (StringRef path = directory; !path.empty() && !fs::exists(path);
       path = llvm::sys::path::parent_path(path))
    made.push_back(path.str());
  llvm::scope_exit removeFolders([&] {
    for (const std::string &path : made)
      fs::remove(path); // Succeeds when it is empty.
  });
  if (std::error_code code = fs::create_directories(
          directory, /*IgnoreExisting=*/true, fs::all_all))
    return llvm::createStringError("cannot create the folder '" + directory +
                                   "': " + code.message());
  OutputFiles inside;
  for (const File &file : files) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, file.name);
    inside.add(path, file.contents);
  }
  if (Error error = inside.write())
    return error;
  removeFolders.release();
  return Error::success();
}

int fa4::writeThroughMemory(StringRef name, StringRef output,
                            llvm::function_ref<int(StringRef path)> tool) {
  auto fail = [&](const Twine &message) {
    llvm::WithColor::error(llvm::errs(), name) << message << "\n";
    return 1;
  };
  Expected<Place> place = findPlace(output);
  if (!place)
    return fail(llvm::toString(place.takeError()));
  int descriptor = memfd_create("output", MFD_CLOEXEC);
  if (descriptor < 0)
    return fail("cannot create a file in memory: " +
                Twine(llvm::sys::StrError()));
  llvm::scope_exit closeFile([&] { close(descriptor); });
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  if (int status = tool(path))
    return status;
  auto contents = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true);
  if (!contents)
    return fail(llvm::toString(cannotWrite(output, contents.getError())));
  OutputFiles files;
  files.add(output, (*contents)->getBuffer().str());
  if (Error error = files.write())
    return fail(llvm::toString(std::move(error)));
  return 0;
}
