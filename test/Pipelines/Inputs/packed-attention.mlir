// Attention of a batch whose keys and values are packed: the keys of sequence b are
// the rows starts[b] to ends[b] of one tensor, and the kernel reads both numbers from
// global memory. Queries are padded to one length. A sequence may have no keys; its rows
// of the output are zero, and their LSE -inf.
//
// The numbers are brought into 0 <= start <= end <= T, so that any contents of the two
// tensors are safe. A loop makes one pass at least: of an empty sequence it sees one
// block, all of whose keys are hidden.
tile.kernel @packed(%starts: memref<?xi32> {tile.name = "starts", tile.dims = ["B"]},
                    %ends: memref<?xi32> {tile.name = "ends", tile.dims = ["B"]},
                    %q: memref<?x?x2x64xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "2", "64"]},
                    %k: memref<?x2x64xbf16> {tile.name = "k", tile.dims = ["T", "2", "64"]},
                    %v: memref<?x2x64xbf16> {tile.name = "v", tile.dims = ["T", "2", "64"]},
                    %out: memref<?x?x2x64xbf16> {tile.name = "out", tile.dims = ["B", "Sq", "2", "64"], tile.output = "once"},
                    %lse: memref<?x2x?xf32> {tile.name = "lse", tile.dims = ["B", "2", "Sq"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"2">, #tile.extent<"B">]} {
  %ln2 = arith.constant dense<0.693147182> : vector<256xf32>
  %ones = arith.constant dense<1.0> : vector<256xf32>
  %zeros = arith.constant dense<0.0> : vector<256xf32>
  %lowest = arith.constant dense<-2.14748365E+9> : vector<256xf32>
  // log2(e) / sqrt(64)
  %scale = arith.constant dense<0.180336878> : vector<256x128xf32>
  %row_scale = arith.constant dense<0.180336878> : vector<256xf32>
  %hidden = arith.constant dense<0xFF800000> : vector<256x128xf32>
  %minus_infinity = arith.constant dense<0xFF800000> : vector<256xf32>
  %empty = arith.constant dense<0.0> : vector<256x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %i, %h, %b = tile.work_tile : index, index, index
  %row = arith.muli %i, %c256 : index
  // The rows of the keys.
  %total = memref.dim %k, %c0 : memref<?x2x64xbf16>
  %start_read = tile.load_scalar %starts[%b] : memref<?xi32>
  %start_index = arith.index_cast %start_read : i32 to index
  %start_positive = arith.maxsi %start_index, %c0 : index
  %start = arith.minsi %start_positive, %total : index
  %end_read = tile.load_scalar %ends[%b] : memref<?xi32>
  %end_index = arith.index_cast %end_read : i32 to index
  %end_behind = arith.maxsi %end_index, %start : index
  %end = arith.minsi %end_behind, %total : index
  %length = arith.subi %end, %start : index
  // From the last block, which may be part full, to the first.
  %blocks = arith.ceildivsi %length, %c128 : index
  %passes = arith.maxsi %blocks, %c1 : index
  %last = arith.subi %passes, %c1 : index
  %full = arith.floordivsi %length, %c128 : index
  %masked = arith.subi %passes, %full : index
  %tq = tile.load %q[%b, %row, %h, %c0] dims [1, 3] : memref<?x?x2x64xbf16> -> vector<256x64xbf16>
  %sums:3 = scf.for %pass = %c0 to %passes step %c1
      iter_args(%acc = %empty, %max = %minus_infinity, %sum = %zeros) -> (vector<256x64xf32>, vector<256xf32>, vector<256xf32>) {
    %block = arith.subi %last, %pass : index
    %first = arith.muli %block, %c128 : index
    %position = arith.addi %start, %first : index
    %tk = tile.load %k[%position, %h, %c0] dims [0, 2] : memref<?x2x64xbf16> -> vector<128x64xbf16>
    %scores = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<128x64xbf16> -> vector<256x128xf32>
    %is_masked = arith.cmpi slt, %pass, %masked : index
    %seen = scf.if %is_masked -> (vector<256x128xf32>) {
      %step = vector.step : vector<128xindex>
      %column = vector.broadcast %step : vector<128xindex> to vector<256x128xindex>
      %behind = arith.subi %length, %first : index
      %limit = vector.broadcast %behind : index to vector<256x128xindex>
      %is_seen = arith.cmpi slt, %column, %limit : vector<256x128xindex>
      %some = arith.select %is_seen, %scores, %hidden : vector<256x128xi1>, vector<256x128xf32>
      scf.yield %some : vector<256x128xf32>
    } else {
      scf.yield %scores : vector<256x128xf32>
    }
    %block_max = vector.multi_reduction <maximumf>, %seen, %minus_infinity [1] : vector<256x128xf32> to vector<256xf32>
    %scaled_max = arith.mulf %block_max, %row_scale : vector<256xf32>
    %new_max = arith.maximumf %max, %scaled_max : vector<256xf32>
    %is_lowest = arith.cmpf olt, %new_max, %lowest : vector<256xf32>
    %reference = arith.select %is_lowest, %zeros, %new_max : vector<256xi1>, vector<256xf32>
    %difference = arith.subf %max, %reference : vector<256xf32>
    %factor = math.exp2 %difference : vector<256xf32>
    %minus_reference = arith.negf %reference : vector<256xf32>
    %reference_column = vector.shape_cast %minus_reference : vector<256xf32> to vector<256x1xf32>
    %reference_tile = vector.broadcast %reference_column : vector<256x1xf32> to vector<256x128xf32>
    %exponent = math.fma %seen, %scale, %reference_tile : vector<256x128xf32>
    %probability = math.exp2 %exponent : vector<256x128xf32>
    %narrow = arith.truncf %probability : vector<256x128xf32> to vector<256x128xbf16>
    %old_sum = arith.mulf %sum, %factor : vector<256xf32>
    %new_sum = vector.multi_reduction <add>, %probability, %old_sum [1] : vector<256x128xf32> to vector<256xf32>
    %tv = tile.load %v[%position, %h, %c0] dims [0, 2] : memref<?x2x64xbf16> -> vector<128x64xbf16>
    %factor_column = vector.shape_cast %factor : vector<256xf32> to vector<256x1xf32>
    %factor_tile = vector.broadcast %factor_column : vector<256x1xf32> to vector<256x64xf32>
    %old_acc = arith.mulf %acc, %factor_tile : vector<256x64xf32>
    %new_acc = tile.mma %narrow, %tv acc %old_acc : vector<256x128xbf16>, vector<128x64xbf16> -> vector<256x64xf32>
    scf.yield %new_acc, %new_max, %new_sum : vector<256x64xf32>, vector<256xf32>, vector<256xf32>
  }
  %is_empty = arith.cmpf oeq, %sums#2, %zeros : vector<256xf32>
  %inverse = arith.divf %ones, %sums#2 : vector<256xf32>
  %weight = arith.select %is_empty, %zeros, %inverse : vector<256xi1>, vector<256xf32>
  %weight_column = vector.shape_cast %weight : vector<256xf32> to vector<256x1xf32>
  %weight_tile = vector.broadcast %weight_column : vector<256x1xf32> to vector<256x64xf32>
  %mean = arith.mulf %sums#0, %weight_tile : vector<256x64xf32>
  %result = arith.truncf %mean : vector<256x64xf32> to vector<256x64xbf16>
  tile.store %result, %out[%b, %row, %h, %c0] dims [1, 3] : vector<256x64xbf16>, memref<?x?x2x64xbf16>
  %log = math.log2 %sums#2 : vector<256xf32>
  %log_sum = arith.addf %log, %sums#1 : vector<256xf32>
  %natural = arith.mulf %log_sum, %ln2 : vector<256xf32>
  %row_lse = arith.select %is_empty, %minus_infinity, %natural : vector<256xi1>, vector<256xf32>
  tile.store %row_lse, %lse[%b, %h, %row] : vector<256xf32>, memref<?x2x?xf32>
}
