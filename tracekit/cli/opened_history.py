"""The history that a command opens: named by an option, or by the plan."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from tracekit import nightly
from tracekit.base import UsageError
from tracekit.cli.options import option

Config = Annotated[
    Path | None, option("FILE", "The plan's file, which names its history.  [default: the nearest]")
]
History = Annotated[str, option("URL|FILE", "The history, if no plan names it.")]
Reason = Annotated[str, option("TEXT", "Why; it is kept.")]


@contextmanager
def open_history(
    history: str, config: Path | None, *names: str, make: bool = False
) -> "Generator[nightly.Store]":
    """Open a history; refuse `latest` if it could mean a night of several plans or machines."""
    url = history_url(history, config)
    with nightly.Store.connect(url, make=make) as store:
        if nightly.place.LATEST in names:
            with store.database.reading() as connection:
                nightly.place.require_clear_latest(connection)
        yield store


def history_url(history: str, config: Path | None) -> str:
    """Return the URL of the given history, or without one that of the plan."""
    if history:
        return history
    try:
        return nightly.read_plan(config, work=False).history
    except UsageError as error:
        hint = f"Name the history itself: --history URL. Or a plan: {error.hint}"
        raise UsageError(error.message, hint=hint) from error
