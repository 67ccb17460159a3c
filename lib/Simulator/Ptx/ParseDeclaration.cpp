//===- ParseDeclaration.cpp - PTX variables, registers, parameters --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace fa4::sim::ptx;
using llvm::StringRef;

/// A larger object is reported as a mistake.
static constexpr uint64_t maxVariableBytes = uint64_t(1) << 40;
static constexpr uint64_t maxInitialisedBytes = uint64_t(1) << 28;
static constexpr size_t maxDimensions = 16;

static std::optional<StateSpace> spaceByName(StringRef word) {
  // ".shared::cta" and ".const[2]" name the same spaces.
  return llvm::StringSwitch<std::optional<StateSpace>>(word.split(':').first)
      .Case("reg", StateSpace::Reg)
      .Case("const", StateSpace::Const)
      .Cases({"global", "tex"}, StateSpace::Global)
      .Case("local", StateSpace::Local)
      .Case("param", StateSpace::Param)
      .Case("shared", StateSpace::Shared)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Specifiers
//===----------------------------------------------------------------------===//

/// Parses what follows `.ptr`: a state space and an alignment such as `.global
/// .align 32`, both optional.
bool Parser::parsePointerSpec(DeclSpec &spec) {
  spec.isPointer = true;
  while (token().is(TokenKind::DotWord)) {
    if (token().isDot("align")) {
      take();
      if (!parseCount(spec.pointerAlign, "align"))
        return false;
      continue;
    }
    auto space = spaceByName(token().text);
    if (!space)
      return unexpected("a state space behind .ptr");
    spec.pointerSpace = *space;
    spec.pointerSpaceGiven = true;
    take();
  }
  return true;
}

/// Parses the modifiers before the declared name, which may stand in any order.
bool Parser::parseDeclSpec(DeclSpec &spec) {
  bool hasSpace = false;
  Location start = token().loc;
  while (token().is(TokenKind::DotWord)) {
    Token t = take();
    StringRef word = t.text;
    if (auto space = spaceByName(word)) {
      spec.space = *space;
      hasSpace = true;
      if (word == "const" && token().is("[") && !skipBalanced("[", "]"))
        return false;
    } else if (auto type = typeByName(word)) {
      spec.type = type;
    } else if (word == "align") {
      if (!parseCount(spec.align, word))
        return false;
      if (!llvm::isPowerOf2_32(spec.align))
        return error(t.loc, "alignment is not a power of two");
    } else if (word == "v2" || word == "v4" || word == "v8") {
      spec.vector = word[1] - '0';
    } else if (word == "ptr") {
      if (!parsePointerSpec(spec))
        return false;
    } else if (word == "attribute") {
      if (!token().is("("))
        return unexpected("'(' behind .attribute");
      if (!skipBalanced("(", ")"))
        return false;
    } else if (word == "extern" || word == "visible" || word == "weak" ||
               word == "common") {
      spec.linkage = word == "extern"    ? Linkage::Extern
                     : word == "visible" ? Linkage::Visible
                     : word == "weak"    ? Linkage::Weak
                                         : Linkage::Common;
    } else {
      return error(t.loc, "unknown directive '." + word + "'");
    }
  }
  if (!hasSpace)
    return error(start, "a declaration without a state space");
  if (!spec.type)
    return unexpected("a type");
  return true;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

bool Parser::parseDims(Variable &v) {
  while (token().is("[")) {
    Location loc = take().loc;
    if (consume("]")) {
      if (!v.dims.empty())
        return error(loc, "only the first dimension may be left open");
      v.unsizedArray = true;
      v.dims.push_back(0);
      continue;
    }
    int64_t size;
    if (!parseInteger(size, "an array size") || !expect("]", "behind a size"))
      return false;
    if (size < 0)
      return error(loc, "negative array size");
    if (v.dims.size() == maxDimensions)
      return error(loc, "too many dimensions");
    v.dims.push_back(uint64_t(size));
  }
  return true;
}

/// Computes the variable's sizes. Its dimensions must be final.
bool Parser::finishVariable(Variable &v) {
  uint64_t bytes = uint64_t(typeBytes(v.type)) * v.vector;
  uint64_t natural = bytes;
  for (uint64_t dim : v.dims) {
    if (dim && bytes > maxVariableBytes / dim)
      return error(v.loc, "'" + v.name + "' is too large");
    bytes *= dim;
  }
  v.bytes = bytes;
  if (!v.align)
    v.align = natural ? uint32_t(llvm::PowerOf2Ceil(natural)) : 1;
  return true;
}

bool Parser::parseVariableDeclarator(const DeclSpec &spec, Variable &v) {
  if (!token().is(TokenKind::Identifier))
    return unexpected("a name");
  v.loc = token().loc;
  v.name = module.strings.save(take().text);
  v.space = spec.space;
  v.linkage = spec.linkage;
  v.type = *spec.type;
  v.vector = spec.vector;
  v.align = spec.align;
  v.isPointer = spec.isPointer;
  v.pointerSpace = spec.pointerSpace;
  v.pointerSpaceGiven = spec.pointerSpaceGiven;
  v.pointerAlign = spec.pointerAlign;
  if (v.type == Type::Pred && v.space != StateSpace::Reg)
    return error(v.loc, "a predicate is not a variable in memory");
  return parseDims(v) && finishVariable(v);
}

bool Parser::declareVariable(Variable &&parsed) {
  module.allVariables.push_back(std::move(parsed));
  Variable *v = &module.allVariables.back();
  if (function) {
    v->owner = function;
    function->variables.push_back(v);
    Meaning meaning;
    meaning.variable = v;
    return defineName(v->name, v->loc, meaning);
  }
  Variable *&known = module.variableMap[v->name];
  if (module.findFunction(v->name))
    return error(v->loc, "'" + v->name + "' is already a function");
  if (known && known->linkage != Linkage::Extern &&
      v->linkage != Linkage::Extern)
    return error(v->loc, "'" + v->name + "' is declared twice");
  if (known && v->linkage == Linkage::Extern) {
    module.allVariables.pop_back();
    return true;
  }
  if (known) {
    // A definition that follows an extern declaration replaces its contents in
    // place, because operands already refer to the declaration.
    *known = std::move(*v);
    module.allVariables.pop_back();
    return true;
  }
  known = v;
  module.variables.push_back(v);
  return true;
}

bool Parser::parseVariables(DeclSpec spec) {
  do {
    Variable v;
    if (!parseVariableDeclarator(spec, v))
      return false;
    uint64_t copies = 0;
    if (token().is("<")) { // name<n>: variables name0 .. name(n-1).
      take();
      if (!parseAngleCount(copies))
        return false;
      if (copies > 65536)
        return error(v.loc, "the number of variables is out of range");
      for (uint64_t i = 0; i < copies; ++i) {
        Variable copy = v;
        copy.name = module.strings.save(v.name + llvm::Twine(i));
        if (!declareVariable(std::move(copy)))
          return false;
      }
      continue;
    }
    if (token().is("=") && !parseInitialiser(v))
      return false;
    if (!declareVariable(std::move(v)))
      return false;
  } while (consume(","));
  return expect(";", "behind a declaration");
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

bool Parser::parseRegisters() {
  DeclSpec spec;
  if (!parseDeclSpec(spec)) {
    lostRegisters = true;
    return false;
  }
  do {
    if (!token().is(TokenKind::Identifier))
      return unexpected("a register name");
    Location loc = token().loc;
    StringRef name = take().text;
    RegisterDecl decl{*spec.type, spec.vector, 0};
    if (consume("<")) {
      if (!parseAngleCount(decl.count)) {
        lostRegisters = true;
        return false;
      }
      scopes.back().ranges[name] = decl;
      continue;
    }
    if (isDeclaredHere(name))
      return error(loc, "'" + name + "' is declared twice in this scope");
    scopes.back().registers[name] = decl;
  } while (consume(","));
  return expect(";", "behind a register declaration");
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

bool Parser::parseParameters(std::vector<Variable *> &list, bool results) {
  if (!expect("(", "before parameters"))
    return false;
  while (!token().is(")")) {
    DeclSpec spec;
    Variable parsed;
    if (!parseDeclSpec(spec) || !parseVariableDeclarator(spec, parsed))
      return false;
    if (spec.space != StateSpace::Param && spec.space != StateSpace::Reg)
      return error(parsed.loc, "a parameter is .param or .reg");
    parsed.paramIndex = int(list.size());
    module.allVariables.push_back(std::move(parsed));
    Variable *v = &module.allVariables.back();
    list.push_back(v);
    Meaning meaning;
    meaning.variable = v;
    if (v->space == StateSpace::Reg) {
      RegisterDecl decl{v->type, v->vector, 0};
      meaning.registers = makeRegisters(v->name, decl);
      v->reg = meaning.registers.front();
      meaning.kind = Meaning::Kind::Registers;
    }
    if (v->name != "_" && !defineName(v->name, v->loc, meaning))
      return false;
    if (!consume(","))
      break;
  }
  return expect(")", results ? "behind return values" : "behind parameters");
}

/// Parses the parameters of a .callprototype, of which only the sizes matter.
bool Parser::parsePrototypeParameters(std::vector<uint64_t> &bytes) {
  if (!expect("(", "in a prototype"))
    return false;
  while (!token().is(")")) {
    DeclSpec spec;
    Variable parsed;
    if (!parseDeclSpec(spec) || !parseVariableDeclarator(spec, parsed))
      return false;
    bytes.push_back(parsed.bytes);
    if (!consume(","))
      break;
  }
  return expect(")", "in a prototype");
}

//===----------------------------------------------------------------------===//
// Initialisers
//===----------------------------------------------------------------------===//

static uint64_t floatPattern(Type type, const Constant &value) {
  if (type == Type::F32 && value.floatBits == 32)
    return uint32_t(value.integer);
  if (type == Type::F64 && value.floatBits == 64)
    return uint64_t(value.integer);
  llvm::APFloat number(value.isFloat      ? value.floating
                       : value.isUnsigned ? double(uint64_t(value.integer))
                                          : double(value.integer));
  bool inexact;
  const llvm::fltSemantics &semantics =
      type == Type::F16    ? llvm::APFloat::IEEEhalf()
      : type == Type::BF16 ? llvm::APFloat::BFloat()
      : type == Type::F64  ? llvm::APFloat::IEEEdouble()
                           : llvm::APFloat::IEEEsingle();
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

bool Parser::storeConstant(Variable &v, uint64_t offset, const Constant &value,
                           Location loc) {
  unsigned bytes = typeBytes(v.type);
  uint64_t pattern = uint64_t(value.integer);
  bool plainFloat = v.type == Type::F16 || v.type == Type::BF16 ||
                    v.type == Type::F32 || v.type == Type::F64;
  // An integer in an initialiser gives the bits of a half-precision number, but
  // the value of any other float.
  if (plainFloat && (value.isFloat || bytes >= 4))
    pattern = floatPattern(v.type, value);
  else if (value.isFloat)
    return error(loc, "floating-point initialiser of an integer variable");
  if (bytes > 8)
    return error(loc, "initialisers of 128-bit types are not defined");
  for (unsigned i = 0; i < bytes; ++i)
    v.initialiser[offset + i] = uint8_t(pattern >> (8 * i));
  return true;
}

/// Parses `symbol` or `generic(symbol)`, with an optional offset.
bool Parser::parseSymbolAddress(Relocation &r) {
  if (!token().is(TokenKind::Identifier))
    return unexpected("a symbol");
  if (token().text == "generic" && token(1).is("(")) {
    take();
    take();
    r.generic = true;
    if (!parseSymbolAddress(r) || !expect(")", "behind a symbol"))
      return false;
  } else {
    r.loc = token().loc;
    r.name = module.strings.save(take().text);
    if (auto meaning = lookUp(r.name))
      r.variable = meaning->variable;
    else
      r.variable = module.findVariable(r.name);
    r.function = r.variable ? nullptr : module.findFunction(r.name);
  }
  int64_t offset = 0;
  if (!parseOffset(offset))
    return false;
  r.addend += offset;
  return true;
}

/// Parses `0xFF00(symbol)`, which is one byte of an address.
bool Parser::parseMaskedAddress(Variable &v, uint64_t offset) {
  Token literal = take();
  auto mask = parseNumber(literal.text);
  uint64_t bits = mask ? uint64_t(mask->integer) : 0;
  unsigned shift = bits ? llvm::countr_zero(bits) : 0;
  if (!mask || mask->isFloat || shift % 8 || bits >> shift != 0xFF)
    return error(literal.loc, "the mask of an address must be one byte");
  take();
  Relocation r;
  r.shift = shift;
  if (!parseSymbolAddress(r) || !expect(")", "behind a masked address"))
    return false;
  r.offset = offset;
  r.bytes = 1;
  v.relocations.push_back(r);
  return true;
}

bool Parser::parseInitialiserValue(Variable &v, uint64_t offset) {
  Location loc = token().loc;
  if (token().is(TokenKind::Number) && token(1).is("("))
    return parseMaskedAddress(v, offset);
  if (token().is(TokenKind::Identifier) && token().text != "WARP_SZ") {
    Relocation r;
    if (!parseSymbolAddress(r))
      return false;
    r.offset = offset;
    r.bytes = typeBytes(v.type);
    if (r.bytes < 4 || isFloatType(v.type))
      return error(loc, "an address does not fit this type");
    v.relocations.push_back(r);
    return true;
  }
  Constant value;
  return parseConstant(value) && storeConstant(v, offset, value, loc);
}

/// Parses one level of braces. `dims` are the dimensions from this level
/// inwards; the first one is 0 if the number of values decides it.
bool Parser::parseInitialiserLevel(Variable &v, llvm::ArrayRef<uint64_t> dims,
                                   uint64_t offset, uint64_t &count) {
  uint64_t stride = typeBytes(v.type);
  for (uint64_t dim : dims.drop_front())
    stride *= dim;
  if (!expect("{", "before initial values"))
    return false;
  ++openBraces;
  // Values without inner braces fill the elements in row-major order.
  uint64_t flat = 0, perElement = stride / std::max(typeBytes(v.type), 1u);
  for (count = 0; !token().is("}");) {
    Location loc = token().loc;
    bool nested = token().is("{");
    uint64_t at = offset + count * stride + flat * typeBytes(v.type);
    if (nested && (dims.size() == 1 || flat))
      return error(loc, "braces do not match the array's dimensions");
    uint64_t end = nested ? at + stride : at + typeBytes(v.type);
    if (dims[0] ? count >= dims[0] : end > maxInitialisedBytes)
      return error(loc, "too many initial values");
    if (end > v.initialiser.size())
      v.initialiser.resize(end);
    uint64_t inner;
    if (nested ? !parseInitialiserLevel(v, dims.drop_front(), at, inner)
               : !parseInitialiserValue(v, at))
      return false;
    if (nested || ++flat == perElement) {
      flat = 0;
      ++count;
    }
    if (!consume(","))
      break;
  }
  if (flat)
    ++count;
  if (!expect("}", "behind initial values"))
    return false;
  --openBraces;
  return true;
}

/// Parses `= value` or `= {values}`.
bool Parser::parseInitialiser(Variable &v) {
  if (v.space != StateSpace::Global && v.space != StateSpace::Const)
    return error(v.loc, "only .global and .const variables are initialised");
  if (v.bytes > maxInitialisedBytes)
    return error(v.loc, "'" + v.name + "' is too large to be initialised");
  take();
  v.initialiser.assign(v.bytes, 0);
  llvm::SmallVector<uint64_t, 4> dims(v.dims.begin(), v.dims.end());
  if (v.vector > 1)
    dims.push_back(v.vector);
  if (dims.empty()) {
    if (!token().is("{"))
      return parseInitialiserValue(v, 0);
    dims.push_back(1);
  }
  if (llvm::is_contained(llvm::ArrayRef(dims).drop_front(), 0u))
    return error(v.loc, "an array without elements has initial values");
  uint64_t count = 0;
  if (!parseInitialiserLevel(v, dims, 0, count))
    return false;
  if (v.unsizedArray) {
    v.dims[0] = count;
    v.unsizedArray = false;
    if (!finishVariable(v))
      return false;
    v.initialiser.resize(v.bytes);
  }
  return true;
}
