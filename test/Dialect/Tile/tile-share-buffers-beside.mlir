// A result of MMAs may lie beside the parts that lanes write over an accumulator, while the
// next value of the accumulator lives there: lanes read all of it first and hand it back, and
// the role of MMAs waits for that before it writes the result, and for the readers of the result
// before it writes the accumulator. It does so only where there are too few columns otherwise.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --tile-share-buffers --tile-allocate | FileCheck %s
//
// With columns for all, nobody hands back.
//
// $ sed -e '/%[net]3 = \|%o3\|%zero3 = /s/128x128xf32/128x64xf32/g' \
//     -e '/%[ne]3 = /s/%tx acc\(.*\), vector<128x128xbf16>/%ty acc\1, vector<128x64xbf16>/' \
//     -e 's/vector<128x128xf32>) {$/vector<128x64xf32>) {/' \
//     -e 's/\(yield .*\), vector<128x128xf32>$/\1, vector<128x64xf32>/' $S/tile-share-buffers-beside.mlir > room.mlir
// $ fa4-opt room.mlir --tile-share-buffers --tile-allocate | grep s_back
// [1]
//
// A result that is too wide stays apart.
//
// $ sed -e 's/128x64xf32/128x96xf32/g' -e 's/128x64xbf16/128x96xbf16/g' $S/tile-share-buffers-beside.mlir \
//   | fa4-opt --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 608 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// It stays apart, too, where lanes do not come to the accumulator before the result has been made, because they
// first need the stage that its operand has.
//
// $ sed -e '/tile.acquire %ds /d' \
//     -e 's/^\( *\)%ts = tile.wait %s .*/\1tile.acquire %ds : <vector<128x128xbf16>>\n&/' $S/tile-share-buffers-beside.mlir > circle.mlir
// $ fa4-opt circle.mlir --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 576 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// So it does where the reader of the result waits for what is made behind it.
//
// $ sed \
//     -e 's/^\( *\)%tq = tile.wait %dq .*/\1%to = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32>\n&/' \
//     -e '/tile.wait %o1 .* \/\/ end/d' $S/tile-share-buffers-beside.mlir > reader.mlir
// $ fa4-opt reader.mlir --tile-share-buffers=verify=false --tile-allocate=verify=false --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 576 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// The proof knows nothing of this pass, and finds what it could do wrong. Here the role of MMAs does not wait for lanes.
//
// $ fa4-opt $S/tile-share-buffers-beside.mlir --tile-share-buffers --tile-allocate -o done.mlir
// $ sed -e '/tile.wait %s_back/d' -e '/tile.commit %s_back/d' -e '/%s_back = /d' done.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "s": @lanes may read a stage in pass 2 of its loop while @mma writes it (channel "dq")
// ...
// [1]
//
// Here the role waits for the readers of the result behind the write of the accumulator; then columns are those of a part.
//
// $ sed -e '/tile.acquire %dq /d' \
//     -e 's/^\( *\).* = tile.wait %ds .*/\1tile.acquire %dq : <vector<128x64xf32>>\n&/' done.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "dq": @drain may read a stage in pass 1 of its loop while @mma writes it (channel "s")
// ...
// [1]
// $ sed -e 's/at(64) place<offset(64)/at(32) place<offset(32)/' done.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "p": @lanes may overwrite a stage in pass 2 of its loop while @mma writes it (channel "dq")
// ...
// [1]

