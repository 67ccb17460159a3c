//===- LoopForest.h - the loops of a list of instructions ------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMING_LOOPFOREST_H
#define FA4_LIB_SIMULATOR_TIMING_LOOPFOREST_H

#include "fa4/Simulator/Machine/Program.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace fa4::sim {

/// The loops of a control-flow graph whose nodes are instructions. A loop is a
/// strongly connected component; the loops within it are those that remain when
/// the edges to its header are taken away.
struct LoopForest {
  struct Loop {
    int parent = -1;             ///< The loop around it, or -1.
    std::vector<unsigned> nodes; ///< With those of the loops within it.
  };

  /// A loop comes behind those around it.
  std::vector<Loop> loops;
  /// Of each node, the innermost loop, or -1.
  std::vector<int> innermost;

  bool contains(int outer, int inner) const {
    while (inner != -1 && inner != outer)
      inner = loops[inner].parent;
    return inner == outer;
  }
};

/// Returns the instructions that may follow each of the instructions `first` to
/// `end` of a program, as far as they are among these, counted from `first`.
/// Calls are taken to return.
std::vector<llvm::SmallVector<unsigned, 2>>
findSuccessors(const Program &program, uint32_t first, uint32_t end);

/// `successors[i]` are the nodes that may follow node i.
LoopForest findLoops(llvm::ArrayRef<llvm::SmallVector<unsigned, 2>> successors);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMING_LOOPFOREST_H
