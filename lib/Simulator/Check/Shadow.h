//===- Shadow.h - the last accesses of every place -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_CHECK_SHADOW_H
#define FA4_LIB_SIMULATOR_CHECK_SHADOW_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Compiler.h"
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
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

/// The last write of a place and the reads since. `read` may stand for a list:
/// component `listed`, step = its index. If the write's component is `split`,
/// the parts of the place have different histories, and the rest of it is the
/// address of their cells.
struct Cell {
  static constexpr uint32_t listed = ~0u;
  static constexpr uint32_t split = ~1u;
  Stamp write, read;
  bool isSplit() const { return write.component == split; }
  Cell *parts() const {
    Cell *parts;
    static_assert(sizeof(parts) <= sizeof(write) - offsetof(Stamp, step));
    std::memcpy(&parts, &write.step, sizeof(parts));
    return parts;
  }
  void setParts(Cell *parts) {
    write.component = split;
    std::memcpy(&write.step, &parts, sizeof(parts));
  }
};

/// Reads that nothing orders among themselves, each of another component. All
/// components are of the same cluster.
class ReadList {
public:
  llvm::ArrayRef<Stamp> stamps() const { return list; }
  /// The read of a component, or null.
  Stamp *find(uint32_t component) {
    uint16_t number = component;
    if (number >= places.size() || places[number] == nowhere)
      return nullptr;
    return &list[places[number]];
  }
  void add(const Stamp &stamp) {
    uint16_t number = stamp.component;
    if (number >= places.size())
      places.resize(number + 1 + number / 8, nowhere);
    places[number] = list.size();
    list.push_back(stamp);
  }
  /// Removes the reads for which `f` holds. Of those whom `reader` has asked
  /// for before, with the same knowledge, none is removed, and `f` is not
  /// called again. A `reader` of null has never asked.
  template <typename F>
  void removeIf(const void *reader, uint64_t knowledge, F f) {
    size_t asked = reader && reader == lastReader && knowledge == lastKnowledge
                       ? lastAsked
                       : 0;
    auto left = list.begin() + asked;
    for (auto it = left, e = list.end(); it != e; ++it) {
      places[uint16_t(it->component)] = nowhere;
      if (f(*it))
        continue;
      places[uint16_t(it->component)] = left - list.begin();
      *left++ = *it;
    }
    list.erase(left, list.end());
    lastReader = reader;
    lastKnowledge = knowledge;
    lastAsked = list.size();
  }
  void clear() {
    for (const Stamp &stamp : list)
      places[uint16_t(stamp.component)] = nowhere;
    list.clear();
    lastReader = nullptr;
  }

private:
  static constexpr uint16_t nowhere = ~0;
  std::vector<Stamp> list;
  std::vector<uint16_t> places; ///< In the list, by number of the component.
  /// Who has called removeIf last, and the reads that were left then.
  const void *lastReader = nullptr;
  uint64_t lastKnowledge = 0;
  size_t lastAsked = 0;
};

/// Cells of parts, `Count` of them together.
template <unsigned Count> class CellPool {
public:
  Cell *make() {
    if (!unused.empty())
      return unused.pop_back_val();
    if (left == 0) {
      slabs.push_back(std::make_unique<Cell[]>(Count * perSlab));
      left = perSlab;
    }
    return &slabs.back()[Count * --left];
  }
  void free(Cell *parts) { unused.push_back(parts); }

private:
  static constexpr uint32_t perSlab = 64;
  std::vector<std::unique_ptr<Cell[]>> slabs;
  llvm::SmallVector<Cell *, 0> unused;
  uint32_t left = 0; ///< Of the last slab.
};

/// The cells of a range of memory. Most of it is accessed in wide rows, so that
/// a block of 16 words has one cell as long as all accesses cover all of it;
/// after another one, each of its words has a cell; and a word that is accessed
/// in part has one for each byte. What covers a whole block or word and writes
/// makes it one cell again.
class Shadow {
public:
  static constexpr unsigned wordBytes = 4, blockWords = 16,
                            blockBytes = blockWords * wordBytes;

  explicit Shadow(size_t words)
      : words(words), pages((words + pageWords - 1) / pageWords) {}
  size_t size() const { return words; } ///< In words.

