//===- Json.cpp - JSON text to values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "fa4/Manifest/Error.h"
#include <algorithm>
#include <charconv>
#include <cstring>

using namespace fa4::manifest;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Json::fail(const std::string &problem) const {
  throw ManifestError(ManifestError::Kind::BadManifest,
                      problem + " at " +
                          (where.empty() ? "the top level" : where));
}

void Json::expect(Kind which, const char *what) const {
  if (kind != which)
    fail(std::string("expected ") + what);
}

const Json *Json::find(std::string_view key) const {
  for (const auto &[name, value] : object)
    if (name == key)
      return value.kind == Kind::Null ? nullptr : &value;
  return nullptr;
}

const Json &Json::require(std::string_view key) const {
  expect(Kind::Object, "an object");
  if (const Json *value = find(key))
    return *value;
  fail("'" + std::string(key) + "' is missing");
}

void Json::onlyKeys(Names keys) const {
  expect(Kind::Object, "an object");
  for (const Member &member : object)
    if (std::find(keys.begin(), keys.end(), member.first) == keys.end())
      fail("unknown key '" + member.first + "'");
}

const std::vector<Json::Member> &Json::members() const {
  expect(Kind::Object, "an object");
  return object;
}

const std::vector<Json> &Json::elements() const {
  expect(Kind::Array, "an array");
  return array;
}

const std::string &Json::string() const {
  expect(Kind::String, "a string");
  return text;
}

int64_t Json::integer() const {
  expect(Kind::Integer, "an integer");
  return whole;
}

bool Json::boolean() const {
  expect(Kind::Bool, "true or false");
  return truth;
}

unsigned Json::name(Names names, const char *what) const {
  const auto *known = std::find(names.begin(), names.end(), string());
  if (known != names.end())
    return unsigned(known - names.begin());
  std::string list;
  for (const char *each : names)
    list += (list.empty() ? "" : ", ") + std::string(each);
  fail(std::string("unknown ") + what + " '" + text + "' (known: " + list +
       ")");
}

uint64_t Json::address() const {
  if (kind == Kind::Integer && whole >= 0)
    return uint64_t(whole);
  uint64_t result = 0;
  bool isHex = text.substr(0, 2) == "0x";
  const char *first = text.data() + 2 * isHex,
             *last = text.data() + text.size();
  auto read = std::from_chars(first, last, result, isHex ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != last)
    fail("expected an address such as \"0x700000000000\"");
  return result;
}

static int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::vector<uint8_t> Json::bytes() const {
  std::vector<uint8_t> result;
  const std::string &digits = string();
  for (size_t i = 0; i < digits.size(); i += 2) {
    int high = hexDigit(digits[i]),
        low = i + 1 < digits.size() ? hexDigit(digits[i + 1]) : -1;
    if (high < 0 || low < 0)
      fail("expected pairs of hexadecimal digits");
    result.push_back(uint8_t(high << 4 | low));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace fa4::manifest {

/// A deeper text would not be a manifest, and could overflow the stack.
constexpr unsigned kMaxDepth = 64;

class JsonParser {
public:
  JsonParser(std::string_view text, const std::string &name)
      : text(text), name(name) {}

  Json parse() {
    Json value = parseValue("", 0);
    skipSpace();
    if (at < text.size())
      fail("there is text behind the object");
    if (value.kind != Json::Kind::Object)
      fail("expected an object");
    return value;
  }

private:
  [[noreturn]] void fail(const char *problem) const {
    size_t line = 1;
    for (char c : text.substr(0, at))
      line += c == '\n';
    throw ManifestError(ManifestError::Kind::BadManifest,
                        name + ":" + std::to_string(line) +
                            ": malformed JSON: " + problem);
  }
  void skipSpace() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]) && text[at])
      ++at;
  }
  bool consume(char c) {
    skipSpace();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool consume(std::string_view word) {
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }

  Json parseValue(std::string place, unsigned depth);
  void parseArray(Json &value, unsigned depth);
  void parseObject(Json &value, unsigned depth);
  void parseNumber(Json &value);
  std::string parseString();
  unsigned parseHex();
  void appendCodePoint(std::string &to);

  std::string_view text;
  const std::string &name;
  size_t at = 0;
};

