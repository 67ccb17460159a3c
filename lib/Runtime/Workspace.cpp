//===- Workspace.cpp - memory that launches work in -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"
#include <algorithm>

using namespace fa4::runtime;

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

StreamState::StreamState(const Driver &driver, CUstream stream)
    : stream(stream) {
  // The legacy default stream (null, or 1) is never captured, and to ask while
  // another stream is would be an error.
  if (reinterpret_cast<uintptr_t>(stream) <= 1)
    return;
  int status = 0; // CU_STREAM_CAPTURE_STATUS_NONE
  CUresult result = kNotSupported;
  if (driver.streamGetCaptureInfo)
    result = driver.streamGetCaptureInfo(stream, &status, &capture, &graph,
                                         nullptr, nullptr);
  else if (driver.streamGetCaptureInfo3)
    result = driver.streamGetCaptureInfo3(stream, &status, &capture, &graph,
                                          nullptr, nullptr, nullptr);
  if (result != 0 && driver.streamIsCapturing)
    result = driver.streamIsCapturing(stream, &status);
  isCaptured = result == 0 && status != 0;
}

RelaxedCapture::RelaxedCapture(const Driver &driver)
    : driver(driver), mode(2) { // CU_STREAM_CAPTURE_MODE_RELAXED
  if (driver.threadExchangeCaptureMode)
    driver.threadExchangeCaptureMode(&mode);
}

RelaxedCapture::~RelaxedCapture() {
  if (driver.threadExchangeCaptureMode)
    driver.threadExchangeCaptureMode(&mode);
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

WorkspacePool::WorkspacePool(const Driver &driver, CUcontext context)
    : driver(driver), context(context) {}

WorkspacePool::~WorkspacePool() {
  ofStreams.clear();
  try {
    collect();
  } catch (const Failure &) {
    // The context is gone, and with it its memory.
  }
}

std::shared_ptr<WorkspacePool> WorkspacePool::of(const Driver &driver,
                                                 CUcontext context) {
  static std::mutex mutex;
  static std::map<CUcontext, std::weak_ptr<WorkspacePool>> pools;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<WorkspacePool> pool = pools[context].lock();
  if (!pool) {
    pool = std::make_shared<WorkspacePool>(driver, context);
    pools[context] = pool;
  }
  return pool;
}

WorkspaceRef WorkspacePool::allocate(uint64_t bytes) {
  ContextScope scope(driver, context);
  RelaxedCapture relaxed(driver);
  auto made = std::make_unique<Workspace>();
  made->bytes = bytes;
  driver.check(driver.memAlloc(&made->address, bytes),
               "the workspace of " + std::to_string(bytes) + " bytes");
  return WorkspaceRef(made.release(), [list = released](const Workspace *gone) {
    std::lock_guard<std::mutex> lock(list->mutex);
    list->addresses.push_back(gone->address);
    delete gone;
  });
}

void WorkspacePool::collect() {
  std::vector<CUdeviceptr> addresses;
  {
    std::lock_guard<std::mutex> lock(released->mutex);
    addresses.swap(released->addresses);
  }
  if (addresses.empty())
    return;
  ContextScope scope(driver, context);
  RelaxedCapture relaxed(driver);
  for (CUdeviceptr address : addresses)
    driver.memFree(address);
}

WorkspaceRef WorkspacePool::find(const StreamState &state) {
  std::lock_guard<std::mutex> lock(mutex);
  if (state.isCaptured) {
    auto known = ofCaptures.find({state.capture, state.stream});
    return known != ofCaptures.end() && state.capture ? known->second.lock()
                                                      : nullptr;
  }
  auto known =
      std::find_if(ofStreams.begin(), ofStreams.end(),
                   [&](auto &each) { return each.first == state.stream; });
  if (known == ofStreams.end())
    return nullptr;
  ofStreams.splice(ofStreams.begin(), ofStreams, known);
  return known->second;
}

WorkspaceRef WorkspacePool::acquire(const StreamState &state, uint64_t bytes) {
  if (WorkspaceRef known = find(state); known && known->bytes >= bytes)
    return known;
  if (state.isCaptured) {
    WorkspaceRef made = allocate(bytes);
    keepForGraph(state, made);
    std::lock_guard<std::mutex> lock(mutex);
    for (auto it = ofCaptures.begin(); it != ofCaptures.end();)
      it = it->second.expired() ? ofCaptures.erase(it) : std::next(it);
    ofCaptures[{state.capture, state.stream}] = made;
    return made;
  }
  constexpr size_t kMaxStreams = 16;
  {
    // What goes is freed first: there may be no place for both.
    std::lock_guard<std::mutex> lock(mutex);
    ofStreams.remove_if([&](auto &each) { return each.first == state.stream; });
    if (ofStreams.size() >= kMaxStreams)
      ofStreams.pop_back();
  }
  collect();
  WorkspaceRef made = allocate(bytes);
  std::lock_guard<std::mutex> lock(mutex);
  ofStreams.emplace_front(state.stream, made);
  return made;
}

void WorkspacePool::keepForGraph(const StreamState &state,
                                 const WorkspaceRef &workspace) {
  if (state.graph && driver.userObjectCreate && driver.graphRetainUserObject) {
    auto *held = new WorkspaceRef(workspace);
    auto drop = [](void *data) { delete static_cast<WorkspaceRef *>(data); };
    CUuserObject object = nullptr;
    // One reference, which becomes the graph's; the callback does not wait.
    if (driver.userObjectCreate(&object, held, drop, 1, 1) == 0) {
      if (driver.graphRetainUserObject(state.graph, object, 1, 1) == 0)
        return;
      if (driver.userObjectRelease)
        driver.userObjectRelease(object, 1);
    } else {
      delete held;
    }
  }
  new WorkspaceRef(workspace); // Never deleted.
}
