//===- Manifest.cpp - what to launch, and on what ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Manifest/Manifest.h"
#include "ManifestReader.h"
#include "fa4/Manifest/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

using namespace fa4::manifest;

uint64_t ParamSpec::countBytes() const {
  switch (kind) {
  case Kind::Pointer:
    return 8;
  case Kind::Value:
    return dtypeBytes(dtype);
  case Kind::Bytes:
    return bytes.size();
  case Kind::Map:
    return 128;
  case Kind::Struct:
    break;
  }
  return structBytes;
}

int Manifest::findScalar(std::string_view name) const {
  auto found = std::find(scalars.begin(), scalars.end(), name);
  return found == scalars.end() ? -1 : int(found - scalars.begin());
}

int Manifest::findTensor(std::string_view name) const {
  auto found =
      std::find_if(tensors.begin(), tensors.end(),
                   [&](const TensorSpec &each) { return each.name == name; });
  return found == tensors.end() ? -1 : int(found - tensors.begin());
}

//===----------------------------------------------------------------------===//
// Sizes of a call
//===----------------------------------------------------------------------===//

static constexpr int64_t kMaxExtent = int64_t(1) << 40;

bool Manifest::isStride(int scalar) const {
  return std::any_of(
      tensors.begin(), tensors.end(), [&](const TensorSpec &tensor) {
        return std::any_of(
            tensor.strides.begin(), tensor.strides.end(),
            [&](const Expression &each) { return each.symbol() == scalar; });
      });
}

void Manifest::addRowMajorStrides(Values &values) const {
  for (const TensorSpec &tensor : tensors) {
    __int128 packed = 1;
    for (size_t d = tensor.strides.size(); d-- > 0;) {
      int stride = tensor.strides[d].symbol();
      if (stride >= 0 && !values[size_t(stride)])
        values[size_t(stride)] = Number(int64_t(packed));
      std::optional<int64_t> size = tensor.shape[d].tryInteger(values);
      if (!size)
        break;
      packed =
          std::min<__int128>(packed * std::max<int64_t>(*size, 1), kMaxExtent);
    }
  }
}

std::string Manifest::describeSizes(const Values &values,
                                    const std::string &condition) const {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] &&
        (!isStride(int(i)) || condition.find(scalars[i]) != std::string::npos))
      text +=
          (text.empty() ? "" : ", ") + scalars[i] + " = " + values[i]->text();
  return text;
}

void Manifest::checkRequirements(const Values &values) const {
  for (const Requirement &requirement : requirements) {
    int64_t isMet;
    try {
      isMet = requirement.condition.evaluateInteger(values);
    } catch (const ManifestError &error) {
      throw ManifestError(error.kind,
                          error.what() + (" at " + requirement.where));
    }
    if (!isMet)
      throw ManifestError(
          ManifestError::Kind::BadSize,
          requirement.message + "; this call has " +
              describeSizes(values, requirement.condition.text()));
  }
}

TensorLayout fa4::manifest::layOut(const TensorSpec &tensor,
                                   const Values &values) {
  auto fail = [&](const std::string &problem) {
    throw ManifestError(ManifestError::Kind::BadSize,
                        "tensor '" + tensor.name + "'" + problem);
  };
  auto evaluate = [&](const Expression &expression) {
    int64_t value = -1;
    try {
      value = expression.evaluateInteger(values);
    } catch (const ManifestError &error) {
      fail(std::string(": ") + error.what());
    }
    if (value < 0 || value > kMaxExtent)
      fail(": '" + expression.text() + "' is " + std::to_string(value) +
           ", not from 0 to 2^40");
    return value;
  };
  size_t rank = tensor.shape.size();
  TensorLayout result;
  result.shape.resize(rank);
  result.strides.resize(rank);
  __int128 last = 0, packed = 1;
  bool isEmpty = false;
  for (size_t d = rank; d-- > 0;) {
    int64_t size = result.shape[d] = evaluate(tensor.shape[d]);
    result.strides[d] =
        tensor.strides.empty() ? int64_t(packed) : evaluate(tensor.strides[d]);
    packed = std::min<__int128>(packed * size, kMaxExtent);
    last += __int128(result.strides[d]) * (size - 1);
    isEmpty |= size == 0;
  }
  if (isEmpty)
    return result;
  if (last >= kMaxExtent)
    fail(" is too large");
  result.bytes = uint64_t(last + 1) * dtypeBytes(tensor.dtype);
  return result;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static bool isFolder(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool fa4::manifest::fileExists(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

std::string fa4::manifest::readFile(const std::string &path) {
  if (isFolder(path))
    throw ManifestError(ManifestError::Kind::BadFile,
                        path + ": it is a folder");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream)
    text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || stream.bad())
    throw ManifestError(ManifestError::Kind::BadFile,
                        path + ": " + std::strerror(errno ? errno : EIO));
  return text;
}

static Manifest readText(std::string_view text, const std::string &file,
                         bool mustBeRecord) {
  Manifest manifest;
  manifest.file = file;
  Json document = Json::parse(text, file);
  try {
    if (mustBeRecord && !isRecord(document))
      document.fail("'kernel', which a recorded launch has, is missing");
    readDocument(document, manifest);
  } catch (const ManifestError &error) {
    throw ManifestError(error.kind, file + ": " + error.what());
  }
  return manifest;
}

Manifest Manifest::parse(std::string_view text, const std::string &file) {
  return readText(text, file, /*mustBeRecord=*/false);
}

/// Appends a launch of a record to those in front of it, whose tensors of the
/// same name it has. Recorded parameters name no tensor, they have addresses.
static void append(Manifest &record, Manifest part) {
  for (TensorSpec &tensor : part.tensors) {
    int known = record.findTensor(tensor.name);
    if (known < 0) {
      record.tensors.push_back(std::move(tensor));
      continue;
    }
    const TensorSpec &before = record.tensors[size_t(known)];
    if (before.address != tensor.address || before.dtype != tensor.dtype)
      throw ManifestError(ManifestError::Kind::BadManifest,
                          part.file + ": tensor '" + tensor.name +
                              "' differs from an earlier launch's");
  }
  for (LaunchSpec &launch : part.launches) {
    launch.where = part.file;
    record.launches.push_back(std::move(launch));
  }
}

Manifest Manifest::read(const std::string &path) {
  if (!isFolder(path))
    return parse(readFile(path), path);
  Manifest record;
  record.file = path;
  for (unsigned i = 0;; ++i) {
    std::string file = path + "/launch-" + std::to_string(i) + ".json";
    if (!fileExists(file))
      break;
    append(record, readText(readFile(file), file, /*mustBeRecord=*/true));
  }
  if (record.launches.empty())
    throw ManifestError(ManifestError::Kind::BadFile,
                        path + ": no launch-0.json in it");
  return record;
}
