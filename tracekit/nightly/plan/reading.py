"""From a file to the plan of a night; all mistakes in it are reported at once, with their lines."""

import difflib
import re
import unicodedata
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracekit.analysis import METRICS, RULES, Better
from tracekit.base import InputError, UsageError, least_pairs, nearest
from tracekit.compare import Scale
from tracekit.machine import StateLimits
from tracekit.nightly.history.night import ANCHORED
from tracekit.nightly.plan.document import MINIMAL, SHARED, Document, Mistakes, open_document
from tracekit.nightly.plan.keys import (
    CAPTURE,
    METRIC,
    NIGHT,
    REFERENCE,
    STATE,
    Given,
    Table,
    read,
    shown,
)
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference, digested, searched
from tracekit.workload import ANY_PROGRAM, find

_SERVER = "postgresql"
_FILE = "sqlite"
_HINT = 'Write "sqlite:///nights.db" or "postgresql://user@host/database".'


def history_of(given: Given | None, output: Path, folder: Path) -> str:
    """Return the URL of the history; without one that of `history.db` among the nights.

    Mistakes never show a URL, for it may hold a password.
    """
    if given is None:
        return f"{_FILE}:///{output / 'history.db'}"
    if not isinstance(given.value, str):
        return ""
    # Every command knows plans; loading this takes it as long as half of pandas.
    from sqlalchemy.engine import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(given.value)
    except (ArgumentError, ValueError):
        given.refuse("is no URL of a database.", _HINT)
        return ""
    words, kind = "", url.get_backend_name()
    if kind not in {_FILE, _SERVER}:
        words = f"must be a database of {_FILE} or {_SERVER}, not of {kind}."
    elif kind == _FILE and url.database in {None, "", ":memory:"}:
        words = "names no file, so that nothing would be kept."
    elif kind == _FILE:
        url = url.set(database=str(folder / str(url.database)))
    if words:
        given.refuse(words, _HINT)
        return ""
    return url.render_as_string(hide_password=False)


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
    "idle_late_start",
    "idle_driver",
    "idle_compile",
    "idle_after_wait",
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


def usual(metric: str, scale: Scale | None = None) -> tuple[Scale, float]:
    """Return the scale and threshold of a metric for which a plan states none.

    Shares differ by points, whole counts by one; all else by a ratio, as a workload's own results.
    """
    unit = METRICS[metric].unit if metric in METRICS else ""
    if scale is None:
        scale = "difference" if unit == "ratio" or counted(metric) else "ratio"
    if scale == "ratio":
        return scale, 0.03
    return scale, 0.02 if unit == "ratio" else 1.0


def followed(named: Sequence[Gated], dropped: frozenset[str], capture: Capture) -> list[Gated]:
    """Return all metrics of a capture: those that its plan names, then the usual ones.

    Where a plan names none, `step_p50` decides. What only traces tell is left out where nothing
    is traced, and so is what the plan drops by `false`.
    """
    gated = not named and capture.reference is not None
    taken = {one.metric for one in named} | dropped
    usual_ones = (
        Gated(one, usual(one)[1], usual(one)[0], gate=gated and one == "step_p50")
        for one in FOLLOWED
        if one not in taken and (capture.traced or one in UNTRACED)
    )
    return [*named, *usual_ones]


def counted(metric: str) -> bool:
    """Tell whether a metric is a whole number, which a few traces can show to differ."""
    known = METRICS.get(metric)
    return known is not None and known.unit in {"count", "level"} and "_per_" not in metric


def from_traces(metric: str) -> bool:
    """Tell whether only a trace tells a metric."""
    return metric in METRICS and metric not in UNTRACED


def check_work(name: Given, parameters: Mapping[str, Given], folder: Path | None) -> None:
    """Load a workload and bind its parameters; each that does not fit is a mistake.

    A file that cannot be loaded is none of the plan's: its capture fails, and the others run.
    """
    if name.value == ANY_PROGRAM:
        hint = "Write a workload that does the same work."
        name.refuse("is any program, which cannot be measured in turns.", hint)
        return
    workload = None
    with suppress(InputError), _fit(name):
        workload = find(name.value, folder)
    if workload is None:
        return
    required = [key for key, one in workload.parameters.items() if one.default is one.empty]
    needed = {key: parameters[key].value for key in required if key in parameters}
    with _fit(parameters[next(iter(needed))] if needed else name):
        workload.bind(needed)
        for key, one in parameters.items():
            if key not in needed:
                with _fit(one):
                    workload.bind({**needed, key: one.value})


@contextmanager
def _fit(given: Given) -> Generator[None]:
    """Add a mistake of what was given where it does not fit."""
    try:
        yield
    except UsageError as error:
        given.refuse(f"is not fit: {error.message}", error.hint)


