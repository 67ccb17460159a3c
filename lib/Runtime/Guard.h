//===- Guard.h - exceptions to statuses ------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_GUARD_H
#define FA4_LIB_RUNTIME_GUARD_H

#include "Error.h"
#include "fa4/Manifest/Error.h"
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace fa4::runtime {

inline char *copyText(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy)
    std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

inline Fa4RuntimeStatus statusOf(manifest::ManifestError::Kind kind) {
  using Kind = manifest::ManifestError::Kind;
  return kind == Kind::BadFile   ? FA4_RUNTIME_BAD_FILE
         : kind == Kind::BadSize ? FA4_RUNTIME_BAD_SIZE
                                 : FA4_RUNTIME_BAD_MANIFEST;
}

/// Runs the body of a function of the API: whatever it throws is a status and a
/// sentence.
template <typename F> Fa4RuntimeStatus guard(char **message, F body) {
  if (message)
    *message = nullptr;
  Fa4RuntimeStatus status = FA4_RUNTIME_OK;
  const char *text = nullptr;
  try {
    body();
    return status;
  } catch (const Failure &failure) {
    if (message)
      *message = copyText(failure.message);
    return failure.status;
  } catch (const manifest::ManifestError &error) {
    if (message)
      *message = copyText(error.what());
    return statusOf(error.kind);
  } catch (const std::bad_alloc &) {
    status = FA4_RUNTIME_NO_MEMORY;
    text = "there is no memory left";
  } catch (const std::exception &exception) {
    status = FA4_RUNTIME_INTERNAL;
    text = exception.what();
  } catch (...) {
    status = FA4_RUNTIME_INTERNAL;
    text = "an unknown exception";
  }
  if (message) {
    std::size_t length = std::strlen(text) + 1;
    *message = static_cast<char *>(std::malloc(length));
    if (*message)
      std::memcpy(*message, text, length);
  }
  return status;
}

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_GUARD_H
