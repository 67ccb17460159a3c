//===- PathPrinter.cpp - critical paths as text and JSON ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PathPrinter.h"
#include "TimePrinter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;
using llvm::StringRef;

StringRef fa4::sim::opcodeAt(const ptx::Module &module, uint32_t line) {
  StringRef text = module.lineText(line).trim();
  if (text.starts_with("@"))
    text = text.drop_until([](char c) { return c == ' ' || c == '\t'; }).trim();
  StringRef opcode =
      text.take_until([](char c) { return c == ' ' || c == '\t' || c == ';'; });
  // Types and shapes say little about who waits for whom.
  unsigned words = opcode.starts_with("cp.async.bulk.tensor") ? 4
                   : opcode.contains(".async.bulk")           ? 3
                                                              : 2;
  size_t length = 0;
  for (unsigned i = 0; i < words && length != StringRef::npos; ++i)
    length = opcode.find('.', length + 1);
  return opcode.take_front(length);
}

/// "softmax warp 4", "tensor cores".
static std::string agentOf(const CriticalStep &step,
                           const std::vector<WarpRole> &roles) {
  bool isUnit = step.kind == CriticalStep::Unit;
  std::string name = Trace::nameOf(step.agent);
  if (!isUnit && !step.cluster)
    for (const WarpRole &role : roles)
      for (const WarpTimes *warp : role.warps)
        if (warp->cta == step.agent.cta && warp->warp == step.agent.number &&
            role.duties)
          name = role.label() + " " + name;
  if (step.agent.cta)
    name += formatv(" of CTA {0}", step.agent.cta);
  // The units of an SM are those of all CTAs on it.
  if (step.cluster && !isUnit)
    name += " of a CTA beside it";
  return name;
}

/// Where the cycles of a warp's work go: " (issue 300, results 20)".
static std::string partsOf(const CriticalStep &step) {
  double known = step.issue + step.contention + step.pipe + step.scoreboard;
  std::pair<StringRef, double> parts[] = {{"issue", step.issue},
                                          {"slots", step.contention},
                                          {"pipes", step.pipe},
                                          {"results", step.scoreboard},
                                          {"latencies", step.cycles - known}};
  llvm::SmallVector<std::string> texts;
  for (auto [name, cycles] : parts)
    if (cycles >= 0.5)
      texts.push_back(formatv("{0} {1:f0}", name, cycles));
  return texts.empty() ? "" : " (" + llvm::join(texts, ", ") + ")";
}

/// The mbarriers for which the warp of a hand-off waits.
static std::string barriersOf(const TimeResult &time,
                              const CriticalStep &step) {
  if (!step.cluster)
    for (const WarpTimes &warp : time.warps)
      if (warp.cta == step.agent.cta && warp.warp == step.agent.number)
        return barriersAt(warp, step.toLine);
  return "";
}

void fa4::sim::printPath(llvm::raw_ostream &os, const ptx::Module &module,
                         const TimeResult &time,
                         const std::vector<WarpRole> &roles) {
  const CriticalPath &path = time.path;
  if (path.steps.empty()) {
    os << "  critical path: the CTA does nothing over and over, so there is no "
          "period\n";
    return;
  }
  os << formatv("  critical path: {0:f0} cycles a period; {1} such periods, of "
                "{2:f0} on average, take {3:p0} of the time searched\n",
                path.period, path.alike, path.mean, path.share);
  auto place = [&](uint32_t line) {
    return formatv("line {0} {1}", line, opcodeAt(module, line)).str();
  };
  for (const CriticalStep &step : path.steps) {
    std::string name = agentOf(step, roles);
    switch (step.kind) {
    case CriticalStep::HandOff:
      // Latencies of copies and products include the waiter.
      if (step.cycles >= 0.5)
        os << formatv("  {0,8:f0}  -> {1}, which waits at {2}{3}\n",
                      step.cycles, name, place(step.toLine),
                      barriersOf(time, step));
      break;
    case CriticalStep::Warp:
      os << formatv("  {0,8:f0}  {1}: {2} to {3}{4}\n", step.cycles, name,
                    place(step.fromLine), place(step.toLine), partsOf(step));
      break;
    case CriticalStep::Unit:
      os << formatv("  {0,8:f0}  {1}", step.cycles, name);
      if (step.operations > 1)
        os << formatv(", {0} operations", step.operations);
      os << ": " << place(step.fromLine);
      if (step.toLine != step.fromLine)
        os << " to " << place(step.toLine);
      os << "\n";
      break;
    }
  }
}

llvm::json::Value fa4::sim::toJson(const CriticalPath &path) {
  if (path.steps.empty())
    return nullptr;
  llvm::json::Array steps;
  for (const CriticalStep &step : path.steps) {
    llvm::json::Object object{{"agent", Trace::nameOf(step.agent)},
                              {"cta", int64_t(step.agent.cta)},
                              {"cycles", step.cycles},
                              {"from_line", int64_t(step.fromLine)},
                              {"to_line", int64_t(step.toLine)}};
    if (step.cluster)
      object["neighbour"] = int64_t(step.cluster);
    switch (step.kind) {
    case CriticalStep::Warp:
      object["kind"] = "warp";
      object["issue"] = step.issue;
      object["contention"] = step.contention;
      object["pipe"] = step.pipe;
      object["scoreboard"] = step.scoreboard;
      break;
    case CriticalStep::Unit:
      object["kind"] = "unit";
      object["operations"] = int64_t(step.operations);
      break;
    case CriticalStep::HandOff:
      object["kind"] = "hand_off";
      break;
    }
    steps.push_back(std::move(object));
  }
  return llvm::json::Object{
      {"period", path.period}, {"begin", path.begin},
      {"mean", path.mean},     {"alike", int64_t(path.alike)},
      {"share", path.share},   {"steps", std::move(steps)}};
}
