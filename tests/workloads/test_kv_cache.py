import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from prepared_steps import prepared
from tracekit.base.errors import ToolError
from tracekit.base.tolerances import BOUNDS
from tracekit.tables.tables import Tables
from tracekit.workload.workload import REFERENCE, Step

SMALL = {
    "batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "prompt": 9, "max_tokens": 40,
    "grow_step": 8, "window": 12, "block_size": 4, "dtype": "float32",
}  # fmt: skip
prepare = partial(prepared, "kv-cache", **SMALL)
KINDS = ["growing", "sliding", "paged"]
TOKEN = 2 * 2 * 2 * 64 * 4  # K and V, sequences, heads, elements, bytes


def gauges(step: Step) -> dict[str, float]:
    """Make one step; return the levels after it."""
    step.wait(step.submit())
    assert step.tell is not None
    return {one.name: one.value for one in step.tell().gauges}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_steps_until_it_is_full_and_knows_its_errors(kind: str, dtype: str) -> None:
    step = prepare(kind=kind, dtype=dtype)
    assert 0 < step.results["max_error"] <= BOUNDS[dtype]
    step.begin()
    made = 0
    while not step.exhausted():
        step.wait(step.submit())
        made += 1
    assert made == 40 - 9 - 1
    found = step.finish()
    assert 0 < found["error_at_end"] <= BOUNDS[dtype]
    assert found["step_extra_memory"].reason == (
        "the sequences are full, so no step was left to measure"
    )


@pytest.mark.parametrize(
    ("kind", "tokens", "held"),
    [("growing", 20, 24), ("sliding", 12, 12), ("paged", 20, 20)],
)
def test_levels_say_what_each_kind_holds(kind: str, tokens: int, held: int) -> None:
    step = prepare(kind=kind)
    levels: dict[str, float] = {}
    for _ in range(10):
        levels = gauges(step)
    assert levels["tokens_held"] == 2 * tokens
    assert levels["bytes_held"] == held * TOKEN
    # From 9 tokens in room for 16 to 20 in room for 24.
    assert levels["bytes_copied"] == (16 * TOKEN if kind == "growing" else 0)


def test_a_full_window_has_a_model_and_a_growing_context_none() -> None:
    sliding = prepare(kind="sliding", prompt=12)
    query = 2 * 4 * 64 * 4
    assert sliding.bytes_unique == 12 * TOKEN + query
    assert sliding.bytes_written == TOKEN + query
    assert sliding.flops == 4 * 2 * 4 * 64 * 12
    for growing in (prepare(kind="growing"), prepare(kind="sliding"), prepare(kind="paged")):
        assert (growing.bytes_unique, growing.flops) == (0, 0)


def test_what_the_steps_read_is_summed() -> None:
    step = prepare(kind="growing")
    step.begin()
    for _ in range(3):
        step.wait(step.submit())
    found = step.finish()
    assert found["kv_read"].value == (11 + 12 + 13) * TOKEN
    assert found["kv_rate"].value > 0


def test_without_a_steady_step_nothing_is_claimed() -> None:
    step = prepare()
    step.begin()
    rate = step.finish()["kv_rate"]
    assert rate.value is None
    assert "full before" in rate.reason


@pytest.mark.parametrize("kind", ["growing", "sliding"])
def test_a_held_view_shows_in_the_memory_of_a_step(kind: str) -> None:
    share = {}
    for hold in (False, True):
        step = prepare(kind=kind, window=512, grow_step=512, max_tokens=600, hold_a_view=hold)
        step.begin()
        for _ in range(2):
            step.wait(step.submit())
        share[hold] = step.finish()["step_extra_memory_of_cache"].value
    assert share[False] < 0.2
    assert 1 <= share[True] < 1.5


def test_a_wrong_result_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mx.fast.scaled_dot_product_attention
    monkeypatch.setattr(
        mx.fast,
        "scaled_dot_product_attention",
        lambda *arrays, **options: right(*arrays, **options) + 0.01,
    )
    with pytest.raises(ToolError, match="Attention after 10 tokens is off by 0"):
        prepare()


@pytest.mark.processes
def test_a_capture_shows_growth(tracekit: Callable[..., Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    sizes = (
        "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --prompt 9 --grow-step 8 "
        "--max-tokens 100 --dtype float32 --warmup 2 --repeats 30"
    ).split()
    done = tracekit("capture", "--workload", "kv-cache", *sizes, "--output", run)
    assert done.code == 0, done.err
    tables = Tables(run / "exports", frozenset())
    assert set(tables["spans"]["name"]) - {REFERENCE} == {"grow"}
    held = tables["gauges"].query("name == 'bytes_held'")["value"]
    assert held.is_monotonic_increasing
    grown = held.diff().dropna()
    assert set(grown % (8 * TOKEN)) == {0}
    assert grown.sum() > 0
    told = {one["name"]: one for one in json.loads((run / "result.json").read_text())["results"]}
    assert told["bytes_per_token"]["value"] == TOKEN
    assert told["error_at_end"]["value"] < 1e-5
