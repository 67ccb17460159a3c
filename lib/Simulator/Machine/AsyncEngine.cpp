//===- AsyncEngine.cpp - asynchronous operations --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/Async.h"
#include "fa4/Simulator/Machine/State.h"
#include "llvm/Support/ErrorHandling.h"

using namespace fa4::sim;

void AsyncEngine::issue(std::unique_ptr<AsyncOp> op, uint32_t queue) {
  ++issued;
  ++outstanding;
  if (LLVM_UNLIKELY(timer))
    timer->asyncIssued(*op, queue);
  if (queue != unordered)
    for (Queue &q : queues)
      if (q.id == queue) {
        q.ops.push_back(std::move(op));
        return;
      }
  queues.push_back({queue, issued, {}});
  queues.back().ops.push_back(std::move(op));
}

unsigned AsyncEngine::choose(Cluster &cluster, Random &random) {
  unsigned count = queues.size(), first = random.below(count), copy = count;
  for (unsigned i = 0; i < count; ++i) {
    unsigned at = first + i < count ? first + i : first + i - count;
    if (!queues[at].ops.front()->ready(cluster))
      continue;
    if (!copiesLast || queues[at].id != unordered)
      return at;
    if (copy == count || queues[at].number < queues[copy].number)
      copy = at;
  }
  return copy;
}

bool AsyncEngine::runOne(Cluster &cluster, Random &random) {
  if (queues.empty())
    return false;
  unsigned at = choose(cluster, random);
  if (at == queues.size())
    return false;
  stepQueue(at, cluster, random);
  return true;
}

bool AsyncEngine::perform(AsyncOp &op, Cluster &cluster, Random &random) {
  for (unsigned at = 0; at < queues.size(); ++at)
    if (queues[at].ops.front().get() == &op)
      return stepQueue(at, cluster, random);
  llvm_unreachable("an operation is performed before others of its queue");
}

bool AsyncEngine::stepQueue(unsigned at, Cluster &cluster, Random &random) {
  bool done = queues[at].ops.front()->step(cluster, random);
  cluster.advance();
  if (!done)
    return false;
  // The operation may have issued others, so the list may have grown.
  Queue &queue = queues[at];
  queue.ops.pop_front();
  --outstanding;
  if (queue.ops.empty()) {
    std::swap(queue, queues.back());
    queues.pop_back();
  }
  return true;
}
