//===- Passes.td - passes from one dialect to another -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_PASSES_TD
#define FA4_CONVERSION_PASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// attn-to-tile
//===----------------------------------------------------------------------===//

def AttnToTile : FA4_Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Make a tile program of each attention op";
  let description = [{
    *Input*: functions with `attn.sdpa` and `attn.sdpa_backward` on memrefs or tensors.
    *Output*: for each op a `tile.kernel`, in front of the op's function, and in place of
    the op a `tile.launch` of this kernel (for a gradient three of each, see below). The
    kernel's arguments are q, k, v, out, the LSE if the op gives one, and the captured
    scalars. Static sizes stay static.

    A work tile of the kernel is a tile of query rows of one head. It visits the blocks
    of keys that any of its rows sees, the last block first. The numbers of rows and
    of keys follow from the target, each by itself: a work tile has as many query tiles,
    of the rows of one MMA each, as tensor memory and the register file have room for with
    their scores and outputs, and a block the largest power of two of keys for which two
    query tiles fit. The option `keys` asks for another number. A region of which a lane holds
    many values at once may need more registers than such tiles leave: `smaller-tiles` passes
    over so many of the tiles that have room. fa4-compile counts it up while ptxas finds spills.

    The softmax is computed block by block in base 2 (M. Milakov and N. Gimelshein,
    Online normalizer calculation for softmax, 2018), with the factor
    `c = scale * log2(e)` folded into one multiply-add for each score:

    ```
    m' = max(m, rowmax(s))           a = exp2(c * (m - m'))
    p  = exp2(c * s - c * m')        l' = a * l + rowsum(p)
    o' = a * o + p v                 out = o / l,  lse = ln(2) * (c * m + log2(l))
    ```

    With a `score_mod` (or a scale that is not positive) `s` is
    `score_mod(scale * q.k)` and `c = log2(e)`. The regions are inlined on
    vectors: what depends on the query only is a vector of rows, what depends on the
    key only one of columns. If the `score_mod` is linear in the score, its factor is
    part of `c`, and terms are added to `q.k`, divided by the scale; a term like
    `slope * (j - i)` is a number of the key, and one of the query that is added to
    the LSE ([ScoreTerms.h](../../lib/Conversion/AttnToTile/ScoreTerms.h)).

    A band mask bounds the loop over blocks. Only blocks that some row sees in part are
    compared with the mask, and the last block where it goes beyond the keys.

    Where the number of queries is static and at most 16, sequences are not packed, and there may be
    more than 256 keys, two kernels do this, unless `split-keys` is off: query heads that share a key/value head lie in one tile, several CTAs divide the blocks
    of a work tile, and a merge kernel joins their states
    ([DividedKeys.h](../../lib/Conversion/AttnToTile/DividedKeys.h)).

    The gradient is three kernels, which hand f32 workspaces on. With S^T = k q^T, a tile
    of keys by a block of queries:

    ```
    preprocess   shift = -log2(e) * lse (-inf in rows that see no key)
                 delta = rowsum(dout * out) - dlse            sums = 0
    main         p = exp2(c * s + shift)        ds = p * (v dout^T - delta)
                 dv += p dout                   dk += ds q    sums += ds^T k
    postprocess  dq = scale * sums
    ```

    A work tile of the main kernel is a tile of keys of one key/value head. It visits the
    blocks of queries that see one of its keys, of all query heads of its group, and adds
    to `sums` in memory, where the tiles of keys meet. The keys and the queries of a step
    are both as many as an MMA has rows.

    Head dims for which tensor memory has no room for all five products (192 of q and k,
    128 of v) have a kernel of dq of its own in place of `sums` and `postprocess`. Its work
    tiles are tiles of queries, whose blocks of keys it visits. It computes the scores and
    `ds` again:

    ```
    dq[i] = scale * sum of ds[i,j] * k[j] over the keys j
    ```

    Kernels of a function with several launches get `tile.programmatic_launch`: each may
    begin before the launch in front of it has ended, for which it waits itself.

    Some forms of the ops have no tile program: see the support matrix in the
    documentation. Each of these is an error on the op that says why.

    Before:

    ```mlir
    func.func @f(%q: memref<?x?x8x128xbf16>, %k: memref<?x?x2x128xbf16>,
                 %v: memref<?x?x2x128xbf16>, %o: memref<?x?x8x128xbf16>) {
      attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
        outs(%o : memref<?x?x8x128xbf16>)
        : memref<?x?x8x128xbf16>, memref<?x?x2x128xbf16>, memref<?x?x2x128xbf16>
      return
    }
    ```

    After (shortened):

    ```
    tile.kernel @f_kernel(%q: memref<?x?x8x128xbf16> {tile.dims = ["B", "Sq", "8", "128"], tile.name = "q"}, ...)
        attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"8">, #tile.extent<"B">]} {
      %tq = tile.load %q[%b, %row0, %h, %c0] dims [1, 3] : memref<?x?x8x128xbf16> -> vector<256x128xbf16>
      %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%o = ..., %m = ..., %l = ...) {
        %tk = tile.load %k[...]
        %s = tile.mma %tq, transpose %tk : vector<256x128xbf16>, vector<128x128xbf16> -> vector<256x128xf32>
        %x = scf.if %masked { ... arith.select ... } else { ... }
        %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<256x128xf32> to vector<256xf32>
        ...
        %o2 = tile.mma %pt, %tv acc %os : vector<256x128xbf16>, vector<128x128xbf16> -> vector<256x128xf32>
      }
      ...
      tile.store %ot, %out[%b, %row0, %h, %c0] dims [1, 3] : vector<256x128xbf16>, memref<?x?x8x128xbf16>
    }
    func.func @f(...) {
      tile.launch @f_kernel ins(%q, %k, %v : ...) outs(%o : memref<?x?x8x128xbf16>)
      return
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "The target: sm_90a, sm_100a, sm_103a">,
    Option<"keys", "keys", "int64_t", /*default=*/"0",
           "Keys of a block, a multiple of 32; 0 = the largest power of two for which two "
           "tiles of queries fit tensor memory and registers">,
    Option<"smallerTiles", "smaller-tiles", "int64_t", /*default=*/"0",
           "How many of the tiles that have room, the largest first, are passed over">,
    Option<"splitKeys", "split-keys", "bool", /*default=*/"true",
           "Let several CTAs divide the keys of a sequence of few queries">
  ];
  let dependentDialects = [
    "::fa4::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// attn-print-support
//===----------------------------------------------------------------------===//

def AttnPrintSupport : FA4_Pass<"attn-print-support", "::mlir::ModuleOp"> {
  let summary = "Print for which targets each attention op has a kernel";
  let description = [{
    Prints to standard output a line for each function with an attention op: its name
    and for each target `yes`, or a number that refers to the reasons below. The
    reasons are the messages with which `attn-to-tile` refuses the op. Changes
    nothing.

    Before:

    ```mlir
    func.func @gradient(%x: memref<1x64x1x256xf16>, %lse: memref<1x1x64xf32>,
                        %dq: memref<1x64x1x256xf16>, %dk: memref<1x64x1x256xf16>,
                        %dv: memref<1x64x1x256xf16>) {
      attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
        outs(%dq, %dk, %dv : memref<1x64x1x256xf16>, memref<1x64x1x256xf16>, memref<1x64x1x256xf16>)
        : memref<1x64x1x256xf16>, memref<1x64x1x256xf16>, memref<1x64x1x256xf16>,
          memref<1x64x1x256xf16>, memref<1x64x1x256xf16>, memref<1x1x64xf32>
      return
    }
    ```

    After, the same; printed is

    ```
              sm_90a sm_100a sm_103a
    gradient  (1)    (2)     (2)

    (1) head dims 256 of q and k, 256 of v: the smallest tiles exceed the 216 registers of a thread for accumulators
    (2) head dims 256 of q and k, 256 of v: the smallest tiles exceed the 512 columns of tensor memory
    ```
  }];
}

//===----------------------------------------------------------------------===//
// tile-to-nvvm
//===----------------------------------------------------------------------===//

def TileToNVVM : FA4_Pass<"tile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lower kernels of the tile dialect to the LLVM and NVVM dialects";
  let description = [{
    *Input*: kernels with places (`tile-allocate`), whose vector roles are
    distributed (`tile-distribute`, `tile-unroll`). *Output*: for each `tile.kernel` an
    `llvm.func` of the same name with `nvvm.kernel`.

    The pass first proves what `tile-verify-protocol` and `tile-verify-outputs` prove.
    A change that an earlier pass or a person has made to the roles is thereby proven,
    too.

    - **Parameters**: tensor maps, one for each tensor, box and swizzle; pointers
      and strides of tensors that lanes write (`tile.put`); scalars; sizes
      (`memref.dim`). `fa4.manifest` on the function says what they are.
    - **Earlier launches**: a kernel with `tile.programmatic_launch` waits for them behind
      all that needs nothing of them (barriers, tensor memory), and then lets the next one
      begin (`griddepcontrol`).
    - **Roles** are chosen by warp. Each warpgroup sets its register budget; a role
      that issues runs in one elected thread.
    - **Channels** are mbarriers, which complete as their `arrivals` and `bytes` say.
      The number of times that a role has used a ring is a constant in straight-line
      code. Numbers that advance alike in a loop are one loop-carried counter.
    - **Loads and stores** are TMA instructions, one for each box of as many columns as
      the swizzle spans; **MMAs** are `tcgen05.mma`, one for each 16 of K. A load is
      issued at its commit.
    - **MMAs of lanes** are `wgmma.mma_async`, a group for each `tile.mma`, with A from a stage or
      from registers. `tile.await` is `wgmma.wait_group` of as many groups as the role has begun
      between the MMA and the await. One thread of each warp arrives for a release behind it. Tiles
      are written by `stmatrix`.
    - **Lanes** access tensor memory by `tcgen05.ld` and `.st`, shared memory by
      loads and stores at swizzled addresses. `tile.fence` is `fence.proxy.async`.
      The pass adds what no operation of the tile dialect says, because handing on a
      value contains it: `tcgen05.wait` and `tcgen05.fence`, and before a release the
      wait until stores have read.

    `index` is 32 bits wide. An accumulator that starts with zero in a loop is
    undefined if the loop has no iteration.

    Before:

    ```mlir
    tile.kernel @copy(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800} {
      %tiles = tile.channel "tiles" smem stages(2) place<offset(0) full(0) arrivals(1) bytes(16384) empty(2) arrivals(1)> : <vector<128x64xbf16>>
      tile.role @load kind(issuer) first_warp(0) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        tile.acquire %tiles : <vector<128x64xbf16>>
        %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %tiles, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @store kind(issuer) first_warp(1) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        %v = tile.wait %tiles : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %tiles : <vector<128x64xbf16>>
      }
    }
    ```

    After, in short:

    ```
    llvm.func @copy(%arg0: !llvm.ptr {...}, %arg1: !llvm.ptr {...}) attributes {fa4.manifest = {...}, nvvm.kernel, ...} {
      ...                                       // barriers are set up
      llvm.cond_br %is_warp_0, ^load, ^other
    ^load:
      %elected = nvvm.elect.sync -> i1
      llvm.cond_br %elected, ^wait, ^join
    ^wait:
      %free = nvvm.mbarrier.try_wait %empty, %c1 : !llvm.ptr<3>, i32 -> i1
      llvm.cond_br %free, ^issue, ^wait
    ^issue:
      nvvm.mbarrier.arrive.expect_tx %full, %c16384 : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %tile, %arg0, %full, box[%c0, %row] ...
    ```
  }];
  let dependentDialects = [
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
  let options = [
    Option<"verify", "verify", "bool", /*default=*/"true",
           "Prove the protocol of the roles, and that outputs are written once">
  ];
}

//===----------------------------------------------------------------------===//
// nvvm-to-binary
//===----------------------------------------------------------------------===//

def NVVMToBinary : FA4_Pass<"nvvm-to-binary", "::mlir::ModuleOp"> {
  let summary = "Embed kernels as PTX or cubins";
  let description = [{
    *Input*: kernels in the LLVM and NVVM dialects, as `tile-to-nvvm` leaves them, beside
    the functions that launch them. *Output*: in place of each kernel a `gpu.binary` of the
    same name, with its PTX or its cubin, and no code for the GPU else.

    The object's target says the chip, which is the kernel's own where it has one. Its
    properties have the kernel's [manifest](../simulator-manifest.md), as `fa4-compile`
    writes it, in `fa4.manifest`: what a launch of it needs; and in `fa4.arguments` the
    manifest's names of what a `tile.launch` passes, in its order. LLVM's passes and back end
    are those of `fa4-compile`, and so is the PTX. Functions and globals of the LLVM
    dialect that no kernel uses stay where they are.

    A cubin is made by ptxas, which is looked for as `fa4-compile` does; one that spills
    is refused.

    Before:

    ```mlir
    llvm.func @fill(%p: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
      llvm.store %x, %p : i32, !llvm.ptr<1>
      llvm.return
    }
    ```

    After, in short:

    ```
    gpu.binary @fill [#gpu.object<#nvvm.target<O = 1, chip = "sm_100a", features = "+ptx90">,
      kernels = <[#gpu.kernel_metadata<"fill", ...>]>, assembly = "...">]
    ```
  }];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"ptx\"",
           "ptx or cubin">,
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "Target of kernels that do not say theirs">
  ];
}

//===----------------------------------------------------------------------===//
// launch-to-runtime
//===----------------------------------------------------------------------===//

def LaunchToRuntime : FA4_Pass<"launch-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Make host code of launches: calls of libfa4_runtime";
  let description = [{
    *Input*: functions with `tile.launch` on memrefs, and the `gpu.binary` of each kernel,
    as `nvvm-to-binary` leaves them. *Output*: each launch is a call of
    [libfa4_runtime.so](../runtime.md#host-code-from-ir); each kernel a constant of the
    LLVM dialect, with its code, its manifest, and the names and types of its arguments,
    in place of the `gpu.binary`.

    The call gets the addresses, sizes and strides of the memrefs, and the scalars. The
    library makes the grid, tensor maps and parameters of them as the manifest says, and
    launches the kernel on the stream, in the order of the program.

    Memory that a launch uses is the GPU's. It is followed through views, calls and
    returns: where it comes from `memref.alloc`, that becomes an allocation on the GPU, in
    the stream's order, as does its `memref.dealloc`; where it is an argument of a
    function that nobody in the module calls, the caller has it there. What is neither
    freed nor returned is freed at the end of its block. A `memref.copy` from or to such
    memory is one on the GPU, in the stream's order, and its other side is the GPU's, too.
    Other operations that read or write it on the host are errors, and so is memory that
    control flow passes on.

    With `stream=argument` a function that launches kernels, allocates, copies or frees on the GPU, or calls one that does, gets
    the stream as its last argument, an `!llvm.ptr` (CUstream), and passes it on. With
    `stream=default` all work is on the default stream, and signatures stay.

    What fails does so as the library says: the first failure of a thread is kept, what
    follows is left out, and `fa4RuntimeHostTakeError` returns it to whoever called the
    function.

    Before:

    ```mlir
    gpu.binary @copy [#gpu.object<#nvvm.target<chip = "sm_100a">,
      properties = {fa4.arguments = ["x", "y"], fa4.manifest = "{ }"}, assembly = ".version 9.0">]
    func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
      tile.launch @copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
      return
    }
    ```

    After, in short:

    ```
    llvm.mlir.global internal constant @copy_manifest("{ }\00")
    llvm.mlir.global internal constant @copy_image(".version 9.0\00")
    llvm.mlir.global internal constant @copy_arguments("x:f32:1,y:f32:1\00")
    llvm.mlir.global internal @copy() : !llvm.struct<(i64, ptr, i64, ptr, i64, ptr, ptr)> { ... }
    func.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %stream: !llvm.ptr) {
      %values = llvm.alloca %c6 x i64 : (i64) -> !llvm.ptr
      // address, size and stride of x, then of y
      llvm.store %address, %at0 : i64, !llvm.ptr
      ...
      llvm.call @fa4RuntimeHostLaunch(%copy, %values, %stream)
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
  let options = [
    Option<"stream", "stream", "std::string", /*default=*/"\"argument\"",
           "Where work is launched: argument or default">
  ];
}

//===----------------------------------------------------------------------===//
// lane-math-to-llvm
//===----------------------------------------------------------------------===//

def LaneMathToLLVM : FA4_Pass<"lane-math-to-llvm"> {
  let summary = "Lower math on a thread's scalars and pairs to instructions";
  let description = [{
    *Input*: operations on scalars and on vectors of two, as `tile-unroll` leaves them:
    those of `math`, divisions of f32, selections by bits, and `tile.exp2`. *Output*:
    operations of the LLVM and NVVM dialects that are one or a few instructions.
    `tile-to-nvvm` contains the same rewrites. Functions are computed by the special
    function unit, one element at a time; subnormal inputs and results count as 0, those
    of `math.exp2` unless the function keeps subnormals.

    | operation | becomes | error, relative (PTX ISA, unless absolute) |
    |---|---|---|
    | `math.exp2` | `llvm.intr.exp2`: `ex2.approx.f32`, with `.ftz` as the function has it | 2^-22 |
    | `math.exp` | `ex2` of `x log2(e)` | 2^-22, and that of the product's rounding |
    | `math.log2`, `math.log` | `lg2.approx.ftz.f32` (`* ln 2`) | absolute 2^-22 where x is in (0.5, 2), else 2^-22 |
    | `math.tanh` | `1 - 2 rcp(ex2(2 x log2(e)) + 1)` | absolute 2^-21 |
    | `math.tanh` with `fastmath<afn>` | `tanh.approx.f32` | 2^-11 |
    | `math.sin`, `math.cos` | `sin`, `cos.approx.ftz.f32` of the rest after whole turns | absolute 2^-20, and 2^-24 of x |
    | `math.sqrt`, `math.rsqrt` | `sqrt`, `rsqrt.approx.ftz.f32` | 2^-22 |
    | `arith.divf` with 1 | `rcp.approx.ftz.f32` | 2^-23 |
    | `arith.divf` | `div.approx.ftz.f32` | 2^-22, for a divisor from 2^-126 to 2^126 |
    | `tile.exp2` | clamp, `add.rm.ftz.f32x2`, `fma.f32x2`, exponent by `shl` and `add` | the polynomial's |
    | `arith.select` of f32 by a bit of a word | `and`, `setp.ne` and `selp`, which ptxas makes predicates of seven bits at a time from | exact |
    | `arith.truncf` toward_zero; downward and upward to f16 | `cvt.rz`, `.rm`, `.rp` | exact |
    | `math.absi`, `ctpop`, `ctlz`, `cttz` of integers | LLVM's intrinsics: `abs`, `popc`, `clz`, `brev` | exact |
    | `math.fma`, `absf`, `floor`, `ceil`, `trunc`, `roundeven`, `copysign` | LLVM's intrinsics | exact |

    A function of f16 or bf16 is computed in f32 and rounded. All other operations of
    `math` are errors: LLVM's back end would call a library for them, which a GPU does
    not have. `attn-to-tile` expands those of a `score_mod` or `mask_mod` before: `tan`,
    `sinh`, `cosh`, `asinh`, `acosh`, `atanh`, `powf`, `round`, `clampf`, `log10`, `sincos`,
    `isnan`, `isinf`, `isfinite` and `isnormal` by their definitions, powers with small constant exponents as products, `fpowi` as `powf`,
    `atan`, `atan2`, `asin`, `acos`, `erf`, `erfc`, `cbrt`, `expm1` and `log1p` by upstream's
    polynomials. Nothing has code for `ipowi` with other exponents.

    Before:

    ```mlir
    func.func @f(%x: vector<2xf32>) -> vector<2xf32> {
      %y = math.exp2 %x : vector<2xf32>
      return %y : vector<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: vector<2xf32>) -> vector<2xf32> {
      %y = llvm.intr.exp2(%x) : (vector<2xf32>) -> vector<2xf32>
      return %y : vector<2xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // FA4_CONVERSION_PASSES_TD
