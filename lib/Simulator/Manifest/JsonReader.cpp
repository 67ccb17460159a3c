//===- JsonReader.cpp - JSON objects with located errors ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

/// llvm::json::parse recurses once a level and has no limit, so text that nests
/// too deeply would overflow the stack.
static bool isTooDeep(StringRef text) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > 64)
        return true;
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return false;
}

llvm::Expected<llvm::json::Value> fa4::sim::parseJson(StringRef text) {
  if (isTooDeep(text))
    return llvm::createStringError("JSON is nested too deeply");
  auto value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError("malformed JSON: " +
                                   llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return llvm::createStringError("expected a JSON object");
  return value;
}

static std::string join(const std::string &place, StringRef key) {
  return place.empty() ? key.str() : place + "." + key.str();
}

std::optional<JsonPlace> JsonPlace::find(StringRef key) const {
  const auto *object = value->getAsObject();
  const auto *member = object ? object->get(key) : nullptr;
  if (!member || member->kind() == llvm::json::Value::Null)
    return std::nullopt;
  return JsonPlace(*member, join(place, key), *errors);
}

std::optional<JsonPlace> JsonPlace::require(StringRef key) const {
  if (!isObject()) {
    fail("expected an object");
    return std::nullopt;
  }
  auto member = find(key);
  if (!member)
    fail("'" + key + "' is missing");
  return member;
}

bool JsonPlace::onlyKeys(llvm::ArrayRef<StringRef> keys) const {
  const auto *object = value->getAsObject();
  if (!object)
    return fail("expected an object");
  std::vector<StringRef> unknown;
  for (const auto &member : *object)
    if (!llvm::is_contained(keys, StringRef(member.first)))
      unknown.push_back(member.first);
  if (unknown.empty())
    return true;
  llvm::sort(unknown);
  return fail("unknown key '" + unknown.front() + "'");
}

bool JsonPlace::forEach(const std::function<bool(JsonPlace)> &f) const {
  const auto *array = value->getAsArray();
  if (!array)
    return fail("expected an array");
  for (size_t i = 0; i < array->size(); ++i)
    if (!f(JsonPlace((*array)[i], place + "[" + std::to_string(i) + "]",
                     *errors)))
      return false;
  return true;
}

bool JsonPlace::forEachMember(
    const std::function<bool(StringRef, JsonPlace)> &f) const {
  const auto *object = value->getAsObject();
  if (!object)
    return fail("expected an object");
  std::vector<StringRef> keys;
  for (const auto &member : *object)
    keys.push_back(member.first);
  llvm::sort(keys);
  for (StringRef key : keys)
    if (!f(key, JsonPlace(*object->get(key), join(place, key), *errors)))
      return false;
  return true;
}

bool JsonPlace::read(std::string &text) const {
  auto string = value->getAsString();
  if (!string)
    return fail("expected a string");
  text = string->str();
  return true;
}

bool JsonPlace::read(int64_t &number) const {
  auto integer = value->getAsInteger();
  if (!integer)
    return fail("expected an integer");
  number = *integer;
  return true;
}

bool JsonPlace::read(bool &truth) const {
  auto boolean = value->getAsBoolean();
  if (!boolean)
    return fail("expected true or false");
  truth = *boolean;
  return true;
}

bool JsonPlace::read(Expression &expression) const {
  if (auto integer = value->getAsInteger()) {
    expression = Expression(*integer);
    return true;
  }
  if (auto number = value->getAsNumber()) {
    expression = Expression(*number);
    return true;
  }
  auto string = value->getAsString();
  if (!string)
    return fail("expected a number or an expression");
  auto parsed = Expression::parse(*string);
  if (!parsed)
    return fail(llvm::toString(parsed.takeError()));
  expression = std::move(*parsed);
  return true;
}

bool JsonPlace::read(std::vector<Expression> &list) const {
  return forEach([&](JsonPlace element) {
    list.emplace_back();
    return element.read(list.back());
  });
}

bool JsonPlace::readAddress(uint64_t &address) const {
  if (auto integer = value->getAsInteger(); integer && *integer >= 0) {
    address = uint64_t(*integer);
    return true;
  }
  auto string = value->getAsString();
  if (!string || string->getAsInteger(0, address))
    return fail("expected an address such as \"0x700000000000\"");
  return true;
}

bool JsonPlace::readHex(std::vector<uint8_t> &bytes) const {
  std::string text, decoded;
  if (!read(text))
    return false;
  if (text.size() % 2 || !llvm::tryGetFromHex(text, decoded))
    return fail("expected pairs of hexadecimal digits");
  bytes.assign(decoded.begin(), decoded.end());
  return true;
}

bool JsonPlace::readName(unsigned &index, llvm::ArrayRef<StringRef> names,
                         StringRef what) const {
  std::string text;
  if (!read(text))
    return false;
  for (index = 0; index < names.size(); ++index)
    if (names[index] == text)
      return true;
  return fail("unknown " + what + " '" + text +
              "' (known: " + llvm::join(names, ", ") + ")");
}
