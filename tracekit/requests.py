"""From a plan to a request: the worker's orders, and the command line that a recorder launches."""

from tracekit.plan import Plan
from tracekit.recorder import Attach, Launch, Recorder, Request, Target
from tracekit.recording import Recording
from tracekit.worker import Spec, command


def request_for(plan: Plan, recording: Recording, recorder: Recorder) -> Request:
    """Return what the recorder is to do; write the worker's orders into the run's folder."""
    return Request(
        target=_target(plan, recording, recorder),
        time_limit=plan.time_limit,
        templates=plan.templates,
        counters=plan.counters,
    )


def _target(plan: Plan, recording: Recording, recorder: Recorder) -> Target:
    if plan.attach is not None:
        return Attach(plan.attach)
    if plan.workload is None:
        return Launch(plan.command)
    on_host = recorder.name == "host"
    spec = Spec(
        file=plan.workload.file.resolve(),
        name=plan.workload.name,
        journal=recording.journal_file.resolve(),
        report=recording.workload_file.resolve(),
        parameters=dict(plan.parameters),
        warmup=plan.warmup,
        repeats=plan.repeats,
        seconds=plan.time_limit,
        limit_from="steady" if on_host else "launch",
        measure_overhead=on_host,
    )
    spec.save(recording.spec_file)
    return Launch(command(recording.spec_file.resolve()), journal=spec.journal)
