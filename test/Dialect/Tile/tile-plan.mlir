// The pass tries what is fastest, and says of each plan that a kernel does not
// get what is wrong with it. A kernel that has a plan keeps it.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false --tile-plan=print -o /dev/null

// All work tiles make the same number of passes. CTAs stay, because there is memory
// for the next tile beside the one before.
// expected-remark @+1 {{the plan is #tile.plan<schedule = static, mmas = early>}}
tile.kernel @even(%q: memref<?x?x64xbf16> {tile.name = "q", tile.dims = ["Sq", "H", "64"]},
                  %k: memref<?x?x64xbf16> {tile.name = "k", tile.dims = ["Sk", "H", "64"]},
                  %s: memref<?x?x128xf32> {tile.name = "s", tile.dims = ["Sq", "H", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 128>, #tile.extent<"H">]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %i, %h = tile.work_tile : index, index
  %row = arith.muli %i, %c128 : index
  %sk = memref.dim %k, %c0 : memref<?x?x64xbf16>
  %tq = tile.load %q[%row, %h, %c0] dims [0, 2] : memref<?x?x64xbf16> -> vector<128x64xbf16>
  %sum = scf.for %j = %c0 to %sk step %c128 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %tk = tile.load %k[%j, %h, %c0] dims [0, 2] : memref<?x?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %tq, transpose %tk acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  tile.store %sum, %s[%row, %h, %c0] dims [0, 2] : vector<128x128xf32>, memref<?x?x128xf32>
}

// -----

// The matrices in shared memory are so large that the next ones could not lie beside
// what is stored, not even beside a part of it. So each CTA ends with its tile. There may be
// more tiles than a grid has CTAs along y, so that they are numbered in one dimension.
// expected-remark @+5 {{the plan is #tile.plan<schedule = lpt, mmas = early>}}
// expected-note @+4 {{#tile.plan<schedule = static, mmas = early>: needs 303176 bytes of shared memory, of which 'sm_100a' has 232448}}
// expected-note @+3 {{#tile.plan<schedule = static, mmas = early, store_parts = 5>: needs 237640 bytes of shared memory}}
// expected-note @+2 {{#tile.plan<schedule = static, mmas = early, store_parts = 5, overlap_stores = false>: needs 237640 bytes}}
// expected-note @+1 {{#tile.plan<schedule = static, mmas = early, store_parts = 5, share_stores = true, overlap_stores = false>: needs 237640 bytes}}
tile.kernel @large(%q: memref<?x384xbf16> {tile.name = "q", tile.dims = ["M", "384"]},
                   %k: memref<?x384xbf16> {tile.name = "k", tile.dims = ["N", "384"]},
                   %s: memref<?x?xf32> {tile.name = "s", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 160>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c160 = arith.constant 160 : index
  %i, %j = tile.work_tile : index, index
  %row = arith.muli %i, %c128 : index
  %column = arith.muli %j, %c160 : index
  %tq = tile.load %q[%row, %c0] : memref<?x384xbf16> -> vector<128x384xbf16>
  %tk = tile.load %k[%column, %c0] : memref<?x384xbf16> -> vector<160x384xbf16>
  %x = tile.mma %tq, transpose %tk : vector<128x384xbf16>, vector<160x384xbf16> -> vector<128x160xf32>
  tile.store %x, %s[%row, %column] : vector<128x160xf32>, memref<?x?xf32>
}

// -----

// Nobody knows that the loop makes a pass, so the accumulator need not begin anew
// with each tile.
// expected-remark @+2 {{the plan is #tile.plan<mmas = early>}}
// expected-note @+1 {{#tile.plan<schedule = static, mmas = early>: 'scf.for' op runs more than once in a CTA and carries an accumulator that role 'correction' works on in each pass, but may make no pass: not supported}}
tile.kernel @perhaps_empty(
    %q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["N", "64"]},
    %f: memref<?xf32> {tile.name = "f", tile.dims = ["N"]},
    %s: memref<?x64xf32> {tile.name = "s", tile.dims = ["N", "64"]},
    %first: index {tile.name = "first"}, %last: index {tile.name = "last"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<128x64xf32>
  %i = tile.work_tile : index
  %row = arith.muli %i, %c128 : index
  %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  %tf = tile.load %f[%row] : memref<?xf32> -> vector<128xf32>
  %column = vector.shape_cast %tf : vector<128xf32> to vector<128x1xf32>
  %factor = vector.broadcast %column : vector<128x1xf32> to vector<128x64xf32>
  %sum = scf.for %j = %first to %last step %c128 iter_args(%x = %zero) -> (vector<128x64xf32>) {
    %tk = tile.load %q[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %x2 = arith.mulf %x, %factor : vector<128x64xf32>
    %square = tile.mma %tq, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %p = arith.truncf %square : vector<128x128xf32> to vector<128x128xbf16>
    %y = tile.mma %p, %tk acc %x2 : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    scf.yield %y : vector<128x64xf32>
  }
  tile.store %sum, %s[%row, %c0] : vector<128x64xf32>, memref<?x64xf32>
}

// -----

// A plan that somebody has written stays, without a remark.
tile.kernel @kept(%q: memref<?xf32> {tile.name = "q", tile.dims = ["S"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"S" by 128>], plan = #tile.plan<mmas = late, max_stages = 2>} {
  %i = tile.work_tile : index
}

// -----

// A kernel that has an error gets no plan: the pass that meets the error reports it.
// expected-remark @+2 {{no plan can be followed}}
// expected-note @+1 {{deadlock: operations of one iteration wait for each other in a circle through other roles}}
tile.kernel @circle() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" tmem stages(1) : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) : <vector<64x128xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
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
