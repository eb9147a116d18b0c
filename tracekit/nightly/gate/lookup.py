"""The night that a gate judges, its plan, and the lines that show its findings."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tracekit.base import InconclusiveError, InputError, RecordingError, UsageError
from tracekit.machine import environment
from tracekit.nightly.folder import nights_in
from tracekit.nightly.gate.report.model import GateReport, Suite, add_outcome_case
from tracekit.nightly.gate.repository import in_repository
from tracekit.nightly.history.documents import night_in
from tracekit.nightly.history.night import DOCUMENT, LATEST, Night, Outcome, moment_of
from tracekit.nightly.history.store.place import file_of, require_clear_latest
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.document import open_document
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan


def judge_age(
    report: GateReport, longest: float, current_time: datetime | None = None
) -> GateReport:
    """Return the report; a good one that is older than `longest` seconds is inconclusive.

    So a gate does not stay green after nights have stopped.
    """
    if report.outcome is not Outcome.OK:
        return report
    try:
        start = moment_of(report.started)
    except InputError:
        reason = "When it began is not known, so neither is its age."
    else:
        current_time = current_time or datetime.now(UTC)
        age = (current_time - start).total_seconds()
        if age <= longest:
            return report
        age_hours = age / 3600
        longest_hours = longest / 3600
        reason = f"It began {age_hours:.1f} h ago; --max-age allows {longest_hours:.1f} h."
    old_suite = Suite(report.plan or "night", Outcome.INCONCLUSIVE, reason)
    old = add_outcome_case(old_suite)
    suites = (*report.suites, old)
    return replace(report, outcome=old.outcome, reason=reason, suites=suites)


_HINT = "`tracekit nightly run` makes one; a night's folder can be named, too."


def find_night(
    name: str = LATEST, plan: Path | None = None, history: str = ""
) -> tuple[Night, NightPlan | None]:
    """Find a night by its folder, its `night.json`, its id, the beginning of its id, or `latest`.

    The plan, if none is named, is the nearest; it is returned only if it is the night's. Ids are
    searched in the named history, else in the plan's. The latest night is the plan's last one on
    this machine; if there are only others, raise InconclusiveError.
    """
    path = Path(name)
    is_path = name != LATEST and (len(path.parts) > 1 or path.exists())
    try:
        loaded_plan = read_plan(plan, work=False)
    except UsageError:
        needs_plan = not is_path and not history
        if plan is not None or needs_plan:
            raise
        loaded_plan = None
    night = _find(name, loaded_plan, history, is_path=is_path)
    if loaded_plan is None or loaded_plan.name == night.plan:
        return night, loaded_plan
    if plan is not None:
        raise UsageError(
            f"The night {night.id} is of the plan {night.plan}, not of {loaded_plan.name}.",
            hint="Name the file of its own plan, or leave --config out.",
        )
    return night, None


def _find(name: str, plan: NightPlan | None, history: str, *, is_path: bool) -> Night:
    """Return the night of a name, which may be a path."""
    if is_path:
        path = Path(name)
        folder = path.parent if path.name == DOCUMENT else path
        return _read(folder)
    if name == LATEST:
        return _latest(plan, history)
    with _open_history(_choose_history(plan, history), name) as store:
        return store.night(name)


def _choose_history(plan: NightPlan | None, history: str) -> str:
    """Return the named history, else the plan's; empty for the default."""
    if plan is None:
        return history
    return history or plan.history


def _latest(plan: NightPlan | None, history: str) -> Night:
    """Return the last night of the plan on this machine; never one of another plan or machine."""
    machine = (plan.machine if plan else "") or environment.own_name()
    has_other_nights = False
    if plan is not None and not history:
        folders = nights_in(plan.output)
        for night_folder in reversed(folders):
            night = _read(night_folder.folder)
            if (night.plan, night.machine) == (plan.name, machine):
                return night
        has_other_nights = bool(folders)
    url = _choose_history(plan, history)
    if not has_other_nights or not _is_absent(url):
        with _open_history(url, LATEST) as store:
            night = _latest_in(store, plan, machine)
            if night is not None:
                return night
            has_other_nights = has_other_nights or bool(store.machines())
    if not has_other_nights:
        raise UsageError("There is no night yet.", hint=_HINT)
    whose = ""
    if plan:
        whose = f" of the plan {plan.name}"
    raise InconclusiveError(
        f"There is no night{whose} on this machine, {machine}, but there are others.",
        hint="To judge one of those, name it by its id; `tracekit nightly history` lists them.",
    )


def _latest_in(store: Store, plan: NightPlan | None, machine: str) -> Night | None:
    """Return the last night of the plan, or of the only one, in a history; None without any."""
    plan_name = None
    if plan is not None:
        plan_name = plan.name
    else:
        with store.database.reading() as connection:
            require_clear_latest(connection)
    nights = store.nights(plan=plan_name, machine=machine, limit=1)
    return nights[-1] if nights else None


def _read(folder: Path) -> Night:
    if not folder.exists():
        raise UsageError(f"There is no night at {folder}.", hint=_HINT)
    night = night_in(folder)
    if night is None:
        raise RecordingError(f"{folder} has no {DOCUMENT}.", hint=_HINT)
    return night


@contextmanager
def _open_history(url: str, name: str) -> Generator[Store]:
    """Open a history to search a night in it; raise UsageError if it does not exist."""
    if _is_absent(url):
        night_words = "yet" if name == LATEST else repr(name)
        raise UsageError(
            f"There is no night {night_words}, and no history at {file_of(url)}.", hint=_HINT
        )
    with Store.connect(url, make=False) as store:
        yield store


def _is_absent(url: str) -> bool:
    file = file_of(url)
    return file is not None and not file.exists()


def add_plan_lines(report: GateReport, plan: NightPlan | None) -> GateReport:
    """Return the report of a night in which suites have the lines of its plan."""
    if plan is None:
        return report
    document = open_document(plan.file)
    lines: dict[str, int | None] = {}
    for number, capture in enumerate(plan.captures):
        route = (*document.root, "capture", number)
        lines[capture.name] = document.lines.get(route)
    suites = [replace(suite, line=lines.get(suite.name)) for suite in report.suites]
    shown_file = in_repository(plan.file)
    return replace(report, suites=tuple(suites), file=shown_file)
