// Where a mask_mod implies a band of keys without being one, canonicalisation
// narrows the mask attribute to this band, and the mask_mod stays.
//
// RUN: fa4-opt %s -canonicalize -split-input-file | FileCheck %s
// RUN: fa4-opt %s -canonicalize -split-input-file -o %t
// RUN: fa4-opt %t -canonicalize -split-input-file | diff %t -

!t = tensor<1x?x1x16xf16>

// Keys of the same document of 256 are at most 255 away.
// CHECK-LABEL: func @documents
// CHECK: attn.sdpa {{.*}} mask<window, left = 255, right = 255, top_left>
// CHECK: arith.cmpi eq
func.func @documents(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c256 = arith.constant 256 : index
      %ib = arith.floordivsi %i, %c256 : index
      %jb = arith.floordivsi %j, %c256 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @documents_by_shift
// CHECK: mask<window, left = 63, right = 63, top_left>
// CHECK: arith.shrui
func.func @documents_by_shift(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c6 = arith.constant 6 : i32
      %ii = arith.index_cast %i : index to i32
      %jj = arith.index_cast %j : index to i32
      %ib = arith.shrsi %ii, %c6 : i32
      %jb = arith.shrui %jj, %c6 : i32
      %r = arith.cmpi eq, %ib, %jb : i32
      attn.yield %r : i1
    }
  return %o : !t
}

// A key within the same document and before the query: the causal mask leaves
// the region, the document stays.
// CHECK-LABEL: func @causal_documents
// CHECK: mask<causal, left = 99, top_left>
// CHECK: %[[SAME:.*]] = arith.cmpi eq
// CHECK: attn.yield %[[SAME]]
func.func @causal_documents(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c100 = arith.constant 100 : index
      %ib = arith.divsi %i, %c100 : index
      %jb = arith.divsi %j, %c100 : index
      %same = arith.cmpi eq, %ib, %jb : index
      %past = arith.cmpi sle, %j, %i : index
      %r = arith.andi %same, %past : i1
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @causal_in_blocks
// CHECK: mask<window, right = 63, top_left>
// CHECK: arith.cmpi uge
func.func @causal_in_blocks(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %ib = arith.divui %i, %c64 : index
      %jb = arith.divui %j, %c64 : index
      %r = arith.cmpi uge, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// From two blocks before that of the query, which are at most 3 * 64 - 1 keys
// away, to one behind it.
// CHECK-LABEL: func @window_of_blocks
// CHECK: mask<window, left = 191, right = 127, top_left>
func.func @window_of_blocks(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %c2 = arith.constant 2 : index
      %ib = arith.floordivsi %i, %c64 : index
      %jb = arith.floordivsi %j, %c64 : index
      %d = arith.subi %ib, %jb : index
      %zero = arith.constant 0 : index
      %n = arith.subi %zero, %d : index
      %a = arith.maxsi %d, %n : index
      %past = arith.cmpi sle, %d, %c2 : index
      %near = arith.cmpi slt, %a, %c2 : index
      %future = arith.cmpi slt, %ib, %jb : index
      %x = arith.select %future, %near, %past : i1
      attn.yield %x : i1
    }
  return %o : !t
}

// From the start of a query's block on: i - i % 64 <= j.
// CHECK-LABEL: func @from_start_of_block
// CHECK: mask<window, left = 63, top_left>
func.func @from_start_of_block(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %ib = arith.floordivsi %i, %c64 : index
      %start = arith.muli %ib, %c64 : index
      %r = arith.cmpi sle, %start, %j : index
      attn.yield %r : i1
    }
  return %o : !t
}

// An alternative of bands is in the smallest band that holds both.
// CHECK-LABEL: func @alternative
// CHECK: mask<window, left = 31, right = 7, top_left> captures(
// CHECK: arith.ori
func.func @alternative(%q: !t, %n: index) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%n : index) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %m: index) {
      %c7 = arith.constant 7 : index
      %c32 = arith.constant 32 : index
      %true = arith.constant true
      %d = arith.subi %j, %i : index
      %a = math.absi %d : index
      %near = arith.cmpi ule, %a, %c7 : index
      %ib = arith.divui %i, %c32 : index
      %jb = arith.divui %j, %c32 : index
      %other = arith.cmpi ne, %ib, %jb : index
      %same = arith.xori %other, %true : i1
      %past = arith.cmpi sge, %i, %j : index
      %even = arith.cmpi eq, %h, %m : index
      %x = arith.andi %same, %past : i1
      %y = arith.andi %x, %even : i1
      %r = arith.ori %near, %y : i1
      attn.yield %r : i1
    }
  return %o : !t
}

