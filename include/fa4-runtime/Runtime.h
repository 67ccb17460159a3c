//===- fa4-runtime/Runtime.h - launch what a manifest describes -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libfa4_runtime.so launches kernels on an NVIDIA GPU as their manifest says
// (docs/simulator-manifest.md). It needs the CUDA driver when a program is
// loaded, and nothing of LLVM or of the rest of fa4. docs/runtime.md is the
// guide.
//
//   Fa4RuntimeLoadOptions options = {.size = sizeof(options)};
//   options.file = "causal_gqa_kernel.json";
//   fa4RuntimeLoad(&options, &program, &message);
//   Fa4RuntimeTensor tensors[] = {{sizeof(*tensors), "q", q, "bf16", 4,
//   shape}}; Fa4RuntimeArguments arguments = {sizeof(arguments), tensors, 1};
//   fa4RuntimePrepare(program, &arguments, &call, &message);
//   fa4RuntimeLaunch(call, stream, &message);   // As often as one likes.
//   fa4RuntimeDestroyCall(call);
//   fa4RuntimeUnload(program);
//
// * A function that can fail returns a status, and sets `*message`, unless that
//   is null, to a sentence that fa4RuntimeFreeText frees, or to null after
//   FA4_RUNTIME_OK. It neither ends the process nor throws.
// * Structs begin with their size. All else that is zero has its default, and a
//   library that is newer than the program knows by the size which members
//   there are. The elements of an array have the size of its first.
// * Functions may be called from several threads, also at the same time and
//   with the same objects, but for the two that destroy an object.
// * Strings end with a zero and are UTF-8. What is given to a function may be
//   freed when the function has returned; tensors must live until the launches
//   that use them are done.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_RUNTIME_H
#define FA4_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define FA4_RUNTIME_EXPORTED __attribute__((visibility("default")))
#else
#define FA4_RUNTIME_EXPORTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum Fa4RuntimeStatus {
  FA4_RUNTIME_OK = 0,
  /// There is no CUDA driver, it is older than CUDA 12, or it finds no GPU.
  FA4_RUNTIME_NO_DRIVER = 1,
  /// The kernel is for another GPU than the one it was to be loaded on.
  FA4_RUNTIME_WRONG_GPU = 2,
  /// The manifest does not parse, lacks a field, or does not fit the kernel.
  FA4_RUNTIME_BAD_MANIFEST = 3,
  /// A file cannot be read.
  FA4_RUNTIME_BAD_FILE = 4,
  /// An argument is missing, unknown, or of another dtype, rank, stride,
  /// alignment or device than the kernel takes.
  FA4_RUNTIME_BAD_ARGUMENT = 5,
  /// The sizes of the call contradict each other, or are beyond a limit of the
  /// kernel or of the GPU.
  FA4_RUNTIME_BAD_SIZE = 6,
  /// The driver refused a call, or an earlier launch has failed.
  FA4_RUNTIME_DRIVER_ERROR = 7,
  /// There is no memory left on the host or on the GPU.
  FA4_RUNTIME_NO_MEMORY = 8,
  /// A fault of this library.
  FA4_RUNTIME_INTERNAL = 9
} Fa4RuntimeStatus;

/// Kernels of one manifest on one GPU.
typedef struct Fa4RuntimeProgram Fa4RuntimeProgram;
/// A program with all its arguments, ready to be launched.
typedef struct Fa4RuntimeCall Fa4RuntimeCall;

/// "0.1.0".
FA4_RUNTIME_EXPORTED const char *fa4RuntimeVersion(void);

/// Frees a text that a function of this library has returned; null is none.
FA4_RUNTIME_EXPORTED void fa4RuntimeFreeText(char *text);

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Code in memory: PTX, a cubin or a fatbin.
typedef struct Fa4RuntimeImage {
  size_t size;
  /// The launches that it is for: those whose `ptx` in the manifest is this
  /// name, or whose entry is; null: all.
  const char *name;
  const void *data;
  size_t length; ///< Bytes.
} Fa4RuntimeImage;

typedef struct Fa4RuntimeLoadOptions {
  size_t size;
  /// The text of a manifest, and its length in bytes. Null: that of `file`.
  const char *manifest;
  size_t manifestLength;
  /// A manifest, a recorded launch, or a folder of recorded launches. Names of
  /// files in it are relative to its folder, or to the current one where the
  /// manifest comes as text and `file` is null.
  const char *file;
  /// Launches without an image read the file that the manifest calls `ptx`, or
  /// the one beside it that ends in .cubin, if the GPU takes that.
  const Fa4RuntimeImage *images;
  size_t numImages;
  /// True: the GPU is `device`, by its primary context. False: that of the
  /// context that is current in the thread, or the first if there is none.
  bool hasDevice;
  int32_t device;
} Fa4RuntimeLoadOptions;

/// Reads a manifest and loads its kernels; the driver compiles PTX here.
FA4_RUNTIME_EXPORTED Fa4RuntimeStatus
fa4RuntimeLoad(const Fa4RuntimeLoadOptions *options,
               Fa4RuntimeProgram **program, char **message);

/// Frees a program; null is none. Its calls must have been destroyed, and their
/// launches be done. What graphs have captured stays loaded.
FA4_RUNTIME_EXPORTED void fa4RuntimeUnload(Fa4RuntimeProgram *program);

