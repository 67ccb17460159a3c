//===- Expression.h - sizes as expressions ---------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a manifest may write where a number is wanted: an arithmetic expression
// over the call's sizes, e.g. "ceildiv(seq_q, 256) * heads".
//
//   literals       12, 0x80, 0.5, 1e-3; names of sizes
//   operators      ?:  || &&  == != < <= > >=  + -  * / %  unary - !
//   functions      ceildiv(a, b) align(a, b) min(a, b) max(a, b)
//                  sqrt(x) exp2(x) log2(x) float(x) int(x)
//
// Integers are 64 bits wide and overflow is an error; `/` and `%` of integers
// truncate toward zero; a floating operand makes the operation floating.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_EXPRESSION_H
#define FA4_SIMULATOR_MANIFEST_EXPRESSION_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace fa4::sim {

struct Number {
  bool isFloat = false;
  int64_t integer = 0;
  double floating = 0;

  Number() = default;
  Number(int64_t value) : integer(value) {}
  Number(int value) : integer(value) {}
  Number(double value) : isFloat(true), floating(value) {}

  /// "12", "0x80", "-1.5", "1e-3", "-inf"; none if the text is no number.
  static std::optional<Number> parse(llvm::StringRef text);
  double asDouble() const { return isFloat ? floating : double(integer); }
  /// With as many digits as tell the number from its neighbours.
  std::string text() const;
  bool operator==(const Number &other) const {
    return isFloat == other.isFloat && integer == other.integer &&
           floating == other.floating;
  }
};

/// The sizes and other scalars of a call by name.
using SizeMap = llvm::StringMap<Number>;

class Expression {
public:
  Expression(int64_t value = 0);
  explicit Expression(double value);
  static llvm::Expected<Expression> parse(llvm::StringRef text);

  llvm::Expected<Number> evaluate(const SizeMap &sizes) const;
  /// Evaluates the expression; a value that is no integer is an error.
  llvm::Expected<int64_t> evaluateInteger(const SizeMap &sizes) const;
  /// Returns the name if the expression is a bare name, else an empty string.
  llvm::StringRef symbol() const;
  llvm::StringRef text() const { return source; }

  struct Node;

private:
  std::string source;
  std::shared_ptr<const Node> root;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_EXPRESSION_H
