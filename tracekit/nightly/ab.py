"""Two variants against each other, now: pairs in one session until their difference is known.

What `compare` does with runs that were recorded before, this does with work: both variants take
turns in fresh processes, as candidate and reference of a night do, and the same judgement tells
what became of each metric.
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
from tracekit.base import InconclusiveError, UsageError, least_pairs, percent
from tracekit.compare import (
    Change,
    Comparison,
    Difference,
    Limits,
    Order,
    Verdict,
    Weight,
    overall,
    shift,
    speed_of,
    verdict_of,
)
from tracekit.machine import StateLimits, Watch, contaminated
from tracekit.nightly.gate.decision import changes, plain_change, values
from tracekit.nightly.gate.judge import quantity_of
from tracekit.nightly.history.night import Described, Pair
from tracekit.nightly.history.night import Side as Role
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.session.child import Prepared
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.program import Bounds
from tracekit.nightly.session.variants import CodeVariant, candidate_of, reference_of, work_words
from tracekit.record import Progress, Supervisor, quiet

NAME = "ab"
_MOST = 1000  # pairs


@dataclass(frozen=True)
class Side:
    """What one of both variants is; `revision` is empty for the files as they are."""

    workload: str
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    revision: str = ""

    @property
    def words(self) -> str:
        """The variant in words: "paged at v1.4, block_size 16"."""
        at = f" at {self.revision}" if self.revision else ""
        return work_words(f"{self.workload}{at}", self.parameters)


@dataclass(frozen=True)
class Effort:
    """How long both are measured.

    Attributes:
        within: The half width of the interval at which it is narrow enough, as a ratio.
        seconds: After how many seconds no pair is begun any more.
        turn: Seconds of one turn; a pair has four.
        state: What the machine must be like for a pair to count; None to count all.
    """

    within: float = 0.01
    seconds: float = 120.0
    turn: float = 0.3
    state: StateLimits | None = field(default_factory=StateLimits)


def parse_side(words: Sequence[str], workload: str = "") -> Side:
    """Read `WORKLOAD[@REVISION] [NAME=VALUE …]`; without a workload it is the one given.

    Raises:
        UsageError: Nothing names a workload, or a word is neither.
    """
    name, revision, parameters = workload, "", dict[str, Any]()
    for place, word in enumerate(words):
        key, equals, value = word.partition("=")
        if equals and key:
            parameters[key.replace("-", "_")] = _value(value)
        elif place == 0:
            before, _, revision = word.partition("@")
            name = before or workload
        else:
            raise UsageError(f"{word!r} is no NAME=VALUE.", hint="Such as block_size=16.")
    if not name:
        raise UsageError("Nothing names a workload.", hint="tracekit ab paged -- block_size=8")
    return Side(name, parameters, revision)


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def measure_ab(
    before: Side,
    after: Side,
    *,
    workloads: Path | None = None,
    effort: Effort | None = None,
    limits: Limits | None = None,
    progress: Progress = quiet,
) -> Comparison:
    """Measure both in turns, and compare them.

    Raises:
        UsageError: A workload, a parameter or a revision is not there.
        ToolError: A variant failed.
        InconclusiveError: Not a single pair counts.
    """
    effort, limits = effort or Effort(), limits or Limits()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracekit-ab-")))
        supervisor = stack.enter_context(Supervisor(folder))
        progress("making ready")
        bounds = Bounds(supervisor)
        sides: dict[Role, Side] = {"candidate": after, "reference": before}
        prepared = _prepared(sides, workloads, bounds, stack, folder)
        prepared = replace(prepared, capture=replace(prepared.capture, turn=effort.turn))
        watch = stack.enter_context(Watch("auto")) if effort.state else None
        pairs, ended = _measured(prepared, watch, effort, limits, progress)
    compared = _compared(pairs, prepared, limits)
    return replace(compared, before=(before.words,), after=(after.words,), notes=(ended,))


def _prepared(
    sides: Mapping[Role, Side],
    workloads: Path | None,
    bounds: Bounds,
    stack: ExitStack,
    folder: Path,
) -> Prepared:
    """Make both ready."""
    plan = NightPlan(NAME, Path.cwd() / NAME, (), folder, "")
    asked = Reference(
        revision=next((side.revision for side in sides.values() if side.revision), "")
    )
    variants: dict[Role, CodeVariant] = {}
    for role, side in sides.items():
        capture = Capture(NAME, side.workload, workloads, side.parameters, asked)
        variant = candidate_of(capture, plan)
        if side.revision:
            capture = replace(capture, reference=Reference(revision=side.revision))
            found = stack.enter_context(reference_of(capture, plan, variant, bounds))
            assert found is not None
            variant = found
        variants[role] = replace(variant, role=role, difference=(side.words,))
    after = sides["candidate"]
    capture = Capture(NAME, after.workload, workloads, after.parameters, asked)
    ready = Prepared(capture, folder, variants["candidate"], variants["reference"], bounds)
    ready.describe()
    return ready


def _measured(
    prepared: Prepared, watch: Watch | None, effort: Effort, limits: Limits, progress: Progress
) -> tuple[list[Pair], str]:
    """Measure until the interval of what decides is narrow enough, or time is spent; say which."""
    pairs: list[Pair] = []
    until = time.monotonic() + effort.seconds
    calibrate = effort.state is not None and effort.state.calibration is not None
    counting, number = 0, "no pair counts"
    for latest in measure(prepared, pairs=_MOST, watch=watch, calibrate=calibrate):
        pairs = _weighed([*pairs, latest], effort.state)
        counting = sum(not pair.contaminated for pair in pairs)
        number = f"{counting} of {len(pairs)} pairs count"
        progress(number)
        found = _changes(pairs, prepared, limits)
        widest = max((half_width(change) for change in found if change.deciding), default=math.inf)
        if widest <= effort.within:
            return pairs, f"{number}; the intervals are narrower than ±{percent(effort.within)}."
        if time.monotonic() >= until:
            break
    if not counting:
        why = next(why for pair in pairs for why in pair.contaminated)
        raise InconclusiveError(
            f"None of {len(pairs)} pairs counts: {why}",
            hint="Wait until the machine is idle, or count all of them: --any-state.",
        )
    left = next((why.rstrip(".") for pair in pairs for why in pair.contaminated), "")
    others = f" (others do not: {left})" if left else ""
    return pairs, f"{number}{others}; stopped after {effort.seconds:g} s (--time-limit)."


def _weighed(pairs: Sequence[Pair], state: StateLimits | None) -> list[Pair]:
    """Say again why pairs do not count: as more is seen, the machine's best is known better."""
    if state is None:
        return list(pairs)
    seen = [look for pair in pairs for look in (pair.before, pair.after) if look is not None]
    return [
        replace(pair, contaminated=contaminated(pair.before, pair.after, seen, state))
        for pair in pairs
    ]


