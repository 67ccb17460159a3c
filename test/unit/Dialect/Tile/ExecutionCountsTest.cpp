//===- ExecutionCountsTest.cpp - comparing trip counts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
class ExecutionCountsTest : public ::testing::Test {
protected:
  ExecutionCountsTest() {
    context.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect,
                        vector::VectorDialect>();
  }

  /// Whether the waits of two roles are equally many. In both, n is
  /// ceildiv(size, 128), but at least 1, and n1 is n - 1.
  bool areEqual(StringRef a, StringRef b) {
    IndexForm sums[2];
    parse({a, b});
    for (auto [index, role] :
         llvm::enumerate(getKernel().getBody().getOps<RoleOp>()))
      role.walk([&, index = index](WaitOp wait) {
        sums[index] += counts.getCount(wait);
      });
    EXPECT_FALSE(sums[0].isZero());
    return sums[0] == sums[1];
  }

  void parse(ArrayRef<StringRef> bodies) {
    std::string source = R"(
      tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                     %free: index {tile.name = "free"})
          attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
        %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
    )";
    for (auto [index, body] : llvm::enumerate(bodies))
      source += "tile.role @r" + std::to_string(index) + R"( kind(vector) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c128 = arith.constant 128 : index
        %size = memref.dim %x, %c0 : memref<?xf32>
        %n0 = arith.ceildivsi %size, %c128 : index
        %n = arith.maxsi %n0, %c1 : index
        %n1 = arith.subi %n, %c1 : index
      )" + body.str() +
                "}\n";
    module = parseSourceString<ModuleOp>(source + "}", &context);
    ASSERT_TRUE(module);
    counts = ExecutionCounts();
  }

  KernelOp getKernel() { return *module->getOps<KernelOp>().begin(); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  ExecutionCounts counts;
};

constexpr StringLiteral kOnce = "tile.wait %c : <vector<128xf32>>\n";

std::string loop(StringRef from, StringRef to, StringRef body = kOnce,
                 StringRef step = "%c1") {
  return ("scf.for %i = " + from + " to " + to + " step " + step + " {\n" +
          body + "}\n")
      .str();
}
} // namespace

TEST_F(ExecutionCountsTest, peelsAnIteration) {
  EXPECT_TRUE(areEqual(loop("%c0", "%n"), loop("%c0", "%n1") + kOnce.str()));
  EXPECT_FALSE(areEqual(loop("%c0", "%n"), loop("%c0", "%n1")));
}

TEST_F(ExecutionCountsTest, peelsOnlyWhereThereIsAnIteration) {
  // For size 0 the loop on the left does not run.
  EXPECT_FALSE(
      areEqual(loop("%c0", "%n0"), "%m = arith.subi %n0, %c1 : index\n" +
                                       loop("%c0", "%m") + kOnce.str()));
}

TEST_F(ExecutionCountsTest, addsUpLoops) {
  std::string middle = R"(
    %m0 = arith.subi %n, %free : index
    %m1 = arith.maxsi %m0, %c0 : index
    %m = arith.minsi %m1, %n : index
  )";
  EXPECT_TRUE(areEqual(loop("%c0", "%n"),
                       middle + loop("%c0", "%m") + loop("%m", "%n")));
  // Without the limits some of the loops may not run at all.
  std::string open = "%m = arith.subi %n, %free : index\n";
  EXPECT_FALSE(
      areEqual(loop("%c0", "%n"), open + loop("%c0", "%m") + loop("%m", "%n")));
}

TEST_F(ExecutionCountsTest, comparesLoopsThatItCannotCount) {
  EXPECT_TRUE(areEqual(loop("%c0", "%size", kOnce, "%c128"),
                       loop("%c0", "%size", kOnce, "%c128")));
  EXPECT_TRUE(areEqual(loop("%c2", "%free"), loop("%c2", "%free")));
  EXPECT_FALSE(areEqual(loop("%c2", "%free"), loop("%c1", "%free")));
  EXPECT_FALSE(areEqual(loop("%c0", "%size", kOnce, "%c128"),
                        loop("%c0", "%size", kOnce, "%c2")));
}

TEST_F(ExecutionCountsTest, addsUpBranches) {
  std::string condition = "%b = arith.cmpi slt, %size, %c128 : index\n";
  std::string both =
      "scf.if %b {\n" + kOnce.str() + "} else {\n" + kOnce.str() + "}\n";
  std::string one = "scf.if %b {\n" + kOnce.str() + "}\n";
  EXPECT_TRUE(areEqual(kOnce, condition + both));
  EXPECT_TRUE(areEqual(condition + one, condition + one));
  EXPECT_FALSE(areEqual(kOnce, condition + one));
  std::string inLoop = "%b = arith.cmpi slt, %i, %c1 : index\n" + one;
  EXPECT_TRUE(areEqual(loop("%c0", "%n", inLoop), loop("%c0", "%n", inLoop)));
  EXPECT_FALSE(
      areEqual(loop("%c0", "%n", inLoop), loop("%c0", "%size", inLoop)));
}

TEST_F(ExecutionCountsTest, knowsThatALoopRuns) {
  auto runs = [&](const std::string &body) {
    parse({body});
    bool result = false;
    getKernel().walk([&](scf::ForOp loop) {
      result = counts.getForms().runsAtLeastOnce(loop);
    });
    return result;
  };
  EXPECT_TRUE(runs(loop("%c0", "%n")));
  EXPECT_TRUE(runs(loop("%c1", "%c2")));
  EXPECT_FALSE(runs(loop("%c0", "%n0")));
  EXPECT_FALSE(runs(loop("%c0", "%n1")));
  EXPECT_FALSE(runs(loop("%c0", "%free")));
  EXPECT_FALSE(runs(loop("%c2", "%c2")));
}
