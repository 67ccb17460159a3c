# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`fa4 report`: a kernel as one HTML file, which needs nothing else: the schedule of a CTA over time, channels as a graph, the memory map, the
roofline beside the model, register budgets, what ptxas says, and the IR of each level, with search, and with lines of one origin shown together.

    kernel = fa4.compile(fa4.sdpa(q="B Sq 8 64", k="B Sk 8 64", mask="causal"))
    fa4.report.write(kernel, "kernel.html")
"""

from __future__ import annotations

import html
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from fa4 import _library, kernel, report_page
from fa4.errors import Fa4Error, SimulationError
from fa4.spec import SpecError

# Sizes of the CTA that is shown, where the caller gives none: a few blocks of keys, and one work tile.
SIZES = {"B": 1, "Sq": 256, "Sk": 1024, "Hq": 1, "Hkv": 1}
LEVELS = ("tile", "subtile", "pair-ctas", "lazy-rescale", "plan", "assign-work", "warp-specialize", "schedule", "split-exp",
          "share-buffers", "allocate", "split-loop", "distribute", "unroll", "nvvm")  # fmt: skip
# Levels of more lines are cut: a browser takes seconds to search them.
MOST_LINES = 20000


# ---------------------------------------------------------------------------
# What the report of the compiler says
# ---------------------------------------------------------------------------


def split_report(text: str, name: str) -> dict[str, list[str]]:
    """The sections of the text of `kernel.report()` that are of one kernel, by what they are."""
    heads = {
        "schedule": f"schedule of @{name}", "roofline": f"roofline of @{name}", "smem": f"@{name}: shared memory",
        "tmem": f"@{name}: tensor memory", "ptxas": f"{name} on ", "time": f"modelled time of @{name}",
    }  # fmt: skip
    anything = re.compile(r"(schedule of |roofline of |modelled time of |@\w+: (shared|tensor) memory|\w+ on sm_)")
    sections: dict[str, list[str]] = {}
    current = None
    for line in text.splitlines():
        if anything.match(line):
            starts = (
                what for what, head in heads.items() if line == head or line.startswith((head + ",", head + ":")) or head.endswith(" ") and line.startswith(head)
            )
            current = next(starts, None)
        if current:
            sections.setdefault(current, []).append(line)
    return sections


def read_schedule(lines: list[str]) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """role -> [(verb, channel)], and channel -> where it is and what it holds."""
    roles: dict[str, list[tuple[str, str]]] = {}
    channels: dict[str, str] = {}
    role, in_channels = None, False
    for line in lines:
        if line.startswith("role @"):
            role = line.removeprefix("role @")
            roles[role] = []
        elif line == "channels":
            in_channels = True
        elif in_channels and line.startswith("    "):
            name, *rest = line.split()
            channels[name] = " ".join(rest)
        elif role and (found := re.match(r"\s+(acquire|commit|wait|release|mma|load|store)\s+(\S+)?", line)):
            roles[role].append((found[1], found[2] or ""))
    return roles, channels


def edges_of(roles: dict, channels: dict) -> list[dict]:
    """Who hands what to whom: one edge a pair of roles, with its channels."""
    edges: dict[tuple[str, str], list[str]] = {}
    for channel in channels:
        producers = [role for role, steps in roles.items() if ("commit", channel) in steps]
        consumers = [role for role, steps in roles.items() if ("wait", channel) in steps]
        for pair in ((a, b) for a in producers for b in consumers):
            edges.setdefault(pair, []).append(channel)
    return [{"from": a, "to": b, "channels": names} for (a, b), names in edges.items()]


def read_memory(lines: list[str]) -> list[dict]:
    """The rows of a memory map. `column` is how many others were in a row's bytes before it."""
    rows: list[dict] = []
    for line in lines[2:]:
        found = re.match(r"\s*(\d+)\s+(\d+)\s{2}(\S.*?)(?:\s{2,}(\d+ x \d+)(?:\s+(.*))?)?$", line)
        if not found:
            continue
        begin, end, name, stages, rest = found.groups()
        row = {"from": int(begin), "to": int(end), "name": name.strip(), "stages": stages or "", "note": rest or "", "column": 0}
        before = [other["column"] for other in rows if other["from"] < row["to"] and row["from"] < other["to"]]
        row["column"] = max(before, default=-1) + 1
        rows.append(row)
    return rows


def read_channels(ir: str, kernel_name: str) -> dict[str, dict]:
    """The mbarriers of a placed kernel's channels: "stages", and "full" and "empty", the numbers of the first ones (None where
    there is none)."""
    text = ir.partition(f"tile.kernel @{kernel_name}(")[2].partition("tile.kernel @")[0]
    channels = {}
    for found in re.finditer(r'tile\.channel "([^"]+)" \w+ stages\((\d+)\)(.*)', text):
        barriers = {kind: re.search(rf"\b{kind}\((\d+)\)", found[3]) for kind in ("full", "empty")}
        channels[found[1]] = {"stages": int(found[2]), **{kind: at and int(at[1]) for kind, at in barriers.items()}}
    return channels


