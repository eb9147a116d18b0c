from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tracekit.base.distribution import own_version
from tracekit.base.documents import save
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Process, Recording
from tracekit.record.host import exports
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.host.sampler import ProcessSample
from tracekit.record.host.session import HostSession, load_session, write_toc
from tracekit.record.progress import quiet
from tracekit.tables.cache import keep_exported_tables
from tracekit.tables.headers import TableHeader
from tracekit.tables.losses import Flaw
from tracekit.tables.pruned import PrunedExport, note_pruned_exports
from tracekit.tables.tables import Tables
from tracekit.tables.toc import TocRun, TocTable, read_toc
from tracekit.workload.journal import (
    Journal,
    Phase,
    Specialization,
    StepMark,
    WorkloadReport,
    fold,
)
from tracekit.workload.workload import Gauge, Measured, Memory, Request, Span, Work

WORK = Work(
    tokens=16, bytes_read=300, bytes_unique=200, bytes_written=40, flops=2**40, dispatches=1
)
REPORT = WorkloadReport(
    backend="metal",
    model=WORK,
    phases=(Phase("prepare", 900, 1000), Phase("warm-up", 1000, 1500), Phase("steady", 1510, None)),
    steps=(
        StepMark("warm-up", 1010, 1020, 1400),
        StepMark("steady", 1500, 1510, 1900, "", 0, 7, 2, 300),
    ),
    specializations=(Specialization("custom_kernel_paged_decode__x", 1020),),
)
TOLD = WorkloadReport(
    backend="cpu",
    phases=(Phase("prepare", 900, 1000),),
    steps=(StepMark("steady", 1500, 1510, 1900, variant="sdpa", tokens=3),),
    variants={"paged": Work(flops=1), "sdpa": Work(flops=2)},
    spans=(Span("admit", 1500, 1510),),
    gauges=(Gauge("used_blocks", 7, 1900, "count"),),
    requests=(
        Request(0, 1400, 5, 2, admitted=1500, tokens=(1900, 2000), state="completed"),
        Request(1, 1450, 5, 2),
    ),
    results={
        "a": Measured(2.5e-17),
        "b": Measured(0, samples=(1.0, -1.0), deviation=1.5),
        "c": Measured(None, "ns", "lower", "none"),
    },
    memory=(
        Memory("baseline", "resident", 4096, 900),
        Memory("baseline", "mlx_active", None, 900, "MLX is not loaded"),
    ),
)
Row = list[Any]
UNTOLD = (None, None, None)  # the CPU times of an older worker's step
# Of a report whose trace begins at a moment of the monotonic clock, the rows of each table.
ROWS: list[tuple[WorkloadReport, int, dict[str, list[Row]]]] = [
    (
        REPORT, 1500,
        {
            # the last one was cut short
            "phases": [[-600, 100, "prepare"], [-500, 500, "warm-up"], [10, 0, "steady"]],
            "steps": [
                [-490, 390, 0, "warm-up", 10, 16, "", *UNTOLD],
                [0, 400, 1, "steady", 10, 0, "", 7, 2, 300],
            ],
            "specializations": [[-480, "custom_kernel_paged_decode__x"]],
            "step_models": [[-500, "metal", 16, 300, 200, 40, 2**40, 1, ""]],
        },
    ),
    (
        TOLD, 1000,
        {
            "steps": [[500, 400, 0, "steady", 10, 3, "sdpa", *UNTOLD]],
            "step_models": [
                [0, "cpu", 0, 0, 0, 0, flops, None, name]
                for flops, name in ((1, "paged"), (2, "sdpa"))
            ],
            "spans": [[500, 10, "admit"]],
            "gauges": [[900, "used_blocks", 7.0, "count", "workload"]],
            "requests": [
                [400, 0, "completed", 5, 2, 100, 500, 600, 2, ""],
                [450, 1, "unfinished", 5, 2, None, None, None, 0, ""],
            ],
            "request_tokens": [[900, 0, 0], [1000, 0, 1]],
            "results": [
                [0, "a", 2.5e-17, "", "neither", "", None, None],
                [0, "b", 0, "", "neither", "", "[1.0, -1.0]", 1.5],
                [0, "c", None, "ns", "lower", "none", None, None],
            ],
            "memory_profile": [
                [-100, "baseline", "resident", 4096, ""],
                [-100, "baseline", "mlx_active", None, "MLX is not loaded"],
            ],
        },
    ),
]  # fmt: skip


def rows_of(folder: Path, table: str) -> list[Row]:
    """Return the rows of a table as everyone reads it, None for null, without its clock."""
    frame = Tables(folder, frozenset({7}))[table]
    assert set(frame.pop("clock")) <= {"host"}
    return frame.astype(object).where(frame.notna(), None).values.tolist()


