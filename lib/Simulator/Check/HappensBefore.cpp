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
}

std::unique_ptr<ClusterChecker> LaunchChecker::beginCluster(Cluster &cluster) {
  return std::make_unique<Engine>(*this, cluster);
}

Shadow *LaunchChecker::shadowOf(uint64_t address,
                                const Allocation *&allocation) {
  allocation = memory.find(address);
  if (!allocation || allocation->index >= shadows.size())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  auto &shadow = shadows[allocation->index];
  if (!shadow)
    shadow = std::make_unique<Shadow>((allocation->bytes + 3) / 4);
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
