//===- Ast.h - a parsed PTX module -----------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree that parse() makes from PTX text (PTX ISA 8.6 to 9.x, chapters
// "Syntax", "State Spaces, Types, and Variables", "Directives"). The parser
// knows the grammar and resolves names; it knows no opcode. What an instruction
// means, and whether it exists, is for the decoder to say.
//
// A function's body is flat: nested `{}` scopes are resolved (registers,
// variables and labels of inner scopes are distinct objects), labels are
// instruction indices. Everything lives in the module's arena: nodes refer to
// each other by plain pointers that live as long as the Module.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_PTX_AST_H
#define FA4_SIMULATOR_PTX_AST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fa4::sim::ptx {

struct Function;
struct Variable;

/// A place in the source text. Lines and columns count from 1; line 0 is an
/// unknown place.
struct Location {
  uint32_t line = 0, column = 0;
};

//===----------------------------------------------------------------------===//
// Types and registers
//===----------------------------------------------------------------------===//

/// Fundamental types of declarations (PTX ISA 5.2). Instruction types are
/// modifiers and stay text.
enum class Type : uint8_t {
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  Pred,
  TexRef,
  SamplerRef,
  SurfRef,
};

/// Returns the type's name without the dot, for example "f32x2".
llvm::StringRef typeName(Type type);
std::optional<Type> typeByName(llvm::StringRef name);
/// Returns the bytes of one element in memory; 0 for Pred, 8 for the opaque
/// reference types.
unsigned typeBytes(Type type);
bool isFloatType(Type type);

/// Registers of one class are interchangeable storage; ids are dense per class
/// and function.
enum class RegisterClass : uint8_t { Pred, B8, B16, B32, B64, B128 };
constexpr unsigned numRegisterClasses = 6;
RegisterClass registerClass(Type type);

/// A register that some instruction mentions. Elements of a vector register
/// are separate registers with consecutive ids.
struct Register {
  llvm::StringRef name; ///< As written, e.g. "%r12", "v.x".
  Type type = Type::B32;
  RegisterClass cls = RegisterClass::B32;
  uint32_t id = 0;    ///< Dense in `cls` within the function.
  uint32_t index = 0; ///< Position in Function::registers.
};

//===----------------------------------------------------------------------===//
// Operands and instructions
//===----------------------------------------------------------------------===//

/// A trivially destructible node; which fields count depends on `kind`.
struct Operand {
  enum class Kind : uint8_t {
    Register, ///< reg; selector ("b0", "h1") for video instructions.
    Integer,  ///< integer. WARP_SZ is 32; constant expressions are folded.
    Float,    ///< floating; floatBits: 32 for 0f..., 64 for 0d..., 0 decimal.
    Symbol,   ///< variable or function (name, function may be null when it is
              ///< only declared elsewhere), + offset.
    Address,  ///< [base + offset, rest...]: elements[0] is the base (Register,
              ///< Symbol or Integer), elements[1..] the further items in the
              ///< brackets (a Vector of coordinates, a sampler). `sym[i]` is an
              ///< Address, too: index is the register or null, offset in bytes.
    Vector,   ///< {a, b, _}: elements.
    Pair,     ///< p|q: two elements.
    List,     ///< (a, b): elements, of call.
    Special,  ///< A special register: name, e.g. "%tid.x", "%clusterid.y".
    Sink,     ///< _
    Label,    ///< target: index in Function::instructions (may be one past the
              ///< last instruction).
    LabelList, ///< .branchtargets, .calltargets or .callprototype: target is
               ///< the index in Function::labelLists.
    String,    ///< "text": name.
  };

