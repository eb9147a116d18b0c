"""From a plan to a request: the worker's orders, and the command line that a recorder launches."""

from dataclasses import replace

from tracekit.base.recording import Recording
from tracekit.record.recorder import Attach, Launch, Recorder, Request, Warmed
from tracekit.workload.plan import Plan
from tracekit.workload.worker.spec import Spec, command

# What xctrace grants a worker, in seconds, to get ready within the recording. The worker ends by
# itself after its steady phase, and the recording with it; the grant only bounds one that hangs.
START_UP = 30.0
# The same for a worker that is ready when the recording begins: it has to wake up, and to end.
WAKE_UP = 2.0
# How long a worker that is ready waits for its recorder: for all its tries, and all their time.
_PATIENCE = 3600.0
_NOT_ON_HOST = (
    "--method {method} was not followed: the host recorder starts its workload itself, and marks "
    "the warm-up apart."
)


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
    if recorder.name == "host":
        spec = replace(_spec(plan, recording), measure_overhead=True, reference=True)
        return replace(request, target=_worker(spec, recording))
    if plan.method == "attach":
        return _warmed(plan, recording, request)
    target = _worker(_spec(plan, recording), recording)
    return replace(request, target=target, time_limit=plan.time_limit + START_UP)


def unheeded(plan: Plan, recorder: Recorder) -> tuple[str, ...]:
    """Return, in words, what of a plan has no meaning for the recorder."""
    if recorder.name == "host" and plan.workload is not None and plan.method != "auto":
        return (_NOT_ON_HOST.format(method=plan.method),)
    return ()


def _warmed(plan: Plan, recording: Recording, request: Request) -> Request:
    go_file = (recording.folder / "worker.go").resolve()
    spec = replace(_spec(plan, recording), go_file=go_file, go_timeout=_PATIENCE, lifeline=True)
    target = Warmed(_worker(spec, recording), go_file)
    return replace(request, target=target, time_limit=plan.time_limit + WAKE_UP)


def _worker(spec: Spec, recording: Recording) -> Launch:
    spec.save(recording.spec_file)
    return Launch(command(recording.spec_file.resolve()), journal=spec.journal)


def _spec(plan: Plan, recording: Recording) -> Spec:
    assert plan.workload is not None
    return Spec(
        file=plan.workload.file.resolve(),
        name=plan.workload.name,
        journal=recording.journal_file.resolve(),
        report=recording.workload_file.resolve(),
        parameters=dict(plan.parameters),
        warmup=plan.warmup,
        repeats=plan.repeats,
        seconds=plan.time_limit,
    )
