//===- Program.h - decoded instructions and the table of opcode forms -----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module is decoded once. Each PTX instruction becomes one or more Insts
// with a handler for exactly its form (opcode, modifiers, operand widths), so
// that execution never looks at text. Registers of a warp are arrays of 32
// lanes (structure of arrays) in one register file; an operand is a byte
// offset into it, or into the program's table of constants, which has the same
// shape (32 copies): handlers read both alike.
//
//   register class      slot
//   .pred               4 bytes: one bit a lane
//   .b8 .b16 .b32       32 x uint32_t; upper bits of narrow ones are garbage
//   .b64                32 x uint64_t
//   .b128               32 x uint64_t low halves, then 32 x high halves
//
// Opcode families register a decoder for their root name (the text before the
// first dot) or a longer dotted prefix; the longest match decodes. A decoder
// must consume every modifier it understands: what is left over makes the form
// unsupported, and all such forms are reported together.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_PROGRAM_H
#define FA4_SIMULATOR_MACHINE_PROGRAM_H

#include "fa4/Simulator/Machine/Memory.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fa4 {
struct TargetDescription;
}

namespace fa4::sim {

namespace ptx {
struct Module;
struct Function;
struct Instruction;
struct Operand;
} // namespace ptx

struct Exec;
struct Inst;

using LaneMask = uint32_t;
constexpr unsigned warpSize = 32;
constexpr LaneMask allLanes = 0xFFFFFFFFu;

/// The way in which lanes continue after an instruction.
enum class Flow : uint8_t {
  Next,  ///< Continue behind it.
  Jump,  ///< The handler set the pc (or split the fragment).
  Block, ///< Not possible yet and without effect so far: Fragment::blocked says
         ///< why; the same instruction is executed again when the cluster's
         ///< epoch has advanced (or its time limit is over).
  Exit,  ///< The lanes are done.
  Yield, ///< Continue behind it, but let others run first.
};

using Handler = Flow (*)(Exec &, const Inst &);

/// A decoded operand. For addresses, `displacement` is added to the value.
struct Operand {
  uint32_t offset = 0;      ///< Bytes into the bank.
  int32_t displacement = 0; ///< Of an address operand.
  uint8_t bank = 0;         ///< 0: the warp's registers, 1: constants.
  uint8_t width = 0;        ///< 0 predicate, 4, 8 or 16 bytes a lane.
  bool negated = false;     ///< `!p`.
  bool sink = false;        ///< `_`: reads are undefined, writes vanish.
};

struct Inst {
  enum Flags : uint16_t {
    /// `.aligned`: all lanes of the warp that have not exited must execute it
    /// together; the machine waits for them before it calls the handler.
    Aligned = 1,
    /// The instruction has no register result that later code depends on
    /// (stores, fences).
    NoResult = 2,
    /// The decoder has inserted the instruction in front of a PTX instruction
    /// of the same line.
    Helper = 4,
    /// The instruction reads or writes a register that a wgmma of the program
    /// uses as accumulator or as a part of A, and is no wgmma itself.
    MmaRegisters = 8,
    /// wgmma.mma_async: its first form2 operands are registers that it uses
    /// until a wait.
    Wgmma = 16,
    /// A memory access whose opcode says .shared or .shared::cta: that of the
    /// executing CTA, and no other one of the cluster.
    OwnShared = 32,
  };
  static constexpr uint32_t noGuard = ~0u;

  Handler handler = nullptr;
  uint32_t firstOperand = 0; ///< In Program::operands.
  uint16_t numOperands = 0;
  uint16_t numResults = 0; ///< The first operands that are written.
  uint16_t flags = 0;
  bool guardNegated = false;
  uint32_t guard = noGuard; ///< Offset of the guard predicate.
  uint32_t target = 0;      ///< Branch or call target, a pc.
  uint32_t line = 0, column = 0;
  uint64_t form = 0; ///< Packed by the family's decoder.
  uint64_t form2 = 0;
  const void *extra = nullptr; ///< Owned by the Program (keepAlive).
  llvm::StringRef opcode;      ///< Full text, e.g. "add.rn.f32".

  /// Returns the first word of the opcode, e.g. "add".
  llvm::StringRef root() const { return opcode.split('.').first; }
};

/// A decoded function: `.entry` or `.func`.
struct FunctionInfo {
  std::string name;
  bool isEntry = false;
  uint32_t pc = 0, pcEnd = 0;
  const ptx::Function *ast = nullptr;
  uint32_t localBytes = 0; ///< .local variables and call parameters.
};

/// Offset and size of an entry's parameter in the parameter space.
struct ParamInfo {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

/// A shared variable that an entry can name.
struct SharedSymbol {
  uint32_t offset = 0; ///< In the CTA's shared window.
  uint64_t bytes = 0;  ///< 0: dynamic shared memory, up to its end.
  std::string name;
};

struct EntryInfo {
  uint32_t function = 0;
  std::vector<ParamInfo> params;
  uint32_t paramBytes = 0;
  uint32_t staticSharedBytes = 0; ///< Dynamic shared memory begins behind it.
  uint32_t localBytes = 0;        ///< Per thread, all callable functions.
  std::vector<SharedSymbol> sharedSymbols;
  uint32_t reqNtid[3] = {}, maxNtid[3] = {}, reqCluster[3] = {};
  uint32_t maxNreg = 0, minNctaPerSm = 0;
  uint32_t largestBudget = 0;  ///< Of its setmaxnreg.inc, 0: there is none.
  uint32_t maxClusterRank = 0; ///< CTAs of a cluster, 0: no limit.
  bool explicitCluster = false;

