//===- fa4-c/Compiler.h - attention to kernels, in memory -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_C_COMPILER_H
#define FA4_C_COMPILER_H

#include "fa4-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum Fa4VerifyPtx {
  FA4_VERIFY_PTX_IF_FOUND = 0, ///< Where there is a ptxas.
  FA4_VERIFY_PTX_YES = 1,
  FA4_VERIFY_PTX_NO = 2
} Fa4VerifyPtx;

/// The options of `fa4-compile`, which docs/fa4-compile.md describes.
typedef struct Fa4CompileOptions {
  size_t size;
  /// "sm_100a"; null: that of the kernel, or sm_100a for an op.
  const char *chip;
  /// Names with commas between them: levels of the pipeline, llvm, ptx (with
  /// the manifests), cubin. Null: "ptx".
  const char *emit;
  /// The level of the input; null: ops, or kernels in the LLVM dialect.
  const char *from;
  /// Options of the pipeline attn-to-nvvm with spaces between them, as
  /// "schedule=lpt mmas-ahead=true"; null: none.
  const char *pipeline;
  /// What the input is called in diagnostics; null: "-".
  const char *inputName;
  Fa4VerifyPtx verifyPtx;
  const char *ptxas; ///< A path; null: one is looked for.
  bool allowSpills;
  bool report; ///< Whether fa4CompilationReport has something to say.
  /// Gets all diagnostics; null: only the first error is told, as the message.
  Fa4DiagnosticHandler handler;
  void *userData;
  bool locations; ///< Whether the IR of levels has locations.
} Fa4CompileOptions;

/// Everything that a compilation has made.
typedef struct Fa4Compilation Fa4Compilation;

/// Bytes that live as long as their compilation.
typedef struct Fa4Artefact {
  /// KERNEL.ptx, KERNEL.cubin, KERNEL.json (the manifest), KERNEL.ll,
  /// MODULE.LEVEL.mlir; FUNCTION.json for a function with several launches.
  const char *name;
  const char *data; ///< A zero follows the last byte.
  size_t length;
} Fa4Artefact;

/// Compiles the text of a module. `options` may be null. `*compilation` is null
/// unless the status is FA4_OK.
FA4_CAPI_EXPORTED Fa4Status fa4Compile(const char *text, size_t length,
                                       const Fa4CompileOptions *options,
                                       Fa4Compilation **compilation,
                                       char **message);

FA4_CAPI_EXPORTED size_t
fa4CompilationGetNumArtefacts(const Fa4Compilation *compilation);
/// In the order in which they were made. Beyond the last, all members are zero.
FA4_CAPI_EXPORTED Fa4Artefact
fa4CompilationGetArtefact(const Fa4Compilation *compilation, size_t position);
/// The first artefact whose name ends with `suffix`, as ".ptx"; all members are
/// zero if there is none.
FA4_CAPI_EXPORTED Fa4Artefact fa4CompilationFindArtefact(
    const Fa4Compilation *compilation, const char *suffix);
/// What `fa4-compile --report` prints; empty if it was not asked for.
FA4_CAPI_EXPORTED const char *
fa4CompilationGetReport(const Fa4Compilation *compilation);
FA4_CAPI_EXPORTED void fa4CompilationDestroy(Fa4Compilation *compilation);

/// A bound of a mask that does not limit.
#define FA4_NO_BOUND INT64_MIN

typedef enum Fa4MaskAlignment {
  FA4_BOTTOM_RIGHT = 0, ///< The last query is at the last key.
  FA4_TOP_LEFT = 1      ///< The first query is at the first key.
} Fa4MaskAlignment;

/// A key is visible to a query if it is at most `left` in front of the query's
/// place among the keys, and at most `right` behind it.
typedef struct Fa4Mask {
  size_t size;
  int64_t left, right; ///< FA4_NO_BOUND: no limit. Causal is right = 0.
  Fa4MaskAlignment alignment;
} Fa4Mask;

/// An `attn.sdpa`, or its gradient, on memrefs without strides. A size that is
/// 0 is left to the launch, all but the head dim.
typedef struct Fa4SdpaSpec {
  size_t size;
  const char *name;   ///< Of the function; null: "sdpa".
  const char *dtype;  ///< An element type of MLIR; null: "bf16".
  const char *layout; ///< bshd, bhsd or sbhd; null: bshd.
  /// What stands between mask< and >, as "causal, bottom_right"; null: none, or
  /// that of `band`.
  const char *mask;
  int64_t batch, queries, keys;
  int64_t queryHeads, keyHeads; ///< If both are 0, the launch decides.
  int64_t headDim;              ///< In elements, of q and k.
  double scale;                 ///< Factor of q.k; 0: 1 / sqrt(headDim).
  bool lse;                     ///< Whether the log-sum-exp is written.
  int64_t headDimV;             ///< Of v and out; 0: headDim.
  const Fa4Mask *band;          ///< The mask by value; null: none, or `mask`.
  /// Further arguments of the function that the regions see as their last ones,
  /// as "%cap: f32, %slopes: memref<?xf32>"; null: none.
  const char *captures;
  /// The regions, as text of MLIR: operations on %s (score_mod only, the
  /// score), %b, %h, %i, %j (batch, query head, query and key) and the
  /// captures, up to attn.yield. Null: none.
  const char *scoreMod, *maskMod;
  /// The gradient, of q, k and v; `lse` is then an input in any case.
  bool backward;
  bool deterministic; ///< Of a gradient: the same bits each time.
} Fa4SdpaSpec;

/// Writes a spec as the text of a module for fa4Compile, whose function has the
/// arguments q, k, v, out and, if asked for, lse; that of a gradient q, k, v,
/// out, dout, lse, dq, dk, dv. Captures come last. A mask, an element type or a
/// region that is none is an error.
FA4_CAPI_EXPORTED Fa4Status fa4SdpaSpecPrint(const Fa4SdpaSpec *spec,
                                             char **text, char **message);

#ifdef __cplusplus
}
#endif

#endif // FA4_C_COMPILER_H
