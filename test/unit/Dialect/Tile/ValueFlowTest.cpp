//===- ValueFlowTest.cpp - where values come from and where they go -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
// Operations are named by a discardable attribute `name`.
class ValueFlowTest : public ::testing::Test {
protected:
  ValueFlowTest() {
    context.loadDialect<TileDialect, arith::ArithDialect, memref::MemRefDialect,
                        scf::SCFDialect, vector::VectorDialect>();
  }

  void parse(const std::string &body) {
    module = parseSourceString<ModuleOp>(R"(
      !x = vector<128x128xbf16>
      !d = vector<128x128xf32>
      tile.kernel @k(%n: index {tile.name = "n"}, %c: i32 {tile.name = "c"})
          attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
        %x = tile.channel "x" smem stages(1) : <!x>
        %d = tile.channel "d" tmem stages(1) : <!d>
)" + body + "}",
                                         &context);
    ASSERT_TRUE(module);
  }

  Operation *find(StringRef name) {
    Operation *found = nullptr;
    module->walk([&](Operation *op) {
      if (auto attr = op->getDiscardableAttr("name"))
        if (cast<StringAttr>(attr).getValue() == name)
          found = op;
    });
    EXPECT_TRUE(found) << name.str();
    return found;
  }

  /// The names of operations in alphabetical order, separated by spaces.
  static std::string join(SmallVector<std::string> names) {
    llvm::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return llvm::join(names, " ");
  }
  static std::string nameOf(Operation *op) {
    auto attr = op->getDiscardableAttrDictionary().getAs<StringAttr>("name");
    return attr ? attr.getValue().str() : "?";
  }

  std::string origins(Value value, FlowThrough through) {
    SmallVector<std::string> names;
    for (Value origin : getOrigins(value, through))
      names.push_back(origin.getDefiningOp() ? nameOf(origin.getDefiningOp())
                                             : "argument");
    return join(names);
  }
  std::string ends(Value value, FlowThrough through) {
    SmallVector<std::string> names;
    for (OpOperand *use : getEnds(value, through))
      names.push_back(nameOf(use->getOwner()));
    return join(names);
  }
  std::string lastMade(Value value) {
    Value made = getLastMade(value);
    return !made                  ? "nothing"
           : made.getDefiningOp() ? nameOf(made.getDefiningOp())
                                  : "argument";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const std::string branchInLoop = R"(
  tile.role @r kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant {name = "zero"} 0 : i32
    %if = arith.cmpi slt, %n, %c1 : index
    %l:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %c) -> (i32, i32) {
      %s = scf.if %if -> (i32) {
        %t = arith.addi %a, %a {name = "add"} : i32
        scf.yield %t : i32
      } else {
        scf.yield %b : i32
      }
      scf.yield %s, %b : i32, i32
    }
    %u = arith.muli %l#0, %l#1 {name = "end"} : i32
  }
)";
} // namespace

/// Both sides of a branch count, and what a loop starts with.
TEST_F(ValueFlowTest, LoopsAndBranches) {
  parse(branchInLoop);
  Operation *end = find("end");
  EXPECT_EQ(origins(end->getOperand(0), FlowThrough::Regions),
            "add argument zero");
  EXPECT_EQ(origins(end->getOperand(1), FlowThrough::Regions), "argument");
  EXPECT_EQ(ends(find("zero")->getResult(0), FlowThrough::Regions), "add end");
  EXPECT_EQ(ends(find("add")->getResult(0), FlowThrough::Regions), "add end");
  // The kernel's argument goes through the second iter_arg to both results.
  Value argument =
      (*module->getOps<KernelOp>().begin()).getBody().getArgument(1);
  EXPECT_EQ(ends(argument, FlowThrough::Regions), "add end");
}

/// What the branch makes counts; what a loop only hands around does not.
TEST_F(ValueFlowTest, LastMade) {
  parse(branchInLoop);
  Operation *end = find("end");
  auto loop = end->getOperand(0).getDefiningOp<scf::ForOp>();
  Value branch = loop.getYieldedValues()[0];
  EXPECT_TRUE(branch.getDefiningOp<scf::IfOp>());
  EXPECT_EQ(getLastMade(loop.getResult(0)), branch);
  EXPECT_EQ(getLastMade(loop.getRegionIterArg(0)), branch);
  EXPECT_EQ(lastMade(loop.getResult(1)), "nothing");
  EXPECT_EQ(lastMade(loop.getRegionIterArg(1)), "nothing");
  EXPECT_EQ(lastMade(loop.getInductionVar()), "argument");
  EXPECT_EQ(lastMade(find("zero")->getResult(0)), "zero");
}

const std::string roles = R"(
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant {name = "zero"} dense<0.0> : !d
    %v = tile.wait %x {name = "waitx"} : <!x> -> !x
    %left = vector.extract_strided_slice %v {offsets = [0, 0], sizes = [128, 64], strides = [1, 1]} : !x to vector<128x64xbf16>
    %l = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (!d) {
      %m = tile.mma %left, transpose %left acc %a {name = "mma"} : vector<128x64xbf16>, vector<128x64xbf16> -> !d
      scf.yield %m : !d
    }
    %last = tile.mma %v, transpose %v acc %l {name = "last"} : !x, !x -> !d
    tile.commit %d, %last {name = "commit"} : <!d>, !d
  }
  tile.role @lanes kind(vector) {
    %v = tile.wait %d {name = "waitd"} : <!d> -> !d
    %t = arith.truncf %v {name = "trunc"} : !d to !x
  }
)";

TEST_F(ValueFlowTest, ViewsAndAccumulators) {
  parse(roles);
  Value x = find("waitx")->getResult(0), zero = find("zero")->getResult(0);
  EXPECT_EQ(ends(x, FlowThrough::Regions), "? last");
  EXPECT_EQ(ends(x, FlowThrough::Views), "last mma");
  EXPECT_EQ(ends(zero, FlowThrough::Regions), "last mma");
  EXPECT_EQ(ends(zero, FlowThrough::Accumulators), "commit");
  EXPECT_EQ(ends(find("mma")->getResult(0), FlowThrough::Accumulators),
            "commit");
  Value committed = find("commit")->getOperand(1);
  EXPECT_EQ(origins(committed, FlowThrough::Views), "last");
  EXPECT_EQ(origins(committed, FlowThrough::Accumulators), "last mma zero");
}

TEST_F(ValueFlowTest, Channels) {
  parse(roles);
  Value zero = find("zero")->getResult(0);
  FlowThrough all = FlowThrough::Accumulators | FlowThrough::Channels;
  EXPECT_EQ(ends(zero, all), "trunc");
  EXPECT_EQ(origins(find("trunc")->getOperand(0), all), "last mma zero");
  // Nobody commits to this channel.
  EXPECT_EQ(origins(find("waitx")->getResult(0), all), "waitx");
}
