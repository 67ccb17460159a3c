//===- Parser.h - PTX text to a Module -------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors are collected: after one, the parser goes on behind the statement.
// Malformed text never crashes and never yields a module.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_PTX_PARSER_H
#define FA4_SIMULATOR_PTX_PARSER_H

#include "fa4/Simulator/Ptx/Ast.h"
#include "llvm/Support/Error.h"

namespace fa4::sim::ptx {

struct Diagnostic {
  Location loc;
  std::string message;
};

/// The parser stops collecting errors after this many.
constexpr size_t maxDiagnostics = 50;

/// Parses a buffer; null when `diagnostics` is not empty afterwards.
std::shared_ptr<Module> parse(std::unique_ptr<llvm::MemoryBuffer> buffer,
                              std::vector<Diagnostic> &diagnostics);

/// Parses a buffer. The error has one line "file:line:col: error: message" for
/// each diagnostic.
llvm::Expected<std::shared_ptr<const Module>>
parseModule(std::unique_ptr<llvm::MemoryBuffer> buffer);

/// Reads and parses a file.
llvm::Expected<std::shared_ptr<const Module>> parseFile(llvm::StringRef path);

} // namespace fa4::sim::ptx

#endif // FA4_SIMULATOR_PTX_PARSER_H
