// Values that one thread cannot hold its part of are refused on the operation.
// At the end, placement and fences are proven again.
//
// RUN: fa4-opt %s --tile-distribute --split-input-file --verify-diagnostics

tile.kernel @layouts() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
  tile.role @r kind(vector) {
    %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
    %col = vector.broadcast %v : vector<128xf32> to vector<128x128xf32>
    // expected-error @below {{uses a tile both as one element a thread and as a whole}}
    %vc = vector.shape_cast %v : vector<128xf32> to vector<128x1xf32>
    %row = vector.broadcast %vc : vector<128x1xf32> to vector<128x128xf32>
    %z = arith.addf %col, %row : vector<128x128xf32>
    tile.commit %o, %z : <vector<128x128xf32>>, vector<128x128xf32>
  }
}

// -----

tile.kernel @rows() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x64xf32>>
  tile.role @r kind(vector) {
    // expected-error @below {{gives 'vector<64x64xf32>' in a role whose threads hold 128 rows}}
    %v = tile.wait %c : <vector<64x64xf32>> -> vector<64x64xf32>
  }
}

// -----

tile.kernel @row_values() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<64xf32>>
  tile.role @r kind(vector) {
    %v = tile.wait %c : <vector<64xf32>> -> vector<64xf32>
    // expected-error @below {{has 64 rows in a role whose threads hold 128}}
    tile.commit %c, %v : <vector<64xf32>>, vector<64xf32>
  }
}

// -----

tile.kernel @over_rows() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<128xf32>>
  tile.role @r kind(vector) {
    %z = arith.constant dense<0.0> : vector<128xf32>
    %v = tile.wait %c : <vector<128x128xf32>> -> vector<128x128xf32>
    // expected-error @below {{reduces over rows, which different threads hold}}
    %s = vector.multi_reduction <add>, %v, %z [0] : vector<128x128xf32> to vector<128xf32>
    tile.commit %o, %s : <vector<128xf32>>, vector<128xf32>
  }
}

// -----

tile.kernel @transpose() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x128xf32>>
  tile.role @r kind(vector) {
    %v = tile.wait %c : <vector<128x128xf32>> -> vector<128x128xf32>
    // expected-error @below {{is not supported on tiles held by the threads of role 'r'}}
    %t = vector.transpose %v, [1, 0] : vector<128x128xf32> to vector<128x128xf32>
    tile.commit %c, %t : <vector<128x128xf32>>, vector<128x128xf32>
  }
}

// -----

tile.kernel @store(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x64xf32>>
  tile.role @r kind(vector) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %c : <vector<128x64xf32>> -> vector<128x64xf32>
    // expected-error @below {{stores a matrix from the registers of role 'r'; commit it to a channel}}
    tile.store %v, %x[%c0, %c0] : vector<128x64xf32>, memref<?x?xf32>
  }
}

// -----

tile.kernel @some_rows() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<1x128xf32>>
  tile.role @r kind(vector) {
    %v = tile.wait %c : <vector<128x128xf32>> -> vector<128x128xf32>
    // expected-error @below {{takes some of the rows, but each thread holds one}}
    %s = vector.extract_strided_slice %v {offsets = [3], sizes = [1], strides = [1]} : vector<128x128xf32> to vector<1x128xf32>
    tile.commit %o, %s : <vector<1x128xf32>>, vector<1x128xf32>
  }
}

// -----

tile.kernel @each_row() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x1xf32>>
  tile.role @r kind(vector) {
    // expected-error @below {{differs from row to row, but all threads of a role run the same code}}
    %k = arith.constant dense<"0x000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F"> : vector<128x1xf32>
    tile.commit %c, %k : <vector<128x1xf32>>, vector<128x1xf32>
  }
}

// -----

