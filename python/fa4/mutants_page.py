# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of the mutation suite, and docs/results-mutants.md."""

import datetime
from collections import Counter, defaultdict

from fa4 import gpu
from fa4.grid_run import commit

PAGE = gpu.ROOT / "docs" / "results-mutants.md"
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
            found = "found" if outcome.simulated.layer else "nothing"
            for row in (outcome.operator, "all"):
                counts[row][verdict, found] += 1
    names = [name for name in dict.fromkeys(o.operator for o in outcomes) if name in counts] + ["all"]
    head = ["operator", "accepted, nothing found", "accepted, **found**", "rejected, found", "rejected, nothing found"]
    keys = [("accepted", "nothing"), ("accepted", "found"), ("rejected", "found"), ("rejected", "nothing")]
    return _markdown(head, [[name, *(counts[name][key] for key in keys)] for name in names])


def _equivalents(outcomes):
    """By reason: how many, and which."""
    by_reason = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.reason:
            by_reason[outcome.reason][outcome.source].append(outcome.name)
    lines = []
    for reason, sources in sorted(by_reason.items(), key=lambda item: -sum(map(len, item[1].values()))):
        lines.append(f"- **{sum(map(len, sources.values()))}**: {reason}.")
        for source, names in sources.items():
            lines.append(f"  - {source}: {', '.join(f'`{name}`' for name in names)}")
    return "\n".join(lines)


_TITLES = {
    "channel": "Roles and channels",
    "nvvm": "NVVM dialect",
    "ptx": "PTX",
}


def page(outcomes, failed, options):
    total = sum(map(len, outcomes.values()))
    command = "./bench/mutants" + (" --quick" if options.quick else "")
    text = f"""# Results of the mutation suite

Written by `{command} --write`, {datetime.date.today():%Y-%m-%d}, commit {commit()}: **{total} mutants, {len(failed)} neither found nor explained**.

"""
    for level, of in outcomes.items():
        text += f"## {_TITLES[level]}\n\n{table(level, of)}\n\n"
        if any(outcome.simulated for outcome in of):
            text += f"### Compiled on and simulated\n\n{crossing(of)}\n\n"
        text += f"### Equivalent\n\n{_equivalents(of)}\n\n"
    return text.rstrip() + "\n"
