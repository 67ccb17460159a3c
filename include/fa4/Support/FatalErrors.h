//===- FatalErrors.h - LLVM's fatal errors as a tool's own -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_FATALERRORS_H
#define FA4_SUPPORT_FATALERRORS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <unistd.h>

namespace fa4 {

/// A tool's name and its exit status when it could not run.
struct FatalErrorExit {
  const char *tool;
  int status;
};

/// Prints LLVM's fatal errors as errors of the tool and exits with its status,
/// for the rest of the process. An output stream that cannot be written, as on
/// a full disk, is such an error: LLVM finds it when the stream is closed,
/// which for standard output is after main. `exit` must outlive the process's
/// main.
inline void reportFatalErrorsAs(const FatalErrorExit &exit) {
  llvm::install_fatal_error_handler(
      [](void *data, const char *reason, bool) {
        const auto &exit = *static_cast<const FatalErrorExit *>(data);
        llvm::StringRef message = reason;
        // Static destructors may be running already, and llvm::errs() have
        // ended: this stream is one of its own, without colours.
        llvm::raw_fd_ostream os(STDERR_FILENO, /*shouldClose=*/false,
                                /*unbuffered=*/true);
        os << exit.tool << ": error: ";
        if (message.consume_front("IO failure on output stream: "))
          os << "cannot write the output: ";
        os << message << "\n";
        // Removes temporary files, as for any other end by LLVM.
        llvm::sys::RunInterruptHandlers();
        std::_Exit(exit.status);
      },
      const_cast<FatalErrorExit *>(&exit));
}

} // namespace fa4

#endif // FA4_SUPPORT_FATALERRORS_H
