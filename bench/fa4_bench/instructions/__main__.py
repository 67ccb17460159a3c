# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of bench/instructions."""

import argparse
import os
import shutil
import sys

from fa4_bench.instructions import card, cases, simulate
from fa4.tools import ToolNotFoundError, find_tool


def on_card():
    """A function that runs a case on the first GPU. Raises DriverError where that is no Hopper."""
    gpu = card.hopper()
    print(gpu.name)
    return gpu.run


def in_simulator(options):
    if options.sim and not shutil.which(options.sim):
        raise ToolNotFoundError(f"{options.sim} cannot be run")
    simulator = options.sim or find_tool("fa4-sim")
    return lambda case: simulate.run(case, simulator, options.seeds)


def main():
    parser = argparse.ArgumentParser(prog="instructions", description="Single instructions of sm_90a, in fa4-sim or on a "
                                     "card, against values worked out from the PTX manual.")
    parser.add_argument("--card", action="store_true", help="on the first GPU, which must be a Hopper, instead of in fa4-sim")
    parser.add_argument("--all", action="store_true", help="all shapes of wgmma, not a cross-section")
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--sim", help="the simulator (default: FA4_SIM, or that of build/release)")
    parser.add_argument("--seeds", default="0:2", help="as fa4-sim --seeds")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--ptx", metavar="FOLDER", help="only write each case's PTX there")
    options = parser.parse_args()
    chosen = [case for case in cases(options.all) if (options.case or "") in case.name]
    if not chosen:
        parser.error(f"no case has '{options.case}' in its name")
    if options.list or options.ptx:
        for case in chosen:
            if options.ptx:
                os.makedirs(options.ptx, exist_ok=True)
                with open(os.path.join(options.ptx, case.name + ".ptx"), "w") as file:
                    file.write(case.ptx)
            print(case.name)
        return 0
    try:
        run = on_card() if options.card else in_simulator(options)
    except (card.DriverError, ToolNotFoundError) as error:
        sys.exit(f"instructions: {error}")
    failed = 0
    for case in chosen:
        try:
            wrong = run(case)
        except card.DriverError as error:
            wrong = [str(error)]
        failed += bool(wrong)
        for text in wrong:
            print(f"{case.name}: {text}", flush=True)
    print(f"{len(chosen)} cases, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
