"""Which exports, and which bundles, can be removed because all of their tables are kept, whole."""

from collections import Counter
from pathlib import Path

from tracekit.base import InputError
from tracekit.tables.cache import READER_VERSION, Kept, digest, kept_or_read
from tracekit.tables.direct import Listed, Stored
from tracekit.tables.exports import ExportIndex, Header, PutAway, index
from tracekit.tables.place import xpath_of
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
    there = [one for one in found.every if isinstance(one.ref, Path) and one.ref.exists()]
    stems = Counter(_stem(found, listed) for listed in there)
    away: list[PutAway] = []
    stays = dict.fromkeys(found.strange, "it is no export")
    for path in dict.fromkeys(one.ref for one in there if isinstance(one.ref, Path)):
        tables = [one for one in there if one.ref == path]
        reason = _reason(found, tables, stems, cache)
        if path.is_symlink():
            reason = "it is a link"
        if reason:
            stays[path] = reason
        else:
            headers, size = found.headers[path], path.stat().st_size
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
    if lost := (*found.unread, *(one.text for one in found.lost)):
        return [], lost[0]
    stems = Counter(_stem(found, one) for one in found.every)
    away: list[PutAway] = []
    for one in found.every:
        ref = one.ref
        if not isinstance(ref, Stored):
            continue
        if why := _reason(found, [one], stems, cache):
            return [], f"{one.schema}, which is read from it: {why}"
        name = f"{ref.bundle.name}.run{ref.run}.store{ref.number}"
        header = Header(one.schema, xpath_of(one.place), 1, rows=one.rows)
        size = ref.file.stat().st_size
        away.append(PutAway(name, ref.digest(), READER_VERSION, size, (header,), at))
    return away, ""


def _reason(found: ExportIndex, tables: list[Listed], stems: Counter[str], cache: Path) -> str:
    """Say why an export with these tables must stay; empty where it may go."""
    if any(stems[_stem(found, one)] > 1 for one in tables):
        return "another file holds a table that cannot be distinguished from one of its own"
    for table in tables:
        choice = kept_as(table, found.tables[table.schema])
        try:
            kept = kept_or_read(cache, table.ref, table.schema, choice, found.toc)
        except InputError as error:
            return f"it cannot be read: {error.message}"
        if not isinstance(kept, Kept):
            return "its tables could not be kept"
        if kept.told.damage:
            return "it is damaged, and rows are missing"
    return ""


def _stem(found: ExportIndex, listed: Listed) -> str:
    return f"{listed.schema} {kept_as(listed, found.tables[listed.schema])}"
