//===- IndexFormsTest.cpp - the integers of a kernel as forms ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test gives a kernel with operations of arith, and checks the forms and
// the symbols of their results. IndexArithmeticTest compares the forms of
// random programs with numbers.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::DynamicAPInt;
using Kind = IndexSymbol::Kind;

namespace {
class IndexFormsTest : public ::testing::Test {
protected:
  IndexFormsTest() {
    context.loadDialect<TileDialect, arith::ArithDialect, memref::MemRefDialect,
                        scf::SCFDialect>();
  }

  /// Parses a kernel whose CTAs are pairs along axis 0 of a grid over N and M.
  /// `body` may use the coordinates %i and %j, the sizes %n and %m, %free (any
  /// index), %wide (any i32) and some constants.
  void parse(StringRef body) {
    std::string source = R"(
      tile.kernel @k(%x: memref<?x?xi32> {tile.name = "x", tile.dims = ["N", "M"]},
                     %free: index {tile.name = "free"},
                     %wide: i32 {tile.name = "wide"})
          attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>,
                      grid = [#tile.extent<"N" by 128>, #tile.extent<"M">]} {
        %i, %j = tile.work_tile : index, index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c5 = arith.constant 5 : index
        %c128 = arith.constant 128 : index
        %n = memref.dim %x, %c0 : memref<?x?xi32>
        %m = memref.dim %x, %c1 : memref<?x?xi32>
    )" + body.str() + "}";
    module = parseSourceString<ModuleOp>(source, &context);
    ASSERT_TRUE(module);
  }

  /// Returns the form of the first result of the n-th last operation that has
  /// results, for n = 0 the last one.
  IndexForm get(unsigned n = 0) {
    SmallVector<Value> results;
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getNumResults() != 0)
        results.push_back(op->getResult(0));
    });
    return forms.get(results[results.size() - 1 - n]);
  }

  /// Returns the symbol that the form is, or fails.
  const IndexSymbol &getSymbol(const IndexForm &form) {
    EXPECT_TRUE(form.getSymbol());
    return forms.getSymbol(form.getSymbol().value_or(0));
  }

  /// Returns the coefficient of the coordinate along the axis.
  DynamicAPInt getCoefficient(IndexForm form, unsigned axis) {
    return forms.getSymbols().takeCoordinate(form, axis);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  IndexForms forms{IndexForms::Induction::Passes};
};
} // namespace

TEST_F(IndexFormsTest, readsSumsOfCoordinates) {
  parse(R"(
    %row = arith.muli %i, %c128 : index
    %sum = arith.addi %row, %j : index
    %index = arith.addi %sum, %c5 : index
  )");
  EXPECT_EQ(getCoefficient(get(), 0), 128);
  EXPECT_EQ(getCoefficient(get(), 1), 1);
  EXPECT_EQ(get().getCoefficient({}), 5);
  EXPECT_TRUE(forms.getSymbols().dependsOnCoordinate(get(2), 0));
  EXPECT_FALSE(forms.getSymbols().dependsOnCoordinate(get(2), 1));
}

TEST_F(IndexFormsTest, takesAShiftForAProduct) {
  parse(R"(
    %product = arith.muli %i, %c128 : index
    %c7 = arith.constant 7 : index
    %shifted = arith.shli %i, %c7 : index
  )");
  EXPECT_EQ(get(), get(2));
}

TEST_F(IndexFormsTest, countsModuloThePowerOfTwo) {
  // 32 bits do not hold %free + 5, but both sums wrap around alike.
  parse(R"(
    %five = arith.addi %free, %c5 : index
    %ten = arith.addi %five, %c5 : index
    %c10 = arith.constant 10 : index
    %same = arith.addi %free, %c10 : index
  )");
  EXPECT_EQ(getSymbol(get()).kind, Kind::SignedResidue);
  EXPECT_EQ(getSymbol(get()).number, 32u);
  EXPECT_EQ(get(), get(2));
  EXPECT_EQ(getSymbol(get()).operands[0].getCoefficient({}), 10);
  EXPECT_NE(get(), get(3));
}

TEST_F(IndexFormsTest, knowsWhichArithmeticIsExact) {
  // A size has at most 2^29 elements: twice it fits into 32 bits, eight times
  // it does not.
  parse(R"(
    %twice = arith.muli %n, %c2 : index
    %c8 = arith.constant 8 : index
    %eight = arith.muli %n, %c8 : index
  )");
  EXPECT_FALSE(get(2).getSymbol());
  EXPECT_EQ(getSymbol(get()).kind, Kind::SignedResidue);
  EXPECT_TRUE(forms.isNonNegative(get(2)));
  EXPECT_FALSE(forms.isNonNegative(get()));
}

TEST_F(IndexFormsTest, cutsOffBits) {
  parse(R"(
    %byte = arith.trunci %wide : i32 to i8
    %c256 = arith.constant 256 : i32
    %more = arith.addi %wide, %c256 : i32
    %same = arith.trunci %more : i32 to i8
    %positive = arith.extui %same : i8 to i32
  )");
  EXPECT_EQ(get(1), get(4));
  EXPECT_EQ(getSymbol(get()).kind, Kind::UnsignedResidue);
  EXPECT_TRUE(forms.isNonNegative(get()));
  EXPECT_FALSE(forms.isNonNegative(get(1)));
}

