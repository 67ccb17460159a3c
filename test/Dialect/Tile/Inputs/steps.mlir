// A sum over K in steps of 64, of which there may be none, into a tile that the
// epilogue takes if there was one. The loads are issued one pass ahead. Tests
// change the conditions.
tile.kernel @steps(
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["K", "64"]},
    %y: memref<64x64xf32> {tile.name = "y", tile.dims = ["64", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(2) : <vector<64x64xbf16>>
  %acc = tile.channel "acc" tmem stages(1) : <vector<64x64xf32>>
  tile.role @epilogue kind(vector) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index // #one
    %cst = arith.constant dense<0.0> : vector<64x64xf32>
    %k = memref.dim %x, %c0 : memref<?x64xbf16>
    %any = arith.cmpi slt, %c0, %k : index // #any
    %v = tile.wait %acc : <vector<64x64xf32>> -> vector<64x64xf32>
    %w = scf.if %any -> (vector<64x64xf32>) {
      scf.yield %v : vector<64x64xf32>
    } else {
      scf.yield %cst : vector<64x64xf32>
    }
    tile.store %w, %y[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %cst = arith.constant dense<0.0> : vector<64x64xf32>
    %k = memref.dim %x, %c0 : memref<?x64xbf16>
    %r = scf.for %i = %c0 to %k step %c64 iter_args(%sum = %cst) -> (vector<64x64xf32>) {
      %more = arith.cmpi ne, %i, %c0 : index // #more
      %ta = tile.wait %a : <vector<64x64xbf16>> -> vector<64x64xbf16>
      %s = tile.mma %ta, %ta acc %sum if %more : vector<64x64xbf16>, vector<64x64xbf16> -> vector<64x64xf32>
      tile.release %a : <vector<64x64xbf16>>
      scf.yield %s : vector<64x64xf32>
    }
    tile.commit %acc, %r : <vector<64x64xf32>>, vector<64x64xf32>
  }
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %k = memref.dim %x, %c0 : memref<?x64xbf16>
    %any = arith.cmpi sgt, %k, %c0 : index // #first
    scf.if %any {
      tile.acquire %a : <vector<64x64xbf16>>
      %ta = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
      tile.commit %a, %ta : <vector<64x64xbf16>>, vector<64x64xbf16>
    }
    scf.for %i = %c0 to %k step %c64 {
      %next = arith.addi %i, %c64 : index
      %left = arith.subi %k, %i : index
      %more = arith.cmpi slt, %next, %k : index // #next
      scf.if %more {
        tile.acquire %a : <vector<64x64xbf16>>
        %ta = tile.load %x[%next, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
        tile.commit %a, %ta : <vector<64x64xbf16>>, vector<64x64xbf16>
      }
    }
  }
}
