// Work tiles one after the other, each with a number of blocks of its own. Tests
// leave out lines by their tags, and bring back others.
tile.kernel @persistent(
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
    %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %q = tile.channel "q" smem stages(1) : <vector<128x64xbf16>>
  %k = tile.channel "k" smem stages(2) : <vector<64x64xbf16>>
  %acc = tile.channel "acc" tmem stages(1) : <vector<128x64xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<128x64xbf16>>
  tile.role @epilogue kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %cst = arith.constant dense<0.0> : vector<128x64xf32>
    %first = tile.work_tile : index
    %size = memref.dim %x, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %size, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %row = arith.muli %tile, %c128 : index
      %blocks = arith.ceildivsi %row, %c128 : index
      %any = arith.cmpi sgt, %blocks, %c0 : index
      %v = tile.wait %acc : <vector<128x64xf32>> -> vector<128x64xf32>
      %w = scf.if %any -> (vector<128x64xf32>) {
        scf.yield %v : vector<128x64xf32>
      } else {
        scf.yield %cst : vector<128x64xf32>
      }
      %t = arith.truncf %w : vector<128x64xf32> to vector<128x64xbf16>
      tile.release %acc : <vector<128x64xf32>> // #release-acc
      tile.acquire %o : <vector<128x64xbf16>> // #acquire-o
      tile.commit %o, %t : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %cst = arith.constant dense<0.0> : vector<128x64xf32>
    %first = tile.work_tile : index
    %size = memref.dim %x, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %size, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %row = arith.muli %tile, %c128 : index
      %blocks = arith.ceildivsi %row, %c128 : index
      %tq = tile.wait %q : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %acc : <vector<128x64xf32>> // #acquire-acc
      %r = scf.for %i = %c0 to %blocks step %c1 iter_args(%a = %cst) -> (vector<128x64xf32>) {
        %more = arith.cmpi ne, %i, %c0 : index
        %tk = tile.wait %k : <vector<64x64xbf16>> -> vector<64x64xbf16>
        %s = tile.mma %tq, transpose %tk acc %a if %more : vector<128x64xbf16>, vector<64x64xbf16> -> vector<128x64xf32>
        tile.release %k : <vector<64x64xbf16>> // #release-k
        scf.yield %s : vector<128x64xf32>
      }
      //+early-release tile.release %q : <vector<128x64xbf16>>
      tile.commit %acc, %r : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %q : <vector<128x64xbf16>> // #release-q
    }
  }
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %first = tile.work_tile : index
    %size = memref.dim %x, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %size, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %row = arith.muli %tile, %c128 : index
      %blocks = arith.ceildivsi %row, %c128 : index // #blocks
      //+other-blocks %blocks = arith.ceildivsi %row, %c64 : index
      tile.acquire %q : <vector<128x64xbf16>>
      %tq = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %q, %tq : <vector<128x64xbf16>>, vector<128x64xbf16>
      scf.for %i = %c0 to %blocks step %c1 {
        %key = arith.muli %i, %c64 : index
        tile.acquire %k : <vector<64x64xbf16>>
        %tk = tile.load %x[%key, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
        tile.commit %k, %tk : <vector<64x64xbf16>>, vector<64x64xbf16>
      }
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %first = tile.work_tile : index
    %size = memref.dim %x, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %size, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %row = arith.muli %tile, %c128 : index
      %to = tile.wait %o : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.store %to, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      tile.release %o : <vector<128x64xbf16>> // #release-o
    }
    //+release-after scf.for %tile = %first to %tiles step %c2 {
    //+release-after   tile.release %o : <vector<128x64xbf16>>
    //+release-after }
  }
}
