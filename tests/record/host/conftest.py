import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.recording import Recording
from tracekit.record.host.recorder import HostRecorder, Timeouts
from tracekit.record.recorder import Launch, Recorded, Request, quiet
from tracekit.workload.worker.spec import Spec, command
from worker_naps import naps_that


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "run")


@pytest.fixture
def timeouts() -> Timeouts:
    """Not much of it."""
    signals = ((signal.SIGINT, 1.0), (signal.SIGTERM, 0.3), (signal.SIGKILL, 30.0))
    return Timeouts(30.0, 0.5, signals)


@pytest.fixture
def recorder(timeouts: Timeouts) -> HostRecorder:
    """A recorder that samples often."""
    return HostRecorder(0.01, timeouts)


@pytest.fixture
def record(recorder: HostRecorder, recording: Recording) -> Callable[..., Recorded]:
    """Record a program of the given arguments to this Python."""

    def run(*arguments: str) -> Recorded:
        request = Request(Launch((sys.executable, *arguments)), 30.0)
        return recorder.record(request, recording, quiet)

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
        file, journal = recording.folder / "naps.py", recording.journal_file
        file.write_text(naps_that(step, prepare))
        usual = {"journal": journal, "report": recording.workload_file, "warmup": 1, "repeats": 10}
        Spec(file=file, name="naps", **{**usual, **values}).save(recording.spec_file)
        target = Launch(command(recording.spec_file), journal=journal)
        return recorder.record(Request(target, time_limit), recording, quiet)

    return run
