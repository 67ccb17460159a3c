# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random edits of levels' files: a small sample, and that each part of bench/edits can
fail: the interpreter agrees with the simulator on what is not edited, and a
kernel that does something else than its file is found."""

import copy
import random
import re
from pathlib import Path

import pytest
from fa4_testing import gpu
from fa4_testing.edits import draw, generic, interpreter, suite
from fa4_testing.edits.suite import WrongError
from fa4_testing.programs.program import Sizes

pytestmark = [
    pytest.mark.skipif(not gpu.has_tools("fa4-compile", "fa4-opt", "fa4-sim"), reason="needs the tools"),
    pytest.mark.xdist_group("edits"),
]
CALL = suite.Call(Sizes(1, 130, 300, 1, 2), (), "falling")
NORMAL = suite.Call(Sizes(1, 130, 300, 1, 2), ())


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("edits")


@pytest.fixture(scope="session")
def kernel(folder):
    return suite.Kernel("hd64-causal", folder)


@pytest.fixture(scope="session")
def compiled(kernel):
    return compiled_of(kernel)


def compiled_of(kernel):
    ptx = next(kernel.folder.glob("*.ptx"))
    return gpu.Kernel(ptx.with_suffix(".json"), ptx, ptx.with_suffix(".cubin"))


def module_of(kernel, level):
    return generic.parse(kernel.texts[level])


def op_of(module, name, number=0):
    return [op for op in module.walk() if op.name == name][number]


LEVELS = gpu.levels() if gpu.has_tools("fa4-compile") else ()


@pytest.mark.parametrize("level", LEVELS)
def test_generic_form_is_read_and_written(kernel, level):
    """A kernel's file of a level is parsed and printed: the text must be as before, without block comments."""
    text = re.sub(r" *// ((\d+ )?preds?:.*|no predecessors)$", "", kernel.texts[level], flags=re.M)
    assert str(generic.parse(text)).strip() == text.strip()


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_interpreter_agrees_with_simulator(kernel, compiled, level):
    """The interpreter runs a kernel's file of a level: its results must be those of the kernel in the simulator."""
    suite.simulate(compiled, kernel, CALL, module_of(kernel, level), ordered=True)


@pytest.fixture(scope="session")
def gradient(folder):
    return suite.make_kernel("gradient-hd128", folder)


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_interpreter_agrees_on_the_gradient(gradient, level):
    """The interpreter and the simulator agree on the gradient, whose channels change hands more than once and take over
    each other's memory."""
    suite.simulate(compiled_of(gradient), gradient, suite.GRADIENT_CALLS[1], module_of(gradient, level), ordered=True)


@pytest.mark.parametrize("level", ["assign-work", "warp-specialize", "unroll"])
@pytest.mark.parametrize("name", ["schedule-static", "schedule-clc", "gemm-static"])
def test_interpreter_agrees_on_several_tiles(folder, name, level):
    """The interpreter, whose one CTA has all work tiles, agrees with the simulator, where CTAs share them."""
    kernel = suite.make_kernel(name, folder)
    suite.simulate(compiled_of(kernel), kernel, kernel.calls()[0], module_of(kernel, level), ordered=True)


@pytest.mark.parametrize("level", ["tile", "pair-ctas", "warp-specialize", "distribute", "unroll"])
@pytest.mark.parametrize("name", ["pairs-causal", "pairs-clc", "pairs-gemm", "pairs-gradient-hd64", "pairs-turns"])
def test_interpreter_agrees_on_pairs(folder, name, level):
    """The interpreter and the simulator agree on several pairs of CTAs, the last of which has a CTA without a work
    tile."""
    kernel = suite.make_kernel(name, folder)
    suite.simulate(compiled_of(kernel), kernel, kernel.calls()[0], module_of(kernel, level), ordered=True)


def changed_constant(module, role, old, new):
    """Gives the first constant of the value `old` in the role the value `new`."""
    of_role = next(op for op in module.walk() if op.name == "tile.role" and op.properties["sym_name"] == f'"{role}"')
    found = next(op for op in of_role.walk() if op.name == "arith.constant" and op.properties["value"] == f"{old} : index")
    found.properties["value"] = f"{new} : index"


