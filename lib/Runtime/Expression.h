//===- Expression.h - numbers of a manifest -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions over the sizes of a call (docs/simulator-manifest.md, "Numbers
// and expressions"). They are parsed once, when a program is loaded; names are
// indices from then on, and evaluation neither allocates nor looks up.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_EXPRESSION_H
#define FA4_LIB_RUNTIME_EXPRESSION_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fa4::runtime {

struct Number {
  bool isFloat = false;
  int64_t integer = 0;
  double floating = 0;

  Number() = default;
  Number(int64_t value) : integer(value) {}
  Number(double value) : isFloat(true), floating(value) {}
  double asDouble() const { return isFloat ? floating : double(integer); }
  std::string text() const;
  bool operator==(const Number &other) const {
    return isFloat == other.isFloat && integer == other.integer &&
           floating == other.floating;
  }
};

class Expression {
public:
  Expression(int64_t value = 0);
  explicit Expression(double value);
  /// Throws Failure (BAD_MANIFEST). `names` are the scalars of the manifest.
  static Expression parse(std::string_view text,
                          const std::vector<std::string> &names);

  /// Throws Failure (BAD_SIZE). `values` has a value for each name.
  Number evaluate(const std::vector<Number> &values) const;
  int64_t evaluateInteger(const std::vector<Number> &values) const;
  /// The index of the name if the expression is a bare name, else -1.
  int symbol() const;
  bool isConstant() const;
  const std::string &text() const { return source; }

  enum class Op : uint8_t {
    Literal,
    Symbol, // No operand.
    Negate,
    Not,
    Sqrt,
    Exp2,
    Log2,
    Float,
    Int, // One.
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    CeilDiv,
    Align,
    Min,
    Max,
    Choose // Three.
  };
  struct Node {
    Op op = Op::Literal;
    int operands[3] = {-1, -1, -1}; ///< In `nodes`.
    int symbol = -1;
    Number value;
  };

private:
  friend class ExpressionParser;
  Number evaluateNode(int node, const std::vector<Number> &values) const;

  std::string source;
  std::vector<Node> nodes; ///< The last one is the root.
};

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_EXPRESSION_H
