//===- Compilation.h - from a module to its artefacts ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_COMPILE_COMPILATION_H
#define FA4_COMPILE_COMPILATION_H

#include "fa4/Compile/ModelledTime.h"
#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Support/OutputFiles.h"
#include "fa4/Target/NVPTX/EmitPTX.h"
#include "fa4/Target/NVPTX/Ptxas.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace fa4 {

/// The artefacts behind the levels of the pipeline, in the order in which they
/// are made.
enum class Artefact { LLVM, PTX, Cubin };

struct CompileOptions {
  /// The levels of the pipeline (getKernelLevels) whose IR is written.
  std::vector<unsigned> levels;
  std::vector<Artefact> artefacts;
  /// The level of the input; none for attention ops, and for a kernel in the
  /// LLVM dialect.
  std::optional<unsigned> from;
  KernelOptions kernel;
  /// Its `chip` is that of kernels that do not say which chip they are for;
  /// compile() decides on `verify`.
  EmitPTXOptions back;
  /// LLVM's verifier checks each kernel. If false, it checks those of modules
  /// that have operations of the LLVM dialect from the beginning.
  bool verifyLLVM = false;
  /// The chip was asked for: a kernel that is for another one is an error.
  bool isChipGiven = false;
  /// The path of ptxas, from findPtxas. If empty, ptxas is not run.
  std::string ptxas;
  /// Nobody asked for ptxas: one that is too old for the PTX or the chip does
  /// not count as there.
  bool ptxasIsOptional = false;
  /// For the report: why no ptxas is run.
  std::string notChecked;
  std::vector<std::string> ptxasArguments;
  /// If true, spills and stack are warnings instead of errors.
  bool allowSpills = false;
  /// If true, a manifest for each kernel is written with the PTX.
  bool manifests = true;
  /// If true, the schedule and the memory map of each kernel are kept for the
  /// report.
  bool report = false;
  /// If true, the IR of levels has the locations of its operations.
  bool locations = false;
  /// Is called with each pass manager before it runs, for instance to print IR;
  /// its failure ends the compilation.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configure;

  bool wants(Artefact artefact) const;
};

/// Adds levels and artefacts by name (`llvm`, `ptx`, `cubin`); none: PTX. The
/// errors of this function and the next begin with the name of the option.
llvm::Error readEmit(const std::vector<std::string> &names,
                     CompileOptions &options);

/// Sets the level of the input by name; empty: none.
llvm::Error readFrom(llvm::StringRef level, CompileOptions &options);

/// Whether ptxas checks PTX. FA4_VERIFY_PTX=0 in the environment makes IfFound
/// No.
enum class VerifyPtx { IfFound, Yes, No };

/// Finds ptxas (`path`, if that is not empty) where it is needed, and where PTX
/// is to be checked and there is one. Call it after readEmit.
llvm::Error choosePtxas(VerifyPtx verify, llvm::StringRef path,
                        CompileOptions &options);

/// The part of the report for one PTX file.
struct CompileReport {
  std::string name, chip;
  size_t ptxBytes = 0;
  /// The report of ptxas, empty if ptxas did not run.
  PtxasReport ptxas;
  /// Why it did not.
  std::string notChecked;
  /// ptxas has found that lanes need more registers than they have, which is an
  /// error.
  bool hasTooFewRegisters = false;
  /// For the modelled time: the kernels of the file and its PTX.
  std::vector<std::string> kernels;
  std::string ptx;

  void print(llvm::raw_ostream &os) const;
};

/// The report of a run: the tables of the pipeline, a report for each file, and
/// how long kernels take by the clock of the simulator.
struct RunReport {
  std::string tables;
  std::vector<CompileReport> files;
  std::string times;
  /// By the name of the kernel, of those that have one.
  llvm::StringMap<tile::ExpSplit> rooflines;

  void print(llvm::raw_ostream &os) const;
};

/// Compiles `module`, which is changed, and adds the artefacts to `files`: a
/// level's IR as MODULE.LEVEL.mlir, everything else as KERNEL.EXTENSION, where
/// kernels in a module that has a name are in one file of that name. MODULE is
/// the module's name, or that of its first kernel. Errors are diagnostics.
///
/// Where ptxas finds that a kernel of an attention op spills, the op's kernels
/// are compiled again with smaller tiles (KernelOptions::smallerTiles), until
/// they do not. If they always do, the errors are those of the first attempt.
mlir::FailureOr<RunReport> compile(mlir::ModuleOp module,
                                   const CompileOptions &options,
                                   mlir::TimingScope &timing,
                                   OutputFiles &files);

/// The second half of compile(): the same for a module whose kernels are in the
/// LLVM and NVVM dialects, without passes, so that a pass may call it. `origin`
/// is what the comment of each manifest says of what made the kernels.
mlir::LogicalResult emitKernels(mlir::ModuleOp module,
                                const CompileOptions &options,
                                const llvm::json::Object &origin,
                                mlir::TimingScope &timing, OutputFiles &files,
                                RunReport &report);

/// What decides the output for `module`: the options, the version, and a hash
/// of both and the module.
llvm::json::Object describeOrigin(mlir::ModuleOp module,
                                  const CompileOptions &options);

} // namespace fa4

#endif // FA4_COMPILE_COMPILATION_H
