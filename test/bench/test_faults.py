# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults in PTX and in the NVVM dialect, and the reasons why some are none."""

import importlib.machinery
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from fa4_testing.mutation import equivalents, faults, ir_faults, machine_code

ROOT = Path(__file__).resolve().parents[2]

PTX = """\
	mov.b32 	%r9, 1;
	mbarrier.init.shared.b64 	[memory+64], %r9;
	fence.mbarrier_init.release.cluster;
	bar.sync 	0;
	mbarrier.arrive.expect_tx.shared.b64 %rd1, [memory+64], %r4;
	cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [memory+1024], [%rd6, {%r1, %r2}], [memory+64];
$L__BB0_1:
	mov.b32 	%r5, 0;
	mbarrier.try_wait.parity.shared.b64 %p1, [memory+64], %r5;
	not.pred 	%p2, %p1;
	@%p2 bra 	$L__BB0_1;
	tcgen05.fence::after_thread_sync;
	tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r10, %r11}, [%r3];
	tcgen05.wait::ld.sync.aligned;
	add.s32 	%r12, %r10, %r11;
	@%p3 mbarrier.arrive.shared.b64 %rd2, [%rd9+72];
	setmaxnreg.inc.sync.aligned.u32 	192;
	ret;
	wgmma.fence.sync.aligned;
	wgmma.wait_group.sync.aligned 	1;""".split("\n")


def of(operator, line=None, lines=PTX):
    return [f for f in faults.faults_of(lines, (operator,)) if line in (None, f.line)]


def edited(operator, line):
    """The lines of the kernel that are new, without the space around them."""
    changed = [
        [text.strip() for text in fault.apply(PTX)[line - 1].split("\n")] for fault in of(operator, line)
    ]
    return changed


def test_units():
    """PTX is split into units that faults change: each must have its lines, its guard and whether it is a wait."""
    units = {unit.line: unit for unit in faults.units_of(PTX)}
    assert sorted(units) == [2, 3, 4, 5, 6, 9, 12, 13, 14, 16, 17, 19, 20]
    assert (units[9].first, units[9].last) == (7, 11) and units[9].is_wait
    assert units[16].guard.strip() == "@%p3"


@pytest.mark.parametrize("operator, line, expected", [
    ("delete", 3, [""]),
    ("delete", 9, ["setp.eq.u32 %p1, 0, 0;"]),
    ("parity", 9, ["{ .reg .b32 fa4_fault; xor.b32 fa4_fault, %r5, 1; "
                   "mbarrier.try_wait.parity.shared.b64 %p1, [memory+64], fa4_fault; }"]),
    ("half", 5, ["{ .reg .b32 fa4_fault; shr.u32 fa4_fault, %r4, 1; "
                 "mbarrier.arrive.expect_tx.shared.b64 %rd1, [memory+64], fa4_fault; }"]),
    ("plain", 5, ["mbarrier.arrive.shared.b64 %rd1, [memory+64];"]),
    ("stage", 6, ["cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes "
                  "[memory+17408], [%rd6, {%r1, %r2}], [memory+64];"]),
    ("count", 16, ["@%p3 mbarrier.arrive.shared.b64 %rd2, [%rd9+72], 2;"]),
    ("delete", 19, [""]),
    ("pending", 20, ["wgmma.wait_group.sync.aligned 2;"]),
    ("kind", 14, ["tcgen05.wait::st.sync.aligned ;"]),
])  # fmt: skip
def test_edits(operator, line, expected):
    """A fault of each kind is applied to a line of PTX: the line must become the expected text."""
    assert edited(operator, line) == [expected]


def test_barriers_beside():
    """The faults that change a barrier, a register budget or a count must have the expected variants."""
    assert [text[0].rsplit(" ", 1)[1] for text in edited("barrier", 16)] == ["[%rd9+80];", "[%rd9+64];"]
    assert [f.detail for f in of("registers", 17)] == ["-8", "+8", "+64", "-64"]
    assert [f.detail for f in of("count", 2)] == ["more", "less"]


