"""`pipeline-churn`: pipelines are still compiled in the steady window."""

from collections.abc import Sequence

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sources import why_unknown
from tracekit.analysis.inject import Remedy, Unavailable
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
            "did the workload count its pipelines.",
            Remedy.TRACE,
        )
    compiled, service = (
        _keep_above_limit(limit, rows) for rows in _split_activity(compiler_activity, loop)
    )
    new_pipelines = _keep_above_limit(limit, _select_first_used(pipelines, loop))
    new = _keep_above_limit(limit, new)
    unpaid = ""
    if causes is not None:
        unpaid = why_unknown(causes, Cause.COMPILE)
    cost = None
    if not (shares is None or causes is None or unpaid):
        cost = shares[Cause.COMPILE]
    if len(compiled) or len(new_pipelines):
        new_shaders = new
        if not new_pipelines.empty:
            new_shaders = new.iloc[:0]
        yield _make_finding(compiled, new_pipelines, new_shaders, pipelines, spans, loop, cost)
        return
    if len(service):
        service_names = service["process"].astype(str)
        process_names = set(service_names)
        joined_names = ", ".join(sorted(process_names))
        service_count = len(service)
        facts = (
            Fact("times", service_count),
            Fact("window", loop.name),
            Fact("names", joined_names),
        )
        service_ranges = ranges(service)
        evidence = longest("compiler_activity", *service_ranges)
        yield finding(
            wording="pipeline-churn-service",
            facts=facts,
            lever="compiler-service",
            evidence=evidence,
            severity=Severity.NOTE,
        )
    if len(new):
        names = list(new["name"].astype(str))
        shader_names = _list_names(names, ())
        shader_count = len(names)
        shader_facts = (
            Fact("shaders", shader_count),
            Fact("window", loop.name),
            Fact("names", shader_names),
        )
        shader_evidence = moments("shaders", new["time"])
        yield finding(
            wording="pipeline-churn-first-seen",
            facts=shader_facts,
            lever="compile-in-loop",
            evidence=shader_evidence,
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
    earlier_names = []
    if pipelines is not None:
        is_earlier = pipelines["time"] < loop.start
        earlier_rows = pipelines.loc[is_earlier, "name"]
        earlier_names = earlier_rows.astype(str)
    compile_time = 0
    if annotations is not None and len(new_pipelines):
        is_compile = annotations["name"] == COMPILE
        compile_rows = annotations[is_compile]
        calls = ranges(compile_rows)
        clipped_calls = clip(*calls, loop.start, loop.end)
        compile_time = busy(*clipped_calls)
    compiled_ranges = ranges(compiled)
    compiler_evidence = longest("compiler_activity", *compiled_ranges)
    pipeline_evidence = moments("specializations", new_pipelines["time"])
    shader_moments = moments("shaders", new_shaders["time"])
    windows = (
        *compiler_evidence,
        *pipeline_evidence,
        *shader_moments,
    )
    compiled_time = busy(*ranges(compiled))
    compiled_share = compiled_time / loop.length
    pipeline_names = new_pipelines["name"].astype(str)
    new_names = list(pipeline_names)
    earlier_texts = list(earlier_names)
    joined_names = _list_names(new_names, earlier_texts)
    shader_texts = new_shaders["name"].astype(str)
    new_shader_names = list(shader_texts)
    shader_names = _list_names(new_shader_names, ())
    compilation_count = len(compiled)
    pipeline_count = len(new_pipelines)
    shader_count = len(new_shaders)
    facts = (
        Fact("compilations", compilation_count),
        Fact("compiled", compiled_time, "ns"),
        Fact("compiled_share", compiled_share, "ratio"),
        Fact("window", loop.name),
        Fact("pipelines", pipeline_count),
        Fact("names", joined_names),
        Fact("spent", compile_time, "ns"),
        Fact("shaders", shader_count),
        Fact("shader_names", shader_names),
    )
    evidence = windows[:_SHOWN]
    return finding(
        wording="pipeline-churn",
        facts=facts,
        lever="compile-in-loop",
        evidence=evidence,
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
    target_rows = window_rows[window_rows["target"]]
    return target_rows, of_the_service(window_rows)


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
    all_target_shaders = shaders[shaders["target"]]
    target_shaders = all_target_shaders.dropna(subset=["name"])
    times_by_name = target_shaders.groupby("name", sort=False)["time"]
    first_moments = times_by_name.min().reset_index()
    is_before = first_moments["time"] < window.start
    if not is_before.any():
        return first_moments.iloc[:0]
    return window.rows(first_moments, "time")


def _list_names(names: Sequence[str], earlier_names: Sequence[str]) -> str:
    """Return the first few names, each with its difference from the earlier ones."""
    words: list[str] = []
    for place, name in enumerate(names[:_NAMED]):
        known_names = [*earlier_names, *names[:place]]
        name_reasons = reasons(name, known_names)
        reason_text = ", ".join(name_reasons)
        short = shorten(name)
        words.append(f"{short} ({reason_text})" if reason_text else short)
    more = len(names) - len(words)
    return ", ".join(words) + (f" and {more:,} more" if more else "")


def shorten(name: str) -> str:
    """Return a long name without its middle; compiled functions have hundreds of letters."""
    half = _LONGEST // 2
    if len(name) <= _LONGEST:
        return name
    beginning = name[:half]
    ending = name[-half:]
    return f"{beginning}…{ending}"
