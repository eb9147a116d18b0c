"""What a recorder is asked to do, by method and recorder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.observe import request_for, unheeded
from tracekit.record.recorder import Attach, Launch, Request, Warmed, journal_of, quiet
from tracekit.record.xctrace.exporting import only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Xctrace
from tracekit.workload.plan import Plan
from tracekit.workload.worker.spec import Spec
from tracekit.workload.workload import load
from worker_naps import naps_that

HOST = HostRecorder()
XCTRACE = XctraceRecorder(Xctrace("/X/xctrace"), only())


@pytest.mark.parametrize(
    ("recorder", "method", "limit", "attached"),
    [
        (XCTRACE, "auto", 35, False),
        (XCTRACE, "launch", 35, False),
        (XCTRACE, "attach", 7, True),
        (HOST, "auto", 5, False),
        (HOST, "attach", 5, False),
    ],
)
def test_a_workload_is_launched_or_waits_until_it_is_attached_to(
    *, recorder: Any, method: str, limit: float, attached: bool, tmp_path: Path
) -> None:
    (tmp_path / "naps.py").write_text(naps_that())
    plan = Plan(load(tmp_path / "naps.py"), time_limit=5, method=method)
    recording, host = Recording(tmp_path), recorder is HOST
    request = request_for(plan, recording, recorder)
    assert request.time_limit == limit
    assert journal_of(request.target) == recording.journal_file.resolve()
    spec = Spec.load(recording.spec_file)
    assert (spec.lifeline, spec.measure_overhead, spec.reference) == (attached, host, host)
    assert isinstance(request.target, Warmed) is attached
    if isinstance(request.target, Warmed):
        assert spec.go_file == request.target.go_file == (recording.folder / "worker.go").resolve()
        assert spec.go_timeout >= 3600
        with pytest.raises(UsageError, match="it waits for no go file"):
            HOST.record(request, recording, quiet)
    said = "".join(unheeded(plan, recorder))
    assert said.startswith("--method attach was not followed") is (host and method == "attach")


@pytest.mark.parametrize("recorder", [HOST, XCTRACE], ids=["host", "xctrace"])
def test_programs_and_processes_are_taken_as_they_are(recorder: Any, tmp_path: Path) -> None:
    recording, program = Recording(tmp_path), Plan(command=("true",), time_limit=3)
    assert request_for(program, recording, recorder) == Request(Launch(("true",)), 3)
    process = request_for(replace(program, command=(), attach=7), recording, recorder)
    assert process == Request(Attach(7), 3)
    assert journal_of(process.target) is None
    assert not recording.spec_file.exists()
