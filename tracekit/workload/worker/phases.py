"""The phases of a worker's life, one function each, with its memory at the end of each."""

import gc
import os
import sys
import threading
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import psutil

from tracekit.base import RecordingError, ToolError, processes, units
from tracekit.machine import sampler
from tracekit.workload.worker.loop import FEWEST, NEVER, SECOND, StepLoop, measure, reference
from tracekit.workload.worker.notes import Notes
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.worker.stopping import Stop
from tracekit.workload.workload import Results, Step, Work, load, normalize_results

_ENVIRONMENT = "Metal captures only in a process that was started with MTL_CAPTURE_ENABLED=1."


def _capturing(backend: str) -> Any:
    """Return MLX; raise ToolError where its Metal cannot capture a workload's steps."""
    core: Any = sys.modules.get("mlx.core")
    if core is None:
        raise _make_capture_error("did not load MLX")
    if backend != "metal" or not core.metal.is_available():
        raise _make_capture_error("runs on the CPU")
    return core


def _make_capture_error(reason: str) -> ToolError:
    return ToolError(
        f"The workload {reason}, so there is no GPU work to capture.",
        hint="GPU frame capture needs work of MLX on Metal: a Mac with a GPU of Apple's.",
    )


def capture_steps(loop: StepLoop, core: Any, path: Path, steps: int) -> None:
    """Make `steps` steps while Metal captures them into `path`; `core` is `mlx.core`.

    A capture holds the command buffers that were made while it ran. MLX keeps one open for the next
    work, and makes another when it commits that one. So it is emptied before the capture, exchanged
    once the capture runs, and committed before it stops.
    """
    if path.exists():
        raise RecordingError(f"{path} exists; a capture is never written over.")
    loop.account.enter("gputrace", "capturing")
    core.synchronize()
    try:
        core.metal.start_capture(str(path))
    except (RuntimeError, ValueError) as error:
        raise ToolError(f"MLX could not begin to capture: {error}", hint=_ENVIRONMENT) from error
    try:
        core.synchronize()
        with loop.step.noting_launches() as launches:
            made_steps = loop.run_unrecorded(steps)
        core.synchronize()
    finally:
        core.metal.stop_capture()
    for launch in launches:
        loop.account.mark("launch", **vars(launch))
    if made_steps < steps:
        text = f"The workload had nothing left to do after {made_steps} of {steps} steps."
        loop.account.mark("warning", text=text)
    if not path.exists():
        raise ToolError(f"Metal captured nothing: there is no {path}.", hint=_ENVIRONMENT)


BASELINE = "baseline"

_MLX = {
    "mlx_active": "get_active_memory",
    "mlx_peak": "get_peak_memory",
    "mlx_cache": "get_cache_memory",
}


def note(account: Account | Notes, phase: str, *, thorough: bool = False) -> None:
    """Mark the memory of this process at the end of a phase; peaks of MLX count from here on.

    `phase` is the one that is over, or "baseline". A `thorough` look runs `vmmap` too, if there is
    one: that takes a while, and may pause this process.
    """
    read_at = time.monotonic_ns()

    def mark(kind: str, level: int | None, reason: str) -> None:
        if level is not None:
            reason = ""
        account.mark("memory", phase=phase, what=kind, bytes=level, at=read_at, reason=reason)

    mark("resident", psutil.Process().memory_info().rss, "")
    core: Any = sys.modules.get("mlx.core")
    no_mlx = "this MLX does not say" if core else "MLX is not loaded"
    for kind, name in _MLX.items():
        read = getattr(core, name, None)
        level = read() if read else None
        mark(kind, level, no_mlx)
    if thorough:
        no_vmmap = "vmmap is a program of macOS"
        if sys.platform == "darwin":
            no_vmmap = "vmmap does not say"
        sizes = sampler.read_vmmap(os.getpid())
        for kind, level in sizes.items():
            mark(kind, level, no_vmmap)
    if hasattr(core, "reset_peak_memory"):
        core.reset_peak_memory()