def test_duplicate_of_a_wait_has_its_own_label():
    """A wait is duplicated: the copy must loop to a label of its own."""
    text = "\n".join(of("duplicate", 9)[0].apply(PTX))
    assert text.count("$L__BB0_1:") == text.count("$L__BB0_1_again:") == 1
    assert text.count("bra 	$L__BB0_1_again;") == 1 and text.count("try_wait") == 2


TURNS = """	griddepcontrol.wait;
$L__BB0_1:
	ld.acquire.gpu.global.b32 	%r1, [%rd1];
	setp.ne.b32 	%p1, %r1, %r2;
	@%p1 bra 	$L__BB0_1;
	cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group [%rd2, {%r3, %r4, %r5, %r6}], [memory];
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 	0;
	red.release.gpu.global.add.u32 [%rd1], %r7;
	ret;""".split("\n")


def test_turns():
    """The deletion of a wait for a turn deletes its loop, too, so that the wait reads once. Turns, reductions and the
    wait for the launch in front have faults like any other synchronisation."""
    units = {unit.line: unit for unit in faults.units_of(TURNS)}
    assert sorted(units) == [1, 3, 6, 7, 8, 9] and (units[3].first, units[3].last) == (2, 5)
    assert {fault.line for fault in of("delete", lines=TURNS)} == {1, 3, 6, 7, 8, 9}
    without = of("delete", 3, TURNS)[0].apply(TURNS)
    assert without[2] == TURNS[2] and without[4] == ""
    kinds = [f.apply(TURNS)[f.line - 1].split()[0] for f in of("kind", lines=TURNS)]
    assert kinds == [
        "ld.relaxed.gpu.global.b32", "ld.acquire.cta.global.b32", "cp.async.bulk.wait_group.read",
        "red.relaxed.gpu.global.add.u32", "red.release.cta.global.add.u32",
    ]  # fmt: skip
    assert "ld.acquire" in "\n".join(of("later", 3, TURNS)[0].edits.values())
    assert "until the tile itself passes it on" in reason("duplicate", 3, TURNS)
    assert "the launch in front, twice" in reason("duplicate", 1, TURNS)
    for operator, line in (("delete", 3), ("delete", 1), ("kind", 3), ("kind", 9), ("duplicate", 6), ("duplicate", 9)):
        assert reason(operator, line, TURNS) is None


def test_fence_that_orders_nothing():
    """A fence behind a wait orders nothing if the wait has nothing to bring (its phase is the one before the first) or
    if another wait has brought it: its deletion must be explained. A fence behind any other wait must not be."""
    commit = "	tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 	[memory+80];"
    for parity, words in ((1, "nobody has signalled yet"), (0, None)):
        changed = [commit, *(line.replace("%r5;", f"{parity};") if "try_wait" in line else line for line in PTX)]
        said = reason("delete", 13, changed)
        assert said is None if words is None else words in said
    context = equivalents.Context(changed)
    context.redundant = {10}
    assert "the fences of those have ordered it" in equivalents.reason(of("delete", 13, changed)[0], context)
    assert "in the other order" in reason("later", 1, ["	griddepcontrol.wait;", "	bar.sync 	0;", *TURNS[1:]])


def test_moves():
    """A fault that moves a wait moves its loop, too. Nothing may move over a change of its operands, over a use of its
    results, or out of its block."""
    later = {fault.line: fault for fault in of("later")}
    text = [line.strip() for line in "\n".join(later[9].apply(PTX)).split("\n") if line.strip()]
    place = text.index("tcgen05.fence::after_thread_sync;")
    assert text[place + 1] == "$L__BB0_1:" and text[place + 5].startswith("@%p2 bra")
    assert later[4].detail == "behind mbarrier.arrive.expect_tx.shared.b64"
    # The wait of a load cannot follow what is guarded by nothing; the arrival
    # has nothing behind it.
    assert 16 not in later
    changed = [*PTX[:14], "	mov.b64 	%rd9, 0;", *PTX[14:]]
    assert not [f for f in faults.faults_of(changed, ("earlier",)) if f.line == 17]
    assert [f for f in faults.faults_of(PTX, ("earlier",)) if f.line == 16]