  Cell &block(size_t index) {
    return page(index / pageBlocks).blocks[index % pageBlocks];
  }
  /// The cells of a block's words, and of a word's bytes.
  Cell *wordsOf(Cell &block) {
    return block.isSplit() ? block.parts()
                           : split(block, wordPool.make(), blockWords);
  }
  Cell *bytesOf(Cell &word) {
    return word.isSplit() ? word.parts()
                          : split(word, bytePool.make(), wordBytes);
  }
  /// All words of a block, or all bytes of a word, have been written.
  void mergeWords(Cell &block, const Stamp &write) {
    wordPool.free(block.parts());
    block = {write, {}};
  }
  void mergeBytes(Cell &word, const Stamp &write) {
    bytePool.free(word.parts());
    word = {write, {}};
  }
  /// Whether no word of a range has been written, as a whole or in part.
  bool isUnwritten(size_t firstWord, size_t count) {
    for (size_t word = firstWord; word < firstWord + count; ++word) {
      const Cell &whole = block(word / blockWords);
      const Cell &cell =
          whole.isSplit() ? whole.parts()[word % blockWords] : whole;
      if (cell.write.component)
        return false;
      if (!whole.isSplit())
        word |= blockWords - 1;
    }
    return true;
  }
  /// Forgets what has been accessed in whole blocks.
  void clear(size_t firstWord, size_t count) {
    for (size_t i = 0; i < count / blockWords; ++i) {
      Cell &cell = block(firstWord / blockWords + i);
      if (cell.isSplit()) {
        Cell *parts = wordsOf(cell);
        for (unsigned word = 0; word < blockWords; ++word)
          clearWord(parts[word]);
        mergeWords(cell, {});
      }
      dropReads(cell);
      cell = {};
    }
  }

  /// What generic writes have stored: writing the same value again is no race.
  /// Says nothing about what others have written. The bytes are of one block.
  bool hasStored(size_t byte, size_t bytes, const uint8_t *value) {
    return !std::memcmp(valueOf(byte), value, bytes);
  }
  /// The same of any number of bytes.
  void store(size_t byte, size_t bytes, const uint8_t *value) {
    while (bytes) {
      size_t part = std::min(bytes, blockBytes - byte % blockBytes);
      uint8_t *to = valueOf(byte);
      if (part == wordBytes)
        std::memcpy(to, value, wordBytes);
      else
        std::memcpy(to, value, part);
      byte += part;
      value += part;
      bytes -= part;
    }
  }

  ReadList &list(uint32_t index) { return lists[index]; }
  uint32_t makeList() {
    if (!freeLists.empty())
      return freeLists.pop_back_val();
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

  /// Calls `f(cell, byte)` for the cells of all that may have been accessed,
  /// each with the first byte that it stands for.
  template <typename F> void forEachCell(F f) {
    for (size_t page = 0; page < pages.size(); ++page)
      for (unsigned i = 0; pages[page] && i < pageBlocks; ++i)
        forEachCellOf(pages[page]->blocks[i],
                      (page * pageBlocks + i) * blockBytes, f);
  }

  std::mutex mutex; ///< For global memory, which clusters share.

private:
  static constexpr size_t pageBlocks = 256, pageWords = pageBlocks * blockWords;
  struct Page {
    std::array<Cell, pageBlocks> blocks;
    std::unique_ptr<uint8_t[]> values; ///< Made by the first generic write.
  };
  Page &page(size_t index) {
    auto &page = pages[index];
    if (!page)
      page = std::make_unique<Page>();
    return *page;
  }
  uint8_t *valueOf(size_t byte) {
    constexpr size_t pageBytes = pageBlocks * blockBytes;
    auto &values = page(byte / pageBytes).values;
    if (!values)
      values = std::make_unique<uint8_t[]>(pageBytes);
    return &values[byte % pageBytes];
  }

  /// Gives each part the history of the whole.
  LLVM_ATTRIBUTE_NOINLINE Cell *split(Cell &whole, Cell *parts,
                                      unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      parts[i] = whole;
      if (whole.read.component == Cell::listed) {
        uint32_t own = makeList();
        lists[own] = lists[whole.read.step];
        parts[i].read.step = own;
      }
    }
    dropReads(whole);
    whole.setParts(parts);
    return parts;
  }
  void clearWord(Cell &word) {
    if (word.isSplit()) {
      Cell *parts = bytesOf(word);
      for (unsigned byte = 0; byte < wordBytes; ++byte)
        dropReads(parts[byte]);
      mergeBytes(word, {});
    }
    dropReads(word);
  }
  template <typename F> void forEachCellOf(Cell &block, size_t byte, F f) {
    if (!block.isSplit())
      return f(block, byte);
    Cell *parts = wordsOf(block);
    for (unsigned word = 0; word < blockWords; ++word, byte += wordBytes) {
      if (!parts[word].isSplit()) {
        f(parts[word], byte);
        continue;
      }
      Cell *bytes = bytesOf(parts[word]);
      for (unsigned b = 0; b < wordBytes; ++b)
        f(bytes[b], byte + b);
    }
  }

  size_t words;
  std::vector<std::unique_ptr<Page>> pages; ///< Made when first touched.
  CellPool<blockWords> wordPool;
  CellPool<wordBytes> bytePool;
  std::deque<ReadList> lists;
  llvm::SmallVector<uint32_t, 0> freeLists;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_CHECK_SHADOW_H
