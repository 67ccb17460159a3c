//===- Expression.cpp - numbers of a manifest
//------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"
#include "Error.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

using namespace fa4::runtime;
using Op = Expression::Op;

std::string Number::text() const {
  if (!isFloat)
    return std::to_string(integer);
  char buffer[32];
  return {buffer, std::to_chars(buffer, std::end(buffer), floating).ptr};
}

Expression::Expression(int64_t value)
    : source(std::to_string(value)), nodes(1) {
  nodes[0].value = value;
}

Expression::Expression(double value) : source(Number(value).text()), nodes(1) {
  nodes[0].value = value;
}

int Expression::symbol() const {
  return nodes.back().op == Op::Symbol ? nodes.back().symbol : -1;
}

bool Expression::isConstant() const {
  return std::none_of(nodes.begin(), nodes.end(),
                      [](const Node &node) { return node.op == Op::Symbol; });
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace fa4::runtime {

/// Recursive descent; one function a level of precedence would be eight, so
/// that binary operators climb a table instead.
class ExpressionParser {
public:
  ExpressionParser(std::string_view text, const std::vector<std::string> &names)
      : text(text), names(names) {}

  Expression parse() {
    result.source = std::string(text);
    result.nodes.clear();
    parseChoice(0);
    skipSpace();
    if (at < text.size())
      fail("there is text behind its end");
    return std::move(result);
  }

private:
  struct Binary {
    std::string_view text;
    Op op;
    int level;
  };
  /// Longer operators come before those that they begin with.
  static constexpr Binary binaries[] = {
      {"||", Op::Or, 0},        {"&&", Op::And, 1},
      {"==", Op::Equal, 2},     {"!=", Op::NotEqual, 2},
      {"<=", Op::LessEqual, 3}, {">=", Op::GreaterEqual, 3},
      {"<", Op::Less, 3},       {">", Op::Greater, 3},
      {"+", Op::Add, 4},        {"-", Op::Subtract, 4},
      {"*", Op::Multiply, 5},   {"/", Op::Divide, 5},
      {"%", Op::Remainder, 5}};
  struct Function {
    std::string_view name;
    Op op;
    int operands;
  };
  static constexpr Function functions[] = {
      {"ceildiv", Op::CeilDiv, 2}, {"align", Op::Align, 2},
      {"min", Op::Min, 2},         {"max", Op::Max, 2},
      {"sqrt", Op::Sqrt, 1},       {"exp2", Op::Exp2, 1},
      {"log2", Op::Log2, 1},       {"float", Op::Float, 1},
      {"int", Op::Int, 1}};
  static constexpr unsigned maxDepth = 100;

  [[noreturn]] void fail(const std::string &problem) const {
    fa4::runtime::fail(FA4_RUNTIME_BAD_MANIFEST,
                       "expression '" + std::string(text) + "': " + problem);
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
      ++at;
  }
  bool consume(std::string_view word) {
    skipSpace();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  int add(Op op, int a = -1, int b = -1, int c = -1) {
    Expression::Node node;
    node.op = op;
    node.operands[0] = a, node.operands[1] = b, node.operands[2] = c;
    result.nodes.push_back(node);
    return int(result.nodes.size()) - 1;
  }
  static bool isNameCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           isDigit(c);
  }
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  int parseChoice(unsigned depth) {
    if (depth > maxDepth)
      fail("it is nested too deeply");
    int condition = parseBinary(0, depth);
    if (!consume("?"))
      return condition;
    int yes = parseChoice(depth + 1);
    if (!consume(":"))
      fail("expected ':'");
    int no = parseChoice(depth + 1);
    return add(Op::Choose, condition, yes, no);
  }

  const Binary *peekBinary(int level) {
    skipSpace();
    for (const Binary &binary : binaries)
      if (text.substr(at, binary.text.size()) == binary.text)
        return binary.level >= level ? &binary : nullptr;
    return nullptr;
  }

  int parseBinary(int level, unsigned depth) {
    int left = parseUnary(depth);
    while (const Binary *binary = peekBinary(level)) {
      at += binary->text.size();
      int right = parseBinary(binary->level + 1, depth);
      left = add(binary->op, left, right);
    }
    return left;
  }

  int parseUnary(unsigned depth) {
    if (depth > maxDepth)
      fail("it is nested too deeply");
    if (consume("-"))
      return add(Op::Negate, parseUnary(depth + 1));
    if (consume("!"))
      return add(Op::Not, parseUnary(depth + 1));
    if (consume("(")) {
      int inner = parseChoice(depth + 1);
      if (!consume(")"))
        fail("expected ')'");
      return inner;
    }
    skipSpace();
    if (at < text.size() && (isDigit(text[at]) || text[at] == '.'))
      return parseLiteral();
    return parseName(depth);
  }

  int parseLiteral() {
    const char *first = text.data() + at, *last = text.data() + text.size();
    bool isHex = text.substr(at, 2) == "0x" || text.substr(at, 2) == "0X";
    int64_t integer = 0;
    auto end =
        std::from_chars(first + 2 * isHex, last, integer, isHex ? 16 : 10);
    Number value(integer);
    if (!isHex) {
      double floating = 0;
      auto longer = std::from_chars(first, last, floating);
      if (longer.ptr > end.ptr || end.ec != std::errc()) {
        end = longer;
        value = floating;
      }
    }
    if (end.ec != std::errc())
      fail("a number is too large or malformed");
    at = size_t(end.ptr - text.data());
    if (at < text.size() && isNameCharacter(text[at]))
      fail("a number is malformed");
    int node = add(Op::Literal);
    result.nodes[node].value = value;
    return node;
  }

  int parseName(unsigned depth) {
    size_t begin = at;
    while (at < text.size() && isNameCharacter(text[at]))
      ++at;
    std::string_view name = text.substr(begin, at - begin);
    if (name.empty())
      fail("expected a number or a name");
    if (!consume("(")) {
      auto known = std::find(names.begin(), names.end(), name);
      if (known == names.end())
        fail("no size is named '" + std::string(name) + "'");
      int node = add(Op::Symbol);
      result.nodes[node].symbol = int(known - names.begin());
      return node;
    }
    for (const Function &function : functions)
      if (function.name == name)
        return parseCall(function, depth);
    fail("there is no function '" + std::string(name) + "'");
  }

  int parseCall(const Function &function, unsigned depth) {
    int operands[2] = {-1, -1};
    for (int i = 0; i < function.operands; ++i) {
      if (i && !consume(","))
        fail("expected ','");
      operands[i] = parseChoice(depth + 1);
    }
    if (!consume(")"))
      fail("expected ')'");
    return add(function.op, operands[0], operands[1]);
  }

  std::string_view text;
  const std::vector<std::string> &names;
  Expression result;
  size_t at = 0;
};

} // namespace fa4::runtime

Expression Expression::parse(std::string_view text,
                             const std::vector<std::string> &names) {
  return ExpressionParser(text, names).parse();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

[[noreturn]] static void failOperation(const char *problem) {
  fail(FA4_RUNTIME_BAD_SIZE, problem);
}

static int64_t checked(bool overflows, int64_t value) {
  if (overflows)
    failOperation("the result does not fit 64 bits");
  return value;
}

static int64_t applyIntegers(Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
  case Op::Add:
    return checked(__builtin_add_overflow(a, b, &r), r);
  case Op::Subtract:
    return checked(__builtin_sub_overflow(a, b, &r), r);
  case Op::Multiply:
    return checked(__builtin_mul_overflow(a, b, &r), r);
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  default:
    break;
  }
  if (b == 0)
    failOperation("division by zero");
  if (a == INT64_MIN && b == -1)
    failOperation("the result does not fit 64 bits");
  switch (op) {
  case Op::Divide:
    return a / b;
  case Op::Remainder:
    return a % b;
  default: {
    // Up, also where the quotient is negative.
    int64_t up = a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
    return op == Op::CeilDiv ? up
                             : checked(__builtin_mul_overflow(up, b, &r), r);
  }
  }
}

static double applyFloats(Op op, double a, double b) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Subtract:
    return a - b;
  case Op::Multiply:
    return a * b;
  case Op::Divide:
    return a / b;
  case Op::Min:
    return std::fmin(a, b);
  case Op::Max:
    return std::fmax(a, b);
  default:
    failOperation("needs integers");
  }
}

