// A kernel that is past the level of --from would be planned a second time, and a
// wrong protocol would be mended or turn into a lack of room: each gets the message
// that says what is wrong with the file.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile from.mlir --emit=schedule,allocate,distribute -o out
// $ fa4-compile out/from_kernel.schedule.mlir --from=tile -o -
// out/from_kernel.schedule.mlir:{{[0-9]+:[0-9]+}}: error: has roles already, as from the level 'warp-specialize' on: --from=tile would plan it again
// {{.*}}
// {{.*}}
// [1]
// $ fa4-compile out/from_kernel.allocate.mlir --from=schedule -o -
// out/from_kernel.allocate.mlir:{{[0-9]+:[0-9]+}}: error: has channels that have a place in memory already, as from the level 'allocate' on: --from=schedule would plan it again
// {{.*}}
// {{.*}}
// [1]
// $ fa4-compile out/from_kernel.distribute.mlir --from=split-exp -o -
// out/from_kernel.distribute.mlir:{{[0-9]+:[0-9]+}}: error: has accesses of single threads already, as from the level 'distribute' on: --from=split-exp would plan it again
// {{.*}}
// {{.*}}
// [1]
//
// Before its level, it would meet passes that count on those in between.
//
// $ fa4-compile out/from_kernel.distribute.mlir --from=unroll -o -
// out/from_kernel.distribute.mlir:{{[0-9]+:[0-9]+}}: error: has operations on more columns than two, as up to the level 'distribute': --from=unroll would leave out the levels behind it
// {{.*}}
// {{.*}}
// [1]
// $ fa4-compile out/from_kernel.allocate.mlir --from=distribute -o -
// out/from_kernel.allocate.mlir:{{[0-9]+:[0-9]+}}: error: has operations on tiles, as up to the level 'split-loop': --from=distribute would leave out the levels behind it
// {{.*}}
// {{.*}}
// [1]
// $ fa4-compile out/from_kernel.schedule.mlir --from=allocate -o -
// out/from_kernel.schedule.mlir:{{[0-9]+:[0-9]+}}: error: has channels without a place in memory, as up to the level 'share-buffers': --from=allocate would leave out the levels behind it
// {{.*}}
// {{.*}}
// [1]
//
// A pass that rewrites the bounds of loops in each role by itself: what the proof cannot relate is not said to hang.
//
// $ fa4-compile from.mlir --emit=warp-specialize -o out
// $ fa4-opt out/from_kernel.warp-specialize.mlir --arith-expand | fa4-compile - --from=warp-specialize -o -
// <stdin>:80:15: error: channel {{.*}}: it is not shown that @{{.*}} commits it as often as @{{.*}} waits for that: the passes of their loops are computed in different ways
// ...
// [1]
// $ fa4-compile from.mlir --from=tile --emit=tile -o -
// from.mlir:0:0: error: no tile.kernel, which a file of the level 'tile' has
// [1]
// $ fa4-compile out/from_kernel.schedule.mlir --from=schedule -o -
// ...
// .visible .entry from_kernel(
// ...
//
// Without the wait the accumulators need more columns than there are; that is not
// what is wrong.
//
// $ sed -E '0,/= tile.wait %mma_compute0 : .*/s//= arith.constant dense<0.0> : vector<128x128xf32>/' out/from_kernel.schedule.mlir > wait.mlir
// $ fa4-compile wait.mlir --from=schedule -o -
// wait.mlir:{{[0-9]+:[0-9]+}}: error: channel "mma_compute0" is committed, but no role waits for it
// {{.*}}
// {{.*}}
// [1]
//
// An acquire behind its commit, of a channel whose acquires turn out to be needless.
//
// $ sed -E -e '0,/tile.acquire %compute0_mma.0 .*/s///' -e '0,/(tile.commit %compute0_mma.0,.*)/s//\1\n tile.acquire %compute0_mma.0 : <vector<128x96xbf16>>/' out/from_kernel.schedule.mlir > acquire.mlir
// $ fa4-compile acquire.mlir --from=schedule -o -
// acquire.mlir:{{[0-9]+:[0-9]+}}: error: channel "compute0_mma.0": @compute0 writes a stage that it has not acquired
// {{.*}}
// {{.*}}
// acquire.mlir:{{[0-9]+:[0-9]+}}: note: @compute0 makes at least 1 pass of this loop
// {{.*}}
// {{.*}}
// [1]

//--- from.mlir
func.func @from(%q: tensor<?x?x32x128xbf16>, %k: tensor<?x?x8x128xbf16>,
                %v: tensor<?x?x8x128xbf16>) -> tensor<?x?x32x128xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
    : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>
      -> tensor<?x?x32x128xbf16>
  return %out : tensor<?x?x32x128xbf16>
}
