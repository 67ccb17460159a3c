//===- Passes.td - passes on the tile dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// In the order of the pipeline.

//===----------------------------------------------------------------------===//
// tile-subtile
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-lazy-rescale
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-warp-specialize
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-schedule
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-allocate
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-split-exp
//===----------------------------------------------------------------------===//

def TileSplitExp : Pass<"tile-split-exp"> {
  let summary = "Compute a share of the exponentials by a polynomial";
  let description = [{
    The special function unit computes fewer exponentials a clock than the FMA
    pipe could. Rewrites each `math.exp2` of a matrix in a loop of a role that
    holds data to `tile.exp2`, which computes some pairs of columns by a
    polynomial. How many is computed from the target's rates and from the work of
    one iteration, which is counted in the kernel's roles: the least number for
    which the slowest of the MMAs, the pipes, tensor memory and the dependence
    cycle through exponential and MMAs is as fast as it can be; 0 where the MMAs
    are the slowest anyway. They are spread over all fragments of 32 columns but
    the last.

    The polynomial's coefficients are derived here, for the degree that the type needs
    to which the result is rounded (bf16 and f16: 3); what stays f32 is left
    alone.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      tile.role @r warps(4) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %c1 step %c1 {
          %x = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
          %y = math.exp2 %x : vector<128x128xf32>
          %z = arith.truncf %y : vector<128x128xf32> to vector<128x128xbf16>
          tile.acquire %p : <vector<128x128xbf16>>
          tile.commit %p, %z : <vector<128x128xbf16>>, vector<128x128xbf16>
          tile.release %s : <vector<128x128xf32>>
        }
      }
    }
    ```

    After (shortened):

    ```
    %y = tile.exp2 %x polynomial [0.695, 0.228, 0.077] pairs [2, 5, 8, ...] : vector<128x128xf32>
    ```
  }];
  let options = [
    Option<"pairsPerFragment", "pairs-per-fragment", "int64_t", /*default=*/"-1",
           "Emulated pairs in each fragment of 32 columns but the last; -1 = computed">,
    Option<"fraction", "fraction", "double", /*default=*/"-1",
           "Emulated share of all exponentials, 0 to 1; -1 = computed">,
    Option<"degree", "degree", "unsigned", /*default=*/"0",
           "Degree of the polynomial; 0 = what the result's type needs">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the roofline of each kernel as a table, to stderr">
  ];
}


//===----------------------------------------------------------------------===//
// tile-split-loops
//===----------------------------------------------------------------------===//

def TileSplitLoops : Pass<"tile-split-loops"> {
  let summary = "Split loops where a condition on their counter changes";
  let description = [{
    In roles that hold data, a loop (with step 1) with a branch that gives tiles, on
    `counter < n` or `counter >= n`, becomes two: up to `n` and from there
    on, each with one of the ways only. Where two ways join, their values have to be
    in the same registers, which costs a move for each element also in the iterations
    that take the cheap way.

    Runs after `tile-split-exp`, which counts the loops' work.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
      tile.role @r warps(4) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %c8 = arith.constant 8 : index
        %k = arith.constant dense<1.0> : vector<128x64xf32>
        scf.for %i = %c0 to %c8 step %c1 {
          %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
          %c = arith.cmpi slt, %i, %c3 : index
          %y = scf.if %c -> (vector<128x64xf32>) {
            %z = arith.mulf %x, %k : vector<128x64xf32>
            scf.yield %z : vector<128x64xf32>
          } else {
            scf.yield %x : vector<128x64xf32>
          }
          tile.commit %s, %y : <vector<128x64xf32>>, vector<128x64xf32>
        }
      }
    }
    ```

    After (shortened):

    ```
    scf.for %i = %c0 to %c3 step %c1 {
      %x = tile.wait %s
      %z = arith.mulf %x, %k
      tile.commit %s, %z
    }
    scf.for %i = %c3 to %c8 step %c1 {
      %x = tile.wait %s
      tile.commit %s, %x
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// tile-distribute
//===----------------------------------------------------------------------===//

def TileDistribute : Pass<"tile-distribute"> {
  let summary = "Give each thread of a role its part of every tile";
  let description = [{
    In roles that hold data (all but those with `issue`), which have as many
    threads as the tiles have rows, each thread gets the row that it can access
    in tensor memory: a matrix `vector<128x64xf32>` becomes `vector<64xf32>`, a
    vector with one element a row becomes that element, and one with an element
    a column stays whole. Which of the two a vector of rank 1 is follows from
    where it comes from and how it is used; where it would have to be both,
    there is an error.

    `tile.wait` gives no value any more: `tile.read` reads the stage where the
    value is first used, and before its stage changes hands. `tile.commit` is
    preceded by a `tile.write`. A `tile.rescale` of a value that is handed on in
    its own buffer reads and writes it only in warps that have a factor other
    than 1.

    The order of elements in `vector.multi_reduction` is taken as unspecified.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x64xbf16>>
      tile.role @r warps(4) {
        %c = arith.constant dense<0.0> : vector<128xf32>
        %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
        %m = vector.multi_reduction <maxnumf>, %x, %c [1] : vector<128x64xf32> to vector<128xf32>
        %mc = vector.shape_cast %m : vector<128xf32> to vector<128x1xf32>
        %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x64xf32>
        %d = arith.subf %x, %mb : vector<128x64xf32>
        %y = arith.truncf %d : vector<128x64xf32> to vector<128x64xbf16>
        tile.acquire %p : <vector<128x64xbf16>>
        tile.commit %p, %y : <vector<128x64xbf16>>, vector<128x64xbf16>
        tile.release %s : <vector<128x64xf32>>
      }
    }
    ```

    After:

    ```
    tile.role @r warps(4) {
      %c = arith.constant 0.0 : f32
      tile.wait %s : <vector<128x64xf32>>
      %x = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
      %m = vector.reduction <maxnumf>, %x, %c fastmath<reassoc> : vector<64xf32> into f32
      %mb = vector.broadcast %m : f32 to vector<64xf32>
      %d = arith.subf %x, %mb : vector<64xf32>
      %y = arith.truncf %d : vector<64xf32> to vector<64xbf16>
      tile.acquire %p : <vector<128x64xbf16>>
      tile.write %y, %p : vector<64xbf16>, <vector<128x64xbf16>>
      tile.commit %p : <vector<128x64xbf16>>
      tile.release %s : <vector<128x64xf32>>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}


//===----------------------------------------------------------------------===//
// tile-unroll
//===----------------------------------------------------------------------===//

def TileUnroll : Pass<"tile-unroll"> {
  let summary = "Split a thread's rows into fragments of column pairs";
  let description = [{
    After `tile-distribute`: every vector of `n` columns becomes `n / 2` vectors
    of two, which packed instructions (f32x2, conversion to two narrow values)
    work on. What has no effect is placed where something that has one needs it,
    fragment by fragment: a fragment goes through all its operations before the
    next one starts, so that its registers are free early. Reads and
    writes of channels become one a fragment.

    Reductions keep four partial results; sums and products of f32 are of
    pairs, and of other kinds each step folds in two elements (one instruction
    for maxima and minima). A sum of what is also written is formed as it is
    written: its elements need no registers from then on.

    Signed comparisons of the column's number with something that is the same in all
    columns become a word of bits for 32 columns, made by shifts, and a test
    of one bit an element: ptxas moves the bits to predicates several at a time.
    Sums of indices are taken not to overflow.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x4xbf16>>
      tile.role @r warps(4) {
        tile.wait %s : <vector<128x4xf32>>
        %x = tile.read %s : <vector<128x4xf32>> -> vector<4xf32>
        %y = math.exp2 %x : vector<4xf32>
        %z = arith.truncf %y : vector<4xf32> to vector<4xbf16>
        tile.acquire %p : <vector<128x4xbf16>>
        tile.write %z, %p : vector<4xbf16>, <vector<128x4xbf16>>
        tile.commit %p : <vector<128x4xbf16>>
        tile.release %s : <vector<128x4xf32>>
      }
    }
    ```

    After (shortened, `fragment=2`):

    ```
    tile.wait %s : <vector<128x4xf32>>
    %x0 = tile.read %s : <vector<128x4xf32>> -> vector<2xf32>
    %x1 = tile.read %s[2] : <vector<128x4xf32>> -> vector<2xf32>
    tile.acquire %p : <vector<128x4xbf16>>
    %y0 = math.exp2 %x0 : vector<2xf32>
    %z0 = arith.truncf %y0 : vector<2xf32> to vector<2xbf16>
    tile.write %z0, %p : vector<2xbf16>, <vector<128x4xbf16>>
    %y1 = math.exp2 %x1 : vector<2xf32>
    %z1 = arith.truncf %y1 : vector<2xf32> to vector<2xbf16>
    tile.write %z1, %p[2] : vector<2xbf16>, <vector<128x4xbf16>>
    tile.commit %p : <vector<128x4xbf16>>
    tile.release %s : <vector<128x4xf32>>
    ```
  }];
  let options = [
    Option<"fragment", "fragment", "int64_t", /*default=*/"32",
           "Columns of a fragment">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// lane-math-to-llvm
//===----------------------------------------------------------------------===//

def LaneMathToLLVM : Pass<"lane-math-to-llvm"> {
  let summary = "Lower math on a thread's scalars and pairs to instructions";
  let description = [{
    Rewrites operations of `math`, divisions of f32, selections by bits and `tile.exp2`, on scalars and
    on vectors of two after `tile-unroll`. Functions go to the special function
    unit, an element each; subnormal inputs and results count as 0. `tile-to-nvvm`
    does the same with the rest of a role.

    | operation | becomes | error, relative (PTX ISA, unless absolute) |
    |---|---|---|
    | `math.exp2` | `ex2.approx.ftz.f32` | 2^-22 |
    | `math.exp` | `ex2` of `x log2(e)` | 2^-22, and that of the product's rounding |
    | `math.log2`, `math.log` | `lg2.approx.ftz.f32` (`* ln 2`) | absolute 2^-22 where x is in (0.5, 2), else 2^-22 |
    | `math.tanh` | `1 - 2 rcp(ex2(2 x log2(e)) + 1)` | absolute 2^-21 |
    | `math.sqrt`, `math.rsqrt` | `sqrt`, `rsqrt.approx.ftz.f32` | 2^-22 |
    | `arith.divf` with 1 | `rcp.approx.ftz.f32` | 2^-23 |
    | `arith.divf` | `div.approx.ftz.f32` | 2^-22, for a divisor from 2^-126 to 2^126 |
    | `tile.exp2` | clamp, `add.rm.ftz.f32x2`, `fma.f32x2`, exponent by `shl` and `add` | the polynomial's |
    | `arith.select` of f32 by a bit of a word | `and`, `setp.ne` and `selp`, which ptxas makes predicates of seven bits at a time from | exact |
    | `math.fma`, `absf`, `floor`, `ceil`, `trunc`, `roundeven`, `copysign` | LLVM's intrinsics | exact |

    In f16 and bf16 a function is that of f32, rounded. Other operations of
    `math` are errors: LLVM's back end calls libraries for them, which a GPU
    does not have.

    Before:

    ```mlir
    func.func @f(%x: vector<2xf32>) -> vector<2xf32> {
      %y = math.exp2 %x : vector<2xf32>
      return %y : vector<2xf32>
    }
    ```

    After (shortened):

    ```
    %x0 = llvm.extractelement %x[%0 : i32] : vector<2xf32>
    %y0 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x0) : (f32) -> f32
    ...
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
