# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults in the protocol of roles and channels: fa4-mutate makes them and asks the
static verifier and the explorer. Those that both accept are right kernels, which
the verifier proves for all numbers of passes; here is why they are, by class. A
mutant that the IR can say is compiled on and simulated besides: one that is
accepted must show no finding and right numbers."""

import json
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from fa4_testing import gpu
from fa4_testing.cpu import CompileError
from fa4_testing.programs.gradient import Gradient
from fa4_testing.programs.program import Program
from fa4.reference import Mask

PASSES = {
    "roles": "tile-subtile,tile-lazy-rescale,tile-assign-work{{schedule={schedule}}},tile-warp-specialize",
    "scheduled": "tile-schedule",
    "placed": "tile-split-loop,tile-share-buffers,tile-allocate",
}
# Programs of the tests, and schedules of their work tiles.
PROGRAMS = {"attention": ("grid", "clc"), "gradient": ("grid",), "gemm": ("grid", "static", "clc")}
INPUTS = gpu.ROOT / "test" / "Dialect" / "Tile" / "Inputs"
# The kernels of gradients, whose work tiles take turns if they are deterministic, at the level where roles have places.
GRADIENTS = {
    f"backward-hd{head_dim}{'-deterministic' * deterministic}": Gradient(
        head_dim=head_dim, mask=Mask.causal("bottom_right"), deterministic=deterministic
    )
    for head_dim in (64, 128)
    for deterministic in (False, True)
}
# On Hopper, where roles that have the exponentials issue MMAs and take turns by named barriers, and where several roles add
# one sum together.
HOPPER = {f"{name}-sm_90a": replace(gradient, chip="sm_90a") for name, gradient in GRADIENTS.items()}
HOPPER |= {
    f"hd{head_dim}-{'causal' if mask else 'full'}-sm_90a": Program(head_dim=head_dim, mask=mask, chip="sm_90a")
    for head_dim in (64, 128)
    for mask in (None, Mask.causal("bottom_right"))
}


@dataclass(frozen=True)
class ChannelMutant:
    """A mutant as fa4-mutate describes it. `source` names the kernel and level."""

    source: str
    file: Path
    number: int
    operator: str
    text: str
    expressible: bool
    rule: str
    verifier: str
    explorer: str
    kernel: str = ""
    line: int = 0  # Of the step's operation in the file.

    @property
    def name(self):
        return f"channel:{self.source}:{self.number}"

    @property
    def accepted(self):
        return not self.rule and self.verifier == self.explorer == "accepts"

    @property
    def layer(self):
        """Returns the layer that finds the mutant."""
        if self.rule:
            return "rule"
        if self.verifier == "rejects":
            return "both" if self.explorer == "rejects" else "verifier"
        return "explorer" if self.explorer == "rejects" else ""

    @property
    def disagreement(self):
        return not self.rule and {self.verifier, self.explorer} == {"accepts", "rejects"}


def programs(folder: Path) -> dict[str, Path]:
    """Maps a name to the file of a test program at each level."""
    files = {}
    for program, schedule in ((p, s) for p, schedules in PROGRAMS.items() for s in schedules):
        name, passes = program if schedule == "grid" else f"{program}-{schedule}", []
        for level, added in PASSES.items():
            passes.append(added.format(schedule=schedule))
            file = folder / f"{name}-{level}.mlir"
            pipeline = f"--pass-pipeline=builtin.module(tile.kernel({','.join(passes)}))"
            gpu.run_tool("fa4-opt", INPUTS / f"{program}-program.mlir", pipeline, "-o", file)
            files[f"{name}-{level}"] = file
    return files | allocated(folder, GRADIENTS | HOPPER)


def allocated(folder: Path, forms: dict) -> dict[str, Path]:
    """Maps a name to the file of its form's kernels, whose channels have places."""
    files = {}
    for name, form in forms.items():
        source, file = folder / f"{name}.mlir", folder / f"{name}-allocate.mlir"
        source.write_text(form.mlir())
        gpu.run_tool("fa4-opt", source, f"--attn-to-nvvm=to=allocate chip={form.chip}", "-o", file)
        files[f"{name}-allocate"] = file
    return files


