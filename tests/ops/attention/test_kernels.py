"""Specializations of the kernels, run on this CPU from the text that MLX would compile.

Each pair of a type, a head size, a page size and a tile is in one of them; a campaign runs all.
"""

import itertools
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from decode_calls import (
    BOUNDS,
    KV_HEADS,
    Case,
    compile_programs,
    drawn,
    relative_error,
    run,
    traced,
)
from small_kernels import EMULATED
from tracekit.lab.msl.emulation import emulation
from tracekit.lab.msl.program import ThreadOrder
from tracekit.ops.attention.metal import prewarm
from tracekit.ops.attention.paged import attend
from tracekit.ops.attention.planning import (
    BLOCK_SIZES,
    DecodePlan,
    Kernel,
    fitting_tiles,
    plan,
)
from tracekit.ops.attention.problem import HEAD_DIMS, draw_problem
from tracekit.ops.kernels import DTYPES, specializations

GROUPS = (1, 4, 2, 8, 3, 5)
pytestmark = EMULATED

Specialization = tuple[mx.Dtype, int, int, int]
ALL: list[Specialization] = [
    (dtype, head_dim, block, tile)
    for dtype, head_dim, block in itertools.product(DTYPES, HEAD_DIMS, BLOCK_SIZES)
    for tile in fitting_tiles(head_dim)
]


def _pairs(specialization: Specialization) -> set[Any]:
    return set(itertools.combinations(enumerate(specialization), 2))


def _pairwise() -> list[Specialization]:
    """Choose specializations, each with most pairs that none before it has."""
    chosen: list[Specialization] = []
    uncovered_pairs = set[Any]().union(*map(_pairs, ALL))
    while uncovered_pairs:
        chosen.append(max(ALL, key=lambda candidate: len(_pairs(candidate) & uncovered_pairs)))
        uncovered_pairs -= _pairs(chosen[-1])
    return chosen


def _mark_tiers(all_cases: list[Any], chosen: list[Any]) -> list[Any]:
    """Leave to a campaign what is not chosen."""
    campaign_mark = pytest.mark.campaign
    return [
        case if case in chosen else pytest.param(case, marks=campaign_mark) for case in all_cases
    ]


def _make_ragged_case(dtype: mx.Dtype, head_dim: int, block: int, group: int) -> Case:
    lens = (1, block - 1, block, block + 1, 0, 2 * block + 3, 3 * block)
    return Case(dtype, head_dim, block, group, lens, 3)


def _row_bytes(case: Case) -> int:
    return sum(case.lens) * KV_HEADS * case.head_dim * case.dtype.size


def assert_right(case: Case, how: DecodePlan) -> None:
    """Run a call in every order of threads: it agrees, and loads what is modelled."""
    programs = compile_programs(traced(case, how))
    for order in ThreadOrder:
        result, statistics = run(case, how, programs, order)
        assert relative_error(case, result) <= BOUNDS[case.dtype]
        for name in ("k_pages", "v_pages"):
            moved = statistics.traffic[name]
            assert moved.loaded == how.rereads(case.group) * _row_bytes(case)
            assert moved.touched == _row_bytes(case)


def _name(specialization: Specialization) -> str:
    return "-".join(
        [str(specialization[0]).removeprefix("mlx.core."), *map(str, specialization[1:])]
    )


@pytest.mark.parametrize("made", _mark_tiers(ALL, _pairwise()), ids=_name)
def test_every_specialization_is_right(made: Specialization) -> None:
    dtype, head_dim, block, tile = made
    number = ALL.index(made)
    case = _make_ragged_case(dtype, head_dim, block, GROUPS[number % len(GROUPS)])
    how = plan(drawn(case), hd_tile=tile, threadgroup=64, partitions=1 + number % 2)
    assert_right(case, how)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kernel", ["per-head", "barriers"])
