//===- PostOrder.h - a graph's nodes, each after what it needs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_POSTORDER_H
#define FA4_SUPPORT_POSTORDER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace fa4 {

/// Calls `visit` for `root` and for all nodes that it depends on, directly or
/// not: a node after its dependencies, and the dependencies in the order in
/// which `dependencies` lists them. That is the order of a recursion, but a
/// chain of a hundred thousand nodes needs no stack.
///
/// `isDone` says whether a node needs no visit (any more), and must hold for a
/// node after its visit: a node that several others depend on is then visited
/// once, which is what keeps the time linear. The graph must have no cycle.
template <typename Node>
void visitPostOrder(
    Node root, llvm::function_ref<bool(const Node &)> isDone,
    llvm::function_ref<void(const Node &, llvm::SmallVectorImpl<Node> &)>
        dependencies,
    llvm::function_ref<void(const Node &)> visit) {
  struct Entry {
    Node node;
    /// Dependencies that have not been looked at, the next one last.
    llvm::SmallVector<Node, 3> waiting;
  };
  if (isDone(root))
    return;
  llvm::SmallVector<Entry, 8> stack;
  auto push = [&](const Node &node) {
    Entry entry{node, {}};
    dependencies(node, entry.waiting);
    std::reverse(entry.waiting.begin(), entry.waiting.end());
    stack.push_back(std::move(entry));
  };
  push(root);
  while (!stack.empty()) {
    if (stack.back().waiting.empty()) {
      if (!isDone(stack.back().node))
        visit(stack.back().node);
      stack.pop_back();
      continue;
    }
    Node next = stack.back().waiting.pop_back_val();
    if (!isDone(next))
      push(next);
  }
}

} // namespace fa4

#endif // FA4_SUPPORT_POSTORDER_H
