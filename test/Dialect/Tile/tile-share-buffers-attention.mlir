// For attention, tile-allocate puts probabilities in place of scores and output
// tiles over dead operands. Any two buffers that are live at the same time must
// not overlap.
//
// RUN: fa4-opt %s --split-input-file --tile-share-buffers --tile-allocate=print=true 2>%t.map | FileCheck %s
// RUN: FileCheck %s --check-prefix=MAP < %t.map
// Once more changes nothing.
// RUN: fa4-opt %s --split-input-file --tile-share-buffers --tile-allocate | fa4-opt --split-input-file --tile-share-buffers --tile-allocate | FileCheck %s

// Two query tiles, scheduled: the parts of p in place of s, in whose columns
// nobody else is; o beside them; the staging tiles over what is dead when
// they are written. Head dim 128, and 64 with the loop over blocks in two.

// CHECK-LABEL: tile.kernel @attention128
// CHECK-SAME: smem_bytes = 198888 : i64, tmem_columns = 512 : i64
// CHECK-DAG: "q0" smem stages(1) place<offset(131072) full(0) arrivals(1) bytes(32768)> :
// CHECK-DAG: "q1" smem stages(1) place<offset(163840) full(1) arrivals(1) bytes(32768)> :
// CHECK-DAG: "k" smem stages(2) place<offset(0) full(2) arrivals(1) bytes(32768) empty(4) arrivals(1)> :
// CHECK-DAG: "v" smem stages(2) place<offset(65536) full(6) arrivals(1) bytes(32768) empty(8) arrivals(1)> :
// CHECK-DAG: "s0" tmem stages(1) place<offset(0) full(10) arrivals(1)> :
// CHECK-DAG: "s1" tmem stages(1) place<offset(128) full(11) arrivals(1)> :
// CHECK-DAG: "p0.0" tmem stages(1) in_place_of(%s0 : {{.*}}) place<offset(0) full(12) arrivals(128)> :
// CHECK-DAG: "p0.1" tmem stages(1) in_place_of(%s0 : {{.*}}) at(48) place<offset(48) full(13) arrivals(128)> :
// CHECK-DAG: "p1.0" tmem stages(1) in_place_of(%s1 : {{.*}}) place<offset(128) full(14) arrivals(128)> :
// CHECK-DAG: "p1.1" tmem stages(1) in_place_of(%s1 : {{.*}}) at(48) place<offset(176) full(15) arrivals(128)> :
// CHECK-DAG: "a0" smem stages(1) place<offset(196608) full(16) arrivals(128) empty(17) arrivals(128)> :
// CHECK-DAG: "o0" tmem stages(1) initial(1) place<offset(256) full(20) arrivals(1)> :
// CHECK-DAG: "o1" tmem stages(1) initial(1) place<offset(384) full(21) arrivals(1)> :
// CHECK-DAG: "or0" tmem stages(1) in_place_of(%o0 : {{.*}}) place<offset(256) full(22) arrivals(128)> :
// CHECK-DAG: "or1" tmem stages(1) in_place_of(%o1 : {{.*}}) place<offset(384) full(23) arrivals(128)> :
// CHECK-DAG: "l0" smem stages(1) place<offset(197632) full(24) arrivals(128)> :
// CHECK-DAG: "out0" smem stages(1) after({{.*}}) place<offset(0) full(26) arrivals(128)> :
// CHECK-DAG: "out1" smem stages(1) after({{.*}}) place<offset(32768) full(27) arrivals(128)> :
// What is filled once has no empty side, nor has what is written in place.
// CHECK-LABEL: tile.role @load
// CHECK-NOT: tile.acquire %q
// CHECK: tile.acquire %k
// CHECK: tile.acquire %v
// CHECK-LABEL: tile.role @mma
// CHECK-NOT: tile.acquire
// CHECK-NOT: tile.release %q
// CHECK-NOT: tile.release %p
// CHECK-LABEL: tile.role @compute0
// CHECK: tile.acquire %a0
// CHECK-NOT: tile.release
// CHECK-NOT: tile.acquire
// CHECK-LABEL: tile.role @compute1
// CHECK-LABEL: tile.role @correction
// CHECK: tile.release %a0
// CHECK-NOT: tile.release %l
// CHECK-NOT: tile.acquire

// MAP: @attention128: shared memory, 198888 bytes
// MAP-NEXT: from to channel stages x size
// MAP-NEXT: 0 65536 k 2 x 32768
// MAP-NEXT: 0 32768 out0 1 x 32768
// MAP-NEXT: 32768 65536 out1 1 x 32768
// MAP-NEXT: 65536 131072 v 2 x 32768
// MAP-NEXT: 131072 163840 q0 1 x 32768
// MAP-NEXT: 163840 196608 q1 1 x 32768
// MAP-NEXT: 196608 197120 a0 1 x 512
// MAP-NEXT: 197120 197632 a1 1 x 512
// MAP-NEXT: 197632 198144 l0 1 x 512
// MAP-NEXT: 198144 198656 l1 1 x 512
// MAP-NEXT: 198656 198880 28 mbarriers
// MAP-NEXT: 198880 198888 address of tensor memory
// MAP-NEXT: @attention128: tensor memory, 512 columns
// MAP-NEXT: from to channel stages x size
// MAP-NEXT: 0 128 s0 1 x 128
// MAP-NEXT: 0 48 p0.0 1 x 48 in place of s0
// MAP-NEXT: 48 64 p0.1 1 x 16 in place of s0
// MAP-NEXT: 128 256 s1 1 x 128

