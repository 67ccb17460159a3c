//===- Lexer.cpp - tokens of PTX text -------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

using namespace fa4::sim::ptx;
using llvm::isAlnum;
using llvm::isAlpha;
using llvm::isDigit;
using llvm::StringRef;

static bool isIdentifierBody(char c) {
  return isAlnum(c) || c == '_' || c == '$';
}

static bool isIdentifierStart(char c) {
  return isAlpha(c) || c == '_' || c == '$';
}

namespace {

class Lexer {
public:
  Lexer(StringRef text, std::vector<Diagnostic> &diagnostics)
      : p(text.begin()), end(text.end()), lineStart(text.begin()),
        diagnostics(diagnostics) {}

  std::vector<Token> run() {
    while (skipBlank()) {
      if (diagnostics.size() >= maxDiagnostics)
        break;
      lexToken();
    }
    tokens.push_back({TokenKind::End, StringRef(end, 0), here()});
    return std::move(tokens);
  }

private:
  char peek(size_t n = 0) const { return p + n < end ? p[n] : '\0'; }
  Location here() const { return {line, uint32_t(p - lineStart) + 1}; }
  void error(Location loc, std::string message) {
    diagnostics.push_back({loc, std::move(message)});
  }
  void newline() {
    ++line;
    lineStart = p;
  }

  void skipLine() {
    while (p < end && *p != '\n')
      ++p;
  }

  void skipBlockComment() {
    Location start = here();
    p += 2;
    while (p < end && !(*p == '*' && peek(1) == '/'))
      if (*p++ == '\n')
        newline();
    if (p == end)
      return error(start, "comment without an end");
    p += 2;
  }

  /// Skips blanks and comments. Returns false at the end of the text.
  bool skipBlank() {
    while (p < end) {
      if (*p == '\n') {
        ++p;
        newline();
      } else if (llvm::isSpace(*p)) {
        ++p;
      } else if (*p == '/' && peek(1) == '/') {
        skipLine();
      } else if (*p == '/' && peek(1) == '*') {
        skipBlockComment();
      } else if (*p == '#' &&
                 (tokens.empty() || tokens.back().loc.line < line)) {
        skipLine(); // A preprocessor's line marker.
      } else {
        return true;
      }
    }
    return false;
  }

  void push(TokenKind kind, const char *from, const char *to, Location loc) {
    tokens.push_back({kind, StringRef(from, to - from), loc});
  }

  void lexDotWord(Location loc) {
    const char *from = ++p;
    auto word = [&] {
      while (p < end && isIdentifierBody(*p))
        ++p;
    };
    word();
    while (peek() == ':' && peek(1) == ':' && isIdentifierBody(peek(2))) {
      p += 2;
      word();
    }
    push(TokenKind::DotWord, from, p, loc);
  }

  void lexNumber(Location loc) {
    const char *from = p;
    while (p < end && (isIdentifierBody(*p) || *p == '.')) {
      bool exponent = (*p == 'e' || *p == 'E') && from[0] != '0';
      exponent |=
          (*p == 'e' || *p == 'E') && StringRef(from, p - from).contains('.');
      ++p;
      if (exponent && (peek() == '+' || peek() == '-') && isDigit(peek(1)))
        ++p;
    }
    push(TokenKind::Number, from, p, loc);
  }

  void lexString(Location loc) {
    const char *from = ++p;
    while (p < end && *p != '"' && *p != '\n')
      p += *p == '\\' && peek(1) != '\n' && p + 1 < end ? 2 : 1;
    if (p == end || *p != '"')
      return error(loc, "string without an end");
    push(TokenKind::String, from, p++, loc);
  }

  void lexToken() {
    Location loc = here();
    char c = *p;
    if (c == '.' && isIdentifierBody(peek(1)))
      return lexDotWord(loc);
    if (isDigit(c))
      return lexNumber(loc);
    if (c == '"')
      return lexString(loc);
    if (isIdentifierStart(c) || (c == '%' && isIdentifierBody(peek(1)))) {
      const char *from = p++;
      while (p < end && isIdentifierBody(*p))
        ++p;
      return push(TokenKind::Identifier, from, p, loc);
    }
    static constexpr StringRef doubles[] = {
        "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (StringRef two : doubles)
      if (c == two[0] && peek(1) == two[1]) {
        push(TokenKind::Punct, p, p + 2, loc);
        p += 2;
        return;
      }
    if (StringRef("@{}()[],;:|!+-=<>*/%~&^?").contains(c)) {
      push(TokenKind::Punct, p, p + 1, loc);
      ++p;
      return;
    }
    error(loc, llvm::isPrint(c)
                   ? "unexpected character '" + std::string(1, c) + "'"
                   : "unexpected byte 0x" +
                         llvm::utohexstr(static_cast<unsigned char>(c)));
    ++p;
  }

  const char *p, *end, *lineStart;
  uint32_t line = 1;
  std::vector<Token> tokens;
  std::vector<Diagnostic> &diagnostics;
};

} // namespace

std::vector<Token>
fa4::sim::ptx::tokenize(StringRef text, std::vector<Diagnostic> &diagnostics) {
  return Lexer(text, diagnostics).run();
}

/// Parses exactly `digits` hexadecimal digits, for example "3F800000".
static bool parseBits(StringRef text, size_t digits, uint64_t &bits) {
  return text.size() == digits && !text.getAsInteger(16, bits);
}

static std::optional<Constant> parseDecimalFloat(StringRef text) {
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  auto status =
      value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return std::nullopt;
  }
  Constant result;
  result.isFloat = true;
  result.floating = value.convertToDouble();
  return result;
}

std::optional<Constant> fa4::sim::ptx::parseNumber(StringRef text) {
  Constant result;
  uint64_t bits = 0;
  StringRef lead = text.take_front(2);
  if (lead.equals_insensitive("0f")) {
    if (!parseBits(text.drop_front(2), 8, bits))
      return std::nullopt;
    result.isFloat = true;
    result.floatBits = 32;
    result.floating = llvm::bit_cast<float>(uint32_t(bits));
    result.integer = bits;
    return result;
  }
  if (lead.equals_insensitive("0d")) {
    if (!parseBits(text.drop_front(2), 16, bits))
      return std::nullopt;
    result.isFloat = true;
    result.floatBits = 64;
    result.floating = llvm::bit_cast<double>(bits);
    result.integer = int64_t(bits);
    return result;
  }
  bool hex = lead.equals_insensitive("0x");
  if (text.contains('.') ||
      (!hex && text.find_first_of("eE") != StringRef::npos))
    return parseDecimalFloat(text);
  StringRef digits = text;
  result.isUnsigned = digits.consume_back("U");
  unsigned radix = 10;
  if (hex)
    radix = 16;
  else if (lead.equals_insensitive("0b"))
    radix = 2;
  else if (digits.size() > 1 && digits[0] == '0')
    radix = 8;
  digits = digits.drop_front(radix == 16 || radix == 2 ? 2
                             : radix == 8              ? 1
                                                       : 0);
  if (digits.empty() || digits.getAsInteger(radix, bits))
    return std::nullopt;
  result.isUnsigned |= bits >> 63;
  result.integer = int64_t(bits);
  return result;
}
