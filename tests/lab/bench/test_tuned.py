"""The launches of a sweep are remembered, and taken for exactly the same."""

from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import pytest

from tracekit.lab.bench.document import BenchRow, Timing, summarize
from tracekit.lab.bench.inputs import Launch, Shape
from tracekit.lab.bench.tune import Candidate, Ranked, Tuning, remember_tuning
from tracekit.lab.bench.words import tuning_remarks
from tracekit.ops import planning
from tracekit.ops.attention import tuned
from tracekit.ops.attention.problem import DecodeProblem, draw_problem

SHAPE = Shape(batch=3, q_heads=4, kv_heads=2, head_dim=64, block_size=16, active_blocks=6)
FAST = Launch("grouped", 16, 128, 2)


def ranked(block_size: int, choice: Launch, samples: int = 6, disturbed: str = "") -> Ranked:
    timing = Timing((1e6,) * samples, 1, summarize((1e6,) * samples))
    row = BenchRow("", "decode", "measured", micro=timing, disturbed=disturbed)
    return Ranked(Candidate(block_size, choice), row, None, tied=False)


def sweep(*entries: Ranked, interrupted: bool = False) -> Tuning:
    return Tuning(SHAPE, entries, (), None, interrupted=interrupted)


def problem(batch: int = 3, tokens: int = 96, dtype: mx.Dtype = mx.float16) -> DecodeProblem:
    return draw_problem(
        [tokens] * batch, q_heads=4, kv_heads=2, head_dim=64, block_size=16,
        max_blocks=8, dtype=dtype,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(tuned, "_surroundings", lambda: ("Apple M4 Max", 40, "0.32.4", "12ab34cd"))
    return tmp_path


def test_a_launch_is_taken_for_exactly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    default = planning.plan(problem(), longest=96)
    slow = Launch("grouped", 4, 256, 1)
    kept = remember_tuning(sweep(ranked(16, FAST), ranked(16, slow), ranked(32, slow)))
    assert [launch.key.block_size for launch in kept.remembered] == [16, 32]
    launch = planning.plan(problem(), longest=96)
    assert (launch.hd_tile, launch.threadgroup, launch.partitions) == (16, 128, 2)
    assert planning.plan(problem(4, 128), longest=128) == launch  # of the same class
    others = {
        "batch": planning.plan(problem(5), longest=96),
        "context": planning.plan(problem(3, 40), longest=40),
        "dtype": planning.plan(problem(dtype=mx.float32), longest=96),
        "choice": planning.plan(problem(), longest=96, threadgroup=default.threadgroup),
    }
    for name, other in others.items():
        assert other.partitions == default.partitions == 1, name
    for place, changed in enumerate(("Apple M4", 32, "0.33.0", "12ab34ce")):
        facts = ["Apple M4 Max", 40, "0.32.4", "12ab34cd"]
        facts[place] = changed
        monkeypatch.setattr(tuned, "_surroundings", lambda facts=tuple(facts): facts)
        assert planning.plan(problem(), longest=96) == default, changed


def test_a_sweep_names_the_launches_that_it_remembers() -> None:
    kept = remember_tuning(sweep(ranked(16, FAST)))
    assert list(tuning_remarks(kept))[1] == (
        "Remembered for Apple M4 Max, MLX 0.32.4, kernel 12ab34cd, float16, batch 3 to 4, "
        "context 65 to 128, 4 and 2 heads of 64, block 16: TG 128, HD_TILE 16, partitions 2. "
        "paged_attention takes it for these alone."
    )


def test_a_later_sweep_replaces_only_its_own_keys() -> None:
    remember_tuning(sweep(ranked(16, FAST), ranked(32, FAST)))
    remember_tuning(sweep(ranked(16, replace(FAST, threadgroup=256))))
    assert planning.plan(problem(), longest=96).threadgroup == 256
    assert len(tuned._read(tuned._path())) == 2


@pytest.mark.parametrize(
    ("tuning", "reason"),
    [
        (sweep(ranked(16, FAST), interrupted=True), "it was interrupted"),
        (sweep(), "no launch was measured"),
        (sweep(ranked(16, FAST, samples=5)), "a launch has fewer than 6 samples"),
        (sweep(ranked(16, FAST, disturbed="others used 2 cores")), "others used 2 cores meanwhile"),
    ],
)
def test_a_measurement_that_does_not_count_is_not_remembered(
    tuning: Tuning, reason: str, notes: Path
) -> None:
    kept = remember_tuning(tuning)
    assert (kept.remembered, kept.forgotten) == ((), reason)
    assert f"Not remembered: {reason}." in list(tuning_remarks(kept))
    assert list(notes.iterdir()) == []


def test_a_damaged_file_has_no_launches(notes: Path) -> None:
    (notes / "tuned.json").write_text("{")
    default = planning.plan(problem(), longest=96)
    assert default.partitions == 1
    remember_tuning(sweep(ranked(16, FAST)))
    assert planning.plan(problem(), longest=96).partitions == 2
