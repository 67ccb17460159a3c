// Kernels whose CTAs work on several tiles, or in an order: what the schedule makes
// of the roles and of the code, and right numbers with as few CTAs as there are SMs
// and with hardware that gives work away in any order.
//
// RUN: rm -rf %t && mkdir %t %t/static %t/lpt %t/clc
// RUN: fa4-compile %S/gemm.mlir --from=tile --schedule=static -o %t/static --emit=warp-specialize,nvvm,ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=ROLES < %t/static/gemm.warp-specialize.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=NVVM < %t/static/gemm.nvvm.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=MANIFEST < %t/static/gemm.json
// RUN: fa4-sim %t/static/gemm.json M=300 N=136 K=264 sm_count=3 --random --check --seeds 0:3 \
// RUN:   --output A=%t/A.npy --output B=%t/B.npy C=%t/C.npy
// RUN: python3 %S/Inputs/check_scaled_relu.py %t/A.npy %t/B.npy %t/C.npy
// RUN: fa4-sim %t/static/gemm.json M=300 N=136 K=264 sm_count=1 --random --check --seeds 0:1 \
// RUN:   --output A=%t/A.npy --output B=%t/B.npy C=%t/C.npy
// RUN: python3 %S/Inputs/check_scaled_relu.py %t/A.npy %t/B.npy %t/C.npy
// RUN: not fa4-sim %t/static/gemm.json M=300 N=136 K=264 sm_count=0 --random 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: sm_count, the number of SMs, must be from 1 to 1073741824
//
// RUN: fa4-compile %S/gemm.mlir --from=tile --schedule=clc -o %t/clc --emit=warp-specialize,distribute,ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=ASK < %t/clc/gemm.warp-specialize.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=LANES < %t/clc/gemm.distribute.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=PTX < %t/clc/gemm.ptx
// RUN: fa4-sim %t/clc/gemm.json M=700 N=136 K=264 --random --check --seeds 0:4 \
// RUN:   --output A=%t/A.npy --output B=%t/B.npy C=%t/C.npy
// RUN: python3 %S/Inputs/check_scaled_relu.py %t/A.npy %t/B.npy %t/C.npy
//
// RUN: fa4-compile %S/gemm.mlir --from=tile --schedule=lpt -o %t/lpt --emit=ptx
// RUN: FileCheck --dump-input=never %s --check-prefix=LINEAR < %t/lpt/gemm.json
// RUN: fa4-sim %t/lpt/gemm.json M=300 N=136 K=264 --random --check --seeds 0:1 \
// RUN:   --output A=%t/A.npy --output B=%t/B.npy C=%t/C.npy
// RUN: python3 %S/Inputs/check_scaled_relu.py %t/A.npy %t/B.npy %t/C.npy
//
// RUN: not fa4-compile %S/gemm.mlir --from=tile --schedule=fast -o - 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: schedule must be auto, grid, static, lpt or clc, got 'fast'

// Each role works on the same tiles. Rings go on from one to the next.
// ROLES: tile.role @epilogue kind(vector)
// ROLES: tile.work (%[[M:.*]], %[[N:.*]]) {
// ROLES: tile.role @mma kind(issuer)
// ROLES: tile.work
// ROLES: tile.role @load kind(issuer)
// ROLES: tile.work
// ROLES: tile.role @store kind(issuer)
// ROLES: tile.work
// ROLES-NOT: tile.request

// The loop leaves what is the same for all tiles where it is used.
// NVVM: nctaid.x
// NVVM: llvm.cond_br {{.*}}loop_annotation = #loop_annotation

// MANIFEST: "min(sm_count, ceildiv(M, 256) * ceildiv(N, 128))"
// MANIFEST: "sm_count": 148

// A role of its own asks for a tile while the others work on the one before.
// ASK: %next = tile.channel "next" smem stages(1) : <i128>
// ASK: tile.role @epilogue
// ASK: %[[R:.*]] = tile.wait %next
// ASK: tile.release %next
// ASK: %[[T:.*]] = tile.response %[[R]]
// ASK: tile.next %[[T]]
// ASK: tile.role @request kind(issuer)
// ASK: tile.acquire %next
// ASK: %[[A:.*]] = tile.request
// ASK: tile.commit %next, %[[A]]

// Lanes have the response, as they have every scalar.
// LANES: tile.role @epilogue
// LANES: %[[R:.*]] = tile.wait %next : <i128> -> i128
// LANES: tile.response %[[R]] : i128

// PTX: clusterlaunchcontrol.query_cancel.is_canceled
// PTX: clusterlaunchcontrol.try_cancel.async

// LINEAR: "grid": [
// LINEAR-NEXT: "ceildiv(M, 256) * ceildiv(N, 128)"
// LINEAR-NEXT: ]
