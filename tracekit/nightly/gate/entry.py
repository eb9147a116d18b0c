"""What became of each metric of a capture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tracekit.analysis.metrics import METRICS
from tracekit.compare.accepted import Accepted
from tracekit.nightly.gate.changes import pairs_of
from tracekit.nightly.gate.judge import judge
from tracekit.nightly.gate.policy import POLICY, Policy
from tracekit.nightly.history.night import Judged, Pair
from tracekit.nightly.plan.plan import Capture


@dataclass(frozen=True)
class Quantity:
    """What a number that a workload found out is: its unit, and which direction is good news."""

    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"


def judge_entry(
    capture: Capture,
    pairs: Sequence[Pair],
    results: Mapping[str, Quantity],
    accepted: Accepted | None,
    policy: Policy = POLICY,
) -> tuple[Judged, ...]:
    """Judge all metrics of a capture that the plan names, in its order.

    Args:
        capture: The capture, as planned.
        pairs: All of its pairs, of one sitting or of both.
        results: What the workload's own results are, by name; metrics are known.
        accepted: What was accepted of the same work on this machine; None for nothing.
        policy: What it takes to decide.
    """
    changes = accepted.changes if accepted else {}
    same_work = capture.reference.same_work if capture.reference else None
    ended: list[Judged] = []
    for gated in capture.metrics:
        what = quantity_of(gated.metric, results)
        own = pairs_of(pairs, gated.metric)
        judged = judge(
            gated,
            pairs,
            unit=what.unit,
            better=what.better,
            expected=changes.get(gated.metric) or None,
            same_work=same_work,
            wanted=capture.traced if own and own[0].traced else capture.pairs,
            policy=policy,
        )
        uses = accepted and changes.get(gated.metric) and judged.expected is not None
        ended.append(replace(judged, baseline=accepted.night if accepted and uses else ""))
    return tuple(ended)


def quantity_of(metric: str, results: Mapping[str, Quantity]) -> Quantity:
    """Return what a metric is, or a result of the workload; nothing is known of other names."""
    if (known := METRICS.get(metric)) is not None:
        return Quantity(known.unit, known.better.value)
    return results.get(metric, Quantity())
