//===- ConstantExpression.cpp - PTX constant expressions ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 4.5: C's operators over 64-bit integers and doubles; a result is
// unsigned when an operand is.
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

using namespace fa4::sim::ptx;
using llvm::StringRef;

llvm::ArrayRef<Parser::Level> Parser::operators() {
  static constexpr StringRef logicalOr[] = {"||"}, logicalAnd[] = {"&&"},
                             bitOr[] = {"|"}, bitXor[] = {"^"},
                             bitAnd[] = {"&"}, equality[] = {"==", "!="},
                             relation[] = {"<", ">", "<=", ">="},
                             shift[] = {"<<", ">>"}, sum[] = {"+", "-"},
                             product[] = {"*", "/", "%"};
  static const Level levels[] = {logicalOr, logicalAnd, bitOr, bitXor, bitAnd,
                                 equality,  relation,   shift, sum,    product};
  return levels;
}

bool Parser::startsConstant(size_t ahead) const {
  const Token &t = token(ahead);
  if (t.is(TokenKind::Number) || t.is("(") || t.is("~") || t.is("-") ||
      t.is("+"))
    return true;
  if (t.is("!"))
    return startsConstant(ahead + 1);
  // The lexer takes ".5" for a word with a dot.
  if (t.is(TokenKind::DotWord))
    return llvm::isDigit(t.text[0]);
  return t.is(TokenKind::Identifier) && t.text == "WARP_SZ";
}

bool Parser::parseConstant(Constant &value) { return parseConditional(value); }

bool Parser::parseInteger(int64_t &value, StringRef what) {
  Location loc = token().loc;
  if (!startsConstant())
    return unexpected(what);
  Constant constant;
  if (!parseConstant(constant))
    return false;
  if (constant.isFloat)
    return error(loc, what + " must be an integer");
  value = constant.integer;
  return true;
}

/// Parses a count between angle brackets. The closing `>` must not be taken for
/// an operator of the expression.
bool Parser::parseAngleCount(uint64_t &count) {
  Location loc = token().loc;
  constexpr unsigned additive = 8;
  Constant value;
  if (!parseBinary(value, additive))
    return false;
  if (value.isFloat || value.integer < 0 || value.isUnsigned)
    return error(loc, "a count must be a non-negative integer");
  count = uint64_t(value.integer);
  return expect(">", "behind a count");
}

std::optional<Token> Parser::takeOperator(Level among) {
  const Token &op = token();
  if (!op.is(TokenKind::Punct) || op.text.empty() ||
      !llvm::is_contained(among, op.text))
    return std::nullopt;
  return take();
}

bool Parser::choose(Constant &condition, Constant yes, Constant no) {
  bool truth =
      condition.isFloat ? condition.floating != 0 : condition.integer != 0;
  condition = truth ? yes : no;
  return true;
}

bool Parser::failExpected(StringRef text) {
  return expect(text, "in a conditional expression");
}

bool Parser::failDepth() {
  return error(token().loc, "constant expression is nested too deeply");
}

static double asDouble(const Constant &c) {
  if (c.isFloat)
    return c.floating;
  return c.isUnsigned ? double(uint64_t(c.integer)) : double(c.integer);
}

/// Applies an operator to floats. Returns null on success, else the error's
/// message.
static const char *applyFloat(StringRef op, Constant &a, const Constant &b) {
  double x = asDouble(a), y = asDouble(b);
  Constant result;
  auto truth = [&](bool value) { result.integer = value; };
  auto number = [&](double value) {
    result.isFloat = true;
    result.floating = value;
  };
  if (op == "+")
    number(x + y);
  else if (op == "-")
    number(x - y);
  else if (op == "*")
    number(x * y);
  else if (op == "/")
    number(x / y);
  else if (op == "==")
    truth(x == y);
  else if (op == "!=")
    truth(x != y);
  else if (op == "<")
    truth(x < y);
  else if (op == ">")
    truth(x > y);
  else if (op == "<=")
    truth(x <= y);
  else if (op == ">=")
    truth(x >= y);
  else if (op == "&&")
    truth(x != 0 && y != 0);
  else if (op == "||")
    truth(x != 0 || y != 0);
  else
    return "operator is not defined for floating-point operands";
  a = result;
  return nullptr;
}

static const char *divide(bool remainder, Constant &a, const Constant &b,
                          bool isUnsigned) {
  uint64_t x = a.integer, y = b.integer;
  if (y == 0)
    return "division by zero in a constant expression";
  if (isUnsigned)
    a.integer = int64_t(remainder ? x % y : x / y);
  else if (b.integer == -1) // INT64_MIN / -1 would trap.
    a.integer = remainder ? 0 : int64_t(0 - x);
  else
    a.integer = remainder ? a.integer % b.integer : a.integer / b.integer;
  return nullptr;
}

