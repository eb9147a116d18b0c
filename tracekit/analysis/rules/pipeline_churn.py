"""`pipeline-churn`: pipelines are still compiled in the steady window."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sources import why_unknown
from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import FOREVER, Window, busy, clip, in_order, marked_window
from tracekit.analysis.intervals import spans as ranges
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Finding, Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Device, own_rows
from tracekit.analysis.upkeep import of_the_service, select_pipelines
from tracekit.analysis.work_names import reasons
from tracekit.workload import COMPILE

_NAMED = 3  # pipelines or shaders
_LONGEST = 48  # letters of a name
_SHOWN = 20  # windows of the evidence


def pipeline_churn(
    device: Device,
    loop: Loop,
    compiler_activity: pd.DataFrame | None,
    specializations: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    shaders: pd.DataFrame | None,
    idle_by_cause: dict[Cause, int] | None,
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
    first_seen = _find_new_shaders(shaders, phases)
    if compiler_activity is None and pipelines is None and first_seen.empty:
        raise Unavailable(
            "neither compiler activity (graphics-compiler-activity-intervals) was exported nor "
            "did the workload count its pipelines.",
            Remedy.TRACE,
        )
    for_target, for_unknown = _split_activity(compiler_activity, loop)
    compiled = _keep_above_limit(limit, for_target)
    compiled_for_unknown = _keep_above_limit(limit, for_unknown)
    new_pipelines = _keep_above_limit(limit, _select_first_used(pipelines, loop))
    new_shaders = _keep_above_limit(limit, first_seen)
    if len(compiled) or len(new_pipelines):
        if len(new_pipelines):
            new_shaders = new_shaders.iloc[:0]  # the same work, by other names
        churn = _Churn(compiled, new_pipelines, new_shaders)
        calls = _measure_compile_calls(spans, loop) if len(new_pipelines) else 0
        cost = _find_cost(idle_by_cause, causes)
        yield _make_finding(churn, _list_earlier_names(pipelines, loop), calls, loop, cost)
        return
    if len(compiled_for_unknown):
        yield _make_service_finding(compiled_for_unknown, loop)
    if len(new_shaders):
        yield _make_shader_finding(new_shaders, loop)


@dataclass(frozen=True)
class _Churn:
    """Work of the compiler, first uses of pipelines, and first sights of shaders in the window."""

    compiled: pd.DataFrame
    pipelines: pd.DataFrame
    shaders: pd.DataFrame


def _find_cost(idle_by_cause: dict[Cause, int] | None, causes: pd.DataFrame | None) -> int | None:
    """Return the idle time by compilations, in ns; None if it is not known."""
    if idle_by_cause is None or causes is None or why_unknown(causes, Cause.COMPILE):
        return None
    return idle_by_cause[Cause.COMPILE]


def _list_earlier_names(pipelines: pd.DataFrame | None, loop: Loop) -> list[str]:
    """Return the pipelines that the workload had used before the window."""
    if pipelines is None:
        return []
    is_earlier = pipelines["time"] < loop.start
    return list(pipelines.loc[is_earlier, "name"].astype(str))


def _measure_compile_calls(annotations: pd.DataFrame | None, loop: Loop) -> int:
    """Return how long the workload was in its spans of compilation in the window, in ns."""
    if annotations is None:
        return 0
    calls = annotations[annotations["name"] == COMPILE]
    return busy(*clip(*ranges(calls), loop.start, loop.end))


def _make_finding(
    churn: _Churn, earlier_names: Sequence[str], compile_calls: int, loop: Loop, cost: int | None
) -> Finding:
    """Return one finding, because compilations and first uses concern the same pipelines.

    `earlier_names` are the pipelines of before, to compare the new ones with; `compile_calls` is
    the time in ns that the workload itself reports for compilations.
    """
    compiled_time = busy(*ranges(churn.compiled))
    facts = (
        Fact("compilations", len(churn.compiled)),
        Fact("compiled", compiled_time, "ns"),
        Fact("compiled_share", compiled_time / loop.length, "ratio"),
        Fact("window", loop.name),
        Fact("pipelines", len(churn.pipelines)),
        Fact("names", _list_names(_names_of(churn.pipelines), earlier_names)),
        Fact("spent", compile_calls, "ns"),
        Fact("shaders", len(churn.shaders)),
        Fact("shader_names", _list_names(_names_of(churn.shaders), ())),
    )
    evidence = (
        *longest("compiler_activity", *ranges(churn.compiled)),
        *moments("specializations", churn.pipelines["time"]),
        *moments("shaders", churn.shaders["time"]),
    )
    return finding(
        wording="pipeline-churn",
        facts=facts,
        lever="compile-in-loop",
        evidence=evidence[:_SHOWN],
        saving=cost,
    )


def _make_service_finding(compiled: pd.DataFrame, loop: Loop) -> Finding:
    """Return the finding of a compiler that worked under its own name, for whomever."""
    processes = sorted(set(compiled["process"].astype(str)))
    facts = (
        Fact("times", len(compiled)),
        Fact("window", loop.name),
        Fact("names", ", ".join(processes)),
    )
    return finding(
        wording="pipeline-churn-service",
        facts=facts,
        lever="compiler-service",
        evidence=longest("compiler_activity", *ranges(compiled)),
        severity=Severity.NOTE,
    )


def _make_shader_finding(new_shaders: pd.DataFrame, loop: Loop) -> Finding:
    """Return the finding of shaders that only the list of shaders shows as new."""
    facts = (
        Fact("shaders", len(new_shaders)),
        Fact("window", loop.name),
        Fact("names", _list_names(_names_of(new_shaders), ())),
    )
    return finding(
        wording="pipeline-churn-first-seen",
        facts=facts,
        lever="compile-in-loop",
        evidence=moments("shaders", new_shaders["time"]),
        severity=Severity.NOTE,
    )


def _names_of(rows: pd.DataFrame) -> list[str]:
    return list(rows["name"].astype(str))


def _split_activity(
    activity: pd.DataFrame | None, window: Window
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the compiler's work in the window for the target, and that under its own name."""
    if activity is None:
        empty_table = pd.DataFrame({"start": [], "duration": [], "process": []})
        return empty_table, empty_table
    window_rows = in_order(window.rows(activity))
    return own_rows(window_rows), of_the_service(window_rows)


