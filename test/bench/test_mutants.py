# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutation suite: its quick sample of one kernel (the whole of it is
bench/mutants), and that it fails when it should."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fa4_testing import gpu
from fa4_testing.mutation import channel_mutants, equivalents, faults, gradients, mutants, page, suite
from fa4_testing.mutation.mutants import Outcome, Verdict


needs_tools = pytest.mark.skipif(
    not gpu.has_tools("fa4-compile", "fa4-mutate", "fa4-opt", "fa4-sim"), reason="needs the tools"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture
def command(monkeypatch, folder, capsys):
    """Runs bench/mutants' quick sample of one kernel; its status and output. What
    one test has simulated another one has not to."""
    monkeypatch.setattr(suite, "FOLDER", folder)

    def run(*words):
        status = suite.main(["--quick", "--resume", "--kernel=^hd64-causal$", "--jobs=2", *words])
        return status, capsys.readouterr().out

    return run


def row(said, level):
    """Column -> number, of the row of all operators."""
    table = said.split(f"{level}: ", 1)[1]
    cells = [re.split(r" *\| *", line.strip("| ")) for line in table.splitlines() if line.startswith("|")]
    last = next(line for line in cells if line[0] == "all")
    return {name: int(number) for name, number in zip(cells[0][1:], last[1:])}


@needs_tools
@pytest.mark.xdist_group("mutants")
@pytest.mark.parametrize("level", suite.LEVELS)
def test_quick(level, command):
    """A quick sample of mutants is judged at each level: each layer must find one, and each one that no layer finds
    must have a reason."""
    status, said = command(f"--level={level}")
    assert status == 0, said
    counts = row(said, level)
    assert counts["mutants"] >= 4 and counts["open"] == 0
    for layer in {"channel": ("rules", "verifier and explorer")}.get(level, ("simulator",)):
        assert counts[layer] > 0, said


@needs_tools
@pytest.mark.xdist_group("mutants")
@pytest.mark.parametrize("family, kernel", [
    ("gradient", "backward-hd64-causal-deterministic"), ("pairs", "hd64-full-pairs"), ("paired-gradient", "backward-hd128-full-pairs"),
])  # fmt: skip
def test_quick_of_a_family(family, kernel, command):
    """A few faults of one kernel of a family run. Of the three launches of a gradient, only the main one is changed."""
    status, said = command(f"--{family}", f"--kernel=^{kernel}$", "--sample=150", "--level=ptx")
    assert status == 0, said
    counts = row(said, "ptx")
    assert counts["mutants"] >= 4 and counts["simulator"] > 0 and counts["open"] == 0, said


@needs_tools
@pytest.mark.xdist_group("mutants")
@pytest.mark.parametrize("family, kernel", [
    ("pairs", "hd64-full-pairs"), ("paired-gradient", "backward-hd64-causal-deterministic-pairs"),
])  # fmt: skip
def test_quick_channels_of_pairs(family, kernel, command):
    """Verifier and explorer agree on roles and channels of two CTAs."""
    status, said = command(f"--{family}", f"--kernel=^{kernel}$", "--level=channel")
    assert status == 0, said
    counts = row(said, "channel")
    assert counts["mutants"] >= 10 and counts["rules"] > 0 and counts["verifier and explorer"] > 0 and counts["open"] == 0, said


@needs_tools
def test_channels_on_hopper(tmp_path):
    """Verifier and explorer agree on each mutant of forward attention and of gradients on sm_90a, and there is a reason for
    each that both accept."""
    for name, file in channel_mutants.allocated(tmp_path, channel_mutants.HOPPER).items():
        mutants = channel_mutants.mutants_of(name, file)
        accepted = [mutant for mutant in mutants if mutant.accepted]
        assert len(mutants) > 400 and 20 < len(accepted) < len(mutants) / 4, (name, len(mutants), len(accepted))
        assert not [mutant for mutant in mutants if mutant.disagreement or mutant.rule == mutant.verifier == ""], name
        assert not [mutant for mutant in accepted if not channel_mutants.reason(mutant)], name


def test_what_a_rule_explains_is_simulated_in_part():
    """With --explained=4, three of four explained faults are believed without a run, but deletions never are. Without
    the option, none is."""
    subject = SimpleNamespace(name="hd64-full")
    moves = [faults.Fault(line, "later", "", "", {}) for line in range(400)]
    deletion = faults.Fault(1, "delete", "", "", {})
    assert not any(suite.Judge.believes(SimpleNamespace(explained=1), subject, each) for each in (*moves, deletion))
    quarter = SimpleNamespace(explained=4)
    assert 250 < sum(suite.Judge.believes(quarter, subject, each) for each in moves) < 350
    assert not suite.Judge.believes(quarter, subject, deletion)


def test_pairs_have_faults_of_their_own():
    """PTX of a pair is given: an arrival that goes to the other CTA, a commit that only one of the two receives, and
    barriers that order nothing must be among its faults."""
    lines = [
        "mapa.shared::cluster.u64 %rd1, %rd2, 0;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rd1], %r1;",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%rd3], %rs1;",
        "barrier.cluster.arrive.aligned;",
        "barrier.cluster.wait.aligned;",
    ]
    found = {str(fault): "".join(fault.apply(lines)).replace(" ;", ";") for fault in faults.faults_of(lines)}
    assert "xor.b32 fa4_fault, 0, 1;" in found["1:rank:other"]
    assert "mov.b16 fa4_fault, 1;" in found["3:rank:leader"] and "mov.b16 fa4_fault, 2;" in found["3:rank:peer"]
    assert "barrier.cluster.arrive.relaxed.aligned;" in found["4:kind:barrier.cluster.arrive.relaxed"]
    assert {"2:delete", "4:delete", "5:delete"} <= found.keys()


