//===- RepeatedErrors.h - errors that are said once ---------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_REPEATEDERRORS_H
#define FA4_SUPPORT_REPEATEDERRORS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace fa4 {

/// Drops errors that have been emitted before at the same place: an op may
/// become several kernels with the same fault. Notes on it, which may tell the
/// kernels apart, are kept of the first one. Other handlers that have been
/// registered before get the rest.
class RepeatedErrors {
public:
  explicit RepeatedErrors(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          bool isError =
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
          return mlir::success(isError &&
                               !seen.insert(describe(diagnostic)).second);
        }) {}

private:
  static std::string describe(mlir::Diagnostic &diagnostic) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << diagnostic.getLocation() << diagnostic;
    return text;
  }

  llvm::StringSet<> seen;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace fa4

#endif // FA4_SUPPORT_REPEATEDERRORS_H
