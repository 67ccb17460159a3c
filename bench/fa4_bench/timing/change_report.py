# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the model says of changes to kernels beside what a card says, and whether that meets the bars. Needs the standard library alone.

`recorded` is bench/timing-changes.json and `modelled` bench/timing-changes-model.json, as change_card.py and change_model.py write them.
A change has a name, `KERNEL/CHANGE`; its figure is by how many percent the kernel's cycles grow. An error is the model's figure less
the card's, in points."""

import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from fa4_testing import results
from fa4_bench.timing import changes

# Bars for the judged half: the mean of the absolute errors and the worst one, in points; and from how many percent on the direction
# must be right.
MEAN_BAR, WORST_BAR, DIRECTION_FROM = 2.0, 5.0, 2.0
TEXT = """Kernels of fa4 were changed in one place each, and timed beside themselves without the change, on a card and by [fa4-sim's
clock](../../docs/timing.md). What the clock is used for is to choose between kernels, and so its differences must be right and not only its
totals. A changed kernel may compute something else: only its time counts.

The card is an {card}, measured on {date} by `./bench/timing --changes --measure` with kernels of commit {commit}
([bench/timing-changes.json](../timing-changes.json)). *Card* is by how much the SMs' cycles grow in bursts of {burst} launches after
{idle} ms of idling, each between two bursts of the unchanged kernel, the median of {rounds} rounds; *spread* is the distance of the
largest round from the smallest; *sustained* is the same of the time in loops of {loop} ms, where power lowers the clock. *Model* is
what fa4-sim says, with costs of instructions from {costs}, of commit {model_commit}
([bench/timing-changes-model.json](../timing-changes-model.json)). *Error* is the model's less the card's in points.

Half of the changes may be used to fit the model (*fit*); the other half judges it (*judge*). The halves were drawn from the names
before anything was measured ([changes.py](../../bench/fa4_bench/timing/changes.py)). {withdrawn} changes were withdrawn later, whatever
half they were in: ptxas leaves out products whose results nobody needs, and so these were not what they were meant to be.
"""


class RecordError(ValueError):
    """A record that is not there, or is none."""


@dataclass(frozen=True)
class Compared:
    """A change that was measured. `model` is None where the model says nothing of it."""

    name: str
    half: str
    card: float
    spread: float
    sustained: float
    model: float | None
    edited: str

    @property
    def kernel(self):
        return self.name.partition("/")[0]

    @property
    def error(self):
        return self.model - self.card

    @property
    def is_wrong_way(self):
        """Whether a change that counts goes the other way in the model, or does nothing there."""
        return abs(self.card) > DIRECTION_FROM and self.model * self.card <= 0


@dataclass(frozen=True)
class Figures:
    """The errors of some changes: the mean of the absolute ones, the worst change, and those that go the wrong way."""

    count: int
    mean: float
    worst: Compared
    wrong: tuple
    directed: int

    @property
    def missed(self):
        """A sentence for each bar that is missed."""
        found = []
        if self.mean > MEAN_BAR:
            found.append(f"the mean absolute error is {self.mean:.1f} points, and the bar {MEAN_BAR:g}")
        if abs(self.worst.error) > WORST_BAR:
            found.append(f"the worst error is {abs(self.worst.error):.1f} points ({self.worst.name}), and the bar {WORST_BAR:g}")
        if self.wrong:
            found.append(f"{len(self.wrong)} of {self.directed} changes of more than {DIRECTION_FROM:g}% go the wrong way: {', '.join(c.name for c in self.wrong)}")
        return found


