"""`pipeline-churn`: pipelines are still compiled in the steady window."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.evidence import longest_rows
from tracekit.analysis.finding import Evidence, Finding, Severity
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, clip, steady_window
from tracekit.analysis.intervals import spans as ranges
from tracekit.analysis.rule import rule
from tracekit.analysis.target import of_target
from tracekit.told import COMPILE
from tracekit.units import duration

_ADVICE = (
    "Make every pipeline before the loop: run each shape, dtype and template value once while "
    "warming up, and keep them the same afterwards. In MLX a kernel is made anew for each new "
    "set of template values, input dtypes and input sizes below 8 elements (pad short inputs), "
    "and for each change of its source; a function of mx.compile for each new constant in it."
)
_NAMED = 3


@rule
def pipeline_churn(  # noqa: PLR0917  a rule's tables are its parameters
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    specializations: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    *,
    limit: int = 0,
) -> Iterator[Finding]:
    """Pipelines are still compiled after warm-up.

    What it looks for:
        Activity of the shader compiler for the target that starts in the steady window, and
        pipelines that the workload itself first used there, by its own count, on a CPU as
        well. It fires above `limit` (0). What they cost is the time of the spans `compile` that
        the workload told of.

    Why it matters:
        A compilation stalls the step that waits for it, and the numbers of that step are the
        compiler's. In a decode loop every pipeline should exist before the first token.

    What to do:
        Warm up every specialization before the loop; keep template values, dtypes and small
        input sizes constant.

    When it abstains:
        When compiler activity was not exported and the workload does not count its pipelines;
        on a CPU, where nothing else can tell, when the workload names none.
    """
    own = of_target(gpu_intervals, targets)
    if (own["clock"] == "host").any() and (specializations is None or specializations.empty):
        raise Unavailable("the work ran on the CPU, and the workload names no pipelines.")
    if compiler_activity is None and specializations is None:
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            "did the workload count its pipelines."
        )
    window = steady_window(phases, own)
    assert window is not None
    if window.length == 0:
        raise Unavailable(f"{window.name} has no length.")
    if compiler_activity is not None:
        yield from _compiled(compiler_activity, window, limit)
    if specializations is not None:
        yield from _first_used(specializations, spans, window, limit)


def _compiled(activity: pd.DataFrame, window: Window, limit: int) -> Iterator[Finding]:
    inside = activity[(activity["start"] >= window.start) & (activity["start"] < window.end)]
    own = inside[inside["target"]]
    if len(own) > limit:
        time = busy(*ranges(own))
        yield Finding(
            rule="pipeline-churn",
            severity=Severity.WARNING,
            message=(
                f"The shader compiler worked {len(own):,} times for the target in the steady "
                f"window, {duration(time)} in all."
            ),
            advice=_ADVICE,
            evidence=longest_rows("compiler_activity", own),
            saving=time,
        )
    elif len(inside) > limit:
        names = ", ".join(sorted(set(inside["process"].fillna("unknown").astype(str))))
        yield Finding(
            rule="pipeline-churn",
            severity=Severity.NOTE,
            message=(
                f"The shader compiler worked {len(inside):,} times in the steady window, all "
                f"under other names ({names}); whether it did so for the target, the trace does "
                "not say."
            ),
            advice="Compare with a recording of the same machine without the target.",
            evidence=longest_rows("compiler_activity", inside),
        )


def _first_used(
    made: pd.DataFrame, told: pd.DataFrame | None, window: Window, limit: int
) -> Iterator[Finding]:
    late = made[(made["time"] >= window.start) & (made["time"] < window.end)]
    if len(late) <= limit:
        return
    names = list(late["name"].astype(str))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    cost = _compiling(told, window)
    spent = "" if cost is None else f" It spent {duration(cost)} compiling."
    yield Finding(
        rule="pipeline-churn",
        severity=Severity.WARNING,
        message=(
            f"By its own count the workload first used {len(names):,} of its pipelines in the "
            f"steady window: {', '.join(names[:_NAMED])}{more}.{spent}"
        ),
        advice=_ADVICE,
        evidence=tuple(
            Evidence("specializations", int(time), int(time)) for time in late["time"][:20]
        ),
        saving=cost,
    )


def _compiling(told: pd.DataFrame | None, window: Window) -> int | None:
    """Return how long the workload says it compiled in the window; None where it says nothing."""
    if told is None:
        return None
    compiled = clip(*ranges(told[told["name"] == COMPILE]), window.start, window.end)
    return busy(*compiled) or None