def lives_of(rows: list[dict], channels: dict[str, dict], phases: dict[int, list[float]], end: float) -> list[dict]:
    """When each stage of the channels of a memory map holds a value: [begin, end] from the phase of its full barrier to
    that of its empty one. Without an empty one, a value is there until another one is handed over in the same
    bytes. `phases`: when the phases of each mbarrier end, by its number."""
    cells: list[dict] = []
    for row in rows:
        channel = channels.get(row["name"])
        if not channel or channel["full"] is None:
            continue
        size = (row["to"] - row["from"]) // channel["stages"]
        for stage in range(channel["stages"]):
            at = row["from"] + stage * size
            full = phases.get(channel["full"] + stage, [])
            empty = None if channel["empty"] is None else phases.get(channel["empty"] + stage, [])
            cells.append({"name": row["name"], "stage": stage, "from": at, "to": at + size, "full": full, "empty": empty})
    for cell in cells:
        others = [time for other in cells if other["from"] < cell["to"] and cell["from"] < other["to"] for time in other["full"]]
        spans = []
        for i, begin in enumerate(cell["full"]):
            if cell["empty"] is not None:
                over = cell["empty"][i] if i < len(cell["empty"]) else end
            else:
                over = min((time for time in others if time > begin), default=end)
            spans.append([round(begin), round(over)])
        cell["spans"] = spans
    return [{key: cell[key] for key in ("name", "stage", "from", "to", "spans")} for cell in cells]


