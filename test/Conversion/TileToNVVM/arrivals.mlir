// Arrivals of lanes at the barriers of a pair's leader. Tensor memory needs arrivals
// and waits that are relaxed, between fences of tcgen05; shared memory needs a release
// to the cluster, which is a fence of all memory.
//
// RUN: fa4-opt %s --tile-to-nvvm=verify=false | FileCheck %s

// CHECK-LABEL: llvm.func @tensor_memory
tile.kernel @tensor_memory() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>, tmem_columns = 64 : i64} {
  %a = tile.channel "a" tmem stages(1) place<offset(0) full(0) arrivals(256)> : <vector<128x64xbf16>>
  tile.role @lanes kind(vector) first_warp(0) {
    // CHECK: nvvm.tcgen05.wait <store>
    // CHECK: nvvm.tcgen05.fence <before>
    // CHECK: %[[LEADER:.*]] = nvvm.mapa
    // CHECK: nvvm.mbarrier.arrive %[[LEADER]] {relaxed = true, scope = #nvvm.mem_scope<cluster>}
    %v = arith.constant dense<1.0> : vector<64xbf16>
    tile.write %v, %a : vector<64xbf16>, <vector<128x64xbf16>>
    tile.commit %a : <vector<128x64xbf16>>
  }
  tile.role @mma kind(issuer) first_warp(4) leader {
    // CHECK: nvvm.mbarrier.try_wait {{.*}} {relaxed = true, scope = #nvvm.mem_scope<cluster>}
    // CHECK: nvvm.tcgen05.fence <after>
    %t = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
  }
}

// CHECK-LABEL: llvm.func @shared_memory
tile.kernel @shared_memory() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], cluster = #tile.cluster<size = 2, axis = 0>} {
  %a = tile.channel "a" smem stages(1) place<offset(0) full(0) arrivals(256)> : <vector<128x64xbf16>>
  tile.role @lanes kind(vector) first_warp(0) {
    // CHECK: nvvm.fence.proxy
    // CHECK: %[[LEADER:.*]] = nvvm.mapa
    // CHECK: nvvm.mbarrier.arrive %[[LEADER]] {scope = #nvvm.mem_scope<cluster>}
    %v = arith.constant dense<1.0> : vector<8xbf16>
    tile.write %v, %a : vector<8xbf16>, <vector<128x64xbf16>>
    tile.fence
    tile.commit %a : <vector<128x64xbf16>>
  }
  tile.role @mma kind(issuer) first_warp(4) leader {
    // CHECK: nvvm.mbarrier.try_wait {{.*}} {scope = #nvvm.mem_scope<cluster>}
    %t = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
  }
}