tile.kernel @attention128(
    %q: memref<?x?x?x128xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "H", "128"]},
    %k: memref<?x?x?x128xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "H", "128"]},
    %v: memref<?x?x?x128xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "H", "128"]},
    %out: memref<?x?x?x128xbf16> {tile.name = "out", tile.dims = ["B", "Sq", "H", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"H">, #tile.extent<"B">]} {
  %q0 = tile.channel "q0" smem stages(1) : <vector<128x128xbf16>>
  %q1 = tile.channel "q1" smem stages(1) : <vector<128x128xbf16>>
  %kc = tile.channel "k" smem stages(2) : <vector<128x128xbf16>>
  %vc = tile.channel "v" smem stages(2) : <vector<128x128xbf16>>
  %s0 = tile.channel "s0" tmem stages(1) : <vector<128x128xf32>>
  %s1 = tile.channel "s1" tmem stages(1) : <vector<128x128xf32>>
  %p0_0 = tile.channel "p0.0" tmem stages(1) : <vector<128x96xbf16>>
  %p0_1 = tile.channel "p0.1" tmem stages(1) : <vector<128x32xbf16>>
  %p1_0 = tile.channel "p1.0" tmem stages(1) : <vector<128x96xbf16>>
  %p1_1 = tile.channel "p1.1" tmem stages(1) : <vector<128x32xbf16>>
  %a0 = tile.channel "a0" smem stages(1) : <vector<128xf32>>
  %a1 = tile.channel "a1" smem stages(1) : <vector<128xf32>>
  %o0 = tile.channel "o0" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %o1 = tile.channel "o1" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %or0 = tile.channel "or0" tmem stages(1) in_place_of(%o0 : !tile.channel<vector<128x128xf32>>) : <vector<128x128xf32>>
  %or1 = tile.channel "or1" tmem stages(1) in_place_of(%o1 : !tile.channel<vector<128x128xf32>>) : <vector<128x128xf32>>
  %l0 = tile.channel "l0" smem stages(1) : <vector<128xf32>>
  %l1 = tile.channel "l1" smem stages(1) : <vector<128xf32>>
  %out0 = tile.channel "out0" smem stages(1) : <vector<128x128xbf16>>
  %out1 = tile.channel "out1" smem stages(1) : <vector<128x128xbf16>>
  tile.role @load kind(issuer) first_warp(13) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %last = arith.subi %n, %c1 : index
    %c256 = arith.constant 256 : index
    %qt, %h, %b = tile.work_tile : index, index, index
    %row0 = arith.muli %qt, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    tile.acquire %q0 : <vector<128x128xbf16>>
    %tq0 = tile.load %q[%b, %row0, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    tile.commit %q0, %tq0 : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.acquire %q1 : <vector<128x128xbf16>>
    %tq1 = tile.load %q[%b, %row1, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
    tile.commit %q1, %tq1 : <vector<128x128xbf16>>, vector<128x128xbf16>
    scf.for %j = %c0 to %n step %c1 {
      %blk = arith.subi %last, %j : index
      %col = arith.muli %blk, %c128 : index
      tile.acquire %kc : <vector<128x128xbf16>>
      %tk = tile.load %k[%b, %col, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %kc, %tk : <vector<128x128xbf16>>, vector<128x128xbf16>
      tile.acquire %vc : <vector<128x128xbf16>>
      %tv = tile.load %v[%b, %col, %h, %c0] dims [1, 3] : memref<?x?x?x128xbf16> -> vector<128x128xbf16>
      tile.commit %vc, %tv : <vector<128x128xbf16>>, vector<128x128xbf16>
    }
  }
  tile.role @mma kind(issuer) first_warp(12) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %last = arith.subi %n, %c1 : index
    %tq0 = tile.wait %q0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tk0 = tile.wait %kc : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %s0 : <vector<128x128xf32>>
    %ts0p = tile.mma %tq0, transpose %tk0 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %s0, %ts0p : <vector<128x128xf32>>, vector<128x128xf32>
    %tq1 = tile.wait %q1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.acquire %s1 : <vector<128x128xf32>>
    %ts1p = tile.mma %tq1, transpose %tk0 : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
    tile.commit %s1, %ts1p : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %kc : <vector<128x128xbf16>>
    scf.for %j = %c0 to %last step %c1 {
      %more = arith.cmpi ne, %j, %c0 : index
      %tv = tile.wait %vc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      %tor0 = tile.wait %or0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %pa0 = tile.wait %p0_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
      %va0 = vector.extract_strided_slice %tv {offsets = [0, 0], sizes = [96, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<96x128xbf16>
      %x0 = tile.mma %pa0, %va0 acc %tor0 if %more : vector<128x96xbf16>, vector<96x128xbf16> -> vector<128x128xf32>
      tile.release %p0_0 : <vector<128x96xbf16>>
      %pb0 = tile.wait %p0_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
      %vb0 = vector.extract_strided_slice %tv {offsets = [96, 0], sizes = [32, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<32x128xbf16>
      %y0 = tile.mma %pb0, %vb0 acc %x0 : vector<128x32xbf16>, vector<32x128xbf16> -> vector<128x128xf32>
      tile.release %p0_1 : <vector<128x32xbf16>>
      tile.commit %o0, %y0 : <vector<128x128xf32>>, vector<128x128xf32>
      %tk = tile.wait %kc : <vector<128x128xbf16>> -> vector<128x128xbf16>
      tile.acquire %s0 : <vector<128x128xf32>>
      %ts0 = tile.mma %tq0, transpose %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s0, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
      %tor1 = tile.wait %or1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %pa1 = tile.wait %p1_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
      %va1 = vector.extract_strided_slice %tv {offsets = [0, 0], sizes = [96, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<96x128xbf16>
      %x1 = tile.mma %pa1, %va1 acc %tor1 if %more : vector<128x96xbf16>, vector<96x128xbf16> -> vector<128x128xf32>
      tile.release %p1_0 : <vector<128x96xbf16>>
      %pb1 = tile.wait %p1_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
      %vb1 = vector.extract_strided_slice %tv {offsets = [96, 0], sizes = [32, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<32x128xbf16>
      %y1 = tile.mma %pb1, %vb1 acc %x1 : vector<128x32xbf16>, vector<32x128xbf16> -> vector<128x128xf32>
      tile.release %p1_1 : <vector<128x32xbf16>>
      tile.commit %o1, %y1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %vc : <vector<128x128xbf16>>
      tile.acquire %s1 : <vector<128x128xf32>>
      %ts1 = tile.mma %tq1, transpose %tk : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
      tile.commit %s1, %ts1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %kc : <vector<128x128xbf16>>
    }
    tile.release %q0 : <vector<128x128xbf16>>
    tile.release %q1 : <vector<128x128xbf16>>
    %more = arith.cmpi ne, %last, %c0 : index
    %tve = tile.wait %vc : <vector<128x128xbf16>> -> vector<128x128xbf16>
    %tor0e = tile.wait %or0 : <vector<128x128xf32>> -> vector<128x128xf32>
    %pa0e = tile.wait %p0_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
    %va0e = vector.extract_strided_slice %tve {offsets = [0, 0], sizes = [96, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<96x128xbf16>
    %x0e = tile.mma %pa0e, %va0e acc %tor0e if %more : vector<128x96xbf16>, vector<96x128xbf16> -> vector<128x128xf32>
    tile.release %p0_0 : <vector<128x96xbf16>>
    %pb0e = tile.wait %p0_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
    %vb0e = vector.extract_strided_slice %tve {offsets = [96, 0], sizes = [32, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<32x128xbf16>
    %y0e = tile.mma %pb0e, %vb0e acc %x0e : vector<128x32xbf16>, vector<32x128xbf16> -> vector<128x128xf32>
    tile.release %p0_1 : <vector<128x32xbf16>>
    tile.commit %o0, %y0e : <vector<128x128xf32>>, vector<128x128xf32>
    %tor1e = tile.wait %or1 : <vector<128x128xf32>> -> vector<128x128xf32>
    %pa1e = tile.wait %p1_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
    %va1e = vector.extract_strided_slice %tve {offsets = [0, 0], sizes = [96, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<96x128xbf16>
    %x1e = tile.mma %pa1e, %va1e acc %tor1e if %more : vector<128x96xbf16>, vector<96x128xbf16> -> vector<128x128xf32>
    tile.release %p1_0 : <vector<128x96xbf16>>
    %pb1e = tile.wait %p1_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
    %vb1e = vector.extract_strided_slice %tve {offsets = [96, 0], sizes = [32, 128], strides = [1, 1]} : vector<128x128xbf16> to vector<32x128xbf16>
    %y1e = tile.mma %pb1e, %vb1e acc %x1e : vector<128x32xbf16>, vector<32x128xbf16> -> vector<128x128xf32>
    tile.release %p1_1 : <vector<128x32xbf16>>
    tile.commit %o1, %y1e : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %vc : <vector<128x128xbf16>>
  }
  tile.role @compute0 kind(vector) first_warp(0) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%m = %rninf, %l = %rzero) -> (vector<128xf32>, vector<128xf32>) {
      %x = tile.wait %s0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      %d = arith.subf %m, %m2 : vector<128xf32>
      %a = math.exp2 %d : vector<128xf32>
      tile.acquire %a0 : <vector<128xf32>>
      tile.commit %a0, %a : <vector<128xf32>>, vector<128xf32>
      %mc = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
      %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
      %z = arith.subf %x, %mb : vector<128x128xf32>
      %p = math.exp2 %z : vector<128x128xf32>
      %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      %pa = vector.extract_strided_slice %pt {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]} : vector<128x128xbf16> to vector<128x96xbf16>
      tile.release %s0 : <vector<128x128xf32>>
      tile.acquire %p0_0 : <vector<128x96xbf16>>
      tile.commit %p0_0, %pa : <vector<128x96xbf16>>, vector<128x96xbf16>
      %pb = vector.extract_strided_slice %pt {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]} : vector<128x128xbf16> to vector<128x32xbf16>
      tile.acquire %p0_1 : <vector<128x32xbf16>>
      tile.commit %p0_1, %pb : <vector<128x32xbf16>>, vector<128x32xbf16>
      %l2 = vector.multi_reduction <add>, %p, %l [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
    }
    tile.acquire %l0 : <vector<128xf32>>
    tile.commit %l0, %r#1 : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @compute1 kind(vector) first_warp(4) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%m = %rninf, %l = %rzero) -> (vector<128xf32>, vector<128xf32>) {
      %x = tile.wait %s1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      %d = arith.subf %m, %m2 : vector<128xf32>
      %a = math.exp2 %d : vector<128xf32>
      tile.acquire %a1 : <vector<128xf32>>
      tile.commit %a1, %a : <vector<128xf32>>, vector<128xf32>
      %mc = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
      %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
      %z = arith.subf %x, %mb : vector<128x128xf32>
      %p = math.exp2 %z : vector<128x128xf32>
      %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      %pa = vector.extract_strided_slice %pt {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]} : vector<128x128xbf16> to vector<128x96xbf16>
      tile.release %s1 : <vector<128x128xf32>>
      tile.acquire %p1_0 : <vector<128x96xbf16>>
      tile.commit %p1_0, %pa : <vector<128x96xbf16>>, vector<128x96xbf16>
      %pb = vector.extract_strided_slice %pt {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]} : vector<128x128xbf16> to vector<128x32xbf16>
      tile.acquire %p1_1 : <vector<128x32xbf16>>
      tile.commit %p1_1, %pb : <vector<128x32xbf16>>, vector<128x32xbf16>
      %l2 = vector.multi_reduction <add>, %p, %l [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
    }
    tile.acquire %l1 : <vector<128xf32>>
    tile.commit %l1, %r#1 : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @correction kind(vector) first_warp(8) registers(80) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x128xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    scf.for %j = %c0 to %n step %c1 {
      %ta0 = tile.wait %a0 : <vector<128xf32>> -> vector<128xf32>
      %to0 = tile.wait %o0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %os0 = tile.rescale %to0, %ta0 : vector<128x128xf32>, vector<128xf32>
      tile.commit %or0, %os0 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %a0 : <vector<128xf32>>
      %ta1 = tile.wait %a1 : <vector<128xf32>> -> vector<128xf32>
      %to1 = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %os1 = tile.rescale %to1, %ta1 : vector<128x128xf32>, vector<128xf32>
      tile.commit %or1, %os1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %a1 : <vector<128xf32>>
    }
    %tl0 = tile.wait %l0 : <vector<128xf32>> -> vector<128xf32>
    %lc0 = vector.shape_cast %tl0 : vector<128xf32> to vector<128x1xf32>
    %lb0 = vector.broadcast %lc0 : vector<128x1xf32> to vector<128x128xf32>
    %fo0 = tile.wait %o0 : <vector<128x128xf32>> -> vector<128x128xf32>
    %of0 = arith.divf %fo0, %lb0 : vector<128x128xf32>
    %ot0 = arith.truncf %of0 : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %out0 : <vector<128x128xbf16>>
    tile.commit %out0, %ot0 : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %l0 : <vector<128xf32>>
    %tl1 = tile.wait %l1 : <vector<128xf32>> -> vector<128xf32>
    %lc1 = vector.shape_cast %tl1 : vector<128xf32> to vector<128x1xf32>
    %lb1 = vector.broadcast %lc1 : vector<128x1xf32> to vector<128x128xf32>
    %fo1 = tile.wait %o1 : <vector<128x128xf32>> -> vector<128x128xf32>
    %of1 = arith.divf %fo1, %lb1 : vector<128x128xf32>
    %ot1 = arith.truncf %of1 : vector<128x128xf32> to vector<128x128xbf16>
    tile.acquire %out1 : <vector<128x128xbf16>>
    tile.commit %out1, %ot1 : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.release %l1 : <vector<128xf32>>
  }
  tile.role @store kind(issuer) first_warp(14) registers(48) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %qt, %h, %b = tile.work_tile : index, index, index
    %row0 = arith.muli %qt, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    %t0 = tile.wait %out0 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %t0, %out[%b, %row0, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
    tile.release %out0 : <vector<128x128xbf16>>
    %t1 = tile.wait %out1 : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %t1, %out[%b, %row1, %h, %c0] dims [1, 3] : vector<128x128xbf16>, memref<?x?x?x128xbf16>
    tile.release %out1 : <vector<128x128xbf16>>
  }
}

// -----

// The sizes of two loops add up to those of one.

// CHECK-LABEL: tile.kernel @attention64
// CHECK-SAME: smem_bytes = 166184 : i64, tmem_columns = 512 : i64
// CHECK-DAG: "k" smem stages(4) place<offset(0) full(2) arrivals(1) bytes(16384) empty(6) arrivals(1)> :
// CHECK-DAG: "s1" tmem stages(1) place<offset(128) full
// CHECK-DAG: "p1.1" tmem stages(1) in_place_of(%s1 : {{.*}}) at(48) place<offset(176) full
// CHECK-DAG: "o0" tmem stages(1) initial(1) place<offset(256) full
// CHECK-DAG: "o1" tmem stages(1) initial(1) place<offset(320) full
// CHECK-DAG: "or1" tmem stages(1) in_place_of(%o1 : {{.*}}) place<offset(320) full
// CHECK-DAG: "out0" smem stages(1) after({{.*}}) place<offset(0) full
// CHECK-DAG: "out1" smem stages(1) after({{.*}}) place<offset(16384) full

tile.kernel @attention64(
    %q: memref<?x?x?x64xbf16> {tile.name = "q", tile.dims = ["B", "Sq", "H", "64"]},
    %k: memref<?x?x?x64xbf16> {tile.name = "k", tile.dims = ["B", "Sk", "H", "64"]},
    %v: memref<?x?x?x64xbf16> {tile.name = "v", tile.dims = ["B", "Sk", "H", "64"]},
    %out: memref<?x?x?x64xbf16> {tile.name = "out", tile.dims = ["B", "Sq", "H", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"H">, #tile.extent<"B">]} {
  %q0 = tile.channel "q0" smem stages(1) : <vector<128x64xbf16>>
  %q1 = tile.channel "q1" smem stages(1) : <vector<128x64xbf16>>
  %kc = tile.channel "k" smem stages(4) : <vector<128x64xbf16>>
  %vc = tile.channel "v" smem stages(4) : <vector<128x64xbf16>>
  %s0 = tile.channel "s0" tmem stages(1) : <vector<128x128xf32>>
  %s1 = tile.channel "s1" tmem stages(1) : <vector<128x128xf32>>
  %p0_0 = tile.channel "p0.0" tmem stages(1) : <vector<128x96xbf16>>
  %p0_1 = tile.channel "p0.1" tmem stages(1) : <vector<128x32xbf16>>
  %p1_0 = tile.channel "p1.0" tmem stages(1) : <vector<128x96xbf16>>
  %p1_1 = tile.channel "p1.1" tmem stages(1) : <vector<128x32xbf16>>
  %a0 = tile.channel "a0" smem stages(1) : <vector<128xf32>>
  %a1 = tile.channel "a1" smem stages(1) : <vector<128xf32>>
  %o0 = tile.channel "o0" tmem stages(1) initial(1) : <vector<128x64xf32>>
  %o1 = tile.channel "o1" tmem stages(1) initial(1) : <vector<128x64xf32>>
  %or0 = tile.channel "or0" tmem stages(1) in_place_of(%o0 : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  %or1 = tile.channel "or1" tmem stages(1) in_place_of(%o1 : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  %l0 = tile.channel "l0" smem stages(1) : <vector<128xf32>>
  %l1 = tile.channel "l1" smem stages(1) : <vector<128xf32>>
  %out0 = tile.channel "out0" smem stages(1) : <vector<128x64xbf16>>
  %out1 = tile.channel "out1" smem stages(1) : <vector<128x64xbf16>>
  tile.role @load kind(issuer) first_warp(13) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %last = arith.subi %n, %c1 : index
    %c256 = arith.constant 256 : index
    %qt, %h, %b = tile.work_tile : index, index, index
    %row0 = arith.muli %qt, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    tile.acquire %q0 : <vector<128x64xbf16>>
    %tq0 = tile.load %q[%b, %row0, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
    tile.commit %q0, %tq0 : <vector<128x64xbf16>>, vector<128x64xbf16>
    tile.acquire %q1 : <vector<128x64xbf16>>
    %tq1 = tile.load %q[%b, %row1, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
    tile.commit %q1, %tq1 : <vector<128x64xbf16>>, vector<128x64xbf16>
    scf.for %j = %c0 to %n step %c1 {
      %blk = arith.subi %last, %j : index
      %col = arith.muli %blk, %c128 : index
      tile.acquire %kc : <vector<128x64xbf16>>
      %tk = tile.load %k[%b, %col, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
      tile.commit %kc, %tk : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %vc : <vector<128x64xbf16>>
      %tv = tile.load %v[%b, %col, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
      tile.commit %vc, %tv : <vector<128x64xbf16>>, vector<128x64xbf16>
    }
  }
  tile.role @mma kind(issuer) first_warp(12) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %last = arith.subi %n, %c1 : index
    %tq0 = tile.wait %q0 : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %tk0 = tile.wait %kc : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.acquire %s0 : <vector<128x128xf32>>
    %ts0p = tile.mma %tq0, transpose %tk0 : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    tile.commit %s0, %ts0p : <vector<128x128xf32>>, vector<128x128xf32>
    %tq1 = tile.wait %q1 : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.acquire %s1 : <vector<128x128xf32>>
    %ts1p = tile.mma %tq1, transpose %tk0 : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    tile.commit %s1, %ts1p : <vector<128x128xf32>>, vector<128x128xf32>
    tile.release %kc : <vector<128x64xbf16>>
    scf.for %j = %c0 to %last step %c1 {
      %more = arith.cmpi ne, %j, %c0 : index
      %tv = tile.wait %vc : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %tor0 = tile.wait %or0 : <vector<128x64xf32>> -> vector<128x64xf32>
      %pa0 = tile.wait %p0_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
      %va0 = vector.extract_strided_slice %tv {offsets = [0, 0], sizes = [96, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<96x64xbf16>
      %x0 = tile.mma %pa0, %va0 acc %tor0 if %more : vector<128x96xbf16>, vector<96x64xbf16> -> vector<128x64xf32>
      tile.release %p0_0 : <vector<128x96xbf16>>
      %pb0 = tile.wait %p0_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
      %vb0 = vector.extract_strided_slice %tv {offsets = [96, 0], sizes = [32, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<32x64xbf16>
      %y0 = tile.mma %pb0, %vb0 acc %x0 : vector<128x32xbf16>, vector<32x64xbf16> -> vector<128x64xf32>
      tile.release %p0_1 : <vector<128x32xbf16>>
      tile.commit %o0, %y0 : <vector<128x64xf32>>, vector<128x64xf32>
      %tk = tile.wait %kc : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.acquire %s0 : <vector<128x128xf32>>
      %ts0 = tile.mma %tq0, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s0, %ts0 : <vector<128x128xf32>>, vector<128x128xf32>
      %tor1 = tile.wait %or1 : <vector<128x64xf32>> -> vector<128x64xf32>
      %pa1 = tile.wait %p1_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
      %va1 = vector.extract_strided_slice %tv {offsets = [0, 0], sizes = [96, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<96x64xbf16>
      %x1 = tile.mma %pa1, %va1 acc %tor1 if %more : vector<128x96xbf16>, vector<96x64xbf16> -> vector<128x64xf32>
      tile.release %p1_0 : <vector<128x96xbf16>>
      %pb1 = tile.wait %p1_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
      %vb1 = vector.extract_strided_slice %tv {offsets = [96, 0], sizes = [32, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<32x64xbf16>
      %y1 = tile.mma %pb1, %vb1 acc %x1 : vector<128x32xbf16>, vector<32x64xbf16> -> vector<128x64xf32>
      tile.release %p1_1 : <vector<128x32xbf16>>
      tile.commit %o1, %y1 : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %vc : <vector<128x64xbf16>>
      tile.acquire %s1 : <vector<128x128xf32>>
      %ts1 = tile.mma %tq1, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s1, %ts1 : <vector<128x128xf32>>, vector<128x128xf32>
      tile.release %kc : <vector<128x64xbf16>>
    }
    tile.release %q0 : <vector<128x64xbf16>>
    tile.release %q1 : <vector<128x64xbf16>>
    %more = arith.cmpi ne, %last, %c0 : index
    %tve = tile.wait %vc : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %tor0e = tile.wait %or0 : <vector<128x64xf32>> -> vector<128x64xf32>
    %pa0e = tile.wait %p0_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
    %va0e = vector.extract_strided_slice %tve {offsets = [0, 0], sizes = [96, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<96x64xbf16>
    %x0e = tile.mma %pa0e, %va0e acc %tor0e if %more : vector<128x96xbf16>, vector<96x64xbf16> -> vector<128x64xf32>
    tile.release %p0_0 : <vector<128x96xbf16>>
    %pb0e = tile.wait %p0_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
    %vb0e = vector.extract_strided_slice %tve {offsets = [96, 0], sizes = [32, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<32x64xbf16>
    %y0e = tile.mma %pb0e, %vb0e acc %x0e : vector<128x32xbf16>, vector<32x64xbf16> -> vector<128x64xf32>
    tile.release %p0_1 : <vector<128x32xbf16>>
    tile.commit %o0, %y0e : <vector<128x64xf32>>, vector<128x64xf32>
    %tor1e = tile.wait %or1 : <vector<128x64xf32>> -> vector<128x64xf32>
    %pa1e = tile.wait %p1_0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
    %va1e = vector.extract_strided_slice %tve {offsets = [0, 0], sizes = [96, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<96x64xbf16>
    %x1e = tile.mma %pa1e, %va1e acc %tor1e if %more : vector<128x96xbf16>, vector<96x64xbf16> -> vector<128x64xf32>
    tile.release %p1_0 : <vector<128x96xbf16>>
    %pb1e = tile.wait %p1_1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
    %vb1e = vector.extract_strided_slice %tve {offsets = [96, 0], sizes = [32, 64], strides = [1, 1]} : vector<128x64xbf16> to vector<32x64xbf16>
    %y1e = tile.mma %pb1e, %vb1e acc %x1e : vector<128x32xbf16>, vector<32x64xbf16> -> vector<128x64xf32>
    tile.release %p1_1 : <vector<128x32xbf16>>
    tile.commit %o1, %y1e : <vector<128x64xf32>>, vector<128x64xf32>
    tile.release %vc : <vector<128x64xbf16>>
  }
  tile.role @compute0 kind(vector) first_warp(0) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    // Blocks 0 to m, and then the rest.
    %m0 = arith.floordivsi %sk, %c128 : index
    %masked = arith.subi %n, %m0 : index
    %masked0 = arith.maxsi %masked, %c0 : index
    %mid = arith.minsi %masked0, %n : index
    %r:2 = scf.for %j = %c0 to %mid step %c1 iter_args(%m = %rninf, %l = %rzero) -> (vector<128xf32>, vector<128xf32>) {
      %x = tile.wait %s0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      %d = arith.subf %m, %m2 : vector<128xf32>
      %a = math.exp2 %d : vector<128xf32>
      tile.acquire %a0 : <vector<128xf32>>
      tile.commit %a0, %a : <vector<128xf32>>, vector<128xf32>
      %mc = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
      %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
      %z = arith.subf %x, %mb : vector<128x128xf32>
      %p = math.exp2 %z : vector<128x128xf32>
      %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      %pa = vector.extract_strided_slice %pt {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]} : vector<128x128xbf16> to vector<128x96xbf16>
      tile.release %s0 : <vector<128x128xf32>>
      tile.acquire %p0_0 : <vector<128x96xbf16>>
      tile.commit %p0_0, %pa : <vector<128x96xbf16>>, vector<128x96xbf16>
      %pb = vector.extract_strided_slice %pt {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]} : vector<128x128xbf16> to vector<128x32xbf16>
      tile.acquire %p0_1 : <vector<128x32xbf16>>
      tile.commit %p0_1, %pb : <vector<128x32xbf16>>, vector<128x32xbf16>
      %l2 = vector.multi_reduction <add>, %p, %l [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
    }
    %t:2 = scf.for %j = %mid to %n step %c1 iter_args(%mf = %r#0, %lf = %r#1) -> (vector<128xf32>, vector<128xf32>) {
      %xf = tile.wait %s0 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m2f = vector.multi_reduction <maxnumf>, %xf, %mf [1] : vector<128x128xf32> to vector<128xf32>
      %df = arith.subf %mf, %m2f : vector<128xf32>
      %af = math.exp2 %df : vector<128xf32>
      tile.acquire %a0 : <vector<128xf32>>
      tile.commit %a0, %af : <vector<128xf32>>, vector<128xf32>
      %mcf = vector.shape_cast %m2f : vector<128xf32> to vector<128x1xf32>
      %mbf = vector.broadcast %mcf : vector<128x1xf32> to vector<128x128xf32>
      %zf = arith.subf %xf, %mbf : vector<128x128xf32>
      %pf = math.exp2 %zf : vector<128x128xf32>
      %ptf = arith.truncf %pf : vector<128x128xf32> to vector<128x128xbf16>
      %paf = vector.extract_strided_slice %ptf {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]} : vector<128x128xbf16> to vector<128x96xbf16>
      tile.release %s0 : <vector<128x128xf32>>
      tile.acquire %p0_0 : <vector<128x96xbf16>>
      tile.commit %p0_0, %paf : <vector<128x96xbf16>>, vector<128x96xbf16>
      %pbf = vector.extract_strided_slice %ptf {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]} : vector<128x128xbf16> to vector<128x32xbf16>
      tile.acquire %p0_1 : <vector<128x32xbf16>>
      tile.commit %p0_1, %pbf : <vector<128x32xbf16>>, vector<128x32xbf16>
      %l2f = vector.multi_reduction <add>, %pf, %lf [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2f, %l2f : vector<128xf32>, vector<128xf32>
    }
    tile.acquire %l0 : <vector<128xf32>>
    tile.commit %l0, %t#1 : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @compute1 kind(vector) first_warp(4) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    %rninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %rzero = arith.constant dense<0.0> : vector<128xf32>
    // Blocks 0 to m, and then the rest.
    %m0 = arith.floordivsi %sk, %c128 : index
    %masked = arith.subi %n, %m0 : index
    %masked0 = arith.maxsi %masked, %c0 : index
    %mid = arith.minsi %masked0, %n : index
    %r:2 = scf.for %j = %c0 to %mid step %c1 iter_args(%m = %rninf, %l = %rzero) -> (vector<128xf32>, vector<128xf32>) {
      %x = tile.wait %s1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<128x128xf32> to vector<128xf32>
      %d = arith.subf %m, %m2 : vector<128xf32>
      %a = math.exp2 %d : vector<128xf32>
      tile.acquire %a1 : <vector<128xf32>>
      tile.commit %a1, %a : <vector<128xf32>>, vector<128xf32>
      %mc = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
      %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
      %z = arith.subf %x, %mb : vector<128x128xf32>
      %p = math.exp2 %z : vector<128x128xf32>
      %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
      %pa = vector.extract_strided_slice %pt {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]} : vector<128x128xbf16> to vector<128x96xbf16>
      tile.release %s1 : <vector<128x128xf32>>
      tile.acquire %p1_0 : <vector<128x96xbf16>>
      tile.commit %p1_0, %pa : <vector<128x96xbf16>>, vector<128x96xbf16>
      %pb = vector.extract_strided_slice %pt {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]} : vector<128x128xbf16> to vector<128x32xbf16>
      tile.acquire %p1_1 : <vector<128x32xbf16>>
      tile.commit %p1_1, %pb : <vector<128x32xbf16>>, vector<128x32xbf16>
      %l2 = vector.multi_reduction <add>, %p, %l [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2, %l2 : vector<128xf32>, vector<128xf32>
    }
    %t:2 = scf.for %j = %mid to %n step %c1 iter_args(%mf = %r#0, %lf = %r#1) -> (vector<128xf32>, vector<128xf32>) {
      %xf = tile.wait %s1 : <vector<128x128xf32>> -> vector<128x128xf32>
      %m2f = vector.multi_reduction <maxnumf>, %xf, %mf [1] : vector<128x128xf32> to vector<128xf32>
      %df = arith.subf %mf, %m2f : vector<128xf32>
      %af = math.exp2 %df : vector<128xf32>
      tile.acquire %a1 : <vector<128xf32>>
      tile.commit %a1, %af : <vector<128xf32>>, vector<128xf32>
      %mcf = vector.shape_cast %m2f : vector<128xf32> to vector<128x1xf32>
      %mbf = vector.broadcast %mcf : vector<128x1xf32> to vector<128x128xf32>
      %zf = arith.subf %xf, %mbf : vector<128x128xf32>
      %pf = math.exp2 %zf : vector<128x128xf32>
      %ptf = arith.truncf %pf : vector<128x128xf32> to vector<128x128xbf16>
      %paf = vector.extract_strided_slice %ptf {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]} : vector<128x128xbf16> to vector<128x96xbf16>
      tile.release %s1 : <vector<128x128xf32>>
      tile.acquire %p1_0 : <vector<128x96xbf16>>
      tile.commit %p1_0, %paf : <vector<128x96xbf16>>, vector<128x96xbf16>
      %pbf = vector.extract_strided_slice %ptf {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]} : vector<128x128xbf16> to vector<128x32xbf16>
      tile.acquire %p1_1 : <vector<128x32xbf16>>
      tile.commit %p1_1, %pbf : <vector<128x32xbf16>>, vector<128x32xbf16>
      %l2f = vector.multi_reduction <add>, %pf, %lf [1] : vector<128x128xf32> to vector<128xf32>
      scf.yield %m2f, %l2f : vector<128xf32>, vector<128xf32>
    }
    tile.acquire %l1 : <vector<128xf32>>
    tile.commit %l1, %t#1 : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @correction kind(vector) first_warp(8) registers(80) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %sk = memref.dim %k, %c1 : memref<?x?x?x64xbf16>
    %n0 = arith.ceildivsi %sk, %c128 : index
    %n = arith.maxsi %n0, %c1 : index
    scf.for %j = %c0 to %n step %c1 {
      %ta0 = tile.wait %a0 : <vector<128xf32>> -> vector<128xf32>
      %to0 = tile.wait %o0 : <vector<128x64xf32>> -> vector<128x64xf32>
      %os0 = tile.rescale %to0, %ta0 : vector<128x64xf32>, vector<128xf32>
      tile.commit %or0, %os0 : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %a0 : <vector<128xf32>>
      %ta1 = tile.wait %a1 : <vector<128xf32>> -> vector<128xf32>
      %to1 = tile.wait %o1 : <vector<128x64xf32>> -> vector<128x64xf32>
      %os1 = tile.rescale %to1, %ta1 : vector<128x64xf32>, vector<128xf32>
      tile.commit %or1, %os1 : <vector<128x64xf32>>, vector<128x64xf32>
      tile.release %a1 : <vector<128xf32>>
    }
    %tl0 = tile.wait %l0 : <vector<128xf32>> -> vector<128xf32>
    %lc0 = vector.shape_cast %tl0 : vector<128xf32> to vector<128x1xf32>
    %lb0 = vector.broadcast %lc0 : vector<128x1xf32> to vector<128x64xf32>
    %fo0 = tile.wait %o0 : <vector<128x64xf32>> -> vector<128x64xf32>
    %of0 = arith.divf %fo0, %lb0 : vector<128x64xf32>
    %ot0 = arith.truncf %of0 : vector<128x64xf32> to vector<128x64xbf16>
    tile.acquire %out0 : <vector<128x64xbf16>>
    tile.commit %out0, %ot0 : <vector<128x64xbf16>>, vector<128x64xbf16>
    tile.release %l0 : <vector<128xf32>>
    %tl1 = tile.wait %l1 : <vector<128xf32>> -> vector<128xf32>
    %lc1 = vector.shape_cast %tl1 : vector<128xf32> to vector<128x1xf32>
    %lb1 = vector.broadcast %lc1 : vector<128x1xf32> to vector<128x64xf32>
    %fo1 = tile.wait %o1 : <vector<128x64xf32>> -> vector<128x64xf32>
    %of1 = arith.divf %fo1, %lb1 : vector<128x64xf32>
    %ot1 = arith.truncf %of1 : vector<128x64xf32> to vector<128x64xbf16>
    tile.acquire %out1 : <vector<128x64xbf16>>
    tile.commit %out1, %ot1 : <vector<128x64xbf16>>, vector<128x64xbf16>
    tile.release %l1 : <vector<128xf32>>
  }
  tile.role @store kind(issuer) first_warp(14) registers(48) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %qt, %h, %b = tile.work_tile : index, index, index
    %row0 = arith.muli %qt, %c256 : index
    %row1 = arith.addi %row0, %c128 : index
    %t0 = tile.wait %out0 : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %t0, %out[%b, %row0, %h, %c0] dims [1, 3] : vector<128x64xbf16>, memref<?x?x?x64xbf16>
    tile.release %out0 : <vector<128x64xbf16>>
    %t1 = tile.wait %out1 : <vector<128x64xbf16>> -> vector<128x64xbf16>
    tile.store %t1, %out[%b, %row1, %h, %c0] dims [1, 3] : vector<128x64xbf16>, memref<?x?x?x64xbf16>
    tile.release %out1 : <vector<128x64xbf16>>
  }
}
