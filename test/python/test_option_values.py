# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every option of every tool and pass, as --help lists them, refuses an empty value and
text that is no value of the option's kind: with a message, a non-zero exit status, and
no output."""

import itertools
import re
import subprocess

import pytest

from fa4_testing import gpu

TOOLS = ("fa4-opt", "fa4-compile", "fa4-sim", "fa4-mutate", "fa4-reduce", "fa4-lsp-server")
pytestmark = pytest.mark.skipif(not gpu.has_tools(*TOOLS), reason="needs fa4's tools")

# By what --help shows behind the option's name; None: nothing, so that it is a switch.
NUMBERS = ["1x", "0x", "x", "--", "9" * 400]
REFUSED = {
    None: ["1x", "nan", "2", "truee"],
    "long": [*NUMBERS, "1.5", "nan"],
    "ulong": [*NUMBERS, "-1", "1.5", "nan"],
    "uint": [*NUMBERS, "-1", "1.5", "nan"],
    "number": [*NUMBERS[:4], "nan", "inf", "-inf", "1e999", "-2"],
    "string": ["no such name"],  # All of these are names of chips and levels.
    "level": ["no such name", " tile"],
    "what": ["no such name", "ptx,"],
    "sm_100a": ["no such name", "sm_100"],
    "path": ["no such name"],
    "name": ["no such name"],
    "N[:M]": [*NUMBERS, "1:", ":", "1:x", "-1"],
    "N": [*NUMBERS, "1.5", "nan", " 3"],
    "A:B": [*NUMBERS, "1:", ":", "1:x", "3:2"],
    "KIND[,KIND...]": ["no such name", "race,"],
    "NAME": ["no such name"],
    "NAME=FILE.npy": ["x", "=x", "x="],
    "PLACE": ["no such name", "1x"],
}
# Texts that another program reads, or names of what will be written.
FREE = {"o", "ptxas", "Xptxas", "llvm-passes"}


def run(*command, **keywords):
    return subprocess.run([gpu.find_tool(command[0]), *map(str, command[1:])], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120, **keywords)  # fmt: skip


def help_of(tool, *arguments):
    done = run(tool, "--help", *arguments)
    assert done.returncode == 0
    return done.stdout


def section(text, title):
    """The options under a title of LLVM's --help: (name, what is behind it)."""
    lines = text.split(f"\n{title}:\n", 1)[1].strip("\n").split("\n\n")[0].splitlines()
    matches = [re.match(r"  --?([\w-]+)(?:=<(.*?)>)? +- ", line) for line in lines]
    return [match.groups() for match in matches if match]


def pass_options():
    """(pass or pipeline, option, kind) of all that is fa4's."""
    ours = set(re.findall(r"^  --([\w-]+)", run("fa4-opt", "--help-fa4").stdout, re.M))
    options, current = [], None
    for line in help_of("fa4-opt").splitlines():
        if match := re.match(r"      --([\w-]+) +- ", line):
            current = match[1]
        elif current in ours and (match := re.match(r"        --([\w-]+)(?:=<(\w+)>)? +- ", line)):
            options.append((current, *match.groups()))
    return options


