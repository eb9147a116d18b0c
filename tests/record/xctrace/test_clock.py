"""The trace's time 0 on the worker's clock: by the date, by `time-info`, by which of them."""

import pytest

from tracekit.record.event_export import START_DATE, TIME_INFO, align, time_info
from tracekit.workload.journal import ClockAnchor

SECOND = 1_000_000_000
DATE = "1970-01-01T00:01:40.000+00:00"  # 100 s after the epoch
ANCHORS = [ClockAnchor(monotonic=50 * SECOND, epoch=103 * SECOND)]
ORIGIN = 47 * SECOND  # monotonic time at 100 s
BY_DATE = {
    "source": START_DATE,
    "epoch": 100 * SECOND,
    "origin": ORIGIN,
    "uncertainty": 1_000_000,
}


@pytest.mark.parametrize(
    ("ticks", "timebase", "origin"),
    [
        ("24000000", "125/3", SECOND),
        ("24000000", "125 / 3", SECOND),
        ("1000000000", "1/1", SECOND),
        (" 1000000000 ", "1/1", SECOND),
        ("0", "125/3", 0),
        (str(2**63), "125/3", 2**63 * 125 // 3),
    ],
)
def test_ticks_and_their_length_give_the_origin(ticks: str, timebase: str, origin: int) -> None:
    assert time_info(ticks, timebase) == origin


@pytest.mark.parametrize(
    ("ticks", "timebase", "unread"),
    [
        ("", "", "mabs-epoch '', timebase-info ''"),
        ("12", "125", "timebase-info '125'"),
        ("12", "125/0", "timebase-info '125/0'"),
        ("12", "0/3", "timebase-info '0/3'"),
        ("12", "9999999999/1", "timebase-info '9999999999/1'"),
        ("0x1f", "125/3", "mabs-epoch '0x1f'"),
        ("-5", "125/3", "mabs-epoch '-5'"),
        ("1,000", "125/3", "mabs-epoch '1,000'"),
    ],
)
def test_what_is_no_plain_number_is_not_read(ticks: str, timebase: str, unread: str) -> None:
    assert time_info(ticks, timebase) == unread


def test_without_time_info_the_date_serves() -> None:
    assert align(DATE, ANCHORS) == BY_DATE


def test_time_info_serves_where_it_agrees_with_the_date() -> None:
    for difference in (0, 400_000, -900_000, 20_000_000):
        assert align(DATE, ANCHORS, ORIGIN + difference) == {
            **BY_DATE,
            "source": TIME_INFO,
            "origin": ORIGIN + difference,
            "uncertainty": abs(difference),
            "difference": difference,
        }


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (21_000_000, None),  # 20 ms, and the millisecond to which the date is good
        (21_000_001, "states another moment than the start-date"),
        (10 * SECOND, "states another moment than the start-date"),
        (10 * SECOND + 1, "left aside: it fits no moment of the run"),
    ],
)
def test_bounds_of_agreement_belong_to_it(difference: int, said: str | None) -> None:
    assert align(DATE, ANCHORS, ORIGIN - difference).get("time_info") == said


def test_where_they_disagree_the_date_serves_and_is_that_uncertain() -> None:
    known = align(DATE, ANCHORS, ORIGIN + SECOND)
    assert known == {
        **BY_DATE,
        "uncertainty": SECOND,
        "difference": SECOND,
        "time_info": "states another moment than the start-date",
    }


def test_what_fits_no_moment_of_the_run_is_left_aside() -> None:
    known = align(DATE, ANCHORS, ORIGIN * 1000)
    assert {name: known[name] for name in BY_DATE} == BY_DATE
    assert known["time_info"] == "left aside: it fits no moment of the run"


def test_what_could_not_be_read_is_quoted() -> None:
    known = align(DATE, ANCHORS, "mabs-epoch 'x'")
    assert known == {**BY_DATE, "time_info": "not read: mabs-epoch 'x'"}


def test_without_marks_there_is_nothing_to_lay_on_the_trace() -> None:
    known = align(DATE, [], ORIGIN)
    assert known == {"source": START_DATE, "epoch": 100 * SECOND}
    assert align("", ANCHORS, ORIGIN) == {}
