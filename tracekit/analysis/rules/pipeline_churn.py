"""`pipeline-churn`: pipelines are still compiled in the steady window."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from tracekit.analysis.idle.gaps import why_unknown
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, clip, marked_window
from tracekit.analysis.intervals import spans as ranges
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Device
from tracekit.analysis.upkeep import counted, of_the_service
from tracekit.analysis.work_names import reasons
from tracekit.base import duration
from tracekit.workload import COMPILE

_ADVICE = (
    "Make every pipeline before the loop: run each shape, dtype and template value once while "
    "warming up, and keep them the same afterwards. In MLX a kernel is made again for each new "
    "set of template values, input dtypes and input sizes below 8 elements (pad short inputs), "
    "and for each change of its source; a function of mx.compile for each new constant in it."
)
_NAMED = 3
_LONGEST = 48  # letters of a name
_SHOWN = 20


def pipeline_churn(
    device: Device,
    loop: Loop,
    compiler_activity: pd.DataFrame | None,
    specializations: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    shaders: pd.DataFrame | None,
    shares: dict[Cause, int] | None,
    causes: pd.DataFrame | None,
    phases: pd.DataFrame | None,
    *,
    limit: int = 0,
) -> Findings:
    """Pipelines are still compiled after warm-up.

    What it looks for:
        Activity of the shader compiler for the target that starts in the steady window, and
        pipelines that the workload itself first used there, by its own count, on a CPU as
        well. It fires above `limit` (0). Shaders of the target that the trace first saw in a
        steady window that the workload marked are named, if it saw others before: a list that
        begins only there was written late. What could be won is the idle time in which nothing
        was handed over because of a compilation; what the device did not wait for costs nothing.
        A name of MLX's scheme is compared with the nearest earlier one, to say what changed.

    Why it matters:
        A compilation stalls the step that waits for it, and the numbers of that step are the
        compiler's. In a decode loop every pipeline should exist before the first token.

    When it abstains:
        When compiler activity was not exported and the workload does not count its pipelines;
        on a CPU, when the workload names none.
    """
    made = counted(device, specializations)
    new = _new_shaders(shaders, phases)
    if compiler_activity is None and made is None and new.empty:
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            "did the workload count its pipelines."
        )
    named = [*_first_used(made, spans, loop, limit)] or [*_first_seen(new, limit)]
    found = [*_compiled(compiler_activity, loop, limit), *named]
    warnings = [part for part in found if part.severity is Severity.WARNING]
    if not warnings:
        yield from found
        return
    cost = None
    if shares is not None and causes is not None and not why_unknown(causes, Cause.COMPILE):
        cost = shares[Cause.COMPILE]
    yield replace(  # all of them are about the same compilations
        warnings[0],
        message=" ".join(part.message for part in found),
        evidence=tuple(window for part in found for window in part.evidence)[:_SHOWN],
        saving=cost,
    )


def _compiled(activity: pd.DataFrame | None, window: Window, limit: int) -> Findings:
    if activity is None:
        return
    inside = window.rows(activity).sort_values("start", kind="stable")
    own = inside[inside["target"]]
    service = of_the_service(inside)
    if len(own) > limit:
        yield finding(
            message=(
                f"The shader compiler worked {len(own):,} times for the target in the steady "
                f"window, {duration(busy(*ranges(own)))} in all."
            ),
            advice=_ADVICE,
            evidence=longest("compiler_activity", *ranges(own)),
        )
    elif len(service) > limit:
        names = ", ".join(sorted(set(service["process"].astype(str))))
        yield finding(
            severity=Severity.NOTE,
            message=(
                f"The shader compiler worked {len(service):,} times in the steady window, all "
                f"under its own name ({names}); whether it did so for the target, the trace does "
                "not say."
            ),
            advice="Compare with a recording of the same machine without the target.",
            evidence=longest("compiler_activity", *ranges(service)),
        )


def _first_used(
    made: pd.DataFrame | None, annotations: pd.DataFrame | None, window: Window, limit: int
) -> Findings:
    if made is None:
        return
    late = window.rows(made, "time")
    if len(late) <= limit:
        return
    before = list(made.loc[made["time"] < window.start, "name"].astype(str))
    names = list(late["name"].astype(str))
    spent = ""
    if annotations is not None:
        compiled = ranges(annotations[annotations["name"] == COMPILE])
        cost = busy(*clip(*compiled, window.start, window.end))
        spent = f" It spent {duration(cost)} compiling." if cost else ""
    yield finding(
        message=(
            f"By its own count the workload first used {len(names):,} of its pipelines in the "
            f"steady window: {_listed(names, before)}.{spent}"
        ),
        advice=_ADVICE,
        evidence=moments("specializations", late["time"]),
    )


def _first_seen(new: pd.DataFrame, limit: int) -> Findings:
    if len(new) <= limit:
        return
    names = list(new["name"].astype(str))
    yield finding(
        severity=Severity.NOTE,
        message=(
            f"The trace first saw {len(names):,} of the target's shaders in the steady window: "
            f"{_listed(names, ())}."
        ),
        advice="If they are needed in each step, use them once while warming up.",
        evidence=moments("shaders", new["time"]),
    )


def _new_shaders(shaders: pd.DataFrame | None, phases: pd.DataFrame | None) -> pd.DataFrame:
    """Return the target's shaders that are new in the steady window, at their first moments.

    None where the list has nothing from before that window: it may be written at any time.
    """
    window = marked_window(phases)
    if shaders is None or window is None:
        return pd.DataFrame({"name": [], "time": []})
    own = shaders[shaders["target"]].dropna(subset=["name"])
    first = own.groupby("name", sort=False)["time"].min().reset_index()
    if not (first["time"] < window.start).any():
        return first.iloc[:0]
    return window.rows(first, "time")


def _listed(names: Sequence[str], before: Sequence[str]) -> str:
    """Name the first few, each with what sets it off from those before it."""
    words: list[str] = []
    for place, name in enumerate(names[:_NAMED]):
        why = ", ".join(reasons(name, [*before, *names[:place]]))
        short = shorten(name)
        words.append(f"{short} ({why})" if why else short)
    more = len(names) - len(words)
    return ", ".join(words) + (f" and {more:,} more" if more else "")


def shorten(name: str) -> str:
    """Return a long name with its middle left out: compiled functions have hundreds of letters."""
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"
