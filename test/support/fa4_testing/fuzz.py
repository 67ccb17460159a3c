# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the libFuzzer targets of test/fuzz, each that many seconds, on what is kept
in test/fuzz/Inputs and what earlier runs left in build/fuzz. An input that fails
is made smaller and kept in build/fuzz/failures. Exit status 1 when something
failed, 2 when nothing could be run. A ledger, build/fuzz/ledger.jsonl, has what
ran; the table's last column adds up what this very binary went through since it
failed last."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from fa4_testing.cpu import ToolNotFoundError
from fa4_testing.gpu import ROOT, find_tool, levels
from fa4_testing.revision import commit, digest

INPUTS = ROOT / "test" / "fuzz" / "Inputs"
BUILD = ROOT / "build" / "fuzz"
LLVM_BIN = Path("/usr/lib/llvm-22/bin")


@dataclass(frozen=True)
class Target:
    max_len: int
    timeout: int = 25  # s an input, on a busy machine
    others: tuple[str, ...] = ()  # targets whose inputs it takes, too


TARGETS = {
    "opt": Target(49152, 60),
    "ptx": Target(16384),
    "decode": Target(16384, others=("ptx",)),
    "manifest": Target(8192),
    "npy": Target(4096),
}


@dataclass
class Run:
    target: str
    binary: str  # the first digits of its SHA-256
    seconds: float = 0
    executions: int = 0
    coverage: tuple[int, int] = (0, 0)  # edges before and after
    failures: tuple[str, ...] = ()
    error: str = ""


def binary_of(target):
    return BUILD / "bin" / f"fa4-fuzz-{target}"


# ---------------------------------------------------------------------------
# Inputs
# ---------------------------------------------------------------------------

HEAD = "// fa4-opt"
_PASSES = re.compile(r"(?:--|\b)((?:attn|import|raise|tile|arith-expand|math-expand|lane-math|verify)-[a-z0-9-]+)")
# Their files are long, and no pass is tried on them.
_LEFT_OUT = ("unroll", "nvvm")
_FORMS = {
    "plain": ("64xbf16", "", ""),
    "causal": ("128xf16", "mask<causal, bottom_right>", ""),
    "window": ("96xbf16", "mask<window, left = 100, right = 20, top_left>", ""),
    "mods": (
        "64xf16",
        "",
        "score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {"
        " %t = math.tanh %s : f32 attn.yield %t : f32 }\n"
        "    mask_mod(%b: index, %h: index, %i: index, %j: index) {"
        " %c = arith.cmpi sle, %j, %i : index attn.yield %c : i1 }",
    ),
}


def pipelines():
    """Returns the names of the pipelines that the target accepts."""
    command = [binary_of("opt"), "--heads"]
    said = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    return [line.removeprefix(HEAD).strip() for line in said.stdout.splitlines()]


def with_options(passes, names):
    """Returns the passes among the names, with each set of options."""
    return [
        name
        for name in names
        if name.split("{")[0].split(",")[-1] in passes and not name.startswith("attn-to-nvvm{from")
    ]


def _of_tests(names):
    """Yields every part of every lit test, for the passes of its RUN lines."""
    for path in sorted((ROOT / "test").rglob("*.mlir")) + sorted((ROOT / "docs").rglob("*.mlir")):
        text = path.read_text()
        runs = " ".join(re.findall(r"// RUN:(.*)", text))
        passes = with_options(_PASSES.findall(runs), names)
        if "tile-to-nvvm" in passes:  # Unrolled kernels of the compiler are too long.
            passes.append("attn-to-nvvm{from=unroll}")
        text = re.sub(r"^ *// (CHECK|RUN|[A-Z]+[-:]).*\n", "", text, flags=re.MULTILINE)
        for part in text.split("// -----"):
            for name in {"", *passes}:
                yield name, part.strip() + "\n"


