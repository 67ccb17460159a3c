// Schedules of work tiles: the text of a kernel whose CTAs work on several tiles is
// printed as it is parsed, and the programs that contradict themselves are refused.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics | fa4-opt --split-input-file | FileCheck %s

// CHECK-LABEL: tile.kernel @static
// CHECK-SAME: order = #tile.order<axis = 1, descending = true, cache_bytes = 1000, group_bytes = 256, size = "N">
// CHECK-SAME: schedule = #tile.schedule<static>
tile.kernel @static(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["N", "M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>, #tile.extent<"M">], schedule = #tile.schedule<static>,
                order = #tile.order<axis = 1, descending = true, cache_bytes = 1000, group_bytes = 256, size = "N">} {
  // CHECK: tile.work (%{{.*}}, %{{.*}}) {
  // CHECK-NEXT: }
  tile.work (%i, %j) {
  }
}

// -----

// CHECK-LABEL: tile.kernel @requested
// CHECK: tile.next %{{.*}}
tile.kernel @requested(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %next = tile.channel "next" smem stages(1) : <i128>
  tile.role @request kind(issuer) {
    tile.work (%i) {
      tile.acquire %next : <i128>
      %asked = tile.request : i128
      tile.commit %next, %asked : <i128>, i128
      %response = tile.wait %next : <i128> -> i128
      %number = tile.response %response : i128
      tile.release %next : <i128>
      tile.next %number
    }
  }
}

// -----

tile.kernel @one(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  // expected-error @+1 {{'tile.work' op is in a kernel of the schedule 'grid', whose CTAs have one work tile each (see tile.work_tile)}}
  tile.work (%i) {
  }
}

// -----

tile.kernel @several(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  // expected-error @+1 {{'tile.work_tile' op is of a CTA with one work tile, but with the schedule 'static' a CTA may have more (see tile.work)}}
  %i = tile.work_tile : index
}

// -----

tile.kernel @coordinates(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  // expected-error @+1 {{'tile.work' op has 2 coordinates, but the grid has 1 extents}}
  tile.work (%i, %j) {
  }
}

// -----

tile.kernel @twice(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  tile.work (%i) {
  }
  // expected-error @+1 {{'tile.work' op is the second one of its block}}
  tile.work (%i) {
  }
}

// -----

// expected-error @+1 {{'tile.kernel' op has an order, but its schedule is 'grid', in which hardware chooses the order}}
tile.kernel @order(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], order = #tile.order<axis = 0>} {
  %i = tile.work_tile : index
}

// -----

// expected-error @+1 {{'tile.kernel' op has an order of blocks along axis 1, but the grid has 1 extents}}
tile.kernel @axis(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<lpt>, order = #tile.order<axis = 1>} {
  %i = tile.work_tile : index
}

// -----

// expected-error @+1 {{'tile.kernel' op has an order with the size 'K', which is not a dimension of an argument}}
tile.kernel @size(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<lpt>,
                order = #tile.order<axis = 0, cache_bytes = 1, size = "K">} {
  %i = tile.work_tile : index
}

// -----

// expected-error @+1 {{'tile.kernel' op has an order with -1 bytes of cache for groups of 0 bytes: the first is at least 0, the second at least 1}}
tile.kernel @bytes(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<lpt>,
                order = #tile.order<axis = 0, cache_bytes = -1, group_bytes = 0>} {
  %i = tile.work_tile : index
}

// -----

// expected-error @+1 {{'tile.kernel' op has an order in which -2 blocks are few}}
tile.kernel @few_of_bytes(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<lpt>,
                order = #tile.order<axis = 0, few_blocks = -2>} {
  %i = tile.work_tile : index
}

// -----

tile.kernel @unasked(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  tile.role @r kind(vector) {
    // expected-error @+1 {{'tile.next' op needs the number of the next work tile, because the kernel's schedule is 'clc'}}
    tile.work (%i) {
    }
  }
}

// -----

tile.kernel @asked(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<static>} {
  tile.work (%i) {
    // expected-error @+1 {{'tile.next' op has a number, which only the schedule 'clc' needs}}
    tile.next %i
  }
}

// -----

tile.kernel @computed(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  tile.role @r kind(vector) {
    tile.work (%i) {
      // expected-error @+1 {{'tile.next' op has a number that is not the result of a tile.response}}
      tile.next %i
    }
  }
}

// -----

tile.kernel @channel(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], schedule = #tile.schedule<clc>} {
  %c = tile.channel "c" smem stages(1) : <i32>
  tile.role @r kind(vector) {
    tile.work (%i) {
      %v = tile.wait %c : <i32> -> i32
      // expected-error @+1 {{'tile.response' op operand #0 must be response to a request (i128), but got 'i32'}}
      %n = tile.response %v : i32
      tile.next %n
    }
  }
}
