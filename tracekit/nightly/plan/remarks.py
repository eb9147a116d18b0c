"""What is no mistake in a plan, and yet worth knowing before the first night."""

from collections.abc import Iterator

from tracekit.analysis.metrics import METRICS
from tracekit.nightly.plan.plan import Capture, NightPlan


def remarks(plan: NightPlan) -> tuple[str, ...]:
    """Return what a plan's author may not expect, a sentence each."""
    return tuple(f"{capture.name}: {words}" for capture in plan.captures for words in _of(capture))


def _of(capture: Capture) -> Iterator[str]:
    own = [one.metric for one in capture.metrics if one.metric not in METRICS]
    if own:
        yield (
            f"{', '.join(own)} is no metric of tracekit, so it must be a result that the workload "
            f"{capture.workload} tells."
        )
    if capture.reference is None:
        yield "it has no reference, so that it is followed over nights, and decides nothing."
    elif not any(one.gate for one in capture.metrics) and not capture.fail_on:
        yield "none of its metrics decides."
    elif not capture.reference.same_work:
        yield (
            "its reference does other work, so nothing is decided until a night is accepted as "
            "what to expect: `tracekit baseline accept NIGHT --reason TEXT`."
        )
