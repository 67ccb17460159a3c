//===- Shadow.h - the last accesses of every word ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_CHECK_SHADOW_H
#define FA4_LIB_SIMULATOR_CHECK_SHADOW_H

#include "llvm/ADT/DenseMap.h"
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace fa4::sim {

/// An access: its time stamp and its site. Component 0 stands for no access.
struct Stamp {
  uint32_t component = 0; ///< Cluster (low 16 bits) << 16 | component.
  uint32_t step = 0;
  uint32_t site = 0;
  bool operator==(const Stamp &o) const {
    return component == o.component && step == o.step && site == o.site;
  }
};

/// The last write of a word and the reads since. `reads[0]` may stand for a
/// list: component `listed`, step = its index.
struct Cell {
  static constexpr uint32_t listed = ~0u;
  static constexpr uint32_t split = ~1u; ///< As the write: bytes differ.
  Stamp write, read;
  /// The value that a generic write has stored. Writing the same value again is
  /// no race.
  uint32_t value = 0;
};

/// The cells of a range of 4-byte words. The system provides a page when it is
/// first touched.
class Shadow {
public:
  explicit Shadow(size_t words)
      : words(words),
        cells(static_cast<Cell *>(std::calloc(words, sizeof(Cell))),
              std::free) {}
  Cell &operator[](size_t i) { return cells.get()[i]; }
  size_t size() const { return words; }

  /// The four byte cells of a split word.
  std::array<Cell, 4> &bytesOf(size_t word) { return splitWords[word]; }
  void unsplit(size_t word) { splitWords.erase(word); }

  std::vector<Stamp> &list(uint32_t index) { return lists[index]; }
  uint32_t makeList() {
    if (!freeLists.empty()) {
      uint32_t index = freeLists.back();
      freeLists.pop_back();
      return index;
    }
    lists.emplace_back();
    return lists.size() - 1;
  }
  void dropReads(Cell &cell) {
    if (cell.read.component == Cell::listed) {
      lists[cell.read.step].clear();
      freeLists.push_back(cell.read.step);
    }
    cell.read = {};
  }

  std::mutex mutex; ///< For global memory, which clusters share.

private:
  size_t words;
  std::unique_ptr<Cell, void (*)(void *)> cells;
  llvm::DenseMap<size_t, std::array<Cell, 4>> splitWords;
  std::vector<std::vector<Stamp>> lists;
  std::vector<uint32_t> freeLists;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_CHECK_SHADOW_H
