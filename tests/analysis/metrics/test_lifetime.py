"""How long the target lived, and how busy it was in that time."""

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.metrics import METRICS
from tracekit.base.recording import Process, Provenance

CREATION = "Initializing - Process Creation"
SECOND = 1_000_000_000


def cycles(*rows: tuple[str, int, int | None, int]) -> pd.DataFrame:
    """Make `life_cycles` of (period, start, duration, pid); those of 7 and 8 are targets'."""
    frame = pd.DataFrame(rows, columns=["period", "start", "duration", "pid"])
    frame = frame.astype({"duration": "Int64"})
    return frame.assign(target=frame["pid"].isin([7, 8]))


def make_given(life: pd.DataFrame | None, *pids: int, duration: float | None = 10.0) -> Given:
    profile = {"weight": [SECOND], "target": [True], "time": [9 * SECOND]}
    tables = {"cpu_profile": pd.DataFrame(profile)}
    if life is not None:
        tables["life_cycles"] = life
    targets = tuple(Process(pid, "x") for pid in pids or (7,))
    return Given(tables, Provenance(targets=targets, duration=duration))


LATE = (CREATION, 0, 8 * SECOND, 7)


@pytest.mark.parametrize(
    ("kind", "known", "length"),
    [
        ("created late", make_given(cycles(LATE)), 2),
        ("the first of two", make_given(cycles(LATE, (CREATION, 0, 5 * SECOND, 8)), 7, 8), 5),
        ("another's creation too", make_given(cycles((CREATION, 0, SECOND, 9), LATE)), 2),
    ],
)
def test_utilization_is_of_the_time_in_which_the_target_lived(
    kind: str, known: Given, length: int
) -> None:
    assert inject(METRICS["target_life"].measure, known) == length * SECOND, kind
    assert inject(METRICS["cpu_utilization"].measure, known) == 1 / length, kind


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("no table", make_given(None)),
        ("no row of it", make_given(cycles((CREATION, 0, SECOND, 9)))),
        ("another period", make_given(cycles(("Foreground", 0, SECOND, 7)))),
        ("no duration", make_given(cycles((CREATION, 0, None, 7)))),
        ("one of two", make_given(cycles(LATE), 7, 8)),
        ("created after the end", make_given(cycles((CREATION, 0, 11 * SECOND, 7)))),
    ],
)
def test_the_whole_recording_counts_without_a_creation_time(kind: str, known: Given) -> None:
    with pytest.raises(Unavailable, match="is of all that was recorded"):
        pytest.fail(f"{kind}: {inject(METRICS['target_life'].measure, known)}")
    assert inject(METRICS["cpu_utilization"].measure, known) == 0.1, kind


def test_without_a_duration_no_utilization_is_known() -> None:
    with pytest.raises(Unavailable, match="how long was recorded is not known"):
        inject(METRICS["cpu_utilization"].measure, make_given(cycles(LATE), duration=None))
