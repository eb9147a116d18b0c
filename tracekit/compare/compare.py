"""Runs against runs: what changed, how sure that is, and what stands in the way."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tracekit.analysis.metrics import METRICS
from tracekit.base.errors import UsageError
from tracekit.compare.change import Change, Verdict
from tracekit.compare.conditions import Condition, conditions
from tracekit.compare.environment import Difference, Weight, differences
from tracekit.compare.judging import judged
from tracekit.compare.kernels import KernelChange, kernel_changes
from tracekit.compare.overall import overall
from tracekit.compare.pace import pace_of
from tracekit.compare.problems import FindingChange, finding_changes
from tracekit.compare.runs import Runs, runs
from tracekit.compare.sample import Sample
from tracekit.compare.spread import Limits

FORMAT = 1
# What a person calls speed, in the order in which a run is asked for it.
_SPEED = (
    ("ttft_p50", "tpot_p50"),
    ("tokens_per_second", "step_p50"),
    ("step_rate", "step_p50"),
    ("step_p50",),
    ("gpu_idle_ratio", "start_latency_p50"),
)


@dataclass(frozen=True)
class Comparison:
    """What became of everything between the runs before and those after.

    `verdict` is over all metrics that decide; `reason` says in a sentence how it came about.
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
    limits: Limits = field(default_factory=Limits)
    format: int = field(default=FORMAT, kw_only=True)

    @property
    def void(self) -> tuple[Difference, ...]:
        """What makes this a comparison of unlike things."""
        return tuple(one for one in self.environment if one.weight is Weight.VOID)


def compare(
    before: Sequence[Sample], after: Sequence[Sample], limits: Limits | None = None
) -> Comparison:
    """Compare runs; the result is a pure function of them.

    Raises:
        UsageError: A side has no run, or `limits` names a metric that no run has.
    """
    limits = limits or Limits()
    if not before or not after:
        raise UsageError("A comparison takes at least one run of each side.")
    old, new = runs(before), runs(after)
    changes = _changes(old, new, limits)
    held = conditions(before, after)
    verdict, reason = overall([one for one in changes if one.deciding], held)
    return Comparison(
        before=tuple(one.name for one in before),
        after=tuple(one.name for one in after),
        verdict=verdict,
        reason=reason,
        changes=changes,
        findings=finding_changes(before, after),
        kernels=kernel_changes(before, after),
        environment=differences(before, after),
        conditions=held,
        limits=limits,
    )


def _changes(before: Runs, after: Runs, limits: Limits) -> tuple[Change, ...]:
    """Judge every metric that a run knows; those that decide come first."""
    names = [
        name for name in _names(before, after) if before.measured(name) or after.measured(name)
    ]
    unknown = [name for name in limits.metrics if name not in names]
    if unknown:
        raise UsageError(
            f"No run has the metric {unknown[0]!r}.", hint=f"They have: {', '.join(names)}."
        )
    pace = pace_of(before, after)
    found = [judged(name, before, after, pace, limits) for name in names]
    deciding = limits.metrics or _speed(found)
    marked = [replace(one, deciding=one.metric in deciding) for one in found]
    return tuple(sorted(marked, key=lambda one: not one.deciding))


def _names(before: Runs, after: Runs) -> list[str]:
    told = (
        one.name for side in (before, after) for run in side.samples for one in run.result.results
    )
    return list(dict.fromkeys((*METRICS, *told)))


def _speed(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the first group of metrics of speed of which a run has one."""
    known = {one.metric for one in changes}
    for group in _SPEED:
        if group[0] in known:
            return tuple(name for name in group if name in known)
    return ()
