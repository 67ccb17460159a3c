// The arithmetic of one lane becomes the instructions that the kernels count
// on: packed f32 pairs, approximate exponentials, and a polynomial. An
// instruction that is not packed would cost a second issue slot for each pair
// of columns.
//
// RUN: fa4-opt %s --lane-math-to-llvm | FileCheck %s --dump-input=never
// RUN: fa4-opt %s --lane-math-to-llvm --convert-vector-to-llvm --convert-arith-to-llvm --convert-func-to-llvm --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | llc -march=nvptx64 -mcpu=sm_100a -mattr=+ptx86 | FileCheck %s --dump-input=never --check-prefix=PTX

// CHECK-LABEL: @exp2
// CHECK: llvm.intr.exp2(%{{.*}}) : (vector<2xf32>) -> vector<2xf32>
// PTX-LABEL: .func {{.*}} exp2(
// PTX-COUNT-2: ex2.approx.f32
func.func @exp2(%x: vector<2xf32>) -> vector<2xf32> {
  %y = math.exp2 %x : vector<2xf32>
  return %y : vector<2xf32>
}

// Of narrow types: that of f32, rounded.
// CHECK-LABEL: @narrow
// CHECK: llvm.fpext %{{.*}} : bf16 to f32
// CHECK: llvm.intr.exp2(%{{.*}}) : (f32) -> f32
// CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
func.func @narrow(%x: bf16) -> bf16 {
  %y = math.exp2 %x : bf16
  return %y : bf16
}

// CHECK-LABEL: @functions
func.func @functions(%x: f32) -> (f32, f32, f32, f32, f32, f32) {
  // log2(e)
  // CHECK: %[[LOG2E:.*]] = llvm.mlir.constant(1.44269502 : f32)
  // CHECK: %[[T:.*]] = llvm.fmul %{{.*}}, %[[LOG2E]]
  // CHECK: llvm.intr.exp2(%[[T]])
  %a = math.exp %x : f32
  // CHECK: "llvm.nvvm.lg2.approx.ftz.f"
  %b = math.log2 %x : f32
  // CHECK: "llvm.nvvm.lg2.approx.ftz.f"
  // CHECK: llvm.fmul
  %c = math.log %x : f32
  // 1 - 2 / (e^2x + 1)
  // CHECK: %[[E:.*]] = llvm.intr.exp2
  // CHECK: %[[SUM:.*]] = llvm.fadd %[[E]], %{{.*}}
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[SUM]])
  // CHECK: %[[M2:.*]] = llvm.mlir.constant(-2.000000e+00 : f32)
  // CHECK: llvm.intr.fma(%[[R]], %[[M2]], %{{.*}})
  %d = math.tanh %x : f32
  // CHECK: "llvm.nvvm.sqrt.approx.ftz.f"
  %e = math.sqrt %x : f32
  // CHECK: "llvm.nvvm.rsqrt.approx.ftz.f"
  %f = math.rsqrt %x : f32
  return %a, %b, %c, %d, %e, %f : f32, f32, f32, f32, f32, f32
}

// The flag allows the instruction, whose error is larger.
// CHECK-LABEL: @approximate_tanh
func.func @approximate_tanh(%x: vector<2xf32>) -> vector<2xf32> {
  // CHECK-NOT: exp2
  // CHECK-COUNT-2: llvm.inline_asm "tanh.approx.f32 $0, $1;", "=f,f" %{{.*}} : (f32) -> f32
  %y = math.tanh %x fastmath<afn> : vector<2xf32>
  return %y : vector<2xf32>
}

// CHECK-LABEL: @divide
func.func @divide(%x: f32, %y: f32, %h: f16) -> (f32, f32, f16) {
  // CHECK: "llvm.nvvm.rcp.approx.ftz.f"(%arg0)
  %one = arith.constant 1.0 : f32
  %a = arith.divf %one, %x : f32
  // CHECK: "llvm.nvvm.div.approx.ftz.f"(%arg0, %arg1)
  %b = arith.divf %x, %y : f32
  // CHECK: arith.divf %arg2, %arg2 : f16
  %c = arith.divf %h, %h : f16
  return %a, %b, %c : f32, f32, f16
}

// CHECK-LABEL: @direct
func.func @direct(%x: vector<2xf32>, %h: vector<2xbf16>) -> (vector<2xf32>, vector<2xbf16>) {
  // CHECK: llvm.intr.fma(%arg0, %arg0, %arg0) : (vector<2xf32>
  %a = math.fma %x, %x, %x : vector<2xf32>
  // CHECK: llvm.intr.fabs
  %b = math.absf %a : vector<2xf32>
  // CHECK: llvm.intr.floor
  %c = math.floor %b : vector<2xf32>
  // CHECK: llvm.intr.fma(%arg1
  %d = math.fma %h, %h, %h : vector<2xbf16>
  return %c, %d : vector<2xf32>, vector<2xbf16>
}

