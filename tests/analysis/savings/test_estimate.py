"""A replay wins what the formula of each lever says, where all iterations are alike."""

from collections.abc import Iterator
from typing import Any

import pytest

from analysed import given, handed_over, row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.savings.estimate import Savings
from tracekit.analysis.savings.replay import Bottleneck, replay

US = 1_000
NUMBER = 400
Row = tuple[int, int, int, int, int]

ALIKE = {
    "a tiny kernel": (16, 85, 6, 70),
    "a short kernel": (40, 80, 120, 60),
    "a long kernel": (300, 80, 10_000, 60),
    "a slow host": (900, 80, 100, 60),
}
"""Time of the host, on the way there, of the device, on the way back; µs."""


def in_turns(host: int, there: int, work: int, back: int, number: int = NUMBER) -> Iterator[Row]:
    """Wait for each report, and encode then; times in µs."""
    time = 1_000
    for _ in range(number):
        commit = time + host
        start, end = commit + there, commit + there + work
        yield time, commit, start, end, end + back
        time = end + back


def iter_queued(host: int, there: int, work: int, gap: int) -> Iterator[Row]:
    """Never wait: a device that has a gap between command buffers, and a host that goes on."""
    commit, free_time = 1_000, 0
    for _ in range(NUMBER):
        commit += host
        start = max(commit + there, free_time + gap)
        free_time = start + work
        yield commit - host, commit, start, free_time, free_time + 30


def savings(rows: Iterator[Row], **tables: Any) -> Savings:
    return given(**handed_over(list(rows)), **tables)["savings"]


@pytest.mark.parametrize("name", ALIKE)
def test_a_schedule_that_is_replayed_as_it_is_takes_as_long_as_it_took(name: str) -> None:
    all_savings = savings(in_turns(*ALIKE[name]))
    lasted = (NUMBER * sum(ALIKE[name]) - ALIKE[name][0]) * US
    assert {replay(schedule).length for schedule in all_savings.readings.schedules} == {lasted}


@pytest.mark.parametrize("name", ALIKE)
def test_in_flight_an_iteration_takes_the_longest_of_host_device_and_a_part_of_the_round_trip(
    name: str,
) -> None:
    host, there, work, back = ALIKE[name]
    estimate = savings(in_turns(*ALIKE[name])).in_flight
    iteration_time = host + there + work + back
    shortened_time = max(host, work, iteration_time / estimate.number)
    assert estimate.saving == pytest.approx(
        NUMBER * (iteration_time - shortened_time) * US, rel=0.02
    )
    assert estimate.least_saving == 0


@pytest.mark.parametrize("name", ALIKE)
def test_ten_behind_one_wait_save_nine_tenths_of_the_ways(name: str) -> None:
    _, there, _, back = ALIKE[name]
    estimate = savings(in_turns(*ALIKE[name])).batch
    assert estimate.saving == pytest.approx(NUMBER * 0.9 * (there + back) * US, rel=0.02)


@pytest.mark.parametrize(
    ("name", "pulled", "limit"),
    [
        ("a tiny kernel", "batch", Bottleneck.ROUND_TRIP),
        ("a long kernel", "in-flight", Bottleneck.DEVICE),
        ("a slow host", "in-flight", Bottleneck.HOST),
    ],
)
def test_the_numbers_tell_which_lever_repairs_round_trips(
    name: str, pulled: str, limit: Bottleneck
) -> None:
    best = savings(in_turns(*ALIKE[name])).round_trips
    assert (best.pulled, best.limit) == (pulled, limit)


def test_one_wait_leaves_the_longer_of_host_and_device_and_one_round_trip() -> None:
    steps = row_of_steps([4 * 230 * US] * (NUMBER // 4))
    steps["start"] += 1_000 * US
    estimate = savings(in_turns(10, 80, 80, 60), steps=steps).one_wait
    # Of 920 µs an iteration there remain one way there and back, one host time, four of the device.
    assert estimate.saving == pytest.approx(
        NUMBER / 4 * (920 - (10 + 80 + 4 * 80 + 60)) * US, rel=0.02
    )


def test_half_of_the_host_time_saves_no_more_than_the_device_leaves() -> None:
    estimate = savings(iter_queued(host=100, there=50, work=70, gap=0)).host
    assert estimate.saving == pytest.approx(NUMBER * (100 - 70) * US, rel=0.03)
    estimate = savings(iter_queued(host=100, there=50, work=20, gap=0)).host
    assert estimate.saving == pytest.approx(NUMBER * 50 * US, rel=0.03)
    assert estimate.most_saving == pytest.approx(NUMBER * 80 * US, rel=0.03)


def test_boundaries_are_worth_their_gaps_or_half_of_them_where_two_become_one() -> None:
    estimate = savings(iter_queued(host=20, there=50, work=100, gap=60)).boundaries
    assert estimate.saving == pytest.approx(NUMBER * 60 * US, rel=0.03)
    assert estimate.least_saving == pytest.approx(NUMBER * 30 * US, rel=0.05)


def test_boundaries_of_a_host_that_is_slower_are_worth_nothing() -> None:
    estimate = savings(iter_queued(host=200, there=50, work=100, gap=60)).boundaries
    assert estimate.saving == pytest.approx(0, abs=200 * US)


def test_stretches_of_a_very_long_loop_estimate_the_whole() -> None:
    all_savings = savings(in_turns(16, 85, 6, 70, number=6_000))
    assert all_savings.readings.sample
    assert all_savings.batch.saving == pytest.approx(6_000 * 0.9 * (85 + 70) * US, rel=0.02)


def test_without_reports_there_is_no_schedule() -> None:
    tables = handed_over(list(in_turns(*ALIKE["a tiny kernel"])))
    with pytest.raises(Unavailable, match="both a commit and a completion"):
        _ = given(gpu_intervals=tables["gpu_intervals"])["savings"]
