// Two roles with products of their own, each of which waits for what lanes make of
// the other one's. Tests leave out lines by their tags, and bring back others.
tile.kernel @pair(
    %x: memref<?x128xbf16> {tile.name = "x", tile.dims = ["N", "128"]},
    %y: memref<?x128xbf16> {tile.name = "y", tile.dims = ["N", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %q0 = tile.channel "q0" smem stages(1) : <vector<128x128xbf16>>
  %q1 = tile.channel "q1" smem stages(1) : <vector<128x128xbf16>>
  %s0 = tile.channel "s0" tmem stages(1) : <vector<128x128xf32>>
  %s1 = tile.channel "s1" tmem stages(1) : <vector<128x128xf32>>
  %p0 = tile.channel "p0" smem stages(1) : <vector<128x128xbf16>>
  %p1 = tile.channel "p1" smem stages(1) : <vector<128x128xbf16>>
  %o0 = tile.channel "o0" tmem stages(1) : <vector<128x128xf32>>
  %o1 = tile.channel "o1" tmem stages(1) : <vector<128x128xf32>>
  //+token %t = tile.channel "t" smem stages(1) : <vector<1xi32>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    tile.commit %q0, %a : <vector<128x128xbf16>>, vector<128x128xbf16>
    %b = tile.load %x[%c0, %c0] : memref<?x128xbf16> -> vector<128x128xbf16>
    tile.commit %q1, %b : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma0 kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    %tq = tile.wait %q0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      //+swap0 %tp = tile.wait %p1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %s0 : <vector<128x128xf32>>
      %ts = tile.mma %tq, transpose %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s0, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p1 : <vector<128x128xbf16>> -> vector<128x128xbf16> // #wait-p1
      tile.acquire %o0 : <vector<128x128xf32>>
      %to = tile.mma %tp, %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %o0, %to : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %p1 : <vector<128x128xbf16>> // #release-p1
    }
  }
  tile.role @mma1 kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    %tq = tile.wait %q1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      //+swap1 %tp = tile.wait %p0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %s1 : <vector<128x128xf32>>
      %ts = tile.mma %tq, transpose %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s1, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p0 : <vector<128x128xbf16>> -> vector<128x128xbf16> // #wait-p0
      tile.acquire %o1 : <vector<128x128xf32>>
      %to = tile.mma %tp, %tq : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %o1, %to : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %p0 : <vector<128x128xbf16>> // #release-p0
      //+token tile.commit %t : <vector<1xi32>>
    }
  }
  tile.role @lanes0 kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s0 : <vector<128x128xf32>>
      tile.acquire %p0 : <vector<128x128xbf16>> // #acquire-p0
      tile.commit %p0, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      %to = tile.wait %o0 : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.release %o0 : <vector<128x128xf32>>
      //+token tile.wait %t : <vector<1xi32>>
    }
  }
  tile.role @lanes1 kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s1 : <vector<128x128xf32>>
      tile.acquire %p1 : <vector<128x128xbf16>> // #acquire-p1
      tile.commit %p1, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      %to = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.release %o1 : <vector<128x128xf32>>
    }
  }
}
