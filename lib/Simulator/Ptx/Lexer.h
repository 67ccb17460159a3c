//===- Lexer.h - tokens of PTX text ----------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA chapter 4, "Syntax". A word behind a dot is one token with its dot
// (".shared::cta", ".2d", ".x"), since modifiers may begin with digits.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_PTX_LEXER_H
#define FA4_LIB_SIMULATOR_PTX_LEXER_H

#include "fa4/Simulator/Ptx/Parser.h"

namespace fa4::sim::ptx {

enum class TokenKind : uint8_t {
  End,
  Identifier, ///< "mov", "%r1", "$L0", "_"
  DotWord,    ///< ".f32": `text` is without the dot.
  Number,     ///< Integer or floating literal.
  String,     ///< `text` is without the quotes.
  Punct,      ///< One or two characters.
};

struct Token {
  TokenKind kind = TokenKind::End;
  llvm::StringRef text;
  Location loc;

  bool is(TokenKind k) const { return kind == k; }
  /// Returns true if the token is this punctuation.
  bool is(llvm::StringRef punct) const {
    return kind == TokenKind::Punct && text == punct;
  }
  bool isDot(llvm::StringRef word) const {
    return kind == TokenKind::DotWord && text == word;
  }
  const char *begin() const {
    return text.begin() -
           (kind == TokenKind::DotWord || kind == TokenKind::String ? 1 : 0);
  }
  const char *end() const {
    return text.end() + (kind == TokenKind::String ? 1 : 0);
  }
};

/// Returns all tokens of the text; the last one is an End token.
std::vector<Token> tokenize(llvm::StringRef text,
                            std::vector<Diagnostic> &diagnostics);

/// The value of a numeric literal or of a folded constant expression.
struct Constant {
  bool isFloat = false;
  uint8_t floatBits = 0; ///< 32 for 0f, 64 for 0d, 0 for decimal ones.
  bool isUnsigned = false;
  int64_t integer = 0;
  double floating = 0;
};

/// Parses a numeric literal. Returns nothing if it is malformed or too large.
std::optional<Constant> parseNumber(llvm::StringRef text);

} // namespace fa4::sim::ptx

#endif // FA4_LIB_SIMULATOR_PTX_LEXER_H
