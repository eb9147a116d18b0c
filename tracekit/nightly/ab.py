"""Two variants against each other, now: pairs in one session until their difference is known.

`compare` takes runs that were recorded before; this measures work. Both variants take turns in
fresh processes, as candidate and reference of a night do, and the same judgement applies to each
metric.
"""

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from tracekit.analysis import Better
from tracekit.base import InconclusiveError, UsageError, Verdict, paired, system, units, verdicts
from tracekit.comparison import (
    Change,
    Comparison,
    Difference,
    Limits,
    Order,
    Weight,
    is_unconfirmed,
    overall,
    page,
    shifts,
    speed_of,
)
from tracekit.machine import State, StateLimits, Watch, find_rejections
from tracekit.nightly.gate.judge import quantity_of
from tracekit.nightly.history.night import Described, Pair, Quantity
from tracekit.nightly.history.night import Side as Role
from tracekit.nightly.history.pairs import changes, plain_change, values
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.session.busy_notice import with_busy_notice
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.program import Bounds
from tracekit.nightly.session.variants import CodeVariant, candidate_of, reference_of, work_words
from tracekit.record import Progress, Supervisor, quiet

NAME = "ab"
Results = Mapping[str, Quantity]  # a workload's own, by name
_MOST = 1000  # pairs


@dataclass(frozen=True)
class Side:
    """One of both variants; `revision` is empty for the files as they are."""

    workload: str
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    revision: str = ""

    @property
    def words(self) -> str:
        """The variant in words: "paged at v1.4, block_size 16"."""
        suffix = ""
        if self.revision:
            suffix = f" at {self.revision}"
        return work_words(f"{self.workload}{suffix}", self.parameters)


@dataclass(frozen=True)
class PairEffort:
    """The effort of a measurement: it ends when half an interval is at most `max_half_width`.

    That is a ratio. After `seconds`, no further pair, of four turns of `turn` seconds, is started.
    `state` are the limits of the machine's state for a pair to count; None counts all.
    """

    max_half_width: float = 0.01
    seconds: float = 120.0
    turn: float = 0.3
    state: StateLimits | None = field(default_factory=StateLimits)

    def describe(self, number: str, reason: str, *, narrow: bool, out_of_time: bool) -> str:
        """Describe how many pairs count, why others do not, and the end of the measurement."""
        words = number
        if reason:
            words += f" (others do not: {reason})"
        if narrow:
            words += f"; the intervals are narrower than ±{units.percent(self.max_half_width)}"
        elif out_of_time:
            words += f"; stopped after {self.seconds:g} s (--time-limit)"
        return f"{words}."


def parse_side(words: Sequence[str], workload: str = "") -> Side:
    """Read `WORKLOAD[@REVISION] [NAME=VALUE …]`; without a workload it is the one given."""
    name = workload
    revision = ""
    parameters: dict[str, Any] = {}
    for place, word in enumerate(words):
        key, equals, value = word.partition("=")
        if equals and key:
            parameters[key.replace("-", "_")] = _value(value)
        elif place == 0:
            workload_name, _, revision = word.partition("@")
            name = workload_name or workload
        else:
            hint = _HINT_OF_PROGRAMS if _is_path(words[0]) else "Such as block_size=16."
            raise UsageError(f"{word!r} is not NAME=VALUE.", hint=hint)
    if _is_path(name):
        raise UsageError(f"{name!r} is a path, not a workload.", hint=_HINT_OF_PROGRAMS)
    if not name:
        raise UsageError(
            "Nothing names a workload.", hint="tracekit bench ab paged -- block_size=8"
        )
    return Side(name, parameters, revision)


_HINT_OF_PROGRAMS = "To run programs: tracekit bench ab -- ./main-old ARGS -- ./main-new ARGS."


