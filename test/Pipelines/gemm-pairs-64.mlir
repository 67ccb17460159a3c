// A product whose 64 rows of a work tile are half of an MMA of a pair: CTAs that
// are neighbours along the rows have 128 of them together. The result is folded
// in tensor memory, 128 lanes of half the columns, so that lanes must know which
// half of which row they have. With the layout of 128 rows, half of the
// numbers would be those of another row.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/gemm.ptx
//
// $ fa4-compile "$S"/gemm-pairs-64.mlir --from=tile -o . --emit=allocate,distribute,ptx
//
// 128 columns of f32 are 64 columns of tensor memory; 64 would be too few for the
// next allocation unit but one.
//
// $ cat gemm.allocate.mlir
// ...
// {{.*}}tmem_columns = 64{{.*}}
//     %A = tile.channel "A" smem {{.*}} bytes(16384) {{.*}} : <vector<64x64xbf16>>
//     %B = tile.channel "B" smem {{.*}} split(1) {{.*}} bytes(16384){{.*}}
//     %mma_epilogue = tile.channel "mma_epilogue" tmem stages(1) place<offset(0) {{.*}} : <vector<64x128xf32>>
// ...
// $ cat gemm.distribute.mlir
// ...
// {{.*}}tile.read %mma_epilogue : <vector<64x128xf32>> -> vector<64xf32>
// ...
//         tile.write %{{.*}}, %epilogue_store : vector<64xf32>, <vector<64x128xf32>>
// ...
//
// 3 pairs x 2 columns of tiles, 5 blocks of K, 4 instructions.
//
// $ fa4-sim gemm.json M=300 N=136 K=264 --random --check --seeds 0:7 --stats --output A=A.npy --output B=B.npy C=C.npy > stats.txt
// $ grep -c 'mma instructions *120$' stats.txt
// 8
// $ python3 "$S"/Inputs/check_product.py A.npy B.npy C.npy
// largest error, of what rounding allows: {{.*}}
//
// One K block, and less than one tile: the second CTA has none.
//
// $ fa4-sim gemm.json M=40 N=24 K=16 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_product.py A.npy B.npy C.npy
// largest error, of what rounding allows: {{.*}}
//
// The instruction has M = 128 (8 in bits 24 to 28), N = 128, bf16, f32 results and
// B with the columns contiguous.
//
// PTX: mov.b32 [[D:%r[0-9]+]], 136381584;
// PTX: tcgen05.mma.cta_group::2.kind::f16.collector::a::discard [{{%r[0-9]+}}], {{%rd[0-9]+}}, {{%rd[0-9]+}}, [[D]],
//

tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>,
                grid = [#tile.extent<"M" by 64>, #tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %tm, %tn = tile.work_tile : index, index
  %row = arith.muli %tm, %c64 : index
  %col = arith.muli %tn, %c128 : index
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> (vector<64x128xf32>) {
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<64x64xbf16>
    %tb = tile.load %b[%i, %col] split(1) : memref<?x?xbf16> -> vector<64x128xbf16>
    %next = tile.mma %ta, %tb acc %acc : vector<64x64xbf16>, vector<64x128xbf16> -> vector<64x128xf32>
    scf.yield %next : vector<64x128xf32>
  }
  tile.store %sum, %c[%row, %col] : vector<64x128xf32>, memref<?x?xf32>
}