def _of_levels(names, folder):
    """Yields kernels of several forms, before and after each pass."""
    for form, (row, mask, regions) in _FORMS.items():
        type = f"memref<?x?x?x{row}>"
        text = (
            f"func.func @{form}(%q: {type}, %k: {type}, %v: {type}, %o: {type}, %l: memref<?x?x?xf32>) {{\n"
            f"  attn.sdpa %q, %k, %v layout<bshd> {mask}\n    outs(%o, %l : {type}, memref<?x?x?xf32>)"
            f" : {type}, {type}, {type}\n    {regions}\n  return\n}}\n"
        )
        for name in ("", *with_options(("attn-to-tile", "attn-decompose"), names), "attn-to-nvvm"):
            yield name, text
        source = folder / f"{form}.mlir"
        source.write_text(text)
        emit = ",".join(level for level in levels() if level not in _LEFT_OUT)
        subprocess.run([find_tool("fa4-compile"), source, f"--emit={emit}", "-o", folder / form], check=True)
        for path in sorted((folder / form).iterdir()):
            level = path.name.split(".")[-2]
            for name in names:
                whole = form == "plain" and name == f"attn-to-nvvm{{from={level}}}"
                if not name or name.startswith(("tile-", "verify-")) or whole:
                    yield name, path.read_text()


def make_seeds(folder):
    """Makes the inputs for the target `opt` from the tests, the examples and the
    compiler."""
    names = pipelines()
    with tempfile.TemporaryDirectory(prefix="fa4-") as scratch:
        made = [*_of_tests(names), *_of_levels(names, Path(scratch))]
        folder.mkdir(parents=True)
        for name, text in made:
            data = f"{HEAD} {name}\n{text}".encode()
            if len(data) <= TARGETS["opt"].max_len:
                (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def committed(target):
    """Returns the folders of test/fuzz/Inputs."""
    for name in (target, *TARGETS[target].others):
        if (INPUTS / name).exists():
            yield INPUTS / name
        archive = INPUTS / f"{name}-found.tar.xz"
        if archive.exists():
            kept = BUILD / "kept" / f"{name}-{digest(archive)}"
            if not kept.exists():
                kept.mkdir(parents=True)
                with tarfile.open(archive) as tar:
                    for member in filter(tarfile.TarInfo.isfile, tar):
                        data = tar.extractfile(member).read()
                        (kept / Path(member.name).name).write_bytes(data)
            yield kept


def of_pass(folders, name):
    """Returns a folder with the inputs of these folders for one pass, or for a pipeline with it."""
    chosen = BUILD / "seeds-of" / name
    shutil.rmtree(chosen, ignore_errors=True)
    chosen.mkdir(parents=True)
    for path in (path for folder in folders for path in folder.iterdir()):
        head = path.read_bytes().split(b"\n", 1)[0].decode(errors="replace").removeprefix(HEAD)
        if name in re.split(r"[ ,{]", head):
            shutil.copyfile(path, chosen / path.name)
    return chosen


def corpora(target, of=None):
    """Returns the corpus folders. New inputs go to the first one. Those of the target `opt` may be `of` one pass."""
    own = BUILD / "corpus" / (f"{target}-{of}" if of else target)
    own.mkdir(parents=True, exist_ok=True)
    found = [own, *committed(target)]
    if target == "opt":
        seeds = BUILD / "seeds" / digest(binary_of("opt"))
        if not seeds.exists():
            shutil.rmtree(seeds.parent, ignore_errors=True)
            make_seeds(seeds)
        found.append(seeds)
    return [own, of_pass(found[1:], of)] if of else found


def _anonymous(info):
    info.mtime = info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def keep(target):
    """Packs one input for each branch that any input reaches. Returns the number of
    inputs."""
    with tempfile.TemporaryDirectory() as scratch:
        merged = Path(scratch, target)
        merged.mkdir()
        folders = [path for path in corpora(target) if path.parent != INPUTS]
        command = [
            binary_of(target), "-merge=1", "-use_counters=0", f"-max_len={TARGETS[target].max_len}",
            f"-timeout={TARGETS[target].timeout}", "-rss_limit_mb=3000", merged, *folders,
        ]  # fmt: skip
        subprocess.run(command, check=True, env=environment(), capture_output=True)
        paths = sorted(merged.iterdir())
        with tarfile.open(INPUTS / f"{target}-found.tar.xz", "w:xz") as tar:
            for path in paths:
                tar.add(path, arcname=path.name, filter=_anonymous)
        return len(paths)


# ---------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------


def environment():
    # libMLIR and libLLVM are not instrumented: containers and arenas that they
    # share with us are annotated on one side only.
    return os.environ | {
        "ASAN_OPTIONS": "detect_container_overflow=0:allow_user_poisoning=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "ASAN_SYMBOLIZER_PATH": str(LLVM_BIN / "llvm-symbolizer"),
    }


def build():
    """Builds the preset `fuzz` with all targets."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True, stdout=sys.stderr)
    subprocess.run(
        ["ninja", "-C", BUILD, "fa4-fuzz-targets"], check=True, stdout=subprocess.DEVNULL
    )


def options(target, failures):
    chosen = TARGETS[target]
    return [
        f"-max_len={chosen.max_len}", f"-timeout={chosen.timeout}", "-rss_limit_mb=3000",
        "-len_control=0", "-print_final_stats=1", "-close_fd_mask=1", f"-artifact_prefix={failures}/",
    ]  # fmt: skip


def read_log(text, run):
    edges = [int(number) for number in re.findall(r"\bcov: (\d+)", text)]
    start = re.search(r"INITED cov: (\d+)", text)
    if edges:
        run.coverage = (int(start[1]) if start else edges[0], edges[-1])
    done = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    last = re.findall(r"^#(\d+)\t", text, re.MULTILINE)
    run.executions = int(done[1]) if done else int(last[-1]) if last else 0
    # Slow ones are kept, too, but are no failures.
    written = re.findall(r"Test unit written to (.+)$", text, re.MULTILINE)
    run.failures = tuple(path for path in written if not Path(path).name.startswith("slow-"))


def summary(text):
    """Returns what went wrong, without addresses and numbers."""
    found = re.search(r"^(SUMMARY: .*|fuzz-opt: .*|.*runtime error: .*)$", text, re.MULTILINE)
    return re.sub(r"0x[0-9a-f]+|\b\d+\b", "N", found[0]) if found else ""


def fails_as(target, data):
    """Returns the summary of a run on this input alone, or nothing if the run passes.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "input")
        path.write_bytes(data)
        command = [binary_of(target), *options(target, scratch), path]
        done = subprocess.run(command, capture_output=True, env=environment())
        return summary(done.stderr.decode(errors="replace")) if done.returncode else ""


