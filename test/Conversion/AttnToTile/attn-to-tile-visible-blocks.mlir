// Which blocks a mask_mod leaves may depend on what a table holds. Two kernels in front of the main one find it: bounds
// of the terms of one side, by groups of 64 positions, then the positions that each work tile has to visit, and those in
// which it sees everything. In these, the main kernel does not compute the mask.
//
// RUN: fa4-opt %s --split-input-file --attn-to-tile | FileCheck %s --dump-input=never

// CHECK-LABEL: tile.kernel @f_key_terms_kernel
// CHECK-SAME: %[[DOCUMENTS:[^ ]*]]: memref<?x?xi32> {tile.dims = ["capture0_0", "capture0_1"]
// CHECK-SAME: %[[LEAST:[^ ]*]]: memref<?x1x?xi32> {tile.dims = ["B", "1", "ceildiv(Sk, 64)"], tile.if_empty = 0.000000e+00 : f32, tile.name = "least0", tile.output = "once"}
// CHECK-SAME: %[[LARGEST:[^ ]*]]: memref<?x1x?xi32> {tile.dims = ["B", "1", "ceildiv(Sk, 64)"], tile.if_empty = 0.000000e+00 : f32, tile.name = "largest0", tile.output = "once"}
// CHECK-SAME: grid = [#tile.extent<"ceildiv(Sk, 64)" by 128>, #tile.extent<"1">, #tile.extent<"B">]
// CHECK: scf.for
// CHECK: %[[NUMBERS:.*]] = tile.gather %[[DOCUMENTS]]
// CHECK: vector.multi_reduction <minsi>, {{.*}} : vector<128x32xi32> to vector<128xi32>
// CHECK: vector.multi_reduction <maxsi>
// CHECK: tile.store %{{.*}}, %[[LEAST]]
// CHECK: tile.store %{{.*}}, %[[LARGEST]]

// CHECK-LABEL: tile.kernel @f_visible_keys_kernel
// CHECK-SAME: tile.name = "first_visible", tile.output = "once"
// CHECK-SAME: tile.name = "last_visible", tile.output = "once"
// CHECK-SAME: tile.name = "first_full", tile.output = "once"
// CHECK-SAME: tile.name = "last_full", tile.output = "once"
// CHECK-SAME: grid = [#tile.extent<"ceildiv(Sq, 256)" by 128>, #tile.extent<"1">, #tile.extent<"B">]

// CHECK-LABEL: tile.kernel @f_kernel
// CHECK-DAG: tile.load_scalar {{.*}} : memref<?x1x?xi32>
// CHECK-DAG: tile.load_scalar {{.*}} : memref<?x1x?xi32>
// CHECK-DAG: tile.load_scalar {{.*}} : memref<?x1x?xi32>
// CHECK-DAG: tile.load_scalar {{.*}} : memref<?x1x?xi32>
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tile.gather
// CHECK: } else {
!t = tensor<?x?x?x64xbf16>
func.func @f(%q: !t, %k: !t, %documents: tensor<?x?xi32>) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> captures(%documents : tensor<?x?xi32>) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?x?xi32>) {
      %x = tensor.extract %d[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %d[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      attn.yield %same : i1
    }
  return %o : !t
}

// -----

// Tokens of each sequence count up to a length that every role reads: no kernel in front.
// CHECK-NOT: tile.kernel @{{.*}}visible
// CHECK-LABEL: tile.kernel @lengths_kernel
// CHECK: %[[LENGTH:.*]] = tile.load_scalar %{{.*}}[%{{.*}}] : memref<?xi32>
// CHECK: %[[END:.*]] = arith.index_cast %[[LENGTH]] : i32 to index
// CHECK: scf.for
// CHECK: scf.if
!t = tensor<?x?x?x64xbf16>
func.func @lengths(%q: !t, %k: !t, %lengths: tensor<?xi32>) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> captures(%lengths : tensor<?xi32>) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %n: tensor<?xi32>) {
      %x = tensor.extract %n[%b] : tensor<?xi32>
      %y = arith.index_cast %j : index to i32
      %is_token = arith.cmpi slt, %y, %x : i32
      attn.yield %is_token : i1
    }
  return %o : !t
}

// -----

// Of a table of query and key nothing is known of a block: no kernel in front, and the mask is computed in each step.
// CHECK-NOT: tile.kernel @{{.*}}visible
// CHECK-LABEL: tile.kernel @tree_kernel
// CHECK: scf.for
// CHECK: tile.gather
// CHECK: arith.select {{.*}} : vector<256x128xi1>, vector<256x128xf32>
!t = tensor<?x?x?x64xbf16>
func.func @tree(%q: !t, %k: !t, %tree: tensor<?x?xi32>) -> !t {
  %o = attn.sdpa %q, %k, %k layout<bshd> captures(%tree : tensor<?x?xi32>) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?xi32>) {
      %x = tensor.extract %t[%i, %j] : tensor<?x?xi32>
      %c0 = arith.constant 0 : i32
      %is_ancestor = arith.cmpi ne, %x, %c0 : i32
      attn.yield %is_ancestor : i1
    }
  return %o : !t
}
