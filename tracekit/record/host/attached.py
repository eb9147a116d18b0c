"""Records a process that runs already."""

import time

from tracekit.base.recording import Overhead, Process, Recording, now, save
from tracekit.machine.machine import describe
from tracekit.record.host.listener import Listener
from tracekit.record.host.sampler import Sampler, process_name, runs
from tracekit.record.host.session import Session, close, fresh
from tracekit.record.host.watch import End, Pace, watch
from tracekit.record.recorder import Attach, Progress, Recorded

ONLY_SAMPLES = (
    "Only the process was sampled: the target tells nothing of its phases, steps and submissions."
)


def record_attached(
    target: Attach, recording: Recording, pace: Pace, progress: Progress
) -> Recorded:
    """Sample the process until it ends, the time limit is reached or Ctrl-C is pressed.

    The process is left as it was.

    Raises:
        UsageError: There is no such process.
        ToolError: It may not be looked at.
        RecordingError: The bundle cannot be written.
    """
    running = runs(target.pid)
    bundle = fresh(recording.host_bundle)
    session = Session(
        target.pid,
        process_name(target.pid),
        "attached",
        origin=time.monotonic_ns(),
        started=now(),
        time_limit=pace.limit,
        machine=describe(),
    )
    save(bundle.session, session)
    sampler = Sampler(target.pid, bundle.samples)
    try:
        end = watch(sampler, Listener(None), pace, progress, running=running)
    finally:
        sampler.close()
    session = close(bundle, session, end.value)
    return Recorded(
        targets=(Process(session.pid, session.name),),
        started=session.started,
        ended=session.ended,
        end_reason=session.end_reason,
        clock={"origin": session.origin, "clock": "monotonic"},
        overhead=Overhead(reason="A process that is not tracekit's own cannot be run unrecorded."),
        interrupted=end is End.INTERRUPTED,
        warnings=(ONLY_SAMPLES,),
    )