_MOST_WARMUP = 60 * SECOND
_WAKE_UP = SECOND // 2
_MOST_WAKE_UP = 2 * SECOND
_GPU = "metal"


def run(spec: Spec, account: Account, stop: Stop) -> None:
    """Go through all phases of a worker's life."""
    step = prepare(spec, account)
    core: Any = None
    if spec.gputrace is not None:
        core = _capturing(step.backend)
    loop = StepLoop(step, account, stop)
    loop.look()
    account.enter("warm-up", "warming")
    calm_down(loop, spec.warmup)
    is_timed_at_once = spec.go_file is None and spec.gputrace is None
    if is_timed_at_once and spec.warmup and step.backend == _GPU:
        raise_clock(loop, "warm-up")
    note(account, "warm-up")
    gc.collect()
    gc.freeze()
    if spec.go_file is not None:
        wait_for_go(spec, account, stop)
        wake_up(spec, loop)
    if stop.requested:
        return
    if spec.gputrace is not None:
        capture_steps(loop, core, spec.gputrace, spec.repeats or 1)
        return
    _run_steady(spec, loop)
    if spec.measure_overhead and not stop.requested and not step.exhausted():
        account.mark("phase", name="overhead", start=time.monotonic_ns())
        measure(loop, spec)


def _run_steady(spec: Spec, loop: StepLoop) -> None:
    """Run the steady phase, and mark its end and its results."""
    step = loop.step
    account = loop.account
    step_hook = None
    if spec.reference and step.backend == "cpu":
        step_hook = reference().take
    if spec.seconds is not None:
        steady_time = spec.steady(loop.last_step_time)
        min_length = max(steady_time, FEWEST * loop.last_step_time)
        busy_until = time.monotonic_ns() + min_length + loop.last_step_time
        account.mark("busy", until=busy_until)
    account.enter("steady", "steady")
    lasts = spec.steady(loop.last_step_time)
    deadline = NEVER
    if spec.seconds is not None:
        deadline = time.monotonic_ns() + lasts
    step.begin()
    loop.step_hook = step_hook
    made_steps = loop.run("steady", spec.repeats or NEVER, deadline)
    loop.step_hook = None
    end_reason = ending(spec, loop, made_steps)
    account.mark("left", at=time.monotonic_ns(), why=end_reason)
    mark_shortfall(spec, loop, made_steps, end_reason, lasts)
    note(account, "steady", thorough=True)
    mark_results(account, step.finish())
    loop.mark_report(step.leave())


def ending(spec: Spec, loop: StepLoop, made_steps: int) -> str:
    """Return why the steady phase ended, in a word: stopped, repeats, exhausted or limit."""
    if loop.stop.requested:
        return "stopped"
    if spec.repeats is not None and made_steps >= spec.repeats:
        return "repeats"
    if loop.step.exhausted():
        return "exhausted"
    return "limit"


def mark_shortfall(
    spec: Spec, loop: StepLoop, made_steps: int, end_reason: str, lasts: int
) -> None:
    """Mark a warning if the phase, of `lasts` ns, ended with fewer steps than were asked for."""
    wanted_steps = spec.repeats or spec.steps
    if made_steps >= wanted_steps:
        return
    shortfall = f"after {made_steps:,} of {wanted_steps:,} steps"
    if end_reason == "limit":
        text = f"The time limit of {units.duration(lasts)} ended the steady phase {shortfall}."
        loop.account.mark("warning", text=f"{text} --time-limit allows more.")
    elif end_reason == "exhausted" and spec.repeats is not None:
        loop.account.mark("warning", text=f"The workload had nothing left to do {shortfall}.")


def mark_results(account: Account | Notes, results: Results) -> None:
    """Mark the workload's own measurements."""
    for name, result in normalize_results(results).items():
        account.mark("result", name=name, **vars(result))


