//===- Memory.cpp - global memory -----------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/Memory.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace fa4::sim;

void Allocation::undefine() {
  written.reset(static_cast<uint8_t *>(std::calloc(bytes / 32 + 1, 1)));
  // Without memory for the bits, reads of undefined words are not looked for.
  initialised = !written;
}

llvm::Expected<Allocation *> GlobalMemory::allocate(llvm::StringRef name,
                                                    uint64_t bytes,
                                                    uint64_t address,
                                                    uint8_t *contents) {
  if (address == 0)
    address = findPlace(bytes);
  if (bytes > (uint64_t(1) << 40) || address + bytes < address)
    return llvm::createStringError(
        llvm::formatv("'{0}': {1} bytes at {2:x} do not fit", name, bytes,
                      address)
            .str());
  if (address < 4096 || (address + bytes) > (uint64_t(1) << 56))
    return llvm::createStringError(
        llvm::formatv("'{0}': address {1:x} is outside of global memory", name,
                      address)
            .str());
  auto at = std::lower_bound(
      list.begin(), list.end(), address,
      [](const auto &a, uint64_t value) { return a->address < value; });
  const Allocation *clash = nullptr;
  if (at != list.end() &&
      (*at)->address < address + std::max<uint64_t>(bytes, 1))
    clash = at->get();
  if (at != list.begin() &&
      (*std::prev(at))->address + (*std::prev(at))->bytes > address)
    clash = std::prev(at)->get();
  if (clash)
    return llvm::createStringError(
        llvm::formatv("'{0}' at {1:x} overlaps '{2}' at {3:x}", name, address,
                      clash->name, clash->address)
            .str());
  auto allocation = std::make_unique<Allocation>();
  allocation->name = name.str();
  allocation->address = address;
  allocation->bytes = bytes;
  allocation->data = contents;
  if (!contents) {
    // 64 bytes of slack, to align the data as the device address is aligned.
    allocation->storage.reset(
        static_cast<uint8_t *>(std::calloc(bytes + 320, 1)));
    if (!allocation->storage)
      return llvm::createStringError(
          llvm::formatv("'{0}': no memory for {1} bytes", name, bytes).str());
    uintptr_t raw = reinterpret_cast<uintptr_t>(allocation->storage.get());
    uintptr_t aligned = (raw + 255) / 256 * 256 + address % 64;
    allocation->data = reinterpret_cast<uint8_t *>(aligned);
  }
  Allocation *result = allocation.get();
  list.insert(at, std::move(allocation));
  number();
  return result;
}

uint64_t GlobalMemory::findPlace(uint64_t bytes) {
  // A gap between allocations makes an access beyond the end of one of them
  // visible.
  constexpr uint64_t gap = 4096;
  uint64_t rounded = (bytes + 255) / 256 * 256;
  // Allocations that were given their addresses may stand in the way.
  for (const auto &other : list)
    if (other->address < nextFree + rounded + gap &&
        other->address + other->bytes + gap > nextFree)
      nextFree = (other->address + other->bytes + 255) / 256 * 256 + gap;
  uint64_t address = nextFree;
  nextFree += rounded + gap;
  return address;
}

bool GlobalMemory::release(uint64_t address) {
  auto at = std::find_if(list.begin(), list.end(),
                         [&](const auto &a) { return a->address == address; });
  if (at == list.end())
    return false;
  list.erase(at);
  number();
  return true;
}

void GlobalMemory::number() {
  for (uint32_t i = 0; i < list.size(); ++i)
    list[i]->index = i;
}

const Allocation *GlobalMemory::find(uint64_t address) const {
  size_t low = 0, high = list.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (list[middle]->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return nullptr;
  const Allocation *a = list[low - 1].get();
  return address - a->address < a->bytes ? a : nullptr;
}

Allocation *GlobalMemory::byName(llvm::StringRef name) {
  for (const auto &a : list)
    if (a->name == name)
      return a.get();
  return nullptr;
}

std::string GlobalMemory::describe(uint64_t address) const {
  if (const Allocation *a = find(address))
    return llvm::formatv("{0} + {1:x}", a->name, address - a->address).str();
  // The nearest allocation in front of the address describes it best.
  const Allocation *before = nullptr;
  for (const auto &a : list)
    if (a->address + a->bytes <= address)
      before = a.get();
  if (before && address - before->address - before->bytes < (1u << 20))
    return llvm::formatv("{0:x}, {1} bytes past the end of {2}", address,
                         address - before->address - before->bytes,
                         before->name)
        .str();
  return llvm::formatv("{0:x}, in no allocation", address).str();
}
