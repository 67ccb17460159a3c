//===- SimplifyMods.h - what the regions of an attention op mean ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_SIMPLIFYMODS_H
#define FA4_DIALECT_ATTN_IR_SIMPLIFYMODS_H

namespace fa4::attn {

class AttentionOpInterface;

/// Writes what the regions of `op` mean in the one form that lowerings look
/// for, so that no lowering depends on whether the canonicaliser was run:
///
/// - constants of both regions are folded;
/// - a score_mod that gives -inf by a condition on positions and captures
///   leaves this condition to mask_mod;
/// - factors of mask_mod that are a causal mask or a window are in the mask
///   attribute, by which blocks of keys are skipped;
/// - the mask attribute is no wider than a band that the rest of mask_mod
///   implies, as documents of a fixed length do;
/// - a region that has no effect is gone. A score_mod stays if gradients of
///   captures are asked for, because they are derivatives of it.
///
/// Operands and results stay as they are. `op` may be detached.
void simplifyMods(AttentionOpInterface op);

} // namespace fa4::attn

#endif // FA4_DIALECT_ATTN_IR_SIMPLIFYMODS_H