def test_requests_of_a_pair_have_faults_of_their_own():
    """PTX of a pair that requests work is given. Its faults must change which CTA asks, which CTA gets the response,
    where the response is, which barrier counts it, and which work tile it names."""
    lines = [
        "mov.u32 %r1, %cluster_ctarank;", "// end inline asm", "setp.ne.b32 %p1, %r1, 0;", "@%p1 bra $L1;",
        "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%rd1], %r2;",
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [memory+32], [memory+64];",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r3, %handle;",
        "$L1:",
        "mov.u32 %r4, %cluster_ctarank;",
    ]  # fmt: skip
    found = {str(fault): fault.apply(lines) for fault in faults.faults_of(lines)}
    assert found["1:leader:both"][0] == "mov.u32 %r1, 0;" and "xor.b32 %r1, %r1, 1;" in found["1:leader:other"][0]
    assert "9:leader:both" not in found, "nothing branches on that rank"
    requests = {name: text[5] for name, text in found.items() if name.startswith("6:")}
    assert requests.pop("6:delete") == "" and requests.pop("6:duplicate") == f"{lines[5]}\n{lines[5]}"
    kind = "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes"
    assert requests.pop(f"6:kind:{kind}") == f"{kind}.b128 [memory+32], [memory+64];"
    assert {name: text.split(" ", 1)[1] for name, text in requests.items()} == {
        "6:barrier:next": "[memory+32], [memory+72];", "6:barrier:previous": "[memory+32], [memory+56];",
        "6:stage:next": "[memory+48], [memory+64];", "6:stage:previous": "[memory+16], [memory+64];",
    }  # fmt: skip
    assert found["5:later:behind " + lines[5].split()[0]][4:6] == ["", f"{lines[5]}\n{lines[4]}"]
    assert "get_first_ctaid::y.b32.b128 %r3" in next(text[6] for name, text in found.items() if name.startswith("7:kind"))
    assert not any(fault.line > 5 for fault in faults.basic_faults_of(lines))