def _keep_above_limit(limit: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows if they are more than the limit; else none of them."""
    if len(rows) > limit:
        return rows
    return rows.iloc[:0]


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
    target_shaders = own_rows(shaders)
    codes, names = pd.factorize(target_shaders["name"])
    is_named = codes >= 0
    times = target_shaders["time"].to_numpy(np.int64)
    first_times = np.full(len(names), FOREVER)
    np.minimum.at(first_times, codes[is_named], times[is_named])
    first_moments = pd.DataFrame({"name": names, "time": first_times})
    if not (first_times < window.start).any():
        return first_moments.iloc[:0]
    return window.rows(first_moments, "time")


def _list_names(names: Sequence[str], earlier_names: Sequence[str]) -> str:
    """Return the first few names, each with its difference from the earlier ones."""
    words: list[str] = []
    for place, name in enumerate(names[:_NAMED]):
        differences = reasons(name, [*earlier_names, *names[:place]])
        word = shorten(name)
        if differences:
            word = f"{word} ({', '.join(differences)})"
        words.append(word)
    listed = ", ".join(words)
    hidden_count = len(names) - len(words)
    if hidden_count:
        return f"{listed} and {hidden_count:,} more"
    return listed


def shorten(name: str) -> str:
    """Return a long name without its middle; compiled functions have hundreds of letters."""
    if len(name) <= _LONGEST:
        return name
    half = _LONGEST // 2
    return f"{name[:half]}…{name[-half:]}"
