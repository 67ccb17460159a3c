// A tile that a stage would not hold as one: the swizzle repeats every 8 rows, and copies of 4 rows have no place in it.
//
// RUN: fa4-opt %s --attn-to-nvvm='from=tile to=nvvm' --verify-diagnostics

tile.kernel @k(%k: memref<?x12x64xbf16> {tile.name = "k", tile.dims = ["P", "12", "64"]},
               %t: memref<?x?xi32> {tile.name = "page_table", tile.dims = ["B", "N"]},
               %y: memref<?x?x64xf32> {tile.name = "y", tile.dims = ["B", "Sk", "64"], tile.output = "partial"},
               %end: index {tile.name = "end"})
    attributes {chip = "sm_90a", grid = [#tile.extent<"Sk" by 128>, #tile.extent<"B">]} {
  %i, %b = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  // expected-error @+1 {{copies 4 rows of a page at once; pages of 12 rows and tiles of 128 must have multiples of 8 in common}}
  %v = tile.load %k[%b, %row, %c0] to(%end) pages(%t : memref<?x?xi32>) : memref<?x12x64xbf16> -> vector<128x64xbf16>
  %v32 = arith.extf %v : vector<128x64xbf16> to vector<128x64xf32>
  tile.store %v32, %y[%b, %row, %c0] : vector<128x64xf32>, memref<?x?x64xf32>
}
