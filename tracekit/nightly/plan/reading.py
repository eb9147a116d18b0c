"""From a file to the plan of a night; all mistakes in it are reported at once, with their lines."""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.analysis import METRICS, RULES, Better
from tracekit.base import InputError, UsageError, least_pairs, nearest
from tracekit.compare import Scale
from tracekit.machine import StateLimits
from tracekit.nightly.plan.document import MINIMAL, SHARED, Document, Route, open_document
from tracekit.nightly.plan.keys import (
    CAPTURE,
    METRIC,
    NIGHT,
    REFERENCE,
    STATE,
    Given,
    Table,
    entries,
    fields,
    is_table,
    read,
    shown,
)
from tracekit.nightly.plan.mistakes import Mistakes, UnfitError
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference, digested
from tracekit.workload import ANY_PROGRAM, Workload, find

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


_SERVER = "postgresql"
_FILE = "sqlite"
_HINT = 'Write "sqlite:///nights.db" or "postgresql://user@host/database".'


def history_of(given: Given | None, output: Path, folder: Path, mistakes: Mistakes) -> str:
    """Return the URL of the history; without one that of `history.db` among the nights.

    Mistakes never show a URL, for it may hold a password.
    """
    if given is None:
        return f"{_FILE}:///{output / 'history.db'}"
    try:
        return _whole(_parsed(given.value), folder) if isinstance(given.value, str) else ""
    except UnfitError as error:
        mistakes.unfit(given.route, error)
        return ""


def _parsed(text: str) -> "URL":
    # Every command knows plans; loading this takes it as long as half of pandas.
    from sqlalchemy.engine import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise UnfitError("is no URL of a database.", _HINT) from None


def _whole(url: "URL", folder: Path) -> str:
    kind = url.get_backend_name()
    if kind not in {_FILE, _SERVER}:
        raise UnfitError(f"must be a database of {_FILE} or {_SERVER}, not of {kind}.", _HINT)
    if kind == _FILE:
        if url.database in {None, "", ":memory:"}:
            raise UnfitError("names no file, so that nothing would be kept.", _HINT)
        url = url.set(database=str(folder / str(url.database)))
    return url.render_as_string(hide_password=False)


DECIDING = "step_p50"
# What turns tell, without a trace; a workload's own results are measured there as well.
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
    "idle_host_late",
    "idle_start_latency",
    "idle_driver",
    "idle_compile",
    "idle_readback",
    "idle_other_process",
    "idle_down_clocked",
    "idle_unattributed",
    "other_process_share",
    "steady_compiles",
    "encoders_per_token",
    "intervals_per_token",
    "command_buffers_per_token",
    "readbacks_per_step",
    "memory_peak",
)
THRESHOLDS: dict[Scale, float] = {"ratio": 0.03, "difference": 1.0}
_POINTS = 0.02


def usual(metric: str, scale: Scale | None = None) -> tuple[Scale, float]:
    """Return the scale and threshold of a metric for which a plan states none.

    Shares differ by points, whole counts by one; all else by a ratio, as a workload's own results.
    """
    unit = METRICS[metric].unit if metric in METRICS else ""
    if scale is None:
        scale = "difference" if unit == "ratio" or counted(metric) else "ratio"
    if scale == "difference" and unit == "ratio":
        return scale, _POINTS
    return scale, THRESHOLDS[scale]


def followed(named: Sequence[Gated], dropped: frozenset[str], capture: Capture) -> list[Gated]:
    """Return all metrics of a capture: those that its plan names, then the usual ones.

    Where a plan names none, `step_p50` decides. What only traces tell is left out where nothing
    is traced, and so is what the plan drops by `false`.
    """
    gated = not named and capture.reference is not None
    usual_ones = (
        Gated(one, usual(one)[1], usual(one)[0], gate=gated and one == DECIDING)
        for one in FOLLOWED
        if one in METRICS and (capture.traced or one in UNTRACED)
    )
    taken = {one.metric for one in named} | dropped
    return [*named, *(one for one in usual_ones if one.metric not in taken)]


def counted(metric: str) -> bool:
    """Tell whether a metric is a whole number, which a few traces can show to differ."""
    known = METRICS.get(metric)
    return known is not None and known.unit in {"count", "level"} and "_per_" not in metric


def from_traces(metric: str) -> bool:
    """Tell whether only a trace tells a metric."""
    return metric in METRICS and metric not in UNTRACED


