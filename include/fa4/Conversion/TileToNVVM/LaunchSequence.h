//===- LaunchSequence.h - how the kernels of a function are launched ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function may launch several kernels, one after the other, which hand
// workspaces on: the gradient of attention is three kernels. One manifest
// describes all launches on one memory.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETONVVM_LAUNCHSEQUENCE_H
#define FA4_CONVERSION_TILETONVVM_LAUNCHSEQUENCE_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace fa4::tile {

/// What buildManifest says of a kernel, with its PTX file.
struct KernelManifest {
  llvm::json::Object manifest;
  /// The names of the kernel's arguments, in the order of `tile.launch`.
  std::vector<std::string> arguments;
};

/// By the name of the kernel.
using Manifests = llvm::StringMap<KernelManifest>;

/// Returns the manifest of all launches of `function`, in their order
/// (docs/simulator-manifest.md). A tensor that several kernels have is there
/// once, with the name that the first one gives it; a tensor that only the
/// kernels see is a workspace, undefined at first.
///
/// Errors are diagnostics on the launch: a launch in control flow, a kernel
/// without a manifest, kernels that describe one tensor differently, two
/// scalars of one name, and a scalar that is computed. Any other operation of
/// the function that computes something is an error on it.
mlir::FailureOr<llvm::json::Object>
buildLaunchSequence(mlir::FunctionOpInterface function,
                    const Manifests &manifests);

} // namespace fa4::tile

#endif // FA4_CONVERSION_TILETONVVM_LAUNCHSEQUENCE_H
