"""Runs against runs: the changes, their certainty, and the obstacles to a verdict."""

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit import lab
from tracekit.analysis import METRICS, Better, Result
from tracekit.base import InputError, Recording, UsageError, Verdict, markup, units
from tracekit.base import redaction as base_redaction
from tracekit.comparison.benches import bench_sample
from tracekit.comparison.bound import explain_growth
from tracekit.comparison.conditions import Condition, conditions
from tracekit.comparison.differences import Difference, Weight, differences
from tracekit.comparison.findings import FindingChange, finding_changes
from tracekit.comparison.kept_measures import KeptMeasures
from tracekit.comparison.kernels import KernelChange, kernel_changes
from tracekit.comparison.missing_parts import withhold_verdict
from tracekit.comparison.samples import Order, Runs, Sample, order_of, runs
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change, Pace, judge_metric, pace_of
from tracekit.pipeline import redaction_of
from tracekit.run import Run
from tracekit.workload import WALL_TIME

# The overall verdict is the first of these that any deciding metric has.
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
    """Return the overall verdict, and its reason in sentences.

    One deciding metric that is worse makes all worse, one that is unclear makes all unclear. A
    condition of the machine that held for the slower side only, or that spoils times, makes the
    verdict unclear: then the work may be unchanged. If the deciding metrics are unclear and a
    followed metric has changed by far more than matters, the reason begins with that metric.
    """
    deciding = [change for change in changes if change.deciding]
    if not deciding:
        return Verdict.UNCLEAR, "No run has a metric of speed."
    verdicts = [change.verdict or Verdict.UNCLEAR for change in deciding]
    verdict = min(verdicts, key=_ORDER.index)
    words = _join_sentences(deciding, limits)
    condition = _find_blamed(verdict, side_conditions)
    if condition is not None:
        return Verdict.UNCLEAR, f"{words}, but {condition.words}."
    if verdict is Verdict.UNCLEAR:
        followed = find_striking(changes, limits)
        if followed is not None:
            far = f"{followed.metric} is {followed.describe(limits)}, but is followed only"
            return verdict, f"{far}. {words}."
    return verdict, f"{words}."


def _find_blamed(verdict: Verdict, side_conditions: Sequence[Condition]) -> Condition | None:
    """Return the first condition that may explain a verdict of worse or better."""
    if verdict is Verdict.WORSE:
        slower_side = "after"
    elif verdict is Verdict.BETTER:
        slower_side = "before"
    else:
        return None
    for condition in side_conditions:
        if condition.spoils or condition.side == slower_side:
            return condition
    return None


def _join_sentences(deciding: Sequence[Change], limits: Limits) -> str:
    """Join the sentences of metrics, in the order of their verdicts."""
    ordered = sorted(deciding, key=lambda change: _ORDER.index(change.verdict or Verdict.UNCLEAR))
    return "; ".join(_describe(change, limits) for change in ordered)


def _describe(change: Change, limits: Limits) -> str:
    words = change.describe(limits).rstrip(".")
    if change.verdict is None:
        reason = words or "neither a higher nor a lower value of it is better"
        return f"{change.metric} is unclear: {reason}"
    if change.verdict is Verdict.UNCLEAR:
        return f"{change.metric} has {words}"
    return f"{change.metric} is {words}"


def is_unconfirmed(changes: Sequence[Change], limits: Limits) -> bool:
    """Tell whether a second session may show that a deciding metric is worse, or better."""
    return any(_is_unconfirmed(change, limits) for change in changes if change.deciding)


def _is_unconfirmed(change: Change, limits: Limits) -> bool:
    """Tell whether a change is beyond the limit, but its interval, which excludes 0, is not."""
    if change.change is None or change.low is None or change.high is None:
        return False
    if change.verdict in {None, Verdict.WORSE, Verdict.BETTER}:
        return False
    if abs(change.change) < change.limit(limits):
        return False
    return change.low > 0 or change.high < 0


_STRIKING = 2.0  # times the limit: from there on the reason mentions a followed metric


def find_striking(changes: Sequence[Change], limits: Limits) -> Change | None:
    """Return the followed time or rate that has changed most, if by far more than matters."""
    min_change = _STRIKING * limits.threshold
    most_striking = None
    highest_size = -math.inf
    for change in changes:
        if not _is_followed_speed(change) or abs(change.change or 0.0) < min_change:
            continue
        size = abs(math.log1p(change.change or 0.0))
        if size > highest_size:
            most_striking = change
            highest_size = size
    return most_striking


