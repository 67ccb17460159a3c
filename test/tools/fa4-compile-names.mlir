// A wrong name is answered with the near and the known ones.
//
// RUN: not fa4-compile %s -o - --from=schedul 2>&1 | FileCheck %s --check-prefix=FROM --match-full-lines
// RUN: not fa4-compile %s -o - --emit=ptxx 2>&1 | FileCheck %s --check-prefix=EMIT --match-full-lines
// RUN: not fa4-compile %s -o - --emit=something 2>&1 | FileCheck %s --check-prefix=FAR --match-full-lines
// RUN: not fa4-sim --sede 1 x.json 2>&1 | FileCheck %s --check-prefix=SIM --match-full-lines
// RUN: not fa4-sim x.json --allow=rase 2>&1 | FileCheck %s --check-prefix=KIND
// FROM: fa4-compile: error: --from: there is no level 'schedul'; did you mean 'schedule'? known: tile, subtile, pair-ctas, lazy-rescale, plan, assign-work, warp-specialize, schedule, split-exp, share-buffers, allocate, split-loop, distribute, unroll, nvvm
// EMIT: fa4-compile: error: --emit: there is no level or artefact 'ptxx'; did you mean 'ptx'? known: tile, {{.*}}, nvvm, llvm, ptx, cubin
// FAR: fa4-compile: error: --emit: there is no level or artefact 'something'; known: tile, {{.*}}, cubin
// SIM: fa4-sim: error: unknown option '--sede'; did you mean '{{--seeds?}}'?
// KIND: fa4-sim: error: --allow: 'rase' is no finding behind which a run can go on; did you mean 'race'? known: bad-descriptor,
