// Kernels whose roles wait for each other in a circle, or whose channels cannot
// be counted, are refused on the channel operation.
//
// RUN: fa4-opt %s --tile-schedule=verify=false --split-input-file --verify-diagnostics

// Each role waits for what the other one makes of it.
tile.kernel @circle() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" tmem stages(1) : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) : <vector<64x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // expected-error @below {{deadlock: operations of one iteration wait for each other in a circle through other roles}}
    scf.for %i = %c0 to %c8 step %c1 {
      %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tb = tile.wait %b : <vector<64x128xbf16>> -> vector<64x128xbf16>
      %ts = tile.mma %ta, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
    }
  }
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %h = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
      %ta = vector.extract_strided_slice %h {offsets = [0, 0], sizes = [128, 64], strides = [1, 1]} : vector<128x128xbf16> to vector<128x64xbf16>
      tile.commit %a, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
      %tb = arith.constant dense<0.0> : vector<64x128xbf16>
      tile.commit %b, %tb : <vector<64x128xbf16>>, vector<64x128xbf16>
    }
  }
}

// -----

// A commit under a condition has no number.
tile.kernel @condition(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %even = arith.cmpi ne, %i, %c1 : index
      scf.if %even {
        tile.acquire %a : <vector<128x64xbf16>>
        %t = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %a, %t : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    // expected-remark @below {{not pipelined: the commits and waits of channel 'a' cannot be numbered}}
    scf.for %i = %c0 to %c7 step %c1 {
      %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %ta, transpose %ta : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %a : <vector<128x64xbf16>>
    }
  }
}

// -----

// The accumulators change places.
tile.kernel @exchange(%a: memref<?x64xbf16> {tile.name = "a", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    // expected-remark @below {{not pipelined: it hands on a value that no operation of the iteration makes}}
    %r:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%x = %zero, %y = %zero) -> (vector<128x128xf32>, vector<128x128xf32>) {
      %t = tile.load %a[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      %z = tile.mma %t, transpose %t acc %y : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      scf.yield %z, %x : vector<128x128xf32>, vector<128x128xf32>
    }
  }
}
