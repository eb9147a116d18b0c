"""Which night a gate is asked about, and the plan that it carried out."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import InconclusiveError, RecordingError, UsageError
from tracekit.machine.environment import own_name
from tracekit.nightly.folder import nights_in
from tracekit.nightly.history.night import DOCUMENT, Night
from tracekit.nightly.history.store.document import night_in
from tracekit.nightly.history.store.naming import LATEST, require_clear_latest
from tracekit.nightly.history.store.place import place, shown
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan

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
        for one in reversed(nights_in(plan.output)):
            night = _read(one.folder)
            if (night.plan, night.machine) == (plan.name, machine):
                return FoundNight(night, one.folder, plan)
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
    folders = [one.folder for one in nights_in(plan.output)]
    exact = [one for one in folders if one.name == name]
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
        told = "yet" if name == LATEST else repr(name)
        where = shown(place(url))
        raise UsageError(f"There is no night {told}, and no history at {where}.", hint=_HINT)
    with Store.open(url, migrate=False) as store:
        yield store


def _is_absent(url: str) -> bool:
    where = place(url)
    return where.get_backend_name() == "sqlite" and not Path(str(where.database)).exists()
