//===- Expression.cpp - numbers of a manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Manifest/Expression.h"
#include "fa4/Manifest/Error.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

using namespace fa4::manifest;
using Op = Expression::Op;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         isDigit(c);
}

/// Reads a number from the beginning of a text, without a sign, and removes it.
/// Returns nothing if there is none.
static std::optional<Number> takeNumber(std::string_view &text) {
  const char *first = text.data(), *last = first + text.size();
  bool isHex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  int64_t integer = 0;
  auto read =
      std::from_chars(first + 2 * isHex, last, integer, isHex ? 16 : 10);
  Number value(integer);
  if (!isHex) {
    double floating = 0;
    auto longer = std::from_chars(first, last, floating);
    if (longer.ptr > read.ptr || read.ec != std::errc()) {
      read = longer;
      value = floating;
    }
  }
  if (read.ec != std::errc())
    return std::nullopt;
  text.remove_prefix(size_t(read.ptr - first));
  return value;
}

std::optional<Number> Number::parse(std::string_view text) {
  bool isNegative = text.substr(0, 1) == "-";
  if (isNegative || text.substr(0, 1) == "+")
    text.remove_prefix(1);
  bool isInteger = std::all_of(text.begin(), text.end(), isDigit);
  if (text.empty() || text[0] == '-')
    return std::nullopt;
  std::optional<Number> number = takeNumber(text);
  if (!number || !text.empty() || (isInteger && number->isFloat))
    return std::nullopt;
  if (isNegative)
    return number->isFloat ? Number(-number->floating)
                           : Number(-number->integer);
  return number;
}

std::string Number::text() const {
  if (!isFloat)
    return std::to_string(integer);
  char buffer[32];
  return {buffer, std::to_chars(buffer, std::end(buffer), floating).ptr};
}

