// The proof of a kernel whose CTAs exchange halves of a tile is one of both: what
// one sends is written to the other one's memory. The kernel of the test is
// proven. It is refused where the bytes or arrivals are those of one CTA, where
// lanes overwrite what MMAs may still read or what may not have been sent yet,
// where nobody frees the stages, and where a fence is missing.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-opt $S/../../Pipelines/exchange.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-schedule,tile-share-buffers,tile-allocate,tile-distribute))' -o k.mlir
// $ fa4-opt k.mlir --tile-verify-protocol
// ...
// {{.*}}tile.channel "compute0_exchange" smem stages(1) exchange{{.*}}
// ...
//
// $ sed '/channel "compute0_exchange"/s/bytes(32768)/bytes(16384)/' k.mlir > bytes.mlir
// $ fa4-opt bytes.mlir --tile-verify-protocol
// {{.*}}error: channel "compute0_exchange (received)" has bytes(16384) a phase of its landed barriers, expected bytes(32768): 128 rows of 256 bytes from the other CTA
// ...
// [1]
//
// $ sed '/channel "exchange_mma"/s/arrivals(2)/arrivals(1)/' k.mlir > arrivals.mlir
// $ fa4-opt arrivals.mlir --tile-verify-protocol
// {{.*}}error: channel "exchange_mma" has arrivals(1) a phase of its full barriers, expected arrivals(2): @exchange 1, @exchange (peer) 1
// ...
// [1]
//
// $ sed '/channel "compute0_exchange"/s/landed([0-9]*)/landed(0)/' k.mlir > barrier.mlir
// $ fa4-opt barrier.mlir --tile-verify-protocol
// {{.*}}error: channel "compute0_exchange (received)" uses barrier 0, which is one of channel "Y"
// ...
// [1]
//
// $ sed '/channel "compute0_exchange"/s/\(landed([0-9]*)\) arrivals(1)/\1 arrivals(2)/' k.mlir > landed.mlir
// $ fa4-opt landed.mlir --tile-verify-protocol
// {{.*}}error: channel "compute0_exchange (received)" has arrivals(2) a phase of its landed barriers, expected arrivals(1): the thread that expects the bytes
// ...
// [1]
//
// The lanes do not wait for the MMAs that read the last value, and these do not
// say that they have.
//
// $ sed '/tile.acquire %exchange_mma/d; /tile.release %exchange_mma/d; /channel "exchange_mma"/s/ empty([0-9]*) arrivals(1)//' k.mlir > acquire.mlir
// $ fa4-opt acquire.mlir --tile-verify-protocol
// {{.*}}error: channel "compute0_exchange": a value is committed before @exchange has surely waited for the previous one in this stage
// ...
// [1]
//
// They wait for the role that exchanges, when what they got is complete: neither
// have MMAs read it then, nor has what they sent left.
//
// $ sed '/tile.release %exchange_mma/d; /channel "exchange_mma"/s/ empty([0-9]*) arrivals(1)//; s/tile.acquire %exchange_mma : .*/tile.acquire %compute0_exchange : <vector<128x256xbf16>>/; s/\( *\)tile.commit %exchange_mma.*/&\n\1tile.release %compute0_exchange : <vector<128x256xbf16>>/; /channel "compute0_exchange"/s/landed/empty(5) arrivals(1) landed/' k.mlir > early.mlir
// $ fa4-opt early.mlir --tile-verify-protocol
// {{.*}}error: channel "compute0_exchange": @compute0 may overwrite a stage in pass 2 of its loop while @exchange reads it (channel "compute0_exchange")
// ...
// [1]
//
// They wait when they have written it.
//
// $ sed '/tile.acquire %exchange_mma/d; s/\( *\)tile.commit %compute0_exchange .*/&\n\1tile.acquire %exchange_mma : <vector<256x128xbf16>>/' k.mlir > late.mlir
// $ fa4-opt late.mlir --tile-verify-protocol
// {{.*}}error: channel "exchange_mma": nothing orders the commit behind the acquire of the stage by @compute0
// ...
// [1]
//
// Nobody frees the stages.
//
// $ sed '/tile.release %exchange_mma/d' k.mlir > release.mlir
// $ fa4-opt release.mlir --tile-verify-protocol
// {{.*}}error: channel "exchange_mma": 1 values are waited for by @mma, but 0 released
// ...
// [1]
//
// A role acquires them that never writes the buffer.
//
// $ sed '/tile.acquire %exchange_mma/d; s/\( *\)tile.role @load .*/&\n\1  tile.acquire %exchange_mma : <vector<256x128xbf16>>/' k.mlir > other.mlir
// $ fa4-opt other.mlir --tile-verify-protocol
// {{.*}}error: channel "exchange_mma" is acquired by @load, which commits no value of its buffer
// ...
// [1]
//
// $ sed '/tile.fence/d' k.mlir > fence.mlir
// $ fa4-opt fence.mlir --tile-verify-protocol
// {{.*}}error: channel "compute0_exchange": no tile.fence between a write by lanes and the commit, but an asynchronous operation reads the stage
// ...
// [1]
