"""Command buffers that failed, as threads tell of them, in exports that the command line judges.

Times are in ms. The threads print the driver's numbers of errors: 2 for a timeout, 4 for what is
ignored after errors, 5 for the victim of another error, 8 for memory, 11 for a page fault.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from labelled.grammar import table
from labelled.writer import Cell, ExportColumn, process, thread, write_export

MS = 1_000_000
OWN, OTHER = process("probe", 4711, "TODO"), process("rival", 420, "TODO")
GIB = 1 << 30


@dataclass
class Trace:
    """What a trace holds: work on the device, commits, errors by number, and memory."""

    work: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    commits: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    memory: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def run(self, buffer: int, start: float, lasts: float, *, is_target: bool = True) -> None:
        self.work.append(
            {"start": start, "duration": lasts, "start-latency": 0.1, "cmdbuffer-id": buffer,
             "process": OWN if is_target else OTHER, "channel-name": "Compute"}
        )  # fmt: skip

    def commit(self, buffer: int, time: float, *, is_target: bool = True) -> None:
        owner = OWN if is_target else OTHER
        self.commits.append(
            {"start": time - 0.2, "duration": 0.2, "cmdbuffer-id": buffer, "process": owner,
             "thread": thread("Main Thread", 1, owner)}
        )  # fmt: skip

    def fail(self, buffer: int, time: float, code: int) -> None:
        self.errors.append({"timestamp": time, "cmdbuffer-id": buffer, "error-code": code})

    def steady(self, number: int) -> float:
        """Run so many command buffers of 5 ms, one after the other; return when the last ends."""
        for place in range(number):
            self.commit(100 + place, 10 * place + 1)
            self.run(100 + place, 10 * place + 2, 5)
            self.run(5_000 + place, 10 * place + 8, 0.5, is_target=False)
        return 10.0 * number

    def write(self, folder: Path) -> Path:
        folder.mkdir()
        for schema, rows in (
            ("metal-gpu-intervals", self.work),
            ("metal-application-command-buffer-submissions", self.commits),
            ("metal-command-buffer-error", self.errors),
            ("metal-current-allocated-size", self.memory),
        ):
            layout = table(schema, "26.0", 1)
            cells = [tuple(cell(column, row) for column in layout.columns) for row in rows]
            write_export(folder / f"{schema}.xml", layout, cells)
        return folder


def cell(column: ExportColumn, row: dict[str, Any]) -> Cell:
    value = row.get(column.mnemonic)
    if column.type in {"start-time", "duration"} and value is not None:
        return round(value * MS)
    return value


def cpu_stream() -> Trace:
    """From mlx #3583: the GPU waits for a factorization on the CPU, for longer than it may."""
    trace = Trace()
    time = trace.steady(20)
    trace.commit(200, time)
    trace.fail(200, time + 5_000, 2)
    return trace


def first_of_all() -> Trace:
    """From exo #1620, a first prefill: it waits too long before anything ever ran."""
    trace = Trace()
    trace.run(7, 1, 2, is_target=False)
    trace.commit(200, 10)
    trace.fail(200, 5_010, 2)
    return trace


def rival() -> Trace:
    """From omlx #3706: a process of higher priority has the device; then all is ignored."""
    trace = Trace()
    time = trace.steady(20)
    for place in range(50):
        trace.run(7_000 + place, time + 100 * place, 98, is_target=False)
    for place in range(3):
        trace.commit(200 + place, time + place)
        trace.fail(200 + place, time + 5_000 + place, 2)
    for place in range(9):
        trace.commit(300 + place, time + 5_100 + place)
        trace.fail(300 + place, time + 5_101 + place, 4)
    return trace


def long_kernel() -> Trace:
    """From wgpu #336: a shader runs for too long, and what is behind it is discarded."""
    trace = Trace()
    time = trace.steady(20)
    trace.commit(200, time)
    trace.run(200, time + 1, 2_100)
    trace.fail(200, time + 2_102, 2)
    for place in range(3):
        trace.commit(201 + place, time + 1 + place)
        trace.fail(201 + place, time + 2_102, 5)
    return trace


