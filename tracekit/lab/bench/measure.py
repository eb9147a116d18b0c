"""Run a bench from beginning to end: prepare subjects, measure them in turns, compare them."""

import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tracekit.base import (
    ToolError,
    UsageError,
    Verdict,
    own_version,
    paired,
    require,
    verdicts,
)
from tracekit.lab.bench.company import Company, Count, count_now
from tracekit.lab.bench.document import (
    GPU,
    HOST,
    INTERRUPTED,
    Bench,
    BenchRow,
    SubjectRatio,
    Timing,
    calls_of,
    rounds_of,
    summarize,
)
from tracekit.lab.bench.inputs import (
    Inputs,
    Prepared,
    Shape,
    Subject,
    SubjectUnavailable,
    cache_here,
)
from tracekit.lab.bench.subjects.attention import DECODE, PREFILL
from tracekit.lab.bench.subjects.layers import CACHE, NORM
from tracekit.lab.metal_queue import Dispatch, load_metal, time_kernels
from tracekit.machine import describe as describe_machine
from tracekit.record import Progress, quiet
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
) -> tuple[dict[str, BenchRow], bool]:
    """Prepare subjects, measure them in turns, and time their kernels on the GPU.

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
            row = make_row(runner)
            rows[runner.subject.name] = replace(row, disturbed=disturbed)
    except KeyboardInterrupt:
        for runner in runners:
            has_started = runner.micro or runner.failure
            if has_started and runner.subject.name not in rows:
                rows[runner.subject.name] = make_row(runner, INTERRUPTED)
        return rows, True
    return rows, False


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


def compare_rows(
    rows: Sequence[BenchRow], subjects: Sequence[Subject], against: str | None, threshold: float
) -> list[BenchRow]:
    """Fill in each row's speed-up against its family's naive subject, and against `against`.

    The latter has a verdict, by a threshold: the least change of the time that matters.
    """
    rows_by_name = {row.name: row for row in rows}
    naive_subjects = {subject.family: subject.name for subject in subjects if subject.naive}
    compared_rows: list[BenchRow] = []
    for row in rows:
        speed_up = _comparison(row, naive_subjects.get(row.family), rows_by_name)
        ratio = _comparison(row, against, rows_by_name)
        judged_ratio = _judge_ratio(ratio, row, threshold)
        compared_rows.append(replace(row, speed_up=speed_up, against=judged_ratio))
    return compared_rows


def _comparison(
    row: BenchRow, reference: str | None, rows: Mapping[str, BenchRow]
) -> SubjectRatio | None:
    if reference is None or reference == row.name or row.micro is None:
        return None
    base = rows.get(reference)
    if base is not None and base.family != row.family:
        return None  # those of another family do other work
    if base is None or base.micro is None:
        return SubjectRatio(reference, reason=f"{reference} was not measured")
    return quicker(row.micro.samples, base.micro.samples, reference)


def _judge_ratio(
    ratio: SubjectRatio | None, row: BenchRow, threshold: float
) -> SubjectRatio | None:
    """Return a comparison with its verdict: the rule of all comparisons, on the time of a call."""
    if ratio is None or ratio.median is None:
        return ratio
    if ratio.low is None or ratio.high is None:
        pairs_doubt = f"{ratio.pairs} pairs count, and an interval takes {paired.least_pairs()}"
        return replace(ratio, verdict=Verdict.UNCLEAR, doubt=pairs_doubt, threshold=threshold)
    if row.disturbed:
        doubt = f"{row.disturbed} meanwhile"
        return replace(ratio, verdict=Verdict.UNCLEAR, doubt=doubt, threshold=threshold)
    log_median = math.log(ratio.median)
    log_low = math.log(ratio.low)
    log_high = math.log(ratio.high)
    logarithms = verdicts.Interval(log_median, log_low, log_high)
    log_threshold = math.log1p(threshold)
    verdict, doubt = verdicts.verdict_of(logarithms.orient(-1), log_threshold)
    doubt_text = ""
    if doubt:
        doubt_text = doubt.format(limit=verdicts.Shown("ratio", "ns").limit(threshold))
    return replace(ratio, verdict=verdict, doubt=doubt_text, threshold=threshold)


def quicker(ours: Sequence[float], theirs: Sequence[float], reference: str) -> SubjectRatio:
    """Compare samples of the same rounds: how many times as long the other takes."""
    pairs = min(len(ours), len(theirs))
    our_samples = ours[:pairs]
    their_samples = theirs[:pairs]
    if min((*our_samples, *their_samples), default=0) <= 0:
        return SubjectRatio(reference, reason="a sample took no time that this clock can see")
    ratio = paired.paired_ratio(their_samples, our_samples)
    return SubjectRatio(reference, ratio.median, ratio.lower_bound, ratio.upper_bound, ratio.pairs)


def make_row(runner: Runner, stopped: str = "") -> BenchRow:
    """Make a row of the samples of a subject; `stopped` is the reason for an early end."""
    prepared = runner.prepared
    step = prepared.step
    reason = runner.failure or stopped
    if not reason:
        state = "measured"
        dispatches, no_gpu = gpu_times(prepared)
    else:
        state = "partial" if runner.micro else "failed"
        dispatches = ()
        no_gpu = reason
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


SUBJECTS: tuple[Subject, ...] = (*DECODE, *PREFILL, *CACHE, *NORM)  # in the order of their tables
SUITES = ("attention", "cache", "norm")


def chosen(suite: str, names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the subjects of a suite, or those of `names`; raise UsageError for unknown ones."""
    require(suite, (*SUITES, "all"), "suite")
    in_suite = [subject for subject in SUBJECTS if suite in {"all", subject.suite}]
    known_names = [subject.name for subject in in_suite]
    for name in names:
        require(name, known_names, "subject")
    if not names:
        return tuple(in_suite)
    return tuple(subject for subject in in_suite if subject.name in names)


