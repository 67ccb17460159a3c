//===- GraphApi.cpp - CUDA graphs and the capture of streams -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include "Graph.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace fa4::driver;

static Graph *graphOf(CUgraph graph) {
  return reinterpret_cast<Graph *>(graph);
}
static GraphExec *execOf(CUgraphExec exec) {
  return reinterpret_cast<GraphExec *>(exec);
}
static const GraphNode *nodeOf(CUgraphNode node) {
  return reinterpret_cast<const GraphNode *>(node);
}

#define FA4_GRAPH_CALL(handle)                                                 \
  FA4_CALL(Context);                                                           \
  if (!call->graphs.count(graphOf(handle)))                                    \
  return CUDA_ERROR_INVALID_HANDLE

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

GraphNode *Graph::add(NodeKind kind, std::function<CUresult()> work) {
  nodes.push_back(std::make_unique<GraphNode>());
  nodes.back()->kind = kind;
  nodes.back()->work = std::move(work);
  return nodes.back().get();
}

bool Graph::has(const GraphNode *node) const {
  return llvm::any_of(nodes, [&](const auto &n) { return n.get() == node; });
}

CUresult GraphExec::run() const {
  for (const Step &step : steps)
    if (step.work)
      if (CUresult error = step.work())
        return error;
  return CUDA_SUCCESS;
}

/// The nodes in an order that keeps their edges, the first added first. Fewer
/// than there are if the edges have a cycle.
static std::vector<const GraphNode *> sortNodes(const Graph &graph) {
  std::vector<const GraphNode *> order;
  std::set<const GraphNode *> done;
  for (bool isMore = true; isMore;) {
    isMore = false;
    for (const auto &node : graph.nodes)
      if (!done.count(node.get()) &&
          llvm::all_of(node->dependencies,
                       [&](const GraphNode *d) { return done.count(d); })) {
        done.insert(node.get());
        order.push_back(node.get());
        isMore = true;
      }
  }
  return order;
}

static CUresult fillSteps(const Graph &graph, GraphExec &exec) {
  exec.steps.clear();
  for (const GraphNode *node : sortNodes(graph))
    exec.steps.push_back({node, node->kind, node->work});
  return exec.steps.size() == graph.nodes.size() ? CUDA_SUCCESS
                                                 : CUDA_ERROR_INVALID_VALUE;
}

