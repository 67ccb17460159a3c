//===- Compilation.h - from a module to its artefacts ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_COMPILE_COMPILATION_H
#define FA4_TOOLS_FA4_COMPILE_COMPILATION_H

#include "OutputFiles.h"
#include "fa4/Target/NVPTX/EmitPTX.h"
#include "fa4/Target/NVPTX/Ptxas.h"

namespace fa4 {

/// What can be written, in the order in which it comes into being.
enum class Artefact { NVVM, LLVM, PTX, Cubin };

struct CompileOptions {
  std::vector<Artefact> artefacts;
  EmitPTXOptions back;
  /// ptxas to run, of findPtxas; none is run when empty.
  std::string ptxas;
  std::vector<std::string> ptxasArguments;
  /// Spills and stack are warnings, not errors.
  bool allowSpills = false;

  bool wants(Artefact artefact) const;
};

/// What --report prints.
struct CompileReport {
  std::string name, chip;
  size_t ptxBytes = 0;
  /// Empty if ptxas did not run.
  PtxasReport ptxas;

  void print(llvm::raw_ostream &os) const;
};

/// Compiles `module`, which is changed, and adds the artefacts to `files` as
/// NAME.EXTENSION. NAME is the kernel's symbol, or the module's if it has more
/// than one kernel. Errors are diagnostics.
mlir::FailureOr<CompileReport> compile(mlir::ModuleOp module,
                                       const CompileOptions &options,
                                       mlir::TimingScope &timing,
                                       OutputFiles &files);

} // namespace fa4

#endif // FA4_TOOLS_FA4_COMPILE_COMPILATION_H
