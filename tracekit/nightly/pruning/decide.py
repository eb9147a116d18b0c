"""What is to go, in which order; a decision that touches nothing."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tracekit.nightly.pruning.found import Part, RunSeen

KINDS = ("bundle", "exports")


@dataclass(frozen=True)
class Limits:
    """What may stay.

    Attributes:
        keep: How old a run may be; None for any age.
        most: How many bytes all folders may hold; None for any size.
        newest: So many runs of each folder stay whatever the others say.
    """

    keep: timedelta | None = None
    most: int | None = None
    newest: int = 3


@dataclass(frozen=True)
class Removal:
    """A part of a run that is to go, and why."""

    run: RunSeen
    part: Part
    why: str


@dataclass(frozen=True)
class Decision:
    """What is to be removed.

    Attributes:
        old: What goes because of its age.
        spare: What goes next, in this order, for as long as there is too much.
        kept: Why runs that have something to remove stay whole, by folder.
    """

    old: tuple[Removal, ...]
    spare: tuple[Removal, ...]
    kept: dict[Path, str]


def decide(
    runs: Sequence[RunSeen], limits: Limits, now: datetime, reason: Callable[[RunSeen], str]
) -> Decision:
    """Decide what goes: bundles before exports, and of each the oldest first.

    Args:
        runs: All runs.
        limits: What may stay.
        now: The time.
        reason: Why a run must stay whole; empty where it may go.
    """
    newest = _newest(runs, limits.newest)
    kept: dict[Path, str] = {}
    free: list[RunSeen] = []
    for run in runs:
        why = run.busy or reason(run) or ("it is one of the newest" if run.folder in newest else "")
        if not why:
            free.append(run)
        if why or run.only:
            kept[run.folder] = why or run.only
    free.sort(key=lambda run: (run.begun, run.folder))
    ordered = [
        (run, part) for kind in KINDS for run in free for part in run.parts if part.kind == kind
    ]
    old = [one for one in ordered if limits.keep is not None and now - one[0].begun > limits.keep]
    spare = [one for one in ordered if limits.most is not None and one not in old]
    return Decision(
        tuple(Removal(run, part, "old") for run, part in old),
        tuple(Removal(run, part, "room") for run, part in spare),
        kept,
    )


def _newest(runs: Sequence[RunSeen], count: int) -> set[Path]:
    by_root: dict[Path, list[RunSeen]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.begun, run.folder), reverse=True):
        by_root[run.root].append(run)
    return {run.folder for found in by_root.values() for run in found[:count]}
