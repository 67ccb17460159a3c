//===- TileOps.td - tile programs -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEOPS_TD
#define FA4_DIALECT_TILE_IR_TILEOPS_TD

include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

/// The state and the stages of channels. Operations that act on channels are
/// ordered with every other one of their role.
def Tile_ChannelResource : Resource<"::fa4::tile::ChannelResource">;
/// The lanes of a warp that execute an operation together. Whoever reads it may
/// not move to where some of them do not come.
def Tile_WarpResource : Resource<"::fa4::tile::WarpResource">;

/// Passes know a channel by the operation that declares it: a handle does not
/// pass through loops, branches or other operations.
def ChannelIsDeclared : PredOpTrait<
    "its channel is the result of a tile.channel",
    CPred<"::llvm::isa_and_nonnull<ChannelOp>($channel.getDefiningOp())">>;

def Tile_Value : Type<IsFixedVectorOfRankPred<[1, 2]>,
                      "tile (vector of rank 1 or 2)", "::mlir::VectorType">;

// The element types that the tables of the operations list are in the types of
// their operands; test_op_types.py tries each that is listed and each that is not.
/// What a channel may carry beside tiles.
def Tile_Word : Type<CPred<"fa4::tile::isWord($_self) || fa4::tile::isResponse($_self)">, "index, i32, i1, f32 or i128">;
def Tile_Payload : AnyTypeOf<[Tile_Value, Tile_Word]>;
def Tile_MmaOperand : FixedVectorOfRankAndType<[2], [BF16, F16]>;
def Tile_Accumulator : FixedVectorOfRankAndType<[2], [F32]>;
def Tile_Pending : Type<CPred<"::llvm::isa<::fa4::tile::PendingType>($_self)">,
                        "a tile that an MMA is computing", "::fa4::tile::PendingType">;
/// What lanes of a matrix role hold together.
def Tile_LanesTile : FixedVectorOfRankAndType<[2], [F32, F16, BF16]>;
def Tile_F32Value : FixedVectorOfRankAndType<[1, 2], [F32]>;
def Tile_MemoryValue : FixedVectorOfRankAndType<[1, 2], [
    F64, F32, BF16, F16, F8E4M3FN, F8E5M2, I64, I32, I16, I8]>;
