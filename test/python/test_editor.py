# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an editor shows of a file of each level, by fa4-lsp-server: nothing of one that the compiler has written, and of one
that lacks a release the error of the proof and, at its line, the step that waits for it."""

import json
import re
import subprocess

import pytest

from fa4.tools import ROOT, find_tool, has_tools

pytestmark = pytest.mark.skipif(not has_tools("fa4-compile", "fa4-lsp-server"), reason="needs fa4-compile and fa4-lsp-server")
LEVELS = "tile subtile pair-ctas lazy-rescale plan assign-work warp-specialize schedule split-exp share-buffers allocate split-loop distribute unroll nvvm".split()


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    op = ROOT / "docs" / "examples" / "causal_gqa.mlir"
    subprocess.run([find_tool("fa4-compile"), op, f"--emit={','.join(LEVELS)}", "-o", folder], check=True, capture_output=True)
    return {"op": op.read_text()} | {level: (folder / f"causal_gqa_kernel.{level}.mlir").read_text() for level in LEVELS}


def diagnostics(files):
    """Opens files one after the other, and returns the server's messages: name -> [(line from 1, severity,
    message)]."""

    def message(method, **content):
        return {"jsonrpc": "2.0", "method": method, **content}

    messages = [message("initialize", id=0, params={"processId": 1, "rootPath": "", "capabilities": {}, "trace": "off"})]
    for name, text in files.items():
        document = {"uri": f"test:///{name}.mlir", "languageId": "mlir", "version": 1, "text": text}
        messages.append(message("textDocument/didOpen", params={"textDocument": document}))
    messages += [message("shutdown", id=1), message("exit")]
    bodies = [json.dumps(each).encode() for each in messages]
    data = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    done = subprocess.run([find_tool("fa4-lsp-server"), "--log=error"], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr
    said = {}
    for body in re.split(rb"Content-Length: \d+\r\n\r\n", done.stdout)[1:]:
        answer = json.loads(body)
        if answer.get("method") == "textDocument/publishDiagnostics":
            params = answer["params"]
            name = params["uri"].removeprefix("test:///").removesuffix(".mlir")
            said[name] = [(each["range"]["start"]["line"] + 1, each["severity"], each["message"]) for each in params["diagnostics"]]
    return said


def test_what_the_compiler_has_written_is_right(levels):
    """The compiler's own files of all levels are opened: the language server must report nothing."""
    assert diagnostics(levels) == dict.fromkeys(levels, [])


def test_a_missing_release_in_each_level_with_roles(levels):
    """A file lacks a release: the server must report the channel and, at its line, the wait for the release."""
    broken, waits = {}, {}
    for level in LEVELS[LEVELS.index("warp-specialize") : -1]:
        lines = levels[level].splitlines(keepends=True)
        waits[level] = [n for n, line in enumerate(lines, 1) if "tile.acquire %compute0_correction :" in line]
        without = [line for line in lines if "tile.release %compute0_correction :" not in line]
        assert waits[level] and len(without) < len(lines), level
        broken[level] = "".join(without)
    for level, said in diagnostics(broken).items():
        errors = [text for _, severity, text in said if severity == 1]
        assert errors and '"compute0_correction"' in errors[0], level
        # The role of the acquire comes before that of the release, so that its lines are those of the whole file.
        explained = [line for line, severity, text in said if severity == 3 and "waits" in text and "release" in text]
        assert set(explained) & set(waits[level]), (level, said)