_LARGEST_RATIO = 10
_NEAR = 0.8  # of difflib's: a workload's own results are no slips of ours


def _metrics(named: Table, table: Table, given: Given, capture: Capture) -> tuple[Gated, ...]:
    """Return all metrics of a capture, those first that its plan names, by what it says of each.

    `table` is what it says of the capture, in all, and `given` what stands at the capture itself.
    """
    dropped = frozenset(name for name, one in named.items() if one.value is False)
    gated = [_metric(name, one, capture) for name, one in named.items() if name not in dropped]
    metrics, least = followed(gated, dropped, capture), least_pairs()
    if capture.pairs < least and any(one.gate and not from_traces(one.metric) for one in metrics):
        table.get("pairs", given).refuse(
            f"must be at least {least} where a metric decides: fewer have no 95 % interval.",
            "Measure more pairs, or let gate be false.",
        )
    return tuple(metrics)


def _metric(name: str, given: Given, capture: Capture) -> Gated:
    table: Table = {}
    if isinstance(given.value, dict):
        table = given.fields(METRIC)
    elif given.value is not True:
        table = {"threshold": given}
    named = read(table, METRIC)
    scale, threshold = usual(name, named.get("scale"))
    gate = capture.reference is not None
    usual_ones: dict[str, Any] = {"scale": scale, "threshold": threshold, "gate": gate}
    gated = Gated(name, **usual_ones | named)
    if scale == "ratio" and gated.threshold >= _LARGEST_RATIO:
        words = f"must be below {_LARGEST_RATIO} for a ratio; it is {gated.threshold:g}."
        table["threshold"].refuse(words, "0.03 is 3 %.")
    _check(given, gated, capture)
    return gated


def _check(given: Given, gated: Gated, capture: Capture) -> None:
    """Add what keeps a metric from being known, or from deciding."""
    name, least = gated.metric, least_pairs()
    near = difflib.get_close_matches(name, METRICS, n=1, cutoff=_NEAR)
    if name not in METRICS and near:
        given.refuse("is no metric.", f"Did you mean {near[0]}?")
    if from_traces(name) and not capture.traced:
        given.refuse("comes from traces, and traced is 0.", "Let traced be 1 or more.")
    if not gated.gate:
        return
    if capture.reference is None:
        hint = "Add [nightly.capture.reference], or let gate be false."
        given.refuse("cannot decide without a reference; it can be followed.", hint)
    known = METRICS.get(name)
    if not gated.better and known is not None and known.better is Better.NEITHER:
        hint = 'Say better = "lower" or "higher", or let gate be false.'
        given.refuse("cannot decide: neither direction is good news by itself.", hint)
    exact = gated.scale == "difference" and counted(name)
    if from_traces(name) and 0 < capture.traced < least and not exact:
        words = f"cannot decide by fewer than {least} traces: they have no 95 % interval."
        given.refuse(words, f"Let traced be {least}, or let gate be false.")


def _capture(given: Given, defaults: Table, folder: Path, *, work: bool) -> Capture | None:
    """Read one capture; None where it names no workload, which is a mistake."""
    own = given.fields(CAPTURE)
    table = {**defaults, **own}
    usual, values = read(defaults, CAPTURE), read(own, CAPTURE)
    values["parameters"] = usual.pop("parameters", {}) | values.get("parameters", {})
    values = usual | values
    if "workload" not in table:
        hint = 'Write workload = "paged"; `tracekit workloads` lists them.'
        given.refuse("has no workload.", hint)
    if "workload" not in values:
        return None
    if "workloads" in values:
        values["workloads"] = folder / values["workloads"]
    values.setdefault("name", values["workload"])
    capture = Capture(**values)
    if "reference" in table and table["reference"].value is not False:
        capture = replace(capture, reference=_reference(table["reference"], folder))
    if work:
        parameters = _both("parameters", defaults, own)
        fit = {key: one for key, one in parameters.items() if key in values["parameters"]}
        with searched(capture.reference, folder):
            check_work(table["workload"], fit, capture.workloads)
            _check_reference(table, capture)
    _check_rules(capture, table)
    metrics = _metrics(_both("metrics", defaults, own), table, given, capture)
    return replace(capture, metrics=metrics)


