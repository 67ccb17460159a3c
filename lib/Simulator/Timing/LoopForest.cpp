//===- LoopForest.cpp - the loops of a list of instructions ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopForest.h"
#include "llvm/ADT/STLExtras.h"

using namespace fa4::sim;

namespace {

using Edges = llvm::ArrayRef<llvm::SmallVector<unsigned, 2>>;

/// Tarjan's algorithm on some nodes of a graph, without recursion: functions
/// have thousands of instructions in a row.
class Components {
public:
  /// `part[n]` is `id` for the nodes that count. Edges to `header` do not.
  Components(Edges edges, llvm::ArrayRef<int> part, int id, int header)
      : edges(edges), part(part), id(id), header(header) {}

  std::vector<std::vector<unsigned>> find(llvm::ArrayRef<unsigned> nodes) {
    index.assign(edges.size(), 0);
    low.assign(edges.size(), 0);
    onStack.assign(edges.size(), false);
    for (unsigned node : nodes)
      if (!index[node])
        walk(node);
    return std::move(found);
  }

private:
  void enter(unsigned node) {
    index[node] = low[node] = ++count;
    stack.push_back(node);
    onStack[node] = true;
    work.push_back({node, 0});
  }

  void walk(unsigned root) {
    enter(root);
    while (!work.empty()) {
      auto [node, next] = work.back();
      if (next < edges[node].size()) {
        work.back().second++;
        unsigned to = edges[node][next];
        if (part[to] != id || int(to) == header)
          continue;
        if (!index[to])
          enter(to);
        else if (onStack[to])
          low[node] = std::min(low[node], index[to]);
        continue;
      }
      work.pop_back();
      if (!work.empty())
        low[work.back().first] = std::min(low[work.back().first], low[node]);
      if (low[node] == index[node])
        take(node);
    }
  }

  void take(unsigned node) {
    std::vector<unsigned> component;
    unsigned member;
    do {
      member = stack.back();
      stack.pop_back();
      onStack[member] = false;
      component.push_back(member);
    } while (member != node);
    bool repeats =
        component.size() > 1 ||
        (int(node) != header && llvm::is_contained(edges[node], node));
    if (!repeats)
      return;
    llvm::sort(component);
    found.push_back(std::move(component));
  }

  Edges edges;
  llvm::ArrayRef<int> part;
  int id, header;
  unsigned count = 0;
  std::vector<unsigned> index, low, stack;
  std::vector<bool> onStack;
  std::vector<std::pair<unsigned, unsigned>> work;
  std::vector<std::vector<unsigned>> found;
};

} // namespace

std::vector<llvm::SmallVector<unsigned, 2>>
fa4::sim::findSuccessors(const Program &program, uint32_t first, uint32_t end) {
  std::vector<llvm::SmallVector<unsigned, 2>> successors(end - first);
  for (uint32_t pc = first; pc < end; ++pc)
    for (uint32_t to : program.successorsOf(pc))
      if (to >= first && to < end)
        successors[pc - first].push_back(to - first);
  return successors;
}

LoopForest fa4::sim::findLoops(Edges successors) {
  LoopForest forest;
  forest.innermost.assign(successors.size(), -1);
  std::vector<unsigned> all(successors.size());
  for (unsigned i = 0; i < all.size(); i++)
    all[i] = i;
  // Loop -1 is the whole function, without a header.
  for (int around = -1; around < int(forest.loops.size()); around++) {
    llvm::ArrayRef<unsigned> nodes =
        llvm::ArrayRef(around == -1 ? all : forest.loops[around].nodes);
    int header = -1;
    if (around != -1) {
      // The first node that is entered from elsewhere.
      std::vector<bool> entered(successors.size());
      for (unsigned node : all)
        if (!forest.contains(around, forest.innermost[node]))
          for (unsigned to : successors[node])
            entered[to] = true;
      auto it = llvm::find_if(nodes, [&](unsigned n) { return entered[n]; });
      header = it == nodes.end() ? nodes.front() : *it;
    }
    Components components(successors, forest.innermost, around, header);
    for (std::vector<unsigned> &component : components.find(nodes)) {
      for (unsigned node : component)
        forest.innermost[node] = forest.loops.size();
      forest.loops.push_back({around, std::move(component)});
    }
  }
  return forest;
}