FA4_API CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  FA4_CALL(Context);
  auto *made = new Graph;
  call->graphs.insert(made);
  *graph = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuGraphDestroy(CUgraph graph) {
  FA4_GRAPH_CALL(graph);
  call->graphs.erase(graphOf(graph));
  delete graphOf(graph);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuGraphClone(CUgraph *clone, CUgraph graph) {
  FA4_GRAPH_CALL(graph);
  auto *made = new Graph;
  std::map<const GraphNode *, const GraphNode *> copies;
  for (const auto &node : graphOf(graph)->nodes)
    copies[node.get()] = made->add(node->kind, node->work);
  for (size_t i = 0; i < made->nodes.size(); ++i)
    for (const GraphNode *d : graphOf(graph)->nodes[i]->dependencies)
      made->nodes[i]->dependencies.push_back(copies[d]);
  made->objects = graphOf(graph)->objects;
  call->graphs.insert(made);
  *clone = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}

/// Adds a node behind others.
static CUresult addNode(Driver &driver, CUgraphNode *to, CUgraph graph,
                        const CUgraphNode *dependencies, size_t count,
                        NodeKind kind, std::function<CUresult()> work) {
  for (size_t i = 0; i < count; ++i)
    if (!graphOf(graph)->has(nodeOf(dependencies[i])))
      return driver.fail(CUDA_ERROR_INVALID_VALUE,
                         "a node of a graph depends on one that it lacks");
  GraphNode *node = graphOf(graph)->add(kind, std::move(work));
  for (size_t i = 0; i < count; ++i)
    node->dependencies.push_back(nodeOf(dependencies[i]));
  *to = reinterpret_cast<CUgraphNode>(node);
  return CUDA_SUCCESS;
}

namespace {
struct KernelNodeParams {
  CUfunction function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **params, **extra;
  CUkernel kernel; ///< From here on in the second version only.
  CUcontext context;
};
struct MemsetNodeParams {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
struct HostNodeParams {
  void (*function)(void *);
  void *data;
};
struct Place3D {
  size_t xInBytes, y, z, lod;
  int type;
  const void *host;
  CUdeviceptr device;
  void *array, *reserved;
  size_t pitch, height;
};
struct Memcpy3D {
  Place3D from, to;
  size_t widthInBytes, height, depth;
};
struct InstantiateParams {
  uint64_t flags;
  CUstream upload;
  CUgraphNode errorNode;
  int result;
};
struct ExecUpdateResult {
  int result;
  CUgraphNode errorNode, errorFromNode;
};
} // namespace

/// The launch of a kernel node; its parameters are copied now.
static CUresult takeLaunch(Driver &driver, const KernelNodeParams &from,
                           bool hasKernel, std::function<CUresult()> &work) {
  CUfunction function = from.function;
  if (!function && hasKernel)
    function = reinterpret_cast<CUfunction>(from.kernel);
  CUlaunchConfig config{
      from.gridX,  from.gridY,       from.gridZ, from.blockX, from.blockY,
      from.blockZ, from.sharedBytes, nullptr,    nullptr,     0};
  LaunchRequest request;
  if (CUresult error =
          makeLaunch(config, function, from.params, from.extra, request))
    return error;
  work = [&driver, request] { return driver.launch(request); };
  return CUDA_SUCCESS;
}

static CUresult addKernel(CUgraphNode *node, CUgraph graph,
                          const CUgraphNode *dependencies, size_t count,
                          const KernelNodeParams *params, bool hasKernel) {
  FA4_GRAPH_CALL(graph);
  std::function<CUresult()> work;
  if (CUresult error = takeLaunch(call.driver, *params, hasKernel, work))
    return error;
  return addNode(call.driver, node, graph, dependencies, count,
                 NodeKind::Kernel, std::move(work));
}

FA4_API CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph,
                                      const CUgraphNode *dependencies,
                                      size_t count,
                                      const KernelNodeParams *params) {
  return addKernel(node, graph, dependencies, count, params, false);
}
FA4_API CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                         const CUgraphNode *dependencies,
                                         size_t count,
                                         const KernelNodeParams *params) {
  return addKernel(node, graph, dependencies, count, params, true);
}

FA4_API CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
                                      const CUgraphNode *dependencies,
                                      size_t count, const Memcpy3D *copy,
                                      CUcontext context) {
  FA4_GRAPH_CALL(graph);
  if (copy->from.type == Array || copy->to.type == Array)
    return call->unsupported("cuGraphAddMemcpyNode of arrays");
  return addNode(
      call.driver, node, graph, dependencies, count, NodeKind::Memcpy,
      [c = *copy]() -> CUresult {
        auto rowOf = [](const Place3D &p, size_t y, size_t z) {
          CUdeviceptr base =
              p.type == Host ? reinterpret_cast<uintptr_t>(p.host) : p.device;
          return base + ((p.z + z) * p.height + p.y + y) * p.pitch + p.xInBytes;
        };
        for (size_t z = 0; z < c.depth; ++z)
          for (size_t y = 0; y < c.height; ++y)
            if (CUresult error = cuMemcpy(rowOf(c.to, y, z),
                                          rowOf(c.from, y, z), c.widthInBytes))
              return error;
        return CUDA_SUCCESS;
      });
}

FA4_API CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph,
                                      const CUgraphNode *dependencies,
                                      size_t count,
                                      const MemsetNodeParams *params,
                                      CUcontext context) {
  FA4_GRAPH_CALL(graph);
  return addNode(
      call.driver, node, graph, dependencies, count, NodeKind::Memset,
      [p = *params]() -> CUresult {
        switch (p.elementSize) {
        case 1:
          return cuMemsetD2D8(p.to, p.pitch, p.value, p.width, p.height);
        case 2:
          return cuMemsetD2D16(p.to, p.pitch, p.value, p.width, p.height);
        case 4:
          return cuMemsetD2D32(p.to, p.pitch, p.value, p.width, p.height);
        default:
          return CUDA_ERROR_INVALID_VALUE;
        }
      });
}

