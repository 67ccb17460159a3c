//===- Record.h - recorded launches as manifests ---------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MANIFEST_RECORD_H
#define FA4_LIB_SIMULATOR_MANIFEST_RECORD_H

#include "JsonReader.h"
#include "fa4/Simulator/Manifest/Manifest.h"

namespace fa4::sim {

std::string resolvePath(llvm::StringRef file, llvm::StringRef relative);
bool readDType(const JsonPlace &place, DType &type);
/// Returns the type of a tensor map over elements of `type`.
std::optional<TensorMapType> tensorMapType(DType type);
bool readTensorMap(const JsonPlace &place, TensorMapSpec &map);

/// Returns true if the document is one launch of a record, which has a
/// "kernel".
bool isRecord(const JsonPlace &top);
bool readRecord(const JsonPlace &top, Manifest &manifest);

/// Joins the launches of a directory into one manifest. Tensors of the same
/// name become one.
llvm::Expected<Manifest> joinRecords(llvm::StringRef path,
                                     std::vector<Manifest> parts);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MANIFEST_RECORD_H
