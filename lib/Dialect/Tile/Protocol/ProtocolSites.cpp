//===- ProtocolSites.cpp - what roles can still ask of trip counts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolSites.h"
#include "llvm/ADT/STLExtras.h"

using namespace fa4::tile;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

/// Returns the value of `condition` if it is the same in this and all later
/// passes.
static std::optional<bool> decideForGood(const ProtocolFacts &facts,
                                         const ProtocolCondition &condition,
                                         const LinearForm &form) {
  std::optional<bool> now = facts.decide(condition.predicate, form);
  if (!now || condition.slope == 0)
    return now;
  bool isRising = condition.slope > 0;
  auto bound = isRising ? facts.lowerBound(form) : facts.upperBound(form);
  bool hasPassedZero = bound && (isRising ? *bound > 0 : *bound < 0);
  return hasPassedZero ? now : std::nullopt;
}

ProtocolSites::ProtocolSites(const ProtocolModel &model,
                             ArrayRef<RoleCursor> cursors,
                             const ProtocolFacts &facts)
    : model(model), cursors(cursors), facts(facts) {
  if (llvm::any_of(model.depths, [](unsigned depth) { return depth > 0; }))
    known = facts.unknowns();
  for (unsigned i = 0; i < model.loops.size(); ++i)
    addLoop(i);
  for (unsigned i = 0; i < model.conditions.size(); ++i)
    addCondition(i);
}

std::optional<ProtocolSites::Passes>
ProtocolSites::firstPasses(unsigned role, ArrayRef<unsigned> parents,
                           bool isPast) const {
  const RoleCursor &cursor = cursors[role];
  unsigned left = 0;
  while (left < parents.size() && !cursor.isLeft(parents[left]))
    ++left;
  bool isGone = left < parents.size() || isPast;
  if (left == 0 && isGone)
    return std::nullopt;
  Passes passes = cursor.instance(parents);
  if (!isGone)
    return passes;
  // The role can come to the site in the next pass of the innermost loop that
  // it has not left.
  ++passes[left - 1];
  for (unsigned i = left; i < parents.size(); ++i)
    passes[i] = model.loops[parents[i]].firstPass;
  return passes;
}

SmallVector<Unknown> ProtocolSites::findKnown(const LinearForm &form,
                                              ArrayRef<int64_t> first) const {
  SmallVector<Unknown> result;
  for (Unknown unknown : known) {
    if (unknown.passes().empty() || !form.terms.count(unknown.number()))
      continue;
    Passes passes = unknown.passes();
    ArrayRef<int64_t> from = first.take_front(passes.size());
    if (!std::lexicographical_compare(passes.begin(), passes.end(),
                                      from.begin(), from.end()))
      result.push_back(unknown);
  }
  return result;
}

void ProtocolSites::keep(const LinearForm &form) {
  for (auto [unknown, coefficient] : form.terms)
    kept.insert(unknown);
}

void ProtocolSites::place(const LinearForm &form, ArrayRef<int64_t> passes) {
  for (auto [unknown, coefficient] : form.terms) {
    unsigned number = unknown.number(), depth = model.depths[number];
    if (depth == 0)
      continue;
    positions.push_back(Unknown(number, passes.take_front(depth)));
    int64_t inner = depth > 1 ? passes[1] : 0;
    auto it = bases[number].try_emplace(passes[0], inner).first;
    it->second = std::min(it->second, inner);
  }
}

