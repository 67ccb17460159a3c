//===- ProtocolCases.cpp - numbers of passes to explore ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolCases.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <set>

using namespace fa4::tile;

namespace {

/// Runs one role after the other. Where an answer rests on an unknown without a
/// value, each value is tried.
class CaseFinder {
public:
  CaseFinder(const ProtocolModel &model, int64_t maxPasses,
             int64_t maxOuterPasses, size_t maxCases);
  bool run() {
    follow(0, RoleCursor(model, 0));
    return cases.size() <= maxCases;
  }
  std::vector<ProtocolCase> takeInOrder();

private:
  void follow(unsigned role, RoleCursor cursor);
  /// None: it rests on `missing`. Not possible: `isPossible` is false.
  std::optional<bool> answer(const RoleCursor &cursor);
  std::optional<int64_t> evaluate(const LinearForm &form);
  void tryAll(unsigned role, const RoleCursor &cursor, Unknown unknown);
  void record();

  const ProtocolModel &model;
  int64_t maxPasses, maxOuterPasses;
  size_t maxCases;
  /// Only whether they are 0 matters.
  std::vector<bool> isTruth;
  std::map<Unknown, int64_t> values;
  std::optional<Unknown> missing;
  bool isPossible = true;
  ProtocolCase current;
  std::vector<bool> answers;
  std::set<std::vector<bool>> seen;
  std::vector<ProtocolCase> cases;
};

} // namespace

CaseFinder::CaseFinder(const ProtocolModel &model, int64_t maxPasses,
                       int64_t maxOuterPasses, size_t maxCases)
    : model(model), maxPasses(maxPasses), maxOuterPasses(maxOuterPasses),
      maxCases(maxCases), isTruth(model.depths.size(), true) {
  auto mark = [&](const LinearForm &form) {
    for (auto [unknown, coefficient] : form.terms)
      isTruth[unknown.number()] = false;
  };
  for (const ProtocolLoop &loop : model.loops)
    mark(loop.trips);
  for (const auto &[unknown, form] : model.clamped)
    mark(form);
  for (const ProtocolCondition &condition : model.conditions)
    if (condition.predicate != ProtocolCondition::NotEqual ||
        condition.form.terms.size() != 1 || condition.form.constant != 0 ||
        condition.slope != 0)
      mark(condition.form);
  current.traces.resize(model.roles.size());
  current.passes.resize(model.loops.size());
}

std::optional<int64_t> CaseFinder::evaluate(const LinearForm &form) {
  int64_t sum = form.constant;
  for (auto [unknown, coefficient] : form.terms) {
    if (auto it = model.clamped.find(unknown.number());
        it != model.clamped.end()) {
      auto value = evaluate(model.instantiate(it->second, unknown.passes()));
      if (!value)
        return std::nullopt;
      sum += coefficient * std::max<int64_t>(*value, 0);
      continue;
    }
    auto it = values.find(unknown);
    if (it == values.end()) {
      missing = unknown;
      return std::nullopt;
    }
    sum += coefficient * it->second;
  }
  return sum;
}

std::optional<bool> CaseFinder::answer(const RoleCursor &cursor) {
  const ProtocolQuestion &question = cursor.question();
  if (question.kind == ProtocolQuestion::AnotherPass) {
    const ProtocolLoop &loop = model.loops[question.number];
    auto trips =
        evaluate(model.instantiate(loop.trips, cursor.instance(loop.parents)));
    if (!trips)
      return std::nullopt;
    isPossible &= *trips >= loop.atLeast &&
                  *trips <= (loop.inside ? maxOuterPasses : maxPasses);
    return question.pass < *trips;
  }
  const ProtocolCondition &condition = model.conditions[question.number];
  auto value = evaluate(
      model.instantiate(condition.form, cursor.instance(condition.parents)));
  if (!value)
    return std::nullopt;
  return ProtocolCondition::holds(condition.predicate,
                                  *value + condition.slope * question.pass);
}

void CaseFinder::tryAll(unsigned role, const RoleCursor &cursor,
                        Unknown unknown) {
  std::vector<size_t> events;
  for (const ProtocolTrace &trace : current.traces)
    events.push_back(trace.size());
  auto passes = current.passes;
  size_t answerCount = answers.size();
  bool isFlag = isTruth[unknown.number()];
  int64_t last = isFlag ? 1 : std::max(maxPasses, maxOuterPasses) + 1;
  for (int64_t value = isFlag ? 0 : -1; value <= last; ++value) {
    values[unknown] = value;
    follow(role, cursor);
    for (auto [trace, size] : llvm::zip(current.traces, events))
      trace.erase(trace.begin() + size, trace.end());
    current.passes = passes;
    answers.resize(answerCount);
    isPossible = true;
  }
  values.erase(unknown);
}

void CaseFinder::follow(unsigned role, RoleCursor cursor) {
  while (cases.size() <= maxCases) {
    if (cursor.fetch()) {
      current.traces[role].push_back(cursor.event());
      cursor.pop();
    } else if (!cursor.isAtEnd()) {
      std::optional<bool> yes = answer(cursor);
      if (!yes)
        return tryAll(role, cursor, *missing);
      if (!isPossible)
        return;
      const ProtocolQuestion &question = cursor.question();
      if (question.kind == ProtocolQuestion::AnotherPass && !*yes)
        current.passes[question.number].push_back(question.pass);
      answers.push_back(*yes);
      cursor.answer(*yes);
    } else if (++role < model.roles.size()) {
      cursor = RoleCursor(model, role);
    } else {
      return record();
    }
  }
}

void CaseFinder::record() {
  if (seen.insert(answers).second)
    cases.push_back(current);
}

int64_t ProtocolCase::total() const {
  int64_t sum = 0;
  for (const auto &ofLoop : passes)
    sum = std::accumulate(ofLoop.begin(), ofLoop.end(), sum);
  return sum;
}

std::vector<ProtocolCase> CaseFinder::takeInOrder() {
  llvm::sort(cases, [&](const ProtocolCase &a, const ProtocolCase &b) {
    return std::pair(a.total(), a.passes) < std::pair(b.total(), b.passes);
  });
  return std::move(cases);
}

std::optional<std::vector<ProtocolCase>>
fa4::tile::findProtocolCases(const ProtocolModel &model, int64_t maxPasses,
                             int64_t maxOuterPasses, size_t maxCases) {
  CaseFinder finder(model, maxPasses, maxOuterPasses, maxCases);
  if (!finder.run())
    return std::nullopt;
  return finder.takeInOrder();
}
