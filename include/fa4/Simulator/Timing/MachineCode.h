//===- MachineCode.h - costs from the machine code that ptxas makes -*- C++
//-*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `ptxas -lineinfo` leaves the machine code as it is and notes from which line
// of the PTX each instruction comes; nvdisasm prints both. The encoding of an
// instruction holds what the assembler has decided for the scheduler of the
// hardware: the clocks to the next instruction (stall count), the scoreboards
// on which the instruction signals that its result is there, or that its
// operands have been read, and those for which it waits.
//
// The machine executes PTX in the order of the PTX, and each machine
// instruction is charged to a PTX instruction that is executed as often, and
// between the same two synchronising instructions, as the machine instruction
// is in the machine code:
//
//   PTX                      machine code          charged to
//   ex2 %r1, ...             WARPGROUP.DEPBAR      wait_group
//   wgmma.wait_group 0       MUFU.EX2              the mul behind the wait
//   mul %o1, %o1, %r2        FMUL                  the mul
//
// ptxas has moved the exponential behind the wait, and so the time that it
// takes does not overlap with the products for which the wait is.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMING_MACHINECODE_H
#define FA4_SIMULATOR_TIMING_MACHINECODE_H

#include "fa4/Simulator/Timing/IssueCost.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace fa4::sim {

/// An instruction of machine code.
struct MachineInst {
  static constexpr uint8_t noScoreboard = 7;

  std::string opcode;   ///< "MUFU.EX2".
  std::string operands; ///< "R3, R4".
  bool isGuarded = false;
  uint32_t line = 0; ///< Of the PTX text; 0 where nvdisasm names none.
  /// Clocks from this instruction to the next one of its warp.
  uint8_t stall = 0;
  /// The scoreboard on which the instruction signals its result, and the one on
  /// which it signals that it has read its operands.
  uint8_t resultScoreboard = noScoreboard, operandScoreboard = noScoreboard;
  uint8_t waitMask = 0; ///< Scoreboards that must be at zero before.
  int target = -1;      ///< Of a branch, an index of MachineFunction::insts.
  bool fallsThrough = true;

  llvm::StringRef root() const {
    return llvm::StringRef(opcode).split('.').first;
  }
};

struct MachineFunction {
  std::string name;
  std::vector<MachineInst> insts;
};

/// Reads what `nvdisasm -c -hex -gp` prints. An error if the text has no
/// instruction, or is cut off within one.
llvm::Expected<std::vector<MachineFunction>>
parseMachineCode(llvm::StringRef text);

/// The pipe to which an instruction with the opcode is issued.
Pipe machinePipe(llvm::StringRef opcode);

/// What became of a function's machine instructions.
struct ChargeReport {
  unsigned instructions = 0;
  unsigned withoutLine = 0; ///< Charged to a neighbour.
  /// Charged to another PTX line than their own, because they stand in another
  /// loop or between other synchronising instructions.
  unsigned moved = 0;
  /// Not charged: loops in which a warp waits for an mbarrier, for which the
  /// machine lets the warp sleep.
  unsigned waiting = 0;
  /// Not charged: copies in front of or behind a loop of code that the loop has
  /// as well.
  unsigned peeled = 0;
};

/// Charges the machine code of a program's functions to its instructions. A
/// function that `code` lacks has no costs. `reports` has an entry for each
/// function of `code` that is one of the program's.
IssueCosts chargeMachineCode(const Program &program,
                             llvm::ArrayRef<MachineFunction> code,
                             std::string source,
                             std::vector<ChargeReport> *reports = nullptr);

/// Assembles and disassembles the PTX text of a program, and charges the
/// result. `ptxas` and `nvdisasm` are paths, or empty: the programs are looked
/// for then (findPtxas, findNvdisasm). An error if one of them is missing,
/// fails, or prints what cannot be read.
llvm::Expected<IssueCosts>
issueCostsFromMachineCode(const Program &program, llvm::StringRef ptx,
                          llvm::StringRef ptxas = {},
                          llvm::StringRef nvdisasm = {});

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMING_MACHINECODE_H
