//===- TextMutator.cpp - mutations of IR as text --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextMutator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fa4::fuzz;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

namespace {
/// The kind of a word is its first character, with `a` for all letters and `0`
/// for all digits; what is between words has none.
struct Word {
  size_t begin, size;
  char kind;
};
} // namespace

static bool isNamePart(char c) {
  return isAlnum(c) || c == '_' || c == '.' || c == '$';
}

static Word lexWord(StringRef text, size_t begin) {
  char c = text[begin];
  StringRef rest = text.substr(begin);
  // Of 64x128xf16, three: a number, a number, a letter's word.
  if (isDigit(c))
    return {begin, rest.take_while(isDigit).size(), '0'};
  if (c == 'x' && begin && isDigit(text[begin - 1]))
    return {begin, 1, ' '};
  if (isAlpha(c) || c == '_')
    return {begin, rest.take_while(isNamePart).size(), 'a'};
  if (StringRef("%#!@^").contains(c))
    return {begin, 1 + rest.drop_front().take_while(isNamePart).size(), c};
  if (c == '"')
    if (size_t end = rest.find('"', 1); end != StringRef::npos)
      return {begin, end + 1, c};
  if (rest.starts_with("->") || rest.starts_with("=="))
    return {begin, 2, c};
  return {begin, 1, isSpace(c) ? ' ' : c};
}

static SmallVector<Word> lex(StringRef text) {
  SmallVector<Word> words;
  for (size_t at = 0; at < text.size(); at += words.back().size)
    words.push_back(lexWord(text, at));
  erase_if(words, [](const Word &word) { return word.kind == ' '; });
  return words;
}

static StringRef textOf(StringRef text, const Word &word) {
  return text.substr(word.begin, word.size);
}

static std::string replace(StringRef text, size_t begin, size_t size,
                           StringRef by) {
  return (text.take_front(begin) + by + text.substr(begin + size)).str();
}

/// One of the words, or null.
static const Word *pick(TextMutator &mutator, ArrayRef<Word> words,
                        function_ref<bool(const Word &)> filter) {
  SmallVector<const Word *> fit;
  for (const Word &word : words)
    if (filter(word))
      fit.push_back(&word);
  return fit.empty() ? nullptr : fit[mutator.below(fit.size())];
}

/// Sometimes everywhere: a type or shape that changes in one place only does
/// not verify.
static std::string replaceWord(TextMutator &mutator, StringRef text,
                               ArrayRef<Word> words, const Word &at,
                               StringRef by) {
  if (mutator.below(3))
    return replace(text, at.begin, at.size, by);
  std::string result;
  size_t end = 0;
  for (const Word &word : words) {
    if (textOf(text, word) != textOf(text, at))
      continue;
    result += text.slice(end, word.begin).str() + by.str();
    end = word.begin + word.size;
  }
  return result + text.substr(end).str();
}

