//===- JsonReader.h - JSON objects with located errors ---------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MANIFEST_JSONREADER_H
#define FA4_LIB_SIMULATOR_MANIFEST_JSONREADER_H

#include "fa4/Simulator/Manifest/Expression.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fa4::sim {

/// Parses text that is an object; deeper than 64 levels is an error.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// Keeps the first error in a document.
struct JsonErrors {
  std::string first;
  bool fail(const llvm::Twine &where, const llvm::Twine &message) {
    if (first.empty())
      first =
          (message + (where.isTriviallyEmpty() ? "" : " at ") + where).str();
    return false;
  }
  bool any() const { return !first.empty(); }
};

/// A value and its place in the document. After an error, all functions return
/// false or a default.
class JsonPlace {
public:
  JsonPlace(const llvm::json::Value &value, std::string where,
            JsonErrors &errors)
      : value(&value), place(std::move(where)), errors(&errors) {}

  const std::string &where() const { return place; }
  bool fail(const llvm::Twine &message) const {
    return errors->fail(place.empty() ? llvm::Twine("the top level")
                                      : llvm::Twine(place),
                        message);
  }
  bool isString() const { return bool(value->getAsString()); }
  bool isObject() const { return value->getAsObject(); }
  bool isNull() const { return value->kind() == llvm::json::Value::Null; }

  /// Returns a member of an object, or nothing if the member is absent or null.
  std::optional<JsonPlace> find(llvm::StringRef key) const;
  std::optional<JsonPlace> require(llvm::StringRef key) const;
  bool has(llvm::StringRef key) const { return find(key).has_value(); }
  /// Checks that the object has no other keys than `keys`.
  bool onlyKeys(llvm::ArrayRef<llvm::StringRef> keys) const;
  /// Calls f(element) for each element of an array.
  bool forEach(const std::function<bool(JsonPlace)> &f) const;
  /// Calls f(key, member) in the order of keys.
  bool
  forEachMember(const std::function<bool(llvm::StringRef, JsonPlace)> &f) const;

  bool read(std::string &text) const;
  bool read(int64_t &number) const;
  bool read(bool &truth) const;
  /// Reads an expression from a number or from a string.
  bool read(Expression &expression) const;
  bool read(std::vector<Expression> &list) const;
  /// Reads an integer, or a string "0x...": JSON readers lose the low digits of
  /// large integers.
  bool readAddress(uint64_t &address) const;
  bool readHex(std::vector<uint8_t> &bytes) const;
  /// Reads a string that must be one of `names`, and sets `index` to its
  /// position.
  bool readName(unsigned &index, llvm::ArrayRef<llvm::StringRef> names,
                llvm::StringRef what) const;

private:
  const llvm::json::Value *value;
  std::string place;
  JsonErrors *errors;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MANIFEST_JSONREADER_H