@pytest.mark.parametrize("name, role, old, new, what", [
    ("pairs-gradient-hd64", "store", 64, 0, "^numbers: dq"),  # Both CTAs add the rows of the leader.
    ("pairs-gradient-hd64", "load", 2, 1, "^numbers: dq"),  # The halves of K are those of different rows.
    ("pairs-turns", "store", 64, 0, "^meaning: .* take turns"),
])  # fmt: skip
def test_other_pairs_are_found(folder, name, role, old, new, what):
    """One constant of a kernel of CTA pairs is changed: the interpreter must report wrong numbers or a wrong
    meaning."""
    kernel = suite.make_kernel(name, folder)
    module = module_of(kernel, "warp-specialize")
    changed_constant(module, role, old, new)
    with pytest.raises(WrongError, match=what):
        suite.simulate(compiled_of(kernel), kernel, kernel.calls()[0], module, ordered=True)


def interpret(text, sizes, inputs, outputs):
    kernel = next(op for op in generic.parse(text).walk() if op.name == "tile.kernel")
    return interpreter.run(kernel, sizes, inputs, outputs).arrays


_ARGUMENTS = '[{tile.dims = ["N", "4"], tile.name = "x"}, {tile.dims = ["M", "2"], tile.name = "y"}]'
_CLUSTER = '#tile.cluster<size = 2, axis = 0>, grid = [#tile.extent<"N" by 2>]'
EXCHANGE = f""""builtin.module"() ({{
  "tile.kernel"() <{{arg_attrs = {_ARGUMENTS}, cluster = {_CLUSTER}}}> ({{
  ^bb0(%x: memref<?x4xf32>, %y: memref<?x2xf32>):
    %c0 = "arith.constant"() <{{value = 0 : index}}> : () -> index
    %c2 = "arith.constant"() <{{value = 2 : index}}> : () -> index
    %c4 = "arith.constant"() <{{value = 4 : index}}> : () -> index
    %i = "tile.work_tile"() : () -> index
    %row = "arith.muli"(%i, %c2) : (index, index) -> index
    %to = "arith.muli"(%i, %c4) : (index, index) -> index
    %bound = "tile.at_most"(%row) : (index) -> index
    %t = "tile.load"(%x, %bound, %c0)SPLIT : (memref<?x4xf32>, index, index) -> vector<2x4xf32>
    %own = "tile.load"(%x, %row, %c0) : (memref<?x4xf32>, index, index) -> vector<2x4xf32>
    %e = "tile.exchange"(OF) : (vector<2x4xf32>) -> vector<4x2xf32>
    "tile.store"(%e, %y, %to, %c0) : (vector<4x2xf32>, memref<?x2xf32>, index, index) -> ()
  }}) : () -> ()
}}) : () -> ()
"""


def test_what_clusters_hand_each_other():
    """The interpreter is given the operations between CTAs: an exchange gives rows of both CTAs for columns of both, a
    bound covers both, each CTA loads a part of a split tile, and the last CTA has no work tile."""
    x = interpreter.np.arange(24, dtype=interpreter.np.float32).reshape(6, 4)
    outputs = {"y": interpreter.np.zeros((16, 2), interpreter.np.float32)}

    def result(split, of):
        text = EXCHANGE.replace("SPLIT", split).replace("OF", of)
        return interpret(text, {"N": 6, "M": 16}, {"x": x}, outputs)["y"]

    exchanged = result("", "%own")
    assert (exchanged[:4] == x[:4, :2]).all() and (exchanged[4:8] == x[:4, 2:]).all()
    assert (exchanged[8:10] == x[4:6, :2]).all() and (exchanged[10:12] == 0).all()
    assert (exchanged[12:14] == x[4:6, 2:]).all()
    bounds = result("", "%t")  # Both load the rows of the leader.
    assert (bounds[:4] == x[[0, 1, 0, 1], :2]).all() and (bounds[4:8] == x[[0, 1, 0, 1], 2:]).all()
    # Of each row of the result, the leader has loaded the first half.
    parts = result(' <{split = 1 : i64}>', "%t").reshape(2, 2, 4, 2)
    assert (parts[0, 0, :2] == x[:2, :2]).all() and (parts[0, 1, :2] == x[:2, 2:]).all()
    with pytest.raises(interpreter.MeaninglessError, match="parts of a tile"):
        result(' <{split = 2 : i64}>', "%t")


def test_ctas_that_do_not_meet_hang(folder):
    """The loop of a pair is edited so that each CTA makes the passes of its own queries. An MMA of one CTA then has no
    other CTA, and the roles must hang."""
    kernel = suite.make_kernel("pairs-gemm", folder)
    module = module_of(kernel, "pair-ctas")
    loop, tile = op_of(module, "scf.for"), op_of(module, "tile.work_tile")
    bound = generic.Op("arith.muli", [tile.results[0], loop.operands[2]], ["index"] * 2, ["%bound"], ["index"])
    block = next(b for op in module.walk() for b in op.blocks() if loop in b.ops)
    block.ops.insert(block.ops.index(loop), bound)
    loop.operands[1] = "%bound"
    with pytest.raises(WrongError, match="the roles hang"):
        suite.simulate(compiled_of(kernel), kernel, kernel.calls()[0], module, ordered=True)


