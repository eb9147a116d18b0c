"""A short recording of the probe on the CPU, where there is no xctrace to record it with."""

import tempfile
from pathlib import Path

from tracekit.base.errors import InterruptedRunError, TracekitError
from tracekit.base.recording import Provenance, Recording, now
from tracekit.record.doctor.fact import Fact, failed, ok
from tracekit.record.doctor.probe import DOSE, WORK, Dose
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.recorder import Progress, quiet
from tracekit.record.requests import request_for
from tracekit.tables.tables import Tables
from tracekit.workload.plan import Plan
from tracekit.workload.workload import load

NAME = "probe: host recorder"
_FIX = "Record any workload with `--recorder host`, and look at what it says."


def probe_host(progress: Progress = quiet, dose: Dose = DOSE) -> Fact:
    """Record the probe with the host recorder, read its tables, and say what they hold.

    Raises:
        InterruptedRunError: Someone asked to stop.
    """
    with tempfile.TemporaryDirectory(
        prefix="tracekit-probe-", ignore_cleanup_errors=True
    ) as folder:
        try:
            return _recorded(Recording(Path(folder) / "run"), progress, dose)
        except InterruptedRunError:
            raise
        except TracekitError as error:
            return failed(NAME, error.message, error.hint or _FIX)


def _recorded(recording: Recording, progress: Progress, dose: Dose) -> Fact:
    recorder = HostRecorder()
    recording.save_provenance(Provenance(created=now(), recorder=recorder.name))
    plan = Plan(
        workload=load(WORK),
        parameters={"dispatches": dose.dispatches},
        recorder=recorder.name,
        time_limit=dose.seconds,
        warmup=3,
    )
    recorded = recorder.record(request_for(plan, recording, recorder), recording, progress)
    if recorded.interrupted:
        raise KeyboardInterrupt
    if recorded.failure:
        return failed(NAME, recorded.failure, _FIX)
    recorder.export(recording, progress)
    tables = Tables(recording.exports, frozenset(one.pid for one in recorded.targets))
    steps, samples = len(tables["steps"]), len(tables["process_samples"])
    words = f"{steps} steps and {samples} samples of a probe were recorded and read"
    return ok(NAME, words) if steps and samples else failed(NAME, words, _FIX)
