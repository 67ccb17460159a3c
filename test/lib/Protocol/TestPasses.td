//===- TestPasses.td - passes that only tests use -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_TESTPASSES_TD
#define FA4_TEST_LIB_PROTOCOL_TESTPASSES_TD

include "fa4/Support/PassWithOptions.td"

def TileExploreProtocol : FA4_Pass<"tile-explore-protocol", "::fa4::tile::KernelOp"> {
  let summary = "Run the roles' protocol in every order";
  let description = [{
    *Input*: a kernel of roles. *Output*: the same kernel, or an error.

    Checks what `tile-verify-protocol` proves, for small numbers of passes: it runs all
    interleavings of the roles, and of the asynchronous operations that they start,
    for sizes of tensors that it chooses. Sizes at which integers wrap around are
    among them. An error says for which sizes it holds. `ProtocolExplorer.h` says how
    the pass works. Turns at sums (`tile.await_turn`) are taken by all work tiles of a launch, for small sizes
    (`TurnExplorer.h`). It is slower than `tile-verify-protocol` and proves less; its use
    is to check `tile-verify-protocol`.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @idle kind(idle) warps(4) {
      }
    }
    ```

    After: the same.
  }];
  let options = [
    Option<"maxPasses", "max-passes", "int64_t", /*default=*/"0",
           "Passes that a loop makes at most (0: 2 more than the longest ring "
           "has stages; 2 where CTAs go on from work tile to work tile)">,
    Option<"maxStates", "max-states", "uint64_t", /*default=*/"2000000",
           "States after which to give up">,
    Option<"reduce", "reduce", "bool", /*default=*/"true",
           "Leave out interleavings that differ by the order of independent steps">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the number of states to standard error">
  ];
}

#endif // FA4_TEST_LIB_PROTOCOL_TESTPASSES_TD
