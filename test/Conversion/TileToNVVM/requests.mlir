// Requests for work. A CTA alone asks for itself. The leader of a cluster asks for all CTAs: one thread lets the
// barrier of each CTA expect the response, which comes to all of them; each role gives it back at the leader's
// barrier, by a release that the other CTA's memory needs, too. What comes is the number of a CTA, of which a
// cluster has two.
//
// RUN: fa4-opt %s --tile-to-nvvm=verify=false | FileCheck %s

// CHECK-LABEL: llvm.func @alone
tile.kernel @alone(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %next = tile.channel "next" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16) empty(1) arrivals(1)> : <i128>
  tile.role @request kind(issuer) first_warp(0) {
    // CHECK-NOT: mapa
    // CHECK: nvvm.mbarrier.arrive.expect_tx
    // CHECK-NEXT: nvvm.clusterlaunchcontrol.try.cancel %
    // CHECK: %[[CTA:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = {{ *}}get_first_cta_id_x
    // CHECK-NEXT: llvm.select %{{.*}}, %[[CTA]]
    // CHECK: nvvm.mbarrier.arrive %{{[0-9]+}} : !llvm.ptr<3>
    tile.work (%i) {
      tile.acquire %next : <i128>
      %asked = tile.request : i128
      tile.commit %next, %asked : <i128>, i128
      %response = tile.wait %next : <i128> -> i128
      tile.release %next : <i128>
      %number = tile.response %response : i128
      tile.next %number
    }
  }
}

// CHECK-LABEL: llvm.func @pair
tile.kernel @pair(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>, cluster = #tile.cluster<size = 2, axis = 0>} {
  %next = tile.channel "next" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16) empty(1) arrivals(257)> : <i128>
  tile.role @lanes kind(vector) first_warp(0) {
    // The first work tile is that of the cluster.
    // CHECK: %clusterid.x
    // CHECK: nvvm.mbarrier.try_wait %{{[0-9]+}}, %{{[0-9]+}} : !llvm.ptr<3>, i32 -> i1
    // CHECK: llvm.load {{.*}} i128
    // CHECK-NEXT: nvvm.fence.proxy
    // CHECK: %[[CTA:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = {{ *}}get_first_cta_id_x
    // CHECK-NEXT: %[[CLUSTER:.*]] = llvm.udiv %[[CTA]]
    // CHECK-NEXT: llvm.select %{{.*}}, %[[CLUSTER]]
    // CHECK: %[[LEADER:.*]] = nvvm.mapa
    // CHECK-NEXT: nvvm.mbarrier.arrive %[[LEADER]] {scope = #nvvm.mem_scope<cluster>}
    tile.work (%i) {
      %response = tile.wait %next : <i128> -> i128
      tile.release %next : <i128>
      %number = tile.response %response : i128
      tile.next %number
    }
  }
  tile.role @request kind(issuer) first_warp(4) leader {
    // CHECK: nvvm.mbarrier.try_wait {{.*}} {scope = #nvvm.mem_scope<cluster>}
    // CHECK: nvvm.mbarrier.arrive.expect_tx %[[OWN:[0-9]+]], %[[BYTES:[0-9]+]] : !llvm.ptr<3>
    // CHECK-NEXT: %[[OTHER:.*]] = nvvm.mapa %[[OWN]]
    // CHECK-NEXT: nvvm.mbarrier.arrive.expect_tx %[[OTHER]], %[[BYTES]] {relaxed = true, scope = #nvvm.mem_scope<cluster>}
    // CHECK: nvvm.clusterlaunchcontrol.try.cancel multicast
    // The leader's own role arrives in its own CTA.
    // CHECK-NOT: mapa
    // CHECK: nvvm.mbarrier.arrive %{{[0-9]+}} : !llvm.ptr<3>
    tile.work (%i) {
      tile.acquire %next : <i128>
      %asked = tile.request : i128
      tile.commit %next, %asked : <i128>, i128
      %response = tile.wait %next : <i128> -> i128
      tile.release %next : <i128>
      %number = tile.response %response : i128
      tile.next %number
    }
  }
}
