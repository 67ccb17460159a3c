//===- Reduce.h - reductions in memory -----------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_REDUCE_H
#define FA4_LIB_SIMULATOR_ASYNC_REDUCE_H

#include "fa4/Simulator/Machine/TensorMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>

namespace fa4::sim {

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

/// Returns the operation's number, or -1 if the name is none.
int parseReduceOp(llvm::StringRef name);
/// Returns true if the operation is defined for the type (PTX ISA,
/// cp.reduce.async.bulk).
bool reduceSupports(ReduceOp op, TensorMapType type);

/// destination[i] = op(destination[i], source[i]), each element atomically, for
/// `bytes` of elements. Floating-point add rounds to nearest even; f16 and bf16
/// as .noftz.
void reduceInto(uint8_t *destination, const uint8_t *source, size_t bytes,
                ReduceOp op, TensorMapType type);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_REDUCE_H
