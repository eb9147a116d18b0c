"""A bench from beginning to end: subjects prepared, measured in turns, compared, described."""

import math
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

from tracekit.base import (
    Interval,
    Shown,
    ToolError,
    UsageError,
    Verdict,
    least_pairs,
    paired_ratio,
    require,
    verdict_of,
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
from tracekit.workload import backend

_OF_MLX = "the kernels are MLX's own, which no queue but its own can launch"


def gpu_times(prepared: Prepared, metal: Any = None) -> tuple[tuple[Dispatch, ...], str]:
    """Time each kernel of a call alone, by PyObjC's `metal`; return also why there is none."""
    launch = prepared.launch
    if launch is None:
        reason = "MLX runs on the CPU here" if backend() == "cpu" else _OF_MLX
        return (), f"GPU time is not available, because {reason}."
    calls = [partial(launch, number) for number in range(prepared.sets)]
    try:
        return time_kernels(calls, metal or load_metal()), ""
    except ToolError as error:
        return (), f"{error.message} ({error.hint})" if error.hint else error.message


Clock = Callable[[], int]
_SECOND = 1_000_000_000  # ns


@dataclass(frozen=True)
class Effort:
    """How much to measure: steps before anything counts, samples at most, seconds a subject.

    Slower subjects take of the time that quicker ones leave.
    """

    warmup: int = 3
    repetitions: int = 100
    budget: float = 4.0


@dataclass
class Runner:
    """A subject while it is measured: its samples grow."""

    subject: Subject
    inputs: Inputs
    prepared: Prepared
    calls: int = 1
    cost: float = 0.0
    micro: list[float] = field(default_factory=list[float])
    macro: list[float] = field(default_factory=list[float])
    failure: str = ""

    def time_chain(self, clock: Clock) -> float:
        """Evaluate a chain of calls that is built before; return nanoseconds of a call."""
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

    Return rows by the names of subjects, and whether somebody stopped it. `count` tells what CPU
    time all processes have used, for rows to say whether others left enough of it.
    """
    rows: dict[str, BenchRow] = {}
    runners: list[Runner] = []
    try:
        for subject, inputs in subjects:
            progress(f"prepare {subject.name}")
            try:
                runners.append(Runner(subject, inputs, subject.prepare(inputs)))
            except UsageError:
                raise
            except SubjectUnavailable as why:
                rows[subject.name] = BenchRow(subject.name, subject.family, "unavailable", str(why))
            except Exception as error:  # noqa: BLE001  one that fails must not end the others
                rows[subject.name] = BenchRow(
                    subject.name, subject.family, "failed", describe(error)
                )
        company = Company(count)
        _sample_all(runners, effort, clock, company, lambda text: progress(f"{title}{text}"))
        disturbed = company.describe()
        for runner in runners:
            progress(f"finish {runner.subject.name}")
            rows[runner.subject.name] = replace(make_row(runner), disturbed=disturbed)
    except KeyboardInterrupt:
        unfinished_runners = (pending for pending in runners if pending.subject.name not in rows)
        stopped = {
            pending.subject.name: make_row(pending, INTERRUPTED)
            for pending in unfinished_runners
            if pending.micro or pending.failure
        }
        return rows | stopped, True
    return rows, False


def _sample_all(
    runners: Sequence[Runner],
    effort: Effort,
    clock: Clock,
    company: Company,
    progress: Progress,
) -> None:
    """Warm all up, then sample them in turns; what fails is left out from then on."""
    for runner in runners:
        with _note_failure(runner):
            _warm(runner, effort, clock)
    there = [peer for peer in runners if not peer.failure]
    company.forget()  # what warming up found is not of the samples
    rounds = rounds_of(effort.budget * _SECOND, [peer.cost for peer in there], effort.repetitions)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        # every other round backwards: of two, two rounds are ABBA, and what drifts evenly cancels
        for runner in there if number % 2 == 0 else reversed(there):
            if not runner.failure:
                with _note_failure(runner):  # both samples, or none
                    micro, macro = runner.time_chain(clock), runner.step(clock)
                    runner.micro.append(micro)
                    runner.macro.append(macro)
        company.look()


def _warm(runner: Runner, effort: Effort, clock: Clock) -> None:
    """Call until pipelines and caches are there, and find out what a sample costs."""
    took = 0.0
    for _ in range(max(1, effort.warmup)):
        took = runner.step(clock)
    single = runner.time_chain(clock)
    runner.calls = calls_of(took)
    chain = single if runner.calls == 1 else runner.time_chain(clock) * runner.calls
    runner.cost = took + chain


@contextmanager
def _note_failure(runner: Runner) -> Generator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001  one that fails must not end the others
        runner.failure = describe(error)


def describe(error: Exception) -> str:
    """Return what an error says, in a line, with its kind."""
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {text}"


def compare_rows(
    rows: Sequence[BenchRow], subjects: Sequence[Subject], against: str | None, threshold: float
) -> list[BenchRow]:
    """Fill in each row's speed-up against its family's naive subject, and against `against`.

    The latter has a verdict, by a threshold: the least change of the time that matters.
    """
    by_name = {row.name: row for row in rows}
    naive = {subject.family: subject.name for subject in subjects if subject.naive}
    return [
        replace(
            row,
            speed_up=_comparison(row, naive.get(row.family), by_name),
            against=_judge_ratio(_comparison(row, against, by_name), row, threshold),
        )
        for row in rows
    ]


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
        pairs_doubt = f"{ratio.pairs} pairs count, and an interval takes {least_pairs()}"
        return replace(ratio, verdict=Verdict.UNCLEAR, doubt=pairs_doubt, threshold=threshold)
    if row.disturbed:
        doubt = f"{row.disturbed} meanwhile"
        return replace(ratio, verdict=Verdict.UNCLEAR, doubt=doubt, threshold=threshold)
    ends = (math.log(ratio.median), math.log(ratio.low), math.log(ratio.high))
    verdict, doubt = verdict_of(Interval(*ends).orient(-1), math.log1p(threshold))
    limit = Shown("ratio", "ns").limit(threshold)
    doubt_text = doubt.format(limit=limit) if doubt else ""
    return replace(ratio, verdict=verdict, doubt=doubt_text, threshold=threshold)


def quicker(ours: Sequence[float], theirs: Sequence[float], reference: str) -> SubjectRatio:
    """Compare samples of the same rounds: how many times as long the other takes."""
    pairs = min(len(ours), len(theirs))
    if min((*ours[:pairs], *theirs[:pairs]), default=0) <= 0:
        return SubjectRatio(reference, reason="a sample took no time that this clock can see")
    ratio = paired_ratio(theirs[:pairs], ours[:pairs])
    return SubjectRatio(reference, ratio.median, ratio.lower_bound, ratio.upper_bound, ratio.pairs)


def make_row(runner: Runner, stopped: str = "") -> BenchRow:
    """Make a row of what a subject left; `stopped` says why it was stopped before its time."""
    prepared, step = runner.prepared, runner.prepared.step
    reason = runner.failure or stopped
    dispatches, no_gpu = ((), reason) if reason else gpu_times(prepared)
    stopped_as = "partial" if runner.micro else "failed"
    return BenchRow(
        name=runner.subject.name,
        family=runner.subject.family,
        state=stopped_as if reason else "measured",
        reason=reason,
        **vars(prepared.launched),
        block_size=runner.inputs.shape.block_size if runner.subject.paged else None,
        chained=prepared.chained,
        micro=_timing(runner.micro, runner.calls),
        macro=_timing(runner.macro, 1),
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
        residence=runner.inputs.cache.residence(prepared.working_set),
    )


def _timing(samples: Sequence[float], calls: int) -> Timing | None:
    return Timing(tuple(samples), calls, summarize(samples)) if samples else None


SUBJECTS: tuple[Subject, ...] = (*DECODE, *PREFILL, *CACHE, *NORM)  # in the order of their tables
SUITES = ("attention", "cache", "norm")


def chosen(suite: str, names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the subjects of a suite, or those of `names`; raise UsageError for unknown ones."""
    require(suite, (*SUITES, "all"), "suite")
    in_suite = [subject for subject in SUBJECTS if suite in {"all", subject.suite}]
    for name in names:
        require(name, [subject.name for subject in in_suite], "subject")
    return tuple(subject for subject in in_suite if not names or subject.name in names)


@dataclass(frozen=True)
class Settings:
    """What to measure, and how much.

    No `subjects` are all of the suite; all of a family are compared with `against`, and judged by
    `threshold`: the least change of a call's time that matters, as a ratio.
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

    One that fails is a row that says so; an interrupt ends the measuring, and keeps what there
    is. Raises UsageError where there is no such suite, or no such subject in it.
    """
    if subjects is None:
        against = [settings.against] if settings.subjects and settings.against else []
        subjects = chosen(settings.suite, [*settings.subjects, *against])
    chosen_subjects = tuple(subjects)
    if settings.against is not None:
        require(settings.against, [subject.name for subject in chosen_subjects], "subject")
    started = datetime.now(UTC).isoformat(timespec="seconds")
    inputs, rows, stopped = Inputs(shape, cache_here()), dict[str, BenchRow](), False
    for family in dict.fromkeys(subject.family for subject in chosen_subjects):
        pairs = [(subject, inputs) for subject in chosen_subjects if subject.family == family]
        family_rows, stopped = measure_in_turns(
            pairs,
            settings.effort,
            clock=clock,
            progress=progress,
            title=f"{family} · ",
            count=count,
        )
        rows |= family_rows
        if stopped:
            break
    setting_values = asdict(settings)
    effort = setting_values.pop("effort")
    compared_rows = [rows[subject.name] for subject in chosen_subjects if subject.name in rows]
    return Bench(
        environment=_environment(inputs, compared_rows),
        shape=shape,
        settings=setting_values | effort,
        rows=compare_rows(compared_rows, chosen_subjects, settings.against, settings.threshold),
        started=started,
        interrupted=stopped,
    )


def _environment(inputs: Inputs, rows: Sequence[BenchRow]) -> dict[str, Any]:
    on_gpu = any(row.dispatches for row in rows)
    return {
        "tracekit": version("tracekit"),
        "machine": describe_machine(),
        "variables": {k: v for k, v in sorted(os.environ.items()) if k.startswith("MLX_")},
        "backend": backend(),
        "clock": HOST,
        "kernel_clock": GPU if on_gpu else HOST,
        "cache": inputs.cache.bytes,
        "cache_known_from": inputs.cache.source,
    }
