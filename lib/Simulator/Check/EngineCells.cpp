//===- EngineCells.cpp - accesses against the last ones of each place -----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is found, and the place that a report names, is as if each byte had a
// cell of its own, and they were looked at one after the other. A cell of
// several bytes, whose histories are the same, is looked at once if nothing is
// to be reported about it. Otherwise it is split first.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "llvm/ADT/STLExtras.h"

using namespace fa4::sim;

/// An address as reports want it.
static uint64_t addressOf(const Access &access, uint64_t base, size_t byte) {
  if (access.space != tensorSpace)
    return base + byte;
  size_t word = byte / Shadow::wordBytes;
  return uint64_t(word / tensorColumns) << 16 | word % tensorColumns;
}

inline void Engine::addRead(Access &access, Shadow &shadow, Cell &cell) {
  Stamp &read = cell.read;
  // In global memory only one read is kept in any case.
  if (access.space == MemSpace::Global || read.component == 0 ||
      read.component == access.stamp.component)
    read = access.stamp;
  else
    addFurtherRead(access, shadow, read);
}

void Engine::addFurtherRead(Access &access, Shadow &shadow, Stamp &read) {
  if (read.component == Cell::listed) {
    ReadList &list = shadow.list(read.step);
    if (Stamp *known = list.find(access.stamp.component)) {
      *known = access.stamp;
      return;
    }
    constexpr size_t many = 64;
    if (list.stamps().size() > many) {
      // Threads of a warp that know the same have the same reads before them.
      const WarpState &state = *access.warp;
      const Clock &known = state.common.happened;
      if (access.stamp.component == full(threadOf(state, access.lane)) &&
          !state.own[access.lane] && state.steps[access.lane].empty())
        list.removeIf(&state, state.version, [&](const Stamp &s) {
          return known.get(uint16_t(s.component)) >= s.step;
        });
      else
        list.removeIf(nullptr, 0,
                      [&](const Stamp &s) { return isOrdered(access, s); });
    }
    list.add(access.stamp);
    return;
  }
  // Of reads that are ordered one after the other, only the last one is kept.
  if (isOrdered(access, read)) {
    read = access.stamp;
    return;
  }
  uint32_t index = shadow.makeList();
  shadow.list(index).add(read);
  shadow.list(index).add(access.stamp);
  read = {Cell::listed, index, 0};
}

/// `inOrder` has an entry for the last write, and others for the reads since.
static unsigned slotOfRead(const Access &access, size_t place) {
  return 1 + place % (access.inOrder.size() - 1);
}

bool Engine::isQuiet(Access &access, Shadow &shadow, const Cell &cell) {
  if (cell.write.component) {
    if (!isQuietAfter(access, cell.write, 0))
      return false;
  } else if (readsUnwritten(access)) {
    return false;
  }
  if (!access.writes())
    return true;
  if (!unwritten.empty())
    return false;
  if (cell.read.component != Cell::listed)
    return !cell.read.component || isQuietAfter(access, cell.read, 1);
  return llvm::all_of(llvm::enumerate(shadow.list(cell.read.step).stamps()),
                      [&](const auto &read) {
                        return isQuietAfter(access, read.value(),
                                            slotOfRead(access, read.index()));
                      });
}

inline void Engine::cell(Access &access, Cell &cell, const Place &place) {
  if (cell.write.component)
    against(access, cell.write, 0, place, &cell);
  else if (readsUnwritten(access))
    readUnwritten(access, place.address);
  if (!access.writes())
    return addRead(access, place.shadow, cell);
  if (!unwritten.empty())
    writeAfterRead(access, place.address);
  if (cell.read.component == Cell::listed) {
    for (const auto &[index, stamp] :
         llvm::enumerate(place.shadow.list(cell.read.step).stamps()))
      against(access, stamp, slotOfRead(access, index), place);
  } else if (cell.read.component) {
    against(access, cell.read, 1, place);
  }
  place.shadow.dropReads(cell);
  cell.write = access.stamp;
}

/// Bytes of a block that has a cell for each word.
void Engine::words(Access &access, Shadow &shadow, Cell *words, size_t byte,
                   size_t end, uint64_t base) {
  constexpr unsigned wordBytes = Shadow::wordBytes;
  while (byte < end) {
    size_t next = std::min(end, (byte / wordBytes + 1) * wordBytes);
    Cell &word = words[byte / wordBytes % Shadow::blockWords];
    bool isWhole = next - byte == wordBytes;
    if (isWhole && !word.isSplit()) {
      cell(access, word,
           {shadow, byte, wordBytes, addressOf(access, base, byte)});
      byte = next;
      continue;
    }
    Cell *bytes = shadow.bytesOf(word);
    for (; byte < next; ++byte)
      cell(access, bytes[byte % wordBytes],
           {shadow, byte, 1, addressOf(access, base, byte)});
    if (isWhole && access.writes())
      shadow.mergeBytes(word, access.stamp);
  }
}

