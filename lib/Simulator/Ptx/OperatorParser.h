//===- OperatorParser.h - expressions with the operators of C -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_PTX_OPERATORPARSER_H
#define FA4_LIB_SIMULATOR_PTX_OPERATORPARSER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <utility>

namespace fa4 {

/// Parses expressions of binary operators and `a ? b : c` by precedence
/// climbing. What a token, an operand, a value and an operator are is the
/// business of `Grammar`, which derives from this class:
///
///   using Level = llvm::ArrayRef<llvm::StringRef>;
///   static llvm::ArrayRef<Level> operators();  // The weakest level first.
///   std::optional<Operator> takeOperator(Level among);
///   bool takeToken(llvm::StringRef token);     // `?` or `:`
///   bool parseUnary(Value &value);             // An operand and its prefixes.
///   bool apply(Operator op, Value &left, Value right);
///   bool choose(Value &condition, Value yes, Value no);
///   bool failExpected(llvm::StringRef token);
///   bool failDepth();
///
/// All functions return false after an error, which the grammar has reported.
/// Operators of one level are applied from left to right.
template <typename Grammar, typename Value> class OperatorParser {
public:
  /// Deeper expressions are errors, so that no text overflows the stack.
  static constexpr unsigned kMaxDepth = 64;

  bool parseConditional(Value &value) {
    Nesting nesting(*this);
    if (!nesting.fits || !parseBinary(value))
      return false;
    if (!grammar().takeToken("?"))
      return true;
    Value yes, no;
    if (!parseConditional(yes))
      return false;
    if (!grammar().takeToken(":"))
      return grammar().failExpected(":");
    return parseConditional(no) &&
           grammar().choose(value, std::move(yes), std::move(no));
  }

  /// Parses an expression of the operators of `level` and of stronger ones.
  bool parseBinary(Value &value, unsigned level = 0) {
    if (level == Grammar::operators().size())
      return grammar().parseUnary(value);
    if (!parseBinary(value, level + 1))
      return false;
    while (auto op = grammar().takeOperator(Grammar::operators()[level])) {
      Value right;
      if (!parseBinary(right, level + 1) ||
          !grammar().apply(*op, value, std::move(right)))
        return false;
    }
    return true;
  }

protected:
  /// One more level of brackets, prefixes or conditions, while it lives.
  struct Nesting {
    explicit Nesting(OperatorParser &parser) : parser(parser) {
      fits = ++parser.depth <= kMaxDepth;
      if (!fits)
        parser.grammar().failDepth();
    }
    ~Nesting() { --parser.depth; }
    Nesting(const Nesting &) = delete;
    OperatorParser &parser;
    bool fits;
  };

private:
  Grammar &grammar() { return static_cast<Grammar &>(*this); }

  unsigned depth = 0;
};

} // namespace fa4

#endif // FA4_LIB_SIMULATOR_PTX_OPERATORPARSER_H
