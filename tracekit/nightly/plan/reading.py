"""From a file to the plan of a night; all mistakes in it are reported at once, with their lines.

A key's type, in `plan.py`, says which values it takes. Conditions on several keys of a capture are
checked once each key is right by itself.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracekit.analysis import METRICS, RULES, Better
from tracekit.base import InputError, UsageError, find_similar, paired, suggest_name, verdicts
from tracekit.machine import StateLimits
from tracekit.nightly.history.night import ANCHORED
from tracekit.nightly.plan.document import MINIMAL, SHARED, Document, Route, open_document
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.nightly.plan.plan import (
    Capture,
    Gated,
    NightPlan,
    Reference,
    add_digest,
    allow_imports,
)
from tracekit.record import patterns
from tracekit.workload import find, plan

_COMMIT_KEYS = ("revision", "merge_base", "previous_night")


def history_of(text: str, folder: Path) -> str:
    """Return the URL of a history; the file of an SQLite one is relative to the plan's folder."""
    # Every command imports plans; this import takes as long as half of pandas.
    from tracekit.nightly.history.store.place import url_of  # noqa: PLC0415

    url = url_of(text)
    if url.get_backend_name() == "sqlite":
        url = url.set(database=str(folder / str(url.database)))
    return url.render_as_string(hide_password=False)


# Metrics that turns measure without a trace; turns measure a workload's own results as well.
UNTRACED = frozenset({"step_p50", "step_p99", "step_rate", "tokens_per_second"})
FOLLOWED = (
    "step_p50",
    "step_p99",
    "tokens_per_second",
    "gpu_time_per_token",
    "gpu_idle_ratio",
    "start_latency_p50",
    "start_latency_p99",
    "idle_ratio",
    "idle_host",
    "idle_late_start",
    "idle_driver",
    "idle_compile",
    "idle_way_back",
    "idle_start_latency",
    "idle_other_process",
    "idle_powering_up",
    "idle_unattributed",
    "other_process_share",
    "steady_compiles",
    "encoders_per_token",
    "intervals_per_token",
    "command_buffers_per_token",
    "readbacks_per_step",
    "memory_peak",
)


def find_default_threshold(
    metric: str, scale: verdicts.Scale | None = None
) -> tuple[verdicts.Scale, float]:
    """Return the scale and the threshold of a metric if the plan states none.

    Shares differ by points, whole counts by one; others by a ratio, as a workload's own results.
    """
    is_share = metric in METRICS and METRICS[metric].unit == "ratio"
    if scale is None:
        scale = "difference" if is_share or is_count(metric) else "ratio"
    if scale == "ratio":
        return scale, 0.03
    if is_share:
        return scale, 0.02
    return scale, 1.0


def add_usual_metrics(
    named_metrics: Sequence[Gated], dropped: frozenset[str], capture: Capture
) -> list[Gated]:
    """Return all metrics of a capture: those that its plan names, then the usual ones.

    If a plan names none, `step_p50` decides. Metrics that need a trace are left out if nothing is
    traced, and so are those that the plan drops by `false`.
    """
    step_decides = not named_metrics and capture.reference is not None
    taken_names = {metric.metric for metric in named_metrics} | dropped
    metrics = list(named_metrics)
    for name in FOLLOWED:
        if name in taken_names:
            continue
        if capture.traced or name in UNTRACED:
            scale, threshold = find_default_threshold(name)
            gate = step_decides and name == "step_p50"
            metrics.append(Gated(name, threshold, scale, gate=gate))
    return metrics


def is_count(metric: str) -> bool:
    """Tell whether a metric is a whole number, so that a few traces can show a difference."""
    definition = METRICS.get(metric)
    if definition is None:
        return False
    return definition.unit in {"count", "level"} and "_per_" not in metric


def from_traces(metric: str) -> bool:
    """Tell whether a metric needs a trace."""
    return metric in METRICS and metric not in UNTRACED


