"""The tables of a bundle that stays in its place, and the folder of exports that refers to it."""

from collections.abc import Sequence
from pathlib import Path

from tracekit.base import RecordingError, UsageError
from tracekit.tables import captures
from tracekit.tables.bundle.run_info import issues_of, losses_of, write_toc
from tracekit.tables.direct import open_bundle
from tracekit.tables.exports import index, select_run
from tracekit.tables.losses import Loss, report
from tracekit.tables.notes import DirectNote
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.tables import Tables


def leave_in_place(bundle: Path, exports: Path, include: Sequence[str] = ()) -> None:
    """Write the table of contents of a bundle, and a note that its tables are read from it.

    A folder of exports next to the bundle refers to it without the folder that both are in, so that
    this can be moved. A GPU frame capture has no table of contents; `include` names its private
    parts that become tables. A bundle that cannot be read is an InputError.
    """
    if captures.is_capture(bundle):
        captures.open_capture(bundle)
        name = _place_next_to(bundle, exports)
        DirectNote(name, include=tuple(include)).save(exports)
        return
    opening = open_bundle(bundle)
    name = _place_next_to(bundle, exports)
    write_toc(opening, exports / "toc.xml")
    DirectNote(name).save(exports)


def _place_next_to(bundle: Path, exports: Path) -> str:
    """Make the folder of exports, and return the path by which its note names the bundle."""
    try:
        exports.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{exports} cannot be made: {error.strerror}.") from error
    if bundle.parent == exports.parent:
        return f"../{bundle.name}"
    return str(bundle.resolve())


def losses_of_run(bundle: Path, number: int) -> tuple[Loss, ...]:
    """Return the losses of a run of a bundle, and report them.

    These are missing data, unverified data, and the issues that Instruments noted.
    """
    opening = open_bundle(bundle)
    losses = list(losses_of(opening, number))
    for run in opening.runs:
        if run.number == number:
            losses += issues_of(opening, run)
    report(losses)
    return tuple(losses)


def tables_of_bundle(bundle: Path, choice: Choice = OPEN, include: Sequence[str] = ()) -> Tables:
    """Return the normalized tables of a run of a bundle, without a folder for it.

    `include` names the private parts of a GPU frame capture that become tables: "source",
    "buffers". A run that is not there is a UsageError, a bundle that cannot be read an InputError.
    """
    if captures.is_capture(bundle):
        return Tables(bundle, only=choice, include=include)
    if include:
        raise UsageError(
            f"{bundle} is not a GPU frame capture, which alone has sources and buffers.",
            hint="Leave --include out.",
        )
    run, _ = select_run(index(bundle), bundle, choice.run)
    number: int | None = None
    targets = frozenset[int]()
    if run is not None:
        number = run.number
        if run.target is not None:
            targets = frozenset([run.target.pid])
    prior_losses = losses_of(open_bundle(bundle), number)
    return Tables(bundle, targets, only=choice, known=prior_losses)
