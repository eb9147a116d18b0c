"""The workload `sdpa`: shapes, model, error, what contradicts."""

from functools import partial

import mlx.core as mx
import pytest

from prepared_steps import DECODE, prepared
from tracekit.base.tolerances import BOUNDS
from tracekit.workload.workload import measured

prepare = partial(prepared, "sdpa", **DECODE)

ROW = 2 * 2 * 64 * 2  # K and V of a token, 2 heads of 64 halves


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("ragged", [False, True])
def test_it_steps_and_knows_its_error(dtype: str, ragged: bool) -> None:
    step = prepare(dtype=dtype, ragged=ragged)
    out = step.submit()
    step.wait(out)
    assert out.shape == (2, 4, 1, 64)
    assert out.dtype == getattr(mx, dtype)
    error = measured(step.results)["max_error"].value
    assert error is not None
    assert 0 < error <= BOUNDS[dtype]


@pytest.mark.parametrize(("layout", "shape"), [("BHSD", (2, 4, 3, 64)), ("BSHD", (2, 3, 4, 64))])
def test_a_prefill_has_several_queries_in_either_layout(
    layout: str, shape: tuple[int, ...]
) -> None:
    step = prepare(queries=3, layout=layout, dtype="float32")
    assert step.submit().shape == shape
    assert step.tokens == 2 * 3


def test_it_states_what_a_step_does() -> None:
    step = prepare()
    assert step.tokens == 2
    assert step.bytes_unique == 2 * 16 * ROW + 2 * 4 * 64 * 2
    assert step.bytes_written == 2 * 4 * 64 * 2
    assert step.flops == 4 * 4 * 64 * 32
    assert measured(step.results)["padding"].value == 0


def test_of_a_prefill_only_the_pairs_that_are_seen_count() -> None:
    # the last 3 of 16 tokens see 14, 15 and 16
    assert prepare(queries=3).flops == 4 * 4 * 64 * 2 * (14 + 15 + 16)


def test_padding_is_told_and_read_and_not_needed() -> None:
    # with this seed the two contexts have unlike lengths
    step = prepare(ragged=True, seed=1)
    padding = measured(step.results)["padding"].value
    assert padding is not None
    assert 0 < padding < 0.5
    keys = step.flops // (4 * 4 * 64)
    longest = round(keys / (1 - padding)) // 2
    assert step.bytes_unique == keys * ROW + 2 * 4 * 64 * 2 + 2 * longest
    if step.backend == "cpu":
        assert step.bytes_read - step.bytes_unique == (2 * longest - keys) * ROW


def test_lengths_and_work_are_those_of_paged() -> None:
    paged = prepared("paged", **DECODE, ragged=True, seed=1)
    assert paged.flops == prepare(ragged=True, seed=1).flops
