//===- CompileOptions.cpp - what is asked for, by name --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Compile/Compilation.h"
#include "fa4/Support/Tool.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Process.h"

using namespace fa4;
using llvm::StringRef;

bool CompileOptions::wants(Artefact artefact) const {
  return llvm::is_contained(artefacts, artefact);
}

static llvm::SmallVector<StringRef> levelNames() {
  llvm::SmallVector<StringRef> names;
  for (const KernelLevel &level : getKernelLevels())
    names.push_back(level.name);
  return names;
}

llvm::Error fa4::readEmit(const std::vector<std::string> &names,
                          CompileOptions &options) {
  for (const std::string &name : names) {
    auto artefact = llvm::StringSwitch<std::optional<Artefact>>(name)
                        .Case("llvm", Artefact::LLVM)
                        .Case("ptx", Artefact::PTX)
                        .Case("cubin", Artefact::Cubin)
                        .Default(std::nullopt);
    std::optional<unsigned> level = findKernelLevel(name);
    if (!artefact && !level) {
      llvm::SmallVector<StringRef> known = levelNames();
      known.append({"llvm", "ptx", "cubin"});
      return llvm::createStringError("emit: there is no level or artefact '" +
                                     name + "'; " + suggestName(name, known));
    }
    if (artefact && !options.wants(*artefact))
      options.artefacts.push_back(*artefact);
    if (level && !llvm::is_contained(options.levels, *level))
      options.levels.push_back(*level);
  }
  if (names.empty())
    options.artefacts.push_back(Artefact::PTX);
  return llvm::Error::success();
}

llvm::Error fa4::readFrom(StringRef level, CompileOptions &options) {
  if (level.empty())
    return llvm::Error::success();
  options.from = findKernelLevel(level);
  if (options.from)
    return llvm::Error::success();
  return llvm::createStringError("from: there is no level '" + level + "'; " +
                                 suggestName(level, levelNames()));
}

llvm::Error fa4::choosePtxas(VerifyPtx verify, StringRef path,
                             CompileOptions &options) {
  bool needed = verify == VerifyPtx::Yes || options.wants(Artefact::Cubin);
  if (!needed && !options.wants(Artefact::PTX))
    return llvm::Error::success();
  std::optional<std::string> wish =
      llvm::sys::Process::GetEnv("FA4_VERIFY_PTX");
  bool unwanted =
      verify == VerifyPtx::No || (verify == VerifyPtx::IfFound && wish == "0");
  if (!needed && unwanted) {
    options.notChecked = "--verify-ptx=false";
    return llvm::Error::success();
  }
  llvm::Expected<std::string> ptxas = findPtxas(path);
  if (ptxas) {
    options.ptxas = std::move(*ptxas);
    options.ptxasIsOptional = !needed && path.empty();
    return llvm::Error::success();
  }
  if (needed || !path.empty())
    return ptxas.takeError();
  options.notChecked = llvm::toString(ptxas.takeError());
  return llvm::Error::success();
}
