//===- FA4Plugin.cpp - what an MLIR tool loads ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plugin for `--load-dialect-plugin` and `--load-pass-plugin`. It has none
// of fa4 and none of LLVM in it, so that any program can load it: MLIR's
// symbols have no versions, and code that was linked with one MLIR crashes
// where it meets those of another. The plugin looks whether its host has the
// shared library of MLIR that fa4 was built for, and loads libfa4.so only then.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace {

/// The layout of mlir::DialectPluginLibraryInfo and
/// mlir::PassPluginLibraryInfo, which is the same in all versions of LLVM that
/// have plugins.
template <typename Register> struct LibraryInfo {
  uint32_t apiVersion;
  const char *name;
  const char *version;
  Register *callback;
};
using DialectInfo = LibraryInfo<void(void *registry)>;
using PassInfo = LibraryInfo<void()>;

/// MLIR_PLUGIN_API_VERSION. A host refuses any other number, with a message.
constexpr uint32_t kApiVersion = 1, kRefused = 0;

/// Sets `data`, a buffer of NAME_MAX characters, to the name of a shared
/// library of MLIR.
int findMLIR(dl_phdr_info *info, size_t, void *data) {
  const char *slash = std::strrchr(info->dlpi_name, '/');
  const char *name = slash ? slash + 1 : info->dlpi_name;
  if (std::strncmp(name, "libMLIR.so", 10) != 0 &&
      std::strncmp(name, "libMLIR-", 8) != 0)
    return 0;
  std::snprintf(static_cast<char *>(data), 256, "%s", name);
  return 1;
}

/// Whether the program has loaded the MLIR that fa4 was built for.
bool checkHost() {
  if (void *mlir = dlopen(FA4_MLIR_SONAME, RTLD_LAZY | RTLD_NOLOAD)) {
    dlclose(mlir);
    return true;
  }
  char other[256] = "";
  dl_iterate_phdr(findMLIR, other);
  std::fprintf(stderr,
               "FA4Plugin.so: error: fa4 was built for LLVM " FA4_LLVM_VERSION
               " and shares MLIR with a program that uses " FA4_MLIR_SONAME
               "; this program %s%s\n",
               other[0] ? "uses " : "uses no shared library of MLIR", other);
  return false;
}

/// Returns a function of libfa4.so, which is beside this file. A plugin stays
/// loaded, and so does the library.
void *findFunction(const char *name) {
  if (!checkHost())
    return nullptr;
  Dl_info self;
  char path[4096] = FA4_LIBRARY;
  if (dladdr(reinterpret_cast<void *>(&findMLIR), &self) && self.dli_fname)
    if (const char *slash = std::strrchr(self.dli_fname, '/'))
      std::snprintf(path, sizeof(path), "%.*s/" FA4_LIBRARY,
                    static_cast<int>(slash - self.dli_fname), self.dli_fname);
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  void *function = library ? dlsym(library, name) : nullptr;
  if (!function)
    std::fprintf(stderr, "FA4Plugin.so: error: cannot load fa4: %s\n",
                 dlerror());
  return function;
}

template <typename Register> LibraryInfo<Register> getInfo(const char *name) {
  auto *callback = reinterpret_cast<Register *>(findFunction(name));
  return {callback ? kApiVersion : kRefused, "fa4", FA4_VERSION, callback};
}

} // namespace

// NOLINTBEGIN: the names and the types are MLIR's.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif
extern "C" __attribute__((visibility("default")))
DialectInfo mlirGetDialectPluginInfo() {
  return getInfo<void(void *)>("fa4RegisterPluginDialects");
}

extern "C" __attribute__((visibility("default"))) PassInfo
mlirGetPassPluginInfo() {
  return getInfo<void()>("fa4RegisterPluginPasses");
}
// NOLINTEND
