# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs on the stand-in driver, captured or built node by node, and programs of the runtime library on its stand-in."""

import shutil
import subprocess

import pytest
from test_driver import LIBRARY, pytestmark, run  # noqa: F401

STREAMS = """
    start()
    function = load(AXPY, "axpy")
    def handle(name, *arguments):
        made = c_void_p()
        call(name, byref(made), *arguments)
        return made
    stream, other = handle("cuStreamCreate", 0), handle("cuStreamCreate", 0)
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    dx, dy = upload(x), upload(y)
    def enqueue(factor, on):
        array, keep = pointers(*axpy(c_uint64(dx), c_uint64(dy), factor, 100))
        call("cuLaunchKernel", function, 4, 1, 1, 32, 1, 1, 0, on, array, None)
    def status(of):
        number = c_int(); call("cuStreamIsCapturing", of, byref(number)); return number.value
    def count(graph):
        number = c_size_t(); call("cuGraphGetNodes", graph, None, byref(number)); return number.value
"""


def test_capture(tmp_path):
    """Captured work is done at each launch of the graph, not before; another stream takes part through events."""
    output, errors = run(
        STREAMS
        + """
    room = np.zeros(100, np.float32)
    called = []
    host = ctypes.CFUNCTYPE(None, c_void_p)(lambda data: called.append(data))
    call("cuStreamBeginCapture", stream, 0)
    assert status(stream) == 1 and status(other) == 0
    call("cuMemsetD32Async", dy, 0x3f800000, 100, stream)
    enqueue(2, stream)
    fork, join = handle("cuEventCreate", 0), handle("cuEventCreate", 0)
    call("cuEventRecord", fork, stream); call("cuStreamWaitEvent", other, fork, 0)
    assert status(other) == 1
    enqueue(1, other)
    call("cuEventRecord", join, other); call("cuStreamWaitEvent", stream, join, 0)
    assert fails("cuEventSynchronize", join) == "CUDA_ERROR_CAPTURED_EVENT"
    call("cuMemcpyDtoHAsync_v2", c_void_p(room.ctypes.data), dy, room.nbytes, stream)
    call("cuLaunchHostFunc", stream, host, c_void_p(7))
    graph = c_void_p()
    call("cuStreamEndCapture", stream, byref(graph))
    assert status(stream) == status(other) == 0 and count(graph) == 5
    assert not called and not room.any() and not download(dy, y).any()
    exec = handle("cuGraphInstantiateWithFlags", graph, 0)
    call("cuGraphDestroy", graph)
    for _ in range(2):
        call("cuGraphLaunch", exec, stream)
        assert (room == 3 * x + 1).all()
        room[:] = 0
    assert called == [7, 7]
    # Parameters were copied at the capture; memory is read at the launch.
    call("cuMemcpyHtoD_v2", dx, c_void_p((2 * x).ctypes.data), x.nbytes)
    call("cuGraphLaunch", exec, stream)
    assert (room == 6 * x + 1).all()
    call("cuGraphExecDestroy", exec)
    assert fails("cuGraphLaunch", exec, stream) == "CUDA_ERROR_INVALID_HANDLE"
    """,
        tmp_path,
        log=tmp_path / "log",
    )
    assert errors == "" and len((tmp_path / "log").read_text().splitlines()) == 6


def test_what_a_capture_refuses(tmp_path):
    """A captured stream is used in ways that a graph cannot hold: each call must fail with the error of CUDA."""
    _, errors = run(
        STREAMS
        + """
    graph = c_void_p()
    assert fails("cuStreamBeginCapture", None, 0) == "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
    assert fails("cuStreamEndCapture", stream, byref(graph)) == "CUDA_ERROR_ILLEGAL_STATE"
    # A wait for work that will not be done makes the capture invalid.
    call("cuStreamBeginCapture", stream, 0)
    assert fails("cuStreamSynchronize", stream) == "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
    assert status(stream) == 2
    try:
        enqueue(1, stream)
    except CudaError as error:
        assert "CAPTURE_INVALIDATED" in str(error)
    assert fails("cuStreamEndCapture", stream, byref(graph)) == "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" and not graph.value
    # Work of another stream for which nothing waits; an end in the wrong stream.
    call("cuStreamBeginCapture", stream, 0)
    fork = handle("cuEventCreate", 0)
    call("cuEventRecord", fork, stream); call("cuStreamWaitEvent", other, fork, 0)
    enqueue(1, other)
    assert fails("cuStreamEndCapture", other, byref(graph)) == "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"
    assert fails("cuStreamEndCapture", stream, byref(graph)) == "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
    assert not download(dy, y).any()
    # Allocations are no work of a graph here.
    call("cuStreamBeginCapture", stream, 0)
    assert fails("cuMemAllocAsync", byref(c_uint64()), 4, stream) == "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
    """,
        tmp_path,
    )
    for message in (
        "the legacy default stream cannot be captured",
        "cuStreamSynchronize: the stream is being captured, and its work has not been done",
        "the capture began in another stream",
        "nothing waits for the work of another stream",
    ):
        assert message in errors