def test_basic_faults():
    """Basic faults must change synchronisation only, not a copy or a register budget."""
    found = {(fault.line, fault.operator, fault.detail) for fault in faults.basic_faults_of(PTX)}
    assert (2, "count", "more") in found and (2, "count", "less") not in found
    # A copy and a register budget are no synchronisation.
    assert not {6, 17} & {line for line, _, _ in found}


# ---------------------------------------------------------------------------
# Reasons
# ---------------------------------------------------------------------------


def reason(operator, line, lines=PTX, **facts):
    fault = of(operator, line, lines)[0]
    return equivalents.reason(fault, equivalents.Context(lines), **facts)


def test_reasons():
    """A fault that changes no behaviour must have the right reason, a fault that does must have none."""
    assert reason("delete", 14).startswith("all registers that the load defines are read")
    assert "a wait done twice" in reason("duplicate", 9)
    assert reason("delete", 3).startswith("fence.mbarrier_init")
    assert reason("delete", 5, executed=False) == "never executed"
    # Half the bytes, another phase: there is no reason.
    for operator, line in (("half", 5), ("parity", 9), ("count", 2), ("barrier", 9)):
        assert reason(operator, line) is None


def test_fence_behind_a_fence():
    """The second of two fences has nothing to order, so its deletion is explained. It is not if an instruction between
    them begins an access, or waits for other threads' accesses."""
    fence = "	tcgen05.fence::before_thread_sync;"
    arrival = "	mbarrier.arrive.shared.b64 %rd2, [%rd9+80];"
    twice = [*PTX[:14], fence, arrival, fence, *PTX[14:]]
    for operator in ("delete", "later", "kind"):
        assert reason(operator, 17, twice).startswith("another tcgen05.fence::before_thread_sync comes before it")
        assert reason(operator, 15, twice) is None
    assert reason("delete", 18, [*twice[:16], "	mapa.shared::cluster.u64 	%rd5, %rd6, 0;", *twice[16:]]).startswith("another")
    for between in (PTX[12], "	bar.sync 	0;", "	tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3], {%r10};"):
        assert reason("delete", 17, [*PTX[:14], fence, between, fence, *PTX[14:]]) is None
    assert reason("delete", 17, [*PTX[:14], "	@%p3" + fence, arrival, fence, *PTX[14:]]) is None


def test_wait_for_the_last_stores():
    """Nobody reads the data of the last stores behind the wait for them, so its deletion is explained. It is not if an
    instruction reads global memory, or tells others that they may read."""
    wait = "	cp.async.bulk.wait_group 	0;"
    end = [*PTX[:16], wait, "	ld.shared.b32 	%r8, [%rd9];", "	ret;"]
    assert "nobody reads that before the grid's end" in reason("kind", 17, end)
    for reader in ("ld.global.b32 	%r8, [%rd9];", "mbarrier.arrive.shared.b64 %rd2, [%rd9+80];"):
        assert reason("kind", 17, [*end[:18], f"	{reader}", *end[18:]]) is None


def test_wait_for_stores_that_have_been_read():
    """A wait only for the reads of stores lets their source be overwritten. It suffices if nobody reads the stored data
    before the grid's end."""
    end = [
        "	cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [memory];",
        "	cp.async.bulk.commit_group;", "	cp.async.bulk.wait_group.read 	0;", "	cp.async.bulk.wait_group 	0;", "	ret;",
    ]  # fmt: skip
    said = "behind waits for what they have read"
    assert said in reason("delete", 4, end)
    assert not reason("delete", 4, [*end[:2], "	bar.warp.sync -1;", *end[3:]]), "not read"
    assert not reason("delete", 4, [*end[:2], end[2].replace("0;", "1;"), *end[3:]]), "one group may not be read"
    assert not reason("delete", 4, [*end[:4], "	mbarrier.arrive.shared.b64 %rd2, [memory+80];", "	ret;"]), "others may read"


