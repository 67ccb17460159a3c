// Work tiles are copied in pieces, as many as the tile says, or one more if
// there would be none. Tests leave out lines by their tags, and bring back
// others.
tile.kernel @copy(
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
    %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 64>]} {
  %a = tile.channel "a" smem stages(2) : <vector<64x64xbf16>>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %first = tile.work_tile : index
    %size = memref.dim %x, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %size, %c64 : index
    scf.for %tile = %first to %tiles step %c1 {
      %pieces = arith.remsi %tile, %c8 : index
      scf.for %i = %c0 to %pieces step %c1 {
        tile.acquire %a : <vector<64x64xbf16>>
        %t = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
        tile.commit %a, %t : <vector<64x64xbf16>>, vector<64x64xbf16>
      }
      //+tail %zero = arith.cmpi eq, %pieces, %c0 : index
      //+tail scf.if %zero {
      //+tail   tile.acquire %a : <vector<64x64xbf16>>
      //+tail   %t = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
      //+tail   tile.commit %a, %t : <vector<64x64xbf16>>, vector<64x64xbf16>
      //+tail }
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %first = tile.work_tile : index
    %size = memref.dim %x, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %size, %c64 : index
    scf.for %tile = %first to %tiles step %c1 {
      %pieces = arith.remsi %tile, %c8 : index
      %started = arith.cmpi ne, %tile, %first : index
      scf.for %i = %c0 to %pieces step %c1 {
        %t = tile.wait %a : <vector<64x64xbf16>> -> vector<64x64xbf16>
        tile.store %t, %y[%i, %c0] : vector<64x64xbf16>, memref<?x64xbf16>
        tile.release %a : <vector<64x64xbf16>> // #release
        //+first-tile scf.if %started {
        //+first-tile   tile.release %a : <vector<64x64xbf16>>
        //+first-tile }
        //+later-tile %is = arith.cmpi eq, %tile, %first : index
        //+later-tile scf.if %is {
        //+later-tile   tile.release %a : <vector<64x64xbf16>>
        //+later-tile }
      }
      //+tail %zero = arith.cmpi eq, %pieces, %c0 : index
      //+tail scf.if %zero {
      //+tail   %t = tile.wait %a : <vector<64x64xbf16>> -> vector<64x64xbf16>
      //+tail   tile.store %t, %y[%c0, %c0] : vector<64x64xbf16>, memref<?x64xbf16>
      //+tail   tile.release %a : <vector<64x64xbf16>> // #release-tail
      //+tail }
    }
  }
}
