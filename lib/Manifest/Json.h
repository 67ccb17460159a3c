//===- Json.h - JSON text to values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime library has no dependency that a program would have to bring, and
// a manifest's reader needs more than JSON's grammar: each value knows its
// place, two members of one name are an error, and so are values that are
// nested more deeply than any manifest's.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_MANIFEST_JSON_H
#define FA4_LIB_MANIFEST_JSON_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa4::manifest {

/// A value and its place in the document. The functions throw ManifestError
/// (BadManifest) with that place where the value is not what they need.
class Json {
public:
  enum class Kind : uint8_t {
    Null,
    Bool,
    Integer,
    Float,
    String,
    Array,
    Object
  };
  using Member = std::pair<std::string, Json>;
  using Names = std::initializer_list<const char *>;

  /// Reads an object. The message of an error begins with `name` and the line.
  static Json parse(std::string_view text, const std::string &name);

  /// Where the value is, for messages: "launches[0].params[3]".
  const std::string &place() const { return where; }
  [[noreturn]] void fail(const std::string &problem) const;

  bool is(Kind which) const { return kind == which; }
  /// The member of an object; null if there is none, or if it is null.
  const Json *find(std::string_view key) const;
  const Json &require(std::string_view key) const;
  /// Checks that the value is an object without other keys than these.
  void onlyKeys(Names keys) const;
  /// In the order of the text.
  const std::vector<Member> &members() const;
  const std::vector<Json> &elements() const;
  const std::string &string() const;
  int64_t integer() const;
  bool boolean() const;
  double floating() const { return number; } ///< Of Kind::Float.
  /// The position of a string among `names`; `what` is what they are names of.
  unsigned name(Names names, const char *what) const;
  /// An integer, or a string "0x...": JSON readers lose the low digits of large
  /// integers.
  uint64_t address() const;
  /// The bytes that a string of hexadecimal digits stands for.
  std::vector<uint8_t> bytes() const;

private:
  friend class JsonParser;
  void expect(Kind which, const char *what) const;

  Kind kind = Kind::Null;
  bool truth = false;
  int64_t whole = 0;
  double number = 0;
  std::string text;
  std::vector<Json> array;
  std::vector<Member> object;
  std::string where;
};

} // namespace fa4::manifest

#endif // FA4_LIB_MANIFEST_JSON_H
