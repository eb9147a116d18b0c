"""The captures of a plan: what the file says of each, over what it says of all."""

from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.analysis.rules import RULES
from tracekit.base.errors import nearest
from tracekit.nightly.plan.given import Given, Table, entries, fields, is_table, read
from tracekit.nightly.plan.keys import CAPTURE, REFERENCE
from tracekit.nightly.plan.metrics import read_metrics
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.nightly.plan.plan import Capture, Reference
from tracekit.nightly.plan.work import check_work


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
