//===- Memory.h - address spaces and global memory -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses. Global addresses are what the launch says. A shared address is
// (cluster CTA rank << 24) | byte offset, in the shared::cta and in the
// shared::cluster window alike, as on hardware; the first 1024 bytes of each
// CTA's window belong to the system. Generic addresses add a window base for
// shared, local and param; the low 32 bits are the address in the window.
// Constant variables live in global memory, at the same address.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_MEMORY_H
#define FA4_SIMULATOR_MACHINE_MEMORY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace fa4::sim {

enum class MemSpace : uint8_t { Generic, Global, Shared, Local, Param, Const };

constexpr uint64_t sharedWindow = 0x0F00'0000'0000'0000ull;
constexpr uint64_t localWindow = 0x0F01'0000'0000'0000ull;
constexpr uint64_t paramWindow = 0x0F02'0000'0000'0000ull;
constexpr uint64_t windowMask = 0xFFFF'FFFF'0000'0000ull;
constexpr uint32_t sharedRankShift = 24;
constexpr uint32_t sharedOffsetMask = (1u << sharedRankShift) - 1;
/// Bytes at the start of each CTA's shared window that no program may touch.
constexpr uint32_t sharedReservedBytes = 1024;

/// One allocation of global memory.
struct Allocation {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint8_t *data = nullptr;
  /// True if the contents are defined when the launch starts: an input, or
  /// zeroed memory.
  bool initialised = true;
  /// True if reductions on the same bytes must be in an order that
  /// synchronisation enforces.
  bool ordered = false;
  /// Dense index in GlobalMemory::allocations(), by ascending address.
  uint32_t index = 0;
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };
  /// The system provides a page when it is first touched.
  std::unique_ptr<uint8_t[], Free> storage;

  /// Says that the contents are not defined, and that nothing has written them.
  void undefine();
  /// Of an allocation that is not initialised: whether a launch that was
  /// checked has written (a part of) the word at `offset`.
  bool isWritten(uint64_t offset) const {
    return written[offset / 32] >> (offset / 4 % 8) & 1;
  }
  /// The caller has to hold a lock: words share a byte.
  void setWritten(uint64_t offset) const {
    written[offset / 32] |= uint8_t(1 << (offset / 4 % 8));
  }

private:
  /// A bit for each word, if the allocation is not initialised.
  std::unique_ptr<uint8_t[], Free> written;
};

/// Global memory: allocations at virtual addresses. Not changed during a
/// launch; contents are shared by all worker threads.
class GlobalMemory {
public:
  /// Zeroed memory of `bytes` at `address` (0: anywhere free, aligned to 256).
  /// Fails on overlap with another allocation or a window.
  /// `contents`, if given, is memory of the caller that holds the bytes instead
  /// of memory made here; it must live until `release`, and be aligned as
  /// `address` is, up to 64 bytes.
  llvm::Expected<Allocation *> allocate(llvm::StringRef name, uint64_t bytes,
                                        uint64_t address = 0,
                                        uint8_t *contents = nullptr);
  /// Removes the allocation that begins at `address`; false if there is none.
  /// An address that was chosen here is not given out again, so that an access
  /// to released memory stays visible.
  bool release(uint64_t address);

  /// Returns the host pointer to [address, address + bytes), or null if no
  /// single allocation holds all of it. Thread-safe while nothing allocates.
  uint8_t *resolve(uint64_t address, uint64_t bytes) const {
    const Allocation *a = find(address);
    if (!a || address - a->address + bytes > a->bytes)
      return nullptr;
    return a->data + (address - a->address);
  }
  /// Returns the allocation that holds this byte, or null.
  const Allocation *find(uint64_t address) const;
  /// Describes an address: "k + 0x20", or "0x7000..., 16 bytes past the end of
  /// k".
  std::string describe(uint64_t address) const;

  const std::vector<std::unique_ptr<Allocation>> &allocations() const {
    return list;
  }
  Allocation *byName(llvm::StringRef name);

private:
  /// An address, aligned to 256, with room for `bytes`, and a gap on both
  /// sides.
  uint64_t findPlace(uint64_t bytes);
  void number(); ///< Gives each allocation its index.
  std::vector<std::unique_ptr<Allocation>> list;
  uint64_t nextFree = 0x2'0000'0000ull;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_MEMORY_H
