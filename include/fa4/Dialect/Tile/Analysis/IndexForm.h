//===- IndexForm.h - sums of products of symbols ----------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A form is a polynomial with integer coefficients. Its variables are symbols
// (IndexSymbols.h), integers that are known only as a whole:
//
//   128 * coordinate + 64 * pass + 32
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INDEXFORM_H
#define FA4_DIALECT_TILE_ANALYSIS_INDEXFORM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DynamicAPInt.h"
#include <map>
#include <optional>
#include <vector>

namespace fa4::tile {

class IndexForm {
public:
  /// The sorted numbers of the symbols that are multiplied. The empty product
  /// is 1.
  using Monomial = std::vector<unsigned>;
  /// The coefficients of the monomials; none is 0.
  using Terms = std::map<Monomial, llvm::DynamicAPInt>;

  IndexForm(int64_t constant = 0) : IndexForm(llvm::DynamicAPInt(constant)) {}
  explicit IndexForm(const llvm::DynamicAPInt &constant) {
    addTerm({}, constant);
  }
  static IndexForm ofSymbol(unsigned symbol);

  Terms::const_iterator begin() const { return terms.begin(); }
  Terms::const_iterator end() const { return terms.end(); }
  size_t size() const { return terms.size(); }

  bool isZero() const { return terms.empty(); }
  /// Returns the number that the form is, if it has no symbols.
  std::optional<llvm::DynamicAPInt> getConstant() const;
  /// Returns the symbol that the form is, or nothing for any other form.
  std::optional<unsigned> getSymbol() const;
  /// Returns 0 if the form does not have the monomial.
  llvm::DynamicAPInt getCoefficient(const Monomial &monomial) const;
  /// Returns the sum of the terms that have the symbol, divided by it.
  IndexForm getMultiplier(unsigned symbol) const;

  void addTerm(const Monomial &monomial, const llvm::DynamicAPInt &coefficient);
  IndexForm &operator+=(const IndexForm &other);

  friend IndexForm operator+(IndexForm a, const IndexForm &b) {
    a += b;
    return a;
  }
  friend IndexForm operator-(const IndexForm &a, const IndexForm &b);
  friend IndexForm operator*(const IndexForm &a, const IndexForm &b);
  friend bool operator==(const IndexForm &a, const IndexForm &b) {
    return a.terms == b.terms;
  }
  friend bool operator!=(const IndexForm &a, const IndexForm &b) {
    return !(a == b);
  }
  /// Any total order.
  friend bool operator<(const IndexForm &a, const IndexForm &b) {
    return a.terms < b.terms;
  }

private:
  Terms terms;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INDEXFORM_H
