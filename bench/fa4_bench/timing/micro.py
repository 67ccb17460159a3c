# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The micro-benchmarks for sm_90a: rates and latencies of pipes, of shared memory, of barriers and of what
one role hands to another, of wgmma by shape and place of A, of bulk copies, of global memory."""

from fa4_bench.timing.kernel import INPUT, OUTPUT, Micro, entry, keep

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
    for order in (".release.cta", ".relaxed.cluster", ".release.cluster"):
        yield Micro(f"mbarrier.arrive{order} of the other CTA, there and back", entry(_PEER, _remote_turns(order), 4, meet), 4, 32, 2)


# A warp in each CTA: %r6 is the other one's mbarrier, and %p4 tells the first CTA.
_PEER = f"""{_mbarriers(32)}
  mov.u32 %r7, %cluster_ctarank; setp.eq.u32 %p4, %r7, 0; xor.b32 %r7, %r7, 1;
  mapa.shared::cluster.u32 %r6, %r5, %r7;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"""


def _remote_turns(order):
    """The first CTA arrives at the second one's mbarrier and waits for its own, the second one the other way round."""
    scope = "" if order == ".release.cta" else order  # Of a remote arrival it can only be left out.
    arrive = f"mbarrier.arrive{scope}.shared::cluster.b64 _, [%r6];"

    def turn(i):
        return f"  @%p4 {arrive}\n{_wait(f'{i}r')}\n  @!%p4 {arrive}\n  xor.b32 %r8, %r8, 1;"

    return turn


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


def _bulk_exchange(size, count):
    """A thread of each CTA sends `count` pieces of `size` bytes to the other one, waits for as many, and arrives there when it has
    them. Turns have two places for what is sent, and two mbarriers for each of both."""
    setup = f"""{_mbarriers(1)}
  @!%p1 mbarrier.init.shared.b64 [%r5+16], 1;
  @!%p1 mbarrier.init.shared.b64 [%r5+24], 1;
  fence.mbarrier_init.release.cluster;
  add.u32 %r10, %r5, 1024; mov.u32 %r11, %r10; mov.b32 %r9, 0;
$ZERO: st.shared.b32 [%r11], 0; add.u32 %r11, %r11, 4; add.u32 %r9, %r9, 4;
  setp.lt.u32 %p3, %r9, {size * count}; @%p3 bra $ZERO;
  fence.proxy.async.shared::cta;
  mov.u32 %r7, %cluster_ctarank; xor.b32 %r7, %r7, 1; add.u32 %r9, %r10, {size * count};
  mapa.shared::cluster.u32 %r6, %r5, %r7; mapa.shared::cluster.u32 %r9, %r9, %r7;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"""
    copy = "  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9+{0}], [%r10+{1}], {2}, [%r6+{3}];"

    def body(i):
        turn = i % 2
        pieces = (copy.format(size * (turn * count + j), size * j, size, 8 * turn) for j in range(count))
        free = _wait(f"{i}f", 16 + 8 * turn).replace("%r8", "%r12")
        return "\n".join([f"  xor.b32 %r12, %r8, 1;{free}", f"  @%p1 bra $ISSUED{i};",
                          f"  mbarrier.arrive.expect_tx.shared.b64 _, [%r5+{8 * turn}], {size * count};", *pieces,
                          f"$ISSUED{i}:" + _wait(i, 8 * turn), f"  @!%p1 mbarrier.arrive.shared::cluster.b64 _, [%r6+{16 + 8 * turn}];",
                          "  xor.b32 %r8, %r8, 1;" * turn, "  bar.warp.sync -1;"])  # fmt: skip

    return entry(setup, body, 2, "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;")


def copies():
    for size, count in ((16, 1), (1024, 1), (4096, 1), (12288, 1), (3072, 4), (6144, 2)):
        name = f"cp.async.bulk, {count} x {size} bytes to the other CTA, both ways"
        yield Micro(name, _bulk_exchange(size, count), 2, 32, 2)
    for size in (16, 512, 1024, 2048, 4096, 8192, 16384, 32768):
        yield Micro(f"cp.async.bulk, load of {size} bytes, latency, L2", _bulk_load(size, 1), 2)
    for size in (512, 2048, 4096):
        yield Micro(f"cp.async.bulk, 8 loads of {size} bytes, L2", _bulk_load(size, 8), 16)
    for size in (1024, 8192, 32768):
        yield Micro(f"cp.async.bulk, store of {size} bytes and its wait", _bulk_store(size), 2)