def _is_followed_speed(change: Change) -> bool:
    """Tell whether a change is of a time or rate that does not decide, and is certain."""
    if change.deciding or not change.relative:
        return False
    if change.verdict not in {Verdict.WORSE, Verdict.BETTER}:
        return False
    return change.unit == "ns" or change.unit.endswith("/s")


FORMAT = 2
"""Version of a comparison's document. History of the format:

    1   first
    2   the verdict `same` is called `equivalent`, and what is certain but not beyond the limit
        `slightly-worse` or `slightly-better`; `limits.resolution` is gone, for `equivalent` is
        within the threshold
"""
# The metrics of speed, in the order in which they are looked for: the medians of a run's units of
# work, requests or steps; then its own results (`_choose_results`), and its duration. Rates of a
# whole recording follow from steps and pauses: they decide only if nothing else can.
STEP = "step_p50"
_SPEED = (("ttft_p50", "tpot_p50"), (STEP,))
RATES = ("step_rate", "tokens_per_second")
_OF_THE_DEVICE = ("gpu_idle_ratio", "start_latency_p50")
_SIZES = {"bytes", "ratio", "count", ""}


@dataclass(frozen=True)
class Comparison:
    """All changes between the runs before and those after.

    `verdict` is over all metrics that decide; `reason` explains it in a sentence. `order` is the
    order in which the runs were recorded. `shared` are the runs after that are also runs before.
    `notes` are sentences on the measurement. `pace` is how much longer reference work took after
    than before, as a ratio less one; None if it is not known. `bound` says whether a slower side
    is bound by compute, memory or synchronization; it is empty if no time of the GPU is known.
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
    bound: str = ""
    limits: Limits = field(default_factory=Limits)
    format: int = field(default=FORMAT, kw_only=True)

    def __repr__(self) -> str:
        """Return the verdict in one line."""
        sides = f"{', '.join(self.after)} against {', '.join(self.before)}"
        return f"<Comparison of {sides}: {self.verdict}, {len(self.changes)} metrics>"

    def _repr_html_(self) -> str:
        """Return the verdict and the change of each metric, for a notebook."""
        rows: list[tuple[str, str, str, str]] = []
        for change in self.changes:
            row = (
                change.metric,
                _quantity(change.before, change.unit),
                _quantity(change.after, change.unit),
                change.describe(self.limits),
            )
            rows.append(row)
        verdict = markup.html_line(f"{self.verdict}: {self.reason}", strong=True)
        return verdict + markup.html_table(("metric", "before", "after", "verdict"), rows)

    @property
    def void(self) -> tuple[Difference, ...]:
        """The differences that make this a comparison of unlike things."""
        return tuple(entry for entry in self.environment if entry.weight is Weight.VOID)


def _quantity(value: float | None, unit: str) -> str:
    return "not available" if value is None else units.quantity(value, unit)


def compare(
    samples_before: Sequence[Sample],
    samples_after: Sequence[Sample],
    limits: Limits | None = None,
    *,
    first_session_pairs: int = 0,
) -> Comparison:
    """Compare runs; the result is a pure function of them.

    If they were recorded in two sessions, the first `first_session_pairs` runs of each side are
    those of the first session.
    """
    limits = limits or Limits()
    if not samples_before or not samples_after:
        raise UsageError("A comparison takes at least one run of each side.")
    old = runs(samples_before)
    new = runs(samples_after)
    order = order_of(samples_before, samples_after)
    pace = pace_of(old, new, order, first_session_pairs)
    changes = _changes(old, new, limits, pace)
    side_conditions = conditions(samples_before, samples_after)
    verdict, reason = overall(changes, side_conditions, limits)
    pace_ratio = None
    if pace.is_known:
        pace_ratio = math.expm1(pace.slowdown)
    names_before = _names_of(samples_before)
    names_after = _names_of(samples_after)
    findings = finding_changes(samples_before, samples_after)
    kernels = kernel_changes(samples_before, samples_after)
    environment = differences(samples_before, samples_after)
    shared = _names_of_shared(samples_before, samples_after)
    return Comparison(
        before=names_before,
        after=names_after,
        verdict=verdict,
        reason=reason,
        changes=changes,
        findings=findings,
        kernels=kernels,
        environment=environment,
        conditions=side_conditions,
        order=order,
        shared=shared,
        pace=pace_ratio,
        bound=explain_growth(samples_before, samples_after, limits.threshold),
        limits=limits,
    )


def _names_of(samples: Sequence[Sample]) -> tuple[str, ...]:
    return tuple(sample.name for sample in samples)


def _names_of_shared(
    samples_before: Sequence[Sample], samples_after: Sequence[Sample]
) -> tuple[str, ...]:
    """Return the names of the runs after whose recording is a run before, too."""
    recordings_before = [sample.recording for sample in samples_before]
    names: list[str] = []
    for sample in samples_after:
        recording = sample.recording
        if recording and recording in recordings_before:
            names.append(sample.name)
    return tuple(names)


def _changes(runs_before: Runs, runs_after: Runs, limits: Limits, pace: Pace) -> tuple[Change, ...]:
    """Judge every metric that a run knows; those that decide come first."""
    names: list[str] = []
    for name in _iter_metric_names(runs_before, runs_after):
        is_measured = runs_before.values(name) or runs_after.values(name)
        if is_measured:
            names.append(name)
    for name in limits.metrics:
        if name not in names:
            names_text = ", ".join(names)
            raise UsageError(f"No run has the metric {name!r}.", hint=f"They have: {names_text}.")
    samples = (*runs_before.samples, *runs_after.samples)
    changes: list[Change] = []
    for name in names:
        change = judge_metric(name, runs_before, runs_after, pace, limits)
        changes.append(withhold_verdict(change, samples))
    deciding = limits.metrics or speed_of(changes)
    marked = [replace(change, deciding=change.metric in deciding) for change in changes]
    marked.sort(key=lambda change: not change.deciding)
    return tuple(marked)


def _iter_metric_names(runs_before: Runs, runs_after: Runs) -> Iterator[str]:
    """Yield the names of tracekit's metrics and of the runs' own results, each once."""
    names = dict.fromkeys(METRICS)
    for sample in (*runs_before.samples, *runs_after.samples):
        result_names = [measurement.name for measurement in sample.result.results]
        names.update(dict.fromkeys(result_names))
    yield from names


def speed_of(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the metrics of speed that decide: the first group of which a run has one.

    A subject without steps and requests decides by its own results; without results, by a rate of
    its steps, or by its duration, if that was seen several times; else by the device, if it can be.
    """
    changes_by_metric = {change.metric: change for change in changes}
    for group in _SPEED:
        if group[0] in changes_by_metric:
            return _select_known(group, changes_by_metric)
    results = _choose_results(changes)
    if results:
        return results
    for rate in RATES:
        if rate in changes_by_metric:
            return (rate,)
    is_of_the_device = _OF_THE_DEVICE[0] in changes_by_metric
    wall_time = changes_by_metric.get(WALL_TIME)
    if wall_time is not None:
        was_repeated = wall_time.low is not None
        if was_repeated or not is_of_the_device:
            return (WALL_TIME,)
    if is_of_the_device:
        return _select_known(_OF_THE_DEVICE, changes_by_metric)
    return ()


