//===- ParseBody.cpp - PTX function bodies --------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

using namespace fa4::sim::ptx;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr uint32_t unresolved = ~0u;

void Parser::openScope() {
  scopes.emplace_back();
  scopes.back().open = token().loc;
}

bool Parser::isDeclaredHere(StringRef name) const {
  const BodyScope &scope = scopes.back();
  return scope.names.contains(name) || scope.registers.contains(name);
}

bool Parser::defineName(StringRef name, Location loc, Meaning meaning) {
  if (isDeclaredHere(name))
    return error(loc, "'" + name + "' is declared twice in this scope");
  scopes.back().names[name] = meaning;
  return true;
}

/// Creates the register `name`, or the elements of a vector register.
llvm::ArrayRef<const Register *>
Parser::makeRegisters(StringRef name, const RegisterDecl &decl) {
  static constexpr StringRef elements[] = {".x", ".y", ".z", ".w"};
  auto *list = module.arena.Allocate<const Register *>(decl.vector);
  for (unsigned i = 0; i < decl.vector; ++i) {
    auto *reg = new (module.arena.Allocate<Register>()) Register;
    reg->name = decl.vector == 1 ? module.strings.save(name)
                                 : module.strings.save(name + elements[i % 4]);
    reg->type = decl.type;
    reg->cls = registerClass(decl.type);
    reg->id = function->registerCount[unsigned(reg->cls)]++;
    reg->index = uint32_t(function->registers.size());
    function->registers.push_back(reg);
    list[i] = reg;
  }
  return {list, decl.vector};
}

/// Finds the declared range `prefix<count>` to which `name` belongs. All ways
/// to split the name into a prefix and a decimal number without leading zeros
/// are tried.
static const RegisterDecl *findInRange(const BodyScope &scope, StringRef name) {
  for (size_t split = name.size(); split > 1 && llvm::isDigit(name[split - 1]);
       --split) {
    StringRef digits = name.drop_front(split - 1);
    uint64_t number;
    if ((digits[0] == '0' && digits.size() > 1) ||
        digits.getAsInteger(10, number))
      continue;
    auto range = scope.ranges.find(name.take_front(split - 1));
    if (range != scope.ranges.end() && number < range->second.count)
      return &range->second;
  }
  return nullptr;
}

