"""`pipeline-churn`: pipelines are still compiled in the steady window."""

from collections.abc import Sequence

import pandas as pd

from tracekit.analysis.idle.gaps import why_unknown
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, clip, marked_window
from tracekit.analysis.intervals import spans as ranges
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Finding, Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Device
from tracekit.analysis.upkeep import of_the_service, select_pipelines
from tracekit.analysis.work_names import reasons
from tracekit.workload import COMPILE

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
        pipelines that the workload first used there according to its own count, on a CPU as well.
        It fires above `limit` (0). Shaders of the target that the trace first saw in a steady
        window marked by the workload are named, if the trace saw other shaders before: a list that
        begins only there was written late. The possible saving is the idle time in which no work
        was submitted because of a compilation; a compilation that the device did not wait for costs
        nothing. A name in the scheme of MLX is compared with the most similar earlier one, to show
        the difference.

    Why it matters:
        A compilation stalls the step that waits for it, and the numbers of that step are those of
        the compiler. In a decode loop every pipeline should exist before the first token.

    When it abstains:
        When compiler activity was not exported and the workload does not count its pipelines; on a
        CPU, when the workload names none.
    """
    pipelines = select_pipelines(device, specializations)
    new = _find_new_shaders(shaders, phases)
    if compiler_activity is None and pipelines is None and new.empty:
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            "did the workload count its pipelines."
        )
    compiled, service = (
        _keep_above_limit(limit, rows) for rows in _split_activity(compiler_activity, loop)
    )
    new_pipelines = _keep_above_limit(limit, _select_first_used(pipelines, loop))
    new = _keep_above_limit(limit, new)
    unpaid = why_unknown(causes, Cause.COMPILE) if causes is not None else ""
    cost = None if shares is None or causes is None or unpaid else shares[Cause.COMPILE]
    if len(compiled) or len(new_pipelines):
        new_shaders = new if new_pipelines.empty else new.iloc[:0]
        yield _make_finding(compiled, new_pipelines, new_shaders, pipelines, spans, loop, cost)
        return
    if len(service):
        yield finding(
            wording="pipeline-churn-service",
            facts=(
                Fact("times", len(service)),
                Fact("window", loop.name),
                Fact("names", ", ".join(sorted(set(service["process"].astype(str))))),
            ),
            lever="compiler-service",
            evidence=longest("compiler_activity", *ranges(service)),
            severity=Severity.NOTE,
        )
    if len(new):
        names = list(new["name"].astype(str))
        yield finding(
            wording="pipeline-churn-first-seen",
            facts=(
                Fact("shaders", len(names)),
                Fact("window", loop.name),
                Fact("names", _list_names(names, ())),
            ),
            lever="compile-in-loop",
            evidence=moments("shaders", new["time"]),
            severity=Severity.NOTE,
        )


def _make_finding(
    compiled: pd.DataFrame,
    new_pipelines: pd.DataFrame,
    new_shaders: pd.DataFrame,
    pipelines: pd.DataFrame | None,
    annotations: pd.DataFrame | None,
    loop: Loop,
    cost: int | None,
) -> Finding:
    """Return one finding, because compilations and first uses concern the same pipelines."""
    earlier_names = (
        []
        if pipelines is None
        else pipelines.loc[pipelines["time"] < loop.start, "name"].astype(str)
    )
    compile_time = 0
    if annotations is not None and len(new_pipelines):
        calls = ranges(annotations[annotations["name"] == COMPILE])
        compile_time = busy(*clip(*calls, loop.start, loop.end))
    windows = (
        *longest("compiler_activity", *ranges(compiled)),
        *moments("specializations", new_pipelines["time"]),
        *moments("shaders", new_shaders["time"]),
    )
    return finding(
        wording="pipeline-churn",
        facts=(
            Fact("compilations", len(compiled)),
            Fact("compiled", busy(*ranges(compiled)), "ns"),
            Fact("compiled_share", busy(*ranges(compiled)) / loop.length, "ratio"),
            Fact("window", loop.name),
            Fact("pipelines", len(new_pipelines)),
            Fact(
                "names", _list_names(list(new_pipelines["name"].astype(str)), list(earlier_names))
            ),
            Fact("spent", compile_time, "ns"),
            Fact("shaders", len(new_shaders)),
            Fact("shader_names", _list_names(list(new_shaders["name"].astype(str)), ())),
        ),
        lever="compile-in-loop",
        evidence=windows[:_SHOWN],
        saving=cost,
    )


def _split_activity(
    activity: pd.DataFrame | None, window: Window
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the compiler's work in the window for the target, and that under its own name."""
    if activity is None:
        empty_table = pd.DataFrame({"start": [], "duration": [], "process": []})
        return empty_table, empty_table
    window_rows = window.rows(activity).sort_values("start", kind="stable")
    return window_rows[window_rows["target"]], of_the_service(window_rows)


def _keep_above_limit(limit: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows if they are more than the limit; else none of them."""
    return rows if len(rows) > limit else rows.iloc[:0]


def _select_first_used(pipelines: pd.DataFrame | None, window: Window) -> pd.DataFrame:
    """Return the pipelines that the workload first used in the window, by its own count."""
    if pipelines is None:
        return pd.DataFrame({"name": [], "time": []})
    return window.rows(pipelines, "time")


def _find_new_shaders(shaders: pd.DataFrame | None, phases: pd.DataFrame | None) -> pd.DataFrame:
    """Return the target's shaders that are new in the steady window, at their first moments.

    Empty if the list has no entry from before that window, because it may be written at any time.
    """
    window = marked_window(phases)
    if shaders is None or window is None:
        return pd.DataFrame({"name": [], "time": []})
    target_shaders = shaders[shaders["target"]].dropna(subset=["name"])
    first_moments = target_shaders.groupby("name", sort=False)["time"].min().reset_index()
    if not (first_moments["time"] < window.start).any():
        return first_moments.iloc[:0]
    return window.rows(first_moments, "time")


def _list_names(names: Sequence[str], earlier_names: Sequence[str]) -> str:
    """Return the first few names, each with its difference from the earlier ones."""
    words: list[str] = []
    for place, name in enumerate(names[:_NAMED]):
        reason_text = ", ".join(reasons(name, [*earlier_names, *names[:place]]))
        short = shorten(name)
        words.append(f"{short} ({reason_text})" if reason_text else short)
    more = len(names) - len(words)
    return ", ".join(words) + (f" and {more:,} more" if more else "")


def shorten(name: str) -> str:
    """Return a long name without its middle; compiled functions have hundreds of letters."""
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"