Json JsonParser::parseValue(std::string place, unsigned depth) {
  if (depth > kMaxDepth)
    fail("it is nested too deeply");
  Json value;
  value.where = std::move(place);
  if (consume('{')) {
    parseObject(value, depth);
  } else if (consume('[')) {
    parseArray(value, depth);
  } else if (consume('"')) {
    value.kind = Json::Kind::String;
    value.text = parseString();
  } else if (consume("true") || consume("false")) {
    value.kind = Json::Kind::Bool;
    value.truth = text[at - 2] == 'u';
  } else if (!consume("null")) {
    parseNumber(value);
  }
  return value;
}

void JsonParser::parseArray(Json &value, unsigned depth) {
  value.kind = Json::Kind::Array;
  if (consume(']'))
    return;
  do {
    std::string place =
        value.where + "[" + std::to_string(value.array.size()) + "]";
    value.array.push_back(parseValue(std::move(place), depth + 1));
  } while (consume(','));
  if (!consume(']'))
    fail("expected ',' or ']'");
}

void JsonParser::parseObject(Json &value, unsigned depth) {
  value.kind = Json::Kind::Object;
  if (consume('}'))
    return;
  do {
    if (!consume('"'))
      fail("expected the name of a member");
    std::string key = parseString();
    for (const auto &member : value.object)
      if (member.first == key)
        fail("two members have one name");
    if (!consume(':'))
      fail("expected ':'");
    std::string place = value.where.empty() ? key : value.where + "." + key;
    Json member = parseValue(std::move(place), depth + 1);
    value.object.emplace_back(std::move(key), std::move(member));
  } while (consume(','));
  if (!consume('}'))
    fail("expected ',' or '}'");
}

void JsonParser::parseNumber(Json &value) {
  skipSpace();
  size_t end = at;
  while (end < text.size() &&
         (std::strchr("+-.eE", text[end]) ||
          (text[end] >= '0' && text[end] <= '9')) &&
         text[end])
    ++end;
  const char *first = text.data() + at, *last = text.data() + end;
  auto integer = std::from_chars(first, last, value.whole);
  value.kind = Json::Kind::Integer;
  if (first == last || *first == '+')
    fail("expected a value");
  if (integer.ec != std::errc() || integer.ptr != last) {
    value.kind = Json::Kind::Float;
    auto floating = std::from_chars(first, last, value.number);
    if (floating.ec != std::errc() || floating.ptr != last)
      fail("expected a value");
  }
  at = end;
}

unsigned JsonParser::parseHex() {
  unsigned value = 0;
  if (at + 4 > text.size())
    fail("expected four hexadecimal digits");
  auto read =
      std::from_chars(text.data() + at, text.data() + at + 4, value, 16);
  if (read.ec != std::errc() || read.ptr != text.data() + at + 4)
    fail("expected four hexadecimal digits");
  at += 4;
  return value;
}

/// Reads what follows `\u`.
void JsonParser::appendCodePoint(std::string &to) {
  unsigned code = parseHex();
  if (code >= 0xd800 && code < 0xdc00) {
    if (!consume("\\u"))
      fail("half a character");
    unsigned low = parseHex();
    if (low < 0xdc00 || low > 0xdfff)
      fail("half a character");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code < 0x80) {
    to += char(code);
    return;
  }
  if (code < 0x800) {
    to += char(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      to += char(0xe0 | code >> 12);
    } else {
      to += char(0xf0 | code >> 18);
      to += char(0x80 | (code >> 12 & 0x3f));
    }
    to += char(0x80 | (code >> 6 & 0x3f));
  }
  to += char(0x80 | (code & 0x3f));
}

/// Reads the rest of a string, up to and with its quotation mark.
std::string JsonParser::parseString() {
  static constexpr char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  std::string result;
  for (;;) {
    if (at >= text.size())
      fail("a string does not end");
    char c = text[at++];
    if (c == '"')
      return result;
    if (uint8_t(c) < ' ')
      fail("a control character in a string");
    if (c != '\\') {
      result += c;
      continue;
    }
    char escaped = at < text.size() ? text[at++] : 0;
    const char *known = escaped ? std::strchr(from, escaped) : nullptr;
    if (known)
      result += to[known - from];
    else if (escaped == 'u')
      appendCodePoint(result);
    else
      fail("an escape that JSON does not have");
  }
}

} // namespace fa4::manifest

Json Json::parse(std::string_view text, const std::string &name) {
  return JsonParser(text, name).parse();
}