/// Another word of the same kind; sometimes none, or twice the same.
std::string TextMutator::changeWord(StringRef text, StringRef donor) {
  SmallVector<Word> words = lex(text);
  auto isName = [](const Word &w) {
    return StringRef("a%#!@^\"").contains(w.kind);
  };
  bool any = below(8) == 0;
  const Word *at =
      pick(*this, words, [&](const Word &w) { return any || isName(w); });
  if (!at)
    return text.str();
  if (below(10) == 0)
    return replace(text, at->begin, at->size, "");
  if (below(20) == 0)
    return replace(text, at->begin, 0, textOf(text, *at).str() + " ");
  SmallVector<Word> others = lex(donor);
  const Word *other = pick(*this, others, [&](const Word &w) {
    return (any || w.kind == at->kind) && textOf(donor, w) != textOf(text, *at);
  });
  if (!other)
    return text.str();
  return replaceWord(*this, text, words, *at, textOf(donor, *other));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string TextMutator::number(StringRef old) {
  static constexpr const char *kSpecial[] = {"0",
                                             "1",
                                             "2",
                                             "3",
                                             "4",
                                             "7",
                                             "8",
                                             "16",
                                             "31",
                                             "32",
                                             "64",
                                             "128",
                                             "129",
                                             "192",
                                             "256",
                                             "512",
                                             "1024",
                                             "65536",
                                             "-1",
                                             "-2",
                                             "2147483647",
                                             "2147483648",
                                             "4294967296",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "-9223372036854775808",
                                             "18446744073709551615",
                                             "0.5",
                                             "1.0e+40"};
  uint64_t value = 0;
  if (old.getAsInteger(10, value))
    value = 1;
  switch (below(7)) {
  case 0:
    return utostr(value + 1);
  case 1:
    return itostr(int64_t(value - 1));
  case 2:
    return utostr(value * 2);
  case 3:
    return utostr(value / 2);
  case 4:
    return utostr(below(2 * std::min<uint64_t>(value, 1 << 20) + 2));
  default:
    return kSpecial[below(std::size(kSpecial))];
  }
}

std::string TextMutator::changeNumber(StringRef text) {
  SmallVector<Word> words = lex(text);
  auto isNumber = [](const Word &word) { return word.kind == '0'; };
  const Word *at = pick(*this, words, isNumber);
  if (!at)
    return text.str();
  std::string by = number(textOf(text, *at));
  if (below(3) == 0)
    by = textOf(text, *pick(*this, words, isNumber)).str();
  return replaceWord(*this, text, words, *at, by);
}

//===----------------------------------------------------------------------===//
// Groups in brackets
//===----------------------------------------------------------------------===//

/// From the opening bracket at words[open] to behind the one that closes it.
static StringRef groupAt(StringRef text, ArrayRef<Word> words, size_t open) {
  static constexpr StringLiteral kOpen = "<([{", kClose = ">)]}";
  char close = kClose[kOpen.find(words[open].kind)];
  int depth = 0;
  for (const Word &word : words.drop_front(open)) {
    depth += (word.kind == words[open].kind) - (word.kind == close);
    if (depth == 0)
      return text.slice(words[open].begin, word.begin + word.size);
  }
  return text.substr(words[open].begin, 1);
}

/// Another group of the same kind; sometimes none.
std::string TextMutator::changeGroup(StringRef text, StringRef donor) {
  auto isOpen = [](const Word &w) {
    return StringRef("<([{").contains(w.kind);
  };
  SmallVector<Word> words = lex(text), others = lex(donor);
  const Word *at = pick(*this, words, isOpen);
  if (!at)
    return text.str();
  StringRef group = groupAt(text, words, at - words.begin());
  if (group.size() > 400 || below(8) == 0)
    return replace(text, at->begin, group.size(), "");
  const Word *other = pick(
      *this, others, [&](const Word &word) { return word.kind == at->kind; });
  if (!other)
    return text.str();
  StringRef by = groupAt(donor, others, other - others.begin());
  return by.size() > 400 ? text.str()
                         : replace(text, at->begin, group.size(), by);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Some op with its regions: the lines from a random one on, until as many
/// braces are closed as are open.
static StringRef someOp(TextMutator &mutator, StringRef text) {
  size_t begin = text.rfind('\n', mutator.below(text.size() + 1));
  begin = begin == StringRef::npos ? 0 : begin + 1;
  int depth = 0;
  size_t end = begin;
  while (end < text.size()) {
    size_t next = std::min(text.find('\n', end), text.size() - 1) + 1;
    StringRef line = text.slice(end, next);
    depth += int(line.count('{')) - int(line.count('}'));
    end = next;
    if (depth <= 0)
      break;
  }
  return text.slice(begin, end);
}

static size_t someLine(TextMutator &mutator, StringRef text) {
  size_t at = text.rfind('\n', mutator.below(text.size() + 1));
  return at == StringRef::npos ? 0 : at + 1;
}

/// Drops, doubles or moves an op.
std::string TextMutator::changeOps(StringRef text) {
  StringRef op = someOp(*this, text);
  size_t begin = op.begin() - text.begin();
  size_t choice = below(5);
  std::string without = replace(text, begin, op.size(), "");
  if (choice < 2)
    return without;
  if (choice == 2)
    return replace(text, begin, 0, op);
  return replace(without, someLine(*this, without), 0, op);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

std::string TextMutator::mutate(StringRef text) {
  std::string result = text.str();
  do {
    switch (below(6)) {
    case 0:
      result = changeOps(result);
      break;
    case 1:
      result = changeGroup(result, result);
      break;
    case 2:
    case 3:
      result = changeNumber(result);
      break;
    default:
      result = changeWord(result, result);
    }
  } while (below(3) == 0);
  return result;
}

std::string TextMutator::cross(StringRef text, StringRef donor) {
  switch (below(4)) {
  case 0:
    return changeWord(text, donor);
  case 1:
    return changeGroup(text, donor);
  default:
    return replace(text, someLine(*this, text), 0, someOp(*this, donor));
  }
}
