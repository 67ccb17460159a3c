// Which of the work tiles of the grid there are stands in memory (`work_count`). A CTA whose first tile is behind those has
// nothing to do, in none of its roles. The others count with the number in place of the extent, which it does not exceed.
//
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm schedule=grid' | FileCheck %s --check-prefix=GRID --dump-input=never
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm schedule=lpt' | FileCheck %s --check-prefix=LPT --dump-input=never
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm schedule=static' | FileCheck %s --check-prefix=STATIC --dump-input=never

// A grid has the axis for itself.
// GRID: %[[LISTED:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// GRID-NEXT: %[[COUNT:.*]] = llvm.intr.umin(%[[LISTED]], %[[SIZE:.*]])
// GRID-NEXT: %[[X:.*]] = llvm.inline_asm {{.*}}%ctaid.x
// GRID-NEXT: %[[IS_TILE:.*]] = llvm.icmp "ult" %[[X]], %[[COUNT]]
// GRID-NEXT: llvm.cond_br %[[IS_TILE]]

// The number of all tiles is a product.
// LPT: %[[LISTED:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// LPT-NEXT: %[[COUNT:.*]] = llvm.intr.umin(%[[LISTED]], %{{.*}})
// LPT: %[[ALL:.*]] = llvm.mul %[[COUNT]], %{{.*}}
// LPT: %[[IS_TILE:.*]] = llvm.icmp "ult" %{{.*}}, %[[ALL]]
// LPT-NEXT: llvm.cond_br %[[IS_TILE]]
// LPT: %[[LISTED_HERE:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// LPT: %[[COUNT_HERE:.*]] = llvm.intr.umin(%[[LISTED_HERE]], %{{.*}})
// LPT: llvm.urem %{{.*}}, %[[COUNT_HERE]]

// So does the loop that goes on to the next tile.
// STATIC: llvm.cond_br
// STATIC: llvm.urem %{{.*}}, %[[COUNT_HERE:[0-9]+]]
// STATIC: %[[LISTED:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// STATIC-NEXT: %[[COUNT:.*]] = llvm.intr.umin(%[[LISTED]], %{{.*}})
// STATIC: %[[ALL:.*]] = llvm.mul %[[COUNT]], %{{.*}}
// STATIC: llvm.icmp "ult" %{{.*}}, %[[ALL]]
tile.kernel @k(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["H", "N"]},
               %y: memref<?x?xf32> {tile.name = "y", tile.dims = ["H", "N"], tile.output = "partial"},
               %n: memref<?xi32> {tile.name = "n", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"H">], work_count = "n"} {
  %i, %h = tile.work_tile : index, index
  %c128 = arith.constant 128 : index
  %first = arith.muli %i, %c128 : index
  %v = tile.load %x[%h, %first] : memref<?x?xf32> -> vector<128xf32>
  tile.store %v, %y[%h, %first] : vector<128xf32>, memref<?x?xf32>
}
