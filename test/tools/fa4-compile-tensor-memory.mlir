// Loads and stores of tensor memory reach the back end with an operand for each
// register, because it takes long to take vectors of up to 128 elements apart.
// What is built of loaded registers must stay behind the wait for them.
//
// RUN: fa4-compile %s -o - --verify-ptx=false | FileCheck %s
// RUN: fa4-compile %s -o - --verify-ptx=false --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: fa4-compile %s -o - --verify-ptx=false --llvm-opt-level=3 | FileCheck %s

module @kernels {

// Elements as numbers, whole vectors in an addition, and a part of a vector.
// CHECK-LABEL: .entry uses(
// CHECK: tcgen05.ld.sync.aligned.32x32b.x4.b32 {[[A:%r[0-9]+]], [[B:%r[0-9]+]], [[C:%r[0-9]+]], [[D:%r[0-9]+]]}, [%r{{[0-9]+}}];
// CHECK-NOT: mov.
// CHECK: tcgen05.wait::ld
// CHECK-DAG: mov.b64 [[PAIR:%rd[0-9]+]], {[[C]], [[D]]};
// CHECK-DAG: add.rn{{.*}}f32x2 {{.*}}[[PAIR]]
// CHECK-DAG: add.s32 {{.*}}[[A]]
// CHECK: tcgen05.st.sync.aligned.32x32b.x4.b32 [%r{{[0-9]+}}], {
//
// LLVM-NOT: @llvm.nvvm.tcgen05.ld.32x32b.x4
// LLVM-LABEL: define ptx_kernel void @uses(
// LLVM: call { i32, i32, i32, i32 } asm sideeffect "tcgen05.ld.sync.aligned.32x32b.x4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}"(i32 %{{.*}}) #[[CONVERGENT:[0-9]+]]
// LLVM: call void asm sideeffect "tcgen05.st.sync.aligned.32x32b.x4.b32 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %{{.*}}) #[[CONVERGENT]]
llvm.func @uses(%address: i32, %p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %ones = llvm.mlir.constant(dense<1> : vector<4xi32>) : vector<4xi32>
  %poison = llvm.mlir.poison : vector<4xf32>
  %t = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %words = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  %floats = llvm.bitcast %words : vector<4xi32> to vector<4xf32>
  nvvm.tcgen05.wait <load>
  %pair = llvm.shufflevector %floats, %poison [2, 3] : vector<4xf32>
  %sum = llvm.fadd %pair, %pair : vector<2xf32>
  llvm.store %sum, %p : vector<2xf32>, !llvm.ptr<1>
  %first = llvm.extractelement %words[%zero : i32] : vector<4xi32>
  %more = llvm.add %first, %address : i32
  llvm.store %more, %p : i32, !llvm.ptr<1>
  %all = llvm.add %words, %ones : vector<4xi32>
  nvvm.tcgen05.st %t, %all {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  nvvm.tcgen05.wait <store>
  llvm.return
}

// A vector that comes from one of two blocks, and twice the same operand.
// CHECK-LABEL: .entry merged(
// CHECK: tcgen05.ld.sync.aligned.32x32b.x8.b32
// CHECK: tcgen05.wait::ld
// CHECK: tcgen05.st.sync.aligned.32x32b.x16.b32
llvm.func @merged(%address: i32, %take: i1) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %zeros = llvm.mlir.constant(dense<0> : vector<8xi32>) : vector<8xi32>
  %t = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  llvm.cond_br %take, ^load, ^store(%zeros : vector<8xi32>)
^load:
  %words = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
  nvvm.tcgen05.wait <load>
  llvm.br ^store(%words : vector<8xi32>)
^store(%merged: vector<8xi32>):
  %twice = llvm.shufflevector %merged, %merged [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<8xi32>
  nvvm.tcgen05.st %t, %twice {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<16xi32>
  nvvm.tcgen05.wait <store>
  llvm.return
}

// Two halves a register are left to LLVM, and so are one and two registers.
// CHECK-LABEL: .entry left(
// CHECK-NOT: inline asm
// CHECK: tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32
// CHECK: tcgen05.ld.sync.aligned.32x32b.x1.b32
// CHECK: tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32
// CHECK: tcgen05.st.sync.aligned.32x32b.x1.b32
llvm.func @left(%address: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %t = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %words = nvvm.tcgen05.ld %t pack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  %word = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32
  nvvm.tcgen05.wait <load>
  nvvm.tcgen05.st %t, %words unpack {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  nvvm.tcgen05.st %t, %word {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32
  nvvm.tcgen05.wait <store>
  llvm.return
}

}
