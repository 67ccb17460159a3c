# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/hopper without a card: names, tables and bars of what was recorded, where kernels are looked for, and what clocks say."""

import json
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from fa4 import tools
from fa4_testing import results
from fa4_bench.hopper import __main__ as hopper
from fa4_bench.hopper import model, ours, picture, rows, specs, tables
from fa4_bench.hopper.rows import Form
from fa4_bench.timing import peers


def times(tflops, flops, mhz=1700):
    return {"us": flops / tflops / 1e6, "spread": 0.01, "mhz": mhz, "seen_mhz": [mhz - 50, mhz, mhz + 90]}


def record(speeds, protocols=("burst",), commit="0123456789ab"):
    """A record of rows {name: {candidate: TFLOP/s}}, all results of which are right."""
    found = {}
    for name, by_candidate in speeds.items():
        flops = rows.ROWS[name].flops
        entries = {candidate: {"errors": {"out": [0.001, 0.005]}, **{protocol: times(speed, flops) for protocol in protocols}}
                   for candidate, speed in by_candidate.items()}  # fmt: skip
        found[name] = {"flops": flops, "candidates": entries, "absent": {}}
    return {"card": "A card", "driver": "580", "torch": "2.11", "date": "2026-11-27", "commit": commit, "rows": found}


GOOD = {
    "fwd-hd128-full-1k": {"fa4": 500, "cudnn": 540, "ours:default": 560},
    "fwd-hd128-full-4k": {"fa4": 700, "cudnn": 650, "ours:default": 720},
    "fwd-hd128-window-4k": {"flex": 200, "ours:default": 650},
}


def changed(name, **speeds):
    return record(GOOD | {name: GOOD[name] | {f"ours:{key}" if key not in ("fa4", "cudnn", "flex") else key: speed for key, speed in speeds.items()}})


# ---------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------


def test_names_say_the_form():
    """A form must come out of its own name again, with everything that a name may say."""
    forms = [*rows.ROWS.values(), Form("bwd", 192, "causal-top-left", 128, "f16", "bhsd", True), Form("fwd", 64, "alibi-causal", length=1024)]
    assert [Form.parse(form.name) for form in forms] == forms
    assert forms[-2].name == "bwd-hd192_128-causal-top-left-f16-bhsd-deterministic"
    with pytest.raises(ValueError, match="fwd-hd128-nonsense is no name of a form"):
        Form.parse("fwd-hd128-nonsense")


