//===- Support.cpp - status, text and diagnostics in C --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CAPI.h"
#include "llvm/Config/llvm-config.h"
#include <cstdlib>

char *fa4::capi::copyText(llvm::StringRef text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return nullptr;
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = 0;
  return copy;
}

const char *fa4Version(void) {
  return FA4_VERSION ", LLVM " LLVM_VERSION_STRING;
}

void fa4FreeText(char *text) { std::free(text); }
