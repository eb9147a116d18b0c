"""The grid: what is in it, its names, and what lies past the end of a sequence."""

import mlx.core as mx
import numpy as np
import pytest

from tracekit.lab.parity import GRID, Case, Heads


def test_names_are_unique_and_say_what_a_case_is() -> None:
    assert len({one.name for one in GRID}) == len(GRID)
    case = Case("float16", 128, 32, Heads(6, 2), "edges")
    assert case.name == "float16-d128-b32-q6-kv2-edges"


def test_the_short_grid_has_every_type_and_every_kind_of_lengths() -> None:
    quick = [one for one in GRID if one.quick]
    kinds = {"ragged", "one", "full", "edges", "empty", "seven", "eight", "long"}
    assert {(one.dtype, one.lengths) for one in quick} == {
        (dtype, kind) for dtype in ("float32", "float16", "bfloat16") for kind in kinds
    }
    assert len(quick) == 27


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_everything_past_an_end_is_not_a_number_and_nothing_else(dtype: str) -> None:
    case = Case(dtype, 64, 16, lengths="edges")
    problem = case.problem(0)
    tables = np.array(problem.block_tables)
    for pages in (problem.k_pages, problem.v_pages):
        nan = np.array(mx.isnan(pages))
        for table, length in zip(tables, case.lens, strict=True):
            rows = nan[table].reshape(-1, 2, 64)
            assert not rows[:length].any()
            assert rows[length:].all()
