"""Compares the lengths of counter-examples: `fa4-mutate --json` on standard input.

The explorer tries numbers of passes in ascending order, so what it finds is a
shortest counter-example. The verifier's must make as many passes: no fewer, or
it would follow what cannot happen, and no more.

The verifier takes the numbers of blocks of two work tiles to be unrelated. The
explorer computes them from a size, and the second tile of @persistent has more
blocks than the first: there, its counter-examples may make more passes.
"""

# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import json
import sys


def main():
    same, wrong = 0, []
    for line in sys.stdin:
        mutant = json.loads(line)
        if (mutant.get("verifier"), mutant.get("explorer")) != ("rejects", "rejects"):
            continue
        passes = mutant["verifier_passes"], mutant["explorer_passes"]
        is_related = mutant["kernel"].strip("@") == "persistent"
        if passes[0] == passes[1] or (is_related and passes[0] < passes[1]):
            same += 1
        else:
            wrong.append((mutant["kernel"], mutant["kind"], mutant["text"], *passes))
    print(f"{same} of the same length")
    for fault in wrong:
        print("passes differ:", *fault)
    return 1 if wrong else 0


sys.exit(main())
