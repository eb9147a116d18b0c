"""The workload `kv-cache`: what each kind of cache holds, reads and copies, and its errors."""

from functools import partial

import pytest

from prepared_steps import prepare_step
from tracekit.base.tolerances import BOUNDS
from tracekit.workload.workload import Step

SMALL = {
    "batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "prompt": 9, "max_tokens": 40,
    "grow_step": 8, "window": 12, "block_size": 4, "dtype": "float32",
}  # fmt: skip
prepare = partial(prepare_step, "kv-cache", **SMALL)
TOKEN = 2 * 2 * 2 * 64 * 4  # K and V, sequences, heads, elements, bytes


def run(step: Step, steps: int) -> dict[str, float]:
    for _ in range(steps):
        step.wait(step.submit())
        levels = {gauge.name: gauge.value for gauge in step.tell().gauges}
    return levels


@pytest.mark.parametrize(
    ("kind", "dtype"), [("growing", "float16"), ("sliding", "bfloat16"), ("paged", "float32")]
)
def test_it_steps_until_it_is_full_and_knows_its_errors(kind: str, dtype: str) -> None:
    step = prepare(kind=kind, dtype=dtype)
    assert 0 < step.results["max_error"] <= BOUNDS[dtype]
    step.begin()
    run(step, 40 - 9 - 2)
    assert not step.exhausted()
    run(step, 1)
    assert step.exhausted()
    results = step.finish()
    assert 0 < results["error_at_end"] <= BOUNDS[dtype]
    assert "no step was left to measure" in results["step_extra_memory"].reason


def test_levels_describe_each_kind() -> None:
    step = prepare(kind="growing")
    assert step.results["bytes_per_token"].value == TOKEN
    # from 9 tokens in room for 16 to 20 in room for 24
    growing = {"tokens_held": 2 * 20, "bytes_held": 24 * TOKEN, "bytes_copied": 16 * TOKEN}
    assert run(step, 10) == growing
    for kind, tokens in (("sliding", 12), ("paged", 20)):
        expected_levels = {
            "tokens_held": 2 * tokens,
            "bytes_held": tokens * TOKEN,
            "bytes_copied": 0,
        }
        assert run(prepare(kind=kind), 10) == expected_levels


def test_a_full_window_has_a_model_and_a_growing_context_none() -> None:
    sliding, query = prepare(kind="sliding", prompt=12), 2 * 4 * 64 * 4
    assert (sliding.bytes_unique, sliding.bytes_written) == (12 * TOKEN + query, TOKEN + query)
    assert sliding.flops == 4 * 2 * 4 * 64 * 12
    for kind in ("growing", "sliding", "paged"):
        assert (prepare(kind=kind).bytes_unique, prepare(kind=kind).flops) == (0, 0), kind


def test_bytes_read_by_the_steps_are_summed() -> None:
    step = prepare(kind="sliding")
    step.begin()
    rate = step.finish()["kv_rate"]  # without a steady step nothing is claimed
    assert (rate.value, "full before" in rate.reason) == (None, True)
    run(step, 3)
    results = step.finish()
    assert results["kv_read"].value == (11 + 12 + 12) * TOKEN  # the window has 12
    assert results["kv_rate"].value > 0


@pytest.mark.parametrize("kind", ["growing", "sliding"])
def test_a_held_view_shows_in_the_memory_of_a_step(kind: str) -> None:
    share = {}
    for hold in (False, True):
        step = prepare(kind=kind, window=512, grow_step=512, max_tokens=600, hold_a_view=hold)
        step.begin()
        run(step, 2)
        share[hold] = step.finish()["step_extra_memory_of_cache"].value
    assert share[False] < 0.2
    assert 1 <= share[True] < 1.5