# ---------------------------------------------------------------------------
# Records
# ---------------------------------------------------------------------------


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def read(path, texts, numbers):
    """A record with these entries: `texts` of the record, and `numbers` of each of its changes. Raises RecordError."""
    path = Path(path)
    try:
        record = json.loads(path.read_text())
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise RecordError(f"{path} is no JSON: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("changes"), dict) or not record["changes"]:
        raise RecordError(f"{path} is no record of changes: it has no object 'changes' with at least one of them")
    if missing := [key for key in texts if not isinstance(record.get(key), str)]:
        raise RecordError(f"{path} is no record of changes: it has no text '{missing[0]}'")
    for name, entry in record["changes"].items():
        if missing := [key for key in numbers if not isinstance(entry, dict) or not is_number(entry.get(key))]:
            raise RecordError(f"{path}: change {name} has no number '{missing[0]}'")
    return record


def read_recorded(path):
    """What a card says. Raises RecordError."""
    record = read(path, ("card", "date", "commit"), ("percent", "spread", "sustained_percent", "lines"))
    protocol = record.get("protocol")
    if missing := [key for key in changes.PROTOCOL if not isinstance(protocol, dict) or not is_number(protocol.get(key))]:
        raise RecordError(f"{path} has no number '{missing[0]}' in 'protocol'")
    return record


def read_modelled(path):
    """What the model says. Raises RecordError."""
    return read(path, ("date", "commit", "costs"), ("percent",))


def edited(entry):
    """How many lines were edited, and what ptxas has said of it."""
    return ", ".join(filter(None, (str(entry["lines"] or "–"), entry.get("note"))))


def compare(recorded, modelled):
    """The changes that were measured, in the order of the record."""
    halves = changes.halves(recorded["changes"])
    said = modelled["changes"]
    return [Compared(name, halves[name], entry["percent"], entry["spread"], entry["sustained_percent"],
                     said[name]["percent"] if name in said else None, edited(entry))
            for name, entry in recorded["changes"].items()]  # fmt: skip


# ---------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------


def judge(compared):
    """The Figures of changes of which the model says something; None without any."""
    known = [change for change in compared if change.model is not None]
    if not known:
        return None
    directed = [change for change in known if abs(change.card) > DIRECTION_FROM]
    return Figures(len(known), statistics.fmean(abs(change.error) for change in known), max(known, key=lambda change: abs(change.error)),
                   tuple(change for change in directed if change.is_wrong_way), len(directed))  # fmt: skip


def missed_bars(compared):
    """Sentences on the bars that the judged half misses. A change of which the model says nothing misses them, too."""
    judged = [change for change in compared if change.half == "judge"]
    silent = [change.name for change in judged if change.model is None]
    found = [f"the model says nothing of {len(silent)} judged changes: {', '.join(silent)}"] if silent else []
    figures = judge(judged)
    return found + (figures.missed if figures else ["no change is judged"])


def headline(compared, card):
    """On one line of the page, since it is a cell of a table elsewhere."""
    figures = judge([change for change in compared if change.half == "judge"])
    if figures is None:
        return "No change is judged"
    return (f"{figures.count} held-out changes on {card}: off by {figures.mean:.1f} points on average, {abs(figures.worst.error):.1f} at most; "
            f"{figures.directed - len(figures.wrong)} of {figures.directed} go the right way")  # fmt: skip


def summary(compared):
    """The lines of the section on bars."""
    lines = [f"Bars for the judged half: a mean absolute error of at most {MEAN_BAR:g} points, the worst at most {WORST_BAR:g}, and the right direction "
             f"for each change of more than {DIRECTION_FROM:g}% on the card.", "",
             "| changes | number | mean absolute error | worst | right direction |", "|---|---|---|---|---|"]  # fmt: skip
    groups = [("judged", lambda change: change.half == "judge"), ("fit", lambda change: change.half == "fit"),
              ("all but *products in series*", lambda change: "in series" not in change.edited)]  # fmt: skip
    kernels = dict.fromkeys(change.kernel for change in compared)
    groups += [(kernel, lambda change, kernel=kernel: change.kernel == kernel) for kernel in kernels]
    for title, belongs in groups:
        if figures := judge([change for change in compared if belongs(change)]):
            lines.append(f"| {title} | {figures.count} | {figures.mean:.1f} | {figures.worst.error:+.1f} ({figures.worst.name}) "
                         f"| {figures.directed - len(figures.wrong)} of {figures.directed} |")  # fmt: skip
    missed = missed_bars(compared)
    return [*lines, "", *([f"- **missed**: {sentence}." for sentence in missed] or ["All bars are met."]), ""]


# ---------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------


def row(change):
    said = "| – | –" if change.model is None else f"| {change.model:+.1f}% | {change.error:+.1f}{' **wrong way**' * change.is_wrong_way}"
    return f"| {change.name.partition('/')[2]} | {change.card:+.1f}% | {change.spread:.1f} | {change.sustained:+.1f}% {said} | {change.half} | {change.edited} |"


def tables(compared, recorded):
    """A section for each kernel."""
    for kernel in dict.fromkeys(change.kernel for change in compared):
        base = recorded["kernels"].get(kernel, {})
        yield from [f"## {kernel}", ""]
        if base:
            yield from [f"Unchanged: {base['cycles']} cycles, {base['us']:.0f} us at {base['mhz']} MHz in bursts.", ""]
        yield from ["| change | card | spread | sustained | model | error | half | lines |", "|---|---|---|---|---|---|---|---|"]
        yield from [row(change) for change in compared if change.kernel == kernel]
        yield ""


def legend():
    """What the changes are."""
    yield from ["## The changes", "", "*Lines* in the tables above is how many lines of PTX a change has edited; – is a change of the compiler's options, the plan "
                "or the call. Behind it stands what ptxas says against the kernel: spilled registers, or "
                "*products in series*, each of which is awaited before the next one begins.", "", "| change | what is changed | why it is here |", "|---|---|---|"]  # fmt: skip
    yield from [f"| {change.name} | {change.description} | {change.why} |" for change in dict.fromkeys(changes.names().values())]
    yield ""


def body(recorded, modelled):
    """The page without its head."""
    compared, protocol = compare(recorded, modelled), recorded["protocol"]
    text = TEXT.format(card=recorded["card"], date=recorded["date"], commit=recorded["commit"], costs=modelled["costs"], model_commit=modelled["commit"],
                       burst=protocol["burst_launches"], idle=round(1000 * protocol["idle_seconds"]), rounds=protocol["burst_rounds"],
                       loop=round(1000 * protocol["sustained_seconds"]), withdrawn=len(changes.WITHDRAWN))  # fmt: skip
    return "\n".join([text, *summary(compared), *tables(compared, recorded), *legend()])


def page(recorded, modelled):
    """The whole page."""
    head = results.head("Changes of kernels on a card, and in the model", headline(compare(recorded, modelled), recorded["card"]),
                        "./bench/timing --changes --write", recorded["commit"], recorded["date"])  # fmt: skip
    return head + body(recorded, modelled)
