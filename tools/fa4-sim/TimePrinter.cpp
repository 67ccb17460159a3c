//===- TimePrinter.cpp - how long a launch takes, as text and JSON --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimePrinter.h"
#include "PathPrinter.h"
#include "fa4/Support/Tool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace fa4::sim;
using llvm::formatv;
using llvm::StringRef;

/// Latencies may be 0; what is divided by may not.
static bool mayBeZero(fa4::TimingParameter id) {
  llvm::StringRef unit = fa4::timingTable("sm_90a")[unsigned(id)].unit;
  return unit == "clk" || unit == "ns" || unit.empty();
}

llvm::Expected<fa4::TimingParameters>
fa4::sim::readTimingParameters(StringRef chip,
                               llvm::ArrayRef<std::string> settings) {
  std::optional<TimingParameters> parameters = timingParameters(chip);
  if (!parameters)
    return llvm::createStringError("--time: there is no table of latencies and "
                                   "rates of the chip " +
                                   chip);
  for (StringRef setting : settings) {
    auto [name, text] = setting.split('=');
    std::optional<TimingParameter> id = findTimingParameter(name);
    if (!id) {
      auto names = llvm::map_to_vector(
          timingTable(chip), [](const TimingParameterInfo &info) -> StringRef {
            return info.name;
          });
      return llvm::createStringError("--set: there is no parameter '" + name +
                                     "'; " + suggestName(name, names));
    }
    // Rates and intervals are divided by.
    constexpr double least = 1e-3, most = 1e9;
    double value;
    if (text.getAsDouble(value) || !(value >= least && value <= most)) {
      bool isOff = !text.getAsDouble(value) && value == 0 && mayBeZero(*id);
      if (!isOff)
        return llvm::createStringError("--set: " + name +
                                       " needs a number from 0.001 to 1e9, "
                                       "not '" +
                                       text + "'");
    }
    parameters->set(*id, value);
  }
  return *parameters;
}

std::vector<std::pair<uint32_t, double>>
fa4::sim::longestWaits(const WarpTimes &times) {
  std::vector<std::pair<uint32_t, double>> waits(times.waits.begin(),
                                                 times.waits.end());
  llvm::sort(waits, [](const auto &a, const auto &b) {
    return std::make_pair(-a.second, a.first) <
           std::make_pair(-b.second, b.first);
  });
  return waits;
}

std::string fa4::sim::barriersAt(const WarpTimes &times, uint32_t line) {
  auto found = times.barriers.find(line);
  if (found == times.barriers.end() || found->second.empty())
    return "";
  return " (" + llvm::join(found->second, ", ") + ")";
}

static void printRole(llvm::raw_ostream &os, const ptx::Module &module,
                      const WarpRole &role) {
  const WarpTimes &mean = role.mean;
  double total = std::max(mean.end - mean.begin, 1.0);
  auto share = [&](double clocks) { return clocks / total; };
  os << formatv("  {0,-18} {1,10:f0} {2,7:p0} {3,7:p0} {4,7:p0} {5,7:p0} "
                "{6,7:p0}\n",
                role.name(), total, share(mean.issue), share(mean.contention),
                share(mean.pipe()), share(mean.scoreboard),
                share(mean.waited()));
  constexpr size_t mostLines = 4;
  constexpr double leastShare = 0.01;
  std::vector<std::pair<uint32_t, double>> waits = longestWaits(mean);
  for (auto [line, clocks] : llvm::ArrayRef(waits).take_front(mostLines))
    if (share(clocks) >= leastShare)
      os << formatv("      {0,7:p0}  line {1}: {2}{3}\n", share(clocks), line,
                    module.lineText(line).trim().take_front(90),
                    barriersAt(mean, line));
}

