//===- fa4-c/Support.h - status, text and diagnostics in C -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all of fa4's C API shares. The API of this header, Compiler.h and
// Simulator.h needs no MLIR: text goes in, and bytes come out.
//
// * A function that can fail returns a status, and sets `*message`, unless that
//   is null, to a sentence that fa4FreeText frees, or to null after FA4_OK. It
//   neither ends the process nor throws.
// * Structs begin with their size: `Fa4CompileOptions options = {sizeof
// options};`.
//   All else that is zero has its default, and a library that is newer than the
//   program knows by the size which members there are.
// * Functions may be called from several threads, also at the same time, but
// for
//   two calls with the same object, of which one changes it.
// * Strings end with a zero and are UTF-8.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_C_SUPPORT_H
#define FA4_C_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define FA4_CAPI_EXPORTED __attribute__((visibility("default")))
#else
#define FA4_CAPI_EXPORTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum Fa4Status {
  FA4_OK = 0,
  /// The input was read and refused: it does not parse, there is no kernel for
  /// the op, a manifest is malformed.
  FA4_REJECTED = 1,
  /// The call could not be made: an option that does not exist, no ptxas, a
  /// struct of a later version.
  FA4_CANNOT_RUN = 2,
  /// The simulated kernel ran, and has races, faults or hangs.
  FA4_FINDINGS = 3,
  /// A fault of fa4, or no memory.
  FA4_INTERNAL = 4
} Fa4Status;

typedef enum Fa4Severity {
  FA4_ERROR = 0,
  FA4_WARNING = 1,
  FA4_REMARK = 2,
  /// Belongs to the diagnostic before it.
  FA4_NOTE = 3
} Fa4Severity;

/// What is said of a place in the input. The strings live as long as the call
/// of the handler.
typedef struct Fa4Diagnostic {
  size_t size;
  Fa4Severity severity;
  const char *file;      ///< As the caller named the input; null: nowhere.
  uint32_t line, column; ///< From 1; 0: not known.
  const char *message;
} Fa4Diagnostic;

/// Is called in the thread of the call that has something to say, before that
/// returns.
typedef void (*Fa4DiagnosticHandler)(const Fa4Diagnostic *diagnostic,
                                     void *userData);

/// "0.1.0, LLVM 22.1.8".
FA4_CAPI_EXPORTED const char *fa4Version(void);

/// Frees a text that a function of this API has returned; null is none.
FA4_CAPI_EXPORTED void fa4FreeText(char *text);

#ifdef __cplusplus
}
#endif

#endif // FA4_C_SUPPORT_H
