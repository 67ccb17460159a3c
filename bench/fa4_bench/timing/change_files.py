# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the changed kernels: a folder KERNEL/CHANGE for each, with PTX, machine code and manifests, and KERNEL/unchanged beside them.

A machine with a card takes the folder without the PTX. `made.json` says of each change how many lines it has edited and what ptxas has
said of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from fa4 import cuda_tools, tools
from fa4.tools import ROOT
from fa4_bench.hopper.model import manifest_of
from fa4_bench.hopper.rows import Form
from fa4_bench.timing import changes
from fa4_bench.timing.change_edits import EditError, edit_text

UNCHANGED, MADE = "unchanged", "made.json"
# A small call that takes each way through a kernel: blocks with a mask and without one, several work tiles for a CTA.
SMALL = {"B": 1, "Sq": 576, "Sk": 576, "Hq": 2, "Hkv": 2, "sm_count": 2}
SEEDS = "0:2"


def main_ptx(folder):
    """The PTX that edits change: that of the kernel with the products."""
    return max(folder.glob("*.ptx"), key=lambda path: path.stat().st_size)


def compile_to(folder, text, options=()):
    """Raises EditError with what the compiler says."""
    from fa4_bench.hopper import specs

    if message := specs.compile_op(text, folder, options):
        raise EditError(message[-500:])


def change_plan(text, channel, stages):
    """The plan with other stages of one ring: of all channels of this name the first that has several stages."""
    pattern = rf'(tile\.channel "{channel}" smem stages\()([2-9])\)'
    found = re.sub(pattern, lambda match: f"{match[1]}{stages})", text, count=1)
    if found == text:
        raise EditError(f"no ring of several stages is called {channel}")
    return found


def assemble(ptx):
    """Writes the cubin beside a PTX; returns what ptxas says against it. Raises EditError where it rejects the PTX, or where the machine code
    has another number of products: what nobody needs is left out, and a change would not be what it says."""
    cubin, tools_of_cuda = ptx.with_suffix(".cubin"), {name: cuda_tools.find(name, (ROOT / ".venv",)) for name in ("ptxas", "nvdisasm")}
    if missing := [name for name, path in tools_of_cuda.items() if not path]:
        raise EditError(f"{missing[0]} not found")
    done = subprocess.run([tools_of_cuda["ptxas"], "-arch=sm_90a", "-v", ptx, "-o", cubin], capture_output=True, text=True)
    if done.returncode:
        raise EditError(f"ptxas rejects the PTX: {(done.stdout + done.stderr)[-500:]}")
    code = subprocess.run([tools_of_cuda["nvdisasm"], "-c", cubin], capture_output=True, text=True, check=True).stdout
    products = ptx.read_text().count("wgmma.mma_async"), code.count("HGMMA")
    if products[0] != products[1]:
        raise EditError(f"the PTX has {products[0]} products, and the machine code {products[1]}")
    said = done.stdout + done.stderr
    spilled = sum(int(number) for number in re.findall(r"(\d+) bytes spill", said))
    return ", ".join([f"{spilled} bytes of spills"] * bool(spilled) + ["products in series"] * ("wgmma.mma_async instructions are serialized" in said))


def make(change, unchanged, folder):
    """Makes a changed kernel beside the unchanged one; returns what made.json says of it. Raises EditError."""
    shutil.rmtree(folder, ignore_errors=True)
    if not change.options and not change.plan:
        shutil.copytree(unchanged, folder)
        if change.edit is None:
            return {"lines": 0, "note": ""}
        ptx = main_ptx(folder)
        text, count = edit_text(change.edit, ptx.read_text(), json.loads(ptx.with_suffix(".json").read_text()))
        ptx.write_text(text)
        return {"lines": count, "note": assemble(ptx)}
    source, options = unchanged / "op.mlir", change.options
    text = source.read_text()
    if change.plan:
        command = [tools.find_tool("fa4-compile"), source, "--chip=sm_90a", "--emit=schedule", "-o", "-"]
        plan = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        text, options = change_plan(plan, *change.plan), ("--from=schedule",)
    compile_to(folder, text, options)
    if main_ptx(folder).read_text() == main_ptx(unchanged).read_text():
        raise EditError("the kernel is the same as without the change")
    return {"lines": 0, "note": ""}


def call_of(kernel, change=None):
    """The sizes of a kernel's call."""
    form = Form.parse(kernel)
    sizes = dict(B=form.batch, Sq=form.length, Sk=form.length, Hq=form.heads, Hkv=form.heads)
    return sizes | dict(change.sizes if change else ())


def simulate(folder, sizes, *options):
    """What fa4-sim says of a call as JSON. Raises EditError with the first finding, or where it could not run."""
    manifest = manifest_of(folder)
    known = json.loads(manifest.read_text())["sizes"]
    given = [f"{name}={value}" for name, value in sizes.items() if name in known]
    done = subprocess.run([tools.find_tool("fa4-sim"), manifest, *given, "--json", *options], capture_output=True, text=True)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise EditError((done.stderr or done.stdout).strip()[-500:]) from None
    if not said["ok"]:
        reports = [report["message"] for run in said["runs"] for report in run["reports"]]
        raise EditError(f"fa4-sim finds: {reports[0] if reports else 'something'}")
    return said


def check(folder):
    """Whether each wait of a kernel ends and nothing traps, in a small call under several orders of events. Raises EditError."""
    simulate(folder, SMALL, "--random", "--seeds", SEEDS)


def make_unchanged(kernel, folder):
    from fa4_bench.hopper import specs

    compile_to(folder, specs.spec(Form.parse(kernel)).text)


def make_all(folder, pattern, commit, say):
    """Makes and checks all kernels whose names have a match; returns {name: why it could not be made}. What else the folder has stays."""
    path = Path(folder, MADE)
    made = json.loads(path.read_text()) if path.exists() else {"changes": {}}
    made["commit"], failed = commit, {}
    for kernel in changes.KERNELS:
        chosen = {name: change for name, change in changes.names((kernel,)).items() if re.search(pattern, name)}
        if chosen:
            make_unchanged(kernel, Path(folder, kernel, UNCHANGED))
        for name, change in chosen.items():
            made["changes"].pop(name, None)
            try:
                entry = make(change, Path(folder, kernel, UNCHANGED), Path(folder, name))
                check(Path(folder, name))
            except EditError as error:
                failed[name] = str(error)
                shutil.rmtree(Path(folder, name), ignore_errors=True)
                continue
            made["changes"][name] = entry
            say(f"{name}: {entry['lines']} lines{', ' * bool(entry['note'])}{entry['note']}")
            path.write_text(json.dumps(made, indent=1) + "\n")
    return failed


def read_made(folder):
    """made.json of a folder. Raises EditError."""
    try:
        return json.loads(Path(folder, MADE).read_text())
    except (OSError, ValueError) as error:
        raise EditError(f"{folder} has no kernels that --make has made: {error}") from None