  /// "bars+8 (shared 0x408)" for an offset in the shared window, with the name
  /// of the variable that holds it; "shared 0x408" where none does.
  std::string describeShared(uint32_t offset) const;
};

/// A value that a call copies, lane by lane, from local memory or an operand to
/// local memory or a register.
struct CallCopy {
  bool fromLocal = false, toLocal = false;
  uint32_t fromOffset = 0, toOffset = 0; ///< In local memory.
  Operand from, to;
  uint32_t bytes = 0;
};
struct CallInfo {
  std::vector<CallCopy> copies;
};

class Program {
public:
  static llvm::Expected<std::unique_ptr<Program>>
  decode(const ptx::Module &module, GlobalMemory &memory,
         const llvm::StringMap<uint64_t> &places = {});

  std::vector<Inst> insts;
  /// The offsets of registers tell these apart; where a register's lanes are is
  /// in `slots`, which has the same operands.
  std::vector<Operand> operands, slots;
  std::vector<FunctionInfo> functions;
  std::vector<EntryInfo> entries;
  /// Returns bank 1, the constants, which are 64-byte aligned.
  const uint8_t *constants() const { return constantBank; }
  uint32_t registerBytes = 0; ///< Register file of one warp.
  std::string fileName;
  const ptx::Module *module = nullptr; ///< What was decoded; outlives this.
  /// The chip that `.target` names: 90 and "a" of sm_90a. `chip` is the table
  /// with its limits.
  unsigned smVersion = 100;
  std::string smSuffix = "a";
  const TargetDescription *chip = nullptr;

  llvm::ArrayRef<Operand> operandsOf(const Inst &inst) const {
    return {operands.data() + inst.firstOperand, inst.numOperands};
  }
  llvm::ArrayRef<Operand> slotsOf(const Inst &inst) const {
    return {slots.data() + inst.firstOperand, inst.numOperands};
  }
  /// Returns the instructions that may follow one, of which the last one may be
  /// beyond the program. Calls are taken to return.
  llvm::SmallVector<uint32_t, 2> successorsOf(uint32_t pc) const;
  /// Returns the place of an instruction, for example "file.ptx:12".
  std::string locate(const Inst &inst) const;
  /// "line 12", with the line of the source file where a `.loc` says it:
  /// "line 12 (attention.py:57:4)".
  std::string lineOf(const Inst &inst) const;
  uint32_t pcOf(const Inst &inst) const { return &inst - insts.data(); }

  /// Keeps form-specific data alive as long as the program.
  template <typename T> const T *keepAlive(T value) {
    auto holder = std::make_shared<T>(std::move(value));
    const T *pointer = holder.get();
    kept.push_back(std::move(holder));
    return pointer;
  }

private:
  friend class Decoder;
  std::vector<std::shared_ptr<void>> kept;
  std::unique_ptr<uint8_t[]> constantStorage;
  const uint8_t *constantBank = nullptr;
};

/// What a family's decoder works with: one PTX instruction, its modifiers to
/// consume, and the Inst to fill in. Guard, line and opcode are filled in.
class DecodeContext {
public:
  virtual ~DecodeContext() = default;

  virtual const ptx::Instruction &source() const = 0;
  virtual Program &program() = 0;
  Inst inst;
  /// True if results narrower than their register are sign-extended (ld.s16,
  /// cvt.s16).
  bool resultSigned = false;
  /// True if registers may be wider than the value that the form reads or
  /// writes. The handler then looks at Operand::width itself (ld, st).
  bool anyWidth = false;

  //===--- Modifiers ------------------------------------------------------===//
  // Names are without the leading dot and may contain "::".

  /// Consumes the first unconsumed occurrence of `name`.
  bool take(llvm::StringRef name);
  /// Consumes whichever of the names occurs first among the unconsumed
  /// modifiers; the index in `names`, or -1.
  int takeOneOf(llvm::ArrayRef<llvm::StringRef> names);
  /// Returns true if there is an unconsumed modifier of that name.
  bool has(llvm::StringRef name) const;
  /// Returns the next unconsumed modifier, or an empty string at the end.
  llvm::StringRef peek() const;
  /// Consumes and returns the next unconsumed modifier.
  llvm::StringRef next();
  /// Returns all unconsumed modifiers, joined with dots.
  std::string rest() const;

  //===--- Operands -------------------------------------------------------===//
  // The AST's operands are turned into decoded ones in the order in which they
  // are added; results first.

