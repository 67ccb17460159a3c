// A score_mod that adds terms to a multiple of the score: the factor is part of the scale. What a query and a key add each
// for itself needs one instruction a score: keys have numbers relative to the tile's first query, and what a query adds
// beyond is in its LSE. The derivative is constant, so that the gradient is that of attention without a score_mod.
//
// RUN: fa4-opt %s --attn-to-tile=chip=sm_100a --split-input-file | FileCheck %s
// RUN: fa4-opt %s --attn-to-tile=chip=sm_90a --split-input-file | FileCheck %s --check-prefix=HOPPER

// 2/3 (3 (s / 4 + s / 8)): a factor of 3/4, and a scale of 1/2.
// CHECK-LABEL: tile.kernel @factor_kernel(
// CHECK-DAG:     %[[FACTOR:.*]] = arith.constant dense<0.54{{.*}}> : vector<256xf32>
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tile.mma
// CHECK-NOT:       arith.mulf %[[S]]
// CHECK:           scf.if
// CHECK:           %[[MAX:.*]] = vector.multi_reduction <maximumf>
// CHECK:           arith.mulf %[[MAX]], %[[FACTOR]]
func.func @factor(%q: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> scale(0.5) : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c4 = arith.constant 4.0 : f32
      %c8 = arith.constant -0.125 : f32
      %c3 = arith.constant 3.0 : f32
      %x = arith.divf %s, %c4 : f32
      %y = arith.mulf %c8, %s : f32
      %z = arith.subf %x, %y : f32
      %t = arith.mulf %z, %c3 : f32
      %two_thirds = arith.constant 0.666666686 : f32
      %r = arith.mulf %two_thirds, %t : f32
      attn.yield %r : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}

// -----

// ALiBi with slopes of heads.
// CHECK-LABEL: tile.kernel @slopes_kernel(
// CHECK-DAG:     %[[UNIT:.*]] = arith.constant dense<8.000000e+00> : vector<256xf32>
// CHECK:         %[[FIRST:.*]] = arith.muli %{{.*}}, %c256
// CHECK:         %[[SLOPES:.*]] = tile.load_rows %{{.*}} -> vector<256xf32>
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tile.mma
// CHECK:           %[[COMMON:.*]] = vector.broadcast %[[FIRST]] : index to vector<128xindex>
// CHECK:           %[[DISTANCE:.*]] = arith.subi %{{.*}}, %[[COMMON]] : vector<128xindex>
// CHECK:           %[[NUMBER:.*]] = arith.sitofp %{{.*}} : vector<128xi32> to vector<128xf32>
// CHECK:           %[[WEIGHT:.*]] = arith.mulf %[[SLOPES]], %[[UNIT]]
// CHECK:           %[[NUMBERS:.*]] = vector.broadcast %[[NUMBER]] : vector<128xf32> to vector<256x128xf32>
// CHECK:           %[[WEIGHTS:.*]] = vector.broadcast %{{.*}} : vector<256x1xf32> to vector<256x128xf32>
// CHECK:           math.fma %[[NUMBERS]], %[[WEIGHTS]], %[[S]]
// CHECK:         arith.subi %{{.*}}, %{{.*}} : vector<256xindex>
// CHECK:         %[[OWN:.*]] = math.fma %{{.*}}, %[[SLOPES]]
// CHECK:         math.log2
// CHECK:         %[[LSE:.*]] = arith.mulf %{{.*}} : vector<256xf32>
// CHECK:         arith.addf %[[LSE]], %{{.*}} : vector<256xf32>
func.func @slopes(%q: tensor<?x?x?x64xbf16>, %slopes: tensor<?xf32>) -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %r:2 = attn.sdpa %q, %q, %q layout<bshd> captures(%slopes : tensor<?xf32>)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %all: tensor<?xf32>) {
      %d = arith.subi %j, %i : index
      %d32 = arith.index_cast %d : index to i32
      %x = arith.sitofp %d32 : i32 to f32
      %slope = tensor.extract %all[%h] : tensor<?xf32>
      %bias = arith.mulf %slope, %x : f32
      %t = arith.addf %s, %bias : f32
      attn.yield %t : f32
    }
  return %r#0, %r#1 : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}

