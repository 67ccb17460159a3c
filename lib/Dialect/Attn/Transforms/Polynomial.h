//===- Polynomial.h - expressions as sums of products --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_POLYNOMIAL_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_POLYNOMIAL_H

#include "TensorElement.h"
#include <map>

namespace fa4::attn {

/// A product of powers of atoms, which have numbers; sorted by these.
using Monomial = llvm::SmallVector<std::pair<unsigned, int>, 4>;

/// A sum of monomials with factors, none of which is 0. Two expressions that
/// differ in how they distribute, in the order of operands and in signs have
/// equal polynomials.
struct Polynomial {
  std::map<Monomial, double> terms;

  static Polynomial constant(double number);
  static Polynomial atom(unsigned number, int power = 1);
  void add(const Polynomial &other, double factor = 1);
  Polynomial times(const Polynomial &other) const;
  /// Returns the only term, or null.
  const std::pair<const Monomial, double> *getOnlyTerm() const {
    return terms.size() == 1 ? &*terms.begin() : nullptr;
  }
  /// Returns what `other` has to be multiplied with to be this, up to the
  /// rounding of constants; nothing if there is no such number.
  std::optional<double> dividedBy(const Polynomial &other) const;
};

/// Makes polynomials of expressions. Conversions between floating-point types
/// are skipped: what is proven is proven of real numbers.
class PolynomialMaker {
public:
  virtual ~PolynomialMaker() = default;

  Polynomial make(ElementRef element);
  /// The number of an atom that is this expression.
  unsigned getAtom(ElementRef element);
  /// The expression of an atom; null for one of makeAtom.
  ElementRef getElement(unsigned atom) const { return atoms[atom]; }
  /// An atom of which only its maker knows what it is.
  unsigned makeAtom() {
    atoms.push_back(nullptr);
    return atoms.size() - 1;
  }

protected:
  /// Returns what is known of an expression, without conversions around it.
  virtual std::optional<Polynomial> makeKnown(ElementRef element) {
    return std::nullopt;
  }
  /// Simplifies a product or a quotient.
  virtual void simplify(Polynomial &polynomial) {}

  /// The atoms that are 0 or 1: conditions of selects. Their powers are they
  /// themselves.
  llvm::SmallVector<unsigned> conditions;

private:
  Polynomial makeSelect(ElementRef select);
  Polynomial multiply(const Polynomial &a, const Polynomial &b);

  llvm::SmallVector<ElementRef> atoms;
};

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_POLYNOMIAL_H
