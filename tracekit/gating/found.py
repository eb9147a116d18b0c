"""Which night a gate is asked about, and the plan that it carried out."""

from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import RecordingError, UsageError
from tracekit.history.night import DOCUMENT, Night
from tracekit.history.store import Store
from tracekit.history.store.document import night_in
from tracekit.history.store.place import place, shown
from tracekit.nightly.folder import nights_in
from tracekit.nightplan import NightPlan, read_plan

LATEST = "latest"
_HINT = "`tracekit nightly` makes one; a night's folder can be named, too."


@dataclass(frozen=True)
class FoundNight:
    """A night, its folder where that is here, and its plan where that is known."""

    night: Night
    folder: Path | None = None
    plan: NightPlan | None = None


def find_night(name: str = LATEST, plan: Path | None = None, history: str = "") -> FoundNight:
    """Find a night by its folder, its `night.json`, its id, the beginning of one, or `latest`.

    Ids are looked for where the plan puts its nights, then in its history.

    Args:
        name: What names it.
        plan: The plan's file; None for the nearest one.
        history: The URL of a history that is asked instead of the plan's; empty for none.

    Raises:
        UsageError: There is no such night, more than one, or no plan to look into.
        TracekitError: It cannot be read.
    """
    path = Path(name)
    if name != LATEST and (len(path.parts) > 1 or path.exists()):
        folder = path.parent if path.name == DOCUMENT else path
        night = _read(folder)
        return FoundNight(night, folder, _plan_of(night, plan))
    if history:
        night = _in_history(history, name, None)
        return FoundNight(night, None, _plan_of(night, plan))
    wanted = read_plan(plan, work=False)
    on_disk = _on_disk(wanted.output, name)
    if on_disk is not None:
        night = _read(on_disk)
        return FoundNight(night, on_disk, wanted if night.plan == wanted.name else None)
    return FoundNight(_in_history(wanted.history, name, wanted.name), None, wanted)


def _read(folder: Path) -> Night:
    if not folder.exists():
        raise UsageError(f"There is no night at {folder}.", hint=_HINT)
    night = night_in(folder)
    if night is None:
        raise RecordingError(f"{folder} has no {DOCUMENT}.", hint=_HINT)
    return night


def _plan_of(night: Night, plan: Path | None) -> NightPlan | None:
    """Return the plan of the night; without a name given, the nearest one if it is that."""
    if plan is not None:
        return read_plan(plan, work=False)
    try:
        nearest = read_plan(None, work=False)
    except UsageError:
        return None
    return nearest if nearest.name == night.plan else None


def _on_disk(output: Path, name: str) -> Path | None:
    folders = [one.folder for one in nights_in(output)]
    if name == LATEST:
        return max(folders, key=lambda one: one.name, default=None)
    exact = [one for one in folders if one.name == name]
    found = exact or [one for one in folders if one.name.startswith(name)]
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} nights begin with {name!r}.",
            hint=f"Such as {found[0].name} and {found[1].name}: say more of it.",
        )
    return found[0] if found else None


def _in_history(url: str, name: str, plan: str | None) -> Night:
    where = place(url)
    if where.get_backend_name() == "sqlite" and not Path(str(where.database)).exists():
        told = "yet" if name == LATEST else repr(name)
        raise UsageError(f"There is no night {told}, and no history at {shown(where)}.", hint=_HINT)
    with Store.open(url, migrate=False) as store:
        if name != LATEST:
            return store.night(name)
        nights = store.nights(plan=plan, limit=1)
    if not nights:
        raise UsageError("There is no night yet.", hint=_HINT)
    return nights[-1]
