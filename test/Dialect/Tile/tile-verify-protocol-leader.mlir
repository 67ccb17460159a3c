// A role of the leader waits for scalars of lanes in both CTAs of a pair, at one
// barrier, and each CTA has a stage of the channel. That role reads a scalar where it
// waits, before it gives the stages back, so nothing is read after its release.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt --tile-verify-protocol $S/tile-verify-protocol-leader.mlir -o /dev/null
//
// Nobody gives the stage of the scalar back, but the scores in which lanes have their next one
// come from MMAs behind the wait.
//
// $ sed '/tile.acquire %q /d; /tile.release %q /d' $S/tile-verify-protocol-leader.mlir > one.mlir
// $ fa4-opt --tile-verify-protocol one.mlir -o /dev/null
//
// Without that, the second scalar of a pass may come before the leader has seen the first.
//
// $ sed 's/^ *tile.commit %q, .*/&\n&/; s/^\( *\)%number = \(tile.wait %q .*\)/&\n\1%other = \2/' one.mlir > two.mlir
// $ fa4-opt --tile-verify-protocol two.mlir
// {{.*}}error: channel "q": a value is committed before @mma has surely waited for the previous one in this stage
// ...
// [1]
//
// The leader waits for both CTAs: each must commit a scalar before the scores that it waits for.
//
// $ sed 's/^\( *\)tile.acquire %s .*/\1%early = tile.wait %q : <index> -> index\n&/; /%number/d' $S/tile-verify-protocol-leader.mlir > early.mlir
// $ fa4-opt --tile-verify-protocol early.mlir
// {{.*}}error: channel "q": @mma waits forever for @lanes to commit it
// ...
// [1]

tile.kernel @kernel(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 128>]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) split(0) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %q = tile.channel "q" smem stages(1) : <index>
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %a : <vector<128x64xbf16>>
      %ta = tile.load %x[%i, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %a, %ta : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %b : <vector<128x64xbf16>>
      %tb = tile.load %x[%i, %c0] split(0) : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %b, %tb : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) leader {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tb = tile.wait %b : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %ta, transpose %tb : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %b : <vector<128x64xbf16>>
      tile.release %a : <vector<128x64xbf16>>
      %number = tile.wait %q : <index> -> index
      tile.release %q : <index>
    }
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %negated = arith.negf %ts : vector<128x128xf32>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %q : <index>
      tile.commit %q, %i : <index>, index
    }
  }
}