def has_direction(gated: Gated) -> bool:
    """Tell whether it is known which change is for the worse; a workload's result says itself."""
    known = METRICS.get(gated.metric)
    return bool(gated.better) or known is None or known.better is not Better.NEITHER


def check_work(
    name: Given, parameters: Mapping[str, Given], folder: Path | None, mistakes: Mistakes
) -> None:
    """Load a workload and bind its parameters; each that does not fit is a mistake.

    A file that cannot be loaded is none of the plan's: its capture fails, and the others run.
    """
    if name.value == ANY_PROGRAM:
        words = "is any program, which cannot be measured in turns."
        mistakes.add(name.route, words, "Write a workload that does the same work.")
        return
    try:
        workload = find(name.value, folder)
    except InputError:
        return
    except UsageError as error:
        mistakes.add(name.route, f"is not fit: {error.message}", error.hint)
        return
    _check_parameters(workload, name, parameters, mistakes)


def _check_parameters(
    workload: Workload, name: Given, given: Mapping[str, Given], mistakes: Mistakes
) -> None:
    required = [key for key, one in workload.parameters.items() if one.default is one.empty]
    needed = {key: given[key].value for key in required if key in given}
    if (error := _unfit(workload, needed)) is not None:
        first = given[next(iter(needed))] if needed else name
        mistakes.add(first.route, f"is not fit: {error.message}", error.hint)
        return
    for key, one in given.items():
        if key not in needed and (error := _unfit(workload, {**needed, key: one.value})):
            mistakes.add(one.route, f"is not fit: {error.message}", error.hint)


def _unfit(workload: Workload, parameters: dict[str, Any]) -> UsageError | None:
    try:
        workload.bind(parameters)
    except UsageError as error:
        return error
    return None


_LARGEST_RATIO = 10
_NEAR = 0.8  # of difflib's: a workload's own results are no slips of ours


def read_metrics(
    named: Table, table: Table, route: Route, capture: Capture, mistakes: Mistakes
) -> tuple[Gated, ...]:
    """Return all metrics of a capture, those first that its plan names.

    Args:
        named: What the plan says of metrics, by name.
        table: What it says of the capture.
        route: Where the capture stands.
        capture: The capture, without metrics.
        mistakes: Where they go.
    """
    dropped = frozenset(name for name, one in named.items() if one.value is False)
    read_ones = [
        (one, _metric(name, one, capture, mistakes))
        for name, one in named.items()
        if name not in dropped
    ]
    for given, gated in read_ones:
        _check(given, gated, capture, mistakes)
    metrics = followed([gated for _, gated in read_ones], dropped, capture)
    least = least_pairs()
    if capture.pairs < least and any(
        metric.gate and not from_traces(metric.metric) for metric in metrics
    ):
        mistakes.add(
            table["pairs"].route if "pairs" in table else route,
            f"must be at least {least} where a metric decides: fewer have no 95 % interval.",
            "Measure more pairs, or let gate be false.",
        )
    return tuple(metrics)


def _metric(name: str, given: Given, capture: Capture, mistakes: Mistakes) -> Gated:
    given_ones = _values(given, mistakes)
    scale, threshold = usual(name, given_ones.get("scale"))
    gate = capture.reference is not None
    values: dict[str, Any] = {"scale": scale, "threshold": threshold, "gate": gate} | given_ones
    if scale == "ratio" and values["threshold"] >= _LARGEST_RATIO:
        words = f"must be below {_LARGEST_RATIO} for a ratio; it is {values['threshold']:g}."
        mistakes.add(_threshold_of(given), words, "0.03 is 3 %.")
    return Gated(name, **values)


def _values(given: Given, mistakes: Mistakes) -> dict[str, Any]:
    if given.value is True:
        return {}
    if isinstance(given.value, dict):
        return read(fields(given, METRIC, mistakes), METRIC, mistakes)
    return read({"threshold": given}, METRIC, mistakes)


def _threshold_of(given: Given) -> Route:
    return given.at("threshold") if isinstance(given.value, dict) else given.route


