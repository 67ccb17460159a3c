// A kernel that is past the level of --from would be planned a second time, and a
// wrong protocol would be mended or turn into a lack of room: each gets the message
// that says what is wrong with the file.
//
// RUN: fa4-compile %s --emit=schedule,allocate,distribute -o %t
// RUN: not fa4-compile %t/from_kernel.schedule.mlir --from=tile -o - 2>&1 | FileCheck %s --check-prefix=ROLES --implicit-check-not=error:
// ROLES: error: has roles already, as from the level 'warp-specialize' on: --from=tile would plan it again
// RUN: not fa4-compile %t/from_kernel.allocate.mlir --from=schedule -o - 2>&1 | FileCheck %s --check-prefix=PLACED --implicit-check-not=error:
// PLACED: error: has channels that have a place in memory already, as from the level 'allocate' on: --from=schedule would plan it again
// RUN: not fa4-compile %t/from_kernel.distribute.mlir --from=split-exp -o - 2>&1 | FileCheck %s --check-prefix=LANES --implicit-check-not=error:
// LANES: error: has accesses of single threads already, as from the level 'distribute' on: --from=split-exp would plan it again
//
// Before its level, it would meet passes that count on those in between.
// RUN: not fa4-compile %t/from_kernel.distribute.mlir --from=unroll -o - 2>&1 | FileCheck %s --check-prefix=WIDE --implicit-check-not=error:
// WIDE: error: has operations on more columns than two, as up to the level 'distribute': --from=unroll would leave out the levels behind it
// RUN: not fa4-compile %t/from_kernel.allocate.mlir --from=distribute -o - 2>&1 | FileCheck %s --check-prefix=TILES --implicit-check-not=error:
// TILES: error: has operations on tiles, as up to the level 'split-loop': --from=distribute would leave out the levels behind it
// RUN: not fa4-compile %t/from_kernel.schedule.mlir --from=allocate -o - 2>&1 | FileCheck %s --check-prefix=UNPLACED --implicit-check-not=error:
// UNPLACED: error: has channels without a place in memory, as up to the level 'share-buffers': --from=allocate would leave out the levels behind it
// A pass that rewrites the bounds of loops in each role by itself: what the proof cannot relate is not said to hang.
// RUN: fa4-compile %s --emit=warp-specialize -o %t
// RUN: fa4-opt %t/from_kernel.warp-specialize.mlir --arith-expand | not fa4-compile - --from=warp-specialize -o - 2>&1 | FileCheck %s --check-prefix=RELATE
// RELATE: error: channel {{.*}}: it is not shown that @{{.*}} commits it as often as @{{.*}} waits for that: the passes of their loops are computed in different ways
// RUN: not fa4-compile %s --from=tile --emit=tile -o - 2>&1 | FileCheck %s --check-prefix=OPS --implicit-check-not=error:
// OPS: error: no tile.kernel, which a file of the level 'tile' has
// RUN: fa4-compile %t/from_kernel.schedule.mlir --from=schedule -o - | FileCheck %s --check-prefix=PTX
// PTX: .entry from_kernel
//
// Without the wait the accumulators need more columns than there are; that is not
// what is wrong.
// RUN: sed -E '0,/= tile.wait %%mma_compute0 : .*/s//= arith.constant dense<0.0> : vector<128x128xf32>/' %t/from_kernel.schedule.mlir > %t.wait.mlir
// RUN: not fa4-compile %t.wait.mlir --from=schedule -o - 2>&1 | FileCheck %s --check-prefix=WAIT --implicit-check-not=error:
// WAIT: error: channel "mma_compute0" is committed, but no role waits for it
//
// An acquire behind its commit, of a channel whose acquires turn out to be needless.
// RUN: sed -E -e '0,/tile.acquire %%compute0_mma.0 .*/s///' -e '0,/(tile.commit %%compute0_mma.0,.*)/s//\1\n tile.acquire %%compute0_mma.0 : <vector<128x96xbf16>>/' %t/from_kernel.schedule.mlir > %t.acquire.mlir
// RUN: not fa4-compile %t.acquire.mlir --from=schedule -o - 2>&1 | FileCheck %s --check-prefix=ACQUIRE --implicit-check-not=error:
// ACQUIRE: error: channel "compute0_mma.0": @compute0 writes a stage that it has not acquired

func.func @from(%q: tensor<?x?x32x128xbf16>, %k: tensor<?x?x8x128xbf16>,
                %v: tensor<?x?x8x128xbf16>) -> tensor<?x?x32x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>
      -> tensor<?x?x32x128xbf16>
  return %out : tensor<?x?x32x128xbf16>
}
