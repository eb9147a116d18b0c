"""A bench of subjects whose times are literal: order, ratios, failures, interrupts, files."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bench_subjects import Hand
from tracekit.base import documents
from tracekit.base.errors import InputError
from tracekit.base.verdicts import Verdict
from tracekit.lab.bench.document import (
    Bench,
    BenchRow,
    SubjectRatio,
    Timing,
    bench_document,
    calls_of,
    columns,
    rounds_of,
    save,
    summarize,
)
from tracekit.lab.bench.inputs import Shape, Subject, SubjectUnavailable
from tracekit.lab.bench.measure import Effort
from tracekit.lab.bench.run import Settings, run_bench
from tracekit.lab.bench.tune import Candidate, candidates, rank_rows, tune
from tracekit.lab.metal_queue import Dispatch
from tracekit.machine.sources import CpuTime

SHAPE = Shape(batch=4, q_heads=8, kv_heads=2, head_dim=64, block_size=16, active_blocks=1)
EFFORT = Effort(warmup=2, repetitions=8, budget=1000)
MS = 1_000_000
T = TypeVar("T")


def require(value: T | None) -> T:
    assert value is not None
    return value


def count_no_cpu_time() -> CpuTime:
    return CpuTime(0.0, 0.0, 0.0)


def bench(
    hand: Hand, *subjects: Subject, against: str | None = None, effort: Effort = EFFORT
) -> Bench:
    settings = Settings(against=against, effort=effort)
    return run_bench(SHAPE, settings, subjects=subjects, clock=hand.read, count=count_no_cpu_time)


def test_ten_samples_in_numbers() -> None:
    summary = summarize([10.0, 12.0, 11.0, 13.0, 100.0, 12.0, 11.0, 12.0, 10.0, 9.0])
    assert (summary.count, summary.mean) == (10, pytest.approx(20.0))
    assert summary.std == pytest.approx(28.1345, abs=1e-3)
    assert (summary.min, summary.median, summary.p50, summary.max) == (9.0, 11.5, 11.5, 100.0)
    assert (
        summary.mad == 1.0
    )  # distances from 11.5: 0.5 six times, 1.5 three times less 2.5 and 88.5
    assert (summary.filtered_out, summary.filtered_mean) == (1, pytest.approx(100 / 9))
    assert summary.p95 == pytest.approx(13 + 0.55 * 87)
    edge = summarize([8.0, 12.0, *[10.0] * 7])  # its deviation is 1
    assert (edge.std, edge.filtered_out) == (1.0, 0)
    single_sample = summarize([7.0])
    assert (
        single_sample.std,
        single_sample.median,
        single_sample.mad,
        single_sample.p99,
        single_sample.filtered_mean,
    ) == (None, 7.0, 0.0, 7.0, 7.0)
    for samples in ([], [1.0, float("nan")], [float("inf")]):
        with pytest.raises(InputError, match="finite number"):
            summarize(samples)


def test_a_sample_has_as_many_calls_as_make_twenty_milliseconds() -> None:
    durations = (0.0, 100_000.0, 1_000_000.0, 6_000_001.0, 5e9)
    assert [calls_of(duration) for duration in durations] == [64, 64, 20, 4, 1]


def test_rounds_share_the_budget_and_are_enough_for_an_interval() -> None:
    for budget, costs, max_rounds, rounds in (
        (1e9, [1e7, 1e7], 1000, 100),
        (1e9, [1e7, 9e7], 1000, 20),
        (1e9, [1e7, 1e7], 50, 50),
        (1e6, [5e9], 100, 6),
        (1e6, [5e9], 2, 2),
        (1e9, [], 10, 6),
    ):
        assert rounds_of(budget, costs, max_rounds) == rounds


def test_samples_follow_the_clock_and_all_are_kept() -> None:
    hand = Hand()
    (row,) = bench(hand, hand.subject("slow", 30 * MS)).rows
    assert (row.state, require(row.micro).samples, require(row.micro).calls) == (
        "measured",
        (30e6,) * 8,
        1,
    )
    assert require(row.macro).summary.median == 30e6
    rates = (row.tokens_per_s, row.gb_per_s, row.intensity)
    assert rates == pytest.approx((4 / 0.03, 1000 / 30e6, 0.01))
    (row,) = bench(hand, hand.subject("quick", 2 * MS)).rows
    assert (require(row.micro).calls, set(require(row.micro).samples)) == (10, {2e6})
    # a step of 10 ms, and a chain of two such calls
    effort = Effort(warmup=1, repetitions=100, budget=0.3)
    (row,) = bench(hand, hand.subject("one", 10 * MS), effort=effort).rows
    assert (require(row.micro).calls, require(row.micro).summary.count) == (2, 10)


def test_subjects_take_turns_forwards_and_backwards() -> None:
    hand = Hand()
    bench(hand, *(hand.subject(name, 10 * MS) for name in "ABC"))
    of_memory = "AAAAABBBBBCCCCC"
    assert "".join(hand.calls) == "AABBCC" + "ABCCBA" * 4 + of_memory


def test_ratios_are_of_those_of_one_family_only() -> None:
    hand = Hand()
    done = bench(
        hand,
        hand.subject("fused", 10 * MS),
        hand.subject("naive", 40 * MS, naive=True),
        hand.subject("norm", 10 * MS, family="norm"),
        against="fused",
    )
    fused, naive, norm = done.rows
    assert fused.speed_up == SubjectRatio("naive", 4.0, 4.0, 4.0, 8)
    judged = SubjectRatio("fused", 0.25, 0.25, 0.25, 8, verdict=Verdict.WORSE, threshold=0.03)
    assert naive.against == judged
    assert (naive.speed_up, norm.speed_up) == (None, None)
    assert (fused.against, norm.against) == (None, None)
    instant_bench = bench(hand, hand.subject("A", 0), hand.subject("B", 0), against="B")
    assert (
        require(instant_bench.rows[0].against).reason
        == "a sample took no time that this clock can see"
    )
    assert (instant_bench.rows[0].gb_per_s, instant_bench.rows[0].tokens_per_s) == (None, None)


def raising(error: BaseException) -> Subject:
    def prepare(_: Any) -> Any:
        raise error

    return Subject("raises", "attention", "decode", "", prepare)


def test_one_that_fails_ends_no_other() -> None:
    hand = Hand()
    broken, sound, huge = bench(
        hand,
        hand.subject("broken", 10 * MS, fails_after=2 + 2),
        hand.subject("sound", 10 * MS),
        raising(MemoryError()),
    ).rows
    assert (
        broken.state,
        len(require(broken.micro).samples),
        len(require(sound.micro).samples),
    ) == ("partial", 2, 8)
    assert (huge.state, huge.reason) == ("failed", "MemoryError: no message")
    done = bench(hand, raising(SubjectUnavailable("it needs Metal")))
    assert (done.rows[0].state, done.rows[0].reason) == ("unavailable", "it needs Metal")
    assert done.failures == []
    against = bench(hand, raising(ValueError()), hand.subject("A", MS), against="raises")
    assert require(against.rows[1].against).reason == "raises was not measured"
    assert against.failures == ["raises"]


def test_an_interrupt_keeps_measured_samples() -> None:
    hand = Hand()
    done = bench(
        hand,
        hand.subject("first", 10 * MS, family="earlier"),
        hand.subject("second", 10 * MS),
        hand.subject("third", 10 * MS, fails_after=2 + 1, error=KeyboardInterrupt),
        hand.subject("never", 10 * MS, family="later"),
    )
    assert done.interrupted
    assert [(row.name, row.state, len(require(row.micro).samples)) for row in done.rows] == [
        *(("first", "measured", 8), ("second", "partial", 1), ("third", "partial", 1))
    ]
    assert (done.rows[1].reason, done.failures) == ("the bench was interrupted", [])
    assert json.loads(documents.encode_json(bench_document(done)))["interrupted"] is True


@pytest.fixture
def done() -> Bench:
    hand = Hand()
    subjects = [
        hand.subject("paged", 10 * MS, paged=True),
        hand.subject("naive", 40 * MS, naive=True),
        hand.subject("broken", 1, fails_after=0),
        hand.subject("norm-separate", 10 * MS, family="norm"),
    ]
    finished_bench = bench(hand, *subjects, against="naive", effort=Effort(1, 8, 1000))
    # which cache there is depends on the machine
    return replace(
        finished_bench, rows=[replace(row, residence="memory") for row in finished_bench.rows]
    )


def test_files_have_every_subject_and_sample(
    done: Bench, tmp_path: Path, golden: Callable[..., None]
) -> None:
    save(done, tmp_path / "bench.csv")
    golden("bench.csv", (tmp_path / "bench.csv").read_text())
    save(done, tmp_path / "new" / "bench.json")
    document = json.loads((tmp_path / "new" / "bench.json").read_text())
    environment, started = document.pop("environment"), document.pop("started")
    assert environment["machine"]["python"]
    assert datetime.fromisoformat(started).tzinfo is UTC
    golden("bench.json", json.dumps(document, indent=1) + "\n")


def test_gpu_time_has_its_column_and_the_limits_of_its_pipeline() -> None:
    dispatch = Dispatch("decode", (5e4,), 5e4, 5e4, 32, 1024, 2176)
    row = BenchRow("paged", "decode", "measured", threadgroup=256, dispatches=(dispatch, dispatch))
    line = columns(row, SHAPE)
    assert line["gpu_ms"] == pytest.approx(0.1)
    limits = ("TG_SIZE", "execution_width", "most_threads", "threadgroup_memory")
    assert [line[name] for name in limits] == [256, 32, 1024, 2176]


def test_swept_sizes_keep_the_context() -> None:
    four, three = replace(SHAPE, active_blocks=4), replace(SHAPE, active_blocks=3)
    odd = replace(three, block_size=5)
    names = [
        [candidate.name for candidate in candidates(shape, "cpu")] for shape in (four, three, odd)
    ]
    assert names == [["block 16", "block 32", "block 64"], ["block 16"], ["block 5"]]
    swept = candidates(Shape(block_size=32, active_blocks=32), "metal")
    assert len({candidate.name for candidate in swept}) == len(swept) == 3 * 4 * 3 * 4
    assert "block 32, TG 256, HD_TILE 8, partitions 4" in {candidate.name for candidate in swept}
    assert {candidate.choice.kernel for candidate in swept} == {"grouped"}
    # a short context is not split into less than a page
    assert {candidate.choice.partitions for candidate in candidates(four, "metal")} == {1, 2, 4}


@pytest.mark.parametrize(
    ("near", "median", "tied"),
    [
        ([30] * 8, 3.0, False),
        ([9, 11, 12, 9, 11, 12, 11, 9], 1.1, True),
        ([10] * 8, 1.0, True),  # an interval that begins at one
        ([30] * 5, 3.0, True),  # too few for an interval
    ],
)
def test_launches_are_ranked_by_their_median(near: list[float], median: float, tied: bool) -> None:
    samples = {"near": near, "quick": [10] * 8}
    rows = [
        BenchRow(name, "decode", "measured", micro=Timing(times, 1, summarize(times)))
        for name, times in samples.items()
    ]
    fastest, second = rank_rows(rows, dict.fromkeys(samples, Candidate(16)))
    if median > 1:
        assert (fastest.row.name, second.row.name) == ("quick", "near")
    assert (fastest.behind, fastest.tied) == (None, False)
    assert (require(second.behind).median, second.tied) == (median, tied)


def test_a_stopped_sweep_keeps_its_samples_and_takes_no_gpu_time() -> None:
    reads = itertools.count()

    def clock() -> int:
        number = next(reads)
        if number > 9:  # 4 to warm up, 4 of a round, and into the next one
            raise KeyboardInterrupt
        return number * 20 * MS

    done = tune(
        SHAPE,
        Effort(1, 6, 1000),
        chosen_candidates=[Candidate(16)],
        clock=clock,
        count=count_no_cpu_time,
    )
    assert done.interrupted
    (row,) = (ranked_launch.row for ranked_launch in done.ranked)
    # no time of a GPU was asked for: that would say why there is none
    reason = "the bench was interrupted"
    assert (row.state, row.reason, row.no_gpu, row.block_size) == ("partial", reason, reason, 16)
    assert (len(require(row.micro).samples), row.dispatches) == (1, ())
