// What the verifier cannot put into its model of the roles is an error that says
// which role, and where: operations that read what nobody has handed over, and
// numbers beyond what the proof computes with.
//
// RUN: fa4-opt %s --tile-verify-protocol --split-input-file --verify-diagnostics

!t = vector<128x128xbf16>
!d = vector<128x128xf32>
tile.kernel @computes() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @lanes kind(vector) {
    %v = arith.constant dense<1.0> : !t
    tile.commit %a, %v : <!t>, !t
  }
  tile.role @issuer kind(issuer) {
    %v = tile.wait %a : <!t> -> !t
    // expected-error @+1 {{@issuer only issues operations on tiles, but 'arith.negf' computes with one}}
    %n = arith.negf %v : !t
  }
}

// -----

!t = vector<128x128xbf16>
tile.kernel @hands_on() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @issuer kind(issuer) {
    %c = arith.constant 1 : i1
    %v = arith.constant dense<1.0> : !t
    %w = arith.select %c, %v, %v : !t
    // expected-error @+1 {{channel "a": @issuer commits a value that no asynchronous operation of the role makes}}
    tile.commit %a, %w : <!t>, !t
  }
  tile.role @lanes kind(vector) {
    %v = tile.wait %a : <!t> -> !t
  }
}

// -----

!t = vector<128x128xbf16>
tile.kernel @two_channels(%x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  %b = tile.channel "b" smem stages(1) : <!t>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{@load commits the result of 'tile.load' to two channels, "b" and "a"}}
    %v = tile.load %x[%c0, %c0] : memref<?x128xbf16> -> !t
    tile.commit %a, %v : <!t>, !t
    tile.commit %b, %v : <!t>, !t
  }
  tile.role @lanes kind(vector) {
    %v = tile.wait %a : <!t> -> !t
    %w = tile.wait %b : <!t> -> !t
  }
}

// -----

!t = vector<128x128xbf16>
!d = vector<128x128xf32>
tile.kernel @own_matrix() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %d = tile.channel "d" tmem stages(1) : <!d>
  tile.role @mma kind(issuer) {
    %v = arith.constant dense<1.0> : !t
    // expected-error @+1 {{@mma has not waited for a matrix that 'tile.mma' reads}}
    %p = tile.mma %v, %v : !t, !t -> !d
    tile.commit %d, %p : <!d>, !d
  }
  tile.role @lanes kind(vector) {
    %v = tile.wait %d : <!d> -> !d
  }
}

// -----

tile.kernel @number(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  tile.role @request kind(issuer) {
    tile.work (%i) {
      %asked = tile.request : i128
      %number = tile.response %asked : i128
      // expected-error @+1 {{@request takes the number of its next work tile from a response that no channel holds}}
      tile.next %number
    }
  }
}

// -----

!t = vector<128xf32>
tile.kernel @factor(%n: i32 {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %big = arith.constant 65536 : i64
    %narrow = arith.trunci %n : i32 to i16
    %wide = arith.extui %narrow : i16 to i64
    %large = arith.muli %wide, %big : i64
    %m = arith.muli %large, %big : i64
    %v = arith.constant dense<1.0> : !t
    // expected-error @+1 {{@producer synchronises or accumulates by a number with a factor beyond 2^31: not supported by the protocol verifier}}
    scf.for %i = %c0 to %m step %c1 : i64 {
      tile.acquire %a : <!t>
      tile.commit %a, %v : <!t>, !t
    }
  }
  tile.role @consumer kind(vector) {
    %v = tile.wait %a : <!t> -> !t
    tile.release %a : <!t>
  }
}

// -----

!t = vector<128xf32>
tile.kernel @deep(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = arith.constant dense<1.0> : !t
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        scf.for %k = %c0 to %n step %c1 {
          // expected-error @+1 {{@producer synchronises or accumulates by a number that three loops decide: not supported by the protocol verifier}}
          scf.for %l = %c0 to %n step %c1 {
            tile.acquire %a : <!t>
            tile.commit %a, %v : <!t>, !t
          }
        }
      }
    }
  }
  tile.role @consumer kind(vector) {
    %v = tile.wait %a : <!t> -> !t
    tile.release %a : <!t>
  }
}

