// The explorer accepts a right kernel, with and without partial-order
// reduction, and says so if it gave up before all interleavings were seen.
//
// Without reduction there are more states, and the same verdict.
// RUN: fa4-test-opt %S/Inputs/protocol.mlir --tile-explore-protocol='print=true max-passes=2' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=REDUCED
// REDUCED: @kernel: 3 cases, {{([0-9]{3})}} states
// RUN: fa4-test-opt %S/Inputs/protocol.mlir --tile-explore-protocol='print=true max-passes=2 reduce=false' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=ALL
// ALL: @kernel: 3 cases, {{([0-9]{4})}} states

// More than it may explore is not a verdict.
// RUN: not fa4-test-opt %S/Inputs/protocol.mlir --tile-explore-protocol=max-states=10 2>&1 | FileCheck %s --dump-input=never --check-prefix=LIMIT
// LIMIT: error: protocol has more interleavings or unknown trip counts than were explored
