"""A bench of subjects whose times are literal: order, ratios, failures, interrupts."""

import json
from typing import Any

import pytest

from bench_subjects import Hand, literal_subject
from tracekit.base import as_json
from tracekit.lab.bench.document import Bench, bench_document
from tracekit.lab.bench.inputs import Shape, Subject, Unavailable
from tracekit.lab.bench.measure import Effort, Settings, run_bench

SHAPE = Shape(batch=1, q_heads=2, kv_heads=1, head_dim=64, block_size=16, active_blocks=1)
EFFORT = Effort(warmup=2, repetitions=8, budget=1000)


def bench(hand: Hand, *subjects: Subject, against: str | None = None) -> Bench:
    settings = Settings(against=against, effort=EFFORT)
    return run_bench(SHAPE, settings, subjects=subjects, clock=hand.read)


def test_samples_are_what_the_clock_says_and_all_of_them_are_kept() -> None:
    hand = Hand()
    done = bench(hand, literal_subject(hand, "quick", 30_000_000))
    (row,) = done.rows
    assert row.state == "measured"
    assert row.micro is not None
    assert row.macro is not None
    assert (row.micro.samples, row.micro.calls) == ((30e6,) * 8, 1)
    assert row.macro.summary.median == 30e6
    assert row.tokens_per_s == pytest.approx(4 / 0.03)
    assert row.gb_per_s == pytest.approx(1000 / 30e6)
    assert row.intensity == 0.01


def test_rounds_cost_a_step_and_a_chain_and_fill_the_budget() -> None:
    hand = Hand()
    settings = Settings(effort=Effort(warmup=1, repetitions=100, budget=0.3))
    # a step of 10 ms, and a chain of two such calls
    subjects = [literal_subject(hand, "one", 10_000_000)]
    (row,) = run_bench(SHAPE, settings, subjects=subjects, clock=hand.read).rows
    assert row.micro is not None
    assert (row.micro.calls, row.micro.summary.count) == (2, 10)


def test_quick_calls_are_chained_and_their_time_divided() -> None:
    hand = Hand()
    (row,) = bench(hand, literal_subject(hand, "quick", 2_000_000)).rows
    assert row.micro is not None
    assert row.micro.calls == 10
    assert set(row.micro.samples) == {2e6}


def test_subjects_take_turns_forwards_and_backwards() -> None:
    hand = Hand()
    bench(hand, *(literal_subject(hand, name, 10_000_000) for name in "ABC"))
    warm = 3 * EFFORT.warmup
    assert "".join(hand.calls[:warm]) == "AABBCC"
    assert "".join(hand.calls[warm:]) == "ABCCBA" * 4


def test_speed_ups_are_against_the_naive_one_of_the_family() -> None:
    hand = Hand()
    done = bench(
        hand,
        literal_subject(hand, "fused", 10_000_000),
        literal_subject(hand, "naive", 40_000_000, naive=True),
        literal_subject(hand, "norm", 10_000_000, family="norm"),
    )
    fused, naive, norm = done.rows
    assert fused.speed_up is not None
    assert (fused.speed_up.other, fused.speed_up.median) == ("naive", 4.0)
    assert (fused.speed_up.low, fused.speed_up.high, fused.speed_up.pairs) == (4.0, 4.0, 8)
    assert naive.speed_up is None
    assert norm.speed_up is None


def test_against_compares_those_of_one_family_only() -> None:
    hand = Hand()
    done = bench(
        hand,
        literal_subject(hand, "paged", 20_000_000),
        literal_subject(hand, "sdpa", 10_000_000),
        literal_subject(hand, "norm", 10_000_000, family="norm"),
        against="sdpa",
    )
    paged, sdpa, norm = done.rows
    assert paged.against is not None
    assert paged.against.median == 0.5
    assert sdpa.against is None
    assert norm.against is None


def test_one_that_fails_on_its_way_keeps_its_samples() -> None:
    hand = Hand()
    done = bench(
        hand,
        literal_subject(hand, "broken", 10_000_000, fails_after=2 + 2),
        literal_subject(hand, "sound", 10_000_000),
    )
    broken, sound = done.rows
    assert broken.state == "partial"
    assert broken.micro is not None
    assert len(broken.micro.samples) == 2
    assert sound.micro is not None
    assert len(sound.micro.samples) == 8
    assert done.failures == ["broken"]


def test_one_that_cannot_be_prepared_is_a_failed_row() -> None:
    def prepare(_: Any) -> Any:
        raise MemoryError

    hand = Hand()
    done = bench(hand, Subject("huge", "attention", "decode", "", prepare))
    assert done.rows[0].reason == "MemoryError: no message"


def test_one_that_cannot_run_here_is_no_failure() -> None:
    def prepare(_: Any) -> Any:
        raise Unavailable("it needs Metal")

    done = bench(Hand(), Subject("metal", "attention", "decode", "", prepare))
    assert (done.rows[0].state, done.rows[0].reason) == ("unavailable", "it needs Metal")
    assert done.failures == []


def test_an_interrupt_keeps_what_was_measured() -> None:
    hand = Hand()
    done = bench(
        hand,
        literal_subject(hand, "first", 10_000_000, family="earlier"),
        literal_subject(hand, "second", 10_000_000),
        literal_subject(hand, "third", 10_000_000, fails_after=2 + 1, error=KeyboardInterrupt),
        literal_subject(hand, "never", 10_000_000, family="later"),
    )
    assert done.interrupted
    assert [row.name for row in done.rows] == ["first", "second", "third"]
    assert [row.state for row in done.rows] == ["measured", "partial", "partial"]
    second, third = done.rows[1].micro, done.rows[2].micro
    assert second is not None
    assert third is not None
    assert (len(second.samples), len(third.samples)) == (1, 1)
    assert done.rows[1].reason == "the bench was interrupted"
    assert done.failures == []
    assert json.loads(as_json(bench_document(done)))["interrupted"] is True


def test_a_clock_that_stands_still_gives_no_ratio() -> None:
    hand = Hand()
    done = bench(hand, literal_subject(hand, "A", 0), literal_subject(hand, "B", 0), against="B")
    assert done.rows[0].against is not None
    assert done.rows[0].against.reason == "a sample took no time that this clock can see"
    assert done.rows[0].gb_per_s is None
    assert done.rows[0].tokens_per_s is None
