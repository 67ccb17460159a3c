// Places that contradict each other are refused by the channel's verifier; what does not fit into shared memory, tensor memory or the barriers' number
// is refused with the memory map.
//
// RUN: fa4-opt %s --split-input-file --tile-share-buffers --tile-allocate --verify-diagnostics

tile.kernel @no_tensor_memory() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{lives in tensor memory, which sm_90a does not have}}
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
}

// -----

tile.kernel @rank() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{in tensor memory must be a matrix, not 'vector<128xf32>'}}
  %s = tile.channel "s" tmem stages(1) : <vector<128xf32>>
}

// -----

tile.kernel @rows() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has 256 rows; tensor memory has 128 lanes}}
  %s = tile.channel "s" tmem stages(1) : <vector<256x128xf32>>
}

// -----

tile.kernel @elements() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{elements of 'vector<128xindex>' have no size in memory}}
  %s = tile.channel "s" smem stages(1) : <vector<128xindex>>
}

// -----

// Limits count what comes with the channels: here 13 barriers.

// expected-error @+1 {{needs 232552 bytes of shared memory; sm_100a has 232448}}
tile.kernel @full() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-note @+1 {{0 to 131072: 'a', 4 stages of 32768}}
  %a = tile.channel "a" smem stages(4) : <vector<128x128xbf16>>
  // expected-note @+1 {{131072 to 229376: 'b', 3 stages of 32768}}
  %b = tile.channel "b" smem stages(3) : <vector<128x128xbf16>>
  // expected-note @+1 {{229376 to 232448: 'c', 6 stages of 512}}
  %c = tile.channel "c" smem stages(6) : <vector<128xf32>>
}

// -----

// expected-error @+1 {{needs 640 columns of tensor memory; sm_100a has 512}}
tile.kernel @columns() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-note @+1 {{0 to 256: 's', 2 stages of 128, and 'r' in place of it}}
  %s = tile.channel "s" tmem stages(2) : <vector<128x128xf32>>
  %r = tile.channel "r" tmem stages(2) in_place_of(%s : !tile.channel<vector<128x128xf32>>) : <vector<128x128xf32>>
  // expected-note @+1 {{256 to 512: 'o', 1 stage of 256}}
  %o = tile.channel "o" tmem stages(1) : <vector<128x256xf32>>
  // expected-note @+1 {{512 to 640: 'p', 2 stages of 64}}
  %p = tile.channel "p" tmem stages(2) : <vector<128x128xbf16>>
}

// -----

tile.kernel @stages() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{has 1000000000 stages, but shared memory has room for the barriers of 29056}}
  %s = tile.channel "s" smem stages(1000000000) : <vector<128xf32>>
}

// -----

tile.kernel @at_alone() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  // expected-error @+1 {{says 'at' without 'in_place_of'}}
  %s = tile.channel "s" tmem stages(1) at(8) : <vector<128x128xf32>>
}

// -----

tile.kernel @at_end() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  // expected-error @+1 {{is at 100 of the buffer of 's', which has 128 columns; the channel needs 48}}
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) at(100) : <vector<128x96xbf16>>
}

// -----

// 64 rows of a pair take half of the columns.
tile.kernel @at_end_of_pair() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  // expected-error @+1 {{is at 80 of the buffer of 's', which has 128 columns; the channel needs 64}}
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) at(80) : <vector<64x128xf32>>
}

// -----

tile.kernel @at_negative() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" smem stages(1) : <vector<128x128xf32>>
  // expected-error @+1 {{is at -128 of the buffer of 's', which has 65536 bytes; the channel needs 512}}
  %p = tile.channel "p" smem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) at(-128) : <vector<128xf32>>
}

// -----

tile.kernel @at_of_stages() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(2) : <vector<128x128xf32>>
  // expected-error @+1 {{is at 48 of a buffer of 2 stages; only one stage can be divided}}
  %p = tile.channel "p" tmem stages(2) in_place_of(%s : !tile.channel<vector<128x128xf32>>) at(48) : <vector<128x32xbf16>>
}

// -----

tile.kernel @after_elsewhere() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  // expected-error @+1 {{says 'after' of a channel in another memory space}}
  %p = tile.channel "p" smem stages(1) after(%s : !tile.channel<vector<128x128xf32>>) : <vector<128xf32>>
}

// -----

tile.kernel @after_part() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) : <vector<128x128xbf16>>
  // expected-error @+1 {{says 'after' of channel 'p', which is in place of another one: that one has the buffer}}
  %q = tile.channel "q" tmem stages(1) after(%p : !tile.channel<vector<128x128xbf16>>) : <vector<128x128xbf16>>
}

// -----

tile.kernel @after_in_place() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %t = tile.channel "t" tmem stages(1) : <vector<128x128xf32>>
  // expected-error @+1 {{is in place of another channel; only that channel can say 'after'}}
  %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) after(%t : !tile.channel<vector<128x128xf32>>) : <vector<128x128xbf16>>
}

// -----

tile.kernel @other_space() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" tmem stages(1) : <vector<128x64xf32>>
  // expected-error @+1 {{is in smem, so it must be in place of a channel there}}
  %b = tile.channel "b" smem stages(1) in_place_of(%a : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
}

// -----

tile.kernel @other_stages() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(2) : <vector<128x64xf32>>
  // expected-error @+1 {{has stages(1), but channel "a", whose buffer it shares, has stages(2)}}
  %b = tile.channel "b" smem stages(1) in_place_of(%a : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
}

// -----

tile.kernel @larger() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  // expected-error @+1 {{holds 'vector<128x64xf32>', which is larger than 'vector<128x64xbf16>' of channel "a", whose buffer it shares}}
  %b = tile.channel "b" smem stages(1) in_place_of(%a : !tile.channel<vector<128x64xbf16>>) : <vector<128x64xf32>>
}
