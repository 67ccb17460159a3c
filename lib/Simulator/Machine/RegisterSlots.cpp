//===- RegisterSlots.cpp - places of registers in a warp's file -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register has its place from the first to the last instruction, in the order
// of the program, at which its value may be needed: the hull of all paths from
// its definitions to its uses (liveness), so that the order in which lanes of a
// warp go through branches does not matter. Where an asynchronous operation
// writes or reads a register, that lasts until the operation is waited for.
//
//===----------------------------------------------------------------------===//

#include "RegisterSlots.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <queue>

using namespace fa4::sim;

namespace {

/// A register: its place among the operands, its size there, and the
/// instructions between which its value may be needed.
struct Register {
  uint32_t offset, bytes;
  uint32_t first = ~0u, last = 0;
  bool isReused = true; ///< Otherwise it has its place for itself.
  void cover(uint32_t pc) {
    first = std::min(first, pc);
    last = std::max(last, pc);
  }
};

/// A straight stretch of instructions.
struct Block {
  uint32_t begin, end;
  llvm::SmallVector<uint32_t, 2> successors;
  llvm::BitVector exposed, defined; ///< Used before any definition; defined.
  llvm::BitVector liveIn, liveOut;
};

class RegisterFile {
public:
  RegisterFile(Program &program, uint32_t firstShared)
      : program(program), firstShared(firstShared) {}
  /// Returns false if the program is one whose registers are not followed.
  bool findRegisters();
  /// Returns false if that would take too much memory.
  bool findRanges();
  /// Gives each register its place; returns the size of the file.
  uint32_t place();

private:
  /// (A predicate behind them is one that nobody reads.)
  bool isRegister(const Operand &op) const {
    return op.bank == 0 && (op.width != 0 || op.offset >= firstShared);
  }
  unsigned idOf(const Operand &op) const { return ids.lookup(op.offset); }
  template <typename F> void forEachUse(const Inst &inst, F f) const {
    for (const Operand &op :
         program.operandsOf(inst).drop_front(inst.numResults))
      if (isRegister(op))
        f(idOf(op));
  }
  template <typename F> void forEachResult(const Inst &inst, F f) const {
    for (const Operand &op :
         program.operandsOf(inst).take_front(inst.numResults))
      if (isRegister(op))
        f(idOf(op));
  }
  void findBlocks();
  bool findLiveness();
  void coverBlock(const Block &block);
  void keepUntilWait(const Block &block, uint32_t pc);

  Program &program;
  uint32_t firstShared;
  std::vector<Register> registers;
  llvm::DenseMap<uint32_t, unsigned> ids; ///< By offset.
  std::vector<Block> blocks;
};

} // namespace

bool RegisterFile::findRegisters() {
  for (const Inst &inst : program.insts) {
    // Calls copy registers from one function to another.
    if (inst.root() == "call")
      return false;
    for (const Operand &op : program.operandsOf(inst)) {
      if (!isRegister(op))
        continue;
      if (op.offset < firstShared)
        return false;
      auto [it, isNew] = ids.try_emplace(op.offset, registers.size());
      uint32_t bytes = std::max<uint32_t>(op.width, 4) * warpSize;
      if (isNew)
        registers.push_back({op.offset, bytes});
      Register &known = registers[it->second];
      known.bytes = std::max(known.bytes, bytes);
    }
  }
  // No operand is a part of another one's register.
  std::vector<const Register *> sorted;
  for (const Register &each : registers)
    sorted.push_back(&each);
  llvm::sort(sorted, [](const Register *a, const Register *b) {
    return a->offset < b->offset;
  });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1]->offset + sorted[i - 1]->bytes > sorted[i]->offset)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Liveness
//===----------------------------------------------------------------------===//

void RegisterFile::findBlocks() {
  const std::vector<Inst> &insts = program.insts;
  std::vector<bool> begins(insts.size() + 1);
  begins[0] = begins[insts.size()] = true;
  for (const FunctionInfo &function : program.functions)
    begins[function.pc] = true;
  for (uint32_t pc = 0; pc < insts.size(); ++pc) {
    llvm::SmallVector<uint32_t, 2> successors = program.successorsOf(pc);
    for (uint32_t to : successors)
      if (to != pc + 1)
        begins[to] = true;
    if (successors.size() != 1 || successors.front() != pc + 1)
      begins[pc + 1] = true;
  }
  std::vector<uint32_t> blockOf(insts.size() + 1);
  for (uint32_t pc = 0; pc < insts.size(); ++pc) {
    if (begins[pc])
      blocks.push_back({pc, pc, {}, {}, {}, {}, {}});
    blocks.back().end = pc + 1;
    blockOf[pc] = blocks.size() - 1;
  }
  for (Block &block : blocks)
    for (uint32_t to : program.successorsOf(block.end - 1))
      if (to < insts.size())
        block.successors.push_back(blockOf[to]);
}

