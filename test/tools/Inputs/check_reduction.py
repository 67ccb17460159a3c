"""Whether the explorer says the same of each mutant with and without its reduction.

usage: check_reduction.py FILE... -- OPTION...    (of fa4-mutate)"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import json
import subprocess
import sys


def verdicts(*options):
    command = ["fa4-mutate", "--json", *options]
    # Its status is 1 where the verifier, which knows more passes, says something else.
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def main():
    words = sys.argv[1:]
    files, options = words[: words.index("--")], words[words.index("--") + 1 :]
    explored = rejected = 0
    for file in files:
        reduced, every = (verdicts(file, *options, f"--reduce={flag}") for flag in ("true", "false"))
        assert reduced and len(reduced) == len(every), file
        for one, other in zip(reduced, every):
            if one.get("rule"):
                continue
            said = [(m["explorer"], m["explorer_passes"]) for m in (one, other)]
            assert said[0] == said[1], (file, one["number"], one["text"], said)
            assert one["explorer"] != "gave up", (file, one["number"])
            explored += 1
            rejected += one["explorer"] == "rejects"
    print(f"{explored} mutants, of which {rejected} are rejected, with and without reduction")


main()