def test_rows():
    """The rows must be those of the bars, with the operations counted by hand, and with the records that bench/timing makes."""
    assert [len(group) for group in rows.GROUPS.values()] == [14, 12, 24, 16]
    assert rows.ROWS["fwd-hd128-full-4k"].flops == 4 * 128 * 4 * 16 * 4096**2
    assert rows.ROWS["bwd-hd64-causal-16k"].flops == 10 * 64 * 32 * 16384**2 // 2
    visible = {kind: rows.KINDS[kind](4096) for kind in rows.MASKS}
    assert visible == {"window": 512 * 513 // 2 + (4096 - 512) * 512, "documents": 4096 * 256, "prefix": 512 * 512 + sum(range(513, 4097))}
    recorded = {row.recorded.name for row in rows.ROWS.values() if row.recorded}
    assert {form.name for form in peers.FORMS} < recorded and "fwd-hd256-causal-16k" in recorded
    assert all(rows.ROWS[name].recorded.flops == rows.ROWS[name].flops for name in recorded)
    assert [row.name for row in rows.choose(quick=True)] == list(rows.QUICK)
    assert len(rows.choose("bwd-hd64.*16k")) == 2 and rows.group_of("bwd-hd64-window-4k") == "mods"


@pytest.mark.parametrize("kind", rows.KINDS)
def test_operations_are_those_of_visible_scores(kind):
    """The visible scores of a kind must be those that its op sees, but for the diagonal of causal masks."""
    spec = specs.spec(Form("fwd", 64, kind))
    tables = {"document": np.arange(1024) // rows.DOCUMENT} if kind == "documents-table" else {}
    counted = spec.count_flops(B=1, Hq=1, Sq=1024, Sk=1024, **tables)
    assert counted == pytest.approx(4 * 64 * rows.KINDS[kind](1024), rel=2e-3)


# ---------------------------------------------------------------------------
# Bars
# ---------------------------------------------------------------------------


def test_a_good_record_misses_nothing():
    """All rows reach their bars: nothing may be called missed, and the mean must be that of the rows with FlashAttention-4."""
    assert tables.missed_bars(record(GOOD)) == []
    assert tables.mean_over_fa4(record(GOOD), "burst") == pytest.approx((560 / 500 * 720 / 700) ** 0.5)


@pytest.mark.parametrize(
    "name, speeds, sentence",
    [
        ("fwd-hd128-full-4k", {"default": 690}, "fwd-hd128-full-4k, burst: 0.986 of the best peer, the bar is 1.00"),
        ("fwd-hd128-full-1k", {"default": 545}, "fwd-hd128-full-1k, burst: 1.090 of FlashAttention-4, the bar is 1.10 at 1k"),
        ("fwd-hd128-window-4k", {"flex": 440}, "fwd-hd128-window-4k, burst: 1.477 of the best peer, the bar is 1.50"),
        ("fwd-hd128-window-4k", {"default": 640}, "fwd-hd128-window-4k, burst: 0.889 of the unmasked kernel's rate, the bar is 0.90"),
        ("fwd-hd128-full-4k", {"n176": 740}, "fwd-hd128-full-4k, burst: 2.7% slower than another variant, the bar is 1.5%"),
        ("fwd-hd128-full-4k", {"fa4": 719}, "burst: the geometric mean over FlashAttention-4 is 1.059"),
    ],
)  # fmt: skip
def test_missed_bars(name, speeds, sentence, monkeypatch):
    """One figure is beyond its bar: exactly that bar must be called missed."""
    if "geometric" in sentence:
        monkeypatch.setattr(tables, "MEAN_BAR", 1.06)
    (missed,) = tables.missed_bars(changed(name, **speeds))
    assert missed.startswith(sentence)


def test_wrong_and_absent_results_miss_their_bars():
    """A result is NaN, a row has no kernel of ours, another one no peer, and a record nothing at all: each must be a sentence."""
    recorded = record(GOOD | {"fwd-hd64-full-4k": {"fa4": 500}, "fwd-hd64-full-16k": {"ours:default": 500}})
    recorded["rows"]["fwd-hd128-full-4k"]["candidates"]["ours:default"]["errors"]["out"][0] = float("nan")
    missed = tables.missed_bars(recorded)
    assert len(missed) == 3
    assert missed[0] == "fwd-hd128-full-4k: ours:default is wrong: out is off by nan, and 0.005 is allowed"
    assert missed[1:] == ["fwd-hd64-full-4k, burst: no kernel of ours was timed", "fwd-hd64-full-16k, burst: no peer was timed"]
    assert tables.missed_bars(record({})) == ["nothing was timed"]


# ---------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------


def test_tables():
    """The tables must have our speed beside each peer's, the ratio to the best one, clocks, and the modelled cycles with their error."""
    recorded = record(GOOD, tables.PROTOCOLS)
    us = recorded["rows"]["fwd-hd128-full-4k"]["candidates"]["ours:default"]["burst"]["us"]
    text = tables.body(recorded, {"fwd-hd128-full-4k": 1.02 * us * 1700})
    clock = "1700 (1650–1790)"
    assert f"| fwd-hd128-full-4k | 720 | 700 | 650 | 1.029 | {clock} | {clock} | {clock} | {1.02 * us * 1.7:.0f} | +2.0% |" in text
    assert f"| fwd-hd128-window-4k | 650 | 200 | 3.250 | {clock} | {clock} | – | – |" in text
    assert text.index("## Forward, burst") < text.index("## Forward, sustained") < text.index("## Mods, burst")
    assert "Geometric mean over FlashAttention-4, burst: 1.073 (the bar is 1.05)." in text and "## Variants" not in text
    assert "| 650 | 0.986 **missed** |" not in text


def test_missed_rows_and_variants_are_marked():
    """A row that misses its bar must be marked, and variants must be listed from the fastest one with what the default loses."""
    text = tables.body(changed("fwd-hd128-full-4k", default=690, n176=710), {})
    assert "| fwd-hd128-full-4k | 690 | 700 | 650 | 0.986 **missed** |" in text
    assert "| fwd-hd128-full-4k | burst | n176 710, default 690 | 2.8% |" in text


def test_what_was_not_measured_is_said():
    """A candidate could not be made: the report must say which one, and why."""
    recorded = record(GOOD)
    recorded["rows"]["fwd-hd128-full-4k"]["absent"]["fa4"] = "no record there"
    assert "- fwd-hd128-full-4k: fa4: no record there" in tables.body(recorded, {})


def test_no_page_without_figures_of_ours():
    """A page needs a measured kernel of ours and a commit without changes; it then has a head."""
    with pytest.raises(ValueError, match="no figures of our kernels yet"):
        tables.page(record({"fwd-hd128-full-4k": {"fa4": 700}}), {})
    with pytest.raises(ValueError, match="measure a commit without changes"):
        tables.page(record(GOOD, commit="0123456789ab with changes"), {})
    page = results.HEAD.match(results.wrapped(tables.page(record(GOOD), {})))
    assert page["commit"] == "0123456789ab"
    assert page["headline"] == "On A card: 3 of 3 rows reach their bars burst, 1.07 of FlashAttention-4's speed"


def test_report_of_what_was_recorded(capsys, tmp_path):
    """--report prints the tables and fails where a bar is missed, and only there."""
    good = tmp_path / "good.json"
    hopper.write_table(good, record(GOOD))
    assert hopper.main(["--report", str(good)]) == 0
    assert "| fwd-hd128-full-4k | 720 | 700 | 650 | 1.029 |" in capsys.readouterr().out
    hopper.write_table(good, changed("fwd-hd128-full-4k", default=690))
    assert hopper.main(["--report", str(good)]) == 1
    assert "hopper: fwd-hd128-full-4k, burst: 0.986 of the best peer" in capsys.readouterr().err


def test_the_record():
    """The record of the repository must be of known rows, on a Hopper card, with clocks, and with results of peers that are right."""
    recorded = json.loads(hopper.RECORDED.read_text())
    assert set(recorded["rows"]) <= set(rows.ROWS) and recorded["card"].startswith(("NVIDIA H100", "NVIDIA H200"))
    assert recorded["driver"] and recorded["date"] and recorded["commit"]
    for name, row in recorded["rows"].items():
        assert row["flops"] == rows.ROWS[name].flops
        for entry in row["candidates"].values():
            assert all(tables.is_right(*pair) for pair in entry["errors"].values())
            assert all(1000 < entry[protocol]["mhz"] < 2000 for protocol in tables.PROTOCOLS if protocol in entry)


def test_the_page_is_what_was_recorded():
    """The page of results, once there is one, must be what the recorded and the modelled figures give."""
    page = results.FOLDER / "hopper.md"
    if not page.exists():
        pytest.skip("needs figures of our kernels in bench/hopper.json")
    modelled = json.loads(hopper.MODELLED.read_text())["cycles"] if hopper.MODELLED.exists() else {}
    assert page.read_text() == results.wrapped(tables.page(json.loads(hopper.RECORDED.read_text()), modelled))


# ---------------------------------------------------------------------------
# Command line
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, message",
    [
        (["--only", "nonsense"], "no row has a match of 'nonsense' in its name"),
        (["--rounds", "0,1"], "expected two numbers"),
        (["--write"], "--write goes with --report of bench/hopper.json"),
        (["--compile", "out", "--forms", "fwd-hd128"], "fwd-hd128 is no name of a form"),
        (["--report", "nowhere.json"], "nowhere.json"),
    ],
)
def test_refused_options(words, message, capsys):
    """What makes no sense must end in one sentence and a status that is not 0."""
    with pytest.raises(SystemExit) as ended:
        hopper.main(words)
    assert ended.value.code != 0
    assert message in f"{ended.value.code}{capsys.readouterr().err}"


# ---------------------------------------------------------------------------
# Our kernels
# ---------------------------------------------------------------------------


def make_folders(folder, *names):
    for name in names:
        (folder / name).mkdir(parents=True)


def test_kernels_of_a_row(tmp_path):
    """Of each variant a row has at most one kernel: that for its length rather than that of the form, and none of another form."""
    make_folders(tmp_path, "default/fwd-hd128-full", "default/fwd-hd128-causal", "long/fwd-hd128-full-16k", "long/fwd-hd128-full", "one/fwd-hd128-full-4k")
    found = ours.places(tmp_path)

    def of(name):
        return [f"{place.variant}/{place.folder.name}" for place in ours.of_row(found, rows.ROWS[name])]

    assert of("fwd-hd128-full-16k") == ["default/fwd-hd128-full", "long/fwd-hd128-full-16k"]
    assert of("fwd-hd128-full-4k") == ["default/fwd-hd128-full", "long/fwd-hd128-full", "one/fwd-hd128-full-4k"]
    assert of("bwd-hd128-full-4k") == []
    make_folders(tmp_path, "default/nonsense")
    with pytest.raises(ValueError, match="nonsense is no name of a form"):
        ours.places(tmp_path)


def test_a_folder_is_a_kernel(tmp_path):
    """The manifest of several launches is that of the kernel, and a file of another kind is none of it."""
    for name, manifest in (("a", {"ptx": "a.ptx", "tensors": {}}), ("both", {"launches": [{"ptx": "a.ptx"}], "tensors": {}})):
        (tmp_path / f"{name}.json").write_text(json.dumps(manifest))
    (tmp_path / "a.ptx").write_text("// PTX")
    (tmp_path / "op.mlir").write_text("")
    assert model.manifest_of(tmp_path) == tmp_path / "both.json"
    kernel = ours.read(tmp_path)
    assert kernel.name == "both" and kernel.modules == {"a.ptx": "// PTX"} and kernel.chip == "sm_90a"


def test_a_refused_form_leaves_no_folder(tmp_path, monkeypatch):
    """The compiler refuses a form: --compile must say why, fail, and leave nothing that could be taken for a kernel."""
    refusing = tmp_path / "fa4-compile"
    refusing.write_text("#!/bin/sh\necho 'refused here' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(tools, "find_tool", lambda name: str(refusing))
    refused = specs.compile_all([Form("fwd", 64, "softcap")], tmp_path / "out", "default", [], 1)
    assert refused == {"fwd-hd64-softcap": "refused here"} and ours.places(tmp_path / "out") == []


def test_the_command_runs():
    """The command itself must print the recorded tables with Python alone, and fail as long as kernels of ours are missing."""
    done = subprocess.run([hopper.ROOT / "bench" / "hopper", "--report"], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1) and "## Forward, burst" in done.stdout, done.stderr
    assert (done.returncode == 1) == bool(tables.missed_bars(json.loads(hopper.RECORDED.read_text())))


# ---------------------------------------------------------------------------
# The picture
# ---------------------------------------------------------------------------


def test_picture():
    """The picture must have our figures, the higher the faster, and a line of each peer with as many points as lengths were measured."""
    root = ET.fromstring(picture.draw(record(GOOD)))
    name = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in root.iter(f"{name}text") if text.text in ("560", "720")] == ["560", "720"]
    short, long = (float(circle.get("cy")) for circle in root.iter(f"{name}circle"))
    assert long < short
    by_colour = {line.get("stroke"): line.get("points").split() for line in root.iter(f"{name}polyline") if len(line.get("points").split()) == 2}
    assert {colour for _, _, colour, _ in picture.LINES} <= set(by_colour)


def test_recorded_picture():
    """The picture beside the page must be that of the record."""
    assert (results.FOLDER / hopper.PICTURE).read_text() == picture.draw(json.loads(hopper.RECORDED.read_text()))
