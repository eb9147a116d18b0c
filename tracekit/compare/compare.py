"""Runs against runs: what changed, how sure that is, and what stands in the way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit import lab
from tracekit.analysis import METRICS, Better, load
from tracekit.base import InputError, Recording, Redaction, UsageError
from tracekit.compare.benches import bench_sample
from tracekit.compare.differences import (
    Condition,
    Difference,
    FindingChange,
    KernelChange,
    Weight,
    conditions,
    differences,
    finding_changes,
    kernel_changes,
)
from tracekit.compare.samples import Order, Runs, Sample, order_of, runs
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import (
    Change,
    Pace,
    Verdict,
    judge_metric,
    limit_of,
    pace_of,
    sentence,
)
from tracekit.pipeline import redaction_of
from tracekit.run import Run
from tracekit.workload import WALL_TIME

# Which verdict of a metric that decides is that of all: the first that any has.
_ORDER = (
    Verdict.WORSE,
    Verdict.UNCLEAR,
    Verdict.SLIGHTLY_WORSE,
    Verdict.BETTER,
    Verdict.SLIGHTLY_BETTER,
    Verdict.EQUIVALENT,
)


def overall(
    changes: Sequence[Change], side_conditions: Sequence[Condition], limits: Limits
) -> tuple[Verdict, str]:
    """Return the verdict and, in sentences, how it came about.

    One of those that decide that is worse makes all worse, one that is unclear all unclear. What
    the machine did to just the slower side makes it unclear, and so does what spoils times: then
    the work may be as it was. If what decides is unclear and what is followed has changed by far
    more than matters, that is said first.
    """
    deciding = [change for change in changes if change.deciding]
    if not deciding:
        return Verdict.UNCLEAR, "No run has a metric of speed."
    verdicts = [change.verdict or Verdict.UNCLEAR for change in deciding]
    verdict = min(verdicts, key=_ORDER.index)
    words = _join_sentences(deciding, limits)
    slower = {Verdict.WORSE: "after", Verdict.BETTER: "before"}.get(verdict)
    if slower is not None:
        blamed = (entry for entry in side_conditions if entry.spoils or entry.side == slower)
        if condition := next(blamed, None):
            return Verdict.UNCLEAR, f"{words}, but {condition.words}."
    if verdict is Verdict.UNCLEAR and (followed := find_striking(changes, limits)):
        far = f"{followed.metric} is {sentence(followed, limits)}, but is followed only"
        return verdict, f"{far}. {words}."
    return verdict, f"{words}."


def _join_sentences(deciding: Sequence[Change], limits: Limits) -> str:
    """Return the sentences of metrics, what says most first, each with its metric."""
    ordered = sorted(deciding, key=lambda change: _ORDER.index(change.verdict or Verdict.UNCLEAR))
    return "; ".join(_describe(change, limits) for change in ordered)


def _describe(change: Change, limits: Limits) -> str:
    words = sentence(change, limits)
    if change.verdict is None:
        return f"{change.metric} is unclear: {words}"
    verb = "has" if change.verdict is Verdict.UNCLEAR else "is"
    return f"{change.metric} {verb} {words}"


def is_unconfirmed(changes: Sequence[Change], limits: Limits) -> bool:
    """Tell whether a second session may show that one that decides is worse, or better.

    It lies beyond the limit, though not with its whole interval, which leaves out 0.
    """
    for change in changes:
        if not change.deciding or None in {change.change, change.low, change.high}:
            continue
        lower_bound, upper_bound, middle = (
            change.low or 0.0,
            change.high or 0.0,
            change.change or 0.0,
        )
        beyond = abs(middle) >= limit_of(change, limits)
        is_decided = change.verdict in {None, Verdict.WORSE, Verdict.BETTER}
        if beyond and not is_decided and (lower_bound > 0 or upper_bound < 0):
            return True
    return False


_STRIKING = 2.0  # times the limit: from there on a followed metric must not go unsaid


def find_striking(changes: Sequence[Change], limits: Limits) -> Change | None:
    """Return the followed time or rate that has changed most, if by far more than matters."""
    min_change = _STRIKING * limits.threshold
    striking = [
        change
        for change in changes
        if not change.deciding
        and change.relative
        and (change.unit == "ns" or change.unit.endswith("/s"))
        and change.verdict in {Verdict.WORSE, Verdict.BETTER}
        and abs(change.change or 0.0) >= min_change
    ]
    return max(striking, key=lambda change: abs(math.log1p(change.change or 0.0)), default=None)


FORMAT = 2
"""Version of a comparison's document. History of the format:

    1   first
    2   the verdict `same` is called `equivalent`, and what is certain but not beyond the limit
        `slightly-worse` or `slightly-better`; `limits.resolution` is gone, for `equivalent` is
        within the threshold
