// The work of an iteration is counted on each unit, and as many exponentials
// are given to the polynomial as make the slowest bound smallest. On a chip
// with a faster MUFU that is none.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --tile-split-exp | FileCheck %s --dump-input=never --check-prefix=FAST
//
// The work of an iteration is counted from the roles: one product of 128x128x64
// from shared memory (256 cycles) and one of 128x64x128 from tensor memory (256).
// For each of 128 rows: 128 exponentials and one of a row value in another role;
// 128 products, one of a row value and 128 for the sum; 128 halved for the maximum,
// 64 conversions, one negation of a row value.
// Masks, in the longer branch, and the scalar work do not count.
//
// $ fa4-opt $S/tile-split-exp.mlir --tile-split-exp=print=true -o /dev/null
// ...
// exp2 on sm_100a: {{[1-9][0-9]*}} of 128 a row by a polynomial of degree 3{{.*}}
// ...
// cycles an iteration of 1 x 128 rows:
// ...
//   MMA                 512      512
//   MUFU               1032{{.*}}
//   FMA                 257{{.*}}
//   ALU                 258{{.*}}
// ...
//   recurrence{{.*}}
// ...
//
// On the chip with the faster unit, and with three stages for the dependence cycle, the
// exponentials are no bottleneck.
//
// $ sed -e s/sm_100a/sm_103a/ -e '/"s" tmem/s/stages(1)/stages(3)/' $S/tile-split-exp.mlir \
//   | fa4-opt --tile-split-exp \
//   | grep tile.exp2
// [1]
//
// Options say how many exponentials a polynomial computes, and of which degree.
//
// $ fa4-opt $S/tile-split-exp.mlir --tile-split-exp=pairs-per-fragment=2
// ...
// {{.*}}tile.exp2 %{{.*}} pairs [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}] :{{.*}}
// ...
// $ fa4-opt $S/tile-split-exp.mlir --tile-split-exp=fraction=0.125
// ...
// {{.*}}tile.exp2 %{{.*}} pairs [5, 11, 17, 23, 29, 35, 41, 47] :{{.*}}
// ...
// $ fa4-opt $S/tile-split-exp.mlir --tile-split-exp="fraction=0.125 degree=2"
// ...
// {{.*}}tile.exp2 %{{.*}} polynomial [0.6{{[0-9]+}}, 0.3{{[0-9]+}}] pairs{{.*}}
// ...

// FAST: tile.role @compute
// FAST: tile.exp2 %{{.*}} polynomial [0.695{{[0-9]+}}, 0.227{{[0-9]+}}, 0.077{{[0-9]+}}] pairs [{{.*}}] : vector<128x128xf32>
// A row value, or a matrix outside of the loop, is left alone.
// FAST: math.exp2 %{{.*}} : vector<128x128xf32>
// FAST: tile.role @other
// FAST: math.exp2 %{{.*}} : vector<128xf32>
tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %q = tile.channel "q" smem stages(1) : <vector<128x64xbf16>>
  %v = tile.channel "v" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  %m = tile.channel "m" smem stages(1) : <vector<128xf32>>
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %tq = tile.wait %q : <vector<128x64xbf16>> -> vector<128x64xbf16>
    scf.for %i = %c0 to %c1 step %c1 {
      %ts = tile.mma %tq, transpose %tq : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.acquire %s : <vector<128x128xf32>>
      tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
      %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tv = tile.wait %v : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %to = tile.mma %tp, %tv : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
      tile.acquire %o : <vector<128x64xf32>>
      tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %p : <vector<128x128xbf16>>
      tile.release %v : <vector<128x64xbf16>>
    }
  }
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128xf32>
    %two = arith.constant dense<2.0> : vector<128x128xf32>
    %two_rows = arith.constant dense<2.0> : vector<128xf32>
    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %zero) -> (vector<128xf32>) {
      %x0 = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %first = arith.cmpi eq, %i, %c0 : index
      %x = scf.if %first -> (vector<128x128xf32>) {
        %masked = arith.maxnumf %x0, %two : vector<128x128xf32>
        scf.yield %masked : vector<128x128xf32>
      } else {
        scf.yield %x0 : vector<128x128xf32>
      }
      %mx = vector.multi_reduction <maxnumf>, %x, %a [1] : vector<128x128xf32> to vector<128xf32>
      tile.acquire %m : <vector<128xf32>>
      tile.commit %m, %mx : <vector<128xf32>>, vector<128xf32>
      %scaled = arith.mulf %mx, %two_rows : vector<128xf32>
      %n = arith.negf %scaled : vector<128xf32>
      %nc = vector.shape_cast %n : vector<128xf32> to vector<128x1xf32>
      %nb = vector.broadcast %nc : vector<128x1xf32> to vector<128x128xf32>
      %y = math.fma %x, %two, %nb : vector<128x128xf32>
      %e = math.exp2 %y : vector<128x128xf32>
      %t = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %t : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
      %l = vector.multi_reduction <add>, %e, %a [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %l : vector<128xf32>
    }
    %e2 = math.exp2 %two : vector<128x128xf32>
    %t2 = arith.truncf %e2 : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %p : <vector<128x128xbf16>>
    tile.commit %p, %t2 : <vector<128x128xbf16>>, vector<128x128xbf16>
  }
  tile.role @other kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c1 step %c1 {
      %mv = tile.wait %m : <vector<128xf32>> -> vector<128xf32>
      %me = math.exp2 %mv : vector<128xf32>
      tile.release %m : <vector<128xf32>>
    }
  }
}

// Nothing bounds these exponents, and the polynomial is defined below 128 only.
// FAST-LABEL: tile.kernel @unbounded
// FAST-NOT: tile.exp2
tile.kernel @unbounded() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  tile.role @compute kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c1 step %c1 {
      %x = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      %e = math.exp2 %x : vector<128x128xf32>
      %t = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
      tile.acquire %p : <vector<128x128xbf16>>
      tile.commit %p, %t : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.release %s : <vector<128x128xf32>>
    }
  }
}