FA4_API CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph,
                                    const CUgraphNode *dependencies,
                                    size_t count,
                                    const HostNodeParams *params) {
  FA4_GRAPH_CALL(graph);
  return addNode(call.driver, node, graph, dependencies, count, NodeKind::Host,
                 [p = *params] {
                   p.function(p.data);
                   return CUDA_SUCCESS;
                 });
}

FA4_API CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
                                     const CUgraphNode *dependencies,
                                     size_t count) {
  FA4_GRAPH_CALL(graph);
  return addNode(call.driver, node, graph, dependencies, count, NodeKind::Empty,
                 nullptr);
}

FA4_API CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *dependencies,
                                          size_t count, CUgraph child) {
  FA4_GRAPH_CALL(graph);
  auto exec = std::make_shared<GraphExec>();
  if (!call->graphs.count(graphOf(child)))
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult error = fillSteps(*graphOf(child), *exec))
    return error;
  return addNode(call.driver, node, graph, dependencies, count, NodeKind::Graph,
                 [exec] { return exec->run(); });
}

FA4_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                        const CUgraphNode *to, size_t count) {
  FA4_GRAPH_CALL(graph);
  for (size_t i = 0; i < count; ++i) {
    if (!graphOf(graph)->has(nodeOf(from[i])) ||
        !graphOf(graph)->has(nodeOf(to[i])))
      return CUDA_ERROR_INVALID_VALUE;
    const_cast<GraphNode *>(nodeOf(to[i]))
        ->dependencies.push_back(nodeOf(from[i]));
  }
  return CUDA_SUCCESS;
}

/// With `nodes` null, how many there are.
FA4_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes,
                                 size_t *count) {
  FA4_GRAPH_CALL(graph);
  const auto &all = graphOf(graph)->nodes;
  if (nodes)
    for (size_t i = 0; i < *count; ++i)
      nodes[i] = i < all.size() ? reinterpret_cast<CUgraphNode>(all[i].get())
                                : nullptr;
  *count = nodes ? std::min(*count, all.size()) : all.size();
  return CUDA_SUCCESS;
}

FA4_API CUresult cuGraphNodeGetType(CUgraphNode node, int *type) {
  FA4_CALL(Context);
  if (llvm::none_of(call->graphs,
                    [&](Graph *graph) { return graph->has(nodeOf(node)); }))
    return CUDA_ERROR_INVALID_VALUE;
  *type = int(nodeOf(node)->kind);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Executable graphs
//===----------------------------------------------------------------------===//

FA4_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                             unsigned long long flags) {
  FA4_GRAPH_CALL(graph);
  auto made = std::make_unique<GraphExec>();
  if (fillSteps(*graphOf(graph), *made))
    return call->fail(CUDA_ERROR_INVALID_VALUE,
                      "the edges of a graph have a cycle");
  made->objects = graphOf(graph)->objects;
  *exec = reinterpret_cast<CUgraphExec>(made.get());
  call->graphExecs.insert(made.release());
  return CUDA_SUCCESS;
}
FA4_API CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph,
                                       CUgraphNode *errorNode, char *log,
                                       size_t logBytes) {
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
FA4_ALIAS(cuGraphInstantiate, cuGraphInstantiate_v2);
FA4_API CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                              InstantiateParams *params) {
  CUresult error = cuGraphInstantiateWithFlags(exec, graph, params->flags);
  params->result = error ? 1 : 0; // CUDA_GRAPH_INSTANTIATE_ERROR
  return error;
}

#define FA4_EXEC_CALL(needs)                                                   \
  FA4_CALL(needs);                                                             \
  if (!call->graphExecs.count(execOf(exec)))                                   \
  return CUDA_ERROR_INVALID_HANDLE

FA4_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  FA4_EXEC_CALL(Context);
  call->graphExecs.erase(execOf(exec));
  delete execOf(exec);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  FA4_EXEC_CALL(Context);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  FA4_EXEC_CALL(Healthy);
  return perform(stream, NodeKind::Graph,
                 [steps = *execOf(exec)] { return steps.run(); });
}