// Nobody has written the first value of a channel with `initial`, so no lane may read it.
tile.kernel @first_value() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" tmem stages(1) initial(1) : <vector<128x64xf32>>
  %or = tile.channel "or" tmem stages(1) in_place_of(%o : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  tile.role @correct kind(vector) {
    %ov = tile.wait %o : <vector<128x64xf32>> -> vector<128x64xf32>
    // expected-error @below {{'tile.commit' op uses the first value of channel "o", which nobody has written: only a tile.rescale that is committed in the value's place leaves it alone}}
    tile.commit %or, %ov : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// Placement, barriers and fences are checked again at the end.
tile.kernel @arrivals(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                  %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32784 : i64} {
  %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384)> : <vector<128x64xbf16>>
  // expected-error @below {{channel "out" has arrivals(64) a phase of its full barriers, expected arrivals(128): @compute 128}}
  %out = tile.channel "out" smem stages(1) place<offset(16384) full(1) arrivals(64)> : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @compute kind(vector) first_warp(0) registers(64) {
    %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %w = arith.addf %v, %v : vector<128x64xbf16>
    tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @store kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
  }
}

// -----

// 64 rows in a pair of CTAs are folded: a thread has half of the columns.
tile.kernel @columns_of_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %r = tile.channel "r" smem stages(1) : <vector<128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<64x128xf32>>
  tile.role @r kind(vector) {
    %row = tile.wait %r : <vector<128xf32>> -> vector<128xf32>
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    // expected-error @below {{gives all rows the same columns, but which columns of a row a thread holds is known only when it runs}}
    %same = vector.broadcast %row : vector<128xf32> to vector<64x128xf32>
    %sum = arith.addf %v, %same : vector<64x128xf32>
    tile.commit %o, %sum : <vector<64x128xf32>>, vector<64x128xf32>
  }
}

// -----

tile.kernel @slice_of_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<64x64xf32>>
  tile.role @r kind(vector) {
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    // expected-error @below {{takes some of the columns, of which each thread of a row would need an equal part; a piece has 128 columns at least}}
    %s = vector.extract_strided_slice %v {offsets = [0, 0], sizes = [64, 64], strides = [1, 1]} : vector<64x128xf32> to vector<64x64xf32>
    tile.commit %o, %s : <vector<64x64xf32>>, vector<64x64xf32>
  }
}

// -----

// A thread has 64 elements of both, but not the same ones.
tile.kernel @shape_of_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<128x64xf32>>
  tile.role @r kind(vector) {
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    // expected-error @below {{moves elements from row to row, but each thread holds its own}}
    %s = vector.shape_cast %v : vector<64x128xf32> to vector<128x64xf32>
    tile.commit %o, %s : <vector<128x64xf32>>, vector<128x64xf32>
  }
}

// -----

// Threads t and t + 64 have half of row t each, in different warps.
tile.kernel @reduce_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<64xf32>>
  tile.role @r kind(vector) {
    %z = arith.constant dense<0.0> : vector<64xf32>
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    // expected-error @below {{reduces rows of which 2 threads hold a part each; only rows that one thread holds as a whole can be reduced}}
    %s = vector.multi_reduction <add>, %v, %z [1] : vector<64x128xf32> to vector<64xf32>
    tile.commit %o, %s : <vector<64xf32>>, vector<64xf32>
  }
}

// -----

// Nobody says which of the two threads with a row's value writes it.
tile.kernel @row_values_of_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" smem stages(1) : <vector<64xf32>>
  tile.role @r kind(vector) {
    %k = arith.constant dense<1.0> : vector<64xf32>
    // expected-error @below {{accesses a value for each of 64 rows, but the threads of the role do not own a row each}}
    tile.commit %o, %k : <vector<64xf32>>, vector<64xf32>
  }
}

// -----

tile.kernel @waits_for_row_values_of_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x128xf32>>
  %r = tile.channel "r" smem stages(1) : <vector<64xf32>>
  %o = tile.channel "o" smem stages(1) : <vector<64x128xf32>>
  tile.role @r kind(vector) {
    // expected-error @below {{accesses a value for each of 64 rows, but the threads of the role do not own a row each}}
    %f = tile.wait %r : <vector<64xf32>> -> vector<64xf32>
    %v = tile.wait %c : <vector<64x128xf32>> -> vector<64x128xf32>
    %fc = vector.shape_cast %f : vector<64xf32> to vector<64x1xf32>
    %fb = vector.broadcast %fc : vector<64x1xf32> to vector<64x128xf32>
    %p = arith.mulf %v, %fb : vector<64x128xf32>
    tile.commit %o, %p : <vector<64x128xf32>>, vector<64x128xf32>
  }
}

