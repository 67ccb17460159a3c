//===- LaunchLimits.h - what every CUDA launch must keep to ----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits that are the same for all chips that TargetDescription.h knows, and
// those of the indices that kernels compute. A
// kernel of static sizes that breaks one is refused when it is compiled; for
// dynamic sizes the limits become conditions in the kernel's manifest.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_LAUNCHLIMITS_H
#define FA4_TARGET_LAUNCHLIMITS_H

#include <cstdint>

namespace fa4 {

/// Largest number of CTAs along x, y and z. CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability".
inline constexpr int64_t kMaxGrid[3] = {(int64_t(1) << 31) - 1, 65535, 65535};

/// The largest size of a dimension that a kernel computes with. Lanes compute
/// indices in 32 bits, and sums of up to four sizes and positions must fit.
inline constexpr int64_t kMaxPosition = int64_t(1) << 29;

/// Of tensor maps. CUDA driver API, cuTensorMapEncodeTiled.
inline constexpr int64_t kMaxTensorMapRank = 5;
inline constexpr int64_t kMaxTensorMapBox = 256;
/// Of the base address and of each stride, in bytes.
inline constexpr int64_t kTensorMapAlignment = 16;
/// Strides are below this, in bytes.
inline constexpr int64_t kTensorMapStrideEnd = int64_t(1) << 40;

} // namespace fa4

#endif // FA4_TARGET_LAUNCHLIMITS_H