  Kind kind = Kind::Sink;
  bool negated = false; ///< `!p`.
  uint8_t floatBits = 0;
  /// Integer: written with a U suffix or does not fit int64_t.
  bool isUnsigned = false;
  Location loc;
  llvm::StringRef name; ///< As written, for messages; text of String.
  const Register *reg = nullptr;
  llvm::StringRef selector;
  /// Value of Integer (bit pattern when isUnsigned).
  int64_t integer = 0;
  double floating = 0;
  /// Bytes, of Symbol and Address.
  int64_t offset = 0;
  const Variable *variable = nullptr;
  const Function *function = nullptr;
  const Register *index = nullptr; ///< Address `sym[reg]`.
  uint32_t indexScale = 0;         ///< Bytes an index step.
  uint32_t target = 0;
  llvm::ArrayRef<Operand> elements;

  bool is(Kind k) const { return kind == k; }
  bool isRegister() const { return kind == Kind::Register; }
  bool isPredicate() const {
    return kind == Kind::Register && reg->cls == RegisterClass::Pred;
  }
  /// Base of an Address.
  const Operand &base() const { return elements[0]; }
};

struct Instruction {
  Location loc; ///< Of the guard or opcode.
  /// Opcode as written, e.g. "ld.shared::cta.v4.b32".
  llvm::StringRef opcode;
  /// The opcode split at dots (not at "::"); interned: equal words of a module
  /// have equal data(). words[0] is the root name.
  llvm::ArrayRef<llvm::StringRef> words;
  llvm::ArrayRef<Operand> operands;
  const Register *guard = nullptr; ///< @p or @!p.
  bool guardNegated = false;
  llvm::StringRef text; ///< Source text from the guard to the semicolon.

  llvm::StringRef root() const { return words[0]; }
  llvm::ArrayRef<llvm::StringRef> modifiers() const {
    return words.drop_front();
  }
};

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

enum class StateSpace : uint8_t { Reg, Const, Global, Local, Param, Shared };

enum class Linkage : uint8_t { None, Extern, Visible, Weak, Common };

/// An address in a variable's initialiser, which is known when the module is
/// loaded. Bytes [offset, offset + bytes) of the variable hold `symbol +
/// addend`, shifted right by `shift` bits for the form 0xFF00(sym).
struct Relocation {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t shift = 0;
  bool generic = false; ///< generic(symbol).
  llvm::StringRef name; ///< Of the symbol.
  const Variable *variable = nullptr;
  const Function *function = nullptr;
  int64_t addend = 0;
  Location loc;
};

/// A variable, a parameter, or a return value.
struct Variable {
  llvm::StringRef name;
  Location loc;
  StateSpace space = StateSpace::Global;
  Linkage linkage = Linkage::None;
  Type type = Type::B32;
  unsigned vector = 1;        ///< 1, 2, 4 (or 8).
  uint32_t align = 1;         ///< Bytes: declared or natural.
  std::vector<uint64_t> dims; ///< Empty for a scalar.
  bool unsizedArray = false;  ///< `[]`: dynamic shared memory; dims[0] == 0.
  uint64_t bytes = 0;         ///< Total size; 0 for unsizedArray.
  std::vector<uint8_t> initialiser; ///< Empty: zero (or undefined for Shared).
  std::vector<Relocation> relocations;
  const Function *owner = nullptr; ///< Null for module scope.

