# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/timing --changes without a card: each edit finds what it changes in kernels that are compiled here, the halves are drawn once, and
the report judges what was recorded."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fa4 import tools
from fa4_testing import gpu, results
from fa4_bench.hopper import specs
from fa4_bench.hopper.rows import Form
from fa4_bench.timing import change_card, change_command, change_edits, change_files, change_model, change_report, changes

needs_compiler = pytest.mark.skipif(not tools.has_tools("fa4-compile"), reason="needs fa4-compile")
needs_simulator = pytest.mark.skipif(not tools.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
SMALLEST = "fwd-hd64-causal-4k"
# Edits whose new lines are more than a move.
WRITING = ("more-ex2", "alu-per-ex2", "fma-per-ex2", "no-convert", "early-turns", "late-turns", "twice-waits", "more-fences", "hot-keys", "twice-keys", "no-values")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A function: the folder of a kernel's PTX and manifests."""
    root, made = tmp_path_factory.mktemp("kernels"), set()

    def compiled(kernel):
        folder = root / kernel
        if kernel not in made:
            folder.mkdir()
            (folder / "op.mlir").write_text(specs.spec(Form.parse(kernel)).text)
            command = [tools.find_tool("fa4-compile"), folder / "op.mlir", "--chip=sm_90a", "--verify-ptx=false", "-o", folder]
            subprocess.run(command, check=True, capture_output=True)
            made.add(kernel)
        return folder

    return compiled


def edited(folder, change):
    """(the text before, the text behind, the number of changed lines)."""
    ptx = change_files.main_ptx(folder)
    text = ptx.read_text()
    return text, *change_edits.edit_text(change.edit, text, json.loads(ptx.with_suffix(".json").read_text()))


# ---------------------------------------------------------------------------
# Edits
# ---------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("kernel", changes.KERNELS)
def test_each_edit_changes_each_kernel(kernels, kernel):
    """Every edit must change as many lines of a kernel as it says, or more where it writes several for one."""
    for name, change in changes.drawn((kernel,)).items():
        if change.edit:
            text, new, count = edited(kernels(kernel), change)
            different = set(text.split("\n")) ^ set(new.split("\n"))
            assert new != text and count > 0 and (different or count), name


@needs_compiler
@pytest.mark.parametrize("name", WRITING)
def test_edited_kernels_assemble(kernels, name, tmp_path):
    """The text that an edit has written must assemble, with all of its products."""
    change = changes.names((SMALLEST,))[f"{SMALLEST}/{name}"]
    if not gpu.find_ptxas() or not gpu.find_cuda_tool("nvdisasm"):
        pytest.skip("needs ptxas and nvdisasm")
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(edited(kernels(SMALLEST), change)[1])
    said = change_files.assemble(ptx)
    assert said == ("products in series" if name == "no-convert" else "") and ptx.with_suffix(".cubin").exists()


@needs_compiler
def test_products_that_ptxas_leaves_out(kernels, tmp_path):
    """Nobody needs the results of products any more, and ptxas leaves products out: this must be an error, since the PTX is not what the
    card would run."""
    if not gpu.find_ptxas() or not gpu.find_cuda_tool("nvdisasm"):
        pytest.skip("needs ptxas and nvdisasm")
    ptx = tmp_path / "kernel.ptx"
    ptx.write_text(edited(kernels(SMALLEST), changes.drawn()[f"{SMALLEST}/no-staging"])[1])
    with pytest.raises(change_edits.EditError, match=r"the PTX has 36 products, and the machine code \d+"):
        change_files.assemble(ptx)
    assert f"{SMALLEST}/no-staging" not in changes.names()


@pytest.mark.parametrize("change", [change for change in changes.CHANGES if change.edit], ids=lambda change: change.name)
def test_an_edit_that_finds_nothing_is_an_error(change):
    """A kernel has nothing of what is to be changed: the edit must raise, since a kernel without the change would be timed."""
    with pytest.raises(change_edits.EditError, match="there are no"):
        change_edits.edit_text(change.edit, ".visible .entry k()\n{\n\tret;\n}\n", {"params": []})


def test_edits_of_single_lines():
    """What edits write, on lines as LLVM prints them."""
    kernel = "\tex2.approx.ftz.f32 \t%r2, %r1;\n\tex2.approx.ftz.f32 \t%r20, %r2;"
    by_name = {change.name: change for change in changes.CHANGES}

    def edit(name, text):
        return change_edits.edit_text(by_name[name].edit, text, {})

    assert edit("no-ex2", kernel) == ("\tmov.b32 \t%r2, %r1;\n\tmov.b32 \t%r20, %r2;", 2)
    assert edit("half-ex2", kernel) == ("\tex2.approx.ftz.f32 \t%r2, %r1;\n\tmov.b32 \t%r20, %r2;", 1)
    text, count = edit("twice-ex2", kernel)
    assert text.split("\n")[1] == "\t{ .reg .b32 t; ex2.approx.ftz.f32 \tt, %r2; ex2.approx.ftz.f32 %r20, t; }" and count == 2
    assert edit("no-shuffles", "\tshfl.sync.bfly.b32 \t%r4, %r3, 1, 31, -1;") == ("\tmov.b32 \t%r4, %r3;", 1)
    assert edit("registers-16", "\tsetmaxnreg.inc.sync.aligned.u32 \t240;") == ("\tsetmaxnreg.inc.sync.aligned.u32 \t224;", 1)
    assert edit("no-overlap", "\twgmma.wait_group.sync.aligned 1;") == ("\twgmma.wait_group.sync.aligned 0;", 1)
    with pytest.raises(change_edits.EditError):
        edit("no-overlap", "\twgmma.wait_group.sync.aligned 0;")


def test_loads_share_no_arrival_with_another_tensor():
    """An arrival announces the bytes of two tensors: none of them can be left out alone."""
    copy = "\tcp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%rd9], [%rd{0}, {{%r1, %r2, %r3, %r4}}], [%rd8];"
    lines = ["\tmov.b64 \t%rd1, k_param_0;", "\tcvta.param.u64 \t%rd2, %rd1;", "\tmbarrier.arrive.expect_tx.shared.b64 %rd5, [%rd8], %r7;"]
    manifest = {"params": [{"tensormap": {"tensor": "k"}}]}
    alone = "\n".join([*lines, copy.format(2)])
    assert change_edits.edit_text(change_edits.without_loads("k"), alone, manifest) == ("\n".join([*lines[:2], "\tmbarrier.arrive.shared.b64 %rd5, [%rd8];"]), 2)
    text, count = change_edits.edit_text(change_edits.loads_twice("k"), alone, manifest)
    assert count == 2 and text.count("cp.async") == 2 and "add.s32 t, %r7, %r7; mbarrier.arrive.expect_tx.shared.b64 %rd5, [%rd8], t; }" in text
    assert "{%r1, %r2, t, %r4}" in change_edits.edit_text(change_edits.loads_from_start("k"), alone, manifest)[0]
    with pytest.raises(change_edits.EditError, match="line 3 announces bytes of other tensors"):
        change_edits.edit_text(change_edits.without_loads("k"), "\n".join([*lines, copy.format(2), copy.format(3)]), manifest)


def test_rings_of_the_plan():
    """A ring gets other stages; one that has a single stage, or is not there, is an error."""
    plan = '%k = tile.channel "k" smem stages(2) : <x>\n%v = tile.channel "v" smem stages(1) : <x>\n'
    assert change_files.change_plan(plan, "k", 1) == plan.replace("stages(2)", "stages(1)")
    for channel in ("v", "q"):
        with pytest.raises(change_edits.EditError, match=f"no ring of several stages is called {channel}"):
            change_files.change_plan(plan, channel, 1)


@needs_simulator
def test_a_changed_kernel_runs(kernels, tmp_path, monkeypatch):
    """Kernels are made beside the unchanged one, checked and modelled: without exponentials a kernel must take less time, with twice as many
    more; a change that does nothing is an error."""
    monkeypatch.setattr(change_files, "assemble", lambda ptx: "")
    monkeypatch.setattr(change_files, "make_unchanged", lambda kernel, folder: shutil.copytree(kernels(kernel), folder))
    failed = change_files.make_all(tmp_path, f"{SMALLEST}/(no|twice)-ex2", "0123456789ab", print)
    assert not failed and set(change_files.read_made(tmp_path)["changes"]) == {f"{SMALLEST}/no-ex2", f"{SMALLEST}/twice-ex2"}
    monkeypatch.setattr(change_files, "call_of", lambda kernel, change=None: {"B": 1, "Sq": 384, "Sk": 384, "Hq": 1, "Hkv": 1})
    chosen = {f"{SMALLEST}/{change.name}": change for change in changes.CHANGES if change.name in ("no-ex2", "twice-ex2")}
    record = change_model.simulate_all(tmp_path, chosen, 1, ["--costs=forms"], "0123456789ab")
    assert record["absent"] == {} and record["kernels"][SMALLEST]["cycles"] > 1000
    assert record["changes"][f"{SMALLEST}/no-ex2"]["percent"] < 0 < record["changes"][f"{SMALLEST}/twice-ex2"]["percent"]
    nothing = changes.Change("static", "compiled with --schedule=static", "nothing changes", options=("--schedule=static", "--verify-ptx=false"))
    monkeypatch.setattr(change_files, "compile_to", lambda folder, source, options: shutil.copytree(kernels(SMALLEST), folder, dirs_exist_ok=True))
    with pytest.raises(change_edits.EditError, match="the same as without the change"):
        change_files.make(nothing, tmp_path / SMALLEST / "unchanged", tmp_path / SMALLEST / "static")


# ---------------------------------------------------------------------------
# Halves
# ---------------------------------------------------------------------------


def test_changes_have_names_and_reasons():
    """A name is one of a folder and of one change; each kernel has 20 to 41 of them."""
    names = [change.name for change in changes.CHANGES]
    assert len(set(names)) == len(names)
    for change in changes.CHANGES:
        assert change.description and change.why and set(change.kernels) <= set(changes.KERNELS)
        assert sum(map(bool, (change.edit, change.plan, change.options, change.sizes))) == 1, change.name
    assert all(20 <= len(changes.names((kernel,))) <= 41 for kernel in changes.KERNELS)


def test_halves():
    """The halves are those that were drawn before anything was measured; each kernel has as many of one as of the other, but for one."""
    known = changes.halves(changes.drawn())
    for kernel in changes.KERNELS:
        mine = [half for name, half in known.items() if name.startswith(f"{kernel}/")]
        assert mine.count("judge") - mine.count("fit") in (0, 1)
    assert changes.halves([f"{SMALLEST}/no-ex2"]) == {f"{SMALLEST}/no-ex2": known[f"{SMALLEST}/no-ex2"]}
    some = ("no-ex2", "no-max", "no-turns", "no-softmax", "hot-keys")
    assert [known[f"{SMALLEST}/{name}"] for name in some] == ["judge", "judge", "fit", "judge", "fit"]


# ---------------------------------------------------------------------------
# Measuring
# ---------------------------------------------------------------------------


def test_changes_are_timed_between_unchanged_kernels():
    """The clock falls while a round lasts: each change must be compared with the unchanged kernel before it and behind it."""
    order = []

    def measure(name):
        order.append(name)
        slow = 1 + 0.1 * len(order)
        return 1000 * slow * {None: 1, "a": 1.1, "b": 0.9}.get(name, 1), slow

    pairs = change_card.round_of(["a", "b", "c", "d"], 1, measure)
    assert order == [None, "b", "c", "d", None, "a", None]
    summary = change_card.summary([pairs["a"]] * 3, [pairs["a"]])
    assert summary["percent"] == pytest.approx(10, abs=0.01) and summary["spread"] == 0 and summary["sustained_percent"] == 0
    assert change_card.summary([((1100, 1), (1000, 1)), ((1000, 1), (1000, 1)), ((1200, 1), (1000, 1))], [((1, 2), (1, 1))])["percent"] == 10


# ---------------------------------------------------------------------------
# The report
# ---------------------------------------------------------------------------


def record_of(card):
    """A record of a card, of {change: percent} of one kernel."""
    entry = {"spread": 0.2, "sustained_percent": 0, "mhz": 1700, "sustained_mhz": 1500, "lines": 3, "note": ""}
    return {"card": "A card", "date": "2026-11-30", "commit": "0123456789ab", "protocol": changes.PROTOCOL,
            "kernels": {SMALLEST: {"cycles": 1000000, "us": 600.0, "mhz": 1700}},
            "changes": {f"{SMALLEST}/{name}": entry | {"percent": percent} for name, percent in card.items()}}  # fmt: skip


def model_of(said):
    return {"date": "2026-11-30", "commit": "0123456789ab", "costs": "machine code", "kernels": {}, "absent": {},
            "changes": {f"{SMALLEST}/{name}": {"percent": percent} for name, percent in said.items()}}  # fmt: skip


def some_of(half, count):
    return [name.partition("/")[2] for name, found in changes.halves(changes.names((SMALLEST,))).items() if found == half][:count]


@pytest.fixture
def run(tmp_path, capsys):
    """A function: (exit status, stdout, stderr) of the report on two records, or texts of files."""

    def report(recorded, modelled, *options):
        paths = []
        for name, record in (("recorded.json", recorded), ("modelled.json", modelled)):
            paths.append(tmp_path / name)
            paths[-1].write_text(record if isinstance(record, str) else json.dumps(record))
        try:
            status = change_command.main(["--recorded", str(paths[0]), "--modelled", str(paths[1]), *options])
        except SystemExit as error:
            status = error.code
        said = capsys.readouterr()
        return status, said.out, said.err

    return report


def test_bars_are_met(run):
    """All judged changes are off by one point: the bars are met, though one for fitting is far off."""
    judged, fitted = some_of("judge", 3), some_of("fit", 1)
    card = dict(zip(judged, (-3.0, 10.0, 0.5), strict=True)) | {fitted[0]: 30.0}
    said = {name: percent + 1 for name, percent in card.items()} | {fitted[0]: -30.0}
    status, out, err = run(record_of(card), model_of(said))
    assert status == 0 and err == "" and "All bars are met." in out
    assert "| judged | 3 | 1.0 | +1.0 " in out and "| 2 of 2 |" in out
    assert f"| {judged[0]} | -3.0% | 0.2 | +0.0% | -2.0% | +1.0 | judge | 3 |" in out
    assert f"| {fitted[0]} | +30.0% | 0.2 | +0.0% | -30.0% | -60.0 **wrong way** | fit | 3 |" in out


def test_bars_are_missed(run):
    """Each bar that the judged half misses is a sentence, and the exit status is 1; a change of which the model says nothing is one, too."""
    judged = some_of("judge", 4)
    card = dict(zip(judged, (-3.0, 10.0, 1.9, 5.0), strict=True))
    status, out, err = run(record_of(card), model_of({judged[0]: 0.5, judged[1]: 20.0, judged[2]: -0.1}))
    assert status == 1
    assert err.splitlines() == [
        f"timing: the model says nothing of 1 judged changes: {SMALLEST}/{judged[3]}",
        "timing: the mean absolute error is 5.2 points, and the bar 2",
        f"timing: the worst error is 10.0 points ({SMALLEST}/{judged[1]}), and the bar 5",
        f"timing: 1 of 2 changes of more than 2% go the wrong way: {SMALLEST}/{judged[0]}",
    ]
    assert out.count("- **missed**") == 4 and f"| {judged[3]} | +5.0% | 0.2 | +0.0% | – | – | judge | 3 |" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "recorded.json is no JSON: "),
        ("[]", "recorded.json is no record of changes: it has no object 'changes'"),
        ('{"changes": {}}', "recorded.json is no record of changes: it has no object 'changes' with at least one"),
        ('{"changes": {"a/b": {}}}', "recorded.json is no record of changes: it has no text 'card'"),
        ('{"card": "A", "date": "B", "commit": "C", "changes": {"a/b": {"percent": NaN}}}', "recorded.json: change a/b has no number 'percent'"),
        ('{"card": "A", "date": "B", "commit": "C", "changes": {"a/b": 1}}', "recorded.json: change a/b has no number 'percent'"),
    ],
)
def test_a_bad_record_is_one_error(run, text, message):
    """A file is no record: one sentence must say which, and what it lacks."""
    status, out, _ = run(text, model_of({"no-ex2": 1}))
    assert status.startswith("timing: ") and message in status and "\n" not in status and out == ""


