//===- ManifestAttribute.h - a kernel's fa4.manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_MANIFESTATTRIBUTE_H
#define FA4_LIB_CONVERSION_TILETONVVM_MANIFESTATTRIBUTE_H

#include "KernelLayout.h"

namespace fa4::tile {

class TensorMaps;

/// Builds the dictionary that `tile-to-nvvm` puts on a kernel as `fa4.manifest`
/// (KernelManifest.h). `params` and `conditions` are its `params` and
/// `requires`.
mlir::DictionaryAttr buildManifestAttribute(KernelOp kernel,
                                            const KernelLayout &layout,
                                            const TensorMaps &maps,
                                            mlir::ArrayAttr params,
                                            mlir::ArrayAttr conditions);

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_MANIFESTATTRIBUTE_H
