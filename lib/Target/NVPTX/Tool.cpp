//===- Tool.cpp - finding and running NVIDIA's programs -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;
namespace sys = llvm::sys;

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static bool isProgram(const Twine &path) {
  return sys::fs::can_execute(path) && !sys::fs::is_directory(path);
}

/// Returns the path of the program in a Python environment, or nothing.
static std::optional<std::string> findInVenv(const ToolName &tool,
                                             StringRef venv) {
  SmallString<128> library(venv);
  sys::path::append(library, "lib");
  // An environment may hold more than one version of Python. Sorting makes the
  // choice the same each time.
  std::vector<std::string> pythons;
  std::error_code ec;
  for (sys::fs::directory_iterator it(library, ec), end; it != end && !ec;
       it.increment(ec))
    if (sys::path::filename(it->path()).starts_with("python3"))
      pythons.push_back(it->path());
  llvm::sort(pythons);
  for (const std::string &python : pythons)
    for (StringRef package : {StringRef("cu13"), tool.package}) {
      SmallString<128> path(python);
      sys::path::append(path, "site-packages", "nvidia", package);
      sys::path::append(path, "bin", tool.program);
      if (isProgram(path))
        return std::string(path);
    }
  return std::nullopt;
}

namespace {

/// Tries places one after the other and remembers those without the program,
/// for the error message.
class Finder {
public:
  Finder(const ToolName &tool, const PtxasSearch &search)
      : tool(tool), search(search) {}

  std::optional<std::string> find() {
    for (const char *name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
      if (std::optional<std::string> root = variable(name)) {
        SmallString<128> directory(*root);
        sys::path::append(directory, "bin");
        if (inDirectory(directory, Twine(name) + " (" + directory + ")"))
          return found;
      }
    if (std::optional<std::string> list = variable("PATH")) {
      for (StringRef directory : llvm::split(*list, sys::EnvPathSeparator))
        if (!directory.empty() && inDirectory(directory, ""))
          return found;
      places.push_back("PATH");
    }
    if (inDirectory(search.defaultDirectory, search.defaultDirectory))
      return found;
    for (const char *name : {"VIRTUAL_ENV", "FA4_VENV"})
      if (std::optional<std::string> venv = variable(name))
        if (inVenv(*venv, Twine(name) + " (" + *venv + ")"))
          return found;
    if (!search.environment.empty() &&
        inVenv(search.environment, search.environment))
      return found;
    return std::nullopt;
  }

  std::vector<std::string> places;

private:
  /// Returns the value of an environment variable that is set and not empty.
  std::optional<std::string> variable(StringRef name) {
    std::optional<std::string> value = search.getEnv(name);
    if (value && !value->empty())
      return value;
    places.push_back(name.str() + " (not set)");
    return std::nullopt;
  }

  bool inDirectory(StringRef directory, const Twine &place) {
    SmallString<128> path(directory);
    sys::path::append(path, tool.program);
    if (isProgram(path)) {
      found = std::string(path);
      return true;
    }
    if (std::string name = place.str(); !name.empty())
      places.push_back(std::move(name));
    return false;
  }

  bool inVenv(StringRef venv, const Twine &place) {
    if (std::optional<std::string> path = findInVenv(tool, venv)) {
      found = *path;
      return true;
    }
    places.push_back(("the wheel " + tool.wheel + " in " + place).str());
    return false;
  }

  const ToolName &tool;
  const PtxasSearch &search;
  std::string found;
};

} // namespace

Expected<std::string> fa4::findTool(const ToolName &tool, StringRef path,
                                    const PtxasSearch &search) {
  if (!path.empty()) {
    if (isProgram(path))
      return path.str();
    return makeError("'" + path + "', given as " + tool.program +
                     ", is no executable file");
  }
  if (std::optional<std::string> given = search.getEnv(tool.variable);
      given && !given->empty()) {
    if (isProgram(*given))
      return *given;
    return makeError(tool.variable + " is '" + *given +
                     "', which is no executable file");
  }
  Finder finder(tool, search);
  if (std::optional<std::string> found = finder.find())
    return *found;
  std::string flag =
      tool.flag.empty() ? "" : (tool.flag + " (not given), ").str();
  return makeError("no " + tool.program + "; looked at " + flag +
                   tool.variable + " (not set), " +
                   llvm::join(finder.places, ", ") +
                   ". It comes with the CUDA toolkit and with "
                   "`pip install " +
                   tool.wheel + "`");
}

//===----------------------------------------------------------------------===//
// Temporary files
//===----------------------------------------------------------------------===//

ScratchFile::ScratchFile(StringRef suffix) {
  ec = sys::fs::createTemporaryFile("fa4", suffix, fd, name);
  if (!ec)
    sys::RemoveFileOnSignal(name);
}

ScratchFile::~ScratchFile() {
  if (ec)
    return;
  closeFile();
  sys::fs::remove(name);
  sys::DontRemoveFileOnSignal(name);
}

Error ScratchFile::error() const {
  return ec ? makeError("cannot create a temporary file: " + ec.message())
            : Error::success();
}

Error ScratchFile::write(StringRef text) {
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/false);
  stream << text;
  stream.flush();
  std::error_code written = stream.error();
  stream.clear_error();
  closeFile();
  return written
             ? makeError("cannot write '" + name + "': " + written.message())
             : Error::success();
}

Expected<std::string> ScratchFile::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(name);
  if (!buffer)
    return makeError("cannot read '" + name +
                     "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

void ScratchFile::closeFile() {
  if (fd >= 0)
    (void)sys::Process::SafelyCloseFileDescriptor(fd);
  fd = -1;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::optional<std::string> fa4::runTool(llvm::ArrayRef<StringRef> command,
                                        const ScratchFile &output,
                                        const ScratchFile &messages) {
  std::optional<StringRef> redirects[] = {StringRef(), output.path(),
                                          messages.path()};
  std::string reason;
  int status = sys::ExecuteAndWait(command.front(), command, std::nullopt,
                                   redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &reason);
  if (status == 0)
    return std::nullopt;
  return reason.empty() ? "exit status " + std::to_string(status) : reason;
}

static std::string firstLines(StringRef log) {
  constexpr size_t shown = 8;
  llvm::SmallVector<StringRef> lines;
  log.trim().split(lines, '\n');
  std::string text = llvm::join(llvm::ArrayRef(lines).take_front(shown), "\n");
  if (lines.size() > shown)
    text += "\n... and " + std::to_string(lines.size() - shown) + " more lines";
  return text;
}

Error fa4::makeToolError(const Twine &program, StringRef reason,
                         StringRef log) {
  std::string shown = log.empty() ? "" : ":\n" + firstLines(log);
  return makeError(program + " failed (" + reason + ")" + shown);
}
