//===- Graph.h - CUDA graphs -----------------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is a list of work that is done when somebody launches it: one node
// after the other, as all work of this driver is. The order is that in which
// nodes were added, but for edges that were added later. Capturing a stream
// puts its work into a graph in place of doing it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_DRIVER_GRAPH_H
#define FA4_TOOLS_FA4_DRIVER_GRAPH_H

#include "Driver.h"
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace fa4::driver {

/// Kinds of nodes, by their numbers (CUgraphNodeType).
enum class NodeKind : int {
  Kernel = 0,
  Memcpy = 1,
  Memset = 2,
  Host = 3,
  Graph = 4,
  Empty = 5,
  EventRecord = 7,
};

struct GraphNode {
  NodeKind kind = NodeKind::Empty;
  std::function<CUresult()> work; ///< Null: nothing to do.
  std::vector<const GraphNode *> dependencies;
};

/// What a program lets graphs keep: `destroy` is called when nobody has it.
struct UserObject {
  void *data = nullptr;
  void (*destroy)(void *data) = nullptr;
  unsigned references = 0; ///< The program's, not those of graphs.
  UserObject() = default;
  UserObject(const UserObject &) = delete;
  ~UserObject() { destroy(data); }
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::shared_ptr<UserObject>> objects; ///< One for a reference.
  GraphNode *add(NodeKind kind, std::function<CUresult()> work);
  bool has(const GraphNode *node) const;
};

/// What cuGraphInstantiate makes: the work of a graph in the order in which it
/// is done. It lives on without the graph.
struct GraphExec {
  struct Step {
    const GraphNode *node; ///< Names the step; may be gone.
    NodeKind kind;
    std::function<CUresult()> work;
  };
  std::vector<Step> steps;
  std::vector<std::shared_ptr<UserObject>> objects;
  CUresult run() const;
};

/// A capture in progress.
struct Capture {
  Graph *graph = nullptr;
  CUstream origin = nullptr;
  uint64_t id = 0;
  int mode = 0; ///< CUstreamCaptureMode: 0 global, 1 of the thread, 2 relaxed.
  std::thread::id thread;
  bool isInvalid = false;
  /// The streams that take part, and how much work each has given to the graph;
  /// how much of that the origin has been made to wait for.
  struct Part {
    unsigned work = 0, joined = 0;
  };
  std::map<CUstream, Part> streams;
};

/// Does the work of a stream: now, or whenever the graph is launched that the
/// stream is being captured into.
CUresult perform(CUstream stream, NodeKind kind,
                 std::function<CUresult()> work);

/// The capture that a stream takes part in; null if there is none.
Capture *findCapture(CUstream stream);
/// A call that captures do not allow: the capture is invalid from now on.
CUresult refuseInCapture(Capture &capture, const char *call);
/// The same for a call of no stream, such as to allocate memory, which captures
/// forbid unless the thread has relaxed that. CUDA_SUCCESS where it may go on.
CUresult checkUnsafeCall(const char *call);

} // namespace fa4::driver

#endif // FA4_TOOLS_FA4_DRIVER_GRAPH_H
