//===- PassWithOptions.td - a pass whose options have values -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_PASSWITHOPTIONS_TD
#define FA4_SUPPORT_PASSWITHOPTIONS_TD

include "mlir/Pass/PassBase.td"

// A pass of fa4 on operations of the C++ class `operation`; of any class if that
// is empty.
class FA4_Pass<string argument, string operation = "">
    : PassBase<argument, "::fa4::PassWithOptions<" # operation # ">">;

#endif // FA4_SUPPORT_PASSWITHOPTIONS_TD
