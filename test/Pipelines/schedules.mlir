// Kernels whose CTAs work on several tiles, or in an order: what the schedule makes
// of the roles and of the code, and right numbers with as few CTAs as there are SMs
// and with hardware that gives work away in any order.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
//
// $ mkdir static lpt clc
// $ fa4-compile "$S"/gemm.mlir --from=tile --schedule=static -o static --emit=warp-specialize,nvvm,ptx
//
// Each role works on the same tiles. Rings go on from one to the next.
//
// $ cat static/gemm.warp-specialize.mlir
// ...
//     tile.role @epilogue kind(vector){{.*}}
// ...
//       tile.work (%{{.*}}, %{{.*}}) {
// ...
//     tile.role @mma kind(issuer){{.*}}
// ...
//       tile.work{{.*}}
// ...
//     tile.role @load kind(issuer){{.*}}
// ...
//       tile.work{{.*}}
// ...
//     tile.role @store kind(issuer){{.*}}
// ...
//       tile.work{{.*}}
// ...
// $ grep 'tile\.request' static/gemm.warp-specialize.mlir
// [1]
//
// The loop leaves what is the same for all tiles where it is used.
//
// $ cat static/gemm.nvvm.mlir
// ...
// {{.*}}nctaid.x{{.*}}
// ...
//     llvm.cond_br {{.*}}loop_annotation = #loop_annotation}
// ...
// $ cat static/gemm.json
// ...
//     "min(sm_count, ceildiv(M, 256) * ceildiv(N, 128))"
// ...
//     "sm_count": 148
// ...
// $ fa4-sim static/gemm.json M=300 N=136 K=264 sm_count=3 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
// $ fa4-sim static/gemm.json M=300 N=136 K=264 sm_count=1 --random --check --seeds 0:1 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
// $ fa4-sim static/gemm.json M=300 N=136 K=264 sm_count=0 --random
// fa4-sim: error: static/gemm.json: sm_count, the number of SMs, must be from 1 to 1073741824; this call has K = 264, M = 300, N = 136, sm_count = 0
// [2]
//
// $ fa4-compile "$S"/gemm.mlir --from=tile --schedule=clc -o clc --emit=warp-specialize,distribute,ptx
//
// A role of its own asks for a tile while the others work on the one before.
//
// $ cat clc/gemm.warp-specialize.mlir
// ...
//     %next = tile.channel "next" smem stages(1) : <i128>
//     tile.role @epilogue{{.*}}
// ...
//         %{{(?P<R>\w+)}} = tile.wait %next{{.*}}
//         tile.release %next{{.*}}
//         %{{(?P<T>\w+)}} = tile.response %{{(?P=R)}}{{.*}}
//         tile.next %{{(?P=T)}}{{.*}}
// ...
//     tile.role @request kind(issuer){{.*}}
// ...
//         tile.acquire %next{{.*}}
//         %{{(?P<A>\w+)}} = tile.request{{.*}}
//         tile.commit %next, %{{(?P=A)}}{{.*}}
// ...
//
// Lanes have the response, as they have every scalar.
//
// $ cat clc/gemm.distribute.mlir
// ...
//     tile.role @epilogue{{.*}}
// ...
//         %{{(?P<R>\w+)}} = tile.wait %next : <i128> -> i128
// ...
// {{.*}}tile.response %{{(?P=R)}} : i128
// ...
// $ cat clc/gemm.ptx
// ...
// 	clusterlaunchcontrol.query_cancel.is_canceled{{.*}}
// ...
// 	clusterlaunchcontrol.try_cancel.async{{.*}}
// ...
// $ fa4-sim clc/gemm.json M=700 N=136 K=264 --random --check --seeds 0:4 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// $ fa4-compile "$S"/gemm.mlir --from=tile --schedule=lpt -o lpt --emit=ptx
// $ cat lpt/gemm.json
// ...
//   "grid": [
//     "ceildiv(M, 256) * ceildiv(N, 128)"
//   ],
// ...
// $ fa4-sim lpt/gemm.json M=300 N=136 K=264 --random --check --seeds 0:1 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// $ fa4-compile "$S"/gemm.mlir --from=tile --schedule=fast -o -
// fa4-compile: error: --schedule must be auto, grid, static, lpt or clc, got 'fast'
// [2]