def test_other_kernels_load_each_row_for_every_head(kernel: Kernel, dtype: mx.Dtype) -> None:
    case = _make_ragged_case(dtype, 80, 16, 3)
    assert_right(case, plan(drawn(case), kernel=kernel))


@pytest.mark.parametrize("group", _mark_tiers([1, 2, 3, 4, 5, 7, 8], [1, 3, 4, 7, 8]))
def test_every_number_of_heads_with_many_tiles_of_a_simdgroup(group: int) -> None:
    case = Case(mx.float16, 128, 32, group, (96, 77, 40), 3)
    how = plan(drawn(case), threadgroup=32)
    assert how.heads == group
    result, statistics = run(case, how, compile_programs(traced(case, how)), ThreadOrder.RANDOM)
    assert relative_error(case, result) <= BOUNDS[case.dtype]
    assert statistics.traffic["v_pages"].loaded == _row_bytes(case)


@pytest.mark.parametrize(("kernel", "barriers"), [("grouped", 0), ("per-head", 0), ("barriers", 3)])
def test_barriers_of_a_token(kernel: Kernel, barriers: int) -> None:
    passed = []
    for length in (32, 48):
        case = Case(mx.float16, 80, 16, 3, (length,), 3)
        how = plan(drawn(case), kernel=kernel)
        _, statistics = run(case, how, compile_programs(traced(case, how)), ThreadOrder.ASCENDING)
        passed.append(statistics.barriers)
    groups = KV_HEADS if kernel == "grouped" else 3 * KV_HEADS
    assert passed[1] - passed[0] == 16 * barriers * groups


def test_scores_that_rise_by_much_are_rescaled() -> None:
    case = Case(mx.float32, 64, 16, 1, (48,), 3)
    problem, how = drawn(case), plan(drawn(case), threadgroup=32)
    keys, q = np.array(problem.k_pages), np.array(problem.q)
    for token in range(48):
        page = int(problem.block_tables[0, token // 16].item())
        keys[page, token % 16] = q[0, :2] * token
    result, _ = run(
        case, how, compile_programs(traced(case, how)), ThreadOrder.RANDOM, {"k_pages": keys}
    )
    last_value = np.array(problem.v_pages)[int(problem.block_tables[0, 2].item()), 15]
    assert np.abs(result[0] - last_value).max() < 0.05


MODEL = {"q_heads": 4, "kv_heads": 2, "head_dim": 64}


def test_two_block_sizes_and_two_tiles_are_four_pipelines() -> None:
    with emulation():
        names = prewarm(**MODEL, dtype=mx.float16, block_sizes=[32, 64], hd_tiles=[8, 16])
    decodes = [name for name in names if name.startswith("custom_kernel_paged_decode__")]
    threads = 3
    assert (len(decodes), len(names)) == (2 * 2 * threads, 2 * 2 * threads + 1)


def test_after_prewarming_the_hot_path_makes_no_kernel() -> None:
    with emulation() as log:
        names = prewarm(**MODEL, dtype=mx.float16, block_sizes=[16])
        kernel_count = specializations()
        assert {launch.kernel.function for launch in log} == names
        for lens in ([3], [16, 1], [5] * 9):
            problem = draw_problem(lens, **MODEL, block_size=16, max_blocks=1, dtype=mx.float16)
            for partitions in (1, 2, 3):
                how = plan(problem, partitions=partitions, cores=40)
                result = attend(problem, scale=0.125, how=how)
                assert result.shape == problem.q.shape, (lens, partitions)
        assert specializations() == kernel_count
        assert {launch.kernel.function for launch in log} == names
        # a kernel without tiles has one specialization for a size of pages
        (name,) = prewarm(**MODEL, dtype=mx.float16, block_sizes=[16], kernel="barriers")
    assert name.startswith("custom_kernel_paged_decode_barriers__")


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_there_is_nothing_to_compile() -> None:
    assert prewarm(**MODEL, dtype=mx.float16) == frozenset()
