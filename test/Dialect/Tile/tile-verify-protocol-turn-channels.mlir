// A turn is a barrier that completes when both roles have arrived: two hand-overs without a wait between them would
// complete it by one role alone. The verifier must prove that each hand-over follows the wait for the one before, that
// turns come and are all taken, and that each has a barrier of its own for the threads of both roles.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/tile-verify-protocol-turn-channels.mlir --tile-allocate --tile-verify-protocol -o placed.mlir
// $ fa4-test-opt placed.mlir --tile-explore-protocol -o /dev/null
//
// The last role hands on the first turn twice, or not at all.
//
// $ sed -e '/#first$/p' $S/tile-verify-protocol-turn-channels.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "turn0": @compute1 may overwrite a stage while @compute0 reads it (channel "turn0")
// ...
// <stdin>:{{.*}}: note: before that, @compute1 waits for nothing in this memory, and not for @compute0
// ...
// [1]
// $ sed -e '/#first$/d' $S/tile-verify-protocol-turn-channels.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "turn0": @compute0 waits forever for @compute1 to commit it
// ...
// [1]
//
// A role takes a turn less than it is handed, or none.
//
// $ sed -e '/#last$/d' $S/tile-verify-protocol-turn-channels.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "turn0": 1 values are committed, but 0 waited for by @compute0
// ...
// [1]
// $ sed -e '/#wait1$/d' $S/tile-verify-protocol-turn-channels.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "turn1" is committed, but no role waits for it
// ...
// [1]
//
// Barriers: one for both turns, that of all threads, and one that waits for the threads of one role only.
//
// $ sed 's/full(2) arrivals(256)/full(1) arrivals(256)/' placed.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: turn "turn1" has named barrier 1, which is that of turn "turn0"
// ...
// [1]
// $ sed 's/full(2) arrivals(256)/full(0) arrivals(256)/' placed.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: turn "turn1" has named barrier 0, not one from 1 to 15
// ...
// [1]
// $ sed 's/full(2) arrivals(256)/full(2) arrivals(128)/' placed.mlir | fa4-opt --tile-verify-protocol
// <stdin>:{{.*}}: error: channel "turn1" has arrivals(128) a phase of its full barriers, expected arrivals(256): @compute0 128, @compute1 128
// ...
// [1]

tile.kernel @turns(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %turn0 = tile.channel "turn0" barrier stages(1) : <none>
  %turn1 = tile.channel "turn1" barrier stages(1) : <none>
  tile.role @compute0 kind(matrix) first_warp(0) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      tile.wait %turn0 : <none>
      tile.commit %turn1 : <none>
    }
    tile.wait %turn0 : <none> // #last
  }
  tile.role @compute1 kind(matrix) first_warp(4) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.commit %turn0 : <none> // #first
    scf.for %i = %c0 to %n step %c1 {
      tile.wait %turn1 : <none> // #wait1
      tile.commit %turn0 : <none>
    }
  }
}