void ProtocolSites::addLoop(unsigned number) {
  const ProtocolLoop &loop = model.loops[number];
  const RoleCursor &cursor = cursors[loop.role];
  bool isPast = cursor.passes(number) >= 0;
  if (cursor.isIn(number) || (!isPast && loop.parents.empty())) {
    Passes passes = cursor.instance(loop.parents);
    LinearForm left = model.instantiate(loop.trips, passes);
    place(loop.trips, passes);
    keep(left);
    left.constant -= std::max<int64_t>(cursor.passes(number), 0);
    forms.push_back(std::move(left));
  }
  auto first = firstPasses(loop.role, loop.parents, isPast);
  if (!first || loop.parents.empty())
    return;
  place(loop.trips, *first);
  // Other roles may have asked for this number already, so facts about it may
  // exist. This role will ask for the whole number. The passes that an earlier
  // loop with the same number has left are no help: they are only a difference.
  for (Unknown unknown : findKnown(loop.trips, *first)) {
    Passes later = unknown.passes();
    for (unsigned i = later.size(); i < loop.parents.size(); ++i)
      later.push_back(model.loops[loop.parents[i]].firstPass);
    LinearForm form = model.instantiate(loop.trips, later);
    keep(form);
    forms.push_back(std::move(form));
  }
}

void ProtocolSites::decide(unsigned number, ArrayRef<int64_t> passes,
                           int64_t pass) {
  const ProtocolCondition &condition = model.conditions[number];
  LinearForm form = model.instantiate(condition.form, passes);
  keep(form);
  place(condition.form, passes);
  std::optional<Unknown> unknown;
  if (!form.terms.empty())
    unknown = form.terms.rbegin()->first;
  form.constant += condition.slope * pass;
  auto truth = decideForGood(facts, condition, form);
  if (truth)
    truths.push_back({number, unknown, *truth});
  else
    forms.push_back(std::move(form));
}

void ProtocolSites::addCondition(unsigned number) {
  const ProtocolCondition &condition = model.conditions[number];
  const RoleCursor &cursor = cursors[condition.role];
  ArrayRef<unsigned> parents = condition.parents;
  // A condition that counts the passes of a loop is asked like the loop's
  // number of passes: its unknowns are new in each pass of the outer loops
  // only.
  ArrayRef<unsigned> outer = parents;
  bool isPast = false;
  if (condition.loop != -1) {
    outer = parents.take_until(
        [&](unsigned loop) { return int(loop) == condition.loop; });
    isPast = cursor.passes(condition.loop) >= 0;
    if (cursor.isIn(condition.loop))
      // The present pass may still have to ask.
      decide(number, cursor.instance(parents),
             std::max<int64_t>(cursor.passes(condition.loop) - 1, 0));
  }
  auto first = firstPasses(condition.role, outer, isPast);
  if (!first)
    return;
  Passes passes = *first;
  for (unsigned loop : parents.drop_front(outer.size()))
    passes.push_back(model.loops[loop].firstPass);
  // A condition without unknowns of a pass is the same in all passes.
  decide(number, passes, 0);
  for (Unknown unknown : findKnown(condition.form, passes)) {
    Passes later = unknown.passes();
    for (unsigned i = later.size(); i < parents.size(); ++i)
      later.push_back(model.loops[parents[i]].firstPass);
    if (later != passes)
      decide(number, later, 0);
  }
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

ProtocolSites::Passes ProtocolSites::relative(Unknown unknown) const {
  Passes passes = unknown.passes();
  auto base = bases.find(unknown.number());
  if (passes.empty() || base == bases.end())
    return passes;
  if (passes.size() > 1)
    if (auto it = base->second.find(passes[0]); it != base->second.end())
      passes[1] -= it->second;
  passes[0] -= base->second.begin()->first;
  return passes;
}

void ProtocolSites::appendKey(SmallVectorImpl<int64_t> &key) const {
  for (auto [i, loop] : llvm::enumerate(model.loops))
    key.push_back(cursors[loop.role].isLeft(i));
  auto rename = [&](Unknown unknown) {
    int64_t name = unknown.number();
    for (int64_t pass : relative(unknown))
      name = name * 4096 + pass + 2048;
    return name;
  };
  for (Unknown position : positions)
    key.push_back(rename(position));
  for (const Truth &truth : truths)
    key.append({truth.condition, truth.unknown ? rename(*truth.unknown) : -1,
                truth.value});
  facts.appendKey(forms, rename, key);
}
