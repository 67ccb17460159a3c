// A threshold with which probabilities or their sums could overflow is refused.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// The threshold is in the range in which nothing overflows: of f32 sums in every kernel, and of the type that
// probabilities are rounded to where there is an online softmax. NaN is in no range.
//
// $ fa4-opt $S/tile-lazy-rescale-invalid.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=-1}))' --mlir-print-op-on-diagnostic=0
// {{.*}}error: tile-lazy-rescale: the threshold must be from 0 to 97, so that sums of 2^29 probabilities of up to 2^threshold, and their reciprocals, are normal numbers of f32; got -1
// tile.kernel @k() {{.*}}
// ^
// [1]
// $ fa4-opt $S/tile-lazy-rescale-invalid.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=nan}))' --mlir-print-op-on-diagnostic=0
// {{.*}}error: tile-lazy-rescale: the threshold must be from 0 to 97, so that sums of 2^29 probabilities of up to 2^threshold, and their reciprocals, are normal numbers of f32; got nan
// tile.kernel @k() {{.*}}
// ^
// [1]
// $ fa4-opt $S/tile-lazy-rescale-invalid.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=inf}))' --mlir-print-op-on-diagnostic=0
// {{.*}}error: tile-lazy-rescale: the threshold must be from 0 to 97, so that sums of 2^29 probabilities of up to 2^threshold, and their reciprocals, are normal numbers of f32; got inf
// tile.kernel @k() {{.*}}
// ^
// [1]
// $ fa4-opt $S/tile-lazy-rescale-invalid.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=97.5}))' --mlir-print-op-on-diagnostic=0
// {{.*}}error: tile-lazy-rescale: the threshold must be from 0 to 97, so that sums of 2^29 probabilities of up to 2^threshold, and their reciprocals, are normal numbers of f32; got 97.5
// tile.kernel @k() {{.*}}
// ^
// [1]
// $ fa4-opt $S/tile-lazy-rescale-invalid.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=97}))' -o /dev/null
//
// f16 has exponents of up to 15; bf16 has those of f32.
//
// $ sed 's/ELEMENT/f16/g' $S/Inputs/online-softmax.mlir > f16.mlir
// $ sed 's/ELEMENT/bf16/g' $S/Inputs/online-softmax.mlir > bf16.mlir
// $ fa4-opt f16.mlir --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=15}))'
// ...
// {{.*}}tile.rescale{{.*}}
// ...
// $ fa4-opt bf16.mlir --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=97}))'
// ...
// {{.*}}tile.rescale{{.*}}
// ...
// $ fa4-opt f16.mlir --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=15.5}))' --mlir-print-op-on-diagnostic=0
// {{.*}}error: tile-lazy-rescale: the threshold must be from 0 to 15, so that probabilities of up to 2^threshold can be rounded to f16; got 15.5
//   %r:3 = scf.for {{.*}}
//          ^
// [1]

tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %i = tile.work_tile : index
}
