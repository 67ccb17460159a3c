//===- CAPI.h - what the functions of the C API share ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CAPI_CAPI_H
#define FA4_LIB_CAPI_CAPI_H

#include "fa4-c/Support.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace fa4::capi {

/// A status that is no success, and the sentence on it.
struct Failure {
  Fa4Status status = FA4_OK;
  std::string message;

  Failure() = default;
  Failure(Fa4Status status, const llvm::Twine &message)
      : status(status), message(message.str()) {}
  Failure(Fa4Status status, llvm::Error error)
      : status(status), message(llvm::toString(std::move(error))) {}
};

/// Returns a copy that fa4FreeText frees.
char *copyText(llvm::StringRef text);

/// Runs what a function of the API does. Nothing leaves it but a status.
template <typename Work> Fa4Status guard(char **message, Work work) {
  Failure failure;
  try {
    failure = work();
  } catch (const std::bad_alloc &) {
    failure.status = FA4_INTERNAL;
    failure.message = "no memory is left";
  } catch (const std::exception &exception) {
    failure.status = FA4_INTERNAL;
    failure.message = exception.what();
  } catch (...) {
    failure.status = FA4_INTERNAL;
  }
  if (message)
    *message = failure.status == FA4_OK ? nullptr : copyText(failure.message);
  return failure.status;
}

/// Copies a struct of the API, whose first member is its size, to `to`, which
/// has the defaults. A program may be older or newer than this library: what it
/// does not know keeps its default, and what it alone knows must not be used.
template <typename T>
Failure readStruct(const T *from, llvm::StringRef name, T &to) {
  if (!from)
    return {};
  size_t size = from->size;
  if (size < sizeof(size_t))
    return {FA4_CANNOT_RUN, name + ".size must be sizeof(" + name + "), got " +
                                llvm::Twine(size)};
  const char *bytes = reinterpret_cast<const char *>(from);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i])
      return {FA4_CANNOT_RUN, name + " has members that this version of fa4 "
                                     "does not know, and they are set"};
  std::memcpy(&to, from, std::min(size, sizeof(T)));
  to.size = sizeof(T);
  return {};
}

/// Text of the API, where null stands for `otherwise`.
inline llvm::StringRef textOr(const char *text, llvm::StringRef otherwise) {
  return text ? llvm::StringRef(text) : otherwise;
}

} // namespace fa4::capi

#endif // FA4_LIB_CAPI_CAPI_H