// -----

// The absolute distance belongs to both.
// CHECK-LABEL: tile.kernel @absolute_kernel(
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tile.mma
// CHECK:           %[[D:.*]] = math.absf %{{.*}} : vector<256x128xf32>
// CHECK:           math.fma %[[D]], %{{.*}}, %[[S]] : vector<256x128xf32>
func.func @absolute(%q: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %j, %i : index
      %d32 = arith.index_cast %d : index to i32
      %x = arith.sitofp %d32 : i32 to f32
      %a = math.absf %x : f32
      %w = arith.constant -0.25 : f32
      %bias = arith.mulf %a, %w : f32
      %t = arith.addf %s, %bias : f32
      attn.yield %t : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}

// -----

// A cap: score_mod is not linear. The divisor is part of the scale, 1/8, in front, and the factor of that of exponents, log2(e).
// The derivative is computed without the two, which are a factor of dk and dq: 3/4 of 1/8.
// CHECK-LABEL: tile.kernel @cap_kernel(
// CHECK-DAG:     %[[BEFORE:.*]] = arith.constant dense<3.125000e-02> : vector<256x128xf32>
// CHECK-DAG:     %[[EXPONENT:.*]] = arith.constant dense<4.32808{{.*}}> : vector<256x128xf32>
// CHECK:           %[[S:.*]] = tile.mma
// CHECK:           %[[X:.*]] = arith.mulf %[[S]], %[[BEFORE]]
// CHECK:           %[[T:.*]] = math.tanh %[[X]] fastmath<afn> : vector<256x128xf32>
// CHECK:           scf.if
// CHECK:             scf.yield %[[T]]
// CHECK:           math.fma %{{.*}}, %[[EXPONENT]],
// CHECK-LABEL: tile.kernel @cap_gradient_kernel(
// CHECK-DAG:     %[[FACTOR:.*]] = arith.constant dense<9.375000e-02> : vector<128x64xf32>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<128x128xf32>
// CHECK:         scf.for
// CHECK:           %[[T:.*]] = math.tanh %{{.*}} : vector<128x128xf32>
// CHECK:           %[[SQUARE:.*]] = arith.mulf %[[T]], %[[T]]
// CHECK:           %[[DERIVATIVE:.*]] = arith.subf %[[ONE]], %[[SQUARE]]
// CHECK:           arith.mulf %{{.*}}, %[[DERIVATIVE]]
// CHECK:         arith.mulf %{{.*}}, %[[FACTOR]]
func.func @cap(%q: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 3.0 : f32
      %divisor = arith.constant 4.0 : f32
      %x = arith.divf %s, %divisor : f32
      %y = math.tanh %x fastmath<afn> : f32
      %t = arith.mulf %cap, %y : f32
      attn.yield %t : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}

func.func @cap_gradient(%q: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>) -> tensor<?x?x?x64xbf16> {
  %g:3 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%lse) layout<bshd>
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %cap = arith.constant 3.0 : f32
      %divisor = arith.constant 4.0 : f32
      %x = arith.divf %s, %divisor : f32
      %y = math.tanh %x : f32
      %t = arith.mulf %y, %cap : f32
      attn.yield %t : f32
    }
  return %g#1 : tensor<?x?x?x64xbf16>
}

// -----

// The square of the score is not linear: score_mod sees scaled scores. A number of the query that is read from memory (and
// may be infinite) is not separable; added to scaled scores, it stays what it is.
// CHECK-LABEL: tile.kernel @square_kernel(
// CHECK:           %[[S:.*]] = tile.mma
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[S]], %{{.*}}
// CHECK:           arith.mulf %[[SCALED]], %[[SCALED]]
func.func @square(%q: tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = arith.mulf %s, %s : f32
      attn.yield %t : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}

