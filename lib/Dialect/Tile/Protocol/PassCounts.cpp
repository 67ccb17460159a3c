//===- PassCounts.cpp - how many passes loops make ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassCounts.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;

void PassCounts::relateClamped(ProtocolFacts &facts,
                               const LinearForm &form) const {
  for (auto [unknown, coefficient] : form.terms) {
    auto it = model.clamped.find(unknown.number());
    if (it == model.clamped.end())
      continue;
    LinearForm length = model.instantiate(it->second, unknown.passes());
    auto lower = facts.lowerBound(length), upper = facts.upperBound(length);
    LinearForm value;
    value.terms[unknown] = 1;
    auto least = facts.lowerBound(value);
    bool isLength = (lower && *lower >= 0) || (least && *least > 0);
    bool isZero = !isLength && upper && *upper <= 0;
    if (!isZero)
      value.add(length, -1);
    if (isLength || isZero)
      facts.assumeZero(value);
    else
      facts.assume(value);
  }
}

void PassCounts::assumeLeast(ProtocolFacts &facts,
                             ArrayRef<int64_t> instance) const {
  for (const ProtocolLoop &loop : model.loops) {
    if (loop.parents.size() != instance.size())
      continue;
    LinearForm form = model.instantiate(loop.trips, instance);
    if (form.isConstant())
      continue;
    form.constant -= loop.atLeast;
    facts.assume(form);
  }
}

int64_t PassCounts::leastPasses(const Machine &machine,
                                const ProtocolLoop &loop,
                                ArrayRef<int64_t> instance) const {
  auto least =
      machine.facts.lowerBound(model.instantiate(loop.trips, instance));
  return std::max({least ? *least : 0, loop.atLeast, int64_t(0)});
}

int64_t PassCounts::countPasses(const Machine &machine) const {
  int64_t sum = 0;
  SmallVector<int64_t> passes(model.loops.size(), 0);
  for (auto [i, loop] : llvm::enumerate(model.loops)) {
    const RoleCursor &cursor = machine.cursors[loop.role];
    sum += machine.passesLeft[i];
    bool isHere = llvm::all_of(
        loop.parents, [&](unsigned outer) { return cursor.isIn(outer); });
    auto instance = cursor.instance(loop.parents);
    if (isHere && !cursor.isLeft(i)) {
      passes[i] =
          std::max(leastPasses(machine, loop, instance), cursor.passes(i));
      sum += passes[i];
    }
    if (loop.parents.size() != 1 || cursor.isLeft(loop.parents[0]))
      continue;
    // The loop runs again in each later pass of the loop around it.
    unsigned outer = loop.parents[0];
    for (int64_t pass = std::max<int64_t>(cursor.passes(outer), 0);
         pass < passes[outer]; ++pass)
      sum += leastPasses(machine, loop, pass + model.loops[outer].firstPass);
  }
  return sum;
}

/// Returns true if the form has no unknown that depends on passes.
static bool isPlain(const ProtocolModel &model, const LinearForm &form) {
  return llvm::all_of(form.terms, [&](const auto &term) {
    return model.depths[term.first.number()] == 0;
  });
}

void PassCounts::assumePlain(ProtocolFacts &facts) const {
  for (const ProtocolLoop &loop : model.loops)
    if (isPlain(model, loop.trips)) {
      LinearForm form = loop.trips;
      form.constant -= loop.atLeast;
      facts.assume(form);
      relateClamped(facts, loop.trips);
    }
}