def test_either_bound_is_right(folder):
    """A program is edited so that wider bounds change its results. A kernel that takes the bounds of a pair must still
    count as right."""
    kernel = suite.make_kernel("pairs-causal", folder)
    module = module_of(kernel, "tile")
    for op in module.walk():
        if op.name == "arith.cmpi":
            op.properties["predicate"] = "1 : i64"  # ne: nothing is hidden
    source = kernel.folder / "edited.mlir"
    source.write_text(str(module) + "\n")
    out = kernel.folder / "out"
    out.mkdir()
    error, compiled = suite.compile_edit(source, "tile", out, kernel.chip, kernel.program.options)
    assert not error
    suite.simulate(compiled, kernel, kernel.calls()[0], module, ordered=True)


def test_tile_that_is_left_out_is_found(folder):
    """A request is doubled, so that nobody takes one of the responses: no CTA works on its tile, and the missing output
    must be found."""
    kernel = suite.make_kernel("schedule-clc", folder)
    module = module_of(kernel, "warp-specialize")
    block = next(b for op in module.walk() for b in op.blocks() if any(o.name == "tile.request" for o in b.ops))
    place = next(i for i, op in enumerate(block.ops) if op.name == "tile.request")
    block.ops.insert(place, copy.deepcopy(block.ops[place]))
    block.ops[place].results = ["%unused"]
    with pytest.raises(WrongError, match="^outputs: out: .* are not written"):
        suite.simulate(compiled_of(kernel), kernel, kernel.calls()[0], module, ordered=True)


def test_other_numbers_are_found(kernel, compiled):
    """Two kernels are given: one whose mask hides the last key that a row sees, one whose stores of lse are removed. Each
    run must fail and name the output that is wrong."""
    module = module_of(kernel, "tile")
    compare = op_of(module, "arith.cmpi", 1)
    compare.properties["predicate"] = "2 : i64"  # slt, which was sle
    with pytest.raises(WrongError, match="^numbers: out"):
        suite.simulate(compiled, kernel, NORMAL, module, ordered=True)
    module = module_of(kernel, "distribute")
    for block in [b for op in module.walk() for b in op.blocks()]:
        block.ops = [op for op in block.ops if op.name != "tile.put"]
    with pytest.raises(WrongError, match="^outputs: lse: 260 elements are not written"):
        suite.simulate(compiled, kernel, CALL, module, ordered=True)


def test_hang_has_no_meaning(kernel, compiled):
    """A block of a kernel loses its commits: the interpreter must report that the roles hang."""
    module = module_of(kernel, "schedule")
    block = next(b for op in module.walk() for b in op.blocks() if any(o.name == "tile.commit" for o in b.ops))
    block.ops = [op for op in block.ops if op.name != "tile.commit"]
    with pytest.raises(WrongError, match="the roles hang"):
        suite.simulate(compiled, kernel, CALL, module, ordered=True)


@pytest.mark.parametrize("said, status, message", [
    ("error: nowhere", 1, "an error without a place"),
    ("{file}:3:5: error: failed to legalize operation 'arith.addf'", 1, "no sentence at an operation"),
    ("LLVM ERROR: out of memory", 1, "exit status 1"),
    ("", -11, "exit status -11"),
    ("", 0, "wrote 0 PTX files"),
])  # fmt: skip
def test_what_is_no_refusal(tmp_path, monkeypatch, said, status, message):
    """The compiler ends in another way than with an error at an operation: this must count as a failure, not a
    refusal."""

    class Done:
        returncode, stderr = status, said.format(file=tmp_path / "x.mlir")

    monkeypatch.setattr(suite.subprocess, "run", lambda *_, **__: Done)
    with pytest.raises(WrongError, match=message):
        suite.compile_edit(tmp_path / "x.mlir", "unroll", tmp_path, "sm_100a")


