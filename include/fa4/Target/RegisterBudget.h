//===- RegisterBudget.h - registers of each role ---------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose warps have different roles starts with the same number of
// registers in every thread and moves them with setmaxnreg. What the PTX ISA
// ("setmaxnreg") asks for:
//   - all warps of a warpgroup execute the same setmaxnreg, so roles that share
//     a warpgroup share one budget;
//   - a budget is a multiple of 8 from 24 to 256;
//   - an increase takes from the pool that the CTA got at its launch, so the
//     sum over warpgroups is at most warpgroups * entry. An increase waits
//     until others have given enough back, so every decrease comes first.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_REGISTERBUDGET_H
#define FA4_TARGET_REGISTERBUDGET_H

#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace fa4 {

/// The number of registers that ptxas needs in a thread beyond the 32-bit
/// values that are live at once: for addresses, loop state, and losses of its
/// allocator. Measured with ptxas 13.0 on 140 live values: 20 to 25.
inline constexpr unsigned kRegisterSlack = 24;

/// The number of matrix descriptors that a loop of MMAs can keep in uniform
/// registers; each further one takes a register of the thread. Measured with
/// ptxas 13.0 for sm_100a: loops with 72 descriptors need 8 to 24 registers
/// more than loops with 48.
inline constexpr unsigned kUniformDescriptors = 48;

struct RoleDemand {
  unsigned warps;
  /// The registers per thread with which the role does not spill: the live
  /// 32-bit values at the worst point plus kRegisterSlack. 0 for warps that do
  /// nothing.
  unsigned wantedRegisters;
  /// How much one register is worth to the role: the amount of elementwise work
  /// per thread and iteration, in any unit. 0 for roles that only issue
  /// instructions to other units; these get what they want and no more.
  unsigned weight = 0;
};

struct RegisterBudgets {
  /// Warps of the CTA, rounded up to whole warpgroups.
  unsigned warps = 0;
  /// Registers per thread at the launch, the argument of .maxnreg.
  unsigned entry = 0;
  /// Registers per thread of each role.
  llvm::SmallVector<unsigned> roles;
  /// Registers per thread of each warpgroup.
  llvm::SmallVector<unsigned> warpgroups;
  /// The registers per thread that each role lacks. All are 0 unless the
  /// register file is too small, in which case the role may spill.
  llvm::SmallVector<unsigned> shortfall;
};

/// Distributes the register file over `roles`, whose warps are numbered in
/// this order from 0.
///
/// Warpgroups without elementwise work (weight 0) get what they want, empty
/// ones the minimum. The others share the rest: what they want and, where more
/// is left, registers in proportion to their weight; where less is left, they
/// fall short in proportion to what they want. Equal
/// demands get equal budgets, so that roles can share code. The result depends
/// on the arguments only.
///
/// Fails if there are no roles or one has no warps, if the warps exceed a CTA,
/// if a role wants more than a thread can have, if a role is in two warpgroups
/// and does not begin at the first one's first warp (it would tie others to its
/// budget), or if the register file cannot hold even the minima.
llvm::Expected<RegisterBudgets>
assignRegisterBudgets(const TargetDescription &target,
                      llvm::ArrayRef<RoleDemand> roles);

} // namespace fa4

#endif // FA4_TARGET_REGISTERBUDGET_H
