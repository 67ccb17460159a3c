//===- ProtocolVerifierTest.cpp - limits of the proof ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::tile;

/// A right kernel, whose proof has a state for each of a few passes.
static constexpr const char *kKernel = R"(
  !t = vector<128xf32>
  tile.kernel @k(%n: index {tile.name = "n"})
      attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
    %a = tile.channel "a" smem stages(2) : <!t>
    tile.role @producer kind(vector) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = arith.constant dense<1.0> : !t
      scf.for %i = %c0 to %n step %c1 {
        tile.acquire %a : <!t>
        tile.commit %a, %v : <!t>, !t
      }
    }
    tile.role @consumer kind(vector) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %v = tile.wait %a : <!t> -> !t
        tile.release %a : <!t>
      }
    }
  })";

/// A proof with more states than the caller allows is an error on the kernel,
/// and one that needs no more is none.
TEST(ProtocolVerifierTest, Limit) {
  MLIRContext context;
  context.loadDialect<TileDialect, arith::ArithDialect, scf::SCFDialect>();
  auto module = parseSourceString<ModuleOp>(kKernel, &context);
  ASSERT_TRUE(module);
  KernelOp kernel = *module->getOps<KernelOp>().begin();
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    text = diagnostic.str();
    return success();
  });
  ProtocolStatistics statistics;
  ASSERT_TRUE(succeeded(verifyProtocol(kernel, &statistics)));
  EXPECT_TRUE(succeeded(verifyProtocol(kernel, nullptr, statistics.states)));
  EXPECT_EQ(text, "");
  EXPECT_TRUE(failed(verifyProtocol(kernel, nullptr, 0)));
  EXPECT_EQ(text.find("the protocol of @k is not proven in "), 0u) << text;
}
