//===- Expression.cpp - sizes as expressions ------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Expression.h"
#include "fa4/Support/OperatorParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>
#include <vector>

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

struct Expression::Node {
  enum class Kind : uint8_t { Literal, Symbol, Call } kind = Kind::Literal;
  Number value;
  std::string name; ///< Of the symbol, operator or function.
  std::vector<std::shared_ptr<const Node>> arguments;
};

using Node = Expression::Node;
using NodeRef = std::shared_ptr<const Node>;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static unsigned argumentCount(StringRef name) {
  if (name == "ceildiv" || name == "align" || name == "min" || name == "max")
    return 2;
  if (name == "sqrt" || name == "exp2" || name == "log2" || name == "float" ||
      name == "int")
    return 1;
  return 0;
}

namespace {

class ExpressionParser
    : private fa4::OperatorParser<ExpressionParser, NodeRef> {
public:
  explicit ExpressionParser(StringRef text) : rest(text) {}

  NodeRef run() {
    NodeRef root;
    if (!parseConditional(root))
      return nullptr;
    skip();
    if (!rest.empty())
      return fail("unexpected '" + rest.take_front(8) + "'"), nullptr;
    return root;
  }
  std::string message;

private:
  friend class fa4::OperatorParser<ExpressionParser, NodeRef>;
  using Level = llvm::ArrayRef<StringRef>;

  static llvm::ArrayRef<Level> operators() {
    // `<=` comes before `<`, which it begins with.
    static constexpr StringRef logicalOr[] = {"||"}, logicalAnd[] = {"&&"},
                               equality[] = {"==", "!="},
                               relation[] = {"<=", ">=", "<", ">"},
                               sum[] = {"+", "-"}, product[] = {"*", "/", "%"};
    static const Level levels[] = {logicalOr, logicalAnd, equality,
                                   relation,  sum,        product};
    return levels;
  }

  bool fail(const Twine &text) {
    if (message.empty())
      message = text.str();
    return false;
  }
  bool failExpected(StringRef token) {
    return fail("expected '" + token + "'");
  }
  bool failDepth() { return fail("nested too deeply"); }

  void skip() { rest = rest.ltrim(); }
  bool takeToken(StringRef token) {
    skip();
    return rest.consume_front(token);
  }
  std::optional<StringRef> takeOperator(Level among) {
    for (StringRef op : among)
      if (takeToken(op))
        return op;
    return std::nullopt;
  }

  static NodeRef call(StringRef name, std::vector<NodeRef> arguments) {
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::Call;
    node->name = name.str();
    node->arguments = std::move(arguments);
    return node;
  }
  static bool apply(StringRef op, NodeRef &left, NodeRef right) {
    left = call(op, {left, right});
    return true;
  }
  static bool choose(NodeRef &condition, NodeRef yes, NodeRef no) {
    condition = call("?", {condition, yes, no});
    return true;
  }

  bool parseUnary(NodeRef &node) {
    StringRef op = takeToken("-") ? "neg" : takeToken("!") ? "!" : "";
    if (op.empty())
      return parsePrimary(node);
    Nesting nesting(*this);
    if (!nesting.fits || !parseUnary(node))
      return false;
    node = call(op, {node});
    return true;
  }

  bool parsePrimary(NodeRef &node) {
    skip();
    if (takeToken("("))
      return parseConditional(node) && (takeToken(")") || failExpected(")"));
    if (rest.empty())
      return fail("unexpected end");
    if (llvm::isDigit(rest[0]) || rest[0] == '.')
      return parseLiteral(node);
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty())
      return fail("unexpected '" + rest.take_front(1) + "'");
    rest = rest.drop_front(name.size());
    if (takeToken("("))
      return parseFunction(name, node);
    auto symbol = std::make_shared<Node>();
    symbol->kind = Node::Kind::Symbol;
    symbol->name = name.str();
    node = symbol;
    return true;
  }

