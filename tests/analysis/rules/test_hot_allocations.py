"""`hot-allocations`: buffers made in the loop, memory wired in it."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals, judged, phases, row_of_steps
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence

Make = Callable[..., pd.DataFrame]
SECOND = 1_000_000_000
MS = 1_000_000


WORK = intervals([(SECOND, SECOND)])


def resources(count: int, *, event: str = "Allocation", own: bool = True) -> pd.DataFrame:
    """Make resources of 1, 2, … KiB, half of them with a label."""
    labels = ["scores"] * (count // 2) + [None] * (count - count // 2)
    frame = pd.DataFrame({"time": [SECOND + round(SECOND * at / count) for at in range(count)]})
    frame["size"] = [1024 * (at + 1) for at in range(count)]
    frame["label"] = pd.array(labels, dtype="string")
    return frame.assign(event=event, type="Buffer", target=own)


def events(*spans: tuple[int, int]) -> pd.DataFrame:
    frame = pd.DataFrame(list(spans), columns=["start", "duration"]).astype("int64")
    return frame.assign(event="Wire Memory", target=True)


def test_allocations_of_each_step_are_reported() -> None:
    steps = row_of_steps([250 * MS] * 4)
    steps["start"] += SECOND
    wiring = events((SECOND, 10 * MS), (SECOND + 5 * MS, 15 * MS), (3 * SECOND, MS))
    tables = {"gpu_intervals": WORK, "steps": steps, "driver_events": wiring}
    [finding] = judged("hot-allocations", **tables, resource_allocations=resources(8))
    assert "allocated 8 resources of Metal" in finding.message
    assert "36 KiB in all: 2 per step." in finding.message
    assert "scores (4), unlabelled Buffer (4)" in finding.message
    assert "wired memory for it for 20 ms, 2.0 % of that time" in finding.message
    last = round(SECOND * 15 / 8)
    assert finding.evidence[0] == Evidence("resource_allocations", last, last, "8 KiB")
    assert judged("hot-allocations", **tables, resource_allocations=resources(6))
    assert not judged("hot-allocations", **tables, resource_allocations=resources(5))


def test_a_pool_that_fills_at_the_beginning_is_passed() -> None:
    many = resources(400)
    many["time"] = SECOND + (many["time"] - SECOND) // 2 - 1
    assert not judged("hot-allocations", gpu_intervals=WORK, resource_allocations=many)
    most = many.assign(time=SECOND + (many["time"] - SECOND) * 5 // 4)
    assert judged("hot-allocations", gpu_intervals=WORK, resource_allocations=most)


def test_without_steps_seconds_count() -> None:
    assert not judged("hot-allocations", gpu_intervals=WORK, resource_allocations=resources(49))
    [finding] = judged("hot-allocations", gpu_intervals=WORK, resource_allocations=resources(50))
    assert "50 per second" in finding.message


def test_others_and_what_lies_outside_do_not_count() -> None:
    tables = {"gpu_intervals": WORK, "resource_allocations": resources(99, own=False)}
    assert not judged("hot-allocations", **tables)
    tables["resource_allocations"] = resources(99)
    assert not judged("hot-allocations", **tables, phases=phases(2 * SECOND, SECOND))


def test_words_that_are_not_known_are_named() -> None:
    strange = resources(9, event="Birth")
    with pytest.raises(Unavailable, match="is not known: Birth"):
        judged("hot-allocations", gpu_intervals=WORK, resource_allocations=strange)
