// Channels of scalars of each type, between roles of each kind. One thread reads how
// many tiles of x there are for the work tile, whether their sum is negated, and by what it is
// multiplied; the others hear of it from channels, and their loops make that many passes.
// Lanes tell the role that stores where the result goes.
//
//   y[b] = (flags[b] > 0 ? -1 : 1) * scales[b] * sum of x[b, i], i < clamp(counts[b], 0, N)
tile.kernel @scalars(%counts: memref<?xi32> {tile.name = "counts", tile.dims = ["B"]},
                     %flags: memref<?xi64> {tile.name = "flags", tile.dims = ["B"]},
                     %scales: memref<?x2xf32> {tile.name = "scales", tile.dims = ["B", "2"]},
                     %x: memref<?x?x128x64xf32> {tile.name = "x", tile.dims = ["B", "N", "128", "64"]},
                     %y: memref<?x128x64xf32> {tile.name = "y", tile.dims = ["B", "128", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"B">], schedule = #tile.schedule<static>} {
  %count = tile.channel "count" smem stages(2) : <index>
  %negative = tile.channel "negative" smem stages(1) : <i1>
  %scale = tile.channel "scale" smem stages(1) : <f32>
  %place = tile.channel "place" smem stages(1) : <i32>
  %tiles = tile.channel "tiles" smem stages(2) : <vector<128x64xf32>>
  %sums = tile.channel "sums" smem stages(1) : <vector<128x64xf32>>
  tile.role @lanes kind(vector) first_warp(0) registers(200) {
    tile.work (%b) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %n = tile.wait %count : <index> -> index
      tile.release %count : <index>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (vector<128x64xf32>) {
        %t = tile.wait %tiles : <vector<128x64xf32>> -> vector<128x64xf32>
        %s = arith.addf %a, %t : vector<128x64xf32>
        tile.release %tiles : <vector<128x64xf32>>
        scf.yield %s : vector<128x64xf32>
      }
      %is_negative = tile.wait %negative : <i1> -> i1
      tile.release %negative : <i1>
      %factor = tile.wait %scale : <f32> -> f32
      tile.release %scale : <f32>
      %minus = arith.negf %factor : f32
      %signed = arith.select %is_negative, %minus, %factor : f32
      %tile = vector.broadcast %signed : f32 to vector<128x64xf32>
      %result = arith.mulf %sum, %tile : vector<128x64xf32>
      %at = arith.index_cast %b : index to i32
      tile.acquire %place : <i32>
      tile.commit %place, %at : <i32>, i32
      tile.acquire %sums : <vector<128x64xf32>>
      tile.commit %sums, %result : <vector<128x64xf32>>, vector<128x64xf32>
    }
  }
  tile.role @read kind(issuer) first_warp(4) registers(48) {
    tile.work (%b) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c0_i64 = arith.constant 0 : i64
      %most = memref.dim %x, %c1 : memref<?x?x128x64xf32>
      %read = tile.load_scalar %counts[%b] : memref<?xi32>
      %number = arith.index_cast %read : i32 to index
      %positive = arith.maxsi %number, %c0 : index
      %n = arith.minsi %positive, %most : index
      tile.acquire %count : <index>
      tile.commit %count, %n : <index>, index
      %flag = tile.load_scalar %flags[%b] : memref<?xi64>
      %is_negative = arith.cmpi sgt, %flag, %c0_i64 : i64
      tile.acquire %negative : <i1>
      tile.commit %negative, %is_negative : <i1>, i1
      %factor = tile.load_scalar %scales[%b, %c1] : memref<?x2xf32>
      tile.acquire %scale : <f32>
      tile.commit %scale, %factor : <f32>, f32
    }
  }
  tile.role @load kind(issuer) first_warp(5) registers(48) {
    tile.work (%b) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = tile.wait %count : <index> -> index
      tile.release %count : <index>
      scf.for %i = %c0 to %n step %c1 {
        tile.acquire %tiles : <vector<128x64xf32>>
        %t = tile.load %x[%b, %i, %c0, %c0] : memref<?x?x128x64xf32> -> vector<128x64xf32>
        tile.commit %tiles, %t : <vector<128x64xf32>>, vector<128x64xf32>
      }
    }
  }
  tile.role @store kind(issuer) first_warp(6) registers(48) {
    tile.work (%b) {
      %c0 = arith.constant 0 : index
      %at = tile.wait %place : <i32> -> i32
      tile.release %place : <i32>
      %row = arith.index_cast %at : i32 to index
      %s = tile.wait %sums : <vector<128x64xf32>> -> vector<128x64xf32>
      tile.store %s, %y[%row, %c0, %c0] : vector<128x64xf32>, memref<?x128x64xf32>
      tile.release %sums : <vector<128x64xf32>>
    }
  }
  tile.role @idle kind(idle) warps(1) first_warp(7) registers(48) {
  }
}