// The polynomial of a pair: everything packed but clamp and exponent.
// CHECK-LABEL: @polynomial
// CHECK: %[[CLAMPED:.*]] = llvm.intr.maximum(%arg0
// CHECK: %[[SHIFTER:.*]] = llvm.mlir.constant(dense<0x4B400000> : vector<2xf32>)
// CHECK: %[[SHIFTED:.*]] = llvm.inline_asm "add.rm.ftz.f32x2 $0, $1, $2;", "=l,l,l" %[[CLAMPED]], %[[SHIFTER]]
// CHECK: %[[FLOOR:.*]] = llvm.fsub %[[SHIFTED]], %[[SHIFTER]]
// CHECK: %[[F:.*]] = llvm.fsub %[[CLAMPED]], %[[FLOOR]]
// CHECK: llvm.intr.fma(%{{.*}}, %[[F]], %{{.*}})
// CHECK: llvm.intr.fma(%{{.*}}, %[[F]], %{{.*}})
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(dense<1.000000e+00>
// CHECK: %[[SUM:.*]] = llvm.intr.fma(%{{.*}}, %[[F]], %[[ONE]])
// CHECK: llvm.shl
// CHECK: llvm.add
// PTX-LABEL: .func {{.*}} polynomial(
// PTX-COUNT-2: max.NaN.f32
// PTX: add.rm.ftz.f32x2
// PTX-COUNT-2: sub.rn.f32x2
// PTX-COUNT-3: fma.rn.f32x2
// PTX-COUNT-2: shl.b32 {{.*}}, 23
// PTX-COUNT-2: add.s32
func.func @polynomial(%x: vector<2xf32>) -> vector<2xf32> {
  %y = tile.exp2 %x polynomial [0.695, 0.228, 0.077] pairs [0] : vector<2xf32>
  return %y : vector<2xf32>
}

// PTX's shifts take any amount, so that no comparison remains. LLVM alone keeps
// one where the amount is a maximum with 0.
// CHECK-LABEL: @full_shifts
// CHECK: llvm.inline_asm "shr.u32 $0, $1, $2;", "=r,r,r"
// CHECK: llvm.inline_asm "shl.b32 $0, $1, $2;", "=r,r,r"
// PTX-LABEL: .func {{.*}} full_shifts(
// PTX-NOT: setp
// PTX: max.s32
// PTX-NOT: setp
// PTX: shr.u32
// PTX-NOT: setp
// PTX: shl.b32
// PTX-NOT: setp
// PTX: ret
func.func @full_shifts(%x: i32, %n: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %width = arith.constant 32 : i32
  %amount = arith.maxsi %n, %zero : i32
  %in_range = arith.cmpi ult, %amount, %width : i32
  %right = arith.shrui %x, %amount : i32
  %r = arith.select %in_range, %right, %zero : i32
  %left = arith.shli %x, %amount : i32
  %l = arith.select %in_range, %left, %zero : i32
  return %r, %l : i32, i32
}

// A limit that is not the width, and another amount, are other functions.
// CHECK-LABEL: @other_shifts
// CHECK-NOT: inline_asm
// CHECK: return
func.func @other_shifts(%x: i32, %n: i32, %m: i32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %less = arith.constant 31 : i32
  %width = arith.constant 32 : i32
  %first = arith.cmpi ult, %n, %less : i32
  %second = arith.cmpi ult, %m, %width : i32
  %shifted = arith.shrui %x, %n : i32
  %a = arith.select %first, %shifted, %zero : i32
  %b = arith.select %second, %shifted, %zero : i32
  return %a, %b : i32, i32
}

// CHECK-LABEL: @bit
// CHECK: llvm.inline_asm "{ .reg .pred p; .reg .b32 t; and.b32 t, $3, $4; setp.ne.b32 p, t, 0; selp.f32 $0, $1, $2, p; }", "=f,f,f,r,n"
// PTX-LABEL: .func {{.*}} bit(
// PTX: and.b32 t, %r{{[0-9]+}}, -2147483648; setp.ne.b32 p, t, 0; selp.f32
func.func @bit(%word: i32, %x: f32, %y: f32) -> f32 {
  %bit = arith.constant -2147483648 : i32
  %zero = arith.constant 0 : i32
  %both = arith.andi %word, %bit : i32
  %set = arith.cmpi ne, %both, %zero : i32
  %z = arith.select %set, %x, %y : f32
  return %z : f32
}

// CHECK-LABEL: @not_a_bit
// CHECK: arith.select
func.func @not_a_bit(%word: i32, %x: f32, %y: f32) -> f32 {
  %bits = arith.constant 6 : i32
  %zero = arith.constant 0 : i32
  %both = arith.andi %word, %bits : i32
  %set = arith.cmpi ne, %both, %zero : i32
  %z = arith.select %set, %x, %y : f32
  return %z : f32
}
