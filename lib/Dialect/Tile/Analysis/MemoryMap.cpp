//===- MemoryMap.cpp - where the channels of a kernel live ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace fa4::tile;

int64_t fa4::tile::getSmemAlignment(VectorType type) {
  return type.getRank() == 2 ? 1024 : 128;
}

int64_t fa4::tile::getSmemBytes(VectorType type) {
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return llvm::alignTo(llvm::divideCeil(bits, 8), getSmemAlignment(type));
}

int64_t fa4::tile::getTmemColumns(VectorType type) {
  int64_t bits = type.getShape().back() * type.getElementTypeBitWidth();
  return llvm::divideCeil(bits, 32);
}

int64_t fa4::tile::getBarrierCount(KernelOp kernel) {
  int64_t count = 0;
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    for (std::optional<uint64_t> first :
         {channel.getFull(), channel.getEmpty()})
      if (first)
        count = std::max<int64_t>(count, *first + channel.getStages());
  return count;
}

int64_t fa4::tile::getBarrierOffset(KernelOp kernel) {
  return getTmemAddressOffset(kernel) - kBarrierBytes * getBarrierCount(kernel);
}

int64_t fa4::tile::getTmemAddressOffset(KernelOp kernel) {
  return kernel.getSmemBytes().value_or(0) -
         (kernel.getTmemColumns().value_or(0) ? kTmemAddressBytes : 0);
}

static void printSpace(KernelOp kernel, MemorySpace space, raw_ostream &os) {
  // By offset, and where that is shared in the order of definition.
  std::multimap<int64_t, ChannelOp> channels;
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    if (channel.getSpace() == space && channel.getOffset())
      channels.emplace(*channel.getOffset(), channel);
  constexpr const char *line = "  {0,7} {1,7}  {2,-10} {3,6} x {4,-6} {5}\n";
  os << llvm::formatv(line, "from", "to", "channel", "stages", "size", "");
  for (auto [from, channel] : channels) {
    int64_t size = space == MemorySpace::smem
                       ? getSmemBytes(channel.getValueType())
                       : getTmemColumns(channel.getValueType());
    std::string where;
    if (channel.getInPlaceOf())
      where = ("in place of " +
               channel.getInPlaceOf().getDefiningOp<ChannelOp>().getLabel())
                  .str();
    os << llvm::formatv(line, from,
                        from + static_cast<int64_t>(channel.getStages()) * size,
                        channel.getLabel(), channel.getStages(), size, where);
  }
}

void fa4::tile::printMemoryMap(KernelOp kernel, raw_ostream &os) {
  int64_t tmemColumns = kernel.getTmemColumns().value_or(0);
  os << llvm::formatv("@{0}: shared memory, {1} bytes\n", kernel.getSymName(),
                      kernel.getSmemBytes().value_or(0));
  printSpace(kernel, MemorySpace::smem, os);
  int64_t barriers = getBarrierOffset(kernel);
  os << llvm::formatv("  {0,7} {1,7}  {2} mbarriers\n", barriers,
                      getTmemAddressOffset(kernel), getBarrierCount(kernel));
  if (!tmemColumns)
    return;
  os << llvm::formatv("  {0,7} {1,7}  address of tensor memory\n",
                      getTmemAddressOffset(kernel), *kernel.getSmemBytes());
  os << llvm::formatv("@{0}: tensor memory, {1} columns\n", kernel.getSymName(),
                      tmemColumns);
  printSpace(kernel, MemorySpace::tmem, os);
}
