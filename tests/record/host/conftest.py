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
        file.write_text(naps_that(step, prepare))
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
