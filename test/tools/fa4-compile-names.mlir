// A wrong name is answered with the near and the known ones.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
//
// $ fa4-compile "$S"/fa4-compile-names.mlir -o - --from=schedul
// fa4-compile: error: --from: there is no level 'schedul'; did you mean 'schedule'? known: tile, subtile, pair-ctas, lazy-rescale, plan, assign-work, warp-specialize, schedule, split-exp, share-buffers, allocate, split-loop, distribute, unroll, nvvm
// [2]
// $ fa4-compile "$S"/fa4-compile-names.mlir -o - --emit=ptxx
// fa4-compile: error: --emit: there is no level or artefact 'ptxx'; did you mean 'ptx'? known: tile, {{.*}}, nvvm, llvm, ptx, cubin
// [2]
// $ fa4-compile "$S"/fa4-compile-names.mlir -o - --emit=something
// fa4-compile: error: --emit: there is no level or artefact 'something'; known: tile, {{.*}}, cubin
// [2]
// $ fa4-sim --sede 1 x.json
// fa4-sim: error: unknown option '--sede'; did you mean '{{--seeds?}}'?
// [2]
// $ fa4-sim x.json --allow=rase
// fa4-sim: error: --allow: 'rase' is no finding behind which a run can go on; did you mean 'race'? known: bad-descriptor, bad-mbarrier, bad-multicast-mask, bad-tensor-map, barrier-count, barrier-double-arrival, barrier-id, barrier-no-complete, barrier-over-arrival, barrier-overtaken, barrier-remote-wait, barrier-reuse, barrier-stale-state, barrier-tx-overflow, barrier-tx-underflow, barrier-uninitialised, branch-index, cluster-barrier, divergent-aligned, divergent-operand, exit-with-async-outstanding, inactive-lane, mbarrier-init-race, member-mask, misaligned, missing-async-wait, missing-bulk-wait, missing-proxy-fence, missing-tensor-fence, missing-tensor-wait, missing-wgmma-fence, missing-wgmma-wait, mixed-cta-group, no-cta-pair, out-of-bounds, race, race-before-cas, request-after-refusal, setmaxnreg, tmem-alloc-after-relinquish, tmem-bad-free, tmem-bad-size, tmem-lane-access, tmem-not-allocated, tmem-not-freed, trap, uninitialised, uninitialised-row, warpgroup-mismatch
// [2]
