//===- Driver.cpp - the CUDA driver, found when it is needed
//---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include <dlfcn.h>

using namespace fa4::runtime;

static constexpr const char *kLibrary = "libcuda.so.1";

static Driver load() {
  Driver driver;
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *problem = dlerror();
    fail(FA4_RUNTIME_NO_DRIVER, "there is no CUDA driver: " +
                                    std::string(problem ? problem : kLibrary));
  }
#define FIND(symbol, name, parameters)                                         \
  driver.name =                                                                \
      reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));
#define REQUIRE(symbol, name, parameters)                                      \
  FIND(symbol, name, parameters)                                               \
  if (!driver.name)                                                            \
    fail(FA4_RUNTIME_NO_DRIVER,                                                \
         "the CUDA driver is older than CUDA 12: it has no " #symbol);
  FA4_RUNTIME_DRIVER_CALLS(REQUIRE)
  FA4_RUNTIME_OPTIONAL_DRIVER_CALLS(FIND)
#undef FIND
#undef REQUIRE
  int count = 0;
  CUresult result = driver.init(0);
  if (result == 0)
    result = driver.deviceGetCount(&count);
  if (result != 0)
    fail(FA4_RUNTIME_NO_DRIVER,
         "the CUDA driver does not start: " + driver.describe(result));
  if (count == 0)
    fail(FA4_RUNTIME_NO_DRIVER, "the CUDA driver finds no GPU");
  return driver;
}

const Driver &Driver::get() {
  // Tried again where it has failed: a driver may be installed later.
  static const Driver driver = load();
  return driver;
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    return "CUDA error " + std::to_string(result);
  std::string description = name;
  if (getErrorString(result, &text) == 0 && text)
    description += " (" + std::string(text) + ")";
  return description;
}

void Driver::check(CUresult result, const std::string &what) const {
  if (result != 0)
    fail(result == kOutOfMemory ? FA4_RUNTIME_NO_MEMORY
                                : FA4_RUNTIME_DRIVER_ERROR,
         what + ": " + describe(result));
}

Gpu::Gpu(const Driver &driver, CUdevice device) : device(device) {
  char text[256] = {};
  driver.check(driver.deviceGetName(text, sizeof(text) - 1, device),
               "cuDeviceGetName");
  name = text;
  auto read = [&](int attribute) {
    int value = 0;
    driver.check(driver.deviceGetAttribute(&value, attribute, device),
                 "cuDeviceGetAttribute");
    return value;
  };
  major = read(kComputeCapabilityMajor);
  minor = read(kComputeCapabilityMinor);
  smCount = read(kSmCount);
  maxThreads = read(kMaxThreads);
  maxDynamicShared = read(kMaxDynamicShared);
  for (int i = 0; i < 3; ++i)
    maxGrid[i] = read(kMaxGridX + i);
  hasPageableAccess = read(kPageableMemoryAccess) != 0;
}

std::string Gpu::describe() const {
  return "GPU " + std::to_string(device) + " (" + name + ", sm_" +
         std::to_string(major) + std::to_string(minor) + ")";
}
