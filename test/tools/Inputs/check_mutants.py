"""What fa4-mutate says about mutants is what fa4-opt says about those that it emits.

usage: check_mutants.py FILE EVERY"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import json
import re
import subprocess
import sys


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


path, every = sys.argv[1], int(sys.argv[2])
listing = run("fa4-mutate", path, "--json", check=True).stdout
mutants = [json.loads(line) for line in listing.splitlines()]
assert [m["number"] for m in mutants] == list(range(len(mutants)))
emitted = run("fa4-mutate", path, f"--emit=0:{len(mutants)}", check=True).stdout
modules = dict(
    (int(re.match(r"// mutant (\d+) ", text)[1]), text)
    for text in emitted.split("// -----\n")
)
assert set(modules) == {m["number"] for m in mutants if m["expressible"]}
for number in list(modules)[::every]:
    mutant = mutants[number]
    verdict = run("fa4-opt", "--tile-verify-protocol", input=modules[number])
    rejects = mutant.get("rule") or mutant["verifier"] == "rejects"
    assert (verdict.returncode != 0) == bool(rejects), (mutant, verdict.stderr)
kinds = sorted({m["kind"] for m in mutants if m["expressible"]})
print(f"{len(modules)} of {len(mutants)} mutants have IR")
print("kinds:", *[kind.replace(" ", "-") for kind in kinds])
print("killed:", sum(m["killed"] for m in mutants if m["expressible"]))