def _is_path(word: str) -> bool:
    return "/" in word.partition("@")[0]


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def measure_ab(
    reference: Side,
    candidate: Side,
    *,
    workloads: Path | None = None,
    effort: PairEffort | None = None,
    limits: Limits | None = None,
    progress: Progress = quiet,
) -> Comparison:
    """Measure both in turns, and compare them; an InconclusiveError says that no pair counts."""
    system.require_processes("Measuring in turns")
    effort = effort or PairEffort()
    limits = limits or Limits()
    load_limit = None
    if effort.state:
        load_limit = effort.state.load
    progress = with_busy_notice(progress, load_limit)
    with ExitStack() as stack:
        progress("making ready")
        prepared = _prepare_capture(reference, candidate, workloads, effort.turn, stack)
        watch = None
        if effort.state:
            watch = stack.enter_context(Watch("auto"))
        pairs, note = _measure_pairs(prepared, watch, effort, limits, progress)
    changes = judge_metrics(pairs, prepared.results, limits)
    verdict, reason = overall(changes, (), limits)
    environment = tuple(differences(prepared.described))
    return Comparison(
        before=(reference.words,),
        after=(candidate.words,),
        verdict=verdict,
        reason=reason,
        changes=changes,
        findings=(),
        kernels=(),
        environment=environment,
        conditions=(),
        order=Order.ALTERNATING,
        limits=limits,
        notes=(note,),
    )


def _prepare_capture(
    reference: Side, candidate: Side, workloads: Path | None, turn: float, stack: ExitStack
) -> PreparedCapture:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracekit-ab-")))
    bounds = Bounds(stack.enter_context(Supervisor(folder)))
    plan = NightPlan(NAME, Path.cwd() / NAME, (), folder, "")
    shared_reference = Reference(revision=candidate.revision or reference.revision)

    def capture_of(side: Side) -> Capture:
        return Capture(NAME, side.workload, workloads, side.parameters, shared_reference, turn=turn)

    def variant_of(role: Role, side: Side) -> CodeVariant:
        capture = capture_of(side)
        variant = candidate_of(capture, plan)
        if side.revision:
            capture = replace(capture, reference=Reference(revision=side.revision))
            checked_out = stack.enter_context(reference_of(capture, plan, variant, bounds))
            variant = checked_out or variant
        return replace(variant, role=role, difference=(side.words,))

    candidate_variant = variant_of("candidate", candidate)
    reference_variant = variant_of("reference", reference)
    ready = PreparedCapture(
        capture_of(candidate), folder, candidate_variant, reference_variant, bounds
    )
    ready.describe()
    return ready


def _measure_pairs(
    prepared: PreparedCapture,
    watch: Watch | None,
    effort: PairEffort,
    limits: Limits,
    progress: Progress,
) -> tuple[list[Pair], str]:
    """Measure until the intervals that decide are narrow enough, or time is spent.

    Returns the pairs, and a sentence on the end of the measurement. A change that is beyond the
    limit, but not certainly, is measured in a second session of as many pairs.
    """
    calibrate = effort.state is not None and effort.state.calibration is not None
    measured = _MeasuredPairs(prepared, effort, limits)
    for session in (1, 2):
        latest_pairs = measure(
            prepared, session=session, pairs=_MOST, watch=watch, calibrate=calibrate
        )
        for latest in latest_pairs:
            measured.add(latest)
            progress(count_pairs(measured.pairs))
            if measured.is_over(session):
                break
        if measured.clock.is_spent() or not is_unconfirmed(measured.changes, limits):
            break
    measured.require_one()
    return measured.pairs, measured.describe()


