//===- ProtocolFacts.cpp - what is known of trip counts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolFacts.h"
#include "llvm/ADT/STLExtras.h"

using namespace fa4::tile;

/// Sums of so many inequalities are tried.
static constexpr unsigned kMaxSummands = 3;

LinearForm ProtocolFacts::simplify(const LinearForm &form) const {
  LinearForm result = form;
  for (auto [unknown, coefficient] : form.terms)
    if (auto it = equations.find(unknown); it != equations.end()) {
      result.terms.erase(unknown);
      result.add(it->second, coefficient);
    }
  return result;
}

void ProtocolFacts::assume(const LinearForm &form) {
  LinearForm simple = simplify(form);
  auto [it, isNew] = inequalities.try_emplace(simple.terms, simple.constant);
  it->second = std::min(it->second, simple.constant);
}

bool ProtocolFacts::assumeZero(const LinearForm &form) {
  LinearForm simple = simplify(form);
  if (simple.isConstant()) {
    LinearForm contradiction;
    contradiction.constant = simple.constant == 0 ? 0 : -1;
    assume(contradiction);
    return true;
  }
  for (auto [unknown, coefficient] : simple.terms) {
    if (coefficient != 1 && coefficient != -1)
      continue;
    LinearForm value;
    LinearForm rest = simple;
    rest.terms.erase(unknown);
    value.add(rest, -coefficient);
    unsigned solved = unknown;
    for (auto &equation : equations) {
      auto it = equation.second.terms.find(solved);
      if (it == equation.second.terms.end())
        continue;
      int64_t factor = it->second;
      equation.second.terms.erase(it);
      equation.second.add(value, factor);
    }
    equations[solved] = value;
    auto old = std::move(inequalities);
    inequalities.clear();
    for (auto &[terms, constant] : old)
      assume({terms, constant});
    return true;
  }
  return false;
}

std::optional<int64_t> ProtocolFacts::bound(const LinearForm &form,
                                            unsigned depth) const {
  if (form.isConstant())
    return form.constant;
  std::optional<int64_t> best;
  if (auto it = inequalities.find(form.terms); it != inequalities.end())
    best = form.constant - it->second;
  if (depth == kMaxSummands || best)
    return best;
  for (const auto &[terms, constant] : inequalities) {
    // Only sums that make the form shorter.
    LinearForm rest = form;
    rest.add({terms, constant}, -1);
    if (rest.terms.size() >= form.terms.size() + (depth == 0))
      continue;
    if (auto other = bound(rest, depth + 1); other && (!best || *other > *best))
      best = other;
  }
  return best;
}

std::optional<int64_t> ProtocolFacts::lowerBound(const LinearForm &form) const {
  return bound(simplify(form), 0);
}

std::optional<int64_t> ProtocolFacts::upperBound(const LinearForm &form) const {
  LinearForm negated;
  negated.add(simplify(form), -1);
  auto lower = bound(negated, 0);
  return lower ? std::optional<int64_t>(-*lower) : std::nullopt;
}

std::optional<bool>
ProtocolFacts::decide(ProtocolCondition::Predicate predicate,
                      const LinearForm &form) const {
  auto lower = lowerBound(form), upper = upperBound(form);
  bool isPositive = lower && *lower > 0, isNegative = upper && *upper < 0;
  bool notNegative = lower && *lower >= 0, notPositive = upper && *upper <= 0;
  auto known = [](bool yes, bool no) {
    return yes || no ? std::optional<bool>(yes) : std::nullopt;
  };
  switch (predicate) {
  case ProtocolCondition::Equal:
    return known(notNegative && notPositive, isPositive || isNegative);
  case ProtocolCondition::NotEqual:
    return known(isPositive || isNegative, notNegative && notPositive);
  case ProtocolCondition::Less:
    return known(isNegative, notNegative);
  case ProtocolCondition::LessEqual:
    return known(notPositive, isPositive);
  case ProtocolCondition::Greater:
    return known(isPositive, notPositive);
  case ProtocolCondition::GreaterEqual:
    return known(notNegative, isNegative);
  }
  llvm_unreachable("covered");
}

bool ProtocolFacts::isFeasible() const {
  return llvm::all_of(inequalities, [&](const auto &inequality) {
    LinearForm form{inequality.first, inequality.second};
    auto upper = upperBound(form);
    return !upper || *upper >= 0;
  });
}

void ProtocolFacts::appendKey(std::vector<LinearForm> forms,
                              llvm::SmallVectorImpl<int64_t> &key) const {
  std::map<unsigned, int64_t> shifts;
  auto shifted = [&](const LinearForm &form) {
    int64_t constant = form.constant;
    for (auto [unknown, coefficient] : form.terms)
      if (auto it = shifts.find(unknown); it != shifts.end())
        constant += coefficient * it->second;
    return constant;
  };
  auto append = [&](const LinearForm &form) {
    key.push_back(form.terms.size());
    for (auto [unknown, coefficient] : form.terms)
      key.append({int64_t(unknown), coefficient});
    key.push_back(shifted(form));
  };
  std::map<unsigned, bool> concerned;
  for (LinearForm &form : forms) {
    form = simplify(form);
    for (auto [unknown, coefficient] : form.terms) {
      concerned[unknown] = true;
      if ((coefficient != 1 && coefficient != -1) || shifts.count(unknown))
        continue;
      int64_t constant = shifted(form);
      shifts[unknown] = -constant * coefficient;
      break;
    }
  }
  for (const LinearForm &form : forms)
    append(form);
  for (const auto &[terms, constant] : inequalities)
    if (llvm::any_of(terms,
                     [&](const auto &t) { return concerned.count(t.first); }))
      append({terms, constant});
}
