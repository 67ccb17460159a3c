# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`fa4 report`: what is in the page, and the page in headless Chromium where there is one."""

import json
import re
import shutil
import subprocess

import pytest

import fa4
from fa4 import __main__ as command
from fa4 import _library, report

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
SIZES = {"B": 1, "Sq": 256, "Sk": 256, "Hq": 1, "Hkv": 1}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    patch = pytest.MonkeyPatch()
    patch.setenv("FA4_CACHE_DIR", str(folder / "cache"))
    spec = fa4.sdpa(q="B Sq 2 64", k="B Sk 1 64", mask="causal", score_mod=lambda s, b, h, i, j: 20 * fa4.math.tanh(s / 20), name="a_b")
    report.write(fa4.compile(spec, verify=False), folder / "page.html", **SIZES)
    patch.undo()
    return folder / "page.html"


@pytest.fixture(scope="module")
def data(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])


def test_schedule_and_channels(data):
    """The report of a kernel must show the trace of its units, its roles and the channels between them."""
    (shown,) = data["kernels"]
    rows = {row["name"]: row for row in shown["trace"]["rows"]}
    assert any("MMA" in name for name in rows) and rows["tensor cores"]["unit"] and rows["tensor cores"]["spans"]
    assert shown["numbers"] == SIZES
    pairs = {(edge["from"], edge["to"]) for edge in shown["edges"]}
    assert {("load", "mma"), ("mma", "compute0"), ("compute0", "mma")} <= pairs
    handed = {name for edge in shown["edges"] for name in edge["channels"]}
    assert handed <= set(shown["channels"]) and "k" in handed
    line = next(span[3] for span in rows["tensor cores"]["spans"])
    assert "tcgen05.mma" in shown["ptx_lines"][line - 1]


def test_memory_and_units(data):
    """The report must show buffers that do not overlap, cycles of each unit, and registers of each role."""
    (shown,) = data["kernels"]
    assert {row["name"] for row in shown["smem"]} >= {"k", "v", "q"} and shown["tmem"]
    for rows in (shown["smem"], shown["tmem"]):
        # No two cells of one column overlap.
        for a in rows:
            for b in rows:
                apart = a is b or a["column"] != b["column"] or a["to"] <= b["from"] or b["to"] <= a["from"]
                assert apart and 0 <= a["from"] < a["to"]
    units = {unit["unit"]: unit for unit in shown["units"]}
    assert units["tensor cores"]["cycles"] and units["tensor cores"]["roofline"] and units["iteration"]["cycles"]
    assert shown["comment"]["role_registers"]["mma"]


def test_memory_over_time(data):
    """The page shows which value is in each stage of shared or tensor memory. A stage never has two values at once,
    unless lanes write in place of the value that they read."""
    (shown,) = data["kernels"]
    end = max(begin + length for row in shown["trace"]["rows"] for begin, length, *_ in row["spans"])
    by_name = {memory: {(row["name"], row["stage"]): row["spans"] for row in shown["lives"][memory]} for memory in ("smem", "tmem")}
    assert {"q", "k", "v"} <= {name for name, _ in by_name["smem"]} and "mma_compute0" in {name for name, _ in by_name["tmem"]}
    for spans in (*by_name["smem"].values(), *by_name["tmem"].values()):
        assert all(0 < begin < over <= end for begin, over in spans)
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
    # Two blocks of keys, each in a stage of its own; scores are there twice, and probabilities take their place.
    assert sum(len(spans) for (name, _), spans in by_name["smem"].items() if name == "k") == 2
    scores, probabilities = by_name["tmem"]["mma_compute0", 0], by_name["tmem"]["compute0_mma.0", 0]
    assert len(scores) == len(probabilities) == 2
    assert all(s[1] == p[0] for s, p in zip(scores, probabilities))
    # By the map, what is behind another channel in its bytes comes after it.
    (name,) = [row["name"] for row in shown["smem"] if row["note"] == "after q"][:1] or [None]
    assert name is None or by_name["smem"][name, 0][0][0] >= by_name["smem"]["q", 0][0][1]


def test_lines_of_one_origin(data):
    """The tanh of the score_mod is found in each level down to LLVM's dialect, by its line in the op."""
    levels = {level["level"]: level for level in data["levels"]}
    assert list(levels) == ["op", *report.LEVELS]
    line = next(i for i, text in enumerate(levels["op"]["lines"], 1) if "math.tanh" in text)
    for name, level in levels.items():
        if name == "op":
            continue
        assert len(level["lines"]) == len(level["origins"]) and not any("#loc" in text for text in level["lines"])
        assert any(re.search(rf"\b{line}:", origin) for origin in level["origins"]), name


