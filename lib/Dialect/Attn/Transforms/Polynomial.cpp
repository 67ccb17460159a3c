//===- Polynomial.cpp - expressions as sums of products ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Polynomial.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace fa4::attn;

/// Above this number of terms, an expression is an atom.
static constexpr size_t kMostTerms = 64;

Polynomial Polynomial::constant(double number) {
  Polynomial polynomial;
  if (number != 0)
    polynomial.terms[{}] = number;
  return polynomial;
}

Polynomial Polynomial::atom(unsigned number, int power) {
  Polynomial polynomial;
  polynomial.terms[{{number, power}}] = 1;
  return polynomial;
}

void Polynomial::add(const Polynomial &other, double factor) {
  for (const auto &[monomial, number] : other.terms)
    if ((terms[monomial] += factor * number) == 0)
      terms.erase(monomial);
}

static Monomial multiply(const Monomial &a, const Monomial &b) {
  Monomial product;
  const auto *i = a.begin(), *j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->first < j->first))
      product.push_back(*i++);
    else if (i == a.end() || j->first < i->first)
      product.push_back(*j++);
    else {
      if (int power = i->second + j->second)
        product.push_back({i->first, power});
      ++i, ++j;
    }
  }
  return product;
}

Polynomial Polynomial::times(const Polynomial &other) const {
  Polynomial product;
  for (const auto &[a, x] : terms)
    for (const auto &[b, y] : other.terms) {
      Polynomial term;
      term.terms[::multiply(a, b)] = x * y;
      product.add(term);
    }
  return product;
}

std::optional<double> Polynomial::dividedBy(const Polynomial &other) const {
  if (terms.size() != other.terms.size() || terms.empty())
    return std::nullopt;
  // Constants of f32 that two parts of a program compute in two ways.
  constexpr double tolerance = 1e-6;
  std::optional<double> ratio;
  for (const auto &[mine, theirs] : llvm::zip(terms, other.terms)) {
    if (mine.first != theirs.first)
      return std::nullopt;
    double own = mine.second / theirs.second;
    if (!ratio)
      ratio = own;
    else if (std::abs(own - *ratio) > tolerance * std::abs(*ratio))
      return std::nullopt;
  }
  return ratio;
}

unsigned PolynomialMaker::getAtom(ElementRef element) {
  for (auto [number, atom] : llvm::enumerate(atoms))
    if (atom && isEqual(atom, element))
      return number;
  atoms.push_back(element);
  return atoms.size() - 1;
}

Polynomial PolynomialMaker::multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial product;
  for (const auto &[monomial, number] : a.times(b).terms) {
    Monomial reduced = monomial;
    for (auto &[atom, power] : reduced)
      if (power > 1 && llvm::is_contained(conditions, atom))
        power = 1;
    Polynomial term;
    term.terms[reduced] = number;
    product.add(term);
  }
  simplify(product);
  return product;
}

/// select(c, x, y) is c * x + (1 - c) * y.
Polynomial PolynomialMaker::makeSelect(ElementRef select) {
  unsigned condition = getAtom(select->args[0]);
  if (!llvm::is_contained(conditions, condition))
    conditions.push_back(condition);
  Polynomial x = make(select->args[1]), y = make(select->args[2]);
  Polynomial isX = Polynomial::atom(condition);
  Polynomial isY = Polynomial::constant(1);
  isY.add(isX, -1);
  Polynomial sum = multiply(isX, x);
  sum.add(multiply(isY, y));
  return sum;
}

Polynomial PolynomialMaker::make(ElementRef element) {
  element = skipCasts(element);
  if (std::optional<Polynomial> known = makeKnown(element))
    return *known;
  auto arg = [&](unsigned i) { return make(element->args[i]); };
  Polynomial result;
  bool isKnown = true;
  auto isFinite = [](ElementRef number) {
    std::optional<double> constant = number->getConstant();
    return !constant || std::isfinite(*constant);
  };
  if (std::optional<double> constant = element->getConstant();
      constant && std::isfinite(*constant)) {
    result = Polynomial::constant(*constant);
  } else if (!llvm::all_of(element->args, isFinite)) {
    isKnown = false;
  } else if (element->isa<arith::NegFOp>()) {
    result.add(arg(0), -1);
  } else if (element->isa<arith::AddFOp>() || element->isa<arith::SubFOp>()) {
    result = arg(0);
    result.add(arg(1), element->isa<arith::SubFOp>() ? -1 : 1);
  } else if (element->isa<arith::MulFOp>()) {
    result = multiply(arg(0), arg(1));
  } else if (element->isa<math::FmaOp>()) {
    result = multiply(arg(0), arg(1));
    result.add(arg(2));
  } else if (element->isa<arith::DivFOp>()) {
    Polynomial denominator = arg(1);
    const auto *term = denominator.getOnlyTerm();
    isKnown = term && llvm::none_of(term->first, [&](auto power) {
                return llvm::is_contained(conditions, power.first);
              });
    if (isKnown) {
      Monomial inverse = term->first;
      for (auto &[atom, power] : inverse)
        power = -power;
      Polynomial reciprocal;
      reciprocal.terms[inverse] = 1 / term->second;
      result = multiply(arg(0), reciprocal);
    }
  } else if (element->isa<arith::SelectOp>()) {
    result = makeSelect(element);
  } else {
    isKnown = false;
  }
  if (isKnown && result.terms.size() <= kMostTerms)
    return result;
  return Polynomial::atom(getAtom(element));
}