def number_barriers(smem: list[dict], phases: dict[int, list[float]]) -> dict[int, list[float]]:
    """The phases by the numbers of the mbarriers, which are in one row of the memory map. What the system has in front of a
    kernel's memory is whole kilobytes."""
    start = next((row["from"] for row in smem if row["name"].endswith("mbarriers")), None)
    if start is None or not phases:
        return {}
    base = (min(phases) - start) // 1024 * 1024 + start
    return {(offset - base) // 8: sorted(times) for offset, times in phases.items()}


def read_units(lines: list[str]) -> list[dict]:
    """The units of the modelled time, with cycles of an iteration and those of the roofline."""
    units = []
    for line in lines:
        found = re.match(r"  (\S.*?)\s{2,}(?:(\d+)%)?\s*(\d+)?\s*(\d+)?$", line)
        if found and (found[2] or found[3]):
            percent, cycles, roofline = (int(n) if n else None for n in found.groups()[1:])
            units.append({"unit": found[1], "busy": percent, "cycles": cycles, "roofline": roofline})
    return units


# ---------------------------------------------------------------------------
# Time
# ---------------------------------------------------------------------------


def trace_of(manifest: str, ptx: dict[str, str], numbers: dict) -> tuple[dict, dict[int, list[float]]]:
    """What happens in the first CTA: rows (warps and units) with their spans [begin, length, name, line], in cycles. And when
    the phases of each mbarrier end, by its offset in the CTA's shared memory."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch, _library.Simulation(manifest) as simulation:
        path = os.path.join(scratch, "trace.json")
        for name, text in ptx.items():
            simulation.set_module(name, text)
        for name, value in numbers.items():
            simulation.set_number(name, value)
        times = json.loads(simulation.time(trace=path.encode()))
        events = json.loads(Path(path).read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    rows: dict[int, list] = {tid: [] for tid in names}
    phases: dict[int, list] = {}
    for event in events:
        if event["ph"] == "i" and event["pid"] == 0:
            phases.setdefault(event["args"]["offset"], []).append(event["ts"])
        if event["ph"] == "X":
            rows[event["tid"]].append([round(event["ts"]), max(round(event["dur"]), 1), event["name"], event.get("args", {}).get("line", 0)])
    shown = [{"name": names[tid], "unit": tid >= 1000, "spans": sorted(spans)} for tid, spans in rows.items()]
    return {"rows": shown, "time": times[0]}, phases


# ---------------------------------------------------------------------------
# IR
# ---------------------------------------------------------------------------


def read_ir(text: str) -> tuple[list[str], list[str]]:
    """The lines of a module that was printed with locations, without them; and of each line the places that it comes from, as
    "line:column" with spaces between them."""
    known = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))

    def places(what: str, depth: int = 0) -> set[str]:
        found = {f"{line}:{column}" for line, column in re.findall(r'"[^"]*":(\d+):(\d+)', what)}
        for name in re.findall(r"#loc\d*", what) if depth < 20 else ():
            found |= places(known.get(name, ""), depth + 1)
        return found

    lines, origins = [], []
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        end = re.search(r" loc\((#loc\d*|\"[^\"]*\"[^)]*|unknown|callsite\(.*\)|fused\[.*\])\)$", line)
        lines.append(re.sub(r" loc\((#loc\d*|unknown)\)", "", line[: end.start()] if end else line))
        origins.append(" ".join(sorted(places(end[1]))) if end else "")
    while lines and not lines[-1]:
        lines.pop()
        origins.pop()
    return lines, origins


def levels_of(made: kernel.Kernel) -> list[dict]:
    """The op, and the IR of each level with its places in the op."""
    options = {**made._options, "verify": False, "ptxas": None, "locations": True}
    files = kernel._compile(made.text, ",".join(LEVELS), options, made._cache).files
    lines = made.text.splitlines()
    shown = [{"level": "op", "lines": lines, "origins": [f"{n}:*" for n in range(1, len(lines) + 1)]}]
    for level in LEVELS:
        for name in (name for name in files if name.endswith(f".{level}.mlir")):
            text, origins = read_ir(files[name].decode())
            cut = len(text) - MOST_LINES
            if cut > 0:
                text, origins = [*text[:MOST_LINES], f"... {cut} more lines"], [*origins[:MOST_LINES], ""]
            shown.append({"level": level, "lines": text, "origins": origins})
    return shown


# ---------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------


def describe(made: kernel.Kernel, **sizes) -> dict[str, Any]:
    """All that the page shows, as it stands in the page: "kernels", one for each launch, and "levels" of IR."""
    text, ir = made.report(), made.ir("allocate")
    kernels = []
    for ptx, module in made.modules.items():
        name = ptx.removesuffix(".ptx")
        manifest = made._files[f"{name}.json"].decode()
        about = json.loads(manifest)
        numbers = {size: sizes.get(size, SIZES.get(size, 1)) for size in kernel.sizes_to_give(about)}
        sections = split_report(text, name)
        roles, channels = read_schedule(sections.get("schedule", []))
        shown: dict[str, Any] = {
            "name": name, "numbers": numbers, "edges": edges_of(roles, channels), "roles": list(roles), "channels": channels,
            "smem": read_memory(sections.get("smem", [])), "tmem": read_memory(sections.get("tmem", [])),
            "units": read_units(sections.get("time", [])), "comment": about.get("comment", {}), "ptx_lines": module.splitlines(),
            "texts": {what: "\n".join(lines) for what, lines in sections.items()},
        }  # fmt: skip
        try:
            shown["trace"], phases = trace_of(manifest, {ptx: module}, numbers)
            end = max((begin + length for row in shown["trace"]["rows"] for begin, length, *_ in row["spans"]), default=0)
            by_number = number_barriers(shown["smem"], phases)
            placed = read_channels(ir, name)
            shown["lives"] = {memory: lives_of(shown[memory], placed, by_number, end) for memory in ("smem", "tmem")}
        except SimulationError as error:
            shown["no_trace"] = str(error)
        kernels.append(shown)
    return {"title": made.name, "chip": made.chip, "version": _library.version(), "kernels": kernels, "levels": levels_of(made)}


def render(made: kernel.Kernel, **sizes) -> str:
    """The page. `sizes`: of the call whose first CTA is shown, by the names of the manifest (Sq, Sk, ...)."""
    known = set(made.manifest.get("sizes", {}))
    if unknown := [name for name in sizes if name not in known]:
        raise SpecError(f"{made.name} has no size '{unknown[0]}'; there is: {', '.join(sorted(known))}")
    # Nothing in the data may end the script that it is in.
    data = json.dumps(describe(made, **sizes), separators=(",", ":")).replace("<", "\\u003c")
    title = html.escape(f"{made.name} for {made.chip}")
    return report_page.PAGE.replace("@TITLE@", title).replace("@DATA@", data)


def write(made: kernel.Kernel, path, **sizes):
    """Writes the page; see `render`."""
    text = render(made, **sizes)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# ---------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------


def add_arguments(command):
    command.add_argument("input", help="an .mlir file with one attention op")
    command.add_argument("sizes", nargs="*", metavar="SIZE=N", help="sizes of the call that is shown, as Sq=256 Sk=1024")
    command.add_argument("-o", "--output", default="fa4-report.html", help="the page (fa4-report.html)")
    command.add_argument("--chip", help="the target; sm_100a if nobody says")
    command.add_argument("--options", default="", help="of the pipeline attn-to-nvvm, as 'schedule=lpt'")


def main(arguments) -> int:
    sizes = {}
    for given in arguments.sizes:
        name, _, value = given.partition("=")
        if not value.isdigit():
            raise Fa4Error(f"'{given}' is no size: they are given as Sq=256")
        sizes[name] = int(value)
    try:
        text = Path(arguments.input).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Fa4Error(f"{arguments.input} cannot be read: {error}") from None
    made = kernel.compile(text, arguments.chip, options=arguments.options)
    try:
        write(made, arguments.output, **sizes)
    except OSError as error:
        raise Fa4Error(f"{arguments.output} cannot be written: {error}") from None
    print(arguments.output)
    return 0
