"""How calls are shared out, and the kernels' names and text where there is no Metal."""

import re

import mlx.core as mx
import pytest

from problems import small_problem
from tracekit.base.errors import ToolError, UsageError
from tracekit.lab.msl.emulation import Generated, generated
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.planning import DecodePlan, Kernel, heads_at_once, partitions_for, plan
from tracekit.ops.attention.problem import DecodeProblem
from tracekit.ops.kernels import noting_launches, specializations


def _problem(batch: int, head_dim: int = 64, dtype: mx.Dtype = mx.float16) -> DecodeProblem:
    sizes = {"q_heads": 4, "kv_heads": 2, "head_dim": head_dim, "block_size": 16}
    return small_problem([5] * batch, dtype=dtype, **sizes)


def _trace_kernels(problem: DecodeProblem, how: DecodePlan | None = None) -> tuple[Generated, ...]:
    def launch(*arrays: mx.array) -> mx.array:
        return paged_decode(DecodeProblem(*arrays), scale=0.125, how=how)

    pages = (problem.k_pages, problem.v_pages)
    return generated(launch, problem.q, *pages, problem.block_tables, problem.context_lens)


@pytest.mark.parametrize(
    ("kernel", "partitions", "head_dim", "dtype"),
    [
        ("grouped", 1, 64, mx.bfloat16),
        ("grouped", 2, 256, mx.float16),
        ("per-head", None, 256, mx.float32),
        ("barriers", None, 64, mx.bfloat16),
    ],
    ids=str,
)
def test_the_kernels_have_the_names_that_are_recorded(
    kernel: Kernel, partitions: int | None, head_dim: int, dtype: mx.Dtype
) -> None:
    problem = _problem(2, head_dim, dtype)
    how = plan(problem, kernel=kernel, partitions=partitions)
    names = [traced.function for traced in _trace_kernels(problem, how)]
    assert len(names) == how.dispatches
    assert specializations() >= set(names)


@pytest.mark.parametrize(
    ("kernel", "partitions"),
    [("grouped", 1), ("grouped", 2), ("per-head", None), ("barriers", None)],
    ids=str,
)
def test_a_noted_launch_is_that_of_mlx(kernel: Kernel, partitions: int | None) -> None:
    problem = _problem(2)
    how = plan(problem, kernel=kernel, partitions=partitions)
    with noting_launches() as notes:
        launched = _trace_kernels(problem, how)
    _trace_kernels(problem, how)
    assert len(notes) == how.dispatches
    for note, source in zip(notes, launched, strict=True):
        assert (note.function, note.grid) == (source.function, source.grid), note
        assert note.threadgroup == tuple(map(min, source.threadgroup, source.grid)), note
        for name in note.arguments:
            assert re.search(rf"\bdevice \w+\* {name} \[\[buffer", source.text), (note, name)


def test_every_batch_is_one_kernel_with_its_tables_in_device_memory() -> None:
    texts = {_trace_kernels(_problem(batch))[0].text for batch in (1, 7, 8, 9)}
    (text,) = texts
    for name in ("q", "k_pages", "v_pages", "block_tables", "context_lens"):
        assert re.search(rf"const device \w+\* {name} \[\[buffer", text)
    assert "const constant int32_t& max_blocks" in text
    assert "const constant float& scale" in text


def test_every_number_of_partitions_is_one_kernel_and_one_merge() -> None:
    problem = _problem(1)
    hows = [plan(problem, partitions=partitions) for partitions in (1, 2, 3, 64)]
    alone, *split_texts = [[traced.text for traced in _trace_kernels(problem, how)] for how in hows]
    assert all(texts == split_texts[0] for texts in split_texts)
    assert split_texts[0][0] == alone[0]
    assert "const device float* stats" in split_texts[0][1]


def test_a_head_size_without_a_kernel_is_reported() -> None:
    with pytest.raises(UsageError, match="no head size 72; it has 64, 80, 96, 128, 256"):
        paged_decode(_problem(2, 72), scale=1.0)


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_a_kernel_is_refused_and_not_recorded() -> None:
    problem, kernels_before = _problem(2, 256), specializations()
    how = plan(problem, threadgroup=32)
    with pytest.raises(ToolError, match="No Metal back-end") as caught:
        paged_decode(problem, scale=1.0, how=how)
    assert caught.value.hint
    assert specializations() == kernels_before