def test_a_later_arrival_at_the_leader():
    """A wait for the second of two arrivals of the same threads implies the first, wherever the mbarriers are."""
    arrivals = "".join(
        f"add.s64 %rd{n}, %rd9, {place};\nmapa.shared::cluster.u64 %rd{n + 4}, %rd{n}, 0;\n" for n, place in ((1, 64), (2, 72))
    )
    arrive = "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%rd{}], %r1;\n"
    loop = "$L1:\n" + arrive.format(5) + arrive.format(6) + "@%p1 bra $L1;\n"
    wait = "$L2:\nmbarrier.try_wait.parity.relaxed.cluster.shared.b64 %p2, [memory+64], %r2;\n@!%p2 bra $L2;\nret;\n"

    def implied(text):
        context = equivalents.Context(text.split("\n"))
        return equivalents._implies(next(unit for unit in context.units if unit.is_wait), 8, context)

    assert implied(arrivals + loop + wait)
    assert not implied(arrivals + loop.replace("%rd6", "%rd5") + wait), "nobody arrives there"
    assert not implied(arrivals.replace("%rd6, %rd2, 0", "%rd6, %rd2, 1") + loop + wait), "of the other CTA"


INIT = "mbarrier.init.shared.b64 [memory+64], %r1;\n"


def a_wait(label, address, more=""):
    return f"$W{label}:\nmbarrier.try_wait.parity.shared.b64 %p2, [{address}], %r2{more};\n@!%p2 bra $W{label};\n"


def test_a_fence_of_who_hands_on_shared_memory():
    """Two mbarriers follow a fence. The first hands on shared memory and is proven to need no order of tensor memory,
    so the fence's deletion is explained there; the second hands on tensor memory."""
    before, after = "tcgen05.fence::before_thread_sync;\n", "tcgen05.fence::after_thread_sync;\n"
    shared, tensor = (f"mbarrier.arrive.shared.b64 %rd1, [memory+{place}];\n" for place in (64, 72))
    wait_shared, wait_tensor = a_wait(1, "memory+64"), a_wait(2, "memory+72")
    load = "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r5}, [%r3];\n"

    def explained(text, fence, unfenced=(0,), number=0):
        """Returns whether the deletion of a fence in a loop is explained by a hand-over of shared memory."""
        text = INIT + "$L1:\n" + text + "@%p1 bra $L1;\nret;\n"
        context = equivalents.Context(text.split("\n"), unfenced=unfenced)
        line = [n for n, line in enumerate(context.lines, 1) if line == fence.strip()][number]
        fault = next(f for f in faults.faults_of(context.lines, ["delete"]) if f.line == line)
        return "hands on shared memory" in (equivalents.reason(fault, context) or "")

    # In front of arrivals.
    lanes = load + before + tensor + wait_shared + before + shared
    assert explained(lanes, before, number=1)
    assert not explained(lanes, before, number=1, unfenced=()), "not proven"
    assert not explained(lanes, before, number=0), "hands on tensor memory"
    assert not explained(load + before + shared + tensor, before), "hands on both"
    assert not explained(load + before + tensor + before + shared + tensor, before, number=1), "hands on both, the second time"
    assert not explained(lanes + "bar.sync 0;\n", before, number=1), "a barrier hands on all"
    assert not explained(load + before + shared + tensor.replace("memory+72", "%rd7"), before), "and who knows what"
    # Behind waits.
    issuer = wait_tensor + after + wait_shared + after + load
    assert explained(issuer, after, number=1)
    assert not explained(issuer, after, number=1, unfenced=()), "not proven"
    assert not explained(issuer, after, number=0), "behind a wait for tensor memory"
    assert not explained(wait_tensor + wait_shared + after + load, after), "no other fence"
    assert not explained(wait_tensor + after + load + wait_shared + after + load, after, number=1), "accesses between them"


RING = {
    "lanes": "$L1:\nmbarrier.arrive.shared.b64 %rd1, [%rd11];\n@%p1 bra $L1;\n",
    "before": "",
    "loop": "$L2:\n" + a_wait(1, "%rd11") + "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared.b64 [%rd10+80];\n@%p1 bra $L2;\n",
    "behind": a_wait(2, "%rd11") + "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared.b64 [%rd10+80];\n",
    "end": "ret;\n",
}