class _MeasuredPairs:
    """The pairs so far, their changes, and whether more are needed."""

    def __init__(self, prepared: PreparedCapture, effort: PairEffort, limits: Limits) -> None:
        self.pairs: list[Pair] = []
        self.changes: tuple[Change, ...] = ()
        self.clock = SessionClock(effort)
        self._prepared = prepared
        self._effort = effort
        self._limits = limits

    def add(self, pair: Pair) -> None:
        """Add a pair, and judge all of them."""
        all_pairs = [*self.pairs, pair]
        self.pairs = _update_rejections(all_pairs, self._effort.state)
        self.changes = judge_metrics(self.pairs, self._prepared.results, self._limits)

    @property
    def is_narrow(self) -> bool:
        """Whether the intervals are as narrow as the effort asks for."""
        return find_widest(self.changes) <= self._effort.max_half_width

    def is_over(self, session: int) -> bool:
        """Tell whether the session, 1 or 2, has all the pairs that it needs."""
        if session == 1:
            unconfirmed = is_unconfirmed(self.changes, self._limits)
            return self.clock.ends_first(narrow=self.is_narrow, unconfirmed=unconfirmed)
        if self.clock.is_spent():
            return True
        session_count = _count(self.pairs, session)
        first_count = _count(self.pairs, 1)
        return session_count >= first_count

    def require_one(self) -> None:
        """Raise InconclusiveError if no pair of the first session counts."""
        if _count(self.pairs, 1):
            return
        reason = _first_reason(self.pairs)
        uncounted_note = _describe_uncounted(self.pairs, self._prepared, self._limits)
        raise InconclusiveError(
            f"None of {len(self.pairs)} pairs counts: {reason}{uncounted_note}",
            hint="Wait until the machine is idle, or count all of them: --any-state.",
        )

    def describe(self) -> str:
        """Describe how many pairs count, why others do not, and the end of the measurement."""
        pair_count = count_pairs(self.pairs)
        reason = _first_reason(self.pairs).rstrip(".")
        return self._effort.describe(
            pair_count,
            reason,
            narrow=self.is_narrow,
            out_of_time=self.clock.is_spent(),
        )


def _first_reason(pairs: Sequence[Pair]) -> str:
    """Return the first reason why a pair does not count; empty if all count."""
    for pair in pairs:
        if pair.rejections:
            return pair.rejections[0]
    return ""


def count_pairs(pairs: Sequence[Pair]) -> str:
    """Describe how many pairs count, and in which sessions: "12 of 13 pairs count"."""
    counting = 0
    has_second_session = False
    for pair in pairs:
        if not pair.rejections:
            counting += 1
        if pair.session > 1:
            has_second_session = True
    words = f"{counting} of {len(pairs)} pairs count"
    if has_second_session:
        words += ", in two sessions"
    return words


def _count(pairs: Sequence[Pair], session: int) -> int:
    return sum(pair.session == session and not pair.rejections for pair in pairs)


class SessionClock:
    """The time of a measurement: when half of it is spent, and when all of it."""

    def __init__(self, effort: PairEffort) -> None:
        self._began = time.monotonic()
        self._seconds = effort.seconds

    def is_half(self) -> bool:
        """Tell whether a second session should begin now, to have as much time as the first."""
        elapsed = time.monotonic() - self._began
        return elapsed >= self._seconds / 2

    def ends_first(self, *, narrow: bool, unconfirmed: bool) -> bool:
        """Tell whether the first session is over: sure enough, or a second one needs the time."""
        return narrow or self.is_spent() or (unconfirmed and self.is_half())

    def is_spent(self) -> bool:
        """Tell whether no further pair is to be started."""
        return time.monotonic() - self._began >= self._seconds


def _describe_uncounted(pairs: Sequence[Pair], prepared: PreparedCapture, limits: Limits) -> str:
    """Describe the changes that pairs show which do not count."""
    cleared_pairs = [replace(pair, rejections=()) for pair in pairs]
    return uncounted_words(judge_metrics(cleared_pairs, prepared.results, limits))


def uncounted_words(changes: Sequence[Change]) -> str:
    """Describe the changes that were measured but do not count; empty if none decides."""
    words: list[str] = []
    for change in changes:
        if change.deciding and change.change is not None:
            change_text = page.change_words(change)
            words.append(f"{change.metric} {change_text}")
    if not words:
        return ""
    return f" Measured, but not counted: {', '.join(words)}."


def _update_rejections(pairs: Sequence[Pair], state: StateLimits | None) -> list[Pair]:
    """Decide again which pairs count: each further look shows the machine's best state better."""
    if state is None:
        return list(pairs)
    states: list[State] = []
    for pair in pairs:
        states += filter(None, (pair.before, pair.after))
    updated: list[Pair] = []
    for pair in pairs:
        reasons = find_rejections(pair.before, pair.after, states, state)
        updated.append(replace(pair, rejections=reasons))
    return updated