// -----

!t = vector<128xf32>
tile.kernel @twice(%n: i32 {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c2 = arith.constant 2 : i64
    %wide = arith.extui %n : i32 to i64
    %m = arith.muli %wide, %c2 : i64
    %v = arith.constant dense<1.0> : !t
    // expected-note @+2 {{@producer makes at least 0 passes of this loop}}
    // expected-error @+1 {{@producer makes as many passes of this loop as a multiple of an unknown says: not supported by the protocol verifier}}
    scf.for %i = %c0 to %m step %c1 : i64 {
      tile.acquire %a : <!t>
      tile.commit %a, %v : <!t>, !t
    }
  }
  tile.role @consumer kind(vector) {
    %v = tile.wait %a : <!t> -> !t
    tile.release %a : <!t>
  }
}

// -----

!t = vector<128xf32>
tile.kernel @odd(%n: i32 {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %c0 = arith.constant 0 : i64
    %c2 = arith.constant 2 : i64
    %wide = arith.extui %n : i32 to i64
    %m = arith.muli %wide, %c2 : i64
    // expected-error @+1 {{@producer decides by a multiple of an unknown: not supported by the protocol verifier}}
    %any = arith.cmpi sgt, %m, %c0 : i64
    %v = arith.constant dense<1.0> : !t
    scf.if %any {
      tile.acquire %a : <!t>
      tile.commit %a, %v : <!t>, !t
    }
  }
  tile.role @consumer kind(vector) {
    %v = tile.wait %a : <!t> -> !t
    tile.release %a : <!t>
  }
}

// -----

!t = vector<128xf32>
tile.kernel @releases() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : !t
    tile.acquire %a : <!t>
    tile.commit %a, %v : <!t>, !t
  }
  tile.role @consumer kind(vector) {
    // expected-error @+1 {{channel "a": @consumer releases a stage that it has not waited for}}
    tile.release %a : <!t>
    %v = tile.wait %a : <!t> -> !t
  }
}

// -----

!t = vector<128xf32>
tile.kernel @acquired_twice() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : !t
    tile.acquire %a : <!t>
    tile.commit %a, %v : <!t>, !t
  }
  tile.role @consumer kind(vector) {
    %v = tile.wait %a : <!t> -> !t
    // expected-error @+1 {{channel "a" is acquired by two roles}}
    tile.acquire %a : <!t>
    tile.release %a : <!t>
  }
}

// -----

!t = vector<128x64xf32>
tile.kernel @other_writer() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    tile.acquire %c : <!t>
    tile.commit %c : <!t>
  }
  tile.role @consumer kind(vector) {
    %v = arith.constant dense<1.0> : vector<64xf32>
    tile.wait %c : <!t>
    // expected-error @+1 {{channel "c" is written by a role that does not commit it}}
    tile.write %v, %c : vector<64xf32>, <!t>
    tile.release %c : <!t>
  }
}

// -----

!t = vector<128x64xf32>
tile.kernel @other_reader() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <!t>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<64xf32>
    tile.acquire %c : <!t>
    tile.write %v, %c : vector<64xf32>, <!t>
    // expected-error @+1 {{channel "c" is read by a role that does not wait for it}}
    %w = tile.read %c : <!t> -> vector<64xf32>
    tile.commit %c : <!t>
  }
  tile.role @consumer kind(vector) {
    tile.wait %c : <!t>
    tile.release %c : <!t>
  }
}

// -----

!t = vector<128xf32>
tile.kernel @half_placed() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(1)> : <!t>
  // expected-error @+1 {{channel "b" has no place, but "a" has one}}
  %b = tile.channel "b" smem stages(1) : <!t>
  tile.role @lanes kind(vector) {
  }
}
