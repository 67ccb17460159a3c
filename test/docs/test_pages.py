# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of the documentation: their IR is accepted, their tool output is
what the tools print, generated pages are up to date, links lead somewhere."""

import re
import subprocess
from urllib.parse import unquote

import fa4docs
import pictures
import pytest

ROOT = fa4docs.ROOT
PAGES = fa4docs.pages()
BLOCKS = [block for page in PAGES for block in fa4docs.blocks(page)]
GENERATED = fa4docs.FA4_OPT.parents[1] / "docs"


@pytest.mark.parametrize(
    "block",
    [b for b in BLOCKS if b.language == "mlir" and not b.command],
    ids=str,
)
def test_ir_is_accepted(block):
    result = subprocess.run(
        [fa4docs.FA4_OPT, "--verify-roundtrip", "-o", "/dev/null"],
        input=block.text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, f"{block}\n{block.text}\n{result.stderr}"


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.command], ids=str)
def test_output_is_what_the_command_prints(block):
    assert block.text == fa4docs.output(block.command), (
        f"{block} is not what `{block.command}` prints; run scripts/update-docs"
    )


def test_there_are_examples():
    """The tests above found what they are for."""
    assert sum(b.language == "mlir" for b in BLOCKS) >= 10
    assert sum(bool(b.command) for b in BLOCKS) >= 3


def test_commands_are_recognised():
    """No comment that looks like a command is without a block."""
    for page in PAGES:
        written = len(re.findall(r"^<!--\s*(?:not )?fa4-\w+\b", page.read_text(), re.MULTILINE))
        found = sum(bool(block.command) for block in fa4docs.blocks(page))
        assert written == found, f"{page}: a command without a block below it"


def test_generated_pages_are_complete():
    generated = {page.name for page in GENERATED.glob("*.md")}
    assert generated, f"no pages in {GENERATED}: build the target fa4-doc"
    checked_in = {page.name for page in (ROOT / "docs" / "reference").glob("*.md")}
    assert checked_in == generated, "run scripts/update-docs"


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "reference").glob("*.md")), ids=lambda p: p.name
)
def test_generated_page_is_up_to_date(page):
    fresh = (GENERATED / page.name).read_text()
    assert page.read_text() == fresh, f"{page.name} is stale: run scripts/update-docs"


def inline(tokens):
    for token in tokens:
        yield from token.children or []


def anchors(page):
    """Fragments of a page's headings, as GitHub names them."""
    found = set()
    tokens = fa4docs.parse(page)
    for before, token in zip(tokens, tokens[1:]):
        if before.type != "heading_open":
            continue
        text = "".join(t.content for t in token.children)
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        name, number = slug, 0
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found.add(name)
    return found


def targets(page):
    for token in inline(fa4docs.parse(page)):
        for attribute in ("href", "src"):
            target = token.attrGet(attribute)
            if target and not re.match(r"[a-z]+:", str(target)):
                yield unquote(str(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in targets(page):
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page}: no file {target}"
        assert file.is_relative_to(ROOT), f"{page}: {target} is outside"
        if fragment:
            assert fragment in anchors(file), f"{page}: no heading {target}"


def test_every_page_is_linked():
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in targets(page):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file.exists():
                todo.append(file)
    assert set(PAGES) <= seen, "pages that README.md does not lead to"


def test_pictures_are_up_to_date():
    """The kernel that the pictures show is the one that is compiled today."""
    drawn = pictures.pictures()
    # The steady state depends on the ptxas that is there (fa4_bench.timing.picture), and `fa4 report` on a browser.
    assert {path.name for path in pictures.PICTURES.iterdir()} - {"steady-state.svg", "report.png"} == set(drawn)
    for name, text in drawn.items():
        stored = (pictures.PICTURES / name).read_text()
        assert stored == text, f"{name} is stale: run scripts/update-docs"
