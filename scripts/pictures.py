"""Draws the three pictures of the documentation, docs/pictures/*.svg.

Two of them show the kernel of docs/examples/causal_gqa.mlir as the compiler
has made it: its roles, memory map and schedule are read from the output of
fa4-opt and `fa4-compile --report`, so the pictures change when the kernel does.
test/docs compares; scripts/update-docs draws them anew.

    sm.svg        one SM: warps and their roles, shared memory, tensor memory
    timeline.svg  what each role does over three passes of the loop
    ring.svg      a channel with two stages: acquire, commit, wait, release,
                  and the phases of its mbarriers
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import collections
import dataclasses
import re
import xml.etree.ElementTree as ET

import fa4docs

EXAMPLE = "docs/examples/causal_gqa.mlir"
PICTURES = fa4docs.ROOT / "docs" / "pictures"
# Warps of a role of each kind, on the example's chip.
WARPS = {"issuer": 1, "vector": 4}

# One colour for each role, so that the three pictures can be read together.
COLOURS = {
    "load": "#9ecae1",
    "mma": "#fdae6b",
    "compute0": "#a1d99b",
    "compute1": "#c7e9c0",
    "correction": "#bcbddc",
    "store": "#d9d9d9",
    "idle": "#f7f7f7",
}
INK, FAINT = "#222222", "#777777"


class Picture:
    """An SVG of fixed size; coordinates are pixels from the top left corner."""

    def __init__(self, width, height, title):
        self.root = ET.Element(
            "svg",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=str(width),
            height=str(height),
        )
        ET.SubElement(self.root, "title").text = title
        self.box(0, 0, width, height, fill="#ffffff", stroke="none")

    def box(self, x, y, width, height, fill, stroke=INK):
        ET.SubElement(
            self.root,
            "rect",
            {"x": f"{x:g}", "y": f"{y:g}", "width": f"{width:g}",
             "height": f"{height:g}", "fill": fill, "stroke": stroke},
        )

    def text(self, x, y, words, size=12, anchor="start", fill=INK, weight="normal"):
        element = ET.SubElement(
            self.root,
            "text",
            {"x": f"{x:g}", "y": f"{y:g}", "font-size": str(size), "fill": fill,
             "font-family": "sans-serif", "text-anchor": anchor,
             "font-weight": weight},
        )
        element.text = words

    def line(self, x1, y1, x2, y2, stroke=FAINT, arrow=False, dashed=False):
        attributes = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}",
                      "y2": f"{y2:g}", "stroke": stroke}
        if dashed:
            attributes["stroke-dasharray"] = "3 3"
        ET.SubElement(self.root, "line", attributes)
        if arrow:
            # The head points along the line; all arrows here are steep or flat.
            dx, dy = x2 - x1, y2 - y1
            length = (dx * dx + dy * dy) ** 0.5 or 1
            dx, dy = 5 * dx / length, 5 * dy / length
            points = (f"{x2:g},{y2:g} {x2 - dx - dy / 2:g},{y2 - dy + dx / 2:g} "
                      f"{x2 - dx + dy / 2:g},{y2 - dy - dx / 2:g}")
            ET.SubElement(self.root, "polygon", {"points": points, "fill": stroke})

    def svg(self):
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode") + "\n"


# ------------------------------------------------------------------------------
# What the compiler says of the example
# ------------------------------------------------------------------------------


@dataclasses.dataclass
class Role:
    name: str
    warps: int
    first_warp: int
    registers: int
    steps: list  # before the loop, then "loop", its steps, "end", what follows


@dataclasses.dataclass
class Place:
    """Where a channel lies: bytes of SMEM or columns of TMEM, end exclusive."""

    channel: str
    begin: int
    end: int
    in_place_of: str | None


def roles_of(ir, report):
    steps = collections.defaultdict(list)
    name = None
    for line in report.splitlines():
        if line.startswith("channels"):
            break
        if match := re.fullmatch(r"role @(\S+)", line):
            name = match[1]
        elif re.match(r"  loop,", line):
            steps[name].append("loop")
        elif line == "  then:":
            steps[name].append("end")
        elif name and line.startswith("    "):
            steps[name].append(line.split())
    found = re.findall(
        r"tile\.role @(\S+) kind\((\w+)\)(?: warps\((\d+)\))? first_warp\((\d+)\) "
        r"registers\((\d+)\)",
        ir,
    )
    return [Role(n, int(w or WARPS[k]), int(f), int(r), steps[n]) for n, k, w, f, r in found]


def places_of(report, memory):
    table = re.search(rf": {memory} memory, \d+ \w+\n.*\n((?: .*\n)+)", report)[1]
    places = []
    for line in table.splitlines():
        begin, end, rest = line.split(maxsplit=2)
        words = rest.split()
        owner = re.search(r"in place of (\S+)", rest)
        label = words[0] if not words[0].isdigit() else rest
        places.append(Place(label, int(begin), int(end), owner and owner[1]))
    return places


# ------------------------------------------------------------------------------
# One SM
# ------------------------------------------------------------------------------


def draw_warps(picture, roles, x, y):
    picture.text(x, y - 14, "warps, 32 threads each", 14, weight="bold")
    for role in roles:
        for warp in range(role.first_warp, role.first_warp + role.warps):
            top = y + 30 * warp + 8 * (warp // 4)
            picture.box(x, top, 170, 26, COLOURS[role.name])
            picture.text(x + 8, top + 17, f"{warp}")
            picture.text(x + 34, top + 17, f"@{role.name}")
            picture.text(x + 162, top + 17, f"{role.registers} regs", 10, "end", FAINT)


def draw_shared(picture, places, x, y, height):
    total = max(place.end for place in places)
    picture.text(x, y - 14, f"shared memory, {total} bytes", 14, weight="bold")
    scale = height / total
    large = [p for p in places if p.end - p.begin > total / 100]
    end = max(p.end for p in large)
    for place in large:
        # A buffer that lies where another has been stands beside that one.
        guest = any(
            other is not place and other.begin <= place.begin < other.end
            and other.end - other.begin > place.end - place.begin
            for other in large
        )
        left, width = (x + 125, 115) if guest else (x, 120)
        top = y + scale * place.begin
        fill = COLOURS["correction"] if guest else COLOURS["load"]
        picture.box(left, top, width, scale * (place.end - place.begin), fill)
        middle = top + scale * (place.end - place.begin) / 2
        picture.text(left + width / 2, middle + 4, place.channel, 11, "middle")
    picture.box(x, y + scale * end, 120, max(height - scale * end, 8), "#ffffff")
    small = len(places) - len(large) - 2
    for row, words in enumerate(
        [f"below: {small} channels of 128 floats,", "mbarriers, the address of", "tensor memory"]
    ):
        picture.text(x, y + height + 24 + 14 * row, words, 11, fill=FAINT)
    picture.text(x + 128, y + scale * 80000, "beside: what uses a", 10, fill=FAINT)
    picture.text(x + 128, y + scale * 80000 + 13, "ring's bytes afterwards", 10, fill=FAINT)


def draw_tensor(picture, places, x, y, width):
    picture.text(
        x, y - 14, "tensor memory, 128 lanes x 512 columns", 14, weight="bold"
    )
    scale = width / 512
    owners = [p for p in places if not p.in_place_of]
    writer = {p.channel: p.channel.split("_")[0].split(".")[0] for p in places}
    for row, group in enumerate([owners, [p for p in places if p.in_place_of]]):
        for place in group:
            top = y + 150 * row
            left = x + scale * place.begin
            size = scale * (place.end - place.begin)
            picture.box(left, top, size, 120, COLOURS[writer[place.channel]])
            short = place.channel if size > 60 else "." + place.channel.split(".")[-1]
            words = short if size > 80 else short.replace("compute", "c")
            picture.text(left + size / 2, top + 64, words, 10, "middle")
    for column in range(0, 513, 128):
        picture.line(x + scale * column, y, x + scale * column, y + 285, dashed=True)
        picture.text(x + scale * column, y + 300, str(column), 10, "middle", FAINT)
    picture.text(x, y + 138, "the same columns, a moment later (in_place_of):", 11, fill=FAINT)


def draw_sm(roles, report):
    picture = Picture(1010, 620, "One SM, as the forward kernel uses it")
    draw_warps(picture, roles, 20, 50)
    draw_shared(picture, places_of(report, "shared"), 230, 50, 490)
    draw_tensor(picture, places_of(report, "tensor"), 500, 50, 490)
    rows = [
        "A row of a tile is a lane of tensor memory and a thread of a role with four warps.",
        "Colours say who writes: @load by TMA, @mma by the tensor cores,",
        "@compute0 and @compute1 (softmax of a tile of queries each), @correction.",
    ]
    for row, words in enumerate(rows):
        picture.text(500, 400 + 20 * row, words, 12)
    for row, (role, what) in enumerate(
        [("load", "one thread issues TMA loads of q, k, v"),
         ("mma", "one thread issues MMAs: S = Q K^T, O += P V"),
         ("compute0", "128 threads: row max, exponentials, P"),
         ("compute1", "the same for the second tile of queries"),
         ("correction", "128 threads: rescales O, divides, writes LSE"),
         ("store", "one thread issues TMA stores of out")]
    ):
        top = 462 + 24 * row
        picture.box(500, top, 18, 18, COLOURS[role])
        picture.text(526, top + 14, f"@{role}: {what}", 12)
    return picture


# ------------------------------------------------------------------------------
# A timeline of the roles
# ------------------------------------------------------------------------------

# Cycles that a step takes in the drawing. An MMA of 128 x 128 x 128 takes 512
# on the tensor cores; the roofline of the example gives 1808 / 2 cycles on the
# MUFU for the exponentials of a tile. The others are rough: the picture shows
# the order, not the time.
MMA_CYCLES = 512
STEP_CYCLES = {"load": 300, "max": 200, "exp": 904, "rescale": 60}
PASSES = 3


class Timeline:
    """Runs the schedule of all roles: who waits for whom, with those cycles.

    Channels count commits and releases as times. The k-th wait ends at the
    k-th commit, and an acquire at the release of the stage that it reuses.
    """

    def __init__(self, roles, stages, initial, owners, columns):
        self.roles, self.stages, self.owners = roles, stages, owners
        self.columns = columns
        self.commits = collections.defaultdict(list)
        self.releases = collections.defaultdict(list)
        for channel, count in initial.items():
            self.commits[channel] = [0] * count
        self.bars = []  # (role, begin, end, label)

    def steps(self, role):
        if "loop" not in role.steps:
            return list(role.steps)
        begin, end = role.steps.index("loop"), role.steps.index("end")
        # A role that runs ahead has its first pass in front of the loop.
        ahead = any("0" in s for s in role.steps[:begin] if s[0] != "acquire")
        passes = PASSES - (1 if ahead else 0)
        return role.steps[:begin] + passes * role.steps[begin + 1 : end] + role.steps[end + 1 :]

    def run(self):
        programs = {role.name: self.program(role) for role in self.roles}
        while programs:
            going = {}
            progress = False
            for name, program in programs.items():
                moved, ended = self.advance(program)
                progress |= moved
                if not ended:
                    going[name] = program
            if not progress:
                break
            programs = going

    def program(self, role):
        return {"role": role.name, "steps": self.steps(role), "at": 0, "time": 0,
                "queue": 0, "waits": collections.Counter(),
                "acquires": collections.Counter(), "pass": 0}

    def advance(self, program):
        moved = False
        while program["at"] < len(program["steps"]):
            if not self.step(program, program["steps"][program["at"]]):
                return moved, False
            program["at"] += 1
            moved = True
        return moved, True

    def step(self, program, step):
        kind, channel = step[0], step[1] if len(step) > 1 else None
        if kind == "wait":
            count = program["waits"][channel]
            if len(self.commits[channel]) <= count:
                return False
            program["time"] = max(program["time"], self.commits[channel][count])
            program["waits"][channel] += 1
            self.compute(program, channel)
        elif kind == "acquire":
            count = program["acquires"][channel] - self.stages.get(channel, 1)
            # Channels in place of another one are never released.
            if count >= 0 and channel not in self.owners:
                if len(self.releases[channel]) <= count:
                    return False
                program["time"] = max(program["time"], self.releases[channel][count])
            program["acquires"][channel] += 1
        elif kind == "commit":
            self.exponentials(program, channel)
            done = max(program["time"], program["queue"])
            self.commits[channel].append(done)
        elif kind == "release":
            self.releases[channel].append(max(program["time"], program["queue"]))
        elif kind == "mma":
            self.mma(program, step)
        elif kind == "load":
            begin = max(program["time"], program["queue"])
            program["queue"] = begin + STEP_CYCLES["load"]
            self.bars.append((program["role"], begin, program["queue"], channel))
        return True

    def mma(self, program, step):
        text = " ".join(step[3:])
        part = re.search(r"\[(\d+):(\d+),", text)
        share = (int(part[2]) - int(part[1])) / 128 if part else 1
        begin = max(program["time"], program["queue"])
        program["queue"] = begin + MMA_CYCLES * share
        score = "^T" in text
        tile = "1" if ("q_2" in text or "compute1" in text) else "0"
        self.bars.append(
            (program["role"], begin, program["queue"], ("S" if score else "O") + tile)
        )

    def compute(self, program, channel):
        """Lanes work after the wait that gives them a tile."""
        name = program["role"]
        if name.startswith("compute"):
            self.work(program, STEP_CYCLES["max"], "max")
        elif name == "correction" and channel.startswith("mma_correction"):
            self.work(program, STEP_CYCLES["rescale"], "")

    def exponentials(self, program, channel):
        """The probabilities of some columns are computed, then committed."""
        if program["role"].startswith("compute") and "_mma" in channel:
            share = self.columns[channel] / 128
            self.work(program, STEP_CYCLES["exp"] * share, "exp")

    def work(self, program, cycles, label):
        begin = program["time"]
        program["time"] += cycles
        self.bars.append((program["role"], begin, program["time"], label))


def channels_of(ir):
    stages, initial, owners, columns = {}, {}, set(), {}
    for line in ir.splitlines():
        match = re.search(r'tile\.channel "(\S+)" \w+ stages\((\d+)\)', line)
        if not match:
            continue
        stages[match[1]] = int(match[2])
        columns[match[1]] = int(re.search(r"(\d+)x[a-z]+\d+>>$", line)[1])
        if first := re.search(r"initial\((\d+)\)", line):
            initial[match[1]] = int(first[1])
        if "in_place_of" in line or re.search(r"tmem", line):
            owners.add(match[1])
    return stages, initial, owners, columns


def draw_timeline(roles, ir):
    timeline = Timeline(roles, *channels_of(ir))
    timeline.run()
    shown = ["load", "mma", "compute0", "compute1", "correction"]
    bars = [bar for bar in timeline.bars if bar[0] in shown]
    end = max(bar[2] for bar in bars)
    picture = Picture(1010, 330, "The roles over three passes of the loop")
    left, scale = 110, 880 / end
    for row, name in enumerate(shown):
        top = 30 + 48 * row
        picture.text(10, top + 22, f"@{name}", 13)
        picture.line(left, top + 34, left + 880, top + 34)
        for role, begin, stop, label in bars:
            if role != name:
                continue
            x, width = left + scale * begin, scale * (stop - begin)
            fill = COLOURS["compute1" if label == "max" else name]
            picture.box(x, top, width, 32, fill)
            if width > 16:
                picture.text(x + width / 2, top + 21, label, 11, "middle")
    rows = [
        "S0, S1: scores of the two tiles of queries. O0, O1: their products with V, each in two parts, because the",
        "probabilities arrive in two parts. While the tensor cores work for one tile, the exponentials (exp) of the other",
        "are computed; between the first pass and the last one the tensor cores hardly wait.",
    ]
    for row, words in enumerate(rows):
        picture.text(10, 285 + 18 * row, words, 12, fill=FAINT)
    return picture


# ------------------------------------------------------------------------------
# A ring and its phases
# ------------------------------------------------------------------------------


def draw_ring():
    """A channel of two stages: five values, drawn as the stages over time."""
    picture = Picture(1010, 400, "A channel with two stages")
    picture.text(10, 24, "tile.channel \"k\" smem stages(2)", 14, weight="bold")
    left, unit = 130, 100
    stage_y = {0: 110, 1: 190}
    for stage, top in stage_y.items():
        picture.text(10, top + 30, f"stage {stage}", 13)
        picture.line(left, top + 48, left + 850, top + 48)
    picture.text(10, 60, "producer", 13)
    picture.text(10, 292, "consumer", 13)
    for value in range(5):
        stage, phase = value % 2, value // 2
        top = stage_y[stage]
        # The producer runs two values ahead, then waits for each release.
        acquire = value * 0.7 if value < 2 else 1.6 * (value - 2) + 2.5
        commit = acquire + 0.55
        wait = max(commit, 0.9 + 1.6 * value)
        release = wait + 1.35
        if left + unit * release > left + 860:
            release = 8.6
        x = lambda t: left + unit * t
        picture.box(x(acquire), top, unit * (commit - acquire), 46, COLOURS["load"])
        picture.box(x(commit), top, unit * (wait - commit), 46, "#ffffff")
        picture.box(x(wait), top, unit * (release - wait), 46, COLOURS["mma"])
        picture.text(x(wait) + 8, top + 28, f"value {value}, phase {phase}", 11)
        picture.line(x(acquire), 66, x(acquire), top, arrow=True)
        picture.text(x(acquire) - 4, 60, f"acquire {value}", 10)
        picture.line(x(commit), 86, x(commit), top, arrow=True)
        picture.text(x(commit) - 4, 82, f"commit {value}", 10)
        picture.line(x(wait), 276, x(wait), top + 46, arrow=True)
        picture.text(x(wait) - 4, 290, f"wait {value}", 10)
        if release < 8.6:
            picture.line(x(release), 296, x(release), top + 46, arrow=True)
            picture.text(x(release) - 20, 308, f"release {value}", 10)
    legend = [
        (COLOURS["load"], "being written: from acquire until the data has arrived (commit)"),
        ("#ffffff", "full: the full barrier of the stage has completed a phase; nobody has looked yet"),
        (COLOURS["mma"], "being read: from wait to release; release completes a phase of the empty barrier"),
    ]
    for row, (colour, words) in enumerate(legend):
        picture.box(10, 322 + 18 * row, 14, 14, colour)
        picture.text(32, 334 + 18 * row, words, 12)
    picture.text(
        10, 390,
        "Value k is in stage k mod 2. Both barriers of the stage are then in phase k div 2: "
        "a wait for value k looks for the end of phase k div 2, by its parity.", 12,
    )
    return picture


def pictures():
    """Each picture's file name and text."""
    ir = fa4docs.output(f"fa4-opt {EXAMPLE} --attn-to-nvvm=to=allocate")
    report = fa4docs.output(f"fa4-compile {EXAMPLE} --report -o - 2>&1 >/dev/null")
    roles = roles_of(ir, report)
    return {
        "sm.svg": draw_sm(roles, report).svg(),
        "timeline.svg": draw_timeline(roles, ir).svg(),
        "ring.svg": draw_ring().svg(),
    }


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text)
