//===- Manifest.h - what to launch, and on what ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A manifest is a JSON file (docs/simulator-manifest.md has the schema): the
// sizes of a call, its tensors, and one or more launches that share memory.
// Whatever is a number in it may be an expression over the sizes. The simulator
// and the runtime library read manifests by this library, which needs no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_MANIFEST_MANIFEST_H
#define FA4_MANIFEST_MANIFEST_H

#include "fa4/Manifest/DType.h"
#include "fa4/Manifest/Expression.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fa4::manifest {

enum class Role : uint8_t {
  In,        ///< Needs contents; not written back.
  Out,       ///< Undefined before; written to a file.
  InOut,     ///< Contents if given, else `fill`.
  Workspace, ///< Like InOut, but nobody is asked for it.
};

enum class Fill : uint8_t { Default, Undefined, Zeros, Random, Iota, Value };

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
  std::string file; ///< Contents; the path as it is to be opened.
};

/// A tensor map, given by the arguments that encode it. Dimension 0 is the
/// contiguous one. Enumerators are numbered as the CUDA driver's.
struct TensorMapSpec {
  int tensor = -1;                 ///< Base, in Manifest::tensors; or:
  std::optional<uint64_t> address; ///< Absolute base.
  Expression offset;               ///< Bytes from the base.
  uint8_t type = 0;                ///< CUtensorMapDataType.
  std::vector<Expression> dims, byteStrides, box, elementStrides;
  uint8_t swizzle = 0, interleave = 0;
  bool fillNan = false;
};

struct ParamSpec {
  enum class Kind : uint8_t { Pointer, Value, Bytes, Map, Struct };
  Kind kind = Kind::Bytes;
  std::string where; ///< "launches[0].params[3]", for messages.

  int tensor = -1; ///< Pointer; with `value` as offset in bytes.
  DType dtype = DType::I32;
  Expression value;
  std::vector<uint8_t> bytes;
  TensorMapSpec map;
  uint64_t structBytes = 0;
  std::vector<std::pair<uint64_t, ParamSpec>> fields; ///< By byte offset.

  uint64_t countBytes() const;
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
    int tensor = -1;
    double value = 0; ///< Of each element; an integer for integer types.
  };
  Expression condition; ///< Not 0 where nothing is launched.
  std::vector<Fill> fills;
  std::string where; ///< "launches[1].empty", for messages.
};

struct LaunchSpec {
  std::string where; ///< "launches[1]", for messages.
  std::string ptx;   ///< As the manifest names it.
  std::string file;  ///< The same as a path to be opened.
  std::string entry; ///< Empty: the only one.
  Expression grid[3], block[3], cluster[3];
  Expression dynamicShared;
  bool programmatic = false; ///< May begin before the one in front has ended.
  std::optional<EmptySpec> empty;
  std::vector<ParamSpec> params;
  std::vector<VariableSpec> variables; ///< Those with fixed addresses.
};

/// What a call must be like; nothing is launched otherwise.
struct Requirement {
  Expression condition; ///< Not 0 where the call is good.
  std::string message;  ///< The sentence for one that is not.
  std::string where;    ///< "requires[2]", for messages.
};

/// A tensor of a call: all sizes are known.
struct TensorLayout {
  std::vector<int64_t> shape, strides; ///< Strides in elements.
  uint64_t bytes = 0;                  ///< From the first to the last element.
};

struct Manifest {
  std::string file; ///< For messages.
  /// The sizes of the call, and its other scalars, such as a factor that the
  /// kernel takes.
  std::vector<std::string> scalars;
  Values defaults; ///< None: the call must say it.
  std::vector<TensorSpec> tensors;
  std::vector<Requirement> requirements;
  std::vector<LaunchSpec> launches;

  /// Reads the text of a manifest, or of one launch of a record. Paths in it
  /// are relative to the folder of `file`. Throws ManifestError (BadManifest);
  /// the message is "file: problem at place".
  static Manifest parse(std::string_view text, const std::string &file);
  /// Reads one of these: a manifest; the launch-N.json of a record; a folder
  /// that holds launch-0.json, launch-1.json, ..., which are run one after the
  /// other. Throws ManifestError.
  static Manifest read(const std::string &path);

  /// Return an index, or -1.
  int findScalar(std::string_view name) const;
  int findTensor(std::string_view name) const;
  /// Whether a scalar is a stride of a tensor.
  bool isStride(int scalar) const;

  /// Gives strides without a value those of row-major tensors, where the sizes
  /// of these are known.
  void addRowMajorStrides(Values &values) const;
  /// Throws ManifestError (BadSize) with the manifest's sentence and the sizes
  /// of the call where the kernels were not compiled for it.
  void checkRequirements(const Values &values) const;
  /// "n = 3, m = 4": the sizes of the call; of the strides, which are many,
  /// only those that a condition is about.
  std::string describeSizes(const Values &values,
                            const std::string &condition) const;
};

/// Computes the extents of a tensor. Throws ManifestError (BadSize) for those
/// that no memory has.
TensorLayout layOut(const TensorSpec &tensor, const Values &values);

/// Reads a file. Throws ManifestError (BadFile).
std::string readFile(const std::string &path);
bool fileExists(const std::string &path);

} // namespace fa4::manifest

#endif // FA4_MANIFEST_MANIFEST_H
