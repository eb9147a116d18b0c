"""What a database says when it refuses, in words that a person can act on."""

from collections.abc import Sequence

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from tracekit.base.errors import InputError, RecordingError, ToolError, TracekitError
from tracekit.nightly.history.store.place import shown

_NOTHING_LOST = "What was there is as it was, and the night's folder keeps its night.json."

# By the beginning of SQLite's names and PostgreSQL's codes: https://sqlite.org/rescode.html and
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_WORDS: Sequence[tuple[tuple[str, ...], type[TracekitError], str, str]] = (
    (
        ("SQLITE_FULL", "53100"),
        RecordingError,
        "{place} cannot be written: the disk is full, or the database may not grow.",
        f"Make room. {_NOTHING_LOST}",
    ),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03"),
        RecordingError,
        "{place} is locked by another process, for longer than one waits.",
        f"Try again once nobody writes to it. {_NOTHING_LOST}",
    ),
    (
        ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH", "25006", "42501"),
        RecordingError,
        "{place} cannot be written: it is read-only for you.",
        f"Name another place, or let this user write there. {_NOTHING_LOST}",
    ),
    (
        ("SQLITE_CANTOPEN",),
        RecordingError,
        "{place} cannot be opened, or the folder that it is in cannot be written.",
        f"See who may read and write it. {_NOTHING_LOST}",
    ),
    (
        ("SQLITE_NOTADB",),
        InputError,
        "{place} is not a database of SQLite.",
        "Name another file; a history is made where there is none.",
    ),
    (
        ("SQLITE_CORRUPT",),
        InputError,
        "{place} is damaged: {said}.",
        "Take a copy of it, then make a new one from the copy: sqlite3 COPY .recover",
    ),
    (
        ("SQLITE_IOERR", "58"),
        RecordingError,
        "{place} cannot be read or written: {said}.",
        f"See whether the disk is full or failing. {_NOTHING_LOST}",
    ),
    (
        ("3D000",),
        RecordingError,
        "{place}: there is no such database.",
        "Make it: createdb NAME",
    ),
    (
        ("28",),
        RecordingError,
        "{place} does not let this user in: {said}.",
        "See the user's name and password in the URL, or in ~/.pgpass.",
    ),
    (
        ("57P", "08", "53"),
        RecordingError,
        "{place} does not answer any more: {said}.",
        f"Start the server, and try again. {_NOTHING_LOST}",
    ),
)
# A connection that fails has no code; the server's own words are in the message.
_SAID = (("password authentication failed", "28"), ("does not exist", "3D000"))


def told(error: DBAPIError, url: URL) -> TracekitError:
    """Return what happened, as one of our errors; a password is never in it."""
    said = _said(error, url)
    code = _code(error)
    if not code and url.get_backend_name() != "sqlite":
        code = next((one for words, one in _SAID if words in said), "08")
    for beginnings, kind, message, hint in _WORDS:
        if code.startswith(beginnings):
            return kind(message.format(place=shown(url), said=said), hint=hint)
    return ToolError(f"{shown(url)} refused: {said}.", hint=_NOTHING_LOST)


def _code(error: DBAPIError) -> str:
    for name in ("sqlite_errorname", "sqlstate"):
        found = getattr(error.orig, name, None)
        if found:
            return str(found)
    return ""


def _said(error: DBAPIError, url: URL) -> str:
    """Return the last line that says something; the others repeat attempts, or are hints."""
    lines = [line.strip() for line in str(error.orig).splitlines()]
    said = next((line for line in lines if line), type(error.orig).__name__)
    password = str(url.password or "")
    return (said.replace(password, "…") if password else said).rstrip(".")
