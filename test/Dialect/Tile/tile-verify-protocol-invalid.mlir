// The verifier finds each kind of fault in the protocol. Each command changes a few
// lines of a right kernel.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --tile-verify-protocol --split-input-file --verify-diagnostics
//
// Each command changes a few lines of the kernel in Inputs/protocol.mlir; placements are at the end.

// A wait, a release, an acquire, and a commit are missing.
//
// $ sed -e '/#wait-o$/d' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "o" is committed, but no role waits for it
// ...
// [1]
// $ sed -e '/#release$/d' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "u": 1 values are waited for by @lanes, but 0 released
// ...
// {{.*}}note: @mma makes 1 pass of this loop
// ...
// [1]
// $ sed -e '/#acquire$/d' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "u": 1 values are committed, but 0 acquired
// ...
// [1]
// $ sed -e '/#commit$/d' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "u" is never committed
// ...
// [1]
//
// A release stands before the MMA that reads the stage, and a read after the release.
//
// $ sed -e '/#late-release$/d' -e 's,//+early-release ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "k": a stage is read after its release
// ...
// [1]
// $ sed -e 's,//+read-after-release ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "o": a stage is read after its release
// ...
// [1]
//
// A commit stands before the last write, and another one is there twice.
//
// $ sed -e 's,//+early-commit ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: @mma commits the result of 'tile.mma' to no channel
// ...
// [1]
// $ sed -e 's,//+second-commit ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "u": @mma commits a stage that it has not acquired
// ...
// [1]
//
// Two roles wait for each other.
//
// $ sed -e '/#wait-u$/d' -e 's,//+swapped-waits ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "p": @mma waits forever for @lanes to commit it
// ...
// {{.*}}note: @mma in pass 1 of its loop waits for commit number 1 of channel "p" by @lanes
// {{.*}}note: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma
// ...
// {{.*}}note: @mma makes 1 pass of this loop
// ...
// [1]
//
// A ring is shorter than what a role waits for at once.
//
// $ sed -e '/#two-stages$/d' -e 's,//+one-stage ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "k": @load waits forever for @mma to release it
// ...
// {{.*}}note: @load in pass 1 of its loop waits for release number 1 of channel "k" by @mma
// {{.*}}note: @mma in pass 1 of its loop waits for commit number 2 of channel "k" by @load
// ...
// [1]
//
// A wait stands outside of its loop, and a loop has another bound.
//
// $ sed -e '/#wait-inside$/d' -e 's,//+wait-outside ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "k": @mma waits forever for @load to commit it
// ...
// {{.*}}note: @mma waits for commit number 1 of channel "k" by @load, which has ended
// {{.*}}note: @load makes 0 passes of this loop
// ...
// [1]
// $ sed -e '/#trips$/d' -e 's,//+other-trips ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "o": it is not shown that @lanes commits it as often as @store waits for that: the passes of their loops are computed in different ways
// ...
// {{.*}}note: @store in pass 1 of its loop waits for commit number 1 of channel "o" by @lanes, which has ended
// ...
// [1]
//
// A channel has two producers.
//
// $ sed -e 's,//+two-producers ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "o" has two producers, @lanes and @other
// ...
// [1]
//
// A buffer lies in place of one that is still read, or that the role itself reads.
//
// $ fa4-opt $S/Inputs/protocol.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-share-buffers,tile-allocate,tile-distribute))' -o lanes.mlir
// $ sed '/tile.commit .p /a\  %late = tile.read %s : <vector<128x128xf32>> -> vector<128xf32>' lanes.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "s": @lanes reads a value that has been overwritten
// ...
// {{.*}}note: overwritten by @lanes in pass 1 of its loop
// ...
// [1]
// $ sed -e '/#in-place$/d' -e 's,//+wrong-place ,,' $S/Inputs/protocol.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "u": @mma overwrites an operand of the operation itself (channel "p")
// ...
// [1]

// Lanes read `in` and write `out`, whose rows lie elsewhere.
tile.kernel @overlap(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32784 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(0) full(1) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-note @below {{the access, which nothing orders before the write}}
    %w = arith.addf %v, %v : vector<128x64xbf16>
    // expected-error @below {{channel "out": @compute may overwrite a stage while @compute reads it (channel "in")}}
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// Into the barriers.
tile.kernel @beyond(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32784 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  // expected-error @below {{channel "out" ends at 33792 of 32768 bytes}}
  %out = tile.channel "out" smem stages(1) place<offset(17408) full(1) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = arith.addf %v, %v : vector<128x64xbf16>
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// A swizzled tile.
tile.kernel @unaligned(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 34000 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  // expected-error @below {{channel "out" is at 16512, which is not a multiple of 1024}}
  %out = tile.channel "out" smem stages(1) place<offset(16512) full(1) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = arith.addf %v, %v : vector<128x64xbf16>
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// One barrier for two channels.
tile.kernel @barrier(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32776 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  // expected-error @below {{channel "out" uses barrier 0, which is one of channel "in"}}
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(0) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = arith.addf %v, %v : vector<128x64xbf16>
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// Warps of two roles.
tile.kernel @warps(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32784 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(1) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  // expected-error @below {{@compute has warp 4, which is one of @load}}
  tile.role @compute kind(vector) first_warp(4) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = arith.addf %v, %v : vector<128x64xbf16>
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// Budgets differ in a warpgroup.
tile.kernel @registers(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32784 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(1) arrivals(128)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = arith.addf %v, %v : vector<128x64xbf16>
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  // expected-error @below {{@store has 56 registers in warpgroup 1, whose other warps have 48}}
  tile.role @store kind(issuer) first_warp(5) registers(56) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// Lanes write half of each row.
tile.kernel @part() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128x64xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<32xf32>
    tile.acquire %c : <vector<128x64xf32>>
    tile.write %v, %c : vector<32xf32>, <vector<128x64xf32>>
    // expected-error @below {{channel "c": @producer commits a stage of which some columns are not written}}
    tile.commit %c : <vector<128x64xf32>>
  }
  tile.role @consumer kind(vector) {
    tile.wait %c : <vector<128x64xf32>>
    %v = tile.read %c[32] : <vector<128x64xf32>> -> vector<32xf32>
    %w = arith.addf %v, %v : vector<32xf32>
    tile.release %c : <vector<128x64xf32>>
  }
}