static bool compare(Op op, const Number &a, const Number &b) {
  bool exact = !a.isFloat && !b.isFloat;
  double x = a.asDouble(), y = b.asDouble();
  bool less = exact ? a.integer < b.integer : x < y;
  bool equal = exact ? a.integer == b.integer : x == y;
  switch (op) {
  case Op::Equal:
    return equal;
  case Op::NotEqual:
    return !equal;
  case Op::Less:
    return less;
  case Op::LessEqual:
    return less || equal;
  case Op::Greater:
    return exact ? a.integer > b.integer : x > y;
  default:
    return exact ? a.integer >= b.integer : x >= y;
  }
}

static Number applyOne(Op op, const Number &a) {
  double x = a.asDouble();
  switch (op) {
  case Op::Negate:
    return a.isFloat ? Number(-x)
                     : Number(applyIntegers(Op::Subtract, 0, a.integer));
  case Op::Not:
    return Number(int64_t(x == 0));
  case Op::Sqrt:
    return Number(std::sqrt(x));
  case Op::Exp2:
    return Number(std::exp2(x));
  case Op::Log2:
    return Number(std::log2(x));
  case Op::Float:
    return Number(x);
  default:
    if (!a.isFloat)
      return a;
    if (!(x >= -9.2e18 && x <= 9.2e18))
      failOperation("does not fit an integer");
    return Number(int64_t(x));
  }
}

Number Expression::evaluateNode(int index,
                                const std::vector<Number> &values) const {
  const Node &node = nodes[size_t(index)];
  if (node.op == Op::Literal)
    return node.value;
  if (node.op == Op::Symbol)
    return values[size_t(node.symbol)];
  Number a = evaluateNode(node.operands[0], values);
  if (node.op == Op::Choose) // Only the chosen branch is evaluated.
    return evaluateNode(node.operands[a.asDouble() != 0 ? 1 : 2], values);
  if (node.op < Op::Or)
    return applyOne(node.op, a);
  Number b = evaluateNode(node.operands[1], values);
  bool x = a.asDouble() != 0, y = b.asDouble() != 0;
  if (node.op == Op::Or || node.op == Op::And)
    return Number(int64_t(node.op == Op::Or ? x || y : x && y));
  if (node.op <= Op::GreaterEqual)
    return Number(int64_t(compare(node.op, a, b)));
  if (a.isFloat || b.isFloat)
    return Number(applyFloats(node.op, a.asDouble(), b.asDouble()));
  return Number(applyIntegers(node.op, a.integer, b.integer));
}

Number Expression::evaluate(const std::vector<Number> &values) const {
  try {
    return evaluateNode(int(nodes.size()) - 1, values);
  } catch (const Failure &failure) {
    fail(failure.status, "expression '" + source + "': " + failure.message);
  }
}

int64_t Expression::evaluateInteger(const std::vector<Number> &values) const {
  Number result = evaluate(values);
  if (result.isFloat)
    fail(FA4_RUNTIME_BAD_SIZE, "expression '" + source + "' is not an integer");
  return result.integer;
}
