"""From a plan to a request: the worker's orders, and the command line that a recorder launches."""

from dataclasses import replace

from tracekit.plan import Plan
from tracekit.recorder import Attach, Launch, Recorder, Request
from tracekit.recording import Recording
from tracekit.worker import Spec, command

# What xctrace grants a worker, in seconds, to get ready within the recording. The worker ends by
# itself after its steady phase, and the recording with it; the grant only bounds one that hangs.
START_UP = 30.0


def request_for(plan: Plan, recording: Recording, recorder: Recorder) -> Request:
    """Return what the recorder is to do; write the worker's orders into the run's folder.

    The plan's time limit is that of a workload's steady phase, or of the whole recording of any
    other program.
    """
    request = Request(
        target=Launch(plan.command),
        time_limit=plan.time_limit,
        templates=plan.templates,
        counters=plan.counters,
    )
    if plan.attach is not None:
        return replace(request, target=Attach(plan.attach))
    if plan.workload is None:
        return request
    on_host = recorder.name == "host"
    return replace(
        request,
        target=_worker(plan, recording, measure_overhead=on_host),
        time_limit=plan.time_limit if on_host else plan.time_limit + START_UP,
    )


def _worker(plan: Plan, recording: Recording, *, measure_overhead: bool) -> Launch:
    assert plan.workload is not None
    spec = Spec(
        file=plan.workload.file.resolve(),
        name=plan.workload.name,
        journal=recording.journal_file.resolve(),
        report=recording.workload_file.resolve(),
        parameters=dict(plan.parameters),
        warmup=plan.warmup,
        repeats=plan.repeats,
        seconds=plan.time_limit,
        measure_overhead=measure_overhead,
    )
    spec.save(recording.spec_file)
    return Launch(command(recording.spec_file.resolve()), journal=spec.journal)
