//===- HappensBefore.cpp - the checker of a launch -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

using namespace fa4::sim;

LaunchChecker::LaunchChecker(const GridInfo &info, GlobalMemory &memory,
                             ReportSink &sink, CheckOptions options)
    : info(info), memory(memory), sink(sink), options(options) {
  sites.emplace_back();
  shadows.resize(memory.allocations().size());
  tensorFences = options.tensorFences == CheckOptions::Required;
  for (const Inst &inst : info.program->insts) {
    registerFlow.push_back(registerFlowOf(inst));
    if (options.tensorFences == CheckOptions::Auto)
      tensorFences |= inst.opcode.starts_with("tcgen05.fence");
  }
  findGuesses();
}

/// A loop of compare-and-swap begins with a guess of what is there, for which
/// the CUDA programming guide (atomicAdd of a double) has a plain load. Finds
/// such loads by their address: the same register and displacement as that of
/// an atom.cas further on in the text.
void LaunchChecker::findGuesses() {
  const Program &program = *info.program;
  auto keyOf = [&](const Inst &inst, unsigned operand) {
    const Operand &op = program.operands[inst.firstOperand + operand];
    return std::tuple(op.bank, op.offset, op.displacement);
  };
  std::map<decltype(keyOf(program.insts[0], 0)), const Inst *> swaps;
  for (const Inst &inst : llvm::reverse(program.insts)) {
    bool isSwap =
        inst.opcode.starts_with("atom.") && inst.opcode.contains(".cas.");
    bool isPlainLoad = inst.opcode.starts_with("ld.") &&
                       !inst.opcode.contains(".v") && inst.numResults == 1;
    if (isSwap && inst.numResults == 1)
      swaps[keyOf(inst, 1)] = &inst;
    else if (isPlainLoad && swaps.count(keyOf(inst, 1)))
      guesses.insert(&inst);
  }
}

std::unique_ptr<ClusterChecker> LaunchChecker::beginCluster(Cluster &cluster) {
  return std::make_unique<Engine>(*this, cluster);
}

Shadow *LaunchChecker::shadowOf(const Allocation &allocation) {
  if (allocation.index >= shadows.size())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  auto &shadow = shadows[allocation.index];
  if (!shadow)
    shadow = std::make_unique<Shadow>((allocation.bytes + 3) / 4);
  return shadow.get();
}

uint32_t LaunchChecker::addSite(const SiteInfo &site) {
  std::lock_guard<std::mutex> lock(siteMutex);
  sites.push_back(site);
  return sites.size() - 1;
}

const SiteInfo &LaunchChecker::siteInfo(uint32_t id) {
  std::lock_guard<std::mutex> lock(siteMutex);
  return sites[id];
}

CheckerFactory fa4::sim::happensBeforeChecker(CheckOptions options) {
  return [options](const GridInfo &info, GlobalMemory &memory,
                   ReportSink &sink) -> std::unique_ptr<Checker> {
    return std::make_unique<LaunchChecker>(info, memory, sink, options);
  };
}
