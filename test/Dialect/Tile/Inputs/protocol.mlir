// Two products a pass, the second of which takes what lanes make of the first, in
// its place. Tests leave out lines by their tags, and bring back others.
tile.kernel @kernel(
    %x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
    %y: memref<?x128xbf16> {tile.name = "y", tile.dims = ["M", "128"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %k = tile.channel "k" smem stages(2) : <vector<128x128xbf16>> // #two-stages
  //+one-stage %k = tile.channel "k" smem stages(1) : <vector<128x128xbf16>>
  %u = tile.channel "u" tmem stages(1) : <vector<128x128xf32>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) : <vector<128x128xbf16>> // #in-place
  //+apart %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  //+wrong-place %p = tile.channel "p" tmem stages(1) in_place_of(%u : !tile.channel<vector<128x128xf32>>) : <vector<128x128xbf16>>
  %o = tile.channel "o" smem stages(1) : <vector<128x128xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %k : <vector<128x128xbf16>>
      %a = tile.load %x[%i, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
      tile.commit %k, %a : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %k : <vector<128x128xbf16>>
      %b = tile.load %x[%i, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
      tile.commit %k, %b : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    //+wait-outside %tk1 = tile.wait %k : <vector<128x128xbf16>> -> vector<128x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %tk1 = tile.wait %k : <vector<128x128xbf16>> -> vector<128x128xbf16> // #wait-inside
      %tk2 = tile.wait %k : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %ts = tile.mma %tk1, transpose %tk1 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %k : <vector<128x128xbf16>>
      //+early-release tile.release %k : <vector<128x128xbf16>>
      tile.acquire %u : <vector<128x128xf32>> // #acquire
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tu = tile.mma %tp, %tk2 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %u, %tu : <vector<128x128xf32>>, vector<128x128xf32> // #commit
      //+early-commit %tv = tile.mma %tp, %tk2 acc %tu : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      //+second-commit tile.commit %u, %tu : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %k : <vector<128x128xbf16>> // #late-release
    }
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
      //+swapped-waits %tu = tile.wait %u : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      //+late-read %late = arith.negf %ts : vector<128x128xf32>
      %tu = tile.wait %u : <vector<128x128xf32>> -> vector<128x128xf32> // #wait-u
      %to = arith.truncf %tu : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %u : <vector<128x128xf32>> // #release
      tile.acquire %o : <vector<128x128xbf16>>
      tile.commit %o, %to : <vector<128x128xbf16>>, vector<128x128xbf16>
      //+value-after-release %after = arith.negf %tu : vector<128x128xf32>
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16> // #trips
    //+other-trips %n = memref.dim %y, %c0 : memref<?x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %to = tile.wait %o : <vector<128x128xbf16>> -> vector<128x128xbf16> // #wait-o
      tile.store %to, %y[%i, %c0] : vector<128x128xbf16>, memref<?x128xbf16> // #wait-o
      tile.release %o : <vector<128x128xbf16>> // #wait-o
      //+read-after-release tile.store %to, %y[%i, %c0] : vector<128x128xbf16>, memref<?x128xbf16>
    }
  }
  //+two-producers tile.role @other kind(vector) {
  //+two-producers   %v = arith.constant dense<1.0> : vector<128x128xbf16>
  //+two-producers   tile.acquire %o : <vector<128x128xbf16>>
  //+two-producers   tile.commit %o, %v : <vector<128x128xbf16>>, vector<128x128xbf16>
  //+two-producers }
}
