"""Every subject on a small shape: right, and with the bytes and operations that it states."""

from dataclasses import replace

import mlx.core as mx
import pytest

from fake_metal import FakeMetal, microseconds
from small_kernels import needs_emulation
from tracekit.base.errors import UsageError
from tracekit.base.tolerances import BOUNDS
from tracekit.lab.bench.inputs import (
    BY_MLX,
    Cache,
    Inputs,
    Launch,
    Shape,
    Subject,
    SubjectUnavailable,
)
from tracekit.lab.bench.measure import gpu_times
from tracekit.lab.bench.run import SUBJECTS
from tracekit.lab.bench.subjects.attention import prepare_paged
from tracekit.lab.bench.subjects.layers import prepare_fused
from tracekit.lab.msl.emulation import emulation
from tracekit.ops.attention.paged import attend

SMALL = Shape(
    batch=2, q_heads=4, kv_heads=2, head_dim=64, block_size=16, active_blocks=3, queries=24,
    rows=3, dims=32, out_dims=32, experts=4, dtype="float32",
)  # fmt: skip
IN_FLOAT32 = {"quantized-matmul", "experts-gather"}  # of MLX on a CPU
ROUNDINGS = {"train": 8, "mlp": 2, "quantized": 2}
KERNELS = {"paged-per-head", "paged-barriers", "norm-fused"}
BY_NAME = {subject.name: subject for subject in SUBJECTS}


def inputs(**sizes: object) -> Inputs:
    return Inputs(Shape(**{**vars(SMALL), **sizes}), Cache(1 << 10, "a test"))


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_every_subject_is_right(subject: Subject) -> None:
    if subject.name in KERNELS:
        with pytest.raises(SubjectUnavailable, match="no Metal"):
            subject.prepare(inputs())
        return
    for dtype, bound in BOUNDS.items():
        if subject.name in IN_FLOAT32 and dtype != "float32":
            with pytest.raises(SubjectUnavailable, match="on a CPU"):
                subject.prepare(inputs(dtype=dtype))
            continue
        prepared_subject = subject.prepare(inputs(dtype=dtype))
        results = ROUNDINGS.get(subject.family, 1)
        assert (
            prepared_subject.error is None
            if subject.suite == "cache"
            else 0 < prepared_subject.error <= results * bound
        ), dtype
    for calls in (1, 2, 5):
        prepared_subject.step.wait(prepared_subject.chain(calls))
    prepared_subject.step.wait(prepared_subject.step.submit())
    assert prepared_subject.step.tokens > 0
    assert prepared_subject.working_set > 0
    assert prepared_subject.launched == BY_MLX


def test_ragged_lengths_are_right_too() -> None:
    there = inputs(ragged=True, batch=5, seed=3)
    for name in ("paged", "sdpa", "sdpa-bshd", "gather-sdpa", "naive"):
        assert BY_NAME[name].prepare(there).error <= BOUNDS["float32"], name


def test_calls_of_a_chain_go_on_with_the_result_before() -> None:
    there = inputs()
    first_problem, second = there.problems[:2]
    expected = attend(first_problem, scale=there.shape.scale)
    expected = attend(replace(second, q=expected), scale=1 / 8)
    [got] = BY_NAME["sdpa"].prepare(there).chain(2)
    assert mx.allclose(got, expected, atol=1e-5)


def test_appending_a_row_writes_only_that() -> None:
    prepared_subject = BY_NAME["append"].prepare(inputs())
    assert prepared_subject.step.bytes_written == 2 * 2 * 2 * 64 * 4
    concat = BY_NAME["append-concat"].prepare(inputs())
    assert concat.step.bytes_written == (48 + 1) * 2 * 2 * 2 * 64 * 4
    assert prepared_subject.working_set == 48 * 2 * 2 * 2 * 64 * 4  # each row of the context, once


