# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of results: each names the commit that was measured, a tree with changes writes none, and docs/results.md has
the headline, the commit and the age of each."""

import re
import subprocess

import fa4docs
import pytest

from fa4_testing import results

# Pages that are older than the rule: written from a tree with changes, or from a commit that is gone. Who measures one
# again takes it off this list.
OLDER = {"mutants", "mutants-gradient", "effects", "sensitivity", "versus-fa4", "gradient-deterministic"}
# docs/results.md counts ages anew after so many commits to what is measured.
MOST_BEHIND = 250

HAS_HISTORY = results.git("rev-parse", "--is-shallow-repository") == "false"
PAGES = results.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_from_a_clean_commit(page):
    """Each page of results must name a commit of the history, and not a tree with changes."""
    is_clean = not page.changed
    if HAS_HISTORY:
        is_clean &= results.git("merge-base", "--is-ancestor", page.commit, "HEAD") is not None
        assert page.name not in OLDER or not is_clean, f"take {page.name} off OLDER"
    assert is_clean or page.name in OLDER, f"{page.name}.md: measure it again from a commit"



def test_every_page_has_its_place():
    """The pages of results must be those that have a place in the order of the summary."""
    assert {page.name for page in PAGES} == set(results.ORDER)


@pytest.mark.skipif(not HAS_HISTORY, reason="needs a checkout with its history")
def test_summary():
    """The file docs/results.md must be what the pages give, with ages up to a recent commit."""
    text = results.SUMMARY.read_text()
    until = re.search(r"between it and ([0-9a-f]{12})", text)[1]
    assert text == results.summary(until), "run scripts/update-docs"
    assert len(text.splitlines()) <= 60
    assert results.age(until, results.newest()) <= MOST_BEHIND, "its ages are old: run scripts/update-docs"


def test_wrapped():
    """Paragraphs and items are wrapped, headings and tables are not."""
    long = " ".join(["word"] * 40)
    text = results.wrapped(f"# {long}\n\n{long}\n{long}\n\n- {long}\n- b\n\n| {long} |\n|---|\n")
    heading, paragraph, items, table = text.strip().split("\n\n")
    assert heading == f"# {long}" and table == f"| {long} |\n|---|"
    assert [len(line) <= 120 for line in paragraph.split("\n")] == [True] * 4
    assert re.fullmatch(r"- word[ word]+\n  word[ word]+\n- b", items)


# ---------------------------------------------------------------------------
# What is written from where
# ---------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository of its own with one commit, in the place of this one."""
    for name in ("lib/a.cpp", "bench/versus-fa4.json", "docs/results.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "FOLDER", tmp_path / "bench" / "results")
    monkeypatch.setattr(results, "SUMMARY", tmp_path / "docs" / "results.md")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    commit(tmp_path)
    return tmp_path


def commit(folder):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", folder, *who, "commit", "-qam", "A change"], check=True)


def test_a_tree_with_changes_writes_nothing(checkout):
    """A source has changes, staged or not: no page may be written; a file that the scripts write may have changes."""
    clean = results.clean_commit()
    assert re.fullmatch("[0-9a-f]{12}", clean)
    (checkout / "bench" / "versus-fa4.json").write_text("two\n")
    assert results.clean_commit() == clean
    (checkout / "lib" / "a.cpp").write_text("two\n")
    with pytest.raises(results.DirtyTreeError, match=r"this tree differs from it in lib/a.cpp: commit first"):
        results.clean_commit()
    subprocess.run(["git", "-C", checkout, "add", "lib"], check=True)
    with pytest.raises(results.DirtyTreeError, match="lib/a.cpp"):
        results.clean_commit()
    commit(checkout)
    assert results.clean_commit() != clean


def test_no_commit(checkout, monkeypatch):
    """The machine has no git: a page must not be written, and the error must say that git finds no commit."""
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(results.DirtyTreeError, match="git finds none here"):
        results.clean_commit()


def test_ages(checkout):
    """The age of a page must count the commits that changed sources after the page's commit, and no others."""
    first = results.clean_commit()
    results.write("grid", results.head("The grid", "5 of 5 cases passed", "./bench/grid --write", first) + "Text.\n")
    assert f"| [The grid](../bench/results/grid.md) | 5 of 5 cases passed | {first}, " in results.SUMMARY.read_text()
    assert results.SUMMARY.read_text().count("| 0 |") == 1
    for name in ("lib/a.cpp", "lib/a.cpp", "bench/versus-fa4.json"):
        with open(checkout / name, "a") as file:
            file.write("more\n")
        commit(checkout)
    assert results.age(first, results.newest()) == 2
    assert "| 2 |" in results.summary()
    assert results.age("0123456789ab", results.newest()) is None


def test_a_page_without_a_head(checkout):
    """A page has a title but no headline below: it must be refused and no folder be made."""
    with pytest.raises(ValueError, match="grid.md has no head"):
        results.write("grid", "# The grid\n\nAll is well.\n")
    assert not results.FOLDER.exists()
