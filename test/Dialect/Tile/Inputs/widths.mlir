// Two roles that each make one pass of a loop for each value. Tests choose the
// loop of either role, by its tag; what it makes passes of is computed from the
// size N and the scalars. Channel operations are in the loop's body.
tile.kernel @widths(
    %x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
    %free: index {tile.name = "free"}, %wide: i32 {tile.name = "wide"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(2) : <vector<64x64xbf16>>
  tile.role @producer kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    //+producer-size: scf.for %i = %c0 to %n step %c1 {
    //+producer-i8: %m8 = arith.index_cast %n : index to i8
    //+producer-i8: %m = arith.index_cast %m8 : i8 to index
    //+producer-i8: scf.for %i = %c0 to %m step %c1 {
    //+producer-i16: %m16 = arith.index_cast %n : index to i16
    //+producer-i16: %m = arith.index_cast %m16 : i16 to index
    //+producer-i16: scf.for %i = %c0 to %m step %c1 {
    //+producer-u8: %m8 = arith.index_cast %n : index to i8
    //+producer-u8: %m = arith.index_castui %m8 : i8 to index
    //+producer-u8: scf.for %i = %c0 to %m step %c1 {
    //+producer-s8-i32: %m8 = arith.index_cast %n : index to i8
    //+producer-s8-i32: %m32 = arith.extsi %m8 : i8 to i32
    //+producer-s8-i32: %m = arith.index_cast %m32 : i32 to index
    //+producer-s8-i32: scf.for %i = %c0 to %m step %c1 {
    //+producer-u8-i32: %m8 = arith.index_cast %n : index to i8
    //+producer-u8-i32: %m32 = arith.extui %m8 : i8 to i32
    //+producer-u8-i32: %m = arith.index_cast %m32 : i32 to index
    //+producer-u8-i32: scf.for %i = %c0 to %m step %c1 {
    //+producer-sum32: %m32 = arith.addi %wide, %wide : i32
    //+producer-sum32: %z = arith.constant 0 : i32
    //+producer-sum32: %o = arith.constant 1 : i32
    //+producer-sum32: scf.for %i = %z to %m32 step %o : i32 {
    //+producer-sum64: %w = arith.extsi %wide : i32 to i64
    //+producer-sum64: %m64 = arith.addi %w, %w : i64
    //+producer-sum64: %z = arith.constant 0 : i64
    //+producer-sum64: %o = arith.constant 1 : i64
    //+producer-sum64: scf.for %i = %z to %m64 step %o : i64 {
    //+producer-shift: %c2 = arith.constant 2 : index
    //+producer-shift: %m = arith.shli %n, %c2 : index
    //+producer-shift: scf.for %i = %c0 to %m step %c1 {
    //+producer-times4-i64: %n64 = arith.index_cast %n : index to i64
    //+producer-times4-i64: %k = arith.constant 4 : i64
    //+producer-times4-i64: %m64 = arith.muli %n64, %k : i64
    //+producer-times4-i64: %z = arith.constant 0 : i64
    //+producer-times4-i64: %o = arith.constant 1 : i64
    //+producer-times4-i64: scf.for %i = %z to %m64 step %o : i64 {
    //+producer-times4: %c4 = arith.constant 4 : index
    //+producer-times4: %m = arith.muli %n, %c4 : index
    //+producer-times4: scf.for %i = %c0 to %m step %c1 {
    //+producer-divs: %c3 = arith.constant 3 : index
    //+producer-divs: %m = arith.divsi %free, %c3 : index
    //+producer-divs: scf.for %i = %c0 to %m step %c1 {
    //+producer-divu: %c3 = arith.constant 3 : index
    //+producer-divu: %m = arith.divui %free, %c3 : index
    //+producer-divu: scf.for %i = %c0 to %m step %c1 {
    //+producer-shrs: %c3 = arith.constant 28 : index
    //+producer-shrs: %m = arith.shrsi %free, %c3 : index
    //+producer-shrs: scf.for %i = %c0 to %m step %c1 {
    //+producer-shru: %c3 = arith.constant 28 : index
    //+producer-shru: %m = arith.shrui %free, %c3 : index
    //+producer-shru: scf.for %i = %c0 to %m step %c1 {
    //+producer-if-slt: %c4 = arith.constant 4 : index
    //+producer-if-slt: %if = arith.cmpi slt, %free, %c4 : index
    //+producer-if-slt: scf.if %if {
    //+producer-if-ult: %c4 = arith.constant 4 : index
    //+producer-if-ult: %if = arith.cmpi ult, %free, %c4 : index
    //+producer-if-ult: scf.if %if {
    //+producer-for-signed: %c4 = arith.constant 4 : index
    //+producer-for-signed: scf.for %i = %free to %c4 step %c1 {
    //+producer-for-unsigned: %c4 = arith.constant 4 : index
    //+producer-for-unsigned: scf.for unsigned %i = %free to %c4 step %c1 {
    //+producer-index-sum: %c2 = arith.constant 2 : index
    //+producer-index-sum: %m = index.add %free, %c2
    //+producer-index-sum: scf.for %i = %c0 to %m step %c1 {
    //+producer-arith-sum: %c2 = arith.constant 2 : index
    //+producer-arith-sum: %m = arith.addi %free, %c2 overflow<nsw> : index
    //+producer-arith-sum: scf.for %i = %c0 to %m step %c1 {
    //+producer-while: %m = scf.while (%j = %c0) : (index) -> index {
    //+producer-while:   %go = arith.cmpi slt, %j, %n : index
    //+producer-while:   scf.condition(%go) %j : index
    //+producer-while: } do {
    //+producer-while: ^bb0(%j: index):
    //+producer-while:   %next = arith.addi %j, %c1 : index
    //+producer-while:   scf.yield %next : index
    //+producer-while: }
    //+producer-while: scf.for %i = %c0 to %m step %c1 {
    //+producer-free-step: scf.for %i = %c0 to %n step %free {
    //+producer-positive-step: %s = arith.maxsi %free, %c1 : index
    //+producer-positive-step: %by = arith.minsi %s, %n : index
    //+producer-positive-step: %step = arith.maxsi %by, %c1 : index
    //+producer-positive-step: scf.for %i = %c0 to %n step %step {
      tile.acquire %a : <vector<64x64xbf16>>
      %t = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
      tile.commit %a, %t : <vector<64x64xbf16>>, vector<64x64xbf16>
    }
  }
  tile.role @consumer kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    //+consumer-size: scf.for %i = %c0 to %n step %c1 {
    //+consumer-i8: %m8 = arith.index_cast %n : index to i8
    //+consumer-i8: %m = arith.index_cast %m8 : i8 to index
    //+consumer-i8: scf.for %i = %c0 to %m step %c1 {
    //+consumer-i16: %m16 = arith.index_cast %n : index to i16
    //+consumer-i16: %m = arith.index_cast %m16 : i16 to index
    //+consumer-i16: scf.for %i = %c0 to %m step %c1 {
    //+consumer-u8: %m8 = arith.index_cast %n : index to i8
    //+consumer-u8: %m = arith.index_castui %m8 : i8 to index
    //+consumer-u8: scf.for %i = %c0 to %m step %c1 {
    //+consumer-s8-i32: %m8 = arith.index_cast %n : index to i8
    //+consumer-s8-i32: %m32 = arith.extsi %m8 : i8 to i32
    //+consumer-s8-i32: %m = arith.index_cast %m32 : i32 to index
    //+consumer-s8-i32: scf.for %i = %c0 to %m step %c1 {
    //+consumer-u8-i32: %m8 = arith.index_cast %n : index to i8
    //+consumer-u8-i32: %m32 = arith.extui %m8 : i8 to i32
    //+consumer-u8-i32: %m = arith.index_cast %m32 : i32 to index
    //+consumer-u8-i32: scf.for %i = %c0 to %m step %c1 {
    //+consumer-sum32: %m32 = arith.addi %wide, %wide : i32
    //+consumer-sum32: %z = arith.constant 0 : i32
    //+consumer-sum32: %o = arith.constant 1 : i32
    //+consumer-sum32: scf.for %i = %z to %m32 step %o : i32 {
    //+consumer-sum64: %w = arith.extsi %wide : i32 to i64
    //+consumer-sum64: %m64 = arith.addi %w, %w : i64
    //+consumer-sum64: %z = arith.constant 0 : i64
    //+consumer-sum64: %o = arith.constant 1 : i64
    //+consumer-sum64: scf.for %i = %z to %m64 step %o : i64 {
    //+consumer-shift: %c2 = arith.constant 2 : index
    //+consumer-shift: %m = arith.shli %n, %c2 : index
    //+consumer-shift: scf.for %i = %c0 to %m step %c1 {
    //+consumer-times4-i64: %n64 = arith.index_cast %n : index to i64
    //+consumer-times4-i64: %k = arith.constant 4 : i64
    //+consumer-times4-i64: %m64 = arith.muli %n64, %k : i64
    //+consumer-times4-i64: %z = arith.constant 0 : i64
    //+consumer-times4-i64: %o = arith.constant 1 : i64
    //+consumer-times4-i64: scf.for %i = %z to %m64 step %o : i64 {
    //+consumer-times4: %c4 = arith.constant 4 : index
    //+consumer-times4: %m = arith.muli %n, %c4 : index
    //+consumer-times4: scf.for %i = %c0 to %m step %c1 {
    //+consumer-divs: %c3 = arith.constant 3 : index
    //+consumer-divs: %m = arith.divsi %free, %c3 : index
    //+consumer-divs: scf.for %i = %c0 to %m step %c1 {
    //+consumer-divu: %c3 = arith.constant 3 : index
    //+consumer-divu: %m = arith.divui %free, %c3 : index
    //+consumer-divu: scf.for %i = %c0 to %m step %c1 {
    //+consumer-shrs: %c3 = arith.constant 28 : index
    //+consumer-shrs: %m = arith.shrsi %free, %c3 : index
    //+consumer-shrs: scf.for %i = %c0 to %m step %c1 {
    //+consumer-shru: %c3 = arith.constant 28 : index
    //+consumer-shru: %m = arith.shrui %free, %c3 : index
    //+consumer-shru: scf.for %i = %c0 to %m step %c1 {
    //+consumer-if-slt: %c4 = arith.constant 4 : index
    //+consumer-if-slt: %if = arith.cmpi slt, %free, %c4 : index
    //+consumer-if-slt: scf.if %if {
    //+consumer-if-ult: %c4 = arith.constant 4 : index
    //+consumer-if-ult: %if = arith.cmpi ult, %free, %c4 : index
    //+consumer-if-ult: scf.if %if {
    //+consumer-for-signed: %c4 = arith.constant 4 : index
    //+consumer-for-signed: scf.for %i = %free to %c4 step %c1 {
    //+consumer-for-unsigned: %c4 = arith.constant 4 : index
    //+consumer-for-unsigned: scf.for unsigned %i = %free to %c4 step %c1 {
    //+consumer-index-sum: %c2 = arith.constant 2 : index
    //+consumer-index-sum: %m = index.add %free, %c2
    //+consumer-index-sum: scf.for %i = %c0 to %m step %c1 {
    //+consumer-arith-sum: %c2 = arith.constant 2 : index
    //+consumer-arith-sum: %m = arith.addi %free, %c2 overflow<nsw> : index
    //+consumer-arith-sum: scf.for %i = %c0 to %m step %c1 {
    //+consumer-while: %m = scf.while (%j = %c0) : (index) -> index {
    //+consumer-while:   %go = arith.cmpi slt, %j, %n : index
    //+consumer-while:   scf.condition(%go) %j : index
    //+consumer-while: } do {
    //+consumer-while: ^bb0(%j: index):
    //+consumer-while:   %next = arith.addi %j, %c1 : index
    //+consumer-while:   scf.yield %next : index
    //+consumer-while: }
    //+consumer-while: scf.for %i = %c0 to %m step %c1 {
    //+consumer-free-step: scf.for %i = %c0 to %n step %free {
    //+consumer-positive-step: %s = arith.maxsi %free, %c1 : index
    //+consumer-positive-step: %by = arith.minsi %s, %n : index
    //+consumer-positive-step: %step = arith.maxsi %by, %c1 : index
    //+consumer-positive-step: scf.for %i = %c0 to %n step %step {
      %t = tile.wait %a : <vector<64x64xbf16>> -> vector<64x64xbf16>
      tile.store %t, %x[%c0, %c0] : vector<64x64xbf16>, memref<?x64xbf16>
      tile.release %a : <vector<64x64xbf16>>
    }
  }
}