@pytest.mark.parametrize("kind", draw.KINDS)
def test_edits_repeat_and_change_something(kernel, kind):
    """One seed must give the same edit of its kind twice, three seeds three edits that each change the file."""
    texts = set()
    for seed in (1, 1, 2, 3):
        module = module_of(kernel, "distribute")
        edit = draw.edit(module, random.Random(seed), kind)
        assert edit.kind == kind and edit.text
        texts.add(str(module))
    assert len(texts) == 3 and str(module_of(kernel, "distribute")) not in texts


@pytest.mark.parametrize("level, name, message", [
    ("tile", "tile.store", "output 'lse'"), ("schedule", "tile.store", "output 'lse'"),
    ("unroll", "tile.store", "output 'out'"), ("unroll", "tile.put", "output 'lse'"),
    ("distribute", "tile.commit", "channel"), ("unroll", "tile.fence", "no tile.fence"),
])  # fmt: skip
@pytest.mark.parametrize("again", [False, True])
def test_deleted_and_doubled(kernel, tmp_path, level, name, message, again):
    """An operation is deleted or doubled at a level. The passes below that level must refuse the file, as long as they
    verify it."""
    module = module_of(kernel, level)
    block = next(b for op in module.walk() for b in op.blocks() if any(o.name == name for o in b.ops))
    place = max(i for i, op in enumerate(block.ops) if op.name == name)
    block.ops[place : place + 1] = [block.ops[place]] * (2 if again else 0)
    source = Path(tmp_path, "edited.mlir")
    source.write_text(str(module))
    error, _ = suite.compile_edit(source, level, tmp_path, "sm_100a")
    if again and name == "tile.fence":
        assert not error  # One more is right.
    else:
        assert message in error


@pytest.mark.parametrize("kind", ["stages", "pairs"])
def test_each_kind_has_its_levels(folder, kind):
    """Edits of a kind must be drawn at all levels that have the kind, and never at the level nvvm."""
    options = suite.parse(["--quick", f"--kind={kind}"])
    levels = {suite.draw_edit(options, number, folder)[1] for number in range(len(LEVELS))}
    assert levels == {level for level in LEVELS if kind in suite.kinds_of(level)} and "nvvm" not in levels


def test_sample(folder, monkeypatch, capsys):
    """A random sample of 33 edits is judged: none may fail."""
    monkeypatch.setattr(suite, "FOLDER", folder)
    status = suite.main(["33", "--quick", "--seed=5", "--jobs=2"], folder)
    said = capsys.readouterr().out
    assert status == 0, said
    assert said.splitlines()[-1].split()[:3] == ["all", "all", "33"]


def test_failure_is_kept(folder, monkeypatch, capsys):
    """The compiler fails on an edit: the command must report the failure and keep the edited file with the reason."""
    monkeypatch.setattr(suite, "FOLDER", folder / "kept")
    monkeypatch.setattr(suite, "compile_edit", lambda *_: (_ for _ in ()).throw(WrongError("compiler: fell over")))
    assert suite.main(["1", "--quick", "--jobs=1", "--level=unroll"], folder) == 1
    assert "FAILED 0" in capsys.readouterr().out
    text = next((folder / "kept").glob("unroll-0-0-*.mlir")).read_text()
    assert "// compiler: fell over" in text
    generic.parse(text)


def test_arithmetic():
    """The interpreter computes single operations as their definitions say."""
    cmpf = [interpreter._cmpf(p, *map(interpreter.np.array, ([1.0], [float("nan")]))).item() for p in range(16)]
    assert cmpf == [False] * 8 + [True] * 8
    cmpf = [interpreter._cmpf(p, interpreter.np.array([1.0]), interpreter.np.array([2.0])).item() for p in range(16)]
    assert [n for n, is_true in enumerate(cmpf) if is_true] == [4, 5, 6, 7, 11, 12, 13, 15]
    divide = {name: interpreter._BINARY[name] for name in ("divsi", "floordivsi", "ceildivsi", "remsi", "divui")}
    a, b = interpreter.np.array([-7]), interpreter.np.array([2])
    assert [divide[n](a, b).item() for n in ("divsi", "floordivsi", "ceildivsi", "remsi")] == [-3, -4, -3, -1]
    assert divide["divui"](a, b).item() == (2**32 - 7) // 2
    with pytest.raises(interpreter.UndefinedError):
        divide["divui"](a, interpreter.np.array([0]))
    ones, infinite = interpreter.np.ones((1, 2)), interpreter.np.array([float("inf")])
    rescale = interpreter.Cta.pure_tile_rescale
    assert interpreter.np.isinf(rescale(None, None, [ones, infinite])).all()
    with pytest.raises(interpreter.UndefinedError):
        rescale(None, None, [0 * ones, infinite])
