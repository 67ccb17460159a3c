//===- ManifestReader.h - JSON to manifests ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_MANIFEST_MANIFESTREADER_H
#define FA4_LIB_MANIFEST_MANIFESTREADER_H

#include "Json.h"
#include "fa4/Manifest/Manifest.h"

namespace fa4::manifest {

/// Whether a document is a recorded launch.
bool isRecord(const Json &top);
/// Reads a document into `manifest`, whose `file` is set. Throws ManifestError
/// (BadManifest), with a message that does not name the file.
void readDocument(const Json &top, Manifest &manifest);

} // namespace fa4::manifest

#endif // FA4_LIB_MANIFEST_MANIFESTREADER_H
