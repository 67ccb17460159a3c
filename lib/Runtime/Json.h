//===- Json.h - JSON text to values -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library has no dependency that a program would have to bring, so that it
// reads JSON by itself.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_JSON_H
#define FA4_LIB_RUNTIME_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa4::runtime {

struct Json {
  enum class Kind : uint8_t {
    Null,
    Bool,
    Integer,
    Float,
    String,
    Array,
    Object
  };
  Kind kind = Kind::Null;
  bool boolean = false;
  int64_t integer = 0;
  double floating = 0;
  std::string string;
  std::vector<Json> array;
  std::vector<std::pair<std::string, Json>> object; ///< In the text's order.
  /// Where it is, for messages: "launches[0].params[3]".
  std::string place;

  /// The member of an object; null if there is none, or if it is null.
  const Json *find(std::string_view key) const;
};

/// Reads a JSON object. Throws Failure, whose message begins with `name`.
Json parseJson(std::string_view text, const std::string &name);

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_JSON_H