/// The graph must be as the one that was instantiated, but for parameters.
FA4_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                      ExecUpdateResult *result) {
  FA4_EXEC_CALL(Context);
  if (!call->graphs.count(graphOf(graph)))
    return CUDA_ERROR_INVALID_HANDLE;
  GraphExec next;
  auto sameKind = [](const GraphExec::Step &a, const GraphExec::Step &b) {
    return a.kind == b.kind;
  };
  constexpr int topologyChanged = 2;
  *result = {};
  if (fillSteps(*graphOf(graph), next) ||
      next.steps.size() != execOf(exec)->steps.size() ||
      !std::equal(next.steps.begin(), next.steps.end(),
                  execOf(exec)->steps.begin(), sameKind)) {
    result->result = topologyChanged;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  // Steps keep the names of the graph that was instantiated.
  for (size_t i = 0; i < next.steps.size(); ++i)
    execOf(exec)->steps[i].work = next.steps[i].work;
  return CUDA_SUCCESS;
}

static CUresult setKernel(CUgraphExec exec, CUgraphNode node,
                          const KernelNodeParams *params, bool hasKernel) {
  FA4_EXEC_CALL(Context);
  auto found =
      llvm::find_if(execOf(exec)->steps, [&](const GraphExec::Step &step) {
        return step.node == nodeOf(node);
      });
  if (found == execOf(exec)->steps.end() || found->kind != NodeKind::Kernel)
    return CUDA_ERROR_INVALID_VALUE;
  return takeLaunch(call.driver, *params, hasKernel, found->work);
}
FA4_API CUresult cuGraphExecKernelNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const KernelNodeParams *params) {
  return setKernel(exec, node, params, false);
}
FA4_API CUresult cuGraphExecKernelNodeSetParams_v2(
    CUgraphExec exec, CUgraphNode node, const KernelNodeParams *params) {
  return setKernel(exec, node, params, true);
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

Capture *fa4::driver::findCapture(CUstream stream) {
  for (const auto &capture : Driver::get().captures)
    if (capture->streams.count(stream))
      return capture.get();
  return nullptr;
}

CUresult fa4::driver::refuseInCapture(Capture &capture, const char *call) {
  capture.isInvalid = true;
  return Driver::get().fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                            std::string(call) +
                                ": the stream is being captured, and its work "
                                "has not been done");
}

CUresult fa4::driver::perform(CUstream stream, NodeKind kind,
                              std::function<CUresult()> work) {
  FA4_CALL(Healthy);
  Capture *capture = findCapture(stream);
  if (!capture)
    return work();
  if (capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  ++capture->streams[stream].work;
  capture->graph->add(kind, std::move(work));
  return CUDA_SUCCESS;
}

/// CU_STREAM_CAPTURE_MODE_GLOBAL, ..._THREAD_LOCAL or ..._RELAXED.
static thread_local int threadMode = 0;

CUresult fa4::driver::checkUnsafeCall(const char *name) {
  for (const auto &capture : Driver::get().captures) {
    bool isOwn = capture->thread == std::this_thread::get_id();
    bool isForbidden = isOwn ? capture->mode <= 1 && threadMode <= 1
                             : capture->mode == 0 && threadMode == 0;
    if (!isForbidden)
      continue;
    capture->isInvalid = true;
    return Driver::get().fail(
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        std::string(name) +
            ": a stream is being captured in a mode that forbids the call");
  }
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamBeginCapture(CUstream stream, int mode) {
  FA4_CALL(Healthy);
  if (!call->isStream(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  // The legacy default stream cannot be captured.
  if (reinterpret_cast<uintptr_t>(stream) <= 1)
    return call->fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                      "cuStreamBeginCapture: the legacy default stream cannot "
                      "be captured");
  if (findCapture(stream))
    return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_unique<Capture>();
  capture->graph = new Graph;
  call->graphs.insert(capture->graph);
  capture->origin = stream;
  capture->id = ++call->captureCount;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams[stream];
  call->captures.push_back(std::move(capture));
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuStreamBeginCapture_v2, cuStreamBeginCapture);

FA4_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  FA4_CALL(Context);
  Capture *capture = findCapture(stream);
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream)
    return call->fail(
        CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        "cuStreamEndCapture: the capture began in another stream");
  CUresult error =
      capture->isInvalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  for (const auto &[handle, part] : capture->streams)
    if (!error && handle != stream && part.joined < part.work)
      error = call->fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                         "cuStreamEndCapture: nothing waits for the work of "
                         "another stream that was captured, too");
  Graph *made = capture->graph;
  llvm::erase_if(call->captures,
                 [&](const auto &c) { return c.get() == capture; });
  if (error) {
    call->graphs.erase(made);
    delete made;
    made = nullptr;
  }
  *graph = reinterpret_cast<CUgraph>(made);
  return error;
}