  bool parseFunction(StringRef name, NodeRef &node) {
    unsigned wanted = argumentCount(name);
    if (!wanted)
      return fail("unknown function '" + name + "'");
    std::vector<NodeRef> arguments;
    do {
      arguments.emplace_back();
      if (!parseConditional(arguments.back()))
        return false;
    } while (takeToken(","));
    if (!takeToken(")"))
      return failExpected(")");
    if (arguments.size() != wanted)
      return fail("'" + name + "' takes " + Twine(wanted) + " argument(s)");
    node = call(name, std::move(arguments));
    return true;
  }

  bool parseLiteral(NodeRef &result) {
    size_t length = 0;
    while (length < rest.size() &&
           (llvm::isAlnum(rest[length]) || rest[length] == '.' ||
            ((rest[length] == '-' || rest[length] == '+') && length &&
             !rest.starts_with_insensitive("0x") &&
             (rest[length - 1] == 'e' || rest[length - 1] == 'E'))))
      ++length;
    StringRef text = rest.take_front(length);
    rest = rest.drop_front(length);
    auto node = std::make_shared<Node>();
    result = node;
    if (!text.getAsInteger(text.starts_with_insensitive("0x") ? 0 : 10,
                           node->value.integer))
      return true;
    node->value.isFloat = true;
    if (text.getAsDouble(node->value.floating, /*AllowInexact=*/true))
      return fail("malformed number '" + text + "'");
    return true;
  }

  StringRef rest;
};

} // namespace

Expression::Expression(int64_t value) : source(std::to_string(value)) {
  auto node = std::make_shared<Node>();
  node->value.integer = value;
  root = node;
}

Expression::Expression(double value) : source(std::to_string(value)) {
  auto node = std::make_shared<Node>();
  node->value.isFloat = true;
  node->value.floating = value;
  root = node;
}

llvm::Expected<Expression> Expression::parse(StringRef text) {
  Expression result;
  result.source = text.str();
  ExpressionParser parser(text);
  result.root = parser.run();
  if (!result.root)
    return llvm::createStringError("expression '" + text +
                                   "': " + parser.message);
  return result;
}

StringRef Expression::symbol() const {
  return root->kind == Node::Kind::Symbol ? StringRef(root->name) : StringRef();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

std::optional<Number> Number::parse(StringRef text) {
  int64_t integer;
  if (!text.getAsInteger(0, integer))
    return Number(integer);
  double floating;
  // Written as an integer that 64 bits do not hold, it is none.
  bool isInteger =
      text.ltrim("+-").find_first_not_of("0123456789") == StringRef::npos;
  if (isInteger || text.getAsDouble(floating, /*AllowInexact=*/true))
    return std::nullopt;
  return Number(floating);
}

std::string Number::text() const {
  if (!isFloat)
    return std::to_string(integer);
  char buffer[32];
  return {buffer, std::to_chars(buffer, std::end(buffer), floating).ptr};
}

static Number ofInteger(int64_t value) { return Number(value); }
static Number ofDouble(double value) { return Number(value); }

/// Applies an operator. Returns null on success, else the error's message.
static const char *apply(StringRef op, int64_t a, int64_t b, Number &result) {
  constexpr const char *overflow = "integer overflow";
  constexpr const char *byZero = "division by zero";
  int64_t value = 0;
  bool isDivision = op == "/" || op == "%" || op == "ceildiv" || op == "align";
  if (isDivision && b == 0)
    return byZero;
  if (isDivision && a == INT64_MIN && b == -1)
    return overflow;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &value))
      return overflow;
  } else if (op == "-") {
    if (__builtin_sub_overflow(a, b, &value))
      return overflow;
  } else if (op == "*") {
    if (__builtin_mul_overflow(a, b, &value))
      return overflow;
  } else if (op == "/") {
    value = a / b;
  } else if (op == "%") {
    value = a % b;
  } else if (op == "ceildiv" || op == "align") {
    value = a / b + (a % b != 0 && (a < 0) == (b < 0));
    if (op == "align" && __builtin_mul_overflow(value, b, &value))
      return overflow;
  } else {
    value = op == "min" ? std::min(a, b) : std::max(a, b);
  }
  result = ofInteger(value);
  return nullptr;
}

