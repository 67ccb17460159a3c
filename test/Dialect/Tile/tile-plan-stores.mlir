// A CTA that goes on to the next work tile has results in memory of their own, beside
// the next queries. With 256 columns of queries there is no room for the results
// of both query tiles, whose 64 columns are one box and cannot leave in parts: they
// go through one buffer, the second one when the first one has been read.
//
// RUN: fa4-opt %s --attn-to-nvvm="to=allocate schedule=static pairs=off" | FileCheck %s

// CHECK-NOT: tile.channel "correction_store_2"
// CHECK: %[[STORE:.*]] = tile.channel "correction_store" smem stages(1)
// CHECK-NOT: tile.channel "correction_store_2"

// CHECK-LABEL: tile.role @correction
// CHECK: tile.acquire %[[STORE]]
// CHECK: tile.commit %[[STORE]]
// CHECK: tile.acquire %[[STORE]]
// CHECK: tile.commit %[[STORE]]

// CHECK-LABEL: tile.role @store
// CHECK: %[[FIRST:.*]] = tile.wait %[[STORE]]
// CHECK: tile.store %[[FIRST]]
// CHECK-NEXT: tile.release %[[STORE]]
// CHECK: %[[SECOND:.*]] = tile.wait %[[STORE]]
// CHECK: tile.store %[[SECOND]]
// CHECK-NEXT: tile.release %[[STORE]]

func.func @f(%q: memref<?x?x?x256xbf16>, %k: memref<?x?x?x256xbf16>, %v: memref<?x?x?x64xbf16>, %out: memref<?x?x?x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%out : memref<?x?x?x64xbf16>)
    : memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x64xbf16>
  return
}
