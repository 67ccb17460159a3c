# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`fa4 selftest`: in the simulator, on the stand-in for a driver with a Blackwell GPU and with a Hopper GPU, with torch there, and with results that
are wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fa4
from fa4 import _library, selftest, selftest_torch, tools

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)


def run(tmp_path, *arguments, chip=None, status=0):
    """The output, and the file."""
    env = {**os.environ, "PYTHONPATH": str(Path(fa4.__file__).parents[1]), "FA4_CACHE_DIR": str(tmp_path / "cache")}
    if chip:
        try:
            env |= {"LD_LIBRARY_PATH": str(tools.driver_library_folder()), "FA4_DRIVER_CHIP": chip}
        except tools.ToolNotFoundError as missing:
            pytest.skip(f"needs {missing}")
    command = [sys.executable, "-m", "fa4", "selftest", "--json", str(tmp_path / "out.json"), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr, json.loads((tmp_path / "out.json").read_text())


def test_in_the_simulator(tmp_path):
    """fa4 selftest --simulate runs one case: it must be right and be recorded with its errors and modelled time."""
    output, record = run(tmp_path, "--simulate", "--only", "causal_bottom_right")
    assert output.startswith("in the simulator, for sm_100a: as --simulate asks.")
    (case,) = record["cases"]
    assert case["status"] == "ok" and set(case["errors"]) == {"out", "lse"} and case["modelled_us"] > 1
    assert record["where"] == "simulator" and record["ok"] and record["devices"] == []


@pytest.mark.parametrize("chip", ["sm_100a", "sm_90a"])
def test_on_a_gpu(tmp_path, chip):
    """fa4 selftest finds a GPU, of Blackwell or Hopper: it must run cases with its chip's kernels."""
    output, record = run(tmp_path, "--no-times", "--only", "score_mod", "--only", "gradient_mask_mod", chip=chip)
    assert record["where"] == "gpu" and record["chip"] == chip and len(record["devices"]) == 1
    forward, gradient = record["cases"]
    assert forward["status"] == "ok" and set(forward["errors"]) == {"out", "lse"}
    assert gradient["status"] == "ok" and "\n2 ok, 0 not, " in output


@pytest.mark.parametrize("chip", ["sm_100a", "sm_90a"])
def test_with_torch_on_a_gpu(tmp_path, chip):
    """fa4 selftest runs its cases with torch, whose tensors are "on cuda" of the stand-in driver: launches, a graph, the operator,
    torch.compile, fa4.flex and gradients must be right."""
    pytest.importorskip("torch", reason="needs torch, for the cases with it")
    program = tmp_path / "program.py"
    names = [argument for name in selftest_torch.CHECKS for argument in ("--only", name)]
    program.write_text(f"import sys\nfrom fa4.__main__ import main\nsys.exit(main(['selftest', '--no-times', '--json', 'out.json', *{names}]))\n")
    env = {**os.environ, "FA4_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(fa4.__file__).parents[1]), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "fa4.driver", "--chip", chip, str(program)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "out.json").read_text())
    states = {case["case"]: case["status"] for case in record["cases"]}
    assert states == dict.fromkeys(selftest_torch.CHECKS, "ok")
    assert record["torch"] and record["chip"] == chip


@pytest.mark.parametrize("cause", ["folder", "numpy"])
def test_what_is_missing_is_one_sentence_before_anything_runs(tmp_path, cause):
    """The output's folder or numpy is missing: fa4 selftest must say so in one sentence."""
    env = {**os.environ, "PYTHONPATH": str(Path(fa4.__file__).parents[1])}
    if cause == "numpy":
        (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
        env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{env['PYTHONPATH']}"
    place = tmp_path / "nowhere" / "out.json" if cause == "folder" else tmp_path / "out.json"
    command = [sys.executable, "-m", "fa4", "selftest", "--simulate", "--json", str(place)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    wanted = f"{place}: No such file or directory" if cause == "folder" else "this command needs the Python package numpy: pip install numpy ml_dtypes"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"fa4: error: {wanted}\n")
    assert not place.exists()


def test_wrong_results_and_failures_are_told(tmp_path, monkeypatch, capsys):
    """Results are wrong or a launch fails: the case must have the status and the reason, and the command fail."""
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))
    case = selftest.Case("window", {"mask": fa4.Mask(64, 32)}, 32)
    place = selftest.Simulator()
    honest = place.run
    place.run = lambda kernel, call: {name: array * 1.1 for name, array in honest(kernel, call).items()}
    found = selftest.run_case(case, place, False)
    assert found["status"] == "wrong" and max(found["errors"].values()) > 0.05

    def fail(kernel, call):
        raise fa4.LaunchError("no memory is left")

    place.run = fail
    assert selftest.run_case(case, place, False)["reason"] == "no memory is left"
    monkeypatch.setattr(selftest, "run_case", lambda *_: found)
    arguments = type("", (), {"simulate": True, "only": ["window"], "no_times": True, "json": str(tmp_path / "out.json")})
    assert selftest.main(arguments) == 1 and "0 ok, 1 not" in capsys.readouterr().out


def test_cases_are_rows_of_the_support_matrix():
    """The cases must be the rows of the support matrix that say yes, except those that the package cannot express."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "support-matrix.md").read_text()
    rows = {line.split()[0] for line in text.splitlines() if line.endswith("yes") and not line.startswith("|")}
    cannot_say = {"lse", "branch_in_mod", "head_dims_192_128", "gradient_captures", "gradient_head_dims", "gradient_head_dims_192_128"}
    assert rows - {case.name for case in selftest.CASES} == cannot_say
