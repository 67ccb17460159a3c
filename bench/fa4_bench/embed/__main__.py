# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fa4 costs those who embed it, beside the bars.

usage: bench/embed [--only PART]

`package` is the Python package: the wheel's size, the time of `import fa4`, and that of a kernel from the cache. `launch` is what a launch by libfa4_runtime costs on the host, from the record of a machine with a card, bench/launch-overhead.json
(bench/fa4_bench/embed/launch_overhead.py makes one). The exit status is 1 when a bar is missed."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from fa4.tools import ROOT

LAUNCH_BAR = 5.0  # Microseconds on the host for each kernel that is launched, after the first time.
WHEEL_BAR = 60.0  # MB.
IMPORT_BAR = 50.0  # Milliseconds of `import fa4`.
HIT_BAR = 5.0  # Milliseconds from a spec to a kernel that is in the cache.
PROCESSES = 9  # Of which times are the median.
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


def make_wheel(folder: Path) -> Path:
    """Makes the wheel as `pip wheel .` does."""
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", folder, "build", "--build-base", folder / "build"]
    command += ["bdist_wheel", "--bdist-dir", folder / "bdist", "--dist-dir", folder / "dist"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"setup.py could not make the wheel:\n{done.stdout}{done.stderr}")
    return next((folder / "dist").iterdir())


def time_in_processes(python: Path, code: str, env: dict) -> float:
    """The median of what new processes print, which is a time in seconds; the first one, whose files are not in memory, is left out."""
    command = [python, "-c", code]
    times = [float(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout) for _ in range(PROCESSES + 1)]
    return statistics.median(times[1:])


def report_package():
    """Makes the wheel, and measures it in an environment of its own; returns the bars that it misses."""
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        wheel = make_wheel(Path(scratch))
        venv = Path(scratch, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        (site,) = venv.glob("lib/python3*/site-packages")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
            installed = sum(entry.file_size for entry in archive.infolist())
        python, env = venv / "bin" / "python", {"PATH": "", "HOME": scratch}
        size = wheel.stat().st_size / 1e6
        start = "import time; start = time.perf_counter()\n"
        import_ms = 1e3 * time_in_processes(python, start + "import fa4; print(time.perf_counter() - start)", env)
        make = "fa4.sdpa(q='B Sq 32 128', k='B Sk 8 128', mask='causal', score_mod=lambda s, b, h, i, j: s * 0.5)"
        compiled = "start = time.perf_counter(); fa4.compile(spec, 'sm_100a', verify=False); print(time.perf_counter() - start)"
        # The first kernel of a process; its spec is there already.
        hit_ms = 1e3 * time_in_processes(python, f"import fa4, time; spec = {make}; {compiled}", env)
        # Of this the larger part is Python's own modules.
        first_ms = 1e3 * time_in_processes(python, f"import fa4, time; start = time.perf_counter(); {make}; print(time.perf_counter() - start)", env)
    print("the Python package")
    missed = []
    for what, value, bar, unit in (
        ("wheel", size, WHEEL_BAR, "MB"), ("import fa4", import_ms, IMPORT_BAR, "ms"), ("a kernel from the cache", hit_ms, HIT_BAR, "ms"),
    ):  # fmt: skip
        print(f"  {what:38s} {value:7.1f} {unit}, the bar is {bar:g}")
        if value > bar:
            missed.append(f"{what}: {value:.1f} {unit}, the bar is {bar:g}")
    print(f"  {'the first spec in a process':38s} {first_ms:7.1f} ms\n  {'installed':38s} {installed / 1e6:7.1f} MB")
    return missed


PARTS = {"package": report_package, "launch": report_launches}


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