// The narrower bound of attribute and region wins on each side.
// CHECK-LABEL: func @meets_attribute
// CHECK: mask<window, left = 9, right = 63, top_left>
func.func @meets_attribute(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> mask<window, left = 9, right = 70, top_left> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %ib = arith.divui %i, %c64 : index
      %jb = arith.divui %j, %c64 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// At static lengths the attribute of either alignment is met.
// CHECK-LABEL: func @meets_bottom_right
// CHECK: mask<window, left = 1, right = 1, top_left>
func.func @meets_bottom_right(%q: tensor<1x8x1x16xf16>, %k: tensor<1x12x1x16xf16>) -> tensor<1x8x1x16xf16> {
  %o = attn.sdpa %q, %k, %k layout<bshd> mask<causal, bottom_right> : tensor<1x8x1x16xf16>, tensor<1x12x1x16xf16>, tensor<1x12x1x16xf16> -> tensor<1x8x1x16xf16>
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c2 = arith.constant 2 : index
      %ib = arith.divui %i, %c2 : index
      %jb = arith.divui %j, %c2 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : tensor<1x8x1x16xf16>
}

// CHECK-LABEL: func @gradient
// CHECK: attn.sdpa_backward {{.*}} mask<window, left = 255, right = 255, top_left>
// CHECK: arith.cmpi eq
func.func @gradient(%q: !t, %l: tensor<1x1x?xf32>) -> !t {
  %dq, %dk, %dv = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%l) layout<bshd>
    : !t, !t, !t, !t, !t, tensor<1x1x?xf32> -> !t, !t, !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c256 = arith.constant 256 : index
      %ib = arith.floordivsi %i, %c256 : index
      %jb = arith.floordivsi %j, %c256 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %dq : !t
}

// -----

// What implies no band, on either side: documents of a length that is not
// known, or is negative; other documents; a prefix that all queries see; blocks
// of different lengths; quotients of a difference that wraps around, and of
// multiples that may; and a bottom-right mask of lengths that are not known.

!t = tensor<1x?x1x16xf16>

// CHECK-LABEL: func @unknown_length
// CHECK: layout<bshd> captures(
// CHECK: mask_mod(
func.func @unknown_length(%q: !t, %n: index) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> captures(%n : index) : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index, %m: index) {
      %ib = arith.floordivsi %i, %m : index
      %jb = arith.floordivsi %j, %m : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @negative_length
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @negative_length(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.constant -256 : index
      %ib = arith.floordivsi %i, %c : index
      %jb = arith.floordivsi %j, %c : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @other_document
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @other_document(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c256 = arith.constant 256 : index
      %ib = arith.floordivsi %i, %c256 : index
      %jb = arith.floordivsi %j, %c256 : index
      %r = arith.cmpi ne, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @prefix
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @prefix(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c512 = arith.constant 512 : index
      %past = arith.cmpi sle, %j, %i : index
      %prefix = arith.cmpi slt, %j, %c512 : index
      %r = arith.ori %past, %prefix : i1
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @different_lengths
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @different_lengths(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %ib = arith.floordivsi %i, %c64 : index
      %jb = arith.floordivsi %j, %c128 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @wrapped_difference
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @wrapped_difference(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %d = arith.subi %i, %j : index
      %n = arith.divui %d, %c64 : index
      %r = arith.cmpi sge, %n, %c64 : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @multiple_may_wrap
// CHECK: layout<bshd> :
// CHECK: mask_mod(
func.func @multiple_may_wrap(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      %i4 = arith.muli %i, %c4 : index
      %j4 = arith.muli %j, %c4 : index
      %ib = arith.divui %i4, %c64 : index
      %jb = arith.divui %j4, %c64 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// CHECK-LABEL: func @bottom_right
// CHECK: layout<bshd> mask<causal, bottom_right> :
// CHECK: mask_mod(
func.func @bottom_right(%q: !t) -> !t {
  %o = attn.sdpa %q, %q, %q layout<bshd> mask<causal, bottom_right> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %ib = arith.divui %i, %c64 : index
      %jb = arith.divui %j, %c64 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %o : !t
}

// -----

// A bound that hides nothing at the static lengths is none, and a band that the
// attribute leaves nothing of is not put into it.
// CHECK-LABEL: func @short
// CHECK: layout<bshd> :
// CHECK: mask_mod(
// CHECK: layout<bshd> mask<window, right = -8, top_left> :
// CHECK: mask_mod(
!t = tensor<1x64x1x16xf16>
func.func @short(%q: !t) -> !t {
  %0 = attn.sdpa %q, %q, %q layout<bshd> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %ib = arith.divui %i, %c64 : index
      %jb = arith.divui %j, %c64 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  %1 = attn.sdpa %0, %q, %q layout<bshd> mask<window, right = -8, top_left> : !t, !t, !t -> !t
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c4 = arith.constant 4 : index
      %ib = arith.divui %i, %c4 : index
      %jb = arith.divui %j, %c4 : index
      %r = arith.cmpi eq, %ib, %jb : index
      attn.yield %r : i1
    }
  return %1 : !t
}