/// Reads, one after the other, the cells of `count` words or bytes.
inline bool Engine::readCells(Access &access, Shadow &shadow, Cell *cells,
                              size_t count) {
  for (Cell *cell = cells; cell != cells + count; ++cell) {
    if (cell->isSplit() ||
        (cell->write.component ? !isQuietAfter(access, cell->write, 0)
                               : readsUnwritten(access)))
      return false;
    addRead(access, shadow, *cell);
  }
  return true;
}

bool Engine::readQuietly(Access &access, Shadow &shadow, size_t byte,
                         size_t bytes) {
  constexpr unsigned wordBytes = Shadow::wordBytes;
  Cell &block = shadow.block(byte / Shadow::blockBytes);
  size_t inBlock = byte % Shadow::blockBytes;
  if (!block.isSplit() || inBlock + bytes > Shadow::blockBytes)
    return false;
  Cell &first = block.parts()[inBlock / wordBytes];
  if ((inBlock | bytes) % wordBytes == 0)
    return readCells(access, shadow, &first, bytes / wordBytes);
  size_t inWord = inBlock % wordBytes;
  return first.isSplit() && inWord + bytes <= wordBytes &&
         readCells(access, shadow, first.parts() + inWord, bytes);
}

/// Whether all of the lanes know the same, and nothing that a lane alone knows.
static bool knowOnlyCommon(const WarpState &state, LaneMask mask) {
  bool isCommon = true;
  forEachLane(mask, [&](unsigned l) {
    isCommon &= !state.own[l] && state.steps[l].empty();
  });
  return isCommon;
}

bool Engine::readTogether(Access &access, Shadow &shadow, size_t byte,
                          size_t bytes, LaneMask mask) {
  constexpr unsigned wordBytes = Shadow::wordBytes;
  WarpState &state = *access.warp;
  Cell &block = shadow.block(byte / Shadow::blockBytes);
  size_t inBlock = byte % Shadow::blockBytes;
  if (!block.isSplit() || inBlock + bytes > Shadow::blockBytes ||
      (inBlock | bytes) % wordBytes || !knowOnlyCommon(state, mask))
    return false;
  Cell *first = block.parts() + inBlock / wordBytes;
  Cell *end = first + bytes / wordBytes;
  uint32_t own = full(state.firstThread);
  access.lane = __builtin_ctz(mask);
  for (Cell *cell = first; cell != end; ++cell) {
    const Stamp &write = cell->write;
    // What a lane has done itself is in order for it alone.
    bool isOwn = write.component - own < warpSize;
    if (cell->isSplit() ||
        (write.component == 0 ? readsUnwritten(access)
         : isOwn
             ? state.common.happened.get(uint16_t(write.component)) < write.step
             : !isQuietAfter(access, write, 0)))
      return false;
  }
  for (Cell *cell = first; cell != end; ++cell)
    forEachLane(mask, [&](unsigned l) {
      access.lane = l;
      access.stamp.component = own + l;
      access.stamp.step = state.step[l];
      addRead(access, shadow, *cell);
    });
  return true;
}

void Engine::cells(Access &access, Shadow &shadow, size_t byte, size_t bytes,
                   uint64_t base) {
  size_t end = byte + bytes;
  for (size_t from = byte, next; from < end; from = next) {
    size_t index = from / Shadow::blockBytes;
    next = std::min(end, (index + 1) * Shadow::blockBytes);
    Cell &block = shadow.block(index);
    bool isWhole = next - from == Shadow::blockBytes;
    if (isWhole && !block.isSplit() && isQuiet(access, shadow, block)) {
      if (access.writes()) {
        shadow.dropReads(block);
        block.write = access.stamp;
      } else {
        addRead(access, shadow, block);
      }
      continue;
    }
    words(access, shadow, shadow.wordsOf(block), from, next, base);
    if (isWhole && access.writes())
      shadow.mergeWords(block, access.stamp);
  }
  if (access.host)
    shadow.store(byte, bytes, access.host + byte);
}
