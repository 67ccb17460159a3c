//===- TextMutator.h - mutations of IR as text ------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Bytes that change anywhere rarely get past a parser. These changes keep what
// makes text look like IR: whole ops and bracketed groups move, and a word is
// replaced by another of its kind.

#ifndef FA4_TEST_FUZZ_TEXTMUTATOR_H
#define FA4_TEST_FUZZ_TEXTMUTATOR_H

#include "llvm/ADT/StringRef.h"
#include <random>
#include <string>

namespace fa4::fuzz {

class TextMutator {
public:
  explicit TextMutator(unsigned seed) : random(seed) {}

  /// `text` with one change or a few.
  std::string mutate(llvm::StringRef text);
  /// `text` with something out of `donor`.
  std::string cross(llvm::StringRef text, llvm::StringRef donor);

  /// Less than `end`, which is not 0.
  size_t below(size_t end) { return random() % end; }

private:
  std::string changeOps(llvm::StringRef text);
  std::string changeWord(llvm::StringRef text, llvm::StringRef donor);
  std::string changeGroup(llvm::StringRef text, llvm::StringRef donor);
  std::string changeNumber(llvm::StringRef text);
  std::string number(llvm::StringRef old);

  std::mt19937 random;
};

} // namespace fa4::fuzz

#endif // FA4_TEST_FUZZ_TEXTMUTATOR_H
