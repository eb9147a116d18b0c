"""Launches a program and records it until it ends."""

import time
from pathlib import Path

from tracekit.base.recording import Recording, now, save
from tracekit.machine.machine import describe
from tracekit.record.guardian.guardian import Guardian
from tracekit.record.host.child import Child, start
from tracekit.record.host.listener import Listener
from tracekit.record.host.sampler import Sampler, process_name
from tracekit.record.host.session import Session, close, fresh
from tracekit.record.host.verdict import Outcome, recorded, settled
from tracekit.record.host.watch import End, Pace, watch
from tracekit.record.recorder import Launch, Progress, Recorded


def record_launched(
    target: Launch, recording: Recording, pace: Pace, progress: Progress
) -> Recorded:
    """Run the program and sample it; nothing that it started outlives the recording.

    Raises:
        ToolError: The program cannot be started.
        UsageError: A worker says that its parameters are wrong.
        RecordingError: The folder cannot be written.
    """
    with Guardian(recording.folder) as guardian:
        return _record(target, recording, pace, progress, guardian)


def _record(
    target: Launch, recording: Recording, pace: Pace, progress: Progress, guardian: Guardian
) -> Recorded:
    bundle = fresh(recording.host_bundle)
    machine = describe()
    origin, started = time.monotonic_ns(), now()
    child = start(target.argv, target.env, bundle, guardian, pace.patience)
    try:
        pid = child.process.pid
        session = Session(
            pid,
            process_name(pid) or Path(target.argv[0]).name,
            "launched",
            arguments=target.argv[1:],
            origin=origin,
            started=started,
            time_limit=pace.limit,
            machine=machine,
        )
        save(bundle.session, session)
        end = _watched(child, target, pace, progress)
    finally:
        graceful = child.stop(pace.patience)
        child.sweep()
    stopped = end is End.INTERRUPTED
    end = end if graceful else End.KILLED
    session = close(bundle, session, end.value, child.exit_status)
    outcome = Outcome(session, end, child.exit_status, child.complaint(), stopped=stopped)
    return recorded(outcome, target, settled(outcome, target, recording))


def _watched(child: Child, target: Launch, pace: Pace, progress: Progress) -> End:
    sampler = Sampler(child.process.pid, child.bundle.samples)
    listener = Listener(target.journal)
    try:
        return watch(sampler, listener, pace, progress, running=lambda: child.exit_status is None)
    finally:
        sampler.close()
