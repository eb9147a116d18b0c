"""The phases of a worker's life, one function each."""

import gc
import os
import sys
import threading
import time
from dataclasses import fields
from typing import Any

import psutil

from tracekit.base.errors import RecordingError
from tracekit.base.processes import start_of
from tracekit.workload.step import Results, Step, measured
from tracekit.workload.told import Work
from tracekit.workload.worker.account import Account
from tracekit.workload.worker.gpu_capture import capture_steps
from tracekit.workload.worker.loop import FEWEST, Loop, Stop
from tracekit.workload.worker.memory import BASELINE, note
from tracekit.workload.worker.overhead import budget, measure
from tracekit.workload.worker.reference import reference
from tracekit.workload.worker.spec import Spec
from tracekit.workload.workload import load

SECOND = 1_000_000_000
_MOST_WARMUP = 60 * SECOND
_WAKE_UP = SECOND // 2
_NEVER = 2**63 - 1


def run(spec: Spec, account: Account, stop: Stop, begun: int) -> None:
    """Live one worker's life; `begun` is when it was launched, in monotonic ns."""
    step = prepare(spec, account)
    loop = Loop(step, account, stop)
    loop.look()
    end = _end(spec, begun)
    warm_up(spec, loop, end)
    gc.collect()
    gc.freeze()
    if spec.go_file is not None:
        wait_for_go(spec, account, stop)
        wake_up(spec, loop)
    if stop.requested:
        return
    if spec.gputrace is not None:
        capture_steps(loop, spec.gputrace, spec.repeats or 1)
        return
    pace = reference() if spec.reference and step.backend == "cpu" else None
    if spec.seconds is not None and spec.limit_from == "steady":
        least = max(round(spec.seconds * SECOND), FEWEST * loop.last)
        account.mark("busy", until=time.monotonic_ns() + least + loop.last)
    account.enter("steady", "steady")
    deadline = _deadline(spec, end)
    step.begin()
    loop.between = pace.take if pace else None
    loop.run("steady", spec.repeats or _NEVER, deadline)
    loop.between = None
    account.mark("left", at=time.monotonic_ns())
    note(account, "steady", thorough=True)
    tell_results(account, step.finish())
    loop.say(step.leave())
    if spec.measure_overhead and not stop.requested and not step.exhausted():
        account.mark("phase", name="overhead", start=time.monotonic_ns())
        measure(loop, spec)


def tell_results(account: Account, results: Results) -> None:
    """Mark what the workload measured."""
    for name, one in measured(results).items():
        account.mark("result", name=name, **vars(one))


def prepare(spec: Spec, account: Account) -> Step:
    """Load and prepare the workload; say what it is, where it runs and what a step does."""
    account.anchor()
    account.mark(
        "about",
        workload=spec.name,
        parameters=spec.parameters,
        pid=os.getpid(),
        start=start_of(os.getpid()),
        thread=threading.get_native_id(),
        process=psutil.Process().name(),
    )
    note(account, BASELINE)
    account.enter("prepare", "preparing")
    workload = load(spec.file)
    step = workload.make(spec.parameters)
    version, device = loaded_mlx()
    account.mark("about", backend=step.backend, mlx=version, device=device)
    tell_results(account, step.results)
    account.mark("model", **{one.name: getattr(step, one.name) for one in fields(Work)})
    for variant, work in step.variants.items():
        account.mark("variant", **vars(work), variant=variant)
    note(account, "prepare", thorough=True)
    return step


def warm_up(spec: Spec, loop: Loop, end: int) -> None:
    """Step until `warmup` steps in a row brought no new pipeline; bounded in steps and time."""
    loop.account.enter("warm-up", "warming")
    calm_down(loop, spec.warmup, end)
    note(loop.account, "warm-up")


def calm_down(loop: Loop, warmup: int, end: int = _NEVER) -> None:
    """Step until `warmup` steps in a row brought no new pipeline; mark a warning where they do not.

    It takes at most a minute, or half of what is left until `end`, in monotonic ns.
    """
    now = time.monotonic_ns()
    deadline = now + min(_MOST_WARMUP, max(0, end - now) // 2)
    calm, most = 0, max(64, 8 * warmup)
    for _ in range(most):
        if calm >= warmup or loop.stop.requested:
            return
        before = len(loop.known)
        loop.run("warm-up", 1, _NEVER)
        calm = calm + 1 if len(loop.known) == before else 0
        if time.monotonic_ns() >= deadline:
            break
    if calm < warmup:
        loop.account.mark(
            "warning",
            text=f"The warm-up ended before {warmup} steps in a row brought no new pipeline.",
        )


def wait_for_go(spec: Spec, account: Account, stop: Stop) -> None:
    """Wait until somebody makes the go file; raise RecordingError when nobody does in time."""
    assert spec.go_file is not None
    account.enter("waiting", "waiting")
    deadline = time.monotonic() + spec.go_timeout
    while not spec.go_file.exists() and not stop.requested:
        if time.monotonic() >= deadline:
            raise RecordingError(
                f"The worker was ready, but no recorder said go within {spec.go_timeout:g} s."
            )
        time.sleep(0.01)


def wake_up(spec: Spec, loop: Loop) -> None:
    """Step a little after the wait, which let clocks and caches go down; half a second at most."""
    if loop.stop.requested or not spec.warmup:
        return
    loop.account.enter("wake-up", "warming")
    affordable = _WAKE_UP // max(loop.last, 1)
    loop.run("wake-up", max(1, min(spec.warmup, affordable)), _NEVER)
    note(loop.account, "wake-up")


def stay(spec: Spec, stop: Stop) -> None:
    """Stay, idle, while the go file is there, so that a recorder can save what it is attached to.

    A signal that comes now is reason enough to leave. Who is abandoned stays until its lifeline
    ends it: something may still be stopping the recorder in good order.
    """
    while spec.go_file is not None and spec.go_file.exists():
        if stop.requested and not stop.abandoned:
            return
        time.sleep(0.02)


def _end(spec: Spec, begun: int) -> int:
    if spec.seconds is None or spec.limit_from == "steady":
        return _NEVER
    return begun + round(max(spec.seconds - 1, spec.seconds / 2) * SECOND)


def _deadline(spec: Spec, end: int) -> int:
    if spec.seconds is None:
        return _NEVER
    if spec.limit_from == "steady":
        return time.monotonic_ns() + round(spec.seconds * SECOND)
    return end - (round(budget(spec) * SECOND) if spec.measure_overhead else 0)


def loaded_mlx() -> tuple[str, dict[str, Any]]:
    """Say which MLX the workload has loaded, if any, and what device it runs on."""
    core: Any = sys.modules.get("mlx.core")
    return ("", {}) if core is None else (core.__version__, dict(core.device_info()))
