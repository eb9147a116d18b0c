"""Where in a repository a night's findings are shown: the lines of its plan, windows of traces."""

import os
from dataclasses import replace
from pathlib import Path

from tracekit.analysis.result import load
from tracekit.analysis.rule import Evidence
from tracekit.base.errors import TracekitError
from tracekit.base.recording import Recording
from tracekit.nightly.gate.found import FoundNight
from tracekit.nightly.gate.report.model import GateReport, Suite
from tracekit.nightly.history.night import Entry
from tracekit.nightly.plan.document import open_document
from tracekit.nightly.plan.plan import NightPlan

_MOST_WINDOWS = 5


def placed(report: GateReport, found: FoundNight) -> GateReport:
    """Return the report of a night with the lines of its plan and the windows of its traces."""
    lines = _lines(found.plan) if found.plan is not None else {}
    entries = {one.capture: one for one in found.night.entries}
    suites = tuple(
        replace(_with_windows(one, entries.get(one.name), found.folder), line=lines.get(one.name))
        for one in report.suites
    )
    file = in_repository(found.plan.file) if found.plan is not None else ""
    return replace(report, suites=suites, file=file)


def in_repository(file: Path) -> str:
    """Return a file's path as its repository calls it, with slashes; else its name alone.

    A whole path would name a person's folders in a report that others read.
    """
    file = file.resolve()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    roots = [Path(workspace).resolve()] if workspace else []
    roots += [one for one in file.parents if (one / ".git").exists()]
    for root in (*roots, Path.cwd().resolve()):
        if file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return file.name


def _lines(plan: NightPlan) -> dict[str, int]:
    """Return the line at which each capture stands in the plan's file."""
    try:
        document = open_document(plan.file)
    except TracekitError:
        return {}
    places = document.places
    routes = {one.name: (*document.root, "capture", n) for n, one in enumerate(plan.captures)}
    return {name: places.of(route)[0] for name, route in routes.items() if route in places.paths}


def _with_windows(suite: Suite, entry: Entry | None, folder: Path | None) -> Suite:
    """Return the suite with windows of the candidate's traces, where those are still here."""
    if entry is None or folder is None or not any(one.kind == "finding" for one in suite.cases):
        return suite
    windows = _windows(entry, folder)
    return replace(
        suite,
        cases=tuple(
            replace(one, windows=windows.get(one.name, ())) if one.kind == "finding" else one
            for one in suite.cases
        ),
    )


def _windows(entry: Entry, folder: Path) -> dict[str, tuple[Evidence, ...]]:
    found: dict[str, tuple[Evidence, ...]] = {}
    for pair in entry.pairs:
        if not pair.traced or not pair.runs:
            continue
        try:
            result = load(Recording(folder / pair.runs[0]).result_file)
        except (TracekitError, OSError):
            continue  # pruned: the night's numbers do not need it
        for finding in result.findings:
            found.setdefault(finding.rule, finding.evidence[:_MOST_WINDOWS])
    return found
