"""What a recorder is asked to do, by method and recorder."""

from dataclasses import replace
from pathlib import Path

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

NAPS = '''
from tracekit.workload import Step, workload

@workload
def naps() -> Step:
    """Do nothing."""
    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")
'''
HOST = HostRecorder()
XCTRACE = XctraceRecorder(Xctrace("/X/xctrace"), only())


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


@pytest.fixture
def naps(tmp_path: Path) -> Plan:
    (tmp_path / "naps.py").write_text(NAPS)
    return Plan(load(tmp_path / "naps.py"), time_limit=5)


def orders(recording: Recording) -> Spec:
    return Spec.load(recording.spec_file)


@pytest.mark.parametrize("method", ["auto", "launch"])
def test_xctrace_launches_a_workload_and_grants_it_time_to_get_ready(
    naps: Plan, recording: Recording, method: str
) -> None:
    request = request_for(replace(naps, method=method), recording, XCTRACE)
    assert isinstance(request.target, Launch)
    assert request.time_limit == 35
    assert journal_of(request.target) == recording.journal_file.resolve()
    spec = orders(recording)
    assert (spec.go_file, spec.lifeline, spec.measure_overhead) == (None, False, False)
    assert not spec.reference


def test_xctrace_attaches_to_a_workload_that_waits_for_it(naps: Plan, recording: Recording) -> None:
    request = request_for(replace(naps, method="attach"), recording, XCTRACE)
    target = request.target
    assert isinstance(target, Warmed)
    assert request.time_limit == 7
    assert journal_of(target) == recording.journal_file.resolve()
    spec = orders(recording)
    assert spec.go_file == target.go_file == (recording.folder / "worker.go").resolve()
    assert (spec.lifeline, spec.measure_overhead) == (True, False)
    assert not spec.reference
    assert spec.go_timeout >= 3600


@pytest.mark.parametrize("method", ["auto", "launch", "attach"])
def test_the_host_recorder_always_launches(naps: Plan, recording: Recording, method: str) -> None:
    plan = replace(naps, method=method)
    request = request_for(plan, recording, HOST)
    assert isinstance(request.target, Launch)
    assert request.time_limit == 5
    assert orders(recording).measure_overhead
    assert orders(recording).reference
    said = unheeded(plan, HOST)
    assert len(said) == (method != "auto")
    assert all(one.startswith(f"--method {method} was not followed") for one in said)
    assert unheeded(plan, XCTRACE) == ()


@pytest.mark.parametrize("recorder", [HOST, XCTRACE], ids=["host", "xctrace"])
def test_programs_and_processes_are_taken_as_they_are(
    recording: Recording, recorder: HostRecorder | XctraceRecorder
) -> None:
    program = request_for(Plan(command=("true",), time_limit=3), recording, recorder)
    assert program == Request(Launch(("true",)), 3)
    process = request_for(Plan(attach=7, time_limit=3), recording, recorder)
    assert process == Request(Attach(7), 3)
    assert journal_of(process.target) is None
    assert not recording.spec_file.exists()


def test_the_host_recorder_refuses_a_workload_that_waits(naps: Plan, recording: Recording) -> None:
    request = request_for(replace(naps, method="attach"), recording, XCTRACE)
    with pytest.raises(UsageError, match="it waits for no go file"):
        HOST.record(request, recording, quiet)
