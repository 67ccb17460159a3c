# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of the mutation suite, and its pages in bench/results."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from types import ModuleType

from fa4_testing import results
from fa4_testing.mutation import gradients, mutants, paired_gradients, pairs


@dataclass(frozen=True)
class Family:
    """Kernels that are judged together: the module that has them and their calls, the levels at which they are changed,
    what the page of their results is about, and the page's name in bench/results."""

    source: ModuleType
    levels: tuple
    subject: str = ""
    page: str = "mutants"


# By the name of the option that asks for them. Roles and channels of the gradient on CTAs that are alone are with the
# programs of the tests.
FAMILIES = {
    "": Family(mutants, ("channel", "ptx", "nvvm")),
    "gradient": Family(gradients, ("ptx",), "the main kernel of the gradient", "mutants-gradient"),
    "pairs": Family(pairs, ("channel", "ptx"), "forward attention on pairs of CTAs", "mutants-pairs"),
    "paired-gradient": Family(
        paired_gradients, ("channel", "ptx"), "the main kernel of the gradient on pairs of CTAs", "mutants-paired-gradient"
    ),
}
# Layer -> what its column says.
COLUMNS = {
    "channel": {"rule": "rules", "both": "verifier and explorer", "verifier": "verifier only", "explorer": "explorer only"},
    "nvvm": {"same": "as one in PTX", "compiler": "compiler", "load": "loader", "simulator": "simulator", "hang": "hang",
             "numbers": "numbers", "ptxas": "ptxas"},
    "ptx": {"load": "loader", "simulator": "simulator", "hang": "hang", "numbers": "numbers", "ptxas": "ptxas"},
}  # fmt: skip


def _markdown(head, rows):
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def table(level, outcomes):
    columns = COLUMNS[level]
    counts = defaultdict(Counter)
    for outcome in outcomes:
        of = "equivalent" if outcome.reason else outcome.layer or "open"
        for row in (outcome.operator, "all"):
            counts[row]["mutants"] += 1
            counts[row][of] += 1
    names = [name for name in dict.fromkeys(o.operator for o in outcomes)] + ["all"]
    keys = ["mutants", *columns, "equivalent", "open"]
    head = ["operator", "mutants", *columns.values(), "equivalent", "open"]
    return _markdown(head, [[name, *(counts[name][key] for key in keys)] for name in names])


def crossing(outcomes):
    """What the simulator says of mutants of the protocol."""
    counts = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.simulated:
            verdict = "accepted" if not outcome.layer else "rejected"
            found = "nothing" if outcome.simulated.layer in ("", "ptxas") else "found"
            for row in (outcome.operator, "all"):
                counts[row][verdict, found] += 1
    names = [name for name in dict.fromkeys(o.operator for o in outcomes) if name in counts] + ["all"]
    head = ["operator", "accepted, nothing found", "accepted, **found**", "rejected, found", "rejected, nothing found"]
    keys = [("accepted", "nothing"), ("accepted", "found"), ("rejected", "found"), ("rejected", "nothing")]
    return _markdown(head, [[name, *(counts[name][key] for key in keys)] for name in names])


_LISTED = 12


def _equivalents(outcomes):
    """By reason: how many of which kernel, and the first of them."""
    by_reason = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.reason:
            by_reason[outcome.reason][outcome.source].append(outcome.name)
    rows = []
    for reason, sources in sorted(by_reason.items(), key=lambda item: -sum(map(len, item[1].values()))):
        count = sum(map(len, sources.values()))
        some = []
        for source, names in sources.items():
            more = ", ..." if len(names) > _LISTED else ""
            some.append(f"{source} ({len(names)}): {', '.join(f'`{name}`' for name in names[:_LISTED])}{more}")
        rows.append((count, reason, "; ".join(some)))
    return _markdown(["mutants", "why they are right", "which"], rows)


def _by_source(outcomes):
    counts = Counter(outcome.source for outcome in outcomes)
    return f"Of {', '.join(f'{source} {count}' for source, count in counts.items())}."


_TITLES = {
    "channel": "Roles and channels",
    "ptx": "PTX",
    "nvvm": "NVVM dialect",
}
_MEANING = {
    "channel": "Layers: the operations' rules; the static verifier (all numbers of passes); the explorer (small numbers, all "
    "interleavings). One that the IR can say is compiled on past them and simulated: all that are accepted, one of four of those "
    "that are rejected.",
    "ptx": "Layers: the simulator's loader, its findings with all checks, a hang, numbers against float64, ptxas (which refuses it, "
    "or spills). Each mutant gets {calls} calls until one finds something, and {phases} more where phases may be mixed up; what "
    "survives gets ptxas.",
    "nvvm": "Compiled on to PTX, and then as there. What is the text of a mutant in PTX counts there.",
}


def page(outcomes, failed, asked, left_out, options, commit):
    """`asked`: level -> number of mutants, judged or not. `left_out`: kernels. `commit`: the one that was measured."""
    total = sum(map(len, outcomes.values()))
    words = [f"--{options.family}"] if options.family else []
    words += [f"--{word}" for word in ("quick", "known") if getattr(options, word)]
    words += [f"--sample={options.sample}"] if options.sample else []
    words += [f"--explained={options.explained}"] if options.explained > 1 else []
    words += [f"--kernel={options.kernel}"] if options.kernel else []
    command = " ".join(["./bench/mutants", *words, "--write"])
    family = FAMILIES[options.family]
    counts = {"calls": len(family.source.CALLS), "phases": len(family.source.PHASE_CALLS)}
    title = f"The mutation suite{': ' * bool(family.subject)}{family.subject}"
    text = results.head(title, f"{total} mutants, {len(failed)} neither found nor explained", command, commit)
    if left_out:
        text += f"Not run: {', '.join(left_out)}.\n\n"
    for level, of in outcomes.items():
        text += f"## {_TITLES[level]}\n\n{_MEANING[level].format(**counts)} {_by_source(of)}"
        if level == "ptx" and options.explained > 1:
            text += f" Of those equivalent, besides deletions, of tensor loads and of what is done twice, one of {options.explained} was simulated; the others are explained by their text alone."
        if len(of) < asked[level]:
            text += f" **{asked[level] - len(of)} more are not judged yet.**"
        text += f"\n\n{table(level, of)}\n\n"
        if any(outcome.simulated for outcome in of):
            text += f"### Compiled on and simulated\n\n{crossing(of)}\n\n"
        text += f"### Equivalent\n\n{_equivalents(of)}\n\n"
    if failed:
        rows = [(what, f"{o.level}:{o.source}:{o.name}", f"`{o.text}`") for what, o in failed]
        text += f"## Neither found nor explained\n\n{_markdown(['what', 'mutant', 'of'], rows)}\n\n"
    return text.rstrip() + "\n"
