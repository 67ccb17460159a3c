//===- RegisterSlots.h - places of registers in a warp's file --*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX has as many registers as it has values: thousands, of which a thread
// needs a few hundred at a time. With a place for each of them, the registers
// of the warps of a cluster are tens of megabytes. So registers that are never
// needed at the same time share a place, as in an assembler's allocation; what
// tells registers apart (checkers, costs) goes by Program::operands, which know
// nothing of it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_REGISTERSLOTS_H
#define FA4_LIB_SIMULATOR_MACHINE_REGISTERSLOTS_H

#include "fa4/Simulator/Machine/Program.h"

namespace fa4::sim {

/// Fills in Program::slots and Program::registerBytes. The operands' registers
/// are in a file of `registerEnd` bytes, of which those before `firstShared`
/// (predicates) keep their places. Programs with calls have a place for each
/// register.
void shareRegisters(Program &program, uint32_t firstShared,
                    uint32_t registerEnd);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_REGISTERSLOTS_H