"""
# What a person calls speed, in the order in which a run is asked for it: the medians of its units
# of work, requests or steps; then what it measured itself (`_choose_results`), and how long it
# took. Rates of a whole recording follow from steps and pauses: they decide where nothing else can.
STEP = "step_p50"
_SPEED = (("ttft_p50", "tpot_p50"), (STEP,))
RATES = ("step_rate", "tokens_per_second")
_OF_THE_DEVICE = ("gpu_idle_ratio", "start_latency_p50")
_SIZES = {"bytes", "ratio", "count", ""}


@dataclass(frozen=True)
class Comparison:
    """What became of everything between the runs before and those after.

    `verdict` is over all metrics that decide; `reason` says in a sentence how it came about.
    `order` is the order in which the runs were recorded; `shared` are those after which are before,
    too; `notes` are sentences on how it was measured; `pace` is how much longer reference work
    took after than before, as a ratio less one, None where it is not known.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    verdict: Verdict
    reason: str
    changes: tuple[Change, ...]
    findings: tuple[FindingChange, ...]
    kernels: tuple[KernelChange, ...]
    environment: tuple[Difference, ...]
    conditions: tuple[Condition, ...]
    order: Order = Order.UNKNOWN
    shared: tuple[str, ...] = ()
    pace: float | None = None
    notes: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    format: int = field(default=FORMAT, kw_only=True)

    @property
    def void(self) -> tuple[Difference, ...]:
        """What makes this a comparison of unlike things."""
        return tuple(
            difference for difference in self.environment if difference.weight is Weight.VOID
        )


def compare(
    samples_before: Sequence[Sample],
    samples_after: Sequence[Sample],
    limits: Limits | None = None,
    *,
    first_session_pairs: int = 0,
) -> Comparison:
    """Compare runs; the result is a pure function of them.

    If they were recorded in two sessions, the first so many runs of each side are of the
    `first_session_pairs`.
    """
    limits = limits or Limits()
    if not samples_before or not samples_after:
        raise UsageError("A comparison takes at least one run of each side.")
    old, new = runs(samples_before), runs(samples_after)
    order = order_of(samples_before, samples_after)
    pace = pace_of(old, new, order, first_session_pairs)
    changes = _changes(old, new, limits, pace)
    side_conditions = conditions(samples_before, samples_after)
    verdict, reason = overall(changes, side_conditions, limits)
    return Comparison(
        before=tuple(sample.name for sample in samples_before),
        after=tuple(sample.name for sample in samples_after),
        verdict=verdict,
        reason=reason,
        changes=changes,
        findings=finding_changes(samples_before, samples_after),
        kernels=kernel_changes(samples_before, samples_after),
        environment=differences(samples_before, samples_after),
        conditions=side_conditions,
        order=order,
        shared=tuple(
            sample.name
            for sample in samples_after
            if sample.recording and sample.recording in {run.recording for run in samples_before}
        ),
        pace=math.expm1(pace.slowdown) if pace.is_known else None,
        limits=limits,
    )


def _changes(runs_before: Runs, runs_after: Runs, limits: Limits, pace: Pace) -> tuple[Change, ...]:
    """Judge every metric that a run knows; those that decide come first."""
    result_names = (
        measurement.name
        for side in (runs_before, runs_after)
        for run in side.samples
        for measurement in run.result.results
    )
    names = [
        name
        for name in dict.fromkeys((*METRICS, *result_names))
        if runs_before.values(name) or runs_after.values(name)
    ]
    unknown = [name for name in limits.metrics if name not in names]
    if unknown:
        raise UsageError(
            f"No run has the metric {unknown[0]!r}.", hint=f"They have: {', '.join(names)}."
        )
    changes = [judge_metric(name, runs_before, runs_after, pace, limits) for name in names]
    deciding = limits.metrics or speed_of(changes)
    marked = [replace(change, deciding=change.metric in deciding) for change in changes]
    return tuple(sorted(marked, key=lambda change: not change.deciding))


