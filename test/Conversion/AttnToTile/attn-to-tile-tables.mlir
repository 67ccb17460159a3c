// A captured tensor that is read at more than the query head is a table: its elements are gathered, for each score, for
// each key or query, or once, as the indices vary. Its sizes are its own; where a region reads it at an index of its
// call, a launch requires as many elements.
//
// RUN: fa4-opt %s --split-input-file --attn-to-tile | FileCheck %s --dump-input=never

// CHECK-LABEL: tile.kernel @f_kernel
// CHECK-SAME: %[[BIAS:[^ ]*]]: memref<?x?x?xf32> {tile.dims = ["capture0_0", "capture0_1", "capture0_2"], tile.name = "capture0"}
// CHECK-SAME: %[[KEYS:[^ ]*]]: memref<?x512xi32> {tile.dims = ["capture1_0", "512"], tile.name = "capture1"}
// CHECK-SAME: %[[LENGTHS:[^ ]*]]: memref<?xi32> {tile.dims = ["capture2_0"], tile.name = "capture2"}
// CHECK-SAME: %[[SLOPES:[^ ]*]]: memref<?xf32> {tile.dims = ["Hq"], tile.name = "capture3"}
// CHECK-SAME: condition = "capture0_0 >= Hq", message = "dimension 0 of 'capture0', capture0_0, must be at least Hq: a region reads it at each query head"
// CHECK-SAME: condition = "capture0_1 >= Sq"
// CHECK-SAME: condition = "capture0_2 >= 1 || B == 0 || Hq == 0 || Sq == 0 || Sk == 0"
// CHECK-SAME: condition = "capture1_0 >= B"
// CHECK-SAME: condition = "512 >= Sk"
// CHECK-SAME: condition = "capture2_0 >= B"
// CHECK: tile.load_rows %[[SLOPES]]
// CHECK: scf.for
// CHECK-DAG: tile.gather %[[BIAS]][%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?xf32>, vector<256x128xindex>, vector<256x128xindex>, vector<256x128xindex> -> vector<256x128xf32>
// CHECK-DAG: tile.gather %[[KEYS]][%{{.*}}, %{{.*}}] : memref<?x512xi32>, vector<128xindex>, vector<128xindex> -> vector<128xi32>
// CHECK-DAG: tile.gather %[[LENGTHS]][%{{.*}}] : memref<?xi32>, index -> i32
!t = tensor<?x?x?x64xbf16>
func.func @f(%q: !t, %k: !t, %bias: tensor<?x?x?xf32>, %keys: tensor<?x512xi32>, %lengths: tensor<?xi32>, %slopes: tensor<?xf32>) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd>
      captures(%bias, %keys, %lengths, %slopes : tensor<?x?x?xf32>, tensor<?x512xi32>, tensor<?xi32>, tensor<?xf32>) : !t, !t, !t -> !t
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?x?x?xf32>, %u: tensor<?x512xi32>, %n: tensor<?xi32>, %w: tensor<?xf32>) {
      %c63 = arith.constant 63 : index
      %near = arith.minui %j, %c63 : index
      %e = tensor.extract %t[%h, %i, %near] : tensor<?x?x?xf32>
      %slope = tensor.extract %w[%h] : tensor<?xf32>
      %p = arith.mulf %e, %slope : f32
      %r = arith.addf %s, %p : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?x?xf32>, %u: tensor<?x512xi32>, %n: tensor<?xi32>, %w: tensor<?xf32>) {
      %e = tensor.extract %u[%b, %j] : tensor<?x512xi32>
      %m = tensor.extract %n[%b] : tensor<?xi32>
      %v = arith.cmpi slt, %e, %m : i32
      attn.yield %v : i1
    }
  return %o : !t
}