Expression::Expression(const Number &value) : source(value.text()), nodes(1) {
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

namespace {
struct Operator {
  std::string_view text;
  Op op;
  int level; ///< How strongly a binary operator binds; -1: a function.
  int operands;
};
} // namespace

/// Longer operators come before those that they begin with.
static constexpr Operator kOperators[] = {
    {"||", Op::Or, 0, 2},        {"&&", Op::And, 1, 2},
    {"==", Op::Equal, 2, 2},     {"!=", Op::NotEqual, 2, 2},
    {"<=", Op::LessEqual, 3, 2}, {">=", Op::GreaterEqual, 3, 2},
    {"<", Op::Less, 3, 2},       {">", Op::Greater, 3, 2},
    {"+", Op::Add, 4, 2},        {"-", Op::Subtract, 4, 2},
    {"*", Op::Multiply, 5, 2},   {"/", Op::Divide, 5, 2},
    {"%", Op::Remainder, 5, 2},  {"ceildiv", Op::CeilDiv, -1, 2},
    {"align", Op::Align, -1, 2}, {"min", Op::Min, -1, 2},
    {"max", Op::Max, -1, 2},     {"sqrt", Op::Sqrt, -1, 1},
    {"exp2", Op::Exp2, -1, 1},   {"log2", Op::Log2, -1, 1},
    {"float", Op::Float, -1, 1}, {"int", Op::Int, -1, 1}};

namespace fa4::manifest {

/// Recursive descent; one function a level of precedence would be six, so that
/// binary operators climb a table instead.
class ExpressionParser {
public:
  ExpressionParser(std::string_view text, const std::vector<std::string> &names)
      : text(text), rest(text), names(names) {}

  Expression parse() {
    result.source = std::string(text);
    result.nodes.clear();
    parseChoice();
    skipSpace();
    if (!rest.empty())
      fail("unexpected '" + std::string(rest.substr(0, 8)) + "'");
    return std::move(result);
  }

private:
  /// Evaluation recurses as deeply as an expression is nested, and once for
  /// each operator of a chain.
  static constexpr unsigned kMaxDepth = 100, kMaxNodes = 4096;
  struct Nesting {
    explicit Nesting(ExpressionParser &parser) : parser(parser) {
      if (++parser.depth > kMaxDepth)
        parser.fail("it is nested too deeply");
    }
    ~Nesting() { --parser.depth; }
    ExpressionParser &parser;
  };

  [[noreturn]] void fail(const std::string &problem) const {
    throw ManifestError(ManifestError::Kind::BadManifest,
                        "expression '" + std::string(text) + "': " + problem);
  }
  void skipSpace() {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  }
  bool consume(std::string_view word) {
    skipSpace();
    if (rest.substr(0, word.size()) != word)
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!consume(word))
      fail("expected '" + std::string(word) + "'");
  }
  int add(Op op, int a = -1, int b = -1, int c = -1) {
    if (result.nodes.size() == kMaxNodes)
      fail("it is too long");
    Expression::Node node;
    node.op = op;
    node.operands[0] = a, node.operands[1] = b, node.operands[2] = c;
    result.nodes.push_back(node);
    return int(result.nodes.size()) - 1;
  }

  int parseChoice() {
    Nesting nesting(*this);
    int condition = parseBinary(0);
    if (!consume("?"))
      return condition;
    int yes = parseChoice();
    expect(":");
    int no = parseChoice();
    return add(Op::Choose, condition, yes, no);
  }

  const Operator *peekBinary(int level) {
    skipSpace();
    for (const Operator &each : kOperators)
      if (each.level >= 0 && rest.substr(0, each.text.size()) == each.text)
        return each.level >= level ? &each : nullptr;
    return nullptr;
  }

  int parseBinary(int level) {
    int left = parseUnary();
    while (const Operator *binary = peekBinary(level)) {
      rest.remove_prefix(binary->text.size());
      int right = parseBinary(binary->level + 1);
      left = add(binary->op, left, right);
    }
    return left;
  }

  int parseUnary() {
    Nesting nesting(*this);
    if (consume("-"))
      return add(Op::Negate, parseUnary());
    if (consume("!"))
      return add(Op::Not, parseUnary());
    if (consume("(")) {
      int inner = parseChoice();
      expect(")");
      return inner;
    }
    skipSpace();
    if (rest.empty())
      fail("unexpected end");
    if (isDigit(rest[0]) || rest[0] == '.')
      return parseLiteral();
    std::string_view name = takeWord("");
    if (name.empty())
      fail("unexpected '" + std::string(rest.substr(0, 1)) + "'");
    return consume("(") ? parseCall(name) : parseName(name);
  }

  /// Takes letters, digits, underscores and the characters `more`.
  std::string_view takeWord(std::string_view more) {
    auto end = std::find_if(rest.begin(), rest.end(), [&](char c) {
      return !isNameCharacter(c) && more.find(c) == std::string_view::npos;
    });
    std::string_view word = rest.substr(0, size_t(end - rest.begin()));
    rest.remove_prefix(word.size());
    return word;
  }

  int parseLiteral() {
    std::string_view begin = rest;
    std::optional<Number> value = takeNumber(rest);
    size_t length = begin.size() - rest.size();
    if (std::string_view more = takeWord("."); !value || !more.empty())
      fail("malformed number '" +
           std::string(begin.substr(0, length + more.size())) + "'");
    int node = add(Op::Literal);
    result.nodes[node].value = *value;
    return node;
  }

  int parseName(std::string_view name) {
    auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end())
      fail("no size is named '" + std::string(name) + "'");
    int node = add(Op::Symbol);
    result.nodes[node].symbol = int(known - names.begin());
    result.nodes[node].name = *known;
    return node;
  }

  int parseCall(std::string_view name) {
    const auto *function =
        std::find_if(std::begin(kOperators), std::end(kOperators),
                     [&](const Operator &each) { return each.text == name; });
    if (function == std::end(kOperators))
      fail("unknown function '" + std::string(name) + "'");
    int operands[2] = {-1, -1}, count = 0;
    do {
      int operand = parseChoice();
      if (count < 2)
        operands[count] = operand;
      ++count;
    } while (consume(","));
    expect(")");
    if (count != function->operands)
      fail("'" + std::string(name) + "' takes " +
           std::to_string(function->operands) + " argument(s)");
    return add(function->op, operands[0], operands[1]);
  }

  std::string_view text, rest;
  const std::vector<std::string> &names;
  Expression result;
  unsigned depth = 0;
};

} // namespace fa4::manifest