  /// Returns the number of AST operands. A pair `p|q` counts as two.
  virtual unsigned numSources() const = 0;
  /// Adds AST operand `i` as a register, immediate, symbol address, special
  /// register or sink. `bytes` is the width of one lane's value (0: predicate,
  /// 1..8, 16) that the form reads or writes; immediates are made that wide.
  /// `isFloat` gives the type of floating immediates. Reports on a mismatch.
  virtual bool addOperand(unsigned i, unsigned bytes, bool isResult = false,
                          bool isFloat = false) = 0;
  /// Adds all elements of the vector operand `i` (or the one scalar); returns
  /// how many, 0 after an error.
  virtual unsigned addVector(unsigned i, unsigned bytes, bool isResult = false,
                             bool isFloat = false) = 0;
  /// Adds the address operand `i` ([reg], [reg+imm], [symbol+imm], [imm]).
  virtual bool addAddress(unsigned i) = 0;
  /// Adds operand `i`, an address with a list, as `[base, {c0, c1, ..}]` of
  /// tensor operations: base first, then the coordinates; how many in all.
  virtual unsigned addTensorAddress(unsigned i) = 0;
  /// Adds a constant of `bytes` bytes for each lane.
  virtual void addConstant(uint64_t value, unsigned bytes) = 0;
  /// Adds an absent result. Writes to it have no effect.
  virtual void addSink() = 0;
  /// Returns the value of AST operand `i` if it is an integer immediate.
  virtual std::optional<int64_t> immediate(unsigned i) const = 0;
  /// Return true if AST operand `i` is a vector `{...}`, or a predicate
  /// register.
  virtual bool isVector(unsigned i) const = 0;
  virtual unsigned vectorSize(unsigned i) const = 0; ///< 1 for no vector.
  virtual bool isPredicate(unsigned i) const = 0;
  virtual bool isAddress(unsigned i) const = 0;
  /// Returns true if AST operand `i` is an address in a parameter of a call or
  /// of a function. Those parameters live in local memory; the parameters of
  /// the entry do not.
  virtual bool isLocalParam(unsigned i) const = 0;

  //===--- Control flow ---------------------------------------------------===//
  /// AST operand `i` is a label: inst.target becomes its pc.
  virtual bool addTarget(unsigned i) = 0;
  /// AST operand `i` is a .branchtargets list: inst.extra becomes a
  /// std::vector<uint32_t> of pcs.
  virtual bool addTargetList(unsigned i) = 0;
  /// Decodes a whole call: callee, arguments and results.
  virtual bool addCall() = 0;
  /// Returns true if the instruction is in an entry, not in a .func.
  virtual bool inEntry() const = 0;
  /// The .cta_group of the function's tcgen05 instructions; 0 before the first.
  virtual unsigned &ctaGroup() = 0;

  //===--- Results --------------------------------------------------------===//
  /// Reports an error on this instruction; always returns false.
  virtual bool error(const llvm::Twine &message) = 0;
  /// Reports an "unsupported form" error with the whole opcode. Returns false.
  bool unsupported();

protected:
  llvm::SmallVector<llvm::StringRef, 12> modifiers;
  llvm::SmallVector<bool, 12> consumed;
};

/// Decodes one instruction into context.inst; false after an error.
using FamilyDecoder = bool (*)(DecodeContext &);

/// The table of opcode families. Each part of the machine adds its families in
/// a function that Decoder.cpp calls (registerXxxOpcodes).
class OpcodeTable {
public:
  /// Adds a family. `name` is "add", "tcgen05.mma" and so on. The decoder sees
  /// the words of the name as consumed. If several names fit an opcode, the
  /// longest one wins.
  void add(llvm::StringRef name, FamilyDecoder decoder);
  /// Returns the decoder for an opcode, and the number of leading words in its
  /// name.
  FamilyDecoder find(llvm::ArrayRef<llvm::StringRef> words,
                     unsigned &prefixWords) const;
  static const OpcodeTable &get();

private:
  llvm::StringMap<FamilyDecoder> table;
};

// The families, by implementation file.
void registerIntegerOpcodes(OpcodeTable &);
void registerFloatOpcodes(OpcodeTable &);
void registerConvertOpcodes(OpcodeTable &);
void registerMoveOpcodes(OpcodeTable &);
void registerControlOpcodes(OpcodeTable &);
void registerMemoryOpcodes(OpcodeTable &);
void registerMatrixOpcodes(OpcodeTable &);
void registerAtomicOpcodes(OpcodeTable &);
void registerWarpOpcodes(OpcodeTable &);
void registerBarrierOpcodes(OpcodeTable &);
void registerMbarrierOpcodes(OpcodeTable &);
void registerTensorMapOpcodes(OpcodeTable &);
/// st.async, red.async (Async/).
void registerStoreAsyncOpcodes(OpcodeTable &);
/// cp.async*, cp.reduce*, prefetch.tensormap (Async/).
void registerBulkCopyOpcodes(OpcodeTable &);
/// tcgen05.* (Async/).
void registerTcgen05Opcodes(OpcodeTable &);
/// wgmma.* (Async/).
void registerWgmmaOpcodes(OpcodeTable &);
/// clusterlaunchcontrol.* (Async/).
void registerLaunchControlOpcodes(OpcodeTable &);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_PROGRAM_H
