//===- LifetimesTest.cpp - order between uses of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
// One tile of operands `x`, a product `d` of it for each of n blocks, and
// results `y` that lanes write; `n` is at least 1, `m` any number.
class LifetimesTest : public ::testing::Test {
protected:
  LifetimesTest() {
    context.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect,
                        vector::VectorDialect>();
  }

  /// deadBefore(x, y) for bodies of the role of MMAs, the role of lanes, and
  /// one that stores.
  bool xDeadBeforeY(const std::string &mma, const std::string &lanes,
                    const std::string &store = "") {
    return isDead("x", "y", mma, lanes, store);
  }

  bool isDead(StringRef a, StringRef b, const std::string &mma,
              const std::string &lanes, const std::string &store = "") {
    std::string source = R"(
      !x = vector<128x128xbf16>
      !d = vector<128x128xf32>
      tile.kernel @k(%in: memref<?x128xbf16> {tile.name = "in", tile.dims = ["N", "128"]},
                     %free: index {tile.name = "free"})
          attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
        %x = tile.channel "x" smem stages(1) : <!x>
        %z = tile.channel "z" smem stages(1) : <!x>
        %d = tile.channel "d" tmem stages(1) : <!d>
        %y = tile.channel "y" smem stages(1) : <!x>
        tile.role @load kind(issuer) {
          %c0 = arith.constant 0 : index
          %v = tile.load %in[%c0, %c0] : memref<?x128xbf16> -> !x
          tile.commit %x, %v : <!x>, !x
        }
    )";
    source += role("mma", "kind(issuer)", mma);
    source += role("lanes", "kind(vector)", lanes);
    source += role("store", "kind(issuer)", store) + "}";
    module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    if (!module)
      return false;
    KernelOp kernel = *module->getOps<KernelOp>().begin();
    Lifetimes lifetimes(kernel);
    ChannelOp first, second;
    for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
      if (channel.getLabel() == a)
        first = channel;
      if (channel.getLabel() == b)
        second = channel;
    }
    return lifetimes.deadBefore(first, second);
  }

  static std::string role(StringRef name, StringRef warps,
                          const std::string &body) {
    return ("tile.role @" + name + " " + warps + R"( {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %size = memref.dim %in, %c0 : memref<?x128xbf16>
      %n = arith.maxsi %size, %c1 : index
      %last = arith.subi %n, %c1 : index
    )" + body +
            "}\n")
        .str();
  }

  static std::string loop(const std::string &to, const std::string &body) {
    return "scf.for %i = %c0 to " + to + " step %c1 {\n" + body + "}\n";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const std::string kWaitX = "%tx = tile.wait %x : <!x> -> !x\n";
/// A block's product; a name of its own for each.
std::string product(const std::string &name) {
  return "%" + name + " = tile.mma %tx, %tx : !x, !x -> !d\n" +
         "tile.commit %d, %" + name + " : <!d>, !d\n";
}
std::string waitD(const std::string &name) {
  return "%" + name + " = tile.wait %d : <!d> -> !d\n";
}
std::string writeY(const std::string &from) {
  return "%ty = arith.truncf %" + from +
         " : !d to !x\ntile.commit %y, %ty : <!x>, !x\n";
}
const std::string kStoreY = "%t = tile.wait %y : <!x> -> !x\n"
                            "tile.store %t, %in[%c0, %c0] : !x, "
                            "memref<?x128xbf16>\n";
} // namespace

TEST_F(LifetimesTest, followsThroughACommit) {
  EXPECT_TRUE(xDeadBeforeY(kWaitX + product("p"), waitD("q") + writeY("q")));
  // Not the other way round.
  EXPECT_FALSE(
      isDead("y", "x", kWaitX + product("p"), waitD("q") + writeY("q")));
}

TEST_F(LifetimesTest, wantsTheLastWait) {
  // The first result is written while later products still read x.
  EXPECT_FALSE(xDeadBeforeY(kWaitX + product("p") + product("p2"),
                            waitD("q") + writeY("q") + waitD("q2")));
  EXPECT_TRUE(xDeadBeforeY(kWaitX + product("p") + product("p2"),
                           waitD("q") + waitD("q2") + writeY("q2")));
  // One wait is missing, so the last one is not that for the last product.
  EXPECT_FALSE(xDeadBeforeY(kWaitX + product("p") + product("p2"),
                            waitD("q") + writeY("q")));
}

TEST_F(LifetimesTest, countsLoops) {
  std::string lanes = loop("%n", waitD("q"));
  std::string write = "%c = arith.constant dense<1.0> : !x\n"
                      "tile.commit %y, %c : <!x>, !x\n";
  EXPECT_TRUE(xDeadBeforeY(kWaitX + loop("%n", product("p")), lanes + write));
  EXPECT_TRUE(xDeadBeforeY(kWaitX + loop("%last", product("p")) + product("e"),
                           lanes + write));
  EXPECT_FALSE(
      xDeadBeforeY(kWaitX + loop("%last", product("p")), lanes + write));
  EXPECT_FALSE(xDeadBeforeY(kWaitX + loop("%n", product("p")), write + lanes));
}

