"""Which night a gate is asked about, its plan, and where its findings are shown."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tracekit.analysis import Evidence, load
from tracekit.base import InconclusiveError, Recording, RecordingError, TracekitError, UsageError
from tracekit.machine import own_name
from tracekit.nightly.folder import nights_in
from tracekit.nightly.gate.report.model import GateReport, Suite, explained
from tracekit.nightly.history.night import DOCUMENT, Entry, Night, Outcome
from tracekit.nightly.history.store.documents import night_in
from tracekit.nightly.history.store.place import LATEST, place, require_clear_latest, shown
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.document import open_document
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan


def aged(report: GateReport, longest: float, now: datetime | None = None) -> GateReport:
    """Return the report; a good one that is older than `longest` seconds is inconclusive.

    So a gate does not stay green because nights have stopped.
    """
    if report.outcome is not Outcome.OK:
        return report
    try:
        begun = datetime.fromisoformat(report.started)
        begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
    except ValueError:
        return _inconclusive(report, "When it began is not known.")
    age = ((now or datetime.now(UTC)) - begun).total_seconds()
    if age <= longest:
        return report
    return _inconclusive(
        report, f"It began {age / 3600:.1f} h ago; --max-age allows {longest / 3600:.1f} h."
    )


def _inconclusive(report: GateReport, reason: str) -> GateReport:
    suite = explained(Suite(report.plan or "night", Outcome.INCONCLUSIVE, reason))
    return replace(
        report,
        outcome=Outcome.INCONCLUSIVE,
        reason=reason,
        suites=(*report.suites, suite),
    )


_HINT = "`tracekit nightly` makes one; a night's folder can be named, too."


@dataclass(frozen=True)
class FoundNight:
    """A night, its folder where that is here, and its plan where that is known."""

    night: Night
    folder: Path | None = None
    plan: NightPlan | None = None


def find_night(name: str = LATEST, plan: Path | None = None, history: str = "") -> FoundNight:
    """Find a night by its folder, its `night.json`, its id, the beginning of one, or `latest`.

    Ids are looked for where the plan puts its nights, then in its history. The latest is the last
    one of the plan on this machine.

    Args:
        name: What names it.
        plan: The plan's file; None for the nearest one.
        history: The URL of a history that is asked instead of the plan's; empty for none.

    Raises:
        UsageError: There is no such night, more than one, or no plan to look into; or the night is
            of another plan than the one that was named.
        InconclusiveError: There are nights, but none of the plan on this machine is the latest.
        TracekitError: It cannot be read.
    """
    path = Path(name)
    if name == LATEST:
        return _latest(plan, history)
    if len(path.parts) > 1 or path.exists():
        folder = path.parent if path.name == DOCUMENT else path
        night = _read(folder)
        return FoundNight(night, folder, _plan_of(night, plan))
    if history:
        night = _in_history(history, name)
        return FoundNight(night, None, _plan_of(night, plan))
    wanted = read_plan(plan, work=False)
    folder = _on_disk(wanted, name)
    night = _in_history(wanted.history, name) if folder is None else _read(folder)
    return FoundNight(night, folder, _plan_of(night, plan))


def _latest(file: Path | None, history: str) -> FoundNight:
    """Return the last night of the plan on this machine; never one of another plan or machine."""
    try:
        plan = read_plan(file, work=False)
    except UsageError:
        if file is not None or not history:
            raise
        return _latest_without_plan(history)
    machine = plan.machine or own_name()
    if not history:
        for night_folder in reversed(nights_in(plan.output)):
            night = _read(night_folder.folder)
            if (night.plan, night.machine) == (plan.name, machine):
                return FoundNight(night, night_folder.folder, plan)
    others = not history and bool(nights_in(plan.output))
    if others and _is_absent(plan.history):
        raise _none_of(plan.name, machine)
    with _opened(history or plan.history, LATEST) as store:
        nights = store.nights(plan=plan.name, machine=machine, limit=1)
        others = others or bool(store.machines())
    if nights:
        return FoundNight(nights[-1], None, plan)
    if others:
        raise _none_of(plan.name, machine)
    raise UsageError("There is no night yet.", hint=_HINT)


def _latest_without_plan(history: str) -> FoundNight:
    machine = own_name()
    with _opened(history, LATEST) as store:
        with store.database.reading() as connection:
            require_clear_latest(connection)
        night = store.night(LATEST)
    if night.machine != machine:
        raise _none_of("", machine)
    return FoundNight(night)


def _none_of(plan: str, machine: str) -> InconclusiveError:
    whose = f" of the plan {plan}" if plan else ""
    return InconclusiveError(
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


def _plan_of(night: Night, file: Path | None) -> NightPlan | None:
    """Return the plan of the night; without a name given, the nearest one if it is that."""
    if file is not None:
        plan = read_plan(file, work=False)
        if plan.name != night.plan:
            raise UsageError(
                f"The night {night.id} is of the plan {night.plan}, not of {plan.name}.",
                hint="Name the file of its own plan, or leave --plan out.",
            )
        return plan
    try:
        nearest = read_plan(None, work=False)
    except UsageError:
        return None
    return nearest if nearest.name == night.plan else None


def _on_disk(plan: NightPlan, name: str) -> Path | None:
    """Return the folder of the night that a name means; of several, the one of the plan."""
    folders = [night_folder.folder for night_folder in nights_in(plan.output)]
    exact = [folder for folder in folders if folder.name == name]
    found = exact or [one for one in folders if one.name.startswith(name)]
    if len(found) > 1:
        found = [one for one in found if _read(one).plan == plan.name] or found
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} nights begin with {name!r}.",
            hint=f"Such as {found[0].name} and {found[1].name}: say more of it.",
        )
    return found[0] if found else None


def _in_history(url: str, name: str) -> Night:
    with _opened(url, name) as store:
        return store.night(name)


@contextmanager
def _opened(url: str, name: str) -> Generator[Store]:
    """Open a history to look for a night; raise UsageError where there is none."""
    if _is_absent(url):
        which = "yet" if name == LATEST else repr(name)
        where = shown(place(url))
        raise UsageError(f"There is no night {which}, and no history at {where}.", hint=_HINT)
    with Store.open(url, make=False) as store:
        yield store


def _is_absent(url: str) -> bool:
    where = place(url)
    return where.get_backend_name() == "sqlite" and not Path(str(where.database)).exists()


_MOST_WINDOWS = 5


def placed(report: GateReport, found: FoundNight) -> GateReport:
    """Return the report of a night with the lines of its plan and the windows of its traces."""
    lines = _lines(found.plan) if found.plan is not None else {}
    entries = {entry.capture: entry for entry in found.night.entries}
    suites = tuple(
        replace(
            _with_windows(suite, entries.get(suite.name), found.folder), line=lines.get(suite.name)
        )
        for suite in report.suites
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
    roots += [parent for parent in file.parents if (parent / ".git").exists()]
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
    routes = {one.name: (*document.root, "capture", n) for n, one in enumerate(plan.captures)}
    return {name: line for name, at in routes.items() if (line := document.lines.get(at))}


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