static const char *apply(StringRef op, double a, double b, Number &result) {
  if (op == "+")
    result = ofDouble(a + b);
  else if (op == "-")
    result = ofDouble(a - b);
  else if (op == "*")
    result = ofDouble(a * b);
  else if (op == "/")
    result = ofDouble(a / b);
  else if (op == "min" || op == "max")
    result = ofDouble(op == "min" ? std::fmin(a, b) : std::fmax(a, b));
  else
    return "needs integers";
  return nullptr;
}

static bool compare(StringRef op, const Number &a, const Number &b) {
  double x = a.asDouble(), y = b.asDouble();
  bool exact = !a.isFloat && !b.isFloat;
  bool less = exact ? a.integer < b.integer : x < y;
  bool equal = exact ? a.integer == b.integer : x == y;
  if (op == "==")
    return equal;
  if (op == "!=")
    return !equal;
  if (op == "<")
    return less;
  if (op == "<=")
    return less || equal;
  if (op == ">")
    return !less && !equal;
  return !less;
}

static bool isTrue(const Number &n) { return n.asDouble() != 0; }

static const char *applyUnary(StringRef op, const Number &a, Number &result) {
  double x = a.asDouble();
  if (op == "neg" && !a.isFloat)
    return apply("-", int64_t(0), a.integer, result);
  if (op == "neg")
    result = ofDouble(-x);
  else if (op == "!")
    result = ofInteger(!isTrue(a));
  else if (op == "sqrt")
    result = ofDouble(std::sqrt(x));
  else if (op == "exp2")
    result = ofDouble(std::exp2(x));
  else if (op == "log2")
    result = ofDouble(std::log2(x));
  else if (op == "float")
    result = ofDouble(x);
  else if (!a.isFloat)
    result = a;
  else if (x >= -9.2e18 && x <= 9.2e18)
    result = ofInteger(int64_t(x));
  else
    return "does not fit an integer";
  return nullptr;
}

static llvm::Expected<Number> evaluateNode(const Node &node,
                                           const SizeMap &sizes) {
  if (node.kind == Node::Kind::Literal)
    return node.value;
  if (node.kind == Node::Kind::Symbol) {
    auto known = sizes.find(node.name);
    if (known == sizes.end())
      return llvm::createStringError("size '" + Twine(node.name) +
                                     "' has no value");
    return known->second;
  }
  Number values[3];
  StringRef op = node.name;
  for (unsigned i = 0; i < node.arguments.size(); ++i) {
    // Of a conditional expression only the chosen branch is evaluated.
    if (op == "?" && i && (i == 1) != isTrue(values[0]))
      continue;
    auto value = evaluateNode(*node.arguments[i], sizes);
    if (!value)
      return value;
    values[i] = *value;
  }
  Number result;
  const char *problem = nullptr;
  if (op == "?")
    return isTrue(values[0]) ? values[1] : values[2];
  if (op == "||" || op == "&&") {
    bool a = isTrue(values[0]), b = isTrue(values[1]);
    return ofInteger(op == "||" ? a || b : a && b);
  }
  if (op == "==" || op == "!=" || op[0] == '<' || op[0] == '>')
    return ofInteger(compare(op, values[0], values[1]));
  if (node.arguments.size() == 1)
    problem = applyUnary(op, values[0], result);
  else if (values[0].isFloat || values[1].isFloat)
    problem = apply(op, values[0].asDouble(), values[1].asDouble(), result);
  else
    problem = apply(op, values[0].integer, values[1].integer, result);
  if (problem)
    return llvm::createStringError("'" + op + "': " + problem);
  return result;
}

llvm::Expected<Number> Expression::evaluate(const SizeMap &sizes) const {
  auto result = evaluateNode(*root, sizes);
  if (result)
    return result;
  return llvm::createStringError("expression '" + source +
                                 "': " + llvm::toString(result.takeError()));
}

llvm::Expected<int64_t>
Expression::evaluateInteger(const SizeMap &sizes) const {
  auto result = evaluate(sizes);
  if (!result)
    return result.takeError();
  if (result->isFloat)
    return llvm::createStringError("expression '" + source +
                                   "' is not an integer");
  return result->integer;
}
