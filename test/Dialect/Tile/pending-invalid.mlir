// An MMA that lanes have started writes their registers until it is awaited. The verifier must refuse whatever would
// use these registers early, leave an MMA under way where control flow meets, or let a role start MMAs whose results
// its threads do not hold.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

tile.kernel @tensor_memory() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @below {{is of kind 'matrix', but MMAs of sm_100a leave their results in tensor memory}}
  tile.role @r kind(matrix) {
  }
}

// -----

tile.kernel @pending_of_a_thread() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x64xbf16>>
  tile.role @r kind(issuer) {
    %a = tile.wait %x : <vector<128x64xbf16>> -> vector<128x64xbf16>
    // expected-error @below {{gives a pending tile in a role of kind 'issuer'; the threads of a 'matrix' role hold results, which are pending until they are awaited}}
    %s = tile.mma %a, transpose %a : vector<128x64xbf16>, vector<128x64xbf16> -> !tile.pending<vector<128x128xf32>>
    %t = tile.await %s : !tile.pending<vector<128x128xf32>>
    tile.release %x : <vector<128x64xbf16>>
  }
}

// -----

tile.kernel @pending_of_a_vector_role() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(vector) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-error @below {{gives a pending tile in a role of kind 'vector'}}
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @result_at_once() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-error @below {{gives a tile in a role of kind 'matrix'; the threads of a 'matrix' role hold results, which are pending until they are awaited}}
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @never_awaited() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-error @below {{must be awaited once (tile.await)}}
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @awaited_twice() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // expected-error @below {{must be the only use of the pending tile}}
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    %u = tile.await %s : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @awaited_under_a_condition(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %c0 = arith.constant 0 : index
    %some = arith.cmpi ne, %n, %c0 : index
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    scf.if %some {
      // expected-error @below {{must wait for a tile.mma of its own block: no MMA may be under way where control flow meets}}
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    }
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

// The edge of a loop.
tile.kernel @carried(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %first = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> (!tile.pending<vector<64x64xf32>>) {
      // expected-error @below {{must wait for a tile.mma of its own block: no MMA may be under way where control flow meets}}
      %t = tile.await %s : !tile.pending<vector<64x64xf32>>
      %next = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      scf.yield %next : !tile.pending<vector<64x64xf32>>
    }
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

// A pending tile is no accumulator: registers that an MMA writes must not be given to the next one.
tile.kernel @accumulator() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    // expected-note @below {{prior use here}}
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // expected-error @below {{use of value '%s' expects different type than prior uses: 'vector<64x64xf32>' vs '!tile.pending<vector<64x64xf32>>'}}
    %t = tile.mma %a, transpose %a acc %s : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
  }
}

// -----

// Products that are added to each other are awaited together, with the last one.
tile.kernel @sum_of_two_tiles(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // expected-error @below {{adds to two tiles ('acc' and 'onto')}}
    %t = tile.mma %a, transpose %a acc %zero onto %s : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %u = tile.await %t : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @sum_over_a_branch(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %c0 = arith.constant 0 : index
    %some = arith.cmpi ne, %n, %c0 : index
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    scf.if %some {
      // expected-error @below {{must add to the product of a tile.mma of its own block: no MMA may be under way where control flow meets}}
      %t = tile.mma %a, transpose %a onto %s : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
      %u = tile.await %t : !tile.pending<vector<64x64xf32>>
    }
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

tile.kernel @sum_and_its_part() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.mma %a, transpose %a onto %s : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    // expected-error @below {{must be the only use of the pending tile}}
    %u = tile.await %s : !tile.pending<vector<64x64xf32>>
    %w = tile.await %t : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
  }
}
