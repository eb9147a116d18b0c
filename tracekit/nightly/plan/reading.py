"""From a file to the plan of a night; all mistakes in it are reported at once, with their lines.

A key's type, in `plan.py`, says what it takes. What several keys say together is looked at where
each of a capture's is right by itself.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from tracekit.analysis import METRICS, RULES, Better
from tracekit.base import InputError, UsageError, least_pairs, suggest_name
from tracekit.compare import Scale
from tracekit.machine import StateLimits
from tracekit.nightly.history.night import ANCHORED
from tracekit.nightly.plan.document import MINIMAL, SHARED, Document, Route, open_document
from tracekit.nightly.plan.plan import (
    STATE,
    Capture,
    Gated,
    NightPlan,
    Reference,
    add_digest,
    allow_imports,
    convert_value,
)
from tracekit.record import parse_pattern
from tracekit.workload import ANY_PROGRAM, find

# Keys that are not their field's name with dashes, and those of earlier versions.
_NAMES = {"captures": "capture", "state": "machine-state", "templates": "template"}
_RENAMED = {"canary": "calibration"}
_MADE = {"file", "digest", "metric"}
_TABLES = {"captures", "state", "defaults", "reference", "metrics"}


def keys_of(noun: type[Any]) -> dict[str, str]:
    """Return the fields of a table by their keys."""
    names = [field.name for field in fields(noun) if field.name not in _MADE]
    names += ["defaults"] if noun is NightPlan else []
    return {_NAMES.get(name, name.replace("_", "-")): name for name in names}


class Mistakes:
    """The mistakes found so far in a file: line, what is wrong, and what to do."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found: dict[tuple[int, str], str] = {}

    def add(self, route: Route, words: str, hint: str = "") -> None:
        """Add a mistake of what stands at `route`; `words` follow the key's name."""
        name = ".".join(key for key in route if isinstance(key, str))
        self._found.setdefault((self._document.line(route), f"{name} {words}".strip()), hint)

    def is_table(self, route: Route, value: Any) -> bool:
        """Tell whether a value is a table; if not, that is a mistake."""
        if not isinstance(value, dict):
            self.add(route, f"must be a table, not {value!r}.")
        return isinstance(value, dict)

    def read(self, noun: type[Any], table: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """Return the values of a table by field, those of tables in it as they are.

        What is a mistake is left out.
        """
        kinds = STATE if noun is StateLimits else get_type_hints(noun, include_extras=True)
        fields_by_key, values = keys_of(noun), dict[str, Any]()
        for written_key, value in table.items():
            key = _RENAMED.get(written_key, written_key)
            if (field := fields_by_key.get(key)) is None:
                self.add(
                    (*route, written_key),
                    "is no key here.",
                    suggest_name(written_key, list(fields_by_key)),
                )
            elif field in _TABLES:
                values[field] = value
            elif value is False and noun is StateLimits and kinds[field] is not bool:
                values[field] = None
            else:
                try:
                    values[field] = convert_value(value, kinds[field])
                except ValueError as error:
                    self.add((*route, written_key), f"is wrong: {error}")
        return values

    def end(self) -> None:
        """Raise UsageError that names all mistakes, one a line, or do nothing without one."""
        mistakes = [
            (f"{self._document.display_name}:{line}: {words}", hint)
            for (line, words), hint in sorted(self._found.items())
        ]
        if len(mistakes) == 1:
            raise UsageError(mistakes[0][0], hint=mistakes[0][1])
        if mistakes:
            lines = [f"  {words} {hint}".rstrip() for words, hint in mistakes]
            raise UsageError(
                "\n".join([f"{self._document.display_name} has {len(mistakes)} mistakes:", *lines]),
                hint="`tracekit nightly --init` shows a plan with all that is usual.",
            )


def history_of(text: str, folder: Path) -> str:
    """Return the URL of a history; a file of SQLite counts from a folder, the plan's."""
    # Every command knows plans; loading this takes it as long as half of pandas.
    from tracekit.nightly.history.store.place import place  # noqa: PLC0415

    url = place(text)
    if url.get_backend_name() == "sqlite":
        url = url.set(database=str(folder / str(url.database)))
    return url.render_as_string(hide_password=False)


# What turns tell, without a trace; a workload's own results are measured there as well.
UNTRACED = frozenset({"step_p50", "step_p99", "step_rate", "tokens_per_second"})
FOLLOWED = (
    *("step_p50", "step_p99", "tokens_per_second", "gpu_time_per_token", "gpu_idle_ratio"),
    *("start_latency_p50", "start_latency_p99", "idle_ratio", "idle_host"),
    *(
        "idle_late_start",
        "idle_driver",
        "idle_compile",
        "idle_way_back",
        "idle_start_latency",
        "idle_other_process",
    ),
    *("idle_powering_up", "idle_unattributed", "other_process_share", "steady_compiles"),
    *("encoders_per_token", "intervals_per_token", "command_buffers_per_token"),
    *("readbacks_per_step", "memory_peak"),
)


def find_default_threshold(metric: str, scale: Scale | None = None) -> tuple[Scale, float]:
    """Return the scale and threshold of a metric for which a plan states none.

    Shares differ by points, whole counts by one; all else by a ratio, as a workload's own results.
    """
    unit = METRICS[metric].unit if metric in METRICS else ""
    if scale is None:
        scale = "difference" if unit == "ratio" or is_count(metric) else "ratio"
    if scale == "ratio":
        return scale, 0.03
    return scale, 0.02 if unit == "ratio" else 1.0


def add_usual_metrics(
    named_metrics: Sequence[Gated], dropped: frozenset[str], capture: Capture
) -> list[Gated]:
    """Return all metrics of a capture: those that its plan names, then the usual ones.

    Where a plan names none, `step_p50` decides. What only traces tell is left out where nothing
    is traced, and so is what the plan drops by `false`.
    """
    gated = not named_metrics and capture.reference is not None
    taken_names = {metric.metric for metric in named_metrics} | dropped
    usual_ones = (
        Gated(
            name,
            find_default_threshold(name)[1],
            find_default_threshold(name)[0],
            gate=gated and name == "step_p50",
        )
        for name in FOLLOWED
        if name not in taken_names and (capture.traced or name in UNTRACED)
    )
    return [*named_metrics, *usual_ones]


def is_count(metric: str) -> bool:
    """Tell whether a metric is a whole number, which a few traces can show to differ."""
    definition = METRICS.get(metric)
    return (
        definition is not None and definition.unit in {"count", "level"} and "_per_" not in metric
    )


def from_traces(metric: str) -> bool:
    """Tell whether only a trace tells a metric."""
    return metric in METRICS and metric not in UNTRACED


def read_plan(path: Path | None = None, *, work: bool = True) -> NightPlan:
    """Read the plan of a night, from a TOML file with a table `[nightly]`.

    In a `pyproject.toml` it is `[tool.tracekit.nightly]`; None is the nearest, from the current
    folder upwards. Where `work` is false, workloads are not loaded, so none of their files run. One
    UsageError names all mistakes, each with its line.
    """
    document = open_document(path)
    mistakes = Mistakes(document)
    root, folder = document.root, document.file.parent
    values = mistakes.read(NightPlan, _night_of(document, mistakes), root)
    state, defaults = values.pop("state", {}), values.pop("defaults", {})
    if mistakes.is_table((*root, "machine-state"), state):
        limits = mistakes.read(StateLimits, state, (*root, "machine-state"))
        values["state"] = StateLimits(**limits)
    if mistakes.is_table((*root, "defaults"), defaults):
        captures = values.get("captures", [])
        values["captures"] = tuple(_captures(captures, defaults, document, mistakes, work=work))
    values["output"] = output = folder / values.get("output", Path("bench") / "nights")
    try:
        default_url = f"sqlite:///{output / 'history.db'}"
        values["history"] = (
            history_of(values["history"], folder) if "history" in values else default_url
        )
    except UsageError as error:
        mistakes.add((*root, "history"), f"is wrong: {error.message}", error.hint)
    name = re.sub(r"[^\w.+-]+", "-", folder.name)
    values.setdefault("name", name.strip("-.+")[:64] or "nightly")
    mistakes.end()
    return add_digest(NightPlan(file=document.file, **values))


def _night_of(document: Document, mistakes: Mistakes) -> dict[str, Any]:
    """Return the table of the night; a file of our own holds nothing else."""
    if document.file.name != SHARED:
        for key in document.table:
            if key not in document.root:
                hint = suggest_name(key, document.root, otherwise="A plan is below [nightly].")
                mistakes.add((key,), "is no table of a plan.", hint)
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
    for number, capture_table in enumerate(capture_tables):
        route = (*root, "capture", number)
        if not mistakes.is_table(route, capture_table):
            continue
        values = mistakes.read(Capture, capture_table, route)
        right = len(values) == len(capture_table) and len(default_values) == len(defaults)
        for key in ("parameters", "metrics"):
            tables = [
                table[key] for table in (default_values, values) if isinstance(table.get(key), dict)
            ]
            values |= {key: tables[0] | tables[1]} if len(tables) > 1 else {}
        reading = _Reading(route, mistakes, document.file.parent)
        capture = reading.capture(default_values | values, right=right, work=work)
        if capture is None:
            continue
        if capture.name.endswith(ANCHORED):
            words = f"must not end in {ANCHORED}, which nights add for anchors."
            mistakes.add((*route, "name"), words)
        # Folders of two must not be one on any disk.
        if capture.name.casefold() in {
            earlier_capture.name.casefold() for earlier_capture in captures
        }:
            mistakes.add((*route, "name"), f"is a second capture named {capture.name!r}.")
        captures.append(capture)
    return captures


class _Reading:
    """One capture, whose table stands at `route`."""

    def __init__(self, route: Route, mistakes: Mistakes, folder: Path) -> None:
        self._route, self._mistakes, self._folder = route, mistakes, folder

    def capture(self, values: dict[str, Any], *, right: bool, work: bool) -> Capture | None:
        """Return it; None where it has mistakes that leave nothing to look at."""
        if "program" in values:
            right &= self._take_program(values)
        if "workload" not in values and right:
            hint = 'Write workload = "paged"; `tracekit workloads` lists them.'
            self._refuse((), "has no workload.", hint)
        right &= "workload" in values
        reference_table, metrics = values.pop("reference", False), values.pop("metrics", {})
        reference = None if reference_table is False else self._reference(reference_table)
        right &= self._mistakes.is_table(self._extend_route("metrics"), metrics)
        if not right or (reference_table is not False and reference is None):
            return None
        if "workloads" in values:
            values["workloads"] = self._folder / values["workloads"]
        default_name = (
            Path(values["program"][0]).name if "program" in values else values["workload"]
        )
        values.setdefault("name", default_name)
        capture = Capture(reference=reference, **values)
        if work and not capture.program:
            self._check_work(capture)
        if not capture.program and reference is not None and reference.program:
            keys = ("reference", "program")
            self._refuse(keys, "is for a capture of a program.", "Give the capture a program too.")
        self._check_keys(capture)
        return replace(capture, metrics=tuple(self._metrics(metrics, capture)))

    def _take_program(self, values: dict[str, Any]) -> bool:
        """Let a program be the work; tell whether its keys are right."""
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
                parse_pattern(words)
            except UsageError as error:
                self._refuse(("read",), f"is wrong: {error.message}", error.hint)
                right = False
        values |= {"workload": ANY_PROGRAM, "traced": 0, "parity": "off"}
        return right

    def _extend_route(self, *keys: str) -> Route:
        return (*self._route, *keys)

    def _refuse(self, keys: Sequence[str], words: str, hint: str = "") -> None:
        self._mistakes.add(self._extend_route(*keys), words, hint)

    def _reference(self, table: Any) -> Reference | None:
        if not self._mistakes.is_table(self._extend_route("reference"), table):
            return None
        values = self._mistakes.read(Reference, table, self._extend_route("reference"))
        if len(values) < len(table):
            return None
        commit_keys = [
            key for key in ("revision", "merge_base", "previous_night") if values.get(key)
        ]
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
        if any(values.get(key, "").startswith("-") for key in ("revision", "merge_base")):
            self._refuse(("reference",), "must name a revision, not an option.")
        return Reference(**values)

    def _check_work(self, capture: Capture) -> None:
        """Load the workloads of both sides and bind their parameters.

        A file that cannot be loaded is none of the plan's: its capture fails, and the others run.
        """
        works: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
        works[()] = (capture.workload, capture.parameters)
        if (reference := capture.reference) is not None and not reference.same_work:
            works["reference",] = (reference.workload or capture.workload, reference.parameters)
        for keys, (name, parameters) in works.items():
            if name == ANY_PROGRAM:
                words = "is any program, which cannot be measured in turns."
                self._refuse((*keys, "workload"), words)
                continue
            part = "workload"
            try:
                with allow_imports(capture.reference, self._folder), suppress(InputError):
                    workload = find(name, capture.workloads)
                    part = "parameters" if parameters else "workload"
                    workload.bind(parameters)
            except UsageError as error:
                self._refuse((*keys, part), f"is not fit: {error.message}", error.hint)

    def _check_keys(self, capture: Capture) -> None:
        for name in capture.fail_on:
            if name not in RULES:
                hint = suggest_name(name, RULES, otherwise="`tracekit rules` lists them.")
                self._refuse(("fail-on",), f"names no rule: {name!r}.", hint)
        if capture.fail_on and not capture.traced:
            self._refuse(("fail-on",), "needs a trace, and traced is 0.", _TRACED)
        if any(words[0].startswith("-") for words in capture.checks):
            hint = 'Write [["python", "-m", "pytest"]], or ["python -m pytest"].'
            self._refuse(("checks",), "must be an array of commands.", hint)

    def _metrics(self, metric_table: dict[str, Any], capture: Capture) -> list[Gated]:
        """Return all metrics of a capture, those first that its plan names."""
        dropped = frozenset(name for name, value in metric_table.items() if value is False)
        named_metrics = [
            gated
            for name, value in metric_table.items()
            if name not in dropped and (gated := self._metric(name, value, capture))
        ]
        minimum_pairs = least_pairs()
        metrics = (
            named_metrics if capture.program else add_usual_metrics(named_metrics, dropped, capture)
        )
        if capture.program and capture.reference and capture.pairs < minimum_pairs:
            words = (
                f"must be at least {minimum_pairs} where a metric decides: fewer have no 95 % "
                "interval."
            )
            self._refuse(("pairs",), words, "Measure more pairs.")
        turns = [metric for metric in metrics if metric.gate and not from_traces(metric.metric)]
        if turns and capture.pairs < minimum_pairs:
            words = (
                f"must be at least {minimum_pairs} where a metric decides: fewer have no 95 % "
                "interval."
            )
            self._refuse(("pairs",), words, "Measure more pairs, or let gate be false.")
        return metrics

    def _metric(self, name: str, value: Any, capture: Capture) -> Gated | None:
        table = {} if value is True else value if isinstance(value, dict) else {"threshold": value}
        values = self._mistakes.read(Gated, table, self._extend_route("metrics", name))
        if len(values) < len(table):
            return None
        scale, threshold = find_default_threshold(name, values.get("scale"))
        gate = capture.reference is not None
        usual_ones: dict[str, Any] = {"scale": scale, "threshold": threshold, "gate": gate}
        gated = Gated(name, **usual_ones | values)
        for words, hint in _unfit(gated, capture):
            self._refuse(("metrics", name), words, hint)
        return gated


_TRACED = "Let traced be 1 or more."
_LARGEST_RATIO = 10
_NEAR = 0.8  # of difflib's: a workload's own results are no slips of ours


def _unfit(gated: Gated, capture: Capture) -> list[tuple[str, str]]:
    """Return what keeps a metric from being known, or from deciding, and what to do."""
    name, minimum_pairs, definition = gated.metric, least_pairs(), METRICS.get(gated.metric)
    near = difflib.get_close_matches(name, METRICS, n=1, cutoff=_NEAR)
    exact = gated.scale == "difference" and is_count(name)
    problems: list[tuple[str, str]] = []
    if definition is None and near:
        problems.append(("is no metric.", f"Did you mean {near[0]}?"))
    if gated.scale == "ratio" and gated.threshold >= _LARGEST_RATIO:
        words = f"must be below {_LARGEST_RATIO} for a ratio; it is {gated.threshold:g}."
        problems.append((words, "0.03 is 3 %."))
    if from_traces(name) and not capture.traced:
        problems.append(("comes from traces, and traced is 0.", _TRACED))
    elif gated.gate and from_traces(name) and capture.traced < minimum_pairs and not exact:
        words = f"cannot decide by fewer than {minimum_pairs} traces: they have no 95 % interval."
        problems.append((words, f"Let traced be {minimum_pairs}, or let gate be false."))
    if gated.gate and capture.reference is None:
        hint = "Add [nightly.capture.reference], or let gate be false."
        problems.append(("cannot decide without a reference; it can be followed.", hint))
    if (
        gated.gate
        and not gated.better
        and definition is not None
        and definition.better is Better.NEITHER
    ):
        hint = 'Say better = "lower" or "higher", or let gate be false.'
        problems.append(("cannot decide: neither direction is good news by itself.", hint))
    return problems
