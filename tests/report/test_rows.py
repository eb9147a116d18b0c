from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.base.errors import InputError
from tracekit.base.recording import Provenance
from tracekit.report.panel import of_others, of_target, rows

Frame = Callable[[str, list[dict[str, Any]]], pd.DataFrame]


class Damaged(Mapping[str, pd.DataFrame]):
    """Tables whose exports cannot be read; counts how often one was tried."""

    def __init__(self) -> None:
        self.tried = 0

    def __getitem__(self, name: str) -> pd.DataFrame:
        self.tried += 1
        raise InputError("row 3 ends in the middle")

    def __iter__(self) -> Iterator[str]:
        return iter(("steps",))

    def __len__(self) -> int:
        return 1


def test_a_table_that_is_there_gives_its_rows(frame: Frame) -> None:
    table = frame("phases", [{"start": 0, "duration": 5, "name": "steady", "clock": "host"}])
    found = rows({"phases": table}, "phases")
    assert found.absence == ""
    assert found.clock == "host"
    assert found.frame is table


def test_a_damaged_table_says_what_is_wrong() -> None:
    found = rows(Damaged(), "steps")
    assert found.absence == "the table steps cannot be read: row 3 ends in the middle"


def test_the_targets_rows_are_only_the_targets(frame: Frame) -> None:
    table = frame(
        "gpu_intervals",
        [
            {"start": 1, "duration": 1, "process": "probe", "target": True, "clock": "gpu"},
            {"start": 2, "duration": 1, "process": "WindowServer", "target": False, "clock": "gpu"},
        ],
    )
    tables = {"gpu_intervals": table}
    assert of_target(tables, "gpu_intervals").frame["process"].tolist() == ["probe"]
    assert of_others(tables, "gpu_intervals").frame["process"].tolist() == ["WindowServer"]


def test_without_rows_of_the_target_the_reason_counts_those_of_others(frame: Frame) -> None:
    table = frame("gpu_intervals", [{"start": 1, "duration": 1, "target": False}] * 3)
    absence = of_target({"gpu_intervals": table}, "gpu_intervals").absence
    assert absence == "none of the 3 rows of gpu_intervals belongs to the target"
    assert of_others({}, "gpu_intervals").absence == "the recording has no table gpu_intervals"


def test_two_clocks_in_one_table_are_both_named(frame: Frame) -> None:
    table = frame("gpu_intervals", [{"start": 1, "clock": "host"}, {"start": 2, "clock": "gpu"}])
    assert rows({"gpu_intervals": table}, "gpu_intervals").clock == "gpu and host"


def test_a_table_that_cannot_be_read_is_tried_once() -> None:
    damaged = Damaged()
    given = Given(damaged, Provenance())
    for _ in range(3):
        with pytest.raises(InputError, match="ends in the middle"):
            given["steps"]
    assert damaged.tried == 1