def _check(given: Given, gated: Gated, capture: Capture, mistakes: Mistakes) -> None:
    """Add what keeps a metric from being known, or from deciding."""
    name, least = gated.metric, least_pairs()
    near = difflib.get_close_matches(name, METRICS, n=1, cutoff=_NEAR)
    if name not in METRICS and near:
        mistakes.add(given.route, "is no metric.", f"Did you mean {near[0]}?")
    if from_traces(name) and not capture.traced:
        words = "comes from traces, and traced is 0."
        mistakes.add(given.route, words, "Let traced be 1 or more.")
    if not gated.gate:
        return
    if capture.reference is None:
        words = "cannot decide without a reference; it can be followed."
        mistakes.add(given.route, words, "Add [nightly.capture.reference], or let gate be false.")
    if not has_direction(gated):
        words = "cannot decide: neither direction is good news by itself."
        mistakes.add(given.route, words, 'Say better = "lower" or "higher", or let gate be false.')
    exact = gated.scale == "difference" and counted(name)
    if from_traces(name) and 0 < capture.traced < least and not exact:
        words = f"cannot decide by fewer than {least} traces: they have no 95 % interval."
        mistakes.add(given.route, words, f"Let traced be {least}, or let gate be false.")


@dataclass(frozen=True)
class Reading:
    """What it takes to read a capture.

    Attributes:
        folder: The plan's, which paths are relative to.
        mistakes: Where they go.
        work: Whether workloads are loaded, and their parameters bound.
    """

    folder: Path
    mistakes: Mistakes
    work: bool = True


def read_defaults(given: Given, mistakes: Mistakes) -> Table:
    """Return what holds for every capture that does not say otherwise."""
    table = fields(given, CAPTURE, mistakes)
    if (name := table.pop("name", None)) is not None:
        mistakes.add(name.route, "cannot be the same for all captures.", "Leave it out.")
    return table


def read_capture(given: Given, defaults: Table, reading: Reading) -> Capture | None:
    """Read one capture; None where it names no workload, which is a mistake."""
    mistakes = reading.mistakes
    own = fields(given, CAPTURE, mistakes)
    table = {**defaults, **own}
    usual, values = read(defaults, CAPTURE, mistakes), read(own, CAPTURE, mistakes)
    values["parameters"] = usual.pop("parameters", {}) | values.get("parameters", {})
    values = usual | values
    if "workload" not in table:
        hint = 'Write workload = "paged"; `tracekit workloads` lists them.'
        mistakes.add(given.route, "has no workload.", hint)
    if "workload" not in values:
        return None
    if "workloads" in values:
        values["workloads"] = reading.folder / values["workloads"]
    values.setdefault("name", values["workload"])
    if reading.work:
        parameters = _both("parameters", defaults, own, mistakes)
        fit = {key: one for key, one in parameters.items() if key in values["parameters"]}
        check_work(table["workload"], fit, values.get("workloads"), mistakes)
    capture = Capture(**values)
    if "reference" in table and table["reference"].value is not False:
        capture = replace(capture, reference=_reference(table["reference"], capture, reading))
    named = _both("metrics", defaults, own, mistakes)
    _check_rules(capture, table, mistakes)
    return replace(capture, metrics=read_metrics(named, table, given.route, capture, mistakes))


def _reference(given: Given, capture: Capture, reading: Reading) -> Reference | None:
    mistakes = reading.mistakes
    if not is_table(given, mistakes):
        return None
    table = fields(given, REFERENCE, mistakes)
    values = read(table, REFERENCE, mistakes)
    if not {"workload", "parameters", "python", "revision"} & table.keys():
        hint = "It differs by revision, python, workload or parameters."
        mistakes.add(given.route, "does not say how it differs.", hint)
    if "revision" not in table:
        for key in sorted({"setup", "pythonpath"} & table.keys()):
            mistakes.add(table[key].route, "is for a revision's worktree, and none is named.")
        if "python" in values:
            values["python"] = reading.folder / values["python"]
    revision = values.get("revision", "")
    if revision.startswith("-"):
        mistakes.add(table["revision"].route, f"must be a revision; {revision!r} is an option.")
    if reading.work and {"workload", "parameters"} & table.keys():
        workload = table.get("workload") or Given(given.route, capture.workload)
        parameters = entries(table["parameters"], mistakes) if "parameters" in table else {}
        check_work(workload, parameters, capture.workloads, mistakes)
    return Reference(**values)


def _both(field: str, defaults: Table, own: Table, mistakes: Mistakes) -> Table:
    """Return the entries of a table that defaults and the capture's own make together."""
    found: Table = {}
    for table in (defaults, own):
        if field in table:
            found |= entries(table[field], mistakes)
    return found