Expression Expression::parse(std::string_view text,
                             const std::vector<std::string> &names) {
  return ExpressionParser(text, names).parse();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

[[noreturn]] static void failOperation(Op op, const char *problem) {
  std::string name = "-"; // Op::Negate has no row.
  for (const Operator &each : kOperators)
    if (each.op == op)
      name = each.text;
  throw ManifestError(ManifestError::Kind::BadSize,
                      "'" + name + "': " + problem);
}

static int64_t applyIntegers(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  auto checked = [&](bool overflows) {
    if (overflows)
      failOperation(op, "integer overflow");
    return result;
  };
  switch (op) {
  case Op::Add:
    return checked(__builtin_add_overflow(a, b, &result));
  case Op::Negate:
  case Op::Subtract:
    return checked(__builtin_sub_overflow(a, b, &result));
  case Op::Multiply:
    return checked(__builtin_mul_overflow(a, b, &result));
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  default:
    break;
  }
  if (b == 0)
    failOperation(op, "division by zero");
  checked(a == INT64_MIN && b == -1);
  if (op == Op::Divide)
    return a / b;
  if (op == Op::Remainder)
    return a % b;
  // Up, also where the quotient is negative.
  result = a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
  return checked(op == Op::Align && __builtin_mul_overflow(result, b, &result));
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
    failOperation(op, "needs integers");
  }
}

template <typename T> static bool compare(Op op, T a, T b) {
  switch (op) {
  case Op::Equal:
    return a == b;
  case Op::NotEqual:
    return a != b;
  case Op::Less:
    return a < b;
  case Op::LessEqual:
    return a <= b;
  case Op::Greater:
    return a > b;
  default:
    return a >= b;
  }
}

static Number applyOne(Op op, const Number &a) {
  double x = a.asDouble();
  switch (op) {
  case Op::Negate:
    return a.isFloat ? Number(-x) : Number(applyIntegers(op, 0, a.integer));
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
      failOperation(op, "does not fit an integer");
    return Number(int64_t(x));
  }
}

Number Expression::evaluateNode(int index, const Values &values) const {
  const Node &node = nodes[size_t(index)];
  if (node.op == Op::Literal)
    return node.value;
  if (node.op == Op::Symbol) {
    auto symbol = size_t(node.symbol);
    if (symbol >= values.size() || !values[symbol])
      throw ManifestError(ManifestError::Kind::BadSize,
                          "size '" + node.name + "' has no value");
    return *values[symbol];
  }
  Number a = evaluateNode(node.operands[0], values);
  if (node.op == Op::Choose) // Only the chosen branch is evaluated.
    return evaluateNode(node.operands[a.asDouble() != 0 ? 1 : 2], values);
  if (node.op < Op::Or)
    return applyOne(node.op, a);
  Number b = evaluateNode(node.operands[1], values);
  bool x = a.asDouble() != 0, y = b.asDouble() != 0;
  if (node.op == Op::Or || node.op == Op::And)
    return Number(int64_t(node.op == Op::Or ? x || y : x && y));
  bool isFloat = a.isFloat || b.isFloat;
  if (node.op <= Op::GreaterEqual)
    return Number(int64_t(isFloat ? compare(node.op, a.asDouble(), b.asDouble())
                                  : compare(node.op, a.integer, b.integer)));
  if (isFloat)
    return Number(applyFloats(node.op, a.asDouble(), b.asDouble()));
  return Number(applyIntegers(node.op, a.integer, b.integer));
}

Number Expression::evaluate(const Values &values) const {
  try {
    return evaluateNode(int(nodes.size()) - 1, values);
  } catch (const ManifestError &error) {
    throw ManifestError(error.kind,
                        "expression '" + source + "': " + error.what());
  }
}

int64_t Expression::evaluateInteger(const Values &values) const {
  Number result = evaluate(values);
  if (result.isFloat)
    throw ManifestError(ManifestError::Kind::BadSize,
                        "expression '" + source + "' is not an integer");
  return result.integer;
}

std::optional<int64_t> Expression::tryInteger(const Values &values) const {
  try {
    return evaluateInteger(values);
  } catch (const ManifestError &) {
    return std::nullopt;
  }
}
