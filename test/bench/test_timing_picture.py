# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of a steady state (fa4_bench.timing.picture), drawn from a trace that is written down here: a warp adds for 300 of 500 clocks, and a
product takes the other 200."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from fa4 import tools
from fa4_bench.timing import picture

SVG = "{http://www.w3.org/2000/svg}"


def event(track, begin, duration, line, name="mbarrier.try_wait"):
    return {"ph": "X", "name": name, "pid": 0, "tid": track, "ts": begin, "dur": duration, "args": {"line": line}}


def named(track, name):
    return {"ph": "M", "name": "thread_name", "pid": 0, "tid": track, "args": {"name": name}}


def the_trace():
    events = [named(0, "MMA + softmax warp 0"), named(1, "warp 1"), named(1000, "tensor cores")]
    for at in range(0, 5000, 500):
        events.append(event(0, at + 300, 200, 10))
        # Two products of 100 clocks without a pause are one box.
        events += [event(1000, at + 300 + 100 * i, 100, 20 + i, "wgmma.mma_async") for i in range(2)]
    events += [{"ph": "s", "id": 1, "pid": 0, "tid": 1000, "ts": 2000}, {"ph": "f", "id": 1, "pid": 0, "tid": 0, "ts": 2010}]
    return {"traceEvents": events}


def the_time(**changes):
    steps = [dict(agent="warp 0", kind="warp", cycles=300, cta=0), dict(agent="tensor cores", kind="unit", cycles=200, cta=0)]
    roles = [dict(warps="warp 0", duties="MMA + softmax"), dict(warps="warp 1", duties="other")]
    path = dict(period=500, begin=2000, steps=steps)
    return dict(cta=[0, 0, 0], roles=roles, critical_path=path) | changes


def parts(svg, tag, **attributes):
    return [e for e in ElementTree.fromstring(svg).iter(SVG + tag) if all(e.get(k) == v for k, v in attributes.items())]


def test_boxes_are_what_is_no_wait():
    """A trace is drawn: each span without waiting must be a box of the right place and width."""
    svg = picture.draw(the_trace(), the_time(), periods=2, title="two & more")
    per_clock = picture.WIDTH / 1000
    work = [(float(r.get("x")), float(r.get("width"))) for r in parts(svg, "rect") if r.get("class") == "work"]
    assert work == [
        pytest.approx((picture.LEFT, 300 * per_clock), abs=0.1),
        pytest.approx((picture.LEFT + 500 * per_clock, 300 * per_clock), abs=0.1),
    ]
    products = [float(r.get("width")) for r in parts(svg, "rect") if r.get("class").startswith("unit")]
    assert products == [pytest.approx(200 * per_clock, abs=0.1)] * 2
    names = [t.text for t in parts(svg, "text")]
    assert {"tensor cores", "MMA + softmax, warp 0", "two & more"} <= set(names) and not any("warp 1" in n for n in names)
    assert len(parts(svg, "line", **{"class": "arrow"})) == 1


def test_the_path_follows_the_steps():
    """A critical path of two steps is drawn: its line must go from the warp's row to that of the tensor cores."""
    svg = picture.draw(the_trace(), the_time(), periods=1)
    (line,) = parts(svg, "polyline")
    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
    middle = picture.LEFT + picture.WIDTH * 300 / 500
    assert [x for x, _ in points] == pytest.approx([picture.LEFT, middle, middle, picture.LEFT + picture.WIDTH], abs=0.1)
    # The work is in the row below that of the tensor cores.
    assert points[0][1] == points[1][1] > points[2][1] == points[3][1]


@pytest.mark.parametrize("time, message", [
    (the_time(critical_path=None), "no critical path"),
    (the_time(cta=[3, 0, 0]), r"of CTA \[0, 0, 0\], the critical path of CTA \[3, 0, 0\]"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_an_error(time, message):
    """The critical path is missing or is that of another CTA: a PictureError must say so."""
    with pytest.raises(picture.PictureError, match=message):
        picture.draw(the_trace(), time)


def test_the_command_line_says_what_is_wrong(tmp_path, capsys):
    """Files that exist must give a picture, a missing file or folder one line of error each."""
    trace, time, out = tmp_path / "t.json", tmp_path / "time.json", tmp_path / "p.svg"
    trace.write_text(json.dumps(the_trace()))
    time.write_text(json.dumps({"runs": [{"time": the_time()}]}))
    assert picture.main([str(out), "--trace", str(trace), "--time", str(time)]) == 0
    assert "critical path: 500 clocks" in out.read_text()
    assert picture.main([str(tmp_path / "no" / "p.svg"), "--trace", str(trace), "--time", str(time)]) == 1
    assert picture.main([str(out), "--trace", str(trace), "--time", str(tmp_path / "absent")]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and all(line.startswith("picture: ") for line in errors)


@pytest.mark.skipif(not tools.has_tools("fa4-compile", "fa4-sim"), reason="needs fa4-compile and fa4-sim")
def test_the_forward_kernel(tmp_path):
    """The picture of the forward kernel shows its critical path: the products of a tile, its softmax, and the roles
    that hand over between them."""
    trace, time = picture.record(128, "causal", 2048, tmp_path, ["--costs=forms"])
    path = time["critical_path"]
    assert sum(step["cycles"] for step in path["steps"]) == pytest.approx(path["period"])
    # There are 16 blocks of keys, each with products of 1024 clocks. The chain may take several of them to come back to where it was.
    assert 2 <= path["alike"] <= 16 and path["share"] > 0.5
    assert 1024 < path["period"] < time["cta_cycles"] / 2
    products = sum(step["operations"] for step in path["steps"] if step["agent"] == "tensor cores")
    assert products >= 8
    warps = {role["warps"]: role["duties"] for role in time["roles"]}
    assert {"softmax", "MMA", "load"} <= set(warps.values())
    softmax = {f"warp {w}" for name, duties in warps.items() if duties == "softmax" for w in range(32) if _has(name, w)}
    assert softmax & {step["agent"] for step in path["steps"] if step["kind"] == "warp"}
    assert len(parts(picture.draw(trace, time), "polyline")) == 1
    names = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
    assert "softmax warp 0" in names and "tensor cores" in names


def _has(name, warp):
    first, _, last = name.split()[1].partition("-")
    return int(first) <= warp <= int(last or first)


def test_the_picture_of_the_documentation_is_for_light_and_dark_pages():
    """The documentation's picture must have colours for dark pages and one critical path."""
    svg = (picture.Path(__file__).parents[2] / "docs" / "pictures" / "steady-state.svg").read_text()
    assert "prefers-color-scheme: dark" in svg and len(parts(svg, "polyline")) == 1
