//===- fa4-c/Simulator.h - kernels on a CPU -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of a manifest in fa4-sim, with buffers in memory:
//
//   fa4SimulationCreate(manifest, length, &simulation, &message);
//   fa4SimulationSetModule(simulation, "sdpa_kernel.ptx", ptx, ptxLength, ...);
//   fa4SimulationSetSize(simulation, "Sq", 256, ...);     // or by buffers'
//   shapes fa4SimulationSetBuffer(simulation, "q", shape, 4, q, bytes, ...);
//   fa4SimulationRun(simulation, NULL, &message);
//   fa4SimulationGetBuffer(simulation, "out", out, bytes, &message);
//
// docs/simulator-manifest.md has the names of sizes and tensors in manifests.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_C_SIMULATOR_H
#define FA4_C_SIMULATOR_H

#include "fa4-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Fa4Simulation Fa4Simulation;

typedef struct Fa4SimulateOptions {
  size_t size;
  uint64_t seed; ///< Of the order in which warps and copies go on.
  bool check;    ///< Look for races and missing fences as well (--check).
  bool keepGoing;
  /// Inputs without contents get normally distributed numbers; otherwise they
  /// are an error.
  bool randomInputs;
  uint32_t threads;         ///< Worker threads; 0: as many as the machine has.
  uint64_t maxInstructions; ///< Of warps, behind which a run gives up; 0: none.
  Fa4DiagnosticHandler handler; ///< Gets each finding, as an error.
  void *userData;
  /// A file that fa4SimulationTime writes: what happens in the first CTA, as
  /// `fa4-sim --trace` has it. For a manifest of one launch. Null: none.
  const char *trace;
  /// Kinds of findings that are not reported, with commas between, as
  /// `fa4-sim --allow` takes them. Null: none.
  const char *allow;
  /// How things are ordered: "random", "eager", "lazy" or "priority". Null:
  /// "random".
  const char *policy;
  /// Another thread sets the flag (by an atomic store) to end the call soon,
  /// which then returns FA4_CANNOT_RUN. Null: nothing ends the call early.
  const bool *interrupt;
} Fa4SimulateOptions;

/// Tells what a launcher has to know of PTX, as `fa4-sim --entries` prints it.
/// `name` stands for the file in messages. `*json` is an object, for
/// fa4FreeText: "targets" (names), and "entries" with their "name", "params"
/// ("name", "type", "bytes", "align", "array"), "block" and "cluster".
FA4_CAPI_EXPORTED Fa4Status fa4DescribePtx(const char *name, const char *ptx,
                                           size_t length, char **json,
                                           char **message);

/// Reads the text of a manifest. `*simulation` is null unless the status is
/// FA4_OK.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationCreate(const char *manifest,
                                                size_t length,
                                                Fa4Simulation **simulation,
                                                char **message);
/// Reads a file: a manifest, a record, or a folder of records. The PTX and the
/// arrays that the file names are read from its folder.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationRead(const char *path,
                                              Fa4Simulation **simulation,
                                              char **message);
FA4_CAPI_EXPORTED void fa4SimulationDestroy(Fa4Simulation *simulation);

/// Gives the PTX that launches name `path`. What is not given is read from that
/// file.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationSetModule(Fa4Simulation *simulation,
                                                   const char *path,
                                                   const char *ptx,
                                                   size_t length,
                                                   char **message);

/// Sets a size, or another scalar of the call.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationSetSize(Fa4Simulation *simulation,
                                                 const char *name,
                                                 int64_t value, char **message);
FA4_CAPI_EXPORTED Fa4Status fa4SimulationSetReal(Fa4Simulation *simulation,
                                                 const char *name, double value,
                                                 char **message);

/// Copies the contents of a tensor: elements of its own type, row-major without
/// gaps. `shape` has `rank` sizes, and `bytes` is the length of `data`.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationSetBuffer(
    Fa4Simulation *simulation, const char *name, const int64_t *shape,
    size_t rank, const void *data, size_t bytes, char **message);

/// Copies the contents of a tensor from a .npy file that is in memory. Elements
/// may be of another type, which is converted as `fa4-sim NAME=FILE.npy` does:
/// float16, float32 and float64 are rounded to the tensor's type, and unsigned
/// integers of its size are its bits.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationSetNpy(Fa4Simulation *simulation,
                                                const char *name,
                                                const void *data, size_t bytes,
                                                char **message);

/// Runs all launches, each to its end. `options` may be null. Another run of
/// the same object starts from the same contents; nothing can be set any more.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationRun(Fa4Simulation *simulation,
                                             const Fa4SimulateOptions *options,
                                             char **message);

/// Runs all launches by the clock of the modelled chip (docs/timing.md), from
/// the contents and sizes that are set; inputs without contents are zeros, or
/// random numbers if `options` ask for them. `*json` is an array with an object
/// for each launch, as `fa4-sim --time --json` prints it, for fa4FreeText:
/// "cycles", "seconds", "teraflops", "units", ... Of a launch of many CTAs some
/// are simulated, and the contents of tensors mean nothing behind it, unless
/// `options` ask for checks. `options` may be null.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationTime(Fa4Simulation *simulation,
                                              const Fa4SimulateOptions *options,
                                              char **json, char **message);

/// Runs all launches as fa4SimulationRun does, or as fa4SimulationTime does if
/// `timed`. Findings are no failure: `*json` has them, for fa4FreeText. Without
/// `keepGoing` an error is the last thing that happens. `*json` is an object,
/// as `fa4-sim --json --stats` prints it: "ok", "findings" (a number), "strict"
/// (how many of them hardware tolerates; they are notes without `check`),
/// "zero_inputs", and "runs", an array with an object for each launch. The
/// handler of `options` is not called. `options` may be null.
FA4_CAPI_EXPORTED Fa4Status fa4SimulationReport(
    Fa4Simulation *simulation, const Fa4SimulateOptions *options, bool timed,
    char **json, char **message);

/// After a run: the number of dimensions of a tensor, 0 if there is no such
/// tensor. The first `rank` sizes, or all if there are fewer, go to `shape`,
/// which may be null if `rank` is 0.
FA4_CAPI_EXPORTED size_t
fa4SimulationGetBufferShape(const Fa4Simulation *simulation, const char *name,
                            int64_t *shape, size_t rank);
/// After a run: the number of bytes of a tensor that is stored row-major
/// without gaps, 0 if there is no such tensor.
FA4_CAPI_EXPORTED size_t
fa4SimulationGetBufferSize(const Fa4Simulation *simulation, const char *name);
/// After a run: copies a tensor to `data`, row-major without gaps. `bytes` must
/// be its fa4SimulationGetBufferSize.
FA4_CAPI_EXPORTED Fa4Status
fa4SimulationGetBuffer(const Fa4Simulation *simulation, const char *name,
                       void *data, size_t bytes, char **message);

#ifdef __cplusplus
}
#endif

#endif // FA4_C_SIMULATOR_H
