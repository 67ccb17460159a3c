//===- ComparePrinter.cpp - two timed launches side by side ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComparePrinter.h"
#include "PathPrinter.h"
#include "TimePrinter.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

using namespace fa4::sim;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// Where the time of a role goes: the name of each part, and its share.
using Parts = llvm::MapVector<StringRef, double>;

/// A number of each side; nothing where a side does not have it.
using Pair = std::pair<std::optional<double>, std::optional<double>>;

} // namespace

static Parts partsOf(const WarpRole &role) {
  const WarpTimes &mean = role.mean;
  double total = std::max(mean.end - mean.begin, 1.0);
  Parts parts;
  parts["issue"] = mean.issue / total;
  parts["issue slots of others"] = mean.contention / total;
  for (unsigned i = 0; i < numPipes; ++i)
    if (mean.pipes[i] > 0)
      parts[nameOf(Pipe(i))] = mean.pipes[i] / total;
  parts["results"] = mean.scoreboard / total;
  parts["waits"] = mean.waited() / total;
  return parts;
}

/// The cycles of a period that a share of the time is; nothing without a
/// period.
static std::optional<double> inPeriod(const TimedSide &side,
                                      std::optional<double> share) {
  if (!share || side.time.path.steps.empty())
    return std::nullopt;
  return *share * side.time.path.mean;
}

static std::string text(std::optional<double> value, const char *unit) {
  if (!value)
    return "-";
  if (*unit == '%')
    return formatv("{0:p0}", *value);
  return formatv("{0:f0}{1}", *value, unit);
}

static void printRow(llvm::raw_ostream &os, StringRef name, Pair values,
                     const char *unit) {
  os << formatv("  {0,-26} {1,12} {2,12}", name, text(values.first, unit),
                text(values.second, unit));
  // A ratio of small shares says nothing.
  if (*unit != '%' && values.first && values.second && *values.second > 0)
    os << formatv(" {0,8:f3}", *values.first / *values.second);
  os << "\n";
}

static void printUnits(llvm::raw_ostream &os, const TimedSide &a,
                       const TimedSide &b) {
  constexpr double leastShare = 0.005;
  llvm::MapVector<StringRef, Pair> units;
  for (const UnitShare &unit : a.time.units)
    units[unit.name].first = unit.steady;
  for (const UnitShare &unit : b.time.units)
    units[unit.name].second = unit.steady;
  os << "units busy in the middle half of the longest CTA\n";
  for (const auto &[name, shares] : units)
    if (std::max(shares.first.value_or(0), shares.second.value_or(0)) >=
        leastShare)
      printRow(os, name, shares, "%");
}

/// The waits of a role that take the most of its time.
static void printWaits(llvm::raw_ostream &os, StringRef letter,
                       const TimedSide &side, const WarpRole &role) {
  constexpr size_t mostLines = 3;
  constexpr double leastShare = 0.02;
  double total = std::max(role.mean.end - role.mean.begin, 1.0);
  std::vector<std::pair<uint32_t, double>> waits = longestWaits(role.mean);
  for (auto [line, clocks] : llvm::ArrayRef(waits).take_front(mostLines))
    if (clocks >= leastShare * total)
      os << formatv("      {0} {1,5:p0}  line {2}: {3}{4}\n", letter,
                    clocks / total, line, opcodeAt(side.module, line),
                    barriersAt(role.mean, line));
}

static void printRoles(llvm::raw_ostream &os, const TimedSide &a,
                       const TimedSide &b, const RolePair &pair) {
  const WarpRole *first = pair.first ? pair.first : pair.second;
  os << first->label();
  if (pair.first && pair.second && pair.first->label() != pair.second->label())
    os << " / " << pair.second->label();
  os << ": " << (pair.first ? pair.first->name() : "none") << " of A, "
     << (pair.second ? pair.second->name() : "none") << " of B\n";
  llvm::MapVector<StringRef, Pair> rows;
  if (pair.first)
    for (const auto &[name, share] : partsOf(*pair.first))
      rows[name].first = share;
  if (pair.second)
    for (const auto &[name, share] : partsOf(*pair.second))
      rows[name].second = share;
  constexpr double leastShare = 0.005;
  for (const auto &[name, shares] : rows) {
    if (std::max(shares.first.value_or(0), shares.second.value_or(0)) <
        leastShare)
      continue;
    os << formatv("  {0,-26} {1,5} {2,6} {3,5} {4,6}\n", name,
                  text(shares.first, "%"), text(inPeriod(a, shares.first), ""),
                  text(shares.second, "%"),
                  text(inPeriod(b, shares.second), ""));
  }
  if (pair.first)
    printWaits(os, "A", a, *pair.first);
  if (pair.second)
    printWaits(os, "B", b, *pair.second);
}

