// The pairs of columns of a fragment go between MMAs and arithmetic as they are: no loop, no branch and no order between
// fragments may stand between an MMA and its await, because ptxas would wait there for the MMA. A bound of columns is a
// word of bits, in which the bits of a thread's own columns are counted: columns 8 i and 8 i + 1 from its first one.
//
// RUN: fa4-opt %s --tile-unroll=fragment=4 --split-input-file | FileCheck %s --dump-input=never

// CHECK-LABEL: tile.kernel @pairs
tile.kernel @pairs() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x16xbf16>>
  tile.role @compute kind(matrix) {
    // CHECK: %[[A:.*]] = tile.wait %x
    // CHECK-NEXT: %[[S:.*]] = tile.mma %[[A]], transpose %[[A]]
    %a = tile.wait %x : <vector<64x16xbf16>> -> vector<64x16xbf16>
    %s = tile.mma %a, transpose %a : vector<64x16xbf16>, vector<64x16xbf16> -> !tile.pending<vector<64x64xf32>>
    // CHECK-NEXT: %[[T:.*]] = tile.await %[[S]]
    // CHECK-NEXT: %[[P:.*]]:16 = tile.to_lanes %[[T]] : vector<64x64xf32> -> vector<2xf32>, {{.*}}vector<2xf32>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    %0, %1 = tile.to_lanes %t : vector<64x64xf32> -> vector<16xf32>, vector<16xf32>
    // The exponentials of all pairs, of one row of the thread after the other.
    // CHECK-COUNT-16: math.exp2 %{{.*}} : vector<2xf32>
    // CHECK-NOT: tile.keep_order
    %e0 = math.exp2 %0 : vector<16xf32>
    %e1 = math.exp2 %1 : vector<16xf32>
    %n0 = arith.truncf %e0 : vector<16xf32> to vector<16xbf16>
    %n1 = arith.truncf %e1 : vector<16xf32> to vector<16xbf16>
    // CHECK: %[[N:.*]] = tile.from_lanes %{{.*}} : vector<2xbf16>, {{.*}}vector<2xbf16> -> vector<64x64xbf16>
    // CHECK-NOT: tile.keep_order
    // CHECK: tile.mma %[[N]]
    %n = tile.from_lanes %n0, %n1 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
    %y = tile.mma %n, %a : vector<64x64xbf16>, vector<64x16xbf16> -> !tile.pending<vector<64x16xf32>>
    %z = tile.await %y : !tile.pending<vector<64x16xf32>>
    tile.release %x : <vector<64x16xbf16>>
  }
}

// -----

// Column 2 (t mod 4) + 8 (i / 2) + i mod 2 is less than the limit for the first ranks of the limit that is counted from
// the thread's first column: (limit + 7) / 8 + (limit + 6) / 8.
// CHECK-LABEL: tile.kernel @mask
tile.kernel @mask(%n: index {tile.name = "n"}) attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x16xbf16>>
  tile.role @compute kind(matrix) {
    %a = tile.wait %x : <vector<64x16xbf16>> -> vector<64x16xbf16>
    %low = arith.constant dense<0xFF800000> : vector<16xf32>
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %s = tile.mma %a, transpose %a : vector<64x16xbf16>, vector<64x16xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    %0, %1 = tile.to_lanes %t : vector<64x64xf32> -> vector<16xf32>, vector<16xf32>
    %thread = tile.row : index
    %lane = arith.remui %thread, %c4 : index
    %first = arith.muli %lane, %c2 : index
    %firsts = vector.broadcast %first : index to vector<16xindex>
    // CHECK: %[[P:.*]]:16 = tile.to_lanes
    // CHECK: %[[LIMIT:.*]] = arith.trunci
    // CHECK-NEXT: %[[C7:.*]] = arith.constant 7 : i32
    // CHECK-NEXT: %[[EVEN:.*]] = arith.addi %[[LIMIT]], %[[C7]]
    // CHECK-NEXT: %[[C3:.*]] = arith.constant 3 : i32
    // CHECK-NEXT: %[[EVENS:.*]] = arith.shrsi %[[EVEN]], %[[C3]]
    // CHECK-NEXT: %[[C6:.*]] = arith.constant 6 : i32
    // CHECK-NEXT: %[[ODD:.*]] = arith.addi %[[LIMIT]], %[[C6]]
    // CHECK: %[[ODDS:.*]] = arith.shrsi %[[ODD]]
    // CHECK-NEXT: %[[RANK:.*]] = arith.addi %[[EVENS]], %[[ODDS]]
    // CHECK-NEXT: %[[C32:.*]] = arith.constant 32 : i32
    // CHECK-NEXT: arith.subi %[[C32]], %[[RANK]]
    // CHECK: %[[WORD:.*]] = arith.select
    // CHECK: %[[BIT:.*]] = arith.constant 1 : i32
    // CHECK: %[[AND:.*]] = arith.andi %[[WORD]], %[[BIT]]
    // CHECK: %[[SEEN:.*]] = arith.cmpi ne, %[[AND]]
    // CHECK-NEXT: %[[FIRST:.*]] = vector.extract %[[P]]#0[0]
    // CHECK-NEXT: arith.select %[[SEEN]], %[[FIRST]]
    // Of the other columns, one bit each.
    // CHECK-COUNT-15: arith.andi %[[WORD]]
    // CHECK-NOT: arith.andi
    %offsets = arith.constant dense<[0, 1, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 48, 49, 56, 57]> : vector<16xindex>
    %columns = arith.addi %firsts, %offsets : vector<16xindex>
    %limit = vector.broadcast %n : index to vector<16xindex>
    %visible = arith.cmpi slt, %columns, %limit : vector<16xindex>
    %m = arith.select %visible, %0, %low : vector<16xi1>, vector<16xf32>
    %n0 = arith.truncf %m : vector<16xf32> to vector<16xbf16>
    %n1 = arith.truncf %1 : vector<16xf32> to vector<16xbf16>
    %p = tile.from_lanes %n0, %n1 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
    %y = tile.mma %p, %a : vector<64x64xbf16>, vector<64x16xbf16> -> !tile.pending<vector<64x16xf32>>
    %z = tile.await %y : !tile.pending<vector<64x16xf32>>
    tile.release %x : <vector<64x16xbf16>>
  }
}