def prepare_subject(name: str, shape: Shape) -> Prepared:
    """Prepare one subject on a shape, so that another tool can repeat its step.

    Raises UsageError for an unknown name, and ToolError if the subject cannot run here.
    """
    (subject,) = chosen("all", [name])
    try:
        return subject.prepare(Inputs(shape, cache_here()))
    except SubjectUnavailable as why:
        raise ToolError(
            f"The subject {name} cannot run here: {why}.",
            hint="tracekit bench run --list lists the subjects.",
        ) from why


@dataclass(frozen=True)
class Settings:
    """The subjects to measure, and the effort.

    Without `subjects`, all of the suite are measured. All subjects of a family are compared with
    `against`, and judged by `threshold`: the least change of a call's time that matters, as a
    ratio.
    """

    suite: str = "all"
    subjects: tuple[str, ...] = ()
    against: str | None = None
    effort: Effort = field(default_factory=Effort)
    threshold: float = 0.03


def run_bench(
    shape: Shape,
    settings: Settings,
    *,
    subjects: Sequence[Subject] | None = None,
    clock: Clock = time.perf_counter_ns,
    progress: Progress = quiet,
    count: Count = count_now,
) -> Bench:
    """Measure subjects on a shape, by default those of the settings' suite.

    The row of a subject that fails has the reason; an interrupt ends the measurement and keeps
    the rows. Raises UsageError for an unknown suite, or a subject that is not in it.
    """
    if subjects is None:
        subjects = _choose_subjects(settings)
    if settings.against is not None:
        require(settings.against, [subject.name for subject in subjects], "subject")
    started = datetime.now(UTC).isoformat(timespec="seconds")
    inputs = Inputs(shape, cache_here())
    rows: dict[str, BenchRow] = {}
    stopped = False
    for family in dict.fromkeys(subject.family for subject in subjects):
        pairs = [(subject, inputs) for subject in subjects if subject.family == family]
        family_rows, stopped = measure_in_turns(
            pairs,
            settings.effort,
            clock=clock,
            progress=progress,
            title=f"{family} · ",
            count=count,
        )
        rows.update(family_rows)
        if stopped:
            break
    measured_rows = [rows[subject.name] for subject in subjects if subject.name in rows]
    setting_values = asdict(settings)
    effort_values = setting_values.pop("effort")
    environment = _environment(inputs, measured_rows)
    compared_rows = compare_rows(measured_rows, subjects, settings.against, settings.threshold)
    return Bench(
        environment=environment,
        shape=shape,
        settings=setting_values | effort_values,
        rows=compared_rows,
        started=started,
        interrupted=stopped,
    )


def _choose_subjects(settings: Settings) -> tuple[Subject, ...]:
    names = list(settings.subjects)
    if names and settings.against:
        names.append(settings.against)
    return chosen(settings.suite, names)


def _environment(inputs: Inputs, rows: Sequence[BenchRow]) -> dict[str, Any]:
    on_gpu = any(row.dispatches for row in rows)
    variables = sorted(os.environ.items())
    return {
        "tracekit": own_version(),
        "machine": describe_machine(),
        "variables": {name: value for name, value in variables if name.startswith("MLX_")},
        "backend": backend(),
        "clock": HOST,
        "kernel_clock": GPU if on_gpu else HOST,
        "cache": inputs.cache.bytes,
        "cache_known_from": inputs.cache.source,
    }