def mutants_of(source: str, file: Path, *options: str, fences=False) -> list[ChannelMutant]:
    """Those of a file, by fa4-mutate with some options. `fences`: those of fences
    alone, which are the rules' matter. fa4-mutate's status is 1 where verifier and
    explorer disagree."""
    command = [gpu.find_tool("fa4-mutate"), "--json", *options, *(["--rules"] if fences else []), file]
    done = subprocess.run(command, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    if not found and done.returncode:
        raise CompileError(done.stderr.strip() or "fa4-mutate: no mutants")
    if fences:
        found = [m for m in found if m["kind"].endswith(" fence")]
    return [
        ChannelMutant(source, file, m["number"], m["kind"], m["text"], m["expressible"], m.get("rule", ""),
                      m.get("verifier", ""), m.get("explorer", ""), m["kernel"], m.get("line", 0))
        for m in found
    ]  # fmt: skip


def emit(file: Path, only: str, fences=False) -> dict[int, str]:
    """Number -> IR, of the mutants `only`, first:last, that the IR can say."""
    arguments = [f"--emit={only}", file]
    kinds = [["--kind=drop fence"], ["--kind=move fence"]] if fences else [[]]
    modules = [module for kind in kinds for module in gpu.run_tool("fa4-mutate", *arguments, *kind).split("// -----\n")]
    return {int(match[1]): module for module in modules if (match := re.match(r"// mutant (\d+) ", module))}


_MBARRIERS = re.compile(
    r'tile\.channel "(?P<name>[^"]+)" (?P<space>\w+) .*?stages\((?P<stages>\d+)\).*? full\((?P<full>\d+)\)(?:.* empty\((?P<empty>\d+)\))?'
    r"(?:.* landed\((?P<landed>\d+)\))?"
)


# The arguments of fa4-mutate for the mutants that lack one wait each; for those of which one wait asks for the next value
# of its ring, too; for that whose hand-overs of shared memory order no accesses to tensor memory; and for those of this one
# that lack one wait each.
WEAKENED, AHEAD, UNFENCED = "--kind=weaken", "--kind=ahead", "--kind=unfenced"
WEAKENED_UNFENCED = "--kind=weaken unfenced"


def _channels(file, kernel):
    """Name -> match of _MBARRIERS, of one of a file's kernels."""
    text = re.split(r"^  tile\.kernel @", file.read_text(), flags=re.MULTILINE)
    text = next(part for part in text if part.startswith(f"{kernel}("))
    return {match["name"]: match for line in text.splitlines() if (match := _MBARRIERS.search(line))}


def waits_of(file: Path, kernel: str, changed: list[ChannelMutant]) -> list[tuple[int, int, bool]]:
    """(first mbarrier, number of them, whether the verifier and the explorer accept
    the kernel with this wait changed) of each wait of one of a file's kernels whose channels have
    places, in the order of the steps. `changed`: the file's mutants of one kind, of which each has another wait changed."""
    places = _channels(file, kernel)
    waits = []
    for mutant in sorted(changed, key=lambda mutant: mutant.line):
        if mutant.kernel != kernel:
            continue
        kind, channel = _STEP.fullmatch(mutant.text).group("kind", "channel")
        # What an exchange receives is a channel of its own, in the stages of the one that is exchanged.
        channel, _, part = channel.partition(" ")
        found = places[channel]
        place = found["landed" if part == "(received)" else "full" if kind == "wait" else "empty"]
        if place:
            waits.append((int(place), int(found["stages"]), mutant.accepted))
    return waits


def unfenced_of(file: Path, kernel: str, unfenced: list[ChannelMutant]) -> set[int]:
    """The mbarriers of one of a file's kernels that hand on shared memory, if the verifier and the explorer accept that they
    order no accesses to tensor memory; none otherwise. `unfenced`: the file's mutants of that kind."""
    if [mutant.accepted for mutant in unfenced if mutant.kernel == kernel] != [True]:
        return set()
    shared = [match for match in _channels(file, kernel).values() if match["space"] == "smem"]
    places = [(int(match[kind]), int(match["stages"])) for match in shared for kind in ("full", "empty", "landed") if match[kind]]
    return {number for first, stages in places for number in range(first, first + stages)}


# ---------------------------------------------------------------------------
# Why an accepted mutant is right
# ---------------------------------------------------------------------------

_WAITS, _SIGNALS = ("wait", "acquire"), ("commit", "release")
_STEP = re.compile(r"@(?P<role>\S+) step [\d.]+ (?P<kind>\w+) (?P<channel>\S+(?: \((?:kept|received)\))?)(?P<rest>.*)")

PROVEN = "that the roles still come to an end, and in order, is proven for all numbers of passes"


def _step(text):
    match = _STEP.fullmatch(text)
    return match and (match["kind"], match["rest"].strip())


def _weakened(mutant):
    if mutant.operator == "weaken":
        return "a wait for what other waits of the role have brought already, or for the first use of a stage"
    return None


def _of_one_cta(mutant):
    if mutant.operator == "one CTA" and _step(mutant.text)[0] in _WAITS:
        return "a wait that does not ask one CTA of a pair for what other waits of the role have brought already, or for the first use of a stage"
    return None


def _exchanged(mutant):
    if mutant.operator != "swap":
        return None
    kind, rest = _step(mutant.text)
    side, other = re.fullmatch(r"with (next|previous): (.*)", rest).groups()
    other = other.split()[0]
    first, second = (kind, other) if side == "next" else (other, kind)
    # In the mutant, `second` comes before `first`.
    if first in _WAITS and second in _WAITS:
        return "two waits in the other order: the role goes on when it has both"
    if first in _SIGNALS and second in _SIGNALS:
        return "two signals in the other order, with no access in between"
    if first in _SIGNALS and second in _WAITS:
        return f"a signal behind the next wait: {PROVEN}"
    if first in _WAITS and second in _SIGNALS:
        return "a wait behind a signal of what does not need it: others see it earlier"
    if first in _SIGNALS:
        return "a signal behind an access that needs no stage of it: it hands on more than it has to"
    if second in _WAITS:
        return f"a wait before an access that could do without: {PROVEN}"
    if first in _WAITS:
        return "a wait behind an access of another stage"
    if second in _SIGNALS:
        return "a signal before an access or a copy of a value that is not what it hands on"
    return None


def _moved(mutant):
    if mutant.operator != "move":
        return None
    kind, rest = _step(mutant.text)
    if kind in _WAITS and rest == "to the front":
        return f"a wait at the front of its block, earlier than need be: {PROVEN}"
    if kind in _SIGNALS and rest == "to the back":
        return f"a signal at the end of its block, later than need be: {PROVEN}"
    if kind in _WAITS and rest == "to the back":
        return "a wait behind accesses of other stages and signals of other channels"
    if kind in _SIGNALS and rest == "to the front":
        return "a signal before accesses of other stages and waits for other channels"
    return None


_ATTRIBUTE = re.compile(r"(?P<of>\S+): (?P<name>\w+) (?P<old>\S+) to (?P<new>\S+)")


def _attribute(mutant):
    match = _ATTRIBUTE.fullmatch(mutant.text)
    if not match:
        return None
    if mutant.operator == "stages":
        if int(match["new"]) > int(match["old"]):
            return "a ring with one stage more than it has to have"
        return f"a ring with one stage less, which is slower: {PROVEN}"
    if mutant.operator == "offset":
        return "a place that nobody uses while a stage there is in use, as the order of the accesses proves"
    if mutant.operator == "warps":
        return ("warps of another warpgroup, for whose registers there is room: lowering has all warps of a warpgroup take its "
                "budget, and those of no role leave")  # fmt: skip
    if mutant.operator == "barrier" and match["of"].startswith("turn_"):
        return "another named barrier, which nothing else of the kernel takes"
    if mutant.operator == "registers":
        return "a register budget that the register file has; a role that needs more of them spills, for which fa4-compile refuses it"
    return None


def _turn(mutant):
    if mutant.operator == "move turn":
        if mutant.text.startswith("await"):
            return "a turn that is awaited behind other waits of the role, and still before the sums"
        return "a turn that is passed on, when the sums are complete, before a stage is given back"
    if mutant.operator == "wrong turn" and mutant.text.startswith("index"):
        return "another element of the tensor that counts turns for each place, which no other place has"
    if mutant.operator == "order":
        return "work tiles, and with them their turns, in the other order"
    return None


def _fence(mutant):
    if mutant.operator == "move fence":
        return "a fence behind the writes and before the commit, in another place between them"
    return None


def reason(mutant: ChannelMutant) -> str | None:
    """Returns the reason why an accepted mutant is a right kernel, or None if no class
    gives one."""
    for check in (_weakened, _of_one_cta, _exchanged, _moved, _attribute, _fence, _turn):
        if text := check(mutant):
            return text
    return None
