import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tracekit.base.recording import Recording
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.host.watch import Timeouts
from tracekit.record.recorder import Launch, Recorded, Request, quiet
from tracekit.workload.worker.spec import Spec, command

NAPS = '''
import os, signal, sys, time
from tracekit.base.errors import UsageError
from tracekit.workload import Step, workload

made = 0

def wait(_):
    global made
    made += 1
    {step}

@workload
def naps() -> Step:
    """Sleep a little in each step."""
    {prepare}
    return Step(submit=lambda: None, wait=wait, backend="cpu", tokens=3)
'''

Cells = list[list[str | None]]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "run")


@pytest.fixture
def timeouts() -> Timeouts:
    """Not much of it."""
    return Timeouts(ready=30.0, grace=0.5, interrupt=1.0, terminate=0.3, kill=30.0)


@pytest.fixture
def recorder(timeouts: Timeouts) -> HostRecorder:
    """A recorder that samples often."""
    return HostRecorder(period=0.01, timeouts=timeouts)


@pytest.fixture
def record(recorder: HostRecorder, recording: Recording) -> Callable[..., Recorded]:
    """Record a program of the given arguments to this Python."""

    def run(*arguments: str, time_limit: float = 30.0, **env: str) -> Recorded:
        target = Launch((sys.executable, *arguments), env)
        return recorder.record(Request(target, time_limit), recording, quiet)

    return run


@pytest.fixture
def work(recorder: HostRecorder, recording: Recording) -> Callable[..., Recorded]:
    """Record a worker whose steps run the given Python."""

    def run(
        step: str = "time.sleep(0.002)",
        prepare: str = "pass",
        time_limit: float = 30.0,
        **values: Any,
    ) -> Recorded:
        recording.folder.mkdir()
        file = recording.folder / "naps.py"
        file.write_text(NAPS.format(step=step, prepare=prepare))
        spec = Spec(
            file=file,
            name="naps",
            journal=recording.journal_file,
            report=recording.workload_file,
            **{"warmup": 1, "repeats": 10, **values},
        )
        spec.save(recording.folder / "worker.json")
        argv = command(recording.folder / "worker.json")
        target = Launch(argv, journal=recording.journal_file)
        return recorder.record(Request(target, time_limit), recording, quiet)

    return run


@pytest.fixture(scope="session")
def read_export() -> Callable[[Path], tuple[list[str], Cells]]:
    """Read an export by its grammar alone, and check every rule of it on the way.

    Ids count 1, 2, 3 … in the order in which elements open; a reference comes after its
    definition and has its tag; a value is defined once; a row has a cell for each column,
    tagged with the column's type. A cell is given as its text, a compound as its `fmt`.
    """

    def read(path: Path) -> tuple[list[str], Cells]:
        text = path.read_text()
        assert text.startswith('<?xml version="1.0"?>\n<trace-query-result>\n<node xpath=\'//')
        assert text.endswith("</node></trace-query-result>\n")
        (node,) = etree.fromstring(text.encode())
        assert re.fullmatch(r"//trace-toc\[1\]/run\[1\]/data\[1\]/table\[\d+\]", node.get("xpath"))
        schema, *rows = node
        types = [column.findtext("engineering-type") for column in schema]
        known: dict[str, Any] = {}
        opened = 0
        cells: Cells = []
        for row in rows:
            assert [cell.tag for cell in row] == [
                "sentinel" if cell.tag == "sentinel" else kind
                for cell, kind in zip(row, types, strict=True)
            ]
            for element in row.iter():
                if element.get("id") is not None:
                    opened += 1
                    assert element.get("id") == str(opened)
                    known[str(opened)] = element
                    assert element.get("fmt") is not None
                elif element.get("ref") is not None:
                    assert known[element.get("ref")].tag == element.tag
                    assert len(element) == 0
                    assert element.text is None
            cells.append([_value(cell, known) for cell in row])
        definitions = [(one.tag, one.get("fmt"), one.text) for one in known.values()]
        assert len(definitions) == len(set(definitions))
        return [str(column.findtext("mnemonic")) for column in schema], cells

    return read


def _value(cell: Any, known: dict[str, Any]) -> str | None:
    if cell.tag == "sentinel":
        return None
    defined = known[cell.get("ref")] if cell.get("ref") else cell
    return defined.get("fmt") if len(defined) else defined.text or ""
