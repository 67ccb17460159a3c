//===- Manifest.h - what to launch, and on what ----------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A manifest is a JSON file (docs/simulator-manifest.md has the schema): the
// sizes of a call, its tensors, and one or more launches that share memory.
// Whatever is a number in it may be an expression over the sizes.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_MANIFEST_H
#define FA4_SIMULATOR_MANIFEST_MANIFEST_H

#include "fa4/Simulator/Machine/TensorMap.h"
#include "fa4/Simulator/Manifest/DType.h"
#include "fa4/Simulator/Manifest/Expression.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>
#include <vector>

namespace fa4::sim {

/// A size of the call, or another scalar of it, such as a factor that the
/// kernel takes.
struct SizeSpec {
  std::string name;
  std::optional<Number> value; ///< Default; none: the call must say it.
};

enum class Role : uint8_t {
  In,        ///< Needs contents; not written back.
  Out,       ///< Undefined before; written to a file.
  InOut,     ///< Contents if given, else `fill`.
  Workspace, ///< Like InOut, but nobody is asked for it.
};

enum class Fill : uint8_t { Default, Undefined, Zeros, Random, Value, Iota };

struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Expression> shape;
  std::vector<Expression> strides; ///< In elements; empty: row-major.
  Role role = Role::InOut;
  std::optional<uint64_t> address; ///< Fixed virtual address.
  uint64_t alignment = 1;          ///< Bytes; `address` must be a multiple.
  bool exclusive = false; ///< No byte of an element is another element's.
  bool ordered = false;   ///< Sums in it must not depend on timing.
  Fill fill = Fill::Default;
  double fillValue = 0;
  std::string file; ///< Contents, relative to the manifest.
};

/// A tensor map, given by the arguments that encode it. Dimension 0 is the
/// contiguous one.
struct TensorMapSpec {
  std::string tensor;              ///< Base; or:
  std::optional<uint64_t> address; ///< Absolute base.
  Expression offset;               ///< Bytes from the base.
  TensorMapType type = TensorMapType::U8;
  std::vector<Expression> dims, byteStrides, box, elementStrides;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  uint8_t interleave = 0;
  bool fillNan = false;
};

struct ParamSpec {
  enum class Kind : uint8_t { Pointer, Value, Bytes, Map, Struct };
  Kind kind = Kind::Bytes;
  std::string where; ///< "launches[0].params[3]", for messages.

  std::string tensor; ///< Pointer; with `value` as offset in bytes.
  DType dtype = DType::I32;
  Expression value;
  std::vector<uint8_t> bytes;
  TensorMapSpec map;
  uint64_t structBytes = 0;
  std::vector<std::pair<uint64_t, ParamSpec>> fields; ///< By byte offset.
};

/// A variable (.global, .const) of a launch's PTX, as a record has it.
struct VariableSpec {
  std::string name;
  uint64_t address = 0;
  std::string file; ///< Contents as bytes; empty: as the PTX has them.
};

/// What is done in place of a launch on sizes of 0.
struct EmptySpec {
  struct Fill {
    std::string tensor;
    double value = 0; ///< Of each element; an integer for integer types.
  };
  Expression condition; ///< Not 0 where nothing is launched.
  std::vector<Fill> fills;
  std::string where; ///< "launches[1].empty", for messages.
};

struct LaunchSpec {
  std::string ptx;   ///< Path as it is to be opened.
  std::string entry; ///< Empty: the only one.
  Expression grid[3], block[3], cluster[3];
  Expression dynamicShared;
  bool programmatic = false; ///< LaunchConfig::programmatic.
  std::optional<EmptySpec> empty;
  std::vector<ParamSpec> params;
  std::vector<VariableSpec> variables; ///< Those with fixed addresses.
};

/// What a call must be like; nothing is launched otherwise.
struct RequirementSpec {
  Expression condition; ///< Not 0 where the call is good.
  std::string message;  ///< The sentence for one that is not.
  std::string where;    ///< "requires[2]", for messages.
};

struct Manifest {
  std::string file; ///< For messages.
  std::vector<SizeSpec> sizes;
  std::vector<TensorSpec> tensors;
  std::vector<RequirementSpec> requirements;
  std::vector<LaunchSpec> launches;

  const TensorSpec *findTensor(llvm::StringRef name) const;
  /// Whether a size is a stride of a tensor.
  bool isStride(llvm::StringRef size) const;
  /// Gives strides without a value those of row-major tensors, where the sizes
  /// of these are known.
  void addRowMajorStrides(SizeMap &sizes) const;
};

/// Reads a manifest. An error is one line, "file: message at place". Paths in
/// the manifest are relative to the directory of the buffer's name.
llvm::Expected<Manifest> parseManifest(llvm::MemoryBufferRef buffer);

/// Reads one of these: a manifest; the launch-N.json of a record (see
/// docs/simulator-manifest.md); a directory that holds launch-0.json,
/// launch-1.json, ..., which are run one after the other.
llvm::Expected<Manifest> readManifest(llvm::StringRef path);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_MANIFEST_H
