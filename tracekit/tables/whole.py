"""The check of a bundle for wholeness: each table is read to its last row, and counted."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tracekit.base import InputError, Wholeness
from tracekit.tables import captures
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import Unreadable, run_folder
from tracekit.tables.bundle.errors import UnknownBundleError
from tracekit.tables.bundle.run_info import run_info, toc_of
from tracekit.tables.direct import Listed, Stored, open_bundle, tables_in
from tracekit.tables.flat import TableSelection, read_pieces
from tracekit.tables.losses import Flaw, Severity, collecting
from tracekit.tables.toc import Toc
from tracekit.tables.xml.node import Node


def examine_bundle(path: Path, progress: Callable[[str], None]) -> Wholeness:
    """Read all tables of a bundle, and compare the rows of each with the count in its store.

    A file that no reader of tables reads is not examined. The wholeness of a bundle of an unknown
    layout is unknown.
    """
    if captures.is_capture(path):
        return _examine_capture(path)
    try:
        bundle = open_bundle(path)
        toc = toc_of(bundle)
        listed_tables = tables_in(bundle, toc)
    except UnknownBundleError as error:
        return Wholeness("bundle", str(path), unknown=(error.message,))
    except InputError as error:
        return Wholeness("bundle", str(path), faults=(error.message,))
    faults = dict.fromkeys(_find_missing(bundle))
    rows = 0
    tables = 0
    for table in listed_tables:
        if table.unreadable:
            continue
        progress(f"reading {table.schema}")
        with collecting():  # losses are returned as faults
            count, wrong = _read(bundle, table, toc)
        faults |= dict.fromkeys(wrong)
        rows += count
        tables += 1
    checked = {"runs": len(bundle.runs), "tables": tables, "rows": rows}
    unknown: list[str] = []
    for run in bundle.runs:
        unknown += map(str, run.unchecked_losses)
    return Wholeness("bundle", str(path), checked, tuple(faults), tuple(unknown))


def _examine_capture(path: Path) -> Wholeness:
    """Read a GPU frame capture, and count the bytes that its format does not explain."""
    try:
        capture = captures.open_capture(path)
        with collecting():  # losses are returned as faults
            losses = capture.losses
    except InputError as error:
        return Wholeness("bundle", str(path), faults=(error.message,))
    faults = [str(loss) for loss in losses if loss.severity is Severity.ERROR]
    unknown = [str(loss) for loss in losses if loss.flaw is Flaw.UNSURE]
    checked = {
        "contents": len(capture.files.contents),
        "calls": len(capture.commands.calls),
        "dispatches": len(capture.commands.dispatches),
    }
    return Wholeness("bundle", str(path), checked, tuple(faults), tuple(unknown))


class _Counter:
    """A taker of tables that only counts their rows."""

    def __init__(self) -> None:
        self.rows = 0

    def begin(self) -> None:
        self.rows = 0

    def take(self, piece: Node) -> None:
        self.rows += piece.rows


def _read(bundle: Bundle, table: Listed, toc: Toc | None) -> tuple[int, list[str]]:
    """Return the number of rows of a table that were read, and its faults in sentences."""
    name = f"{table.schema}, {table},"
    counter = _Counter()
    try:
        selection = TableSelection(table.ref, counter, table.schema, table.choice, toc)
        read_pieces(table.ref, selection, toc)
        selection.finish()
    except InputError as error:
        return counter.rows, [f"{name} cannot be read: {error.message}"]
    losses = selection.notes(()).losses
    wrong = [str(loss) for loss in losses if loss.severity is Severity.ERROR]
    expected = _rows(bundle, table)
    if expected is not None and counter.rows != expected:
        wrong.append(f"{name} has {counter.rows:,} of the {expected:,} rows in its store.")
    return counter.rows, wrong


def _rows(bundle: Bundle, table: Listed) -> int | None:
    if not isinstance(table.ref, Stored):
        return None
    number = table.ref.run
    matching_runs = (run for run in bundle.runs if run.number == number)
    run = next(matching_runs)
    return run.store(table.ref.number).rows


def _find_missing(bundle: Bundle) -> Iterator[str]:
    """Yield the missing and damaged parts of a bundle, in sentences."""
    yield from map(str, bundle.missing)
    for run in bundle.runs:
        yield from _lacking_of(run)


def _lacking_of(run: BundleRun) -> Iterator[str]:
    _, losses = run_info(run)
    yield from map(str, losses)
    yield from map(str, run.names.losses)
    for table in run.tables:
        if isinstance(table, Unreadable):
            yield str(table.loss)
    yield from _find_damage(run)


def _find_damage(run: BundleRun) -> Iterator[str]:
    """Yield the damage of texts, types and arrays, of which tables may need only some."""
    for name, read in (
        ("strings", lambda: len(run.strings)),
        ("EngineeringTypes.etypes", lambda: len(run.types)),
        ("arrayUniquer", lambda: len(run.arrays)),
        ("typedArrayUniquer", lambda: len(run.typed_arrays)),
    ):
        if not run.files.exists(f"{run_folder(run.number)}/uniquing/{name}"):
            continue
        try:
            read()
        except InputError as error:
            yield error.message
