//===- ParseModule.cpp - PTX modules and function headers -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "llvm/Support/MathExtras.h"

using namespace fa4::sim::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Tokens and errors
//===----------------------------------------------------------------------===//

bool Parser::error(Location loc, const Twine &message) {
  // Each statement gets one message, because a second error is often a
  // consequence of the first.
  if (!tooMany())
    diagnostics.push_back({loc, message.str()});
  return false;
}

bool Parser::unexpected(const Twine &wanted) {
  const Token &t = token();
  if (t.is(TokenKind::End))
    return error(t.loc, "expected " + wanted + " before the end of the file");
  StringRef dot = t.is(TokenKind::DotWord) ? "." : "";
  return error(t.loc, "expected " + wanted + ", found '" + dot + t.text + "'");
}

bool Parser::expect(StringRef punct, StringRef where) {
  if (consume(punct))
    return true;
  return unexpected("'" + punct + "' " + where);
}

void Parser::skipStatement() {
  while (!atEnd() && !token().is("{")) {
    if (token().is("}") && !openBraces)
      return;
    Token skipped = take();
    if (skipped.is(";"))
      return;
    if (skipped.is("=") && token().is("{")) {
      skipBalanced("{", "}");
      continue;
    }
    openBraces -= skipped.is("}");
  }
}

void Parser::skipRestOfLine() {
  uint32_t line = token().loc.line;
  while (!atEnd() && token().loc.line == line)
    take();
}

/// `.file 1 "attention.py"`, `.loc 1 57 12` (and what may follow on the line:
/// a time stamp, the place where a function was inlined).
void Parser::parseSourceDirective() {
  Token directive = token();
  uint32_t numbers[3] = {};
  for (unsigned i = 0; i < 3; ++i)
    if (token(i + 1).is(TokenKind::Number) &&
        token(i + 1).loc.line == directive.loc.line)
      (void)token(i + 1).text.getAsInteger(10, numbers[i]);
  if (directive.text == "loc")
    module.sourceLines.push_back(
        {directive.loc.line, numbers[0], numbers[1], numbers[2]});
  else if (token(2).is(TokenKind::String))
    module.sourceFiles[numbers[0]] = module.strings.save(token(2).text);
  skipRestOfLine();
}