// CHECK-LABEL: tile.kernel @beside
// CHECK-SAME: tmem_columns = 512
// CHECK-DAG: %s = tile.channel "s" tmem stages(1) place<offset([[S:[0-9]+]]) full
// CHECK-DAG: %s_back = tile.channel "s_back" tmem stages(1) in_place_of(%s : {{.*}}) place<offset([[S]]) full({{[0-9]+}}) arrivals(128)> : <vector<128x128xf32>>
// CHECK-DAG: %p = tile.channel "p" tmem stages(1) in_place_of(%s : {{.*}}) place<offset([[S]]) full
// CHECK-DAG: %dq = tile.channel "dq" tmem stages(1) in_place_of(%s : {{.*}}) at(64) place<offset({{[0-9]+}}) full({{[0-9]+}}) arrivals(1) empty
// CHECK-LABEL: tile.role @mma
// CHECK: tile.commit %s,
// CHECK-NEXT: tile.wait %s_back
// CHECK-NEXT: scf.for
// CHECK: tile.wait %p
// CHECK: tile.acquire %dq
// CHECK-NEXT: tile.mma
// CHECK-NEXT: tile.commit %s,
// CHECK: tile.wait %ds
// CHECK-NEXT: tile.wait %s_back
// CHECK-NEXT: tile.mma
// CHECK-NEXT: tile.commit %dq,
// CHECK: scf.yield
// CHECK: tile.wait %p
// CHECK-NOT: s_back
// CHECK: tile.acquire %dq
// CHECK-NOT: s_back
// CHECK: tile.commit %dq,
// CHECK-LABEL: tile.role @lanes
// CHECK: [[TS:%.*]] = tile.wait %s :
// CHECK-NEXT: [[COPY:%.*]] = tile.copy [[TS]]
// CHECK-NEXT: tile.commit %s_back : <vector<128x128xf32>>
// CHECK-NEXT: math.exp2 [[COPY]]

tile.kernel @beside() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %y = tile.channel "y" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %ds = tile.channel "ds" smem stages(1) : <vector<128x128xbf16>>
  %dq = tile.channel "dq" tmem stages(1) : <vector<128x64xf32>>
  %o1 = tile.channel "o1" tmem stages(1) : <vector<128x128xf32>>
  %o2 = tile.channel "o2" tmem stages(1) : <vector<128x128xf32>>
  %o3 = tile.channel "o3" tmem stages(1) : <vector<128x128xf32>>
  tile.role @source kind(vector) {
    %c = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
    %d = arith.constant dense<1.0> : vector<128x64xbf16>
    tile.commit %y, %d : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %zero3 = arith.constant dense<0.0> : vector<128x128xf32>
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %ty = tile.wait %y : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.acquire %s : <vector<128x128xf32>>
    %ts0 = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %s, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
    %r:3 = scf.for %i = %c0 to %c7 step %c1 iter_args(%a1 = %zero, %a2 = %zero, %a3 = %zero3) -> (vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32>) {
      %more = arith.cmpi ne, %i, %c0 : index
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %n1 = tile.mma %tp, %tx acc %a1 if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      %n2 = tile.mma %tp, %tx acc %a2 if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      %n3 = tile.mma %tp, %tx acc %a3 if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.release %p : <vector<128x128xbf16>>
      tile.acquire %s : <vector<128x128xf32>>
      %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      tile.acquire %dq : <vector<128x64xf32>>
      %tds = tile.wait %ds : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tdq = tile.mma %tds, %ty : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
      tile.commit %dq, %tdq : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %ds : <vector<128x128xbf16>>
      scf.yield %n1, %n2, %n3 : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32>
    }
    %tpe = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %e1 = tile.mma %tpe, %tx acc %r#0 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %e2 = tile.mma %tpe, %tx acc %r#1 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    %e3 = tile.mma %tpe, %tx acc %r#2 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.release %p : <vector<128x128xbf16>>
    tile.acquire %dq : <vector<128x64xf32>>
    %tdse = tile.wait %ds : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tdqe = tile.mma %tdse, %ty : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
    tile.commit %dq, %tdqe : <vector<128x64xf32>>, vector<128x64xf32>
    tile.release %ds : <vector<128x128xbf16>>
    tile.commit %o1, %e1 : <vector<128x128xf32>>, vector<128x128xf32>
    tile.commit %o2, %e2 : <vector<128x128xf32>>, vector<128x128xf32>
    tile.commit %o3, %e3 : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %ts : vector<128x128xf32>
      %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %ds : <vector<128x128xbf16>>
      tile.commit %ds, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @drain kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %tq = tile.wait %dq : <vector<128x64xf32>> -> vector<128x64xf32>
      %cq = tile.copy %tq : vector<128x64xf32>
      tile.release %dq : <vector<128x64xf32>>
    }
    %t1 = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32> // end
    %t2 = tile.wait %o2 : <vector<128x128xf32>> -> vector<128x128xf32>
    %t3 = tile.wait %o3 : <vector<128x128xf32>> -> vector<128x128xf32>
  }
}
