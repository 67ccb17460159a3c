//===- Predicates.h - predicates of integer comparisons ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_PREDICATES_H
#define FA4_SUPPORT_PREDICATES_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fa4 {

/// Returns the predicate of the signed comparison with the same result, for
/// numbers that are not negative.
inline mlir::arith::CmpIPredicate
getSigned(mlir::arith::CmpIPredicate predicate) {
  using Predicate = mlir::arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::ult:
    return Predicate::slt;
  case Predicate::ule:
    return Predicate::sle;
  case Predicate::ugt:
    return Predicate::sgt;
  case Predicate::uge:
    return Predicate::sge;
  default:
    return predicate;
  }
}

} // namespace fa4

#endif // FA4_SUPPORT_PREDICATES_H