def test_a_record_that_is_not_there(run):
    """The model's file is missing, or has another form: the error must name it."""
    assert "no number 'burst_launches' in 'protocol'" in run({**record_of({"no-ex2": 1.0}), "protocol": {}}, model_of({"no-ex2": 1}))[0]
    assert "modelled.json is no record of changes: it has no text 'costs'" in run(record_of({"no-ex2": 1.0}), {"date": "", "commit": "", "changes": {"a/b": {}}})[0]
    assert run(record_of({"no-ex2": 1.0}), model_of({"no-ex2": 1}), "--modelled", "/nowhere/x.json")[0] == "timing: /nowhere/x.json: No such file or directory"


def test_one_thing_at_a_time(run):
    """--measure needs a card and --make the compiler: both at once are refused, and so is a page of other records than the project's."""
    assert run(record_of({"no-ex2": 1.0}), model_of({}), "--make", "--measure")[0] == 2
    assert run(record_of({"no-ex2": 1.0}), model_of({}), "--write")[0] == 2
    assert "no change has a match of 'nothing'" in run("{}", "{}", "--only", "nothing")[0]


@pytest.mark.skipif(not change_command.RECORDED.exists(), reason="needs bench/timing-changes.json")
def test_page_is_what_was_recorded():
    """The page of changes must be what the records give, and these must be of changes that there are."""
    recorded, modelled = change_report.read_recorded(change_command.RECORDED), change_report.read_modelled(change_command.MODELLED)
    assert set(recorded["changes"]) <= set(changes.names()) and recorded["commit"] == modelled["commit"]
    assert (results.FOLDER / "changes.md").read_text() == results.wrapped(change_report.page(recorded, modelled))


def test_folders_without_kernels():
    """Nothing was made: the error must name the folder."""
    with pytest.raises(change_edits.EditError, match="/nowhere has no kernels that --make has made"):
        change_files.read_made(Path("/nowhere"))
