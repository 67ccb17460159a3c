//===- IntegerCases.cpp - conditions on integers, case by case ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IntegerCases.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "mlir/Analysis/Presburger/Utils.h"

using namespace mlir::presburger;
using namespace fa4::tile;
using llvm::DynamicAPInt;

/// A search gives up after so many choices of alternatives, or after so many
/// splits in a row. A split at a fraction tries the integers below it and those
/// above it.
static constexpr unsigned kMostChoices = 5000, kMostSplits = 50;

IndexForm fa4::tile::isAtLeast(const IndexForm &a, const IndexForm &b) {
  return a - b;
}

IndexForm fa4::tile::isMore(const IndexForm &a, const IndexForm &b) {
  return a - b - 1;
}

Conditions fa4::tile::isEqual(const IndexForm &a, const IndexForm &b) {
  return {a - b, b - a};
}

DynamicAPInt fa4::tile::getDivisor(const IndexForm &form) {
  DynamicAPInt divisor(0);
  for (const auto &[monomial, coefficient] : form)
    if (!monomial.empty())
      divisor = gcd(divisor, abs(coefficient));
  return divisor;
}

bool fa4::tile::neverEqual(const IndexForm &a, const IndexForm &b) {
  IndexForm difference = a - b;
  DynamicAPInt divisor = getDivisor(difference),
               constant = difference.getCoefficient({});
  return divisor == 0 ? constant != 0 : constant % divisor != 0;
}

void IntegerCases::require(const Conditions &conditions) {
  always.insert(always.end(), conditions.begin(), conditions.end());
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Chooses alternatives only for cases that matter. A case matters if the
/// rational point at hand fulfils none of its alternatives.
class IntegerCases::Search {
public:
  Search(const IntegerCases &all, const Conditions &conditions);

  /// Returns true if no integers fulfil all conditions and an alternative of
  /// each case.
  bool isEmpty() { return isEmpty(first); }

private:
  using Point = llvm::SmallVector<Fraction, 8>;

  /// A condition on the columns of the simplex, divided by the common divisor
  /// of all its factors. The constant is then rounded down, because the columns
  /// are integers.
  struct Row {
    llvm::SmallVector<std::pair<unsigned, DynamicAPInt>, 4> terms;
    DynamicAPInt constant;
  };
  using Rows = std::vector<Row>;

  Rows toRows(const Conditions &conditions);
  static bool fulfils(const Point &point, const Rows &rows) {
    return llvm::all_of(rows, [&](const Row &row) {
      Fraction value(row.constant);
      for (const auto &[column, factor] : row.terms)
        value += point[column] * Fraction(factor);
      return value >= Fraction(0, 1);
    });
  }
  void add(const Rows &rows);
  bool isEmpty(const Rows &rows);
  bool decide();
  bool splitAtFraction(const Point &point);
  unsigned countPossible(size_t number);

  /// The columns of the symbols and their products.
  std::map<IndexForm::Monomial, unsigned> columns;
  Rows first;
  std::vector<std::vector<Rows>> cases;
  Simplex simplex;
  llvm::SmallVector<bool> chosen;
  unsigned choices = 0, splits = 0;
};

IntegerCases::Search::Search(const IntegerCases &all,
                             const Conditions &conditions)
    : first(toRows(all.always)), simplex(0), chosen(all.cases.size(), false) {
  llvm::append_range(first, toRows(conditions));
  for (const std::vector<Conditions> &alternatives : all.cases) {
    cases.emplace_back();
    for (const Conditions &alternative : alternatives)
      cases.back().push_back(toRows(alternative));
  }
  simplex.appendVariable(columns.size());
}

IntegerCases::Search::Rows
IntegerCases::Search::toRows(const Conditions &conditions) {
  Rows rows;
  for (const IndexForm &condition : conditions) {
    DynamicAPInt divisor = getDivisor(condition);
    if (divisor == 0)
      divisor = 1;
    Row &row = rows.emplace_back();
    row.constant = floorDiv(condition.getCoefficient({}), divisor);
    for (const auto &[monomial, coefficient] : condition)
      if (!monomial.empty())
        row.terms.push_back(
            {columns.try_emplace(monomial, columns.size()).first->second,
             coefficient / divisor});
  }
  return rows;
}

void IntegerCases::Search::add(const Rows &rows) {
  for (const Row &row : rows) {
    llvm::SmallVector<DynamicAPInt, 8> dense(columns.size() + 1);
    for (const auto &[column, factor] : row.terms)
      dense[column] = factor;
    dense.back() = row.constant;
    simplex.addInequality(dense);
  }
}

/// Returns how many alternatives of a case have a rational point.
unsigned IntegerCases::Search::countPossible(size_t number) {
  return llvm::count_if(cases[number], [&](const Rows &choice) {
    unsigned before = simplex.getSnapshot();
    add(choice);
    bool isPossible = !simplex.isEmpty();
    simplex.rollback(before);
    return isPossible;
  });
}

/// Decides a set that has rational points. If the point at hand fulfils no
/// alternative of some case, the case with the fewest choices is decided;
/// otherwise the search splits at a coordinate of the point that is no integer.
bool IntegerCases::Search::decide() {
  std::optional<Point> point = simplex.getRationalSample();
  if (!point)
    return false;
  std::optional<size_t> next;
  unsigned fewest = 0;
  for (size_t i = 0; i < cases.size() && (!next || fewest > 1); ++i) {
    if (chosen[i] || llvm::any_of(cases[i], [&](const Rows &choice) {
          return fulfils(*point, choice);
        }))
      continue;
    unsigned possible = countPossible(i);
    if (possible == 0)
      return true;
    if (!next || possible < fewest) {
      next = i;
      fewest = possible;
    }
  }
  if (!next)
    return splitAtFraction(*point);
  chosen[*next] = true;
  bool empty = llvm::all_of(
      cases[*next], [&](const Rows &choice) { return isEmpty(choice); });
  chosen[*next] = false;
  return empty;
}

/// Decides a set in which `point` fulfils all conditions. If a coordinate is a
/// fraction, the search goes on below and above it: no integer lies in between.
bool IntegerCases::Search::splitAtFraction(const Point &point) {
  for (auto [variable, value] : llvm::enumerate(point)) {
    if (value.num % value.den == 0)
      continue;
    if (splits == kMostSplits)
      return false;
    DynamicAPInt below = floor(value);
    Row isBelow{{{unsigned(variable), DynamicAPInt(-1)}}, below},
        isAbove{{{unsigned(variable), DynamicAPInt(1)}}, -below - 1};
    ++splits;
    bool empty = isEmpty({isBelow}) && isEmpty({isAbove});
    --splits;
    return empty;
  }
  return false;
}

bool IntegerCases::Search::isEmpty(const Rows &rows) {
  if (++choices > kMostChoices)
    return false;
  unsigned before = simplex.getSnapshot();
  add(rows);
  bool empty = simplex.isEmpty() || decide();
  simplex.rollback(before);
  return empty;
}

bool IntegerCases::isImpossible(const Conditions &conditions) const {
  return Search(*this, conditions).isEmpty();
}
