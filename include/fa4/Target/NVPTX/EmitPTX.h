//===- EmitPTX.h - from the LLVM dialect to PTX, in process ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end of the compiler: what the passes leave is handed to LLVM's NVPTX back
// end. Nothing here knows what the kernels compute.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_NVPTX_EMITPTX_H
#define FA4_TARGET_NVPTX_EMITPTX_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

namespace fa4 {

/// Calls are inlined; what lowering leaves (constants and addresses computed
/// again, branches on them, invariants in loops) is cleaned up; loops get the
/// form that ptxas unrolls best. Nothing is unrolled here, because ptxas
/// unrolls short loops itself and knows the registers that this costs. There is
/// nothing that vectorises: which values are packed is decided before. What a
/// second combiner and memory SSA in CSE would add ptxas does, too. `indvars`
/// is left out: its time is quadratic in the operations on a loop's induction
/// variable, which all positions in a mask or score modification depend on, and
/// ptxas makes fewer instructions of the loops that it has not rewritten.
inline constexpr const char *kernelPasses =
    "cgscc(inline),globaldce,"
    "function(sroa,simplifycfg,loop-mssa(loop-rotate,licm),early-cse,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";

struct EmitPTXOptions {
  /// The back end's name of the chip, e.g. `sm_100a` or `sm_103a`.
  std::string chip = "sm_100a";
  /// The back end's features, comma-separated, e.g. the PTX version up to which
  /// it may use instructions. 9.0 is the newest one that LLVM 22 prints. The
  /// text claims the lowest version that it needs.
  std::string features = "+ptx90";
  /// 0 to 3, llc's. On kernels that were scheduled before they come here 1
  /// gives what 3 does, sooner: it leaves out passes that clean up again. What
  /// ptxas makes of the PTX is as fast or up to 1% faster, by the model.
  unsigned optLevel = 1;
  /// The passes over LLVM IR, in opt's syntax. `default<O3>` takes several
  /// times as long as these, most of it to look for vectors in scalar code.
  std::string passes = kernelPasses;
  /// Subnormal f32 operands and results become zeros of the same sign (`.ftz`)
  /// in each function that does not say otherwise by `denormal_fp_math_f32`.
  bool flushDenormals = true;
  /// LLVM's verifier checks the LLVM IR. The module has been verified as MLIR,
  /// which says nearly the same; LLVM alone knows, for example, what inline
  /// assembly and intrinsics accept. It takes a fiftieth of the time of a
  /// compilation, and Clang's releases leave it out.
  bool verify = true;
  /// If not null, the optimised LLVM IR is printed here.
  llvm::raw_ostream *llvmIR = nullptr;
  /// If not null, the timers of the three phases are nested in this one.
  mlir::TimingScope *timing = nullptr;
};

/// The translations of dialects to LLVM IR that emitPTX uses. The context of a
/// module must have them before its dialects are loaded.
void registerPTXTranslations(mlir::DialectRegistry &registry);

/// An error on the module if the back end does not know the chip or a feature
/// of `options`, as emitPTX reports it, too.
mlir::LogicalResult checkPTXTarget(mlir::ModuleOp module,
                                   const EmitPTXOptions &options);

/// The functions of `module` that are entries, in order: `llvm.func` with
/// `nvvm.kernel` and a body. An error on the module if there is none.
mlir::FailureOr<llvm::SmallVector<mlir::LLVM::LLVMFuncOp>>
findKernels(mlir::ModuleOp module);

/// PTX text of a module in the LLVM and NVVM dialects. Operations that have no
/// translation to LLVM IR of their own (`convert-nvvm-to-llvm`) must be gone.
///
/// The same module and options give the same bytes.
///
/// Errors are diagnostics, on the function where LLVM names one, else on the
/// module or its op: no kernel, another target triple, an unknown chip,
/// feature, level or pass, an op without translation, LLVM IR that does not
/// verify, and everything that the back end reports, its fatal errors included.
/// After a fatal error the memory of that compilation is not given back. Calls
/// from several threads are serialised.
mlir::FailureOr<std::string> emitPTX(mlir::ModuleOp module,
                                     const EmitPTXOptions &options);

} // namespace fa4

#endif // FA4_TARGET_NVPTX_EMITPTX_H
