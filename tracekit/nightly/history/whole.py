"""Whether a history is whole: its database, and its nights against their documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tracekit.base import InputError, TracekitError, Wholeness
from tracekit.nightly.folder import nights_in
from tracekit.nightly.history.night import DOCUMENT, Night
from tracekit.nightly.history.store.database import Database
from tracekit.nightly.history.store.documents import as_document, cut_short, decoded, night_in
from tracekit.nightly.history.store.place import file_of, place, shown
from tracekit.nightly.history.store.store import Store

_SOUND = "ok"


def examine_history(url: str, progress: Callable[[str], None]) -> Wholeness:
    """Hold a history against the documents of its nights, and these against the history.

    Raise RecordingError or UsageError where there is no history, or its server does not answer.
    """
    file = file_of(url)
    name = shown(place(url))
    try:
        with Store.open(url, make=False) as store:
            progress("examining the database")
            faults = list(_unsound(store.database))
            progress("reading the nights")
            nights = {night.id: night for night in store.nights()}
    except InputError as error:
        return Wholeness("history", name, faults=(error.message,))
    home = None if file is None else file.parent
    unknown: list[str] = []
    folders = {home} if home is not None else set[Path]()
    documents = 0
    for night in nights.values():
        folder = _folder(night, home)
        if folder is None or not folder.parent.is_dir():
            unknown.append(f"The folder of the night {night.id} is not on this machine.")
            continue
        documents += 1
        folders.add(folder.parent)
        faults += _compared(night, folder)
    for fault, text in _beside(folders, nights):
        (faults if fault else unknown).append(text)
    checked = {"nights": len(nights), "documents": documents}
    return Wholeness("history", name, checked, tuple(faults), tuple(unknown))


def _unsound(database: Database) -> Iterator[str]:
    """Yield what SQLite finds wrong with its file; a server looks after its own."""
    if not database.is_sqlite:
        return
    with database.reading() as connection:
        for (said,) in connection.exec_driver_sql("PRAGMA integrity_check"):
            if said != _SOUND:
                yield f"SQLite finds of {database.shown}: {said}."
        for table, row, *_ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            yield f"Row {row} of {table} in {database.shown} belongs to nothing."


def _folder(night: Night, home: Path | None) -> Path | None:
    """Return where a night's document was; None where the history does not say."""
    if not night.folder:
        return None if home is None else home / night.id
    folder = Path(night.folder)
    if folder.is_absolute():
        return folder
    return None if home is None else home / folder


def _compared(night: Night, folder: Path) -> Iterator[str]:
    try:
        held = night_in(folder)
    except TracekitError as error:
        yield error.message
        return
    if held is None:
        yield f"The document of the night {night.id}, {folder / DOCUMENT}, is missing."
    elif _as_kept(held) != _as_kept(night):
        yield f"{folder / DOCUMENT} is not the night {night.id} of the history."


def _as_kept(night: Night) -> Night:
    """Return a night as the history keeps it, whichever of the two it comes from."""
    return decoded(as_document(cut_short(night)), night.id)


def _beside(folders: Iterable[Path], nights: Mapping[str, Night]) -> Iterator[tuple[bool, str]]:
    """Yield nights that have a document and are not in the history; whether that is a fault.

    Nights of plans that the history does not know may be another history's, and one that has not
    ended may still run.
    """
    plans = {night.plan for night in nights.values()}
    for each in (night for folder in sorted(folders) for night in nights_in(folder)):
        try:
            held = night_in(each.folder)
        except TracekitError as error:
            yield True, error.message
            continue
        if held is None or not held.kept or held.id in nights or (plans and held.plan not in plans):
            continue
        if held.ended:
            yield True, f"The night {held.id} in {each.folder} is not in the history."
        else:
            yield False, f"The night {held.id} in {each.folder} still runs, or was killed."
