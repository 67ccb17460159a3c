//===- Manifest.h - what a manifest says, ready to be evaluated -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/simulator-manifest.md has the schema. This reader shares no code with
// the simulator's, which is there to judge it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_MANIFEST_H
#define FA4_LIB_RUNTIME_MANIFEST_H

#include "Error.h"
#include "Expression.h"
#include <optional>

namespace fa4::runtime {

struct DType {
  const char *name;
  unsigned bytes;
  int tensorMapType; ///< CUtensorMapDataType.
  bool isFloat, isSigned;
};
/// Null if there is no such type.
const DType *findDType(std::string_view name);

struct ScalarSpec {
  std::string name;
  std::optional<Number> value; ///< Default.
};

struct TensorSpec {
  std::string name;
  const DType *dtype = nullptr;
  std::vector<Expression> shape;
  std::vector<Expression> strides; ///< Elements; empty: row-major.
  Fa4RuntimeRole role = FA4_RUNTIME_INOUT;
  uint64_t alignment = 1;
  std::optional<uint64_t> address; ///< In a record: where it was.
  /// What a workspace holds before a launch: bytes that are set, or anything.
  bool isUndefined = false;
  double fill = 0;
  bool isZeros() const { return !isUndefined && fill == 0; }
};

struct TensorMapSpec {
  int tensor = -1;                 ///< The base; or:
  std::optional<uint64_t> address; ///< a recorded one.
  Expression offset;               ///< Bytes from the base.
  int type = 0;                    ///< CUtensorMapDataType.
  std::vector<Expression> dims, byteStrides, box, elementStrides;
  int swizzle = 0, interleave = 0, fill = 0;
};

struct ParamSpec {
  enum class Kind : uint8_t { Pointer, Value, Bytes, Map, Struct };
  Kind kind = Kind::Bytes;
  std::string place;
  int tensor = -1; ///< Pointer.
  const DType *dtype = nullptr;
  Expression value; ///< Value; of a pointer the offset in bytes.
  std::vector<uint8_t> bytes;
  TensorMapSpec map;
  uint64_t structBytes = 0;
  std::vector<std::pair<uint64_t, ParamSpec>> fields; ///< By byte offset.

  uint64_t size() const; ///< Bytes.
};

/// What is done in place of a launch on sizes of 0.
struct EmptySpec {
  struct Fill {
    int tensor = -1;
    double value = 0; ///< Of each element.
  };
  Expression condition; ///< Not 0 where nothing is launched.
  std::vector<Fill> fills;
};

struct LaunchSpec {
  std::string ptx, entry, place;
  Expression grid[3], block[3], cluster[3];
  Expression dynamicShared;
  bool isDependent = false; ///< May begin before the launch in front has ended.
  std::optional<EmptySpec> empty;
  std::vector<ParamSpec> params;
};

struct Requirement {
  Expression condition;
  std::string message;
};

struct Manifest {
  std::string name; ///< For messages: the file, or "manifest".
  std::vector<ScalarSpec> scalars;
  std::vector<std::string> scalarNames;
  std::vector<TensorSpec> tensors;
  std::vector<Requirement> requirements;
  std::vector<LaunchSpec> launches;

  int findScalar(std::string_view name) const; ///< -1 if there is none.
  int findTensor(std::string_view name) const;
};

/// Reads the text of a manifest or of a recorded launch. Throws Failure, with a
/// message that begins with `name`.
Manifest parseManifest(std::string_view text, const std::string &name);
/// Reads a file, or the recorded launches in a folder as one manifest.
Manifest readManifest(const std::string &path);
std::string readFile(const std::string &path);
bool fileExists(const std::string &path);
/// `relative` as the manifest `file` means it.
std::string resolvePath(const std::string &file, const std::string &relative);

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_MANIFEST_H
