// What an exchange is for the threads. Lanes write halves of their columns to two
// places, of which their rank selects the ones; one thread sends what lies behind
// the result to the rows of its rank in the other CTA, where the bytes arrive at the
// barrier at which the other thread waits, and then arrives at the leader's barrier.
// No CTA ends while the other one may write to its memory.
//
// RUN: fa4-opt %s --split-input-file --tile-to-nvvm=verify=false --verify-diagnostics | FileCheck %s

// A stage has 2 x 128 rows of 128 bytes for the result, and 128 rows that are sent.
// CHECK-LABEL: llvm.func @exchange
// CHECK-DAG: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-DAG: %[[PART:.*]] = llvm.mlir.constant(16384 : i32)
// CHECK-DAG: %[[SENT:.*]] = llvm.mlir.constant(32768 : i32)
// CHECK: %[[SMEM:.*]] = llvm.mlir.addressof @fa4_shared_memory
// The thread that expects bytes arrives.
// CHECK: %[[LANDED:.*]] = llvm.getelementptr %[[SMEM]][49160]
// CHECK: nvvm.mbarrier.init %[[LANDED]], %[[ONE]]
// CHECK: nvvm.cluster.wait
tile.kernel @exchange() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %own = tile.channel "own" smem stages(1) exchange place<offset(0) full(0) arrivals(128) landed(1) arrivals(1) bytes(16384)> : <vector<128x128xbf16>>
  %both = tile.channel "both" smem stages(1) in_place_of(%own : !tile.channel<vector<128x128xbf16>>) place<offset(0) full(2) arrivals(2)> : <vector<256x64xbf16>>
  tile.role @lanes kind(vector) first_warp(0) {
    // CHECK: %[[RANK:.*]] = llvm.inline_asm has_side_effects "mov.u32 $0, %cluster_ctarank;"
    // CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %[[RANK]], %[[ZERO]]
    // CHECK: %[[PLACE:.*]] = llvm.select %[[FIRST]], %[[ZERO]], %[[SENT]]
    // CHECK: llvm.add %{{.*}}, %[[PLACE]]
    // CHECK: llvm.store
    // CHECK: %[[SECOND:.*]] = llvm.icmp "eq" %[[RANK]], %[[ONE]]
    // CHECK: %[[PLACE:.*]] = llvm.select %[[SECOND]], %[[PART]], %[[SENT]]
    // CHECK: llvm.add %{{.*}}, %[[PLACE]]
    // CHECK: llvm.store
    %v = arith.constant dense<1.0> : vector<8xbf16>
    tile.write %v, %own : vector<8xbf16>, <vector<128x128xbf16>>
    tile.write %v, %own[72] : vector<8xbf16>, <vector<128x128xbf16>>
    tile.fence
    tile.commit %own : <vector<128x128xbf16>>
  }
  tile.role @exchange kind(issuer) first_warp(4) {
    // CHECK: %[[RANK:.*]] = llvm.inline_asm has_side_effects "mov.u32 $0, %cluster_ctarank;"
    // CHECK: nvvm.mbarrier.try_wait
    // CHECK: %[[LANDED:.*]] = llvm.getelementptr %[[SMEM]][49160]
    // CHECK: nvvm.mbarrier.arrive.expect_tx %[[LANDED]], %[[PART]]
    // CHECK: %[[PEER:.*]] = llvm.xor %[[RANK]], %[[ONE]]
    // CHECK: %[[THERE:.*]] = nvvm.mapa %[[LANDED]], %[[PEER]]
    // CHECK: %[[NUMBER:.*]] = llvm.ptrtoint %[[THERE]]
    // CHECK: %[[BARRIER:.*]] = llvm.inttoptr %[[NUMBER]]
    // CHECK: %[[ROWS:.*]] = llvm.mul %[[RANK]], %[[PART]]
    // CHECK: %[[OWN:.*]] = llvm.getelementptr %[[SMEM]][%[[ROWS]]]
    // CHECK: %[[FROM:.*]] = llvm.getelementptr %[[SMEM]][32768]
    // CHECK: %[[TO:.*]] = nvvm.mapa %[[OWN]], %[[PEER]]
    // CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[TO]], %[[FROM]], %[[BARRIER]], %[[PART]]
    // CHECK: nvvm.mbarrier.try_wait %[[LANDED]], %[[ZERO]] {scope = #nvvm.mem_scope<cluster>}
    // CHECK: %[[LEADER:.*]] = nvvm.mapa %{{.*}}, %[[ZERO]]
    // CHECK: nvvm.mbarrier.arrive %[[LEADER]] {scope = #nvvm.mem_scope<cluster>}
    // CHECK: nvvm.cluster.arrive
    // CHECK: nvvm.cluster.wait
    %a = tile.wait %own : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %b = tile.exchange %a : vector<128x128xbf16> -> vector<256x64xbf16>
    tile.commit %both, %b : <vector<256x64xbf16>>, vector<256x64xbf16>
  }
  tile.role @mma kind(issuer) first_warp(5) leader {
    %b = tile.wait %both : <vector<256x64xbf16>> -> vector<256x64xbf16>
  }
}

// -----

tile.kernel @rows() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %own = tile.channel "own" smem stages(1) exchange place<offset(0) full(0) arrivals(128) landed(1) arrivals(1) bytes(1536)> : <vector<12x128xbf16>>
  %both = tile.channel "both" smem stages(1) in_place_of(%own : !tile.channel<vector<12x128xbf16>>) place<offset(0) full(2) arrivals(2)> : <vector<24x64xbf16>>
  tile.role @exchange kind(issuer) first_warp(0) {
    %a = tile.wait %own : <vector<12x128xbf16>> -> vector<12x128xbf16>
    // expected-error @+1 {{exchanges 12 rows; a multiple of 8 is supported}}
    %b = tile.exchange %a : vector<12x128xbf16> -> vector<24x64xbf16>
    tile.commit %both, %b : <vector<24x64xbf16>>, vector<24x64xbf16>
  }
}

// -----

tile.kernel @lanes() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %own = tile.channel "own" smem stages(1) exchange place<offset(0) full(0) arrivals(128) landed(1) arrivals(1) bytes(16384)> : <vector<128x128xbf16>>
  tile.role @other kind(vector) first_warp(0) {
    // expected-error @+1 {{must have no result, because the role's lanes read the stage by tile.read (run tile-distribute first)}}
    %a = tile.wait %own : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %b = tile.exchange %a : vector<128x128xbf16> -> vector<256x64xbf16>
  }
}