def _check_rules(capture: Capture, table: Table, mistakes: Mistakes) -> None:
    for place, name in enumerate(capture.fail_on):
        if name not in RULES:
            several = isinstance(table["fail_on"].value, list)
            route = table["fail_on"].at(place) if several else table["fail_on"].route
            hint = nearest(name, RULES, otherwise="`tracekit rules` lists them.")
            mistakes.add(route, f"names no rule: {name!r}.", hint)
    if capture.fail_on and not capture.traced:
        words = "needs a trace, and traced is 0: findings are made of traces."
        mistakes.add(table["fail_on"].route, words, "Let traced be 1 or more.")


OUTPUT = Path("bench") / "nights"


def read_plan(path: Path | None = None, *, work: bool = True) -> NightPlan:
    """Read the plan of a night.

    Args:
        path: A TOML file with a table `[nightly]`, or a `pyproject.toml` with
            `[tool.tracekit.nightly]`; None for the nearest, from the current folder upwards.
        work: Whether workloads are loaded, which runs their files, and their parameters bound.

    Raises:
        UsageError: There is no plan, or there are mistakes in it; the message names all of them,
            each with line and column.
    """
    document = open_document(path)
    mistakes = Mistakes(document.shown, document.places)
    table = fields(_night_of(document, mistakes), NIGHT, mistakes)
    reading = Reading(document.file.parent, mistakes, work)
    values = read(table, NIGHT, mistakes)
    values["captures"] = _captures(table, reading, document)
    values["state"] = _state(table, mistakes)
    values["output"] = output = reading.folder / values.get("output", OUTPUT)
    values["history"] = history_of(table.get("history"), output, reading.folder, mistakes)
    values.setdefault("name", _name_of(reading.folder))
    mistakes.end()
    return digested(NightPlan(file=document.file, **values))


def _night_of(document: Document, mistakes: Mistakes) -> Given:
    """Return the table of the night; a file of our own holds nothing else."""
    if document.file.name != SHARED:
        for key in document.table:
            if key not in document.root:
                hint = nearest(key, document.root, otherwise="A plan is below [nightly].")
                mistakes.add((key,), "is no table of a plan.", hint)
    given = Given((), document.table)
    for key in document.root:
        inner = entries(given, mistakes)
        if key not in inner:
            words = f"there is no table [{'.'.join(document.root)}]."
            mistakes.add(given.route, words, f"The least is:\n{MINIMAL}")
            mistakes.end()
        given = inner[key]
    if not is_table(given, mistakes):
        mistakes.end()
    return given


def _state(table: Table, mistakes: Mistakes) -> StateLimits:
    if "state" not in table:
        return StateLimits()
    return StateLimits(**read(fields(table["state"], STATE, mistakes), STATE, mistakes))


def _captures(table: Table, reading: Reading, document: Document) -> tuple[Capture, ...]:
    mistakes = reading.mistakes
    defaults = read_defaults(table["defaults"], mistakes) if "defaults" in table else {}
    given = table.get("captures", Given(document.root, []))
    if not isinstance(given.value, list):
        words = f"must be an array of tables, not {shown(given.value)}."
        mistakes.add(given.route, words, "Write [[nightly.capture]], with two brackets.")
        return ()
    if not given.value:
        mistakes.add(given.route, "has no capture.", f"The least is:\n{MINIMAL}")
    several = [Given(given.at(place), one) for place, one in enumerate(given.value)]
    tables = [one for one in several if is_table(one, mistakes)]
    attempts = [(one, read_capture(one, defaults, reading)) for one in tables]
    captures = [(one, capture) for one, capture in attempts if capture is not None]
    _check_names(captures, mistakes)
    return tuple(capture for _, capture in captures)


def _check_names(captures: list[tuple[Given, Capture]], mistakes: Mistakes) -> None:
    """Add a mistake for each name that was taken: folders of two must not be one on any disk."""
    seen: Counter[str] = Counter()
    for given, capture in captures:
        key = unicodedata.normalize("NFKC", capture.name).casefold()
        seen[key] += 1
        if seen[key] > 1:
            words = f"is a second capture named {capture.name!r}."
            mistakes.add(given.at("name"), words, "Give each a name of its own.")


def _name_of(folder: Path) -> str:
    name = re.sub(r"[^\w.+-]+", "-", unicodedata.normalize("NFC", folder.name))
    return name.strip("-.+")[:64] or "nightly"