def _select_known(names: Sequence[str], known_names: Container[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in known_names)


def _choose_results(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return which of a subject's own results are its speed: rates, else times, else any."""
    directed: list[str] = []
    rates: list[str] = []
    times: list[str] = []
    for change in changes:
        if not _is_directed_result(change):
            continue
        directed.append(change.metric)
        if change.unit.endswith("/s"):
            rates.append(change.metric)
        elif change.unit == "ns":
            times.append(change.metric)
    return tuple(rates or times or directed)


def _is_directed_result(change: Change) -> bool:
    """Tell whether a change is of a subject's own result, neither a size nor without direction."""
    if change.metric in METRICS or change.metric == WALL_TIME:
        return False
    return change.better is not Better.NEITHER and change.unit not in _SIZES


SEPARATOR = "vs"
_RESULT = "result.json"
_GONE = "the run's exports are gone, and only its result is left."


def parse_sides(words: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Part `A B`, or `A1 A2 … vs B1 B2 …`, into before and after; else raise UsageError."""
    places = [place for place, word in enumerate(words) if str(word) == SEPARATOR]
    if not places and len(words) == 2:  # noqa: PLR2004  one of each side
        return [words[0]], [words[1]]
    if len(places) == 1 and 0 < places[0] < len(words) - 1:
        words_before = list(words[: places[0]])
        words_after = list(words[places[0] + 1 :])
        return words_before, words_after
    raise UsageError(
        f"Two runs are compared, or several on both sides of a {SEPARATOR}.",
        hint=f"tracekit compare BEFORE AFTER, or: tracekit compare A1 A2 {SEPARATOR} B1 B2",
    )


def read_samples(paths: Sequence[Path]) -> list[Sample]:
    """Read runs: each path is a run's folder, a `result.json`, or the JSON of a bench.

    A path that is not a run, or was not analyzed, is a RecordingError. A file that cannot be
    compared is an InputError.
    """
    named_paths = zip(paths, _short_names(paths), strict=True)
    return [_sample(path, name) for path, name in named_paths]


def compare_runs(
    samples_before: Sequence[Sample],
    samples_after: Sequence[Sample],
    limits: Limits | None = None,
    *,
    force: bool = False,
) -> Comparison:
    """Compare runs.

    Unless `force` is set, a UsageError refuses other work, another way of recording, and a run that
    is given twice.
    """
    if not force:
        _refuse_repeated(samples_before)
        _refuse_repeated(samples_after)
    compared = compare(samples_before, samples_after, limits)
    for sample in (*samples_before, *samples_after):
        sample.measures.keep()
    if compared.void and not force:
        unlike = [f"{void.what} is {void.before} and {void.after}" for void in compared.void]
        raise UsageError(
            "These runs are not of the same work, or not recorded in the same way: "
            f"{'; '.join(unlike)}.",
            hint="--force compares them all the same.",
        )
    return compared


def _refuse_repeated(samples: Sequence[Sample]) -> None:
    """Raise a UsageError if a side has a recording twice, which would count twice."""
    names_by_recording: dict[tuple[object, ...], str] = {}
    for sample in samples:
        recording = sample.recording
        if recording and recording in names_by_recording:
            raise UsageError(
                f"{names_by_recording[recording]} and {sample.name} are the same recording.",
                hint="Give each recording once; --force compares them all the same.",
            )
        names_by_recording[recording] = sample.name


def redaction_of_runs(paths: Sequence[Path]) -> base_redaction.Redaction:
    """Return the redaction of this machine's names and of those in any of the runs."""
    redactions = [redaction_of(Recording(_folder_of(path))) for path in paths]
    names: dict[str, str] = {}
    for redaction in redactions:
        names.update(redaction.names)
    longest_first = sorted(names.items(), key=lambda pair: (-len(pair[0]), pair[0]))
    return base_redaction.Redaction(tuple(longest_first), redactions[0].words)


def _folder_of(path: Path) -> Path:
    return path.parent if path.is_file() else path


def _sample(path: Path, name: str) -> Sample:
    if path.is_file():
        kind = lab.document.document_kind(path)
        if kind == lab.document.BENCH:
            return bench_sample(lab.document.read_bench(path), name)
        if kind:
            raise InputError(
                f"{path} is a document of kind {kind!r}, which cannot be compared.",
                hint="Compare runs, their result.json, or two files of `tracekit bench run -o "
                "FILE`.",
            )
    folder = _folder_of(path)
    if not (folder / "recording.json").exists() and path.is_file():
        return Sample(name, Result.load(path), absence=_GONE)
    run = Run(Recording(folder))
    _ = run.provenance
    is_other_file = path.is_file() and path != run.recording.result_file
    result = Result.load(path) if is_other_file else run.result
    if not run.recording.exports.is_dir():
        return Sample(name, result, absence=_GONE)
    measures = KeptMeasures(run.recording, result.provenance)
    return Sample(name, result, run, measures=measures)


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Name each run by its folder; by as much of its path as sets it apart from the others.

    A file that is not in the folder of a run, as that of a bench, is named by its own path.
    """
    folders: list[Path] = []
    for path in paths:
        folder = path.parent if path.name == _RESULT else path
        folders.append(folder.resolve())
    folder_count = len(set(folders))
    names: list[str] = []
    length = 0
    while len(set(names)) < folder_count:
        length += 1
        names = ["/".join(folder.parts[-length:]) for folder in folders]
    return names
