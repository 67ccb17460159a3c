//===- Expression.h - numbers of a manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
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
// Expressions are parsed once, when a manifest is read. Names are indices from
// then on, and evaluation neither allocates nor looks up.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_MANIFEST_EXPRESSION_H
#define FA4_MANIFEST_EXPRESSION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa4::manifest {

struct Number {
  bool isFloat = false;
  int64_t integer = 0;
  double floating = 0;

  Number() = default;
  Number(int64_t value) : integer(value) {}
  Number(int value) : integer(value) {}
  Number(double value) : isFloat(true), floating(value) {}

  /// "12", "0x80", "-1.5", "1e-3", "-inf"; none if the text is no number, or is
  /// an integer that 64 bits do not hold.
  static std::optional<Number> parse(std::string_view text);
  double asDouble() const { return isFloat ? floating : double(integer); }
  /// With as many digits as tell the number from its neighbours.
  std::string text() const;
  bool operator==(const Number &other) const {
    return isFloat == other.isFloat && integer == other.integer &&
           floating == other.floating;
  }
};

/// The values of the sizes and other scalars of a call, in the order of the
/// manifest, as far as they are known.
using Values = std::vector<std::optional<Number>>;

class Expression {
public:
  Expression(int64_t value = 0) : Expression(Number(value)) {}
  explicit Expression(const Number &value);
  /// `names` are the scalars of the manifest. Throws ManifestError
  /// (BadManifest).
  static Expression parse(std::string_view text,
                          const std::vector<std::string> &names);

  /// Throws ManifestError (BadSize) where a size has no value, or where the
  /// result is none, such as that of a division by zero.
  Number evaluate(const Values &values) const;
  /// A value that is no integer is an error, too.
  int64_t evaluateInteger(const Values &values) const;
  /// Returns nothing in place of an error.
  std::optional<int64_t> tryInteger(const Values &values) const;
  /// The index of the name if the expression is a bare name, else -1.
  int symbol() const;
  bool isConstant() const;
  const std::string &text() const { return source; }

  enum class Op : uint8_t {
    Literal,
    Symbol,
    Negate,
    Not,
    Sqrt,
    Exp2,
    Log2,
    Float,
    Int,
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
    Choose
  };
  struct Node {
    Op op = Op::Literal;
    int operands[3] = {-1, -1, -1}; ///< In `nodes`.
    int symbol = -1;
    std::string name; ///< Of the symbol.
    Number value;     ///< Of the literal.
  };

private:
  friend class ExpressionParser;
  Number evaluateNode(int node, const Values &values) const;

  std::string source;
  std::vector<Node> nodes; ///< The last one is the root.
};

} // namespace fa4::manifest

#endif // FA4_MANIFEST_EXPRESSION_H