@pytest.mark.parametrize(("report", "origin", "tables"), ROWS)
def test_marks_are_laid_on_the_traces_time(
    report: WorkloadReport, origin: int, tables: dict[str, list[Row]], tmp_path: Path
) -> None:
    exports.write_events(report, origin, tmp_path, exports.EVENTS)
    assert {name: rows_of(tmp_path, name) for name in tables} == tables


def test_cores_are_counted_from_two_samples() -> None:
    samples = [
        ProcessSample(2000, cpu=100, memory=1, threads=2, voluntary=3, involuntary=4, machine=500),
        ProcessSample(
            2400, cpu=300, memory=5, threads=6, voluntary=7, involuntary=None, machine=1100
        ),
    ]
    first_row, second = (1000, None, 1, 2, 3, 4, None), (1400, 0.5, 5, 6, 7, None, 1.5)
    assert list(exports.process_samples(samples, 1000)) == [first_row, second]
    assert list(exports.process_samples(samples[:1], 1000)) == [first_row]
    assert list(exports.process_samples([], 1000)) == []


def test_an_account_has_a_monitors_gauges_and_printed_numbers(tmp_path: Path) -> None:
    recording = Recording(tmp_path)

    def read_account() -> tuple[list[str], list[int], tuple[str, ...]]:
        report = exports.account(recording)
        gauges = [gauge.name for gauge in report.gauges]
        tables = exports.event_tables(recording, report)
        return gauges, [anchor.monotonic for anchor in report.anchors], tables

    def write(file: Path, name: str, monotonic_time: int) -> None:
        with closing(Journal(file)) as journal:
            journal.write("anchor", monotonic=monotonic_time, epoch=10 * monotonic_time)
            journal.write("gauge", name=name, value=1.5, at=7, unit="Hz", source="x")
            journal.write("result", name="generation_tokens", value=3.0, unit="count")

    write(recording.gauges_file, "gpu_clock", 200)
    assert read_account() == (["gpu_clock"], [200], ("gauges",))
    recording.output_file.write_text("Generation: 128 tokens, 45.256 tokens-per-sec\n")
    assert read_account() == (["gpu_clock"], [200], ("gauges", "results"))
    write(recording.journal_file, "blocks", 100)
    assert read_account() == (["blocks", "gpu_clock"], [100], tuple(exports.EVENTS))
    # what it measured itself counts more
    results = exports.account(recording).results
    assert results["generation_tokens"] == Measured(3.0, "count")
    assert results["generation_tokens_per_second"].value == 45.256


@pytest.mark.parametrize(
    ("backend", "channel"), [("cpu", "CPU"), ("metal", "metal, seen from the host")]
)
def test_a_step_is_a_submission_and_then_work(backend: str, channel: str, tmp_path: Path) -> None:
    recorder, recording = HostRecorder(), Recording(tmp_path / "run")
    recording.host_bundle.mkdir(parents=True)
    session = {"pid": 7, "name": "python", "kind": "launched", "origin": 1000}
    save(recording.host_session, session)
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("about", workload="paged", backend=backend, thread=9)
        journal.write("step", phase="steady", start=1100, submitted=1130, completed=1900)
    recording.host_samples.write_text('{"at":')  # cut, so that there are not two samples
    [message] = recorder.export(recording, quiet)
    assert message.startswith("The target ended before two samples were taken")
    assert pq.read_table(recording.exports / "host-process-samples.parquet").num_rows == 0
    tables = Tables(recording.exports, frozenset({7}))
    common_cells = {
        "label": "paged",
        "process": "python",
        "pid": 7,
        "target": True,
        "clock": "host",
    }
    [interval] = tables["gpu_intervals"].to_dict("records")
    assert (
        interval.items()
        >= {**common_cells, "start": 130, "duration": 770, "channel": channel}.items()
    )
    [submission] = tables["submissions"].to_dict("records")
    assert submission.items() >= {**common_cells, "start": 100, "duration": 30, "tid": 9}.items()
    (run,) = read_toc(recording.toc_file).runs
    assert (run.duration, run.exit_status) == (1e-6, "")  # it was never closed
    files = {file.name for file in recording.exports.iterdir()}
    assert files == {f"{table.schema}.parquet" for table in run.tables} | {"toc.xml"}
    recording.host_session.write_text("{")
    with pytest.raises(InputError, match=r"session\.json cannot be read"):
        recorder.export(recording, quiet)


