//===- AttnOpsTest.cpp - building ops of the attn dialect ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::attn;

namespace {
constexpr int64_t kDynamic = ShapedType::kDynamic;

class AttnOps : public ::testing::Test {
protected:
  AttnOps() : builder(&context) {
    context
        .loadDialect<AttnDialect, func::FuncDialect, tensor::TensorDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
  }

  /// An op on tensors of these sizes, in a function of its own.
  SdpaOp build(Layout layout, ArrayRef<int64_t> q, ArrayRef<int64_t> k,
               ArrayRef<int64_t> v, Type elementType, bool withLse) {
    SmallVector<Type> types;
    for (ArrayRef<int64_t> shape : {q, k, v})
      types.push_back(RankedTensorType::get(shape, elementType));
    OpBuilder::InsertionGuard guard(builder);
    auto func =
        func::FuncOp::create(builder, builder.getUnknownLoc(), "f",
                             builder.getFunctionType(types, TypeRange()));
    Block *body = func.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    auto op = SdpaOp::create(builder, builder.getUnknownLoc(),
                             body->getArgument(0), body->getArgument(1),
                             body->getArgument(2), layout, MaskAttr(), withLse);
    func::ReturnOp::create(builder, builder.getUnknownLoc());
    return op;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(AttnOps, BuilderInfersResultTypes) {
  // B = 2, Sq = 96, Sk = 128, Hq = 8, Hkv = 2, D = 64, Dv = 32.
  struct Case {
    Layout layout;
    SmallVector<int64_t> q, k, v, out, lse;
  } cases[] = {
      {Layout::bshd,
       {2, 96, 8, 64},
       {2, 128, 2, 64},
       {2, 128, 2, 32},
       {2, 96, 8, 32},
       {2, 8, 96}},
      {Layout::bhsd,
       {2, 8, 96, 64},
       {2, 2, 128, 64},
       {2, 2, 128, 32},
       {2, 8, 96, 32},
       {2, 8, 96}},
      {Layout::sbhd,
       {96, 2, 8, 64},
       {128, 2, 2, 64},
       {128, 2, 2, 32},
       {96, 2, 8, 32},
       {2, 8, 96}},
  };
  for (const Case &c : cases) {
    SdpaOp op = build(c.layout, c.q, c.k, c.v, builder.getBF16Type(),
                      /*withLse=*/true);
    EXPECT_EQ(op.getOut().getType(),
              RankedTensorType::get(c.out, builder.getBF16Type()));
    EXPECT_EQ(op.getLse().getType(),
              RankedTensorType::get(c.lse, builder.getF32Type()));
    EXPECT_TRUE(succeeded(verify(op)));
  }
}

TEST_F(AttnOps, BuilderTakesBatchSizeFromAnyOperand) {
  SdpaOp op = build(Layout::bhsd, {kDynamic, 8, kDynamic, 64},
                    {4, 8, kDynamic, 64}, {kDynamic, 8, kDynamic, 64},
                    builder.getF16Type(), /*withLse=*/true);
  EXPECT_EQ(op.getOut().getType(),
            RankedTensorType::get({4, 8, kDynamic, 64}, builder.getF16Type()));
  EXPECT_EQ(op.getLse().getType(),
            RankedTensorType::get({4, 8, kDynamic}, builder.getF32Type()));
  EXPECT_TRUE(succeeded(verify(op)));
}

TEST_F(AttnOps, Fp8OutputIsBf16ByDefault) {
  SdpaOp op = build(Layout::bshd, {1, 8, 1, 64}, {1, 8, 1, 64}, {1, 8, 1, 64},
                    Float8E4M3FNType::get(&context), /*withLse=*/false);
  EXPECT_TRUE(
      cast<RankedTensorType>(op.getOut().getType()).getElementType().isBF16());
  EXPECT_FALSE(op.getLse());
  EXPECT_FALSE(op.hasLse());
}

TEST_F(AttnOps, ReifiedShapesAgreeWithTypes) {
  SdpaOp op = build(Layout::sbhd, {96, 2, 8, 64}, {kDynamic, 2, 2, 64},
                    {kDynamic, 2, 2, 32}, builder.getF16Type(),
                    /*withLse=*/true);
  builder.setInsertionPoint(op);
  ReifiedRankedShapedTypeDims shapes;
  ASSERT_TRUE(succeeded(op.reifyResultShapes(builder, shapes)));
  ASSERT_EQ(shapes.size(), 2u);
  for (auto [result, shape] : llvm::zip(op->getResults(), shapes)) {
    auto type = cast<RankedTensorType>(result.getType());
    ASSERT_EQ(shape.size(), size_t(type.getRank()));
    for (int64_t dim = 0; dim != type.getRank(); ++dim)
      EXPECT_EQ(getConstantIntValue(shape[dim]), type.getDimSize(dim));
  }
}

TEST_F(AttnOps, DimOrderIsAPermutation) {
  for (Layout layout :
       {Layout::bshd, Layout::bhsd, Layout::sbhd, Layout::thd, Layout::htd}) {
    DimOrder order = getDimOrder(layout);
    SmallVector<unsigned> dims = {order.seq, order.head, order.dim};
    if (order.batch)
      dims.push_back(*order.batch);
    llvm::sort(dims);
    EXPECT_EQ(order.rank, dims.size());
    for (unsigned i = 0; i != dims.size(); ++i)
      EXPECT_EQ(dims[i], i);
    EXPECT_EQ(order.isPacked(), layout == Layout::thd || layout == Layout::htd);
  }
}
