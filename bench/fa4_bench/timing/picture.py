# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of a kernel's steady state, from a trace and the JSON of one run of `fa4-sim --time`.

`python -m fa4_bench.timing.picture docs/pictures/steady-state.svg` draws fa4-compile's forward kernel, with `--trace TRACE.json --time TIME.json` any.

Each unit and each role has a row. A box of a unit is a group of operations that it works on without a pause; a box of a role
is the time in which its first warp does not wait. The critical path of a period is drawn in a colour of its own. The SVG follows
the reader's preference for a light or a dark page."""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

LEFT, WIDTH, ROW, BAR, TOP = 150, 860, 40, 24, 46
# Pauses of fewer clocks are not visible.
PAUSE = 4
UNITS = ("tensor cores", "bulk loads")

STYLE = """
text { font: 12px sans-serif; fill: #222 } .small { font-size: 10px } .axis { stroke: #999 } .arrow { stroke: #999; stroke-width: 0.7; fill: none }
.work { fill: #9ecae1; stroke: #3b76a0 } .unit0 { fill: #a1d99b; stroke: #3a7a34 } .unit1 { fill: #fdd0a2; stroke: #b36b1e }
.unit2 { fill: #dadaeb; stroke: #6b5ca5 } .unit3 { fill: #e7cb94; stroke: #8c6d31 } .path { stroke: #d62728; fill: none; stroke-width: 3 }
.page { fill: #fff } .inbox { fill: #222 } .red { fill: #d62728 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .page { fill: #0d1117 } .axis, .arrow { stroke: #777 } .path { stroke: #ff7b72 } .inbox { fill: #111 } .red { fill: #ff7b72 }
.work { fill: #5b8fb0 } .unit0 { fill: #6fae69 } .unit1 { fill: #d09a5e } .unit2 { fill: #9d95c9 } .unit3 { fill: #b3975c } }
"""


@dataclass(frozen=True)
class Row:
    name: str
    track: int  # A thread of the trace.
    threads: frozenset  # All threads that the row stands for.
    is_unit: bool


class PictureError(ValueError):
    """What is given has no steady state that could be drawn."""


def rows_of(events, time):
    """Units first, then the roles of the first CTA that do something, by their first warp."""
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M" and e["pid"] == 0}
    rows = [Row(name, tracks[name], frozenset([tracks[name]]), True) for name in UNITS if name in tracks]
    for role in time["roles"]:
        words = role["warps"].split()
        if role["duties"] == "other" or role["warps"].startswith("CTA"):
            continue
        first, _, last = words[1].partition("-")
        warps = range(int(first), int(last or first) + 1)
        rows.append(Row(f"{role['duties']}, {role['warps']}", int(first), frozenset(warps), False))
    return rows


def boxes_of_unit(slices):
    """(begin, end, first line, operations) of groups: a group ends at a pause, and where the PTX lines start over."""
    groups = []
    for event in sorted(slices, key=lambda e: e["ts"]):
        begin, end, line = event["ts"], event["ts"] + event["dur"], event["args"]["line"]
        if groups and begin - groups[-1][1] < PAUSE and line > groups[-1][4]:
            groups[-1] = [groups[-1][0], end, groups[-1][2], groups[-1][3] + 1, line]
        else:
            groups.append([begin, end, line, 1, line])
    return [tuple(group[:4]) for group in groups]


def boxes_of_warp(waits, begin, end):
    """(begin, end) of what a warp does between its waits."""
    boxes, at = [], begin
    for event in sorted(waits, key=lambda e: e["ts"]):
        if event["dur"] < PAUSE:
            continue
        if event["ts"] > at:
            boxes.append((at, event["ts"]))
        at = max(at, event["ts"] + event["dur"])
    return [*boxes, (at, end)] if at < end else boxes


