//===- FuzzReplay.cpp - a fuzz target without libFuzzer -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the target once for each file that the command line names, or that is in
// a folder that it names, and prints how many there were.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int *, char ***);

static bool replay(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    llvm::errs() << path << ": " << buffer.getError().message() << "\n";
    return false;
  }
  // Helps a person who looks at a crash.
  if (getenv("FA4_FUZZ_VERBOSE"))
    llvm::errs() << path << "\n";
  LLVMFuzzerTestOneInput(
      reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()),
      (*buffer)->getBufferSize());
  return true;
}

int main(int argc, char **argv) {
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  unsigned count = 0;
  bool ok = true;
  for (int i = 1; i < argc; ++i) {
    if (!llvm::sys::fs::is_directory(argv[i])) {
      ok &= replay(argv[i]);
      ++count;
      continue;
    }
    std::error_code error;
    for (llvm::sys::fs::recursive_directory_iterator it(argv[i], error), end;
         it != end && !error; it.increment(error)) {
      if (it->type() != llvm::sys::fs::file_type::regular_file)
        continue;
      ok &= replay(it->path());
      ++count;
    }
    if (error)
      llvm::errs() << argv[i] << ": " << error.message() << "\n";
    ok &= !error;
  }
  llvm::outs() << "inputs: " << count << "\n";
  return ok ? 0 : 1;
}
