//===- ModLegality.h - which regions threads have code for ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MODLEGALITY_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MODLEGALITY_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include <optional>
#include <string>

namespace fa4 {

// Each function returns the reason why there is no kernel, or nothing. The
// lowering simplifies masks and regions first, and so do these functions, on a
// copy.

/// Checks how far the mask reaches.
std::optional<std::string> checkBand(attn::AttentionOpInterface op);
/// Checks that threads have code for score_mod and mask_mod.
std::optional<std::string> checkMods(attn::AttentionOpInterface op);
/// Checks that threads have code for the derivatives of a gradient's score_mod,
/// which checkMods has accepted.
std::optional<std::string> checkDerivative(attn::AttentionOpInterface op);

/// Adds a note at the operation of a region that has no code, if there is one:
/// where the region was traced, its location is a line of the user's.
void pointAtOperation(mlir::InFlightDiagnostic &diagnostic,
                      attn::AttentionOpInterface op);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MODLEGALITY_H
