"""Measure subjects of a bench in turns: their samples, then their kernels on the GPU."""

import statistics
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import mlx.core as mx

from tracekit.base import (
    ToolError,
    UsageError,
)
from tracekit.lab.bench.company import Company, Count, count_now
from tracekit.lab.bench.document import (
    INTERRUPTED,
    BenchRow,
    GraphTranspose,
    Timing,
    calls_of,
    rounds_of,
    summarize,
)
from tracekit.lab.bench.graph import list_transposes
from tracekit.lab.bench.inputs import (
    Inputs,
    Prepared,
    Subject,
    SubjectUnavailable,
)
from tracekit.lab.metal_queue import Dispatch, load_metal, time_kernels
from tracekit.record import Progress
from tracekit.workload import backend, threadgroups

_OF_MLX = "the kernels are MLX's own, which no queue but its own can launch"


def gpu_times(prepared: Prepared, metal: Any = None) -> tuple[tuple[Dispatch, ...], str]:
    """Time each kernel of a call alone, by PyObjC's `metal`.

    Return the times, and the reason if there are none.
    """
    launch = prepared.launch
    if launch is None:
        reason = _OF_MLX
        if backend() == "cpu":
            reason = "MLX runs on the CPU here"
        return (), f"GPU time is not available, because {reason}."
    calls = [partial(launch, number) for number in range(prepared.sets)]
    try:
        return time_kernels(calls, metal or load_metal()), ""
    except ToolError as error:
        reason = error.message
        if error.hint:
            reason += f" ({error.hint})"
        return (), reason


Clock = Callable[[], int]
_SECOND = 1_000_000_000  # ns
_STEPS_OF_MEMORY = 5


@dataclass(frozen=True)
class Effort:
    """How much to measure: warm-up steps, samples at most, and seconds for a subject.

    Slower subjects use the time that quicker ones leave.
    """

    warmup: int = 3
    repetitions: int = 100
    budget: float = 4.0


@dataclass
class Runner:
    """A subject during its measurement: its samples grow.

    All times are in ns: `micro` has those of a call in a chain of `calls` of them with one wait,
    `macro` those of a single step with its wait, and `cost` is that of one sample of both.
    """

    subject: Subject
    inputs: Inputs
    prepared: Prepared
    calls: int = 1
    cost: float = 0.0
    micro: list[float] = field(default_factory=list[float])
    macro: list[float] = field(default_factory=list[float])
    failure: str = ""

    def time_chain(self, clock: Clock) -> float:
        """Evaluate a chain of calls that was built before; return nanoseconds per call."""
        built = self.prepared.chain(self.calls)
        start = clock()
        self.prepared.step.wait(built)
        return (clock() - start) / self.calls

    def step(self, clock: Clock) -> float:
        """Take a step as the workload does; return its nanoseconds."""
        start = clock()
        step = self.prepared.step
        step.wait(step.submit())
        return float(clock() - start)


def measure_in_turns(
    subjects: Iterable[tuple[Subject, Inputs]],
    effort: Effort,
    *,
    clock: Clock,
    progress: Progress,
    title: str = "",
    count: Count = count_now,
    transposes: bool = False,
) -> tuple[dict[str, BenchRow], bool]:
    """Prepare subjects, measure them in turns, and time their kernels on the GPU.

    With `transposes`, those of a call are listed at the end.
    `count` returns the CPU time that all processes have used; by it rows report whether other
    processes left enough. Return the rows by the names of subjects, and whether the user stopped
    the bench.
    """
    rows: dict[str, BenchRow] = {}
    runners: list[Runner] = []
    try:
        for subject, inputs in subjects:
            progress(f"prepare {subject.name}")
            prepared = _prepare(subject, inputs)
            if isinstance(prepared, Runner):
                runners.append(prepared)
            else:
                rows[subject.name] = prepared
        company = Company(count)
        _sample_all(runners, effort, clock, company, lambda text: progress(f"{title}{text}"))
        disturbed = company.describe()
        for runner in runners:
            progress(f"finish {runner.subject.name}")
            dispatches, no_gpu = _time_kernels_of(runner)
            row = make_row(runner, dispatches, no_gpu)
            peak_memory = _measure_memory(runner)
            row = replace(row, disturbed=disturbed, peak_memory=peak_memory)
            if transposes:
                row = replace(row, transposes=_list_transposes_of(runner))
            rows[runner.subject.name] = row
    except KeyboardInterrupt:
        for runner in runners:
            has_started = runner.micro or runner.failure
            if has_started and runner.subject.name not in rows:
                no_gpu = runner.failure or INTERRUPTED
                row = make_row(runner, (), no_gpu, stopped=INTERRUPTED)
                rows[runner.subject.name] = row
        return rows, True
    return rows, False


def _time_kernels_of(runner: Runner) -> tuple[tuple[Dispatch, ...], str]:
    """Return the times of a subject's kernels on the GPU, and the reason if there are none."""
    if runner.failure:
        return (), runner.failure
    return gpu_times(runner.prepared)


