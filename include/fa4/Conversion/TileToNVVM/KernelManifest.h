//===- KernelManifest.h - how a kernel is launched ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETONVVM_KERNELMANIFEST_H
#define FA4_CONVERSION_TILETONVVM_KERNELMANIFEST_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/JSON.h"

namespace fa4::tile {

/// The attribute that `tile-to-nvvm` puts on a kernel: a dictionary with the
/// keys of a manifest of one launch (docs/simulator-manifest.md), except for
/// `sizes`, which is an array of names, `arguments`, the names of the
/// arguments of the tile.kernel, and `resources`, which says what the kernel
/// uses of its SM.
inline constexpr llvm::StringLiteral kManifestAttr = "fa4.manifest";

/// The key of the arguments in that attribute.
inline constexpr llvm::StringLiteral kArguments = "arguments";

/// What `nvvm-to-binary` calls them in the properties of a kernel's object.
inline constexpr llvm::StringLiteral kArgumentsProperty = "fa4.arguments";

/// The key of a launch that may begin before the one in front of it has ended.
inline constexpr llvm::StringLiteral kProgrammatic = "programmatic";

/// The key of what is done in place of a launch where a size is 0.
inline constexpr llvm::StringLiteral kEmpty = "empty";

/// The name in a manifest of the number of SMs that a launch has, on which the
/// grids of kernels with the schedule `static` depend.
inline constexpr llvm::StringLiteral kSmCount = "sm_count";

/// Attribute of a tile.kernel: conditions on the names in `tile.dims` that its
/// program takes for granted, as the manifest has them (`requires`): an array
/// of dictionaries with the strings `condition` and `message`.
inline constexpr llvm::StringLiteral kRequiresAttr = "tile.requires";

/// Attribute of a tile.kernel, a unit: the kernel may begin before the launch
/// in front of it has ended (programmatic dependent launch). It then waits for
/// that launch before it touches global memory (griddepcontrol.wait), and lets
/// the launch behind it begin as soon as all of its own CTAs run
/// (griddepcontrol.launch_dependents). Its manifest says `programmatic`.
inline constexpr llvm::StringLiteral kProgrammaticLaunchAttr =
    "tile.programmatic_launch";

/// Returns the chip for which `kernel` was made, empty if it does not say.
llvm::StringRef getKernelChip(mlir::LLVM::LLVMFuncOp kernel);

/// Returns the manifest of `kernel`, to be written next to its PTX. The caller
/// adds the PTX file's name as `ptx`; `resources` goes into `comment`. Emits an
/// error on the function if the attribute is missing or malformed.
mlir::FailureOr<llvm::json::Object>
buildManifest(mlir::LLVM::LLVMFuncOp kernel);

} // namespace fa4::tile

#endif // FA4_CONVERSION_TILETONVVM_KERNELMANIFEST_H