  // Parameters and return values.
  int paramIndex = -1;      ///< Position in Function::params or ::results.
  uint64_t paramOffset = 0; ///< Byte offset in the parameter space.
  bool isPointer = false;   ///< .ptr
  StateSpace pointerSpace = StateSpace::Global; ///< With .ptr.space.
  bool pointerSpaceGiven = false;
  uint32_t pointerAlign = 0;
  /// A `.reg` parameter of a .func (space == Reg).
  const Register *reg = nullptr;
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// `name: .branchtargets a, b;`, `.calltargets f, g;` or `.callprototype ...`.
struct LabelList {
  enum class Kind : uint8_t { Branches, Calls, Prototype };
  Kind kind = Kind::Branches;
  llvm::StringRef name;
  Location loc;
  std::vector<uint32_t> targets; ///< Instruction indices.
  std::vector<llvm::StringRef> functionNames;
  std::vector<const Function *> functions;
  /// Prototype: sizes in bytes.
  std::vector<uint64_t> resultBytes, paramBytes;
};

struct Label {
  llvm::StringRef name;
  uint32_t instruction = 0;
  Location loc;
};

/// Performance-tuning and other directives between header and body.
struct FunctionDirectives {
  /// Each is {0,0,0} / 0 when absent; missing dimensions are 1.
  uint32_t reqntid[3] = {}, maxntid[3] = {}, reqnctapercluster[3] = {};
  uint32_t maxnreg = 0, minnctapersm = 0, maxnctapersm = 0, maxclusterrank = 0;
  bool explicitcluster = false, blocksareclusters = false, noreturn = false;
  std::vector<llvm::StringRef> pragmas;
};

struct Function {
  llvm::StringRef name;
  Location loc;
  bool isEntry = false;
  Linkage linkage = Linkage::None;
  bool hasBody = false; ///< False for a declaration.
  /// The function for which a declared alias stands.
  const Function *aliasee = nullptr;
  std::vector<Variable *> params, results;
  uint64_t paramBytes = 0; ///< Parameter space of an entry.
  FunctionDirectives directives;

  std::vector<Instruction> instructions;
  std::vector<Label> labels; ///< By position.
  std::vector<LabelList> labelLists;
  /// All registers that the body mentions, and the .reg parameters.
  std::vector<const Register *> registers;
  uint32_t registerCount[numRegisterClasses] = {};
  /// The .local, .shared, .param, .global and .const variables that the body
  /// declares.
  std::vector<Variable *> variables;
};

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

struct Alias {
  llvm::StringRef name, aliasee;
  Location loc;
};

/// A `.loc`: from this PTX line on, and to the next one, the instructions come
/// from a line of a source file. File 0 stands for no known source.
struct SourceLine {
  uint32_t ptxLine = 0;
  unsigned file = 0; ///< Key of Module::sourceFiles.
  uint32_t line = 0, column = 0;
};

/// Keeps one copy of equal strings; the copy never moves.
class StringPool {
public:
  llvm::StringRef save(const llvm::Twine &text) {
    llvm::SmallString<64> buffer;
    return pool.insert(text.toStringRef(buffer)).first->getKey();
  }

private:
  llvm::StringSet<> pool;
};

struct Module {
  std::string fileName;
  unsigned versionMajor = 0, versionMinor = 0;
  std::vector<llvm::StringRef> targets; ///< "sm_100a", "debug", ...
  Location targetLoc;                   ///< Of `.target`.
  unsigned addressSize = 64;
  std::deque<Variable> allVariables; ///< All scopes; owned.
  std::vector<Variable *> variables; ///< Module scope, in order.
  std::deque<Function> functions;    ///< Declarations are merged with bodies.
  std::vector<Alias> aliases;
  std::map<unsigned, llvm::StringRef> sourceFiles; ///< By number of `.file`.
  std::vector<SourceLine> sourceLines;             ///< By PTX line.

  Variable *findVariable(llvm::StringRef name) const;
  Function *findFunction(llvm::StringRef name) const;
  /// Returns a place in the form "file.ptx:12:5".
  std::string locate(Location loc) const;
  /// "attention.py:57:12", where the instruction on a 1-based PTX line comes
  /// from; empty where no `.loc` says. A column of 0 is left out.
  std::string sourceOf(uint32_t line) const;
  /// Returns the text of a line without its newline; lines count from 1.
  llvm::StringRef lineText(uint32_t line) const;

  // Storage.
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::BumpPtrAllocator arena;
  StringPool strings;
  llvm::StringMap<Variable *> variableMap;
  llvm::StringMap<Function *> functionMap;

  Module() = default;
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
};

} // namespace fa4::sim::ptx

#endif // FA4_SIMULATOR_PTX_AST_H