def _make_problem(
    batch: int = 1, q_heads: int = 16, head_dim: int = 128, tokens: int = 1024
) -> DecodeProblem:
    """Return arrays of zeros, which take no memory before they are evaluated."""
    pages = mx.zeros((batch * tokens // 32, 32, 8, head_dim), mx.float16)
    tables = (mx.zeros((batch, tokens // 32), mx.int32), mx.zeros((max(8, batch),), mx.int32))
    return DecodeProblem(mx.zeros((batch, q_heads, head_dim), mx.float16), pages, pages, *tables)


def test_a_single_sequence_is_split_in_parts_that_keep_256_tokens() -> None:
    whole_plan = plan(_make_problem(batch=32))
    assert (whole_plan, whole_plan.dispatches) == (
        DecodePlan("grouped", 256, 1, hd_tile=4, heads=2, tokens=8),
        1,
    )
    split = plan(_make_problem(tokens=1024))
    assert (split.partitions, split.dispatches) == (4, 2)
    assert plan(_make_problem(tokens=1024), longest=300).partitions == 1
    assert plan(_make_problem(tokens=32768)).partitions == 16


def test_partitions_keep_256_tokens_and_leave_a_threadgroup_its_core() -> None:
    alone = (0, 511, 512, 10**6)
    assert [partitions_for(1, longest, 128) for longest in alone] == [1, 1, 2, 64]
    threadgroups = (8, 40, 64, 65, 128, 1000)
    partitions = [partitions_for(groups, 10**6, 128) for groups in threadgroups]
    assert partitions == [16, 3, 2, 1, 1, 1]


def test_heads_are_shared_out_evenly() -> None:
    assert [heads_at_once(group, 4) for group in (1, 8, 9, 16, 11)] == [1, 8, 5, 8, 6]
    assert [heads_at_once(group, 8) for group in (4, 5, 8)] == [4, 3, 4]


def test_cores_that_are_known_are_filled() -> None:
    for cores, batch, q_heads, tokens, threads, partitions in (
        # A core for each threadgroup.
        (132, 16, 8, 1024, 512, 1),
        (132, 16, 16, 1024, 512, 1),
        (132, 16, 64, 2048, 512, 1),
        # More cores than threadgroups: parts, but none shorter than 256 tokens.
        (132, 1, 32, 8192, 512, 16),
        (132, 1, 32, 2048, 512, 8),
        (132, 5, 32, 8192, 512, 3),
        # Two shares of 16 heads are two threadgroups.
        (132, 1, 128, 8192, 512, 8),
        # More threadgroups than cores share them: two are larger than three or more.
        (132, 24, 32, 2048, 256, 1),
        (132, 40, 32, 2048, 128, 1),
        (132, 64, 32, 2048, 128, 1),
        (40, 16, 32, 2048, 128, 1),
        (40, 2, 32, 4096, 512, 2),
        (10, 2, 16, 2048, 256, 1),
        (40, 3, 32, 4096, 512, 1),
    ):
        how = plan(_make_problem(batch, q_heads, tokens=tokens), cores=cores)
        assert (how.threadgroup, how.partitions) == (threads, partitions), (cores, batch, q_heads)


def test_requested_plans_are_followed() -> None:
    how = plan(_make_problem(), hd_tile=16, threadgroup=512, partitions=3)
    assert (how.hd_tile, how.threadgroup, how.partitions) == (16, 512, 3)
    assert plan(_make_problem(), kernel="barriers", threadgroup=64).threadgroup == 64
    assert plan(_make_problem(), kernel="per-head", partitions=1).partitions == 1


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"hd_tile": 32}, "no HD_TILE of 32; there are 4, 8 and 16"),
        *(({"threadgroup": size}, f"{size} threads cannot be launched") for size in (0, 100, 1056)),
        ({"partitions": 0}, "0 partitions cannot be had"),
        ({"partitions": 65}, "there are 1 to 64"),
        ({"kernel": "per-head", "hd_tile": 8}, '"per-head" has neither tiles'),
        ({"kernel": "barriers", "partitions": 2}, '"barriers" has neither tiles'),
    ],
)
def test_impossible_plans_are_one_sentence(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(_make_problem(), **asked)
    assert sentence in caught.value.message


def test_threadgroup_memory_is_checked_before_metal_refuses() -> None:
    problem = _make_problem(head_dim=256)
    for kernel in ("grouped", "per-head"):
        with pytest.raises(UsageError, match="bytes of threadgroup memory") as caught:
            plan(problem, kernel=kernel, threadgroup=1024)
        largest_threadgroup = int(caught.value.hint.split()[3])
        assert (
            plan(problem, kernel=kernel, threadgroup=largest_threadgroup).threadgroup
            == largest_threadgroup
        )
