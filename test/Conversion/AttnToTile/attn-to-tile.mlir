// attn-to-tile turns an attention op into a tile program: a loop over the
// blocks of keys that some row sees, with masks only in blocks that need one. A
// wrong bound here would read keys beyond the end or skip visible ones.
//
// RUN: fa4-opt %s --attn-to-tile --split-input-file | FileCheck --dump-input=never %s
// RUN: fa4-opt %s --attn-to-tile=chip=sm_103a --split-input-file | FileCheck --dump-input=never %s --check-prefix=B300

// Sizes at run time, causal, grouped heads, LSE; tensors without destinations.
// CHECK-LABEL: tile.kernel @gqa_kernel(
// CHECK-SAME: %[[Q:[^ ]*]]: memref<?x?x?x128xbf16> {tile.dims = ["B", "Sq", "Hq", "128"], tile.name = "q"}
// CHECK-SAME: %[[K:[^ ]*]]: memref<?x?x?x128xbf16> {tile.dims = ["B", "Sk", "Hkv", "128"], tile.name = "k"}
// CHECK-SAME: %[[V:[^ ]*]]: memref<?x?x?x128xbf16> {tile.dims = ["B", "Sk", "Hkv", "128"], tile.name = "v"}
// CHECK-SAME: %[[OUT:[^ ]*]]: memref<?x?x?x128xbf16> {tile.dims = ["B", "Sq", "Hq", "128"], tile.if_empty = 0.000000e+00 : f32, tile.name = "out", tile.output = "once"}
// CHECK-SAME: %[[LSE:[^ ]*]]: memref<?x?x?xf32> {tile.dims = ["B", "Hq", "Sq"], tile.if_empty = 0xFF800000 : f32, tile.name = "lse", tile.output = "once"}
// CHECK-SAME: chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"Hq">, #tile.extent<"B">]
// CHECK-SAME: tile.requires = [{condition = "Hkv == 0 ? Hq == 0 : Hq % Hkv == 0", message = "the number of query heads, Hq, must be a multiple of that of key/value heads, Hkv"}]
// CHECK-DAG: %[[CS:.*]] = arith.constant dense<0.127517432> : vector<256x128xf32>
// CHECK-DAG: %[[CROW:.*]] = arith.constant dense<0.127517432> : vector<256xf32>
// bf16 has exponents of up to 128; 2^24 times this is how large exponents may be.
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<2.14748365E+9> : vector<256xf32>
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-2.14748365E+9> : vector<256xf32>
// CHECK-DAG: %[[NAN:.*]] = arith.constant dense<0x7FC00000> : vector<256xf32>
// CHECK-DAG: %[[NINF:.*]] = arith.constant dense<0xFF800000> : vector<256xf32>
// CHECK-DAG: %[[SNINF:.*]] = arith.constant dense<0xFF800000> : vector<256x128xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<256xf32>
// CHECK-DAG: %[[OZERO:.*]] = arith.constant dense<0.000000e+00> : vector<256x128xf32>
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : vector<256xf32>
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[C256:.*]] = arith.constant 256 : index
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: %[[ROW:.*]] = arith.muli %[[AT]]#0, %[[C256]]
// CHECK: %[[GROUP:.*]] = arith.divui
// CHECK: %[[HK:.*]] = arith.divui %[[AT]]#1, %[[GROUP]]
// CHECK: %[[SHIFT:.*]] = arith.subi %[[SK:.*]], %{{.*}} : index
// CHECK: %[[LAST:.*]] = arith.addi %[[ROW]], %[[SHIFT]]
// CHECK: %[[END:.*]] = arith.addi %[[LAST]], %[[C256]]
// CHECK: arith.minsi %[[END]], %[[SK]]
// CHECK: %[[FULL:.*]] = arith.addi %[[LAST]], %[[C1]]
// CHECK: arith.minsi %[[FULL]], %[[SK]]
// CHECK: arith.ceildivsi
// CHECK: %[[N:.*]] = arith.maxsi %{{.*}}, %[[C1]]
// CHECK: %[[LASTBLOCK:.*]] = arith.subi %[[N]], %[[C1]]
// CHECK: %[[NMASKED:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK: %[[TQ:.*]] = tile.load %[[Q]][%[[AT]]#2, %[[ROW]], %[[AT]]#1, %{{.*}}] dims [1, 3]
// CHECK: %[[R:.*]]:3 = scf.for %[[J:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[O:.*]] = %[[OZERO]], %[[M:.*]] = %[[NINF]], %[[L:.*]] = %[[ZERO]])
// CHECK:   %[[BLOCK:.*]] = arith.subi %[[LASTBLOCK]], %[[J]]
// CHECK:   %[[KEY:.*]] = arith.muli %[[BLOCK]], %[[C128]]
// CHECK:   %[[TK:.*]] = tile.load %[[K]][%[[AT]]#2, %[[KEY]], %[[HK]], %{{.*}}] dims [1, 3]
// CHECK:   %[[S:.*]] = tile.mma %[[TQ]], transpose %[[TK]] :
// CHECK:   %[[MASKED:.*]] = arith.cmpi slt, %[[J]], %[[NMASKED]]
// CHECK:   %[[X:.*]] = scf.if %[[MASKED]]
// CHECK-DAG: %[[COL:.*]] = vector.broadcast %{{.*}} : vector<128xindex> to vector<256x128xindex>
// CHECK-DAG: %[[LIM:.*]] = arith.minsi %{{.*}} : vector<256xindex>
// CHECK:     %[[LIMC:.*]] = vector.shape_cast %[[LIM]]
// CHECK:     %[[LIMB:.*]] = vector.broadcast %[[LIMC]]
// CHECK:     %[[SEEN:.*]] = arith.cmpi sle, %[[COL]], %[[LIMB]]
// CHECK:     arith.select %[[SEEN]], %[[S]], %[[SNINF]]
// CHECK:   } else {
// CHECK-NEXT: scf.yield %[[S]]
// The row max propagates NaN and is in units of log2 from here on.
// CHECK:   %[[BM:.*]] = vector.multi_reduction <maximumf>, %[[X]], %[[NINF]] [1]
// CHECK:   %[[BMC:.*]] = arith.mulf %[[BM]], %[[CROW]]
// CHECK:   %[[M2:.*]] = arith.maximumf %[[M]], %[[BMC]]
// CHECK:   %[[EMPTY:.*]] = arith.cmpf olt, %[[M2]], %[[LEAST]]
// CHECK:   %[[SAFE:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[M2]]
// CHECK:   %[[D:.*]] = arith.subf %[[M]], %[[SAFE]]
// CHECK:   %[[A:.*]] = math.exp2 %[[D]]
// CHECK:   %[[NM:.*]] = arith.negf %[[SAFE]]
// CHECK:   %[[NMC:.*]] = vector.shape_cast %[[NM]]
// CHECK:   %[[NMB:.*]] = vector.broadcast %[[NMC]]
// CHECK:   %[[Y:.*]] = math.fma %[[X]], %[[CS]], %[[NMB]]
// CHECK:   %[[P:.*]] = math.exp2 %[[Y]]
// CHECK:   %[[PT:.*]] = arith.truncf %[[P]]
// CHECK:   %[[LA:.*]] = arith.mulf %[[L]], %[[A]]
// CHECK:   %[[L2:.*]] = vector.multi_reduction <add>, %[[P]], %[[LA]] [1]
// CHECK:   %[[TV:.*]] = tile.load %[[V]][%[[AT]]#2, %[[KEY]], %[[HK]], %{{.*}}] dims [1, 3]
// CHECK:   %[[OA:.*]] = arith.mulf %[[O]], %{{.*}} : vector<256x128xf32>
// CHECK:   %[[O2:.*]] = tile.mma %[[PT]], %[[TV]] acc %[[OA]] :
// CHECK:   scf.yield %[[O2]], %[[M2]], %[[L2]]
// A row whose max is not in range gives NaN, unless it is -inf.
// CHECK: %[[ABS:.*]] = math.absf %[[R]]#1
// CHECK: %[[IN:.*]] = arith.cmpf ole, %[[ABS]], %[[LIMIT]]
// CHECK: %[[UNSEEN:.*]] = arith.cmpf oeq, %[[R]]#1, %[[NINF]]
// CHECK: %[[GOOD:.*]] = arith.ori %[[IN]], %[[UNSEEN]]
// CHECK: %[[SUM:.*]] = arith.select %[[GOOD]], %[[R]]#2, %[[NAN]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SUM]], %[[ZERO]]
// CHECK: %[[RCP:.*]] = arith.divf %{{.*}}, %[[SUM]]
// CHECK: arith.select %[[NONE]], %[[ZERO]], %[[RCP]]
// CHECK: tile.store %{{.*}}, %[[OUT]][%[[AT]]#2, %[[ROW]], %[[AT]]#1, %{{.*}}] dims [1, 3]
// CHECK: %[[LOG:.*]] = math.log2 %[[SUM]]
// CHECK: %[[Z:.*]] = arith.addf %[[LOG]], %[[R]]#1
// CHECK: %[[NAT:.*]] = arith.mulf %[[Z]], %[[LN2]]
// CHECK: %[[LSEV:.*]] = arith.select %[[NONE]], %[[NINF]], %[[NAT]]
// CHECK: tile.store %[[LSEV]], %[[LSE]][%[[AT]]#2, %[[AT]]#1, %[[ROW]]] : vector<256xf32>
// CHECK-LABEL: func.func @gqa
// CHECK: %[[E0:.*]] = tensor.empty
// CHECK: %[[E1:.*]] = tensor.empty
// CHECK: %[[RES:.*]]:2 = tile.launch @gqa_kernel ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs(%[[E0]], %[[E1]] : {{.*}}) -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
// CHECK: return %[[RES]]#0, %[[RES]]#1
// B300: chip = "sm_103a"
func.func @gqa(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %out, %lse = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %out, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// -----

// Static sizes without a rest need no mask; strides and the head-major order
// stay. Two ops, two kernels.
// CHECK-LABEL: tile.kernel @two_kernel(
// CHECK-SAME: memref<2x4x512x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.dims = ["2", "4", "512", "64"], tile.name = "q"}
// CHECK-SAME: memref<2x2x384x64xf16> {tile.dims = ["2", "2", "384", "64"], tile.name = "k"}
// CHECK-SAME: grid = [#tile.extent<"512" by 256>, #tile.extent<"4">, #tile.extent<"2">]
// CHECK-NOT: memref.dim
// CHECK: arith.divui %{{.*}}, %c2
// CHECK: tile.load %{{.*}} dims [2, 3] : {{.*}} -> vector<256x64xf16>
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK-NOT: scf.if
// CHECK-NOT: arith.cmpi
// CHECK: tile.store
// CHECK-LABEL: tile.kernel @two_kernel_0(
// CHECK-LABEL: func.func @two
// CHECK: tile.launch @two_kernel ins
// CHECK: tile.launch @two_kernel_0 ins
#strided = strided<[?, ?, ?, 1], offset: ?>
func.func @two(%q: memref<2x4x512x64xf16, #strided>, %k: memref<2x2x384x64xf16>, %v: memref<2x2x384x64xf16>, %o: memref<2x4x512x64xf16>) {
  attn.sdpa %q, %k, %v layout<bhsd> outs(%o : memref<2x4x512x64xf16>)
    : memref<2x4x512x64xf16, #strided>, memref<2x2x384x64xf16>, memref<2x2x384x64xf16>
  attn.sdpa %q, %k, %v layout<bhsd> outs(%o : memref<2x4x512x64xf16>)
    : memref<2x4x512x64xf16, #strided>, memref<2x2x384x64xf16>, memref<2x2x384x64xf16>
  return
}

// -----

// The rest of 200 keys: one limit for all rows. 100 queries need one tile of
// the MMA's rows.
// CHECK-LABEL: tile.kernel @rest_kernel
// CHECK-SAME: #tile.extent<"100" by 128>
// CHECK: scf.for %[[J:.*]] = %c0 to %c2 step %c1
// CHECK: arith.cmpi slt, %[[J]], %c1
// CHECK: %[[REST:.*]] = arith.subi %c200, %{{.*}}
// CHECK: %[[LAST:.*]] = arith.subi %[[REST]], %c1
// CHECK: %[[LIM:.*]] = vector.broadcast %[[LAST]] : index to vector<128x128xindex>
// CHECK: arith.cmpi sle, %{{.*}}, %[[LIM]] : vector<128x128xindex>
func.func @rest(%q: memref<1x100x1x64xbf16>, %k: memref<1x200x1x64xbf16>, %v: memref<1x200x1x64xbf16>, %o: memref<1x100x1x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> outs(%o : memref<1x100x1x64xbf16>)
    : memref<1x100x1x64xbf16>, memref<1x200x1x64xbf16>, memref<1x200x1x64xbf16>
  return
}

// -----

// A window: the loop begins at its first block, and blocks at both ends are
// masked.
// CHECK-LABEL: tile.kernel @window_kernel
// CHECK-DAG: %[[LEFT:.*]] = arith.constant 200 : index
// CHECK-DAG: %[[RIGHT:.*]] = arith.constant 30 : index
// CHECK: %[[ROW:.*]] = arith.muli
// CHECK: %[[LAST:.*]] = arith.addi %[[ROW]], %[[RIGHT]]
// CHECK: %[[FIRST:.*]] = arith.subi %[[ROW]], %[[LEFT]]
// CHECK: %[[FB:.*]] = arith.floordivsi %[[FIRST]]
// CHECK: %[[B0:.*]] = arith.maxsi %[[FB]]
// CHECK: scf.for %[[J:.*]] = %c0 to
// CHECK:   %[[UPPER:.*]] = arith.cmpi slt, %[[J]]
// CHECK:   %[[LOWER:.*]] = arith.cmpi sge, %[[J]]
// CHECK:   %[[MASKED:.*]] = arith.ori %[[UPPER]], %[[LOWER]]
// CHECK:   scf.if %[[MASKED]]
// CHECK:     %[[LE:.*]] = arith.cmpi sle, %{{.*}} : vector<256x128xindex>
// CHECK:     %[[GE:.*]] = arith.cmpi sge, %{{.*}} : vector<256x128xindex>
// CHECK:     %[[SEEN:.*]] = arith.andi %[[LE]], %[[GE]]
// CHECK:     arith.select %[[SEEN]]
func.func @window(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %q, %k, %v layout<sbhd> mask<window, left = 200, right = 30, top_left> outs(%o : memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

// score_mod adds a number of the head, captured and perhaps large, to scaled scores; what
// depends on rows or columns alone stays a vector of these.
// CHECK-LABEL: tile.kernel @mods_kernel
// CHECK-SAME: %[[SLOPE:[^ ]*]]: f32 {tile.name = "capture0"}
// CHECK-SAME: %[[N:[^ ]*]]: i32 {tile.name = "capture1"}
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<5.000000e-01> : vector<256x128xf32>
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : vector<256xf32>
// CHECK-DAG: %[[NINF:.*]] = arith.constant dense<0xFF800000> : vector<256x128xf32>
// CHECK: %[[AT:.*]]:3 = tile.work_tile
// CHECK: %[[S:.*]] = tile.mma
// CHECK-DAG: %[[ROWS:.*]] = arith.addi %{{.*}} : vector<256xindex>
// CHECK-DAG: %[[COLS:.*]] = arith.addi %{{.*}} : vector<128xindex>
// CHECK: arith.index_cast %[[AT]]#1 : index to i32
// CHECK: %[[NUMBER:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[NUMBERS:.*]] = vector.broadcast %[[SLOPE]] : f32 to vector<256x128xf32>
// CHECK: %[[WEIGHTS:.*]] = vector.broadcast %[[NUMBER]] : f32 to vector<256x128xf32>
// CHECK: %[[BIAS:.*]] = arith.mulf %[[NUMBERS]], %[[WEIGHTS]]
// CHECK: %[[MOD:.*]] = math.fma %[[S]], %[[SCALE]], %[[BIAS]] : vector<256x128xf32>
// CHECK: %[[CB:.*]] = arith.index_cast %[[COLS]] : vector<128xindex> to vector<128xi32>
// CHECK: %[[NB:.*]] = vector.broadcast %[[N]] : i32 to vector<128xi32>
// CHECK: %[[BLOCK:.*]] = arith.divui %[[CB]], %[[NB]] : vector<128xi32>
// CHECK: arith.index_cast %[[ROWS]] : vector<256xindex> to vector<256xi32>
// CHECK: %[[SEEN:.*]] = arith.cmpi eq, %{{.*}} : vector<256x128xi32>
// CHECK: %[[X:.*]] = arith.select %[[SEEN]], %[[MOD]], %[[NINF]]
// The captured number may be large, so that the factor of scores is one of each row: see full-range.mlir.
// CHECK: %[[T:.*]] = arith.bitcast %{{.*}} : vector<256xi32> to vector<256xf32>
// CHECK: %[[FACTORS:.*]] = arith.mulf %[[T]], %[[LOG2E]] : vector<256xf32>
// CHECK: %[[COLUMN:.*]] = vector.shape_cast %[[FACTORS]]
// CHECK: %[[FACTOR:.*]] = vector.broadcast %[[COLUMN]]
// CHECK: math.fma %{{.*}}, %[[FACTOR]],
// CHECK: tile.launch @mods_kernel {{.*}} scalars(%{{.*}}, %{{.*}} : f32, i32)
func.func @mods(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>, %slope: f32, %n: i32) {
  attn.sdpa %q, %k, %v layout<bshd> scale(0.5) captures(%slope, %n : f32, i32) outs(%o : memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: f32, %size: i32) {
      %hi = arith.index_cast %h : index to i32
      %hf = arith.sitofp %hi : i32 to f32
      %bias = arith.mulf %hf, %sl : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: f32, %size: i32) {
      %ji = arith.index_cast %j : index to i32
      %bj = arith.divui %ji, %size : i32
      %ii = arith.index_cast %i : index to i32
      %bi = arith.divui %ii, %size : i32
      %same = arith.cmpi eq, %bi, %bj : i32
      attn.yield %same : i1
    }
  return
}

// -----

// The row max of the products is that of the scores for positive factors only.
// CHECK-LABEL: tile.kernel @negative_kernel
// CHECK-DAG: %[[SCALE:.*]] = arith.constant dense<-2.000000e+00> : vector<256x128xf32>
// CHECK: %[[S:.*]] = tile.mma
// CHECK: arith.mulf %[[S]], %[[SCALE]]
// CHECK: vector.multi_reduction <maximumf>
func.func @negative(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> scale(-2.0) outs(%o : memref<?x?x?x64xbf16>)
    : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

// -----

// Rows of q and k are longer than those of v; the output has the latter. Tensor
// memory has room for two query tiles of these, and for one of 256 columns of
// output.
// CHECK-LABEL: tile.kernel @head_dims_kernel(
// CHECK: tile.load %{{.*}} -> vector<256x192xbf16>
// CHECK: tile.load %{{.*}} -> vector<128x192xbf16>
// CHECK: tile.mma %{{.*}} : vector<256x192xbf16>, vector<128x192xbf16> -> vector<256x128xf32>
// CHECK: tile.load %{{.*}} -> vector<128x96xbf16>
// CHECK: tile.mma %{{.*}} : vector<256x128xbf16>, vector<128x96xbf16> -> vector<256x96xf32>
// CHECK: tile.store %{{.*}} : vector<256x96xbf16>
func.func @head_dims(%q: tensor<1x640x1x192xbf16>, %v: tensor<1x640x1x96xbf16>) -> tensor<1x640x1x96xbf16> {
  %o = attn.sdpa %q, %q, %v layout<bshd> : tensor<1x640x1x192xbf16>, tensor<1x640x1x192xbf16>, tensor<1x640x1x96xbf16> -> tensor<1x640x1x96xbf16>
  return %o : tensor<1x640x1x96xbf16>
}

// CHECK-LABEL: tile.kernel @head_dim_256_kernel(
// CHECK: tile.mma %{{.*}} : vector<128x256xbf16>, vector<128x256xbf16> -> vector<128x128xf32>
// CHECK: tile.mma %{{.*}} : vector<128x128xbf16>, vector<128x256xbf16> -> vector<128x256xf32>
func.func @head_dim_256(%x: tensor<1x640x1x256xbf16>) -> tensor<1x640x1x256xbf16> {
  %o = attn.sdpa %x, %x, %x layout<bshd> : tensor<1x640x1x256xbf16>, tensor<1x640x1x256xbf16>, tensor<1x640x1x256xbf16> -> tensor<1x640x1x256xbf16>
  return %o : tensor<1x640x1x256xbf16>
}

// Tensor memory has room for two query tiles of 128 columns, shared memory for
// one beside keys of 384.
// CHECK-LABEL: tile.kernel @long_keys_kernel(
// CHECK: tile.mma %{{.*}} : vector<128x384xbf16>, vector<128x384xbf16> -> vector<128x128xf32>
func.func @long_keys(%q: tensor<1x640x1x384xbf16>, %v: tensor<1x640x1x128xbf16>) -> tensor<1x640x1x128xbf16> {
  %o = attn.sdpa %q, %q, %v layout<bshd> : tensor<1x640x1x384xbf16>, tensor<1x640x1x384xbf16>, tensor<1x640x1x128xbf16> -> tensor<1x640x1x128xbf16>
  return %o : tensor<1x640x1x128xbf16>
}