bool Parser::skipBalanced(StringRef open, StringRef close) {
  Location loc = token().loc;
  unsigned depth = 0;
  do {
    if (atEnd())
      return error(loc, "'" + open + "' without '" + close + "'");
    if (token().is(open))
      ++depth;
    else if (token().is(close))
      --depth;
    take();
  } while (depth);
  return true;
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

void Parser::run() {
  tokens = tokenize(module.buffer->getBuffer().rtrim('\0'), diagnostics);
  if (!diagnostics.empty())
    return;
  parseHeader();
  while (!atEnd() && !tooMany()) {
    size_t before = position;
    if (parseModuleStatement())
      continue;
    skipStatement();
    openBraces = 0;
    if (token().is("{"))
      skipBalanced("{", "}");
    if (token().is("}") || position == before)
      take();
  }
  if (diagnostics.empty())
    resolveModule();
}

void Parser::parseHeader() {
  auto skipLines = [&] {
    while (token().isDot("file") || token().isDot("loc"))
      parseSourceDirective();
  };
  skipLines();
  if (!token().isDot("version")) {
    unexpected("the .version directive");
    return;
  }
  if (!parseVersion())
    return;
  skipLines();
  if (!token().isDot("target")) {
    unexpected("the .target directive");
    return;
  }
  parseTarget();
}

bool Parser::parseVersion() {
  take();
  Token number = token();
  auto [major, minor] = number.text.split('.');
  if (!number.is(TokenKind::Number) ||
      major.getAsInteger(10, module.versionMajor) ||
      minor.getAsInteger(10, module.versionMinor))
    return unexpected("a version such as 9.0");
  take();
  return true;
}

bool Parser::parseTarget() {
  module.targetLoc = take().loc;
  do {
    if (!token().is(TokenKind::Identifier))
      return unexpected("a target such as sm_100a");
    module.targets.push_back(module.strings.save(take().text));
  } while (consume(","));
  return true;
}

bool Parser::parseModuleStatement() {
  if (consume(";"))
    return true;
  if (token().is("@")) { // @@DWARF, of old debug information.
    skipRestOfLine();
    return true;
  }
  if (!token().is(TokenKind::DotWord))
    return unexpected("a directive");
  StringRef word = token().text;
  if (word == "version" || word == "target")
    return error(token().loc, "'." + word + "' occurs a second time");
  if (word == "file" || word == "loc") {
    parseSourceDirective();
    return true;
  }
  if (word == "address_size") {
    take();
    int64_t bits;
    if (!parseInteger(bits, "the address size"))
      return false;
    if (bits != 64)
      return error(token().loc, "only .address_size 64 is supported");
    return true;
  }
  if (word == "section") {
    while (!atEnd() && !token().is("{"))
      take();
    return skipBalanced("{", "}");
  }
  if (word == "pragma") {
    skipStatement();
    return true;
  }
  if (word == "alias")
    return parseAlias();
  Linkage linkage = Linkage::None;
  size_t start = position;
  if (word == "extern")
    linkage = Linkage::Extern;
  else if (word == "visible")
    linkage = Linkage::Visible;
  else if (word == "weak")
    linkage = Linkage::Weak;
  else if (word == "common")
    linkage = Linkage::Common;
  if (linkage != Linkage::None)
    take();
  if (token().isDot("entry") || token().isDot("func"))
    return parseFunction(linkage);
  position = start;
  DeclSpec spec;
  return parseDeclSpec(spec) && parseVariables(spec);
}

bool Parser::parseAlias() {
  Alias alias;
  alias.loc = take().loc;
  for (StringRef *name : {&alias.name, &alias.aliasee}) {
    if (!token().is(TokenKind::Identifier))
      return unexpected("a function name");
    *name = module.strings.save(take().text);
    if (name == &alias.name && !expect(",", "in .alias"))
      return false;
  }
  module.aliases.push_back(alias);
  return expect(";", "behind .alias");
}

/// Resolves what needs the whole module: aliases, and names that are declared
/// after their use.
void Parser::resolveModule() {
  for (const Alias &alias : module.aliases) {
    Function *target = module.findFunction(alias.aliasee);
    if (!target)
      error(alias.loc,
            ".alias of an undefined function '" + alias.aliasee + "'");
    else if (Function *declared = module.findFunction(alias.name))
      declared->aliasee = target;
    else
      module.functionMap[alias.name] = target;
  }
  for (Variable &variable : module.allVariables)
    for (Relocation &relocation : variable.relocations) {
      if (relocation.variable || relocation.function)
        continue;
      relocation.variable = module.findVariable(relocation.name);
      relocation.function = module.findFunction(relocation.name);
      if (!relocation.variable && !relocation.function)
        error(relocation.loc, "undefined symbol '" + relocation.name + "'");
    }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Parser::parseCount(uint32_t &value, StringRef directive) {
  Location loc = token().loc;
  int64_t number;
  if (!parseInteger(number, "a count for ." + directive.str()))
    return false;
  if (number < 0 || number > UINT32_MAX)
    return error(loc, "the count of ." + directive + " is out of range");
  value = uint32_t(number);
  return true;
}

bool Parser::parseDimensions(uint32_t (&values)[3], StringRef directive) {
  values[0] = values[1] = values[2] = 1;
  for (uint32_t &value : values) {
    if (!parseCount(value, directive))
      return false;
    if (!consume(","))
      break;
  }
  return true;
}

bool Parser::parseFunctionDirectives(FunctionDirectives &d) {
  while (token().is(TokenKind::DotWord)) {
    Token t = take();
    StringRef word = t.text;
    bool ok = true;
    if (word == "reqntid")
      ok = parseDimensions(d.reqntid, word);
    else if (word == "maxntid")
      ok = parseDimensions(d.maxntid, word);
    else if (word == "reqnctapercluster")
      ok = parseDimensions(d.reqnctapercluster, word);
    else if (word == "maxnreg")
      ok = parseCount(d.maxnreg, word);
    else if (word == "minnctapersm")
      ok = parseCount(d.minnctapersm, word);
    else if (word == "maxnctapersm")
      ok = parseCount(d.maxnctapersm, word);
    else if (word == "maxclusterrank")
      ok = parseCount(d.maxclusterrank, word);
    else if (word == "explicitcluster")
      d.explicitcluster = true;
    else if (word == "blocksareclusters")
      d.blocksareclusters = true;
    else if (word == "noreturn")
      d.noreturn = true;
    else if (word == "abi_preserve" || word == "abi_preserve_control") {
      uint32_t ignored;
      ok = parseCount(ignored, word);
    } else if (word == "attribute") {
      ok = skipBalanced("(", ")");
    } else if (word == "pragma") {
      do {
        if (!token().is(TokenKind::String))
          return unexpected("a string behind .pragma");
        d.pragmas.push_back(module.strings.save(take().text));
      } while (consume(","));
      ok = expect(";", "behind .pragma");
    } else {
      return error(t.loc, "unknown function directive '." + word + "'");
    }
    if (!ok)
      return false;
  }
  return true;
}

void Parser::layOutParameters(Function &f) {
  uint64_t offset = 0;
  for (Variable *param : f.params) {
    offset = llvm::alignTo(offset, param->align);
    param->paramOffset = offset;
    offset += param->bytes;
  }
  f.paramBytes = offset;
}

/// Parses `.entry name (params) directives` or `.func (results) name (params)
/// ...`.
bool Parser::parseFunctionHeader(Function &parsed) {
  parsed.isEntry = take().text == "entry";
  auto attributes = [&] {
    while (token().isDot("attribute")) {
      take();
      if (!token().is("("))
        return unexpected("'(' behind .attribute");
      if (!skipBalanced("(", ")"))
        return false;
    }
    return true;
  };
  if (!attributes())
    return false;
  if (!parsed.isEntry && token().is("(") &&
      !parseParameters(parsed.results, true))
    return false;
  if (!token().is(TokenKind::Identifier))
    return unexpected("a function name");
  parsed.loc = token().loc;
  parsed.name = module.strings.save(take().text);
  if (token().is("(") && !parseParameters(parsed.params, false))
    return false;
  layOutParameters(parsed);
  return parseFunctionDirectives(parsed.directives);
}

/// Joins a declaration and a definition of the same name into one object.
Function *Parser::mergeFunction(Function &&parsed) {
  Function *&known = module.functionMap[parsed.name];
  if (module.findVariable(parsed.name)) {
    error(parsed.loc, "'" + parsed.name + "' is already a variable");
    return nullptr;
  }
  if (!known) {
    module.functions.push_back(std::move(parsed));
    known = &module.functions.back();
    return known;
  }
  if (known->hasBody && parsed.hasBody) {
    error(parsed.loc, "function '" + parsed.name + "' is defined twice");
    return nullptr;
  }
  if (known->params.size() != parsed.params.size() ||
      known->results.size() != parsed.results.size() ||
      known->isEntry != parsed.isEntry) {
    error(parsed.loc, "function '" + parsed.name +
                          "' does not agree with its earlier declaration");
    return nullptr;
  }
  if (parsed.hasBody)
    *known = std::move(parsed);
  return known;
}

bool Parser::parseFunction(Linkage linkage) {
  Function parsed;
  scopes.clear();
  openScope();
  // A register that is a parameter already belongs to a function.
  function = &parsed;
  bool ok = parseFunctionHeader(parsed);
  function = nullptr;
  if (!ok)
    return false;
  parsed.linkage = linkage;
  parsed.hasBody = token().is("{");
  Function *merged = mergeFunction(std::move(parsed));
  if (!merged) {
    if (token().is("{"))
      return skipBalanced("{", "}");
    return consume(";"), true;
  }
  for (auto *list : {&merged->params, &merged->results})
    for (Variable *variable : *list)
      variable->owner = merged;
  if (!merged->hasBody || !token().is("{"))
    return expect(";", "behind a function declaration");
  return parseBody(*merged);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

std::shared_ptr<Module>
fa4::sim::ptx::parse(std::unique_ptr<llvm::MemoryBuffer> buffer,
                     std::vector<Diagnostic> &diagnostics) {
  auto module = std::make_shared<Module>();
  module->fileName = buffer->getBufferIdentifier().str();
  module->buffer = std::move(buffer);
  Parser(*module, diagnostics).run();
  return diagnostics.empty() ? module : nullptr;
}

llvm::Expected<std::shared_ptr<const Module>>
fa4::sim::ptx::parseModule(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  std::string name = buffer->getBufferIdentifier().str();
  std::vector<Diagnostic> diagnostics;
  if (auto module = parse(std::move(buffer), diagnostics))
    return module;
  std::string text;
  for (const Diagnostic &d : diagnostics)
    text += (text.empty() ? "" : "\n") + name + ":" +
            std::to_string(d.loc.line) + ":" + std::to_string(d.loc.column) +
            ": error: " + d.message;
  return llvm::createStringError(text);
}

llvm::Expected<std::shared_ptr<const Module>>
fa4::sim::ptx::parseFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  return parseModule(std::move(*buffer));
}
