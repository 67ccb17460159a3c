//===- Ptxas.cpp - finding and running NVIDIA's assembler -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/NVPTX/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;
namespace sys = llvm::sys;

static Error makeError(const Twine &message) {
  return llvm::createStringError(message);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

PtxasSearch::PtxasSearch()
    : getEnv([](StringRef name) { return sys::Process::GetEnv(name); }) {}

static bool isProgram(const Twine &path) {
  return sys::fs::can_execute(path) && !sys::fs::is_directory(path);
}

/// Returns the path of the ptxas wheel in a Python environment, or nothing.
static std::optional<std::string> findInVenv(StringRef venv) {
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
    for (const char *package : {"cu13", "cuda_nvcc"}) {
      SmallString<128> path(python);
      sys::path::append(path, "site-packages", "nvidia", package);
      sys::path::append(path, "bin", "ptxas");
      if (isProgram(path))
        return std::string(path);
    }
  return std::nullopt;
}

namespace {

/// Tries places one after the other and remembers those without ptxas, for the
/// error message.
class Finder {
public:
  explicit Finder(const PtxasSearch &search) : search(search) {}

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
    SmallString<128> venv(search.workingDirectory);
    sys::path::append(venv, ".venv");
    if (inVenv(venv, venv))
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
    sys::path::append(path, "ptxas");
    if (isProgram(path)) {
      found = std::string(path);
      return true;
    }
    if (std::string name = place.str(); !name.empty())
      places.push_back(std::move(name));
    return false;
  }

  bool inVenv(StringRef venv, const Twine &place) {
    if (std::optional<std::string> path = findInVenv(venv)) {
      found = *path;
      return true;
    }
    places.push_back("the wheel nvidia-cuda-nvcc in " + place.str());
    return false;
  }

  const PtxasSearch &search;
  std::string found;
};

} // namespace

Expected<std::string> fa4::findPtxas(StringRef path,
                                     const PtxasSearch &search) {
  if (!path.empty()) {
    if (isProgram(path))
      return path.str();
    return makeError("'" + path + "', given as ptxas, is no executable file");
  }
  if (std::optional<std::string> given = search.getEnv("FA4_PTXAS");
      given && !given->empty()) {
    if (isProgram(*given))
      return *given;
    return makeError("FA4_PTXAS is '" + *given +
                     "', which is no executable file");
  }
  Finder finder(search);
  if (std::optional<std::string> found = finder.find())
    return *found;
  return makeError("no ptxas; looked at --ptxas (not given), FA4_PTXAS (not "
                   "set), " +
                   llvm::join(finder.places, ", ") +
                   ". It comes with the CUDA toolkit and with "
                   "`pip install nvidia-cuda-nvcc`");
}

//===----------------------------------------------------------------------===//
// Its output
//===----------------------------------------------------------------------===//

static PtxasFunction &findOrAdd(PtxasReport &report, StringRef name) {
  auto it = llvm::find_if(report.functions,
                          [&](const auto &f) { return f.name == name; });
  if (it != report.functions.end())
    return *it;
  report.functions.emplace_back();
  report.functions.back().name = name.str();
  return report.functions.back();
}

/// Reads the number of "N unit" in a comma-separated list; the word "used" may
/// stand before the number. Leaves `value` alone if the list does not have the
/// unit.
template <typename T>
static bool readCount(StringRef list, StringRef unit, T &value) {
  for (StringRef item : llvm::split(list, ',')) {
    item = item.trim();
    (void)(item.consume_front("Used ") || item.consume_front("used "));
    auto [number, rest] = item.split(' ');
    if (rest == unit)
      return !number.getAsInteger(10, value);
  }
  return false;
}

