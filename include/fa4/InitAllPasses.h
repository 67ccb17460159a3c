//===- InitAllPasses.h - registration of the passes ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_INITALLPASSES_H
#define FA4_INITALLPASSES_H

namespace fa4 {

/// fa4's passes and pipelines.
void registerPasses();
/// fa4's passes and pipelines, and those of upstream's that run in the levels
/// of a kernel (getKernelLevels).
void registerKernelPasses();
/// fa4's passes and pipelines and the upstream ones that go with them.
void registerToolPasses();

} // namespace fa4

#endif // FA4_INITALLPASSES_H