std::optional<Meaning> Parser::lookUp(StringRef name) {
  for (BodyScope &scope : llvm::reverse(scopes)) {
    auto known = scope.names.find(name);
    if (known != scope.names.end())
      return known->second;
    const RegisterDecl *decl = nullptr;
    auto single = scope.registers.find(name);
    if (single != scope.registers.end())
      decl = &single->second;
    else
      decl = findInRange(scope, name);
    if (!decl)
      continue;
    Meaning meaning;
    meaning.kind = Meaning::Kind::Registers;
    meaning.registers = makeRegisters(name, *decl);
    scope.names[name] = meaning;
    return meaning;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Labels that come later
//===----------------------------------------------------------------------===//

void Parser::collectFixups(llvm::ArrayRef<Operand> operands) {
  for (const Operand &operand : operands) {
    // The parser owns the operands in the arena, so it may still complete them.
    if (operand.is(Operand::Kind::Label) && operand.target == unresolved)
      scopes.back().operandFixups.push_back(const_cast<Operand *>(&operand));
    collectFixups(operand.elements);
  }
}

bool Parser::resolveOperand(Operand &operand, const BodyScope &scope) {
  auto known = scope.names.find(operand.name);
  if (known == scope.names.end())
    return false;
  const Meaning &meaning = known->second;
  if (meaning.kind == Meaning::Kind::LabelList)
    operand.kind = Operand::Kind::LabelList;
  else if (meaning.kind != Meaning::Kind::Label)
    return false;
  operand.target = meaning.index;
  return true;
}

bool Parser::resolveListEntry(const BodyScope::ListFixup &fixup,
                              const BodyScope &scope) {
  auto known = scope.names.find(fixup.name);
  if (known == scope.names.end() || known->second.kind != Meaning::Kind::Label)
    return false;
  function->labelLists[fixup.list].targets[fixup.position] =
      known->second.index;
  return true;
}

/// Resolves the operands that name a label of `scope`. The other names go to
/// the parent scope; at the outermost scope they are functions, or undefined.
void Parser::resolveFixups(BodyScope &scope, BodyScope *parent) {
  for (Operand *operand : scope.operandFixups) {
    if (resolveOperand(*operand, scope))
      continue;
    if (parent)
      parent->operandFixups.push_back(operand);
    else
      error(operand->loc, "undefined symbol '" + operand->name + "'");
  }
  for (const auto &fixup : scope.listFixups) {
    if (resolveListEntry(fixup, scope))
      continue;
    if (parent)
      parent->listFixups.push_back(fixup);
    else
      error(fixup.loc, "undefined label '" + fixup.name + "'");
  }
}

void Parser::closeScope() {
  BodyScope scope = std::move(scopes.back());
  scopes.pop_back();
  resolveFixups(scope, scopes.empty() ? nullptr : &scopes.back());
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool Parser::parseBody(Function &parsed) {
  function = &parsed;
  lostRegisters = false;
  undeclared.clear();
  // The last `.loc` of one function says nothing of the next.
  module.sourceLines.push_back({token().loc.line, 0, 0, 0});
  // scopes[0] holds the parameters; the body's braces open scopes[1].
  do {
    if (atEnd()) {
      error(scopes.back().open, "'{' without '}'");
      break;
    }
    if (token().is("{")) {
      openScope();
      take();
    } else if (consume("}")) {
      closeScope();
    } else {
      size_t before = position;
      if (!parseBodyStatement()) {
        if (position == before || !tokens[position - 1].is(";"))
          skipStatement();
        openBraces = 0;
      }
    }
  } while (scopes.size() > 1 && !tooMany());
  while (!scopes.empty() && !tooMany())
    closeScope();
  scopes.clear();
  function = nullptr;
  return true;
}

bool Parser::parseBodyStatement() {
  if (consume(";"))
    return true;
  if (token().is(TokenKind::DotWord))
    return parseBodyDirective();
  if (token().is(TokenKind::Identifier) && token(1).is(":"))
    return parseLabel();
  return parseInstruction();
}

bool Parser::parseBodyDirective() {
  StringRef word = token().text;
  if (word == "loc" || word == "file") {
    parseSourceDirective();
    return true;
  }
  if (word == "reg")
    return parseRegisters();
  if (word == "pragma") {
    take();
    do {
      if (!token().is(TokenKind::String))
        return unexpected("a string behind .pragma");
      take();
    } while (consume(","));
    return expect(";", "behind .pragma");
  }
  DeclSpec spec;
  return parseDeclSpec(spec) && parseVariables(spec);
}

bool Parser::parseLabel() {
  Token name = take();
  take();
  if (token().isDot("branchtargets") || token().isDot("calltargets") ||
      token().isDot("callprototype"))
    return parseLabelList(name);
  Meaning meaning;
  meaning.kind = Meaning::Kind::Label;
  meaning.index = uint32_t(function->instructions.size());
  function->labels.push_back(
      {module.strings.save(name.text), meaning.index, name.loc});
  return defineName(name.text, name.loc, meaning);
}

bool Parser::parseLabelList(const Token &name) {
  // The list is put in place at once, because names of later labels refer to it
  // by its index.
  uint32_t index = uint32_t(function->labelLists.size());
  LabelList &list = function->labelLists.emplace_back();
  list.name = module.strings.save(name.text);
  list.loc = name.loc;
  StringRef word = take().text;
  Meaning meaning;
  meaning.kind = Meaning::Kind::LabelList;
  meaning.index = index;
  if (!defineName(name.text, name.loc, meaning))
    return false;
  if (word == "callprototype") {
    list.kind = LabelList::Kind::Prototype;
    if (token().is("(") && !parsePrototypeParameters(list.resultBytes))
      return false;
    if (!token().is(TokenKind::Identifier))
      return unexpected("'_' in .callprototype");
    take();
    if (token().is("(") && !parsePrototypeParameters(list.paramBytes))
      return false;
    FunctionDirectives ignored;
    if (!parseFunctionDirectives(ignored))
      return false;
    return expect(";", "behind .callprototype");
  }
  bool branches = word == "branchtargets";
  list.kind = branches ? LabelList::Kind::Branches : LabelList::Kind::Calls;
  do {
    if (!token().is(TokenKind::Identifier))
      return unexpected("a name in ." + word);
    Token entry = take();
    if (branches) {
      scopes.back().listFixups.push_back(
          {meaning.index, list.targets.size(), entry.text, entry.loc});
      list.targets.push_back(0);
      continue;
    }
    list.functionNames.push_back(module.strings.save(entry.text));
    list.functions.push_back(module.findFunction(entry.text));
    if (!list.functions.back())
      return error(entry.loc, "undefined function '" + entry.text + "'");
  } while (consume(","));
  return expect(";", "behind ." + word.str());
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Parser::parseOpcode(Instruction &instruction) {
  if (!token().is(TokenKind::Identifier))
    return unexpected("an instruction");
  const char *begin = token().begin(), *end = token().end();
  llvm::SmallVector<StringRef, 8> words = {take().text};
  while (token().is(TokenKind::DotWord) && token().begin() == end) {
    end = token().end();
    words.push_back(take().text);
  }
  StringRef opcode(begin, end - begin);
  auto [entry, isNew] = opcodeWords.try_emplace(opcode);
  if (isNew) {
    auto *stored = module.arena.Allocate<StringRef>(words.size());
    for (size_t i = 0; i < words.size(); ++i)
      stored[i] = module.strings.save(words[i]);
    entry->second = {stored, words.size()};
  }
  instruction.words = entry->second;
  instruction.opcode = module.strings.save(opcode);
  return true;
}

bool Parser::parseGuard(Instruction &instruction) {
  if (!consume("@"))
    return true;
  instruction.guardNegated = consume("!");
  if (!token().is(TokenKind::Identifier))
    return unexpected("a guard predicate");
  Token name = take();
  auto meaning = lookUp(name.text);
  if (!meaning || meaning->kind != Meaning::Kind::Registers) {
    undeclaredRegister(name);
    return true;
  }
  instruction.guard = meaning->registers.front();
  if (instruction.guard->cls != RegisterClass::Pred)
    error(name.loc, "guard '" + name.text + "' is not a predicate");
  return true;
}

bool Parser::parseInstruction() {
  Instruction instruction;
  instruction.loc = token().loc;
  const char *begin = token().begin();
  if (!parseGuard(instruction) || !parseOpcode(instruction))
    return false;
  expectLabel = instruction.root() == "bra";
  isCall = instruction.root() == "call";
  sawUnresolved = false;
  llvm::SmallVector<Operand, 8> operands;
  if (!token().is(";")) {
    do {
      operands.emplace_back();
      if (!parseOperand(operands.back()))
        return false;
    } while (consume(","));
  }
  const char *end = token().begin();
  if (!expect(";", "behind an instruction"))
    return false;
  instruction.operands = store(operands);
  instruction.text = StringRef(begin, end - begin).rtrim();
  if (sawUnresolved)
    collectFixups(instruction.operands);
  function->instructions.push_back(instruction);
  return true;
}
