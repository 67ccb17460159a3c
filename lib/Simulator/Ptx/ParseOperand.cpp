//===- ParseOperand.cpp - PTX instruction operands ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

using namespace fa4::sim::ptx;
using llvm::StringRef;

static constexpr unsigned maxDepth = 8;
static constexpr uint32_t unresolved = ~0u;

llvm::ArrayRef<Operand> Parser::store(llvm::ArrayRef<Operand> operands) {
  return operands.copy(module.arena);
}

/// Returns true if `name` is a special register (PTX ISA section 10); its
/// component, such as `.x`, is not part of the name.
static bool isSpecialRegister(StringRef name) {
  static const llvm::StringSet<> names = {"%tid",
                                          "%ntid",
                                          "%laneid",
                                          "%warpid",
                                          "%nwarpid",
                                          "%ctaid",
                                          "%nctaid",
                                          "%smid",
                                          "%nsmid",
                                          "%gridid",
                                          "%is_explicit_cluster",
                                          "%clusterid",
                                          "%nclusterid",
                                          "%cluster_ctaid",
                                          "%cluster_nctaid",
                                          "%cluster_ctarank",
                                          "%cluster_nctarank",
                                          "%lanemask_eq",
                                          "%lanemask_le",
                                          "%lanemask_lt",
                                          "%lanemask_ge",
                                          "%lanemask_gt",
                                          "%clock",
                                          "%clock_hi",
                                          "%clock64",
                                          "%globaltimer",
                                          "%globaltimer_lo",
                                          "%globaltimer_hi",
                                          "%reserved_smem_offset_begin",
                                          "%reserved_smem_offset_end",
                                          "%reserved_smem_offset_cap",
                                          "%reserved_smem_offset_0",
                                          "%reserved_smem_offset_1",
                                          "%total_smem_size",
                                          "%aggr_smem_size",
                                          "%dynamic_smem_size",
                                          "%current_graph_exec"};
  if (names.contains(name))
    return true;
  StringRef number = name;
  unsigned value;
  if (number.consume_front("%envreg"))
    return !number.getAsInteger(10, value) && value < 32;
  if (number.consume_front("%pm")) {
    number.consume_back("_64");
    return !number.getAsInteger(10, value) && value < 8;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void Parser::undeclaredRegister(const Token &name) {
  if (!lostRegisters && undeclared.insert(name.text).second)
    error(name.loc, "undeclared register '" + name.text + "'");
}

bool Parser::parseSpecialRegister(Operand &operand) {
  Token name = take();
  if (!isSpecialRegister(name.text)) {
    undeclaredRegister(name);
    operand.kind = Operand::Kind::Sink;
    return true;
  }
  operand.kind = Operand::Kind::Special;
  operand.name = name.text;
  if (token().is(TokenKind::DotWord) && token().begin() == name.end()) {
    Token component = take();
    if (component.text != "x" && component.text != "y" &&
        component.text != "z" && component.text != "w")
      return error(component.loc,
                   "unknown component '." + component.text + "'");
    operand.name = StringRef(name.begin(), component.end() - name.begin());
  }
  operand.name = module.strings.save(operand.name);
  return true;
}

/// Parses what may follow a register's name: `.x` of a vector, `.b0` or `.h1`
/// of a scalar.
bool Parser::parseRegisterSuffix(Operand &operand, const Meaning &meaning) {
  bool isVector = meaning.registers.size() > 1;
  operand.kind = Operand::Kind::Register;
  operand.reg = meaning.registers.front();
  const Token &suffix = token();
  if (suffix.is(TokenKind::DotWord) &&
      suffix.begin() == tokens[position - 1].end()) {
    if (!isVector) {
      operand.selector = module.strings.save(take().text);
      return true;
    }
    size_t element = StringRef("xyzw").find(suffix.text);
    if (element == StringRef::npos)
      element = StringRef("rgba").find(suffix.text);
    if (suffix.text.size() != 1 || element >= meaning.registers.size())
      return error(suffix.loc, "unknown component '." + suffix.text + "'");
    take();
    operand.reg = meaning.registers[element];
    return true;
  }
  if (!isVector)
    return true;
  operand.kind = Operand::Kind::Vector;
  llvm::SmallVector<Operand, 4> elements;
  for (const Register *reg : meaning.registers) {
    Operand element;
    element.kind = Operand::Kind::Register;
    element.loc = operand.loc;
    element.name = reg->name;
    element.reg = reg;
    elements.push_back(element);
  }
  operand.elements = store(elements);
  return true;
}

/// Parses the offset behind a symbol or register: `+ 4`, `- 4` or `+ -4`.
/// Without one, the offset is 0.
bool Parser::parseOffset(int64_t &offset) {
  while (token().is("+") || token().is("-")) {
    bool minus = take().is("-");
    Constant value;
    Location loc = token().loc;
    // Only one term is parsed here; the caller reads `a + 4 - 8` term by term.
    if (!parseUnary(value))
      return false;
    while (token().is("*")) {
      take();
      Constant factor;
      if (!parseUnary(factor))
        return false;
      value.isFloat |= factor.isFloat;
      value.integer = int64_t(uint64_t(value.integer) * factor.integer);
    }
    if (value.isFloat)
      return error(loc, "an offset must be an integer");
    uint64_t term = uint64_t(value.integer);
    offset = int64_t(uint64_t(offset) + (minus ? 0 - term : term));
  }
  return true;
}

/// Parses an element of a symbol: `symbol[3]`, `symbol[%r1]` or `symbol[%r1 +
/// 2]`.
bool Parser::parseIndexedSymbol(Operand &operand) {
  Operand symbol = operand;
  take();
  operand = Operand();
  operand.kind = Operand::Kind::Address;
  operand.loc = symbol.loc;
  operand.name = symbol.name;
  operand.elements = store(symbol);
  const Variable *v = symbol.variable;
  uint64_t scale = v ? typeBytes(v->type) * v->vector : 1;
  int64_t index = 0;
  if (token().is(TokenKind::Identifier) && token().text != "WARP_SZ") {
    Token name = take();
    auto meaning = lookUp(name.text);
    if (meaning && meaning->kind == Meaning::Kind::Registers)
      operand.index = meaning->registers.front();
    else
      undeclaredRegister(name);
    operand.indexScale = uint32_t(scale);
    if (!parseOffset(index))
      return false;
  } else if (!parseInteger(index, "an index")) {
    return false;
  }
  operand.offset = int64_t(uint64_t(symbol.offset) + uint64_t(index) * scale);
  return expect("]", "behind an index");
}

bool Parser::parseNamed(Operand &operand) {
  const Token &name = token();
  operand.name = name.text;
  if (name.text == "_") {
    take();
    operand.kind = Operand::Kind::Sink;
    return true;
  }
  std::optional<Meaning> meaning;
  if (!expectLabel)
    meaning = lookUp(name.text);
  if (meaning && meaning->kind == Meaning::Kind::Registers) {
    take();
    return parseRegisterSuffix(operand, *meaning);
  }
  if (meaning && meaning->kind == Meaning::Kind::LabelList) {
    take();
    operand.kind = Operand::Kind::LabelList;
    operand.target = meaning->index;
    return true;
  }
  if (!meaning && name.text[0] == '%')
    return parseSpecialRegister(operand);
  operand.variable = meaning ? meaning->variable : nullptr;
  if (!meaning && !expectLabel) {
    operand.variable = module.findVariable(name.text);
    operand.function =
        operand.variable ? nullptr : module.findFunction(name.text);
  }
  take();
  if (!operand.variable && !operand.function) {
    operand.kind = Operand::Kind::Label;
    operand.target = unresolved;
    sawUnresolved = true;
    return true;
  }
  operand.kind = Operand::Kind::Symbol;
  if (token().is("["))
    return parseIndexedSymbol(operand);
  return parseOffset(operand.offset);
}

//===----------------------------------------------------------------------===//
// Compound operands
//===----------------------------------------------------------------------===//

bool Parser::parseGroup(Operand &operand, StringRef close, unsigned depth) {
  openBraces += take().is("{");
  llvm::SmallVector<Operand, 8> elements;
  while (!token().is(close)) {
    elements.emplace_back();
    if (!parseOperand(elements.back(), depth + 1))
      return false;
    if (!consume(","))
      break;
  }
  operand.elements = store(elements);
  if (!expect(close, "behind a list of operands"))
    return false;
  openBraces -= close == "}";
  return true;
}

bool Parser::parseAddress(Operand &operand, unsigned depth) {
  take();
  operand.kind = Operand::Kind::Address;
  llvm::SmallVector<Operand, 4> elements;
  elements.emplace_back();
  if (!parseSingleOperand(elements.back(), depth + 1))
    return false;
  Operand &base = elements.front();
  operand.name = base.name;
  switch (base.kind) {
  case Operand::Kind::Register:
    if (!parseOffset(operand.offset))
      return false;
    break;
  case Operand::Kind::Symbol:
    std::swap(operand.offset, base.offset);
    break;
  case Operand::Kind::Address: // [symbol[index]]
    operand.offset = base.offset;
    operand.index = base.index;
    operand.indexScale = base.indexScale;
    base = Operand(base.base());
    break;
  case Operand::Kind::Integer:
  case Operand::Kind::Label: // An undefined symbol, in the end.
  case Operand::Kind::Sink:  // An undeclared register.
    break;
  default:
    return error(base.loc, "not an address");
  }
  while (consume(",")) {
    elements.emplace_back();
    if (!parseOperand(elements.back(), depth + 1))
      return false;
  }
  operand.elements = store(elements);
  return expect("]", "behind an address");
}

bool Parser::parseSingleOperand(Operand &operand, unsigned depth) {
  if (depth > maxDepth)
    return error(token().loc, "operand is nested too deeply");
  const Token &t = token();
  operand.loc = t.loc;
  if (t.is("{")) {
    operand.kind = Operand::Kind::Vector;
    return parseGroup(operand, "}", depth);
  }
  if (t.is("["))
    return parseAddress(operand, depth);
  if (t.is("(") && depth == 0 && isCall) {
    operand.kind = Operand::Kind::List;
    return parseGroup(operand, ")", depth);
  }
  if (t.is(TokenKind::String)) {
    operand.kind = Operand::Kind::String;
    operand.name = take().text;
    return true;
  }
  if (t.is("!") && token(1).is(TokenKind::Identifier)) {
    take();
    operand.negated = true;
    if (!parseNamed(operand))
      return false;
    if (!operand.isPredicate() && !operand.is(Operand::Kind::Sink))
      error(operand.loc, "'!' needs a predicate register");
    return true;
  }
  if (startsConstant()) {
    Constant value;
    if (!parseConstant(value))
      return false;
    operand.kind =
        value.isFloat ? Operand::Kind::Float : Operand::Kind::Integer;
    operand.floatBits = value.floatBits;
    operand.isUnsigned = value.isUnsigned;
    operand.integer = value.integer;
    operand.floating = value.floating;
    return true;
  }
  if (t.is(TokenKind::Identifier))
    return parseNamed(operand);
  return unexpected("an operand");
}

bool Parser::parseOperand(Operand &operand, unsigned depth) {
  if (!parseSingleOperand(operand, depth))
    return false;
  if (!token().is("|"))
    return true;
  take();
  Operand second;
  if (!parseSingleOperand(second, depth + 1))
    return false;
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.loc = operand.loc;
  pair.name = operand.name;
  pair.elements = store({operand, second});
  operand = pair;
  return true;
}
