"""Sweeps: what is swept, how it is ranked, and what a tie is."""

import itertools

import mlx.core as mx
import pytest

from tracekit.lab.bench import measure
from tracekit.lab.bench.document import Row, Timing, summarize
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.measure import Effort
from tracekit.lab.bench.tune import (
    Candidate,
    Ranked,
    candidates,
    ranked,
    tune,
)

SHAPE = Shape(batch=1, q_heads=2, kv_heads=1, head_dim=64, block_size=16, active_blocks=4)
on_the_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="MLX has Metal here")


def row(name: str, *samples: float) -> Row:
    timing = Timing(samples, 1, summarize(samples))
    return Row(name, "decode", "measured", micro=timing, macro=timing)


def standing(*rows: Row) -> dict[str, Ranked]:
    found = ranked(rows, {one.name: Candidate(16) for one in rows})
    return {one.row.name: one for one in found}


def test_without_metal_only_the_size_of_a_page_is_swept() -> None:
    assert [one.name for one in candidates(SHAPE, "cpu")] == ["block 16", "block 32", "block 64"]


def test_a_page_that_does_not_divide_the_context_is_left_out() -> None:
    odd = Shape(batch=1, block_size=16, active_blocks=3)
    assert [one.block_size for one in candidates(odd, "cpu")] == [16]
    none = Shape(batch=1, block_size=5, active_blocks=3)
    assert [one.block_size for one in candidates(none, "cpu")] == [5]


def test_on_metal_every_combination_is_swept() -> None:
    swept = candidates(Shape(block_size=32, active_blocks=32), "metal")
    assert len({one.name for one in swept}) == len(swept) == 3 * 4 * 2 * 4
    assert "block 32, TG 256, HD_TILE 8, partitions 4" in {one.name for one in swept}
    assert {one.choice.kernel for one in swept} == {"grouped"}


def test_a_short_context_is_not_split_into_less_than_a_page() -> None:
    swept = candidates(SHAPE, "metal")
    assert {one.choice.partitions for one in swept} == {1, 2, 4}


def test_launches_are_ranked_by_their_median() -> None:
    found = standing(row("slow", *[30.0] * 8), row("quick", *[10.0] * 8), row("mid", *[20.0] * 8))
    assert list(found) == ["quick", "mid", "slow"]
    assert found["quick"].behind is None
    slow = found["slow"].behind
    assert slow is not None
    assert (slow.median, slow.low, slow.high) == (3.0, 3.0, 3.0)
    assert not found["slow"].tied


def test_a_launch_whose_interval_holds_one_is_a_tie() -> None:
    quick = row("quick", 10, 10, 10, 10, 10, 10, 10, 10)
    near = row("near", 9, 11, 12, 9, 11, 12, 11, 9)
    found = standing(quick, near)
    assert found["near"].tied
    behind = found["near"].behind
    assert behind is not None
    assert behind.low is not None
    assert behind.low < 1


def test_an_interval_that_begins_at_one_is_a_tie() -> None:
    assert standing(row("quick", *[10] * 8), row("near", *[10] * 8))["near"].tied


def test_a_stopped_sweep_keeps_its_samples_and_takes_no_gpu_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_gpu: list[object] = []
    monkeypatch.setattr(measure, "gpu_times", asked_gpu.append)
    reads = itertools.count()

    def clock() -> int:
        number = next(reads)
        if number > 9:  # 4 to warm up, 4 of a round, and into the next one
            raise KeyboardInterrupt
        return number * 20_000_000

    done = tune(SHAPE, Effort(1, 6, 1000), asked=[Candidate(16)], clock=clock)
    assert done.interrupted
    (row,) = (one.row for one in done.ranked)
    assert (row.state, row.reason, row.block_size) == ("partial", "the bench was interrupted", 16)
    assert row.micro is not None
    assert len(row.micro.samples) == 1
    assert asked_gpu == []
