//===- Error.h - how reading and evaluating a manifest fails ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_MANIFEST_ERROR_H
#define FA4_MANIFEST_ERROR_H

#include <stdexcept>
#include <string>

namespace fa4::manifest {

/// What the library throws. The message is one line.
class ManifestError : public std::runtime_error {
public:
  enum class Kind : unsigned char {
    BadManifest, ///< The text, whatever the call.
    BadSize,     ///< The sizes of a call.
    BadFile,     ///< A file cannot be read.
  };
  ManifestError(Kind kind, const std::string &message)
      : std::runtime_error(message), kind(kind) {}

  const Kind kind;
};

} // namespace fa4::manifest

#endif // FA4_MANIFEST_ERROR_H
