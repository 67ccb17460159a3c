//===- ParserImpl.h - recursive descent over PTX tokens --------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_PTX_PARSERIMPL_H
#define FA4_LIB_SIMULATOR_PTX_PARSERIMPL_H

#include "Lexer.h"
#include "OperatorParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

namespace fa4::sim::ptx {

/// The meaning of a name inside of a function.
struct Meaning {
  enum class Kind : uint8_t { Registers, Variable, Label, LabelList };
  Kind kind = Kind::Variable;
  /// The register, or the elements of a vector register.
  llvm::ArrayRef<const Register *> registers;
  const Variable *variable = nullptr;
  uint32_t index = 0; ///< Of the instruction or the label list.
};

/// A declaration of registers. A register is created when an instruction first
/// mentions it.
struct RegisterDecl {
  Type type = Type::B32;
  unsigned vector = 1;
  uint64_t count = 0; ///< Of a range `name<count>`; 0 for a single register.
};

/// A scope `{}` in a function's body. The outermost scope holds the parameters.
struct BodyScope {
  Location open;
  llvm::StringMap<Meaning> names;
  llvm::StringMap<RegisterDecl> registers, ranges;
  /// Operands and label lists whose names may be labels that follow later in
  /// the text.
  std::vector<Operand *> operandFixups;
  struct ListFixup {
    uint32_t list;
    size_t position;
    llvm::StringRef name;
    Location loc;
  };
  std::vector<ListFixup> listFixups;
};

/// The modifiers in front of a declared name.
struct DeclSpec {
  StateSpace space = StateSpace::Global;
  Linkage linkage = Linkage::None;
  std::optional<Type> type;
  unsigned vector = 1;
  uint32_t align = 0;
  bool isPointer = false, pointerSpaceGiven = false;
  StateSpace pointerSpace = StateSpace::Global;
  uint32_t pointerAlign = 0;
};

class Parser : private OperatorParser<Parser, Constant> {
public:
  Parser(Module &module, std::vector<Diagnostic> &diagnostics)
      : module(module), diagnostics(diagnostics) {}
  void run();

private:
  //===--- Tokens ---------------------------------------------------------===//
  const Token &token(size_t ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  Token take() {
    Token result = token();
    if (position + 1 < tokens.size())
      ++position;
    return result;
  }
  bool consume(llvm::StringRef punct) {
    if (!token().is(punct))
      return false;
    take();
    return true;
  }
  bool expect(llvm::StringRef punct, llvm::StringRef where);
  bool atEnd() const { return token().is(TokenKind::End); }
  /// Records an error. Returns false, so that callers can return the call's
  /// result.
  bool error(Location loc, const llvm::Twine &message);
  bool unexpected(const llvm::Twine &wanted);
  /// Skips to the token behind the next `;`, or to a `}` or the end of the
  /// text.
  void skipStatement();
  void skipRestOfLine();
  /// `.file` or `.loc`.
  void parseSourceDirective();
  bool skipBalanced(llvm::StringRef open, llvm::StringRef close);
  bool tooMany() const { return diagnostics.size() >= maxDiagnostics; }

  //===--- Module (ParseModule.cpp) ---------------------------------------===//
  void parseHeader();
  bool parseVersion();
  bool parseTarget();
  bool parseModuleStatement();
  bool parseAlias();
  bool parseFunction(Linkage linkage);
  bool parseFunctionHeader(Function &parsed);
  bool parseFunctionDirectives(FunctionDirectives &directives);
  bool parseDimensions(uint32_t (&values)[3], llvm::StringRef directive);
  bool parseCount(uint32_t &value, llvm::StringRef directive);
  Function *mergeFunction(Function &&parsed);
  void layOutParameters(Function &function);
  void resolveModule();

  //===--- Declarations (ParseDeclaration.cpp) ----------------------------===//
  bool parseDeclSpec(DeclSpec &spec);
  bool parsePointerSpec(DeclSpec &spec);
  /// Parses variables up to the `;`, in module or function scope.
  bool parseVariables(DeclSpec spec);
  bool parseVariableDeclarator(const DeclSpec &spec, Variable &variable);
  bool parseDims(Variable &variable);
  bool finishVariable(Variable &variable);
  bool declareVariable(Variable &&variable);
  bool parseRegisters();
  bool parseParameters(std::vector<Variable *> &list, bool results);
  bool parsePrototypeParameters(std::vector<uint64_t> &bytes);
  bool parseInitialiser(Variable &variable);
  bool parseInitialiserLevel(Variable &variable, llvm::ArrayRef<uint64_t> dims,
                             uint64_t offset, uint64_t &count);
  bool parseInitialiserValue(Variable &variable, uint64_t offset);
  bool parseMaskedAddress(Variable &variable, uint64_t offset);
  bool parseSymbolAddress(Relocation &relocation);
  bool storeConstant(Variable &variable, uint64_t offset, const Constant &value,
                     Location loc);

  //===--- Constant expressions (ConstantExpression.cpp) ------------------===//
  bool startsConstant(size_t ahead = 0) const;
  bool parseConstant(Constant &value);
  friend class fa4::OperatorParser<Parser, Constant>;
  using Level = llvm::ArrayRef<llvm::StringRef>;
  static llvm::ArrayRef<Level> operators();
  std::optional<Token> takeOperator(Level among);
  bool takeToken(llvm::StringRef text) { return consume(text); }
  bool apply(const Token &op, Constant &left, Constant right);
  bool choose(Constant &condition, Constant yes, Constant no);
  bool failExpected(llvm::StringRef text);
  bool failDepth();
  bool parseUnary(Constant &value);
  bool parsePrimary(Constant &value);
  bool parseInteger(int64_t &value, llvm::StringRef what);
  bool parseAngleCount(uint64_t &count);

  //===--- Bodies (ParseBody.cpp) -----------------------------------------===//
  bool parseBody(Function &function);
  bool parseBodyStatement();
  bool parseBodyDirective();
  bool parseLabel();
  bool parseLabelList(const Token &name);
  bool parseInstruction();
  bool parseOpcode(Instruction &instruction);
  void collectFixups(llvm::ArrayRef<Operand> operands);
  void openScope();
  void closeScope();
  void resolveFixups(BodyScope &scope, BodyScope *parent);
  bool resolveOperand(Operand &operand, const BodyScope &scope);
  bool resolveListEntry(const BodyScope::ListFixup &fixup,
                        const BodyScope &scope);
  bool defineName(llvm::StringRef name, Location loc, Meaning meaning);
  bool isDeclaredHere(llvm::StringRef name) const;
  std::optional<Meaning> lookUp(llvm::StringRef name);
  llvm::ArrayRef<const Register *> makeRegisters(llvm::StringRef name,
                                                 const RegisterDecl &decl);

  //===--- Operands (ParseOperand.cpp) ------------------------------------===//
  bool parseOperand(Operand &operand, unsigned depth = 0);
  bool parseSingleOperand(Operand &operand, unsigned depth);
  bool parseNamed(Operand &operand);
  bool parseSpecialRegister(Operand &operand);
  bool parseRegisterSuffix(Operand &operand, const Meaning &meaning);
  bool parseAddress(Operand &operand, unsigned depth);
  bool parseIndexedSymbol(Operand &operand);
  bool parseOffset(int64_t &offset);
  bool parseGroup(Operand &operand, llvm::StringRef close, unsigned depth);
  bool parseGuard(Instruction &instruction);
  /// Reports an undeclared register once for each name and function; parsing
  /// goes on.
  void undeclaredRegister(const Token &name);
  llvm::ArrayRef<Operand> store(llvm::ArrayRef<Operand> operands);

  Module &module;
  std::vector<Diagnostic> &diagnostics;
  std::vector<Token> tokens;
  size_t position = 0;

  // The function being parsed.
  Function *function = nullptr;
  std::vector<BodyScope> scopes;
  bool sawUnresolved = false;
  bool expectLabel = false; ///< The operands of bra name labels.
  bool isCall = false;      ///< Parentheses are argument lists.
  unsigned openBraces = 0;  ///< Of the instruction's operands.
  /// True after a malformed register declaration, whose names are then not
  /// reported as undeclared.
  bool lostRegisters = false;
  llvm::StringSet<> undeclared; ///< Already complained about.
  llvm::StringMap<llvm::ArrayRef<llvm::StringRef>> opcodeWords;
};

} // namespace fa4::sim::ptx

#endif // FA4_LIB_SIMULATOR_PTX_PARSERIMPL_H
