//===- RegisterBudget.cpp - registers of each role ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/RegisterBudget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llvm;

namespace fa4 {
namespace {

/// A class of warpgroups with the same demand. All of them get the same budget.
struct Demand {
  unsigned wanted;
  unsigned weight;
  /// The number of warpgroups with this demand.
  unsigned count = 0;
  unsigned granted = 0;
};

/// The first and the last warpgroup of a role.
struct Span {
  unsigned first;
  unsigned last;
};

} // namespace

/// Returns the warpgroups of each role, or the reason why roles cannot have
/// budgets of their own.
static Expected<SmallVector<Span>> layOut(const TargetDescription &target,
                                          ArrayRef<RoleDemand> roles) {
  if (roles.empty())
    return createStringError("no roles to give registers to");
  unsigned perGroup = target.warpsPerWarpgroup();
  SmallVector<Span> spans;
  unsigned warp = 0;
  for (auto [index, role] : enumerate(roles)) {
    if (role.warps == 0)
      return createStringError(formatv("role {0} has no warps", index));
    if (role.warps > target.maxWarps() - warp)
      return createStringError(
          formatv("role {0} ends beyond the {1} warps of a CTA on {2}", index,
                  target.maxWarps(), target.chip));
    if (role.wantedRegisters > target.maxRegisterBudget)
      return createStringError(formatv(
          "role {0} wants {1} registers per thread; {2} has at most "
          "{3}",
          index, role.wantedRegisters, target.chip, target.maxRegisterBudget));
    Span span{warp / perGroup, (warp + role.warps - 1) / perGroup};
    if (span.first != span.last && warp % perGroup != 0)
      return createStringError(
          formatv("role {0} has warps {1} to {2}, of more than one warpgroup, "
                  "and does not begin at a multiple of {3}: setmaxnreg is one "
                  "for a warpgroup",
                  index, warp, warp + role.warps - 1, perGroup));
    spans.push_back(span);
    warp += role.warps;
  }
  return spans;
}

/// Returns true if `a` should get the next registers before `b`. While a class
/// has less than it wants, the class that lacks more in proportion comes first;
/// beyond that, the class that has less for its weight.
static bool isNeedier(const Demand &a, const Demand &b) {
  bool aShort = a.granted < a.wanted, bShort = b.granted < b.wanted;
  if (aShort != bShort)
    return aShort;
  uint64_t aHas, bHas;
  if (aShort) {
    aHas = uint64_t(a.granted) * b.wanted;
    bHas = uint64_t(b.granted) * a.wanted;
  } else {
    aHas = uint64_t(a.granted - a.wanted) * b.weight;
    bHas = uint64_t(b.granted - b.wanted) * a.weight;
  }
  return aHas != bHas ? aHas < bHas : a.weight > b.weight;
}

/// Returns the class that gets one more granule for each of its warpgroups out
/// of `pool`, or null if none can.
static Demand *nextToGrow(const TargetDescription &target,
                          MutableArrayRef<Demand> demands, unsigned pool) {
  Demand *best = nullptr;
  for (Demand &demand : demands) {
    if (demand.granted + target.registerGranule > target.maxRegisterBudget ||
        demand.count * target.registerGranule > pool ||
        (demand.weight == 0 && demand.granted >= demand.wanted))
      continue;
    if (!best || isNeedier(demand, *best))
      best = &demand;
  }
  return best;
}

/// Distributes `pool` registers (a sum over warpgroups) to the classes.
static void distribute(const TargetDescription &target,
                       MutableArrayRef<Demand> demands, unsigned pool) {
  for (Demand &demand : demands) {
    demand.granted = target.minRegisterBudget;
    pool -= demand.count * demand.granted;
  }
  // Warps that only issue get what they want first: they want little, and a
  // spill there would cost latency on the critical path.
  for (Demand &demand : demands) {
    while (demand.weight == 0 && demand.granted < demand.wanted &&
           demand.count * target.registerGranule <= pool) {
      demand.granted += target.registerGranule;
      pool -= demand.count * target.registerGranule;
    }
  }
  while (Demand *demand = nextToGrow(target, demands, pool)) {
    demand->granted += target.registerGranule;
    pool -= demand->count * target.registerGranule;
  }
}

/// Returns the demand of each warpgroup, which is the largest among its roles.
static SmallVector<Demand> demandsOf(const TargetDescription &target,
                                     ArrayRef<RoleDemand> roles,
                                     ArrayRef<Span> spans) {
  SmallVector<Demand> result(spans.back().last + 1, Demand{0, 0});
  for (auto [role, span] : zip_equal(roles, spans)) {
    for (unsigned group = span.first; group <= span.last; ++group) {
      Demand &demand = result[group];
      demand.wanted = std::max(
          demand.wanted, unsigned(alignTo(std::max(role.wantedRegisters,
                                                   target.minRegisterBudget),
                                          target.registerGranule)));
      demand.weight = std::max(demand.weight, role.weight);
    }
  }
  return result;
}

Expected<RegisterBudgets> assignRegisterBudgets(const TargetDescription &target,
                                                ArrayRef<RoleDemand> roles) {
  Expected<SmallVector<Span>> spans = layOut(target, roles);
  if (!spans)
    return spans.takeError();

  SmallVector<Demand> groups = demandsOf(target, roles, *spans);
  unsigned threads = groups.size() * target.warpgroupSize;
  RegisterBudgets result;
  result.warps = threads / target.warpSize;
  result.entry = std::min<unsigned>(
      alignDown(target.registerFileWords / threads, target.registerGranule),
      target.maxRegisterBudget);
  if (result.entry < target.minRegisterBudget)
    return createStringError(
        formatv("{0} threads leave {1} registers each, less than the {2} that "
                "setmaxnreg takes",
                threads, result.entry, target.minRegisterBudget));

  SmallVector<Demand> classes;
  SmallVector<unsigned> classOf;
  for (const Demand &group : groups) {
    auto *it = find_if(classes, [&](const Demand &c) {
      return c.wanted == group.wanted && c.weight == group.weight;
    });
    classOf.push_back(it - classes.begin());
    if (it == classes.end())
      classes.push_back(group);
    ++classes[classOf.back()].count;
  }
  distribute(target, classes, result.entry * groups.size());

  for (unsigned index : classOf)
    result.warpgroups.push_back(classes[index].granted);
  for (auto [role, span] : zip_equal(roles, *spans)) {
    // A role of several warpgroups may share its last warpgroup with roles that
    // want more. The role's code has one budget, so the smallest of its
    // warpgroups counts.
    unsigned granted = *std::min_element(&result.warpgroups[span.first],
                                         &result.warpgroups[span.last] + 1);
    result.roles.push_back(granted);
    result.shortfall.push_back(
        role.wantedRegisters > granted ? role.wantedRegisters - granted : 0);
  }
  return result;
}

} // namespace fa4
