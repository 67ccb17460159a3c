//===- IndexForm.cpp - sums of products of symbols ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IndexForm.h"
#include "llvm/ADT/STLExtras.h"

using namespace fa4::tile;
using llvm::DynamicAPInt;

IndexForm IndexForm::ofSymbol(unsigned symbol) {
  IndexForm form;
  form.addTerm({symbol}, DynamicAPInt(1));
  return form;
}

std::optional<DynamicAPInt> IndexForm::getConstant() const {
  if (terms.empty())
    return DynamicAPInt(0);
  bool isConstant = terms.size() == 1 && terms.begin()->first.empty();
  return isConstant ? std::optional(terms.begin()->second) : std::nullopt;
}

std::optional<unsigned> IndexForm::getSymbol() const {
  bool isSymbol = terms.size() == 1 && terms.begin()->first.size() == 1 &&
                  terms.begin()->second == 1;
  return isSymbol ? std::optional(terms.begin()->first.front()) : std::nullopt;
}

DynamicAPInt IndexForm::getCoefficient(const Monomial &monomial) const {
  auto it = terms.find(monomial);
  return it == terms.end() ? DynamicAPInt(0) : it->second;
}

IndexForm IndexForm::getMultiplier(unsigned symbol) const {
  IndexForm multiplier;
  for (const auto &[monomial, coefficient] : terms) {
    Monomial rest = monomial;
    if (auto it = llvm::find(rest, symbol); it != rest.end()) {
      rest.erase(it);
      multiplier.addTerm(rest, coefficient);
    }
  }
  return multiplier;
}

void IndexForm::addTerm(const Monomial &monomial,
                        const DynamicAPInt &coefficient) {
  if (coefficient == 0)
    return;
  auto it = terms.try_emplace(monomial, 0).first;
  it->second += coefficient;
  if (it->second == 0)
    terms.erase(it);
}

IndexForm &IndexForm::operator+=(const IndexForm &other) {
  for (const auto &[monomial, coefficient] : other)
    addTerm(monomial, coefficient);
  return *this;
}

IndexForm fa4::tile::operator-(const IndexForm &a, const IndexForm &b) {
  IndexForm difference = a;
  for (const auto &[monomial, coefficient] : b)
    difference.addTerm(monomial, -coefficient);
  return difference;
}

IndexForm fa4::tile::operator*(const IndexForm &a, const IndexForm &b) {
  IndexForm product;
  for (const auto &[ma, ca] : a)
    for (const auto &[mb, cb] : b) {
      IndexForm::Monomial monomial(ma);
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      llvm::sort(monomial);
      product.addTerm(monomial, ca * cb);
    }
  return product;
}
