// RUN: fa4-opt %s --llvm-merge-branches=cache-bytes=0 | FileCheck %s
// RUN: fa4-opt %s --llvm-merge-branches=cache-bytes=1000 | FileCheck %s --check-prefix=FITS
// RUN: fa4-opt %s --llvm-merge-branches | FileCheck %s --check-prefix=FITS

// Little code fits; a kernel of no known chip is left as it is.
// FITS-COUNT-19: llvm.cond_br
// FITS-NOT: llvm.cond_br

// The roles of three query tiles: offsets into shared memory, rows, of which
// those of the first tile begin at 0, and barriers that the roles hand on in a
// circle. Role 2 hands on the first turn, role 0 takes the last one.
// CHECK-LABEL: llvm.func @roles
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[ROLE0:.*]] = llvm.icmp "ult" %[[WARP]]
// CHECK: %[[ROLE1:.*]] = llvm.icmp "ult" %[[WARP]]
// CHECK: %[[ANY1:.*]] = llvm.or %[[ROLE0]], %[[ROLE1]]
// CHECK: %[[ROLE2:.*]] = llvm.icmp "ult" %[[WARP]]
// CHECK: %[[ANY:.*]] = llvm.or %[[ANY1]], %[[ROLE2]]
// CHECK: llvm.cond_br %[[ANY]], ^[[BODY:.*]], ^[[END:.*]]
// CHECK: ^[[BODY]]:
// CHECK: %[[NUMBER1:.*]] = llvm.select %[[ROLE1]], %{{.*}}, %{{.*}}
// CHECK: %[[NUMBER:.*]] = llvm.select %[[ROLE0]], %{{.*}}, %[[NUMBER1]]
// Turns: the barriers 2, 3, 1.
// CHECK-DAG: %[[C8192:.*]] = llvm.mlir.constant(8192 : i32)
// CHECK-DAG: %[[OFFSET:.*]] = llvm.mul %[[NUMBER]], %[[C8192]]
// CHECK-DAG: %[[C64:.*]] = llvm.mlir.constant(64 : i32)
// CHECK-DAG: %[[ROW:.*]] = llvm.mul %[[NUMBER]], %[[C64]]
// CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-DAG: %[[ONCE:.*]] = llvm.mul %[[NUMBER]], %[[C1]]
// CHECK: nvvm.setmaxregister
// Role 2 alone.
// CHECK: %[[IS2:.*]] = llvm.icmp "eq" %[[NUMBER]], %{{.*}}
// CHECK: llvm.cond_br %[[IS2]], ^[[FIRST:.*]], ^[[LOOP:.*]]
// CHECK: ^[[FIRST]]:
// CHECK: nvvm.barrier.arrive
// CHECK: ^{{.*}}(%[[I:.*]]: i32):
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]]
// CHECK: %[[STAGE:.*]] = llvm.getelementptr %[[AT]][1024]
// CHECK: %[[FROM:.*]] = llvm.add %[[I]], %[[ROW]]
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[FULL:.*]] = llvm.add %[[FROM]], %[[ZERO]]
// CHECK: llvm.store %[[FULL]], %[[STAGE]]
// CHECK: %[[TURN:.*]] = llvm.add %[[ONCE]], %{{.*}}
// CHECK: nvvm.barrier id = %[[TURN]]
// CHECK: nvvm.barrier.arrive id = %{{.*}} number_of_threads
// CHECK: llvm.cond_br %{{.*}}, ^{{.*}}, ^{{.*}}
// Role 0 alone.
// CHECK: %[[IS0:.*]] = llvm.icmp "eq" %[[NUMBER]], %{{.*}}
// CHECK: llvm.cond_br %[[IS0]], ^[[LAST:.*]], ^{{.*}}
// CHECK: ^[[LAST]]:
// CHECK: nvvm.barrier id
// CHECK: ^[[END]]:
// CHECK: llvm.return
// CHECK-NOT: nvvm.setmaxregister
llvm.func @roles(%smem: !llvm.ptr<3>, %n: i32, %x: i32) {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c12 = llvm.mlir.constant(12 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %c128 = llvm.mlir.constant(128 : i32) : i32
  %c256 = llvm.mlir.constant(256 : i32) : i32
  %warp = nvvm.shfl.sync idx %all, %x, %c0, %c31 : i32 -> i32
  %is0 = llvm.icmp "ult" %warp, %c4 : i32
  llvm.cond_br %is0, ^role0, ^other0
^role0:
  nvvm.setmaxregister increase 160
  llvm.br ^loop0(%c0 : i32)
^loop0(%i0: i32):
  %p0 = llvm.getelementptr %smem[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  llvm.store %i0, %p0 : i32, !llvm.ptr<3>
  nvvm.barrier id = %c1 number_of_threads = %c256
  nvvm.barrier.arrive id = %c2 number_of_threads = %c256
  %next0 = llvm.add %i0, %c1 : i32
  %again0 = llvm.icmp "ult" %next0, %n : i32
  llvm.cond_br %again0, ^loop0(%next0 : i32), ^behind0
^behind0:
  nvvm.barrier id = %c1 number_of_threads = %c256
  llvm.br ^end0
^other0:
  %is1 = llvm.icmp "ult" %warp, %c8 : i32
  llvm.cond_br %is1, ^role1, ^other1
^role1:
  nvvm.setmaxregister increase 160
  llvm.br ^loop1(%c0 : i32)
^loop1(%i1: i32):
  %p1 = llvm.getelementptr %smem[9216] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %row1 = llvm.add %i1, %c64 : i32
  llvm.store %row1, %p1 : i32, !llvm.ptr<3>
  nvvm.barrier id = %c2 number_of_threads = %c256
  nvvm.barrier.arrive id = %c3 number_of_threads = %c256
  %next1 = llvm.add %i1, %c1 : i32
  %again1 = llvm.icmp "ult" %next1, %n : i32
  llvm.cond_br %again1, ^loop1(%next1 : i32), ^behind1
^behind1:
  llvm.br ^end1
^other1:
  %is2 = llvm.icmp "ult" %warp, %c12 : i32
  llvm.cond_br %is2, ^role2, ^end2
^role2:
  nvvm.setmaxregister increase 160
  nvvm.barrier.arrive id = %c1 number_of_threads = %c256
  llvm.br ^loop2(%c0 : i32)
^loop2(%i2: i32):
  %p2 = llvm.getelementptr %smem[17408] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %row2 = llvm.add %i2, %c128 : i32
  llvm.store %row2, %p2 : i32, !llvm.ptr<3>
  nvvm.barrier id = %c3 number_of_threads = %c256
  nvvm.barrier.arrive id = %c1 number_of_threads = %c256
  %next2 = llvm.add %i2, %c1 : i32
  %again2 = llvm.icmp "ult" %next2, %n : i32
  llvm.cond_br %again2, ^loop2(%next2 : i32), ^behind2
^behind2:
  llvm.br ^end2
^end2:
  llvm.br ^end1
^end1:
  llvm.br ^end0
^end0:
  llvm.return
}

// Threads of a warp may take different branches.
// CHECK-LABEL: llvm.func @of_threads
// CHECK-COUNT-2: llvm.cond_br
llvm.func @of_threads(%smem: !llvm.ptr<3>) {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %is0 = llvm.icmp "eq" %thread, %c0 : i32
  llvm.cond_br %is0, ^a, ^other
^a:
  llvm.store %c0, %smem : i32, !llvm.ptr<3>
  llvm.br ^end
^other:
  %is1 = llvm.icmp "eq" %thread, %c1 : i32
  llvm.cond_br %is1, ^b, ^end
^b:
  llvm.store %c1, %smem : i32, !llvm.ptr<3>
  llvm.br ^end
^end:
  llvm.return
}

// A shuffle within half a warp.
// CHECK-LABEL: llvm.func @of_segments
// CHECK-COUNT-2: llvm.cond_br
llvm.func @of_segments(%smem: !llvm.ptr<3>, %x: i32) {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %segments = llvm.mlir.constant(4127 : i32) : i32
  %half = nvvm.shfl.sync idx %all, %x, %c0, %segments : i32 -> i32
  %is0 = llvm.icmp "eq" %half, %c0 : i32
  llvm.cond_br %is0, ^a, ^other
^a:
  llvm.store %c0, %smem : i32, !llvm.ptr<3>
  llvm.br ^end
^other:
  %is1 = llvm.icmp "eq" %half, %c1 : i32
  llvm.cond_br %is1, ^b, ^end
^b:
  llvm.store %c1, %smem : i32, !llvm.ptr<3>
  llvm.br ^end
^end:
  llvm.return
}

// An operand of assembly must stay a constant; another operation, another
// register budget.
// CHECK-LABEL: llvm.func @not_alike
// CHECK-COUNT-6: llvm.cond_br
llvm.func @not_alike(%smem: !llvm.ptr<3>, %x: i32) {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c3 = llvm.mlir.constant(3 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c5 = llvm.mlir.constant(5 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  %warp = nvvm.shfl.sync idx %all, %x, %c0, %c31 : i32 -> i32
  %is0 = llvm.icmp "eq" %warp, %c0 : i32
  llvm.cond_br %is0, ^a, ^other0
^a:
  llvm.inline_asm has_side_effects "bar.arrive $0, $1;", "n,r" %c1, %x : (i32, i32) -> ()
  llvm.br ^end
^other0:
  %is1 = llvm.icmp "eq" %warp, %c1 : i32
  llvm.cond_br %is1, ^b, ^other1
^b:
  llvm.inline_asm has_side_effects "bar.arrive $0, $1;", "n,r" %c2, %x : (i32, i32) -> ()
  llvm.br ^end
^other1:
  %is2 = llvm.icmp "eq" %warp, %c2 : i32
  llvm.cond_br %is2, ^c, ^other2
^c:
  %sum = llvm.add %x, %warp : i32
  llvm.store %sum, %smem : i32, !llvm.ptr<3>
  llvm.br ^end
^other2:
  %is3 = llvm.icmp "eq" %warp, %c3 : i32
  llvm.cond_br %is3, ^d, ^other3
^d:
  %product = llvm.mul %x, %warp : i32
  llvm.store %product, %smem : i32, !llvm.ptr<3>
  llvm.br ^end
^other3:
  %is4 = llvm.icmp "eq" %warp, %c4 : i32
  llvm.cond_br %is4, ^e, ^other4
^e:
  nvvm.setmaxregister increase 160
  llvm.br ^end
^other4:
  %is5 = llvm.icmp "eq" %warp, %c5 : i32
  llvm.cond_br %is5, ^f, ^end
^f:
  nvvm.setmaxregister increase 168
  llvm.br ^end
^end:
  llvm.return
}

// Those beside each other are one; what is no constant in one of them is not.
// CHECK-LABEL: llvm.func @some
// CHECK: llvm.cond_br %{{.*}}, ^[[LONE:.*]], ^[[OTHER:.*]]
// CHECK: ^[[LONE]]:
// CHECK-NEXT: llvm.store %arg1, %{{.*}} : i64
// CHECK: ^[[OTHER]]:
// CHECK: %[[ANY:.*]] = llvm.or
// CHECK: llvm.cond_br %[[ANY]], ^[[BOTH:.*]], ^[[END:.*]]
// CHECK: ^[[BOTH]]:
// CHECK: %[[NUMBER:.*]] = llvm.select
// CHECK: %[[WIDE:.*]] = llvm.zext %[[NUMBER]] : i32 to i64
// CHECK: %[[C5:.*]] = llvm.mlir.constant(5 : i64)
// CHECK: %[[SCALED:.*]] = llvm.mul %[[WIDE]], %[[C5]]
// CHECK: %[[C2:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: %[[VALUE:.*]] = llvm.add %[[SCALED]], %[[C2]]
// CHECK: llvm.store %[[VALUE]]
// CHECK-NEXT: llvm.br ^[[END]]
llvm.func @some(%smem: !llvm.ptr<3>, %y: i64, %x: i32) {
  %all = llvm.mlir.constant(-1 : i32) : i32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c2 = llvm.mlir.constant(2 : i32) : i32
  %c31 = llvm.mlir.constant(31 : i32) : i32
  %two = llvm.mlir.constant(2 : i64) : i64
  %seven = llvm.mlir.constant(7 : i64) : i64
  %warp = nvvm.shfl.sync idx %all, %x, %c0, %c31 : i32 -> i32
  %is0 = llvm.icmp "eq" %warp, %c0 : i32
  llvm.cond_br %is0, ^a, ^other0
^a:
  llvm.store %y, %smem : i64, !llvm.ptr<3>
  llvm.br ^end
^other0:
  %is1 = llvm.icmp "eq" %warp, %c1 : i32
  llvm.cond_br %is1, ^b, ^other1
^b:
  llvm.store %two, %smem : i64, !llvm.ptr<3>
  llvm.br ^end
^other1:
  %is2 = llvm.icmp "eq" %warp, %c2 : i32
  llvm.cond_br %is2, ^c, ^end
^c:
  llvm.store %seven, %smem : i64, !llvm.ptr<3>
  llvm.br ^end
^end:
  llvm.return
}
