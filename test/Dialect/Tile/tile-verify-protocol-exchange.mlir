// The proof of a kernel whose CTAs exchange halves of a tile is one of both: what
// one sends is written to the other one's memory. The kernel of the test is
// proven. It is refused where the bytes or arrivals are those of one CTA, where
// lanes overwrite what MMAs may still read or what may not have been sent yet,
// where nobody frees the stages, and where a fence is missing.
//
// RUN: rm -rf %t && mkdir %t
// RUN: fa4-opt %S/../../Pipelines/exchange.mlir --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate,tile-distribute))' -o %t/k.mlir
// RUN: fa4-opt %t/k.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' | FileCheck %s
// CHECK: tile.channel "compute0_exchange" smem stages(1) exchange
//
// RUN: sed '/channel "compute0_exchange"/s/bytes(32768)/bytes(16384)/' %t/k.mlir > %t/bytes.mlir
// RUN: not fa4-opt %t/bytes.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: channel "compute0_exchange (received)" has bytes(16384) a phase of its landed barriers, expected bytes(32768): 128 rows of 256 bytes from the other CTA
//
// RUN: sed '/channel "exchange_mma"/s/arrivals(2)/arrivals(1)/' %t/k.mlir > %t/arrivals.mlir
// RUN: not fa4-opt %t/arrivals.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=ARRIVALS
// ARRIVALS: error: channel "exchange_mma" has arrivals(1) a phase of its full barriers, expected arrivals(2): @exchange 1, @exchange (peer) 1
//
// RUN: sed '/channel "compute0_exchange"/s/landed([0-9]*)/landed(0)/' %t/k.mlir > %t/barrier.mlir
// RUN: not fa4-opt %t/barrier.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error: channel "{{.*}}" uses barrier 0, which is one of channel
//
// RUN: sed '/channel "compute0_exchange"/s/\(landed([0-9]*)\) arrivals(1)/\1 arrivals(2)/' %t/k.mlir > %t/landed.mlir
// RUN: not fa4-opt %t/landed.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=LANDED
// LANDED: error: channel "compute0_exchange (received)" has arrivals(2) a phase of its landed barriers, expected arrivals(1): the thread that expects the bytes
//
// The lanes do not wait for the MMAs that read the last value, and these do not
// say that they have.
// RUN: sed '/tile.acquire %%exchange_mma/d; /tile.release %%exchange_mma/d; /channel "exchange_mma"/s/ empty([0-9]*) arrivals(1)//' %t/k.mlir > %t/acquire.mlir
// RUN: not fa4-opt %t/acquire.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=ACQUIRE
// ACQUIRE: error: channel "compute0_exchange": a value is committed before @exchange has surely waited for the previous one in this stage
//
// They wait for the role that exchanges, when what they got is complete: neither
// have MMAs read it then, nor has what they sent left.
// RUN: sed '/tile.release %%exchange_mma/d; /channel "exchange_mma"/s/ empty([0-9]*) arrivals(1)//; s/tile.acquire %%exchange_mma : .*/tile.acquire %%compute0_exchange : <vector<128x256xbf16>>/; s/\( *\)tile.commit %%exchange_mma.*/&\n\1tile.release %%compute0_exchange : <vector<128x256xbf16>>/; /channel "compute0_exchange"/s/landed/empty(5) arrivals(1) landed/' %t/k.mlir > %t/early.mlir
// RUN: not fa4-opt %t/early.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: channel "compute0_exchange{{.*}}": @compute0 may overwrite a stage in pass 2 of its loop while
//
// They wait when they have written it.
// RUN: sed '/tile.acquire %%exchange_mma/d; s/\( *\)tile.commit %%compute0_exchange .*/&\n\1tile.acquire %%exchange_mma : <vector<256x128xbf16>>/' %t/k.mlir > %t/late.mlir
// RUN: not fa4-opt %t/late.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: channel "{{.*}}": {{@compute0 may overwrite a stage|nothing orders the commit behind the acquire of the stage by @compute0}}
//
// Nobody frees the stages.
// RUN: sed '/tile.release %%exchange_mma/d' %t/k.mlir > %t/release.mlir
// RUN: not fa4-opt %t/release.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=RELEASE
// RELEASE: error: {{.*}}exchange_mma
//
// A role acquires them that never writes the buffer.
// RUN: sed '/tile.acquire %%exchange_mma/d; s/\( *\)tile.role @load .*/&\n\1  tile.acquire %%exchange_mma : <vector<256x128xbf16>>/' %t/k.mlir > %t/other.mlir
// RUN: not fa4-opt %t/other.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: channel "exchange_mma" is acquired by @load, which commits no value of its buffer
//
// RUN: sed '/tile.fence/d' %t/k.mlir > %t/fence.mlir
// RUN: not fa4-opt %t/fence.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=FENCE
// FENCE: error: channel "{{.*}}": no tile.fence between a write by lanes and the commit
