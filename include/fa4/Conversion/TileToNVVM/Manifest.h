//===- Manifest.h - how a kernel is launched ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETONVVM_MANIFEST_H
#define FA4_CONVERSION_TILETONVVM_MANIFEST_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/JSON.h"

namespace fa4::tile {

/// Attribute of a kernel that `tile-to-nvvm` has made: a dictionary with the
/// keys of a manifest of one launch (docs/simulator-manifest.md), but `sizes`,
/// an array of names, and `resources`, what the kernel takes of its SM.
inline constexpr llvm::StringLiteral kManifestAttr = "fa4.manifest";

/// Attribute of a tile.kernel: conditions on the names in `tile.dims` that its
/// program takes for granted, as the manifest has them (`requires`): an array
/// of dictionaries with the strings `condition` and `message`.
inline constexpr llvm::StringLiteral kRequiresAttr = "tile.requires";

/// The manifest of `kernel`, to be written next to its PTX, whose file name the
/// caller adds as `ptx`. `resources` is in `comment`. An error on the function
/// if it has no such attribute, or one with something else in it.
mlir::FailureOr<llvm::json::Object>
buildManifest(mlir::LLVM::LLVMFuncOp kernel);

} // namespace fa4::tile

#endif // FA4_CONVERSION_TILETONVVM_MANIFEST_H
