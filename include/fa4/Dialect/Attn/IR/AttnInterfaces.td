//===- AttnInterfaces.td - what attention ops have in common -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNINTERFACES_TD
#define FA4_DIALECT_ATTN_IR_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def Attn_AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::fa4::attn";
  let description = [{
    The part of an attention op that says which score is computed between which
    query and key: shared by the forward op and its gradient, so that
    verification, canonicalisation, tiling and lowering treat both alike.
  }];
  let methods = [
    InterfaceMethod<"query, in the op's layout",
                    "::mlir::Value", "getQ">,
    InterfaceMethod<"key, in the op's layout",
                    "::mlir::Value", "getK">,
    InterfaceMethod<"value, in the op's layout",
                    "::mlir::Value", "getV">,
    InterfaceMethod<"B + 1 prefix sums of the query lengths, or null",
                    "::mlir::Value", "getCuSeqlensQ">,
    InterfaceMethod<"B + 1 prefix sums of the key lengths, or null",
                    "::mlir::Value", "getCuSeqlensK">,
    InterfaceMethod<"B key lengths, or null",
                    "::mlir::Value", "getSeqlensK">,
    InterfaceMethod<"the pages of k and v that each sequence has, or null",
                    "::mlir::Value", "getPageTable">,
    InterfaceMethod<"the numbers of the key blocks that each block of queries sees, or null",
                    "::mlir::Value", "getBlockList">,
    InterfaceMethod<"how many numbers each block of queries has of these, or null",
                    "::mlir::Value", "getBlockCounts">,
    InterfaceMethod<"the queries and the keys of a block of the list; empty without one",
                    "::llvm::ArrayRef<int64_t>", "getBlockSize">,
    InterfaceMethod<"one score a query head that takes part in each softmax, or null",
                    "::mlir::Value", "getSinks">,
    InterfaceMethod<"values that the regions see as trailing block arguments",
                    "::mlir::OperandRange", "getCaptures">,
    InterfaceMethod<"the same, to change",
                    "::mlir::MutableOperandRange", "getCapturesMutable">,
    InterfaceMethod<"destinations, in the order of the results",
                    "::mlir::OperandRange", "getInits">,
    InterfaceMethod<"the same, to change",
                    "::mlir::MutableOperandRange", "getInitsMutable">,
    InterfaceMethod<"dimension order",
                    "::fa4::attn::Layout", "getLayout">,
    InterfaceMethod<"band mask, or null",
                    "::fa4::attn::MaskAttr", "getMaskAttr">,
    InterfaceMethod<"set or remove the band mask",
                    "void", "setMaskAttr", (ins "::fa4::attn::MaskAttr":$mask)>,
    InterfaceMethod<"factor of q.k, or null for 1 / sqrt(D)",
                    "::mlir::FloatAttr", "getScaleAttr">,
    InterfaceMethod<"score modification; empty if none",
                    "::mlir::Region &", "getScoreMod">,
    InterfaceMethod<"mask function; empty if none",
                    "::mlir::Region &", "getMaskMod">,
    InterfaceMethod<[{
        The type that result `index` takes on tensors with the element type
        `elementType`, its sizes as far as the operands say.
      }], "::mlir::RankedTensorType", "inferResultType",
      (ins "unsigned":$index, "::mlir::Type":$elementType)>
  ];
  let extraSharedClassDeclaration = [{
    /// All data operands are memrefs, and the op has no results.
    bool hasMemRefSemantics() {
      return ::llvm::isa<::mlir::BaseMemRefType>($_op.getQ().getType());
    }

    /// score_mod and mask_mod, each with the number of its block arguments in
    /// front of the captures; the last `kNumIndexArgs` of these are indices.
    ::std::array<::std::pair<::mlir::Region *, unsigned>, 2> getMods() {
      return {{{&$_op.getScoreMod(), kNumScoreModArgs},
               {&$_op.getMaskMod(), kNumMaskModArgs}}};
    }

    /// Operand numbers: the captures and then the destinations come last.
    unsigned getFirstInitNumber() {
      return $_op->getNumOperands() - $_op.getInits().size();
    }
    unsigned getFirstCaptureNumber() {
      return getFirstInitNumber() - $_op.getCaptures().size();
    }
  }];
}

#endif // FA4_DIALECT_ATTN_IR_ATTNINTERFACES_TD
