# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages that measuring scripts write (bench/results/*.md), and docs/results.md, which has the headline of each.

A page names the commit that it was measured at, so that anyone can measure the same again. That is true only of a
tree without changes: from any other tree, `--write` is refused before anything is measured.
`python -m fa4_testing.results` writes docs/results.md anew, with the ages of today; scripts/update-docs runs it."""

import argparse
import datetime
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from fa4.tools import ROOT

FOLDER = ROOT / "bench" / "results"
SUMMARY = ROOT / "docs" / "results.md"
# What the scripts write themselves: a second one may run after the first.
WRITTEN = ("bench/results", "docs/results.md", "bench/versus-fa4.json", "bench/timing-model.json", "bench/timing-changes.json",
           "bench/timing-changes-model.json", "bench/hopper.json", "bench/hopper-model.json")
# What a result depends on. A page's age is the number of commits that have changed these since.
MEASURED = ("lib", "include")
HEAD = re.compile(
    r"# (?P<title>.+)\n\n\*\*(?P<headline>[^*]+)\*\*\n\n"
    r"Written by `\./(?P<command>[^`]+)`\s+on\s+(?P<date>\d{4}-\d\d-\d\d)\s+from\s+commit\s+(?P<commit>[0-9a-f]{12})(?P<changed>\s+with\s+changes)?"
)
# In the order of docs/results.md.
ORDER = ("grid", "mutants", "mutants-gradient", "mutants-pairs", "mutants-paired-gradient", "published", "timing", "changes",
         "effects", "sensitivity", "versus-fa4", "gradient", "gradient-deterministic", "hopper", "varlen", "serving", "distributed", "mods", "masks")  # fmt: skip


class DirtyTreeError(RuntimeError):
    """Nothing can be written of this tree."""


def git(*words):
    """Returns what git prints, or None if it fails."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def clean_commit() -> str:
    """Returns the first 12 digits of the commit. Raises DirtyTreeError if the tree has changes, or has no commit."""
    exceptions = [f":(exclude){path}" for path in WRITTEN]
    changed = git("diff", "--name-only", "HEAD", "--", ".", *exceptions)
    if changed is None:
        raise DirtyTreeError("--write names the commit that was measured, and git finds none here")
    if changed:
        files = changed.splitlines()
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        raise DirtyTreeError(f"--write names the commit that was measured, and this tree differs from it in {', '.join(files[:3])}{more}: commit first")
    return git("rev-parse", "--short=12", "HEAD")


def head(title: str, headline: str, command: str, commit: str, date: str = "") -> str:
    """Returns the beginning of a page: its title, what it found in a sentence, and where it comes from. `date` is that of the
    measurement, by default today."""
    date = date or datetime.date.today().isoformat()
    return f"# {title}\n\n**{headline}**\n\nWritten by `{command}` on {date} from commit {commit}. [Results](../../docs/results.md) has its age.\n\n"


def wrapped(text: str) -> str:
    """Returns a page with its paragraphs and the items of its lists wrapped at 120 columns. Headings and tables stay."""

    def wrap(block):
        if block.startswith(("#", "|")):
            return block
        items = re.split(r"\n(?=- )", block) if block.startswith("- ") else [block]
        fill = textwrap.TextWrapper(120, subsequent_indent="  " * block.startswith("- "), break_long_words=False, break_on_hyphens=False).fill
        return "\n".join(fill(" ".join(item.split())) for item in items)

    return "\n\n".join(wrap(block) for block in text.strip().split("\n\n")) + "\n"


def write(name: str, text: str) -> Path:
    """Writes the page `name`, which begins with a head, wrapped, and docs/results.md. Returns the page's path."""
    if not HEAD.match(text):
        raise ValueError(f"{name}.md has no head")
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.md"
    path.write_text(wrapped(text))
    SUMMARY.write_text(summary())
    return path


@dataclass(frozen=True)
class Page:
    """What the head of a page says."""

    name: str
    title: str
    headline: str
    command: str
    date: str
    commit: str
    changed: bool  # The tree had changes: no commit has what was measured.


def pages() -> list:
    """Returns the Page of each file, those of ORDER first. Raises ValueError for one without a head."""
    found = []
    for path in FOLDER.glob("*.md"):
        match = HEAD.match(path.read_text())
        if not match:
            raise ValueError(f"{path.name} has no head")
        found.append(Page(path.stem, match["title"], match["headline"], match["command"], match["date"], match["commit"], bool(match["changed"])))
    rank = {name: number for number, name in enumerate(ORDER)}
    return sorted(found, key=lambda page: (rank.get(page.name, len(ORDER)), page.name))


def newest() -> str:
    """Returns the last commit that changed what results depend on."""
    return git("log", "-1", "--format=%H", "--", *MEASURED)[:12]


def age(commit: str, until: str):
    """Returns how many commits have changed what results depend on since `commit`, up to `until`; None if git does not know."""
    if git("merge-base", "--is-ancestor", commit, until) is None and git("merge-base", "--is-ancestor", until, commit) is None:
        return None
    count = git("rev-list", "--count", f"{commit}..{until}", "--", *MEASURED)
    return None if count is None else int(count)


TEXT = """# Results

What the scripts of [bench](../bench/README.md) found when they last ran with `--write`. Each has a page; this table
has its headline, the commit that was measured, and the age of that commit: how many commits have changed
`lib` or `include` between it and {until}. A page is written from a commit without changes; where it says *with
changes*, or has no age, it is older than this rule, and nobody can measure the same again.

No Blackwell card has run a kernel of fa4. Times are those of a [model](timing.md), which is held to an H100's and to
published measurements of a B200: the pages on measurements say by how much it is off.

| page | found | commit | age |
|---|---|---|---|
{rows}

`scripts/update-docs` counts the ages anew. [bench/README.md](../bench/README.md) says what each script measures, and
how to run it.
"""


def summary(until: str = "") -> str:
    """Returns the text of docs/results.md, with ages up to the commit `until`, by default the newest."""
    until = until or newest()
    rows = []
    for page in pages():
        count = age(page.commit, until)
        commit = f"{page.commit}{' with changes' if page.changed else ''}, {page.date}"
        rows.append(f"| [{page.title}](../bench/results/{page.name}.md) | {page.headline} | {commit} | {'-' if count is None else count} |")
    return TEXT.format(until=until, rows="\n".join(rows))


def main() -> int:
    argparse.ArgumentParser(prog="python -m fa4_testing.results", description="Writes docs/results.md from the pages of bench/results.").parse_args()
    SUMMARY.write_text(summary())
    return 0


if __name__ == "__main__":
    sys.exit(main())