def _reference(given: Given, folder: Path) -> Reference | None:
    if not given.is_table():
        return None
    table = given.fields(REFERENCE)
    values = read(table, REFERENCE)
    named = [key for key in ("revision", "merge_base", "previous_night") if values.get(key)]
    for key in named[1:]:
        words = f"names a commit, and {named[0].replace('_', '-')} names one as well."
        table[key].refuse(words, "Leave one of them out.")
    if not (named or {"workload", "parameters", "python", "revision"} & table.keys()):
        hint = "It differs by revision, merge-base, python, workload or parameters."
        given.refuse("does not say how it differs.", hint)
    if not named:
        for key in sorted({"setup", "pythonpath", "anchor_every"} & table.keys()):
            if "revision" not in table:
                table[key].refuse("is for a commit's worktree, and none is named.")
        if "python" in values:
            values["python"] = folder / values["python"]
    for key in {"revision", "merge_base"} & values.keys():
        if values[key].startswith("-"):
            table[key].refuse(f"must be a revision; {values[key]!r} is an option.")
    return Reference(**values)


def _check_reference(table: Table, capture: Capture) -> None:
    """Check the work of a reference that differs in its work."""
    if capture.reference is None or capture.reference.same_work:
        return
    own = table["reference"].fields(REFERENCE)
    workload = own.get("workload") or replace(table["reference"], value=capture.workload)
    parameters = own["parameters"].entries() if "parameters" in own else {}
    check_work(workload, parameters, capture.workloads)


def _both(field: str, defaults: Table, own: Table) -> Table:
    """Return the entries of a table that defaults and the capture's own make together."""
    found: Table = {}
    for table in (defaults, own):
        found |= table[field].entries() if field in table else {}
    return found


def _check_rules(capture: Capture, table: Table) -> None:
    for place, name in enumerate(capture.fail_on):
        if name not in RULES:
            given = table["fail_on"]
            given = given.within(place) if isinstance(given.value, list) else given
            hint = nearest(name, RULES, otherwise="`tracekit rules` lists them.")
            given.refuse(f"names no rule: {name!r}.", hint)
    if capture.fail_on and not capture.traced:
        words = "needs a trace, and traced is 0: findings are made of traces."
        table["fail_on"].refuse(words, "Let traced be 1 or more.")


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
    folder = document.file.parent
    table = _night_of(document, mistakes).fields(NIGHT)
    values = read(table, NIGHT)
    given = table.get("captures") or Given(document.root, [], mistakes)
    values["captures"] = _captures(table, given, folder, work=work)
    state = table["state"].fields(STATE) if "state" in table else {}
    values["state"] = StateLimits(**read(state, STATE))
    values["output"] = output = folder / values.get("output", Path("bench") / "nights")
    values["history"] = history_of(table.get("history"), output, folder)
    name = re.sub(r"[^\w.+-]+", "-", unicodedata.normalize("NFC", folder.name))
    values.setdefault("name", name.strip("-.+")[:64] or "nightly")
    mistakes.end()
    return digested(NightPlan(file=document.file, **values))


def _night_of(document: Document, mistakes: Mistakes) -> Given:
    """Return the table of the night; a file of our own holds nothing else."""
    given = Given((), document.table, mistakes)
    if document.file.name != SHARED:
        for key, other in given.entries().items():
            if key not in document.root:
                hint = nearest(key, document.root, otherwise="A plan is below [nightly].")
                other.refuse("is no table of a plan.", hint)
    for key in document.root:
        inner = given.entries()
        if key not in inner:
            words = f"there is no table [{'.'.join(document.root)}]."
            given.refuse(words, f"The least is:\n{MINIMAL}")
            mistakes.end()
        given = inner[key]
    if not given.is_table():
        mistakes.end()
    return given


def _captures(table: Table, given: Given, folder: Path, *, work: bool) -> tuple[Capture, ...]:
    defaults = table["defaults"].fields(CAPTURE) if "defaults" in table else {}
    if (name := defaults.pop("name", None)) is not None:
        name.refuse("cannot be the same for all captures.", "Leave it out.")
    if not isinstance(given.value, list):
        words = f"must be an array of tables, not {shown(given.value)}."
        given.refuse(words, "Write [[nightly.capture]], with two brackets.")
        return ()
    if not given.value:
        given.refuse("has no capture.", f"The least is:\n{MINIMAL}")
    captures: list[Capture] = []
    seen: set[str] = set()  # folders of two must not be one on any disk
    for place, value in enumerate(given.value):
        one = given.within(place, value)
        capture = _capture(one, defaults, folder, work=work) if one.is_table() else None
        if capture is None:
            continue
        captures.append(capture)
        if capture.name.endswith(ANCHORED):
            one.within("name").refuse(f"must not end in {ANCHORED}, which nights add for anchors.")
        key = unicodedata.normalize("NFKC", capture.name).casefold()
        if key in seen:
            words = f"is a second capture named {capture.name!r}."
            one.within("name").refuse(words, "Give each a name of its own.")
        seen.add(key)
    return tuple(captures)
