"""The hot loop of steps and their marks; reference work; the cost of recording.

Other programs on the same cores, a varying clock and a host that gives a virtual machine less time
make steps slower that do no more work than before. They make the reference work slower, too, so
that a comparison of runs can cancel them. It resembles the work of steps: if the workload has
loaded MLX, a product of matrices and a softmax in half precision on MLX's CPU backend; else
arithmetic of Python.

Unrecorded blocks have no marks, and the recorder, which reads them, pauses its sampling. The order
of blocks is ABBA ABBA …, which cancels a drift that is linear over four of them.
"""

import math
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tracekit.workload.worker.notes import Notes
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.worker.stopping import Stop
from tracekit.workload.workload import OWN_REFERENCE, REFERENCE, Gauge, Span, Step, StepReport

NEVER = 2**63 - 1  # a deadline
SECOND = 1_000_000_000  # ns
_KEPT_TIMES = 1000
FEWEST = 3  # steps that are made whatever the clock says

Moments = tuple[int, int, int]
"""When a step began, was handed over and was complete, in monotonic ns."""
CpuTime = tuple[int, int]
"""CPU time so far of the calling thread, and of all threads of the process; ns."""
CpuTimes = tuple[CpuTime, CpuTime, CpuTime]
"""CPU time at each of a step's moments."""


def _cpu_spent(start: CpuTime, submitted: CpuTime, completed: CpuTime) -> dict[str, int]:
    """Return the CPU time of a step: of the calling thread, of others, and during the wait."""
    caller = submitted[0] - start[0]
    wait_cpu = completed[1] - submitted[1]
    submit_other_cpu = max(0, submitted[1] - start[1] - caller)
    return {
        "submit_cpu": caller,
        "submit_other_cpu": submit_other_cpu,
        "wait_cpu": wait_cpu,
    }


@dataclass
class StepLoop:
    """A step, and its state so far.

    `last_step_time` is the duration of the last step, `step_times` those of the latest steps of the
    last run, in ns. `step_hook` is called before each
    marked step, and not timed with it. `referenced` if the workload times reference work itself.
    """

    step: Step
    account: Account | Notes
    stop: Stop
    known_pipelines: set[str] = field(default_factory=set[str])
    last_step_time: int = 0
    step_times: deque[int] = field(default_factory=lambda: deque[int](maxlen=_KEPT_TIMES))
    step_hook: Callable[["StepLoop"], None] | None = None
    referenced: bool = False

    def run(self, phase: str, max_steps: int, deadline: int, fewest: int = FEWEST) -> int:
        """Make and mark up to `max_steps` steps until `deadline`, monotonic ns; return how many.

        `fewest` are made whatever the clock says.
        """
        # Every look-up that the loop does not need to repeat is done here.
        clock = time.monotonic_ns
        caller = time.thread_time_ns
        process = time.process_time_ns
        submit = self.step.submit
        wait = self.step.wait
        mark = self._mark_step
        exhausted = self.step.exhausted
        stop = self.stop
        self.step_times.clear()
        made_steps = 0
        while made_steps < max_steps and not stop.requested and not exhausted():
            if self.step_hook is not None:
                self.step_hook(self)
            cpu_at_start = caller(), process()
            start = clock()
            if start >= deadline and made_steps >= fewest:
                break
            work = submit()
            submitted = clock()
            cpu_at_submit = caller(), process()
            wait(work)
            completed = clock()
            cpu_at_end = caller(), process()
            moments = (start, submitted, completed)
            mark(phase, moments, (cpu_at_start, cpu_at_submit, cpu_at_end))
            self.last_step_time = completed - start
            self.step_times.append(completed - start)
            made_steps += 1
            self.look()
        return made_steps

    @property
    def usual_step_time(self) -> float:
        """The median duration of the latest steps of the last run, in ns."""
        return median(self.step_times or (self.last_step_time,))

    def _mark_step(self, phase: str, moments: Moments, cpu: CpuTimes) -> None:
        mark = self.account.mark
        start, submitted, completed = moments
        times = {"phase": phase, "start": start, "submitted": submitted, "completed": completed}
        times |= _cpu_spent(*cpu)
        if self.step.tell is None:
            mark("step", **times)
            return
        report = self.step.tell()
        mark("step", **times, variant=report.variant, tokens=report.tokens)
        self.mark_report(report)

    def mark_report(self, report: StepReport) -> None:
        """Mark the spans, gauges and requests that the workload reports."""
        reported = (("span", report.spans), ("gauge", report.gauges), ("request", report.requests))
        for name, things in reported:
            for thing in things:
                self.account.mark(name, **vars(thing))
        self.referenced |= any(gauge.name == REFERENCE for gauge in report.gauges)

    def run_unrecorded(self, steps: int, deadline: int = NEVER) -> int:
        """Make steps as `run` does, without a mark."""
        submit = self.step.submit
        wait = self.step.wait
        exhausted = self.step.exhausted
        for made_steps in range(steps):
            if exhausted() or (made_steps >= FEWEST and time.monotonic_ns() >= deadline):
                return made_steps
            wait(submit())
        return steps

    def look(self) -> None:
        """Mark the pipelines that are new since the last look."""
        names = self.step.specializations()
        if len(names) == len(self.known_pipelines):
            return
        seen_at = time.monotonic_ns()
        for name in sorted(names - self.known_pipelines):
            self.account.mark("specialization", name=name, at=seen_at)
        self.known_pipelines |= names