def read_plan(path: Path | None = None, *, work: bool = True) -> NightPlan:
    """Read the plan of a night, from a TOML file with a table `[nightly]`.

    In a `pyproject.toml` it is `[tool.tracekit.nightly]`; None is the nearest file, from the
    current folder upwards. Without `work`, workloads are not loaded, so none of their files run.
    One UsageError names all mistakes, each with its line.
    """
    document = open_document(path)
    mistakes = Mistakes(document)
    root = document.root
    folder = document.file.parent
    night_table = _night_of(document, mistakes)
    values = mistakes.read(NightPlan, night_table, root)
    state = values.pop("state", {})
    defaults = values.pop("defaults", {})
    if mistakes.is_table((*root, "machine-state"), state):
        limits = mistakes.read(StateLimits, state, (*root, "machine-state"))
        values["state"] = StateLimits(**limits)
    if mistakes.is_table((*root, "defaults"), defaults):
        captures = values.get("captures", [])
        read_captures = _captures(captures, defaults, document, mistakes, work=work)
        values["captures"] = tuple(read_captures)
    default_output = Path("bench") / "nights"
    output = folder / values.get("output", default_output)
    values["output"] = output
    if "history" in values:
        try:
            values["history"] = history_of(values["history"], folder)
        except UsageError as error:
            mistakes.add((*root, "history"), f"is wrong: {error.message}", error.hint)
    else:
        values["history"] = f"sqlite:///{output / 'history.db'}"
    name = re.sub(r"[^\w.+-]+", "-", folder.name)
    safe_name = name.strip("-.+")[:64]
    values.setdefault("name", safe_name or "nightly")
    mistakes.end()
    return add_digest(NightPlan(file=document.file, **values))


def _night_of(document: Document, mistakes: Mistakes) -> dict[str, Any]:
    """Return the table of the night; a file of our own must not hold others."""
    if document.file.name != SHARED:
        for key in document.table:
            if key not in document.root:
                hint = suggest_name(key, document.root, otherwise="A plan is below [nightly].")
                mistakes.add((key,), "is not a table of a plan.", hint)
    table: Any = document.table
    for place, key in enumerate(document.root, 1):
        if key not in table:
            words = f"there is no table [{'.'.join(document.root)}]."
            mistakes.add((), words, f"The least is:\n{MINIMAL}")
        elif mistakes.is_table(document.root[:place], table[key]):
            table = table[key]
            continue
        mistakes.end()
    return table


def _captures(
    capture_tables: Any,
    defaults: dict[str, Any],
    document: Document,
    mistakes: Mistakes,
    *,
    work: bool,
) -> list[Capture]:
    root = document.root
    if not isinstance(capture_tables, list) or not capture_tables:
        hint = f"Write [[nightly.capture]], with two brackets. The least is:\n{MINIMAL}"
        mistakes.add((*root, "capture"), "must be an array of tables, one for each capture.", hint)
        return []
    if "name" in defaults:
        mistakes.add((*root, "defaults", "name"), "cannot be the same for all captures.")
        return []
    default_values = mistakes.read(Capture, defaults, (*root, "defaults"))
    captures: list[Capture] = []
    earlier_names: set[str] = set()
    for number, capture_table in enumerate(capture_tables):
        route = (*root, "capture", number)
        if not mistakes.is_table(route, capture_table):
            continue
        values = mistakes.read(Capture, capture_table, route)
        right = len(values) == len(capture_table) and len(default_values) == len(defaults)
        reading = _Reading(route, mistakes, document.file.parent)
        capture_values = _with_defaults(values, default_values)
        capture = reading.capture(capture_values, right=right, work=work)
        if capture is None:
            continue
        if capture.name.endswith(ANCHORED):
            words = f"must not end in {ANCHORED}, which nights add for anchors."
            mistakes.add((*route, "name"), words)
        name = capture.name.casefold()  # no disk must take the folders of two captures for one
        if name in earlier_names:
            mistakes.add((*route, "name"), f"is a second capture named {capture.name!r}.")
        earlier_names.add(name)
        captures.append(capture)
    return captures


