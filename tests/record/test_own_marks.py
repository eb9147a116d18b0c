"""The workload's marks on the trace's time, and which clock laid them there."""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from tracekit.base.recording import Provenance, Recording
from tracekit.record.event_export import START_DATE, TIME_INFO, export_workload_events, trace_clock
from tracekit.tables.tables import Tables
from tracekit.tables.toc import read_toc
from tracekit.workload.journal import ClockAnchor, Journal

COLUMNS = (
    "update-time:sample-time mabs-epoch:mach-absolute-time mct-epoch:mach-continuous-time "
    "timebase-info:mach-timebase-info trace-start-time:time-since-epoch"
)
BEGAN = round(datetime.fromisoformat("2026-03-30T20:49:19.103-07:00").timestamp() * 1000) * 10**6
ORIGIN = 5_000_000_000_000  # monotonic ns when the trace began
LATE = 250_000  # the date is cut to milliseconds; the trace began a little later
TICKS = (ORIGIN + LATE) * 3 // 125


@pytest.fixture
def recording(tmp_path: Path, toc_xml: Callable[..., str]) -> Recording:
    recording = Recording(tmp_path)
    recording.exports.mkdir()
    recording.toc_file.write_text(toc_xml())
    anchor = ClockAnchor(ORIGIN + 2_000_000_000, BEGAN + 2_000_000_000)
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("anchor", monotonic=anchor.monotonic, epoch=anchor.epoch)
    return recording


def time_info(recording: Recording, ticks: object, timebase: object, rows: int = 1) -> None:
    """Write an export of time-info."""
    header = "".join(
        f"<col><mnemonic>{mnemonic}</mnemonic><name>x</name>"
        f"<engineering-type>{kind}</engineering-type></col>"
        for mnemonic, kind in (one.split(":") for one in COLUMNS.split())
    )
    row = (
        f"<row><sample-time>0</sample-time><mach-absolute-time>{ticks}</mach-absolute-time>"
        f"<mach-continuous-time>7</mach-continuous-time>"
        f"<mach-timebase-info>{timebase}</mach-timebase-info><sentinel/></row>"
    )
    (recording.exports / "time-info.xml").write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        f'<schema name="time-info">{header}</schema>{row * rows}\n'
        "</node></trace-query-result>\n"
    )


def clock(recording: Recording) -> dict[str, object]:
    return trace_clock(recording, read_toc(recording.toc_file).runs[-1])


def test_the_date_serves_where_there_is_no_time_info(recording: Recording) -> None:
    by_date = {
        "source": START_DATE,
        "epoch": BEGAN,
        "origin": ORIGIN,
        "uncertainty": 1_000_000,
    }
    assert clock(recording) == by_date
    time_info(recording, TICKS, "125/3", rows=0)
    assert clock(recording) == by_date


def test_time_info_serves_where_it_can_be_read(recording: Recording) -> None:
    time_info(recording, TICKS, "125/3")
    known = clock(recording)
    assert known["source"] == TIME_INFO
    assert known["origin"] == TICKS * 125 // 3
    assert abs(int(str(known["origin"])) - ORIGIN - LATE) <= 42
    assert known["uncertainty"] == known["difference"]


def test_time_info_of_another_form_is_quoted_and_the_date_serves(recording: Recording) -> None:
    time_info(recording, "119 d 02:13", "125/3")
    known = clock(recording)
    assert known["source"] == START_DATE
    assert known["time_info"] == "not read: mabs-epoch '119 d 02:13'"


def test_a_broken_time_info_costs_only_itself(recording: Recording) -> None:
    (recording.exports / "time-info.xml").write_text(
        '<?xml version="1.0"?>\n<trace-query-result><node><schema name="time-info">'
    )
    assert clock(recording)["source"] == START_DATE


def program(recording: Recording, *, printed: str = "", clock: bool = True) -> tuple[str, ...]:
    """Export what stands beside a program that xctrace recorded; return the warnings."""
    recording.journal_file.unlink()
    with closing(Journal(recording.gauges_file)) as journal:
        journal.write("anchor", monotonic=ORIGIN, epoch=BEGAN)
        gauge = {"name": "gpu_clock", "value": 1.4e9, "unit": "Hz", "source": "macmon"}
        journal.write("gauge", at=ORIGIN + 3_000_000, **gauge)
    recording.output_file.write_text(printed)
    known = trace_clock(recording, read_toc(recording.toc_file).runs[-1]) if clock else {}
    recording.save_provenance(Provenance(clock=known))
    return export_workload_events(recording)


MLX = "Generation: 128 tokens, 45.256 tokens-per-sec\n"


def test_a_monitor_beside_a_program_stands_on_the_traces_time(recording: Recording) -> None:
    (reported,) = program(recording, printed=MLX)
    assert reported.startswith("A monitor's readings are laid on the trace's time by")
    gauges = Tables(recording.exports, frozenset())["gauges"]
    assert gauges[["time", "value", "source"]].values.tolist() == [[3_000_000, 1.4e9, "macmon"]]
    results = Tables(recording.exports, frozenset())["results"]
    assert results["value"].tolist() == [45.256, 128.0]
    assert not (recording.exports / "host-steps.parquet").exists()


def test_without_a_clock_a_programs_results_are_kept(recording: Recording) -> None:
    (reported,) = program(recording, printed=MLX, clock=False)
    assert reported.startswith("What a monitor read could not be laid on the trace's time")
    assert len(Tables(recording.exports, frozenset())["results"]) == 2
    assert not (recording.exports / "host-gauges.parquet").exists()


def test_results_alone_have_no_times_to_speak_of(recording: Recording) -> None:
    recording.journal_file.unlink()
    recording.output_file.write_text(MLX)
    recording.save_provenance(Provenance(clock={"origin": ORIGIN}))
    assert export_workload_events(recording) == ()
    assert Tables(recording.exports, frozenset())["results"]["value"].tolist() == [45.256, 128.0]