// -----

// A constant is free to be of rows or of columns, but there are no 64 rows.
tile.kernel @free_row_values() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %o = tile.channel "o" smem stages(1) : <vector<64xf32>>
  tile.role @r kind(vector) {
    %k = arith.constant dense<1.0> : vector<64xf32>
    // expected-error @below {{accesses a value for each of 64 rows, but the threads of the role do not own a row each}}
    tile.commit %o, %k : <vector<64xf32>>, vector<64xf32>
  }
}

// -----

tile.kernel @odd_folded() attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<64x65xf32>>
  tile.role @r kind(vector) {
    // expected-error @below {{gives 'vector<64x65xf32>' in a role whose threads hold 128 rows}}
    %v = tile.wait %c : <vector<64x65xf32>> -> vector<64x65xf32>
  }
}

// -----

// The threads of a matrix role hold fragments. What they read from shared memory themselves would be rows.
tile.kernel @read_by_fragments() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xf32>>
  %y = tile.channel "y" smem stages(1) : <vector<64x64xf32>>
  tile.role @r kind(matrix) {
    // expected-error @below {{gives a tile that the threads of a 'matrix' role would read from memory: they compute with the results of their own MMAs only}}
    %a = tile.wait %x : <vector<64x64xf32>> -> vector<64x64xf32>
    %b = arith.negf %a : vector<64x64xf32>
    tile.release %x : <vector<64x64xf32>>
    tile.acquire %y : <vector<64x64xf32>>
    tile.commit %y, %b : <vector<64x64xf32>>, vector<64x64xf32>
  }
}

// -----

tile.kernel @b_in_registers() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    %n = arith.truncf %t : vector<64x64xf32> to vector<64x64xbf16>
    // expected-error @below {{has a B in registers; an MMA reads it from shared memory}}
    %u = tile.mma %a, %n : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %v = tile.await %u : !tile.pending<vector<64x64xf32>>
    tile.release %x : <vector<64x64xbf16>>
  }
}

// -----

// A thread has two columns of every eight: four of a piece of eight would be other columns in each thread.
tile.kernel @part_of_columns() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  %y = tile.channel "y" smem stages(1) : <vector<64x4xf32>>
  tile.role @r kind(matrix) {
    %a = tile.wait %x : <vector<64x64xbf16>> -> vector<64x64xbf16>
    %s = tile.mma %a, transpose %a : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
    %t = tile.await %s : !tile.pending<vector<64x64xf32>>
    // expected-error @below {{takes some of the columns, of which each thread of a row would need an equal part; a piece has 8 columns at least}}
    %n = vector.extract_strided_slice %t {offsets = [0, 4], sizes = [64, 4], strides = [1, 1]} : vector<64x64xf32> to vector<64x4xf32>
    tile.release %x : <vector<64x64xbf16>>
    tile.acquire %y : <vector<64x4xf32>>
    tile.commit %y, %n : <vector<64x4xf32>>, vector<64x4xf32>
  }
}

// -----

// Columns of a thread depend on its number.
tile.kernel @columns_of_a_constant() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<64x64xbf16>>
  %y = tile.channel "y" smem stages(1) : <vector<64x8xf32>>
  tile.role @r kind(matrix) {
    // expected-error @below {{differs from column to column, but all threads of a role run the same code}}
    %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : vector<8xf32>
    %b = vector.broadcast %c : vector<8xf32> to vector<64x8xf32>
    tile.acquire %y : <vector<64x8xf32>>
    tile.commit %y, %b : <vector<64x8xf32>>, vector<64x8xf32>
  }
}
