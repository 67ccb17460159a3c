//===- Compilation.h - from a module to its artefacts ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_COMPILE_COMPILATION_H
#define FA4_TOOLS_FA4_COMPILE_COMPILATION_H

#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Support/OutputFiles.h"
#include "fa4/Target/NVPTX/EmitPTX.h"
#include "fa4/Target/NVPTX/Ptxas.h"

namespace fa4 {

/// What is written after the levels of the pipeline, in the order in which it
/// comes into being.
enum class Artefact { LLVM, PTX, Cubin };

struct CompileOptions {
  /// Levels of the pipeline (getKernelLevels) whose IR is written.
  std::vector<unsigned> levels;
  std::vector<Artefact> artefacts;
  /// Level that the input is at; none for attention ops, or for a kernel that
  /// is in the LLVM dialect.
  std::optional<unsigned> from;
  KernelOptions kernel;
  /// Its `chip` is that of kernels that do not say which chip they are for.
  EmitPTXOptions back;
  /// The chip was asked for: a kernel that is for another one is an error.
  bool isChipGiven = false;
  /// ptxas to run, of findPtxas; none is run when empty.
  std::string ptxas;
  /// Nobody asked for ptxas: one that is too old for the PTX or the chip does
  /// not count as there.
  bool ptxasIsOptional = false;
  /// For the report: why no ptxas is run.
  std::string notChecked;
  std::vector<std::string> ptxasArguments;
  /// Spills and stack are warnings, not errors.
  bool allowSpills = false;
  /// With PTX, how each kernel is launched.
  bool manifests = true;
  /// Keep what the schedule and the memory map of each kernel are.
  bool report = false;

  bool wants(Artefact artefact) const;
};

/// What --report prints, of one PTX file.
struct CompileReport {
  std::string name, chip;
  size_t ptxBytes = 0;
  /// Empty if ptxas did not run.
  PtxasReport ptxas;
  /// Why it did not.
  std::string notChecked;

  void print(llvm::raw_ostream &os) const;
};

/// Of a run: the tables of the pipeline, and what became of each file.
struct RunReport {
  std::string tables;
  std::vector<CompileReport> files;

  void print(llvm::raw_ostream &os) const;
};

/// Compiles `module`, which is changed, and adds the artefacts to `files`: a
/// level's IR as MODULE.LEVEL.mlir, everything else as KERNEL.EXTENSION, where
/// kernels in a module that has a name are in one file of that name. MODULE is
/// the module's name, or that of its first kernel. Errors are diagnostics.
mlir::FailureOr<RunReport> compile(mlir::ModuleOp module,
                                   const CompileOptions &options,
                                   mlir::TimingScope &timing,
                                   OutputFiles &files);

} // namespace fa4

#endif // FA4_TOOLS_FA4_COMPILE_COMPILATION_H
