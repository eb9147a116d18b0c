"""Which exports, and which bundles, can be removed because all of their tables are kept, whole."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tracekit.base import InputError
from tracekit.tables.cache import READER_VERSION, Cache, Kept, digest
from tracekit.tables.direct import stored
from tracekit.tables.exports import PARQUET, ExportIndex, Header, Listed, PutAway, index
from tracekit.tables.place import Choice, xpath_of
from tracekit.tables.raw import kept_as


def to_put_away(exports: Path, cache: Path, at: str) -> tuple[list[PutAway], dict[Path, str]]:
    """Keep every table of every export that is there, and return what may be removed then.

    Args:
        exports: The folder of exports; its table of contents is none of them.
        cache: The folder of kept tables.
        at: When they are removed, ISO 8601.

    Returns:
        What may be removed, and why others must stay, by path: files that are no exports or are
        links, damaged ones, and those whose tables could not be kept.

    Raises:
        InputError: The folder cannot be read.
    """
    found = index(exports, cache)
    stems = Counter(_stem(found, listed) for listed in _all(found) if listed.file.exists())
    away: list[PutAway] = []
    stays = dict.fromkeys(found.strange, "it is no export")
    for path in dict.fromkeys(one.file for one in _all(found) if one.file.exists()):
        tables = [one for one in _all(found) if one.file == path]
        reason = _reason(found, tables, stems, cache)
        if reason:
            stays[path] = reason
        else:
            headers = found.headers[path]
            size = path.stat().st_size
            away.append(PutAway(path.name, digest(path), READER_VERSION, size, headers, at))
    return away, stays


def stored_to_put_away(exports: Path, cache: Path, at: str) -> tuple[list[PutAway], str]:
    """Keep every table that is read from a bundle, and return what stands for them without it.

    Args:
        exports: The folder with the note about the bundle.
        cache: The folder of kept tables.
        at: When the bundle is removed, ISO 8601.

    Returns:
        What stands for its tables, and why it must stay; the one or the other is empty.

    Raises:
        InputError: The folder cannot be read.
    """
    found = index(exports, cache)
    if lost := (*found.unread, *found.lost):
        return [], lost[0]
    every = [one for listed in found.tables.values() for one in listed]
    stems = Counter(_stem(found, one) for one in every)
    away: list[PutAway] = []
    for one in every:
        place = stored(one.file)
        if place is None:
            continue
        if why := _reason(found, [one], stems, cache):
            return [], f"{one.schema}, which is read from it: {why}"
        name = f"{place.bundle.name}.run{place.run}.store{place.number}"
        header = Header(one.schema, xpath_of(one.place), 1, rows=one.rows)
        size = one.file.stat().st_size
        away.append(PutAway(name, place.digest(), READER_VERSION, size, (header,), at))
    return away, ""


def _reason(found: ExportIndex, tables: list[Listed], stems: Counter[str], cache: Path) -> str:
    """Say why an export with these tables must stay; empty where it may go."""
    if tables[0].file.is_symlink():
        return "it is a link"
    if any(stems[_stem(found, one)] > 1 for one in tables):
        return "another file holds a table that cannot be distinguished from one of its own"
    for table in tables:
        try:
            kept = Cache(cache).table(table.file, table.schema, _choice(found, table), found.toc)
        except InputError as error:
            return f"it cannot be read: {error.message}"
        if not isinstance(kept, Kept):
            return "its tables could not be kept"
        if kept.damage:
            return "it is damaged, and rows are missing"
    return ""


def _all(found: ExportIndex) -> Iterator[Listed]:
    """Yield the tables of files of XML: those of a bundle, and of Parquet files, stay there."""
    for listed in found.tables.values():
        for one in listed:
            if stored(one.file) is None and one.file.suffix != PARQUET:
                yield one


def _choice(found: ExportIndex, listed: Listed) -> Choice:
    return kept_as(listed, found.tables[listed.schema])


def _stem(found: ExportIndex, listed: Listed) -> str:
    return f"{listed.schema} {_choice(found, listed)}"