@pytest.mark.parametrize("what, changes", [
    ("", {}),
    ("the next value may need what is behind the wait", {}),
    ("the last pass waits for no value", {"behind": ""}),
    ("the first pass may be for the last stage", {"before": RING["behind"].replace("W2", "W3")}),
    ("others give stages back", {"behind": RING["behind"] + RING["lanes"].replace("%rd11", "%rd10+80")}),
    ("nobody signals", {"lanes": ""}),
    ("copies end in any order", {"lanes": RING["lanes"].replace("arrive", "arrive.expect_tx").replace("];", "], 8;")}),
    ("so do signals of two roles", {"lanes": RING["lanes"] + RING["lanes"].replace("L1", "L3")}),
    ("who knows where an arrival is", {"end": RING["lanes"].replace("L1", "L3").replace("%rd11", "%rd13") + "ret;\n"}),
    ("a stage is not always given back", {"loop": RING["loop"].replace("tcgen05.commit", "@%p3 bra $L2;\ntcgen05.commit")}),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_a_wait_for_the_next_value(what, changes):
    """A ring of two mbarriers is given, with the mbarriers at which its stages are given back. A wait for the next
    value is explained only if nothing is wrong with the ring; `what` says what is wrong."""
    text = INIT + "add.s64 %rd11, %rd10, 64;\n" + "".join((RING | changes).values())
    line = text.split("\n").index("$W1:") + 2
    steps = [(0, 2, "next value" not in what)] * text.count("mbarrier.try_wait")
    context = equivalents.Context(text.split("\n"), waits=[(2, 2, False)], ahead=steps)
    found = {str(fault): equivalents.reason(fault, context) or "" for fault in faults.faults_of(context.lines, ["barrier"])}
    assert ("next value of a ring" in found[f"{line}:barrier:next"]) == (not what)
    assert not any("next value of a ring" in said for name, said in found.items() if name != f"{line}:barrier:next")


def test_waits_are_in_the_order_of_the_program(tmp_path):
    """Waits are numbered in the order of the program: a wait behind a loop comes after those in it, although it is a
    step of an outer block with a smaller number."""
    file = tmp_path / "kernel.mlir"
    file.write_text(
        '  tile.kernel @kernel() {\n    %q = tile.channel "q" smem stages(2) place<offset(0) full(0) arrivals(1) empty(2) arrivals(1)> : <vector<128xf32>>\n'
        '    %s = tile.channel "s" tmem stages(1) place<offset(0) full(4) arrivals(1)> : <vector<128xf32>>\n  }\n'
    )
    behind, inside = (accepted("ahead", f"@mma step {n}.0 wait q and for the next value") for n in (1, 2))
    behind, inside = replace(behind, kernel="kernel", line=9, verifier="rejects"), replace(inside, kernel="kernel", line=7)
    assert channel_mutants.waits_of(file, "kernel", [behind, inside]) == [(0, 2, True), (0, 2, False)]
    unfenced = replace(accepted("unfenced", "channels in shared memory"), kernel="kernel")
    assert channel_mutants.unfenced_of(file, "kernel", [unfenced]) == {0, 1, 2, 3}
    assert channel_mutants.unfenced_of(file, "kernel", [replace(unfenced, explorer="rejects")]) == set()
    assert channel_mutants.unfenced_of(file, "kernel", []) == set()


def test_waits_of_one_kernel(tmp_path):
    """Kernels of a gradient have channels of the same names, but mbarriers of their own: the waits of one must not be
    taken for those of another."""
    file = tmp_path / "gradient.mlir"
    channel = '    %q = tile.channel "q" smem stages(3) offset(0) full({}) arrivals(1) bytes(16384) empty({}) arrivals(1) : <vector<128xf32>>'
    kernels = ("gradient_preprocess_kernel", "gradient_kernel")
    file.write_text("".join(f"  tile.kernel @{name}() {{\n{channel.format(n, n + 3)}\n  }}\n" for n, name in enumerate(kernels)))
    texts = ("@compute0 step 1.0 wait q", "@load step 2.0 acquire q")
    weakened = [replace(accepted("weaken", text), kernel=kernel) for kernel in kernels for text in texts]
    assert channel_mutants.waits_of(file, "gradient_preprocess_kernel", weakened) == [(0, 3, True), (3, 3, True)]
    assert channel_mutants.waits_of(file, "gradient_kernel", weakened) == [(1, 3, True), (4, 3, True)]


@needs_tools
@pytest.mark.xdist_group("mutants")
def test_unexplained_survivor_fails(command, monkeypatch):
    """No survivor has a reason: the command must fail and list survivors as open."""
    monkeypatch.setattr(suite.equivalents, "reason", lambda *_: None)
    monkeypatch.setattr(suite.Judge, "survivor", lambda *_: Verdict())  # Minutes.
    status, said = command("--level=ptx")
    assert status == 1 and re.search(r"^OPEN ptx:hd64-causal:\d+:", said, re.MULTILINE)


@needs_tools
@pytest.mark.xdist_group("mutants")
def test_survivor_of_few_calls_gets_all(command, monkeypatch):
    """A call with one key and one query finds few faults. A fault that survives only such calls must be run on all
    calls before it counts as open."""
    monkeypatch.setattr(mutants, "QUICK_CALLS", [mutants.Call(1, 1)])
    monkeypatch.setattr(mutants, "CALLS", mutants.CALLS[:2])
    # A barrier that counts one lane too few takes many blocks and late warps.
    monkeypatch.setattr(mutants, "PHASE_CALLS", mutants.PHASE_CALLS[3:4])
    monkeypatch.setattr(mutants, "COLUMN_CALLS", [])
    asked = []
    survivor = suite.Judge.survivor
    monkeypatch.setattr(suite.Judge, "survivor", lambda *of: asked.append(of) or survivor(*of))
    status, said = command("--level=ptx")
    assert status == 0 and asked, said


@needs_tools
@pytest.mark.xdist_group("mutants")
def test_verdicts_of_ptx(tmp_path):
    """PTX is changed in several ways: each change must be found by the expected layer, and renamed registers must be no
    change."""
    subject = mutants.Subject(gpu.Op(64, "full"), tmp_path / "kernel")
    calls = mutants.QUICK_CALLS[:1]
    subject.prepare(calls)
    text = "\n".join(subject.lines)
    assert subject.judge(text, calls) == Verdict(calls=1)
    fence = "fence.proxy.async.shared::cta;"
    assert fence in text
    for changed, layer in (
        (text.replace(fence, ""), "simulator"),
        (text.replace("tcgen05.commit", "tcgen05.omit"), "load"),
        (re.sub(r"(mbarrier\.try_wait\S* )", r"trap; \1", text, count=1), "simulator"),
        (text.replace("ex2.approx.ftz.f32", "sqrt.approx.ftz.f32"), "numbers"),
    ):
        assert subject.judge(changed, calls).layer == layer
    assert mutants.fingerprint(text) == mutants.fingerprint(text.replace("%r17", "%r900017"))
    assert mutants.fingerprint(text) != mutants.fingerprint(text.replace(fence, ""))


# ---------------------------------------------------------------------------
# Outcomes
# ---------------------------------------------------------------------------


def outcome(layer="", reason=None, **more):
    return Outcome("channel", "hd64", "swap", "7", "@mma step", layer, reason=reason, **more)


@pytest.mark.parametrize("of, what", [
    (outcome("both"), None),
    (outcome(reason="argued"), None),
    (outcome(), "OPEN"),
    (outcome("verifier", disagreement=True), "DISAGREEMENT"),
    (outcome(reason="argued", simulated=Verdict("hang", "hang")), "ACCEPTED, BUT hang (hang)"),
    (outcome(reason="argued", simulated=Verdict("ptxas", "spills")), "ACCEPTED, BUT ptxas (spills)"),
    (replace(outcome(reason="argued", simulated=Verdict("ptxas", "spills")), operator="registers"), None),
    (outcome("both", simulated=Verdict()), None),
], ids=str)  # fmt: skip
def test_failures(of, what):
    """The outcome of a mutant is given: it must count as a failure of the right kind, or as none."""
    assert [name for name, _ in suite.failures([of])] == ([what] if what else [])


def test_page():
    """Outcomes of mutants are given: the page must have their counts, their reasons, their failures and what was not
    run."""
    of = [outcome("both", simulated=Verdict("hang", "hang")), outcome(reason="it is argued"), outcome("rule")]
    options = suite.parse_arguments(["--quick"])
    text = page.page({"channel": of}, [], {"channel": 5}, ["hd96"], options, "0123456789ab")
    assert "**3 mutants, 0 neither found nor explained**" in text
    assert "| swap | 3 | 1 | 1 | 0 | 0 | 1 | 0 |" in text
    assert "| 1 | it is argued | hd64 (1): `7` |" in text
    assert "Not run: hd96." in text
    assert "**2 more are not judged yet.**" in text and "Neither found nor explained" not in text
    failed = suite.failures([outcome()])
    text = page.page({"channel": of}, list(failed), {"channel": 3}, [], options, "0123456789ab")
    assert "| OPEN | channel:hd64:7 | `@mma step` |" in text and "not judged" not in text
    assert "| all | 0 | 0 | 1 | 0 |" in text


def accepted(operator, text):
    return channel_mutants.ChannelMutant("k", None, 0, operator, text, True, "", "accepts", "accepts")


@pytest.mark.parametrize("operator, text, words", [
    ("weaken", "@mma step 1.2 wait k", "other waits"),
    ("one CTA", "@mma step 1.2 wait k lacks CTA 1", "does not ask one CTA"),
    ("one CTA", "@mma step 1.2 release k lacks CTA 1", None),
    ("swap", "@exchange step 1.2 wait x (kept) with next: access", "another stage"),
    ("swap", "@mma step 1.2 wait k with next: wait v", "two waits"),
    ("swap", "@mma step 1.2 commit s with next: acquire v", "behind the next wait"),
    ("move", "@load step 1.2 acquire k to the front", "earlier than need be"),
    ("stages", "k: stages 6 to 7", "one stage more"),
    ("stages", "k: stages 6 to 5", "one stage less"),
    ("offset", "o: offset 0 to 1024", "nobody uses"),
    # What no class covers.
    ("drop", "@mma step 1.2 wait k", None),
    ("initial", "k: initial 0 to 1", None),
    ("barrier", "k: full 1 to 2", None),
    ("warps", "load: first_warp 5 to 9", "another warpgroup"),
    ("arrivals", "k: full_arrivals 1 to 2", None),
    ("leave loop", "@mma step 1.2 wait k to before it", None),
])  # fmt: skip
def test_reasons_of_channels(operator, text, words):
    """The verifier and the explorer accept a changed channel: a reason must be found for harmless classes of changes
    only."""
    said = channel_mutants.reason(accepted(operator, text))
    assert said is None if words is None else words in said


@pytest.mark.parametrize("words", [["--level=x"], ["--gradient", "--level=nvvm"], ["--sample=x"], ["--nothing"]])
def test_bad_command_line(words, capsys):
    """A command line is wrong: the command must exit with status 2 and print an error."""
    with pytest.raises(SystemExit, match="2"):
        suite.parse_arguments(words)
    assert "error:" in capsys.readouterr().err


def test_waits_of_an_exchange(tmp_path):
    """The received part of an exchange has its own mbarriers, at which bytes of the other CTA arrive: their waits must
    be found."""
    file = tmp_path / "kernel.mlir"
    channel = '    %x = tile.channel "x" smem stages(2) exchange place<offset(0) full(32) arrivals(128) landed(34) arrivals(1) bytes(16384)> : <vector<128x128xbf16>>'
    file.write_text(f"  tile.kernel @kernel() {{\n{channel}\n  }}\n")
    texts = ("@exchange step 1.0 wait x", "@exchange step 1.2 wait x (received)", "@compute0 step 2.0 acquire x (kept)")
    weakened = [replace(accepted("weaken", text), kernel="kernel") for text in texts]
    assert channel_mutants.waits_of(file, "kernel", weakened) == [(32, 2, True), (34, 2, True)]
