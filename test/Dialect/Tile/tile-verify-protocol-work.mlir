// The proof is about any number of work tiles and any coordinates: what a role
// leaves open at the end of one tile, the next one has to find. Numbers of the next
// work tiles come to all roles from one channel, once a tile.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false

// One value a tile, through a ring that goes on from tile to tile.
tile.kernel @ring(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  %t = tile.channel "t" smem stages(2) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.work (%i) {
      tile.acquire %t : <vector<128x64xbf16>>
      %v = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %t, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.work (%i) {
      %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.store %v, %y[%i, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      tile.release %t : <vector<128x64xbf16>>
    }
  }
}

// -----

// Roles that do not wait for each other: a ring, and a role without channels. Neither keeps the
// other from going on without end; the proof takes them through the tiles together.
tile.kernel @apart(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]},
                   %z: memref<?x64xf32> {tile.name = "z", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  %t = tile.channel "t" smem stages(2) : <vector<128x64xbf16>>
  %u = tile.channel "u" smem stages(1) : <vector<128x64xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.work (%i) {
      tile.acquire %t : <vector<128x64xbf16>>
      %v = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %t, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.work (%i) {
      %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.store %v, %y[%i, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      tile.release %t : <vector<128x64xbf16>>
    }
  }
  tile.role @fill kind(vector) {
    %v = arith.constant dense<0.0> : vector<128x64xf32>
    tile.work (%i) {
      tile.acquire %u : <vector<128x64xf32>>
      tile.commit %u, %v : <vector<128x64xf32>>, vector<128x64xf32>
    }
  }
  tile.role @clear kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.work (%i) {
      %v = tile.wait %u : <vector<128x64xf32>> -> vector<128x64xf32>
      tile.store %v, %z[%i, %c0] : vector<128x64xf32>, memref<?x64xf32>
      tile.release %u : <vector<128x64xf32>>
    }
  }
}

// -----

// As many passes as the coordinate says, the same in both roles: other ones in each
// tile.
tile.kernel @passes(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                    %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  %t = tile.channel "t" smem stages(2) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.work (%i) {
      scf.for %j = %c0 to %i step %c1 {
        tile.acquire %t : <vector<128x64xbf16>>
        %v = tile.load %x[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %t, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.work (%i) {
      scf.for %j = %c0 to %i step %c1 {
        %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%j, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %t : <vector<128x64xbf16>>
      }
    }
  }
}

// -----

// A loop that is split at two numbers of the work tile, as masks of windows are.
// Passes of the first part say that the second number is not 0, when nobody asks for the first
// one any more.
tile.kernel @parts(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  %t = tile.channel "t" smem stages(1) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.work (%i) {
      %n = arith.maxsi %i, %c1 : index
      scf.for %j = %c0 to %n step %c1 {
        tile.acquire %t : <vector<128x64xbf16>>
        %v = tile.load %x[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %t, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    tile.work (%i) {
      %n = arith.maxsi %i, %c1 : index
      %third = arith.divui %i, %c3 : index
      %first = arith.minsi %third, %n : index
      %fifth = arith.divui %i, %c5 : index
      %last = arith.maxsi %fifth, %first : index
      %second = arith.minsi %last, %n : index
      scf.for %j = %c0 to %first step %c1 {
        %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%j, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %t : <vector<128x64xbf16>>
      }
      scf.for %j = %first to %second step %c1 {
        %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%j, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %t : <vector<128x64xbf16>>
      }
      scf.for %j = %second to %n step %c1 {
        %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%j, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %t : <vector<128x64xbf16>>
      }
    }
  }
}

// -----

// The consumer never gives a stage back: a kernel of one tile a CTA works, the
// second tile would hang.
tile.kernel @kept(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  // expected-error @+1 {{channel "t": 1 values are waited for by @store, but 0 released}}
  %t = tile.channel "t" smem stages(1) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    // expected-note @+1 {{@load makes 1 pass of this loop}}
    tile.work (%i) {
      tile.acquire %t : <vector<128x64xbf16>>
      %v = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %t, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    // expected-note @+1 {{@store makes 1 pass of this loop}}
    tile.work (%i) {
      // expected-note @+1 {{value 1 is waited for by @store here in pass 1 of its loop}}
      %v = tile.wait %t : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.store %v, %y[%i, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    }
  }
}

// -----

// One role takes its number from another channel: the roles would work on different
// tiles.
tile.kernel @two(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %a = tile.channel "a" smem stages(1) : <i128>
  %b = tile.channel "b" smem stages(1) : <i128>
  tile.role @request kind(issuer) {
    tile.work (%i) {
      tile.acquire %a : <i128>
      %asked = tile.request : i128
      tile.commit %a, %asked : <i128>, i128
      tile.acquire %b : <i128>
      %also = tile.request : i128
      tile.commit %b, %also : <i128>, i128
      %response = tile.wait %a : <i128> -> i128
      %number = tile.response %response : i128
      tile.release %a : <i128>
      tile.next %number
    }
  }
  tile.role @other kind(issuer) {
    tile.work (%i) {
      %response = tile.wait %b : <i128> -> i128
      %number = tile.response %response : i128
      tile.release %b : <i128>
      // expected-error @+1 {{@other takes the number of its next work tile from channel "b", but other roles from "a": they would work on different tiles}}
      tile.next %number
    }
  }
}

// -----

tile.kernel @twice(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %a = tile.channel "a" smem stages(1) : <i128>
  tile.role @request kind(issuer) {
    // expected-error @+1 {{@request must wait once for channel "a", at the top of its work, as it takes the number of its next work tile from there}}
    tile.work (%i) {
      tile.acquire %a : <i128>
      %asked = tile.request : i128
      tile.commit %a, %asked : <i128>, i128
      %first = tile.wait %a : <i128> -> i128
      tile.release %a : <i128>
      %response = tile.wait %a : <i128> -> i128
      %number = tile.response %response : i128
      tile.release %a : <i128>
      tile.next %number
    }
  }
}

// -----

tile.kernel @loaded(%x: memref<?xi32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %a = tile.channel "a" smem stages(1) : <i128>
  tile.role @load kind(issuer) {
    tile.work (%i) {
      tile.acquire %a : <i128>
      %v = arith.constant 0 : i128
      // expected-error @+1 {{channel "a": @load commits a value that is no response to a tile.request, though roles take the numbers of their work tiles from there}}
      tile.commit %a, %v : <i128>, i128
      %response = tile.wait %a : <i128> -> i128
      %number = tile.response %response : i128
      tile.release %a : <i128>
      tile.next %number
    }
  }
}
