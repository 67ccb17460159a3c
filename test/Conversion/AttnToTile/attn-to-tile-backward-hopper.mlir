// Where lanes hold accumulators, the gradient's tiles follow from a thread's registers. The main kernel works on 64 or 128
// queries at a time, of two roles with 64 keys each, and computes dq, too, if that is cut along its rows or columns or has
// a role of its own. MMAs add the numbers of the queries to scores and dP. Otherwise, and where the bits have to be the same in each run or a derivative takes the registers, dq has a kernel
// that keeps its sums in registers, and nothing is added to memory.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a --split-input-file | FileCheck %s
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a --split-input-file | FileCheck %s --check-prefix=KERNELS

// KERNELS:     tile.kernel @plain_preprocess_kernel(
// KERNELS:     tile.kernel @plain_kernel(
// KERNELS:     tile.kernel @plain_postprocess_kernel(
// KERNELS-NOT: tile.kernel @plain

// The numbers are limited, and divided into three that bf16 holds. The factor is 1 / scale.
// CHECK-LABEL: tile.kernel @plain_preprocess_kernel(
// CHECK-SAME:    tile.name = "terms"
// CHECK-NOT:     tile.name = "shift"
// CHECK-DAG:     %[[FACTOR:.*]] = arith.constant dense<7.84{{.*}}> : vector<128xf32>
// CHECK-DAG:     %[[MOST:.*]] = arith.constant dense<1.267{{.*}}E+30> : vector<128xf32>
// CHECK:         %[[X:.*]] = arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK:         %[[LIMITED:.*]] = arith.minimumf %[[X]], %[[MOST]]
// CHECK:         arith.maximumf %[[LIMITED]]
// CHECK-COUNT-6: arith.truncf %{{.*}} : vector<128xf32> to vector<128xbf16>
// CHECK:         %[[TERMS:.*]] = arith.truncf %{{.*}} : vector<128x32xf32> to vector<128x32xbf16>
// CHECK:         tile.store %[[TERMS]], %{{.*}} dims [2, 3]

// CHECK-LABEL: tile.kernel @plain_kernel(
// CHECK-DAG:     %[[ONES:.*]] = arith.constant dense<1.000000e+00> : vector<128x16xbf16>
// CHECK:         %[[K:.*]] = tile.load %{{.*}} -> vector<128x128xbf16>
// CHECK:         scf.for
// CHECK:           tile.load %{{.*}} -> vector<64x128xbf16>
// CHECK:           %[[T:.*]] = tile.load %{{.*}} dims [2, 3] : memref<?x?x?x32xbf16> -> vector<64x32xbf16>
// CHECK:           %[[T0:.*]] = vector.extract_strided_slice %[[T]] {offsets = [0, 0], sizes = [64, 16]
// CHECK:           %[[X0:.*]] = tile.mma %[[ONES]], transpose %[[T0]]
// CHECK:           tile.mma %[[K]], transpose %{{.*}} acc %[[X0]] : {{.*}} -> vector<128x64xf32>
// CHECK:           %[[T1:.*]] = vector.extract_strided_slice %[[T]] {offsets = [0, 16], sizes = [64, 16]
// CHECK:           %[[X1:.*]] = tile.mma %[[ONES]], transpose %[[T1]]
// CHECK:           tile.mma %{{.*}}, transpose %{{.*}} acc %[[X1]]
// CHECK:           %[[LEFT:.*]] = vector.extract_strided_slice %[[K]] {offsets = [0, 0], sizes = [128, 64]
// CHECK:           %[[D0:.*]] = tile.mma transpose %[[DS:.*]], %[[LEFT]] : {{.*}} -> vector<64x64xf32>
// CHECK:           tile.reduce_add %[[D0]], %{{[a-z0-9]*}}[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %c0]
// CHECK:           %[[RIGHT:.*]] = vector.extract_strided_slice %[[K]] {offsets = [0, 64], sizes = [128, 64]
// CHECK:           %[[D1:.*]] = tile.mma transpose %[[DS]], %[[RIGHT]]
// CHECK:           tile.reduce_add %[[D1]], %{{[a-z0-9]*}}[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %c64{{[_0-9]*}}]
func.func @plain(%q: tensor<?x?x?x128xbf16>, %out: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x128xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
  return %g#0 : tensor<?x?x?x128xbf16>
}

// -----

