# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for source files, and that everything defined in a .td file is
documented with an example."""

import ast
import json
import re
import subprocess

import fa4docs
import pytest

ROOT = fa4docs.ROOT
FOLDERS = ("include", "lib", "tools", "test", "python", "scripts", "bench")
SOURCES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".c", ".cpp", ".h", ".td", ".py")
)
MAX_LINES = {".td": 500}  # Of other files 1000.
# Folders whose classes have a limit, headers first; and the limit: lines of the declaration and of all member functions.
CLASS_FOLDERS = ("include/fa4/Dialect/Tile", "include/fa4/Conversion", "lib/Dialect/Tile", "lib/Conversion")
MAX_CLASS_LINES = 400
LICENSE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"


def name(path):
    return str(path.relative_to(ROOT))


def tracked_files():
    """The files of the repository; without git, or its folder, all those in its folders that no tool has left."""
    try:
        command = ["git", "-C", ROOT, "ls-files", "-z"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [path for part in listed.split("\0") if part and (path := ROOT / part).is_file()]
    except (OSError, subprocess.CalledProcessError):
        folders = [ROOT / folder for folder in (*FOLDERS, "cmake", "docs")]
        found = [path for folder in folders for path in folder.rglob("*")] + list(ROOT.iterdir())
        return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def lines_of(path):
    """None of a file that is no text."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else len(text.splitlines())


def test_files_are_short_enough():
    """Each text file, also a page, a test and a recorded table, must have at most the lines that its kind may have."""
    lines = {path: lines_of(path) for path in tracked_files()}
    assert set(SOURCES) & set(lines) and ROOT / "docs" / "reference" / "TilePasses.md" in lines
    long = [
        f"{name(path)}: {count} lines > {limit}"
        for path, count in lines.items()
        if count is not None and count > (limit := MAX_LINES.get(path.suffix, 1000))
    ]
    assert not long, "split these by meaning: " + ", ".join(long)


def declared_classes(lines):
    """Yields (name, lines) of each class and struct that is declared, also of those in another one."""
    for first, line in enumerate(lines):
        if not (match := re.match(r"(\s*)(?:class|struct) ((?:\w+::)*\w+)\b[^;]*$", line)):
            continue
        head = ""
        for last in range(first, len(lines)):
            head += lines[last]
            if "{" in head or ";" in head:
                break
        if ";" in head.partition("{")[0] or "{" not in head:
            continue
        closing = match[1] + "}"
        end = next((n for n in range(last, len(lines)) if lines[n].startswith(closing)), last)
        yield match[2].split("::")[-1], end - first + 1


def member_functions(lines):
    """Yields (class, lines) of each member function that is defined outside of its class: from column 0 to a closing
    brace at column 0."""
    first = None
    for number, line in enumerate(lines):
        if first is None and re.match(r"(?!(namespace|using|class|struct|enum)\b)[A-Za-z_:]", line):
            first = number
        if first is None or not (line.startswith("}") or line.endswith(";") and not line.startswith(" ")):
            continue
        head = " ".join(lines[first : number + 1]).partition("{")[0]
        if line.startswith("}") and (match := re.search(r"(\w+)::~?\w+\(", head)):
            yield match[1], number - first + 1
        first = None


