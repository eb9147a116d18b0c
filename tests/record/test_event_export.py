"""Workload events on the trace's time: which clock lays them there, and what is said of it."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.recording import Provenance, Recording
from tracekit.record.event_export import (
    START_DATE,
    TIME_INFO,
    align,
    export_workload_events,
    time_info,
    trace_clock,
)
from tracekit.tables.tables import Tables
from tracekit.tables.toc import read_toc
from tracekit.workload.journal import ClockAnchor, Journal

SECOND = 1_000_000_000
DATE = "1970-01-01T00:01:40.000+00:00"  # 100 s after the epoch
ANCHORS = [ClockAnchor(monotonic=50 * SECOND, epoch=103 * SECOND)]
ZERO = 47 * SECOND  # monotonic time at 100 s
BY_DATE = {"source": START_DATE, "epoch": 100 * SECOND, "origin": ZERO, "uncertainty": 1_000_000}


def test_ticks_give_the_origin() -> None:
    cases = {
        ("24000000", "125/3"): SECOND,
        (" 24000000 ", "125 / 3"): SECOND,
        ("1000000000", "1/1"): SECOND,
        ("0", "125/3"): 0,
        (str(2**63), "125/3"): 2**63 * 125 // 3,
        ("", ""): None,
        ("12", "125"): None,
        ("12", "125/0"): None,
        ("12", "1000000/1"): None,
        ("12", "1/1000"): None,
        ("0x1f", "125/3"): None,
        ("-5", "125/3"): None,
    }
    assert {case: time_info(*case) for case in cases} == cases


OTHER, FAR = "states another moment than the start-date", "left aside: it fits no moment of the run"


def test_time_info_serves_if_it_fits_the_date() -> None:
    cases: dict[int, dict[str, Any]] = {
        0: {"source": TIME_INFO, "uncertainty": 0},
        -900_000: {"source": TIME_INFO, "origin": ZERO - 900_000, "uncertainty": 900_000},
        # 20 ms, and the millisecond to which the date is good
        21_000_000: {"source": TIME_INFO, "origin": ZERO + 21_000_000, "uncertainty": 21_000_000},
        21_000_001: {"uncertainty": 21_000_001, "time_info": OTHER},
        -10 * SECOND: {"uncertainty": 10 * SECOND, "time_info": OTHER},
        10 * SECOND + 1: {"time_info": FAR},
    }
    alignments = {difference: align(DATE, ANCHORS, ZERO + difference) for difference in cases}
    assert alignments == {
        offset: {**BY_DATE, "difference": offset, **cases[offset]} for offset in cases
    }


def test_without_a_date_with_its_zone_or_anchors_there_is_no_origin() -> None:
    assert align(DATE, ANCHORS) == BY_DATE
    assert align(DATE, [], ZERO) == {"source": START_DATE, "epoch": 100 * SECOND}
    for date in ("", "yesterday", "2026-03-30T21:38:10.000"):
        assert align(date, ANCHORS, ZERO) == {}
    # the nearest anchor counts, and a step of the clock is uncertainty
    near, far = ClockAnchor(90 * SECOND, 101 * SECOND), ClockAnchor(10 * SECOND, 21 * SECOND - 5000)
    alignment = align(DATE, [far, near])
    assert (alignment["origin"], alignment["uncertainty"]) == (89 * SECOND, 1_005_000)


COLUMNS = (
    "update-time:sample-time mabs-epoch:mach-absolute-time mct-epoch:mach-continuous-time "
    "timebase-info:mach-timebase-info trace-start-time:time-since-epoch"
)
BEGAN = round(datetime.fromisoformat("2026-03-30T20:49:19.103-07:00").timestamp() * 1000) * 10**6
ORIGIN = 5_000_000_000_000  # monotonic ns when the trace began
TICKS = (ORIGIN + 250_000) * 3 // 125  # the date is cut to milliseconds; it began a little later


@pytest.fixture
def recording(tmp_path: Path, toc_xml: Callable[..., str]) -> Recording:
    recording = Recording(tmp_path)
    recording.exports.mkdir()
    recording.toc_file.write_text(toc_xml())
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("anchor", monotonic=ORIGIN + 2 * SECOND, epoch=BEGAN + 2 * SECOND)
    return recording


def make_export(ticks: object, rows: int = 1) -> str:
    header = "".join(
        f"<col><mnemonic>{name}</mnemonic><engineering-type>{kind}</engineering-type></col>"
        for name, kind in (column.split(":") for column in COLUMNS.split())
    )
    row = (
        f"<row><sample-time>0</sample-time><mach-absolute-time>{ticks}</mach-absolute-time>"
        "<mach-continuous-time>7</mach-continuous-time>"
        "<mach-timebase-info>125/3</mach-timebase-info><sentinel/></row>"
    )
    table = f'<schema name="time-info">{header}</schema>{row * rows}'
    node = "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
    return (
        f'<?xml version="1.0"?>\n<trace-query-result>\n{node}{table}</node></trace-query-result>\n'
    )


NOT_READ = "not read: mabs-epoch '119 d 02:13', timebase-info '125/3'"


def test_the_clock_of_a_trace_is_the_best_that_can_be_read(recording: Recording) -> None:
    cases: tuple[tuple[str | None, dict[str, Any]], ...] = (
        (None, {"source": START_DATE, "origin": ORIGIN, "uncertainty": 1_000_000}),
        (make_export(TICKS, 0), {"source": START_DATE, "origin": ORIGIN}),
        (make_export(TICKS), {"source": TIME_INFO, "origin": TICKS * 125 // 3}),
        (make_export("119 d 02:13"), {"source": START_DATE, "time_info": NOT_READ}),
        (make_export(TICKS)[:100], {"source": START_DATE}),
    )
    for table, expected_clock in cases:
        if table is not None:
            (recording.exports / "time-info.xml").write_text(table)
        first_toc_run = read_toc(recording.toc_file).runs[-1]
        clock = trace_clock(recording, first_toc_run)
        assert trace_clock(recording, replace(first_toc_run, number=2))["source"] == START_DATE, (
            table
        )
        assert {name: clock[name] for name in expected_clock} == expected_clock, table


def test_recordings_next_to_a_program_are_exported(recording: Recording) -> None:
    def exported_by(**clock: int) -> tuple[str, set[str]]:
        recording.save_provenance(Provenance(clock=clock))
        for file in recording.exports.glob("host-*"):
            file.unlink()
        remarks = "".join(export_workload_events(recording))
        files = recording.exports.glob("host-*")
        return remarks, {file.stem.removeprefix("host-") for file in files}

    unlaid = "are left out: the trace names no beginning, so they have no place on its time."
    recording.output_file.write_text("Generation: 128 tokens, 45.256 tokens-per-sec\n")
    assert exported_by() == (f"The workload's marks {unlaid}", set())
    recording.journal_file.unlink()
    for clock in ({}, {"origin": ORIGIN}):  # results alone have no times to speak of
        assert exported_by(**clock) == ("", {"results"})
    with closing(Journal(recording.gauges_file)) as journal:
        journal.write("anchor", monotonic=ORIGIN, epoch=BEGAN)
        gauge = {"name": "gpu_clock", "value": 1.4e9, "unit": "Hz", "source": "macmon"}
        journal.write("gauge", at=ORIGIN + 3_000_000, **gauge)
    assert exported_by() == (f"The readings of a monitor {unlaid}", {"results"})
    remarks, files = exported_by(origin=ORIGIN)
    assert remarks.startswith("A monitor's readings are laid on the trace's time by ")
    assert files == {"results", "gauges"}
    tables = Tables(recording.exports, frozenset())
    assert len(tables["results"]) == 2
    rows = tables["gauges"][["time", "value", "source"]]
    assert rows.to_numpy().tolist() == [[3_000_000, 1.4e9, "macmon"]]
    recording.host_bundle.mkdir()  # the host recorder wrote all of it already
    assert exported_by(origin=ORIGIN) == ("", set())
