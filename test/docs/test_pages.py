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
from markdown_it import MarkdownIt

from fa4_testing import gpu, results

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
    """fa4-opt must accept the IR of each block of a page, as text and as bytecode."""
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
    """A block below a command must have exactly the output of the command."""
    assert block.text == fa4docs.output(block.command), (
        f"{block} is not what `{block.command}` prints; run scripts/update-docs"
    )


def test_there_are_examples():
    """The pages must have blocks of IR and blocks of output, so that the tests above check some."""
    assert sum(b.language == "mlir" for b in BLOCKS) >= 10
    assert sum(bool(b.command) for b in BLOCKS) >= 3


def test_commands_are_recognised():
    """Each comment of a page that looks like a command must belong to a block."""
    for page in PAGES:
        written = len(re.findall(r"^<!--\s*(?:not )?fa4-\w+\b", page.read_text(), re.MULTILINE))
        found = sum(bool(block.command) for block in fa4docs.blocks(page))
        assert written == found, f"{page}: a command without a block below it"


def test_generated_pages_are_complete():
    """docs/reference must have exactly the pages that the build generates."""
    generated = {page.name for page in GENERATED.glob("*.md")}
    assert generated, f"no pages in {GENERATED}: build the target fa4-doc"
    checked_in = {page.name for page in (ROOT / "docs" / "reference").glob("*.md")}
    assert checked_in == generated, "run scripts/update-docs"


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "reference").glob("*.md")), ids=lambda p: p.name
)
def test_generated_page_is_up_to_date(page):
    """A page of docs/reference must equal the page that the build generates."""
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
    """Each link of a page must lead to a file of the repository and, where it names one, to a heading of that file."""
    for target in targets(page):
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page}: no file {target}"
        assert file.is_relative_to(ROOT), f"{page}: {target} is outside"
        if fragment:
            assert fragment in anchors(file), f"{page}: no heading {target}"


def test_every_page_is_linked():
    """Whoever follows links from README.md must come to every page."""
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
    """Each picture of the docs must equal the one that is drawn from today's kernel."""
    drawn = pictures.pictures()
    # The steady state depends on the ptxas that is there (fa4_bench.timing.picture), and `fa4 report` on a browser.
    assert {path.name for path in pictures.PICTURES.iterdir()} - {"steady-state.svg", "report.png"} == set(drawn)
    for name, text in drawn.items():
        stored = (pictures.PICTURES / name).read_text()
        assert stored == text, f"{name} is stale: run scripts/update-docs"


# ---------------------------------------------------------------------------
# Forms
# ---------------------------------------------------------------------------

# Generated from descriptions in .td files.
REFERENCE = ROOT / "docs" / "reference"
# Lines of pages that are to be read as a whole.
MOST_LINES = {"docs/architecture.md": 300, "docs/results.md": 60}


def long_lines(text, most=120):
    """The numbers of the lines of prose with more than `most` columns that could be broken: those with a space in front of
    the last column that is allowed. Rows of tables, which cannot, and blocks of code are left out."""
    code = set()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("fence", "code_block", "table_open"):
            code.update(range(*token.map))
    lines = enumerate(text.splitlines())
    return [number + 1 for number, line in lines if number not in code and len(line) > most and re.search(r"\S\s", line[: most + 1])]


@pytest.mark.parametrize("page", [page for page in PAGES if REFERENCE not in page.parents], ids=lambda p: str(p.relative_to(ROOT)))
def test_prose_is_wrapped(page):
    """No line of prose of a page may have more than 120 columns."""
    found = long_lines(page.read_text())
    assert not found, f"{page.relative_to(ROOT)}: lines {found[:20]} have more than 120 columns"


def test_long_lines_are_found():
    """A page is given with long lines in paragraphs, lists, tables, blocks and comments: only those that could be
    broken must be found."""
    long = "word " * 30
    text = f"# Page\n\n{long}\n\n- {long}\n\n| {long} |\n|---|\n| {long} |\n\n```text\n{long}\n```\n\n<!-- {long} -->\n\n{'x' * 200}\n"
    assert long_lines(text) == [3, 5, 15]


@pytest.mark.parametrize("name", MOST_LINES)
def test_page_stays_short(name):
    """A page that is to be read as a whole must not have more lines than its limit."""
    lines = len((ROOT / name).read_text().splitlines())
    assert lines <= MOST_LINES[name], f"{name} has {lines} lines: move what few readers need to a page of its own"


def section(page, heading):
    """The text below a heading of the second level."""
    return re.search(rf"^## {heading}\n(.*?)^## ", page.read_text(), re.MULTILINE | re.DOTALL)[1]


def test_readme_starts_with_five_pages():
    """README.md must first name five pages, whose reading times add up to thirty minutes."""
    rows = re.findall(r"^\| .* \| (\d+) \|", section(ROOT / "README.md", "Start here"), re.MULTILINE)
    assert len(rows) == 5 and sum(map(int, rows)) == 30


def test_readme_says_what_the_model_is_worth():
    """README.md must have the figures of the pages that compare the simulator's clock with measurements."""
    said = " ".join(section(ROOT / "README.md", "State").split())
    assert "No Blackwell card has run a kernel of fa4." in said
    for page in results.pages():
        if page.name in ("published", "timing"):
            for figure in re.findall(r"-?\d[\d.]*(?: of \d+|%)", page.headline):
                assert figure in said, f"{page.name}.md says {figure}"


def test_every_step_has_its_file():
    """Each level of the compiler is a row of the table in architecture.md, with a link to the code that decides it."""
    table = section(ROOT / "docs" / "architecture.md", "The path, file by file")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \|.*?\| ([^|]*)\|$", table, re.MULTILINE))
    assert set(gpu.levels()) <= set(rows)
    assert all(".cpp)" in cell for cell in rows.values())
