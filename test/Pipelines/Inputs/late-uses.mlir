// Roles in which passes may move much: an MMA whose operands its loop does not change,
// and arithmetic that only one branch uses, behind the release of the value that it
// works on. y = x x^T of the first 128 rows of each 256, twice: the first
// time where n > 0, the second time where n > 1, and 2 elsewhere.
tile.kernel @late_uses(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                 %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<128x128xf32>>
  tile.role @lanes kind(vector) first_warp(0) registers(200) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant dense<2.0> : vector<128x128xf32>
    scf.for %i = %c0 to %c2 step %c1 {
      %v = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %d = arith.mulf %v, %cst : vector<128x128xf32>
      %sum = arith.addf %v, %d : vector<128x128xf32>
      tile.release %s : <vector<128x128xf32>>
      %some = arith.cmpi slt, %i, %n : index
      %r = scf.if %some -> (vector<128x128xf32>) {
        %t = arith.subf %sum, %d : vector<128x128xf32>
        scf.yield %t : vector<128x128xf32>
      } else {
        scf.yield %cst : vector<128x128xf32>
      }
      tile.acquire %o : <vector<128x128xf32>>
      tile.commit %o, %r : <vector<128x128xf32>>, vector<128x128xf32>
    }
  }
  tile.role @mma kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %v = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    scf.for %i = %c0 to %c2 step %c1 {
      tile.acquire %s : <vector<128x128xf32>>
      %u = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %u : <vector<128x128xf32>>, vector<128x128xf32>
    }
    tile.release %a : <vector<128x64xbf16>>
  }
  tile.role @load kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %w = tile.work_tile : index
    %at = arith.muli %w, %c256 : index
    tile.acquire %a : <vector<128x64xbf16>>
    %l = tile.load %x[%at, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %a, %l : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(6) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %w = tile.work_tile : index
    %c256 = arith.constant 256 : index
    %tile = arith.muli %w, %c256 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %part = arith.muli %i, %c128 : index
      %at = arith.addi %tile, %part : index
      %v = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.store %v, %y[%at, %c0] : vector<128x128xf32>, memref<?x128xf32>
      tile.release %o : <vector<128x128xf32>>
    }
  }
  tile.role @idle kind(idle) warps(1) first_warp(7) registers(48) {
  }
}
