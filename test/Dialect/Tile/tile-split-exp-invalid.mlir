// Shares and degrees out of range are refused with the range.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --tile-split-exp --split-input-file --verify-diagnostics
//
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=fraction=0.9 --split-input-file
// {{.*}}error: tile-split-exp: the fraction must be from 0 to 0.5 in rows of 64 columns, of which the last 32 stay on the special function unit; got 0.9
// ...
// [1]
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=degree=9 --split-input-file
// {{.*}}error: tile-split-exp: a polynomial of 2^x has degree 1 to 6, not 9
// ...
// [1]
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=fraction=nan --split-input-file
// {{.*}}error: tile-split-exp: the fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed; got nan
// ...
// [1]
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=fraction=-7 --split-input-file
// {{.*}}error: tile-split-exp: the fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed; got -7
// ...
// [1]
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=fraction=inf --split-input-file
// {{.*}}error: tile-split-exp: the fraction must be from 0 to 0.75 (in rows of 128 columns), or -1 for one that is computed; got inf
// ...
// [1]
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=pairs-per-fragment=-2 --split-input-file
// {{.*}}error: tile-split-exp: pairs-per-fragment must be from 0 to 16, or -1 for a number that is computed; got -2
// ...
// [1]
// $ fa4-opt $S/tile-split-exp-invalid.mlir --tile-split-exp=pairs-per-fragment=17 --split-input-file
// {{.*}}error: tile-split-exp: pairs-per-fragment must be from 0 to 16, or -1 for a number that is computed; got 17
// ...
// [1]

tile.kernel @good() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  tile.role @r kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
    %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %m = vector.multi_reduction <maximumf>, %x, %ninf [1] : vector<128x64xf32> to vector<128xf32>
    %mc = vector.shape_cast %m : vector<128xf32> to vector<128x1xf32>
    %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x64xf32>
    %e = arith.subf %x, %mb : vector<128x64xf32>
    scf.for %i = %c0 to %c1 step %c1 {
      %y = math.exp2 %e : vector<128x64xf32>
      %z = arith.truncf %y : vector<128x64xf32> to vector<128x64xbf16>
    }
  }
}
