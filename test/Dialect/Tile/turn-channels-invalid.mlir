// A channel of turns is one named barrier and carries nothing: what a barrier cannot do is refused where it is written.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

tile.kernel @in_memory() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{carries no values, so it must be in a named barrier (barrier)}}
  %t = tile.channel "t" smem stages(1) : <none>
}

// -----

tile.kernel @tile() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{is in a named barrier, which holds no values of type 'vector<128xf32>'}}
  %t = tile.channel "t" barrier stages(1) : <vector<128xf32>>
}

// -----

tile.kernel @ring() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{is a turn, which has one stage, and none of 'initial', 'in_place_of', 'at', 'after'}}
  %t = tile.channel "t" barrier stages(2) : <none>
}

// -----

tile.kernel @initial() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{is a turn, which has one stage}}
  %t = tile.channel "t" barrier stages(1) initial(1) : <none>
}

// -----

tile.kernel @commits() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %t = tile.channel "t" barrier stages(1) : <none>
  tile.role @r kind(vector) {
    %v = arith.constant 1 : i32
    // expected-error @below {{commits a value to a channel of turns}}
    tile.commit %t, %v : <none>, i32
  }
}

// -----

tile.kernel @waits() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %t = tile.channel "t" barrier stages(1) : <none>
  tile.role @r kind(vector) {
    // expected-error @below {{waits for a value of a channel of turns}}
    %v = tile.wait %t : <none> -> i32
  }
}
