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
using llvm::SmallVector;

/// A bound is sought among sums of at most so many inequalities.
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

/// Solves `form == 0` for an unknown whose coefficient is 1 or -1.
static LinearForm solve(const LinearForm &form, Unknown unknown) {
  LinearForm rest = form, value;
  int64_t coefficient = rest.terms.at(unknown);
  rest.terms.erase(unknown);
  value.add(rest, -coefficient);
  return value;
}

bool ProtocolFacts::assumeZero(const LinearForm &form) {
  LinearForm simple = simplify(form);
  if (simple.isConstant()) {
    LinearForm contradiction;
    contradiction.constant = simple.constant == 0 ? 0 : -1;
    assume(contradiction);
    return true;
  }
  std::optional<Unknown> solved;
  for (auto [unknown, coefficient] : simple.terms)
    // Solve for the unknown of the latest pass: it will be forgotten first, and
    // then the equation can be dropped as a whole.
    if ((coefficient == 1 || coefficient == -1) &&
        (!solved || !unknown.passes().empty()))
      solved = unknown;
  if (!solved)
    return false;
  LinearForm value = solve(simple, *solved);
  substitute(*solved, value);
  equations[*solved] = value;
  return true;
}

void ProtocolFacts::substitute(Unknown unknown, const LinearForm &value) {
  for (auto &equation : equations) {
    auto it = equation.second.terms.find(unknown);
    if (it == equation.second.terms.end())
      continue;
    int64_t factor = it->second;
    equation.second.terms.erase(it);
    equation.second.add(value, factor);
  }
  auto old = std::move(inequalities);
  inequalities.clear();
  for (const auto &[terms, constant] : old) {
    LinearForm form{terms, constant};
    if (auto it = form.terms.find(unknown); it != form.terms.end()) {
      int64_t factor = it->second;
      form.terms.erase(it);
      form.add(value, factor);
    }
    assume(form);
  }
}

std::set<Unknown> ProtocolFacts::unknowns() const {
  std::set<Unknown> result;
  for (const auto &[terms, constant] : inequalities)
    for (auto [unknown, coefficient] : terms)
      result.insert(unknown);
  for (const auto &[solved, value] : equations) {
    result.insert(solved);
    for (auto [unknown, coefficient] : value.terms)
      result.insert(unknown);
  }
  return result;
}

/// Adds the inequalities that remain when `unknown` is removed: `x >= 1` and `y
/// >= x` give `y >= 1`.
void ProtocolFacts::eliminate(Unknown unknown) {
  SmallVector<LinearForm> below, above;
  for (const auto &[terms, constant] : inequalities)
    if (auto it = terms.find(unknown); it != terms.end()) {
      if (it->second == 1)
        below.push_back({terms, constant});
      else if (it->second == -1)
        above.push_back({terms, constant});
    }
  for (const LinearForm &least : below)
    for (const LinearForm &most : above) {
      LinearForm sum = least;
      sum.add(most);
      if (!sum.isConstant())
        assume(sum);
    }
}

void ProtocolFacts::forget(llvm::function_ref<bool(Unknown)> isOld) {
  for (Unknown unknown : unknowns()) {
    if (!isOld(unknown) || equations.erase(unknown))
      continue;
    for (auto &[other, form] : equations) {
      auto it = form.terms.find(unknown);
      if (it == form.terms.end())
        continue;
      // An equation in which the unknown occurs can replace it everywhere, if
      // its coefficient is 1 or -1. Otherwise the facts about it are lost.
      LinearForm equation = form;
      equation.terms[other] = -1;
      int64_t coefficient = it->second;
      equations.erase(other);
      if (coefficient == 1 || coefficient == -1)
        substitute(unknown, solve(equation, unknown));
      break;
    }
    eliminate(unknown);
    auto isAbout = [&](const auto &fact) { return fact.terms.count(unknown); };
    for (auto it = equations.begin(); it != equations.end();)
      it = isAbout(it->second) ? equations.erase(it) : std::next(it);
    for (auto it = inequalities.begin(); it != inequalities.end();)
      it = it->first.count(unknown) ? inequalities.erase(it) : std::next(it);
  }
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
    // Only sums that make the form shorter are tried.
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
                              llvm::function_ref<int64_t(Unknown)> rename,
                              llvm::SmallVectorImpl<int64_t> &key) const {
  std::map<Unknown, int64_t> shifts;
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
      key.append({rename(unknown), coefficient});
    key.push_back(shifted(form));
  };
  std::set<Unknown> concerned;
  for (LinearForm &form : forms) {
    form = simplify(form);
    for (auto [unknown, coefficient] : form.terms)
      concerned.insert(unknown);
    for (auto [unknown, coefficient] : form.terms) {
      if ((coefficient != 1 && coefficient != -1) || shifts.count(unknown))
        continue;
      int64_t constant = shifted(form);
      shifts[unknown] = -constant * coefficient;
      break;
    }
  }
  for (const LinearForm &form : forms)
    append(form);
  // A fact may relate an unknown of `forms` to another one. The facts about
  // that one then matter as well.
  std::vector<bool> isTaken(inequalities.size(), false);
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (auto [i, fact] : llvm::enumerate(inequalities)) {
      if (isTaken[i] || llvm::none_of(fact.first, [&](const auto &term) {
            return concerned.count(term.first);
          }))
        continue;
      isTaken[i] = hasChanged = true;
      for (auto [unknown, coefficient] : fact.first)
        if (concerned.insert(unknown).second &&
            (coefficient == 1 || coefficient == -1))
          shifts[unknown] = -shifted({fact.first, fact.second}) * coefficient;
    }
  }
  for (auto [i, fact] : llvm::enumerate(inequalities))
    if (isTaken[i])
      append({fact.first, fact.second});
}