def minimise(data, fails, seconds):
    """Removes the lines, then the bytes, that are not needed for `fails`."""
    end = time.monotonic() + seconds
    for pieces in (re.findall(rb"[^\n]*\n|[^\n]+", data), None):
        if pieces is None:
            pieces = [data[i : i + 1] for i in range(len(data))]
        size = max(1, len(pieces) // 2)
        while size:
            at = 0
            while at < len(pieces) and time.monotonic() < end:
                less = pieces[:at] + pieces[at + size :]
                if less and fails(b"".join(less)):
                    pieces = less
                else:
                    at += size
            size //= 2
        data = b"".join(pieces)
    return data


def keep_small(target, path, seconds):
    """Writes the smallest input that fails in the same way beside the original one."""
    data = Path(path).read_bytes()
    why = fails_as(target, data)
    if not why:
        return f"{path} (fails in a longer run only)"
    small = Path(f"{path}.small")
    small.write_bytes(minimise(data, lambda less: fails_as(target, less) == why, seconds))
    return f"{small}: {why}"


def fuzz(target, words):
    run = Run(target, digest(binary_of(target)))
    failures, logs = BUILD / "failures" / target, BUILD / "logs"
    failures.mkdir(parents=True, exist_ok=True)
    logs.mkdir(exist_ok=True)
    command = [
        binary_of(target), *options(target, failures), f"-max_total_time={words.seconds}",
        *corpora(target, words.of),
    ]  # fmt: skip
    started = time.monotonic()
    with open(logs / f"{target}.log", "wb") as log:
        only = {"FA4_FUZZ_ONE_PIPELINE": "1"} if words.of else {}
        done = subprocess.run(command, stdout=log, stderr=log, env=environment() | only)
    run.seconds = round(time.monotonic() - started, 1)
    text = (logs / f"{target}.log").read_text(errors="replace")
    read_log(text, run)
    if done.returncode:
        run.error = summary(text) or f"exit status {done.returncode}"
        run.failures = tuple(keep_small(target, path, words.minimise) for path in run.failures)
    return run


# ---------------------------------------------------------------------------
# The ledger and the command line
# ---------------------------------------------------------------------------


def clean_seconds(ledger, run):
    """Returns the seconds that this binary has run since its last failure."""
    total = 0
    for line in ledger.read_text().splitlines() if ledger.exists() else ():
        entry = json.loads(line)
        if (entry["target"], entry["binary"]) == (run.target, run.binary):
            total = 0 if entry["error"] else total + entry["seconds"]
    return total


def record(ledger, run):
    ledger.parent.mkdir(parents=True, exist_ok=True)
    entry = asdict(run) | {
        "at": time.strftime("%Y-%m-%d %H:%M:%S"),
        "commit": commit(),
    }
    with open(ledger, "a") as out:
        out.write(json.dumps(entry) + "\n")


def parse(words):
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("seconds", type=int, metavar="SECONDS", help="for each target")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one")
    parser.add_argument("--pass", dest="of", metavar="PASS", help="of the target opt, the inputs for this pass only")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time (default: 1)")
    parser.add_argument("--minimise", type=float, default=60, metavar="SECONDS",
                        help="for each input that fails (default: 60)")  # fmt: skip
    parser.add_argument("--no-build", action="store_true", help="run what was built last")
    parser.add_argument(
        "--keep", action="store_true", help="pack what was found into test/fuzz/Inputs"
    )
    options = parser.parse_args(words)
    if options.seconds < 1 or options.jobs < 1:
        parser.error("SECONDS and --jobs are at least 1")
    if options.of and options.target not in (None, ["opt"]):
        parser.error("--pass is of the target opt")
    return options


def table(runs, ledger):
    print(f"{'target':<10} {'executions':>11} {'seconds':>8} {'edges':>7} {'new':>6} {'failures':>9} {'clean s':>9}")
    for run in runs:
        before, after = run.coverage
        failed = max(len(run.failures), 1 if run.error else 0)
        print(
            f"{run.target:<10} {run.executions:>11} {run.seconds:>8.0f} {after:>7} {after - before:>6}"
            f" {failed:>9} {clean_seconds(ledger, run):>9.0f}"
        )


def main(words=None):
    chosen = parse(words)
    targets = chosen.target or (["opt"] if chosen.of else list(TARGETS))
    try:
        if not chosen.no_build:
            build()
        for target in targets:
            corpora(target)
        if chosen.of and chosen.of not in {re.split("[,{]", part)[0] for name in pipelines() for part in name.split(",")}:
            print(f"fuzz: the target opt does not run a pass {chosen.of}", file=sys.stderr)
            return 2
    except (OSError, ToolNotFoundError, subprocess.CalledProcessError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    ledger = BUILD / "ledger.jsonl"
    runs = []
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for run in pool.map(lambda target: fuzz(target, chosen), targets):
            record(ledger, run)
            runs.append(run)
            if run.error:
                print(f"FAILED {run.target}: {run.error}", flush=True)
                for failure in run.failures:
                    print(f"  kept in {failure}", flush=True)
    if chosen.keep:
        for target in dict.fromkeys(targets):
            print(f"{target}: {keep(target)} inputs kept")
    table(runs, ledger)
    return 1 if any(run.error for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
