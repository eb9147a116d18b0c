"""What must stay, however old: what was pinned, accepted, or is where a series changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tracekit.compare.accepted import Accepted
from tracekit.nightly.history.series import Series
from tracekit.nightly.pruning.found import RunSeen


class ChangePoint(Protocol):
    """Where a series changed, as places in it; see `tracekit.nightly.history.steps`."""

    @property
    def index(self) -> int:
        """The first night after the change."""
        ...

    @property
    def earliest(self) -> int:
        """The first night that it may have been."""
        ...

    @property
    def latest(self) -> int:
        """The last one."""
        ...


class History(Protocol):
    """What is asked of a history; see `tracekit.nightly.history.store`."""

    def pinned(self) -> frozenset[str]:
        """Return ids of nights, and whole paths of folders."""
        ...

    def acceptances(self) -> Sequence[Accepted]:
        """Return all that was ever accepted."""
        ...

    def series(self) -> Sequence[Series]:
        """Return all series."""
        ...


@dataclass(frozen=True)
class Protection:
    """Why nights and folders must stay.

    Attributes:
        nights: Reasons, by the night's id.
        folders: Reasons, by the folder's real path; what is in it stays too.
        known: Whether a history was asked; without one, nights stay.
    """

    nights: Mapping[str, str] = field(default_factory=dict[str, str])
    folders: Mapping[Path, str] = field(default_factory=dict[Path, str])
    known: bool = True

    def reason(self, run: RunSeen) -> str:
        """Say why a run must stay; empty where it may go."""
        for folder in (run.folder, *run.folder.parents):
            if folder in self.folders:
                return self.folders[folder]
        if run.night is None:
            return ""
        if not run.night.id:
            return "its night.json cannot be read"
        if not run.night.ended:
            return "its night has not ended"
        if not self.known:
            return "no history tells whether its night must stay; name the plan with --config"
        return self.nights.get(run.night.id, "")


def protection(history: History, steps: Callable[[Series], Iterable[ChangePoint]]) -> Protection:
    """Ask a history what must stay.

    Args:
        history: The history.
        steps: What finds the change points of a series. The nights right before and after one
            stay, and all that it may have been.
    """
    nights: dict[str, str] = {}
    for series in history.series():
        ids = [point.night for point in series.points]
        for step in steps(series):
            first, last = min(step.index, step.earliest), max(step.index, step.latest)
            for night in ids[max(0, first - 1) : last + 2]:
                nights[night] = f"{series.metric} of {series.capture} changed there"
    for one in history.acceptances():
        nights[one.night] = f"it was accepted as a baseline: {one.reason}"
    folders: dict[Path, str] = {}
    for name in history.pinned():
        if Path(name).is_absolute():
            folders[Path(name).resolve()] = "it is pinned"
        else:
            nights[name] = "its night is pinned"
    return Protection(nights, folders)
