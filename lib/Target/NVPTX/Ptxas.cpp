//===- Ptxas.cpp - finding and running NVIDIA's assembler -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/NVPTX/Ptxas.h"
#include "Tool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <dlfcn.h>

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Returns the path of the program or library that this code is in.
static std::string findOwnPath() {
  Dl_info info;
  void *here = reinterpret_cast<void *>(&findOwnPath);
  // The loader has what a program was called as, which may be no path.
  if (dladdr(here, &info) && StringRef(info.dli_fname).contains(".so"))
    return info.dli_fname;
  return llvm::sys::fs::getMainExecutable(nullptr, here);
}

std::string fa4::findEnvironmentOf(StringRef path) {
  namespace paths = llvm::sys::path;
  llvm::SmallString<128> real;
  if (llvm::sys::fs::real_path(path, real))
    return "";
  for (StringRef at = real; !at.empty(); at = paths::parent_path(at)) {
    StringRef folder = paths::parent_path(at);
    // <environment>/lib/python3.12/site-packages
    if (paths::filename(at) == "site-packages")
      return paths::parent_path(paths::parent_path(folder)).str();
    // <checkout>/build/<preset>, which CMake has configured: a folder that is
    // called build may hold anything.
    llvm::SmallString<128> configured(at);
    paths::append(configured, "CMakeCache.txt");
    if (paths::filename(folder) == "build" &&
        llvm::sys::fs::exists(configured)) {
      llvm::SmallString<128> environment(paths::parent_path(folder));
      paths::append(environment, ".venv");
      return std::string(environment);
    }
  }
  return "";
}

PtxasSearch::PtxasSearch()
    : getEnv([](StringRef name) { return llvm::sys::Process::GetEnv(name); }),
      environment(findEnvironmentOf(findOwnPath())) {}

Expected<std::string> fa4::findPtxas(StringRef path,
                                     const PtxasSearch &search) {
  return findTool(
      {"ptxas", "FA4_PTXAS", "--ptxas", "nvidia-cuda-nvcc", "cuda_nvcc"}, path,
      search);
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
  std::optional<std::string> reason = runTool(command, messages, messages);
  Expected<std::string> log = messages.read();
  if (!log)
    return log.takeError();
  PtxasResult result;
  result.log = withoutName(*log, input.path());
  if (reason)
    return makeToolError(ptxas + " -arch=" + chip, *reason, result.log);
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
