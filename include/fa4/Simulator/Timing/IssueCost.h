//===- IssueCost.h - what a PTX instruction costs its warp -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine executes PTX; a chip executes the machine code that ptxas makes
// of it. The cost of a PTX instruction is that of the machine instructions that
// came out of it: how many there are on each pipe, the issue clocks that their
// stall counts ask for, and the results of variable latency for which they
// wait. Costs come from machine code, where ptxas and nvdisasm are at hand, or
// from a table of PTX forms.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMING_ISSUECOST_H
#define FA4_SIMULATOR_TIMING_ISSUECOST_H

#include "fa4/Simulator/Machine/Program.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fa4::sim {

/// The pipes of an SM to which its four sub-partitions issue instructions.
enum class Pipe : uint8_t {
  Fma,          ///< FFMA, FADD, FMUL, HFMA2 and the like.
  FmaPair,      ///< FFMA2 and the like, on two f32: Fma for twice the time.
  FmaHeavy,     ///< IMAD: half the rate of Fma.
  Alu,          ///< LOP3, SHF, PRMT, SEL, ISETP, FSETP, FMNMX, F2FP, VOTE.
  AluOrFma,     ///< IADD3, MOV: either of Alu and FmaHeavy.
  Mufu,         ///< EX2, LG2, RCP, TANH and the like; POPC, FLO, BREV.
  Convert,      ///< F2F, F2I, I2F (on the multifunction unit).
  Double,       ///< DFMA and the like.
  Lsu,          ///< LDS, STS, LDSM, STSM, SHFL, LDG, STG, atomics, SYNCS.
  TensorMemory, ///< LDTM, STTM.
  Uniform,      ///< Instructions on uniform registers; UBLKCP, UTMALDG.
  Control,      ///< Branches, barriers, NOP, fences, DEPBAR.
  Tensor,       ///< HGMMA, HMMA, UTCHMMA, UTCBAR.
};
constexpr unsigned numPipes = unsigned(Pipe::Tensor) + 1;

/// The name of a pipe for tables: "FMA", "MUFU".
llvm::StringRef nameOf(Pipe pipe);

/// What one execution of a PTX instruction costs the warp that issues it.
struct IssueCost {
  /// A result of variable latency that the instruction waits for (a scoreboard
  /// of the machine code).
  struct Wait {
    /// The PTX line of the instruction that produces the result.
    uint32_t line = 0;
    /// Issue clocks (sums of stall counts) between the producer and this
    /// instruction in the scheduled machine code. The producer's latency is
    /// hidden to this extent.
    float distance = 0;
    /// The result is a spilled register that is loaded again, by a machine
    /// instruction that is charged to the line beside the line's own ones.
    bool isLocal = false;
  };

  /// Machine instructions on each pipe. Fractions occur where the assembler has
  /// cloned code, or where several PTX instructions of a line became one.
  std::array<float, numPipes> ops{};
  /// The sum of the stall counts: the clocks for which the warp issues nothing
  /// else, provided that nothing else holds it up. 0 for a PTX instruction that
  /// the assembler has removed.
  float clocks = 0;
  llvm::SmallVector<Wait, 2> waits;
  /// Machine instructions that move spilled registers to or from local memory,
  /// which are among those on Pipe::Lsu, and the bytes that they move for each
  /// lane.
  float localOps = 0, localBytes = 0;
  /// The least distance, as in Wait, from such a load to an instruction that
  /// needs its result and is charged to the same PTX instruction; none if there
  /// is no such load.
  std::optional<float> localDistance;

  float slots() const {
    float sum = 0;
    for (float count : ops)
      sum += count;
    return sum;
  }
  float &operator[](Pipe pipe) { return ops[unsigned(pipe)]; }
  float operator[](Pipe pipe) const { return ops[unsigned(pipe)]; }
};

/// The costs of all instructions of a program.
class IssueCosts {
public:
  /// All costs are 0 at first.
  IssueCosts(const Program &program, std::string source)
      : source(std::move(source)), program(&program),
        costs(program.insts.size()) {}

  /// `inst` is one of the program's.
  const IssueCost &of(const Inst &inst) const {
    return costs[program->pcOf(inst)];
  }
  IssueCost &of(const Inst &inst) { return costs[program->pcOf(inst)]; }

  /// Where the costs come from: "machine code (ptxas 13.0.88)", or "table of
  /// PTX forms".
  std::string source;
  /// The registers of a thread by the name of the entry; an entry is missing
  /// where they are not known.
  llvm::StringMap<unsigned> registers;

private:
  const Program *program;
  std::vector<IssueCost> costs;
};

/// Returns costs by the opcode of each instruction, from the latencies and the
/// rates in the target's table of timing parameters. Waits are those of the
/// registers that straight-line PTX reads, in the order of the PTX.
IssueCosts issueCostsFromForms(const Program &program);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMING_ISSUECOST_H
