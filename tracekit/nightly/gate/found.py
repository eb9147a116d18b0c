"""Which night a gate is asked about, its plan, and where its findings are shown."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tracekit.base import InconclusiveError, InputError, RecordingError, UsageError
from tracekit.machine import own_name
from tracekit.nightly.folder import nights_in
from tracekit.nightly.gate.report.model import GateReport, Suite, add_outcome_case
from tracekit.nightly.history.night import DOCUMENT, Night, Outcome, moment_of
from tracekit.nightly.history.store.documents import night_in
from tracekit.nightly.history.store.place import LATEST, file_of, require_clear_latest
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.document import open_document
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan


def judge_age(
    report: GateReport, longest: float, current_time: datetime | None = None
) -> GateReport:
    """Return the report; a good one that is older than `longest` seconds is inconclusive.

    So a gate does not stay green because nights have stopped.
    """
    if report.outcome is not Outcome.OK:
        return report
    try:
        start = moment_of(report.started)
    except InputError:
        reason = "When it began is not known, so neither is its age."
    else:
        age = ((current_time or datetime.now(UTC)) - start).total_seconds()
        if age <= longest:
            return report
        reason = f"It began {age / 3600:.1f} h ago; --max-age allows {longest / 3600:.1f} h."
    old = add_outcome_case(Suite(report.plan or "night", Outcome.INCONCLUSIVE, reason))
    return replace(report, outcome=old.outcome, reason=reason, suites=(*report.suites, old))


_HINT = "`tracekit nightly` makes one; a night's folder can be named, too."


def find_night(
    name: str = LATEST, plan: Path | None = None, history: str = ""
) -> tuple[Night, NightPlan | None]:
    """Find a night by its folder, its `night.json`, its id, the beginning of one, or `latest`.

    The plan, if none is named, is the nearest; it is returned if the night is one of it. Ids are
    looked for in the history that is named, else in the plan's. The latest is the plan's last night
    on this machine; where there are only others, an InconclusiveError says so.
    """
    path = Path(name)
    is_path = name != LATEST and (len(path.parts) > 1 or path.exists())
    try:
        loaded_plan = read_plan(plan, work=False)
    except UsageError:
        if plan is not None or not (is_path or history):
            raise
        loaded_plan = None
    if is_path:
        night = _read(path.parent if path.name == DOCUMENT else path)
    elif name == LATEST:
        night = _latest(loaded_plan, history)
    else:
        with _open_history(history or (loaded_plan.history if loaded_plan else ""), name) as store:
            night = store.night(name)
    if plan is not None and loaded_plan is not None and loaded_plan.name != night.plan:
        raise UsageError(
            f"The night {night.id} is of the plan {night.plan}, not of {loaded_plan.name}.",
            hint="Name the file of its own plan, or leave --plan out.",
        )
    return night, loaded_plan if loaded_plan and loaded_plan.name == night.plan else None


def _latest(plan: NightPlan | None, history: str) -> Night:
    """Return the last night of the plan on this machine; never one of another plan or machine."""
    machine = (plan.machine if plan else "") or own_name()
    folders = nights_in(plan.output) if plan and not history else []
    for night_folder in reversed(folders):
        night = _read(night_folder.folder)
        if plan and (night.plan, night.machine) == (plan.name, machine):
            return night
    url, nights, has_other_nights = (
        history or (plan.history if plan else ""),
        list[Night](),
        bool(folders),
    )
    if not (has_other_nights and _is_absent(url)):
        with _open_history(url, LATEST) as store:
            if plan is None:
                with store.database.reading() as connection:
                    require_clear_latest(connection)
            nights = store.nights(plan=plan.name if plan else None, machine=machine, limit=1)
            has_other_nights = has_other_nights or bool(store.machines())
    if nights:
        return nights[-1]
    if not has_other_nights:
        raise UsageError("There is no night yet.", hint=_HINT)
    whose = f" of the plan {plan.name}" if plan else ""
    raise InconclusiveError(
        f"There is no night{whose} on this machine, {machine}, but there are others.",
        hint="To judge one of those, name it by its id; `tracekit history` lists them.",
    )


def _read(folder: Path) -> Night:
    if not folder.exists():
        raise UsageError(f"There is no night at {folder}.", hint=_HINT)
    night = night_in(folder)
    if night is None:
        raise RecordingError(f"{folder} has no {DOCUMENT}.", hint=_HINT)
    return night


@contextmanager
def _open_history(url: str, name: str) -> Generator[Store]:
    """Open a history to look for a night; raise UsageError where there is none."""
    if _is_absent(url):
        words = f"There is no night {'yet' if name == LATEST else repr(name)}"
        raise UsageError(f"{words}, and no history at {file_of(url)}.", hint=_HINT)
    with Store.connect(url, make=False) as store:
        yield store


def _is_absent(url: str) -> bool:
    file = file_of(url)
    return file is not None and not file.exists()


def add_plan_lines(report: GateReport, plan: NightPlan | None) -> GateReport:
    """Return the report of a night with the lines of its plan."""
    if plan is None:
        return report
    document = open_document(plan.file)
    routes = {
        capture.name: (*document.root, "capture", n) for n, capture in enumerate(plan.captures)
    }
    suites = tuple(
        replace(suite, line=document.lines.get(routes.get(suite.name, ())))
        for suite in report.suites
    )
    return replace(report, suites=suites, file=in_repository(plan.file))


def in_repository(file: Path) -> str:
    """Return a file's path as its repository calls it, with slashes; else its name alone.

    A whole path would name a person's folders in a report that others read.
    """
    file = file.resolve()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    roots = [Path(workspace).resolve()] if workspace else []
    roots += [parent for parent in file.parents if (parent / ".git").exists()]
    for root in (*roots, Path.cwd().resolve()):
        if file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return file.name
