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
#include <numeric>

using namespace mlir::presburger;
using namespace fa4::tile;

/// A search gives up after so many choices of alternatives, or after so many
/// splits in a row. A split at a fraction tries the integers below it and those
/// above it.
static constexpr unsigned kMostChoices = 5000, kMostSplits = 50;

void AffineSum::add(const AffineSum &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [variable, multiple] : other.terms)
    if ((terms[variable] += factor * multiple) == 0)
      terms.erase(variable);
}

AffineSum fa4::tile::operator+(AffineSum a, const AffineSum &b) {
  a.add(b, 1);
  return a;
}

AffineSum fa4::tile::operator-(AffineSum a, const AffineSum &b) {
  a.add(b, -1);
  return a;
}

AffineSum fa4::tile::operator*(const AffineSum &a, int64_t factor) {
  AffineSum product;
  if (factor != 0)
    product.add(a, factor);
  return product;
}

AffineSum fa4::tile::isAtLeast(const AffineSum &a, const AffineSum &b) {
  return a - b;
}

AffineSum fa4::tile::isMore(const AffineSum &a, const AffineSum &b) {
  return a - b - AffineSum(1);
}

Conditions fa4::tile::isEqual(const AffineSum &a, const AffineSum &b) {
  return {a - b, b - a};
}

bool fa4::tile::neverEqual(const AffineSum &a, const AffineSum &b) {
  AffineSum difference = a - b;
  int64_t divisor = 0;
  for (auto [variable, multiple] : difference.terms)
    divisor = std::gcd(divisor, multiple);
  return divisor == 0 ? difference.constant != 0
                      : difference.constant % divisor != 0;
}

AffineSum IntegerCases::makeVariable() {
  AffineSum sum;
  sum.terms[variables++] = 1;
  return sum;
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
  Search(const IntegerCases &all)
      : all(all), simplex(all.variables), chosen(all.cases.size(), false) {}

  /// Returns true if no integers fulfil `conditions`, the alternatives chosen
  /// before, and an alternative of each case.
  bool isEmpty(const Conditions &conditions);

private:
  using Point = llvm::SmallVector<Fraction, 8>;

  /// Returns the condition divided by the common divisor of all its factors.
  /// The constant may then be rounded down, because the variables are integers.
  llvm::SmallVector<llvm::DynamicAPInt, 8> rowOf(const AffineSum &sum) const {
    llvm::SmallVector<llvm::DynamicAPInt, 8> row(all.variables + 1);
    int64_t common = 0;
    for (auto [variable, multiple] : sum.terms)
      common = std::gcd(common, multiple);
    common = std::max<int64_t>(common, 1);
    for (auto [variable, multiple] : sum.terms)
      row[variable] = llvm::DynamicAPInt(multiple / common);
    row.back() =
        llvm::DynamicAPInt(llvm::divideFloorSigned(sum.constant, common));
    return row;
  }
  static bool fulfils(const Point &point, const Conditions &conditions) {
    return llvm::all_of(conditions, [&](const AffineSum &sum) {
      Fraction value(sum.constant, 1);
      for (auto [variable, multiple] : sum.terms)
        value += point[variable] * Fraction(multiple, 1);
      return value >= Fraction(0, 1);
    });
  }
  void add(const Conditions &conditions) {
    for (const AffineSum &sum : conditions)
      simplex.addInequality(rowOf(sum));
  }
  bool decide();
  bool splitAtFraction(const Point &point);
  unsigned countPossible(size_t number);

  const IntegerCases &all;
  Simplex simplex;
  llvm::SmallVector<bool> chosen;
  unsigned choices = 0, splits = 0;
};

/// Returns how many alternatives of a case have a rational point.
unsigned IntegerCases::Search::countPossible(size_t number) {
  return llvm::count_if(all.cases[number], [&](const Conditions &choice) {
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
  for (size_t i = 0; i < all.cases.size() && (!next || fewest > 1); ++i) {
    if (chosen[i] || llvm::any_of(all.cases[i], [&](const Conditions &choice) {
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
  bool empty = llvm::all_of(all.cases[*next], [&](const Conditions &choice) {
    return isEmpty(choice);
  });
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
    int64_t below = int64_t(floor(value));
    AffineSum number;
    number.terms[variable] = 1;
    ++splits;
    bool empty = isEmpty({isAtLeast(below, number)}) &&
                 isEmpty({isAtLeast(number, below + 1)});
    --splits;
    return empty;
  }
  return false;
}

bool IntegerCases::Search::isEmpty(const Conditions &conditions) {
  if (++choices > kMostChoices)
    return false;
  unsigned before = simplex.getSnapshot();
  add(conditions);
  bool empty = simplex.isEmpty() || decide();
  simplex.rollback(before);
  return empty;
}

bool IntegerCases::isImpossible(const Conditions &conditions) const {
  Conditions first = always;
  first.insert(first.end(), conditions.begin(), conditions.end());
  return Search(*this).isEmpty(first);
}