/// CUstreamCaptureStatus.
static int captureStatus(const Capture *capture) {
  return !capture ? 0 : capture->isInvalid ? 2 : 1;
}

FA4_API CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  FA4_CALL(Context);
  if (!call->isStream(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  *status = captureStatus(findCapture(stream));
  return CUDA_SUCCESS;
}

/// What the next node depends on is not kept: `count` is 0.
FA4_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status,
                                           uint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies,
                                           const void **edges, size_t *count) {
  FA4_CALL(Context);
  if (!call->isStream(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  Capture *capture = findCapture(stream);
  *status = captureStatus(capture);
  if (!capture)
    return CUDA_SUCCESS;
  if (id)
    *id = capture->id;
  if (graph)
    *graph = reinterpret_cast<CUgraph>(capture->graph);
  if (dependencies)
    *dependencies = nullptr;
  if (edges)
    *edges = nullptr;
  if (count)
    *count = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status,
                                           uint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies,
                                           size_t *count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies,
                                   nullptr, count);
}

FA4_API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(threadMode, *mode);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// User objects
//===----------------------------------------------------------------------===//

static CUresult findObject(Driver &driver, UserObject *handle,
                           std::shared_ptr<UserObject> &object) {
  auto known = driver.userObjects.find(handle);
  if (known == driver.userObjects.end())
    return CUDA_ERROR_INVALID_VALUE;
  object = known->second;
  return CUDA_SUCCESS;
}

/// Gives up references of the program, which keeps the object while it has one.
static CUresult dropReferences(Driver &driver, UserObject &object,
                               unsigned count) {
  if (count > object.references)
    return CUDA_ERROR_INVALID_VALUE;
  object.references -= count;
  if (!object.references)
    driver.userObjects.erase(&object);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuUserObjectCreate(UserObject **handle, void *data,
                                    void (*destroy)(void *), unsigned count,
                                    unsigned flags) {
  FA4_CALL(Context);
  // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC is the only flag, and has to be given.
  if (!destroy || !count || flags != 1)
    return CUDA_ERROR_INVALID_VALUE;
  auto object = std::make_shared<UserObject>();
  object->data = data;
  object->destroy = destroy;
  object->references = count;
  *handle = object.get();
  call->userObjects[object.get()] = std::move(object);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuUserObjectRetain(UserObject *handle, unsigned count) {
  FA4_CALL(Context);
  std::shared_ptr<UserObject> object;
  if (CUresult error = findObject(Driver::get(), handle, object))
    return error;
  object->references += count;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuUserObjectRelease(UserObject *handle, unsigned count) {
  FA4_CALL(Context);
  std::shared_ptr<UserObject> object;
  if (CUresult error = findObject(Driver::get(), handle, object))
    return error;
  return dropReferences(Driver::get(), *object, count);
}

FA4_API CUresult cuGraphRetainUserObject(CUgraph graph, UserObject *handle,
                                         unsigned count, unsigned flags) {
  FA4_GRAPH_CALL(graph);
  std::shared_ptr<UserObject> object;
  if (CUresult error = findObject(Driver::get(), handle, object))
    return error;
  graphOf(graph)->objects.insert(graphOf(graph)->objects.end(), count, object);
  // CU_GRAPH_USER_OBJECT_MOVE: the program's references become the graph's.
  return flags & 1 ? dropReferences(Driver::get(), *object, count)
                   : CUDA_SUCCESS;
}
