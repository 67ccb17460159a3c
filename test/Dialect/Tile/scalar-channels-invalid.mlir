// What a channel of scalars cannot be, and what cannot be done with it.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics --verify-protocol

tile.kernel @type() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{a channel carries tiles (vectors) or scalars of type index, i32, i1, f32 or i128, not 'i64'}}
  %n = tile.channel "n" smem stages(1) : <i64>
}

// -----

tile.kernel @space() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{'tile.channel' op carries scalars of type 'i32', which are in shared memory (smem), not in tensor memory}}
  %n = tile.channel "n" tmem stages(1) : <i32>
}

// -----

tile.kernel @initial() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{'tile.channel' op carries scalars, so it cannot start with values that nobody has written ('initial')}}
  %n = tile.channel "n" smem stages(1) initial(1) : <index>
}

// -----

tile.kernel @guest() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %t = tile.channel "t" smem stages(1) : <vector<128xf32>>
  // expected-error @below {{'tile.channel' op carries scalars, which share the memory of no other channel ('in_place_of', 'at', 'after')}}
  %n = tile.channel "n" smem stages(1) in_place_of(%t : !tile.channel<vector<128xf32>>) : <i1>
}

// -----

tile.kernel @later() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %t = tile.channel "t" smem stages(1) : <vector<128xf32>>
  // expected-error @below {{'tile.channel' op carries scalars, which share the memory of no other channel ('in_place_of', 'at', 'after')}}
  %n = tile.channel "n" smem stages(1) after(%t : !tile.channel<vector<128xf32>>) : <f32>
}

// -----

tile.kernel @host() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  // expected-error @below {{'tile.channel' op shares the buffer of a channel of scalars, which shares its memory with no other channel}}
  %t = tile.channel "t" smem stages(1) in_place_of(%n : !tile.channel<i32>) : <vector<1xi32>>
}

// -----

tile.kernel @before() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  // expected-error @below {{'tile.channel' op says 'after' of channel 'n', which carries scalars and shares its memory with no other channel}}
  %t = tile.channel "t" smem stages(1) after(%n : !tile.channel<i32>) : <vector<1xi32>>
}

// -----

tile.kernel @value() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  tile.role @r kind(issuer) {
    %v = arith.constant 1 : index
    // expected-error @below {{'tile.commit' op commits 'index' to a channel of 'i32'}}
    tile.commit %n, %v : <i32>, index
  }
}

// -----

tile.kernel @nothing() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  tile.role @r kind(issuer) {
    // expected-error @below {{'tile.commit' op must have the scalar that it commits as an operand}}
    tile.commit %n : <i32>
  }
}

// -----

tile.kernel @result() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  tile.role @r kind(issuer) {
    // expected-error @below {{'tile.wait' op must have the scalar that it waits for as its result}}
    tile.wait %n : <i32>
  }
}

// -----

tile.kernel @read() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  tile.role @r kind(vector) {
    // expected-error @below {{'tile.read' op accesses a channel of scalars ('i32'), which are operands of tile.commit and results of tile.wait}}
    %v = tile.read %n : <i32> -> i32
  }
}

// -----

tile.kernel @write() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <i32>
  tile.role @r kind(vector) {
    %v = arith.constant 1 : i32
    // expected-error @below {{'tile.write' op accesses a channel of scalars ('i32'), which are operands of tile.commit and results of tile.wait}}
    tile.write %v, %n : i32, <i32>
  }
}

// -----

// Each lane has a row of its own, so that there is no one number to commit.
tile.kernel @lanes() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %n = tile.channel "n" smem stages(1) : <index>
  tile.role @producer kind(vector) {
    %row = tile.row : index
    // expected-error @below {{commits a scalar that lanes compute, each for itself: it may differ among them}}
    tile.commit %n, %row : <index>, index
  }
  tile.role @consumer kind(issuer) {
    %v = tile.wait %n : <index> -> index
  }
}

// -----

// Of a number that came through a channel in a loop, the proof does not know which one it is.
tile.kernel @loop(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %number = tile.channel "number" smem stages(1) : <index>
  %tiles = tile.channel "tiles" smem stages(1) : <vector<128xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<128xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{@producer makes 1 pass of this loop}}
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %number : <index>
      tile.commit %number, %i : <index>, index
      scf.for %j = %c0 to %i step %c1 {
        tile.acquire %tiles : <vector<128xf32>>
        tile.commit %tiles, %v : <vector<128xf32>>, vector<128xf32>
      }
    }
  }
  tile.role @consumer kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note @below {{@consumer makes 1 pass of this loop}}
    scf.for %i = %c0 to %n step %c1 {
      %m = tile.wait %number : <index> -> index
      tile.release %number : <index>
      // expected-note @below {{@consumer makes at least 1 pass of this loop in pass 1 of the one around it}}
      scf.for %j = %c0 to %m step %c1 {
        // expected-note @below {{@consumer in pass 1 of its loop waits for commit number 1 of channel "tiles" by @producer, which has ended}}
        // expected-error @below {{channel "tiles": @consumer waits forever for @producer to commit it}}
        %v = tile.wait %tiles : <vector<128xf32>> -> vector<128xf32>
        tile.release %tiles : <vector<128xf32>>
      }
    }
  }
}