def test_nodes(tmp_path):
    """A graph is built node by node. Its nodes must run in the order of its edges, also of edges that are added later;
    nodes can be updated, and a cycle is refused."""
    _, errors = run(
        STREAMS
        + """
    class KernelNode(ctypes.Structure):
        _fields_ = [("function", c_void_p), ("grid", c_uint * 3), ("block", c_uint * 3), ("smem", c_uint),
                    ("params", c_void_p), ("extra", c_void_p), ("kernel", c_void_p), ("context", c_void_p)]
    class MemsetNode(ctypes.Structure):
        _fields_ = [("to", c_uint64), ("pitch", c_size_t), ("value", c_uint), ("size", c_uint), ("width", c_size_t), ("height", c_size_t)]
    def kernel(factor):
        array, keep = pointers(*axpy(c_uint64(dx), c_uint64(dy), factor, 100))
        node = KernelNode(function, (c_uint * 3)(4, 1, 1), (c_uint * 3)(32, 1, 1), 0, ctypes.cast(array, c_void_p), None, None, None)
        node.keep = array, keep
        return node
    graph = handle("cuGraphCreate", 0)
    add = handle("cuGraphAddKernelNode_v2", graph, None, 0, byref(kernel(2)))
    fill = handle("cuGraphAddMemsetNode", graph, None, 0, byref(MemsetNode(dy, 0, 0x3f800000, 4, 100, 1)), None)
    again = handle("cuGraphAddKernelNode_v2", graph, byref(add), 1, byref(kernel(1)))
    empty = handle("cuGraphAddEmptyNode", graph, byref(again), 1)
    kind = c_int(); call("cuGraphNodeGetType", fill, byref(kind)); assert kind.value == 2
    call("cuGraphAddDependencies", graph, byref(fill), byref(add), 1)  # The fill goes first.
    exec = handle("cuGraphInstantiateWithFlags", graph, 0)
    call("cuGraphLaunch", exec, stream)
    assert (download(dy, y) == 3 * x + 1).all()
    # Other parameters of one node, then those of another graph with the same nodes.
    call("cuGraphExecKernelNodeSetParams_v2", exec, again, byref(kernel(5)))
    call("cuGraphLaunch", exec, stream)
    assert (download(dy, y) == 7 * x + 1).all()
    result = (c_uint64 * 3)()
    call("cuGraphExecUpdate_v2", exec, handle("cuGraphClone", graph), result)
    call("cuGraphLaunch", exec, stream)
    assert (download(dy, y) == 3 * x + 1).all()
    outer = handle("cuGraphCreate", 0)
    handle("cuGraphAddChildGraphNode", outer, None, 0, graph)
    assert fails("cuGraphExecUpdate_v2", exec, outer, result) == "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" and result[0] == 2
    call("cuMemsetD32_v2", dy, 0, 100)
    call("cuGraphLaunch", handle("cuGraphInstantiateWithFlags", outer, 0), None)
    assert (download(dy, y) == 3 * x + 1).all()
    call("cuGraphAddDependencies", graph, byref(again), byref(fill), 1)
    assert fails("cuGraphInstantiateWithFlags", byref(exec), graph, 0) == "CUDA_ERROR_INVALID_VALUE"
    foreign = c_void_p(exec.value)
    assert fails("cuGraphAddEmptyNode", byref(c_void_p()), graph, byref(foreign), 1) == "CUDA_ERROR_INVALID_VALUE"
    """,
        tmp_path,
    )
    assert "the edges of a graph have a cycle" in errors and "a node of a graph depends on one that it lacks" in errors