static const char *applyInteger(StringRef op, Constant &a, const Constant &b) {
  bool isUnsigned = a.isUnsigned || b.isUnsigned;
  uint64_t x = a.integer, y = b.integer;
  bool less = isUnsigned ? x < y : a.integer < b.integer;
  bool isTruth = false;
  auto truth = [&](bool value) {
    a.integer = value;
    isTruth = true;
  };
  const char *problem = nullptr;
  if (op == "+")
    a.integer = int64_t(x + y);
  else if (op == "-")
    a.integer = int64_t(x - y);
  else if (op == "*")
    a.integer = int64_t(x * y);
  else if (op == "/" || op == "%")
    problem = divide(op == "%", a, b, isUnsigned);
  else if (op == "<<")
    a.integer = y > 63 ? 0 : int64_t(x << y);
  else if (op == ">>" && a.isUnsigned)
    a.integer = y > 63 ? 0 : int64_t(x >> y);
  else if (op == ">>")
    a.integer >>= std::min<uint64_t>(y, 63);
  else if (op == "&")
    a.integer = int64_t(x & y);
  else if (op == "|")
    a.integer = int64_t(x | y);
  else if (op == "^")
    a.integer = int64_t(x ^ y);
  else if (op == "==")
    truth(x == y);
  else if (op == "!=")
    truth(x != y);
  else if (op == "<")
    truth(less);
  else if (op == ">=")
    truth(!less);
  else if (op == "<=")
    truth(less || x == y);
  else if (op == ">")
    truth(!less && x != y);
  else if (op == "&&")
    truth(x && y);
  else
    truth(x || y);
  if (op != "<<" && op != ">>")
    a.isUnsigned = isUnsigned && !isTruth;
  return problem;
}

bool Parser::apply(const Token &op, Constant &left, Constant right) {
  const char *problem = left.isFloat || right.isFloat
                            ? applyFloat(op.text, left, right)
                            : applyInteger(op.text, left, right);
  return problem ? error(op.loc, problem) : true;
}

bool Parser::parseUnary(Constant &value) {
  Token op = token();
  if (!(op.is("-") || op.is("+") || op.is("!") || op.is("~")))
    return parsePrimary(value);
  take();
  Nesting nesting(*this);
  if (!nesting.fits || !parseUnary(value))
    return false;
  if (op.is("!")) {
    bool truth = value.isFloat ? value.floating == 0 : value.integer == 0;
    value = Constant();
    value.integer = truth;
  } else if (op.is("-") && value.isFloat) {
    value.floating = -value.floating;
    value.integer ^= value.floatBits == 32   ? int64_t(1) << 31
                     : value.floatBits == 64 ? INT64_MIN
                                             : 0;
  } else if (op.is("-")) {
    value.integer = int64_t(0 - uint64_t(value.integer));
    // In -9223372036854775808 the literal alone does not fit int64_t, so it was
    // read as unsigned.
    value.isUnsigned &= value.integer != INT64_MIN;
  } else if (op.is("~")) {
    if (value.isFloat)
      return error(op.loc, "operator ~ needs an integer");
    value.integer = ~value.integer;
  }
  return true;
}

/// Returns true if the three tokens are a cast: "(.s64)" or "(.u64)".
static bool isCast(const Token &a, const Token &b, const Token &c) {
  return a.is("(") && (b.isDot("s64") || b.isDot("u64")) && c.is(")");
}

bool Parser::parsePrimary(Constant &value) {
  if (isCast(token(), token(1), token(2))) {
    bool isUnsigned = token(1).isDot("u64");
    Location loc = take().loc;
    take();
    take();
    Nesting nesting(*this);
    if (!nesting.fits || !parseUnary(value))
      return false;
    if (value.isFloat)
      return error(loc, "a cast of a floating-point constant");
    value.isUnsigned = isUnsigned;
  } else if (consume("(")) {
    if (!parseConditional(value) || !expect(")", "in a constant expression"))
      return false;
  } else if (token().is(TokenKind::Identifier) && token().text == "WARP_SZ") {
    take();
    value = Constant();
    value.integer = 32;
  } else if (token().is(TokenKind::Number) ||
             (token().is(TokenKind::DotWord) &&
              llvm::isDigit(token().text[0]))) {
    Token literal = take();
    std::string text = literal.is(TokenKind::DotWord)
                           ? ("0." + literal.text).str()
                           : literal.text.str();
    auto parsed = parseNumber(text);
    if (!parsed)
      return error(literal.loc,
                   "malformed or too large number '" + literal.text + "'");
    value = *parsed;
  } else {
    return unexpected("a constant");
  }
  return true;
}