def _list_transposes_of(runner: Runner) -> tuple[GraphTranspose, ...] | None:
    """Return the transposes of a call; the subject cannot be measured afterwards."""
    try:
        return list_transposes(lambda: runner.prepared.chain(1))
    except (RuntimeError, ValueError):
        return None  # a kernel that MLX cannot trace, or a call that looks at values


def _measure_memory(runner: Runner) -> int | None:
    """Return the bytes of MLX that a step takes at its peak, the median of a few more steps.

    None if the subject failed. Steps differ, because buffers of one may be freed during the next.
    """
    peaks: list[int] = []
    with _note_failure(runner):
        for _ in range(_STEPS_OF_MEMORY):
            mx.synchronize()
            memory_before = mx.get_active_memory()
            mx.reset_peak_memory()
            step = runner.prepared.step
            step.wait(step.submit())
            peaks.append(max(0, mx.get_peak_memory() - memory_before))
        return statistics.median_low(peaks)
    return None


def _prepare(subject: Subject, inputs: Inputs) -> Runner | BenchRow:
    """Return a runner of a subject, or the row of one that cannot be measured."""
    try:
        return Runner(subject, inputs, subject.prepare(inputs))
    except UsageError:
        raise
    except SubjectUnavailable as why:
        return BenchRow(subject.name, subject.family, "unavailable", str(why))
    except Exception as error:  # noqa: BLE001  one that fails must not end the others
        return BenchRow(subject.name, subject.family, "failed", describe(error))


def _sample_all(
    runners: Sequence[Runner],
    effort: Effort,
    clock: Clock,
    company: Company,
    progress: Progress,
) -> None:
    """Warm all runners up, then sample them in turns; one that fails is skipped from then on."""
    for runner in runners:
        with _note_failure(runner):
            _warm(runner, effort, clock)
    warm_runners = [runner for runner in runners if not runner.failure]
    company.forget()  # the use of cores during warm-up does not concern the samples
    costs = [runner.cost for runner in warm_runners]
    budget = effort.budget * _SECOND
    rounds = rounds_of(budget, costs, effort.repetitions)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        # every other round backwards: of two, two rounds are ABBA, and an even drift cancels
        turns = warm_runners if number % 2 == 0 else reversed(warm_runners)
        for runner in turns:
            if not runner.failure:
                _sample(runner, clock)
        company.look()


def _sample(runner: Runner, clock: Clock) -> None:
    """Take both samples of a runner, or none."""
    with _note_failure(runner):
        micro = runner.time_chain(clock)
        macro = runner.step(clock)
        runner.micro.append(micro)
        runner.macro.append(macro)


def _warm(runner: Runner, effort: Effort, clock: Clock) -> None:
    """Call until pipelines and caches are there, and measure the cost of a sample."""
    took = 0.0
    for _ in range(max(1, effort.warmup)):
        took = runner.step(clock)
    chain = runner.time_chain(clock)
    runner.calls = calls_of(took)
    if runner.calls > 1:
        chain = runner.time_chain(clock) * runner.calls
    runner.cost = took + chain


@contextmanager
def _note_failure(runner: Runner) -> Generator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001  one that fails must not end the others
        runner.failure = describe(error)


def describe(error: Exception) -> str:
    """Return the kind and the text of an error, in one line, with advice if there is some."""
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {text} {threadgroups.advise_threadgroup(text)}".rstrip()


def make_row(
    runner: Runner, dispatches: tuple[Dispatch, ...], no_gpu: str, *, stopped: str = ""
) -> BenchRow:
    """Make a row of the samples of a subject, and of the times of its kernels.

    `no_gpu` is the reason if there are no `dispatches`, and `stopped` that for an early end.
    """
    prepared = runner.prepared
    step = prepared.step
    reason = runner.failure or stopped
    state = "measured"
    if reason:
        state = "partial" if runner.micro else "failed"
    block_size = None
    if runner.subject.paged:
        block_size = runner.inputs.shape.block_size
    micro = _timing(runner.micro, runner.calls)
    macro = _timing(runner.macro, 1)
    residence = runner.inputs.cache.residence(prepared.working_set)
    return BenchRow(
        name=runner.subject.name,
        family=runner.subject.family,
        state=state,
        reason=reason,
        **vars(prepared.launched),
        block_size=block_size,
        chained=prepared.chained,
        micro=micro,
        macro=macro,
        dispatches=dispatches,
        no_gpu=no_gpu,
        tokens=step.tokens,
        sequence=prepared.sequence,
        bytes_read=step.bytes_read,
        bytes_unique=step.bytes_unique,
        bytes_written=step.bytes_written,
        flops=step.flops,
        error=prepared.error,
        sets=prepared.sets,
        working_set=prepared.working_set,
        residence=residence,
    )


def _timing(samples: Sequence[float], calls: int) -> Timing | None:
    if not samples:
        return None
    return Timing(tuple(samples), calls, summarize(samples))