def page_fault() -> Trace:
    """From flutter #155538: page faults, their victims, and then everything is ignored."""
    trace = Trace()
    time = trace.steady(20)
    for place, code in enumerate([11, 11, 5, 5, *[4] * 20]):
        trace.commit(200 + place, time + place)
        trace.run(200 + place, time + place + 0.1, 0.2)
        trace.fail(200 + place, time + 50 + place, code)
    return trace


def no_memory() -> Trace:
    """From wgpu #9545: one command buffer refers to 43 GiB at once."""
    trace = Trace()
    time = trace.steady(20)
    trace.memory = [
        {"start": 0, "duration": time, "end": time, "process": OWN, "current-allocated-size": GIB},
        {"start": time, "duration": 90, "end": time + 90, "process": OWN,
         "current-allocated-size": 43 * GIB},
    ]  # fmt: skip
    trace.commit(200, time)
    trace.fail(200, time + 40, 8)
    return trace


def anothers_error() -> Trace:
    """From mlx-vlm #1064, seen from a program beside it: the victim of another's hang."""
    trace = Trace()
    time = trace.steady(20)
    trace.commit(7_000, time, is_target=False)
    trace.run(7_000, time + 1, 900, is_target=False)
    trace.fail(7_000, time + 902, 3)
    trace.commit(200, time + 2)
    trace.fail(200, time + 903, 5)
    return trace


WAITS, LESS = "commit it only when that is done", "less work into one"


@pytest.mark.parametrize(
    ("make", "told", "advised", "unsaid"),
    [
        pytest.param(
            cpu_stream,
            ["1 command buffer failed.", "never began on the device", "waited 5 s for an event",
             "the device was idle for 5 s"],
            WAITS, [LESS, "worked"], id="an event of the CPU",
        ),
        pytest.param(
            first_of_all,
            ["never began on the device", "waited 5 s", "the device was idle"],
            WAITS, [LESS], id="nothing ever ran",
        ),
        pytest.param(
            rival,
            ["12 command buffers failed.", "The first timed out (code 2) and never began",
             "other processes ran for 4.90 s", "Later: 9 not run because of it, 2 with a timeout."],
            WAITS, [LESS, "event of the CPU"], id="another process has the device",
        ),
        pytest.param(
            long_kernel,
            ["4 command buffers failed.", "had worked on the device for 2.10 s",
             "Later: 3 not run because of it."],
            LESS, ["waited", "timeout"], id="a kernel runs for too long",
        ),
        pytest.param(
            page_fault,
            ["24 command buffers failed.", "The first ended with a page fault (code 11)",
             "Later: 22 not run because of it, 1 with a page fault."],
            "MTL_SHADER_VALIDATION=1", ["device removed", LESS, "revoked"], id="a page fault",
        ),
        pytest.param(
            no_memory,
            ["ran out of memory (code 8); the target had 43 GiB allocated"],
            "less memory", [LESS, "waited"], id="no memory",
        ),
        pytest.param(
            anothers_error,
            ["1 command buffer failed.", "It was not run (code 5)", "an earlier error of rival"],
            "Repair the first command buffer", [LESS, "timed out", "waited"], id="another's error",
        ),
    ],
)  # fmt: skip
def test_the_first_error_is_named_with_its_buffers_work(
    make: Any, told: list[str], advised: str, unsaid: list[str], tmp_path: Path, tracekit: Any
) -> None:
    exports = make().write(tmp_path / "exports")
    result = tracekit("import", exports, "--target", "probe", "--output", tmp_path / "run")
    assert result.code == 0, result.err
    assert tracekit("analyze", tmp_path / "run").code in {0, 4}, "4 where nothing ever ran"
    findings = json.loads((tmp_path / "run" / "result.json").read_text())["findings"]
    [error] = [finding for finding in findings if finding["rule"] == "command-buffer-errors"]
    assert [words for words in told if words not in error["message"]] == [], error["message"]
    assert advised in error["advice"]
    error_text = f"{error['message']} {error['advice']}"
    assert [words for words in unsaid if words in error_text] == []
    assert findings[0] == error
    assert len(error["message"].split()) <= 45
