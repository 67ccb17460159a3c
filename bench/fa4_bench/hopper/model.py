# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fa4-sim's clock says of our kernels of rows, in cycles."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from fa4 import tools
from fa4_bench.hopper import ours
from fa4_bench.hopper.rows import TABLE_SHAPES, documents_of
from fa4_bench.timing.model import for_each


def manifest_of(folder):
    """The manifest of a folder's kernels: that of several launches where there is one."""
    found = sorted(folder.glob("*.json"))
    several = [path for path in found if "launches" in json.loads(path.read_text())]
    return (several or found)[0]


def cycles(row, folder):
    """(cycles of all launches, where the costs of instructions come from)."""
    sizes = dict(B=row.batch, Sq=row.length, Sk=row.length, Hq=row.heads, Hkv=row.heads)
    shapes = TABLE_SHAPES[row.kind](row.heads, row.length) if row.kind in TABLE_SHAPES else []
    sizes |= {f"capture{n}_{dim}": size for n, shape in enumerate(shapes) for dim, size in enumerate(shape)}
    given = [f"{name}={size}" for name, size in sizes.items()]
    command = [tools.find_tool("fa4-sim"), manifest_of(folder), "--time", "--json"]
    with tempfile.TemporaryDirectory() as scratch:
        if row.kind == "documents-table":
            documents = Path(scratch, "documents.npy")
            np.save(documents, np.array(documents_of(row.length), np.int32))
            given.append(f"capture0={documents}")
        done = subprocess.run(command + given, capture_output=True, text=True)
    try:
        times = [run["time"] for run in json.loads(done.stdout)["runs"]]
    except (ValueError, KeyError):
        raise RuntimeError((done.stderr or done.stdout).strip()[-500:]) from None
    return round(sum(time["cycles"] for time in times)), times[0]["costs"]


def cycles_of(chosen, folder, jobs):
    """{"cycles": by row, "costs": where they come from, "absent": why a row has none} of the default variant."""
    places = [place for place in ours.places(folder) if place.variant == ours.DEFAULT]
    folders = {row: found[0].folder for row in chosen if (found := ours.of_row(places, row))}
    found, absent, costs = {}, {}, set()
    for (row, _), result in for_each(lambda pair: cycles(*pair), list(folders.items()), jobs):
        if isinstance(result, Exception):
            absent[row.name] = str(result)[:200]
        else:
            found[row.name] = result[0]
            costs.add(result[1])
    return {"costs": ", ".join(sorted(costs)), "cycles": found, "absent": absent}
