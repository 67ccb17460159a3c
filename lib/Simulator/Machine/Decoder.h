//===- Decoder.h - PTX syntax tree to decoded instructions -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_DECODER_H
#define FA4_LIB_SIMULATOR_MACHINE_DECODER_H

#include "fa4/Simulator/Machine/Program.h"
#include "fa4/Simulator/Ptx/Ast.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace fa4::sim {

/// The place of a variable.
struct VariablePlace {
  MemSpace space = MemSpace::Global;
  uint64_t address = 0; ///< In the space; shared: the window offset.
};

/// Lays out variables and registers of a module, then decodes its functions.
class Decoder {
public:
  Decoder(const ptx::Module &module, GlobalMemory &memory, Program &program,
          const llvm::StringMap<uint64_t> &wanted);
  llvm::Error run();

private:
  friend class InstructionDecoder;

  void findChip();
  void checkSizes();
  void layOutShared();
  /// Sets the address at which the module's arrays without a size start.
  void placeDynamicShared(uint32_t address);
  void layOutPredicates();
  void layOutFunction(const ptx::Function &function);
  bool layOutGlobals();
  bool relocate(const ptx::Variable &variable);
  void decodeFunction(const ptx::Function &function);
  void makeEntry(const ptx::Function &function, uint32_t index);
  void checkRecursion();
  void markMmaRegisters();
  void error(ptx::Location loc, const llvm::Twine &message);
  void finishConstants();

  /// Returns the offset in bank 1 of 32 copies of a value.
  uint32_t constant(uint64_t value, unsigned bytes);
  /// Returns a register that lives for one PTX instruction.
  uint32_t temporary(unsigned width);
  Operand registerOperand(const ptx::Register &reg) const;

  const ptx::Module &module;
  GlobalMemory &memory;
  Program &program;
  const llvm::StringMap<uint64_t> &wanted; ///< Addresses of variables.
  std::vector<std::string> errors;
  unsigned errorCount = 0;
  llvm::StringSet<> foreign; ///< What the module's chip lacks.

  llvm::DenseMap<const ptx::Variable *, VariablePlace> places;
  llvm::DenseMap<const ptx::Function *, uint32_t> functionIndex;
  llvm::DenseMap<const ptx::Function *, std::array<uint32_t, 6>> registerBase;
  llvm::DenseMap<const ptx::Function *, std::vector<const ptx::Function *>>
      calls;
  const ptx::Function *current = nullptr;
  llvm::DenseMap<const ptx::Function *, unsigned> ctaGroups;
  uint32_t predicateEnd = 0, registerEnd = 0, localEnd = 0;
  /// The start of dynamic shared memory, which is behind the static variables
  /// of each entry.
  uint32_t sharedEnd = 0;
  llvm::DenseMap<const ptx::Function *, uint32_t> entrySharedEnd;
  /// A .func or an initialiser names dynamic shared memory: it has to start at
  /// one place for all entries.
  bool sharesDynamic = false;

  std::map<std::pair<uint64_t, unsigned>, uint32_t> constantMap;
  std::vector<uint8_t> constantBytes;
  std::vector<uint32_t> temporaries[3]; ///< Of 4, 8 and 16 bytes a lane.
  unsigned temporariesUsed[3] = {};
  std::vector<uint32_t> pcOfInstruction;
  struct Fixup {
    uint32_t inst;
    uint32_t target; ///< AST instruction.
  };
  std::vector<Fixup> fixups;
  std::vector<std::pair<uint32_t, const ptx::Function *>> callFixups;
  std::vector<std::pair<std::vector<uint32_t> *, std::vector<uint32_t>>>
      listFixups;
};

/// The handler that writes a special register's value to operand 0, and how
/// many bytes it has; null for an unknown name.
Handler specialRegister(llvm::StringRef name, unsigned &bytes, uint64_t &form);

/// The handlers of instructions that the decoder inserts.
Flow narrowTo32(Exec &, const Inst &);
Flow widenTo64(Exec &, const Inst &); ///< form: 1 to sign-extend `form2` bits.
Flow sharedAddress(Exec &, const Inst &); ///< form: window offset.
Flow callFunction(Exec &, const Inst &);
Flow copyResults(Exec &, const Inst &);
Flow assertFail(Exec &, const Inst &);
Flow endOfFunction(Exec &, const Inst &);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_DECODER_H
