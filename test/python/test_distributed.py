# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4.distributed: attention over ranks, which are processes of the CPU and of gloo, with kernels in the simulator; and what of it needs no ranks."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.distributed")

import distributed_checks  # noqa: E402
import fa4  # noqa: E402
from fa4 import _library, distributed, distributed_group, distributed_ring  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)

# The ranks are started once, for all checks that are drawn.
pytestmark = pytest.mark.xdist_group("distributed")

ALWAYS = ("ring-full-2", "ring-causal-1", "ring-causal-4", "ring-deterministic-2", "ulysses-causal-2", "parts-1", "parts-2", "parts-4", "refusals-2")
BY_CHOICE = tuple(name for name in distributed_checks.CHECKS if name not in ALWAYS)


@pytest.fixture(scope="module")
def said(request, tmp_path_factory):
    """What all ranks said of the checks that this run has: check -> rank -> what was wrong."""
    names = [item.callspec.params["name"] for item in request.session.items if item.module is request.module and "name" in getattr(item, "callspec", ITEM).params]
    environment = {**os.environ, "FA4_CACHE_DIR": str(tmp_path_factory.mktemp("cache")), "FA4_VERIFY_PTX": "0", "OMP_NUM_THREADS": "1"}
    program = Path(distributed_checks.__file__)
    done = subprocess.run([sys.executable, program, *names], capture_output=True, text=True, env=environment)
    found = {}
    for line in done.stdout.splitlines():
        each = json.loads(line)
        found.setdefault(each["check"], {})[each["rank"]] = each["wrong"]
    return found, done.stderr


class ITEM:
    params = ()


def passed(said, name):
    found, errors = said
    ranks, _ = distributed_checks.CHECKS[name]
    wrong = [each for each in found.get(name, {}).values() if each]
    assert not wrong, wrong[0]
    assert set(found.get(name, {})) == set(range(ranks)), f"{name} was not run to its end: {errors[-2000:]}"


@pytest.mark.parametrize("name", ALWAYS)
def test_ranks(said, name):
    """All ranks of a group call: results of the whole must be those of float64, and bad input the same error on each rank."""
    passed(said, name)


@pytest.mark.many
@pytest.mark.parametrize("name", BY_CHOICE)
def test_ranks_of_more_forms(said, name):
    """The same with other numbers of ranks, layouts, types, numbers of keys, and a gradient of the LSE."""
    passed(said, name)


# ---------------------------------------------------------------------------
# Without ranks
# ---------------------------------------------------------------------------


def test_no_group():
    """There is no process group, or this process is alone in one: the first must be refused with a sentence."""
    x = torch.zeros(1, 64, 2, 64, dtype=torch.bfloat16)
    for call in (lambda: distributed.ring_sdpa(x, x, x), lambda: distributed.ulysses_sdpa(x, x, x), lambda: distributed.shard(x, zigzag=True)):
        with pytest.raises(fa4.SpecError, match="there is no process group: torch.distributed.init_process_group"):
            call()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
def test_steps_see_each_pair_once(size):
    """The steps of all ranks, as pairs of a query and a key of the whole: each visible one must be in exactly one, and ranks have the same work."""
    form = distributed_ring.Form(64, 64, "bf16", "bshd", True, None, False)
    chunk = 2
    tokens = 2 * size * chunk
    seen = torch.zeros(tokens, tokens, dtype=torch.int32)
    work = []
    for rank in range(size):
        ranks = distributed_group.Ranks(None, rank, size)
        orders = distributed._order(size, True)
        own, *all_positions = ([n * chunk + i for n in numbers for i in range(chunk)] for numbers in (orders[rank], *orders))
        work.append([])
        for number in range(size):
            step = distributed_ring.step_of(form, ranks, number, 2 * chunk, 2 * chunk)
            queries = own[step.queries[0] :][: step.queries[1]]
            keys = all_positions[(rank - number) % size][step.keys[0] :][: step.keys[1]]
            for i in queries:
                for j in keys:
                    # The kernel's mask is by the positions within the parts, which here are in the order of the whole.
                    seen[i, j] += not step.form.is_causal or queries.index(i) >= keys.index(j)
            work[-1].append((step.form.is_causal, len(queries) * len(keys)))
    assert torch.equal(seen, torch.tril(torch.ones_like(seen)))
    assert all(each == [(True, 4 * chunk**2)] + [(False, 2 * chunk**2)] * (size - 1) for each in work)


def test_merge():
    """Attention of two sets of keys is merged, in each layout: the result must be that of all keys, also of rows that see none of them."""
    torch.manual_seed(0)
    scores, values = torch.randn(2, 3, 5, 16).double(), torch.randn(2, 3, 16, 8).double()
    scores[0, 0, 0], scores[0, 0, 1, :9], scores[0, 0, 2, 9:] = -math.inf, -math.inf, -math.inf

    def attend(part):
        return scores[..., part].softmax(-1).nan_to_num() @ values[..., part, :], scores[..., part].logsumexp(-1)

    whole, whole_lse = attend(slice(None))
    for layout in distributed.LAYOUTS:
        order = ["bhsd".index(letter) for letter in layout]
        (out, lse), (other, other_lse) = ((a.permute(order).float(), b.float()) for a, b in (attend(slice(9)), attend(slice(9, None))))
        distributed_ring.merge(out, lse, other, other_lse, layout)
        assert (out - whole.permute(order)).abs().max() < 1e-6
        assert torch.isneginf(lse[0, 0, 0]) and (lse - whole_lse).nan_to_num().abs().max() < 1e-5


def test_merge_takes_results_of_kernels():
    """A kernel's out is in bf16, and that of other keys has been merged in f32: the sum must be in f32."""
    out, other = torch.ones(1, 4, 2, 8), torch.full((1, 4, 2, 8), 3.0, dtype=torch.bfloat16)
    distributed_ring.merge(out[:, 2:], lse := torch.zeros(1, 2, 2), other[:, 2:], torch.zeros(1, 2, 2), "bshd")
    assert (out[:, :2] == 1).all() and (out[:, 2:] == 2).all() and torch.allclose(lse, torch.tensor(math.log(2)))
