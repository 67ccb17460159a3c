// Where tensor memory does not hold all results of MMAs, one of them can have the
// columns of another whose readers hand something back: when the role of the MMAs has
// waited for that, the columns are free. The role waits for the readers of the second
// result before it writes the first one again.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck %s < shared.mlir
// RUN: sed -e '/#filler$/d' %s | fa4-opt --tile-share-buffers | FileCheck %s --check-prefix=ENOUGH
//
// $ fa4-opt $S/tile-share-buffers-turns.mlir --tile-share-buffers -o shared.mlir
// $ fa4-test-opt shared.mlir --tile-verify-protocol --tile-explore-protocol -o /dev/null
// $ fa4-opt shared.mlir --tile-allocate=print -o /dev/null
// ...
// {{.*}}tensor memory, 512 columns
// ...
// {{.*}}  h             1 x 128
// {{.*}}  g             1 x 128    in place of h
// ...
//
// The lanes must have read h when they commit d.
//
// $ sed -e 's,//+late ,,' $S/tile-share-buffers-turns.mlir \
//   | fa4-opt --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 640 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// All readers of h must have done so.
//
// $ sed -e 's,//+reader ,,' $S/tile-share-buffers-turns.mlir \
//   | fa4-opt --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 640 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// The value of d must come from h.
//
// $ sed -e '/#from-h$/d' -e 's,//+constant ,,' $S/tile-share-buffers-turns.mlir \
//   | fa4-opt --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 640 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// The readers of g must not need what the role does next.
//
// $ sed -e 's,//+needs ,,' $S/tile-share-buffers-turns.mlir \
//   | fa4-opt --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 640 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// The role must write g once for each h.
//
// $ sed -e 's,//+seldom ,,' $S/tile-share-buffers-turns.mlir \
//   | fa4-opt --tile-share-buffers --tile-allocate --mlir-print-op-on-diagnostic=0
// {{.*}}error: 'tile.kernel' op needs 640 columns of tensor memory; sm_100a has 512
// ...
// [1]
//
// With enough columns, the role waits for nothing that it needs not.
//
// The proof finds that the wait for the readers of g is missing.
//
// $ sed -e '/tile.acquire %g/d; /tile.release %g/d' shared.mlir \
//   | fa4-opt --tile-verify-protocol --mlir-print-op-on-diagnostic=0
// {{.*}}error: channel "g": a value is committed before @drain has surely waited for the previous one in this stage
// ...
// [1]
//
// It finds that the wait stands where it was.
//
// $ sed -e '/tile.acquire %g/{h;d}' -e '/tile.commit %h/G' shared.mlir \
//   | fa4-opt --tile-verify-protocol --mlir-print-op-on-diagnostic=0
// {{.*}}error: channel "g": @drain may read a stage in pass 1 of its loop while @mma writes it (channel "h")
// ...
// [1]

// CHECK: %h = tile.channel "h" tmem stages(1) : <vector<128x128xf32>>
// CHECK: %g = tile.channel "g" tmem stages(1) in_place_of(%h : {{.*}}) : <vector<128x128xf32>>
// CHECK: tile.role @mma
// CHECK: scf.for
// CHECK-NOT: tile.acquire %h
// CHECK: tile.acquire %g
// CHECK-NEXT: tile.mma
// CHECK-NEXT: tile.commit %h
// CHECK-NEXT: tile.wait %d
// CHECK-NEXT: tile.mma
// CHECK-NEXT: tile.commit %g
// CHECK: tile.role @lanes
// CHECK-NOT: tile.release %h
// CHECK: tile.role @drain
// CHECK: tile.release %g

// ENOUGH-NOT: in_place_of
// ENOUGH: tile.acquire %h
// ENOUGH: tile.acquire %g
// ENOUGH: tile.release %h

tile.kernel @turns(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %h = tile.channel "h" tmem stages(1) : <vector<128x128xf32>>
  %d = tile.channel "d" smem stages(1) : <vector<128x128xbf16>>
  %g = tile.channel "g" tmem stages(1) : <vector<128x128xf32>>
  %a = tile.channel "a" tmem stages(1) : <vector<128x128xf32>>
  %b = tile.channel "b" tmem stages(1) : <vector<128x128xf32>>
  %c = tile.channel "c" tmem stages(1) : <vector<128x128xf32>> // #filler
  //+needs %e = tile.channel "e" smem stages(2) : <vector<128x128xbf16>>
  tile.role @source kind(vector) {
    %one = arith.constant dense<1.0> : vector<128x128xbf16>
    tile.commit %x, %one : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %ta = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %a, %ta : <vector<128x128xf32>>, vector<128x128xf32>
    %tb = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %b, %tb : <vector<128x128xf32>>, vector<128x128xf32>
    %tc = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32> // #filler
    tile.commit %c, %tc : <vector<128x128xf32>>, vector<128x128xf32> // #filler
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %h : <vector<128x128xf32>>
      %th = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %h, %th : <vector<128x128xf32>>, vector<128x128xf32>
      %td = tile.wait %d : <vector<128x128xbf16>> -> vector<128x128xbf16>
      //+seldom %seldom = arith.cmpi ne, %i, %c0 : index
      //+seldom scf.if %seldom {
      tile.acquire %g : <vector<128x128xf32>>
      %tg = tile.mma %td, %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %g, %tg : <vector<128x128xf32>>, vector<128x128xf32>
      //+seldom }
      tile.release %d : <vector<128x128xbf16>>
    }
  }
  tile.role @lanes kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %two = arith.constant dense<2.0> : vector<128x128xbf16>
    scf.for %i = %c0 to %n step %c1 {
      %th = tile.wait %h : <vector<128x128xf32>> -> vector<128x128xf32>
      tile.acquire %d : <vector<128x128xbf16>>
      %td = arith.truncf %th : vector<128x128xf32> to vector<128x128xbf16>
      tile.commit %d, %td : <vector<128x128xbf16>>, vector<128x128xbf16> // #from-h
      //+constant tile.commit %d, %two : <vector<128x128xbf16>>, vector<128x128xbf16>
      //+late %late = math.exp2 %th : vector<128x128xf32>
      tile.release %h : <vector<128x128xf32>>
      //+needs tile.acquire %e : <vector<128x128xbf16>>
      //+needs tile.commit %e, %two : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  //+reader tile.role @reader kind(vector) {
  //+reader   %c0 = arith.constant 0 : index
  //+reader   %c1 = arith.constant 1 : index
  //+reader   scf.for %i = %c0 to %n step %c1 {
  //+reader     %th = tile.wait %h : <vector<128x128xf32>> -> vector<128x128xf32>
  //+reader     %e = math.exp2 %th : vector<128x128xf32>
  //+reader     tile.release %h : <vector<128x128xf32>>
  //+reader   }
  //+reader }
  tile.role @drain kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      //+seldom %seldom = arith.cmpi ne, %i, %c0 : index
      //+seldom scf.if %seldom {
      //+needs %te = tile.wait %e : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tg = tile.wait %g : <vector<128x128xf32>> -> vector<128x128xf32>
      %eg = math.exp2 %tg : vector<128x128xf32>
      tile.release %g : <vector<128x128xf32>>
      //+needs tile.release %e : <vector<128x128xbf16>>
      //+seldom }
    }
    %ta = tile.wait %a : <vector<128x128xf32>> -> vector<128x128xf32>
    %tb = tile.wait %b : <vector<128x128xf32>> -> vector<128x128xf32>
    %tc = tile.wait %c : <vector<128x128xf32>> -> vector<128x128xf32> // #filler
  }
}
