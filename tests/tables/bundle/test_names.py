"""Names of processes, threads and cores, from the document or the tables of a run."""

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import TIME, Col, Table, Thread, ThreadName
from bundle_writer.keyed import Archived, by_number
from small_bundle import PYTHON, TICK, process, process_info, write_documented_bundle
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.names import BundleDocument, Names
from tracekit.tables.losses import Flaw

THREADS = {
    0x55: (4711, "python3"),
    0x56: (4711, "worker"),
    0x57: (6723, "CoreSimulatorService"),
    0x58: (9, "of nobody"),
    0x59: (4711, None),
    0x77: (4711, "AppleT810xIO0x"),
    0x78: (4711, "0x12"),
}
DOCUMENTED = {
    "processDatas": [
        process(0, "/System/Library/Kernels/kernel.release.t8103", "kernel.release.t8103"),
        process(4711, "/opt/python3", "python3"),
        process(6723, "com.apple.CoreSimulator.CoreSimulatorService", "CoreSimulatorService"),
    ],
    "threadsByTID": by_number(
        {
            tid: Archived("XRThread", {"preferredName": name, "tid": tid, "pid": pid})
            for tid, (pid, name) in THREADS.items()
        }
    ),
}


def as_dictionaries(run: dict[str, Any]) -> dict[str, Any]:
    """Return the run with its processes archived as dictionaries, as Instruments 26.0 does."""
    return run | {"processDatas": [dict(process.parts) for process in run["processDatas"]]}


def names(folder: Path, run: dict[str, Any] | None, tables: Sequence[Table] = (TICK,)) -> Names:
    return write_documented_bundle(folder, run, tables=tables).runs[0].names


@pytest.mark.parametrize("form", [dict, as_dictionaries])
def test_names_of_the_document(tmp_path: Path, form: Any) -> None:
    run_names = names(tmp_path, form(DOCUMENTED), TABLES)  # which have other names for some
    processes = {pid: run_names.process(pid) for pid in (0, 4711, 6723)}
    simulator = "com.apple.CoreSimulator.CoreSimulatorService"  # more letters than the kernel knows
    assert processes == {0: "kernel.release.t8103", 4711: "python3", 6723: simulator}
    assert {tid: run_names.thread(tid, pid) for tid, (pid, _) in THREADS.items()} == {
        0x55: "python3",
        0x56: "worker",
        0x57: simulator,  # it is called as its process, and so as cells call that
        0x58: "of nobody",
        0x59: "python3",  # without a name of its own
        0x77: "AppleT81",  # up to the first 0x
        0x78: "0x12",
    }
    assert run_names.thread_with_tid(0x77, 4711) == "AppleT81 0x77 (python3, pid: 4711)"
    assert run_names.losses == ()


def core(number: int, flags: int) -> Archived:
    """Return what a document says of a core; flags are 1 for efficiency, 2 for performance."""
    topology = Archived("DTCPUClusterInfo", {"_clusterFlags": flags})
    return Archived("XRCore", {"$0": number, "topology": topology})


def test_kinds_of_cores(tmp_path: Path) -> None:
    cores = {"allObjects": [core(0, 1), core(4, 2), core(5, 0), core(6, 2)]}
    run_names = names(tmp_path / "known", DOCUMENTED | cores)
    core_names = [run_names.core(number) for number in (0, 4, 5, 6)]
    assert core_names == ["CPU 0 (E Core)", "CPU 4 (P Core)", "CPU 5", "CPU 6 (P Core)"]
    damaged = names(tmp_path / "damaged", DOCUMENTED | {"allObjects": "no list"})
    assert damaged.cores == {}
    assert [loss.flaw for loss in damaged.losses] == [Flaw.UNNAMED]


THREAD_INFO = [
    Col("time", "Time", "XRRecordedEventTimestampTypeID", TIME),
    Col("tid", "Tid", "XRThreadIDTypeID"),
    Col("name", "Name", "XRThreadNameTypeID"),
    Col("main-thread", "Main", "XRBooleanTypeID"),
]
NAMED_THREADS = [
    (0, 0x55, ThreadName("first", Thread(0x55, PYTHON)), True),
    (0, 0x56, ThreadName("worker", Thread(0x56, PYTHON)), False),
    (0, 0x57, ThreadName(None, Thread(0x57, PYTHON)), False),
    (0, 0x58, ThreadName(None, None), False),
]
PROCESSES = process_info((0, "kernel_task"), (4711, "python3"))
TABLES = (
    PROCESSES,
    Table("process-info", PROCESSES.columns[:2], [(0, 5)]),
    Table("thread-info", THREAD_INFO, NAMED_THREADS),
)


def test_names_of_the_tables_without_a_document(tmp_path: Path) -> None:
    run_names = names(tmp_path, None, TABLES)
    assert (run_names.process(0), run_names.process(4711)) == ("kernel_task", "python3")
    threads = [run_names.thread(tid, 4711) for tid in (0x55, 0x56, 0x57, 0x58, 0x99)]
    assert threads == ["Main Thread", "worker", "python3", "python3", "Unknown"]
    (loss,) = run_names.losses
    assert loss.flaw is Flaw.UNSURE
    assert "because made.trace has no form.template" in loss.text


def test_a_document_without_processes_leaves_names_to_the_tables(tmp_path: Path) -> None:
    run_names = names(tmp_path, {"startTime": 5}, TABLES)
    assert run_names.process(0) == "kernel_task"
    processes, threads = run_names.losses
    assert "lacks 2 processes" in processes.text
    assert "lacks 4 threads" in threads.text


def test_damaged_tables_are_reported(tmp_path: Path) -> None:
    bundle = write_documented_bundle(tmp_path, None, tables=TABLES)
    (bundle.path / "corespace/run1/core/stores/indexed-store-2/bulkstore").write_bytes(b"")
    run_names = bundle.runs[0].names
    assert (run_names.process(4711), run_names.thread(0x55, 4711)) == ("python3", "Unknown")
    assert run_names.losses[1].flaw is Flaw.UNNAMED
    assert run_names.losses[1].text.startswith(
        "Names of thread-info are not available: made.trace: "
    )


@pytest.mark.parametrize("number", [1, "1"])
def test_runs_are_numbered_by_numbers_or_texts(tmp_path: Path, number: int | str) -> None:
    run = write_documented_bundle(tmp_path, {"startTime": 5}, number=number).document.run(1)
    assert run is not None
    assert run.get("startTime") == 5


def test_a_damaged_document_is_reported(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for content, reason in (
        (b"", "is not a property list"),
        (b"bplist00 and then nothing", "is not a property list"),
        (b"<plist><dict/></plist>", "is not a keyed archive"),
        (zlib.compress(b"some text"), "is not a property list"),
        (b"\x78\x9c and no stream", "cannot be inflated"),
    ):
        with subtests.test(content=content):
            (tmp_path / "form.template").write_bytes(content)
            document = BundleDocument(Files(tmp_path))
            assert document.run(3) is None
            assert reason in document.why_not(3)
            assert "form.template" in document.why_not(3)
            assert not document.why_not(3).endswith(".")
