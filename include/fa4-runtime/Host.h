//===- fa4-runtime/Host.h - what compiled host code calls -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of libfa4_runtime.so that the pass launch-to-runtime makes
// calls of. They return no status, as the code around them has no use for one:
// the first failure of a thread is kept, what the thread launches after it is
// left out, and fa4RuntimeHostTakeError tells whoever called the compiled
// function.
//
// They work on the GPU whose context is current in the thread, else on the
// first.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_HOST_H
#define FA4_RUNTIME_HOST_H

#include "fa4-runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A kernel in the program's data. The library writes nothing but `state`.
typedef struct Fa4RuntimeHostKernel {
  size_t size;
  const char *manifest; ///< Of one launch.
  size_t manifestLength;
  const void *image; ///< PTX or a cubin.
  size_t imageLength;
  /// What `values` of fa4RuntimeHostLaunch are, with commas between:
  /// `name:dtype:rank` of a tensor, `name:dtype` of a scalar.
  const char *arguments;
  void *state; ///< The library's; null at first.
} Fa4RuntimeHostKernel;

/// Launches a kernel on a stream; null is the default stream. For each tensor
/// `values` has its address, then its sizes, then its strides, both in
/// elements; for each scalar 8 bytes, an f64 or an i64.
FA4_RUNTIME_EXPORTED void fa4RuntimeHostLaunch(Fa4RuntimeHostKernel *kernel,
                                               const int64_t *values,
                                               void *stream);

/// Memory of the GPU, ordered by the stream (cuMemAllocAsync); null when there
/// is none.
FA4_RUNTIME_EXPORTED void *fa4RuntimeHostAllocate(int64_t bytes, void *stream);
FA4_RUNTIME_EXPORTED void fa4RuntimeHostFree(void *address, void *stream);

/// Copies elements of `elementBytes` bytes between memory of the GPU, ordered
/// by the stream. `values` has the addresses of the source and of the
/// destination, then the sizes, the source's strides and the destination's, in
/// elements; strides are not negative, and source and destination do not
/// overlap.
FA4_RUNTIME_EXPORTED void fa4RuntimeHostCopy(int64_t rank, int64_t elementBytes,
                                             const int64_t *values,
                                             void *stream);

/// Returns what has failed first in this thread since the last time, and
/// forgets it; `*message` as of all functions.
FA4_RUNTIME_EXPORTED Fa4RuntimeStatus fa4RuntimeHostTakeError(char **message);

#ifdef __cplusplus
}
#endif

#endif // FA4_RUNTIME_HOST_H