def prepare(spec: Spec, account: Account) -> Step:
    """Load and prepare the workload; mark its name, its backend and the work of a step."""
    account.anchor()
    process_start = processes.start_of(os.getpid())
    thread = threading.get_native_id()
    process = psutil.Process().name()
    account.mark(
        "about",
        workload=spec.name,
        parameters=spec.parameters,
        pid=os.getpid(),
        start=process_start,
        thread=thread,
        process=process,
    )
    note(account, BASELINE)
    account.enter("prepare", "preparing")
    workload = load(spec.file, spec.name)
    step = workload.make(spec.parameters)
    version, device = loaded_mlx()
    account.mark("about", backend=step.backend, mlx=version, device=device)
    mark_results(account, step.results)
    model = {field.name: getattr(step, field.name) for field in fields(Work)}
    account.mark("model", **model)
    for variant, work in step.variants.items():
        account.mark("variant", **vars(work), variant=variant)
    note(account, "prepare", thorough=True)
    return step


def calm_down(loop: StepLoop, warmup: int) -> None:
    """Step until `warmup` steps in a row made no new pipeline; a minute at most.

    Mark a warning if there are no such steps.
    """
    deadline = time.monotonic_ns() + _MOST_WARMUP
    calm_steps = 0
    max_steps = max(64, 8 * warmup)
    for _ in range(max_steps):
        if calm_steps >= warmup or loop.stop.requested:
            return
        known_count = len(loop.known_pipelines)
        loop.run("warm-up", 1, NEVER)
        if len(loop.known_pipelines) == known_count:
            calm_steps += 1
        else:
            calm_steps = 0
        if time.monotonic_ns() >= deadline:
            break
    if calm_steps < warmup:
        loop.account.mark(
            "warning",
            text=f"The warm-up ended before {warmup} steps in a row brought no new pipeline.",
        )


def wait_for_go(spec: Spec, account: Account, stop: Stop) -> None:
    """Wait for the go file; raise RecordingError if it is not made in time."""
    assert spec.go_file is not None
    account.enter("waiting", "waiting")
    deadline = time.monotonic() + spec.go_timeout
    while not spec.go_file.exists() and not stop.requested:
        if time.monotonic() >= deadline:
            raise RecordingError(
                f"The worker was ready, but no recorder said go within {spec.go_timeout:g} s."
            )
        time.sleep(0.01)


def wake_up(spec: Spec, loop: StepLoop) -> None:
    """Step a little after the wait, as clocks and caches went down.

    A CPU gets half a second at most; a GPU, whose clock rises in steps for some 0.4 s of work, gets
    as much at least.
    """
    if loop.stop.requested or not spec.warmup:
        return
    loop.account.enter("wake-up", "warming")
    if loop.step.backend == _GPU:
        raise_clock(loop, "wake-up")
        note(loop.account, "wake-up")
        return
    affordable = _WAKE_UP // max(loop.last_step_time, 1)
    wake_up_steps = max(1, min(spec.warmup, affordable))
    loop.run("wake-up", wake_up_steps, NEVER)
    note(loop.account, "wake-up")


def raise_clock(loop: StepLoop, phase: str) -> None:
    """Step for half a second, so that no step that counts runs at a clock that still rises.

    The time between steps does not count. If steps are so short that it takes most of the time,
    they cannot keep a GPU busy, and this ends after two seconds.
    """
    deadline = time.monotonic_ns() + _MOST_WAKE_UP
    worked = 0
    while worked < _WAKE_UP and loop.run(phase, 1, deadline, fewest=0):
        worked += loop.last_step_time


def stay(spec: Spec, stop: Stop) -> None:
    """Stay idle while the go file exists, so that a recorder can save the attached process.

    A signal ends the wait. An abandoned worker stays until its lifeline ends it: the recorder may
    still be being stopped in good order.
    """
    while spec.go_file is not None and spec.go_file.exists():
        if stop.requested and not stop.abandoned:
            return
        time.sleep(0.02)


def loaded_mlx() -> tuple[str, dict[str, Any]]:
    """Return the version of the MLX that the workload has loaded, and its device; empty without."""
    core: Any = sys.modules.get("mlx.core")
    if core is None:
        return "", {}
    return core.__version__, dict(core.device_info())