_PERIOD = 50_000_000  # ns between two of them, at least
_REST = 60  # times the duration of one, at least, so that they cost less than 2 %
_ROUNDS = 8_000
_MODULUS = 2_147_483_647
_ROWS = 64
_INNER = 128
_COLUMNS = 128


@dataclass
class ReferenceWork:
    """The work, the tool that does it, and when it is due next, in monotonic ns."""

    work: Callable[[], None]
    tool: str
    due_time: int = 0

    def take(self, loop: StepLoop) -> None:
        """Do the work and mark its duration, if it is due and the workload times none."""
        start = time.monotonic_ns()
        if start < self.due_time or loop.referenced:
            return
        self.work()
        end = time.monotonic_ns()
        rest_time = max(_PERIOD, _REST * (end - start))
        self.due_time = end + rest_time
        source = f"{OWN_REFERENCE} ({self.tool})"
        span = Span(REFERENCE, start, end)
        loop.account.mark("span", **vars(span))
        gauge = Gauge(REFERENCE, end - start, start, "ns", source)
        loop.account.mark("gauge", **vars(gauge))


def reference() -> ReferenceWork:
    """Make the work and do it a few times, as the first ones take longer."""
    core: Any = sys.modules.get("mlx.core")
    if core is None:
        reference_work = ReferenceWork(_arithmetic, "Python")
    else:
        reference_work = ReferenceWork(_product(core), "MLX")
    for _ in range(5):
        reference_work.work()
    return reference_work


def _arithmetic() -> None:
    state = 1
    for _ in range(_ROUNDS):
        state = state * 48_271 % _MODULUS


def _product(core: Any) -> Callable[[], None]:
    with core.stream(core.cpu):
        counted_scores = core.arange(_ROWS * _INNER).reshape(_ROWS, _INNER)
        scores = counted_scores % 7 / 7
        counted_values = core.arange(_INNER * _COLUMNS).reshape(_INNER, _COLUMNS)
        values = counted_values % 5 / 5
        left = scores.astype(core.float16)
        right = values.astype(core.float16)
        core.eval(left, right)

    def work() -> None:
        with core.stream(core.cpu):
            products = (left @ right).astype(core.float32)
            core.eval(core.softmax(products, axis=-1))

    return work


FEWEST_PAIRS = 6
_SETTLE = 0.06  # seconds that a recorder needs to notice that it is to pause
_BLOCK = 0.05  # seconds that a block lasts at least
_MOST_PAIRS = 100
_MOST_STEPS = 1000  # of a block: marks cost time and space as well
_MOST = 6.0  # seconds that the fewest pairs may take
_LONGEST = 20.0  # seconds that no measurement exceeds, however long the recording


def budget(spec: Spec) -> float:
    """Return the seconds that the measurement may take: a tenth of the limit, but from 1 to 20."""
    tenth = (spec.seconds or 0.0) / 10
    return min(_LONGEST, max(1.0, tenth))


def measure(loop: StepLoop, spec: Spec) -> None:
    """Run the blocks and mark them; mark a warning instead if they would take too long.

    A mark says until when it may take, and it ends by then, however slow steps become.
    """
    step_seconds = max(loop.usual_step_time, 1) / 1e9
    fitting_steps = math.ceil(_BLOCK / step_seconds)
    steps = min(_MOST_STEPS, max(1, fitting_steps))
    pair = 2 * (steps * step_seconds + _SETTLE)
    fitting_pairs = int(budget(spec) / pair)
    pairs = min(_MOST_PAIRS, max(FEWEST_PAIRS, fitting_pairs))
    longest = max(_MOST, budget(spec))
    if FEWEST_PAIRS * pair > longest:
        reason = f"Steps of {step_seconds:.1f} s are too long to measure the cost of recording."
        loop.account.mark("warning", text=reason)
        loop.account.mark("about", overhead_reason=reason)
        return
    deadline = time.monotonic_ns() + round(longest * SECOND)
    busy_until = deadline + FEWEST * loop.last_step_time
    loop.account.mark("busy", until=busy_until)
    for number in range(2 * pairs):
        if loop.stop.requested or loop.step.exhausted() or time.monotonic_ns() >= deadline:
            break
        is_recorded = number % 4 in (0, 3)
        _block(loop, steps, deadline, recorded=is_recorded)
    loop.account.mark("sampling", on=True, at=time.monotonic_ns())


def _block(loop: StepLoop, steps: int, deadline: int, *, recorded: bool) -> None:
    loop.account.mark("sampling", on=recorded, at=time.monotonic_ns())
    time.sleep(_SETTLE)
    start = time.monotonic_ns()
    if recorded:
        made_steps = loop.run("overhead", steps, deadline)
    else:
        made_steps = loop.run_unrecorded(steps, deadline)
    end = time.monotonic_ns()
    if made_steps == steps:  # a shorter one cannot be compared
        loop.account.mark("block", recorded=recorded, start=start, end=end, steps=steps)
