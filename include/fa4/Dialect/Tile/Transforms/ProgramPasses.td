//===- ProgramPasses.td - passes on tile programs -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Kernels without roles: the dataflow of whole tiles.

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PROGRAMPASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PROGRAMPASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// tile-subtile
//===----------------------------------------------------------------------===//

def TileSubtile : FA4_Pass<"tile-subtile", "::fa4::tile::KernelOp"> {
  let summary = "Cut MMAs into ones of the target's rows";
  let description = [{
    *Input*: a tile program with tiles of any number of rows. *Output*: the same program
    with MMAs of the number of rows that the target's MMA has (128; 64 on sm_90a).

    Where an MMA has more rows, the pass cuts the dimension of these rows into equal parts. It follows the dimension
    wherever it leads: through elementwise operations, reductions, broadcasts, loops and branches to loads and stores,
    which get an offset. Every operation that depends on the rows is there once for each part afterwards, in the order
    of the original operations. Values that do not depend on the rows (keys, values) are shared by all parts. If
    another MMA sums along the cut dimension, it becomes a sequence of MMAs, each of which adds to the result of the
    one before.

    Where a tile to be cut has as many columns as rows, and one `vector.step` or constant counts both, each use of it gets
    a copy of its own, so that only the rows are cut.

    A kernel without such MMAs is left as it is. An operation that cannot work on parts is an error.

    Before:

    ```mlir
    tile.kernel @scores(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                        %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["N", "64"]},
                        %m: memref<?xf32> {tile.name = "m", tile.dims = ["M"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %zero = arith.constant dense<0.0> : vector<256xf32>
      %row = arith.muli %i, %c256 : index
      %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
      %tk = tile.load %k[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      %s = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<128x64xbf16> -> vector<256x128xf32>
      %max = vector.multi_reduction <maxnumf>, %s, %zero [1] : vector<256x128xf32> to vector<256xf32>
      tile.store %max, %m[%row] : vector<256xf32>, memref<?xf32>
    }
    ```

    After (shortened):

    ```
    %tq0 = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %row1 = arith.addi %row, %c128 : index
    %tq1 = tile.load %q[%row1, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %tk = tile.load %k[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %s0 = tile.mma %tq0, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %s1 = tile.mma %tq1, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    ...
    tile.store %max1, %m[%row1] : vector<128xf32>, memref<?xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// tile-lazy-rescale
//===----------------------------------------------------------------------===//

def TileLazyRescale : FA4_Pass<"tile-lazy-rescale", "::fa4::tile::KernelOp"> {
  let summary = "Rescale accumulators only when the row max has grown much";
  let description = [{
    *Input*: a tile program with an online softmax. *Output*: the same program, in which
    an accumulator is rescaled only where the row max has grown by more than
    `threshold`, and which gives the same results up to rounding.

    An online softmax keeps sums in units of `2^(c m)`, where `m` is the row max so
    far. When the row max grows to `m'`, it multiplies the sums by `a = 2^(c (m - m'))`.
    Any `m` gives the right result as long as nothing overflows. So this pass keeps
    the old `m` in rows where `c (m' - m) <= threshold` (FlashAttention-4, arXiv
    2603.05451): in these rows `a` is 1, and sums are at most `2^threshold` times as
    large.

    It looks for a loop that carries a row max `m` from -inf,

    ```
    m' = rowmax(x) joined with m       (vector.multi_reduction <maxnumf>)
    f  = m' or 0 where m' is -inf      (optional: arith.cmpf oeq, arith.select)
    a  = exp2((m - f) * c)             c > 0, a splat constant; optional
    ```

    and puts selects behind `m'` and `f`. `f` may also be 0 where `m'` is below a bound of which `c` times is -150 or
    less: exponentials relative to 0 are 0 there. `a` becomes 1 in rows where `m` is -inf or below that bound, in
    which nothing has been summed yet. The carried `m` is then no longer the row max but a reference that it exceeds
    by no more than the threshold. The pass proves that any reference is right: it follows what depends on `m` through
    the loop and what comes after, and leaves the loop alone unless all sums begin at 0 and are in units of `2^(c m)`,
    each exponent is of scores that have gone into the maximum (so that rows with an `m` of -inf have summed nothing),
    and only values in which `m` cancels, as `sum / l` and `c m + log2(l)`, go anywhere else. What is replaced by NaN
    where `abs(m)` is beyond a bound counts as what it was.

    Products of a carried MMA accumulator and the row factor `a` become
    `tile.rescale`, which costs nothing in a block where all factors are 1.

    With `threshold = 0` the reference is always the row max, as it was. The largest threshold is that with which
    nothing overflows: exponentials of up to `2^threshold` are rounded to some type (f16: 15), and sums of up to 2^29
    of them, and their reciprocals, must be normal numbers of f32 (97).

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %n = memref.dim %x, %c0 : memref<?x64xbf16>
      %q = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
      %none = arith.constant dense<0.0> : vector<128xf32>
      %r:3 = scf.for %j = %c0 to %n step %c128 iter_args(%o = %zero, %m = %ninf, %l = %none) -> (vector<128x64xf32>, vector<128xf32>, vector<128xf32>) {
        %k = tile.load %x[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        %s = tile.mma %q, transpose %k : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
        %m2 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
        %d = arith.subf %m, %m2 : vector<128xf32>
        %a = math.exp2 %d : vector<128xf32>
        %m2c = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
        %m2b = vector.broadcast %m2c : vector<128x1xf32> to vector<128x128xf32>
        %e = arith.subf %s, %m2b : vector<128x128xf32>
        %p = math.exp2 %e : vector<128x128xf32>
        %pb = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
        %la = arith.mulf %l, %a : vector<128xf32>
        %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
        %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
        %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x64xf32>
        %oa = arith.mulf %o, %ab : vector<128x64xf32>
        %o2 = tile.mma %pb, %k acc %oa : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
        scf.yield %o2, %m2, %l2 : vector<128x64xf32>, vector<128xf32>, vector<128xf32>
      }
      %lc = vector.shape_cast %r#2 : vector<128xf32> to vector<128x1xf32>
      %lb = vector.broadcast %lc : vector<128x1xf32> to vector<128x64xf32>
      %on = arith.divf %r#0, %lb : vector<128x64xf32>
      tile.store %on, %y[%c0, %c0] : vector<128x64xf32>, memref<?x64xf32>
    }
    ```

    After (shortened):

    ```
    %m1 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %grown = arith.subf %m1, %m : vector<128xf32>
    %keep = arith.cmpf ole, %grown, %threshold : vector<128xf32>
    %m2 = arith.select %keep, %m, %m1 : vector<128xi1>, vector<128xf32>
    ...
    %fresh = arith.cmpf oeq, %m, %ninf : vector<128xf32>
    %a2 = arith.select %fresh, %one, %a : vector<128xi1>, vector<128xf32>
    ...
    %oa = tile.rescale %o, %a2 : vector<128x64xf32>, vector<128xf32>
    ```
  }];
  let options = [
    Option<"threshold", "threshold", "double", /*default=*/"8.0",
           "Growth of the row max, in units of log2, up to which it is ignored: 0 (none) "
           "to 15 where exponentials are rounded to f16, to 97 for bf16 and f32">
  ];
}

//===----------------------------------------------------------------------===//
// tile-pair-ctas
//===----------------------------------------------------------------------===//

def TilePairCtas : FA4_Pass<"tile-pair-ctas", "::fa4::tile::KernelOp"> {
  let summary = "Let two CTAs issue MMAs together";
  let description = [{
    *Input*: a tile program with MMAs of the target's rows. *Output*: the same program, whose CTAs work in pairs (`#tile.cluster`):
    each MMA is one of twice the rows, of which each CTA has its own A and result, and half of B in its shared memory.

    Two CTAs can be a pair if their work tiles are neighbours along an axis of the grid, both make the same passes, and the B of
    all MMAs is loaded. This follows from what depends on the coordinate along that axis:

    | B | in a pair |
    |---|---|
    | is the same in both CTAs | each CTA loads half of it, `split(0)` where it is transposed, else `split(1)`. A tile that is both, or is used as a whole as well, has a load for each |
    | is the block of the work tile, and the result is added to memory (`tile.reduce_add`), at the same place in both | the MMA sums over both work tiles: B is loaded with the rows of both, A is loaded so or exchanged (`tile.exchange`), and each CTA adds half of the rows of the result |

    Where bounds of loops depend on the coordinate (a causal mask), a program has pairs if it says that more passes do no harm:
    `tile.at_most` and `tile.at_least` become the bounds of both CTAs. Without pairs, they are the CTA's own.

    What pairs save is shared memory: each CTA reads and keeps half of B. An MMA of a pair takes fewer cycles than one of a single
    CTA where it is bound by what it reads there, and as many elsewhere. Where the shared memory of one CTA does not hold two tiles of
    each load in a loop, beside one of the others, MMAs and loads take turns, unless halves of B make room. `pairs` says what is made of that:

    | `pairs` | |
    |---|---|
    | `auto` | pairs where the MMAs of the program take fewer cycles that way, or no longer take turns with loads, or where sums over the axis keep the port of shared memory busy for a sixth less time; none where there is one work tile along the axis |
    | `on` | pairs; an error if a program with MMAs has none |
    | `off` | each CTA works for itself |

    Before:

    ```mlir
    tile.kernel @pairs(%a: memref<?x64xbf16> {tile.name = "A", tile.dims = ["M", "64"]},
                       %b: memref<64x128xbf16> {tile.name = "B", tile.dims = ["64", "128"]},
                       %c: memref<?x128xf32> {tile.name = "C", tile.dims = ["M", "128"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %row = arith.muli %i, %c128 : index
      %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      %tb = tile.load %b[%c0, %c0] : memref<64x128xbf16> -> vector<64x128xbf16>
      %tc = tile.mma %ta, %tb : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
      tile.store %tc, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
    }
    ```

    After, the kernel has `cluster = #tile.cluster<size = 2, axis = 0>`, and `tile.load %b[%c0, %c0] split(1)` loads half of the columns.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
  let options = [
    Option<"pairs", "pairs", "std::string", /*default=*/"\"auto\"",
           "Whether CTAs work in pairs: auto, on or off">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print as a remark what pairs save, or what is in their way">
  ];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_PROGRAMPASSES_TD