// CHECK-LABEL: tile.kernel @of_query_kernel(
// CHECK:           %[[S:.*]] = tile.mma
// CHECK:           %[[READ:.*]] = tile.gather %{{.*}} -> vector<256xf32>
// CHECK:           math.fma %[[S]], %{{.*}}, %{{.*}} : vector<256x128xf32>
// CHECK-NOT:       arith.addf %{{.*}} : vector<256xf32>
func.func @of_query(%q: tensor<?x?x?x64xbf16>, %bias: tensor<?xf32>) -> tensor<?x?x?x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd> scale(1.0) captures(%bias : tensor<?xf32>)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %all: tensor<?xf32>) {
      %x = tensor.extract %all[%i] : tensor<?xf32>
      %t = arith.addf %s, %x : f32
      attn.yield %t : f32
    }
  return %o : tensor<?x?x?x64xbf16>
}

// -----

// The gradient: the numbers of keys are added by rows, those of queries are part of the shift, which MMAs add on Hopper.
// Sinks need the shift as it is.
// CHECK-LABEL: tile.kernel @gradient_preprocess_kernel(
// CHECK-SAME:    tile.name = "shift"
// CHECK-SAME:    tile.name = "moved_shift"
// CHECK:         %[[SHIFT:.*]] = arith.select %{{.*}} : vector<128xi1>, vector<128xf32>
// CHECK:         tile.store %[[SHIFT]]
// CHECK:         %[[MOVED:.*]] = math.fma %{{.*}}, %{{.*}}, %[[SHIFT]]
// CHECK:         tile.store %[[MOVED]]
// CHECK-LABEL: tile.kernel @gradient_kernel(
// CHECK:         scf.for
// CHECK:           %[[S:.*]] = tile.mma
// CHECK:           %[[OF_KEYS:.*]] = math.fma %{{.*}} : vector<128xf32>
// CHECK:           %[[X:.*]] = math.fma %[[S]], %{{.*}}, %{{.*}} : vector<128x128xf32>
// CHECK:           %[[Y:.*]] = arith.addf %[[X]], %{{.*}} : vector<128x128xf32>
// CHECK:           math.exp2 %{{.*}} : vector<128x128xf32>
// CHECK-NOT:       arith.mulf %{{.*}} : vector<128x128xf32>
// CHECK:           arith.subf %{{.*}} : vector<128x128xf32>
// CHECK:       tile.kernel @gradient_postprocess_kernel(
// CHECK:       tile.kernel @gradient_sinks_kernel(
// HOPPER-LABEL: tile.kernel @gradient_preprocess_kernel(
// HOPPER:         %[[SHIFT:.*]] = arith.select %{{.*}} : vector<128xi1>, vector<128xf32>
// HOPPER:         %[[MOVED:.*]] = math.fma %{{.*}}, %{{.*}}, %[[SHIFT]]
// HOPPER:         arith.mulf %[[MOVED]], %{{.*}} : vector<128xf32>
// HOPPER-LABEL: tile.kernel @gradient_kernel(
// HOPPER-SAME:    tile.name = "terms"
// HOPPER:           %[[S:.*]] = tile.mma %{{.*}} acc %{{.*}} -> vector<128x128xf32>
// HOPPER:           %[[OF_KEYS:.*]] = math.fma %{{.*}} : vector<128xf32>
// HOPPER:           math.fma %[[S]], %{{.*}}, %{{.*}} : vector<128x128xf32>
// HOPPER-NOT:   tile.kernel @gradient_dq_kernel(
func.func @gradient(%q: tensor<?x?x?x64xbf16>, %lse: tensor<?x?x?xf32>, %sinks: tensor<?xf32>, %slope: f32)
    -> (tensor<?x?x?x64xbf16>, tensor<?xf32>) {
  %g:4 = attn.sdpa_backward %q, %q, %q out(%q) dout(%q) lse(%lse) layout<bshd> sinks(%sinks : tensor<?xf32>) captures(%slope : f32)
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
      -> tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %weight: f32) {
      %d = arith.subi %j, %i : index
      %d32 = arith.index_cast %d : index to i32
      %x = arith.sitofp %d32 : i32 to f32
      %bias = arith.mulf %weight, %x : f32
      %t = arith.addf %s, %bias : f32
      attn.yield %t : f32
    }
  return %g#0, %g#3 : tensor<?x?x?x64xbf16>, tensor<?xf32>
}
