"""Sums over gaps, the windows to show, what samples of threads tell, and what to do about it."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from analysed import table
from tracekit.analysis.idle.cause import CAUSES, Cause
from tracekit.analysis.idle.levers import Habits, by_mechanism, mechanism, second_lever
from tracekit.analysis.idle.samples import host_words, other_thread
from tracekit.analysis.idle.sums import (
    by_cause,
    gaps_of,
    gaps_of_waits,
    host_time_without_wait,
    idle_time,
    loaded_time,
    longest_gaps,
)
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Evidence

GAPS = table(
    "start duration gap party cause waited during",
    (0, 60, 0, "way-back", "way-back", "yes", "admit"),
    (60, 40, 0, "way-there", "driver", "yes", "driver"),
    (200, 500, 1, "way-there", "late-start", "unknown", ""),
    (700, 50, 1, "way-there", "other-process", "unknown", "admit"),
    (900, 30, 2, "unknown", "unattributed", "unknown", "retire"),
    (950, 20, 3, "host", "encoding", "no", "encoding"),
    (970, 10, 3, "way-there", "start-latency", "no", ""),
    unit=1,
)


def test_every_cause_has_a_sum_and_all_sums_are_the_idle_time() -> None:
    sums = by_cause(GAPS)
    assert list(sums) == list(Cause) == list(CAUSES)
    assert sums[Cause.LATE_START] == 500
    assert sums[Cause.COMPILE] == 0
    assert sum(sums.values()) == idle_time(GAPS) == 710


def test_gaps_are_chosen_by_cause_or_by_the_wait_before_them() -> None:
    late = gaps_of(GAPS, Cause.LATE_START)
    assert (late.starts.tolist(), late.ends.tolist(), late.lost_times.tolist()) == (
        [200],
        [750],
        [500],
    )
    waited = gaps_of_waits(GAPS, "yes")
    assert (waited.starts.tolist(), waited.ends.tolist(), waited.time) == ([0], [100], 100)
    assert gaps_of_waits(GAPS, "unknown").count == 0  # no turn of the host is in them
    went_on = host_time_without_wait(GAPS)
    assert (went_on.starts.tolist(), went_on.ends.tolist(), went_on.time) == ([950], [980], 20)
    no_gaps = gaps_of(GAPS, Cause.WIRING)
    assert (no_gaps.count, no_gaps.time, no_gaps.median) == (0, 0, 0.0)
    assert loaded_time(pd.DataFrame({"start": [0, 9], "duration": [5, 6]})) == 11


def test_the_longest_gaps_are_shown_whole_with_their_causes() -> None:
    assert longest_gaps(GAPS) == (
        Evidence("gpu_intervals", 200, 750, "late start"),
        Evidence("gpu_intervals", 0, 100, "way back 60.0 %, driver 40.0 %"),
        Evidence("gpu_intervals", 900, 930, "unattributed"),
        Evidence("gpu_intervals", 950, 980, "host encoding 66.7 %, start latency 33.3 %"),
    )


ALL = Habits(1.0, 1.0)
WAIT, ENCODING, WIRING = Cause.HOST, Cause.ENCODING, Cause.WIRING


@pytest.mark.parametrize(
    ("cause", "habits", "expected"),
    [
        (WAIT, {"waits": 0.04}, "host-elsewhere"),
        (WAIT, {"waits": 0.59}, "periodic-wait"),
        (WAIT, {"waits": 0.6}, "wait-each-iteration"),
        (WAIT, {"waits": 1.5}, "wait-each-iteration"),
        (WAIT, {"waits": 1.51}, "several-waits"),
        (WAIT, {"waits": None}, "wait-each-iteration"),
        (WAIT, {"host_longer": True}, "host-after-wait"),
        (ENCODING, {"host_longer": True}, "host-after-wait"),
        (ENCODING, {"waits": 0.0, "buffers": 1.5}, "commit-earlier"),
        (ENCODING, {"waits": 0.0, "buffers": 1.51}, "host-encodes"),
        (ENCODING, {"waits": 0.0, "buffers": None}, "host-encodes"),
        (Cause.REPORT, {"small_work": True}, "round-trips"),
        (Cause.START, {"small_work": True}, "round-trips"),
        (Cause.REPORT, {"small_work": True, "waits": 0.59}, "periodic-wait"),
        (Cause.REPORT, {"small_work": True, "waits": 1.51}, "several-waits"),
        (WIRING, {"lost_wiring": True}, "wiring-lost"),
        (WIRING, {"lost_wiring": False}, "wiring-allocations"),
        (WIRING, {"lost_wiring": None}, "wiring"),
        (Cause.LATE_START, {"other_stream": False}, "late-start"),
        (Cause.LATE_START, {"other_stream": True}, "other-stream"),
    ],
)
def test_the_mechanism_behind_a_cause_depends_on_habits(
    cause: Cause, habits: dict[str, Any], expected: str
) -> None:
    assert mechanism(cause, replace(ALL, **habits)) == expected


def test_more_in_flight_is_advised_only_after_the_queue_ran_empty() -> None:
    in_flight = {Mechanism.WAIT_EACH_ITERATION, Mechanism.ROUND_TRIPS, Mechanism.HOST_AFTER_WAIT}
    turns = {Cause.START, Cause.REPORT, Cause.HOST, Cause.ENCODING}
    for cause in Cause:
        assert (mechanism(cause, ALL) in in_flight) == (cause in turns), cause


def test_causes_of_one_mechanism_are_summed_up() -> None:
    shares = {Cause.START: 40, Cause.DRIVER: 50, Cause.REPORT: 30}
    assert list(by_mechanism(shares, ALL).items()) == [
        (Mechanism.WAIT_EACH_ITERATION, 70),
        (Mechanism.DRIVER_WORK, 50),
    ]


def test_twenty_samples_of_the_busiest_thread_name_the_hosts_work() -> None:
    for rows, words in (
        ([("main", "f", 19)], ""),
        ([("main", "f", 20)], " Meanwhile, of 20 samples of main, 100.0 % in f."),
        ([("main", "", 20)], ""),
        ([("main", "", 1), ("main", "f", 19)], " Meanwhile, of 20 samples of main, 95.0 %"),
        (
            [("b", "g", 15), ("a", "f", 10), ("a", "h", 9), ("a", "i", 1)],
            " Meanwhile, of 20 samples of a, 50.0 % in f and 45.0 % in h.",
        ),
    ):
        samples = pd.DataFrame(rows, columns=["thread", "function", "samples"])
        assert host_words(samples).startswith(words), rows
        assert bool(host_words(samples)) == bool(words), rows
        assert (host_words(None), host_words(samples[:0])) == ("", ""), rows


def test_a_thread_that_commits_nothing_is_at_work_while_starts_are_late(
    subtests: pytest.Subtests,
) -> None:
    for number, weight, tid, at_work in (
        (20, 0.51, 2, True),
        (20, 0.5, 2, False),  # half of the time in which committed work waits
        (19, 0.9, 2, False),
        (20, 0.9, 1, False),  # the thread that commits
    ):
        with subtests.test(number=number, weight=weight):
            gaps = table(
                "start duration cause", (0, 20, "late-start"), (30, 9, "driver"), unit=1_000
            )
            cells = {"target": True, "weight": round(weight * 20_000 / number)}
            rows_in_gap = [(time, tid) for time in range(number)]
            rows_elsewhere = [(time + 30, 3) for time in range(number)]  # in another gap
            samples = table("time tid", *rows_in_gap, *rows_elsewhere, unit=1_000, **cells)
            sent = pd.DataFrame({"tid": [1, 2], "target": [True, False]})
            assert other_thread(gaps, samples, sent) == at_work
            assert not other_thread(gaps, None, sent)
            assert not other_thread(gaps, samples, sent.drop(columns="tid"))


def test_a_second_lever_is_that_of_the_rest_or_one_that_fits_the_same_facts() -> None:
    waits = Habits(1.0, 1.0, until_encoding=400_000)
    host = {Cause.HOST: 70, Cause.REPORT: 30}
    assert second_lever(Mechanism.WAIT_EACH_ITERATION, host, waits) is Mechanism.SLOW_WAIT
    # A host that takes long, or is seen at work, is no thread that is woken late.
    for habits in (
        replace(waits, until_encoding=9_000_000),
        replace(waits, host_activity="It sorts."),
    ):
        assert second_lever(Mechanism.WAIT_EACH_ITERATION, host, habits) is None
    driver = {Cause.DRIVER: 60, Cause.HOST: 40}
    assert second_lever(Mechanism.DRIVER_WORK, driver, waits) is Mechanism.WAIT_EACH_ITERATION
    little = {Cause.DRIVER: 80, Cause.HOST: 20}
    assert second_lever(Mechanism.DRIVER_WORK, little, waits) is None


def test_launches_that_wait_for_one_another_are_round_trips() -> None:
    short = Habits(1.0, 1.0, host_longer=True, period=450_000, idle=0.8)
    assert mechanism(Cause.HOST, short) is Mechanism.ROUND_TRIPS
    for habits in (replace(short, period=7e6), replace(short, idle=0.3)):
        assert mechanism(Cause.HOST, habits) is Mechanism.HOST_AFTER_WAIT


def test_a_host_that_encodes_all_the_time_sets_the_pace() -> None:
    habits = Habits(1.0, 1.0, encoding=0.9)
    assert mechanism(Cause.START, habits) is Mechanism.HOST_ENCODES
    apart = replace(habits, small_buffers=True, apart=True)
    assert mechanism(Cause.START, apart) is Mechanism.LAUNCHES_APART
    assert mechanism(Cause.START, replace(apart, encoding_rises=True)) is Mechanism.GROWING_HOST
    assert mechanism(Cause.HOST, Habits(5.0, 1.0, quantum=1_300_000)) is Mechanism.SLOW_WAIT