def speed_of(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the metrics of speed that decide: the first group of which a run has one.

    A subject without steps and requests decides by what it measured itself, and where it measured
    nothing, by a rate of its steps, or by how long it took, if that was seen several times; else
    by the device, if it can be.
    """
    names = {change.metric for change in changes}
    if group := next((group for group in _SPEED if group[0] in names), ()):
        return tuple(name for name in group if name in names)
    if results := _choose_results(changes):
        return results
    if rate := next((name for name in RATES if name in names), ""):
        return (rate,)
    wall = next((change for change in changes if change.metric == WALL_TIME), None)
    device = tuple(name for name in _OF_THE_DEVICE if name in names)
    if wall is None or (wall.low is None and _OF_THE_DEVICE[0] in names):
        return device if _OF_THE_DEVICE[0] in names else ()
    return (WALL_TIME,)


def _choose_results(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return which of a subject's own results are its speed: rates, else times, else any."""
    directed = [
        change
        for change in changes
        if change.metric not in METRICS
        and change.metric != WALL_TIME
        and change.better is not Better.NEITHER
        and change.unit not in _SIZES
    ]
    rates = [change for change in directed if change.unit.endswith("/s")]
    times = [change for change in directed if change.unit == "ns"]
    return tuple(change.metric for change in rates or times or directed)


SEPARATOR = "vs"
_RESULT = "result.json"
_GONE = "the run's exports are gone, and only its result is left."


def parse_sides(words: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Part `A B`, or `A1 A2 … vs B1 B2 …`, into before and after; else raise UsageError."""
    places = [place for place, word in enumerate(words) if str(word) == SEPARATOR]
    if not places and len(words) == 2:  # noqa: PLR2004  one of each side
        return [words[0]], [words[1]]
    if len(places) == 1 and 0 < places[0] < len(words) - 1:
        return list(words[: places[0]]), list(words[places[0] + 1 :])
    raise UsageError(
        f"Two runs are compared, or several on both sides of a {SEPARATOR}.",
        hint=f"tracekit compare BEFORE AFTER, or: tracekit compare A1 A2 {SEPARATOR} B1 B2",
    )


def read_samples(paths: Sequence[Path]) -> list[Sample]:
    """Read runs: each path is a run's folder, a `result.json`, or the JSON of a bench.

    One that is no run, or was not analyzed, is a RecordingError; else an InputError says why.
    """
    names = _short_names(paths)
    return [_sample(path, name) for path, name in zip(paths, names, strict=True)]


def compare_runs(
    samples_before: Sequence[Sample],
    samples_after: Sequence[Sample],
    limits: Limits | None = None,
    *,
    force: bool = False,
) -> Comparison:
    """Compare runs.

    Unless `force` is set, other work, another way of recording, and a run that is given twice are
    refused by a UsageError.
    """
    for side in () if force else (samples_before, samples_after):
        names_by_recording: dict[tuple[object, ...], str] = {}
        for sample in side:  # a recording that a side has twice would count twice
            recording = sample.recording
            if recording and recording in names_by_recording:
                raise UsageError(
                    f"{names_by_recording[recording]} and {sample.name} are the same recording.",
                    hint="Give each recording once; --force compares them all the same.",
                )
            names_by_recording[recording] = sample.name
    compared = compare(samples_before, samples_after, limits)
    if compared.void and not force:
        unlike = "; ".join(
            f"{difference.what} is {difference.before} and {difference.after}"
            for difference in compared.void
        )
        raise UsageError(
            f"These runs are not of the same work, or not recorded in the same way: {unlike}.",
            hint="--force compares them all the same.",
        )
    return compared


def redaction_of_runs(paths: Sequence[Path]) -> Redaction:
    """Return the redaction of this machine's names and of those in any of the runs."""
    redactions = [
        redaction_of(Recording(path.parent if path.is_file() else path)) for path in paths
    ]
    names = dict(pair for redaction in redactions for pair in redaction.names)
    longest_first = sorted(names.items(), key=lambda pair: (-len(pair[0]), pair[0]))
    return Redaction(tuple(longest_first), redactions[0].words)


def _sample(path: Path, name: str) -> Sample:
    kind = lab.document_kind(path) if path.is_file() else ""
    if kind == lab.BENCH:
        return bench_sample(lab.read_bench(path), name)
    if kind:
        raise InputError(
            f"{path} is a document of kind {kind!r}, which cannot be compared.",
            hint="Compare runs, their result.json, or two files of `tracekit bench -o FILE.json`.",
        )
    folder = path.parent if path.is_file() else path
    if not (folder / "recording.json").exists() and path.is_file():
        return Sample(name, load(path), absence=_GONE)
    run = Run(Recording(folder))
    _ = run.provenance
    result = load(path) if path.is_file() else run.result
    if not run.recording.exports.is_dir():
        return Sample(name, result, absence=_GONE)
    return Sample(name, result, run.tables)


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Name each run by its folder; by as much of its path as sets it apart from the others.

    A file that is not in the folder of a run, as that of a bench, is named by its own path.
    """
    folders = [(path.parent if path.name == _RESULT else path).resolve() for path in paths]
    lengths = range(1, max(len(folder.parts) for folder in folders) + 1)
    names_by_length = (
        ["/".join(folder.parts[-length:]) for folder in folders] for length in lengths
    )
    return next(names for names in names_by_length if len(set(names)) == len(set(folders)))