def Tile_Summand : FixedVectorOfRankAndType<[1, 2], [F32, BF16, F16]>;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [
    IsolatedFromAbove, SymbolTable, FunctionOpInterface, NoTerminator,
    SingleBlock]> {
  let summary = "a GPU kernel over work tiles";
  let description = [{
    A kernel that the chip named by `chip` runs, once for each work tile of `grid`, one CTA each. It is public, as it
    is launched from outside of the module too. Its body is a tile program, or channels and roles and nothing else.

    Arguments are memrefs (global tensors) and scalars (`f32`, `i32`, `index`). A memref has `tile.name`, its name
    in the manifest, and `tile.dims`, one name a dimension: dimensions with equal names have equal sizes, a name
    that is a number is a static size, `align(N, 128)` is size `N`, rounded up to a multiple of 128, and
    `ceildiv(N, 128)` the number of its blocks of 128. `share(FEW, MANY, N)` is `FEW / N` if that is 2 or
    more, else `max(MANY / N, 1)`, rounded down: how many CTAs each of `N` sequences gets. `min(A, B)` is the smaller
    one of two sizes that are no sums.
    `tile.output` says what the kernel does with an argument that it writes:

    | `tile.output` | elements of the tensor |
    |---|---|
    | `"once"` | each is written once: by one `tile.store` or `tile.put` of one work tile |
    | `"accumulate"` | `tile.reduce_add` adds to them; a work tile adds to each of them at most once |
    | `"ordered"` | `tile.reduce_add` adds to them, always in a turn (`tile.await_turn`), so that the sums do not depend on timing |
    | `"partial"` | some are written; nothing is checked |

    Without it, an argument that `tile.reduce_add` adds to is `"accumulate"`, and any other that is written is
    `"once"`. `tile-verify-outputs` and `tile-to-nvvm` check it.
    `tile.if_empty`, an f32, beside it is what the tensor holds where a size is 0. A kernel that has one may be called so, and is not launched: see
    [manifests](../simulator-manifest.md#sizes-of-0). Its outputs without one stay as they are. Other kernels are not called with sizes of 0.

    | attribute | meaning |
    |---|---|
    | `chip` | the chip, for example `sm_100a`: one of those that have a target description |
    | `grid` | up to three `#tile.extent`: the work tiles, which `tile.work_tile` and `tile.work` count |
    | `work_count` | the name of an argument, a tensor of one dimension of `i32` that the kernel does not write: its first element says how many of the work tiles along the first axis of `grid` there are, which may be fewer than the extent. Nobody works on those behind |
    | `schedule` | which CTA works on which work tile (`#tile.schedule`); one CTA a work tile without it |
    | `order` | in which order they are worked on (`#tile.order`); only beside a `schedule` |
    | `cluster` | which work tiles two CTAs work on together (`#tile.cluster`); each CTA for itself without it. `tile-pair-ctas` sets it |
    | `plan` | what has been chosen by trying it (`#tile.plan`). `tile-plan` sets it |
    | `smem_bytes`, `tmem_columns` | what the placed channels need; set by `tile-allocate` |

    Example:

    ```mlir
    // C = A B for 128x128 tiles of C.
    tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                      %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                      %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
      %tm, %tn = tile.work_tile : index, index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %row = arith.muli %tm, %c128 : index
      %col = arith.muli %tn, %c128 : index
      %k = memref.dim %a, %c1 : memref<?x?xbf16>
      %zero = arith.constant dense<0.0> : vector<128x128xf32>
      %acc = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
        %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
        %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
        %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
        scf.yield %y : vector<128x128xf32>
      }
      %out = arith.truncf %acc : vector<128x128xf32> to vector<128x128xbf16>
      tile.store %out, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
    StrAttr:$chip, TypedArrayAttrBase<Tile_ExtentAttr, "grid extents">:$grid,
    OptionalAttr<StrAttr>:$work_count,
    OptionalAttr<Tile_ScheduleAttr>:$schedule, OptionalAttr<Tile_OrderAttr>:$order,
    OptionalAttr<Tile_ClusterAttr>:$cluster, OptionalAttr<Tile_PlanAttr>:$plan,
    OptionalAttr<I64Attr>:$smem_bytes, OptionalAttr<I64Attr>:$tmem_columns);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the table of the kernel's chip, which the verifier has found.
    const ::fa4::TargetDescription &getTarget();
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return {}; }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Name of dimension `dim` of memref argument `arg`.
    ::llvm::StringRef getDimName(unsigned arg, unsigned dim);
    /// Name of argument `arg` in the manifest.
    ::llvm::StringRef getArgName(unsigned arg);
    /// What `tile.output` of argument `arg` says, if it is there.
    ::std::optional<OutputKind> getOutputKind(unsigned arg);
    /// Returns the number of the argument that `work_count` names, if it is
    /// there.
    ::std::optional<unsigned> getWorkCountArgument();
    /// `grid` without the attribute.
    Schedule getScheduleOrGrid() { return getSchedule().value_or(Schedule::Grid); }
    /// Returns the number of CTAs that work together: 1 without `cluster`.
    int64_t getClusterSize() { return getCluster() ? getClusterAttr().getSize() : 1; }
    /// Returns `plan`; without one, the plan that gives up no speed for memory.
    PlanAttr getPlanOrFastest();
    /// Returns an extent of `grid` as `#tile.order` counts it. Along the axis
    /// of a `cluster`, the work tiles of a cluster count as one.
    ExtentAttr getNumberedExtent(unsigned axis);
    /// Whether a CTA may work on more than one work tile, so that work stands
    /// in a `tile.work`.
    bool isPersistent();
    /// The block of the work on one tile: of the `tile.work` in `scope` (the
    /// body of the kernel or of one of its roles), if it has one, and else
    /// of `scope` itself.
    static ::mlir::Block &getWorkBlock(::mlir::Region &scope);
  }];
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

def Tile_RescaleOp : Tile_Op<"rescale", [
    Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "multiply rows, where a factor is not one";
  let description = [{
    `result[i, j] = value[i, j] * factor[i]`. Where all factors of the rows that
    a warp holds are 1 the multiplication, and the memory traffic for it, is
    skipped; the result is the same. **The factor of a zero is finite**, otherwise the result is undefined: an
    accumulator that starts from zero is not multiplied in the first pass of its loop,
    because nobody writes the zeros.

    | operand or result | shape | element type |
    |---|---|---|
    | `value`, result | `M x N` | f32 |
    | `factor` | `M` | f32 |

    Example:

    ```mlir
    func.func @rescale(%o: vector<128x64xf32>, %a: vector<128xf32>) -> vector<128x64xf32> {
      %r = tile.rescale %o, %a : vector<128x64xf32>, vector<128xf32>
      return %r : vector<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Accumulator:$value,
                       FixedVectorOfRankAndType<[1], [F32]>:$factor);
  let results = (outs Tile_Accumulator:$result);
  let assemblyFormat = "$value `,` $factor attr-dict `:` type($value) `,` type($factor)";
  let hasVerifier = 1;
}

def Tile_CopyOp : Tile_Op<"copy", [
    Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tile, moved by threads";
  let description = [{
    The same value: says that threads move it, where it has to go from tensor
    memory to shared memory and nothing else is done to it on the way.

    | operand or result | shape | element type |
    |---|---|---|
    | `value`, result | `M` or `M x N` | f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32, i16, i8 |

    Example:

    ```mlir
    func.func @copy(%o: vector<128x64xf32>) -> vector<128x64xf32> {
      %r = tile.copy %o : vector<128x64xf32>
      return %r : vector<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_MemoryValue:$value);
  let results = (outs Tile_MemoryValue:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_Exp2Op : Tile_Op<"exp2", [
    Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "2 to the power of x, in part by a polynomial";
  let description = [{
    As `math.exp2`, for rows of which some columns are computed by the special
    function unit and others by a polynomial on the FMA pipe: column pair `p`
    (columns `2p` and `2p + 1`) by the polynomial iff `p` is in `pairs`.

    With `n = floor(x)` and `f = x - n`, the polynomial gives
    `2^n * (1 + c[0] f + c[1] f^2 + ...)` by Horner's rule in f32; `x` below
    -127 counts as -127; results below 2^-126 are 0, and `x` must be below 128. The coefficients have been derived for the
    range [0, 1), with minimal relative error.

    | operand or result | shape | element type |
    |---|---|---|
    | `operand`, result | `M` or `M x N` | f32 |

    Example:

    ```mlir
    func.func @exp2(%x: vector<128x128xf32>) -> vector<128x128xf32> {
      %y = tile.exp2 %x polynomial [0.695146143, 0.227564394, 0.0771190897] pairs [12, 14, 28, 30]
        : vector<128x128xf32>
      return %y : vector<128x128xf32>
    }
    ```
  }];
  let arguments = (ins Tile_F32Value:$operand, DenseF32ArrayAttr:$coefficients,
                       DenseI64ArrayAttr:$pairs);
  let results = (outs Tile_F32Value:$result);
  let assemblyFormat = [{
    $operand `polynomial` custom<Coefficients>($coefficients) `pairs` $pairs attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

include "fa4/Dialect/Tile/IR/TileChannelOps.td"
include "fa4/Dialect/Tile/IR/TileClusterOps.td"
include "fa4/Dialect/Tile/IR/TileLaneOps.td"
include "fa4/Dialect/Tile/IR/TileLaunchOp.td"
include "fa4/Dialect/Tile/IR/TileMemoryOps.td"
include "fa4/Dialect/Tile/IR/TileMmaOps.td"
include "fa4/Dialect/Tile/IR/TileTurnOps.td"
include "fa4/Dialect/Tile/IR/TileWorkOps.td"

#endif // FA4_DIALECT_TILE_IR_TILEOPS_TD
