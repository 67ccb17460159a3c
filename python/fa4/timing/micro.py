# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The micro-benchmarks for sm_90a: rates and latencies of pipes, of shared memory, of barriers and of what
one role hands to another, of wgmma by shape and place of A, of bulk copies, of global memory."""

from fa4.timing.kernel import OUTPUT, Micro, entry, keep

# ---------------------------------------------------------------------------
# Pipes
# ---------------------------------------------------------------------------

# An operation on the register {d} whose result is in {d}: on floats %f, with %f1 and %f2, and on integers %r,
# with %r3 and %r4. Two operations where one alone is simplified.
FLOATS = {
    "fma.f32": "fma.rn.f32 %f{d}, %f{d}, %f1, %f2;",
    "add.f32": "add.f32 %f{d}, %f{d}, %f1;",
    "max.f32": "max.f32 %f{d}, %f{d}, %f{e};",
    "ex2.approx.ftz.f32": "ex2.approx.ftz.f32 %f{d}, %f{d};",
    "lg2.approx.ftz.f32": "lg2.approx.ftz.f32 %f{d}, %f{d};",
    "tanh.approx.f32": "tanh.approx.f32 %f{d}, %f{d};",
    "rcp.approx.ftz.f32 and add.f32": "rcp.approx.ftz.f32 %f{d}, %f{d}; add.f32 %f{d}, %f{d}, %f1;",
    "setp.f32 and selp.f32": "setp.gt.f32 %p2, %f{d}, %f1; selp.f32 %f{d}, %f2, %f{d}, %p2;",
    "cvt.rn.bf16x2.f32": "cvt.rn.bf16x2.f32 %r{d}, %f{d}, %f1; mov.b32 %f{d}, %r{d};",
}
INTEGERS = {
    "add.s32": "add.s32 %r{d}, %r{d}, %r3;",
    "mad.lo.s32": "mad.lo.s32 %r{d}, %r{d}, %r3, %r4;",
    "lop3.b32": "lop3.b32 %r{d}, %r{d}, %r3, %r4, 0x96;",
    "shf.l.b32": "shf.l.wrap.b32 %r{d}, %r{d}, %r3, %r4;",
    "prmt.b32": "prmt.b32 %r{d}, %r{d}, %r3, %r4;",
    "fma.rn.bf16x2": "fma.rn.bf16x2 %r{d}, %r{d}, %r3, %r4;",
    "shfl.sync.bfly.b32": "shfl.sync.bfly.b32 %r{d}, %r{d}, 1, 31, -1;",
}
OPERANDS = """  cvt.rn.f32.u32 %f1, %passes; mov.f32 %f2, 0f3F000000;
  add.u32 %r3, %passes, 1; add.u32 %r4, %passes, 7;"""


def _chains(operation, prefix, chains, length):
    """`length` operations in that many dependent chains, taking turns."""
    registers = range(10, 10 + chains + 1)
    start = "cvt.rn.f32.u32 %f{0}, %r1;" if prefix == "%f" else "add.u32 %r{0}, %r1, {0};"
    setup = OPERANDS + "\n" + "\n".join("  " + start.format(r) for r in registers)
    body = "\n".join("  " + operation.format(d=10 + i % chains, e=11 + i % chains) for i in range(length))
    return entry(setup, body, result=keep(f"{prefix}{r}" for r in registers))


def pipes():
    for prefix, table in (("%f", FLOATS), ("%r", INTEGERS)):
        for name, operation in table.items():
            yield Micro(f"{name}, latency", _chains(operation, prefix, 1, 32), 32)
            for warps in (4, 8, 16):
                ptx = _chains(operation, prefix, 8, 64)
                yield Micro(f"{name}, {warps} warps", ptx, 64 * warps, 32 * warps, is_rate=True)


# ---------------------------------------------------------------------------
# Memory that a thread reads and writes
# ---------------------------------------------------------------------------


def _vector(first, words):
    return f"%r{first}" if words == 1 else "{" + ", ".join(f"%r{first + i}" for i in range(words)) + "}"


def shared_memory():
    """Each lane at an address of its own, without conflicts of banks."""
    chase = "  ld.shared.b32 %r5, [%r5];"
    setup = "  mov.u32 %r5, memory; st.shared.b32 [%r5], %r5;"
    yield Micro("ld.shared.b32, latency", entry(setup, chase, 16, result=keep(["%r5"])), 16)
    for words in (1, 2, 4):
        kind = "b32" if words == 1 else f"v{words}.b32"
        zeros = "\n".join(f"  mov.b32 %r{20 + i}, 0;" for i in range(words))
        setup = f"{zeros}\n  mov.b32 %r400, 0; mov.u32 %r5, memory; mad.lo.u32 %r5, %r1, {4 * words}, %r5;\n"
        setup += f"  st.shared.{kind} [%r5], {_vector(20, words)};"

        def load(i, words=words, kind=kind):
            if i < 16:
                return f"  ld.volatile.shared.{kind} {_vector(20 + words * i, words)}, [%r5];"
            return f"  add.u32 %r400, %r400, %r{20 + words * (i - 16)};"

        store = f"  st.volatile.shared.{kind} [%r5], {_vector(20, words)};"
        for warps in (4, 8):
            threads, count = 32 * warps, 16 * warps
            ptx = entry(setup, load, 32, result=keep(["%r400"]))
            yield Micro(f"ld.shared.{kind}, {warps} warps", ptx, count, threads, is_rate=True)
            yield Micro(f"st.shared.{kind}, {warps} warps", entry(setup, store, 16), count, threads, is_rate=True)


def global_memory():
    for cache, where in (("cg", "L2"), ("ca", "L1")):
        chase = f"  ld.global.{cache}.u64 %rd5, [%rd4]; add.u64 %rd4, %rd4, %rd5;"
        ptx = entry("  add.u64 %rd4, %rd2, 1024;", chase, 8, result="  cvt.u32.u64 %r6, %rd4;\n" + keep(["%r6"]))
        yield Micro(f"ld.global.{cache}.u64, latency, {where}", ptx, 8)
    place = f"  mov.f32 %f1, 0f3F800000; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd4, %rd4, %rd1; add.u64 %rd4, %rd4, {OUTPUT - 65536};"
    yield Micro("red.global.add.f32, a warp", entry(place, "  red.global.add.f32 [%rd4], %f1;", 8), 8)


# ---------------------------------------------------------------------------
# Barriers
# ---------------------------------------------------------------------------


def fences():
    for name in ("bar.warp.sync -1", "fence.proxy.async.shared::cta", "membar.cta"):
        yield Micro(name.split(" ")[0], entry("", f"  {name};", 8), 8)
    both = "  st.shared.b32 [%r5], %r5; fence.proxy.async.shared::cta;"
    yield Micro("st.shared.b32 and fence.proxy.async.shared::cta", entry("  mov.u32 %r5, memory;", both, 8), 8)
    registers = "  setmaxnreg.dec.sync.aligned.u32 104; setmaxnreg.inc.sync.aligned.u32 128;"
    ptx = entry("", registers, 4, attributes=".maxntid 128 .maxnreg 128")
    yield Micro("setmaxnreg.dec and .inc", ptx, 4, 128)


def named_barriers():
    for threads in (32, 64, 128, 256, 384, 512):
        yield Micro(f"bar.sync, {threads} threads", entry("", "  bar.sync 1;", 8), 8, threads)
    for half in (32, 128):
        turns = (f"bar.arrive 2, {2 * half}; bar.sync 3, {2 * half};", f"bar.sync 2, {2 * half}; bar.arrive 3, {2 * half};")
        ptx = entry("", lambda i, turns=turns, half=half: _halves(i, half, *turns), 2)
        yield Micro(f"bar.arrive and bar.sync, there and back, 2 x {half} threads", ptx, 2, 2 * half)


def _halves(number, half, first, second):
    """The first `half` threads execute `first`, the others `second`."""
    return f"""  setp.ge.u32 %p3, %r1, {half};
  @%p3 bra $SECOND{number};
  {first}
  bra $MEET{number};