void fa4::sim::printTime(llvm::raw_ostream &os, const ptx::Module &module,
                         const TimeResult &time) {
  os << formatv("  {0:f0} cycles, {1:f2} us at {2:f3} GHz", time.cycles,
                time.seconds * 1e6, time.clockGHz);
  if (time.flops > 0)
    os << formatv(", {0:f1} TFLOP/s", time.teraflops());
  os << formatv("\n  instruction costs: {0}\n", time.costSource);
  os << formatv("  {0} of {1} CTAs simulated; {2} SMs busy, {3} CTAs on each\n",
                time.simulatedCtas, time.ctas, time.busySms, time.ctasPerSm);
  for (const auto &[name, cycles] : time.bounds)
    os << formatv("  bound by {0}: {1:f0} cycles ({2:p0})\n", name, cycles,
                  cycles / time.cycles);
  os << formatv(
      "  CTA ({0},{1},{2}): {3:f0} cycles; units busy in its middle half:",
      time.ctaId[0], time.ctaId[1], time.ctaId[2], time.ctaCycles);
  std::vector<UnitShare> units = time.units;
  llvm::sort(units, [](const UnitShare &a, const UnitShare &b) {
    return std::make_pair(-a.steady, a.name) <
           std::make_pair(-b.steady, b.name);
  });
  const char *separator = " ";
  for (const UnitShare &unit : units) {
    os << formatv("{0}{1} {2:p0}", separator, unit.name, unit.steady);
    separator = ", ";
  }
  os << formatv("\n  {0,-18} {1,10} {2,7} {3,7} {4,7} {5,7} {6,7}\n", "",
                "cycles", "issue", "slots", "pipes", "results", "waits");
  std::vector<WarpRole> roles = findRoles(time);
  for (const WarpRole &role : roles)
    printRole(os, module, role);
  printPath(os, module, time, roles);
  if (time.sensitivity.empty())
    return;
  os << formatv("  {0,-26} {1,10} {2,10}   {3,8} {4,8}  confidence\n",
                "CTA's time over ranges", "from", "to", "at from", "at to");
  constexpr size_t mostParameters = 15;
  for (const Sensitivity &entry :
       llvm::ArrayRef(time.sensitivity).take_front(mostParameters))
    os << formatv("  {0,-26} {1,10:f2} {2,10:f2}   {3,8:p1} {4,8:p1}  {5}\n",
                  entry.parameter, entry.low, entry.high, entry.atLow,
                  entry.atHigh, entry.confidence);
}

static llvm::json::Value warpToJson(const WarpTimes &warp) {
  llvm::json::Object waits, barriers, pipes;
  for (const auto &[line, clocks] : warp.waits)
    waits[std::to_string(line)] = clocks;
  for (const auto &[line, names] : warp.barriers)
    if (!names.empty())
      barriers[std::to_string(line)] = llvm::json::Array(names);
  for (unsigned i = 0; i < numPipes; ++i)
    if (warp.pipes[i] > 0)
      pipes[nameOf(Pipe(i))] = warp.pipes[i];
  return llvm::json::Object{{"cta", int64_t(warp.cta)},
                            {"warp", int64_t(warp.warp)},
                            {"begin", warp.begin},
                            {"end", warp.end},
                            {"instructions", int64_t(warp.instructions)},
                            {"issue", warp.issue},
                            {"contention", warp.contention},
                            {"pipe", warp.pipe()},
                            {"pipes", std::move(pipes)},
                            {"scoreboard", warp.scoreboard},
                            {"waits", std::move(waits)},
                            {"barriers", std::move(barriers)}};
}

static llvm::json::Value sensitivityToJson(const Sensitivity &entry) {
  return llvm::json::Object{{"parameter", entry.parameter},
                            {"low", entry.low},
                            {"high", entry.high},
                            {"at_low", entry.atLow},
                            {"at_high", entry.atHigh},
                            {"confidence", std::string(1, entry.confidence)}};
}

llvm::json::Value fa4::sim::toJson(const TimeResult &time) {
  llvm::json::Object bounds, units, steady;
  for (const auto &[name, cycles] : time.bounds)
    bounds[name] = cycles;
  for (const UnitShare &unit : time.units)
    units[unit.name] =
        llvm::json::Object{{"share", unit.share}, {"steady", unit.steady}};
  llvm::json::Array warps, sensitivity, roles;
  for (const WarpTimes &warp : time.warps)
    warps.push_back(warpToJson(warp));
  for (const Sensitivity &entry : time.sensitivity)
    sensitivity.push_back(sensitivityToJson(entry));
  for (const WarpRole &role : findRoles(time))
    roles.push_back(
        llvm::json::Object{{"warps", role.name()}, {"duties", role.label()}});
  return llvm::json::Object{
      {"sensitivity", std::move(sensitivity)},
      {"critical_path", toJson(time.path)},
      {"roles", std::move(roles)},
      {"cycles", time.cycles},
      {"seconds", time.seconds},
      {"clock_ghz", time.clockGHz},
      {"flops", time.flops},
      {"teraflops", time.teraflops()},
      {"bounds", std::move(bounds)},
      {"costs", time.costSource},
      {"cta_cycles", time.ctaCycles},
      {"cta", llvm::json::Array{int64_t(time.ctaId[0]), int64_t(time.ctaId[1]),
                                int64_t(time.ctaId[2])}},
      {"units", std::move(units)},
      {"steady_units", std::move(steady)},
      {"warps", std::move(warps)},
      {"simulated_ctas", int64_t(time.simulatedCtas)},
      {"ctas", int64_t(time.ctas)},
      {"busy_sms", int64_t(time.busySms)},
      {"ctas_per_sm", int64_t(time.ctasPerSm)}};
}
