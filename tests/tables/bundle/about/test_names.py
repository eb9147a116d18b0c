"""Names of processes, threads and cores, from the document or the tables of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import Col, Process, Table, Thread, ThreadName
from bundle_writer.keyed import by_number
from documented_bundle import TICK, bundle_of, core, process, thread
from tracekit.tables.bundle.names import Names

TIME = Col("time", "Time", "XRRecordedEventTimestampTypeID", "XRTraceRelativeTimestampFieldID")
PROCESS_INFO = [
    TIME,
    Col("pid", "Pid", "XRProcessIDTypeID"),
    Col("process-name", "Name", "XRPrototypeStringTypeID"),
]
THREAD_INFO = [
    TIME,
    Col("tid", "Tid", "XRThreadIDTypeID"),
    Col("name", "Name", "XRThreadNameTypeID"),
    Col("main-thread", "Main", "XRBooleanTypeID"),
]
PYTHON = Process(4711)
DOCUMENTED = {
    "processDatas": [
        process(0, "/System/Library/Kernels/kernel.release.t8103", "kernel.release.t8103"),
        process(4711, "/opt/python3", "python3"),
        process(6723, "com.apple.CoreSimulator.CoreSimulatorService", "CoreSimulatorService"),
    ],
    "threadsByTID": by_number(
        {
            0x55: thread(0x55, 4711, "python3"),
            0x56: thread(0x56, 4711, "worker"),
            0x57: thread(0x57, 6723, "CoreSimulatorService"),
            0x58: thread(0x58, 9, "of nobody"),
            0x59: thread(0x59, 4711, None),
        }
    ),
}


def as_dictionaries(run: dict[str, Any]) -> dict[str, Any]:
    """Return the run with its processes archived as dictionaries, as Instruments 26.0 does."""
    return run | {"processDatas": [dict(one.parts) for one in run["processDatas"]]}


def names(folder: Path, run: dict[str, Any] | None, tables: Sequence[Table] = (TICK,)) -> Names:
    return bundle_of(folder, run, tables=tables).runs[0].names


@pytest.mark.parametrize("form", [dict, as_dictionaries])
def test_names_of_the_document(tmp_path: Path, form: Any) -> None:
    found = names(tmp_path, form(DOCUMENTED))
    assert found.process(4711) == "python3"
    assert found.process(0) == "kernel.release.t8103"
    assert found.process(6723) == "com.apple.CoreSi"
    assert found.thread(0x56, 4711) == "worker"
    assert found.thread(0x58, 9) == "of nobody"
    assert found.remarks == ()


def test_a_thread_that_is_called_as_its_process_is_shown_has_the_name_of_cells(
    tmp_path: Path,
) -> None:
    found = names(tmp_path, DOCUMENTED)
    assert found.thread(0x55, 4711) == "python3"
    assert found.thread(0x57, 6723) == "com.apple.CoreSi"


def test_a_thread_without_a_name_has_that_of_its_process(tmp_path: Path) -> None:
    assert names(tmp_path, DOCUMENTED).thread(0x59, 4711) == "python3"


def test_a_thread_is_shown_with_its_name_up_to_the_first_0x(tmp_path: Path) -> None:
    threads = {0x77: thread(0x77, 4711, "AppleT810xIO"), 0x78: thread(0x78, 4711, "0x12")}
    found = names(tmp_path, DOCUMENTED | {"threadsByTID": by_number(threads)})
    assert found.thread_with_tid(0x77, 4711) == "AppleT81 0x77 (python3, pid: 4711)"
    assert found.thread(0x78, 4711) == "0x12"


def test_kinds_of_cores(tmp_path: Path) -> None:
    cores = {"allObjects": [core(0, 1), core(4, 2), core(5, 0), core(6, 2)]}
    found = names(tmp_path / "known", DOCUMENTED | cores)
    assert [found.core(number) for number in (0, 4, 5, 6)] == [
        "CPU 0 (E Core)",
        "CPU 4 (P Core)",
        "CPU 5",
        "CPU 6 (P Core)",
    ]
    assert names(tmp_path / "damaged", DOCUMENTED | {"allObjects": "no list"}).cores == {}


def tables() -> list[Table]:
    return [
        Table("process-info", PROCESS_INFO, [(0, 0, "kernel_task"), (0, 4711, "python3")]),
        Table("process-info", PROCESS_INFO[:2], [(0, 5)]),
        Table(
            "thread-info",
            THREAD_INFO,
            [
                (0, 0x55, ThreadName("first", Thread(0x55, PYTHON)), True),
                (0, 0x56, ThreadName("worker", Thread(0x56, PYTHON)), False),
                (0, 0x57, ThreadName(None, Thread(0x57, PYTHON)), False),
                (0, 0x58, ThreadName(None, None), False),
            ],
        ),
    ]


def test_names_of_the_tables_where_there_is_no_document(tmp_path: Path) -> None:
    found = names(tmp_path, None, tables())
    assert (found.process(0), found.process(4711)) == ("kernel_task", "python3")
    assert [found.thread(tid, 4711) for tid in (0x55, 0x56, 0x57, 0x58, 0x99)] == [
        "Main Thread",
        "worker",
        "python3",
        "python3",
        "Unknown",
    ]
    (remark,) = found.remarks
    assert "because made.trace has no form.template" in remark


def test_a_document_without_processes_leaves_names_to_the_tables(tmp_path: Path) -> None:
    found = names(tmp_path, {"startTime": 5}, tables())
    assert found.process(0) == "kernel_task"
    assert ["lacks 2 processes" in found.remarks[0], "lacks 4 threads" in found.remarks[1]] == [
        True,
        True,
    ]


def test_damaged_tables_are_told(tmp_path: Path) -> None:
    bundle = bundle_of(tmp_path, tables=tables())
    stores = bundle.path / "corespace/run1/core/stores"
    (stores / "indexed-store-2/bulkstore").write_bytes(b"")
    found = bundle.runs[0].names
    assert found.process(4711) == "python3"
    assert found.thread(0x55, 4711) == "Unknown"
    assert found.remarks[1].startswith("Names of thread-info are not available: made.trace: ")