# The lanes' role has a loop that no call goes around in front of another one, in each work tile; the other role reads all
# values but the first.
UNREAD = """	mbarrier.init.shared.b64 	[memory+64], %r9;
$L__BB0_1:
$L__BB0_2:
	tcgen05.wait::ld.sync.aligned;
	mbarrier.arrive.shared.b64 %rd1, [memory+64];
	@%p1 bra 	$L__BB0_2;
$L__BB0_3:
	mbarrier.arrive.shared.b64 %rd1, [memory+64];
	@%p2 bra 	$L__BB0_3;
	@%p3 bra 	$L__BB0_1;
	ret;
$L__BB0_4:
$L__BB0_5:
	mbarrier.try_wait.parity.shared.b64 %p4, [memory+64], %r1;
	@!%p4 bra 	$L__BB0_5;
	mov.b32 	%r3, 0;
	mbarrier.arrive.shared.b64 %rd2, [memory+72];
	@%p5 bra 	$L__BB0_4;
	ret;""".split("\n")


def test_arrival_for_a_value_that_nobody_reads():
    """An arrival moves in front of the wait for a load: the fault must be explained only if nobody reads the loaded
    value there."""

    def around(line, lines=UNREAD):
        context = equivalents.Context(lines)
        fault = faults.Fault(line, "earlier", "before tcgen05.wait::ld.sync.aligned", lines[line - 1], {})
        edges = equivalents.edges_around(fault, context)
        context.over.update([line] if edges else [])
        said = equivalents.reason(fault, context) or ""
        assert ("for a value that nobody reads" in said) == bool(edges)
        return edges

    # Not the branch around both loops, which begins another work tile.
    assert around(5) == [6]
    assert not around(8), "not the first of a work tile"
    read = [line.replace("mov.b32 	%r3, 0", "ld.shared.b32 	%r3, [%rd3]") for line in UNREAD]
    assert not around(5, read)
    fault = faults.Fault(5, "earlier", "before tcgen05.wait::ld.sync.aligned", UNREAD[4], {})
    assert not equivalents.reason(fault, equivalents.Context(UNREAD)), "a call may go around the loop"


REQUESTS = """	mbarrier.init.shared.b64 	[memory+64], %r9;
$L__BB0_1:
$L__BB0_2:
	mbarrier.try_wait.parity.shared.b64 %p1, [memory+72], %r1;
	@!%p1 bra 	$L__BB0_2;
	clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [memory+32], [memory+64];
	ld.shared.v2.b64 	{%rd1, %rd2}, [memory+32];
	fence.proxy.async.shared::cta;
	mbarrier.arrive.shared.b64 %rd3, [memory+72];
	@%p2 bra 	$L__BB0_1;
	ret;""".split("\n")


def test_fence_of_who_requests():
    """A fence of the role that requests work moves over an arrival for which only its own thread waits: this is
    explained. It is not if another role waits for the arrival, too."""
    said = "in front of that anyway"
    assert said in reason("later", 8, REQUESTS)
    assert said in reason("earlier", 10, [*REQUESTS[:8], "	shr.u32 	%r2, %r3, 1;", *REQUESTS[8:]])
    waiting = ["$L__BB0_3:", REQUESTS[3].replace("%p1", "%p3"), "	@!%p3 bra 	$L__BB0_3;", "	ret;"]
    assert said not in (reason("later", 8, [*REQUESTS, *waiting]) or ""), "another role waits, too"
    elsewhere = [*REQUESTS[:8], REQUESTS[8].replace("72", "80"), *REQUESTS[9:]]
    assert said not in (reason("later", 8, elsewhere) or ""), "an arrival for others"


