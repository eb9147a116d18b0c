"""Of all exports of a folder, or all tables of a bundle, those of one run."""

from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.base.errors import InputError, UsageError
from tracekit.tables.bundle.called import called
from tracekit.tables.exports import ExportIndex
from tracekit.tables.place import HOW_TO_CHOOSE, Choice
from tracekit.tables.stored import is_bundle
from tracekit.tables.toc.several import assumed, listed, required
from tracekit.tables.toc.toc import TocRun


@dataclass(frozen=True)
class OneRun:
    """The tables of one run.

    Attributes:
        index: The exports of this run, and those that do not say of which run they are.
        run: Its number; None where no export says one.
        said: That it was chosen for being the last one, where nobody named one of several.
    """

    index: ExportIndex
    run: int | None
    said: tuple[str, ...] = ()


def of_one_run(found: ExportIndex, folder: Path, only: Choice) -> OneRun:
    """Leave out what belongs to other runs, or to other places where a place is named.

    Args:
        found: All exports.
        folder: Where they are; for a sentence.
        only: The run, and the place, that someone named; without a run, the last one with tables.

    Raises:
        UsageError: There is no such run.
        InputError: There is no table at such a place.
    """
    run, said = meant(found, folder, only.run)
    number = None if run is None else run.number
    kept = Choice(number, only.table)
    tables = {
        schema: own
        for schema, listed in found.tables.items()
        if (own := tuple(one for one in listed if _belongs(one.place.run, one.place.index, kept)))
    }
    if only.table is not None and not tables:
        raise InputError(f"{_called(folder)} has no table that is {kept}.", hint=HOW_TO_CHOOSE)
    others = {one for of, told in found.of_runs.items() if of != number for one in told}
    own_lost, own_said = (
        tuple(one for one in sentences if number is None or one not in others)
        for sentences in (found.lost, found.said)
    )
    return OneRun(replace(found, tables=tables, lost=own_lost, said=own_said), number, said)


def meant(
    found: ExportIndex, folder: Path, number: int | None = None, name: str = ""
) -> tuple[TocRun | None, tuple[str, ...]]:
    """Return the run that is meant, and that it was chosen for being the last, where it was.

    Args:
        found: All exports.
        folder: Where they are.
        number: Which run; without it, the last one with tables.
        name: What the trace is called in a sentence, if not as the folder.

    Returns:
        The run as the table of contents has it; None where neither that nor any export says one.

    Raises:
        UsageError: There is no such run, or nothing of it was exported.
    """
    places = [one.place.run for listed in found.tables.values() for one in listed]
    filled = {place for place in places if place is not None}
    toc = {run.number: run for run in (found.toc.runs if found.toc is not None else ())}
    runs = [toc.get(one) or TocRun(one) for one in sorted({*toc, *filled})]
    name = name or _called(folder)
    if number is not None and runs:
        run = required(runs, number, name)
        if filled and run.tables and number not in filled:
            there = listed([one for one in runs if one.number in filled])
            raise UsageError(f"{name} has no export of run {number}.", hint=f"It has {there}.")
        return run, ()
    if number is not None and found.tables:
        raise UsageError(
            f"{name} has no run {number}: nothing says of which run its tables are.",
            hint="Leave --run out.",
        )
    last = next((run for run in reversed(runs) if run.number in filled), runs[-1] if runs else None)
    return last, () if last is None else assumed(runs, last, name)


def _called(folder: Path) -> str:
    return called(folder) if is_bundle(folder) else str(folder)


def _belongs(run: int | None, index: int | None, kept: Choice) -> bool:
    own = kept.run is None or run in {None, kept.run}
    return own and kept.table in {None, index}