RUNTIME = r"""
#include <stdio.h>
#include <string.h>
typedef struct { unsigned x, y, z; } dim3;
int cudaFuncGetAttributes(void *, const void *), cudaOccupancyMaxActiveClusters(int *, const void *, const void *), cudaMemsetAsync(void *, int, size_t, void *);
int cudaPointerGetAttributes(void *, const void *), cudaMallocPitch(void **, size_t *, size_t, size_t), cudaDeviceGetLimit(size_t *, int), cudaGraphCreate(void **, unsigned);
int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *), cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int), cudaGraphGetNodes(void *, void *, size_t *);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, const void *, int, size_t, unsigned), cudaMallocHost(void **, size_t);
int cudaMalloc(void **, size_t), cudaMemcpy(void *, const void *, size_t, int), cudaMemset(void *, int, size_t), cudaDeviceSynchronize(void);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int), cudaGetSymbolSize(size_t *, const void *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *), cudaGetLastError(void), cudaPeekAtLastError(void), cudaFree(void *);
int cudaStreamCreate(void **), cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **), cudaGraphInstantiate(void **, void *, unsigned long long), cudaGraphLaunch(void *, void *);
int cudaGetDeviceProperties(void *, int), cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
const char *cudaGetErrorString(int);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **), __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void **);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .f32 factor;\n"
  ".visible .entry scale(.param .u64 x) {\n.reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %rd<4>;\n"
  "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; ld.param.u64 %rd2, [x]; add.u64 %rd3, %rd2, %rd1;\n"
  "ld.const.f32 %f1, [factor]; ld.global.f32 %f2, [%rd3]; add.f32 %f2, %f2, %f1; st.global.f32 [%rd3], %f2; ret; }\n";
/* A fatbin as nvcc -no-compress makes it: a wrapper, a header, an entry of kind 1, PTX. */
struct { unsigned magic; unsigned short version, header; unsigned long long bytes;
         struct { unsigned short kind, version; unsigned header; unsigned long long bytes; unsigned compressed, options;
                  unsigned short minor, major; unsigned arch, name, length; unsigned long long flags, zero, size; } entry;
         char text[1024]; } fatbin = {0xBA55ED50, 1, 16, 0, {1, 1, 64, 1024, 0, 0, 0, 8, 80, 0, 0, 0, 0, 0}};
struct { unsigned magic, version; const void *data; void *name; } wrapper = {0x466243B1, 1, &fatbin, 0};
static char factor;
/* What nvcc makes of kernel<<<...>>>: the function on the host. */
static int scale(float *x) {
  dim3 grid, block; size_t shared; void *stream, *params[] = {&x};
  __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
  return cudaLaunchKernel((const void *)scale, grid, block, params, shared, stream);
}
int main(int argc, char **argv) {
  memcpy(fatbin.text, ptx, sizeof ptx);
  fatbin.bytes = 64 + 1024;
  fatbin.entry.flags = argc > 1 ? 0x2000 : 0;
  void **module = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(module, (const char *)scale, 0, "scale", -1, 0, 0, 0, 0, 0);
  __cudaRegisterVar(module, &factor, 0, "factor", 0, 4, 1, 0);
  __cudaRegisterFatBinaryEnd(module);
  char properties[1008];
  cudaGetDeviceProperties(properties, 0);
  printf("%s, %d SMs\n", properties, *(int *)(properties + 384));
  float *x, values[32], three = 3; size_t size = 0; dim3 one = {1, 1, 1}, warp = {32, 1, 1};
  void *stream, *graph, *exec, *entry; int status;
  cudaMalloc((void **)&x, sizeof values); cudaMemset(x, 0, sizeof values);
  if (cudaMemcpyToSymbol(&factor, &three, 4, 0, 1)) return printf("%s\n", cudaGetErrorString(cudaGetLastError())), cudaPeekAtLastError();
  cudaGetSymbolSize(&size, &factor);
  __cudaPushCallConfiguration(one, warp, 0, 0); scale(x);
  cudaStreamCreate(&stream); cudaStreamBeginCapture(stream, 0);
  __cudaPushCallConfiguration(one, warp, 0, stream); scale(x);
  cudaStreamEndCapture(stream, &graph); cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, stream); cudaGraphLaunch(exec, stream);
  cudaMemcpy(values, x, sizeof values, 2);
  status = cudaDeviceSynchronize();
  printf("%g %zu %d %d\n", values[31], size, status, cudaGetLastError());
  status = cudaFree(x + 1); /* No address of an allocation: an error that stays until somebody asks. */
  printf("%d %d", status, cudaPeekAtLastError());
  printf(" %d", cudaGetLastError());
  printf(" %d\n", cudaGetLastError());
  /* Nothing is nowhere, and copied from and to anywhere. */
  void *none = &one, *host = &one; status = cudaMalloc(&none, 0) | cudaMallocHost(&host, 0);
  printf("%d %d %d %d %d\n", status, !none, !host, cudaMemcpy(0, 0, 0, 1), cudaFree(none));
  struct { size_t shared, constant, local; int threads, registers, ptx, binary, cache, dynamic, others[24]; } of; int blocks, clusters;
  struct { dim3 grid, block; size_t shared; void *stream, *attributes; unsigned count; } config = {one, warp, 0, 0, 0, 0};
  status = cudaFuncGetAttributes(&of, (const void *)scale);
  printf("%d %d %d %d", status, of.threads, of.binary, of.dynamic);
  status = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)scale, 32, 0, 0);
  printf(" %d %d", status, blocks);
  status = cudaOccupancyMaxActiveClusters(&clusters, (const void *)scale, &config);
  printf(" %d %d %d\n", status, clusters, cudaFuncGetAttributes(&of, 0));
  cudaGetLastError();
  struct { int kind, device; void *on_device, *on_host; long reserved[8]; } where;
  cudaPointerGetAttributes(&where, x + 1); printf("%d %d %d %d", where.kind, where.device, where.on_device == x + 1, !where.on_host);
  cudaPointerGetAttributes(&where, &one); printf(" %d %d", where.kind, where.on_host == &one);
  size_t pitch = 0, nodes = 7; void *plane = 0, *empty = 0; status = cudaMallocPitch(&plane, &pitch, 100, 3);
  cudaMemcpy2DAsync(plane, pitch, values, 40, 40, 3, 1, stream); cudaMemcpy2D(values + 5, 8, plane, pitch, 8, 2, 2);
  cudaGraphCreate(&empty, 0); cudaGraphGetNodes(empty, 0, &nodes);
  printf(" %d %d %d %zu\n", status, pitch >= 100, cudaDeviceGetLimit(&size, 2), nodes);
  /* A fill belongs to the graph that is captured. */
  cudaStreamBeginCapture(stream, 0); cudaMemsetAsync(x, 0, sizeof values, stream);
  cudaStreamEndCapture(stream, &graph); cudaGraphInstantiate(&exec, graph, 0);
  cudaMemcpy(values, x, sizeof values, 2); printf("%g", values[31]);
  cudaGraphLaunch(exec, stream);
  cudaMemcpy(values, x, sizeof values, 2); printf(" %g\n", values[31]);
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, 0, &status);
  return !entry || status;
}
"""