def test_the_page_needs_nothing_else(page):
    """The report's page must load no other file, script or font."""
    text = page.read_text()
    assert not re.search(r"""(src|href)\s*=|@import|url\((?!#)|fetch\(""", re.sub(r'id="data">.*?</script>', "", text, flags=re.DOTALL))
    assert text.count("</script>") == 2


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
@pytest.mark.turns(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_in_a_browser(page, tmp_path, width, scheme):
    """The script runs to its end without an error and draws; nothing is wider than the window, no text ends outside of its
    drawing, and what is written can be told from what it is written on. A window of a browser has at least 500 pixels, so that
    the page is in a frame."""
    text = page.read_text().replace("<head>", "<head><script>window.errors = []; window.onerror = m => { window.errors.push(m); };</script>")
    checks = """<script>
    document.querySelectorAll('#leftir > div')[1].click(); document.getElementById('search').value = 'tanh'; search(true);
    const light = color => { const c = color.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * c[0] + .7152 * c[1] + .0722 * c[2]; };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((a, b) => b - a); return (x + .05) / (y + .05); };
    const panel = getComputedStyle(document.querySelector('section')).backgroundColor;
    const outside = [...document.querySelectorAll('svg text')].filter(e => { const t = e.getBoundingClientRect(), d = e.ownerSVGElement.getBoundingClientRect(); return t.right > d.right + 1 || t.left < d.left - 1; });
    parent.postMessage(JSON.stringify({errors: window.errors, wide: document.documentElement.scrollWidth - window.innerWidth, width: window.innerWidth,
      outside: outside.map(e => e.textContent), contrast: Math.min(...[...document.querySelectorAll('section p, svg text, section td')].map(e => contrast(e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color, panel))),
      bars: document.querySelectorAll('#schedule rect').length, edges: document.querySelectorAll('#graph .edge').length,
      cells: document.querySelectorAll('#smem .cell').length,
      lives: [...document.querySelectorAll('#smemtime, #tmemtime')].map(e => e.querySelectorAll('.life').length), same: document.querySelectorAll('#rightir .same').length,
      found: hits.length, dark: matchMedia('(prefers-color-scheme: dark)').matches, ready: document.body.dataset.ready}), '*');
    </script></body>"""
    (tmp_path / "page.html").write_text(text.replace("</body>", checks))
    (tmp_path / "frame.html").write_text(
        f"<!doctype html><body><script>onmessage = m => {{ document.body.dataset.result = m.data; }};</script><iframe src='page.html' width={width} height=1200></iframe></body>"
    )
    preferred = {"light": 1, "dark": 0}[scheme]
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/user", "--window-size=1500,1300",
         f"--blink-settings=preferredColorScheme={preferred}", "--virtual-time-budget=3000", "--dump-dom", f"file://{tmp_path}/frame.html"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    result = json.loads(re.search(r'data-result="(.*?)"', done.stdout)[1].replace("&quot;", '"'))
    assert result["errors"] == [] and result["ready"] == "yes"
    assert result["width"] == width and result["outside"] == [] and result["contrast"] >= 4.5
    assert result["wide"] <= 0 and result["dark"] == (scheme == "dark")
    assert result["bars"] > 50 and result["edges"] > 3 and result["cells"] > 3 and min(result["lives"]) > 5 and result["same"] > 0 and result["found"] > 0


def test_command(tmp_path, monkeypatch, capsys):
    """fa4 report must write a page for an op, and refuse a wrong file, size or place with a message."""
    monkeypatch.setenv("FA4_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FA4_VERIFY_PTX", "0")
    op = tmp_path / "op.mlir"
    op.write_text(fa4.sdpa(q="B Sq 2 32", k="B Sk 2 32").text)
    assert command.main(["report", str(op), "Sk=256", "-o", str(tmp_path / "out.html")]) == 0
    assert "<!doctype html>" in (tmp_path / "out.html").read_text()
    for arguments, message in (
        (["report", str(tmp_path / "none.mlir")], "cannot be read"),
        (["report", str(op), "Sk"], "'Sk' is no size"),
        (["report", str(op), "S=4"], "has no size 'S'; there is: B, "),
        (["report", str(op), "-o", str(tmp_path / "none" / "out.html")], "cannot be written"),
    ):
        assert command.main(arguments) == 1
        assert message in capsys.readouterr().err
