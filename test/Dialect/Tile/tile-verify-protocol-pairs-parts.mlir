// Of the B of an MMA of a pair, each CTA has half of the columns, and of its A
// the whole, on whichever way a value of a channel becomes the operand: as a
// part of it, through a loop that carries it, or through a branch. A channel with
// another part would let the MMA read columns that no CTA has loaded.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/tile-verify-protocol-pairs-parts.mlir --tile-verify-protocol -o /dev/null
// $ sed '/#carried/s/split(1)/split(0)/' $S/tile-verify-protocol-pairs-parts.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: 'tile.mma' op needs a B of which each CTA of the cluster has half of the columns, which channel "first" has not
// ...
// [1]
//
// Each side of a branch counts.
//
// $ sed '/#then/s/split(1)/split(0)/' $S/tile-verify-protocol-pairs-parts.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: 'tile.mma' op needs a B of which each CTA of the cluster has half of the columns, which channel "second" has not
// ...
// [1]
// $ sed '/#else/s/split(1)//' $S/tile-verify-protocol-pairs-parts.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: 'tile.mma' op needs a B of which each CTA of the cluster has half of the columns, which channel "third" has not
// ...
// [1]
// $ sed '/#whole/{s/ :/ split(0) :/;s/%row/%c0/}' $S/tile-verify-protocol-pairs-parts.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: 'tile.mma' op has an A of which each CTA of the cluster has only a part, in channel "A"
// ...
// [1]
//
// A part of the columns is in one CTA, not half in each; a part of the rows is.
//
// $ sed 's,//+rows ,,' $S/tile-verify-protocol-pairs-parts.mlir | fa4-opt --tile-verify-protocol -o /dev/null
// $ sed 's,//+columns ,,' $S/tile-verify-protocol-pairs-parts.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: 'tile.mma' op needs a B of which each CTA of the cluster has half of the columns, but takes some of the columns of channel "second"
// ...
// [1]

!a = vector<128x64xbf16>
!b = vector<64x128xbf16>
!c = vector<128x128xf32>
tile.kernel @pair(%x: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %y: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>,
                grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %ca = tile.channel "A" smem stages(1) : <!a> //#whole
  %cb0 = tile.channel "first" smem stages(1) split(1) : <!b> //#carried
  %cb1 = tile.channel "second" smem stages(1) split(1) : <!b> //#then
  %cb2 = tile.channel "third" smem stages(1) split(1) : <!b> //#else
  %cc = tile.channel "sum" tmem stages(1) : <!c>
  //+rows %cd = tile.channel "other" tmem stages(1) : <!c>
  //+columns %cd = tile.channel "other" tmem stages(1) : <vector<128x64xf32>>
  tile.role @load kind(issuer) {
    %t:2 = tile.work_tile : index, index
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %t#0, %c128 : index
    %col = arith.muli %t#1, %c128 : index
    %a = tile.load %x[%row, %c0] : memref<?x?xbf16> -> !a //#whole
    tile.commit %ca, %a : <!a>, !a
    %b0 = tile.load %y[%c0, %col] split(1) : memref<?x?xbf16> -> !b //#carried
    tile.commit %cb0, %b0 : <!b>, !b
    %b1 = tile.load %y[%c0, %col] split(1) : memref<?x?xbf16> -> !b //#then
    tile.commit %cb1, %b1 : <!b>, !b
    %b2 = tile.load %y[%c0, %col] split(1) : memref<?x?xbf16> -> !b //#else
    tile.commit %cb2, %b2 : <!b>, !b
  }
  tile.role @mma kind(issuer) leader {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %size = memref.dim %x, %c1 : memref<?x?xbf16>
    %isSmall = arith.cmpi ult, %size, %c64 : index
    %zero = arith.constant dense<0.0> : !c
    %a = tile.wait %ca : <!a> -> !a
    %b0 = tile.wait %cb0 : <!b> -> !b
    %b1 = tile.wait %cb1 : <!b> -> !b
    %b2 = tile.wait %cb2 : <!b> -> !b
    %either = scf.if %isSmall -> (!b) {
      scf.yield %b1 : !b
    } else {
      scf.yield %b2 : !b
    }
    %sum:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %zero, %ta = %a, %tb = %b0) -> (!c, !a, !b) {
      %isNext = arith.cmpi ne, %i, %c0 : index
      %one = tile.mma %ta, %tb acc %acc if %isNext : !a, !b -> !c
      %two = tile.mma %ta, %either acc %one : !a, !b -> !c
      scf.yield %two, %ta, %tb : !c, !a, !b
    }
    tile.commit %cc, %sum#0 : <!c>, !c
    //+rows %pa = vector.extract_strided_slice %a {offsets = [0, 0], sizes = [128, 32], strides = [1, 1]} : !a to vector<128x32xbf16>
    //+rows %pb = vector.extract_strided_slice %b1 {offsets = [0, 0], sizes = [32, 128], strides = [1, 1]} : !b to vector<32x128xbf16>
    //+rows %d = tile.mma %pa, %pb : vector<128x32xbf16>, vector<32x128xbf16> -> !c
    //+rows tile.commit %cd, %d : <!c>, !c
    //+columns %pb = vector.extract_strided_slice %b1 {offsets = [0, 0], sizes = [64, 64], strides = [1, 1]} : !b to vector<64x64xbf16>
    //+columns %d = tile.mma %a, %pb : !a, vector<64x64xbf16> -> vector<128x64xf32>
    //+columns tile.commit %cd, %d : <vector<128x64xf32>>, vector<128x64xf32>
  }
  tile.role @epilogue kind(vector) {
    %sum = tile.wait %cc : <!c> -> !c
    //+rows %d = tile.wait %cd : <!c> -> !c
    //+columns %d = tile.wait %cd : <vector<128x64xf32>> -> vector<128x64xf32>
  }
}
