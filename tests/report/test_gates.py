"""Row gates: what each table holds that checks use, of whom, and in the steady window."""

from typing import Any

import pytest

from tracekit.analysis.analyze import used_tables
from tracekit.base.errors import InputError
from tracekit.report.panels.health import Gate, gates


def by_name(tables: Any) -> dict[str, Gate]:
    return {one.table: one for one in gates(tables)}


def test_there_is_one_for_each_table_in_use(trace_run: Any) -> None:
    found = gates(trace_run.tables)
    assert {one.table for one in found} == used_tables()
    assert len(found) == len(used_tables())


def test_rows_are_counted_of_all_of_the_target_and_in_the_steady_window(host_run: Any) -> None:
    found = by_name(host_run.tables)
    assert (found["steps"].rows, found["steps"].own, found["steps"].steady) == (5, None, 3)
    assert (found["submissions"].rows, found["submissions"].own) == (5, 5)
    assert found["submissions"].steady == 3
    assert (found["specializations"].rows, found["specializations"].steady) == (1, 0)
    assert not found["specializations"].empty


def test_rows_of_others_do_not_count_as_the_targets(trace_run: Any, frame: Any) -> None:
    theirs = [{"start": 5, "duration": 5, "channel": "Compute", "target": False, "clock": "gpu"}]
    found = by_name({**trace_run.tables, "gpu_intervals": frame("gpu_intervals", theirs)})
    gate = found["gpu_intervals"]
    assert (gate.rows, gate.own, gate.empty, gate.absence) == (1, 0, True, "")


def test_without_marks_there_is_no_steady_window_to_count_in(trace_run: Any) -> None:
    assert by_name(trace_run.tables)["gpu_intervals"].steady is None


@pytest.mark.parametrize("duration", [0, 1_000])
def test_what_ends_where_the_window_begins_is_in_it_and_what_begins_at_its_end_is_not(
    frame: Any, duration: int
) -> None:
    phases = frame("phases", [{"name": "steady", "start": 1_000, "duration": 1_000}])
    starts = [1_000 - duration, 2_000, 0 if duration else 999]
    rows = [{"start": at, "duration": duration, "target": True} for at in starts]
    found = by_name({"phases": phases, "encoders": frame("encoders", rows)})
    assert found["encoders"].steady == (2 if duration else 1)


def test_a_table_without_rows_is_told_from_one_that_was_not_recorded(host_run: Any) -> None:
    found = by_name(host_run.emptied().tables)
    assert (found["steps"].rows, found["steps"].empty) == (0, True)
    assert found["steps"].absence == "the table steps has no rows"
    assert (found["encoders"].rows, found["encoders"].empty) == (None, False)
    assert found["encoders"].absence == "the recording has no table encoders"


class Broken(dict[str, Any]):
    """Tables of which one cannot be read."""

    def __getitem__(self, name: str) -> Any:
        if name == "encoders":
            raise InputError("The export is cut.")
        return super().__getitem__(name)


def test_a_table_that_cannot_be_read_is_no_empty_one(host_run: Any) -> None:
    found = by_name(Broken(host_run.tables))
    assert (found["encoders"].rows, found["encoders"].empty) == (None, False)
    assert found["encoders"].absence == "the table encoders cannot be read: The export is cut."
