// With mmas-ahead, the scores of the next block are issued before the products
// that read the probabilities of the last one, which then have tensor memory of
// their own. Head dim 64 has room for both, head dim 128 has not.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: sed -e 's/DIM/64/g' %s | fa4-opt --attn-to-nvvm="to=allocate schedule=grid mmas-ahead" | FileCheck %s
//
// $ sed -e 's/DIM/128/g' $S/tile-plan-ahead.mlir | fa4-opt --attn-to-nvvm="to=allocate mmas-ahead" -o ahead.mlir
// $ sed -e 's/DIM/128/g' $S/tile-plan-ahead.mlir | fa4-opt --attn-to-nvvm="to=allocate" | diff - ahead.mlir

// Of one query tile, all MMAs are on one cycle with the lanes that compute its
// probabilities. Tensor cores would idle meanwhile, so the next scores are
// issued ahead without being asked for: at head dim 256, and where there are
// few queries.
//
// $ sed -e 's/DIM/256/g' $S/tile-plan-ahead.mlir \
//   | fa4-opt --attn-to-nvvm="to=allocate" \
//   | FileCheck --check-prefix=ONE $S/tile-plan-ahead.mlir
// $ sed -e 's/DIM/128/g' -e 's/%q: memref<?x?/%q: memref<?x100/' -e 's/^    : memref<?x?/    : memref<?x100/' \
//     -e 's/%out: memref<?x?/%out: memref<?x100/' \
//     -e 's/%out : memref<?x?/%out : memref<?x100/' $S/tile-plan-ahead.mlir \
//   | fa4-opt --attn-to-nvvm="to=allocate" \
//   | FileCheck --check-prefix=ONE $S/tile-plan-ahead.mlir
//
// ONE-NOT: compute1
// ONE-DAG: tile.channel "compute0_mma.0" tmem stages(1) place<offset(
// ONE-NOT: in_place_of(%mma_compute
// ONE-LABEL: tile.role @mma
// ONE: scf.for
// ONE-NEXT: tile.acquire %mma_compute0
// ONE: tile.commit %mma_compute0
// ONE: tile.wait %compute0_mma.0
// ONE: tile.commit %mma_correction

// Scores, sums and probabilities are all of tensor memory. The parts of the
// probabilities, 48 and 16 columns, lie beside each other.
// CHECK: tmem_columns = 512
// CHECK-DAG: tile.channel "mma_compute0" tmem {{.*}} place<offset(0) full({{[0-9]+}}) arrivals(1) empty({{[0-9]+}}) arrivals(128)
// CHECK-DAG: tile.channel "mma_compute1" tmem {{.*}}offset(128)
// CHECK-DAG: tile.channel "mma_correction" tmem {{.*}}offset(256)
// CHECK-DAG: tile.channel "mma_correction_2" tmem {{.*}}offset(320)
// CHECK-DAG: tile.channel "compute0_mma.0" tmem stages(1) place<offset(384)
// CHECK-DAG: tile.channel "compute1_mma.0" tmem stages(1) place<offset(432)
// CHECK-DAG: tile.channel "compute0_mma.1" tmem stages(1) place<offset(480)
// CHECK-DAG: tile.channel "compute1_mma.1" tmem stages(1) place<offset(496)

// The lanes give the scores back as soon as they have read them.
// CHECK-LABEL: tile.role @compute0
// CHECK: scf.for
// CHECK: tile.wait %mma_compute0
// CHECK: tile.release %mma_compute0
// CHECK: tile.commit %compute0_mma.0

// CHECK-LABEL: tile.role @mma
// CHECK: scf.for
// CHECK-NEXT: tile.acquire %mma_compute0
// CHECK: tile.mma
// CHECK: tile.commit %mma_compute0
// CHECK-NEXT: tile.acquire %mma_compute1
// CHECK: tile.commit %mma_compute1
// CHECK: tile.wait %compute0_mma.0
// CHECK: tile.release %compute0_mma.0
// CHECK: tile.wait %compute1_mma.0

func.func @f(%q: memref<?x?x?xDIMxbf16>, %k: memref<?x?x?xDIMxbf16>, %v: memref<?x?x?xDIMxbf16>, %out: memref<?x?x?xDIMxbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out : memref<?x?x?xDIMxbf16>)
    : memref<?x?x?xDIMxbf16>, memref<?x?x?xDIMxbf16>, memref<?x?x?xDIMxbf16>
  return
}