typedef enum Fa4RuntimeRole {
  FA4_RUNTIME_IN = 0,
  FA4_RUNTIME_OUT = 1,
  FA4_RUNTIME_INOUT = 2,
  FA4_RUNTIME_WORKSPACE = 3
} Fa4RuntimeRole;

/// What a program takes. The strings live as long as the program.
typedef struct Fa4RuntimeTensorInfo {
  size_t size;
  const char *name;
  const char *dtype;
  Fa4RuntimeRole role;
  int32_t rank;
  uint64_t alignment; ///< Bytes.
} Fa4RuntimeTensorInfo;

FA4_RUNTIME_EXPORTED size_t
fa4RuntimeGetNumTensors(const Fa4RuntimeProgram *program);
/// Fills in `info`, whose size the caller has set; returns false if there is no
/// tensor of this index, or the size is 0.
FA4_RUNTIME_EXPORTED bool fa4RuntimeGetTensor(const Fa4RuntimeProgram *program,
                                              size_t index,
                                              Fa4RuntimeTensorInfo *info);
/// Names of sizes and other scalars.
FA4_RUNTIME_EXPORTED size_t
fa4RuntimeGetNumScalars(const Fa4RuntimeProgram *program);
FA4_RUNTIME_EXPORTED const char *
fa4RuntimeGetScalar(const Fa4RuntimeProgram *program, size_t index);
FA4_RUNTIME_EXPORTED size_t
fa4RuntimeGetNumLaunches(const Fa4RuntimeProgram *program);
/// The number of the GPU, as the driver counts.
FA4_RUNTIME_EXPORTED int32_t
fa4RuntimeGetDevice(const Fa4RuntimeProgram *program);

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

typedef struct Fa4RuntimeTensor {
  size_t size;
  const char *name;
  uint64_t address; ///< Of the first element, in memory of the GPU.
  /// As in a manifest ("bf16"); null: it is not checked.
  const char *dtype;
  int32_t rank;
  /// Elements. Null: as the manifest says.
  const int64_t *shape;
  /// Elements. Null: row-major.
  const int64_t *strides;
} Fa4RuntimeTensor;

/// A size or another scalar.
typedef struct Fa4RuntimeScalar {
  size_t size;
  const char *name;
  bool isFloat; ///< The value is `floating`, else `integer`.
  int64_t integer;
  double floating;
} Fa4RuntimeScalar;

/// The arguments of a call, by name and in any order. A size that no scalar
/// gives follows from the shapes and strides of the tensors, or has the
/// manifest's default; `sm_count` is then the number of the GPU's SMs.
typedef struct Fa4RuntimeArguments {
  size_t size;
  const Fa4RuntimeTensor *tensors;
  size_t numTensors;
  const Fa4RuntimeScalar *scalars;
  size_t numScalars;
  /// Memory of the GPU for the workspaces that are not among the tensors,
  /// aligned to 256 bytes, and its length in bytes. 0: fa4RuntimePrepare
  /// allocates it, and the call owns it; fa4RuntimeRun has one for each stream.
  uint64_t workspace;
  uint64_t workspaceBytes;
} Fa4RuntimeArguments;

/// How many bytes of workspace a call with these arguments needs. The tensors'
/// addresses are not looked at.
FA4_RUNTIME_EXPORTED Fa4RuntimeStatus fa4RuntimeGetWorkspaceBytes(
    Fa4RuntimeProgram *program, const Fa4RuntimeArguments *arguments,
    uint64_t *bytes, char **message);

/// Checks the arguments and makes all that a launch needs: grids, parameters,
/// tensor maps, workspaces.
FA4_RUNTIME_EXPORTED Fa4RuntimeStatus fa4RuntimePrepare(
    Fa4RuntimeProgram *program, const Fa4RuntimeArguments *arguments,
    Fa4RuntimeCall **call, char **message);

/// Launches the kernels of a call, in order, on a stream (CUstream or
/// cudaStream_t) of the program's GPU; null is the default stream. Allocates
/// nothing and waits for nothing. It may be captured in a CUDA graph, which may
/// outlive the call, but not the tensors. Launches of one call write the same
/// tensors: on several streams their order is up to the caller.
FA4_RUNTIME_EXPORTED Fa4RuntimeStatus
fa4RuntimeLaunch(const Fa4RuntimeCall *call, void *stream, char **message);

/// Frees a call; null is none. Its launches must be done.
FA4_RUNTIME_EXPORTED void fa4RuntimeDestroyCall(Fa4RuntimeCall *call);

/// Prepares and launches. The program keeps the calls of the last 256 different
/// arguments, so that the second time only the launch is left. All calls on a
/// stream, of any program, share one workspace, which is as large as the
/// largest needs; what a CUDA graph captures has its own, which lives as long
/// as the graph.
FA4_RUNTIME_EXPORTED Fa4RuntimeStatus
fa4RuntimeRun(Fa4RuntimeProgram *program, const Fa4RuntimeArguments *arguments,
              void *stream, char **message);

#ifdef __cplusplus
}
#endif

#endif // FA4_RUNTIME_RUNTIME_H
