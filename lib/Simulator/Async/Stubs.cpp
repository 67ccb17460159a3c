//===- Stubs.cpp - opcode families without a decoder ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"

namespace fa4::sim {
void registerBulkCopyOpcodes(OpcodeTable &) {}
void registerTcgen05Opcodes(OpcodeTable &) {}
void registerLaunchControlOpcodes(OpcodeTable &) {}
void asyncLanesExit(Exec &, LaneMask) {}
void asyncClusterExit(Cluster &) {}
} // namespace fa4::sim
