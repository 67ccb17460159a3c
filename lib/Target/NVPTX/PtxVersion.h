//===- PtxVersion.h - the PTX version that a text needs -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_TARGET_NVPTX_PTXVERSION_H
#define FA4_LIB_TARGET_NVPTX_PTXVERSION_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fa4 {

/// Lowers the `.version` of PTX that the back end has written for `chip` to the
/// lowest one that has the chip and all instructions of the text. A driver
/// refuses PTX of a version that is newer than its own, whatever the text uses:
/// one of CUDA 12.9 knows PTX up to 8.8, one of CUDA 12.8 up to 8.7.
///
/// The version is never raised, and not lowered below 8.6.
void claimLowestVersion(std::string &ptx, llvm::StringRef chip);

} // namespace fa4

#endif // FA4_LIB_TARGET_NVPTX_PTXVERSION_H