Expected<PtxasReport> fa4::parsePtxasLog(StringRef log) {
  PtxasReport report;
  // The functions to which lines without a function name belong.
  std::string entry, function;
  auto malformed = [](StringRef line) {
    return makeError("cannot read this line of ptxas: '" + line + "'");
  };
  for (StringRef line : llvm::split(log, '\n')) {
    StringRef text = line.trim();
    bool isInfo = text.consume_front("ptxas info");
    if (isInfo)
      text = text.ltrim(" :");
    if (isInfo && text.consume_front("Compiling entry function '")) {
      entry = text.split('\'').first.str();
      findOrAdd(report, entry).isEntry = true;
    } else if (isInfo && text.consume_front("Function properties for ")) {
      function = text.str();
      findOrAdd(report, function);
    } else if (!isInfo && text.contains(" bytes stack frame")) {
      if (function.empty())
        return malformed(line);
      PtxasFunction &f = findOrAdd(report, function);
      if (!readCount(text, "bytes stack frame", f.stackBytes) ||
          !readCount(text, "bytes spill stores", f.spillStoreBytes) ||
          !readCount(text, "bytes spill loads", f.spillLoadBytes))
        return malformed(line);
    } else if (isInfo && text.starts_with("Used ")) {
      if (entry.empty())
        return malformed(line);
      PtxasFunction &f = findOrAdd(report, entry);
      if (!readCount(text, "registers", f.registers))
        return malformed(line);
      readCount(text, "barriers", f.barriers);
      readCount(text, "bytes smem", f.sharedBytes);
    } else if (text.starts_with("ptxas") && text.contains("warning")) {
      // "ptxas warning : text" or "ptxas FILE, line N; warning : text".
      text.consume_front("ptxas");
      text = text.ltrim();
      if (text.consume_front("warning"))
        text = text.ltrim(" :");
      report.advisories.push_back(text.str());
    } else if (isInfo && text.starts_with("(C")) {
      report.advisories.push_back(text.str());
    }
  }
  if (llvm::none_of(report.functions,
                    [](const auto &f) { return f.isEntry && f.registers; }))
    return makeError("ptxas reports no entry function");
  return report;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// A file in the folder for temporary files. It is removed with this object,
/// and if a signal ends the process.
class ScratchFile {
public:
  explicit ScratchFile(StringRef suffix) {
    ec = sys::fs::createTemporaryFile("fa4", suffix, fd, name);
    if (!ec)
      sys::RemoveFileOnSignal(name);
  }
  ~ScratchFile() {
    if (ec)
      return;
    closeFile();
    sys::fs::remove(name);
    sys::DontRemoveFileOnSignal(name);
  }
  ScratchFile(const ScratchFile &) = delete;

  Error error() const {
    return ec ? makeError("cannot create a temporary file: " + ec.message())
              : Error::success();
  }
  StringRef path() const { return name; }

  Error write(StringRef text) {
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

  Expected<std::string> read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name);
    if (!buffer)
      return makeError("cannot read '" + name +
                       "': " + buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }

private:
  void closeFile() {
    if (fd >= 0)
      (void)sys::Process::SafelyCloseFileDescriptor(fd);
    fd = -1;
  }

  SmallString<128> name;
  int fd = -1;
  std::error_code ec;
};

} // namespace

/// Returns the beginning of ptxas's output, because one bad instruction often
/// leads to many lines.
static std::string firstLines(StringRef log) {
  constexpr size_t shown = 8;
  llvm::SmallVector<StringRef> lines;
  log.trim().split(lines, '\n');
  std::string text = llvm::join(llvm::ArrayRef(lines).take_front(shown), "\n");
  if (lines.size() > shown)
    text += "\n... and " + std::to_string(lines.size() - shown) + " more lines";
  return text;
}

/// Removes the name of the temporary file, which would be different in each run
/// and means nothing to a reader.
static std::string withoutName(StringRef log, StringRef path) {
  std::string text;
  while (true) {
    auto [before, after] = log.split(path);
    text += before;
    if (before.size() == log.size())
      return text;
    text += "<ptx>";
    log = after;
  }
}

bool fa4::isPtxasTooOld(StringRef message) {
  return message.contains("Unsupported .version") ||
         message.contains("is not defined for option 'gpu-name'");
}

Expected<PtxasResult> fa4::assemble(StringRef ptxas, StringRef ptx,
                                    StringRef chip,
                                    llvm::ArrayRef<std::string> arguments) {
  ScratchFile input("ptx"), output("cubin"), messages("log");
  for (ScratchFile *file : {&input, &output, &messages})
    if (Error error = file->error())
      return std::move(error);
  if (Error error = input.write(ptx))
    return std::move(error);

  std::string arch = ("-arch=" + chip).str();
  llvm::SmallVector<StringRef> command{ptxas,        "-v", arch,
                                       input.path(), "-o", output.path()};
  llvm::append_range(command, arguments);
  std::optional<StringRef> redirects[] = {StringRef(), messages.path(),
                                          messages.path()};
  std::string reason;
  int status =
      sys::ExecuteAndWait(ptxas, command, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  Expected<std::string> log = messages.read();
  if (!log)
    return log.takeError();
  PtxasResult result;
  result.log = withoutName(*log, input.path());
  if (status != 0)
    return makeError(
        ptxas + " -arch=" + chip + " failed (" +
        (reason.empty() ? "exit status " + std::to_string(status) : reason) +
        ")" + (result.log.empty() ? "" : ":\n") + firstLines(result.log));
  Expected<PtxasReport> report = parsePtxasLog(result.log);
  if (!report)
    return report.takeError();
  result.report = std::move(*report);
  Expected<std::string> cubin = output.read();
  if (!cubin)
    return cubin.takeError();
  if (cubin->empty())
    return makeError(ptxas + " wrote no cubin");
  result.cubin = std::move(*cubin);
  return result;
}