TEST_F(IndexFormsTest, knowsTheNumberOfACluster) {
  // Clusters are along axis 0 and have two CTAs. All other quotients are
  // quotients.
  parse(R"(
    %cluster = arith.divui %i, %c2 : index
    %other = arith.divui %j, %c2 : index
    %five = arith.divui %i, %c5 : index
  )");
  EXPECT_EQ(getSymbol(get(2)).kind, Kind::ClusterNumber);
  EXPECT_EQ(getSymbol(get(2)).number, 0u);
  EXPECT_EQ(get(2),
            forms.getClusterNumber(*module->getOps<KernelOp>().begin()));
  EXPECT_EQ(getSymbol(get(1)).kind, Kind::FloorDiv);
  EXPECT_EQ(getSymbol(get()).kind, Kind::FloorDiv);
  EXPECT_FALSE(forms.getSymbols().dependsOnCoordinate(get(2), 0));
  EXPECT_TRUE(forms.getSymbols().dependsOnCoordinate(get(), 0));
}

TEST_F(IndexFormsTest, dividesByRoundingDownOrUp) {
  parse(R"(
    %up = arith.ceildivsi %n, %c128 : index
    %down = arith.floordivsi %free, %c128 : index
    %unknown = arith.divui %free, %c128 : index
  )");
  EXPECT_EQ(getSymbol(get(2)).kind, Kind::CeilDiv);
  EXPECT_EQ(getSymbol(getSymbol(get(2)).operands[0]).kind, Kind::Size);
  EXPECT_EQ(getSymbol(get(2)).operands[1], 128);
  EXPECT_EQ(getSymbol(get(1)).kind, Kind::FloorDiv);
  // %free may be negative, and then it is a large number without sign.
  EXPECT_EQ(getSymbol(get()).kind, Kind::Function);
}

TEST_F(IndexFormsTest, knowsMinimaAndMaxima) {
  parse(R"(
    %a = arith.minsi %n, %m : index
    %b = arith.minsi %m, %n : index
    %rest = arith.subi %n, %b : index
    %any = arith.maxsi %free, %c0 : index
    %unsigned = arith.maxui %free, %c0 : index
  )");
  EXPECT_EQ(get(4), get(3));
  EXPECT_EQ(getSymbol(get(4)).kind, Kind::Min);
  // n - min(m, n) is not negative.
  EXPECT_TRUE(forms.isNonNegative(get(2)));
  EXPECT_FALSE(forms.isNonNegative(get(3) - get(2)));
  EXPECT_TRUE(forms.isNonNegative(get(1)));
  EXPECT_EQ(getSymbol(get()).kind, Kind::Function);
}

TEST_F(IndexFormsTest, keepsTheCasesOfASelect) {
  parse(R"(
    %less = arith.cmpi slt, %n, %m : index
    %chosen = arith.select %less, %i, %c5 : index
  )");
  const IndexSymbol &select = getSymbol(get());
  ASSERT_EQ(select.kind, Kind::Select);
  const IndexSymbol &compare = getSymbol(select.operands[0]);
  ASSERT_EQ(compare.kind, Kind::Compare);
  EXPECT_EQ(compare.number, unsigned(arith::CmpIPredicate::slt));
  EXPECT_EQ(getSymbol(compare.operands[0]).name, "N");
  EXPECT_EQ(getSymbol(compare.operands[1]).name, "M");
  EXPECT_EQ(getCoefficient(select.operands[1], 0), 1);
  EXPECT_EQ(select.operands[2], 5);
}

TEST_F(IndexFormsTest, readsScalarsOfTensors) {
  // Loads of one element are one number.
  parse(R"(
    %a = tile.load_scalar %x[%i, %c0] : memref<?x?xi32>
    %b = tile.load_scalar %x[%i, %c0] : memref<?x?xi32>
    %c = tile.load_scalar %x[%i, %c1] : memref<?x?xi32>
  )");
  EXPECT_EQ(get(2), get(1));
  EXPECT_NE(get(1), get());
  ASSERT_EQ(getSymbol(get()).kind, Kind::Scalar);
  EXPECT_EQ(getSymbol(getSymbol(get()).operands[0]).kind, Kind::Opaque);
  EXPECT_TRUE(forms.getSymbols().dependsOnCoordinate(get(), 0));
}

TEST_F(IndexFormsTest, countsPassesOfAPeeledLoopFromTheFirst) {
  // The second loop begins where the first has made two passes.
  parse(R"(
    %c384 = arith.constant 384 : index
    scf.for %k = %c128 to %n step %c128 {
      %a = arith.addi %k, %c1 : index
    }
    scf.for %k = %c384 to %n step %c128 {
      %b = arith.addi %k, %c1 : index
    }
  )");
  SmallVector<scf::ForOp> loops;
  module->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  EXPECT_EQ(get(), get(1));
  EXPECT_EQ(forms.getPass(loops[0]).symbol, forms.getPass(loops[1]).symbol);
  EXPECT_EQ(forms.getPass(loops[0]).offset, 1);
  EXPECT_EQ(forms.getPass(loops[1]).offset, 3);
  EXPECT_EQ(forms.getSymbols().getDepth(get()), 1u);
  // By their bounds the induction variables differ.
  forms = IndexForms(IndexForms::Induction::Whole);
  EXPECT_NE(get(), get(1));
}