def check_refused(done, *words):
    assert done.returncode in (1, 2), (done.returncode, done.stderr[-500:])
    assert any(word in done.stderr for word in words), done.stderr[-500:]
    assert "Stack dump" not in done.stderr and "LLVM ERROR" not in done.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The example as an op, as roles, and as a kernel of given sizes."""
    folder = tmp_path_factory.mktemp("options")
    (folder / "op.mlir").write_text("""func.func @f(%q: tensor<1x128x1x64xbf16>) -> tensor<1x128x1x64xbf16> {
  %o = attn.sdpa %q, %q, %q layout<bshd>
    : tensor<1x128x1x64xbf16>, tensor<1x128x1x64xbf16>, tensor<1x128x1x64xbf16> -> tensor<1x128x1x64xbf16>
  return %o : tensor<1x128x1x64xbf16>
}
""")
    assert run("fa4-opt", "op.mlir", "--attn-to-nvvm=to=schedule", "-o", "roles.mlir", cwd=folder).returncode == 0
    assert run("fa4-compile", "op.mlir", "-o", "kernel", cwd=folder).returncode == 0
    return folder


def test_options_of_passes(files):
    """Each option of a pass is tried on the IR of the level in front of the pass."""
    options = pass_options()
    assert len(options) > 20 and {kind for _, _, kind in options} <= set(REFUSED)
    levels = gpu.levels()
    before = {"tile-" + level: levels[i - 1] for i, level in enumerate(levels) if i} | {"tile-to-nvvm": "unroll", "nvvm-to-binary": levels[-1]}
    inputs = {None: "op.mlir"}
    # Options of one kind are read by the same code: each gets two of the values.
    values = {kind: itertools.cycle(refused) for kind, refused in REFUSED.items()}
    for name, option, kind in options:
        level = None if name.startswith("attn-") else before.get(name, "schedule")
        if level not in inputs:
            inputs[level] = f"{level}.mlir"
            assert run("fa4-opt", "op.mlir", f"--attn-to-nvvm=to={level}", "-o", inputs[level], cwd=files).returncode == 0
        for value in ["", *itertools.islice(values[kind], min(2, len(REFUSED[kind])))]:
            text = "{" + value + "}" if " " in value else value
            done = run("fa4-opt", inputs[level], f"--{name}={option}={text}", "-o", "out.mlir", cwd=files)
            check_refused(done, f"'{option}' has an empty value" if value == "" else value, option)
            assert not (files / "out.mlir").exists()
    done = run("fa4-opt", "op.mlir", "--pass-pipeline=builtin.module(attn-to-nvvm{to=subtile verify=})", cwd=files)
    check_refused(done, "attn-to-nvvm: the option 'verify' has an empty value")


LLVM_TOOLS = {
    "fa4-compile": ("fa4-compile options", ["op.mlir", "-o", "out"]),
    "fa4-mutate": ("fa4-mutate", ["roles.mlir", "--rules"]),
}


@pytest.mark.parametrize("tool", LLVM_TOOLS)
def test_options_of_tools(files, tool):
    """Each option of a tool must refuse an empty value and what is no value of its kind."""
    title, arguments = LLVM_TOOLS[tool]
    options = section(help_of(tool), title)
    assert len(options) > 8
    for name, kind in options:
        done = run(tool, *arguments, f"--{name}=", cwd=files)
        check_refused(done, f"the option '--{name}' has an empty value")
        if kind:
            check_refused(run(tool, *arguments, f"--{name}", "", cwd=files), "is empty")
        for value in [] if name in FREE else REFUSED[kind]:
            check_refused(run(tool, *arguments, f"--{name}={value}", cwd=files), value, name)
        assert not (files / "out").exists()
    if tool == "fa4-compile":
        check_refused(run(tool, *arguments, "--rescale-threshold= 3", cwd=files), "' 3'")
        check_refused(run(tool, *arguments, "--llvm-opt-level=7", cwd=files), "llvm-opt-level", "7")


def test_options_of_the_simulator(files):
    """Each option of fa4-sim must refuse an empty value and what is no value of its kind."""
    options = re.findall(r"^  --([\w-]+) (\S+\b|\S+\]) ", help_of("fa4-sim"), re.M)
    options = [(name, kind) for name, kind in options if kind in REFUSED]
    assert len(options) == 12, options
    arguments = ["kernel/f_kernel.json", "--random"]
    assert run("fa4-sim", *arguments, cwd=files).returncode == 0
    for name, kind in options:
        check_refused(run("fa4-sim", *arguments, f"--{name}=", cwd=files), "empty value")
        check_refused(run("fa4-sim", *arguments, f"--{name}", "", cwd=files), "is empty")
        for value in REFUSED[kind]:
            check_refused(run("fa4-sim", *arguments, f"--{name}={value}", cwd=files), name, value, "NAME=VALUE")


@pytest.mark.parametrize("value", ["", "1x", " 3", "0x", "nan", "inf", "1e999", "-1", "9" * 30, "2.5", "1,", "N"])
def test_sizes(tmp_path_factory, value):
    """fa4-sim is given a size that is no number of elements: it must refuse the size with one line that names it."""
    folder = tmp_path_factory.getbasetemp() / "sizes"
    if not folder.exists():
        gpu.compile(gpu.Op(head_dim=64).mlir(), folder)
    manifest = next(folder.glob("*.json"))
    done = run("fa4-sim", manifest, "--random", "B=1", f"Sq={value}", "Sk=128", "Hq=1", "Hkv=1")
    check_refused(done, "Sq")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("tool", TOOLS)
def test_empty_arguments(files, tool):
    """A tool is given an empty argument, or an unknown option with an empty value: it must refuse it."""
    check_refused(run(tool, "", cwd=files), f"{tool}: error: argument 1 is empty")
    check_refused(run(tool, "--no-such-option=", cwd=files), "the option '--no-such-option' has an empty value")