$SECOND{number}:
  {second}
$MEET{number}:"""


def _mbarriers(arrivals):
    return f"""  mov.u32 %r5, memory; setp.ne.u32 %p1, %r1, 0; mov.b32 %r8, 0;
  @!%p1 mbarrier.init.shared.b64 [%r5], {arrivals};
  @!%p1 mbarrier.init.shared.b64 [%r5+8], {arrivals};
  fence.mbarrier_init.release.cluster;"""


def _wait(label, offset=0):
    return f"""
$WAIT{label}:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r5+{offset}], %r8;
  @!%p2 bra $WAIT{label};"""


def mbarriers():
    arrive, flip = "  mbarrier.arrive.shared.b64 _, [%r5+{0}];", "  xor.b32 %r8, %r8, 1;"
    yield Micro("mbarrier.arrive, issue", entry(_mbarriers(1000000), arrive.format(0), 8), 8)
    own = lambda i: f"{arrive.format(0)}{_wait(i)}\n{flip}"  # noqa: E731
    yield Micro("mbarrier.arrive and try_wait of a warp", entry(_mbarriers(32), own, 4), 4)
    for half in (32, 128):

        def turn(i, half=half):
            there = arrive.format(0) + _wait(f"{i}a", 8)
            back = _wait(f"{i}b").lstrip("\n") + "\n" + arrive.format(8)
            return _halves(i, half, there, back) + "\n" + flip

        yield Micro(f"mbarrier, there and back, 2 x {half} threads", entry(_mbarriers(half), turn, 2), 2, 2 * half)


def clusters():
    for ctas in (2, 4, 8):
        for order in ("", ".relaxed"):
            body = f"  barrier.cluster.arrive{order}.aligned; barrier.cluster.wait.aligned;"
            yield Micro(f"barrier.cluster.arrive{order} and wait, {ctas} CTAs", entry("", body, 4), 4, 128, ctas)
    meet = "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    setup = f"""  mov.u32 %r5, memory; mov.u32 %r7, %cluster_ctarank; xor.b32 %r7, %r7, 1;
  mapa.shared::cluster.u32 %r6, %r5, %r7; st.shared.b32 [%r5], 0;
{meet}"""
    chase = "  ld.shared::cluster.b32 %r9, [%r6]; add.u32 %r6, %r6, %r9;"
    yield Micro("ld.shared::cluster.b32, latency", entry(setup, chase, 8, meet, keep(["%r6"])), 8, 32, 2)


# ---------------------------------------------------------------------------
# Tensor cores
# ---------------------------------------------------------------------------


def _wgmma(n, in_registers, count, pending, warpgroups):
    """Groups of `count` products m64nNk16 of bf16 on zeros, of which `pending` may be open."""
    accumulator = "{" + ", ".join(f"%f{i}" for i in range(n // 2)) + "}"
    a, layout = ("{%r100, %r101, %r102, %r103}", ", 0") if in_registers else ("%rd10", ", 0, 0")
    product = f"  wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 {accumulator}, {a}, %rd11, 1, 1, 1{layout};"
    body = "\n".join(["  wgmma.fence.sync.aligned;", *[product] * count, "  wgmma.commit_group.sync.aligned;",
                      f"  wgmma.wait_group.sync.aligned {pending};"])  # fmt: skip
    # A descriptor of a matrix with swizzled rows of 128 bytes, groups of 8 of which are 1024 bytes apart.
    setup = "\n".join(["  mov.u32 %r5, memory; shr.u32 %r5, %r5, 4; and.b32 %r5, %r5, 0x3fff; cvt.u64.u32 %rd10, %r5;",
                       "  mov.u64 %rd12, 0x4000004000010000; or.b64 %rd10, %rd10, %rd12; mov.b64 %rd11, %rd10;",
                       "  mov.b32 %r7, 0; mov.u32 %r8, memory; mad.lo.u32 %r8, %r1, 16, %r8; mov.b32 %r9, 0;",
                       "$ZERO: st.shared.v4.b32 [%r8], {%r7, %r7, %r7, %r7};",
                       f"  add.u32 %r8, %r8, {2048 * warpgroups}; add.u32 %r9, %r9, {2048 * warpgroups};",
                       "  setp.lt.u32 %p3, %r9, 40960; @%p3 bra $ZERO;",
                       "  fence.proxy.async.shared::cta;",
                       *(f"  mov.f32 %f{i}, 0f00000000;" for i in range(n // 2)),
                       *(f"  mov.b32 %r{i}, 0;" for i in range(100, 104))])  # fmt: skip
    attributes = f".maxntid {128 * warpgroups} .minnctapersm 1"
    return entry(setup, body, behind="  wgmma.wait_group.sync.aligned 0;", attributes=attributes,
                 result=keep(f"%f{i}" for i in range(n // 2)))  # fmt: skip


def wgmma():
    for n in (8, 16, 32, 64, 96, 128, 192, 256):
        for in_registers in (False, True):
            name = f"wgmma m64n{n}k16, A in {'registers' if in_registers else 'shared memory'}"
            yield Micro(f"{name}, one and its wait", _wgmma(n, in_registers, 1, 0, 1), 1, 128)
            # ptxas serialises products whose accumulators, A and their copies are more registers than there are.
            for warpgroups in (1, 2):
                if n // 2 * (2 if in_registers else 1) <= (180 if warpgroups == 1 else 100):
                    ptx = _wgmma(n, in_registers, 8, 1, warpgroups)
                    yield Micro(f"{name}, interval, {warpgroups} warpgroups", ptx, 8 * warpgroups, 128 * warpgroups)


# ---------------------------------------------------------------------------
# Copies
# ---------------------------------------------------------------------------


def _bulk_load(size, count):
    copy = "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6+{0}], [%rd2], {1}, [%r5];"

    def body(i):
        return "\n".join([f"  @%p1 bra $ISSUED{i};", f"  mbarrier.arrive.expect_tx.shared.b64 _, [%r5], {size * count};",
                          *(copy.format(size * j, size) for j in range(count)), f"$ISSUED{i}:" + _wait(i), "  xor.b32 %r8, %r8, 1; bar.warp.sync -1;"])  # fmt: skip

    return entry(_mbarriers(1) + "\n  add.u32 %r6, %r5, 1024;", body, 2)


def _bulk_store(size):
    setup = f"""  mov.u32 %r5, memory; setp.ne.u32 %p1, %r1, 0; add.u64 %rd4, %rd1, {OUTPUT - 65536};
  mov.u32 %r8, %r5; mov.b32 %r9, 0;
