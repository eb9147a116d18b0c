"""Whether a history is whole: its database, and its nights against their documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tracekit.base import InputError, TracekitError, Wholeness
from tracekit.nightly.folder import nights_in
from tracekit.nightly.history.documents import as_document, cut_short, decode_night, night_in
from tracekit.nightly.history.night import DOCUMENT, Night
from tracekit.nightly.history.store.database import Database
from tracekit.nightly.history.store.place import describe_url, file_of, url_of
from tracekit.nightly.history.store.store import Store

_SOUND = "ok"


def examine_history(url: str, progress: Callable[[str], None]) -> Wholeness:
    """Compare a history with the documents of its nights, and these with the history.

    Raise RecordingError or UsageError if there is no history, or its server does not answer.
    """
    file = file_of(url)
    name = describe_url(url_of(url))
    try:
        with Store.connect(url, make=False) as store:
            progress("examining the database")
            faults = list(_unsound(store.database))
            progress("reading the nights")
            nights = {night.id: night for night in store.nights()}
    except InputError as error:
        return Wholeness("history", name, faults=(error.message,))
    home = None
    folders: set[Path] = set()
    if file is not None:
        home = file.parent
        folders.add(home)
    unknown: list[str] = []
    documents = 0
    for night in nights.values():
        folder = _folder(night, home)
        if folder is None or not folder.parent.is_dir():
            unknown.append(f"The folder of the night {night.id} is not on this machine.")
            continue
        documents += 1
        folders.add(folder.parent)
        faults += _check_document(night, folder)
    for is_fault, text in _find_unknown_nights(folders, nights):
        if is_fault:
            faults.append(text)
        else:
            unknown.append(text)
    checked = {"nights": len(nights), "documents": documents}
    return Wholeness("history", name, checked, tuple(faults), tuple(unknown))


def _unsound(database: Database) -> Iterator[str]:
    """Yield the faults that SQLite finds in its file; a server looks after its own."""
    if not database.is_sqlite:
        return
    with database.reading() as connection:
        for (message,) in connection.exec_driver_sql("PRAGMA integrity_check"):
            if message != _SOUND:
                yield f"SQLite finds of {database.display_name}: {message}."
        for table, row, *_ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield f"Row {row} of {table} in {database.display_name} belongs to nothing."


def _folder(night: Night, home: Path | None) -> Path | None:
    """Return the folder of a night's document; None if the history does not tell it."""
    folder = Path(night.folder or night.id)
    if night.folder and folder.is_absolute():
        return folder
    if home is None:
        return None
    return home / folder


def _check_document(night: Night, folder: Path) -> Iterator[str]:
    try:
        document_night = night_in(folder)
    except TracekitError as error:
        yield error.message
        return
    if document_night is None:
        yield f"The document of the night {night.id}, {folder / DOCUMENT}, is missing."
    elif _as_kept(document_night) != _as_kept(night):
        yield f"{folder / DOCUMENT} is not the night {night.id} of the history."


def _as_kept(night: Night) -> Night:
    """Return a night as the history keeps it, whichever of the two it comes from."""
    return decode_night(as_document(cut_short(night)), night.id)


def _find_unknown_nights(
    folders: Iterable[Path], nights: Mapping[str, Night]
) -> Iterator[tuple[bool, str]]:
    """Yield nights that have a document and are not in the history; whether that is a fault.

    Nights of plans that the history does not know may be another history's, and one that has not
    ended may still run.
    """
    plans = {night.plan for night in nights.values()}
    for folder in sorted(folders):
        for night_folder in nights_in(folder):
            try:
                night = night_in(night_folder.folder)
            except TracekitError as error:
                yield True, error.message
                continue
            if night is None or not night.kept or night.id in nights:
                continue
            if plans and night.plan not in plans:
                continue
            place = f"The night {night.id} in {night_folder.folder}"
            if night.ended:
                yield True, f"{place} is not in the history."
            else:
                yield False, f"{place} still runs, or was killed."
