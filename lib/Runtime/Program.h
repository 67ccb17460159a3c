//===- Program.h - programs and calls -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_PROGRAM_H
#define FA4_LIB_RUNTIME_PROGRAM_H

#include "Driver.h"
#include "Workspace.h"
#include "fa4/Manifest/Manifest.h"
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace fa4::runtime {

using namespace manifest;

class CallBuilder;

/// What tells one tensor map from another: the arguments that encode it.
struct TensorMapKey {
  uint64_t base = 0;
  uint64_t dims[5] = {}, byteStrides[4] = {};
  uint32_t box[5] = {}, elementStrides[5] = {};
  int32_t type = 0, rank = 0, swizzle = 0, interleave = 0, fill = 0;
  int32_t promotion = 0;
};

/// Memory of tensors with recorded addresses: tensors that overlap share one.
/// A workspace within another tensor is a view of that.
struct ViewOf {
  int tensor = -1; ///< -1: the tensor has memory of its own.
  uint64_t offset = 0;
};

/// A recorded address in the bytes of a parameter.
struct Relocation {
  size_t param = 0;
  uint64_t at = 0; ///< Byte in the parameter.
  int tensor = -1;
  uint64_t offset = 0; ///< Bytes from the tensor's first element.
};

/// A kernel and what its launches have in common.
struct Kernel {
  CUfunction function = nullptr;
  std::string entry;
  int staticShared = 0, maxThreads = 0;
  std::atomic<int> dynamicShared{0}; ///< What the function was set to.
  std::atomic<bool> allowsLargeClusters{false};
};

/// The arguments of a call, in the order of the program.
struct TensorArgument {
  bool isGiven = false;
  uint64_t address = 0;
  const char *dtype = nullptr;
  int32_t rank = 0;
  const int64_t *shape = nullptr, *strides = nullptr;
};
struct Arguments {
  std::vector<TensorArgument> tensors;
  Values scalars;
  uint64_t workspace = 0, workspaceBytes = 0;
  /// Whether the driver is asked what is at the addresses. While a graph is
  /// captured it does not know what the graph will allocate.
  bool isMemoryChecked = true;
};

} // namespace fa4::runtime

struct Fa4RuntimeProgram {
  explicit Fa4RuntimeProgram(const Fa4RuntimeLoadOptions &options);
  ~Fa4RuntimeProgram();
  Fa4RuntimeProgram(const Fa4RuntimeProgram &) = delete;

  fa4::runtime::Arguments readArguments(const Fa4RuntimeArguments &from) const;
  fa4::runtime::TensorMapBytes encode(const fa4::runtime::TensorMapKey &key,
                                      const std::string &place);
  /// Lets a kernel have so much dynamic shared memory, and such a cluster.
  void configure(fa4::runtime::Kernel &kernel, int64_t dynamicShared,
                 int64_t clusterSize);
  /// Launches a call, which is prepared unless it is among those that are kept.
  void run(fa4::runtime::Arguments arguments, fa4::runtime::CUstream stream);
  /// The launches of a graph need the code for as long as there is the graph.
  void markCaptured() const { isCaptured = true; }

  const fa4::runtime::Manifest manifest;
  const fa4::runtime::Driver &driver;
  fa4::runtime::Gpu gpu;
  fa4::runtime::CUcontext context = nullptr;
  std::vector<fa4::runtime::Kernel *> kernels; ///< One for each launch.
  std::vector<fa4::runtime::ViewOf> views;     ///< One for each tensor.
  /// One list for each launch.
  std::vector<std::vector<fa4::runtime::Relocation>> relocations;
  bool hasWorkspaces = false;
  std::shared_ptr<fa4::runtime::WorkspacePool> pool;

private:
  friend struct ProgramLoader;
  void releaseDriverObjects();
  std::shared_ptr<const Fa4RuntimeCall> findCall(const std::string &key);
  std::shared_ptr<const Fa4RuntimeCall>
  prepareAndKeep(std::string key, const fa4::runtime::Arguments &arguments);

  mutable std::atomic<bool> isCaptured{false};

  bool isRetained = false; ///< The context is the GPU's primary one.
  std::vector<fa4::runtime::CUmodule> modules;
  std::map<std::pair<fa4::runtime::CUmodule, std::string>,
           std::unique_ptr<fa4::runtime::Kernel>>
      functions;
  std::mutex mutex; ///< Guards what follows, and the kernels' attributes.
  std::unordered_map<std::string, fa4::runtime::TensorMapBytes> maps;
  struct KeptCall {
    std::string key;
    std::shared_ptr<const Fa4RuntimeCall> call;
  };
  std::list<KeptCall> calls; ///< The one that was used last comes first.
};

struct Fa4RuntimeCall {
  Fa4RuntimeCall(Fa4RuntimeProgram &program,
                 const fa4::runtime::Arguments &arguments);
  ~Fa4RuntimeCall();
  Fa4RuntimeCall(const Fa4RuntimeCall &) = delete;

  void launch(const fa4::runtime::StreamState &state) const;

  Fa4RuntimeProgram &program;

private:
  friend class fa4::runtime::CallBuilder;
  /// Rows of one number.
  struct Fill {
    uint64_t address = 0, bytes = 0; ///< Bytes of a row.
    unsigned elementBytes = 1;
    unsigned value = 0;
    uint64_t rows = 1, pitch = 0; ///< Bytes from row to row.
  };
  struct Launch {
    /// Null where the launch is on sizes of 0; then `fills` are the results.
    fa4::runtime::Kernel *kernel = nullptr;
    std::vector<Fill> fills;
    fa4::runtime::LaunchConfig config = {};
    fa4::runtime::LaunchAttribute attributes[2] = {};
    std::vector<void *> params;
  };
  /// One row of a fill, at `address`.
  fa4::runtime::CUresult fillRow(const Fill &fill, uint64_t address,
                                 fa4::runtime::CUstream stream) const;
  /// All rows of a fill at once.
  fa4::runtime::CUresult fillRows(const Fill &fill,
                                  fa4::runtime::CUstream stream) const;
  void fill(const Fill &fill, fa4::runtime::CUstream stream) const;
  std::vector<Launch> launches;
  std::vector<Fill> fills;
  /// The bytes of all parameters, each aligned as a tensor map is.
  std::unique_ptr<fa4::runtime::TensorMapBytes[]> storage;
  fa4::runtime::WorkspaceRef ownWorkspace; ///< Where the caller gave none.
};

namespace fa4::runtime {
/// How many bytes of workspace a call needs. Throws Failure where sizes are
/// wrong, or, where that is asked for, addresses.
uint64_t countWorkspaceBytes(Fa4RuntimeProgram &program,
                             const Arguments &arguments, bool checkAddresses);
} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_PROGRAM_H