def half_width(change: Change) -> float:
    """Return the half width of a change's interval, of ratios as logarithms; infinite without."""
    if change.low is None or change.high is None:
        return math.inf
    if not change.relative:
        return (change.high - change.low) / 2
    return (math.log1p(change.high) - math.log1p(change.low)) / 2


def _changes(pairs: Sequence[Pair], prepared: Prepared, limits: Limits) -> tuple[Change, ...]:
    """Judge every metric that both have; those that decide come first."""
    names = dict.fromkeys(name for pair in pairs for name in pair.candidate)
    found = [_change(name, pairs, prepared, limits) for name in names]
    known = [change for change in found if change.before is not None and change.after is not None]
    if unknown := [name for name in limits.metrics if name not in names]:
        raise UsageError(
            f"No variant has the metric {unknown[0]!r}.", hint=f"They have: {', '.join(names)}."
        )
    deciding = limits.metrics or speed_of(known)
    marked = [replace(change, deciding=change.metric in deciding) for change in known]
    return tuple(sorted(marked, key=lambda change: not change.deciding))


def _change(name: str, pairs: Sequence[Pair], prepared: Prepared, limits: Limits) -> Change:
    quantity = quantity_of(name, prepared.results)
    old, new = values(pairs, name, "reference"), values(pairs, name, "candidate")
    relative = min((*old, *new), default=0) > 0
    change = Change(
        metric=name,
        unit=quantity.unit,
        better=Better(quantity.better),
        before=median(old) if old else None,
        after=median(new) if new else None,
        relative=relative,
        values_before=old,
        values_after=new,
        paired=True,
    )
    scale = "ratio" if relative else "difference"
    found = changes(pairs, name, scale)
    if change.before is None or change.after is None or not found:
        return replace(change, before=None)
    plain = change.after / change.before - 1 if relative else change.after - change.before
    interval = shift(found)
    if interval is None:
        few = f"{len(found)} pairs count, and an interval takes {least_pairs()}"
        verdict = None if change.better is Better.NEITHER else Verdict.UNCLEAR
        return replace(change, measured=plain, change=plain, verdict=verdict, reason=few)
    verdict = None
    if change.better is not Better.NEITHER:
        verdict = verdict_of(interval, change, limits)
    return replace(
        change,
        measured=plain,
        change=plain_change(interval.middle, scale),
        low=plain_change(interval.low, scale),
        high=plain_change(interval.high, scale),
        verdict=verdict,
        reason="the interval is too wide" if verdict is Verdict.UNCLEAR else "",
    )


def _compared(pairs: Sequence[Pair], prepared: Prepared, limits: Limits) -> Comparison:
    found = _changes(pairs, prepared, limits)
    verdict, reason = overall([change for change in found if change.deciding], ())
    return Comparison(
        before=(),
        after=(),
        verdict=verdict,
        reason=reason,
        changes=found,
        findings=(),
        kernels=(),
        environment=tuple(_differences(prepared.described)),
        conditions=(),
        order=Order.ALTERNATING,
        limits=limits,
    )


def _differences(described: Mapping[Role, Described]) -> Iterator[Difference]:
    """Yield what the variants differ in."""
    old, new = described["reference"], described["candidate"]
    for name in ("workload", "python", "mlx", "tracekit", "commit"):
        values = str(getattr(old, name)), str(getattr(new, name))
        if values[0] != values[1]:
            yield Difference(name, *values, Weight.MARKED)
    for name in dict.fromkeys([*old.parameters, *new.parameters]):
        before, after = (str(side.parameters.get(name, "default")) for side in (old, new))
        if before != after:
            yield Difference(f"parameter {name}", before, after, Weight.MARKED)
