"""Let the tables of a bundle be read where they are, as if they had been exported."""

from pathlib import Path

from tracekit.base.errors import RecordingError
from tracekit.tables.bundle.about.issues import issues_of
from tracekit.tables.bundle.about.remarks import remarks_of
from tracekit.tables.bundle.about.toc import write_toc
from tracekit.tables.direct import Direct, note_direct
from tracekit.tables.exports import index
from tracekit.tables.one_run import meant
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.stored import opened
from tracekit.tables.tables import Tables


def leave_in_place(bundle: Path, exports: Path) -> None:
    """Write the table of contents of a bundle, and a note that its tables are read from it.

    Args:
        bundle: The bundle.
        exports: The folder for exports; it is made. One beside the bundle names it without the
            folder that both are in, so that this can be moved.

    Raises:
        InputError: It is no bundle, damaged, or of a layout that is not known.
        RecordingError: The folder cannot be written.
    """
    opening = opened(bundle)
    beside = bundle.parent == exports.parent
    name = f"../{bundle.name}" if beside else str(bundle.resolve())
    try:
        exports.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{exports} cannot be made: {error.strerror}.") from error
    write_toc(opening, exports / "toc.xml")
    note_direct(exports, Direct(name))


def said_of_run(bundle: Path, number: int) -> tuple[str, ...]:
    """Return what is to be known of a run of a bundle.

    In sentences: what it lacks, what is not verified, and what Instruments noted of it.

    Raises:
        InputError: It is no bundle, damaged, or of a layout that is not known.
    """
    opening = opened(bundle)
    issues = [
        one for run in opening.runs if run.number == number for one in issues_of(opening, run)
    ]
    return (*remarks_of(opening, number), *issues)


def tables_of_bundle(bundle: Path, only: Choice = OPEN) -> Tables:
    """Return the normalized tables of a run of a bundle; no run is made of it, nothing is kept.

    Args:
        bundle: The bundle.
        only: As in `Tables`.

    Raises:
        UsageError: There is no such run.
        InputError: It is no bundle, damaged, or of a layout that is not known.
    """
    run, _ = meant(index(bundle), bundle, only.run)
    target = None if run is None else run.target
    targets = frozenset[int]() if target is None else frozenset([target.pid])
    remarks = remarks_of(opened(bundle), None if run is None else run.number)
    return Tables(bundle, targets, only=only, said=remarks)
