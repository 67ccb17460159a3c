//===- Workspace.h - memory that launches work in -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of a stream come one after the other, and may all work in one
// piece of memory, as large as the largest needs. A CUDA graph may be launched
// on any stream and at any time later: what is captured has memory of its own,
// which lives as long as the graph.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_WORKSPACE_H
#define FA4_LIB_RUNTIME_WORKSPACE_H

#include "Driver.h"
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fa4::runtime {

/// What launches on a stream now become part of.
struct StreamState {
  StreamState(const Driver &driver, CUstream stream);

  CUstream stream;
  bool isCaptured = false;
  /// Of the capture; 0 and null where the driver does not say.
  uint64_t capture = 0;
  CUgraph graph = nullptr;
};

/// Lets the calls of a scope do what a capture of the thread would forbid, such
/// as to allocate memory; none of them becomes part of the graph.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;

private:
  const Driver &driver;
  int mode;
};

/// A piece of memory. When nobody has it any more, the pool's next `collect`
/// frees it: the last one may be a graph, in a callback that may not.
struct Workspace {
  CUdeviceptr address = 0;
  uint64_t bytes = 0;
};
using WorkspaceRef = std::shared_ptr<const Workspace>;

/// The workspaces of all programs of a context.
class WorkspacePool {
public:
  WorkspacePool(const Driver &driver, CUcontext context);
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool &) = delete;
  /// The pool of a context, which lives as long as somebody has it.
  static std::shared_ptr<WorkspacePool> of(const Driver &driver,
                                           CUcontext context);

  /// Memory for one call. Throws Failure.
  WorkspaceRef allocate(uint64_t bytes);
  /// What launches on a stream have so far; null for none.
  WorkspaceRef find(const StreamState &state);
  /// The same, of at least so many bytes. Throws Failure.
  WorkspaceRef acquire(const StreamState &state, uint64_t bytes);
  /// Keeps memory for as long as the graph that is being captured; for good
  /// where the driver does not say when that goes.
  void keepForGraph(const StreamState &state, const WorkspaceRef &workspace);
  /// Frees what nobody has; the driver waits for the GPU if there is any.
  void collect();

private:
  struct Released {
    std::mutex mutex;
    std::vector<CUdeviceptr> addresses;
  };
  using Key = std::pair<uint64_t, CUstream>; ///< Capture and stream.

  const Driver &driver;
  CUcontext context;
  std::shared_ptr<Released> released = std::make_shared<Released>();
  std::mutex mutex; ///< Guards what follows.
  /// The stream that was used last comes first. Nobody says when a stream is
  /// gone, so that only so many are kept.
  std::list<std::pair<CUstream, WorkspaceRef>> ofStreams;
  std::map<Key, std::weak_ptr<const Workspace>> ofCaptures;
};

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_WORKSPACE_H
