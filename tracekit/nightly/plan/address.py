"""The URL of a plan's history, made whole: a file of SQLite is relative to the plan's."""

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.nightly.plan.given import Given
from tracekit.nightly.plan.mistakes import Mistakes, UnfitError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_SERVER = "postgresql"
_FILE = "sqlite"
_HINT = 'Write "sqlite:///nights.db" or "postgresql://user@host/database".'


def history_of(given: Given | None, output: Path, folder: Path, mistakes: Mistakes) -> str:
    """Return the URL of the history; without one that of `history.db` among the nights.

    Mistakes never show a URL, for it may hold a password.
    """
    if given is None:
        return f"{_FILE}:///{output / 'history.db'}"
    try:
        return _whole(_parsed(given.value), folder) if isinstance(given.value, str) else ""
    except UnfitError as error:
        mistakes.unfit(given.route, error)
        return ""


def _parsed(text: str) -> "URL":
    # Every command knows plans; loading this takes it as long as half of pandas.
    from sqlalchemy.engine import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise UnfitError("is no URL of a database.", _HINT) from None


def _whole(url: "URL", folder: Path) -> str:
    kind = url.get_backend_name()
    if kind not in {_FILE, _SERVER}:
        raise UnfitError(f"must be a database of {_FILE} or {_SERVER}, not of {kind}.", _HINT)
    if kind == _FILE:
        if url.database in {None, "", ":memory:"}:
            raise UnfitError("names no file, so that nothing would be kept.", _HINT)
        url = url.set(database=str(folder / str(url.database)))
    return url.render_as_string(hide_password=False)
