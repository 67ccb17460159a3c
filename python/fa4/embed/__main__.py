# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fa4 costs those who embed it, beside the bars.

usage: bench/embed [--only PART]

`launch` is what a launch by libfa4_runtime costs on the host, from the record of a machine with a card, bench/launch-overhead.json
(python/fa4/embed/launch_overhead.py makes one). The exit status is 1 when a bar is missed."""

import argparse
import json
import sys

from fa4.tools import ROOT

LAUNCH_BAR = 5.0  # Microseconds on the host for each kernel that is launched, after the first time.
ERROR_BAR = 5e-3  # Of bf16 results beside float64: norm of the difference over norm.


def report_launches():
    """Prints the recorded launches; returns the bars that they miss."""
    record = json.loads((ROOT / "bench" / "launch-overhead.json").read_text())
    print(f"launches on the host, {record['card']}, {record['date']}, driver {record['driver']}, torch {record['torch']}; microseconds, medians")
    print(f"  the driver alone, a kernel that does nothing: {record['empty_kernel_by_driver']['median_us']:.1f}")
    print(f"  {'recorded launches of FlashAttention-4':38s} kernels  launch  run  its own Python  largest error")
    missed = []
    for entry in record["records"]:
        uses = [entry["errors"], *entry["uses"].values()]
        # Not max(), which may leave a NaN out.
        error = sorted((value for found in uses for value in found.values()), key=lambda value: (value != value, value))[-1]
        launch, fa4 = entry["launch"]["median_us"], entry.get("flash_attention_4")
        own = f"{fa4['median_us']:.0f}" if fa4 else "not measured"
        print(f"  {entry['record']:38s} {entry['launches']:7d} {launch:7.1f} {entry['run']['median_us']:4.1f} {own:>15s}  {error:.1e}")
        if launch > LAUNCH_BAR * entry["launches"]:
            missed.append(f"{entry['record']}: {launch} us for {entry['launches']} kernels, the bar is {LAUNCH_BAR} each")
        if not error <= ERROR_BAR:
            missed.append(f"{entry['record']}: results differ from float64 by {error:.1e}, the bar is {ERROR_BAR:.0e}")
    if not record["records"]:
        missed.append("bench/launch-overhead.json has no launches")
    return missed


PARTS = {"launch": report_launches}


def main():
    parser = argparse.ArgumentParser(prog="bench/embed", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", choices=PARTS, action="append", metavar="PART", help=f"one of {', '.join(PARTS)}")
    options = parser.parse_args()
    missed = [line for name in options.only or PARTS for line in PARTS[name]()]
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