void fa4::sim::printComparison(llvm::raw_ostream &os, const TimedSide &a,
                               const TimedSide &b) {
  for (auto [letter, side] : {std::make_pair("A", &a), std::make_pair("B", &b)})
    os << formatv("{0}: {1}{2}{3}\n   instruction costs: {4}; {5} of {6} CTAs "
                  "simulated\n",
                  letter, side->file, side->entry.empty() ? "" : ", ",
                  StringRef(side->entry).take_front(60), side->time.costSource,
                  side->time.simulatedCtas, side->time.ctas);
  os << formatv("  {0,-26} {1,12} {2,12} {3,8}\n", "", "A", "B", "A / B");
  auto period = [](const TimedSide &side) -> std::optional<double> {
    if (side.time.path.steps.empty())
      return std::nullopt;
    return side.time.path.mean;
  };
  printRow(os, "cycles", {a.time.cycles, b.time.cycles}, "");
  if (a.time.flops > 0 || b.time.flops > 0)
    printRow(os, "TFLOP/s", {a.time.teraflops(), b.time.teraflops()}, "");
  printRow(os, "cycles of the longest CTA",
           {a.time.ctaCycles, b.time.ctaCycles}, "");
  printRow(os, "cycles of a period", {period(a), period(b)}, "");
  printUnits(os, a, b);
  os << "roles: shares of their time, and cycles of a period\n";
  std::vector<WarpRole> ofA = findRoles(a.time), ofB = findRoles(b.time);
  for (const RolePair &pair : matchRoles(ofA, ofB))
    printRoles(os, a, b, pair);
  os << "A\n";
  printPath(os, a.module, a.time, ofA);
  os << "B\n";
  printPath(os, b.module, b.time, ofB);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Value roleToJson(const TimedSide &side,
                                    const WarpRole *role) {
  if (!role)
    return nullptr;
  llvm::json::Object shares, cycles;
  for (const auto &[name, share] : partsOf(*role)) {
    shares[name] = share;
    if (std::optional<double> inside = inPeriod(side, share))
      cycles[name] = *inside;
  }
  llvm::json::Array waits;
  double total = std::max(role->mean.end - role->mean.begin, 1.0);
  for (const auto &[line, clocks] : longestWaits(role->mean))
    waits.push_back(llvm::json::Object{{"line", int64_t(line)},
                                       {"opcode", opcodeAt(side.module, line)},
                                       {"share", clocks / total}});
  return llvm::json::Object{{"warps", role->name()},
                            {"duties", role->label()},
                            {"shares", std::move(shares)},
                            {"cycles_of_a_period", std::move(cycles)},
                            {"waits", std::move(waits)}};
}

llvm::json::Value fa4::sim::comparisonToJson(const TimedSide &a,
                                             const TimedSide &b) {
  auto whole = [](const TimedSide &side) {
    return llvm::json::Object{{"manifest", side.file},
                              {"entry", side.entry},
                              {"time", toJson(side.time)}};
  };
  std::vector<WarpRole> ofA = findRoles(a.time), ofB = findRoles(b.time);
  llvm::json::Array roles;
  for (const RolePair &pair : matchRoles(ofA, ofB))
    roles.push_back(llvm::json::Object{{"a", roleToJson(a, pair.first)},
                                       {"b", roleToJson(b, pair.second)}});
  return llvm::json::Object{{"a", whole(a)},
                            {"b", whole(b)},
                            {"ratio", a.time.cycles / b.time.cycles},
                            {"roles", std::move(roles)}};
}