# ---------------------------------------------------------------------------
# All SMs at once
# ---------------------------------------------------------------------------

STAGE = 16384  # Two stages of this many bytes are under way, each as four copies.
SMS = 132


def _own_region(is_shared):
    """%rd2 and %rd4 become the CTA's own part of the input and of the output, or the first CTA's."""
    cta = "mov.u32 %r10, 0;" if is_shared else "mov.u32 %r10, %ctaid.x;"
    return f"""  {cta} mul.wide.u32 %rd5, %r10, {2 * STAGE};
  add.u64 %rd2, %rd2, %rd5; add.u64 %rd2, %rd2, {INPUT};
  add.u64 %rd4, %rd1, %rd5; add.u64 %rd4, %rd4, {OUTPUT};"""


def _issue_loads(stage, label):
    copies = "\n".join(f"  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6+{at}], [%rd2+{at}], {STAGE // 4}, [%r5+{8 * stage}];"
                       for at in range(stage * STAGE, (stage + 1) * STAGE, STAGE // 4))  # fmt: skip
    return f"""  @%p1 bra $ISSUED{label};
  mbarrier.arrive.expect_tx.shared.b64 _, [%r5+{8 * stage}], {STAGE};
{copies}
$ISSUED{label}:"""


def _chip_loads(is_shared):
    setup = "\n".join([_own_region(is_shared), _mbarriers(1), "  add.u32 %r6, %r5, 1024;", "  bar.warp.sync -1;",
                       _issue_loads(0, "A"), _issue_loads(1, "B")])  # fmt: skip

    def body(i):
        wait = _wait(f"{i}", 8 * i)
        flip = "  xor.b32 %r8, %r8, 1;" if i else ""
        return "\n".join([wait, "  bar.warp.sync -1;", _issue_loads(i, i), flip])

    return entry(setup, body, 2, behind=_wait("C") + _wait("D", 8))


def _chip_writes(operation, is_shared):
    fill = f"""  mov.u32 %r5, memory; setp.ne.u32 %p1, %r1, 0; mov.u32 %r8, %r5; mov.b32 %r9, 0;
$ZERO: st.shared.b32 [%r8], 0; add.u32 %r8, %r8, 4; add.u32 %r9, %r9, 4;
  setp.lt.u32 %p3, %r9, {2 * STAGE}; @%p3 bra $ZERO;
  fence.proxy.async.shared::cta;"""
    opcode = {"store": "cp.async.bulk.global.shared::cta.bulk_group",
              "add": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32"}[operation]  # fmt: skip
    # A store must be over before the next one to the same place.
    read = "" if operation == "store" else ".read"

    def body(i):
        writes = "\n".join(f"  {opcode} [%rd4+{at}], [%r5+{at}], {STAGE // 4};" for at in range(i * STAGE, (i + 1) * STAGE, STAGE // 4))
        return f"""  @%p1 bra $ISSUED{i};
{writes}
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group{read} 1;
$ISSUED{i}: bar.warp.sync -1;"""

    return entry(_own_region(is_shared) + "\n" + fill, body, 2, behind="  cp.async.bulk.wait_group 0;")


def all_sms():
    """Bytes that move between L2 and shared memory while that many SMs do the same: cycles of 1024 bytes of an SM."""
    for ctas, is_shared in ((1, False), (33, False), (66, False), (SMS, False), (SMS, True)):
        where = "the same addresses" if is_shared else "own addresses"
        options = dict(operations=2 * STAGE // 1024, ctas=ctas, bytes=2 * STAGE)
        yield Micro(f"cp.async.bulk, loads of 4096 bytes, {ctas} SMs, {where}, a KB", _chip_loads(is_shared), **options)
        if not is_shared:
            yield Micro(f"cp.async.bulk, stores of 4096 bytes, {ctas} SMs, {where}, a KB", _chip_writes("store", is_shared), **options)
        yield Micro(f"cp.reduce.async.bulk.add.f32 of 4096 bytes, {ctas} SMs, {where}, a KB", _chip_writes("add", is_shared), **options)


# ---------------------------------------------------------------------------
# Several units at once
# ---------------------------------------------------------------------------


SOFTMAX_SETUP = """  cvt.rn.f32.u32 %f300, %passes; mov.f32 %f301, 0f3F000000; mov.b32 %r300, 0;
""" + "\n".join(f"  cvt.rn.f32.u32 %f{i}, %r1;" for i in (*range(302, 306), *range(310, 342)))
SOFTMAX_RESULT = ["%f302", "%f303", "%f304", "%f305", "%r300"]


def _softmax():
    """What attention does with 32 scores: scale, exponential, sum, and pairs in bf16. The scores are others in each pass."""
    lines = []
    for i in range(32):
        lines += [f"  fma.rn.f32 %f{350 + i}, %f{310 + i}, %f300, %f301;", f"  ex2.approx.ftz.f32 %f{350 + i}, %f{350 + i};",
                  f"  add.f32 %f{302 + i % 4}, %f{302 + i % 4}, %f{350 + i};"]  # fmt: skip
        if i % 2:
            lines.append(f"  cvt.rn.bf16x2.f32 %r{310 + i}, %f{350 + i}, %f{349 + i}; xor.b32 %r300, %r300, %r{310 + i};")
    return "\n".join(lines + [f"  add.f32 %f{310 + i}, %f{310 + i}, %f300;" for i in range(32)])


def _products_beside(products, warpgroups, threads, setup, others, result=(), repeat=1):
    """Warpgroups that multiply (the kernel `products`, its body `repeat` times), beside threads behind them that execute `others`."""
    ptx = products.replace(f".maxntid {128 * warpgroups}", f".maxntid {128 * warpgroups + threads}")
    # All threads write the zeros.
    stride = 16 * (128 * warpgroups + threads)
    ptx = ptx.replace(f"%r8, %r8, {2048 * warpgroups};", f"%r8, %r8, {stride};").replace(f"%r9, %r9, {2048 * warpgroups};", f"%r9, %r9, {stride};")
    head, rest = ptx.split("$PASS:\n", 1)
    body, tail = rest.split("  sub.u32 %passes", 1)
    head = head.replace("  bar.sync 0;\n  mov.u64 %begin", f"{setup}\n  setp.ge.u32 %p4, %r1, {128 * warpgroups};\n  bar.sync 0;\n  mov.u64 %begin")
    tail = tail.replace("  mov.u64 %end, %clock64;\n", "  mov.u64 %end, %clock64;\n" + keep(result) + "\n")
    return f"{head}$PASS:\n  @%p4 bra $OTHERS;\n{body * repeat}  bra $BOTH;\n$OTHERS:\n{others}\n$BOTH:\n  sub.u32 %passes{tail}"


# Operations that another warp executes beside products, on four chains: their registers are not those of the accumulators.
BESIDE = {
    "fma.f32": ("%f", "fma.rn.f32 %f{d}, %f{d}, %f300, %f301;"),
    "max.f32": ("%f", "max.f32 %f{d}, %f{d}, %f{e};"),
    "ex2.approx.ftz.f32": ("%f", "ex2.approx.ftz.f32 %f{d}, %f{d};"),
    "cvt.rn.bf16x2.f32": ("%f", "cvt.rn.bf16x2.f32 %r310, %f{d}, %f300; mov.b32 %f{d}, %r310;"),
    "lop3.b32": ("%r", "lop3.b32 %r{d}, %r{d}, %r301, %r302, 0x96;"),
    "mad.lo.s32": ("%r", "mad.lo.s32 %r{d}, %r{d}, %r301, %r302;"),
}


def _operations_beside():
    """Single operations of a warp on each sub-partition beside a warpgroup's products, which are there all the time."""
    first, chains, count = 320, 4, 64
    registers = range(first, first + chains + 1)
    setup = f"{SOFTMAX_SETUP}\n  add.u32 %r301, %passes, 1; add.u32 %r302, %passes, 7;\n"
    setup += "\n".join(f"  add.u32 %r{i}, %r1, {i};" for i in registers)
    for name, (prefix, operation) in BESIDE.items():
        body = "\n".join("  " + operation.format(d=first + i % chains, e=first + 1 + i % chains) for i in range(count))
        for n in (64, 128):
            ptx = _products_beside(_wgmma(n, False, 8, 1, 1), 1, 128, setup, body, [f"{prefix}{i}" for i in registers], 2048 // n)
            yield Micro(f"{name}, 4 warps, beside wgmma m64n{n}k16, A in shared memory", ptx, count * 4, 256, is_rate=True, counted=(128, 256))


def _softmax_beside():
    """Softmax of one or two warps a sub-partition beside products, each long enough to be there all the time."""
    for n, in_registers in ((64, True), (128, False), (256, False)):
        where = "registers" if in_registers else "shared memory"
        shape = f"m64n{n}k16, A in {where}"
        for warps in (4,) if n == 256 else (4, 8):
            threads = 128 + 32 * warps
            products = _wgmma(n, in_registers, 8, 1, 1)
            ptx = _products_beside(products, 1, 32 * warps, SOFTMAX_SETUP, _softmax(), SOFTMAX_RESULT, 1024 // n)
            yield Micro(f"fma, ex2, add and half a cvt.bf16x2, {warps} warps, beside wgmma {shape}", ptx, 32 * warps, threads, is_rate=True,
                        counted=(128, threads))  # fmt: skip
            ptx = _products_beside(products, 1, 32 * warps, SOFTMAX_SETUP, "\n".join([_softmax()] * 3), SOFTMAX_RESULT)
            yield Micro(f"wgmma {shape}, interval, beside softmax of {warps} warps", ptx, 8, threads, counted=(0, 128))


def mixtures():
    for warps in (4, 8, 12):
        ptx = entry(SOFTMAX_SETUP, _softmax(), result=keep(SOFTMAX_RESULT))
        yield Micro(f"fma, ex2, add and half a cvt.bf16x2, {warps} warps", ptx, 32 * warps, 32 * warps, is_rate=True)
    for n in (64, 256):
        for count in (1, 4, 16):
            yield Micro(f"wgmma m64n{n}k16, issue of {count} without a wait", _wgmma_issue(n, count), 1, 128)
    for n in (64, 128):
        for count in (4, 16):
            name = f"wgmma m64n{n}k16, A in registers, issue of {count} without a wait"
            yield Micro(f"{name}", _wgmma_issue(n, count, True), 1, 128)
    yield from _softmax_beside()
    yield from _operations_beside()
    # The other warp lies behind two warpgroups, and its first lane copies into the second half of shared memory.
    barrier = """  mov.u32 %r13, memory; add.u32 %r13, %r13, 40960; setp.ne.u32 %p1, %r1, 256; mov.b32 %r14, 0;
  @!%p1 mbarrier.init.shared.b64 [%r13], 1;
  fence.mbarrier_init.release.cluster;"""
    for size in (0, 4096, 16384):
        copies = "\n".join(f"  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15+{at}], [%rd2], 4096, [%r13];" for at in range(0, size, 4096))
        others = f"""  @%p1 bra $COPIED;
  mov.u32 %r15, memory; add.u32 %r15, %r15, 20480;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r13], {size};
{copies}
$COPIED:
  bar.warp.sync -1;
$LANDED:
  mbarrier.try_wait.parity.shared.b64 %p5, [%r13], %r14;
  @!%p5 bra $LANDED;
  xor.b32 %r14, %r14, 1;"""
        ptx = _products_beside(_wgmma(128, False, 8, 1, 2), 2, 32, barrier, others)
        yield Micro(f"wgmma m64n128k16, A in shared memory, 16 products of 2 warpgroups beside a load of {size} bytes", ptx, 1, 288)


def _wgmma_issue(n, count, in_registers=False):
    """Cycles for which the issue of products takes a warpgroup, without the wait for them. A in registers is another one in each product."""
    ptx = _wgmma(n, in_registers, count, 0, 1)
    if in_registers:
        first, *others = ptx.split("{%r100, %r101, %r102, %r103}")
        fragments = ("{" + ", ".join(f"%r{100 + 4 * i + j}" for j in range(4)) + "}" for i in range(count))
        ptx = first + "".join(fragment + text for fragment, text in zip(fragments, others, strict=True))
        zeros = "".join(f"  mov.b32 %r{i}, %passes;\n" for i in range(100, 100 + 4 * count))
        ptx = ptx.replace("  bar.sync 0;\n", zeros + "  bar.sync 0;\n")
    ptx = ptx.replace("$PASS:\n", "  mov.b64 %rd20, 0;\n$PASS:\n  mov.u64 %rd21, %clock64;\n")
    ptx = ptx.replace("  wgmma.wait_group.sync.aligned 0;", "  mov.u64 %rd22, %clock64; sub.u64 %rd22, %rd22, %rd21; add.u64 %rd20, %rd20, %rd22;\n"
                      "  wgmma.wait_group.sync.aligned 0;", 1)  # fmt: skip
    return ptx.replace("  mov.u64 %end, %clock64;", "  add.u64 %end, %begin, %rd20;")


FAMILIES = (pipes, shared_memory, global_memory, fences, named_barriers, mbarriers, clusters, wgmma, copies, all_sms, mixtures)


def micros():
    """All of them, by family."""
    return [micro for family in FAMILIES for micro in family()]
