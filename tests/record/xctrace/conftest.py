"""Recordings with the fake xctrace."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from children import running, started_since
from recording_fakes import DEADLINES, Record, Scenario
from tracekit.base.choices import RecordingChoices
from tracekit.base.recording import Recording
from tracekit.record.observe import request_for
from tracekit.record.recorder import FinishedRecording, RecordingRequest, Target
from tracekit.record.xctrace.attached_worker import WorkerTimeouts
from tracekit.record.xctrace.attempts import Manner
from tracekit.record.xctrace.claim import Premises
from tracekit.record.xctrace.exporting import choose_only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.recording_process import Deadlines
from tracekit.record.xctrace.tool import ToolTimeouts, locate
from tracekit.workload.plan import Plan


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    folder = tmp_path / "run"
    folder.mkdir()
    return Recording(folder)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def nothing_is_left_running() -> Iterator[None]:
    processes_before = running()
    yield
    assert started_since(processes_before) == []


@pytest.fixture
def record(
    scenario: Scenario, recording: Recording, told: list[str], nothing_is_left_running: None
) -> Record:
    """Record what a target or a plan says with the fake; what progress is told is in `told`."""

    def run(
        target_or_plan: Target | Plan,
        *,
        limit: float = 30,
        deadlines: Deadlines = DEADLINES,
        progress: Callable[[str], None] = told.append,
        premises: Premises | None = None,
        worker: WorkerTimeouts | None = None,
    ) -> FinishedRecording:
        tool = locate(timeouts=ToolTimeouts(pauses=(0, 0)))
        manner = Manner(deadlines, (0, 0), worker or WorkerTimeouts(), premises or Premises())
        recorder = XctraceRecorder(tool, choose_only(), manner)
        request = (
            request_for(target_or_plan, recording, recorder)
            if isinstance(target_or_plan, Plan)
            else RecordingRequest(target_or_plan, limit, RecordingChoices(counters="off"))
        )
        return recorder.record(request, recording, progress)

    return run
