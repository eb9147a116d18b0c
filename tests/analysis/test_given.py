"""Tables that the analysis makes itself stand beside the recording's."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals
from tracekit.analysis import given
from tracekit.analysis.given import Given, recorded_tables
from tracekit.analysis.inject import Unavailable
from tracekit.base.recording import Process, Provenance

Make = Callable[..., pd.DataFrame]
OURS = Provenance(targets=(Process(4711, "python3"),))


def doubled(gpu_intervals: pd.DataFrame, targets: pd.DataFrame) -> pd.DataFrame:
    """Make a table of other tables."""
    if gpu_intervals.empty:
        raise Unavailable("there is nothing to double.")
    return pd.concat([gpu_intervals] * 2 * len(targets))


def quadrupled(doubled: pd.DataFrame, steps: pd.DataFrame | None) -> pd.DataFrame:
    """Make a table of one that is made itself."""
    assert steps is None
    return pd.concat([doubled] * 2)


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "DERIVED", {"doubled": doubled, "quadrupled": quadrupled})


def test_what_the_provenance_tells_is_asked_for_like_a_table() -> None:
    tables = Given({}, OURS)
    assert {"targets", "machine"} <= set(tables)
    assert len(tables) == len(list(tables))
    assert tables["targets"] == (Process(4711, "python3"),)
    assert tables["machine"] == {}


@pytest.mark.usefixtures("derived")
def test_a_derived_table_is_made_of_others_once() -> None:
    tables = Given({"gpu_intervals": intervals([(0, 5)])}, OURS)
    assert len(tables["quadrupled"]) == 4
    assert tables["doubled"] is tables["doubled"]


@pytest.mark.usefixtures("derived")
def test_a_table_that_cannot_be_made_says_why_each_time() -> None:
    tables = Given({"gpu_intervals": intervals([])}, OURS)
    for _ in range(2):
        with pytest.raises(Unavailable, match="nothing to double"):
            tables["quadrupled"]


@pytest.mark.usefixtures("derived")
def test_what_a_derived_table_needs_is_exported_too() -> None:
    def judge(quadrupled: pd.DataFrame, phases: pd.DataFrame | None, machine: pd.DataFrame) -> None:
        """Ask for tables of all three kinds."""

    assert recorded_tables(judge) == {"gpu_intervals", "steps", "phases"}