def find_widest(changes: Sequence[Change]) -> float:
    """Return the widest half width of the intervals that decide; infinite if one is not known."""
    half_widths = [half_width(change) for change in changes if change.deciding]
    return max(half_widths, default=math.inf)


def half_width(change: Change) -> float:
    """Return the half width of a change's interval, of ratios as logarithms; infinite without."""
    if change.low is None or change.high is None:
        return math.inf
    if not change.relative:
        return (change.high - change.low) / 2
    width = math.log1p(change.high) - math.log1p(change.low)
    return width / 2


def judge_metrics(pairs: Sequence[Pair], results: Results, limits: Limits) -> tuple[Change, ...]:
    """Judge every metric that both have; those that decide come first."""
    names: dict[str, None] = {}
    for pair in pairs:
        names.update(dict.fromkeys(pair.candidate))
    changes: list[Change] = []
    for name in names:
        change = _change(name, pairs, results, limits)
        if change is not None:
            changes.append(change)
    for name in limits.metrics:
        if name not in names:
            names_text = ", ".join(names)
            raise UsageError(
                f"No variant has the metric {name!r}.", hint=f"They have: {names_text}."
            )
    deciding = limits.metrics or speed_of(changes)
    marked = [replace(change, deciding=change.metric in deciding) for change in changes]
    marked.sort(key=lambda change: not change.deciding)
    return tuple(marked)


def _change(name: str, pairs: Sequence[Pair], results: Results, limits: Limits) -> Change | None:
    """Judge one metric; None if no pair that counts has it of both sides."""
    quantity = quantity_of(name, results)
    old = values(pairs, name, "reference")
    new = values(pairs, name, "candidate")
    relative = min((*old, *new), default=0) > 0
    scale: verdicts.Scale = "ratio" if relative else "difference"
    pair_changes = changes(pairs, name, scale)
    if not pair_changes:
        return None
    reference_median = median(old)
    candidate_median = median(new)
    if relative:
        measured_change = candidate_median / reference_median - 1
    else:
        measured_change = candidate_median - reference_median
    change = Change(
        metric=name,
        unit=quantity.unit,
        better=Better(quantity.better),
        before=reference_median,
        after=candidate_median,
        relative=relative,
        values_before=old,
        values_after=new,
        paired=True,
        measured=measured_change,
        change=measured_change,
    )
    is_directed = change.better is not Better.NEITHER
    interval = shifts.find_interval(pair_changes)
    if interval is None:
        shortage = f"{len(pair_changes)} pairs count, and an interval takes {paired.least_pairs()}"
        return replace(change, verdict=Verdict.UNCLEAR if is_directed else None, reason=shortage)
    verdict = None
    reason = ""
    if is_directed:
        first_session = _changes_of_session(pairs, 1, name, scale)
        second_session = _changes_of_session(pairs, 2, name, scale)
        verdict, reason = change.judge_interval(interval, limits, (first_session, second_session))
    low = plain_change(interval.lower_bound, scale)
    high = plain_change(interval.upper_bound, scale)
    return replace(
        change,
        change=plain_change(interval.middle, scale),
        low=low,
        high=high,
        verdict=verdict,
        reason=reason,
    )


def _changes_of_session(
    pairs: Sequence[Pair], session: int, name: str, scale: verdicts.Scale
) -> Sequence[float]:
    session_pairs = [pair for pair in pairs if pair.session == session]
    return changes(session_pairs, name, scale)


def differences(described: Mapping[Role, Described]) -> Iterator[Difference]:
    """Yield the differences between the variants, beyond those of the metrics."""
    old = described["reference"]
    new = described["candidate"]
    for name in ("workload", "python", "mlx", "tracekit", "commit"):
        before = str(getattr(old, name))
        after = str(getattr(new, name))
        if before != after:
            yield Difference(name, before, after, Weight.MARKED)
    for name in {**old.parameters, **new.parameters}:
        before = str(old.parameters.get(name, "default"))
        after = str(new.parameters.get(name, "default"))
        if before != after:
            yield Difference(f"parameter {name}", before, after, Weight.MARKED)
