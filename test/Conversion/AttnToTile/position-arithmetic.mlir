// Positions are never negative and are bounded, so that integers computed from them have ranges.
// attn-to-tile makes unsigned divisions of floor divisions, which take three times the instructions:
// as a mask is computed for each score, a signed one would cost more than the softmax.
//
// RUN: fa4-opt %s --attn-to-tile --canonicalize --cse --split-input-file | FileCheck %s --dump-input=never

!t = tensor<1x2x256x64xbf16>

// A remainder as Python has it, of a position: no negative number occurs.
// CHECK-LABEL: tile.kernel @positive_kernel
// CHECK-NOT: floordivsi
// CHECK: %[[REM:.*]] = arith.remui %{{.*}}, %{{.*}} : vector<{{.*}}xindex>
// CHECK-NOT: arith.muli %[[REM]]
// CHECK: arith.cmpi ne, {{.*}} : vector<{{.*}}xindex>
func.func @positive(%q: !t, %k: !t, %v: !t) -> !t {
  %out = attn.sdpa %q, %k, %v layout<bhsd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 3 : index
      %zero = arith.constant 0 : index
      %sum = arith.addi %i, %j : index
      %quotient = arith.floordivsi %sum, %n : index
      %product = arith.muli %quotient, %n : index
      %remainder = arith.subi %sum, %product : index
      %keep = arith.cmpi ne, %remainder, %zero : index
      attn.yield %keep : i1
    }
  return %out : !t
}

// -----

!t = tensor<1x2x256x64xbf16>

// A difference of positions is at least -(2^29 + 1024), so that 7 * 76695991 = 536871937 more is not
// negative: the quotient is that of the sum less 76695991, the remainder that of the sum.
// CHECK-LABEL: tile.kernel @negative_kernel
// CHECK-DAG: %[[SHIFT:.*]] = arith.constant dense<536871937> : vector<{{.*}}xindex>
// CHECK-DAG: %[[BACK:.*]] = arith.constant dense<-76695991> : vector<{{.*}}xindex>
// CHECK-NOT: floordivsi
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[SHIFT]]
// CHECK: %[[QUOTIENT:.*]] = arith.divui %[[SUM]], %{{.*}}
// CHECK: arith.addi %[[QUOTIENT]], %[[BACK]]
// CHECK: arith.remui %[[SUM]], %{{.*}}
func.func @negative(%q: !t, %k: !t, %v: !t) -> !t {
  %out = attn.sdpa %q, %k, %v layout<bhsd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 7 : index
      %difference = arith.subi %i, %j : index
      %quotient = arith.floordivsi %difference, %n : index
      %product = arith.muli %n, %quotient : index
      %remainder = arith.subi %difference, %product : index
      %keep = arith.cmpi ne, %remainder, %quotient : index
      attn.yield %keep : i1
    }
  return %out : !t
}

// -----

!t = tensor<1x2x256x64xbf16>

// By a power of two, the bits of two's complement serve for negative numbers, too.
// CHECK-LABEL: tile.kernel @power_kernel
// CHECK-DAG: %[[BITS:.*]] = arith.constant dense<4> : vector<{{.*}}xindex>
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<15> : vector<{{.*}}xindex>
// CHECK-NOT: {{floordivsi|muli .*vector}}
// CHECK-DAG: arith.shrsi %[[D:.*]], %[[BITS]]
// CHECK-DAG: arith.andi %{{.*}}, %[[MASK]]
func.func @power(%q: !t, %k: !t, %v: !t) -> !t {
  %out = attn.sdpa %q, %k, %v layout<bhsd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %n = arith.constant 16 : index
      %difference = arith.subi %i, %j : index
      %quotient = arith.floordivsi %difference, %n : index
      %product = arith.muli %n, %quotient : index
      %remainder = arith.subi %difference, %product : index
      %keep = arith.cmpi ne, %remainder, %quotient : index
      attn.yield %keep : i1
    }
  return %out : !t
}

// -----

!t = tensor<1x2x256x64xbf16>

// Truncating divisions and remainders of what is not negative are unsigned, and what the ranges
// decide is no comparison. A number of any size (a capture) is divided as it was written.
// CHECK-LABEL: tile.kernel @others_kernel
// CHECK-NOT: {{arith.divsi|cmpi slt}}
// CHECK-DAG: arith.divui {{.*}}vector
// CHECK-DAG: arith.remui {{.*}}vector
// CHECK-DAG: arith.floordivsi %{{.*}}, %{{.*}} : i32
func.func @others(%q: !t, %k: !t, %v: !t, %c: i32) -> !t {
  %out = attn.sdpa %q, %k, %v layout<bhsd> captures(%c : i32) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %any: i32) {
      %n = arith.constant 24 : index
      %n32 = arith.constant 24 : i32
      %zero = arith.constant 0 : index
      %x = arith.divsi %i, %n : index
      %y = arith.remsi %j, %n : index
      %z = arith.floordivsi %any, %n32 : i32
      %w = arith.index_cast %z : i32 to index
      %never = arith.cmpi slt, %y, %zero : index
      %less = arith.cmpi ule, %x, %y : index
      %some = arith.cmpi ne, %w, %y : index
      %both = arith.andi %less, %some : i1
      %keep = arith.ori %both, %never : i1
      attn.yield %keep : i1
    }
  return %out : !t
}