@pytest.mark.skipif(not shutil.which("cc") or not (LIBRARY / "runtime" / "libcudart.so.13").exists(), reason="needs a C compiler and fa4-cudart")
def test_the_runtime(tmp_path):
    """A program as nvcc makes it runs on the stand-in: a module in the program, functions on the host that stand for
    kernels, and the runtime's library."""
    (tmp_path / "program.c").write_text(RUNTIME)
    folders = [LIBRARY / "runtime", LIBRARY]
    link = [*(f"-L{f}" for f in folders), "-l:libcudart.so.13", *(f"-Wl,-rpath,{f}" for f in folders)]
    subprocess.run(["cc", "-o", tmp_path / "program", tmp_path / "program.c", *link], check=True)
    done = subprocess.run([tmp_path / "program"], env={"FA4_DRIVER_CHIP": "sm_90a"}, capture_output=True, text=True)
    kernel = "0 1 1 0 0\n0 1024 90 49152 0 32 0 4224 1\n2 0 1 1 0 1 0 1 0 0\n9 0\n"
    assert done.stdout == "fa4-sim sm_90a, 132 SMs\n9 4 0 0\n1 1 1 0\n" + kernel and done.returncode == 0, done
    # Compressed PTX is not read.
    done = subprocess.run([tmp_path / "program", "compressed"], env={}, capture_output=True, text=True)
    assert done.stdout.endswith("device kernel image is invalid\n") and "whose PTX is compressed (nvcc -no-compress" in done.stderr
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY / "runtime" / "libcudart.so.13"], capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    assert not [name for name in names if not name.lstrip("_").startswith(("cuda", "libcudart"))]
