"""`hot-allocations`: buffers made in the loop, memory wired in it."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["hot-allocations"].judge
SECOND = 1_000_000_000
MS = 1_000_000


@pytest.fixture
def work(intervals: Make) -> pd.DataFrame:
    return intervals([(SECOND, SECOND)])


def resources(count: int, *, event: str = "Allocation", own: bool = True) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time": [SECOND + at * MS for at in range(count)],
            "event": pd.array([event] * count, dtype="string"),
            "label": pd.array(["scores"] * (count // 2) + [None] * (count - count // 2), "string"),
            "type": pd.array(["Buffer"] * count, dtype="string"),
            "size": pd.array([1024 * (at + 1) for at in range(count)], dtype="Int64"),
            "target": pd.array([own] * count, dtype="bool"),
        }
    )


def events(*spans: tuple[int, int], event: str = "Wire Memory", own: bool = True) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": pd.array([start for start, _ in spans], dtype="int64"),
            "duration": pd.array([length for _, length in spans], dtype="Int64"),
            "event": pd.array([event] * len(spans), dtype="string"),
            "target": pd.array([own] * len(spans), dtype="bool"),
        }
    )


def steps(count: int) -> pd.DataFrame:
    return pd.DataFrame({"start": range(count), "phase": ["steady"] * count})


def test_allocations_of_each_step_are_reported(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    [finding] = judge(work, targets, None, resources(4), None, steps(2))
    assert "allocated 4 resources of Metal" in finding.message
    assert "10 KiB in all: 2 a step." in finding.message
    assert "scores (2)" in finding.message
    assert "unlabelled Buffer (2)" in finding.message
    assert finding.evidence[0] == Evidence(
        "resource_allocations", SECOND + 3 * MS, SECOND + 3 * MS, "4 KiB"
    )


def test_few_allocations_are_passed(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    assert not list(judge(work, targets, None, resources(4), events(), steps(9)))
    assert not list(judge(work, targets, None, resources(0), events(), steps(9)))


def test_without_steps_seconds_count(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    assert not list(judge(work, targets, None, resources(49), events(), None))
    [finding] = judge(work, targets, None, resources(50), None, None)
    assert "50 a second" in finding.message


def test_others_and_what_lies_outside_do_not_count(
    work: pd.DataFrame, targets: pd.DataFrame, phases: Make
) -> None:
    assert not list(judge(work, targets, None, resources(9, own=False), events(), steps(1)))
    late = phases(SECOND + SECOND // 2, SECOND)
    assert not list(judge(work, targets, late, resources(9), events(), steps(1)))


def test_words_that_are_not_known_are_named(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="is not known: Birth"):
        list(judge(work, targets, None, resources(9, event="Birth"), None, steps(1)))


def test_wiring_is_reported_by_its_time(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    wired = events((SECOND + 10 * MS, 10 * MS), (SECOND + 15 * MS, 15 * MS), (0, 500 * MS))
    [finding] = judge(work, targets, None, None, wired, None)
    assert "2.0 % of" in finding.message
    assert "(20 ms, in 1 stretch)" in finding.message
    assert finding.evidence == (Evidence("driver_events", SECOND + 10 * MS, SECOND + 30 * MS),)
    assert not list(judge(work, targets, None, resources(0), wired, None, wired=0.03))


def test_other_events_and_those_of_others_are_no_wiring(
    work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    span = (SECOND, 100 * MS)
    assert not list(judge(work, targets, None, resources(0), events(span, event="Other"), None))
    assert not list(judge(work, targets, None, resources(0), events(span, own=False), None))


def test_it_abstains_where_neither_was_recorded(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="neither allocations"):
        list(judge(work, targets, None, None, None, steps(1)))
    with pytest.raises(Unavailable, match="ran on the CPU"):
        list(judge(work.assign(clock="host"), targets, None, None, None, steps(1)))


def test_half_of_what_it_judges_by_passes_nothing(
    work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    with pytest.raises(Unavailable, match="how long the driver wired memory is not known"):
        list(judge(work, targets, None, resources(0), None, steps(9)))
    with pytest.raises(Unavailable, match="what was allocated is not known"):
        list(judge(work, targets, None, None, events(), steps(9)))