TEST_F(LifetimesTest, soundWithoutIterations) {
  // If the loop is empty nothing follows the use of x before it.
  std::string use = "%u = tile.mma %tx, %tx : !x, !x -> !d\n";
  std::string lanes = "%c = arith.constant dense<1.0> : !x\n" +
                      loop("%free", waitD("q")) +
                      "tile.commit %y, %c : <!x>, !x\n";
  EXPECT_FALSE(xDeadBeforeY(kWaitX + use + loop("%free", product("p")), lanes));
  std::string some = "%c = arith.constant dense<1.0> : !x\n" +
                     loop("%n", waitD("q")) + "tile.commit %y, %c : <!x>, !x\n";
  EXPECT_TRUE(xDeadBeforeY(kWaitX + use + loop("%n", product("p")), some));
}

TEST_F(LifetimesTest, mmasEndWithTheCommitOfAnMma) {
  // A load that is issued after the MMA says nothing about it.
  std::string load = "%v = tile.load %in[%c0, %c0] : memref<?x128xbf16> -> !x\n"
                     "tile.commit %z, %v : <!x>, !x\n";
  std::string lanes = waitD("q") + "%w = tile.wait %z : <!x> -> !x\n" +
                      "%ty = arith.addf %w, %w : !x\n"
                      "tile.commit %y, %ty : <!x>, !x\n";
  std::string early = "%u = tile.mma %tx, %tx : !x, !x -> !d\n";
  EXPECT_TRUE(xDeadBeforeY(kWaitX + product("p") + load, lanes));
  EXPECT_FALSE(xDeadBeforeY(kWaitX + product("p") + early + load, lanes));
  EXPECT_TRUE(xDeadBeforeY(kWaitX + early + load + product("p"), lanes));
}

TEST_F(LifetimesTest, followsThroughSeveralRoles) {
  // mma -> lanes (d) -> store (y), which loads z.
  std::string store = kStoreY + "%v = tile.load %in[%c0, %c0] : "
                                "memref<?x128xbf16> -> !x\n"
                                "tile.commit %z, %v : <!x>, !x\n";
  std::string mma = kWaitX + product("p");
  std::string waitZ = "tile.wait %z : <!x>\n";
  EXPECT_TRUE(isDead("x", "z", mma, waitD("q") + writeY("q") + waitZ, store));
  // The source of the store is read until it is released.
  EXPECT_FALSE(isDead("y", "z", mma, waitD("q") + writeY("q") + waitZ, store));
  std::string released =
      kStoreY + "tile.release %y : <!x>\n" + store.substr(kStoreY.size());
  EXPECT_TRUE(
      isDead("y", "z", mma, waitD("q") + writeY("q") + waitZ, released));
}

TEST_F(LifetimesTest, lanesReadUntilTheyRelease) {
  std::string mma = kWaitX + product("p");
  std::string use = "%v = arith.addf %q, %q : !d\n";
  std::string tell = "%c = arith.constant dense<1.0> : !x\n"
                     "tile.commit %z, %c : <!x>, !x\n";
  std::string store = "tile.wait %z : <!x>\n"
                      "%v = tile.load %in[%c0, %c0] : memref<?x128xbf16> -> "
                      "!x\ntile.commit %y, %v : <!x>, !x\n";
  EXPECT_TRUE(isDead("d", "y", mma, waitD("q") + use + tell, store));
  EXPECT_FALSE(isDead("d", "y", mma, waitD("q") + tell + use, store));
  EXPECT_FALSE(isDead("d", "y", mma,
                      waitD("q") + use + tell + "tile.release %d : <!d>\n",
                      store));
}

TEST_F(LifetimesTest, lanesRunAheadOfEachOther) {
  std::string write = "%c = arith.constant dense<1.0> : !x\n"
                      "tile.commit %y, %c : <!x>, !x\n";
  EXPECT_FALSE(isDead("d", "y", kWaitX + product("p"),
                      waitD("q") + "%v = arith.addf %q, %q : !d\n" + write));
  // One thread that issues is ordered with itself.
  std::string store = "%w = tile.wait %z : <!x> -> !x\n" +
                      std::string("%v = tile.load %in[%c0, %c0] : "
                                  "memref<?x128xbf16> -> !x\n"
                                  "tile.commit %y, %v : <!x>, !x\n");
  EXPECT_TRUE(isDead("z", "y", "",
                     "%c = arith.constant dense<1.0> : !x\n"
                     "tile.commit %z, %c : <!x>, !x\n",
                     store));
}

TEST_F(LifetimesTest, neverWithinALoop) {
  // y of one iteration is written before x's later uses.
  EXPECT_FALSE(xDeadBeforeY(kWaitX + loop("%n", product("p")),
                            loop("%n", waitD("q") + writeY("q"))));
}

TEST_F(LifetimesTest, neverForWhatNobodyWaitsFor) {
  EXPECT_FALSE(xDeadBeforeY("", writeY("c").insert(0, R"(
    %c = arith.constant dense<1.0> : !d
  )")));
}
