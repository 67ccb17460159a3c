//===- Driver.cpp - settings, errors and the lock ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "fa4/Support/Tool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace fa4::driver;
using llvm::StringRef;
using llvm::Twine;

Driver::Driver() = default;
Driver::~Driver() = default;

/// The driver lives until the process ends: other libraries call it from their
/// own destructors.
Driver &Driver::get() {
  static Driver *driver = new Driver;
  return *driver;
}

CUresult Driver::fail(CUresult result, const Twine &message) {
  lastMessage = message.str();
  llvm::errs() << "fa4-driver: " << lastMessage << "\n";
  return result;
}

CUresult Driver::unsupported(StringRef call) {
  if (!toldUnsupported.insert(call.str()).second)
    return CUDA_ERROR_NOT_SUPPORTED;
  return fail(CUDA_ERROR_NOT_SUPPORTED, call + " is not supported");
}

static StringRef variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

CUresult Driver::initialize() {
  if (isInitialized())
    return CUDA_SUCCESS;
  Settings read;
  StringRef chip = variable("FA4_DRIVER_CHIP");
  const TargetDescription *table =
      lookupTarget(chip.empty() ? "sm_100a" : chip);
  if (!table)
    return fail(CUDA_ERROR_NO_DEVICE,
                "FA4_DRIVER_CHIP: no table of the chip '" + chip + "'; " +
                    suggestName(chip, knownTargets()));
  StringRef check = variable("FA4_DRIVER_CHECK");
  if (!check.empty() && check != "0" && check != "1")
    return fail(CUDA_ERROR_NO_DEVICE,
                "FA4_DRIVER_CHECK is 0 or 1, not '" + check + "'");
  read.check = check != "0";
  auto allowed = sim::parseAllowedKinds(variable("FA4_DRIVER_ALLOW"));
  if (!allowed)
    return fail(CUDA_ERROR_NO_DEVICE,
                "FA4_DRIVER_ALLOW: " + llvm::toString(allowed.takeError()));
  read.allowed = std::move(*allowed);
  StringRef seed = variable("FA4_DRIVER_SEED");
  if (!seed.empty() && seed.getAsInteger(0, read.seed))
    return fail(CUDA_ERROR_NO_DEVICE,
                "FA4_DRIVER_SEED is a number, not '" + seed + "'");
  if (StringRef name = variable("FA4_DRIVER_POLICY"); !name.empty()) {
    auto policy = sim::findPolicy(name);
    if (!policy)
      return fail(CUDA_ERROR_NO_DEVICE,
                  "FA4_DRIVER_POLICY: unknown policy '" + name +
                      "' (known: " + sim::policyNames + ")");
    read.policy = *policy;
  }
  llvm::SmallVector<StringRef> folders;
  variable("FA4_DRIVER_PTX").split(folders, ':', -1, /*KeepEmpty=*/false);
  for (StringRef folder : folders)
    read.ptxFolders.push_back(folder.str());
  read.log = variable("FA4_DRIVER_LOG").str();
  read.record = variable("FA4_DRIVER_RECORD").str();
  memory = std::make_shared<sim::GlobalMemory>();
  contexts.insert(&primary);
  read.chip = table;
  settings = std::move(read);
  return CUDA_SUCCESS;
}

std::pair<int, int> Driver::computeCapability() const {
  int number = 0;
  StringRef digits = chip().chip;
  digits.consume_front("sm_");
  digits.consumeInteger(10, number);
  return {number / 10, number % 10};
}

//===----------------------------------------------------------------------===//
// API calls
//===----------------------------------------------------------------------===//

Call::Call(Needs needs) : driver(Driver::get()), lock(driver.mutex) {
  if (needs >= Init && !driver.isInitialized())
    error = CUDA_ERROR_NOT_INITIALIZED;
  else if (needs >= Needs::Context && !currentContext())
    error = CUDA_ERROR_INVALID_CONTEXT;
  else if (needs >= Healthy)
    error = driver.pending;
}
