// Causal attention of a batch that is packed: the queries of sequence b are the rows
// q_starts[b] to q_ends[b] of one tensor, its keys and values the rows k_starts[b] to
// k_ends[b] of others. Masks are aligned to the ends of both. A list in global memory says
// what the work tiles are: tile (b, i) has the queries from 256 i to 256 i + 256 of sequence b.
//
// The rows of a sequence's last tile that are behind its end belong to another sequence: they
// are computed, and are not stored (`to`).
//
// The numbers are brought into bounds, so that any contents of the tensors are safe.
tile.kernel @varlen(%tiles: memref<?x2xi32> {tile.name = "tiles", tile.dims = ["W", "2"]},
                    %q_starts: memref<?xi32> {tile.name = "q_starts", tile.dims = ["B"]},
                    %q_ends: memref<?xi32> {tile.name = "q_ends", tile.dims = ["B"]},
                    %k_starts: memref<?xi32> {tile.name = "k_starts", tile.dims = ["B"]},
                    %k_ends: memref<?xi32> {tile.name = "k_ends", tile.dims = ["B"]},
                    %q: memref<?x2x64xbf16> {tile.name = "q", tile.dims = ["Tq", "2", "64"]},
                    %k: memref<?x2x64xbf16> {tile.name = "k", tile.dims = ["Tk", "2", "64"]},
                    %v: memref<?x2x64xbf16> {tile.name = "v", tile.dims = ["Tk", "2", "64"]},
                    %out: memref<?x2x64xbf16> {tile.name = "out", tile.dims = ["Tq", "2", "64"], tile.output = "partial"},
                    %lse: memref<2x?xf32> {tile.name = "lse", tile.dims = ["2", "Tq"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"2">, #tile.extent<"W">]} {
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
  // Tiles of the longest sequence.
  %most = arith.constant 2097152 : index
  %h, %w = tile.work_tile : index, index
  %b_read = tile.load_scalar %tiles[%w, %c0] : memref<?x2xi32>
  %b = arith.index_cast %b_read : i32 to index
  %i_read = tile.load_scalar %tiles[%w, %c1] : memref<?x2xi32>
  %i_index = arith.index_cast %i_read : i32 to index
  %i_positive = arith.maxsi %i_index, %c0 : index
  %i = arith.minsi %i_positive, %most : index
  // The rows of the queries.
  %q_total = memref.dim %q, %c0 : memref<?x2x64xbf16>
  %q_start_read = tile.load_scalar %q_starts[%b] : memref<?xi32>
  %q_start_index = arith.index_cast %q_start_read : i32 to index
  %q_start_positive = arith.maxsi %q_start_index, %c0 : index
  %q_start = arith.minsi %q_start_positive, %q_total : index
  %q_end_read = tile.load_scalar %q_ends[%b] : memref<?xi32>
  %q_end_index = arith.index_cast %q_end_read : i32 to index
  %q_end_behind = arith.maxsi %q_end_index, %q_start : index
  %q_end = arith.minsi %q_end_behind, %q_total : index
  %q_length = arith.subi %q_end, %q_start : index
  %in_front = arith.muli %i, %c256 : index
  %row = arith.addi %q_start, %in_front : index
  // The rows of the keys.
  %k_total = memref.dim %k, %c0 : memref<?x2x64xbf16>
  %k_start_read = tile.load_scalar %k_starts[%b] : memref<?xi32>
  %k_start_index = arith.index_cast %k_start_read : i32 to index
  %k_start_positive = arith.maxsi %k_start_index, %c0 : index
  %start = arith.minsi %k_start_positive, %k_total : index
  %k_end_read = tile.load_scalar %k_ends[%b] : memref<?xi32>
  %k_end_index = arith.index_cast %k_end_read : i32 to index
  %k_end_behind = arith.maxsi %k_end_index, %start : index
  %k_end = arith.minsi %k_end_behind, %k_total : index
  %length = arith.subi %k_end, %start : index
  // How many keys the first row and the last one of the tile see. (A row behind the end of the
  // sequence would see more than all.)
  %lead = arith.subi %length, %q_length : index
  %seen_before = arith.addi %lead, %in_front : index
  %fewest_seen = arith.addi %seen_before, %c1 : index
  %seen_by_full = arith.addi %seen_before, %c256 : index
  %most_seen = arith.minsi %seen_by_full, %length : index
  %seen_by_last = arith.maxsi %most_seen, %c0 : index
  // From the last block, which may be part full, to the first.
  %blocks = arith.ceildivsi %seen_by_last, %c128 : index
  %passes = arith.maxsi %blocks, %c1 : index
  %last = arith.subi %passes, %c1 : index
  %seen_by_all = arith.maxsi %fewest_seen, %c0 : index
  %full = arith.floordivsi %seen_by_all, %c128 : index
  %masked = arith.subi %passes, %full : index
  %tq = tile.load %q[%row, %h, %c0] dims [0, 2] : memref<?x2x64xbf16> -> vector<256x64xbf16>
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
      %rows = vector.step : vector<256xindex>
      %seen_by_first = arith.subi %fewest_seen, %first : index
      %first_limit = vector.broadcast %seen_by_first : index to vector<256xindex>
      %limits = arith.addi %rows, %first_limit : vector<256xindex>
      %limit_column = vector.shape_cast %limits : vector<256xindex> to vector<256x1xindex>
      %limit = vector.broadcast %limit_column : vector<256x1xindex> to vector<256x128xindex>
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
  tile.store %result, %out[%row, %h, %c0] dims [0, 2] to(%q_end) : vector<256x64xbf16>, memref<?x2x64xbf16>
  %log = math.log2 %sums#2 : vector<256xf32>
  %log_sum = arith.addf %log, %sums#1 : vector<256xf32>
  %natural = arith.mulf %log_sum, %ln2 : vector<256xf32>
  %row_lse = arith.select %is_empty, %minus_infinity, %natural : vector<256xi1>, vector<256xf32>
  tile.store %row_lse, %lse[%h, %row] to(%q_end) : vector<256xf32>, memref<2x?xf32>
}
