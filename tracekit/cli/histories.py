"""Which history a command is about, and the options that say so."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The plan's file, which names its history.  [default: near]"),
]
History = Annotated[
    str,
    typer.Option(metavar="URL|FILE", help="The history, if no plan names it.", show_default=False),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]


if TYPE_CHECKING:
    from tracekit.nightly.history.store.store import Store


def require_clear(store: "Store", names: Sequence[str]) -> None:
    """Raise UsageError where `latest` could mean the night of another plan or machine."""
    from tracekit.nightly.history.store.naming import LATEST, require_clear_latest

    if LATEST in names:
        with store.database.reading() as connection:
            require_clear_latest(connection)


def history_url(history: str, config: Path | None) -> str:
    """Return the URL of the history that is named, else of the plan's.

    Raises:
        UsageError: None is named, and there is no plan that can be read.
    """
    from tracekit.base.errors import UsageError
    from tracekit.nightly.plan.reading import read_plan

    if history:
        return history
    try:
        return read_plan(config, work=False).history
    except UsageError as error:
        hint = f"Name the history itself: --history URL. Or a plan: {error.hint}"
        raise UsageError(error.message, hint=hint) from error
