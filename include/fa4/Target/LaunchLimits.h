//===- LaunchLimits.h - what every CUDA launch must keep to ----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits that are the same for all chips that TargetDescription.h knows, and
// those of the indices that kernels compute. A kernel of static sizes that
// breaks a limit is refused when it is compiled. For dynamic sizes the limits
// become conditions in the kernel's manifest.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_LAUNCHLIMITS_H
#define FA4_TARGET_LAUNCHLIMITS_H

#include <cstdint>

namespace fa4 {

/// Largest number of CTAs along x, y and z. CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability".
inline constexpr int64_t kMaxGrid[3] = {(int64_t(1) << 31) - 1, 65535, 65535};

/// The bits of an `index` in the code of a kernel. Index arithmetic wraps
/// around at this width: the analyses of kernels compute with it, and the
/// conversion to LLVM makes integers of this width from indices.
inline constexpr unsigned kIndexBits = 32;

/// The largest size of a dimension that a kernel is launched on, and thereby
/// the largest position in one. A sum of up to three sizes and positions fits
/// into a signed index: 3 * 2^29 is below 2^31.
inline constexpr int64_t kMaxSize = int64_t(1) << (kIndexBits - 3);

/// Of tensor maps. CUDA driver API, cuTensorMapEncodeTiled.
inline constexpr int64_t kMaxTensorMapRank = 5;
inline constexpr int64_t kMaxTensorMapBox = 256;
/// Of the base address and of each stride, in bytes.
inline constexpr int64_t kTensorMapAlignment = 16;
/// Strides are below this, in bytes.
inline constexpr int64_t kTensorMapStrideEnd = int64_t(1) << 40;

} // namespace fa4

#endif // FA4_TARGET_LAUNCHLIMITS_H
