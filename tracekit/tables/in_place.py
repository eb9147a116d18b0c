"""Let the tables of a bundle be read where they are, as if they had been exported."""

from pathlib import Path

from tracekit.errors import RecordingError
from tracekit.tables.bundle.about.issues import issues_of
from tracekit.tables.bundle.about.remarks import remarks_of
from tracekit.tables.bundle.about.toc import toc_of, write_toc
from tracekit.tables.direct import Direct, note_direct
from tracekit.tables.stored import opened
from tracekit.tables.tables import Tables


def leave_in_place(bundle: Path, exports: Path) -> tuple[str, ...]:
    """Write the table of contents of a bundle, and a note that its tables are read from it.

    Args:
        bundle: The bundle.
        exports: The folder for exports; it is made. One beside the bundle names it without the
            folder that both are in, so that this can be moved.

    Returns:
        What is to be known of the bundle, in sentences: what it lacks, what is not verified, and
        what Instruments noted of its runs.

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
    issues = [one for run in opening.runs for one in issues_of(opening, run)]
    return (*remarks_of(opening), *issues)


def tables_of_bundle(bundle: Path) -> Tables:
    """Return the normalized tables of a bundle, without making a run of it; nothing is kept.

    Raises:
        InputError: It is no bundle, damaged, or of a layout that is not known.
    """
    runs = toc_of(opened(bundle)).runs
    return Tables(bundle, frozenset(run.target.pid for run in runs if run.target is not None))
