"""`lost-residency`: memory that is wired again, beside what is allocated."""

import pandas as pd
import pytest

from analysed import intervals, judged
from stock import WIRE, frame
from tracekit.analysis.inject import Unavailable

MS = 1_000_000


def wiring(*at: int, size: str = "96.00") -> pd.DataFrame:
    """Wire 96 MiB for 5 ms at each of these ms."""
    label = WIRE.format(size=size)
    cells = {"duration": 5 * MS, "event": "Wire Memory", "target": True, "label": label}
    return frame([{"start": one * MS, **cells} for one in at])


def allocating(*sizes: int) -> pd.DataFrame:
    """Allocate so many MiB every 100 ms."""
    cells = {"event": "Allocation", "target": True, "label": "", "type": "Buffer"}
    rows = [{"time": at * 100 * MS, "size": one << 20} for at, one in enumerate(sizes)]
    return frame([row | cells for row in rows])


WORK = intervals([(at * 10 * MS, 9 * MS) for at in range(80)])


def test_what_is_wired_in_most_parts_and_not_allocated_is_lost() -> None:
    tables = {"gpu_intervals": WORK, "driver_events": wiring(0, 100, 200, 300, 400, 500)}
    [finding] = judged("lost-residency", **tables, resource_allocations=allocating(*[10] * 8))
    assert "576 MiB were wired again" in finding.message
    assert "allocated 80 MiB" in finding.message
    assert "30 ms" in finding.message
    assert "iogpu.wired_limit_mb" in finding.advice
    assert finding.within == "bubbles"


@pytest.mark.parametrize(
    ("at", "allocated"),
    [
        pytest.param((0,), 0, id="once"),
        pytest.param((0, 100, 200, 300), 0, id="in half of the parts"),
        pytest.param(tuple(range(0, 800, 100)), 48, id="as it is allocated"),
        pytest.param((), 0, id="never"),
    ],
)
def test_it_is_silent_where_memory_is_wired(at: tuple[int, ...], allocated: int) -> None:
    events = wiring(*at) if at else wiring(900)
    made = allocating(*[allocated] * 8)
    tables = {"gpu_intervals": WORK, "driver_events": events, "resource_allocations": made}
    assert not judged("lost-residency", **tables)


@pytest.mark.parametrize(("size", "number"), [("1.00", 1), ("0.99", 0)])
def test_it_takes_a_megabyte_in_each_part(size: str, number: int) -> None:
    tables = {"gpu_intervals": WORK, "driver_events": wiring(*range(0, 800, 100), size=size)}
    found = judged("lost-residency", **tables, resource_allocations=allocating(*[0] * 8))
    assert len(found) == number


def test_the_level_of_wired_memory_tells_where_events_have_no_sizes() -> None:
    events = wiring(*range(0, 800, 100)).assign(label="")
    levels = frame(
        [{"start": at * 50 * MS, "duration": 50 * MS, "size": at % 2 << 30} for at in range(16)]
    )
    tables = {"gpu_intervals": WORK, "driver_events": events}
    none = allocating(0)
    [finding] = judged("lost-residency", **tables, wired_memory=levels, resource_allocations=none)
    assert "8 GiB were wired again" in finding.message
    with pytest.raises(Unavailable, match="name no sizes"):
        judged("lost-residency", **tables, resource_allocations=none)


def test_without_allocations_it_takes_over_a_gigabyte() -> None:
    at = range(0, 800, 100)
    tables = {"gpu_intervals": WORK, "driver_events": wiring(*at)}
    assert not judged("lost-residency", **tables)
    tables["driver_events"] = wiring(*at, size="128.00")
    [finding] = judged("lost-residency", **tables)
    assert "was not recorded" in finding.message