def test_moved_over_what_orders_as_much():
    """Three moves change nothing, so they are explained: of a fence over another fence, of a fence over an MMA that
    reads only shared memory, and of a turn over a wait for nothing."""
    fences = ["	fence.proxy.async.shared::cta;", "	tcgen05.fence::before_thread_sync;", "	ret;"]
    assert "two fences in the other order" in reason("later", 1, fences)
    mma = "	tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd1, %rd2, %r4, %p1;"
    fence = [mma, "	tcgen05.fence::after_thread_sync;", mma, mma, "	ret;"]
    assert "operands in shared memory" in reason("later", 2, fence)
    assert not reason("later", 2, [*fence[:2], mma.replace("%rd1", "[%r5]"), "	ret;"])
    turn = ["	cp.async.bulk.wait_group 	1;", "	red.release.gpu.global.add.u32 [%rd1], %r7;", "	cp.async.bulk.wait_group.read 	1;", "	ret;"]
    unread = [turn[0].replace("1;", "2;"), *turn[1:]]
    later = of("later", 2, turn)[0]
    earlier = faults.Fault(3, "earlier", "before red.release.gpu.global.add.u32", "", {})
    for fault in (later, earlier):
        assert "the end of the same stores" in equivalents.reason(fault, equivalents.Context(turn))
        assert "it is passed on later" in equivalents.reason(fault, equivalents.Context(unread))


def test_wait_before_the_last_release():
    """A wait for the reads of stores stands in front of the last release. Its deletion is explained only if no role
    acquires the stage behind that release."""
    end = ["	cp.async.bulk.wait_group.read 	0;", "	mbarrier.arrive.shared.b64 	%rd1, [%rd2+80];", "	ret;"]
    for operator in ("delete", "later"):
        assert "behind which nobody acquires" in reason(operator, 1, end, unawaited=True)
        assert reason(operator, 1, end) is None
    loop = ["$L__BB0_1:", *end[:2], "	@%p1 bra 	$L__BB0_1;", "	ret;"]
    assert equivalents.release_behind(2, equivalents.Context(loop)) is None


def test_end_of_a_pair():
    """Two faults at the end of a pair's kernel are explained: a fence that moves behind the arrival at the cluster's
    last barrier, and a last commit that only one CTA receives."""
    end = [
        "	tcgen05.st.sync.aligned.32x32b.x1.b32 	[%r1], {%r2};",
        "	tcgen05.wait::st.sync.aligned;",
        "	tcgen05.fence::before_thread_sync;",
        "	barrier.cluster.arrive.aligned;",
        "	barrier.cluster.wait.aligned;",
        "	ret;",
    ]
    for operator in ("delete", "later"):
        assert "loads and stores of tensor memory are behind their waits" in reason(operator, 3, end)
        assert reason(operator, 3, [end[1], end[0], *end[2:]]) is None
    commit = "	tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 	[memory+80], %rs1;"
    last = ["	mov.b16 	%rs1, 3;", commit, "	ret;"]
    assert "behind which nobody acquires" in reason("rank", 2, last, without="")
    assert reason("rank", 2, last, without="simulator") is None


def test_fence_of_a_thread_without_tensor_memory():
    """A thread that never accesses tensor memory hands on only what it waits for, so the deletion of its fence is
    explained. It is not if the loop also loads from tensor memory."""
    load = "	tcgen05.ld.sync.aligned.32x32b.x1.b32 	{%r2}, [%r1];"
    loop = ["$L__BB0_1:", "	tcgen05.fence::after_thread_sync;", "	mbarrier.arrive.shared.b64 	_, [memory+8];", "	@%p1 bra 	$L__BB0_1;", "	ret;"]
    assert "does not access tensor memory" in reason("delete", 4, [load, "	ret;", *loop])
    assert reason("delete", 4, [load, "	ret;", *loop[:3], load, *loop[3:]]) is None


