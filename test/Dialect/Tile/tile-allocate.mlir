// tile-allocate places buffers, and obeys what tile-share-buffers has decided: a
// channel in place of another one lies in its buffer, where 'at' says, and a buffer
// may lie where those are that it is used 'after'. All others lie apart.
//
// RUN: fa4-opt %s --split-input-file --tile-allocate=verify=false | FileCheck %s
// (Not verified: no role uses the channels.)

// Offsets, alignment and the size of a kernel.

// CHECK-LABEL: tile.kernel @apart
// CHECK-SAME: smem_bytes = 50248 : i64, tmem_columns = 512 : i64
// CHECK: "rows" smem stages(2) place<offset(49152) full(0)
// CHECK: "small" smem stages(1) place<offset(32768) full(2)
// CHECK: "large" smem stages(1) place<offset(0) full(3)
// CHECK: "s" tmem stages(2) place<offset(0) full(4)
// CHECK: "odd" tmem stages(1) place<offset(256) full(6)
// CHECK: "last" tmem stages(1) place<offset(280) full(7)
tile.kernel @apart() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %rows = tile.channel "rows" smem stages(2) : <vector<128xf32>>
  %small = tile.channel "small" smem stages(1) : <vector<128x64xbf16>>
  %large = tile.channel "large" smem stages(1) : <vector<128x128xbf16>>
  %s = tile.channel "s" tmem stages(2) : <vector<128x128xf32>>
  %odd = tile.channel "odd" tmem stages(1) : <vector<128x24xf32>>
  %last = tile.channel "last" tmem stages(1) : <vector<128x16xbf16>>
}

// -----

// p0 and p1 share the buffer of s; so does a channel in place of p1, from where p1 begins.

// CHECK-LABEL: tile.kernel @in_place
// CHECK-SAME: tmem_columns = 256 : i64
// CHECK: "x" tmem stages(1) place<offset(0) full
// CHECK: "s" tmem stages(1) place<offset(128) full
// CHECK: "p0" tmem stages(1) in_place_of(%s : {{.*}}) place<offset(128) full
// CHECK: "p1" tmem stages(1) in_place_of(%s : {{.*}}) at(48) place<offset(176) full
// CHECK: "r" tmem stages(1) in_place_of(%p1 : {{.*}}) at(8) place<offset(184) full
tile.kernel @in_place() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" tmem stages(1) : <vector<128x128xf32>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p0 = tile.channel "p0" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) : <vector<128x96xbf16>>
  %p1 = tile.channel "p1" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) at(48) : <vector<128x32xbf16>>
  %r = tile.channel "r" tmem stages(1) in_place_of(%p1 : !tile.channel<vector<128x32xbf16>>) at(8) : <vector<128x16xbf16>>
}

// -----

// c may lie where a and b are, d where a is. a and b, and c and d, lie apart.

// CHECK-LABEL: tile.kernel @after
// CHECK-SAME: smem_bytes = 65568 : i64
// CHECK: "a" smem stages(1) place<offset(0) full
// CHECK: "b" smem stages(1) place<offset(32768) full
// CHECK: "c" smem stages(1) after(%a, %b : {{.*}}) place<offset(0) full
// CHECK: "d" smem stages(1) after(%b : {{.*}}) place<offset(32768) full
tile.kernel @after() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x128xbf16>>
  %b = tile.channel "b" smem stages(1) : <vector<128x128xbf16>>
  %c = tile.channel "c" smem stages(1) after(%a, %b : !tile.channel<vector<128x128xbf16>>, !tile.channel<vector<128x128xbf16>>) : <vector<128x128xbf16>>
  %d = tile.channel "d" smem stages(1) after(%b : !tile.channel<vector<128x128xbf16>>) : <vector<128x128xbf16>>
}

// -----

// 64 rows in a pair of CTAs are folded into half of the columns, two stages of 64
// here. In shared memory they have their size.

// CHECK-LABEL: tile.kernel @folded
// CHECK-SAME: tmem_columns = 256 : i64
// CHECK: "whole" tmem stages(1) place<offset(0) full
// CHECK: "folded" tmem stages(2) place<offset(128) full
// CHECK: "staged" smem stages(2) place<offset(0) full
// CHECK: "rows" smem stages(1) place<offset(65536) full
tile.kernel @folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %whole = tile.channel "whole" tmem stages(1) : <vector<128x128xf32>>
  %folded = tile.channel "folded" tmem stages(2) : <vector<64x128xf32>>
  %staged = tile.channel "staged" smem stages(2) : <vector<64x128xf32>>
  %rows = tile.channel "rows" smem stages(1) : <vector<128xf32>>
}