def _with_defaults(values: dict[str, Any], default_values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a capture over the defaults; parameters and metrics add up."""
    merged = default_values | values
    for key in ("parameters", "metrics"):
        table = values.get(key)
        default_table = default_values.get(key)
        if isinstance(table, dict) and isinstance(default_table, dict):
            merged[key] = default_table | table
    return merged


class _Reading:
    """One capture, whose table lies at `route`."""

    def __init__(self, route: Route, mistakes: Mistakes, folder: Path) -> None:
        self._route = route
        self._mistakes = mistakes
        self._folder = folder

    def capture(self, values: dict[str, Any], *, right: bool, work: bool) -> Capture | None:
        """Return the capture; None if mistakes leave nothing to check."""
        if "program" in values:
            right &= self._take_program(values)
        if "workload" not in values:
            if right:
                hint = 'Write workload = "paged"; `tracekit list workloads` lists them.'
                self._refuse((), "has no workload.", hint)
            right = False
        reference_table = values.pop("reference", False)
        metrics = values.pop("metrics", {})
        reference = None
        if reference_table is not False:
            reference = self._reference(reference_table)
            right &= reference is not None
        right &= self._mistakes.is_table(self._extend_route("metrics"), metrics)
        if not right:
            return None
        if "workloads" in values:
            values["workloads"] = self._folder / values["workloads"]
        if "program" in values:
            values.setdefault("name", Path(values["program"][0]).name)
        else:
            values.setdefault("name", values["workload"])
        capture = Capture(reference=reference, **values)
        if work and not capture.program:
            self._check_work(capture)
        if not capture.program and reference is not None and reference.program:
            keys = ("reference", "program")
            self._refuse(keys, "is for a capture of a program.", "Give the capture a program too.")
        self._check_keys(capture)
        return replace(capture, metrics=tuple(self._metrics(metrics, capture)))

    def _take_program(self, values: dict[str, Any]) -> bool:
        """Make a program the work; tell whether its keys are right."""
        right = True
        for key in ("workload", "parameters"):
            if key in values:
                words = "has no meaning for a program."
                self._refuse((key,), words, "Leave it out, or leave out program.")
                right = False
        reference_table = values.get("reference")
        if isinstance(reference_table, dict):
            for key in ("workload", "parameters", "python"):
                if key in reference_table:
                    words = "has no meaning for a program."
                    self._refuse(("reference", key), words, "Give the other command as program.")
                    right = False
        for words in values.get("read", ()):
            try:
                patterns.parse_pattern(words)
            except UsageError as error:
                self._refuse(("read",), f"is wrong: {error.message}", error.hint)
                right = False
        values |= {"workload": plan.ANY_PROGRAM, "traced": 0, "parity": "off"}
        return right

    def _extend_route(self, *keys: str) -> Route:
        return (*self._route, *keys)

    def _refuse(self, keys: Sequence[str], words: str, hint: str = "") -> None:
        self._mistakes.add(self._extend_route(*keys), words, hint)

    def _reference(self, table: Any) -> Reference | None:
        route = self._extend_route("reference")
        if not self._mistakes.is_table(route, table):
            return None
        values = self._mistakes.read(Reference, table, route)
        if len(values) < len(table):
            return None
        commit_keys = [key for key in _COMMIT_KEYS if values.get(key)]
        for key in commit_keys[1:]:
            words = f"names a commit, and {commit_keys[0].replace('_', '-')} names one as well."
            keys = ("reference", key.replace("_", "-"))
            self._refuse(keys, words, "Leave one of them out.")
        if not (commit_keys or {"workload", "parameters", "python", "program"} & values.keys()):
            hint = "It differs by revision, merge-base, python, workload, parameters or program."
            self._refuse(("reference",), "does not say how it differs.", hint)
        if not commit_keys:
            for key in sorted({"setup", "pythonpath", "anchor_every"} & values.keys()):
                keys = ("reference", key.replace("_", "-"))
                self._refuse(keys, "is for a commit's worktree, and none is named.")
            if "python" in values:
                values["python"] = self._folder / values["python"]
        merge_base = values.get("merge_base", "")
        revisions = (values.get("revision", ""), merge_base)
        if any(revision.startswith("-") for revision in revisions):
            self._refuse(("reference",), "must name a revision, not an option.")
        return Reference(**values)

    def _check_work(self, capture: Capture) -> None:
        """Load the workloads of both sides and bind their parameters.

        A file that cannot be loaded is not a mistake of the plan: its capture fails, others run.
        """
        self._check_side((), capture.workload, capture.parameters, capture)
        reference = capture.reference
        if reference is not None and not reference.same_work:
            workload = reference.workload or capture.workload
            self._check_side(("reference",), workload, reference.parameters, capture)

    def _check_side(
        self, keys: tuple[str, ...], name: str, parameters: dict[str, Any], capture: Capture
    ) -> None:
        """Load the workload of a side, whose table lies at `keys`, and bind its parameters."""
        if name == plan.ANY_PROGRAM:
            words = "is any program, which cannot be measured in turns."
            self._refuse((*keys, "workload"), words)
            return
        part = "workload"
        try:
            with allow_imports(capture.reference, self._folder), suppress(InputError):
                workload = find(name, capture.workloads)
                if parameters:
                    part = "parameters"
                workload.bind(parameters)
        except UsageError as error:
            self._refuse((*keys, part), f"is not fit: {error.message}", error.hint)

    def _check_keys(self, capture: Capture) -> None:
        for name in capture.fail_on:
            if name not in RULES:
                hint = suggest_name(name, RULES, otherwise="`tracekit list rules` lists them.")
                self._refuse(("fail-on",), f"names no rule: {name!r}.", hint)
        if capture.fail_on and not capture.traced:
            self._refuse(("fail-on",), "needs a trace, and traced is 0.", _TRACED)
        are_options = [words[0].startswith("-") for words in capture.checks]
        if any(are_options):
            hint = 'Write [["python", "-m", "pytest"]], or ["python -m pytest"].'
            self._refuse(("checks",), "must be an array of commands.", hint)

    def _metrics(self, metric_table: dict[str, Any], capture: Capture) -> list[Gated]:
        """Return all metrics of a capture, those first that its plan names."""
        dropped: set[str] = set()
        metrics: list[Gated] = []
        for name, value in metric_table.items():
            if value is False:
                dropped.add(name)
                continue
            gated = self._metric(name, value, capture)
            if gated is not None:
                metrics.append(gated)
        if not capture.program:
            metrics = add_usual_metrics(metrics, frozenset(dropped), capture)
        self._check_pairs(metrics, capture)
        return metrics

    def _check_pairs(self, metrics: Sequence[Gated], capture: Capture) -> None:
        """Check that there are enough pairs for the metrics that decide."""
        minimum_pairs = paired.least_pairs()
        if capture.pairs >= minimum_pairs:
            return
        words = (
            f"must be at least {minimum_pairs} if a metric decides: fewer have no 95 % interval."
        )
        if capture.program and capture.reference:
            self._refuse(("pairs",), words, "Measure more pairs.")
        gated_from_turns = [metric.gate and not from_traces(metric.metric) for metric in metrics]
        if any(gated_from_turns):
            self._refuse(("pairs",), words, "Measure more pairs, or let gate be false.")

    def _metric(self, name: str, value: Any, capture: Capture) -> Gated | None:
        if value is True:
            table = {}
        elif isinstance(value, dict):
            table = value
        else:
            table = {"threshold": value}
        route = self._extend_route("metrics", name)
        values = self._mistakes.read(Gated, table, route)
        if len(values) < len(table):
            return None
        scale, threshold = find_default_threshold(name, values.get("scale"))
        values["scale"] = scale
        values.setdefault("threshold", threshold)
        values.setdefault("gate", capture.reference is not None)
        gated = Gated(name, **values)
        for words, hint in _unfit(gated, capture):
            self._refuse(("metrics", name), words, hint)
        return gated


_TRACED = "Let traced be 1 or more."
_LARGEST_RATIO = 10
_NEAR = 0.8  # likeness as of `find_similar`, so that a workload's own results do not count as slips


def _unfit(gated: Gated, capture: Capture) -> list[tuple[str, str]]:
    """Return the mistakes by which a metric cannot be followed, or decide, each with a hint."""
    name = gated.metric
    problems: list[tuple[str, str]] = []
    if name not in METRICS:
        near = find_similar(name, METRICS, most=1, likeness=_NEAR)
        if near:
            problems.append(("is not a metric.", f"Did you mean {near[0]}?"))
    if gated.scale == "ratio" and gated.threshold >= _LARGEST_RATIO:
        words = f"must be below {_LARGEST_RATIO} for a ratio; it is {gated.threshold:g}."
        problems.append((words, "0.03 is 3 %."))
    problems += _lacking_traces(gated, capture)
    if gated.gate and capture.reference is None:
        hint = "Add [nightly.capture.reference], or let gate be false."
        problems.append(("cannot decide without a reference; it can be followed.", hint))
    if gated.gate and not gated.better and _has_no_direction(name):
        hint = 'Say better = "lower" or "higher", or let gate be false.'
        problems.append(("cannot decide: neither direction is good news by itself.", hint))
    return problems


def _lacking_traces(gated: Gated, capture: Capture) -> list[tuple[str, str]]:
    """Return the mistake that a metric from traces has too few of them, with a hint."""
    if not from_traces(gated.metric):
        return []
    if not capture.traced:
        return [("comes from traces, and traced is 0.", _TRACED)]
    minimum_pairs = paired.least_pairs()
    is_exact = gated.scale == "difference" and is_count(gated.metric)
    if not gated.gate or is_exact or capture.traced >= minimum_pairs:
        return []
    words = f"cannot decide by fewer than {minimum_pairs} traces: they have no 95 % interval."
    return [(words, f"Let traced be {minimum_pairs}, or let gate be false.")]


def _has_no_direction(metric: str) -> bool:
    """Tell whether neither direction of a metric is good news by itself."""
    return metric in METRICS and METRICS[metric].better is Better.NEITHER
