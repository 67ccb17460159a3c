//===- SoftmaxMatch.h - a softmax in the expression of a number -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_SOFTMAXMATCH_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_SOFTMAXMATCH_H

#include "TensorElement.h"

namespace fa4::attn {

/// A softmax over the keys: an element of a linalg.softmax, or an exponential
/// of scores without their row's maximum, divided by the row's sum of these.
struct SoftmaxMatch {
  ElementRef softmax = nullptr;
  ElementRef exponential = nullptr;
  /// Null if what was traced does not divide.
  ElementRef sum = nullptr;
  /// What the softmax is of, for the natural exponential.
  ElementRef scores = nullptr;
};

/// Finds the softmax that `probabilities` are, in one of the ways in which it
/// is written: with a quotient, a reciprocal or the logarithm of the sum; to
/// the base e or 2; with or without zeros for rows of -inf. `key` is the
/// dimension of the keys. `reason` says why it is none.
bool matchSoftmax(ElementRef probabilities, unsigned key, ElementTracer &tracer,
                  SoftmaxMatch &match, std::string &reason);

/// Whether `divisor` is the sum over the keys of the exponentials of `match`,
/// or the larger one of that and a number of at most 1, which the exponential
/// of the maximum is. Sets `match.sum`; `reason` says why it is not.
bool matchDivisor(ElementRef divisor, unsigned key, ElementTracer &tracer,
                  SoftmaxMatch &match, std::string &reason);

/// An expression without selects that give another number only to rows that
/// see no key, where attn.sdpa gives zeros, or that are not numbers. `scores`
/// are those of `match`.
ElementRef skipRowGuards(ElementRef element, unsigned key,
                         ElementTracer &tracer, const SoftmaxMatch &match);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_SOFTMAXMATCH_H