def test_wait_in_a_loop_that_nothing_goes_around():
    """The first pass of a loop waits for the phase before the mbarrier's first, so this wait has no effect. That
    explains the fault only if nothing goes around the loop: in a second pass, the wait would wait for lanes."""
    loop = [
        "	mov.b32 	%r1, 0;",
        "$L__BB0_1:",
        "	add.s32 	%r2, %r1, 1;",
        "	and.b32 	%r3, %r2, 1;",
        "$L__BB0_2:",
        "	mbarrier.try_wait.parity.shared.b64 %p1, [memory+8], %r3;",
        "	not.pred 	%p2, %p1;",
        "	@%p2 bra 	$L__BB0_2;",
        "	mov.b32 	%r1, %r2;",
        "	@%p3 bra 	$L__BB0_1;",
        "	ret;",
    ]
    fault, context = of("delete", 6, loop)[0], equivalents.Context(loop)
    assert context.back_edges(6) == [10]
    assert equivalents.waits_for_first_phase(fault, context)
    assert not equivalents.waits_for_first_phase(fault, equivalents.Context(["	mov.b32 	%r1, 1;", *loop[1:]]))
    assert equivalents.reason(fault, context) is None
    context.over.add(6)
    assert "it is over from the start" in equivalents.reason(fault, context)


def test_response_that_is_only_compared():
    """A role that only compares a response, and asks for no coordinates, needs no work tile in it. A role that computes
    with the number needs the right one."""
    text = """	clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r1, %handle;
	shr.u32 	%r2, %r1, 1;
	setp.lt.u32 	%p1, %r2, %r10;
	ret;"""
    (kind,) = of("kind", 1, text.split("\n"))
    said = "another coordinate of a work tile"
    assert said in equivalents.reason(kind, equivalents.Context(text.split("\n")))
    for used in ("mul.lo.s32 %r3, %r2, 4;", "selp.b32 %r3, %r1, -1, %p2;", "setp.lt.u32 %p2, %r10, %r2;", "st.shared.b32 [%r2], %r4;"):
        lines = text.replace("	ret;", f"	{used}\n	ret;").split("\n")
        assert not equivalents.reason(kind, equivalents.Context(lines)), used


def test_bytes_of_a_response_are_expected_late():
    """An arrival that expects the bytes of a request may move behind the request: the bytes then come first, in the
    same phase. An arrival without bytes expects none, and bytes alone are no arrival."""
    request = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [memory+32], [memory+64];"
    for arrival, said in (
        ("mbarrier.arrive.expect_tx.shared.b64 %rd1, [memory+64], %r1;", True),
        ("mbarrier.arrive.shared.b64 %rd1, [memory+72];", False),
        ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [memory+64], %r1;", False),
    ):
        lines = [arrival, request, "ret;"]
        (moved,) = [fault for fault in of("later", 1, lines)]
        assert ("expects the bytes" in equivalents.reason(moved, equivalents.Context(lines))) == said


def test_plain_reasons():
    """Some reasons hold whatever the simulator says: the one for a load's wait is plain, the one for a fence is not."""
    context = equivalents.Context(PTX)
    assert equivalents.plain_reason(of("delete", 14)[0], context)
    assert equivalents.plain_reason(of("duplicate", 9)[0], context)
    assert reason("delete", 3) and not equivalents.plain_reason(of("delete", 3)[0], context)


def test_unread_register_has_no_reason():
    """A loaded register is never read: deleting the wait for the load must have no reason that excuses it."""
    unread = [line.replace("%r10, %r11;", "%r10, %r10;") for line in PTX]
    assert reason("delete", 14, unread) is None


# ---------------------------------------------------------------------------
# NVVM dialect
# ---------------------------------------------------------------------------

IR = """\
    nvvm.mbarrier.init %98, %79 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.barrier
    nvvm.mbarrier.arrive.expect_tx %11, %51 : !llvm.ptr<3>, i32
    llvm.br ^bb10
  ^bb10:  // 2 preds: ^bb9, ^bb10
    %178 = nvvm.mbarrier.try_wait %176, %177 : !llvm.ptr<3>, i32 -> i1
    %179 = llvm.xor %178, %64 : i1
    llvm.cond_br %179, ^bb10, ^bb11
  ^bb11:  // pred: ^bb10
    nvvm.tcgen05.fence <after>
    %180 = nvvm.tcgen05.ld %99 {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
    nvvm.tcgen05.wait <load>
    llvm.return""".split("\n")


