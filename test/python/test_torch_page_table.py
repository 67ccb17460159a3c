# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and values in pages, where torch is: on tensors of the CPU, by the simulator, against torch's attention in float64."""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs torch, for fa4.torch")

import fa4  # noqa: E402
from fa4 import _library  # noqa: E402

try:
    _library.find()
except fa4.LibraryNotFoundError as missing:
    pytest.skip(f"needs {missing}", allow_module_level=True)


pytestmark = pytest.mark.usefixtures("torch_settings")


PAGE, PAGES, QUERY_HEADS, HEADS, D = 16, 20, 4, 2, 32
LENGTHS = 90, 33


def make_cache():
    """Pages of k and of v, the table and the lengths. Free pages are NaN, and entries without keys are no pages."""
    k, v = (torch.full((PAGES, PAGE, HEADS, D), math.nan, dtype=torch.bfloat16) for _ in "kv")
    table, free = torch.full((len(LENGTHS), 8), -1, dtype=torch.int32), torch.randperm(PAGES).tolist()
    for sequence, length in enumerate(LENGTHS):
        for number in range(-(-length // PAGE)):
            page = table[sequence, number] = free.pop()
            for cache in (k, v):
                cache[page, : length - number * PAGE] = torch.randn(min(PAGE, length - number * PAGE), HEADS, D)
    return k, v, table, torch.tensor(LENGTHS, dtype=torch.int32)


def expected(q, k, v, pages, length, causal=False):
    """Of one sequence, [Sq, H, D] in float64."""
    k, v = (x[pages[: -(-length // PAGE)].long()].flatten(0, 1)[:length].double().repeat_interleave(QUERY_HEADS // HEADS, 1) for x in (k, v))
    scores = torch.einsum("ihd,jhd->hij", q.double(), k) / math.sqrt(D)
    if causal:
        i, j = torch.arange(len(q))[:, None], torch.arange(length)[None, :]
        scores = scores.masked_fill(j > i + length - len(q), -math.inf)
    return torch.einsum("hij,jhd->ihd", torch.softmax(scores, -1), v)


@pytest.mark.parametrize("queries", [1, 40])
def test_attention(queries):
    """A step of decoding and a chunk of a prompt read the pages of each sequence."""
    q = torch.randn(2, queries, QUERY_HEADS, D).bfloat16()
    k, v, table, lengths = make_cache()
    attend = fa4.torch.attention(fa4.sdpa(q=f"B Sq H {D}", k=f"Pages {PAGE} G {D}", seqlens_k=True, page_table=True))
    out = attend(q, k, v, seqlens_k=lengths, page_table=table)
    for b, length in enumerate(LENGTHS):
        assert (out[b].double() - expected(q[b], k, v, table[b], length)).abs().max() < 2e-2


def test_varlen():
    """A batch of packed queries, as vLLM has it: a chunk of one prompt beside a query of another sequence."""
    bounds = torch.tensor([0, 30, 31], dtype=torch.int32)
    q = torch.randn(31, QUERY_HEADS, D).bfloat16()
    k, v, table, lengths = make_cache()
    out, lse = fa4.torch.varlen(q, k, v, bounds, page_table=table, seqlens_k=lengths, causal=True, return_lse=True)
    assert lse.shape == (QUERY_HEADS, 31)
    for b, (begin, end) in enumerate(((0, 30), (30, 31))):
        assert (out[begin:end].double() - expected(q[begin:end], k, v, table[b], LENGTHS[b], causal=True)).abs().max() < 2e-2


def test_compiled():
    """torch.compile has one graph of a call, for any number of queries."""
    k, v, table, lengths = make_cache()
    attend = fa4.torch.attention(fa4.sdpa(q=f"B Sq H {D}", k=f"Pages {PAGE} G {D}", seqlens_k=True, page_table=True))
    compiled = torch.compile(lambda q: attend(q, k, v, seqlens_k=lengths, page_table=table) * 2, fullgraph=True, backend="aot_eager", dynamic=True)
    for queries in (1, 20):
        q = torch.randn(2, queries, QUERY_HEADS, D).bfloat16()
        assert torch.equal(compiled(q), attend(q, k, v, seqlens_k=lengths, page_table=table) * 2)


def test_operator_is_well_formed():
    """torch's own checks of an operator: schema, fake tensors, autograd's registration."""
    from fa4 import torch_ops

    k, v, table, lengths = make_cache()
    spec = fa4.sdpa(q=f"B Sq H {D}", k=f"Pages {PAGE} G {D}", seqlens_k=True, page_table=True, lse=True)
    q = torch.randn(2, 20, QUERY_HEADS, D).bfloat16()
    args = (q, k, v, table, None, None, None, lengths, None, None, [], [], "bshd", "", spec.write(spec.trace(), is_open=True), "")
    torch.library.opcheck(torch_ops.sdpa, args, test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))


def test_gradients_are_refused():
    """Weights may require a gradient where nobody computes one; elsewhere the call says what to do."""
    q = torch.randn(2, 20, QUERY_HEADS, D).bfloat16().requires_grad_()
    k, v, table, lengths = make_cache()
    attend = fa4.torch.attention(fa4.sdpa(q=f"B Sq H {D}", k=f"Pages {PAGE} G {D}", seqlens_k=True, page_table=True))
    with torch.no_grad():
        attend(q, k, v, seqlens_k=lengths, page_table=table)
    with pytest.raises(fa4.SpecError, match=r"there is no gradient of keys in pages: call under torch.no_grad\(\)"):
        attend(q, k, v, seqlens_k=lengths, page_table=table)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"page_table": None}, "the spec has page_table, and the call gives none: page_table is a tensor of i32, with the pages of each sequence"),
        ({"page_table": torch.zeros(2, 8, dtype=torch.int64)}, r"page_table has elements of type torch.int64.*give page_table.to\(torch.int32\)"),
        ({"page_table": torch.zeros(3, 8, dtype=torch.int32)}, "page_table has shape .* dimension 0 is 3, but q has size B = 2"),
    ],
)
def test_other_tables_are_refused(change, message):
    """A call without a table, or with one that is not the spec's, is refused in words."""
    k, v, table, lengths = make_cache()
    attend = fa4.torch.attention(fa4.sdpa(q=f"B Sq H {D}", k=f"Pages {PAGE} G {D}", seqlens_k=True, page_table=True))
    with pytest.raises(fa4.SpecError, match=message):
        attend(torch.randn(2, 20, QUERY_HEADS, D).bfloat16(), k, v, **{"seqlens_k": lengths, "page_table": table} | change)


def test_varlen_wants_pages():
    """Beside a table, k and v have a dimension of pages."""
    k, v, table, lengths = make_cache()
    with pytest.raises(fa4.SpecError, match=r"k has 3 dimensions, not 4: \[pages, S, H, D\]"):
        fa4.torch.varlen(torch.randn(31, QUERY_HEADS, D).bfloat16(), k[0], v[0], torch.tensor([0, 30, 31], dtype=torch.int32), page_table=table)