$ZERO: st.shared.b32 [%r8], 0; add.u32 %r8, %r8, 4; add.u32 %r9, %r9, 4;
  setp.lt.u32 %p3, %r9, {size}; @%p3 bra $ZERO;
  fence.proxy.async.shared::cta;"""

    def body(i):
        return f"""  @%p1 bra $STORED{i};
  cp.async.bulk.global.shared::cta.bulk_group [%rd4], [%r5], {size};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
$STORED{i}: bar.warp.sync -1;"""

    return entry(setup, body, 2)


def copies():
    for size in (16, 512, 1024, 2048, 4096, 8192, 16384, 32768):
        yield Micro(f"cp.async.bulk, load of {size} bytes, latency, L2", _bulk_load(size, 1), 2)
    for size in (512, 2048, 4096):
        yield Micro(f"cp.async.bulk, 8 loads of {size} bytes, L2", _bulk_load(size, 8), 16)
    for size in (1024, 8192, 32768):
        yield Micro(f"cp.async.bulk, store of {size} bytes and its wait", _bulk_store(size), 2)


FAMILIES = (pipes, shared_memory, global_memory, fences, named_barriers, mbarriers, clusters, wgmma, copies)


def micros():
    """All of them, by family."""
    return [micro for family in FAMILIES for micro in family()]