def ir_edit(operator, line):
    found = [f for f in ir_faults.faults_of(IR) if (f.operator, f.line) == (operator, line)]
    return [text.strip() for text in found[0].apply(IR)[line - 1].split("\n")]


def test_ir_edits():
    """A fault of each kind is applied to a line of NVVM IR: the line must become the expected text."""
    assert ir_edit("delete", 7) == ["%178 = llvm.mlir.constant(true) : i1"]
    assert ir_edit("half", 4) == [
        "%fa4_constant = llvm.mlir.constant(1 : i32) : i32",
        "%fa4_fault = llvm.lshr %51, %fa4_constant : i32",
        "nvvm.mbarrier.arrive.expect_tx %11, %fa4_fault : !llvm.ptr<3>, i32",
    ]
    assert ir_edit("kind", 11) == ["nvvm.tcgen05.fence <before>"]
    assert ir_edit("overlay", 12)[1].startswith("%180 = nvvm.tcgen05.ld %fa4_fault {shape")


def test_ir_moves_over_waits():
    """An arrival is moved behind a wait in NVVM IR: its old line must be empty and the new one behind the wait."""
    fault = next(f for f in ir_faults.faults_of(IR) if (f.operator, f.line) == ("later", 4))
    text = fault.apply(IR)
    assert text[3] == "" and text[9].split("\n")[1].strip().startswith("nvvm.mbarrier.arrive.expect_tx")


def test_operations_in_ptx():
    """Faults in the NVVM dialect are found in the PTX, even where LLVM puts the block that frees tensor memory in front
    of others."""
    ending = ["nvvm.tcgen05.fence <before>", "nvvm.barrier", "nvvm.tcgen05.fence <after>", "nvvm.tcgen05.dealloc %1, %2 : !llvm.ptr<6>, i32"]
    ir = ["nvvm.tcgen05.fence <after>", "%3 = nvvm.tcgen05.ld %1 {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32", *ending]
    end = ["tcgen05.fence::before_thread_sync;", "bar.sync \t0;", "tcgen05.fence::after_thread_sync;",
           "tcgen05.dealloc.cta_group::1.sync.aligned.b32 \t%r1, 512;"]  # fmt: skip
    ptx = [*end, "tcgen05.fence::after_thread_sync;", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];"]
    units = equivalents.Context([f"\t{line}" for line in ptx]).units
    found = ir_faults.in_ptx([f"    {line}" for line in ir], units)
    assert {ours: unit.line for ours, unit in found.items()} == {1: 5, 2: 6, 3: 1, 4: 2, 5: 3, 6: 4}


def test_text_that_ptxas_does_not_take(tmp_path, capsys):
    """bench/sim-faults is given a text that ptxas does not take: it must judge the kernel by the simulator alone, and
    say so once."""
    loader = importlib.machinery.SourceFileLoader("sim_faults", str(ROOT / "bench" / "sim-faults"))
    sim_faults = importlib.util.module_from_spec(importlib.util.spec_from_loader("sim_faults", loader))
    loader.exec_module(sim_faults)
    (tmp_path / "k.ptx").write_text(".version 99.0\n.target sm_100a\n" + "\n".join(PTX))
    (tmp_path / "launch-0.json").write_text('{"ptx": "k.ptx", "tensors": {}}')
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\necho 'fatal   : Unsupported .version 99.0' >&2\nexit 255\n")
    ptxas.chmod(0o755)
    record = sim_faults.Record(str(tmp_path))
    args = SimpleNamespace(tools=machine_code.Tools(str(ptxas), "/nonexistent/nvdisasm"))
    for fault in of("delete")[:2]:
        assert record.lost(args, "k.ptx", fault.apply(record.ptx["k.ptx"])) == ""
    assert capsys.readouterr().err.count("Unsupported .version 99.0") == 1