def test_files_of_another_kind_in_a_recording_are_refused(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.host_bundle.write_bytes(b"")
    with pytest.raises(RecordingError, match="holds no recording of the host recorder"):
        load_session(recording)
    recording.host_bundle.unlink()
    recording.host_session.mkdir(parents=True)
    with pytest.raises(InputError, match=r"session\.json is a folder, not a file"):
        load_session(recording)
    recording.journal_file.mkdir()
    with pytest.raises(InputError, match=r"workload\.jsonl is a folder, not a file"):
        fold(recording.journal_file)


Moments = dict[str, int]


@pytest.mark.parametrize(
    ("kind", "step", "span", "interval"),
    [
        ("held up by other threads", {"submit_cpu": 20, "submit_other_cpu": 50}, None, (150, 750)),
        ("held up by nobody", {"submit_cpu": 20, "submit_other_cpu": 0}, None, (200, 700)),
        ("others that only spin", {"submit_cpu": 100, "submit_other_cpu": 90}, None, (200, 700)),
        ("complete in submit", {"submitted": 1890}, None, (100, 800)),
        ("complete in submit, but for a compile", {"submitted": 1890}, (1100, 1880), (890, 10)),
    ],
)  # fmt: skip
def test_work_of_a_step_begins_where_its_threads_say(
    kind: str,
    step: Moments,
    span: tuple[int, int] | None,
    interval: tuple[int, int],
    tmp_path: Path,
) -> None:
    recorder, recording = HostRecorder(), Recording(tmp_path / "run")
    recording.host_bundle.mkdir(parents=True)
    save(recording.host_session, {"pid": 7, "name": "x", "kind": "launched", "origin": 1000})
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("about", workload="paged", backend="cpu", thread=9)
        moments = {"start": 1100, "submitted": 1200, "completed": 1900}
        journal.write("step", phase="steady", **(moments | step))
        if span is not None:
            journal.write("span", name="compile", start=span[0], end=span[1])
    recorder.export(recording, quiet)
    [row] = Tables(recording.exports, frozenset({7}))["gpu_intervals"].to_dict("records")
    assert (row["start"], row["duration"]) == interval, kind
    assert row["channel"] == ("CPU, submit included" if kind == "complete in submit" else "CPU")


SESSION = HostSession(
    pid=7, name="python", kind="launched", arguments=("-m", "bench", "two words"),
    origin=1_000_000_000, started="2026-01-01T00:00:00.000+00:00", end=3_500_000_000,
    ended="2026-01-01T00:00:02.500+00:00", end_reason="Target exited", exit_status=0,
    time_limit=10.0, machine={"system": "Linux", "release": "6.1", "chip": "Fast & Furious"},
)  # fmt: skip


def toc_of(session: HostSession, path: Path, *, last_time: int = 0) -> TocRun:
    write_toc(path, session, ["host-phases", "host-steps"], last_moment=last_time)
    (run,) = read_toc(path).runs
    return run


def test_a_toc_describes_the_recording_and_its_recorder(tmp_path: Path) -> None:
    path = tmp_path / "toc.xml"
    assert toc_of(SESSION, path) == TocRun(
        1, {"platform": "Linux", "model": "Fast & Furious", "os-version": "Linux 6.1"},
        target=Process(7, "python"), target_type="launched", arguments="-m bench 'two words'",
        exit_status="0", termination_reason="exit(0)", duration=2.5,
        start_date=SESSION.started, end_date=SESSION.ended, end_reason="Target exited",
        instruments_version=f"tracekit host recorder {own_version()}",
        recording_mode="Host", time_limit="10 seconds", processes=(Process(7, "python"),),
        tables=(TocTable(1, "host-phases"), TocTable(2, "host-steps")),
    )  # fmt: skip
    killed = toc_of(replace(SESSION, exit_status=-9), path)
    assert (killed.exit_status, killed.termination_reason) == ("-9", "signal(9)")
    # one that was never closed lasts until the last moment known
    assert toc_of(replace(SESSION, end=0), path, last_time=1_250_000_000).duration == 0.25
    hostile = toc_of(replace(SESSION, name='x"/><evil>&\x00\x1b', arguments=("\ud800",)), path)
    assert hostile.target == Process(7, 'x"/><evil>&\ufffd\ufffd')


def test_a_table_takes_the_place_of_an_older_export(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        exports.write_rows(tmp_path, "spans", [(1, 2)])
    assert not list(tmp_path.iterdir())
    (tmp_path / "host-spans.xml").write_text("of a version before")
    path = exports.write_rows(tmp_path, "spans", [(1, 2, "admit")])
    assert [file.name for file in tmp_path.iterdir()] == [path.name] == ["host-spans.parquet"]
    header = TableHeader("host-spans", "//trace-toc/run[1]/data/table[1]", 1, rows=True)
    note_pruned_exports(
        tmp_path, PrunedExport("host-spans.xml", "0" * 32, 2, 9, (header,), "2026-01-01")
    )
    assert rows_of(tmp_path, "spans") == [[1, 2, "admit"]]  # not beside what was pruned
    assert keep_exported_tables(tmp_path, tmp_path / "tables", "2026-01-02") == ([], {})
    path.write_bytes(path.read_bytes()[:-20])  # damage, and not a table without rows
    tables = Tables(tmp_path, frozenset())
    with pytest.raises(InputError, match="no column"):
        _ = tables["spans"]
    assert [(loss.flaw, loss.schema) for loss in tables.losses] == [
        (Flaw.DAMAGED, "host-spans"),
        (Flaw.UNREADABLE, "host-spans"),
    ]