bool RegisterFile::findLiveness() {
  // Most registers live in one block alone: only the others are followed.
  std::vector<unsigned> numbers(registers.size(), ~0u);
  unsigned count = 0;
  llvm::BitVector defined(registers.size());
  for (const Block &block : blocks) {
    defined.reset();
    for (uint32_t pc = block.begin; pc < block.end; ++pc) {
      const Inst &inst = program.insts[pc];
      forEachUse(inst, [&](unsigned id) {
        if (!defined[id] && numbers[id] == ~0u)
          numbers[id] = count++;
      });
      if (inst.guard == Inst::noGuard)
        forEachResult(inst, [&](unsigned id) { defined.set(id); });
    }
  }
  constexpr uint64_t mostBits = uint64_t(1) << 29;
  if (uint64_t(count) * blocks.size() > mostBits)
    return false;
  std::vector<unsigned> followed(count);
  for (auto [id, number] : llvm::enumerate(numbers))
    if (number != ~0u)
      followed[number] = id;
  for (Block &block : blocks) {
    for (llvm::BitVector *bits :
         {&block.exposed, &block.defined, &block.liveIn, &block.liveOut})
      bits->resize(count);
    for (uint32_t pc = block.begin; pc < block.end; ++pc) {
      const Inst &inst = program.insts[pc];
      forEachUse(inst, [&](unsigned id) {
        if (numbers[id] != ~0u && !block.defined[numbers[id]])
          block.exposed.set(numbers[id]);
      });
      if (inst.guard == Inst::noGuard)
        forEachResult(inst, [&](unsigned id) {
          if (numbers[id] != ~0u)
            block.defined.set(numbers[id]);
        });
    }
    block.liveIn = block.exposed;
  }
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (Block &block : llvm::reverse(blocks)) {
      for (uint32_t successor : block.successors)
        block.liveOut |= blocks[successor].liveIn;
      llvm::BitVector in = block.liveOut;
      in.reset(block.defined);
      in |= block.exposed;
      isNew |= in != block.liveIn;
      block.liveIn = std::move(in);
    }
  }
  for (const Block &block : blocks) {
    for (unsigned number : block.liveIn.set_bits())
      registers[followed[number]].cover(block.begin);
    for (unsigned number : block.liveOut.set_bits())
      registers[followed[number]].cover(block.end - 1);
  }
  return true;
}

/// tcgen05.ld writes its registers until it is waited for.
void RegisterFile::keepUntilWait(const Block &block, uint32_t pc) {
  const Inst &load = program.insts[pc];
  uint32_t end = pc + 1;
  auto waits = [&](const Inst &inst) {
    return inst.guard == Inst::noGuard &&
           inst.opcode.starts_with("tcgen05.wait::ld");
  };
  while (end < block.end && !waits(program.insts[end]))
    ++end;
  forEachResult(load, [&](unsigned id) {
    registers[id].cover(std::min(end, block.end - 1));
    registers[id].isReused &= end < block.end;
  });
}

void RegisterFile::coverBlock(const Block &block) {
  for (uint32_t pc = block.begin; pc < block.end; ++pc) {
    const Inst &inst = program.insts[pc];
    auto cover = [&](unsigned id) { registers[id].cover(pc); };
    forEachUse(inst, cover);
    forEachResult(inst, cover);
    if (inst.opcode.starts_with("tcgen05.ld"))
      keepUntilWait(block, pc);
    if (inst.flags & Inst::Wgmma) {
      auto keep = [&](unsigned id) { registers[id].isReused = false; };
      forEachUse(inst, keep);
      forEachResult(inst, keep);
    }
  }
}

bool RegisterFile::findRanges() {
  findBlocks();
  if (!findLiveness())
    return false;
  for (const Block &block : blocks)
    coverBlock(block);
  return true;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

uint32_t RegisterFile::place() {
  std::vector<Register *> order;
  for (Register &each : registers)
    order.push_back(&each);
  llvm::sort(order, [](const Register *a, const Register *b) {
    return std::make_pair(a->first, a->offset) <
           std::make_pair(b->first, b->offset);
  });
  uint32_t end = llvm::alignTo(firstShared, 64);
  // Of each size, the places that are free, and those that are not, with the
  // last instruction that needs them. The place that was freed last is taken
  // first: it is the most likely one to be in the cache.
  using Taken = std::pair<uint32_t, uint32_t>;
  struct Size {
    std::vector<uint32_t> free;
    std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken;
  };
  llvm::DenseMap<uint32_t, Size> sizes;
  llvm::DenseMap<uint32_t, uint32_t> places;
  for (Register *each : order) {
    Size &size = sizes[each->bytes];
    while (!size.taken.empty() && size.taken.top().first < each->first) {
      size.free.push_back(size.taken.top().second);
      size.taken.pop();
    }
    uint32_t at = end;
    if (each->isReused && !size.free.empty()) {
      at = size.free.back();
      size.free.pop_back();
    } else {
      end += each->bytes;
    }
    if (each->isReused)
      size.taken.push({each->last, at});
    places[each->offset] = at;
  }
  for (Operand &op : program.slots)
    if (isRegister(op))
      op.offset = places.lookup(op.offset);
  return end;
}

void fa4::sim::shareRegisters(Program &program, uint32_t firstShared,
                              uint32_t registerEnd) {
  program.slots = program.operands;
  RegisterFile file(program, firstShared);
  if (file.findRegisters() && file.findRanges())
    registerEnd = file.place();
  program.registerBytes = llvm::alignTo(std::max(registerEnd, 64u), 64);
}