// Smaller sums leave room for 128 queries at a time. Each role computes the rows of dq that an MMA has.
// CHECK-LABEL: tile.kernel @rows_kernel(
// CHECK:           tile.mma %{{.*}} acc %{{.*}} -> vector<128x128xf32>
// CHECK:           %[[D0:.*]] = vector.extract_strided_slice %[[DS:.*]] {offsets = [0, 0], sizes = [128, 64]
// CHECK:           %[[D1:.*]] = vector.extract_strided_slice %[[DS]] {offsets = [0, 64], sizes = [128, 64]
// CHECK:           %[[Q0:.*]] = tile.mma transpose %[[D0]], %{{.*}} -> vector<64x64xf32>
// CHECK:           tile.reduce_add %[[Q0]]
// CHECK:           %[[Q1:.*]] = tile.mma transpose %[[D1]], %{{.*}} -> vector<64x64xf32>
// CHECK:           %[[ROW:.*]] = arith.addi %{{.*}}, %c64
// CHECK:           tile.reduce_add %[[Q1]], %{{[a-z0-9]*}}[%{{[^,]*}}, %[[ROW]],
func.func @rows(%q: tensor<?x?x?x64xbf16>, %out: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x64xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd>
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
  return %g#0 : tensor<?x?x?x64xbf16>
}

// -----

// A mask_mod that computes more than comparisons takes registers: 64 queries.
// CHECK-LABEL: tile.kernel @documents_kernel(
// CHECK:           tile.mma %{{.*}} acc %{{.*}} -> vector<128x64xf32>
func.func @documents(%q: tensor<?x?x?x64xbf16>, %out: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x64xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd>
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 256 : index
      %x = arith.divui %i, %size : index
      %y = arith.divui %j, %size : index
      %same = arith.cmpi eq, %x, %y : index
      attn.yield %same : i1
    }
  return %g#0 : tensor<?x?x?x64xbf16>
}

// -----

// Without a positive scale, exponents are no sums of q.k and a number: lanes add it, and delta.
// CHECK-LABEL: tile.kernel @negative_preprocess_kernel(
// CHECK-NOT:     tile.name = "terms"
// CHECK-LABEL: tile.kernel @negative_kernel(
// CHECK-SAME:    tile.name = "shift"
// CHECK-SAME:    tile.name = "delta"
// CHECK:           tile.mma %{{.*}} -> vector<128x64xf32>
func.func @negative(%q: tensor<?x?x?x64xbf16>, %out: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x64xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd> scale(-1.0)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
  return %g#0 : tensor<?x?x?x64xbf16>
}

// -----

// A tile of k with 96 columns is not cut in two: each piece would be 1.5 boxes of the copy engine. Two roles beside a
// third one would have too few registers.
// KERNELS:     tile.kernel @three_boxes_kernel(
// KERNELS:     tile.kernel @three_boxes_dq_kernel(
// KERNELS-NOT: postprocess
// CHECK-LABEL: tile.kernel @three_boxes_kernel(
// CHECK-NOT:     tile.reduce_add
// CHECK-LABEL: tile.kernel @three_boxes_dq_kernel(
// CHECK:         tile.load %{{.*}} -> vector<128x96xbf16>
// CHECK:         scf.for
// CHECK:           tile.load %{{.*}} -> vector<64x96xbf16>
// CHECK:           tile.mma %{{.*}}, %{{.*}} acc
func.func @three_boxes(%q: tensor<?x?x?x96xbf16>, %out: tensor<?x?x?x96xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x96xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd>
    : tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>
  return %g#0 : tensor<?x?x?x96xbf16>
}

// -----

// No turns: nothing is added by several CTAs.
// KERNELS:     tile.kernel @same_bits_kernel(
// KERNELS:     tile.kernel @same_bits_dq_kernel(
// CHECK-LABEL: tile.kernel @same_bits_kernel(
// CHECK-NOT:     tile.await_turn
// CHECK-LABEL: tile.kernel @same_bits_dq_kernel(
func.func @same_bits(%q: tensor<?x?x?x64xbf16>, %out: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x64xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd> deterministic
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
  return %g#0 : tensor<?x?x?x64xbf16>
}

// -----

// The derivative of each score is one number more beside scores and dP: 32 queries at a time.
// KERNELS:     tile.kernel @derivative_kernel(
// KERNELS:     tile.kernel @derivative_dq_kernel(
// CHECK-LABEL: tile.kernel @derivative_kernel(
// CHECK:         tile.mma %{{.*}} -> vector<128x32xf32>
// CHECK-LABEL: tile.kernel @derivative_dq_kernel(
// CHECK:         tile.mma %{{.*}} -> vector<128x32xf32>
func.func @derivative(%q: tensor<?x?x?x128xbf16>, %out: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x128xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%out) dout(%out) lse(%lse) layout<bshd>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
  return %g#0 : tensor<?x?x?x128xbf16>
}