def test_an_appended_token_is_in_its_page() -> None:
    there = inputs()
    problem, prepared_subject = there.problems[0], BY_NAME["append"].prepare(there)
    [(keys, _)] = prepared_subject.chain(18)
    tables, row = problem.block_tables, mx.random.normal((2, 2, 64), key=mx.random.key(0))
    for token in (0, 15, 16, 17):
        assert mx.array_equal(keys[tables[:, token // 16], token % 16], row), token
    untouched = tables[:, 1]
    assert mx.array_equal(keys[untouched, 2], problem.k_pages[untouched, 2])


def test_norm_calls_that_cannot_be_chained_say_so() -> None:
    assert BY_NAME["norm-separate"].prepare(inputs()).chained
    wide = BY_NAME["norm-separate"].prepare(inputs(out_dims=40))
    assert not wide.chained
    assert [output.shape for output in wide.chain(2)] == [(3, 40), (3, 40)]


def test_a_small_cache_takes_two_sets_and_a_large_one_more() -> None:
    pool = 2 * 2 * 3 * 16 * 2 * 64 * 4
    sizes = (1, pool, 100 * pool, None)
    assert [Inputs(SMALL, Cache(size, "")).sets for size in sizes] == [2, 4, 8, 8]


def test_whether_a_cache_holds_the_inputs() -> None:
    for size, largest, residence in ((100, 100, "cache"), (None, 96 << 20, "unknown")):
        cache = Cache(size, "")
        assert (cache.residence(largest), cache.residence(largest + 1)) == (residence, "memory")


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"batch": 0}, "The batch of a bench must be at least 1; it is 0."),
        ({"max_blocks": 2}, "A sequence cannot use 3 blocks of 2."),
        ({"top_k": 5}, "A row cannot go to 5 of 4 experts."),
        ({"q_heads": 5}, "5 q heads cannot be shared out among 2 kv heads."),
    ],
)
def test_sizes_that_contradict_each_other_are_refused(sizes: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=f"^{said}"):
        inputs(**sizes)


@needs_emulation
@pytest.mark.parametrize(
    ("choice", "launched", "dispatches"),
    [
        (Launch("grouped", 16, 64, 2), Launch("grouped", 16, 64, 2), 2),
        (Launch("barriers"), Launch("barriers", None, 128, 1), 1),
    ],
)
def test_a_paged_kernel_is_prepared_with_its_launch_and_is_right(
    choice: Launch, launched: Launch, dispatches: int
) -> None:
    there = inputs(dtype="float16")
    with emulation() as log:
        prepared_subject = prepare_paged(there, choice, device="metal")
        launches_before = len(log)
        mx.eval(prepared_subject.chain(2))
        prepared_subject.step.wait(prepared_subject.step.submit())
        assert len(log) - launches_before == 3 * dispatches
    assert (prepared_subject.launched, prepared_subject.step.dispatches) == (launched, dispatches)
    assert prepared_subject.error <= BOUNDS["float16"]


@needs_emulation
def test_a_chain_of_kernels_equals_a_chain_of_operations() -> None:
    there = inputs(dtype="float16")
    with emulation():
        [ours] = prepare_paged(there, device="metal").chain(3)
        mx.eval(ours)
    [theirs] = prepare_paged(there, device="cpu").chain(3)
    assert mx.allclose(ours, theirs, atol=2e-3)


@needs_emulation
def test_the_fused_norm_is_prepared_with_its_launch_and_is_right() -> None:
    with emulation():
        prepared_subject = prepare_fused(inputs(dtype="float16"), device="metal")
        mx.eval(prepared_subject.chain(2))
    assert prepared_subject.error <= BOUNDS["float16"]
    assert prepared_subject.launched == Launch("rmsnorm_linear")
    ((dispatch,), _) = gpu_times(prepared_subject, FakeMetal(times=microseconds(25)))
    assert dispatch.function.startswith("custom_kernel_rmsnorm_linear__float16_t_")