def draw(trace: dict, time: dict, periods: float = 2, title: str = "") -> str:
    """The SVG of `periods` periods of a launch's steady state. `trace` is what --trace wrote, and `time` the launch's "time" of --json, in one
    run. Raises PictureError where the launch has no period, or its longest CTA is not the one of the trace."""
    path = time.get("critical_path")
    if not path:
        raise PictureError("the launch has no critical path of a period")
    if any(time["cta"]):
        raise PictureError(f"the trace is of CTA [0, 0, 0], the critical path of CTA {time['cta']}")
    events = [e for e in trace["traceEvents"] if e.get("pid") == 0]
    begin, end = path["begin"], path["begin"] + periods * path["period"]
    inside = [e for e in events if e["ph"] == "X" and e["ts"] < end and e["ts"] + e["dur"] > begin]

    def boxes(row):
        own = [e for e in inside if e["tid"] == row.track]
        return boxes_of_unit(own) if row.is_unit else boxes_of_warp(own, begin, end)

    rows = [row for row in rows_of(events, time) if boxes(row)]

    def x(clock):
        return LEFT + WIDTH * (min(max(clock, begin), end) - begin) / (end - begin)

    def y(index):
        return TOP + ROW * index

    height = y(len(rows)) + 40
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height}" width="{LEFT + WIDTH + 20}" height="{height}">',
           f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
           f'<rect class="page" width="{LEFT + WIDTH + 20}" height="{height}"/>', f'<text x="10" y="20">{escape(title)}</text>']  # fmt: skip
    shades = {}
    for index, row in enumerate(rows):
        svg.append(f'<text class="small" x="10" y="{y(index) + 16}">{escape(row.name)}</text>')
        svg.append(f'<line class="axis" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(index) + BAR}" y2="{y(index) + BAR}"/>')
        for box in boxes(row):
            shade = "work"
            if row.is_unit:
                # The products of one place in the program have one colour.
                shade = f"unit{shades.setdefault((row.name, box[2]), len(shades)) % 4}"
            left, right = x(box[0]), x(box[1])
            svg.append(f'<rect class="{shade}" x="{left:.1f}" y="{y(index)}" width="{right - left:.1f}" height="{BAR}"/>')
            if row.is_unit and right - left > 60:
                svg.append(f'<text class="small inbox" x="{left + 4:.1f}" y="{y(index) + 16}">line {box[2]} ff.</text>')
    svg += _arrows(events, rows, begin, end, x, y)
    svg += _path(path, rows, x, y)
    for clock in range(0, int(end - begin) + 1, 500 if end - begin < 8000 else 2000):
        svg.append(f'<text class="small" x="{x(begin + clock):.1f}" y="{height - 22}">{clock}</text>')
    svg.append(f'<text class="small" x="10" y="{height - 22}">clocks</text>')
    svg.append(f'<text class="small red" x="{LEFT}" y="{height - 6}">critical path: {path["period"]:.0f} clocks a period</text></svg>')
    return "\n".join(svg) + "\n"


def _arrows(events, rows, begin, end, x, y):
    """From the last arrival on an mbarrier to the warps that have waited for it."""
    place = {thread: i for i, row in enumerate(rows) for thread in row.threads}
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    drawn = set()
    for target in (e for e in events if e["ph"] == "f"):
        source = starts.get(target["id"])
        if not source or source["ts"] < begin or target["ts"] > end:
            continue
        ends = place.get(source["tid"]), place.get(target["tid"])
        key = (*ends, round(source["ts"]))
        if None in ends or ends[0] == ends[1] or key in drawn:
            continue
        drawn.add(key)
        yield (f'<line class="arrow" x1="{x(source["ts"]):.1f}" y1="{y(ends[0]) + BAR / 2}" x2="{x(target["ts"]):.1f}" y2="{y(ends[1]) + BAR / 2}"/>')


def _path(path, rows, x, y):
    """A line under the boxes of the steps, and between the rows where one step follows another."""
    units = {row.name: i for i, row in enumerate(rows) if row.is_unit}
    warps = {f"warp {thread}": i for i, row in enumerate(rows) if not row.is_unit for thread in row.threads}
    clock, last, points = path["begin"], None, []
    for step in path["steps"]:
        after = clock + step["cycles"]
        # A hand-off is the line between two rows; what has no row is left out.
        index = units.get(step["agent"]) if step["kind"] == "unit" else warps.get(step["agent"])
        if step["kind"] != "hand_off" and index is not None and step["cta"] == 0:
            points += [(x(clock), y(index) + BAR + 3), (x(after), y(index) + BAR + 3)]
            last = index
        clock = after
    if last is not None:
        yield '<polyline class="path" points="' + " ".join(f"{a:.1f},{b}" for a, b in points) + '"/>'


def record(head_dim, mask, length, folder, options=()):
    """(trace, time) of fa4-compile's forward kernel. `options` are for fa4-sim. Raises CompileError and SimulationError with the tool's
    message."""
    from fa4_testing import gpu

    kernel = gpu.compile(gpu.Op(head_dim=head_dim, mask=mask).mlir(), folder, options=["--verify-ptx=false"])
    sizes = dict(B=1, Sq=length, Sk=length, Hq=1, Hkv=1)
    words = [kernel.manifest, *(f"{name}={n}" for name, n in sizes.items())]
    trace = folder / "trace.json"
    # On one thread, the first of CTAs that take equally long is the longest: the one of the trace.
    words += ["--time", "--json", "--threads=1", "--trace", trace, *options]
    done = subprocess.run([gpu.find_tool("fa4-sim"), *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise gpu.SimulationError(done.stderr.strip()[-2000:])
    return json.loads(trace.read_text()), json.loads(done.stdout)["runs"][0]["time"]


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="picture", description="Draws the steady state of a kernel.")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--mask", default="full")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--periods", type=float, default=2)
    parser.add_argument("--trace", type=Path, help="draw this trace, with --time")
    parser.add_argument("--time", type=Path, help="the JSON of the run that wrote the trace")
    args = parser.parse_args(words)
    try:
        if args.trace and args.time:
            trace = json.loads(args.trace.read_text())
            time = json.loads(args.time.read_text())["runs"][0]["time"]
            title = args.trace.name
        elif args.trace or args.time:
            parser.error("--trace and --time belong together")
        else:
            with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
                trace, time = record(args.head_dim, args.mask, args.length, Path(folder))
            title = f"Head dim {args.head_dim}, {args.mask} mask, {args.length} tokens, B200 under the model; costs: {time['costs']}"
        args.picture.write_text(draw(trace, time, args.periods, title))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        print(f"picture: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
