# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether ptxas spills registers or takes a stack in a kernel of any form of the gradient that the support matrix says
yes to, on each chip that has one: for `bench/static-vs-fa4 --gradient --forms`, which needs nothing but ptxas.

Head dims of q and v alike go with each mask and order of sums, and with whatever else the op can say, and those above 128 of
`fa4_testing.head_dims` too, which sum in one order; of others that differ there are all pairs. PTX that ptxas has seen is not given to it again."""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from fa4_testing import gpu, head_dims
from fa4_bench.gradient_grid import MASKS
from fa4_testing.programs.forms import MASK_MODS, SCORE_MODS
from fa4_testing.programs.gradient import Gradient
from fa4_testing.revision import digest

CHIPS = ("sm_100a", "sm_103a")
HEAD_DIMS = (32, 48, 64, 80, 96, 112, 128)
KNOWN = gpu.ROOT / "build" / "gradient-forms.jsonl"
_MASKS = ("full", "causal")
# What a form has besides its head dims, mask, dtype and order.
MORE = {
    "f32 sinks, dsinks": dict(sinks="f32", dsinks=True),
    "bf16 sinks, dlse": dict(sinks="bf16", dsinks=True, dlse=True),
    "dlse": dict(dlse=True),
    "bhsd": dict(layout="bhsd"),
    "sbhd": dict(layout="sbhd"),
    "static heads": dict(static=frozenset(["Hq", "Hkv"])),
    "static": dict(static=frozenset(["B", "Sq", "Sk", "Hq", "Hkv"])),
    "grid": dict(options=("--schedule=grid",)),
    "strides": dict(strided=tuple((x, "dynamic") for x in ("q", "v", "dout", "lse", "dq", "dk"))),
    "softcap": SCORE_MODS["softcap"],
    "softcap, dcap": SCORE_MODS["softcap"] | dict(wrt=(0,)),
    "alibi": SCORE_MODS["alibi"],
    "slopes": SCORE_MODS["slopes"],
    "slopes, dslopes": SCORE_MODS["slopes"] | dict(wrt=(0,)),
    "caps, dcaps": SCORE_MODS["caps"] | dict(wrt=(1,)),
    "relu": SCORE_MODS["relu"],
    "relative bias": SCORE_MODS["narrow"],
    "blocks": MASK_MODS["blocks"],
    "prefix": MASK_MODS["prefix"],
    "both mods": MASK_MODS["with score_mod"],
}


def forms() -> dict[str, Gradient]:
    """Name -> form."""
    found = {}

    def add(head_dim, head_dim_v, mask, dtype="bf16", deterministic=False, name="plain", more={}):
        key = f"hd{head_dim}-{head_dim_v} {mask} {dtype}{' deterministic' * deterministic} {name}"
        asked = dict(static=frozenset(), head_dim=head_dim, head_dim_v=head_dim_v, dtype=dtype, deterministic=deterministic)
        found[key] = Gradient(**asked | more | dict(mask=MASKS[mask]))

    for head_dim, mask, deterministic in itertools.product(HEAD_DIMS, MASKS, (False, True)):
        for dtype in gpu.DTYPES if mask in _MASKS else ("bf16",):
            add(head_dim, head_dim, mask, dtype, deterministic)
    for head_dim, head_dim_v in itertools.permutations(HEAD_DIMS, 2):
        for mask in _MASKS:
            add(head_dim, head_dim_v, mask, deterministic=mask != "full")
    for (head_dim, head_dim_v), mask in itertools.product(head_dims.GRADIENTS, MASKS):
        for dtype in gpu.DTYPES if mask in _MASKS else ("bf16",):
            add(head_dim, head_dim_v, mask, dtype)
    for (name, more), (place, (head_dim, head_dim_v)) in itertools.product(MORE.items(), enumerate(head_dims.GRADIENTS)):
        add(head_dim, head_dim_v, _MASKS[(place + list(MORE).index(name)) % 2], name=name, more=more)
    for (name, more), (place, head_dim) in itertools.product(MORE.items(), enumerate(HEAD_DIMS)):
        add(head_dim, head_dim, _MASKS[(place + list(MORE).index(name)) % 2], name=name, more=more)
    return found


class Assembler:
    """What ptxas says of PTX texts, remembered in a file."""

    def __init__(self, ptxas: str, file: Path = KNOWN):
        self.ptxas, self.file, self.lock = ptxas, file, threading.Lock()
        self.version = digest(ptxas)
        lines = file.read_text().splitlines() if file.exists() else ()
        entries = [json.loads(line) for line in lines if line.endswith("}")]
        self.known = {entry["of"]: entry["local"] for entry in entries if entry["ptxas"] == self.version}

    def local(self, ptx: Path, chip: str) -> int:
        """Bytes of spills and of the stack. Raises CompileError."""
        name = hashlib.sha256(ptx.read_bytes()).hexdigest()[:24]
        if name not in self.known:
            said = gpu.assemble(ptx, chip, self.ptxas)
            local = said.spill_stores + said.spill_loads + said.stack
            with self.lock:
                self.known[name] = local
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with open(self.file, "a") as out:
                    out.write(json.dumps({"ptxas": self.version, "of": name, "local": local}) + "\n")
        return self.known[name]


def measure(name, form, chip, assembler) -> str:
    """What is wrong with the form's kernels, or nothing."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as folder:
        try:
            launches = gpu.compile_launches(form.mlir(), Path(folder), chip, ["--verify-ptx=false", *form.options])
            local = {ptx.stem: assembler.local(ptx, chip) for ptx in launches.ptx}
        except gpu.CompileError as error:
            return f"{chip} {name}: {str(error).splitlines()[0]}"
    said = [f"{kernel}: {count} bytes of spills and stack" for kernel, count in local.items() if count]
    return f"{chip} {name}: {', '.join(said)}" if said else ""


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="static-vs-fa4 --gradient --forms", description=__doc__.split("\n\n")[0])
    parser.add_argument("--form", default="", help="only forms whose name has this in it, e.g. 'hd64-64 causal bf16'")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: processors)")
    options = parser.parse_args(words)
    ptxas = gpu.find_ptxas()
    if not ptxas:
        print("static-vs-fa4: ptxas not found", file=sys.stderr)
        return 2
    assembler = Assembler(ptxas)
    chosen = [(name, form, chip) for name, form in forms().items() if options.form in name for chip in CHIPS]
    if not chosen:
        parser.error(f"no form has '{options.form}' in its name")
    wrong = Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (_, _, chip), said in zip(chosen, pool.map(lambda of: measure(*of, assembler), chosen)):
            wrong[chip] += bool(said)
            if said:
                print(said, flush=True)
    for chip in CHIPS:
        print(f"{chip}: {len(chosen) // len(CHIPS)} forms, {wrong[chip]} with spills, a stack, or no kernel")
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