def class_lengths():
    """(name, file) -> lines of each class. A class of a header, which has no file here, has members in any file."""
    files = [path for folder in CLASS_FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
    texts = {path: path.read_text().splitlines() for path in files}
    lengths = {}
    for path, lines in texts.items():
        for of, count in declared_classes(lines):
            key = (of, path if path.suffix == ".cpp" else None)
            lengths[key] = lengths.get(key, 0) + count
    for path, lines in texts.items():
        for of, count in member_functions(lines):
            key = (of, path) if (of, path) in lengths else (of, None)
            if key in lengths:
                lengths[key] += count
    return lengths


def test_classes_are_short_enough():
    """A class of the compiler's middle has at most MAX_CLASS_LINES with its member functions: a longer one does several
    things."""
    lengths = class_lengths()
    assert len(lengths) > 100 and max(lengths.values()) > 200, "classes are not found"
    long = [f"{of}: {count} lines > {MAX_CLASS_LINES}" for (of, _), count in lengths.items() if count > MAX_CLASS_LINES]
    assert not long, "split these by meaning: " + ", ".join(long)


def code_of_passes():
    """path -> code without comments, of each file of the passes on tile programs."""
    folder = ROOT / "lib" / "Dialect" / "Tile" / "Transforms"
    return {path: re.sub(r"//.*", "", path.read_text()) for path in sorted(folder.rglob("*")) if path.suffix in (".cpp", ".h")}


# The file that tries plans: it runs passes on copies of a kernel. A pass must decide by an analysis.
DRIVER = "PlanSearch.cpp"


def test_passes_clone_no_kernel():
    """Only the search for a plan clones kernels: a pass that writes a copy to see what comes of it asks no analysis."""
    cloning = re.compile(r"\bOwningOpRef<|(?:\.|->)clone\(\)")
    files = {path.name for path, code in code_of_passes().items() if cloning.search(code)}
    assert files == {DRIVER}, f"clones of kernels in {sorted(files)}; only {DRIVER} may have them"


def test_passes_do_not_call_each_other():
    """A function on kernels that a pass's file defines is the pass's entry: only the file and the search for a plan may
    call it. Others run the pass, or share an analysis with it."""
    codes = code_of_passes()
    entries = {
        entry: path
        for path, code in codes.items()
        if "#define GEN_PASS_DEF_" in code
        for entry in re.findall(r"^\S.*\bfa4::tile::(\w+)\(\s*KernelOp\b", code, re.MULTILINE)
    }
    assert {"assignWork", "specializeWarps", "splitValues", "pipelineLoops", "orderRoles"} <= set(entries), "entries are not found"
    calls = [
        f"{path.name} calls {entry} of {owner.name}"
        for entry, owner in entries.items()
        for path, code in codes.items()
        if path != owner and path.name != DRIVER and path.suffix == ".cpp" and re.search(rf"\b{entry}\(", code)
    ]
    assert not calls, "a pass runs another one: " + ", ".join(calls)


def test_files_have_the_licence_header():
    """Each source file must name the licence within its first 20 lines."""
    bare = [
        name(path)
        for path in SOURCES
        if LICENSE not in "\n".join(path.read_text().splitlines()[:20])
    ]
    assert not bare, f"without the licence header: {bare}"


def test_headers_have_guards():
    """Each header must have an include guard that is named after its path."""
    for path in SOURCES:
        if path.suffix != ".h":
            continue
        relative = name(path).removeprefix("include/")
        if not relative.startswith(("fa4/", "fa4-c/", "fa4-runtime/")):
            relative = "fa4/" + relative
        guard = "".join(c if c.isalnum() else "_" for c in relative).upper()
        assert f"#ifndef {guard}\n#define {guard}\n" in path.read_text(), (
            f"{name(path)}: the include guard should be {guard}"
        )


def records(path):
    """What TableGen makes of a file."""
    result = subprocess.run(
        [
            fa4docs.LLVM_BIN / "llvm-tblgen",
            "--dump-json",
            "-I",
            ROOT / "include",
            "-I",
            fa4docs.LLVM_BIN.parent / "include",
            path,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def is_ours(record, everything):
    dialect = record.get("opDialect") or record.get("dialect")
    owner = everything[dialect["def"]] if dialect else record
    return owner.get("cppNamespace", "::fa4").startswith("::fa4")


def documented():
    """(what, name) -> record, for everything that must be documented."""
    found = {}
    for path in sorted((ROOT / "include").rglob("*.td")):
        everything = records(path)
        for kind in ("Dialect", "Op", "AttrDef", "TypeDef", "PassBase"):
            for key in everything["!instanceof"].get(kind, []):
                record = everything[key]
                if not record["!anonymous"] and is_ours(record, everything):
                    found[kind, key] = record
    return found


RECORDS = documented()


def test_definitions_are_found():
    """The tests below must find definitions of each kind in the .td files."""
    kinds = {kind for kind, _ in RECORDS}
    assert {"Dialect", "Op", "AttrDef", "PassBase"} <= kinds


@pytest.mark.parametrize("kind, key", sorted(RECORDS), ids=lambda x: x)
def test_definition_is_documented(kind, key):
    """A definition of a .td file must have a summary, a description and an example, and a pass IR before and after it."""
    record = RECORDS[kind, key]
    description = record.get("description") or ""
    assert (record.get("summary") or "").strip(), f"{key} has no summary"
    assert description.strip(), f"{key} has no description"
    if kind != "Dialect":
        # test_pages.py runs these examples: they are in the generated pages.
        assert "```mlir" in description, f"{key} has no example (a ```mlir block)"
    if kind == "PassBase":
        assert "Before:" in description and "After" in description, (
            f"{key} does not show IR before and after"
        )


def test_operations_are_on_one_page():
    """Each operation must have a heading on exactly one page of docs/reference."""
    pages = [page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md")]
    for (kind, key), record in RECORDS.items():
        if kind == "Op":
            heading = f"### `{record['opDialect']['def'].split('_')[0].lower()}.{record['opName']}` ("
            assert sum(page.count(heading) for page in pages) == 1, heading


def test_lit_tests_say_what_they_test():
    """A lit test has a header: what must hold of this input, in a sentence or more."""
    silent = []
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix not in (".mlir", ".test") or "Inputs" in path.parts:
            continue
        words = 0
        for line in path.read_text().splitlines()[:25]:
            text = line.strip().lstrip("/#; ")
            # A .test file needs no marks of comments.
            if line[:1] not in "/#;" and path.suffix != ".test":
                continue
            if not re.match(r"[A-Z-]+(\{\w+\})?:|-{3,}", text):
                words += len(text.split())
        if words < 6:
            silent.append(name(path))
    assert not silent, f"without a header that says what is tested: {silent}"


def is_sentence(text):
    """Whether the text begins with a capital letter, or a name of code such as fa4-opt, and ends with a full stop."""
    first = text.split(maxsplit=1)[0] if text.strip() else "a"
    return (first[0].isupper() or not first.isalpha()) and text.endswith(".")


def test_python_tests_say_what_they_test():
    """Each test function in Python must have a docstring of whole sentences: what is given, and what must happen."""
    tests = {}
    for path in sorted((ROOT / "test").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                tests[f"{name(path)}: {node.name}"] = ast.get_docstring(node) or ""
    assert len(tests) > 600, "tests are not found"
    assert not is_sentence("") and not is_sentence("of masks.") and is_sentence("fa4-opt must fail.")
    silent = [test for test, text in tests.items() if not is_sentence(text)]
    assert not silent, f"without a docstring of whole sentences: {silent}"


# The most RUN lines, and the most prefixes of checks, that a lit test may have.
MOST_RUNS, MOST_PREFIXES = 3, 3


def runs_and_prefixes(path):
    """The numbers of RUN lines and of prefixes that a lit test has."""
    text = path.read_text(errors="replace")
    commands = re.findall(r"RUN:(.*)", text)
    calls = [call for command in commands for call in re.findall(r"FileCheck\b[^|;&]*", command)]
    prefixes = {name for call in calls for given in re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", call) or ["CHECK"] for name in given.split(",")}
    return len(commands), len(prefixes)


def test_lit_tests_have_few_run_lines():
    """A lit test has one input and few steps: at most so many RUN lines, and so many prefixes."""
    tests = [path for path in (ROOT / "test").rglob("*") if path.suffix in (".mlir", ".ptx", ".test") and "Inputs" not in path.parts]
    counts = {name(path): runs_and_prefixes(path) for path in tests}
    assert any(runs for runs, _ in counts.values()), "lit tests are not found"
    more = sorted(path for path, (runs, prefixes) in counts.items() if runs > MOST_RUNS or prefixes > MOST_PREFIXES)
    assert not more, f"more than {MOST_RUNS} RUN lines or {MOST_PREFIXES} prefixes (see docs/contributing.md): {more}"
